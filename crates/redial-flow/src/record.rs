//! What is written down: one line of JSON for each thing that happened in a run.
//!
//! A record is an event of `redial run` with a `step` and, in a map, an `item`. It is one flat object
//! whose fields depend on its type; flat, because a run of a million items is read again in seconds.

use redial_core::{CallSnapshot, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::number;

/// The version of the lines. Fields are only ever added.
pub const VERSION: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The [version](VERSION).
    pub v: u32,
    /// The run.
    pub run: Box<str>,
    /// Seconds since the run began, on its own clock: it goes on while nothing runs, and never backwards.
    pub t: f64,
    /// What happened.
    #[serde(rename = "type")]
    pub event: Event,
    /// The step, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<str>>,
    /// The item of a map: its place in the list of items, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// What the item is called: the text of its key, or what tells it from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Box<str>>,
    /// How often the task was taken up anew from the dead letters.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: u32,
    /// The arm that a branch took, by the name of its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Box<str>>,
    /// The policy of a step of a program, where the step is first heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<str>>,
    /// How many items a source had, of `items.end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// The attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How an attempt, a step or the run came out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal of which a command died, such as `SEGV`; of `run.end`, the one that ended redial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Box<str>>,
    /// How long an attempt took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
    /// What the rules say of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The rule that said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Box<str>>,
    /// The delay that the command asked for; of a decision, the delay that is waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
    /// What follows a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Why nothing follows, by a stable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
    /// The same for people, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<str>>,
    /// When the next attempt is due, on the clock of `t`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ns: Option<u64>,
    /// What the engine has to know of the attempts so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallState>,
    /// The output of what succeeded, where it is small.
    #[serde(default, with = "number::written", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The same, of bytes that are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_base64: Option<Box<str>>,
    /// Where the output lies, where it is not small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_at: Option<Place>,
    /// The end of the standard error of an attempt that failed; of a step of a program, the text of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<Box<str>>,
    /// How a run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Box<Start>>,
    /// Of `run.resume`: the journal up to there, whose damage was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage_accepted: Option<Accepted>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Record {
    /// A record without any of the fields that depend on its type.
    pub fn new(run: &str, at: Time, event: Event) -> Self {
        Self {
            v: VERSION,
            run: run.into(),
            t: seconds(at),
            event,
            step: None,
            item: None,
            key: None,
            generation: 0,
            arm: None,
            policy: None,
            items: None,
            attempt: None,
            outcome: None,
            exit: None,
            signal: None,
            duration_ns: None,
            verdict: None,
            rule: None,
            delay_ns: None,
            action: None,
            reason: None,
            message: None,
            due_ns: None,
            call: None,
            output: None,
            output_base64: None,
            output_at: None,
            stderr_tail: None,
            start: None,
            damage_accepted: None,
        }
    }

    /// When it happened.
    pub fn time(&self) -> Time {
        Time::from_nanos((self.t * 1e9).round() as u64)
    }
}

fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// The run began.
    #[serde(rename = "run.start")]
    RunStart,
    /// Another process goes on with it.
    #[serde(rename = "run.resume")]
    RunResume,
    /// A source has no further items.
    #[serde(rename = "items.end")]
    ItemsEnd,
    /// An attempt starts: written before anything is started, and counted from then on.
    #[serde(rename = "attempt.start")]
    AttemptStart,
    /// An attempt has ended.
    #[serde(rename = "attempt.end")]
    AttemptEnd,
    /// What follows a failure.
    #[serde(rename = "decision")]
    Decision,
    /// A step is over without an attempt that succeeded: skipped, recovered, or passed over. A branch has taken
    /// an arm.
    #[serde(rename = "step.end")]
    StepEnd,
    /// A task has given up, and waits for somebody.
    #[serde(rename = "dead")]
    Dead,
    /// A dead letter is tried anew.
    #[serde(rename = "dead.retry")]
    DeadRetry,
    /// A dead letter is not wanted any more.
    #[serde(rename = "dead.drop")]
    DeadDrop,
    /// Nothing more is to be started.
    #[serde(rename = "cancel")]
    Cancel,
    /// The run is over, or its process ends.
    #[serde(rename = "run.end")]
    RunEnd,
}

/// How something came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It was cut by its timeout or by a deadline.
    Timeout,
    /// The command was not found, or is not executable.
    SpawnError,
    /// The command died of a signal.
    Signalled,
    /// It was cut because redial was asked to end; not counted.
    Cancelled,
    /// It was running when redial itself was killed.
    Lost,
    /// It was not run, because its condition did not hold.
    Skipped,
    /// It gave up, and its fallback took its place.
    Recovered,
    /// redial was asked to end.
    Interrupted,
}

impl Outcome {
    /// Whether an attempt that came out like this may have done its work all the same: it was cut, killed or lost, so nobody
    /// knows how far it came. A command that gave an exit code said itself that it failed, and one that could not be
    /// started did nothing.
    pub fn may_have_succeeded(self) -> bool {
        matches!(self, Self::Timeout | Self::Signalled | Self::Cancelled | Self::Lost)
    }
}

/// What the rules say of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is worth another attempt.
    Retry,
    /// It is not.
    Stop,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Another attempt, after the delay.
    Retry,
    /// Nothing.
    Stop,
}

/// A [`CallSnapshot`] as it is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    /// How many attempts have failed.
    pub failures: u64,
    /// The delay that the source gave last, before its modifiers.
    pub previous_ns: u64,
    /// The sum of the delays so far.
    pub waited_ns: u64,
    /// How many random words were drawn.
    pub words: u64,
    /// The time since the first attempt started.
    pub elapsed_ns: u64,
}

impl From<CallSnapshot> for CallState {
    fn from(call: CallSnapshot) -> Self {
        Self {
            failures: call.failures,
            previous_ns: call.previous_delay_nanos,
            waited_ns: call.waited_nanos,
            words: call.words_drawn,
            elapsed_ns: call.elapsed_nanos,
        }
    }
}

impl From<CallState> for CallSnapshot {
    fn from(call: CallState) -> Self {
        Self {
            failures: call.failures,
            previous_delay_nanos: call.previous_ns,
            waited_nanos: call.waited_ns,
            words_drawn: call.words,
            elapsed_nanos: call.elapsed_ns,
        }
    }
}

/// The beginning of a journal as somebody accepted it, with its damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// How many bytes it had.
    pub bytes: u64,
    /// The CRC-32 of them.
    pub crc: u32,
}

/// Where an output lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The segment.
    pub segment: u32,
    /// Its first byte in it.
    pub offset: u64,
    /// How many bytes it has.
    pub length: u64,
    /// The CRC-32 of them.
    pub crc: u32,
}

/// How a run began or was taken up: what its clock and its decisions start from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The time of day, in UTC: `2026-11-15T19:57:01.123456Z`.
    pub ts: Box<str>,
    /// The same in nanoseconds since 1970.
    pub wall_ns: u64,
    /// Which boot of the machine this is.
    pub boot_id: Box<str>,
    /// The time since then (`CLOCK_BOOTTIME`).
    pub boot_ns: u64,
    /// The process.
    pub pid: u32,
    /// The seed that those of the tasks come from.
    pub seed: u64,
    /// What is run, as it was called.
    pub argv: Vec<String>,
    /// Where.
    pub cwd: String,
    /// What the command line says of how the run is run, of `run.start`: who goes on with it runs it so. It is whoever reads
    /// the command line who knows what it means.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub said: Json,
    /// The CRC-32 of `flow.json`, of `run.start`: what is run is what was pinned then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_crc: Option<u32>,
}
