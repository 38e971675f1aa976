//! What a run's journal says happened: for `status`, `report`, `dead` and timelines.
//!
//! Reading needs no lock, and works while another process writes. Nothing is believed that the machine could not have
//! written: a record of a step that the flow does not have is counted and passed over, and so is one of a kind that this
//! version does not know; holes and a torn tail are kept, to be reported.
//!
//! ```
//! use redial_flow::history::{History, State};
//! use redial_flow::store::Store;
//!
//! # let directory = tempfile::tempdir()?;
//! let store = Store::at(directory.path().join(".redial"));
//! let run = store.create(&"nightly".parse()?, br#"{"v":1,"name":"backup","steps":[]}"#)?;
//! let history = History::read(&run)?;
//! assert_eq!(history.flow, "backup");
//! assert_eq!(history.state, State::Interrupted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//!
//! One byte for each task, and more for those alone that can be asked about: steps, dead letters and what is under way,
//! [`TASKS_MAX`] of the items that went well and as many of those that failed before, [`ATTEMPTS_MAX`] attempts of each,
//! and [`TAILS_MAX`] bytes of standard error in all. What was left out is counted.

mod item;
mod names;
mod reader;
mod selection;
mod task;

use std::fmt;

use crate::accepted::Acceptance;
use crate::definition::Definition;
use crate::journal::{Damage, ReadError, Tail};
use crate::record::{Outcome, Start};
use crate::store::{Holder, Run, StoreError};

pub use item::{ITEM_LINE_MAX, item};
pub use names::dead_names;
pub use selection::Where;
pub use task::{Attempt, Decided, Ended, Output, Task, TaskState};

/// How many items are kept, for timelines, of those that succeeded at once, and of those that came to a good end after a
/// failure.
pub const TASKS_MAX: usize = 10_000;

/// How many attempts of a task are kept: half of them its first, half of them its last.
pub const ATTEMPTS_MAX: usize = 100;

/// How many bytes of standard error and of output are kept in all.
pub const TAILS_MAX: usize = 64 << 20;

/// How many holes of a journal are kept.
const DAMAGES_MAX: usize = 100;

/// How many kinds of failures are told apart.
const REASONS_MAX: usize = 1000;

/// What has become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process works on it.
    Running(Holder),
    /// Nobody works on it, and it is not over: it can be resumed.
    Interrupted,
    /// It is over, and came out like this.
    Over(Outcome),
    /// It is over, and a process holds it all the same, to revive dead letters or to remove it.
    Held(Holder),
}

impl State {
    /// One word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running(_) => "running",
            Self::Interrupted => "interrupted",
            Self::Over(Outcome::Succeeded) => "succeeded",
            Self::Over(Outcome::Cancelled) => "cancelled",
            Self::Over(Outcome::Timeout) => "timeout",
            Self::Over(_) => "failed",
            Self::Held(_) => "held",
        }
    }

    /// The process that holds it.
    pub fn holder(&self) -> Option<Holder> {
        match self {
            Self::Running(holder) | Self::Held(holder) => Some(*holder),
            _ => None,
        }
    }
}

/// Tasks, counted by what has become of them. Each is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Succeeded, at whichever attempt.
    pub succeeded: u64,
    /// Of those, the ones that failed before.
    pub flaky: u64,
    /// Given up, and their fallback took their place.
    pub recovered: u64,
    /// Given up, and what needs them runs all the same.
    pub continued: u64,
    /// Not run, because their condition did not hold.
    pub skipped: u64,
    /// Dead letters.
    pub dead: u64,
    /// Dead letters that are not wanted any more.
    pub dropped: u64,
    /// Waiting for their next attempt.
    pub waiting: u64,
    /// Under way; of a run that nobody works on, what was under way when its process ended.
    pub running: u64,
}

impl Counts {
    /// All that were begun.
    pub fn known(&self) -> u64 {
        let Self {
            succeeded, recovered, continued, skipped, dead, dropped, waiting, running, ..
        } = self;
        succeeded + recovered + continued + skipped + dead + dropped + waiting + running
    }

    /// Those for which nothing more is to be done.
    pub fn finished(&self) -> u64 {
        self.known() - self.waiting - self.running
    }
}

/// Where time went, added up over tasks: two that run for a second at the same time are two seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// Attempts ran.
    pub running_ns: u64,
    /// Tasks waited for the delays of their policies.
    pub delays_ns: u64,
    /// Tasks were ready and waited for a slot or a rate.
    pub slots_ns: u64,
}

impl Spent {
    pub(super) fn add(&mut self, other: Self) {
        self.running_ns = self.running_ns.saturating_add(other.running_ns);
        self.delays_ns = self.delays_ns.saturating_add(other.delays_ns);
        self.slots_ns = self.slots_ns.saturating_add(other.slots_ns);
    }
}

/// A step of the flow, and what became of its tasks.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StepHistory {
    /// Its name.
    pub name: String,
    /// The map that it is inside of.
    pub inside: Option<String>,
    /// Whether it is a map, which has no attempts of its own.
    pub is_map: bool,
    /// Its policy, as the flow has it.
    pub policy: String,
    /// Its tasks. Those of a map are those of its inner steps.
    pub counts: Counts,
    /// The items of a map, each counted once, whatever the number of its inner steps: the same as `${map.succeeded}` and the like
    /// count. A map that is a dead letter of its own is one of the dead.
    pub item_counts: Counts,
    /// Attempts that were started and not cancelled.
    pub attempts: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Where the time of its tasks went.
    pub spent: Spent,
    /// Its longest attempt.
    pub longest_ns: u64,
    /// When its first attempt started, on the run's clock.
    pub first_ns: Option<u64>,
    /// When something happened to it last.
    pub last_ns: Option<u64>,
    /// How many items a map has, once its source is at its end.
    pub items: Option<u32>,
    /// Why nothing more of a map starts: too many of its items are dead.
    pub stopped: Option<String>,
    /// The arm that a branch has taken, outside of a map.
    pub arm: Option<String>,
}

/// What made attempts fail, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// `exit 7`, `signal SEGV`, `timeout`; for a task without an attempt, the name of its reason.
    pub what: String,
    /// How many attempts.
    pub count: u64,
    /// The last line that the first of them wrote to standard error.
    pub example: Option<String>,
}

/// A run as its journal has it.
#[derive(Debug)]
#[non_exhaustive]
pub struct History {
    /// The name of the run.
    pub run: String,
    /// The name of the flow.
    pub flow: String,
    /// What has become of it.
    pub state: State,
    /// Whether somebody asked for nothing more to be started.
    pub is_cancelled: bool,
    /// How it began.
    pub start: Option<Start>,
    /// How often it was taken up again.
    pub resumes: u64,
    /// The time of the last record, on the run's clock; after [`at`](Self::at), the present.
    pub time_ns: u64,
    /// A time on the run's clock, and the time of day then, in nanoseconds since 1970.
    anchor: Option<(u64, u64)>,
    /// When no process worked on it: from when to when, on the run's clock.
    pub stopped: Vec<(u64, u64)>,
    /// In the order of the flow.
    pub steps: Vec<StepHistory>,
    /// All tasks.
    pub counts: Counts,
    /// Attempts that were started and not cancelled.
    pub attempts: u64,
    /// Where the time of all tasks went.
    pub spent: Spent,
    /// When the next task is due, on the run's clock.
    pub due_ns: Option<u64>,
    /// The commonest first.
    pub reasons: Vec<Reason>,
    /// Those that can be asked about, in the order in which they began.
    pub tasks: Vec<Task>,
    /// How many are not among them: items that came to a good end.
    pub tasks_left_out: u64,
    /// How many texts were left out because there are more than [`TAILS_MAX`] bytes.
    pub tails_left_out: u64,
    /// Holes in the journal that nobody has accepted, the first of them.
    pub damages: Vec<Damage>,
    /// How many there are.
    pub damages_count: u64,
    /// How many more there are that somebody has accepted (`--accept-damage`).
    pub damages_accepted: u64,
    /// What a KILL left at its end.
    pub tail: Option<Tail>,
    has_records: bool,
    /// Records of kinds that this version does not know.
    pub unknown: u64,
    /// Records that no run of this flow can have written, and what is wrong with the first.
    pub impossible: u64,
    /// See [`impossible`](Self::impossible).
    pub impossible_first: Option<String>,
}

impl History {
    /// Reads a run.
    ///
    /// # Errors
    /// If its flow or its journal cannot be read at all.
    pub fn read(run: &Run) -> Result<Self, HistoryError> {
        // Before the journal: a process that ends meanwhile has written its end by then.
        let holder = run.holder().map_err(HistoryError::Store)?;
        let flow = run.flow().map_err(HistoryError::Store)?;
        let definition: Definition = serde_json::from_slice(&flow).map_err(|error| {
            HistoryError::Flow { path: run.path().join("flow.json").display().to_string(), error }
        })?;
        let mut reader = reader::Reader::new(&definition);
        let mut acceptance = Acceptance::new(false);
        let mut journal = run.read_journal().map_err(HistoryError::Journal)?;
        for entry in &mut journal {
            reader.has_records = true;
            match entry {
                Ok(entry) => reader.add(entry.n, &entry.record),
                Err(ReadError::Damage(damage)) if acceptance.covers(run, damage.offset) => {
                    reader.accepted_damage();
                }
                Err(ReadError::Damage(damage)) => reader.damage(damage),
                Err(ReadError::Unknown(_)) => reader.unknown(),
                Err(error @ ReadError::Io { .. }) => return Err(HistoryError::Journal(error)),
            }
        }
        let tail = journal.end().and_then(|end| end.tail);
        Ok(reader.finish(run.name().as_str(), &definition.name, holder, tail))
    }

    /// The same at a time of day, in nanoseconds since 1970: what a process is running has gone on since the last record. A
    /// run on which nobody works stays where it was.
    #[must_use]
    pub fn at(mut self, wall_ns: u64) -> Self {
        if let (State::Running(_), Some((time, wall))) = (self.state, self.anchor) {
            let now = time.saturating_add(wall_ns.saturating_sub(wall));
            self.time_ns = self.time_ns.max(now);
        }
        self
    }

    /// Whether anything was written down: the process that made the run may have been killed before.
    pub fn has_begun(&self) -> bool {
        self.has_records
    }

    /// The step of a task.
    pub fn step(&self, task: &Task) -> &StepHistory {
        &self.steps[task.step as usize]
    }

    /// How a task is called, in what is printed and on a command line: its key, or its place in the list of items, and of
    /// a step by itself the step's name.
    pub fn name(&self, task: &Task) -> String {
        match (&task.key, task.item) {
            (Some(key), _) => key.to_string(),
            (None, Some(item)) => item.to_string(),
            (None, None) => self.step(task).name.clone(),
        }
    }

    /// The tasks that a word on a command line means: by its name, by `STEP`, `STEP/KEY`, or by the place of an item.
    pub fn named<'h>(&'h self, word: &'h str) -> impl Iterator<Item = &'h Task> {
        self.tasks.iter().filter(move |task| {
            let step = &self.step(task).name;
            let within = word.strip_prefix(step.as_str()).and_then(|rest| rest.strip_prefix('/'));
            self.is_item(task, word)
                || step == word && task.item.is_none()
                || within.is_some_and(|key| self.is_item(task, key))
        })
    }

    fn is_item(&self, task: &Task, word: &str) -> bool {
        let is_place = || task.item.is_some_and(|item| word.parse() == Ok(item));
        // A key that is a number is not a place.
        task.key.as_deref().map_or_else(is_place, |key| key == word)
    }

    /// The dead letters, in the order in which their tasks began.
    pub fn dead(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| task.state == TaskState::Dead)
    }

    /// The tasks for a timeline, at most so many: what is dead or under way first, then what failed, then the rest; in the
    /// order in which they began.
    pub fn timeline(&self, most: usize) -> Vec<&Task> {
        let mut tasks: Vec<_> =
            self.tasks.iter().filter(|task| !task.attempts.is_empty()).collect();
        // A stable sort: of those of one rank, the earliest are kept.
        tasks.sort_by_key(|task| task.rank());
        tasks.truncate(most);
        tasks.sort_by_key(|task| (task.step, task.first_ns(), task.item));
        tasks
    }

    /// Whether there is something wrong with the journal that nobody has accepted.
    pub fn is_damaged(&self) -> bool {
        self.damages_count > 0
    }
}

/// Why a run's history cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum HistoryError {
    /// The run's files cannot be read.
    Store(StoreError),
    /// What it pinned is no flow.
    Flow {
        /// Where.
        path: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Its journal cannot be read.
    Journal(ReadError),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Flow { path, error } => {
                write!(f, "{path} is no flow that this version of redial knows ({error}); ")?;
                f.write_str("use the version that wrote it, or remove the run")
            }
            Self::Journal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for HistoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::Flow { error, .. } => Some(error),
            Self::Journal(error) => Some(error),
        }
    }
}
