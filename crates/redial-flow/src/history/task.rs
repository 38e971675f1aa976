//! A task, and the attempts of it that are kept.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use super::ATTEMPTS_MAX;
use crate::number;
use crate::record::{Action, Outcome, Place, Record};
use crate::store::{Run, StoreError};

/// What has become of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TaskState {
    /// Nothing was done for it yet.
    #[default]
    New,
    /// An attempt is under way, or what follows it is still to be decided.
    Running,
    /// It waits for its next attempt.
    Waiting,
    /// It succeeded at its first attempt.
    Succeeded,
    /// It succeeded after a failure.
    Flaky,
    /// It gave up, and its fallback took its place.
    Recovered,
    /// It gave up, and what needs it runs all the same.
    Continued,
    /// It was not run.
    Skipped,
    /// It is a dead letter.
    Dead,
    /// It was one, and is not wanted any more.
    Dropped,
}

impl TaskState {
    /// One word for it, as JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Flaky => "flaky",
            Self::Recovered => "recovered",
            Self::Continued => "continued",
            Self::Skipped => "skipped",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }
}

/// A step in a run; in a map, one for each item and inner step.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Task {
    /// The place of its step in [`History::steps`](super::History::steps).
    pub step: u32,
    /// The place of its item in the list of items.
    pub item: Option<u32>,
    /// What the item is called.
    pub key: Option<Box<str>>,
    /// How often it was taken up anew from the dead letters.
    pub generation: u32,
    /// What has become of it.
    pub state: TaskState,
    /// Its attempts of all generations, the oldest first, also those that were cancelled.
    pub attempts: Vec<Attempt>,
    /// How many are missing among them, after the first half.
    pub attempts_left_out: u64,
    /// Why it ended without a success, by a stable name.
    pub reason: Option<Box<str>>,
    /// The same for people, where there is more to say.
    pub message: Option<Box<str>>,
    /// When its next attempt is due, on the run's clock.
    pub due_ns: Option<u64>,
    /// When it came to its end.
    pub ended_ns: Option<u64>,
    /// Where its time went.
    pub spent: super::Spent,
    /// Since when it could have been started, where that is known.
    pub(super) ready_ns: Option<u64>,
    /// Whether an attempt has failed in this generation.
    pub(super) has_failed: bool,
}

impl Task {
    /// When its first attempt started.
    pub fn first_ns(&self) -> u64 {
        self.attempts.first().map_or(self.ended_ns.unwrap_or(0), |attempt| attempt.start_ns)
    }

    /// The attempt that ended last.
    pub fn last_ended(&self) -> Option<(&Attempt, &Ended)> {
        self.attempts.iter().rev().find_map(|attempt| Some((attempt, attempt.ended.as_ref()?)))
    }

    /// How many attempts were started.
    pub fn tries(&self) -> u64 {
        self.attempts.len() as u64 + self.attempts_left_out
    }

    /// What is looked at first has the lowest.
    pub(super) fn rank(&self) -> u8 {
        match self.state {
            TaskState::Dead => 0,
            TaskState::Running | TaskState::Waiting => 1,
            TaskState::Succeeded | TaskState::New => 3,
            _ => 2,
        }
    }

    pub(super) fn push(&mut self, attempt: Attempt) {
        if self.attempts.len() == ATTEMPTS_MAX {
            self.attempts.remove(ATTEMPTS_MAX / 2);
            self.attempts_left_out += 1;
        }
        // Most have one, and there may be very many.
        self.attempts.reserve_exact(1);
        self.attempts.push(attempt);
    }

    /// The attempt that is under way.
    pub(super) fn open(&mut self) -> Option<&mut Attempt> {
        self.attempts.last_mut().filter(|attempt| attempt.ended.is_none())
    }
}

/// One execution of a task.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// From 1, in each generation.
    pub number: u32,
    /// That of the task when it started.
    pub generation: u32,
    /// When it started, on the run's clock.
    pub start_ns: u64,
    /// How it ended.
    pub ended: Option<Ended>,
    /// What was decided then.
    pub decided: Option<Decided>,
}

impl Attempt {
    /// Until when it ran, or still runs.
    pub fn end_ns(&self, now: u64) -> u64 {
        self.ended.as_ref().map_or(now, |ended| ended.at_ns).max(self.start_ns)
    }
}

/// How an attempt ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ended {
    /// When, on the run's clock. Of one that was lost, when its process was last known to be there.
    pub at_ns: u64,
    /// How it came out.
    pub outcome: Outcome,
    /// The exit code.
    pub exit: Option<i32>,
    /// The signal of which the command died.
    pub signal: Option<Box<str>>,
    /// How long it took.
    pub duration_ns: u64,
    /// The end of its standard error.
    pub stderr_tail: Option<Box<str>>,
    /// What it wrote to standard output, of one that failed.
    pub output: Option<Output>,
    /// The rule that says what it was.
    pub rule: Option<Box<str>>,
    /// What else is to be said of it, such as why it could not be started.
    pub message: Option<Box<str>>,
}

impl Ended {
    /// What happened: `exit 7`, `signal SEGV`, `timeout`.
    pub fn what(&self) -> String {
        match (self.outcome, self.exit, &self.signal) {
            (Outcome::Succeeded, None | Some(0), _) => "succeeded".into(),
            (Outcome::Succeeded, Some(exit), _) => format!("succeeded with exit {exit}"),
            (Outcome::Timeout, ..) => "timeout".into(),
            (Outcome::SpawnError, ..) => "could not be started".into(),
            (Outcome::Cancelled, ..) => "cancelled".into(),
            (Outcome::Lost, ..) => "lost".into(),
            (_, _, Some(signal)) => format!("signal {signal}"),
            (_, Some(exit), None) => format!("exit {exit}"),
            (Outcome::Signalled, None, None) => "died of a signal".into(),
            _ => "failed".into(),
        }
    }
}

/// What was decided after a failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decided {
    /// When.
    pub at_ns: u64,
    /// Whether another attempt follows.
    pub action: Action,
    /// After this delay.
    pub delay_ns: Option<u64>,
    /// At this time, on the run's clock.
    pub due_ns: Option<u64>,
    /// Why not, by a stable name.
    pub reason: Option<Box<str>>,
    /// The rule that said so.
    pub rule: Option<Box<str>>,
}

/// What an attempt wrote to standard output.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// It stands in the journal.
    Inline(Vec<u8>),
    /// It lies in a segment.
    At(Place),
}

impl Output {
    pub(super) fn of(record: &Record) -> Option<Self> {
        if let Some(place) = record.output_at {
            return Some(Self::At(place));
        }
        if let Some(base64) = &record.output_base64 {
            return BASE64_STANDARD.decode(&**base64).ok().map(Self::Inline);
        }
        match record.output.as_ref()? {
            Json::Null => None,
            Json::String(text) => Some(Self::Inline(text.clone().into_bytes())),
            json => Some(Self::Inline(number::text(json).into_bytes())),
        }
    }

    pub(super) fn kept(&self) -> usize {
        match self {
            Self::Inline(bytes) => bytes.len(),
            Self::At(_) => 0,
        }
    }

    /// The bytes of it.
    ///
    /// # Errors
    /// If its segment cannot be read, or is not what was written.
    pub fn bytes(&self, run: &Run) -> Result<Vec<u8>, StoreError> {
        match self {
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::At(place) => run.output(place),
        }
    }
}
