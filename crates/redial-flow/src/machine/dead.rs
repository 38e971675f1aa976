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

    /// A step is to be done again, and so is all that needs it. A map that needs it reads its source again: what is new in it
    /// is done, and what has succeeded stays.
    pub(super) fn reopen(&mut self, step: StepId) {
        if self.steps[step as usize].end.is_none() {
            return;
        }
        self.undo(step);
        let mut steps = self.needing(step);
        while let Some(step) = steps.pop() {
            let state = &self.steps[step as usize];
            let is_undone = state.end.is_none() && !state.is_open;
            if is_undone || self.may_have_run_once(step) {
                continue;
            }
            self.undo(step);
            if let Place::Map { .. } = self.flow.steps[step as usize].place {
                self.steps[step as usize].map.expect_more();
            }
            steps.extend(self.needing(step));
        }
    }

    /// What a step has come to is forgotten, also where it waits for its next attempt: it is done anew, in another generation.
    fn undo(&mut self, step: StepId) {
        let id = TaskId { step, item: None };
        let has_begun = self.tasks.remove(&id).is_some_and(|task| task.attempts > 0);
        self.unsettled.retain(|unsettled| *unsettled != id);
        self.taken.remove(&id);
        let state = &mut self.steps[step as usize];
        if state.end.take().is_some() || has_begun {
            state.generation += 1;
        }
        (state.is_open, state.is_dropped) = (false, false);
    }

    /// Whether it must not run twice, and an attempt of it that was lost is still to become a dead letter.
    fn may_have_run_once(&self, step: StepId) -> bool {
        let is_unsettled = self.unsettled.contains(&TaskId { step, item: None });
        is_unsettled && !self.flow.steps[step as usize].is_idempotent
    }

    fn needing(&self, step: StepId) -> Vec<StepId> {
        let needs = |other: &Step| other.needs.iter().any(|need| need.step == step);
        let needing = self.flow.steps.iter().zip(0..).filter(|(other, _)| needs(other));
        needing.map(|(_, id)| id).collect()
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
