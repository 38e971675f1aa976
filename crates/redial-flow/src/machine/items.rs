//! The items of a map: read, met in a record, under way.

use super::{Impossible, ItemState, Machine, TaskId, impossible};
use crate::flow::{Place, StepId};
use crate::record::Record;

impl Machine {
    /// An item of a map has been read, and is written down in the list of items at this place. A process
    /// that goes on with a run reads the list from its beginning: what is under way or finished is left as
    /// it is.
    pub fn admit(&mut self, map: StepId, item: u32) {
        let Place::Map { first, .. } = self.flow.steps[map as usize].place else { return };
        self.know(map, item);
        self.steps[map as usize].map.admitted = item + 1;
        if self.steps[map as usize].map.items[item as usize] == ItemState::New {
            self.enter(map, item);
            self.enqueue(TaskId { step: first, item: Some(item) }, self.time);
        }
    }

    /// The sources of maps are read once more: there may be items after the last one that is known.
    pub fn expect_more_items(&mut self) {
        for (state, step) in self.steps.iter_mut().zip(&self.flow.steps) {
            if matches!(step.place, Place::Map { .. }) {
                state.map.expect_more();
                (state.end, state.is_open) = (None, true);
            }
        }
    }

    /// The source of a map has come to its end, for this process: all that it has was admitted.
    pub fn all_admitted(&mut self, map: StepId) {
        self.steps[map as usize].map.admitted = u32::MAX;
    }

    /// A record tells of an item. In a run that is replayed, that may be the first that is heard of it: items
    /// are not written down when they are read.
    pub(super) fn meet(&mut self, record: &Record, id: TaskId) -> Result<(), Impossible> {
        let (Some(item), Place::Inside(map)) = (id.item, &self.flow.steps[id.step as usize].place)
        else {
            return Ok(());
        };
        let map = *map;
        if self.tasks.contains_key(&id) {
            return Ok(());
        }
        let Place::Map { first, .. } = self.flow.steps[map as usize].place else { return Ok(()) };
        let is_new = self.item(map, item).is_none_or(|state| state == ItemState::New);
        if !is_new || id.step != first {
            return Err(impossible(record, "the item is finished, or at another step"));
        }
        self.know(map, item);
        self.enter(map, item);
        Ok(())
    }

    fn know(&mut self, map: StepId, item: u32) {
        let map = &mut self.steps[map as usize].map;
        let length = item as usize + 1;
        if map.items.len() < length {
            map.items.resize(length, ItemState::New);
            if map.length.is_some_and(|known| (known as usize) < length) {
                map.length = None;
            }
            map.counts.known = length as u64;
        }
    }

    pub(super) fn enter(&mut self, map: StepId, item: u32) {
        let state = &mut self.steps[map as usize];
        // An item may come after the map was over: its source is read once more.
        (state.end, state.is_open, state.map.is_stopped) = (None, true, false);
        state.map.items[item as usize] = ItemState::Active;
        state.map.counts.active += 1;
    }
}
