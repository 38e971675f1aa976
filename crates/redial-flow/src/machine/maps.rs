//! How a map comes to its end: its source has, and all its items are over. Or its source broke, and it is a dead letter; or too many of
//! its items are, and it is stopped.

use redial_core::Time;

use super::{End, Impossible, Machine, Map, TaskId, impossible};
use crate::flow::{Place, StepId};
use crate::record::{Event, Record};

/// Why a map is a dead letter whose source cannot be opened, or not be read to its end.
pub const BAD_SOURCE: &str = "bad-source";

/// Why a map starts nothing new: more of its items are dead than `failures_max` allows. Of `items.end`.
pub const FAILURES_MAX: &str = "failures-max";

impl Machine {
    /// Whether nothing more of a map starts, because too many of its items are dead.
    pub fn is_stopped(&self, map: StepId) -> bool {
        self.steps[map as usize].map.is_stopped
    }

    /// Whether a task has given up and waits for somebody.
    pub fn has_dead_letters(&self) -> bool {
        let dead_items = self.steps.iter().any(|state| state.map.counts.dead > 0);
        dead_items || (0..self.steps.len() as StepId).any(|step| self.is_dead_letter(step))
    }

    /// Whether a step by itself, or a map because of its source, is a dead letter.
    pub fn is_dead_letter(&self, step: StepId) -> bool {
        let state = &self.steps[step as usize];
        state.end == Some(End::Dead) && !state.is_dropped && !state.map.is_stopped
    }

    /// There are no more items, or no more are read.
    pub(super) fn items_ended(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let map = self.step_of(record)?;
        if !matches!(self.flow.steps[map as usize].place, Place::Map { .. }) {
            return Err(impossible(record, "it is no map"));
        }
        self.time = time;
        let state = &mut self.steps[map as usize];
        if record.reason.as_deref() == Some(FAILURES_MAX) {
            (state.end, state.map.is_stopped) = (Some(End::Dead), true);
            self.open();
            return Ok(());
        }
        let known = state.map.items.len() as u32;
        state.map.length = Some(record.items.unwrap_or(known).max(known));
        state.map.broken =
            record.reason.as_ref().map(|_| record.message.clone().unwrap_or_default());
        self.close(map);
        Ok(())
    }

    /// A map is over when its source is, and all its items are. A bad end has a record of its own.
    pub(super) fn close(&mut self, map: StepId) {
        if self.steps[map as usize].map.counts.active > 0 {
            return;
        }
        if self.has_bad_end(map) {
            self.ending.insert(map);
        } else if self.steps[map as usize].map.is_read() {
            self.steps[map as usize].end = Some(End::Succeeded);
            self.open();
        }
    }

    fn has_bad_end(&self, map: StepId) -> bool {
        let state = &self.steps[map as usize];
        let is_idle = state.end.is_none() && state.map.counts.active == 0;
        let is_broken = state.map.broken.is_some() && state.map.is_read();
        is_idle && (is_broken || self.has_too_many_dead(map))
    }

    /// The record of a map that has come to a bad end: it is stopped, or a dead letter of its own.
    pub(super) fn bad_end(&mut self, now: Time) -> Option<Record> {
        while let Some(map) = self.ending.first().copied() {
            // It may have gone on since: a dead letter was dropped or retried, or there are new items.
            if !self.has_bad_end(map) {
                self.ending.remove(&map);
                continue;
            }
            let id = TaskId { step: map, item: None };
            let (event, reason, message) = match self.has_too_many_dead(map) {
                true => (Event::ItemsEnd, FAILURES_MAX, None),
                false => (Event::Dead, BAD_SOURCE, self.steps[map as usize].map.broken.clone()),
            };
            let record = self.record(now, event, id);
            return Some(Record { reason: Some(reason.into()), message, ..record });
        }
        None
    }

    /// A dead item was dropped. A map that was stopped goes on if it is within its bound again.
    pub(super) fn go_on_within_bound(&mut self, map: StepId) {
        if self.steps[map as usize].map.is_stopped && !self.has_too_many_dead(map) {
            self.reopen(map);
            let state = &mut self.steps[map as usize];
            (state.is_open, state.map.is_stopped) = (true, false);
            self.close(map);
        }
    }

    pub(super) fn has_too_many_dead(&self, map: StepId) -> bool {
        let Place::Map { failures_max, .. } = self.flow.steps[map as usize].place else {
            return false;
        };
        let Map { counts, forgiven, .. } = &self.steps[map as usize].map;
        let (dead, finished) = (counts.dead - forgiven, counts.finished() - forgiven);
        failures_max.is_some_and(|max| max.is_exceeded(dead, finished))
    }
}

impl Map {
    /// Whether the source has come to its end, and all items are over.
    fn is_read(&self) -> bool {
        self.length.is_some_and(|length| self.counts.finished() == u64::from(length))
    }
}
