//! Where a program's runs are kept, and how one is run.

use std::any::type_name;
use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use redial::testing::ManualClock;
use serde_json::Value as Json;

use super::conduct::dead_letter;
use super::error::{DeadLetter, Stopped};
use super::log::{Appender, Log, Memory, lock};
use super::reply;
use super::run::Inner;
use super::timing::Timing;
use crate::definition::Definition;
use crate::history::{History, HistoryError};
use crate::journal::{End, Sync};
use crate::program::{self, Replay};
use crate::record::{Event, Record};
use crate::store::{self, Holder, RunName, StoreError};

mod options;
mod run_call;

pub use options::Options;
use run_call::Input;
pub use run_call::RunCall;

/// The input of a run among those of its definition.
const INPUT: &str = "input";

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
