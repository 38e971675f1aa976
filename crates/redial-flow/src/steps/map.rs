//! A step for each item.

use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use redial_core::{Limits, Policy, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use siphasher::sip128::SipHasher13;

use super::conduct::{Conduct, dead_letter};
use super::error::{DeadLetter, Stopped};
use super::run::{Run, kept};
use super::step::{Attempt, Reactions, Retrying, limited, nanos_since, time_left};
use crate::flow::{BreakerSettings, BudgetSettings, OnFailure, Place, Rate, Step};
use crate::machine::{Next, Supply, TaskId};
use crate::program::item_step;
use crate::record::{Event, Outcome, Record};

const MAP: u32 = 0;
const INNER: u32 = 1;

/// A map that is about to be done: `.await` does it.
#[must_use = "a map does nothing until it is awaited"]
pub struct MapCall<'a, I, T, E, F> {
    run: &'a Run,
    map: Step,
    inner: Step,
    items: Vec<I>,
    operation: F,
    reactions: Reactions<'a, E>,
    result: PhantomData<fn() -> T>,
}

impl<I, T, E, F> fmt::Debug for MapCall<'_, I, T, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items = self.items.len();
        f.debug_struct("MapCall")
            .field("map", &self.map)
            .field("items", &items)
            .finish_non_exhaustive()
    }
}

impl<'a, I, T, E, F> MapCall<'a, I, T, E, F> {
    pub(super) fn new(
        run: &'a Run,
        name: String,
        policy: Policy,
        items: Vec<I>,
        operation: F,
    ) -> Self {
        const SLOTS: NonZeroU32 = NonZeroU32::new(16).unwrap();
        let inner = Step {
            policy: policy.into(),
            place: Place::Inside(MAP),
            on_failure: OnFailure::DeadLetter,
            ..Step::new(item_step(&name))
        };
        let place = Place::Map { first: INNER, last: INNER, failures_max: None };
        let map = Step { place, slots: Some(SLOTS), ..Step::new(name) };
        Self { run, map, inner, items, operation, reactions: Reactions::new(), result: PhantomData }
    }

    /// How many items are under way at once at most; 16, unless this says otherwise.
    pub fn slots(mut self, slots: NonZeroU32) -> Self {
        self.map.slots = Some(slots);
        self
    }

    /// How many attempts start in a time at most.
    pub fn rate(mut self, rate: Rate) -> Self {
        self.map.rate = Some(rate);
        self
    }

    /// What the retries of all items are paid from.
    pub fn budget(mut self, budget: BudgetSettings) -> Self {
        self.map.budget = Some(budget);
        self
    }

    /// What starts no attempt of any item for a while after failures in a row.
    pub fn breaker(mut self, breaker: BreakerSettings) -> Self {
        self.map.breaker = Some(breaker);
        self
    }

    /// Which errors are worth another attempt; the others end the item.
    pub fn when(self, mut is_worth: impl FnMut(&E) -> bool + Send + 'a) -> Self {
        self.classify(move |error| match is_worth(error) {
            true => redial_core::Verdict::Retry,
            false => redial_core::Verdict::Stop,
        })
    }

    /// What is to be done about an error.
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

    /// How long one attempt may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.reactions.timeout = Some(timeout);
        self
    }

    /// Limits besides those of the policy.
    pub fn limits(mut self, limits: Limits<'static>) -> Self {
        self.inner.limits = limits;
        self
    }

    /// Whether an item may run again when it is not known whether it has succeeded.
    pub fn idempotent(mut self, is_idempotent: bool) -> Self {
        self.inner.is_idempotent = is_idempotent;
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
        Box::pin(self.done())
    }
}

/// An attempt of an item that is running.
type Running<'o, T, E> =
    (TaskId, Time, Pin<Box<dyn Future<Output = Option<Result<T, E>>> + Send + 'o>>);

impl<'a, I, T, E, F, O> MapCall<'a, I, T, E, F>
where
    I: Serialize + Clone + Send + 'a,
    T: Serialize + DeserializeOwned + Send + 'a,
    E: fmt::Display + Send + 'a,
    F: FnMut(I, Attempt) -> O + Send + 'a,
    O: Future<Output = Result<T, E>> + Send + 'a,
{
    async fn done(mut self) -> Vec<Result<T, DeadLetter>> {
        let run = &self.run.inner;
        let name = self.map.name.clone();
        let keys = match keys(&self.items, &name) {
            Ok(keys) => keys,
            Err(stopped) => return run.stop_here(stopped).await,
        };
        let called = run.take(&name);
        let mut ends = Ends::new(self.items.len());
        if let Some(called) = &called {
            if !called.is_map {
                return run
                    .changed(&name, "the journal has a step of this name, and no map".into())
                    .await;
            }
            for record in &called.records {
                if let Some(why) = other_items(record, &keys) {
                    return run.changed(&name, why).await;
                }
                ends.add(record);
            }
        }
        let is_new = called.is_none();
        let mut conduct = Conduct::new(run, vec![self.map, self.inner], called).await;
        if is_new {
            let record = conduct.machine.record(
                conduct.now(),
                Event::ItemsEnd,
                TaskId { step: MAP, item: None },
            );
            conduct.record(Record { items: Some(keys.len() as u32), ..record }).await;
        }
        let mut admitted = 0;
        let mut starting: Vec<TaskId> = Vec::new();
        let mut running: Vec<Running<'_, T, E>> = Vec::new();
        loop {
            let supply = if admitted < keys.len() { Supply::Item } else { Supply::End };
            match conduct.next(supply) {
                Next::Write(mut record) => {
                    record.key = record.item.map(|item| keys[item as usize].as_str().into());
                    self.reactions.decided(&record, ends.error(&record));
                    ends.add(&record);
                    conduct.record(*record).await;
                }
                Next::Read(_) if admitted < keys.len() => {
                    conduct.machine.admit(MAP, admitted as u32);
                    admitted += 1;
                }
                Next::Start(task) => {
                    let key = task.item.map(|item| keys[item as usize].as_str());
                    conduct.begin(task, key).await;
                    starting.push(task);
                }
                Next::Over | Next::Read(_) => break,
                Next::Wait(due) => {
                    conduct.flush().await;
                    if !starting.is_empty() {
                        for task in starting.drain(..) {
                            let Some(place) = task.item.map(|item| item as usize) else { continue };
                            let left = time_left(&conduct, task, self.reactions.timeout);
                            let key = conduct.task_key(task, Some(&keys[place]));
                            let attempt =
                                Attempt { number: conduct.machine.attempts(task), key, left };
                            let operation = (self.operation)(self.items[place].clone(), attempt);
                            running.push((
                                task,
                                conduct.now(),
                                Box::pin(limited(run, left, operation)),
                            ));
                        }
                        continue;
                    }
                    if running.is_empty() && due.is_none() {
                        break;
                    }
                    let wait = due.map(|due| due.since(conduct.now()));
                    let Some((task, started, ended)) = first_of(run, &mut running, wait).await
                    else {
                        continue;
                    };
                    let mut end = conduct.attempt_end(task, Outcome::Succeeded);
                    end.key = task.item.map(|item| keys[item as usize].clone().into());
                    end.duration_ns = Some(nanos_since(started, conduct.now()));
                    match ended {
                        Some(Ok(value)) => {
                            match kept(&value, || format!("the result of an item of `{name}`")) {
                                Ok((json, _)) => end.output = Some(json),
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
                    ends.add(&end);
                    conduct.ended(end).await;
                }
            }
        }
        conduct.flush().await;
        let mut results = Vec::new();
        for (end, key) in ends.ends.into_iter().zip(keys) {
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
                None => return run.changed(&name, format!("item {key} has no end")).await,
            });
        }
        results
    }
}

/// The first attempt that ends, unless the time is over before.
async fn first_of<T, E>(
    run: &super::run::Inner,
    running: &mut Vec<Running<'_, T, E>>,
    wait: Option<Duration>,
) -> Option<(TaskId, Time, Option<Result<T, E>>)> {
    let mut timer = wait.map(|wait| Box::pin(run.store.timing.sleep(wait)));
    poll_fn(|context| {
        for place in 0..running.len() {
            if let Poll::Ready(ended) = running[place].2.as_mut().poll(context) {
                let (task, started, _) = running.swap_remove(place);
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

/// What each item is known by: its text where it is a short one, else a hash of its JSON; and how often that occurred
/// before.
fn keys<I: Serialize>(items: &[I], name: &str) -> Result<Vec<String>, Stopped> {
    const TEXT_MAX: usize = 60;
    let mut seen = std::collections::HashMap::<String, u32>::new();
    let mut keys = Vec::with_capacity(items.len());
    for item in items {
        let json = serde_json::to_string(item).map_err(|error| Stopped::Value {
            of: format!("an item of `{name}`"),
            why: error.to_string(),
        })?;
        let plain = json.trim_matches('"');
        let is_plain = plain.len() <= TEXT_MAX && !plain.contains(['{', '[', '\\', '"', '#', '/']);
        let key = match is_plain {
            true => plain.to_owned(),
            false => format!("{:032x}", SipHasher13::new().hash(json.as_bytes()).as_u128()),
        };
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        keys.push(if *count == 1 { key } else { format!("{key}#{count}") });
    }
    Ok(keys)
}

/// Whether a record is of other items than these.
fn other_items(record: &Record, keys: &[String]) -> Option<String> {
    if let Some(count) = record.items.filter(|count| *count as usize != keys.len()) {
        return Some(format!("it had {count} items, and now has {}", keys.len()));
    }
    let (item, key) = (record.item?, record.key.as_deref()?);
    match keys.get(item as usize) {
        Some(now) if *now == key => None,
        now => Some(format!(
            "its item {item} was {key}, and now is {}",
            now.map_or("none", String::as_str)
        )),
    }
}
