//! What was skipped, and what is skipped after it: a step that names the output of one that was.

use redial_core::Time;

use super::task::{Phase, Task};
use super::{End, Machine, TaskId};
use crate::flow::StepId;
use crate::record::{Outcome, Record};

/// Why a step is skipped that names the output of one that was.
pub const NEEDS_SKIPPED: &str = "needs-skipped";

/// Why a step fails whose value cannot be computed.
pub const BAD_VALUE: &str = "bad-value";

/// Why a step never starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRun {
    /// It names the output of a step that was skipped. That is written down: its fallback takes its place.
    RefersToSkipped,
    /// It is an arm, and its branch takes another one, as the record of the branch says.
    NotTaken,
    /// What it needs has failed.
    Blocked,
}

impl Machine {
    /// Whether a task was skipped; of a branch, the arm that it took. Of an item, while it is under way.
    pub fn was_skipped(&self, task: TaskId) -> bool {
        let step = self.taken(task).unwrap_or(task.step);
        match task.item {
            None => self.steps[step as usize].end == Some(End::Skipped),
            Some(_) => self.skipped.contains(&TaskId { step, ..task }),
        }
    }

    /// The record of a task that names the output of one that was skipped: it is skipped as well, or its fallback
    /// takes its place.
    pub fn skipped_with(&self, now: Time, task: TaskId) -> Record {
        self.gave_up(task, now, Outcome::Skipped, NEEDS_SKIPPED)
    }

    /// The record of a step whose value cannot be computed.
    pub fn value_failed(&self, now: Time, task: TaskId, message: &str) -> Record {
        let record = self.gave_up(task, now, Outcome::Failed, BAD_VALUE);
        Record { message: Some(message.into()), ..record }
    }

    /// A step is over before it begins. That is to be written down, so that it is counted.
    pub(super) fn skip(&mut self, step: StepId) {
        let id = TaskId { step, item: None };
        let state = &mut self.steps[step as usize];
        state.is_open = true;
        let phase = Phase::GivenUp(Outcome::Skipped, NEEDS_SKIPPED.into());
        self.tasks.insert(id, Task { phase, ..Task::new(state.generation) });
        self.unsettled.push_back(id);
    }

    /// Whether a command is the fallback of a step: it follows it.
    pub(super) fn has_substitute(&self, step: StepId) -> bool {
        self.flow.steps.get(step as usize + 1).is_some_and(|next| next.is_substitute)
    }
}
