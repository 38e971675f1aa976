//! A task is over: the item that it is of goes on, and so do the steps that need it.

use redial_core::Time;

use super::shared::Shared;
use super::skipped::NotRun;
use super::task::Task;
use super::{End, Impossible, ItemState, Machine, TaskId, impossible};
use crate::flow::{self, NeedKind, Place, StepId};
use crate::record::Record;

impl Machine {
    /// A task is over, and its last attempt, if it had one, has not succeeded.
    pub(super) fn over_without_success(
        &mut self,
        record: &Record,
        time: Time,
        end: End,
    ) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        if self.tasks.get(&id).is_some_and(Task::is_running) {
            return Err(impossible(record, "an attempt is running"));
        }
        let is_alone = self.flow.steps[id.step as usize].place == Place::Alone;
        if is_alone && !self.tasks.contains_key(&id) {
            return Err(impossible(record, "it is over, or was not to be done yet"));
        }
        let arm = record.arm.as_deref().map(|arm| self.arm(id.step, arm));
        let arm = arm.transpose().map_err(|why| impossible(record, why))?;
        self.meet(record, id)?;
        if self.tasks.get(&id).is_some_and(Task::has_paid) {
            self.shared(id.step).into_iter().flatten().for_each(Shared::refund);
        }
        match arm {
            Some(arm) => self.taken.insert(id, arm),
            None => self.taken.remove(&id),
        };
        self.time = time;
        self.finish(id, end);
        Ok(())
    }

    /// The arm of a branch that has this name.
    pub(super) fn arm(&self, branch: StepId, name: &str) -> Result<StepId, &'static str> {
        let arm = self.names.get(name).copied().filter(|arm| self.branch_of(*arm) == Some(branch));
        arm.ok_or("it has no such arm")
    }

    /// The branch that a step is an arm of.
    fn branch_of(&self, step: StepId) -> Option<StepId> {
        let needs = &self.flow.steps[step as usize].needs;
        needs.iter().find(|need| need.kind == NeedKind::Taken).map(|need| need.step)
    }

    /// A task is over.
    pub(super) fn finish(&mut self, id: TaskId, end: End) {
        self.tasks.remove(&id);
        self.unsettled.retain(|unsettled| *unsettled != id);
        let (Some(item), Place::Inside(map)) = (id.item, &self.flow.steps[id.step as usize].place)
        else {
            let end = match (end, self.flow.steps[id.step as usize].on_failure) {
                (End::Dead, _) => End::Dead,
                (end, _) => end,
            };
            self.steps[id.step as usize].end = Some(end);
            self.open();
            return;
        };
        let map = *map;
        let Place::Map { first, last, .. } = self.flow.steps[map as usize].place else { return };
        let state = &mut self.steps[map as usize].map;
        let place = item as usize;
        if end == End::Recovered {
            state.items[place] = ItemState::Recovered;
        }
        match end {
            End::Continued => self.continued.insert(id),
            End::Skipped => self.skipped.insert(id),
            _ => false,
        };
        let inner = |step: StepId| {
            let needs = &self.flow.steps[step as usize].needs;
            needs.iter().find(|need| (first..=last).contains(&need.step)).copied()
        };
        let next = self.taken(id).or_else(|| flow::after(id.step, last, inner));
        if let Some(step) = next.filter(|_| end != End::Dead) {
            self.enqueue(TaskId { step, item: Some(item) }, self.time);
            return;
        }
        self.steps[map as usize].map.counts.active -= 1;
        // A dead letter that is retried goes on with them.
        for step in (first..=last).filter(|_| end != End::Dead) {
            let task = TaskId { step, item: Some(item) };
            self.continued.remove(&task);
            self.skipped.remove(&task);
            self.taken.remove(&task);
        }
        let state = &mut self.steps[map as usize].map;
        let (finished, count) = match (end, state.items[place]) {
            (End::Dead, _) => (ItemState::Dead, &mut state.counts.dead),
            (_, ItemState::Recovered) => (ItemState::Recovered, &mut state.counts.recovered),
            _ => (ItemState::Succeeded, &mut state.counts.succeeded),
        };
        *count += 1;
        state.items[place] = finished;
        self.close(map);
    }

    /// Opens the steps that have what they need, and ends those that will never have it.
    pub(super) fn open(&mut self) {
        loop {
            let mut has_changed = false;
            for id in 0..self.steps.len() as StepId {
                let state = &self.steps[id as usize];
                if state.is_open
                    || state.end.is_some()
                    || matches!(self.flow.steps[id as usize].place, Place::Inside(_))
                {
                    continue;
                }
                let Some(is_ready) = self.readiness(id) else { continue };
                has_changed = true;
                match is_ready {
                    Ok(()) => {
                        self.steps[id as usize].is_open = true;
                        match self.flow.steps[id as usize].place {
                            Place::Map { .. } => self.close(id),
                            _ => self.enqueue(TaskId { step: id, item: None }, self.time),
                        }
                    }
                    Err(NotRun::RefersToSkipped) => self.skip(id),
                    Err(NotRun::NotTaken) => self.steps[id as usize].end = Some(End::Skipped),
                    Err(NotRun::Blocked) => self.steps[id as usize].end = Some(End::Blocked),
                }
            }
            if !has_changed {
                return;
            }
        }
    }

    /// Whether a step may start, or why it never may; none where that is not known yet.
    fn readiness(&self, id: StepId) -> Option<Result<(), NotRun>> {
        // What an arm needs counts only where it is taken.
        if let Some(branch) = self.branch_of(id) {
            let taken = self.taken(TaskId { step: branch, item: None });
            if !self.steps[branch as usize].end?.is_failure() && taken != Some(id) {
                return Some(Err(NotRun::NotTaken));
            }
        }
        let mut ready = Some(Ok(()));
        for need in &self.flow.steps[id as usize].needs {
            let dead = self.steps[need.step as usize].map.counts.dead;
            match (self.steps[need.step as usize].end, need.kind) {
                (Some(end), _) if end.is_failure() => return Some(Err(NotRun::Blocked)),
                (Some(End::Succeeded), NeedKind::All) if dead > 0 => {
                    return Some(Err(NotRun::Blocked));
                }
                (Some(_), NeedKind::Output)
                    if self.was_skipped(TaskId { step: need.step, item: None }) =>
                {
                    ready = ready.and(Some(Err(NotRun::RefersToSkipped)))
                }
                (Some(_), _) => {}
                (None, _) => ready = None,
            }
        }
        ready
    }
}
