//! What the calls of one process share.

use redial_core::{Breaker, BreakerBuilder, Budget, BudgetBuilder, Limits, Permit, Time};

#[derive(Debug)]
pub(super) struct Process {
    budget: Option<Budget>,
    breaker: Option<Breaker>,
}

impl Process {
    pub(super) fn new(budget: Option<BudgetBuilder>, breaker: Option<BreakerBuilder>) -> Self {
        let budget = budget.map(BudgetBuilder::build);
        Self { budget, breaker: breaker.map(BreakerBuilder::build) }
    }

    /// The process that makes a call: they take turns.
    pub(super) fn of(processes: &[Self], call: u64) -> &Self {
        &processes[(call % processes.len() as u64) as usize]
    }

    /// A call begins.
    pub(super) fn deposit(&self) {
        if let Some(budget) = &self.budget {
            budget.deposit();
        }
    }

    /// A retry that was paid for does not happen.
    pub(super) fn refund(&self) {
        if let Some(budget) = &self.budget {
            budget.refund();
        }
    }

    /// What limits the calls, beside their policy.
    pub(super) fn limits(&self) -> Limits<'_> {
        let limits = Limits::new();
        self.budget.as_ref().map_or(limits, |budget| limits.budget(budget))
    }

    /// The breaker's period in which an attempt may run; nothing where it is open.
    pub(super) fn admit(&self, now: Time) -> Option<u16> {
        match &self.breaker {
            None => Some(0),
            Some(breaker) => breaker.admit(|| now).map(Permit::into_period),
        }
    }

    /// An attempt of that period succeeded.
    pub(super) fn succeeded(&self, admitted_in: u16) {
        if let Some(permit) = self.permit(admitted_in) {
            permit.succeeded();
        }
    }

    /// What an attempt of that period was admitted by: the gate of the decision, if it fails.
    pub(super) fn permit(&self, admitted_in: u16) -> Option<Permit<'_>> {
        self.breaker.as_ref().map(|breaker| breaker.permit(admitted_in))
    }
}
