//! What waits for its attempt, and what it waits for: its time, a slot, a place in the rate, a breaker.

use std::cmp::Reverse;

use redial_core::Time;

use super::shared::Shared;
use super::task::{Phase, Queued, Task};
use super::{Machine, TaskId, WINDOW};
use crate::flow::{Place, Step, StepId};

impl Machine {
    /// The maps of which another item may be read, each with its first step: those whose items have a higher
    /// priority than this.
    pub(super) fn readable(&self, above: Option<i32>) -> Vec<(StepId, StepId)> {
        let is_above = |first: StepId| {
            let priority = self.flow.steps[first as usize].priority;
            above.is_none_or(|above| priority > above)
        };
        let has_more = |(map, first): &(StepId, StepId)| {
            let state = &self.steps[*map as usize];
            is_above(*first)
                && state.is_open
                && state.end.is_none()
                && state.map.has_more()
                && !self.has_too_many_dead(*map)
                && state.map.counts.active < u64::from(WINDOW)
        };
        self.maps.iter().copied().filter(has_more).collect()
    }

    /// From when on a step, and the map around it, have a slot, a place in their rate and a breaker that
    /// admits an attempt; none where only the end of an attempt makes a difference.
    pub(super) fn start_at(&self, step: StepId, from: Time) -> Option<Time> {
        let mut at = from;
        for step in self.sharing(step) {
            let state = &self.steps[step as usize];
            if self.flow.steps[step as usize]
                .slots
                .is_some_and(|slots| state.running >= slots.get())
            {
                return None;
            }
            at = at.max(state.pacer.as_ref().map_or(at, |pacer| pacer.free_at()));
        }
        for shared in self.shared(step).into_iter().flatten() {
            at = shared.admits_at(at)?;
        }
        Some(at)
    }

    /// The budget and the breaker of a step, and those of the map that it is in.
    pub(super) fn shared(&self, step: StepId) -> [Option<&Shared>; 2] {
        let of = |step: StepId| &self.steps[step as usize].shared;
        let map = match self.flow.steps[step as usize] {
            Step { place: Place::Inside(map), is_substitute: false, .. } => Some(of(map)),
            _ => None,
        };
        [Some(of(step)), map]
    }

    /// A step, and the one whose slots and rate it takes from, too: the map that it is in, or one that it shares them with.
    pub(super) fn sharing(&self, step: StepId) -> impl Iterator<Item = StepId> + use<> {
        let Step { place, shares, .. } = &self.flow.steps[step as usize];
        let other = match place {
            Place::Inside(map) => Some(*map),
            _ => *shares,
        };
        std::iter::once(step).chain(other)
    }

    pub(super) fn enqueue(&mut self, id: TaskId, due: Time) {
        let generation = self.steps[id.step as usize].generation;
        self.tasks
            .entry(id)
            .or_insert_with(|| Task::new(if id.item.is_none() { generation } else { 0 }));
        self.requeue(id, due);
    }

    pub(super) fn requeue(&mut self, task: TaskId, due: Time) {
        self.sequence += 1;
        let priority = Reverse(self.flow.steps[task.step as usize].priority);
        let queued = Queued { due, priority, sequence: self.sequence, task };
        if let Some(task) = self.tasks.get_mut(&task) {
            task.queued = self.sequence;
            task.due = due;
        }
        self.steps[task.step as usize].queue.push(Reverse(queued));
        self.queued.insert(task.step);
    }

    /// What is first in the queue of a step. Entries of tasks that have left it meanwhile are dropped.
    pub(super) fn head(&mut self, step: StepId) -> Option<Queued> {
        let queue = &mut self.steps[step as usize].queue;
        while let Some(Reverse(head)) = queue.peek() {
            let task = self.tasks.get(&head.task);
            if task.is_some_and(|task| task.phase == Phase::Queued && task.queued == head.sequence)
            {
                return Some(*head);
            }
            queue.pop();
        }
        self.queued.remove(&step);
        None
    }
}
