//! One step: the loop of its attempts.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::time::Duration;

use redial_core::Policy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::conduct::{Conduct, Ended, dead_letter};
use super::error::{DeadLetter, Stopped};
use super::run::Run;
use super::telemetry::Watch;
use crate::flow::Step;
use crate::machine::{Next, Supply, TaskId};
use crate::program::Called;
use crate::record::{Event, Record};

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

/// A step that is about to be done: `.await` does it.
pub type StepCall<'a, T, E, F> = Call<'a, One<'a, T, F>, E>;

/// The work of one step.
pub struct One<'a, T, F> {
    run: &'a Run,
    operation: F,
    result: PhantomData<fn() -> T>,
}

impl<T, F> fmt::Debug for One<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("One").field("run", self.run).finish_non_exhaustive()
    }
}

impl<'a, T, E, F> StepCall<'a, T, E, F> {
    pub(super) fn step(run: &'a Run, name: String, policy: Policy, operation: F) -> Self {
        let step = Step { policy: policy.into(), ..Step::new(name) };
        Self::new(step, One { run, operation, result: PhantomData })
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
        Box::pin(async move {
            let watch = Watch::open(&self.step.name);
            watch.around(|watch| self.done(watch)).await
        })
    }
}

impl<'a, T, E, F, O> StepCall<'a, T, E, F>
where
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    async fn done(self, watch: Watch) -> Result<T, DeadLetter> {
        const TASK: TaskId = TaskId { step: 0, item: None };
        let Self { step, mut reactions, shared, mistake, work } = self;
        let One { run, mut operation, .. } = work;
        let (run, name) = (&*run.inner, step.name.clone());
        if let Some(why) = mistake {
            return run.stop_here(Stopped::Setting { step: name, why }).await;
        }
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
        let mut conduct = Conduct::new(run, vec![step], shared, watch, called).await;
        let mut result = None;
        loop {
            match conduct.next(Supply::End) {
                Next::Write(record) => {
                    reactions.decided(&record, error.as_deref());
                    if record.event == Event::Dead {
                        dead = Some((*record).clone());
                    }
                    conduct.record(*record).await;
                }
                Next::Start(_) => {
                    conduct.begin(TASK, None).await;
                    conduct.flush().await;
                    let (attempt, begun) = conduct.attempt(TASK, None, reactions.timeout);
                    let (operation, started) =
                        (begun.span.scope(|| operation(attempt)), begun.started);
                    let ended = begun.run(run, operation).await;
                    let Ended { record, value } =
                        conduct.ended((TASK, started), None, ended, &mut reactions).await;
                    (error, result) = (record.stderr_tail, value);
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

fn last_error(called: &Called) -> Option<Box<str>> {
    let last = called.records.iter().rfind(|record| record.event == Event::AttemptEnd)?;
    last.stderr_tail.clone()
}

fn last_dead(called: &Called) -> Option<Record> {
    called.records.iter().rfind(|record| record.event == Event::Dead).cloned()
}
