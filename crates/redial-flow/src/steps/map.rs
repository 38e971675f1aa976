//! A step for each item.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use redial_core::{Policy, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::call::Call;
use super::conduct::{Conduct, Ended, dead_letter};
use super::error::{DeadLetter, Stopped};
use super::items::{self, Item};
use super::run::{Inner, Run};
use super::step::Attempt;
use super::telemetry::Watch;
use crate::flow::{FailuresMax, OnFailure, Place, Rate, Step};
use crate::machine::{Next, Supply, TaskId};
use crate::program::item_step;
use crate::record::{Event, Outcome, Record};

const MAP: u32 = 0;
const INNER: u32 = 1;

/// A step for each item that is about to be done: `.await` does it.
pub type MapCall<'a, I, T, E, F> = Call<'a, Each<'a, I, T, F>, E>;

/// The work of a step for each item.
pub struct Each<'a, I, T, F> {
    run: &'a Run,
    map: Step,
    items: Vec<I>,
    operation: F,
    result: PhantomData<fn() -> T>,
}

impl<I, T, F> fmt::Debug for Each<'_, I, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.items.len();
        f.debug_struct("Each")
            .field("map", &self.map)
            .field("items", &items)
            .finish_non_exhaustive()
    }
}

impl<'a, I, T, F> Each<'a, I, T, F> {
    pub(super) fn new(run: &'a Run, name: String, items: Vec<I>, operation: F) -> Self {
        const SLOTS: NonZeroU32 = NonZeroU32::new(16).unwrap();
        let place = Place::Map { first: INNER, last: INNER, failures_max: None };
        let map = Step { place, slots: Some(SLOTS), ..Step::new(name) };
        Self { run, map, items, operation, result: PhantomData }
    }
}

impl<'a, I, T, E, F> MapCall<'a, I, T, E, F> {
    pub(super) fn map(
        run: &'a Run,
        name: String,
        policy: Policy,
        items: Vec<I>,
        operation: F,
    ) -> Self {
        let inner = Step {
            policy: policy.into(),
            place: Place::Inside(MAP),
            on_failure: OnFailure::DeadLetter,
            ..Step::new(item_step(&name))
        };
        Self::new(inner, Each::new(run, name, items, operation))
    }

    /// How many items are under way at once at most; 16, unless this says otherwise.
    pub fn slots(mut self, slots: NonZeroU32) -> Self {
        self.work.map.slots = Some(slots);
        self
    }

    /// How many attempts start in a time at most.
    pub fn rate(mut self, rate: Rate) -> Self {
        self.work.map.rate = Some(rate);
        self
    }

    /// How many items may be dead letters before no other is started. Those that are not started give a dead letter
    /// with the reason `failures-max`, which the journal does not have: they are started once somebody has retried or dropped
    /// enough of the others.
    pub fn failures_max(mut self, max: FailuresMax) -> Self {
        let place = Place::Map { first: INNER, last: INNER, failures_max: Some(max) };
        self.work.map.place = place;
        self
    }
}

impl<'a, I, T, E, F, O> IntoFuture for MapCall<'a, I, T, E, F>
where
    I: Serialize + Clone + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(I, Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    type Output = Vec<Result<T, DeadLetter>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let watch = Watch::open(&self.work.map.name);
            watch.around(|watch| self.done(watch)).await
        })
    }
}

/// An attempt of an item that is running.
struct Running<'o, T, E> {
    task: TaskId,
    started: Time,
    ended: Pin<Box<dyn Future<Output = Option<Result<T, E>>> + Send + 'o>>,
}

impl<'a, I, T, E, F, O> MapCall<'a, I, T, E, F>
where
    I: Serialize + Clone + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(I, Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    async fn done(self, watch: Watch) -> Vec<Result<T, DeadLetter>> {
        let Self { step, mut reactions, shared, mistake, work } = self;
        let Each { run, map, items: values, mut operation, .. } = work;
        let run = &*run.inner;
        let name = map.name.clone();
        if let Some(why) = mistake {
            return run.stop_here(Stopped::Setting { step: name, why }).await;
        }
        let called = run.take(&name);
        let mut ends = Ends::new(values.len());
        if let Some(called) = &called {
            if !called.is_map {
                let why = "the journal has a step of this name, and no map".into();
                return run.changed(&name, why).await;
            }
            called.records.iter().for_each(|record| ends.add(record));
        }
        let items = match items::known(&values, &name) {
            Ok(items) => items,
            Err(stopped) => return run.stop_here(stopped).await,
        };
        let begun =
            called.as_ref().map(|called| called.records.iter().find_map(|record| record.items));
        if let Err(stopped) = run.freeze(&name, &items, begun.flatten()).await {
            return run.stop_here(stopped).await;
        }
        let keys: Vec<Box<str>> = items.into_iter().map(|Item { key, .. }| key).collect();
        let key_of = |task: TaskId| Some(&*keys[task.item? as usize]);
        let mut conduct = Conduct::new(run, vec![map, step], shared, watch, called).await;
        if begun.is_none() {
            let map = TaskId { step: MAP, item: None };
            let record = conduct.machine.record(conduct.now(), Event::ItemsEnd, map);
            conduct.record(Record { items: Some(keys.len() as u32), ..record }).await;
        }
        let mut admitted = 0;
        let mut starting: Vec<TaskId> = Vec::new();
        let mut running: Vec<Running<'_, T, E>> = Vec::new();
        loop {
            let supply = if admitted < keys.len() { Supply::Item } else { Supply::End };
            match conduct.next(supply) {
                Next::Write(mut record) => {
                    record.key = record.item.map(|item| keys[item as usize].clone());
                    reactions.decided(&record, ends.error(&record));
                    ends.add(&record);
                    conduct.record(*record).await;
                }
                Next::Read(_) if admitted < keys.len() => {
                    conduct.machine.admit(MAP, admitted as u32);
                    admitted += 1;
                }
                Next::Start(task) => {
                    conduct.begin(task, key_of(task)).await;
                    starting.push(task);
                }
                Next::Over | Next::Read(_) => break,
                Next::Wait(due) => {
                    conduct.flush().await;
                    if !starting.is_empty() {
                        for task in starting.drain(..) {
                            let Some(item) = task.item else { continue };
                            let value = values[item as usize].clone();
                            let (attempt, begun) =
                                conduct.attempt(task, key_of(task), reactions.timeout);
                            let operation = begun.span.scope(|| operation(value, attempt));
                            let started = begun.started;
                            let ended = Box::pin(begun.run(run, operation));
                            running.push(Running { task, started, ended });
                        }
                        continue;
                    }
                    if running.is_empty() && due.is_none() {
                        break;
                    }
                    let wait = due.map(|due| due.since(conduct.now()));
                    let first = first_of(run, &mut running, wait).await;
                    let Some((task, started, ended)) = first else { continue };
                    let attempt = (task, started);
                    let Ended { record, .. } =
                        conduct.ended(attempt, key_of(task), ended, &mut reactions).await;
                    ends.add(&record);
                }
            }
        }
        conduct.flush().await;
        let mut results = Vec::with_capacity(keys.len());
        for ((end, key), item) in ends.ends.into_iter().zip(&keys).zip(0..) {
            results.push(match end {
                Some(Ok(json)) => match T::deserialize(json) {
                    Ok(result) => Ok(result),
                    Err(error) => {
                        let why = format!(
                            "the result of item {key} in the journal is of another type: {error}"
                        );
                        return run.changed(&name, why).await;
                    }
                },
                Some(Err(dead)) => Err(dead),
                None if conduct.machine.is_stopped(MAP) => {
                    Err(DeadLetter::not_started(item_step(&name), item, key))
                }
                None => return run.changed(&name, format!("item {key} has no end")).await,
            });
        }
        results
    }
}

/// The first attempt that ends, unless the time is over before.
async fn first_of<T, E>(
    run: &Inner,
    running: &mut Vec<Running<'_, T, E>>,
    wait: Option<Duration>,
) -> Option<(TaskId, Time, Option<Result<T, E>>)> {
    let mut timer = wait.map(|wait| Box::pin(run.store.timing.sleep(wait)));
    poll_fn(|context| {
        for place in 0..running.len() {
            if let Poll::Ready(ended) = running[place].ended.as_mut().poll(context) {
                let Running { task, started, .. } = running.swap_remove(place);
                return Poll::Ready(Some((task, started, ended)));
            }
        }
        match &mut timer {
            Some(timer) => timer.as_mut().poll(context).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

/// What has become of each item.
struct Ends {
    ends: Vec<Option<Result<Json, DeadLetter>>>,
    errors: Vec<Option<Box<str>>>,
}

impl Ends {
    fn new(count: usize) -> Self {
        Self { ends: vec![None; count], errors: vec![None; count] }
    }

    fn add(&mut self, record: &Record) {
        let Some(place) =
            record.item.map(|item| item as usize).filter(|place| *place < self.ends.len())
        else {
            return;
        };
        match (record.event, record.outcome) {
            (Event::AttemptEnd, Some(Outcome::Succeeded)) => {
                self.ends[place] = Some(Ok(record.output.clone().unwrap_or_default()));
            }
            (Event::AttemptEnd, _) => self.errors[place].clone_from(&record.stderr_tail),
            (Event::Dead, _) => {
                let error = self.errors[place].as_deref();
                self.ends[place] = Some(Err(dead_letter(record, error)));
            }
            (Event::DeadRetry, _) => self.ends[place] = None,
            _ => {}
        }
    }

    fn error(&self, record: &Record) -> Option<&str> {
        self.errors.get(record.item? as usize)?.as_deref()
    }
}
