//! A run, from its opening to its end.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use redial::{Random, ThreadRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::{Found, INPUT, Opened, Shared, Store, parse};
use crate::record::{Event, Outcome, Record};
use crate::steps::error::{RunError, Stopped};
use crate::steps::log::lock;
use crate::steps::run::{Inner, Run, kept};
use crate::steps::telemetry::RunSpan;
use crate::store::RunName;

/// How long a run that waits for another process sleeps before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) enum Input<I> {
    Given(I),
    Pinned(PhantomData<fn() -> I>),
}

/// A run that is about to be run: `.await` does it.
#[must_use = "a run does nothing until it is awaited"]
pub struct RunCall<'s, F, I> {
    pub(super) store: &'s Store,
    pub(super) name: String,
    /// What the run is one of: the path of the function, or the name of the flow.
    pub(super) title: String,
    pub(super) function: F,
    pub(super) input: Input<I>,
    pub(super) waits: bool,
}

impl<F, I> fmt::Debug for RunCall<'_, F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCall").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F, I> RunCall<'_, F, I> {
    pub(in crate::steps) fn titled(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// Waits while another task or process has the run, instead of being refused. What that one comes to is then the result.
    pub fn wait_for_holder(mut self) -> Self {
        self.waits = true;
        self
    }
}

impl<'s, F, I, O, T, E> IntoFuture for RunCall<'s, F, I>
where
    F: FnOnce(Run, I) -> O + Send + 's,
    I: Serialize + DeserializeOwned + Send + 's,
    O: Future<Output = Result<T, E>> + Send + 's,
    T: Serialize + DeserializeOwned + Send + 's,
    E: fmt::Display + Send + 's,
{
    type Output = Result<T, RunError<E>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.done())
    }
}

impl<'s, F, I, O, T, E> RunCall<'s, F, I>
where
    F: FnOnce(Run, I) -> O + Send + 's,
    I: Serialize + DeserializeOwned + Send + 's,
    O: Future<Output = Result<T, E>> + Send + 's,
    T: Serialize + DeserializeOwned + Send + 's,
    E: fmt::Display + Send + 's,
{
    async fn done(self) -> Result<T, RunError<E>> {
        let shared = &self.store.shared;
        let name = parse(&self.name)?;
        let value = |error: serde_json::Error| Stopped::Value {
            of: "the input".to_owned(),
            why: error.to_string(),
        };
        let given = match &self.input {
            Input::Given(input) => Some(serde_json::to_value(input).map_err(value)?),
            Input::Pinned(_) => None,
        };
        let (found, pinned) = loop {
            if shared.is_shutting_down() {
                return Err(Stopped::ShutDown.into());
            }
            match self.store.find(&name, self.title.clone(), given.clone()).await {
                Err(error) if self.waits && error.is_held() => {
                    shared.timing.sleep(LOOK_AGAIN).await
                }
                found => break found?,
            }
        };
        let opened = match found {
            Found::Over(json) => return Ok(result_of(&name, &json)?),
            Found::Open(opened) => opened,
        };
        let input = match self.input {
            Input::Given(input) => input,
            Input::Pinned(_) => I::deserialize(&pinned).map_err(|error| Stopped::ChangedCode {
                run: name.to_string(),
                step: INPUT.into(),
                why: format!("the input that the run was begun with is of another type: {error}"),
            })?,
        };
        let run = Opening { shared, name: &name, opened: *opened }.begin()?;
        let span = RunSpan::open(name.as_str(), &self.title);
        let guard = Guard { run: run.clone() };
        let function = async {
            let function = (self.function)(run.clone(), input);
            polled(shared, &run.inner, function).await
        };
        let ended = guard.finish(span.around(function).await).await;
        span.ended(match &ended {
            Ok(_) => "success",
            Err(RunError::Failed(_)) => "failed",
            Err(RunError::Stopped(_)) => "stopped",
        });
        ended
    }
}

fn result_of<T: DeserializeOwned>(name: &RunName, json: &Json) -> Result<T, Stopped> {
    T::deserialize(json).map_err(|error| Stopped::ChangedCode {
        run: name.to_string(),
        step: "the result".into(),
        why: format!("what the run came to is of another type: {error}"),
    })
}

/// Polls the function until it has come to its end, or the run is stopped.
async fn polled<O: Future>(
    shared: &Shared,
    run: &Inner,
    function: O,
) -> Result<O::Output, Stopped> {
    let mut function = Box::pin(function);
    poll_fn(|context| {
        if let Some(stopped) = run.is_stopped(context.waker()) {
            return Poll::Ready(Err(stopped));
        }
        let polled = function.as_mut().poll(context);
        if let Some(stopped) = run.is_stopped(context.waker()) {
            return Poll::Ready(Err(stopped));
        }
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Ok(output));
        }
        let is_idle = || run.running().load(Ordering::Acquire) == 0;
        if shared.is_shutting_down() && (is_idle() || lock(&shared.shutdown).is_drained) {
            return Poll::Ready(Err(Stopped::ShutDown));
        }
        Poll::Pending
    })
    .await
}

/// A run whose first record is to be written.
struct Opening<'a> {
    shared: &'a Arc<Shared>,
    name: &'a RunName,
    opened: Opened,
}

impl Opening<'_> {
    fn begin(self) -> Result<Run, Stopped> {
        let Self { shared, name, opened: Opened { log, replay, flow_crc } } = self;
        if replay.is_cancelled {
            log.close_now();
            return Err(Stopped::Cancelled { run: name.to_string() });
        }
        let seed = replay.seed().unwrap_or_else(|| ThreadRandom.word());
        let now = replay.now(|start| shared.timing.since(start));
        let event = if replay.start.is_none() { Event::RunStart } else { Event::RunResume };
        let mut start = shared.timing.start(seed);
        start.flow_crc = flow_crc;
        let record =
            Record { start: Some(Box::new(start)), ..Record::new(name.as_str(), now, event) };
        let called: HashMap<_, _> = replay.called;
        let run = Run::new(name.as_str(), seed, Arc::clone(shared), log, called, now);
        // The first step waits for it.
        run.inner.submit(vec![record]);
        shared.open.fetch_add(1, Ordering::AcqRel);
        let mut shutdown = lock(&shared.shutdown);
        shutdown.runs.retain(|run| run.strong_count() > 0);
        shutdown.runs.push(Arc::downgrade(&run.inner));
        drop(shutdown);
        Ok(run)
    }
}

/// Closes the run, however it ends.
struct Guard {
    run: Run,
}

impl Guard {
    async fn finish<T, E>(self, ended: Result<Result<T, E>, Stopped>) -> Result<T, RunError<E>>
    where
        T: Serialize + DeserializeOwned,
        E: fmt::Display,
    {
        let inner = &self.run.inner;
        let mut record = Record::new(&inner.name, inner.now(), Event::RunEnd);
        let given = match ended? {
            Ok(value) => {
                if let Some(step) = inner.first_missing() {
                    let why = "the journal has it, and the function came to its end without it"
                        .to_owned();
                    return Err(
                        Stopped::ChangedCode { run: inner.name.to_string(), step, why }.into()
                    );
                }
                let (json, value) = kept(&value, || "the result".into())?;
                (record.outcome, record.output) = (Some(Outcome::Succeeded), Some(json));
                Ok(value)
            }
            Err(error) => {
                record.outcome = Some(Outcome::Failed);
                record.message = Some(format!("{error:#}").into());
                Err(RunError::Failed(error))
            }
        };
        let mut append = pin!(inner.append(vec![record]));
        let written = poll_fn(|context| match append.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Ok(())),
            Poll::Pending => match inner.is_stopped(context.waker()) {
                Some(stopped) => Poll::Ready(Err(stopped)),
                None => Poll::Pending,
            },
        });
        written.await?;
        inner.close(true);
        given
    }
}

impl Drop for Guard {
    /// Of a run that was dropped, or stopped, it is written down that it was; not in a panic, which leaves it as a KILL does.
    fn drop(&mut self) {
        let inner = &self.run.inner;
        if !std::thread::panicking() && inner.is_open() {
            let mut record = Record::new(&inner.name, inner.now(), Event::RunEnd);
            record.outcome = Some(Outcome::Interrupted);
            inner.submit(vec![record]);
        }
        inner.close(false);
        inner.store.closed();
    }
}
