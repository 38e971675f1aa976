//! A task is due: its attempt is written down, or why there is none. And what becomes of those that give up.

use super::slot::SlotState;
use super::{Engine, EngineError, Observer, values};
use crate::flow::StepId;
use crate::machine::{FAILURES_MAX, TaskId};
use crate::prepared::ReadyAction;
use crate::record::{Event, Outcome, Record};

impl Engine {
    /// An attempt is due: writes down its start, or why there is none.
    pub(super) fn claim(&mut self, slot: usize, task: TaskId, observer: &mut dyn Observer) {
        let now = self.now();
        if let Err(error) = self.sources.ensure(&self.machine, task) {
            return self.stop_for(EngineError::Write(error));
        }
        if let Some((reason, message)) = self.sources.refusal(&self.machine, task) {
            let (reason, message) = (reason.to_string(), message.to_string());
            return self.dead(task, &reason, message);
        }
        if self.machine.attempts(task) == 0 {
            match self.is_wanted(task) {
                Ok(true) => {}
                Ok(false) => {
                    let record = self.machine.record(now, Event::StepEnd, task);
                    return self.record(Record { outcome: Some(Outcome::Skipped), ..record });
                }
                Err(message) => return self.dead(task, "bad-condition", message),
            }
            if self.names_skipped(task) {
                return self.settled(self.machine.skipped_with(now, task));
            }
        }
        if let ReadyAction::Branch(arms) = &self.prepared.step(task.step).action {
            return match self.chosen(task, arms) {
                Ok(arm) => self.record(self.machine.branch_end(now, task, arm)),
                Err(message) => self.dead(task, "bad-condition", message),
            };
        }
        if let ReadyAction::Value(expression) = &self.prepared.step(task.step).action {
            return match self.computed(expression, task) {
                Ok(value) => self.record(self.machine.value_end(now, task, value)),
                Err(message) => self.settled(self.machine.value_failed(now, task, &message)),
            };
        }
        let launch = match self.launch(task) {
            Ok(launch) => launch,
            Err(error) => return self.dead(task, error.kind(), error.to_string()),
        };
        if self.machine.attempts(task) == 0 {
            self.suspect(task, observer);
        }
        let mut record = self.machine.attempt_start(now, task);
        record.key = self.sources.key(&self.machine, task).map(Into::into);
        self.record(record);
        self.slots[slot].state = SlotState::Claimed;
        self.starts.push((slot, task, Box::new(launch)));
    }

    /// A task that gives up without an attempt.
    pub(super) fn dead(&mut self, task: TaskId, reason: &str, message: String) {
        debug_assert!(crate::reason::page(reason).is_some(), "{reason} has no page");
        let mut record = self.machine.record(self.now(), Event::Dead, task);
        record.key = self.sources.key(&self.machine, task).map(Into::into);
        record.reason = Some(reason.into());
        record.message = Some(message.into());
        self.record(record);
    }

    /// A record of the machine's own: a decision, a dead letter, a fallback, a map that is stopped.
    pub(super) fn settled(&mut self, mut record: Record) {
        if record.reason.as_deref() == Some(FAILURES_MAX)
            && let Some(task) = self.machine.task(&record)
        {
            self.tell_stopped(task.step, &mut record);
        }
        if record.event == Event::Dead
            && let Some(task) = self.machine.task(&record)
        {
            // What was lost is not in memory, and a dead letter has a name. Without it, it is one all the same.
            let _ = self.sources.ensure(&self.machine, task);
            record.key = self.sources.key(&self.machine, task).map(Into::into);
        }
        if record.event == Event::StepEnd
            && record.outcome == Some(Outcome::Recovered)
            && let Some(task) = self.machine.task(&record)
            && let Some(fallback) = &self.prepared.step(task.step).fallback
        {
            match values::rendered(fallback, &self.values(Some(task))) {
                Ok(json) => record.output = Some(json),
                Err(error) => {
                    record.event = Event::Dead;
                    record.outcome = None;
                    record.message = Some(format!("its fallback: {error}").into());
                }
            }
        }
        self.record(record);
    }

    /// Says why a map is stopped, and how many of its items were not run, as far as that can be known.
    fn tell_stopped(&mut self, map: StepId, record: &mut Record) {
        let counts = self.machine.counts(map);
        let known = u32::try_from(counts.known).unwrap_or(u32::MAX);
        let (left, is_all) = self.sources.left(map, known);
        let left = match (left, is_all) {
            (0, true) => String::new(),
            (0, false) => "; what else its source has was not run".to_owned(),
            (1, true) => "; 1 item was not run".to_owned(),
            (left, true) => format!("; {left} items were not run"),
            (left, false) => format!("; {left} items or more were not run"),
        };
        let (dead, finished) = (counts.dead, counts.finished());
        let message =
            format!("{dead} of {finished} items are dead, more than failures_max allows{left}");
        record.message = Some(message.into());
    }
}
