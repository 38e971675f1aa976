//! The shared files of one run, as the engine asks them.

use std::time::Duration;

use redial_core::{Gate, Time};

use super::{Admission, Refusal, SharedBreaker, SharedBudget, SharedPermit};

/// The budget and the breaker that a run shares with other processes, if it does.
///
/// A file that gives trouble (it was made unreadable, the disk failed) is not asked again: the run
/// goes on as if it had none, and [`troubles`](Self::troubles) has what to warn of.
#[derive(Debug, Default)]
pub struct SharedGate {
    budget: Option<SharedBudget>,
    breaker: Option<SharedBreaker>,
    /// Of the attempt that runs.
    permit: Option<SharedPermit>,
    /// A retry was paid for and has not begun.
    paid: bool,
    /// Why the breaker refused, when it last did.
    refusal: Option<Refusal>,
    troubles: Vec<String>,
}

impl SharedGate {
    /// Both, either or neither.
    pub fn new(budget: Option<SharedBudget>, breaker: Option<SharedBreaker>) -> Self {
        Self { budget, breaker, ..Self::default() }
    }

    /// A run starts.
    pub fn deposit(&mut self) {
        self.ask_budget(SharedBudget::deposit);
    }

    /// The attempt succeeded.
    pub fn succeeded(&mut self) {
        if let Some(Err(trouble)) = self.permit.take().map(SharedPermit::succeeded) {
            self.troubles.push(trouble);
        }
    }

    /// The attempt says nothing of the service: it could not be started, or was rejected by a rule.
    pub fn release(&mut self) {
        self.permit = None;
    }

    /// Gives back what was paid for a retry that does not happen.
    pub fn refund(&mut self) {
        if std::mem::take(&mut self.paid) {
            self.ask_budget(SharedBudget::refund);
        }
    }

    /// Why the breaker admits no attempt, where the engine has stopped the run for it.
    pub fn refusal(&self) -> Refusal {
        self.refusal.unwrap_or(Refusal::Open(Duration::ZERO))
    }

    /// What to warn of, once.
    pub fn troubles(&mut self) -> Vec<String> {
        std::mem::take(&mut self.troubles)
    }

    fn ask_budget<T>(&mut self, ask: impl FnOnce(&SharedBudget) -> Result<T, String>) -> Option<T> {
        match ask(self.budget.as_ref()?) {
            Ok(answer) => Some(answer),
            Err(trouble) => {
                self.budget = None;
                self.troubles.push(trouble);
                None
            }
        }
    }

    fn ask_breaker<T>(
        &mut self,
        ask: impl FnOnce(&SharedBreaker) -> Result<T, String>,
    ) -> Option<T> {
        match ask(self.breaker.as_ref()?) {
            Ok(answer) => Some(answer),
            Err(trouble) => {
                self.breaker = None;
                self.troubles.push(trouble);
                None
            }
        }
    }
}

impl Gate for SharedGate {
    fn admit(&mut self, _now: Time) -> bool {
        self.permit = match self.ask_breaker(SharedBreaker::admit) {
            Some(Admission::Refused(refusal)) => {
                self.refusal = Some(refusal);
                self.refund();
                return false;
            }
            Some(Admission::Permit(permit)) => Some(permit),
            None => None,
        };
        self.paid = false;
        true
    }

    /// The files go by the time of day, and the run by a clock that never jumps: what they have in
    /// common is how long there is still to wait.
    fn failed(&mut self, now: Time) -> Time {
        let permit = self.permit.take();
        let open_for = self.ask_breaker(|breaker| match permit {
            Some(permit) => permit.failed(),
            None => breaker.open_for(),
        });
        let open_for = open_for.unwrap_or_default();
        self.refusal = Some(Refusal::Open(open_for));
        now.after(open_for)
    }

    fn withdraw(&mut self, _now: Time) -> bool {
        // A budget that cannot be asked pays.
        self.paid = self.ask_budget(SharedBudget::withdraw).unwrap_or(true);
        self.paid
    }

    fn needs_time(&self) -> bool {
        self.budget.is_some() || self.breaker.is_some()
    }
}
