//! A call of a step, or of a map, between the machine, which decides, and the journal.

use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use redial_core::{Stop, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Reactions;
use super::error::DeadLetter;
use super::run::Inner;
use super::shared::Shared;
use super::step::Attempt;
use super::telemetry::{AttemptSpan, Watch};
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
    shared: Shared<'r>,
    watch: Watch,
}

impl<'r> Conduct<'r> {
    /// A call as far as the journal has come with it. What was running in another process is lost.
    pub(super) async fn new(
        run: &'r Inner,
        steps: Vec<Step>,
        shared: Shared<'r>,
        mut watch: Watch,
        called: Option<Called>,
    ) -> Self {
        let policy = steps.last().map(|step| step.policy.to_string());
        let name = steps.first().map(|step| step.name.clone()).unwrap_or_default();
        let flow = Arc::new(Flow { name: String::new(), steps });
        let mut machine = Machine::new(flow, &run.name, run.seed);
        let is_new = called.as_ref().is_none_or(|called| called.records.is_empty());
        if let Some(called) = called {
            machine.set_generation(0, called.generation);
            for record in &called.records {
                watch.recall(record);
                if let Err(impossible) = machine.apply(record) {
                    let why = format!("its records are not those of such a step ({impossible})");
                    return run.changed(&name, why).await;
                }
            }
        }
        let policy = policy.filter(|_| is_new);
        let mut conduct = Self { run, machine, batch: Vec::new(), policy, shared, watch };
        for task in conduct.machine.open_attempts() {
            let record = conduct.attempt_end(task, Outcome::Lost);
            conduct.record(record).await;
        }
        conduct
    }

    pub(super) fn next(&mut self, supply: Supply) -> Next {
        let now = self.now();
        match self.machine.next(now, true, &mut |_| supply) {
            Next::Write(mut record) => {
                self.shared.pay(&mut record, self.run.store.timing.now());
                Next::Write(record)
            }
            Next::Start(task) => self.admitted(task, now),
            next => next,
        }
    }

    /// The start of an attempt, once the breaker that the process shares admits it.
    fn admitted(&mut self, task: TaskId, now: Time) -> Next {
        let Err(wait) = self.shared.admit(task, self.run.store.timing.now()) else {
            return Next::Start(task);
        };
        let at = now.after(wait);
        if self.machine.deadline(task).is_none_or(|deadline| at < deadline) {
            return Next::Wait(Some(at));
        }
        let attempts = Some(self.machine.attempts(task)).filter(|attempts| *attempts > 0);
        let reason = Some(Stop::BreakerOpen.name().into());
        let record = self.machine.record(now, Event::Dead, task);
        Next::Write(Box::new(Record { reason, attempt: attempts, ..record }))
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
        self.watch.see(&record);
        self.batch.push(record);
    }

    pub(super) async fn flush(&mut self) {
        self.run.append(std::mem::take(&mut self.batch)).await;
    }

    /// An attempt is about to start, once it is [written down](Self::flush). None does when the store shuts down.
    pub(super) async fn begin(&mut self, task: TaskId, key: Option<&str>) {
        if self.run.is_halted() {
            return pending().await;
        }
        if self.run.store.is_shutting_down() {
            self.flush().await;
            return pending().await;
        }
        self.shared.begin(self.machine.attempts(task) == 0);
        let record = self.machine.attempt_start(self.now(), task);
        self.record(Record { key: key.map(Into::into), ..record }).await;
        // From here on it counts as running, so that a shutdown waits for it.
        self.run.running().fetch_add(1, Ordering::AcqRel);
    }

    /// What the operation of an attempt that was begun is told, and what it runs in.
    pub(super) fn attempt(
        &self,
        task: TaskId,
        item: Option<&str>,
        timeout: Option<Duration>,
    ) -> (Attempt, Begun) {
        let (started, number) = (self.now(), self.machine.attempts(task));
        let deadline = self.machine.deadline(task).map(|deadline| deadline.since(started));
        let left = [timeout, deadline].into_iter().flatten().min();
        let attempt = Attempt { number, key: self.task_key(task, item), left };
        (attempt, Begun { started, left, span: self.watch.attempt(number, item) })
    }

    /// An attempt has ended; gives its result, and the text of its error.
    pub(super) async fn ended<T, E>(
        &mut self,
        (task, started): (TaskId, Time),
        item: Option<&str>,
        ended: Option<Result<T, E>>,
        reactions: &mut Reactions<'_, E>,
    ) -> Ended<T>
    where
        T: Serialize + DeserializeOwned,
        E: fmt::Display,
    {
        let mut end = self.attempt_end(task, Outcome::Succeeded);
        end.key = item.map(Into::into);
        let took = self.now().since(started).as_nanos();
        end.duration_ns = Some(u64::try_from(took).unwrap_or(u64::MAX));
        let step = end.step.as_deref().unwrap_or_default().to_owned();
        let of = || format!("the result of step `{step}`");
        let (record, value) = match reactions.ended(end, ended, of) {
            Ok(ended) => ended,
            Err(stopped) => return self.run.stop_here(stopped).await,
        };
        self.shared.ended(task, &record, self.run.store.timing.now());
        self.record(record.clone()).await;
        self.stopped_running(1);
        Ended { record, value }
    }

    fn stopped_running(&self, count: u32) {
        let before = self.run.running().fetch_sub(count, Ordering::AcqRel);
        if before == count && self.run.store.is_shutting_down() {
            self.run.wake();
        }
    }

    fn task_key(&self, task: TaskId, item: Option<&str>) -> String {
        let step = &self.machine.flow().steps[task.step as usize].name;
        task_key::key(&self.run.name, step, item, self.machine.generation(task))
    }
}

/// An attempt whose operation is to be called.
pub(super) struct Begun {
    pub(super) started: Time,
    left: Option<Duration>,
    pub(super) span: AttemptSpan,
}

impl Begun {
    /// Gives nothing where the operation takes too long: then it is dropped.
    pub(super) async fn run<T, E, O>(self, run: &Inner, operation: O) -> Option<Result<T, E>>
    where
        O: Future<Output = Result<T, E>>,
    {
        let Self { left, span, .. } = self;
        span.around(limited(run, left, operation)).await
    }
}

/// An attempt that has ended.
pub(super) struct Ended<T> {
    pub(super) record: Record,
    pub(super) value: Option<T>,
}

/// What an operation gives, unless that takes too long: then it is dropped.
async fn limited<O: Future>(
    run: &Inner,
    left: Option<Duration>,
    operation: O,
) -> Option<O::Output> {
    let Some(left) = left else { return Some(operation.await) };
    let mut operation = pin!(operation);
    let mut timer = pin!(run.store.timing.sleep(left));
    poll_fn(|context| match operation.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => timer.as_mut().poll(context).map(|()| None),
    })
    .await
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
            let now = self.now();
            while let Next::Write(record) = self.machine.next(now, true, &mut |_| Supply::Later) {
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
