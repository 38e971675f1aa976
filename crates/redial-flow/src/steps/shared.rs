//! Budgets and breakers of the process: what all steps share that name them, in any run.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redial::{AsBreaker, AsBudget};
use redial_core::{Breaker, BreakerState, Budget, Time};

use crate::flow::{BreakerSettings, BudgetSettings};
use crate::machine::TaskId;
use crate::record::{Action, Event, Outcome, Record, Verdict};

/// How long nobody looks again at a breaker whose probe another step is.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

type SharedBudget<'a> = Box<dyn AsBudget + Send + Sync + 'a>;
type SharedBreaker<'a> = Box<dyn AsBreaker + Send + Sync + 'a>;

macro_rules! source {
    ($(#[$doc:meta])* $source:ident, $shared:ident, $settings:ty, $type:ty) => {
        $(#[$doc])*
        #[non_exhaustive]
        pub enum $source<'a> {
            /// One of its own, kept in the journal.
            OfRun($settings),
            /// One of the process, which others share.
            OfProcess($shared<'a>),
        }

        impl fmt::Debug for $source<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::OfRun(settings) => f.debug_tuple("OfRun").field(settings).finish(),
                    Self::OfProcess(_) => f.write_str("OfProcess"),
                }
            }
        }

        impl From<$settings> for $source<'_> {
            fn from(settings: $settings) -> Self {
                Self::OfRun(settings)
            }
        }

        impl<'a> From<&'a $type> for $source<'a> {
            fn from(shared: &'a $type) -> Self {
                Self::OfProcess(Box::new(shared))
            }
        }

        impl From<Arc<$type>> for $source<'_> {
            fn from(shared: Arc<$type>) -> Self {
                Self::OfProcess(Box::new(shared))
            }
        }
    };
}

source! {
    /// Where the budget of a step is: see [`Call::budget`](super::Call::budget).
    BudgetSource, SharedBudget, BudgetSettings, Budget
}

source! {
    /// Where the breaker of a step is: see [`Call::breaker`](super::Call::breaker).
    BreakerSource, SharedBreaker, BreakerSettings, Breaker
}

/// Those that a step shares, and what it has of them now. Their time is that of the store's clock: a run's own goes on
/// while no process runs, and theirs is the same for all runs.
#[derive(Default)]
pub(super) struct Shared<'a> {
    pub(super) budget: Option<SharedBudget<'a>>,
    pub(super) breaker: Option<SharedBreaker<'a>>,
    /// The periods of the breaker in which running attempts were admitted.
    permits: HashMap<TaskId, u16>,
    /// Retries that are paid for and have not started.
    paid: u32,
}

impl Shared<'_> {
    /// Admits an attempt; or says how long it has to wait.
    pub(super) fn admit(&mut self, task: TaskId, now: Time) -> Result<(), Duration> {
        let Some(breaker) = self.breaker.as_ref().map(|breaker| breaker.as_breaker()) else {
            return Ok(());
        };
        match (breaker.admit(|| now), breaker.state(now)) {
            (Some(permit), _) => {
                self.permits.insert(task, permit.into_period());
                Ok(())
            }
            (None, BreakerState::Open { until }) => Err(until.since(now)),
            (None, _) => Err(LOOK_AGAIN),
        }
    }

    /// An attempt that was admitted starts.
    pub(super) fn begin(&mut self, is_first: bool) {
        match &self.budget {
            Some(budget) if is_first => budget.as_budget().deposit(),
            _ => self.paid = self.paid.saturating_sub(1),
        }
    }

    /// Pays for a retry that was decided. Where nothing is left, there is none.
    pub(super) fn pay(&mut self, decision: &mut Record, now: Time) {
        if decision.event != Event::Decision || decision.action != Some(Action::Retry) {
            return;
        }
        let Some(budget) = &self.budget else { return };
        if budget.as_budget().withdraw(now) {
            self.paid += 1;
        } else {
            decision.action = Some(Action::Stop);
            decision.reason = Some(redial_core::Stop::Budget.name().into());
            (decision.delay_ns, decision.due_ns) = (None, None);
        }
    }

    /// An attempt has ended. What is rejected says nothing about the service that the breaker protects.
    pub(super) fn ended(&mut self, task: TaskId, end: &Record, now: Time) {
        let Some(period) = self.permits.remove(&task) else { return };
        let Some(breaker) = self.breaker.as_ref().map(|breaker| breaker.as_breaker()) else {
            return;
        };
        let permit = breaker.permit(period);
        match (end.outcome, end.verdict) {
            (Some(Outcome::Succeeded), _) => permit.succeeded(),
            (_, Some(Verdict::Stop)) => drop(permit),
            (Some(Outcome::Failed | Outcome::Timeout), _) => drop(permit.failed(now)),
            _ => drop(permit),
        }
    }
}

impl Drop for Shared<'_> {
    /// The call is over, or dropped: attempts that were cut are no failures, and retries that never start are not paid for.
    fn drop(&mut self) {
        if let Some(breaker) = &self.breaker {
            for period in self.permits.values() {
                drop(breaker.as_breaker().permit(*period));
            }
        }
        if let Some(budget) = &self.budget {
            (0..self.paid).for_each(|_| budget.as_budget().refund());
        }
    }
}
