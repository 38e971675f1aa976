//! Dead letters that are taken up anew, or dropped.

use redial_core::Time;

use super::task::Task;
use super::{End, Impossible, ItemState, Machine, TaskId, impossible};
use crate::flow::{Place, Step, StepId};
use crate::record::Record;

impl Machine {
    pub(super) fn revive(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        self.time = time;
        self.is_cancelled = false;
        let top = match self.flow.steps[id.step as usize].place {
            Place::Inside(_) => {
                let (map, item) = self.dead_item(record)?;
                self.no_longer_dead(map, item, ItemState::New);
                // Before the map is no longer over: what needs it runs again only if it was.
                self.reopen(map);
                self.enter(map, item);
                map
            }
            _ if self.steps[id.step as usize].end == Some(End::Dead)
                && !self.steps[id.step as usize].is_dropped =>
            {
                self.reopen(id.step);
                id.step
            }
            _ => return Err(impossible(record, "it is not a dead letter")),
        };
        self.steps[top as usize].is_open = true;
        // A map itself has no attempts: its source is read again.
        if let Place::Map { .. } = self.flow.steps[id.step as usize].place {
            let map = &mut self.steps[id.step as usize].map;
            (map.length, map.admitted, map.broken) = (None, 0, None);
            return Ok(());
        }
        self.tasks.insert(id, Task::new(record.generation));
        self.steps[id.step as usize].generation =
            self.steps[id.step as usize].generation.max(record.generation);
        self.requeue(id, time);
        Ok(())
    }

    pub(super) fn drop_dead(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        if let Place::Inside(_) = self.flow.steps[id.step as usize].place {
            let (map, item) = self.dead_item(record)?;
            self.time = time;
            self.no_longer_dead(map, item, ItemState::Dropped);
            self.steps[map as usize].map.counts.dropped += 1;
            self.go_on_within_bound(map);
            return Ok(());
        }
        // It stays failed, and what needs it does not run: only nobody is to look after it any more.
        let state = &mut self.steps[id.step as usize];
        if state.end != Some(End::Dead) || state.is_dropped {
            return Err(impossible(record, "it is not a dead letter"));
        }
        state.is_dropped = true;
        Ok(())
    }

    /// A step is to be done again, and so is all that needs it.
    pub(super) fn reopen(&mut self, step: StepId) {
        let mut steps = vec![step];
        while let Some(step) = steps.pop() {
            let state = &mut self.steps[step as usize];
            if state.end.take().is_none() {
                continue;
            }
            (state.is_open, state.is_dropped) = (false, false);
            state.generation += 1;
            self.taken.remove(&TaskId { step, item: None });
            let needs = |other: &Step| other.needs.iter().any(|need| need.step == step);
            let dependents = self.flow.steps.iter().zip(0..).filter(|(other, _)| needs(other));
            steps.extend(dependents.map(|(_, id)| id));
        }
    }

    fn no_longer_dead(&mut self, map: StepId, item: u32, state: ItemState) {
        let map = &mut self.steps[map as usize].map;
        map.items[item as usize] = state;
        map.counts.dead -= 1;
        map.forgiven = map.forgiven.saturating_sub(1);
    }

    fn dead_item(&self, record: &Record) -> Result<(StepId, u32), Impossible> {
        let id = self.task_of(record)?;
        let Place::Inside(map) = self.flow.steps[id.step as usize].place else {
            return Err(impossible(record, "it is not in a map"));
        };
        match id.item.filter(|item| self.item(map, *item) == Some(ItemState::Dead)) {
            Some(item) => Ok((map, item)),
            None => Err(impossible(record, "it is not a dead letter")),
        }
    }
}
