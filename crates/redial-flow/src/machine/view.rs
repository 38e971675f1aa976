//! What a run has come to, for whoever looks.

use std::sync::Arc;

use redial_core::{BreakerSnapshot, BudgetSnapshot, Call, Time};

use super::task::{self, Phase, Task};
use super::{Counts, End, ItemState, Machine, TaskId};
use crate::flow::{Flow, Place, StepId};
use crate::record::{Action, Record};

impl Machine {
    /// The flow that it runs.
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// The time of the last record.
    pub fn time(&self) -> Time {
        self.time
    }

    /// How a step ended, once it has.
    pub fn end(&self, step: StepId) -> Option<End> {
        self.steps[step as usize].end
    }

    /// The items of a map, counted.
    pub fn counts(&self, map: StepId) -> Counts {
        self.steps[map as usize].map.counts
    }

    /// How many items a map has, once its source has come to its end.
    pub fn length(&self, map: StepId) -> Option<u32> {
        self.steps[map as usize].map.length
    }

    /// What has become of an item.
    pub fn item(&self, map: StepId, item: u32) -> Option<ItemState> {
        self.steps[map as usize].map.items.get(item as usize).copied()
    }

    /// What the budget of a step holds, as far as its records say; the floor since the last retry is not in it.
    pub fn budget(&self, step: StepId) -> Option<BudgetSnapshot> {
        self.steps[step as usize].shared.budget()
    }

    /// The state of a step's breaker.
    pub fn breaker(&self, step: StepId, now: Time) -> Option<BreakerSnapshot> {
        self.steps[step as usize].shared.breaker(now)
    }

    /// How many attempts are running.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// How many tasks wait for their next attempt.
    pub fn waiting(&self) -> usize {
        self.tasks.len() - self.running as usize
    }

    /// How many tasks wait for the delay before their next attempt.
    pub fn waiting_for_delay(&self) -> usize {
        self.tasks.values().filter(|task| task.phase == Phase::Queued && task.attempts > 0).count()
    }

    /// The tasks whose next attempt is due first, of those that have failed before, and when that is.
    pub fn waits(&self, most: usize) -> Vec<(TaskId, Time)> {
        let is_waiting = |(id, task): (&TaskId, &Task)| {
            (task.phase == Phase::Queued && task.attempts > 0).then_some((*id, task.due))
        };
        let mut waits: Vec<_> = self.tasks.iter().filter_map(is_waiting).collect();
        waits.sort_by_key(|(id, due)| (*due, *id));
        waits.truncate(most);
        waits
    }

    /// Whether no attempt follows the failure of a task that is still to be decided.
    pub fn gives_up(&self, task: TaskId, now: Time) -> bool {
        match self.tasks.get(&task).map(|task| &task.phase) {
            Some(Phase::Failed(..)) => self.settle(task, now).action == Some(Action::Stop),
            Some(Phase::GivenUp(..)) => true,
            _ => false,
        }
    }

    /// How many attempts of a task have been counted.
    pub fn attempts(&self, task: TaskId) -> u32 {
        self.tasks.get(&task).map_or(0, |task| task.attempts)
    }

    /// How often a task has been taken up anew from the dead letters.
    pub fn generation(&self, task: TaskId) -> u32 {
        self.tasks
            .get(&task)
            .map_or(self.steps[task.step as usize].generation, |task| task.generation)
    }

    /// When the first attempt of a task started.
    pub fn started(&self, task: TaskId) -> Option<Time> {
        self.tasks.get(&task).filter(|task| task.attempts > 0).map(|task| task.started)
    }

    /// When a task has to be over, by its policy and its limits. It counts from the first attempt.
    pub fn deadline(&self, task: TaskId) -> Option<Time> {
        let step = &self.flow.steps[task.step as usize];
        let started = self.started(task)?;
        Call::new(&step.policy, started).deadline(&step.limits)
    }

    /// The attempts that were started and have not ended: after a crash, they are lost.
    pub fn open_attempts(&self) -> Vec<TaskId> {
        let mut open: Vec<_> =
            self.tasks.iter().filter(|(_, task)| task.is_running()).map(|(id, _)| *id).collect();
        open.sort_unstable();
        open
    }

    /// The task that a record is about.
    pub fn task(&self, record: &Record) -> Option<TaskId> {
        self.task_of(record).ok()
    }

    /// The seed of a task: `redial plan --seed` with it shows its delays.
    pub fn seed(&self, task: TaskId) -> u64 {
        task::seed(self.seed, &self.flow.steps[task.step as usize].name, task.item)
    }

    /// Whether a step of an item that is under way has failed, and the item went on without it.
    pub fn has_continued(&self, task: TaskId) -> bool {
        self.continued.contains(&task)
    }

    /// The arm that a branch has taken.
    pub fn taken(&self, branch: TaskId) -> Option<StepId> {
        self.taken.get(&branch).copied()
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        let is_idle = self.running == 0;
        is_idle
            && (self.is_cancelled
                || self.steps.iter().zip(&self.flow.steps).all(|(state, step)| {
                    state.end.is_some() || matches!(step.place, Place::Inside(_))
                }))
    }

    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }
}
