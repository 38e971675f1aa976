//! What somebody asks of a run that is held, before it goes on: dead letters are taken up anew or dropped, sources are read
//! again, nothing more is wanted.

use super::{Engine, EngineError};
use crate::flow::{Place, StepId};
use crate::machine::{ItemState, TaskId};
use crate::record::{Event, Outcome, Record};

impl Engine {
    /// Reads the sources of maps again from their beginnings, as a command does that is given again: what is
    /// new is run, what is dead is tried anew with a fresh policy, what was not finished goes on, all as far
    /// as the source still has it; and what has succeeded is left as it is.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn read_sources_again(&mut self) -> Result<(), EngineError> {
        for map in self.sources.maps() {
            self.drop_refused(map)?;
            if self.machine.is_dead_letter(map) {
                self.revive(TaskId { step: map, item: None })?;
            }
        }
        self.sources.read_again(&self.machine);
        self.machine.expect_more_items();
        Ok(())
    }

    /// What was no item is told anew, if it is none still, when the source is read again. Gives the tasks.
    fn drop_refused(&mut self, map: StepId) -> Result<Vec<TaskId>, EngineError> {
        let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
            return Ok(Vec::new());
        };
        let mut dropped = Vec::new();
        for item in self.sources.refused(map) {
            let task = TaskId { step: first, item: Some(item) };
            let state = self.machine.item(map, item);
            if state.is_none_or(|state| !state.is_finished()) {
                self.write(self.machine.record(self.now(), Event::Dead, task))?;
            }
            if state != Some(ItemState::Dropped) {
                self.drop_dead(task)?;
            }
            dropped.push(task);
        }
        Ok(dropped)
    }

    /// Dead letters are tried anew, each with a fresh policy. Of a map, its source is read again: what is finished stays,
    /// and what was no item is told anew if it is none still.
    ///
    /// # Errors
    /// Where one of them is none, or that cannot be written down.
    pub fn revive_all(&mut self, tasks: &[TaskId]) -> Result<(), EngineError> {
        let is_map = |task: &&TaskId| {
            matches!(self.prepared.flow.steps[task.step as usize].place, Place::Map { .. })
        };
        let (maps, others): (Vec<&TaskId>, Vec<&TaskId>) = tasks.iter().partition(is_map);
        let mut dropped = Vec::new();
        for map in maps {
            dropped.extend(self.drop_refused(map.step)?);
            self.revive(*map)?;
        }
        for task in others.into_iter().filter(|task| !dropped.contains(task)) {
            self.revive(*task)?;
        }
        Ok(())
    }

    /// A dead letter is tried anew, with a fresh policy.
    ///
    /// # Errors
    /// Where it is none, or that cannot be written down.
    pub fn revive(&mut self, task: TaskId) -> Result<(), EngineError> {
        let now = self.now();
        let generation = self.machine.generation(task) + 1;
        let record = Record { generation, ..self.machine.record(now, Event::DeadRetry, task) };
        self.write(record)
    }

    /// A dead letter is not wanted any more.
    ///
    /// # Errors
    /// Where it is none, or that cannot be written down.
    pub fn drop_dead(&mut self, task: TaskId) -> Result<(), EngineError> {
        let record = self.machine.record(self.now(), Event::DeadDrop, task);
        self.write(record)
    }

    /// Nothing more of the run is wanted.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn cancel(&mut self) -> Result<(), EngineError> {
        let record = Record::new(&self.run, self.now(), Event::Cancel);
        self.write(record)?;
        self.flush(&mut ())
    }

    /// Writes down what [`revive`](Self::revive) and [`drop_dead`](Self::drop_dead) have asked for, without running anything.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn save(&mut self) -> Result<(), EngineError> {
        let mut record = Record::new(&self.run, self.now(), Event::RunEnd);
        record.outcome = Some(match (self.machine.is_over(), self.has_failed()) {
            (false, _) => Outcome::Interrupted,
            (true, true) => Outcome::Failed,
            (true, false) => Outcome::Succeeded,
        });
        self.batch.push(record);
        self.flush(&mut ())
    }
}
