//! The embedded engine: one loop over the machine, the journal and the commands of `redial-process`.
//!
//! Each turn takes all that has ended, lets the machine decide, writes down ends, decisions and next starts with
//! one durable append, and only then starts commands. So an attempt that runs is an attempt that is written down,
//! and what was acknowledged survives a KILL at any instant.

mod asked;
mod attempt_end;
mod attempt_start;
mod beginning;
mod claim;
mod durable;
mod error;
mod identity;
mod launch;
mod observer;
mod output;
mod reading;
mod run_end;
mod slot;
mod sources;
mod survivors;
mod suspects;
mod takeover;
mod values;
mod written;

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::num::NonZeroU32;
use std::time::Duration;

use nix::sys::signal::Signal;
use redial_core::Time;
use redial_process::{Environment, Reactor, Survivors};

use self::durable::Journal;
pub use self::error::EngineError;
use self::launch::Launch;
pub use self::observer::{Observer, View};
pub(crate) use self::output::Refusal;
pub use self::output::VALUE_MAX;
use self::slot::{Slot, SlotState};
use self::sources::Sources;
use self::suspects::Suspects;
pub use self::takeover::{Beginning, Takeover};
pub use self::values::Stored;
pub use self::written::Written;
use crate::argument_space::ArgumentSpace;
use crate::journal::Sync;
use crate::machine::{Machine, Next, TaskId};
use crate::prepared::Prepared;
use crate::record::Record;

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
    /// What it says of how the run is run, for the [journal](crate::record::Start::said) of a run that begins.
    pub said: serde_json::Value,
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
    /// How many of them there may be.
    slots_max: usize,
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

impl Engine {
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

    /// Runs until nothing is left to do, or this process is asked to end.
    ///
    /// # Errors
    /// Where the run cannot go on. What was written down before stays, and the run can be resumed.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Finished, EngineError> {
        if let Some(record) = self.untold.take() {
            observer.recorded(&self.view(), &record);
        }
        self.make_first_slot()?;
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

    /// Lets the machine decide, as long as there is something to decide.
    fn decide(&mut self, observer: &mut dyn Observer) -> Result<Turn, EngineError> {
        // What ended is written down soon, however much there is to start.
        const BATCH_MAX: usize = 4096;
        loop {
            let now = self.now();
            let is_free = self.stopping.is_none() && self.has_free_slot();
            if self.batch.len() >= BATCH_MAX {
                return Ok(Turn::Again);
            }
            let (machine, sources) = (&mut self.machine, &mut self.sources);
            match machine.next(now, is_free, &mut |map| sources.supply(map)) {
                Next::Write(record) => self.settled(*record),
                Next::Start(task) => {
                    // Without one after all, the machine is asked for what else there is to do.
                    if let Some(free) = self.free_slot(observer) {
                        self.claim(free, task, observer);
                    }
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

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
