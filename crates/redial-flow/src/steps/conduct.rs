//! A call of a step, or of a map, between the machine, which decides, and the journal.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use redial_core::Time;

use super::error::{DeadLetter, Stopped};
use super::run::Inner;
use crate::flow::{Flow, Step};
use crate::machine::{Machine, Next, Supply, TaskId};
use crate::program::Called;
use crate::record::{Event, Outcome, Record};
use crate::task_key;

/// What is decided is the machine's; what happens goes through here.
pub(super) struct Conduct<'r> {
    pub(super) run: &'r Inner,
    pub(super) machine: Machine,
    /// Applied to the machine, and not written down yet.
    batch: Vec<Record>,
    /// The policy, as text, until it is written down.
    policy: Option<String>,
}

impl<'r> Conduct<'r> {
    /// A call as far as the journal has come with it. What was running in another process is lost.
    pub(super) async fn new(run: &'r Inner, steps: Vec<Step>, called: Option<Called>) -> Self {
        let policy = steps.last().map(|step| step.policy.to_string());
        let name = steps.first().map(|step| step.name.clone()).unwrap_or_default();
        let flow = Arc::new(Flow { name: String::new(), steps });
        let mut machine = Machine::new(flow, &run.name, run.seed);
        let is_new = called.as_ref().is_none_or(|called| called.records.is_empty());
        if let Some(called) = called {
            machine.set_generation(0, called.generation);
            for record in &called.records {
                if let Err(impossible) = machine.apply(record) {
                    let why = format!("its records are not those of such a step ({impossible})");
                    return run.changed(&name, why).await;
                }
            }
        }
        let mut conduct =
            Self { run, machine, batch: Vec::new(), policy: policy.filter(|_| is_new) };
        for task in conduct.machine.open_attempts() {
            let record = conduct.attempt_end(task, Outcome::Lost);
            conduct.record(record).await;
        }
        conduct
    }

    pub(super) fn next(&mut self, supply: Supply) -> Next {
        let now = self.now();
        self.machine.next(now, true, &mut |_| supply)
    }

    pub(super) fn now(&self) -> Time {
        self.run.now().max(self.machine.time())
    }

    /// The end of an attempt that is running.
    pub(super) fn attempt_end(&self, task: TaskId, outcome: Outcome) -> Record {
        let record = self.machine.record(self.now(), Event::AttemptEnd, task);
        Record { attempt: Some(self.machine.attempts(task)), outcome: Some(outcome), ..record }
    }

    /// Applies a record, to be written down with the next [`flush`](Self::flush): nothing is done on it before that.
    pub(super) async fn record(&mut self, mut record: Record) {
        if matches!(record.event, Event::AttemptStart | Event::ItemsEnd) {
            record.policy = self.policy.take().map(Into::into);
        }
        if let Err(impossible) = self.machine.apply(&record) {
            let step = record.step.as_deref().unwrap_or_default().to_owned();
            return self.run.changed(&step, impossible.to_string()).await;
        }
        self.batch.push(record);
    }

    pub(super) async fn flush(&mut self) {
        self.run.append(std::mem::take(&mut self.batch)).await;
    }

    /// An attempt is about to start, once it is [written down](Self::flush). None does when the store shuts down.
    pub(super) async fn begin(&mut self, task: TaskId, key: Option<&str>) {
        if self.run.store.is_shutting_down() {
            self.flush().await;
            return pending().await;
        }
        let record = self.machine.attempt_start(self.now(), task);
        self.record(Record { key: key.map(Into::into), ..record }).await;
        // From here on it counts as running, so that a shutdown waits for it.
        self.run.running().fetch_add(1, Ordering::AcqRel);
    }

    /// An attempt has ended, as the record says.
    pub(super) async fn ended(&mut self, record: Record) {
        self.record(record).await;
        self.stopped_running(1);
    }

    fn stopped_running(&self, count: u32) {
        let before = self.run.running().fetch_sub(count, Ordering::AcqRel);
        if before == count && self.run.store.is_shutting_down() {
            self.run.wake();
        }
    }

    pub(super) fn task_key(&self, task: TaskId, item: Option<&str>) -> String {
        let step = &self.machine.flow().steps[task.step as usize].name;
        task_key::key(&self.run.name, step, item, self.machine.generation(task))
    }

    /// Stops the run: a result that cannot be kept.
    pub(super) async fn stop<T>(&mut self, stopped: Stopped) -> T {
        self.run.stop_here(stopped).await
    }
}

impl Drop for Conduct<'_> {
    /// The call is dropped in the middle of an attempt: that was cut, and does not count. In a panic nothing is written, so
    /// that the attempt is lost, and counts: a step that panics each time comes to its end.
    fn drop(&mut self) {
        let open = self.machine.open_attempts();
        if open.is_empty() {
            return;
        }
        if !std::thread::panicking() {
            let mut records = std::mem::take(&mut self.batch);
            for task in &open {
                let record = self.attempt_end(*task, Outcome::Cancelled);
                if self.machine.apply(&record).is_ok() {
                    records.push(record);
                }
            }
            while let Next::Write(record) = self.next(Supply::Later) {
                if self.machine.apply(&record).is_err() {
                    break;
                }
                records.push(*record);
            }
            self.run.submit(records);
        }
        self.stopped_running(open.len() as u32);
    }
}

/// The dead letter that a record and the last error make.
pub(super) fn dead_letter(record: &Record, error: Option<&str>) -> DeadLetter {
    DeadLetter {
        step: record.step.as_deref().unwrap_or_default().into(),
        item: record.item,
        key: record.key.as_deref().map(Into::into),
        attempts: record.attempt.unwrap_or(0),
        reason: record.reason.as_deref().unwrap_or_default().into(),
        error: error.map(Into::into),
    }
}
