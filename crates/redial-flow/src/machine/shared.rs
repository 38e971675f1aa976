//! The budget and the breaker that the tasks of a step share, as its records have left them.
//!
//! They are those of the core. They change when a record is applied and at no other time, by the time of that record, so that a run that
//! is replayed comes to the same state. A decision, which is made before its record is, asks copies of them.

use redial_core::{
    Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Budget, BudgetBuilder, BudgetSnapshot,
    Gate, Time,
};

use crate::flow::Step;
use crate::record::{Outcome, Verdict};

/// Those of one step; of a map, those of all its inner steps.
#[derive(Debug, Default)]
pub(super) struct Shared {
    budget: Option<(BudgetBuilder, Budget)>,
    breaker: Option<(BreakerBuilder, Breaker)>,
}

/// What a breaker is told of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    Succeeded,
    Failed,
    /// Nothing: it says nothing about the service that the breaker protects.
    Released,
}

impl Report {
    /// As `redial run` counts: what a rule rejects does not count, nor what could not be started, was cut by us, or was lost.
    pub(super) fn of(outcome: Outcome, verdict: Option<Verdict>) -> Self {
        match (outcome, verdict) {
            (Outcome::Succeeded, _) => Self::Succeeded,
            (_, Some(Verdict::Stop)) => Self::Released,
            (Outcome::Failed | Outcome::Timeout | Outcome::Signalled, _) => Self::Failed,
            _ => Self::Released,
        }
    }
}

impl Shared {
    /// Settings that cannot be are refused when a definition is prepared; here they are none.
    pub(super) fn new(step: &Step) -> Self {
        let budget = step.budget.and_then(|settings| settings.builder().ok());
        let breaker = step.breaker.and_then(|settings| settings.builder().ok());
        Self {
            budget: budget.and_then(|settings| Some((settings, settings.try_build().ok()?))),
            breaker: breaker.and_then(|settings| Some((settings, settings.try_build().ok()?))),
        }
    }

    pub(super) fn budget(&self) -> Option<BudgetSnapshot> {
        self.budget.as_ref().map(|(_, budget)| budget.snapshot())
    }

    pub(super) fn breaker(&self, now: Time) -> Option<BreakerSnapshot> {
        self.breaker.as_ref().map(|(_, breaker)| breaker.snapshot(now))
    }

    /// A task makes its first attempt.
    pub(super) fn deposit(&self) {
        if let Some((_, budget)) = &self.budget {
            budget.deposit();
        }
    }

    /// A retry was decided. That there were tokens for it was asked then.
    pub(super) fn withdraw(&self, at: Time) {
        if let Some((_, budget)) = &self.budget {
            let _ = budget.withdraw(at);
        }
    }

    /// A retry that was decided does not happen.
    pub(super) fn refund(&self) {
        if let Some((_, budget)) = &self.budget {
            budget.refund();
        }
    }

    /// An attempt starts. Gives the period of the breaker that admits it, which its report has to name.
    pub(super) fn admit(&self, at: Time) -> Option<u16> {
        let (_, breaker) = self.breaker.as_ref()?;
        breaker.admit(|| at).map(redial_core::Permit::into_period)
    }

    /// An attempt that was admitted in this period has ended.
    pub(super) fn report(&self, period: Option<u16>, report: Report, at: Time) {
        let (Some((_, breaker)), Some(period)) = (&self.breaker, period) else { return };
        let permit = breaker.permit(period);
        match report {
            Report::Succeeded => permit.succeeded(),
            Report::Failed => drop(permit.failed(at)),
            Report::Released => drop(permit),
        }
    }

    /// From when on the breaker admits an attempt that could start at `from`; none where a probe that is running decides.
    pub(super) fn admits_at(&self, from: Time) -> Option<Time> {
        let Some((settings, breaker)) = &self.breaker else { return Some(from) };
        match breaker.state(from) {
            BreakerState::Closed { .. } => Some(from),
            BreakerState::Open { until } => Some(until),
            BreakerState::HalfOpen => {
                let copy = settings.resume(breaker.snapshot(from), from).ok()?;
                copy.admit(|| from).map(|_| from)
            }
        }
    }
}

/// What a decision about a failure asks: the budget and the breaker of the step, and those of the map around it.
///
/// The breaker has heard of the failure already, by the record of the attempt's end; and the tokens are taken when the record of the
/// decision is applied.
pub(super) struct Asked<'m>(pub(super) [Option<&'m Shared>; 2]);

impl Asked<'_> {
    fn each(&self) -> impl Iterator<Item = &Shared> {
        self.0.into_iter().flatten()
    }
}

impl Gate for Asked<'_> {
    fn failed(&mut self, now: Time) -> Time {
        let open_until = |shared: &Shared| match shared.breaker.as_ref()?.1.state(now) {
            BreakerState::Open { until } => Some(until),
            BreakerState::Closed { .. } | BreakerState::HalfOpen => None,
        };
        self.each().filter_map(open_until).max().unwrap_or(now)
    }

    fn withdraw(&mut self, now: Time) -> bool {
        self.each().filter_map(|shared| shared.budget.as_ref()).all(|(settings, budget)| {
            let copy = settings.resume(budget.snapshot(), now);
            copy.is_ok_and(|copy| copy.withdraw(now))
        })
    }

    fn needs_time(&self) -> bool {
        self.each().any(|shared| shared.budget.is_some() || shared.breaker.is_some())
    }
}
