//! The shared files of one run, as the [`Gate`] of the engine.

use std::time::Duration;

use redial_core::{Gate, Time};

use super::{Refusal, SharedBreaker, SharedBudget, SharedPermit};

/// The budget and the breaker that a run shares with other processes, if it does.
///
/// After an error (a file was made unreadable, the disk failed) the file is not used again: the run goes
/// on without it, and [`take_warnings`](Self::take_warnings) has the error.
#[derive(Debug, Default)]
pub struct SharedGate {
    budget: Option<SharedBudget>,
    breaker: Option<SharedBreaker>,
    /// Of the attempt that runs.
    permit: Option<SharedPermit>,
    /// A retry was paid for and has not begun.
    paid: bool,
    /// Why the breaker last refused an attempt.
    refusal: Option<Refusal>,
    warnings: Vec<String>,
}

impl SharedGate {
    /// Both, either or neither.
    pub fn new(budget: Option<SharedBudget>, breaker: Option<SharedBreaker>) -> Self {
        Self { budget, breaker, ..Self::default() }
    }

    /// A run starts.
    pub fn deposit(&mut self) {
        ask(&mut self.budget, &mut self.warnings, SharedBudget::deposit);
    }

    /// The attempt succeeded.
    pub fn succeeded(&mut self) {
        if let Some(Err(error)) = self.permit.take().map(SharedPermit::succeeded) {
            self.warnings.push(error);
        }
    }

    /// The attempt counts neither as a success nor as a failure of the service: it could not be started,
    /// or was rejected by a rule.
    pub fn release(&mut self) {
        self.permit = None;
    }

    /// Gives back what was paid for a retry that does not happen.
    pub fn refund(&mut self) {
        if std::mem::take(&mut self.paid) {
            ask(&mut self.budget, &mut self.warnings, SharedBudget::refund);
        }
    }

    /// Why the breaker admits no attempt, where the engine has stopped the run for it.
    pub fn refusal(&self) -> Refusal {
        self.refusal.unwrap_or(Refusal::Open(Duration::ZERO))
    }

    /// The errors since the last call, to warn of.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// Asks a shared file, which is dropped after an error.
fn ask<F, T>(
    file: &mut Option<F>,
    warnings: &mut Vec<String>,
    question: impl FnOnce(&F) -> Result<T, String>,
) -> Option<T> {
    match question(file.as_ref()?) {
        Ok(answer) => Some(answer),
        Err(error) => {
            *file = None;
            warnings.push(error);
            None
        }
    }
}

impl Gate for SharedGate {
    fn admit(&mut self, _now: Time) -> bool {
        self.permit = match ask(&mut self.breaker, &mut self.warnings, SharedBreaker::admit) {
            Some(Err(refusal)) => {
                self.refusal = Some(refusal);
                self.refund();
                return false;
            }
            Some(Ok(permit)) => Some(permit),
            None => None,
        };
        self.paid = false;
        true
    }

    /// The files use the wall clock and the run a monotonic one, so that only a duration can be
    /// converted.
    fn failed(&mut self, now: Time) -> Time {
        let permit = self.permit.take();
        let open_for = ask(&mut self.breaker, &mut self.warnings, |breaker| match permit {
            Some(permit) => permit.failed(),
            None => breaker.open_for(),
        });
        let open_for = open_for.unwrap_or_default();
        self.refusal = Some(Refusal::Open(open_for));
        now.after(open_for)
    }

    fn withdraw(&mut self, _now: Time) -> bool {
        // Without a usable budget every retry is paid for.
        let paid = ask(&mut self.budget, &mut self.warnings, SharedBudget::withdraw);
        self.paid = paid.unwrap_or(true);
        self.paid
    }

    fn needs_time(&self) -> bool {
        self.budget.is_some() || self.breaker.is_some()
    }
}
