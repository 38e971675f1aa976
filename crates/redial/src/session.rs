//! One call as every loop drives it: the engine's decision, and whoever wants to hear of it.

use core::time::Duration;

use redial_core::{AsPolicy, Call, Decision, Gate, Random, Stop, Time, Verdict};

use crate::clock::coalesced;
use crate::options::{Bounded, Bounds, Hook};
use crate::outcome::{Event, Ledger, Report};
use crate::telemetry;
use crate::testing::switch;

/// A call between its attempts, with the options that do not depend on how it waits.
#[derive(Clone, Debug)]
pub struct Session<P, C, H, L, R> {
    pub(crate) call: Call<P>,
    pub(crate) classify: C,
    pub(crate) hook: H,
    pub(crate) bounds: L,
    pub(crate) random: R,
}

impl<P, C, H, L, R> Session<P, C, H, L, R> {
    pub(crate) fn with_classify<D>(self, classify: D) -> Session<P, D, H, L, R> {
        let Self { call, hook, bounds, random, .. } = self;
        Session { call, classify, hook, bounds, random }
    }

    pub(crate) fn with_hook<I>(self, hook: I) -> Session<P, C, I, L, R> {
        let Self { call, classify, bounds, random, .. } = self;
        Session { call, classify, hook, bounds, random }
    }

    pub(crate) fn with_random<S>(self, random: S) -> Session<P, C, H, L, S> {
        let Self { call, classify, hook, bounds, .. } = self;
        Session { call, classify, hook, bounds, random }
    }

    /// The same with one of its bounds changed.
    pub(crate) fn bounded<'n>(
        self,
        change: impl FnOnce(&mut Bounded<'n>),
    ) -> Session<P, C, H, Bounded<'n>, R>
    where
        L: Bounds + 'n,
    {
        let Self { call, classify, hook, bounds, random } = self;
        let mut bounds = bounds.bounded();
        change(&mut bounds);
        Session { call, classify, hook, bounds, random }
    }
}

impl<P: AsPolicy, C, H, L: Bounds, R: Random> Session<P, C, H, L, R> {
    /// The first attempt is about to start.
    #[inline]
    pub(crate) fn start(&mut self, timed: bool, now: impl FnOnce() -> Time) {
        if self.is_timed(timed) {
            self.call.start_at(now());
        }
        self.deposit();
    }

    /// The breaker refused an attempt. If it was a retry, it was paid for and does not happen.
    pub(crate) fn refund(&self) {
        if let (1.., Some(budget)) = (self.call.failures(), self.bounds.limits().shared_budget()) {
            budget.refund();
        }
    }

    #[inline]
    pub(crate) fn deposit(&self) {
        if let Some(budget) = self.bounds.limits().shared_budget() {
            budget.deposit();
        }
    }

    /// Whether the time of the start will be asked for.
    #[inline]
    pub(crate) fn is_timed(&self, timed: bool) -> bool {
        timed || telemetry::ENABLED || self.call.needs_time() || self.bounds.limits().need_time()
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.call.deadline(self.bounds.limits())
    }

    /// An attempt failed, with an error of the operation's or, where it timed out, without one. The
    /// gate is the permit that it ran under.
    #[inline]
    pub(crate) fn failed<E>(
        &mut self,
        gate: &mut impl Gate,
        now: impl FnOnce() -> Time,
        error: Option<&E>,
        verdict: impl FnOnce(&mut C) -> Verdict,
    ) -> Decision
    where
        H: Hook<E>,
    {
        if switch::retries_are_off() {
            // Counted like any other failure, and judged to be the last.
            let _ = self.call.failed(Time::ZERO, || Verdict::Stop, &mut self.random);
            if gate.needs_time() {
                gate.failed(now());
            }
            return Decision::Stop(Stop::AttemptsSpent);
        }
        let (classify, limits) = (&mut self.classify, self.bounds.limits());
        let verdict = || verdict(classify);
        let decision = self.call.failed_past(limits, gate, now, verdict, &mut self.random);
        if let Decision::Wait(delay) = decision {
            let event = Event {
                attempt: self.call.failures(),
                attempts: self.call.policy().attempts(),
                delay,
                waited: self.call.waited(),
                error,
            };
            // A hook that panics cancels the retry that was paid for.
            let mut paid = self.bounds.paid();
            self.hook.retrying(&event);
            telemetry::retried(self.bounds.name(), &event);
            L::spent(&mut paid);
        }
        decision
    }

    /// How long to sleep for a delay: up to the tolerance longer, though not past the deadline.
    pub(crate) fn sleep_length(&self, now: impl FnOnce() -> Time, delay: Duration) -> Duration {
        let tolerance = self.bounds.tolerance();
        if tolerance.is_zero() {
            return delay;
        }
        let now = now();
        let relaxed = coalesced(now, delay, tolerance);
        match self.deadline() {
            Some(deadline) if now.after(relaxed) >= deadline => delay,
            _ => relaxed,
        }
    }

    /// The call is over.
    #[inline]
    pub(crate) fn end<T, E, J: Ledger<E>>(
        &self,
        ledger: &mut J,
        result: Result<T, E>,
        reason: Option<Stop>,
        now: impl FnOnce() -> Time,
    ) -> J::Output<T> {
        let timed = J::TIMED || telemetry::ENABLED;
        let report = Report {
            reason,
            attempts: self.call.failures().saturating_add(u32::from(result.is_ok())),
            waited: self.call.waited(),
            elapsed: if timed { now().since(self.call.started()) } else { Duration::ZERO },
        };
        telemetry::ended(self.bounds.name(), &report);
        ledger.close(result, report)
    }
}
