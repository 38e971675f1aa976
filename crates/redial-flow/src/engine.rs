//! The embedded engine: one loop over the machine, the journal and the commands of `redial-process`.
//!
//! Each turn takes all that has ended, lets the machine decide, writes down ends, decisions and next starts with
//! one durable append, and only then starts commands. So an attempt that runs is an attempt that is written down,
//! and what was acknowledged survives a KILL at any instant.

mod identity;
mod launch;
mod sources;
mod survivors;
mod suspects;
mod values;
mod written;

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nix::sys::signal::Signal;
use redial_core::Time;
use redial_policy::{Ending, Fate, Judgement, Rules, Stream};
use redial_process::{
    Clock, Control, Environment, Exit, Reactor, Request, Sinks, SlotId, Stdin, Streams, Survivors,
    ending,
};

use self::launch::Launch;
use self::sources::{Admitted, Sources};
use self::suspects::Suspects;
pub use self::values::Stored;
pub use self::written::Written;
use crate::accepted::Acceptance;
use crate::argument_space::ArgumentSpace;
use crate::flow::{Place, StepId};
use crate::journal::{self, Sync, Writer};
use crate::machine::{BAD_SOURCE, End, FAILURES_MAX, Impossible, ItemState, Machine, Next, TaskId};
use crate::prepared::{BadDefinition, Prepared, ReadyAction};
use crate::record::{Event, Outcome, Record, Start, Verdict};
use crate::store::{Held, Segment, StoreError};
use crate::{Value, journal::ReadError, run_clock};

/// How much output is a value in the journal itself.
const INLINE_MAX: u64 = 4 << 10;
/// How much output is a value at all.
pub const VALUE_MAX: u64 = 1 << 20;
/// How much of the standard error of a failed attempt is kept.
const TAIL_MAX: u64 = 4 << 10;
/// How many pairs of descriptors stay free for what is opened for a moment.
const DESCRIPTORS_FREE: usize = 8;
/// How many bytes of items may wait in memory for their attempts.
const ITEM_BYTES_MAX: usize = 32 << 20;

/// How a run is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many attempts run at once.
    pub slots: NonZeroU32,
    /// What a power cut may take.
    pub sync: Sync,
    /// How long attempts go on after a signal that asks this process to end.
    pub drain: Duration,
    /// How long after the first signal an attempt that is cut gets SIGKILL.
    pub kill_after: Duration,
    /// The signal that an attempt gets first.
    pub timeout_signal: Signal,
    /// The argument by which this program runs as a guard: see [`Reactor::guarded_slot`].
    pub guard: &'static CStr,
    /// The command line, for the journal.
    pub argv: Vec<String>,
}

/// Who is told of a run.
pub trait Observer {
    /// A record was written down; without a journal it would have been.
    fn recorded(&mut self, run: &View<'_>, record: &Record) {
        let _ = (run, record);
    }
    /// An attempt has ended, and this is what it wrote.
    fn attempt_ended(
        &mut self,
        run: &View<'_>,
        task: TaskId,
        record: &Record,
        stdout: &mut Written,
        stderr: &mut Written,
    ) {
        let _ = (run, task, record, stdout, stderr);
    }
    /// The engine is about to wait. Returns when to be asked again, for what changes with time.
    fn tick(&mut self, run: &View<'_>) -> Option<Time> {
        let _ = run;
        None
    }
    /// This process was asked to end: nothing new starts, and what runs has so long to end by itself.
    fn interrupted(&mut self, run: &View<'_>, drain: Duration) {
        let _ = (run, drain);
    }
    /// Whether nothing new is to be started, because what attempts write cannot be passed on any more. Asked after
    /// attempts have ended; what runs goes on to its end.
    fn wants_no_more(&self) -> bool {
        false
    }
    /// Something is not as it should be, and the run goes on.
    fn warned(&mut self, warning: &str) {
        let _ = warning;
    }
}

impl Observer for () {}

/// What an observer may look at.
#[derive(Debug)]
pub struct View<'a> {
    /// The run's own time.
    pub now: Time,
    /// What the run has come to.
    pub machine: &'a Machine,
    /// What is run.
    pub prepared: &'a Prepared,
    running: &'a [Slot],
    sources: &'a Sources,
}

impl View<'_> {
    /// The attempts that run: the task, and when the attempt started.
    pub fn running(&self) -> impl Iterator<Item = (TaskId, Time)> {
        self.running.iter().filter_map(|slot| match &slot.state {
            SlotState::Starting(started) | SlotState::Running(started) => {
                Some((started.task, started.at))
            }
            _ => None,
        })
    }

    /// What an item is called, while it is under way.
    pub fn key(&self, task: TaskId) -> Option<&str> {
        self.sources.key(self.machine, task)
    }

    /// An item, while it is under way.
    pub fn item(&self, task: TaskId) -> Option<&Value> {
        self.sources.item(self.machine, task)
    }

    /// Whether this task takes the place of one that has failed.
    pub fn is_substitute(&self, task: TaskId) -> bool {
        self.prepared.step(task.step).instead_of.is_some()
    }

    /// Whether another step takes the place of this one when it has failed.
    pub fn has_substitute(&self, task: TaskId) -> bool {
        self.prepared.step(task.step).substitute.is_some()
    }

    /// How many items are known, and whether there may be more.
    pub fn items(&self, map: StepId) -> (u64, bool) {
        (self.machine.counts(map).known, self.machine.length(map).is_none())
    }
}

/// How a run of the engine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// Nothing more is to be done.
    Over,
    /// This process was asked to end; the run can be resumed.
    Interrupted(Signal),
    /// The flow's own deadline has passed.
    Deadline,
    /// The [observer](Observer::wants_no_more) wanted no more; the run can be resumed.
    Stopped,
}

/// What stops the engine itself.
#[derive(Debug)]
pub enum EngineError {
    /// What is run cannot be run.
    Definition(BadDefinition),
    /// The store says no.
    Store(StoreError),
    /// The journal cannot be read.
    Journal(ReadError),
    /// The journal has a record that no run can have written.
    Impossible(Impossible),
    /// What happened cannot be written down.
    Write(io::Error),
    /// No process, pipe or file can be had.
    System(String),
    /// The steps of the run are functions of a program.
    Program {
        /// The run.
        run: String,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(error) => write!(f, "the flow cannot be run: {error}"),
            Self::Store(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Impossible(error) => {
                write!(f, "the journal has a record that no run writes: {error}")
            }
            Self::Write(error) => write!(
                f,
                "{error}; nothing more is started, because it could not be written down: make room, \
                 and resume the run"
            ),
            Self::System(error) => f.write_str(error),
            Self::Program { run } => write!(
                f,
                "the steps of the run `{run}` are functions of a Rust program, which alone can run them; start that \
                 program, and it goes on with the run"
            ),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The journal of a run, and what lies beside it.
#[derive(Debug)]
struct Journal {
    held: Held,
    records: Writer<Record>,
    segments: HashMap<usize, Segment>,
}

/// A place for one attempt at a time.
#[derive(Debug)]
struct Slot {
    id: SlotId,
    state: SlotState,
    /// What the last attempt wrote into, where that can be used again.
    spare: Option<(Written, Written)>,
    control: Option<Control>,
}

#[derive(Debug)]
enum SlotState {
    Idle,
    /// Its start is being written down.
    Claimed,
    Starting(Started),
    Running(Started),
    /// The attempt is over; what it left behind is being ended.
    Sweeping(Box<Ended>),
}

#[derive(Debug)]
struct Started {
    task: TaskId,
    attempt: u32,
    at: Time,
    /// On the clock of the reactor.
    cut_by_deadline_at: Option<Time>,
    stdout: Written,
    stderr: Written,
}

#[derive(Debug)]
struct Ended {
    task: TaskId,
    record: Record,
    stdout: Written,
    stderr: Written,
}

/// A run under way.
#[derive(Debug)]
pub struct Engine {
    prepared: Prepared,
    machine: Machine,
    journal: Option<Journal>,
    options: Options,
    reactor: Reactor,
    /// What the run's clock was when the reactor's began.
    origin: Time,
    slots: Vec<Slot>,
    sources: Sources,
    outputs: HashMap<TaskId, Stored>,
    last_exit: HashMap<TaskId, u8>,
    secrets: Vec<(String, String)>,
    environment: Environment,
    space: ArgumentSpace,
    run: String,
    batch: Vec<Record>,
    /// What is written down already and no observer was told of: how the run began.
    untold: Option<Record>,
    starts: Vec<(usize, TaskId, Box<Launch>)>,
    /// Why nothing more is started.
    stopping: Option<Stopping>,
    lost: usize,
    /// What tells the run from all others, where it is written down.
    identity: Option<String>,
    survivors: Survivors,
    suspects: Suspects,
}

#[derive(Debug)]
enum Stopping {
    Interrupted(Signal),
    Deadline,
    Observer,
    Write(io::Error),
    System(String),
}

/// The variables that redial itself gives to commands; those of an outer redial do not reach them.
const VARIABLES: [&str; 9] = [
    "REDIAL_ATTEMPT",
    "REDIAL_ATTEMPTS",
    identity::ATTEMPT_ID,
    "REDIAL_LAST_EXIT",
    "REDIAL_CONTROL",
    "REDIAL_RUN_ID",
    "REDIAL_KEY",
    "REDIAL_STEP",
    "REDIAL_ITEM",
];

impl Engine {
    /// A run that begins now; with a journal where there is a run to hold it.
    ///
    /// # Errors
    /// Where its first record cannot be written, or the system has no room for it.
    pub fn begin(
        prepared: Prepared,
        name: &str,
        seed: u64,
        held: Option<Held>,
        options: Options,
    ) -> Result<Self, EngineError> {
        let journal = held.map(|held| {
            let records = held.journal(journal::End::default(), options.sync);
            let records = records.map_err(EngineError::Write)?;
            Ok::<_, EngineError>(Journal { held, records, segments: HashMap::new() })
        });
        let journal = journal.transpose()?;
        let machine = Machine::new(prepared.flow.clone(), name, seed);
        let mut engine = Self::new(prepared, machine, journal, name, seed, Time::ZERO, options)?;
        let mut record = engine.start_record(Event::RunStart, seed, Time::ZERO);
        if let (Some(start), Some(journal)) = (&mut record.start, &engine.journal) {
            start.flow_crc = Some(crc32fast::hash(&journal.held.flow()?));
        }
        engine.identify(record.start.as_deref());
        engine.batch.push(record.clone());
        // What items are known by depends on the seed, so none is frozen before it is written down.
        engine.flush(&mut ())?;
        engine.untold = Some(record);
        Ok(engine)
    }

    /// Goes on with a run that another process has begun: its records are applied again, and what was
    /// running then is lost. `clock` says how far the run's clock has gone on since the last record.
    ///
    /// # Errors
    /// Where the journal cannot be read, is damaged without `accept_damage`, or has what no run writes.
    pub fn resume(held: Held, accept_damage: bool, options: Options) -> Result<Self, EngineError> {
        Self::resume_with(held, accept_damage, options, &|_| {})
    }

    /// The same with settings that differ from those that were pinned, such as another policy for dead letters.
    /// They hold for this process alone.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_with(
        held: Held,
        accept_damage: bool,
        options: Options,
        change: &dyn Fn(&mut crate::definition::Definition),
    ) -> Result<Self, EngineError> {
        let pinned = held.flow()?;
        let mut definition: crate::definition::Definition = serde_json::from_slice(&pinned)
            .map_err(|error| {
                EngineError::System(format!("{}: flow.json: {error}", held.path().display()))
            })?;
        change(&mut definition);
        if definition.program {
            return Err(EngineError::Program { run: held.name().to_string() });
        }
        let prepared = Prepared::new(definition).map_err(EngineError::Definition)?;
        let name = held.name().to_string();
        let mut machine = Machine::new(prepared.flow.clone(), &name, 0);
        let mut outputs = HashMap::new();
        let (mut begun, mut start): (Option<Box<Start>>, Option<Box<Start>>) = (None, None);
        let mut at_start = Time::ZERO;
        let mut acceptance = Acceptance::new(accept_damage);
        let mut reading = held.read_journal::<Record>().map_err(EngineError::Journal)?;
        for entry in reading.by_ref() {
            let (offset, record) = match entry {
                Ok(entry) => (entry.offset, entry.record),
                Err(ReadError::Damage(damage)) if acceptance.covers(&held, damage.offset) => {
                    continue;
                }
                Err(error) => return Err(EngineError::Journal(error)),
            };
            match machine.apply(&record) {
                Ok(()) => {}
                // What the damage took may be what this record refers to.
                Err(_) if acceptance.covers(&held, offset) => continue,
                Err(error) => return Err(EngineError::Impossible(error)),
            }
            if let Some(started) = &record.start {
                (start, at_start) = (Some(started.clone()), record.time());
                begun = begun.or_else(|| start.clone());
            }
            values::remember(&mut outputs, &machine, &prepared, &record);
        }
        let end = reading.end().unwrap_or_default();
        let damage_accepted = acceptance.new_up_to(&held, end.offset);
        let damage_accepted = damage_accepted.map_err(EngineError::Write)?;
        let seed = start.as_ref().map_or(0, |start| start.seed);
        let since = start.as_ref().map_or(Duration::ZERO, |start| run_clock::since(start));
        let now = at_start.after(since).max(machine.time());
        let records = held.journal(end, options.sync).map_err(EngineError::Write)?;
        let journal = Some(Journal { held, records, segments: HashMap::new() });
        if let Some(journal) = &journal {
            journal.held.forget_cancel();
        }
        let mut engine = Self::new(prepared, machine, journal, &name, seed, now, options)?;
        engine.outputs = outputs;
        engine.refuse_missing_items()?;
        engine.sources.close_stdin(&engine.prepared);
        let resumed = engine.start_record(Event::RunResume, seed, now);
        engine.write(Record { damage_accepted, ..resumed })?;
        engine.identify(begun.as_deref());
        engine.end_survivors();
        engine.lose_open_attempts(now)?;
        Ok(engine)
    }

    fn new(
        prepared: Prepared,
        machine: Machine,
        journal: Option<Journal>,
        name: &str,
        seed: u64,
        origin: Time,
        options: Options,
    ) -> Result<Self, EngineError> {
        let reactor_options = redial_process::Options {
            timeout_signal: options.timeout_signal,
            kill_after: options.kill_after,
            drain: options.drain,
            share_terminal: false,
        };
        let reactor = Reactor::new(Clock::start(), reactor_options)
            .map_err(|error| EngineError::System(format!("cannot watch for signals: {error}")))?;
        let secrets = launch::secrets(&prepared.definition).map_err(EngineError::System)?;
        let sources = Sources::new(&prepared, journal.as_ref().map(|journal| &journal.held), seed)?;
        Ok(Self {
            prepared,
            machine,
            journal,
            options,
            reactor,
            origin,
            slots: Vec::new(),
            sources,
            outputs: HashMap::new(),
            last_exit: HashMap::new(),
            secrets,
            environment: Environment::without(&VARIABLES),
            space: launch::space(),
            run: name.to_owned(),
            batch: Vec::new(),
            untold: None,
            starts: Vec::new(),
            stopping: None,
            lost: 0,
            identity: None,
            survivors: Survivors::default(),
            suspects: Suspects::default(),
        })
    }

    /// A run that is kept is told from all others by the first that is known of it.
    fn identify(&mut self, begun: Option<&Start>) {
        if let (Some(journal), Some(begun)) = (&self.journal, begun) {
            self.identity = identity::of_run(journal.held.path(), begun).ok();
        }
    }

    /// The name of the run, where it is written down.
    pub fn kept_as(&self) -> Option<&str> {
        self.journal.as_ref().map(|_| self.run.as_str())
    }

    /// The machine of the run.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What is run.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// How many attempts were running when the process before this one was killed.
    pub fn lost(&self) -> usize {
        self.lost
    }

    /// The items that were there before and are not in the source any more, of a source that was read again.
    pub fn vanished(&self) -> u64 {
        self.sources.vanished()
    }

    /// Whether anything of a run was written down. The process that made it may have been killed before: then nothing was
    /// started, and it [begins](Self::begin) now, with what it has pinned.
    ///
    /// # Errors
    /// Where its journal cannot be read.
    pub fn has_begun(held: &Held) -> Result<bool, EngineError> {
        let mut records = held.read_journal::<Record>().map_err(EngineError::Journal)?;
        if records.next().is_some() {
            return Ok(true);
        }
        // Items are frozen only when there is a journal, which somebody has taken away since.
        let items = std::fs::metadata(held.items_path());
        if items.is_ok_and(|items| items.len() > 0) {
            return Err(EngineError::System(format!(
                "{}: the journal has no record, but there are items in items.ndjson: what was done for them is \
                 not known; remove the run, or bring its journal.ndjson back",
                held.path().display()
            )));
        }
        Ok(false)
    }

    /// Reads the sources of maps again from their beginnings, as a command does that is given again: what is
    /// new is run, what is dead is tried anew with a fresh policy, what was not finished goes on, all as far
    /// as the source still has it; and what has succeeded is left as it is.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn read_sources_again(&mut self) -> Result<(), EngineError> {
        for map in self.sources.maps() {
            self.drop_refused(map)?;
            if self.machine.is_dead_letter(map) {
                self.revive(TaskId { step: map, item: None })?;
            }
        }
        self.sources.read_again(&self.machine);
        self.machine.expect_more_items();
        Ok(())
    }

    /// What was no item is told anew, if it is none still, when the source is read again. Gives the tasks.
    fn drop_refused(&mut self, map: StepId) -> Result<Vec<TaskId>, EngineError> {
        let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
            return Ok(Vec::new());
        };
        let mut dropped = Vec::new();
        for item in self.sources.refused(map) {
            let task = TaskId { step: first, item: Some(item) };
            let state = self.machine.item(map, item);
            if state.is_none_or(|state| !state.is_finished()) {
                self.write(self.machine.record(self.now(), Event::Dead, task))?;
            }
            if state != Some(ItemState::Dropped) {
                self.drop_dead(task)?;
            }
            dropped.push(task);
        }
        Ok(dropped)
    }

    /// Dead letters are tried anew, each with a fresh policy. Of a map, its source is read again: what is finished stays,
    /// and what was no item is told anew if it is none still.
    ///
    /// # Errors
    /// Where one of them is none, or that cannot be written down.
    pub fn revive_all(&mut self, tasks: &[TaskId]) -> Result<(), EngineError> {
        let is_map = |task: &&TaskId| {
            matches!(self.prepared.flow.steps[task.step as usize].place, Place::Map { .. })
        };
        let (maps, others): (Vec<&TaskId>, Vec<&TaskId>) = tasks.iter().partition(is_map);
        let mut dropped = Vec::new();
        for map in maps {
            dropped.extend(self.drop_refused(map.step)?);
            self.revive(*map)?;
        }
        for task in others.into_iter().filter(|task| !dropped.contains(task)) {
            self.revive(*task)?;
        }
        Ok(())
    }

    /// A dead letter is tried anew, with a fresh policy.
    ///
    /// # Errors
    /// Where it is none, or that cannot be written down.
    pub fn revive(&mut self, task: TaskId) -> Result<(), EngineError> {
        let now = self.now();
        let generation = self.machine.generation(task) + 1;
        let record = Record { generation, ..self.machine.record(now, Event::DeadRetry, task) };
        self.write(record)
    }

    /// A dead letter is not wanted any more.
    ///
    /// # Errors
    /// Where it is none, or that cannot be written down.
    pub fn drop_dead(&mut self, task: TaskId) -> Result<(), EngineError> {
        let record = self.machine.record(self.now(), Event::DeadDrop, task);
        self.write(record)
    }

    /// Nothing more of the run is wanted.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn cancel(&mut self) -> Result<(), EngineError> {
        let record = Record::new(&self.run, self.now(), Event::Cancel);
        self.write(record)?;
        self.flush(&mut ())
    }

    /// Writes down what [`revive`](Self::revive) and [`drop_dead`](Self::drop_dead) have asked for, without running anything.
    ///
    /// # Errors
    /// Where that cannot be written down.
    pub fn save(&mut self) -> Result<(), EngineError> {
        let mut record = Record::new(&self.run, self.now(), Event::RunEnd);
        record.outcome = Some(match (self.machine.is_over(), self.has_failed()) {
            (false, _) => Outcome::Interrupted,
            (true, true) => Outcome::Failed,
            (true, false) => Outcome::Succeeded,
        });
        self.batch.push(record);
        self.flush(&mut ())
    }

    /// The outputs of the flow, by their names.
    ///
    /// # Errors
    /// Where one has no value: which, and why.
    pub fn flow_outputs(&self) -> Result<Vec<(String, Value)>, String> {
        let values = self.values(None);
        let output = |(name, template): &(String, crate::Template)| {
            let value = template.value(&values).map_err(|error| format!("{name}: {error}"))?;
            Ok((name.clone(), value))
        };
        self.prepared.outputs.iter().map(output).collect()
    }

    /// Runs until nothing is left to do, or this process is asked to end.
    ///
    /// # Errors
    /// Where the run cannot go on. What was written down before stays, and the run can be resumed.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Finished, EngineError> {
        if let Some(record) = self.untold.take() {
            observer.recorded(&self.view(), &record);
        }
        self.make_slots(observer)?;
        loop {
            self.collect(observer);
            let was_stopping = self.stopping.is_some();
            self.look_for_reasons_to_stop();
            if self.stopping.is_none() && observer.wants_no_more() {
                self.stopping = Some(Stopping::Observer);
            }
            if !was_stopping && matches!(self.stopping, Some(Stopping::Interrupted(_))) {
                observer.interrupted(&self.view(), self.options.drain);
            }
            let mut until = self.decide(observer)?;
            if let Err(error) = self.flush(observer) {
                self.stop_for(error);
                // Whatever was to be waited for, only what runs now is.
                until = Turn::Over;
            }
            self.start_all();
            // What redial does itself is over by now, and so is what could not be started.
            if !self.batch.is_empty() && self.stopping.is_none() {
                continue;
            }
            let is_busy = self.slots.iter().any(|slot| !matches!(slot.state, SlotState::Idle));
            match (until, is_busy) {
                (Turn::Over, false) => return self.finish(observer),
                (Turn::Again, _) => continue,
                (Turn::Wait(until), _) => self.wait(until, observer),
                (Turn::Over, true) => self.wait(None, observer),
            }
        }
    }

    fn wait(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        let tick = observer.tick(&self.view());
        let deadline = match self.stopping {
            None => self.deadline(),
            Some(_) => None,
        };
        let until = [until, tick, deadline].into_iter().flatten().min();
        let until = until.map(|until| self.on_reactor(until));
        // What was written down in a group is synced in time, also while nothing happens.
        let group = self.journal.as_ref().and_then(|journal| journal.records.due());
        let group = group.map(|due| {
            let left = due.saturating_duration_since(std::time::Instant::now());
            self.reactor.clock.now().after(left)
        });
        self.reactor.turn([until, group].into_iter().flatten().min(), &mut ());
    }

    fn make_slots(&mut self, observer: &mut dyn Observer) -> Result<(), EngineError> {
        let no_file = |error: io::Error| {
            EngineError::System(format!("no file for the output of a job can be had: {error}"))
        };
        if let Some(waker) = self.sources.take_waker().map_err(no_file)? {
            self.reactor.wake_on(waker);
        }
        // What is opened for a moment, to start a command or to read items, needs room beside the slots.
        let room: Vec<_> = (0..DESCRIPTORS_FREE).map_while(|_| io::pipe().ok()).collect();
        let wanted = self.options.slots.get() as usize;
        while self.slots.len() < wanted {
            let spare = match Written::pair() {
                Ok(pair) => Some(pair),
                Err(error) if self.slots.is_empty() => return Err(no_file(error)),
                Err(error) => {
                    self.fewer_slots(wanted, &error.to_string(), observer);
                    break;
                }
            };
            let streams = Streams::new(Stdin::Null, true, &Rules::default());
            match self.reactor.guarded_slot(streams, self.options.guard) {
                Ok(id) => self.slots.push(Slot {
                    id,
                    state: SlotState::Idle,
                    spare,
                    control: Control::create(),
                }),
                Err(nix::errno::Errno::ENOSYS) if self.slots.is_empty() => {
                    let streams = Streams::new(Stdin::Null, true, &Rules::default());
                    let id = self.reactor.only_slot(streams);
                    let (state, control) = (SlotState::Idle, Control::create());
                    self.slots.push(Slot { id, state, spare, control });
                    if wanted > 1 {
                        observer.warned("only Linux runs more than one job at a time; one runs");
                    }
                    break;
                }
                Err(error) if self.slots.is_empty() => {
                    let why = ending::fault_of_the_system(error).unwrap_or(error.desc());
                    let message = format!("cannot start a guard for commands: {why}");
                    return Err(EngineError::System(message));
                }
                Err(error) => {
                    let why = ending::fault_of_the_system(error).unwrap_or(error.desc());
                    self.fewer_slots(wanted, why, observer);
                    break;
                }
            }
        }
        drop(room);
        Ok(())
    }

    fn fewer_slots(&self, wanted: usize, why: &str, observer: &mut dyn Observer) {
        let count = self.slots.len();
        observer.warned(&format!("{count} of {wanted} jobs run at a time: {why}"));
    }

    /// Takes all that has ended.
    fn collect(&mut self, observer: &mut dyn Observer) {
        for at in 0..self.slots.len() {
            let id = self.slots[at].id;
            loop {
                match std::mem::replace(&mut self.slots[at].state, SlotState::Idle) {
                    SlotState::Starting(started) => match self.reactor.started(id) {
                        None => {
                            self.slots[at].state = SlotState::Starting(started);
                            break;
                        }
                        Some(Ok(_)) => self.slots[at].state = SlotState::Running(started),
                        Some(Err(error)) => self.not_started(started, error),
                    },
                    SlotState::Running(started) => match self.reactor.exit(id) {
                        None => {
                            self.slots[at].state = SlotState::Running(started);
                            break;
                        }
                        Some(exit) => self.exited(at, started, exit, observer),
                    },
                    SlotState::Sweeping(ended) => match self.reactor.swept(id) {
                        None => {
                            self.slots[at].state = SlotState::Sweeping(ended);
                            break;
                        }
                        Some(survivors) => {
                            if survivors {
                                observer.warned("a process could not be ended, not even by KILL");
                            }
                            self.ended(at, *ended, observer);
                        }
                    },
                    state @ (SlotState::Idle | SlotState::Claimed) => {
                        self.slots[at].state = state;
                        break;
                    }
                }
            }
        }
    }

    fn not_started(&mut self, started: Started, error: nix::errno::Errno) {
        let Started { task, attempt, at, .. } = started;
        let now = self.now();
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(now.since(at)));
        use nix::errno::Errno;
        if matches!(error, Errno::ESRCH | Errno::EPIPE | Errno::ECONNRESET | Errno::EPROTO) {
            // The guard was killed before it could say whether the command runs: so it counts.
            record.outcome = Some(Outcome::Lost);
            record.verdict = Some(Verdict::Retry);
            record.message = ending::fault_of_the_system(error).map(Into::into);
        } else if let Some(why) = ending::fault_of_the_system(error) {
            // Not the task's fault, and not counted: it runs when the run is resumed.
            record.outcome = Some(Outcome::Cancelled);
            record.message = Some(why.into());
            self.stopping.get_or_insert_with(|| Stopping::System(why.to_owned()));
        } else {
            let ending = ending::of_error(error);
            let rules = &self.prepared.step(task.step).rules;
            let judgement = rules.judge(&ending, &mut rules.watch(), SystemTime::now());
            judged(&mut record, &ending, &judgement);
            record.message = Some(error.desc().into());
            self.last_exit.insert(task, ending::exit_code(&ending));
        }
        self.record(record);
    }

    fn exited(&mut self, at: usize, started: Started, exit: Exit, observer: &mut dyn Observer) {
        let Started { task, attempt, at: began, cut_by_deadline_at, mut stdout, mut stderr } =
            started;
        let now = self.now();
        let timed_out = exit.timed_out;
        let status = exit.status.map(|status| ending::of_status(status, timed_out));
        let ending = status.unwrap_or(Ending::TimedOut);
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(now.since(began)));
        let ready = self.prepared.step(task.step);
        let mut watch = ready.rules.watch();
        for (stream, written) in [(Stream::Stdout, &mut stdout), (Stream::Stderr, &mut stderr)] {
            if ready.rules.watches(stream) {
                written.each_chunk(|chunk| watch.saw(stream, chunk));
            }
        }
        let judgement = ready.rules.judge(&ending, &mut watch, SystemTime::now());
        judged(&mut record, &ending, &judgement);
        if timed_out && cut_by_deadline_at.is_some_and(|at| at <= now) {
            record.message = Some("cut by the deadline of its policy".into());
        }
        let is_success = judgement.fate == Fate::Success && !timed_out;
        if !is_success {
            self.last_exit.insert(task, ending::exit_code(&ending));
            if self.reactor.has_forwarded_interrupt() || self.is_cut_by_flow() {
                record.outcome = Some(Outcome::Cancelled);
                record.verdict = None;
            }
        }
        let ended = Ended { task, record, stdout, stderr };
        // A success may leave its daemon; nothing else leaves anything.
        if is_success || exit.status.is_none() {
            self.reactor.disown(self.slots[at].id);
            self.ended(at, ended, observer);
        } else {
            self.reactor.begin_sweep(self.slots[at].id);
            self.slots[at].state = SlotState::Sweeping(Box::new(ended));
        }
    }

    /// An attempt is over, and so is all that it started.
    fn ended(&mut self, at: usize, ended: Ended, observer: &mut dyn Observer) {
        let Ended { task, mut record, mut stdout, mut stderr } = ended;
        // Also of a success: the next attempt in this slot is another item's, and finds the file empty.
        let (request, ignored) = match &self.slots[at].control {
            Some(control) => control.take(),
            None => (None, None),
        };
        if record.outcome == Some(Outcome::Succeeded) {
            if let Err(refusal) = self.take_output(at, task, &mut record, &mut stdout) {
                debug_assert!(
                    crate::reason::page(refusal.name).is_some(),
                    "{refusal:?} has no page"
                );
                record.outcome = Some(Outcome::Failed);
                record.verdict = Some(Verdict::Stop);
                record.rule = Some(refusal.name.into());
                record.message = Some(refusal.message.into());
            }
        } else {
            if let Some(line) = ignored {
                observer.warned(&format!("REDIAL_CONTROL: {line}"));
            }
            match request {
                Some(Request::RetryAfter(delay)) => record.delay_ns = Some(nanos(delay)),
                Some(Request::Stop) => record.verdict = Some(Verdict::Stop),
                None => {}
            }
        }
        if record.outcome != Some(Outcome::Succeeded) {
            let tail = self.masked(&stderr.tail(TAIL_MAX));
            record.stderr_tail = (!tail.is_empty()).then(|| tail.into());
        }
        if matches!(record.outcome, Some(Outcome::Succeeded)) {
            self.last_exit.remove(&task);
        }
        self.record(record.clone());
        for written in [&mut stdout, &mut stderr] {
            written.mask(self.secrets.iter().map(|(_, secret)| secret.as_str()));
        }
        observer.attempt_ended(&self.view(), task, &record, &mut stdout, &mut stderr);
        let slot = &mut self.slots[at];
        if !self.reactor.has_left_children(slot.id) && stdout.clear() && stderr.clear() {
            slot.spare = Some((stdout, stderr));
        }
    }

    /// What a success wrote, as the value that others refer to.
    fn take_output(
        &mut self,
        at: usize,
        task: TaskId,
        record: &mut Record,
        stdout: &mut Written,
    ) -> Result<(), Refusal> {
        use crate::definition::OutputKind;
        let kind = self.prepared.step(task.step).output;
        let length = stdout.length();
        if kind == OutputKind::None || (length == 0 && kind == OutputKind::Text) {
            return Ok(());
        }
        if !self.secrets.is_empty() && self.has_secret(stdout) {
            return Err(Refusal {
                name: "secret-in-output",
                message:
                    "its output has a secret in it, which is not kept; print something else, or \
                          use output: none"
                        .into(),
            });
        }
        if length > VALUE_MAX {
            if let Some(place) = self.keep_in_segment(at, stdout)? {
                record.output_at = Some(place);
            }
            return Ok(());
        }
        let bytes = stdout.bytes(VALUE_MAX).map_err(|error| Refusal {
            name: "output-lost",
            message: format!("its output cannot be read: {error}"),
        })?;
        let value = values::of_output(kind, bytes)?;
        let is_small = length <= INLINE_MAX;
        match (&value, self.journal.is_some() && !is_small) {
            (_, true) => record.output_at = self.keep_in_segment(at, stdout)?,
            (Value::Json(json), false) => record.output = Some(json.clone()),
            (Value::Bytes(bytes), false) => {
                record.output_base64 = Some(BASE64_STANDARD.encode(bytes).into());
            }
        }
        if record.output_at.is_some() && values::is_referred_to(&self.prepared, task.step) {
            self.outputs.insert(task, Stored::Value(value));
        }
        Ok(())
    }

    fn keep_in_segment(
        &mut self,
        at: usize,
        stdout: &mut Written,
    ) -> Result<Option<crate::record::Place>, Refusal> {
        let Some(journal) = &mut self.journal else { return Ok(None) };
        let lost = |error: io::Error| Refusal {
            name: "output-lost",
            message: format!("its output cannot be kept: {error}"),
        };
        if let std::collections::hash_map::Entry::Vacant(vacant) = journal.segments.entry(at) {
            vacant.insert(journal.held.segment(at as u32).map_err(lost)?);
        }
        let Some(segment) = journal.segments.get_mut(&at) else { return Ok(None) };
        let place = segment.append_from(stdout.reader().map_err(lost)?).map_err(lost)?;
        Ok(Some(place))
    }

    fn has_secret(&self, written: &mut Written) -> bool {
        let Ok(bytes) = written.bytes(VALUE_MAX.max(written.length())) else { return false };
        self.secrets.iter().any(|(_, secret)| {
            !secret.is_empty() && memchr::memmem::find(&bytes, secret.as_bytes()).is_some()
        })
    }

    /// The text without secrets.
    fn masked(&self, text: &str) -> String {
        let mask = |text: String, (_, secret): &(String, String)| match secret.is_empty() {
            true => text,
            false => text.replace(secret.as_str(), "***"),
        };
        self.secrets.iter().fold(text.to_owned(), mask)
    }

    fn look_for_reasons_to_stop(&mut self) {
        if let Some(signal) = self.reactor.interrupted_by() {
            self.stopping = Some(Stopping::Interrupted(signal));
        } else if self.stopping.is_none() && self.deadline().is_some_and(|at| at <= self.now()) {
            self.stopping = Some(Stopping::Deadline);
            let now = self.reactor.clock.now();
            for slot in &self.slots {
                if matches!(slot.state, SlotState::Starting(_) | SlotState::Running(_)) {
                    self.reactor.time_out_at(slot.id, Some(now));
                }
            }
        }
    }

    fn is_cut_by_flow(&self) -> bool {
        matches!(self.stopping, Some(Stopping::Deadline))
    }

    fn deadline(&self) -> Option<Time> {
        self.prepared.definition.within.map(|within| Time::ZERO.after(within))
    }

    /// Lets the machine decide, as long as there is something to decide.
    fn decide(&mut self, observer: &mut dyn Observer) -> Result<Turn, EngineError> {
        // What ended is written down soon, however much there is to start.
        const BATCH_MAX: usize = 4096;
        loop {
            let now = self.now();
            let free = match self.stopping {
                Some(_) => None,
                None => self.slots.iter().position(|slot| matches!(slot.state, SlotState::Idle)),
            };
            if self.batch.len() >= BATCH_MAX {
                return Ok(Turn::Again);
            }
            let (machine, sources) = (&mut self.machine, &mut self.sources);
            match machine.next(now, free.is_some(), &mut |map| sources.supply(map)) {
                Next::Write(record) => self.settled(*record),
                Next::Start(task) => {
                    let Some(free) = free else { return Ok(Turn::Wait(None)) };
                    self.claim(free, task, observer);
                }
                Next::Read(map) => self.read(map, observer)?,
                Next::Wait(until) => {
                    return Ok(match self.stopping {
                        Some(_) => Turn::Over,
                        None => Turn::Wait(until),
                    });
                }
                Next::Over => return Ok(Turn::Over),
            }
        }
    }

    /// A record of the machine's own: a decision, a dead letter, a fallback, a map that is stopped.
    fn settled(&mut self, mut record: Record) {
        if record.reason.as_deref() == Some(FAILURES_MAX)
            && let Some(task) = self.machine.task(&record)
        {
            self.tell_stopped(task.step, &mut record);
        }
        if record.event == Event::Dead
            && let Some(task) = self.machine.task(&record)
        {
            // What was lost is not in memory, and a dead letter has a name. Without it, it is one all the same.
            let _ = self.sources.ensure(&self.machine, task);
            record.key = self.sources.key(&self.machine, task).map(Into::into);
        }
        if record.event == Event::StepEnd
            && record.outcome == Some(Outcome::Recovered)
            && let Some(task) = self.machine.task(&record)
            && let Some(fallback) = &self.prepared.step(task.step).fallback
        {
            match values::rendered(fallback, &self.values(Some(task))) {
                Ok(json) => record.output = Some(json),
                Err(error) => {
                    record.event = Event::Dead;
                    record.outcome = None;
                    record.message = Some(format!("its fallback: {error}").into());
                }
            }
        }
        self.record(record);
    }

    /// Says why a map is stopped, and how many of its items were not run, as far as that can be known.
    fn tell_stopped(&mut self, map: StepId, record: &mut Record) {
        let counts = self.machine.counts(map);
        let known = u32::try_from(counts.known).unwrap_or(u32::MAX);
        let (left, is_all) = self.sources.left(map, known);
        let left = match (left, is_all) {
            (0, true) => String::new(),
            (0, false) => "; what else its source has was not run".to_owned(),
            (1, true) => "; 1 item was not run".to_owned(),
            (left, true) => format!("; {left} items were not run"),
            (left, false) => format!("; {left} items or more were not run"),
        };
        let (dead, finished) = (counts.dead, counts.finished());
        let message =
            format!("{dead} of {finished} items are dead, more than failures_max allows{left}");
        record.message = Some(message.into());
    }

    /// An attempt is due: writes down its start, or why there is none.
    fn claim(&mut self, slot: usize, task: TaskId, observer: &mut dyn Observer) {
        let now = self.now();
        if let Err(error) = self.sources.ensure(&self.machine, task) {
            return self.stop_for(EngineError::Write(error));
        }
        if let Some((reason, message)) = self.sources.refusal(&self.machine, task) {
            let (reason, message) = (reason.to_string(), message.to_string());
            return self.dead(task, &reason, message);
        }
        if self.machine.attempts(task) == 0 {
            match self.is_wanted(task) {
                Ok(true) => {}
                Ok(false) => {
                    let record = self.machine.record(now, Event::StepEnd, task);
                    return self.record(Record { outcome: Some(Outcome::Skipped), ..record });
                }
                Err(message) => return self.dead(task, "bad-condition", message),
            }
            if self.names_skipped(task) {
                return self.settled(self.machine.skipped_with(now, task));
            }
        }
        if let ReadyAction::Branch(arms) = &self.prepared.step(task.step).action {
            return match self.chosen(task, arms) {
                Ok(arm) => self.record(self.machine.branch_end(now, task, arm)),
                Err(message) => self.dead(task, "bad-condition", message),
            };
        }
        let launch = match self.launch(task) {
            Ok(launch) => launch,
            Err(error) => return self.dead(task, error.kind(), error.to_string()),
        };
        if self.machine.attempts(task) == 0 {
            self.suspect(task, observer);
        }
        let mut record = self.machine.attempt_start(now, task);
        record.key = self.sources.key(&self.machine, task).map(Into::into);
        self.record(record);
        self.slots[slot].state = SlotState::Claimed;
        self.starts.push((slot, task, Box::new(launch)));
    }

    /// A task that gives up without an attempt.
    fn dead(&mut self, task: TaskId, reason: &str, message: String) {
        debug_assert!(crate::reason::page(reason).is_some(), "{reason} has no page");
        let mut record = self.machine.record(self.now(), Event::Dead, task);
        record.key = self.sources.key(&self.machine, task).map(Into::into);
        record.reason = Some(reason.into());
        record.message = Some(message.into());
        self.record(record);
    }

    /// Reads another item of a map.
    fn read(&mut self, map: StepId, observer: &mut dyn Observer) -> Result<(), EngineError> {
        if self.sources.wants_opening(map) {
            let opened = {
                let values = self.values(None);
                self.sources.open(map, &self.prepared, &values)
            };
            match opened {
                Ok(source) => self.sources.opened(map, source),
                Err(message) => {
                    let known = self.machine.counts(map).known;
                    let known = u32::try_from(known).unwrap_or(u32::MAX);
                    self.record_items_end(map, known, Some(message));
                    return Ok(());
                }
            }
        }
        match self.sources.next(map, &self.machine).map_err(EngineError::Write)? {
            Admitted::Item(item) => {
                self.machine.admit(map, item);
                if self.machine.item(map, item).is_some_and(ItemState::is_finished) {
                    self.sources.forget(map, item);
                }
            }
            Admitted::Dead(item) => {
                let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
                    return Ok(());
                };
                self.revive(TaskId { step: first, item: Some(item) })?;
            }
            Admitted::Bad(item, reason, message) => {
                self.machine.admit(map, item);
                let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place else {
                    return Ok(());
                };
                self.dead(TaskId { step: first, item: Some(item) }, reason, message);
            }
            Admitted::Broken(message) => {
                observer.warned(&format!("its items cannot be read further: {message}"));
                self.items_end(map, Some(message));
            }
            Admitted::Later => {}
            // What was frozen has been read, and the source is opened next.
            Admitted::End if self.sources.wants_opening(map) => {}
            Admitted::End => self.items_end(map, None),
        }
        Ok(())
    }

    /// There are no more items, or why no more can be read.
    fn items_end(&mut self, map: StepId, broken: Option<String>) {
        if let Place::Map { first, .. } = self.prepared.flow.steps[map as usize].place {
            let (reason, message) = match &broken {
                None => ("vanished", "it is not in the source any more"),
                Some(_) => (BAD_SOURCE, "the source could not be read as far as this item"),
            };
            for (item, key) in self.sources.take_vanished(map, &self.machine) {
                let task = TaskId { step: first, item: Some(item) };
                let mut record = self.machine.record(self.now(), Event::Dead, task);
                (record.key, record.reason) = (key, Some(reason.into()));
                record.message = Some(message.into());
                self.record(record);
            }
        }
        self.record_items_end(map, self.sources.count(map), broken);
    }

    /// A source has so many items; or why no more can be read: then the machine makes the map a dead letter, once all its
    /// items are over.
    fn record_items_end(&mut self, map: StepId, items: u32, broken: Option<String>) {
        let id = TaskId { step: map, item: None };
        let reason = broken.is_some().then(|| BAD_SOURCE.into());
        let record = self.machine.record(self.now(), Event::ItemsEnd, id);
        let message = broken.map(Into::into);
        self.record(Record { items: Some(items), reason, message, ..record });
        self.machine.all_admitted(map);
    }

    /// Applies a record now and writes it down with the next append.
    fn record(&mut self, record: Record) {
        // The engine makes no record that its machine refuses; a test runs it with this as an error.
        let applied = self.machine.apply(&record);
        debug_assert!(applied.is_ok(), "{applied:?}: {record:?}");
        values::remember(&mut self.outputs, &self.machine, &self.prepared, &record);
        self.batch.push(record);
    }

    /// The same for what comes from outside.
    fn write(&mut self, record: Record) -> Result<(), EngineError> {
        self.machine.apply(&record).map_err(EngineError::Impossible)?;
        self.batch.push(record);
        Ok(())
    }

    /// Items are frozen before anything refers to them: fewer than the journal knows were taken away.
    fn refuse_missing_items(&self) -> Result<(), EngineError> {
        for (step, id) in self.prepared.flow.steps.iter().zip(0..) {
            let (known, frozen) = (self.machine.counts(id).known, self.sources.count(id));
            if matches!(step.place, Place::Map { .. }) && known > u64::from(frozen) {
                return Err(EngineError::System(format!(
                    "items.ndjson has {frozen} items of `{}`, and the journal knows {known}: it was cut or \
                     damaged; bring it back, or remove the run",
                    step.name
                )));
            }
        }
        Ok(())
    }

    fn lose_open_attempts(&mut self, now: Time) -> Result<(), EngineError> {
        let open = self.machine.open_attempts();
        self.lost = open.len();
        for task in open {
            let rules = &self.prepared.step(task.step).rules;
            let judgement = rules.judge(&Ending::Lost, &mut rules.watch(), SystemTime::now());
            let record = Record {
                attempt: Some(self.machine.attempts(task)),
                outcome: Some(Outcome::Lost),
                verdict: Some(match judgement.fate {
                    Fate::Stop => Verdict::Stop,
                    _ => Verdict::Retry,
                }),
                rule: judgement.rule.as_deref().map(Into::into),
                ..self.machine.record(now, Event::AttemptEnd, task)
            };
            self.write(record)?;
        }
        Ok(())
    }

    /// Makes what was recorded durable, and tells the observer.
    fn flush(&mut self, observer: &mut dyn Observer) -> Result<(), EngineError> {
        if let Some(journal) = &mut self.journal {
            let durable = || -> io::Result<()> {
                self.sources.sync()?;
                for segment in journal.segments.values_mut() {
                    segment.sync()?;
                }
                journal.records.append(&self.batch)?;
                if journal.records.due().is_some_and(|due| due <= std::time::Instant::now()) {
                    journal.records.sync()?;
                }
                Ok(())
            };
            let mut durable = durable;
            durable().map_err(EngineError::Write)?;
        }
        let batch = std::mem::take(&mut self.batch);
        for record in &batch {
            observer.recorded(&self.view(), record);
        }
        self.forget_outputs(&batch);
        self.batch = batch;
        self.batch.clear();
        Ok(())
    }

    /// What could not be written down is not done. Ends that could not be written are tried again with the
    /// next append, when attempts that run have ended.
    fn stop_for(&mut self, error: EngineError) {
        let error = match error {
            EngineError::Write(error) => error,
            other => io::Error::other(other.to_string()),
        };
        self.stopping = Some(Stopping::Write(error));
        self.batch.retain(|record| record.event != Event::AttemptStart);
        for (slot, ..) in self.starts.drain(..) {
            self.slots[slot].state = SlotState::Idle;
        }
    }

    /// The outputs of items that are over are nobody's any more.
    fn forget_outputs(&mut self, batch: &[Record]) {
        for record in batch {
            if let Some(task) = self.machine.task(record)
                && let (Some(item), Place::Inside(map)) =
                    (task.item, &self.prepared.flow.steps[task.step as usize].place)
                && self.machine.item(*map, item).is_some_and(|state| state.is_finished())
                && let Place::Map { first, last, .. } =
                    self.prepared.flow.steps[*map as usize].place
            {
                self.sources.forget(*map, item);
                let results = values::results_of(&self.prepared, *map);
                for step in first..=last {
                    if !results.contains(&step) {
                        self.outputs.remove(&TaskId { step, item: Some(item) });
                    }
                    self.last_exit.remove(&TaskId { step, item: Some(item) });
                }
            }
        }
    }

    /// Starts what is written down.
    fn start_all(&mut self) {
        for (slot, task, launch) in std::mem::take(&mut self.starts) {
            self.start(slot, task, *launch);
        }
    }

    fn start(&mut self, at: usize, task: TaskId, launch: Launch) {
        let attempt = self.machine.attempts(task);
        let now = self.now();
        let outcome = match launch {
            Launch::Command(launched) if launched.missing_directory().is_some() => {
                let directory = launched.missing_directory().unwrap_or_default();
                let message = format!("there is no directory {}", directory.display());
                Err((Outcome::SpawnError, message))
            }
            Launch::Command(mut launched) => {
                let files = self.slots[at].spare.take().map_or_else(Written::pair, Ok);
                let streams = self.reactor.streams(self.slots[at].id);
                // The reactor's own streams have nothing to do: the command has files.
                let inherited = streams.open(&Rules::default(), Sinks::default(), true);
                let stdio = files.and_then(|(stdout, stderr)| {
                    let stdio = launched.stdio(inherited?, &stdout, &stderr)?;
                    Ok((stdout, stderr, stdio))
                });
                match stdio {
                    Ok((stdout, stderr, stdio)) => {
                        let slot = &mut self.slots[at];
                        let variables = launched.variables(slot.control.as_ref());
                        self.reactor.start(slot.id, &launched.command, &variables, stdio);
                        let deadline = self.machine.deadline(task);
                        let timeout = launched.timeout.map(|timeout| now.after(timeout));
                        let cut_at = [timeout, deadline].into_iter().flatten().min();
                        let on_reactor = cut_at.map(|at| Time::ZERO.after(at.since(self.origin)));
                        self.reactor.time_out_at(slot.id, on_reactor);
                        let cut_by_deadline_at =
                            deadline.filter(|at| timeout.is_none_or(|timeout| *at < timeout));
                        slot.state = SlotState::Starting(Started {
                            task,
                            attempt,
                            at: now,
                            cut_by_deadline_at,
                            stdout,
                            stderr,
                        });
                        return;
                    }
                    Err(error) => {
                        // Nothing was started, and that is not the task's fault.
                        let why = format!("no file for the output of a job can be had: {error}");
                        self.slots[at].state = SlotState::Idle;
                        let mut record = self.machine.record(now, Event::AttemptEnd, task);
                        record.attempt = Some(attempt);
                        record.outcome = Some(Outcome::Cancelled);
                        record.message = Some(why.as_str().into());
                        self.record(record);
                        self.stopping.get_or_insert(Stopping::System(why));
                        return;
                    }
                }
            }
            Launch::WriteFile { path, content } => {
                std::fs::write(&path, content).map_err(|error| {
                    (Outcome::Failed, format!("cannot write {}: {error}", path.display()))
                })
            }
        };
        self.slots[at].state = SlotState::Idle;
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(self.now().since(now)));
        record.outcome =
            Some(outcome.as_ref().map_or_else(|(outcome, _)| *outcome, |()| Outcome::Succeeded));
        record.verdict = outcome.is_err().then_some(Verdict::Retry);
        record.message = outcome.err().map(|(_, message)| message.into());
        self.record(record);
    }

    fn finish(&mut self, observer: &mut dyn Observer) -> Result<Finished, EngineError> {
        self.tell_suspects(observer);
        let finished = match self.stopping.take() {
            None => Ok(Finished::Over),
            Some(Stopping::Interrupted(signal)) => Ok(Finished::Interrupted(signal)),
            Some(Stopping::Deadline) => Ok(Finished::Deadline),
            // The last of what there was to do, all the same.
            Some(Stopping::Observer) if self.machine.is_over() => Ok(Finished::Over),
            Some(Stopping::Observer) => Ok(Finished::Stopped),
            Some(Stopping::System(why)) => Err(EngineError::System(why)),
            Some(Stopping::Write(error)) => {
                // Perhaps there is room by now for what has ended since.
                let _ = self.flush(observer);
                return Err(EngineError::Write(error));
            }
        };
        if let (Ok(Finished::Interrupted(_)), Some(journal)) = (&finished, &self.journal)
            && journal.held.is_asked_to_cancel()
        {
            self.record(Record::new(&self.run, self.now(), Event::Cancel));
        }
        let mut record = Record::new(&self.run, self.now(), Event::RunEnd);
        record.outcome = Some(match &finished {
            Ok(Finished::Over) if self.has_failed() => Outcome::Failed,
            Ok(Finished::Over) => Outcome::Succeeded,
            Ok(Finished::Deadline) => Outcome::Timeout,
            Ok(Finished::Interrupted(_) | Finished::Stopped) | Err(_) => Outcome::Interrupted,
        });
        if let Ok(Finished::Interrupted(signal)) = &finished {
            record.signal = Some(redial_process::signals::short_name(*signal).into());
        }
        self.batch.push(record);
        self.flush(observer)?;
        finished
    }

    /// Whether dead letters are left, or a step has failed.
    pub fn has_failed(&self) -> bool {
        if self.machine.is_cancelled() {
            return true;
        }
        self.prepared.flow.steps.iter().zip(0..).any(|(step, id)| {
            let failed = matches!(self.machine.end(id), Some(End::Dead | End::Blocked));
            let dead = match step.place {
                Place::Map { .. } => self.machine.counts(id).dead > 0,
                _ => false,
            };
            failed || dead
        })
    }

    fn start_record(&self, event: Event, seed: u64, now: Time) -> Record {
        let start = run_clock::start(seed, self.options.argv.clone());
        Record { start: Some(Box::new(start)), ..Record::new(&self.run, now, event) }
    }

    fn view(&self) -> View<'_> {
        View {
            now: self.now(),
            machine: &self.machine,
            prepared: &self.prepared,
            running: &self.slots,
            sources: &self.sources,
        }
    }

    /// The run's own time.
    pub fn now(&self) -> Time {
        self.origin.after(self.reactor.clock.now().since(Time::ZERO)).max(self.machine.time())
    }

    fn on_reactor(&self, time: Time) -> Time {
        Time::ZERO.after(time.since(self.origin))
    }
}

enum Turn {
    /// Nothing before something ends, or this time comes.
    Wait(Option<Time>),
    /// There is more to do at once.
    Again,
    /// Nothing at all.
    Over,
}

/// Why a success is none after all.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

fn judged(record: &mut Record, ending: &Ending, judgement: &Judgement) {
    match ending {
        Ending::Exit(code) => record.exit = Some(*code),
        Ending::Signal { number, name } => {
            let text = if name.is_empty() { number.to_string() } else { (*name).to_owned() };
            record.signal = Some(text.into());
        }
        _ => {}
    }
    let (outcome, verdict) = match (judgement.fate, ending) {
        (Fate::Success, _) => (Outcome::Succeeded, None),
        (fate, ending) => {
            let outcome = match ending {
                Ending::Exit(_) => Outcome::Failed,
                Ending::Signal { .. } => Outcome::Signalled,
                Ending::TimedOut => Outcome::Timeout,
                Ending::Lost => Outcome::Lost,
                Ending::NotFound | Ending::NotExecutable => Outcome::SpawnError,
            };
            let verdict = if fate == Fate::Stop { Verdict::Stop } else { Verdict::Retry };
            (outcome, Some(verdict))
        }
    };
    record.outcome = Some(outcome);
    record.verdict = verdict;
    record.rule = judgement.rule.as_deref().map(Into::into);
    record.delay_ns = judgement.delay.map(nanos);
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
