//! A run as its function sees it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending, ready};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, SystemTime};

use redial_core::{Backoff, Policy, Random, SplitMix64, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::Stopped;
use super::log::{Log, lock};
use super::map::MapCall;
use super::step::{Attempt, StepCall};
use super::store::Shared;
use crate::program::Called;
use crate::record::Record;

/// Of what cannot fail: an attempt that a KILL cut is made again.
pub(super) const UNTIL_IT_SUCCEEDS: Policy = Backoff::constant(Duration::ZERO).unlimited();

/// A run, given to its function: what it does through it is remembered.
///
/// Clones are the same run. A function that is taken up again is called from its beginning, and each step that has succeeded
/// gives what it gave. So what it does between its steps has to come out the same each time: random numbers and the time of
/// day are had by [`random`](Self::random) and [`now`](Self::now).
#[derive(Clone)]
pub struct Run {
    pub(super) inner: Arc<Inner>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

pub(super) struct Inner {
    pub(super) name: Box<str>,
    pub(super) seed: u64,
    pub(super) store: Arc<Shared>,
    /// Until the run is closed.
    log: Mutex<Option<Arc<Log>>>,
    /// What the journal has of calls that the function has not made yet.
    called: Mutex<HashMap<Box<str>, Called>>,
    /// How often the function has called each name.
    occurrences: Mutex<HashMap<Box<str>, u32>>,
    randoms: AtomicU64,
    /// The time on the run's clock when it was opened, and on the store's.
    origin: (Time, Time),
    running: AtomicU32,
    control: Mutex<Control>,
}

/// What whoever polls the function looks at.
#[derive(Default)]
struct Control {
    stopped: Option<Stopped>,
    waker: Option<Waker>,
}

impl Run {
    pub(super) fn new(
        name: &str,
        seed: u64,
        store: Arc<Shared>,
        log: Log,
        called: HashMap<Box<str>, Called>,
        now: Time,
    ) -> Self {
        let origin = (now, store.timing.now());
        let inner = Inner {
            name: name.into(),
            seed,
            store,
            log: Mutex::new(Some(Arc::new(log))),
            called: Mutex::new(called),
            occurrences: Mutex::default(),
            randoms: AtomicU64::new(0),
            origin,
            running: AtomicU32::new(0),
            control: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The name of the run.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// A step: done until it succeeds or its policy gives up, and never again once it has succeeded.
    ///
    /// Its start is written down before `operation` is called, so that an attempt which a KILL cuts counts; its result, as
    /// JSON, before this returns. In a loop the calls of one name are told apart by their number: `charge`, `charge#2`.
    /// Steps that are awaited together are matched by their names, in whatever order they come to their ends.
    ///
    /// # Errors
    /// The [`DeadLetter`](super::DeadLetter) of a step that has given up.
    pub fn step<'a, T, E, F, O>(
        &'a self,
        name: &str,
        policy: &Policy,
        mut operation: F,
    ) -> StepCall<'a, T, E, impl FnMut(Attempt) -> O + Send + 'a>
    where
        F: FnMut() -> O + Send + 'a,
        O: Future<Output = Result<T, E>> + Send + 'a,
    {
        self.step_with(name, policy, move |_| operation())
    }

    /// The same for an operation that wants to know of its attempt: its number, its key, the time that is left.
    pub fn step_with<'a, T, E, F, O>(
        &'a self,
        name: &str,
        policy: &Policy,
        operation: F,
    ) -> StepCall<'a, T, E, F>
    where
        F: FnMut(Attempt) -> O + Send + 'a,
        O: Future<Output = Result<T, E>> + Send + 'a,
    {
        StepCall::step(self, self.numbered(name), *policy, operation)
    }

    /// A step for each item, some of them at once: [`MapCall::slots`].
    ///
    /// It gives a result for each item, in their order; an item that has given up is a dead letter, and the others go on.
    /// Items are known by what they are: a resumed function that comes with others is `changed-code`.
    pub fn map<'a, I, T, E, F, O>(
        &'a self,
        name: &str,
        policy: &Policy,
        items: impl IntoIterator<Item = I>,
        mut operation: F,
    ) -> MapCall<'a, I, T, E, impl FnMut(I, Attempt) -> O + Send + 'a>
    where
        I: Serialize + Clone + Send + 'a,
        F: FnMut(I) -> O + Send + 'a,
        O: Future<Output = Result<T, E>> + Send + 'a,
    {
        self.map_with(name, policy, items, move |item, _| operation(item))
    }

    /// The same for an operation that wants to know of its attempt.
    pub fn map_with<'a, I, T, E, F, O>(
        &'a self,
        name: &str,
        policy: &Policy,
        items: impl IntoIterator<Item = I>,
        operation: F,
    ) -> MapCall<'a, I, T, E, F>
    where
        I: Serialize + Clone + Send + 'a,
        F: FnMut(I, Attempt) -> O + Send + 'a,
        O: Future<Output = Result<T, E>> + Send + 'a,
    {
        MapCall::map(self, self.numbered(name), *policy, items.into_iter().collect(), operation)
    }

    /// Waits, also across processes: when it is over is written down, and one that goes on with the run waits for what is left.
    pub async fn sleep(&self, duration: Duration) {
        let due = self.step("sleep", &UNTIL_IT_SUCCEEDS, || {
            ready(Ok::<_, Infallible>(self.inner.now().after(duration).as_nanos()))
        });
        let due = due.await.map_or(Time::ZERO, Time::from_nanos);
        // Never longer than the whole, whatever the clock did.
        let left = due.since(self.inner.now()).min(duration);
        self.inner.store.timing.sleep(left).await;
    }

    /// The time of day, as it was when the function first asked at this place.
    pub async fn now(&self) -> SystemTime {
        let now = self.step("now", &UNTIL_IT_SUCCEEDS, || {
            let now = self.inner.store.timing.wall().duration_since(SystemTime::UNIX_EPOCH);
            ready(Ok::<_, Infallible>(now.unwrap_or_default()))
        });
        SystemTime::UNIX_EPOCH + now.await.unwrap_or_default()
    }

    /// A random word: the next of those that the run's seed gives, and so the same in each process that goes on with it.
    pub fn random(&self) -> u64 {
        let words = self.inner.randoms.fetch_add(1, Ordering::Relaxed);
        // Another generator than those of the steps' delays.
        SplitMix64::resume(!self.inner.seed, words).word()
    }

    /// The name of this call: with its number, if it is not the first.
    fn numbered(&self, name: &str) -> String {
        if let Err(why) = check_name(name) {
            self.inner.stop(Stopped::StepName { name: name.into(), why });
        }
        let mut occurrences = lock(&self.inner.occurrences);
        let occurrence = match occurrences.get_mut(name) {
            Some(occurrence) => occurrence,
            None => occurrences.entry(name.into()).or_default(),
        };
        *occurrence += 1;
        match *occurrence {
            1 => name.to_owned(),
            number => format!("{name}#{number}"),
        }
    }
}

pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    const LENGTH_MAX: usize = 100;
    match name {
        "" => Err("it is empty; give it one, such as `charge`"),
        name if name.len() > LENGTH_MAX => Err("it has more than 100 bytes; use a shorter one"),
        name if name.contains(char::is_control) => {
            Err("it has a control character in it; use letters")
        }
        name if name.contains(['#', '/']) => {
            Err("`#` numbers its calls and `/` separates an item; use `-` instead")
        }
        name if crate::program::map_of(name).is_some() => {
            Err("`.1` is how the tasks of a map are called; use another ending")
        }
        _ => Ok(()),
    }
}

impl Inner {
    /// The time on the clock of the run.
    pub(super) fn now(&self) -> Time {
        let (at, opened) = self.origin;
        at.after(self.store.timing.now().since(opened))
    }

    /// What the journal has of a call, which is being made now.
    pub(super) fn take(&self, step: &str) -> Option<Called> {
        lock(&self.called).remove(step)
    }

    /// The first call in the journal that the function has not made.
    pub(super) fn first_missing(&self) -> Option<String> {
        let called = lock(&self.called);
        let missing = called.iter().filter(|(_, called)| !called.is_undone);
        missing.map(|(name, _)| name.to_string()).min()
    }

    /// Nothing more of the run is done: the function is dropped where it stands.
    pub(super) fn stop(&self, stopped: Stopped) {
        let mut control = lock(&self.control);
        control.stopped.get_or_insert(stopped);
        let waker = control.waker.take();
        drop(control);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The same from inside of a step, which then never ends.
    pub(super) async fn stop_here<T>(&self, stopped: Stopped) -> T {
        self.stop(stopped);
        pending().await
    }

    pub(super) async fn changed<T>(&self, step: &str, why: String) -> T {
        let (run, step) = (self.name.to_string(), step.to_owned());
        self.stop_here(Stopped::ChangedCode { run, step, why }).await
    }

    /// Nothing more may start, also before whoever polls the function has seen why.
    pub(super) fn is_halted(&self) -> bool {
        lock(&self.control).stopped.is_some()
    }

    /// Why the run was stopped, or else who is to be told when it is.
    pub(super) fn is_stopped(&self, waker: &Waker) -> Option<Stopped> {
        let mut control = lock(&self.control);
        control.waker = Some(waker.clone());
        control.stopped.clone()
    }

    /// Writes down; does not return where that fails.
    pub(super) async fn append(&self, records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let Some(log) = self.log() else { return pending().await };
        self.store.tell(&records);
        if let Err(error) = log.append(records).await {
            self.stop_here(Stopped::Write(error)).await
        }
    }

    /// The same without waiting, for what is being dropped.
    pub(super) fn submit(&self, records: Vec<Record>) {
        if let Some(log) = lock(&self.log).as_ref() {
            self.store.tell(&records);
            log.submit(records);
        }
    }

    /// None once the run is closed.
    pub(super) fn log(&self) -> Option<Arc<Log>> {
        lock(&self.log).clone()
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.log).is_some()
    }

    pub(super) fn close(&self, is_idle: bool) {
        match lock(&self.log).take() {
            Some(log) if is_idle => log.close_now(),
            Some(log) => log.close(),
            None => {}
        }
    }

    pub(super) fn running(&self) -> &AtomicU32 {
        &self.running
    }

    /// The last attempt that was running has ended: whoever waits to drop the function may.
    pub(super) fn wake(&self) {
        let waker = lock(&self.control).waker.take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A result as JSON, and the value that comes back from it: so what a function sees the first time is what it sees when it is
/// taken up again.
pub(super) fn kept<T: Serialize + DeserializeOwned>(
    value: &T,
    of: impl FnOnce() -> String,
) -> Result<(serde_json::Value, T), Stopped> {
    let json = serde_json::to_value(value);
    let back = json.and_then(|json| Ok((T::deserialize(&json)?, json)));
    match back {
        Ok((back, json)) => Ok((json, back)),
        Err(error) => Err(Stopped::Value { of: of(), why: error.to_string() }),
    }
}
