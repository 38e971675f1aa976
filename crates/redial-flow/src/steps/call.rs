//! A step that is about to be done, or a step for each item: what can be said of it.

use std::fmt;
use std::time::Duration;

use redial_core::Limits;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Stopped;
use super::run::kept;
use super::shared::{BreakerSource, BudgetSource, Shared};
use crate::flow::Step;
use crate::record::{Action, Event, Outcome, Record, Verdict};

/// How much of an error's text is written down.
const ERROR_MAX: usize = 16 << 10;

/// A retry that is about to be waited for, for [`Call::on_retry`].
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

/// A step, or one for each item, that is about to be done: `.await` does it.
///
/// [`StepCall`](super::StepCall) and [`MapCall`](super::MapCall) are the two; the same can be said of both, and of a step
/// of a [`Flow`](super::Flow) by [`step_where`](super::Flow::step_where).
#[must_use = "nothing is done until it is awaited"]
pub struct Call<'a, W, E> {
    /// Of a map, the step for an item.
    pub(super) step: Step,
    pub(super) reactions: Reactions<'a, E>,
    pub(super) shared: Shared<'a>,
    /// What is wrong with the settings of its budget or breaker.
    pub(super) mistake: Option<String>,
    /// What is done.
    pub(super) work: W,
}

impl<W, E> fmt::Debug for Call<'_, W, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("step", &self.step).finish_non_exhaustive()
    }
}

impl<'a, W, E> Call<'a, W, E> {
    pub(super) fn new(step: Step, work: W) -> Self {
        let (reactions, shared) = (Reactions::new(), Shared::default());
        Self { step, reactions, shared, mistake: None, work }
    }

    /// The same, and what the settings of a flow's step say.
    pub(super) fn under(
        self,
        settings: impl FnOnce(Call<'static, (), E>) -> Call<'static, (), E>,
    ) -> Self {
        let Self { step, work, .. } = self;
        let Call { step, reactions, shared, mistake, work: () } = settings(Call::new(step, ()));
        Self { step, reactions, shared, mistake, work }
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
        self.reactions.classify = Some(Box::new(classify));
        self
    }

    /// Told of each failure that is retried, before the wait.
    pub fn on_retry(mut self, hook: impl FnMut(&Retrying<'_>) + Send + 'a) -> Self {
        self.reactions.on_retry = Some(Box::new(hook));
        self
    }

    /// How long one attempt may take; then it is dropped, and has failed.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.reactions.timeout = Some(timeout);
        self
    }

    /// How long it may take in all, an item for itself, from its first attempt on, also while no process runs.
    pub fn within(mut self, within: Duration) -> Self {
        self.step.limits = self.step.limits.within(within);
        self
    }

    /// Limits besides those of the policy.
    pub fn limits(mut self, limits: Limits<'static>) -> Self {
        self.step.limits = limits;
        self
    }

    /// What its retries are paid from, besides what the policy says: a budget of the library's, which all steps that name it
    /// share in this process (`&BUDGET`, an `Arc`), or [settings](super::BudgetSettings) of one for this step and its items, which
    /// is in the journal and so survives a KILL. Settings that cannot be stop the run before anything is done, as
    /// [`Stopped::Setting`].
    pub fn budget(mut self, budget: impl Into<BudgetSource<'a>>) -> Self {
        match budget.into() {
            BudgetSource::OfRun(settings) => {
                self.mistake = self.mistake.or(settings.builder().err());
                self.step.budget = Some(settings);
            }
            BudgetSource::OfProcess(budget) => self.shared.budget = Some(budget),
        }
        self
    }

    /// What starts no attempt for a while after failures in a row: a breaker of the library's, which all steps that name it
    /// share in this process (`&BREAKER`, an `Arc`), or [settings](super::BreakerSettings) of one for this step and its items.
    /// A step that cannot start waits, unless its deadline comes before.
    pub fn breaker(mut self, breaker: impl Into<BreakerSource<'a>>) -> Self {
        match breaker.into() {
            BreakerSource::OfRun(settings) => {
                self.mistake = self.mistake.or(settings.builder().err());
                self.step.breaker = Some(settings);
            }
            BreakerSource::OfProcess(breaker) => self.shared.breaker = Some(breaker),
        }
        self
    }

    /// Whether it may run again when it is not known whether it has succeeded; it may, unless this says `false`. Then an attempt
    /// that a KILL cut, or that was dropped, is a dead letter.
    pub fn idempotent(mut self, is_idempotent: bool) -> Self {
        self.step.is_idempotent = is_idempotent;
        self
    }
}

type Classify<'a, E> = Box<dyn FnMut(&E) -> redial_core::Verdict + Send + 'a>;
type Hook<'a> = Box<dyn FnMut(&Retrying<'_>) + Send + 'a>;

/// What is done about errors, and who is told.
pub(super) struct Reactions<'a, E> {
    classify: Option<Classify<'a, E>>,
    on_retry: Option<Hook<'a>>,
    pub(super) timeout: Option<Duration>,
}

impl<E> Reactions<'_, E> {
    fn new() -> Self {
        Self { classify: None, on_retry: None, timeout: None }
    }

    /// The record of an attempt that has ended, and what it gave; nothing where it took too long.
    pub(super) fn ended<T>(
        &mut self,
        mut end: Record,
        ended: Option<Result<T, E>>,
        of: impl FnOnce() -> String,
    ) -> Result<(Record, Option<T>), Stopped>
    where
        T: Serialize + DeserializeOwned,
        E: fmt::Display,
    {
        match ended {
            Some(Ok(value)) => {
                let (json, value) = kept(&value, of)?;
                (end.outcome, end.output) = (Some(Outcome::Succeeded), Some(json));
                return Ok((end, Some(value)));
            }
            Some(Err(error)) => {
                let (verdict, delay_ns) = self.verdict(&error);
                (end.outcome, end.verdict) = (Some(Outcome::Failed), Some(verdict));
                (end.delay_ns, end.stderr_tail) = (delay_ns, Some(text(&error).into()));
            }
            None => {
                end.outcome = Some(Outcome::Timeout);
                end.stderr_tail = Some("it took longer than it may".into());
            }
        }
        Ok((end, None))
    }

    fn verdict(&mut self, error: &E) -> (Verdict, Option<u64>) {
        let classify = self.classify.as_mut();
        match classify.map_or(redial_core::Verdict::Retry, |classify| classify(error)) {
            redial_core::Verdict::Stop => (Verdict::Stop, None),
            redial_core::Verdict::Retry => (Verdict::Retry, None),
            redial_core::Verdict::RetryAfter(delay) => {
                (Verdict::Retry, Some(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)))
            }
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

fn text(error: &impl fmt::Display) -> String {
    let mut text = format!("{error:#}");
    if text.len() > ERROR_MAX {
        let end = (0..=ERROR_MAX).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
    }
    text
}
