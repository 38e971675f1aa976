//! Where a program's runs are kept, and how one is run.

use std::any::type_name;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use redial::testing::ManualClock;
use redial::{Clock, Random, ThreadRandom};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::conduct::dead_letter;
use super::error::{DeadLetter, RunError, Stopped};
use super::log::{Appender, Log, Memory, lock};
use super::reply;
use super::run::{Inner, Run, kept};
use super::telemetry::RunSpan;
use super::timing::Timing;
use crate::definition::Definition;
use crate::history::{History, HistoryError};
use crate::journal::{End, Sync};
use crate::program::{self, Replay};
use crate::record::{Event, Outcome, Record};
use crate::store::{self, Holder, RunName, StoreError};

/// The input of a run among those of its definition.
const INPUT: &str = "input";

/// How long a run that waits for another process sleeps before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

type Hook = Box<dyn Fn(&Record) + Send + std::marker::Sync>;

/// A directory of runs, or the same in memory. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    place: Place,
    sync: Sync,
    pub(super) timing: Timing,
    keep_over: Option<Duration>,
    hook: Option<Hook>,
    shutdown: Mutex<Shutdown>,
    is_shutting_down: AtomicBool,
    /// How many runs are open.
    open: AtomicU32,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, sync, timing, .. } = self;
        let mut shown = f.debug_struct("Store");
        shown
            .field("place", place)
            .field("sync", sync)
            .field("timing", timing)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Place {
    Directory(store::Store, Arc<Appender>),
    Memory(Mutex<BTreeMap<RunName, (Json, Arc<Memory>)>>),
}

/// Who is told that the store shuts down, and that the time which running attempts have is over.
#[derive(Default)]
struct Shutdown {
    runs: Vec<std::sync::Weak<Inner>>,
    is_drained: bool,
    waker: Option<Waker>,
}

impl Shared {
    pub(super) fn is_shutting_down(&self) -> bool {
        self.is_shutting_down.load(Ordering::Acquire)
    }

    pub(super) fn tell(&self, records: &[Record]) {
        if let Some(hook) = &self.hook {
            records.iter().for_each(hook);
        }
    }

    fn wake_runs(&self, is_drained: bool) {
        let mut shutdown = lock(&self.shutdown);
        shutdown.is_drained |= is_drained;
        let runs: Vec<_> = shutdown.runs.iter().filter_map(std::sync::Weak::upgrade).collect();
        drop(shutdown);
        runs.iter().for_each(|run| run.wake());
    }

    fn closed(&self) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waker = lock(&self.shutdown).waker.take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

/// How a [`Store`] is to work.
pub struct Options {
    sync: Sync,
    timing: Option<Timing>,
    keep_over: Option<Duration>,
    hook: Option<Hook>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sync, timing, keep_over, .. } = self;
        let mut shown = f.debug_struct("Options");
        shown
            .field("sync", sync)
            .field("timing", timing)
            .field("keep_over", keep_over)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// What a power cut cannot take back, tokio's clock, and runs that stay.
    pub fn new() -> Self {
        Self { sync: Sync::Always, timing: None, keep_over: None, hook: None }
    }

    /// When what was written down survives a power cut; a KILL takes nothing either way.
    #[must_use]
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// The clock that waits are slept on, where that is not tokio's.
    #[must_use]
    pub fn clock<C>(mut self, clock: C) -> Self
    where
        C: Clock + Clone + Send + std::marker::Sync + 'static,
        C::Sleep: Send + 'static,
    {
        self.timing = Some(Timing::of(clock));
        self
    }

    /// Runs that have succeeded, without a dead letter, are removed this long after their end: when the store is opened, and by
    /// [`Store::sweep`].
    #[must_use]
    pub fn keep_over(mut self, time: Duration) -> Self {
        self.keep_over = Some(time);
        self
    }

    /// Told of every record that is written, of all runs: for logs and numbers.
    #[must_use]
    pub fn on_record(
        mut self,
        hook: impl Fn(&Record) + Send + std::marker::Sync + 'static,
    ) -> Self {
        self.hook = Some(Box::new(hook));
        self
    }

    /// Opens the store in a directory, which is made with the first run.
    ///
    /// # Errors
    /// Where there can be no thread that writes, or there is no clock: without the feature `tokio`, one has to be
    /// [given](Self::clock).
    pub fn open(self, path: impl Into<PathBuf>) -> Result<Store, Stopped> {
        let path = path.into();
        let refused = |action, error| StoreError::Io { action, path: path.clone(), error };
        #[cfg(feature = "tokio")]
        let timing = Some(self.timing.unwrap_or_else(|| Timing::of(redial::TokioClock)));
        #[cfg(not(feature = "tokio"))]
        let timing = self.timing;
        let no_clock =
            || std::io::Error::other("there is no clock; give it one by `Options::clock`");
        let timing = timing.ok_or_else(|| refused("open", no_clock()))?;
        let appender = Appender::start().map_err(|error| refused("start a thread for", error))?;
        let place = Place::Directory(store::Store::at(&path), appender);
        let store = Store::new(place, self.sync, timing, self.keep_over, self.hook);
        if self.keep_over.is_some() {
            store.sweep()?;
        }
        Ok(store)
    }
}

/// Reads and writes of a store that may wait for a disk, on a thread of their own.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = reply::channel();
    let started =
        std::thread::Builder::new().name("redial-store".into()).spawn(move || sender.send(work()));
    match started {
        Ok(_) => receiver.await,
        Err(_) => None,
    }
}

/// A run that was opened to be run.
struct Opened {
    log: Log,
    replay: Replay,
    /// The CRC-32 of what was pinned.
    flow_crc: Option<u32>,
}

/// A run that was found.
enum Found {
    /// It is over, and this is its result.
    Over(Json),
    Open(Box<Opened>),
}

impl Store {
    /// The store in a directory, which is made with the first run: what is written down survives a power cut.
    ///
    /// # Errors
    /// Where there can be no thread that writes.
    #[cfg(feature = "tokio")]
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Stopped> {
        Options::new().open(path)
    }

    /// A store for tests: nothing is written to a disk, and all time is the clock's.
    pub fn in_memory(clock: &ManualClock) -> Self {
        let place = Place::Memory(Mutex::default());
        Self::new(place, Sync::Always, Timing::manual(clock), None, None)
    }

    fn new(
        place: Place,
        sync: Sync,
        timing: Timing,
        keep_over: Option<Duration>,
        hook: Option<Hook>,
    ) -> Self {
        let shared = Shared {
            place,
            sync,
            timing,
            keep_over,
            hook,
            shutdown: Mutex::default(),
            is_shutting_down: AtomicBool::new(false),
            open: AtomicU32::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Runs a function whose steps are remembered.
    ///
    /// A run of this name that was begun before goes on; one that has come to its end gives the result it had, and the
    /// function is not called. The same name with another input is refused. While another task or process has the run, this
    /// is refused, too, or [waits](RunCall::wait_for_holder).
    ///
    /// A function that gives an error, panics, or is dropped with this future has not come to its end: the next call of this name
    /// calls it again, and what succeeded in it is not done twice.
    pub fn run<F, I>(&self, name: &str, function: F, input: I) -> RunCall<'_, F, I> {
        RunCall {
            store: self,
            name: name.to_owned(),
            title: type_name::<F>().to_owned(),
            function,
            input: Input::Given(input),
            waits: false,
        }
    }

    /// Goes on with a run that is there, with the input that it was begun with.
    pub fn resume<F, I>(&self, name: &str, function: F) -> RunCall<'_, F, I> {
        RunCall {
            store: self,
            name: name.to_owned(),
            title: type_name::<F>().to_owned(),
            function,
            input: Input::Pinned(PhantomData),
            waits: false,
        }
    }

    /// The runs that are not over, by their names: what a service takes up when it starts. Each comes with the name of its
    /// function, as it was when the run was begun.
    ///
    /// # Errors
    /// Where the store cannot be read. A run that cannot be read is left out; `redial flow status` tells of it.
    pub fn unfinished(&self) -> Result<Vec<Unfinished>, Stopped> {
        let mut found = Vec::new();
        for name in self.names()? {
            let Ok((definition, replay)) = self.read(&name) else { continue };
            if definition.program && replay.result.is_none() && !replay.is_cancelled {
                found.push(Unfinished { name: name.to_string(), function: definition.name });
            }
        }
        Ok(found)
    }

    fn names(&self) -> Result<Vec<RunName>, Stopped> {
        match &self.shared.place {
            Place::Directory(store, _) => {
                let listed = store.list()?;
                let good = listed.into_iter().filter(|listed| listed.flaw.is_none());
                Ok(good.filter_map(|listed| listed.name.to_str()?.parse().ok()).collect())
            }
            Place::Memory(runs) => Ok(lock(runs).keys().cloned().collect()),
        }
    }

    fn read(&self, name: &RunName) -> Result<(Definition, Replay), Stopped> {
        match &self.shared.place {
            Place::Directory(store, _) => {
                let run = store.open(name)?;
                Ok((definition_of(&run)?, program::read(&run)?.0))
            }
            Place::Memory(runs) => {
                let runs = lock(runs);
                let Some((input, memory)) = runs.get(name) else { return Err(not_found(name)) };
                Ok((definition(String::new(), input.clone()), memory.replay()))
            }
        }
    }

    /// The dead letters of a run, in the order in which they gave up.
    ///
    /// # Errors
    /// Where there is no such run, or it cannot be read.
    pub fn dead_letters(&self, name: &str) -> Result<Vec<DeadLetter>, Stopped> {
        let (_, replay) = self.read(&parse(name)?)?;
        Ok(replay.dead().map(|(record, error)| dead_letter(record, error)).collect())
    }

    /// What a run's journal says of it: every attempt with its error, and where the time went.
    ///
    /// # Errors
    /// Where there is no such run, or it cannot be read. A store in memory has [`records`](Self::records) alone.
    pub fn history(&self, name: &str) -> Result<History, HistoryError> {
        let name: RunName = name.parse().map_err(|_| {
            let flaw = "no run has such a name".to_owned();
            HistoryError::Store(StoreError::Damaged { path: name.into(), flaw })
        })?;
        match &self.shared.place {
            Place::Directory(store, _) => {
                History::read(&store.open(&name).map_err(HistoryError::Store)?)
            }
            Place::Memory(_) => {
                let runs = PathBuf::from("memory");
                Err(HistoryError::Store(StoreError::NotFound { name, runs }))
            }
        }
    }

    /// All that was written down of a run, for tests.
    ///
    /// # Errors
    /// Where there is no such run, or it cannot be read.
    pub fn records(&self, name: &str) -> Result<Vec<Record>, Stopped> {
        let name = parse(name)?;
        match &self.shared.place {
            Place::Directory(store, _) => {
                let entries = store.open(&name)?.read_journal::<Record>()?;
                Ok(entries
                    .map(|entry| Ok(entry?.record))
                    .collect::<Result<_, crate::journal::ReadError>>()?)
            }
            Place::Memory(runs) => {
                let runs = lock(runs);
                let (_, memory) = runs.get(&name).ok_or_else(|| not_found(&name))?;
                Ok(lock(&memory.records).clone())
            }
        }
    }

    /// A dead letter is tried anew, with a fresh policy, when the run is next opened; so is what succeeded after it had given up.
    ///
    /// # Errors
    /// Where there is no such dead letter, or a task or process has the run.
    pub fn retry_dead(&self, name: &str, letter: &DeadLetter) -> Result<(), Stopped> {
        self.about_dead(name, letter, Event::DeadRetry)
    }

    /// A dead letter is not wanted any more. Its step stays failed.
    ///
    /// # Errors
    /// As [`retry_dead`](Self::retry_dead).
    pub fn drop_dead(&self, name: &str, letter: &DeadLetter) -> Result<(), Stopped> {
        self.about_dead(name, letter, Event::DeadDrop)
    }

    fn about_dead(&self, name: &str, letter: &DeadLetter, event: Event) -> Result<(), Stopped> {
        let name = parse(name)?;
        let task = (letter.step.clone(), letter.item);
        let refused = |error: program::ProgramError| match error {
            program::ProgramError::Journal(error) => Stopped::from(error),
            program::ProgramError::Write(error) => Stopped::Write(Arc::new(error)),
            error => Stopped::from(StoreError::Damaged {
                path: name.as_str().into(),
                flaw: error.to_string(),
            }),
        };
        match &self.shared.place {
            Place::Directory(store, _) => {
                let held = store.open(&name)?.hold()?;
                let written = match event {
                    Event::DeadRetry => program::revive(&held, &[task]).map(drop),
                    _ => program::drop(&held, &[task]),
                };
                written.map_err(refused)
            }
            Place::Memory(runs) => {
                let runs = lock(runs);
                let (_, memory) = runs.get(&name).ok_or_else(|| not_found(&name))?;
                let replay = memory.replay();
                let now = replay.now(|start| self.shared.timing.since(start));
                let task = (letter.step.as_str(), letter.item);
                let not_dead = || program::ProgramError::NotDead {
                    step: letter.step.clone(),
                    item: letter.item,
                };
                let record = replay.record_of_dead(name.as_str(), now, event, task);
                lock(&memory.records).push(record.ok_or_else(not_dead).map_err(refused)?);
                Ok(())
            }
        }
    }

    /// Removes the runs that have succeeded, without a dead letter, longer ago than [`Options::keep_over`] says; gives how many.
    ///
    /// # Errors
    /// Where the store cannot be read. What cannot be removed stays.
    pub fn sweep(&self) -> Result<usize, Stopped> {
        let (Some(keep), Place::Directory(store, _)) = (self.shared.keep_over, &self.shared.place)
        else {
            return Ok(0);
        };
        let mut removed = 0;
        for name in self.names()? {
            let Ok(run) = store.open(&name) else { continue };
            let written = std::fs::metadata(run.journal_path()).and_then(|there| there.modified());
            let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if age.is_none_or(|age| age < keep) {
                continue;
            }
            let Ok((definition, replay)) = self.read(&name) else { continue };
            let is_over = replay.result.is_some() && replay.dead().next().is_none();
            if definition.program && is_over && store.remove(&name).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes a run, unless a task or process has it.
    ///
    /// # Errors
    /// Where there is no such run, somebody has it, or it cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), Stopped> {
        let name = parse(name)?;
        match &self.shared.place {
            Place::Directory(store, _) => Ok(store.remove(&name)?),
            Place::Memory(runs) => {
                let mut runs = lock(runs);
                let (_, memory) = runs.get(&name).ok_or_else(|| not_found(&name))?;
                if memory.is_held.load(Ordering::Acquire) {
                    return Err(held(&name));
                }
                runs.remove(&name);
                Ok(())
            }
        }
    }

    /// Ends the work on all runs: no attempt starts any more, those that are running get this long, and then each run gives
    /// [`Stopped::ShutDown`]. Returns once all have; the next process goes on with them. What was cut does not count as an attempt.
    pub async fn shut_down(&self, drain: Duration) {
        self.shared.is_shutting_down.store(true, Ordering::Release);
        self.shared.wake_runs(false);
        let mut timer = pin!(self.shared.timing.sleep(drain));
        let mut is_drained = false;
        poll_fn(|context| {
            lock(&self.shared.shutdown).waker = Some(context.waker().clone());
            if self.shared.open.load(Ordering::Acquire) == 0 {
                return Poll::Ready(());
            }
            if !is_drained && timer.as_mut().poll(context).is_ready() {
                is_drained = true;
                self.shared.wake_runs(true);
            }
            Poll::Pending
        })
        .await;
    }

    /// What a process would find that starts now if this one were killed, for tests of a store in memory: the records so far, in
    /// a store of their own.
    #[must_use]
    pub fn after_a_kill(&self, clock: &ManualClock) -> Self {
        self.after_a_kill_at(clock, usize::MAX)
    }

    /// The same, killed after so many records of each run.
    #[must_use]
    pub fn after_a_kill_at(&self, clock: &ManualClock, records: usize) -> Self {
        let copy = Self::in_memory(clock);
        if let (Place::Memory(from), Place::Memory(to)) = (&self.shared.place, &copy.shared.place) {
            for (name, (input, memory)) in &*lock(from) {
                let kept = lock(&memory.records).iter().take(records).cloned().collect();
                let items = Mutex::new(lock(&memory.items).clone());
                let is_held = AtomicBool::new(false);
                let memory = Memory { records: Mutex::new(kept), items, is_held };
                lock(to).insert(name.clone(), (input.clone(), Arc::new(memory)));
            }
        }
        copy
    }

    /// Finds a run or makes it, and takes it.
    async fn find(
        &self,
        name: &RunName,
        function: String,
        input: Option<Json>,
    ) -> Result<(Found, Json), Stopped> {
        match &self.shared.place {
            Place::Directory(store, appender) => {
                let (store, appender) = (store.clone(), Arc::clone(appender));
                let (name, sync) = (name.clone(), self.shared.sync);
                let found =
                    apart(move || find_in(&store, &name, function, input, sync, appender)).await;
                let gone = || std::io::Error::other("there can be no thread that opens runs");
                found.unwrap_or_else(|| Err(Stopped::Write(Arc::new(gone()))))
            }
            Place::Memory(runs) => {
                let mut runs = lock(runs);
                if let (None, Some(input)) = (runs.get(name), &input) {
                    runs.insert(name.clone(), (input.clone(), Arc::default()));
                }
                let (pinned, memory) = runs.get(name).ok_or_else(|| not_found(name))?;
                check_input(name, input.as_ref(), pinned)?;
                let replay = memory.replay();
                if let Some(result) = replay.result {
                    return Ok((Found::Over(result), pinned.clone()));
                }
                if memory.is_held.swap(true, Ordering::AcqRel) {
                    return Err(held(name));
                }
                let log = Log::Memory(Arc::clone(memory));
                let opened = Opened { log, replay, flow_crc: None };
                Ok((Found::Open(Box::new(opened)), pinned.clone()))
            }
        }
    }
}

impl Memory {
    fn replay(&self) -> Replay {
        let mut replay = Replay::default();
        for (record, n) in lock(&self.records).iter().zip(1..) {
            replay.add(n, record.clone());
        }
        replay
    }
}

fn parse(name: &str) -> Result<RunName, Stopped> {
    name.parse().map_err(Stopped::Name)
}

fn not_found(name: &RunName) -> Stopped {
    StoreError::NotFound { name: name.clone(), runs: "memory".into() }.into()
}

fn held(name: &RunName) -> Stopped {
    let holder = Holder::new(std::process::id());
    StoreError::Held { name: name.clone(), holder }.into()
}

fn definition(name: String, input: Json) -> Definition {
    let inputs = BTreeMap::from([(INPUT.to_owned(), input)]);
    Definition { inputs, program: true, ..Definition::new(name) }
}

fn definition_of(run: &store::Run) -> Result<Definition, Stopped> {
    let damaged = |flaw: String| StoreError::Damaged { path: run.path().into(), flaw };
    let pinned = run.flow()?;
    let definition: Definition = serde_json::from_slice(&pinned)
        .map_err(|error| damaged(format!("its flow.json is no flow ({error})")))?;
    match definition.program {
        true => Ok(definition),
        false => Err(damaged(
            "it is the run of a flow file, which `redial flow resume` goes on with".into(),
        )
        .into()),
    }
}

fn check_input(name: &RunName, given: Option<&Json>, pinned: &Json) -> Result<(), Stopped> {
    match given.is_none_or(|given| given == pinned) {
        true => Ok(()),
        false => Err(Stopped::OtherInput { run: name.to_string() }),
    }
}

fn find_in(
    store: &store::Store,
    name: &RunName,
    function: String,
    input: Option<Json>,
    sync: Sync,
    appender: Arc<Appender>,
) -> Result<(Found, Json), Stopped> {
    let run = match (store.open(name), &input) {
        (Err(StoreError::NotFound { .. }), Some(input)) => {
            let text = serde_json::to_vec(&definition(function, input.clone()));
            let text = text.map_err(|error| Stopped::Value {
                of: "the input".into(),
                why: error.to_string(),
            })?;
            match store.create(name, &text) {
                // Another process was faster.
                Err(StoreError::Exists { .. }) => store.open(name)?,
                created => created?,
            }
        }
        (opened, _) => opened?,
    };
    let definition = definition_of(&run)?;
    let pinned = definition.inputs.get(INPUT).cloned().unwrap_or_default();
    check_input(name, input.as_ref(), &pinned)?;
    // A run that is over needs nobody to hold it.
    if let Some(result) = program::read(&run)?.0.result {
        return Ok((Found::Over(result), pinned));
    }
    let held = run.hold()?;
    let (replay, end) = program::read(&run)?;
    if let Some(result) = replay.result {
        return Ok((Found::Over(result), pinned));
    }
    let is_new = end == End::default();
    let flow_crc = is_new.then(|| run.flow().map(|flow| crc32fast::hash(&flow))).transpose()?;
    let writer = held.journal(end, sync).map_err(|error| Stopped::Write(Arc::new(error)))?;
    let log = Log::file(held, writer, sync, appender);
    Ok((Found::Open(Box::new(Opened { log, replay, flow_crc })), pinned))
}

/// A run that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// Its name.
    pub name: String,
    /// The path of its function, such as `shop::checkout`.
    pub function: String,
}

#[derive(Debug)]
enum Input<I> {
    Given(I),
    Pinned(PhantomData<fn() -> I>),
}

/// A run that is about to be run: `.await` does it.
#[must_use = "a run does nothing until it is awaited"]
pub struct RunCall<'s, F, I> {
    store: &'s Store,
    name: String,
    /// What the run is one of: the path of the function, or the name of the flow.
    title: String,
    function: F,
    input: Input<I>,
    waits: bool,
}

impl<F, I> fmt::Debug for RunCall<'_, F, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCall").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F, I> RunCall<'_, F, I> {
    pub(super) fn titled(mut self, title: &str) -> Self {
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
