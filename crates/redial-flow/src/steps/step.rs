//! One step: its options, and the loop of its attempts.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use redial_core::{Limits, Policy, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::conduct::{Conduct, dead_letter};
use super::error::DeadLetter;
use super::run::{Run, kept};
use crate::flow::{BreakerSettings, BudgetSettings, Step};
use crate::machine::{Next, Supply, TaskId};
use crate::program::Called;
use crate::record::{Action, Event, Outcome, Record, Verdict};

/// How much of an error's text is written down.
const ERROR_MAX: usize = 16 << 10;

/// What an operation may know of the attempt that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// The same in all attempts of a step, and of no other one: run, step, item and generation. For whoever deduplicates, such
    /// as the header `Idempotency-Key` of a service.
    pub key: String,
    /// How much time it has, by the step's timeout and its deadline.
    pub left: Option<Duration>,
}

/// A retry that is about to be waited for, for [`StepCall::on_retry`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retrying<'a> {
    /// The step.
    pub step: &'a str,
    /// The attempt that failed.
    pub attempt: u32,
    /// How long the wait is.
    pub delay: Duration,
    /// What the attempt said; nothing where the process that made it was killed.
    pub error: Option<&'a str>,
}

/// What is done about errors, and what is told.
pub(super) struct Reactions<'a, E> {
    classify: Option<Box<dyn FnMut(&E) -> redial_core::Verdict + Send + 'a>>,
    on_retry: Option<Box<dyn FnMut(&Retrying<'_>) + Send + 'a>>,
    pub(super) timeout: Option<Duration>,
}

impl<'a, E> Reactions<'a, E> {
    pub(super) fn new() -> Self {
        Self { classify: None, on_retry: None, timeout: None }
    }

    pub(super) fn classify(
        &mut self,
        classify: impl FnMut(&E) -> redial_core::Verdict + Send + 'a,
    ) {
        self.classify = Some(Box::new(classify));
    }

    pub(super) fn on_retry(&mut self, hook: impl FnMut(&Retrying<'_>) + Send + 'a) {
        self.on_retry = Some(Box::new(hook));
    }

    /// The end of an attempt that failed.
    pub(super) fn failed(&mut self, end: Record, error: &E) -> Record
    where
        E: fmt::Display,
    {
        let verdict =
            self.classify.as_mut().map_or(redial_core::Verdict::Retry, |classify| classify(error));
        let (verdict, delay) = match verdict {
            redial_core::Verdict::Stop => (Verdict::Stop, None),
            redial_core::Verdict::Retry => (Verdict::Retry, None),
            redial_core::Verdict::RetryAfter(delay) => (Verdict::Retry, Some(delay)),
        };
        let mut text = format!("{error:#}");
        if text.len() > ERROR_MAX {
            let end = (0..=ERROR_MAX).rev().find(|end| text.is_char_boundary(*end));
            text.truncate(end.unwrap_or(0));
        }
        Record {
            verdict: Some(verdict),
            delay_ns: delay.map(|delay| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)),
            stderr_tail: Some(text.into()),
            ..end
        }
    }

    pub(super) fn decided(&mut self, record: &Record, error: Option<&str>) {
        if record.event != Event::Decision || record.action != Some(Action::Retry) {
            return;
        }
        if let Some(hook) = &mut self.on_retry {
            hook(&Retrying {
                step: record.step.as_deref().unwrap_or_default(),
                attempt: record.attempt.unwrap_or(0),
                delay: Duration::from_nanos(record.delay_ns.unwrap_or(0)),
                error,
            });
        }
    }
}

/// A step that is about to be done: `.await` does it.
#[must_use = "a step does nothing until it is awaited"]
pub struct StepCall<'a, T, E, F> {
    run: &'a Run,
    step: Step,
    operation: F,
    reactions: Reactions<'a, E>,
    result: PhantomData<fn() -> T>,
}

impl<T, E, F> fmt::Debug for StepCall<'_, T, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepCall").field("step", &self.step).finish_non_exhaustive()
    }
}

impl<'a, T, E, F> StepCall<'a, T, E, F> {
    pub(super) fn new(run: &'a Run, name: String, policy: Policy, operation: F) -> Self {
        let step = Step { policy: policy.into(), ..Step::new(name) };
        Self { run, step, operation, reactions: Reactions::new(), result: PhantomData }
    }

    /// Which errors are worth another attempt; the others end the step.
    pub fn when(self, mut is_worth: impl FnMut(&E) -> bool + Send + 'a) -> Self {
        self.classify(move |error| match is_worth(error) {
            true => redial_core::Verdict::Retry,
            false => redial_core::Verdict::Stop,
        })
    }

    /// What is to be done about an error: another attempt, one after the time that a server asks for, or none.
    pub fn classify(
        mut self,
        classify: impl FnMut(&E) -> redial_core::Verdict + Send + 'a,
    ) -> Self {
        self.reactions.classify(classify);
        self
    }

    /// Told of each failure that is retried, before the wait.
    pub fn on_retry(mut self, hook: impl FnMut(&Retrying<'_>) + Send + 'a) -> Self {
        self.reactions.on_retry(hook);
        self
    }

    /// How long one attempt may take; then it is dropped, and has failed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.reactions.timeout = Some(timeout);
        self
    }

    /// How long the step may take in all, from its first attempt on, also while no process runs.
    pub fn within(mut self, within: Duration) -> Self {
        self.step.limits = self.step.limits.within(within);
        self
    }

    /// Limits besides those of the policy.
    pub fn limits(mut self, limits: Limits<'static>) -> Self {
        self.step.limits = limits;
        self
    }

    /// Whether it may run again when it is not known whether it has succeeded; it may, unless this says `false`. Then an attempt
    /// that a KILL cut, or that was dropped, is a dead letter.
    pub fn idempotent(mut self, is_idempotent: bool) -> Self {
        self.step.is_idempotent = is_idempotent;
        self
    }
}

impl<'a, T, E, F, O> IntoFuture for StepCall<'a, T, E, F>
where
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    type Output = Result<T, DeadLetter>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.done())
    }
}

impl<'a, T, E, F, O> StepCall<'a, T, E, F>
where
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    async fn done(mut self) -> Result<T, DeadLetter> {
        const TASK: TaskId = TaskId { step: 0, item: None };
        let run = &self.run.inner;
        let name = self.step.name.clone();
        let called = run.take(&name);
        if let Some(called) = &called {
            if called.is_map {
                return run.changed(&name, "the journal has a map of this name".into()).await;
            }
            if let Some(json) = &called.result {
                match T::deserialize(json) {
                    Ok(result) => return Ok(result),
                    Err(error) => {
                        let why = format!("its result in the journal is of another type: {error}");
                        return run.changed(&name, why).await;
                    }
                }
            }
        }
        let mut error = called.as_ref().and_then(last_error);
        let mut dead = called.as_ref().and_then(last_dead);
        let mut conduct = Conduct::new(run, vec![self.step], called).await;
        let mut result = None;
        loop {
            match conduct.next(Supply::End) {
                Next::Write(record) => {
                    self.reactions.decided(&record, error.as_deref());
                    if record.event == Event::Dead {
                        dead = Some((*record).clone());
                    }
                    conduct.record(*record).await;
                }
                Next::Start(_) => {
                    conduct.begin(TASK, None).await;
                    conduct.flush().await;
                    let left = time_left(&conduct, TASK, self.reactions.timeout);
                    let (number, key) =
                        (conduct.machine.attempts(TASK), conduct.task_key(TASK, None));
                    let started = conduct.now();
                    let ended =
                        limited(run, left, (self.operation)(Attempt { number, key, left })).await;
                    let mut end = conduct.attempt_end(TASK, Outcome::Succeeded);
                    end.duration_ns = Some(nanos_since(started, conduct.now()));
                    match ended {
                        Some(Ok(value)) => {
                            match kept(&value, || format!("the result of step `{name}`")) {
                                Ok((json, value)) => {
                                    end.output = Some(json);
                                    result = Some(value);
                                }
                                Err(stopped) => return conduct.stop(stopped).await,
                            }
                        }
                        Some(Err(failure)) => {
                            end.outcome = Some(Outcome::Failed);
                            end = self.reactions.failed(end, &failure);
                        }
                        None => {
                            end.outcome = Some(Outcome::Timeout);
                            end.stderr_tail = Some("it took longer than it may".into());
                        }
                    }
                    error = end.stderr_tail.as_deref().map(str::to_owned);
                    conduct.ended(end).await;
                }
                Next::Wait(Some(due)) => {
                    conduct.flush().await;
                    run.store.timing.sleep(due.since(conduct.now())).await;
                }
                Next::Wait(None) | Next::Read(_) | Next::Over => break,
            }
        }
        conduct.flush().await;
        match (result, dead) {
            (Some(result), _) => Ok(result),
            (None, Some(dead)) => Err(dead_letter(&dead, error.as_deref())),
            (None, None) => run.changed(&name, "its records have no end".into()).await,
        }
    }
}

pub(super) fn last_error(called: &Called) -> Option<String> {
    let last = called.records.iter().rfind(|record| record.event == Event::AttemptEnd)?;
    last.stderr_tail.as_deref().map(str::to_owned)
}

fn last_dead(called: &Called) -> Option<Record> {
    called.records.iter().rfind(|record| record.event == Event::Dead).cloned()
}

pub(super) fn nanos_since(from: Time, to: Time) -> u64 {
    u64::try_from(to.since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// How long an attempt of this task may take that starts now.
pub(super) fn time_left(
    conduct: &Conduct<'_>,
    task: TaskId,
    timeout: Option<Duration>,
) -> Option<Duration> {
    let deadline = conduct.machine.deadline(task).map(|deadline| deadline.since(conduct.now()));
    [timeout, deadline].into_iter().flatten().min()
}

/// What an operation gives, unless that takes too long: then it is dropped.
pub(super) async fn limited<O: Future>(
    run: &super::run::Inner,
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

impl<T, E, F> StepCall<'_, T, E, F> {
    /// What its retries are paid from, besides what the policy says.
    pub fn budget(mut self, budget: BudgetSettings) -> Self {
        self.step.budget = Some(budget);
        self
    }

    /// What starts no attempt for a while after failures in a row.
    pub fn breaker(mut self, breaker: BreakerSettings) -> Self {
        self.step.breaker = Some(breaker);
        self
    }
}
