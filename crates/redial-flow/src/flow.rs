//! A flow as the machine sees it: steps, what each needs, and what each is allowed.

use std::num::NonZeroU32;
use std::time::Duration;

use redial_core::{Backoff, Limits, Policy};
use redial_policy::Timing;
use serde::{Deserialize, Serialize};

pub use crate::settings::{BreakerSettings, BudgetSettings};

/// A step, by its place in [`Flow::steps`].
pub type StepId = u32;

/// Work in steps.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// What it is called.
    pub name: String,
    /// Its steps. Those inside a map follow it, in the order in which they are done for each item.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name, which no other step has.
    pub name: String,
    /// Whether it is a map, or is done for each item of one.
    pub place: Place,
    /// What must be over before it starts.
    pub needs: Vec<Need>,
    /// When an attempt follows another.
    pub policy: Timing,
    /// The limits of a task besides those of its policy.
    pub limits: Limits<'static>,
    /// How many of its tasks run at once at most.
    pub slots: Option<NonZeroU32>,
    /// How many of its attempts start in a time at most.
    pub rate: Option<Rate>,
    /// A step whose slots and rate are also this one's; a step of a map has those of the map.
    pub shares: Option<StepId>,
    /// What its retries are paid from; of a map, those of all its inner steps.
    pub budget: Option<BudgetSettings>,
    /// What starts none of its attempts for a while after failures in a row; of a map, none of its inner steps.
    pub breaker: Option<BreakerSettings>,
    /// It takes the place of a step that has given up: the budget and the breaker of its map are not about it.
    pub is_substitute: bool,
    /// Of what is ready at the same time, the highest starts first.
    pub priority: i32,
    /// Whether it may run again when it is not known whether it has succeeded.
    pub is_idempotent: bool,
    /// What becomes of a task that has given up.
    pub on_failure: OnFailure,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By itself.
    Alone,
    /// It is a map over items: the steps from `first` to `last` are done for each of them.
    Map {
        /// The first inner step.
        first: StepId,
        /// The last one.
        last: StepId,
        /// Beyond this, no new item is started.
        failures_max: Option<FailuresMax>,
    },
    /// It is done for each item of this map.
    Inside(StepId),
}

/// How many of the items of a map may be dead before nothing new starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailuresMax {
    /// So many.
    Count(u64),
    /// Such a share of the finished ones, in millionths, once there are ten of them.
    Millionths(u32),
}

impl FailuresMax {
    /// Whether these are too many.
    pub fn is_exceeded(self, dead: u64, finished: u64) -> bool {
        const FINISHED_MIN: u64 = 10;
        match self {
            Self::Count(max) => dead > max,
            Self::Millionths(max) => {
                finished >= FINISHED_MIN
                    && u128::from(dead) * 1_000_000 > u128::from(finished) * u128::from(max)
            }
        }
    }
}

/// What a step needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The other step.
    pub step: StepId,
    /// What of it.
    pub kind: NeedKind,
}

/// In which way a step needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// It is over and did not fail; also a skipped one will do.
    Over,
    /// Its output. Where it was skipped, so is this.
    Output,
    /// No item of it is dead.
    All,
    /// It is a branch, and this its arm. Where it takes another one, this is skipped.
    Taken,
}

/// The step of a map that is done for an item after this one, where no branch takes an arm. An arm is done only
/// where it is taken, and the substitute of an arm only after that arm. `need` is what an inner step needs inside
/// the map.
pub(crate) fn after(
    step: StepId,
    last: StepId,
    need: impl Fn(StepId) -> Option<Need>,
) -> Option<StepId> {
    let follows = Need { step, kind: NeedKind::Over };
    (step + 1..=last).find(|next| need(*next).is_none_or(|need| need == follows))
}

/// How often something may happen: a token bucket (GCRA).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// So many …
    pub count: NonZeroU32,
    /// … in this time.
    pub per: Duration,
}

/// What becomes of a task that has given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// What needs it does not run.
    #[default]
    Stop,
    /// It is a dead letter, and the map goes on.
    DeadLetter,
    /// Its output is null, and what needs it runs.
    Continue,
    /// Its fallback takes its place.
    Fallback,
}

impl Step {
    /// A step alone that makes one attempt.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            place: Place::Alone,
            needs: Vec::new(),
            policy: ONCE.into(),
            limits: Limits::new(),
            slots: None,
            rate: None,
            shares: None,
            budget: None,
            breaker: None,
            is_substitute: false,
            priority: 0,
            is_idempotent: true,
            on_failure: OnFailure::Stop,
        }
    }
}

/// One attempt.
pub const ONCE: Policy = Backoff::constant(Duration::ZERO).attempts(1);
