//! The items of a map, taken from its source as they are wanted.

use super::sources::Admitted;
use super::{Engine, EngineError, Observer};
use crate::flow::{Place, StepId};
use crate::machine::{BAD_SOURCE, ItemState, TaskId};
use crate::record::{Event, Record};

impl Engine {
    /// Reads another item of a map.
    pub(super) fn read(
        &mut self,
        map: StepId,
        observer: &mut dyn Observer,
    ) -> Result<(), EngineError> {
        if self.sources.wants_opening(map) {
            let opened = {
                let values = self.values(None);
                self.sources.open(map, &self.prepared, &values)
            };
            match opened {
                Ok(source) => self.sources.opened(map, source),
                Err(message) => {
                    let known = self.machine.counts(map).known;
                    let known = u32::try_from(known).unwrap_or(u32::MAX);
                    self.record_items_end(map, known, Some(message));
                    return Ok(());
                }
            }
        }
        match self.sources.next(map, &self.machine).map_err(EngineError::Write)? {
            Admitted::Item(item) => {
                self.machine.admit(map, item);
                if self.machine.item(map, item).is_some_and(ItemState::is_finished) {
                    self.sources.forget(map, item);
                }
            }
            Admitted::Dead(item) => {
                let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
                    return Ok(());
                };
                self.revive(TaskId { step: first, item: Some(item) })?;
            }
            Admitted::Bad(item, reason, message) => {
                self.machine.admit(map, item);
                let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
                    return Ok(());
                };
                self.dead(TaskId { step: first, item: Some(item) }, reason, message);
            }
            Admitted::Broken(message) => {
                observer.warned(&format!("its items cannot be read further: {message}"));
                self.items_end(map, Some(message));
            }
            Admitted::Later => {}
            // What was frozen has been read, and the source is opened next.
            Admitted::End if self.sources.wants_opening(map) => {}
            Admitted::End => self.items_end(map, None),
        }
        Ok(())
    }

    /// There are no more items, or why no more can be read.
    fn items_end(&mut self, map: StepId, broken: Option<String>) {
        if let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place {
            let (reason, message) = match &broken {
                None => ("vanished", "it is not in the source any more"),
                Some(_) => (BAD_SOURCE, "the source could not be read as far as this item"),
            };
            for (item, key) in self.sources.take_vanished(map, &self.machine) {
                let task = TaskId { step: first, item: Some(item) };
                let mut record = self.machine.record(self.now(), Event::Dead, task);
                (record.key, record.reason) = (key, Some(reason.into()));
                record.message = Some(message.into());
                self.record(record);
            }
        }
        self.record_items_end(map, self.sources.count(map), broken);
    }

    /// A source has so many items; or why no more can be read: then the machine makes the map a dead letter, once all its
    /// items are over.
    fn record_items_end(&mut self, map: StepId, items: u32, broken: Option<String>) {
        let id = TaskId { step: map, item: None };
        let reason = broken.is_some().then(|| BAD_SOURCE.into());
        let record = self.machine.record(self.now(), Event::ItemsEnd, id);
        let message = broken.map(Into::into);
        self.record(Record { items: Some(items), reason, message, ..record });
        self.machine.all_admitted(map);
    }
}
