//! What was recorded is made durable, by one append, before anything acts on it.

use std::collections::HashMap;
use std::io;

use super::slot::SlotState;
use super::{Engine, EngineError, Observer, Stopping, values};
use crate::flow::Place;
use crate::journal::Writer;
use crate::machine::TaskId;
use crate::record::{Event, Record};
use crate::store::{Held, Segment};

/// The journal of a run, and what lies beside it.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) held: Held,
    pub(super) records: Writer<Record>,
    pub(super) segments: HashMap<usize, Segment>,
}

impl Engine {
    /// Applies a record now and writes it down with the next append.
    pub(super) fn record(&mut self, record: Record) {
        // The engine makes no record that its machine refuses; a test runs it with this as an error.
        let applied = self.machine.apply(&record);
        debug_assert!(applied.is_ok(), "{applied:?}: {record:?}");
        values::remember(&mut self.outputs, &self.machine, &self.prepared, &record);
        self.batch.push(record);
    }

    /// The same for what comes from outside.
    pub(super) fn write(&mut self, record: Record) -> Result<(), EngineError> {
        self.machine.apply(&record).map_err(EngineError::Impossible)?;
        self.batch.push(record);
        Ok(())
    }

    /// Makes what was recorded durable, and tells the observer.
    pub(super) fn flush(&mut self, observer: &mut dyn Observer) -> Result<(), EngineError> {
        if let Some(journal) = &mut self.journal {
            let durable = || -> io::Result<()> {
                self.sources.sync()?;
                for segment in journal.segments.values_mut() {
                    segment.sync()?;
                }
                journal.records.append(&self.batch)?;
                if journal.records.due().is_some_and(|due| due <= std::time::Instant::now()) {
                    journal.records.sync()?;
                }
                Ok(())
            };
            let mut durable = durable;
            durable().map_err(EngineError::Write)?;
        }
        let batch = std::mem::take(&mut self.batch);
        for record in &batch {
            observer.recorded(&self.view(), record);
        }
        self.forget_outputs(&batch);
        self.batch = batch;
        self.batch.clear();
        Ok(())
    }

    /// What could not be written down is not done. Ends that could not be written are tried again with the
    /// next append, when attempts that run have ended.
    pub(super) fn stop_for(&mut self, error: EngineError) {
        let error = match error {
            EngineError::Write(error) => error,
            other => io::Error::other(other.to_string()),
        };
        self.stopping = Some(Stopping::Write(error));
        self.batch.retain(|record| record.event != Event::AttemptStart);
        for (slot, ..) in self.starts.drain(..) {
            self.slots[slot].state = SlotState::Idle;
        }
    }

    /// The outputs of items that are over are nobody's any more.
    fn forget_outputs(&mut self, batch: &[Record]) {
        for record in batch {
            if let Some(task) = self.machine.task(record)
                && let (Some(item), Place::Inside(map)) =
                    (task.item, &self.prepared.flow.steps[task.step as usize].place)
                && self.machine.item(*map, item).is_some_and(|state| state.is_finished())
                && let Place::Map { first, last, .. } =
                    self.prepared.flow.steps[*map as usize].place
            {
                self.sources.forget(*map, item);
                let results = values::results_of(&self.prepared, *map);
                for step in first..=last {
                    if !results.contains(&step) {
                        self.outputs.remove(&TaskId { step, item: Some(item) });
                    }
                    self.last_exit.remove(&TaskId { step, item: Some(item) });
                }
            }
        }
    }
}
