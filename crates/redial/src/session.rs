//! One call as every loop drives it: the engine's decision, and whoever wants to hear of it.

use core::time::Duration;

use redial_core::{AsPolicy, Decision, Gate, Random, Ruling, Stop, Time, Verdict};

use crate::attempt::Attempt;
use crate::clock::coalesced;
use crate::guard::{Fails, Guard};
use crate::options::{Bounds, Judge, Options};
use crate::outcome::{Answer, Event, Failure, Ledger, Report};
use crate::telemetry;
use crate::testing::switch;

impl<P: AsPolicy, J, B: Bounds, G, K, R> Options<P, J, B, G, K, R> {
    /// The first attempt is about to start. Gives the time, if somebody wants to know it.
    #[inline]
    pub(crate) fn start(&mut self, timed: bool, now: impl FnOnce(&K) -> Time) -> Option<Time> {
        let now = self.is_timed(timed).then(|| now(&self.clock));
        if let Some(now) = now {
            self.call.start_at(now);
        }
        self.deposit();
        self.spans.open(self.bounds.name());
        now
    }

    #[inline]
    pub(crate) fn deposit(&self) {
        if let Some(budget) = self.bounds.limits().get_budget() {
            budget.deposit();
        }
    }

    /// Whether the time of the start will be asked for: by a deadline, or by whoever says that it
    /// is `timed`. A budget asks for the time of a failure alone.
    #[inline]
    pub(crate) fn is_timed(&self, timed: bool) -> bool {
        timed || telemetry::ENABLED || self.call.needs_time() || self.bounds.has_deadline()
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.call.deadline(&self.bounds.limits())
    }

    /// The attempt that starts now.
    #[inline]
    pub(crate) fn attempt(&self, asks: bool, now: impl FnOnce() -> Time) -> Attempt {
        if !asks {
            return Attempt { number: 0, left: None };
        }
        let left = self.deadline().map(|deadline| deadline.since(now()));
        Attempt { number: self.call.failures().saturating_add(1), left }
    }

    /// How long to sleep for a delay: up to the tolerance longer, though not past the deadline.
    #[inline]
    pub(crate) fn sleep_length(&self, now: impl FnOnce(&K) -> Time, delay: Duration) -> Duration {
        let tolerance = self.bounds.tolerance();
        if tolerance.is_zero() {
            return delay;
        }
        let now = now(&self.clock);
        let relaxed = coalesced(now, delay, tolerance);
        match self.deadline() {
            Some(deadline) if now.after(relaxed) >= deadline => delay,
            _ => relaxed,
        }
    }
}

impl<P: AsPolicy, J, B: Bounds, G: Gate, K, R: Random> Options<P, J, B, G, K, R> {
    /// An attempt failed. The verdict is asked for only if it matters.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        now: impl FnOnce(&K) -> Time,
        verdict: impl FnOnce(&mut J) -> Verdict,
    ) -> Decision {
        let Self { call, judge, bounds, guard, clock, random, spans } = self;
        if switch::retries_are_off() {
            // Counted like any other failure, and judged to be the last.
            let _ = call.failed(Time::ZERO, || Verdict::Stop, random);
            if guard.needs_time() {
                guard.failed(now(clock));
            }
            return Decision::Stop(Stop::AttemptsSpent);
        }
        let verdict = || spans.scope(|| verdict(judge));
        bounds.under(|limits| call.failed_past(limits, guard, || now(clock), verdict, random))
    }

    /// As `decide`, where a failure may be of a kind with a policy of its own.
    pub(crate) fn decide_ruled(
        &mut self,
        now: impl FnOnce(&K) -> Time,
        ruling: impl FnOnce(&mut J, &mut dyn Random) -> Ruling,
    ) -> Decision {
        if switch::retries_are_off() {
            return self.decide(now, |_| Verdict::Stop);
        }
        let Self { call, judge, bounds, guard, clock, random, spans } = self;
        let ruling = |random: &mut R| spans.scope(|| ruling(judge, random));
        call.failed_as(&bounds.limits(), guard, || now(clock), ruling, random)
    }

    /// An attempt failed with an error.
    #[inline]
    pub(crate) fn decide_error<T, E>(&mut self, now: impl FnOnce(&K) -> Time, error: &E) -> Decision
    where
        J: Judge<T, E>,
    {
        match J::KINDS {
            true => self.decide_ruled(now, |judge, random| judge.ruling(error, random)),
            false => self.decide(now, |judge| judge.error(error)),
        }
    }

    /// A timeout was not retried. What another attempt would meet again says nothing about the
    /// service, and the engine does not report it to the breaker; a timeout does.
    pub(crate) fn tell_breaker(&mut self, now: impl FnOnce(&K) -> Time) {
        if self.guard.needs_time() {
            let now = now(&self.clock);
            self.guard.failed(now);
        }
    }

    /// What is to be said of the call, which is over, but for the time that it took.
    #[inline]
    pub(crate) fn told(&self, reason: Option<Stop>) -> Report {
        let attempts = self.call.failures().saturating_add(u32::from(reason.is_none()));
        Report {
            reason,
            attempts,
            attempt: attempts,
            hedges: 0,
            waited: self.call.waited(),
            elapsed: Duration::ZERO,
        }
    }

    /// An attempt failed: its span says how, and is closed.
    #[inline]
    pub(crate) fn attempt_failed<T, E>(&mut self, error: Option<&E>, timed_out: bool)
    where
        J: Judge<T, E>,
    {
        let error_type = match error {
            Some(_) => core::any::type_name::<E>(),
            None if timed_out => "timeout",
            None => "unaccepted",
        };
        self.spans.failed(error_type, error.and_then(|error| self.judge.text(error)));
    }

    /// A retry was decided: whoever wants to know of it hears it before the wait.
    #[inline]
    pub(crate) fn retrying<T, E>(&mut self, delay: Duration, error: Option<&E>, timed_out: bool)
    where
        J: Judge<T, E>,
    {
        let attempt = self.call.failures();
        self.announce::<T, E>(attempt, delay, error, timed_out, false);
    }

    /// Another attempt will follow this one, or starts beside it.
    #[inline]
    pub(crate) fn announce<T, E>(
        &mut self,
        attempt: u32,
        delay: Duration,
        error: Option<&E>,
        timed_out: bool,
        hedge: bool,
    ) where
        J: Judge<T, E>,
    {
        // A hook that panics cancels the retry that was paid for.
        self.bounds.paid();
        let (attempts, waited) = (self.call.policy().attempts(), self.call.waited());
        let event = Event { attempt, attempts, delay, waited, error, timed_out, hedge };
        let Self { judge, bounds, spans, .. } = self;
        spans.scope(|| {
            judge.retrying(&event);
            telemetry::retried(bounds.name(), &event, error.and_then(|error| judge.text(error)));
        });
    }
}

impl<P: AsPolicy, J, B: Bounds, G: Guard, K, R: Random> Options<P, J, B, G, K, R> {
    /// How long to wait after a failure, or the failure that the call ends with, and why. The
    /// failure goes in and out by value. Out of line, for a loop whose attempts succeed.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed<T, E>(
        &mut self,
        failure: Failure<E, G::Cut>,
        ledger: &mut impl Ledger<E, G::Cut>,
        now: impl Fn(&K) -> Time,
    ) -> Result<Duration, (Failure<E, G::Cut>, Stop)>
    where
        J: Judge<T, E>,
    {
        let error = failure.error();
        self.attempt_failed(error, error.is_none());
        let timed_out = self.guard.timeout_verdict();
        let decision = match error {
            Some(error) if J::KINDS => self.decide_error(&now, error),
            _ => self.decide(&now, |judge| error.map_or(timed_out, |error| judge.error(error))),
        };
        if error.is_none() && decision == Decision::Stop(Stop::Rejected) {
            self.tell_breaker(now);
        }
        match decision {
            Decision::Stop(reason) => Err((failure, reason)),
            Decision::Wait(delay) => {
                self.retrying(delay, error, error.is_none());
                ledger.record(self.call.failures(), failure);
                Ok(delay)
            }
        }
    }

    /// An attempt is about to begin, if the breaker lets it.
    #[inline]
    pub(crate) fn admit(&mut self, now: impl FnOnce(&K) -> Time) -> Result<(), G::Cut> {
        let Self { guard, clock, .. } = self;
        guard.enter(|| now(clock))?;
        self.bounds.spent();
        self.spans.begin(self.call.failures().saturating_add(1), false);
        Ok(())
    }

    /// How long to wait after a value that is worth another attempt, or why it is the one to return.
    #[cold]
    pub(crate) fn unaccepted<T, E>(
        &mut self,
        verdict: Verdict,
        now: impl Fn(&K) -> Time,
    ) -> Result<Duration, Stop>
    where
        J: Judge<T, E>,
    {
        self.attempt_failed(None, false);
        match self.decide(&now, |_| verdict) {
            Decision::Stop(reason) => Err(reason),
            Decision::Wait(delay) => {
                self.retrying::<T, E>(delay, None, false);
                Ok(delay)
            }
        }
    }

    /// The breaker refused an attempt: the failure of the one before is the last, if there was one.
    #[cold]
    pub(crate) fn refused<A: Answer, T, E>(
        &mut self,
        cut: G::Cut,
        ledger: &mut A::Ledger<G, E>,
        now: impl FnOnce(&K) -> Time,
    ) -> A::Output<T, G::Error>
    where
        G: Fails<E>,
    {
        self.bounds.refund();
        let failure = ledger.last().unwrap_or(Failure::Cut(cut));
        self.end::<A, T, E>(ledger, Err(failure), Some(Stop::BreakerOpen), now)
    }

    /// The call is over.
    #[inline]
    pub(crate) fn end<A: Answer, T, E>(
        &mut self,
        ledger: &mut A::Ledger<G, E>,
        result: Result<T, Failure<E, G::Cut>>,
        reason: Option<Stop>,
        now: impl FnOnce(&K) -> Time,
    ) -> A::Output<T, G::Error>
    where
        G: Fails<E>,
    {
        let report = self.report(A::TIMED, reason, now);
        A::close(ledger, &mut self.guard, result, report)
    }

    /// What is to be said of the call, which is over; and says it to whoever listens.
    #[inline]
    pub(crate) fn report(
        &mut self,
        timed: bool,
        reason: Option<Stop>,
        now: impl FnOnce(&K) -> Time,
    ) -> Report {
        let timed = timed || telemetry::ENABLED;
        let elapsed =
            if timed { now(&self.clock).since(self.call.started()) } else { Duration::ZERO };
        self.tell(Report { elapsed, ..self.told(reason) })
    }

    /// Says it to whoever listens.
    #[inline]
    pub(crate) fn tell(&mut self, report: Report) -> Report {
        self.spans.scope(|| telemetry::ended(self.bounds.name(), &report));
        self.spans.close(&report);
        report
    }
}
