//! Who is told of a run, and what they may look at.

use std::time::Duration;

use redial_core::Time;

use super::slot::{Slot, SlotState};
use super::sources::Sources;
use super::{Engine, Written};
use crate::Value;
use crate::flow::StepId;
use crate::machine::{Machine, TaskId};
use crate::prepared::Prepared;
use crate::record::Record;

/// Who is told of a run.
pub trait Observer {
    /// A record was written down; without a journal it would have been.
    fn recorded(&mut self, run: &View<'_>, record: &Record) {
        let _ = (run, record);
    }
    /// An attempt has ended, and this is what it wrote.
    fn attempt_ended(
        &mut self,
        run: &View<'_>,
        task: TaskId,
        record: &Record,
        stdout: &mut Written,
        stderr: &mut Written,
    ) {
        let _ = (run, task, record, stdout, stderr);
    }
    /// The engine is about to wait. Returns when to be asked again, for what changes with time.
    fn tick(&mut self, run: &View<'_>) -> Option<Time> {
        let _ = run;
        None
    }
    /// This process was asked to end: nothing new starts, and what runs has so long to end by itself.
    fn interrupted(&mut self, run: &View<'_>, drain: Duration) {
        let _ = (run, drain);
    }
    /// Whether nothing new is to be started, because what attempts write cannot be passed on any more. Asked after
    /// attempts have ended; what runs goes on to its end.
    fn wants_no_more(&self) -> bool {
        false
    }
    /// Something is not as it should be, and the run goes on.
    fn warned(&mut self, warning: &str) {
        let _ = warning;
    }
}

impl Observer for () {}

/// What an observer may look at.
#[derive(Debug)]
pub struct View<'a> {
    /// The run's own time.
    pub now: Time,
    /// What the run has come to.
    pub machine: &'a Machine,
    /// What is run.
    pub prepared: &'a Prepared,
    pub(super) running: &'a [Slot],
    pub(super) sources: &'a Sources,
}

impl View<'_> {
    /// The attempts that run: the task, and when the attempt started.
    pub fn running(&self) -> impl Iterator<Item = (TaskId, Time)> {
        self.running.iter().filter_map(|slot| match &slot.state {
            SlotState::Starting(started) | SlotState::Running(started) => {
                Some((started.task, started.at))
            }
            _ => None,
        })
    }

    /// What an item is called, while it is under way.
    pub fn key(&self, task: TaskId) -> Option<&str> {
        self.sources.key(self.machine, task)
    }

    /// An item, while it is under way.
    pub fn item(&self, task: TaskId) -> Option<&Value> {
        self.sources.item(self.machine, task)
    }

    /// Whether this task takes the place of one that has failed.
    pub fn is_substitute(&self, task: TaskId) -> bool {
        self.prepared.step(task.step).instead_of.is_some()
    }

    /// Whether another step takes the place of this one when it has failed.
    pub fn has_substitute(&self, task: TaskId) -> bool {
        self.prepared.step(task.step).substitute.is_some()
    }

    /// How many items are known, and whether there may be more.
    pub fn items(&self, map: StepId) -> (u64, bool) {
        (self.machine.counts(map).known, self.machine.length(map).is_none())
    }
}

impl Engine {
    pub(super) fn view(&self) -> View<'_> {
        View {
            now: self.now(),
            machine: &self.machine,
            prepared: &self.prepared,
            running: &self.slots,
            sources: &self.sources,
        }
    }
}
