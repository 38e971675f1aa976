//! The events of a run: one JSON object a line. What `run` writes, `report` reads.
//!
//! Fields are only ever added. Durations are whole nanoseconds, as in a plan; `t` is seconds since
//! the start of the run.

use serde::{Deserialize, Serialize};

/// The version of the lines.
pub(crate) const VERSION: u32 = 1;

/// One line of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) v: u32,
    /// The run that it belongs to: a log may hold many, interleaved.
    pub(crate) run: String,
    pub(crate) t: f64,
    #[serde(flatten)]
    pub(crate) event: Event,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum Event {
    #[serde(rename = "run.start")]
    RunStart(RunStart),
    #[serde(rename = "attempt.start")]
    AttemptStart(AttemptStart),
    #[serde(rename = "attempt.end")]
    AttemptEnd(AttemptEnd),
    #[serde(rename = "decision")]
    Decided(Decided),
    #[serde(rename = "signal")]
    Signalled(Signalled),
    #[serde(rename = "run.end")]
    RunEnd(RunEnd),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunStart {
    /// The time of day, in UTC: `2026-11-15T19:57:01.123456Z`.
    pub(crate) ts: String,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) pid: u32,
    /// The clause that parses to the policy.
    pub(crate) policy: String,
    pub(crate) attempts: Attempts,
    pub(crate) timeout_ns: Option<u64>,
    /// What replays the jitter of this run with `--seed`.
    pub(crate) seed: u64,
    /// The rules, in the order in which they are asked.
    pub(crate) rules: Vec<String>,
    /// Logs from before there was `until` do not have it.
    #[serde(default)]
    pub(crate) mode: Mode,
}

/// The verb that ran the command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// A failure is something wrong, and is retried.
    #[default]
    Run,
    /// A failure means that it is not so far yet.
    Until,
}

#[cfg(unix)]
impl Mode {
    /// What it calls an attempt.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Run => "attempt",
            Self::Until => "look",
        }
    }
}

/// A number, or `"unlimited"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Attempts {
    Limited(u32),
    Unlimited(Unlimited),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unlimited {
    #[serde(rename = "unlimited")]
    Unlimited,
}

impl From<Option<u32>> for Attempts {
    fn from(attempts: Option<u32>) -> Self {
        attempts.map_or(Self::Unlimited(Unlimited::Unlimited), Self::Limited)
    }
}

impl std::fmt::Display for Attempts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Limited(attempts) => attempts.fmt(f),
            Self::Unlimited(_) => f.pad("unlimited"),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AttemptStart {
    pub(crate) attempt: u32,
    pub(crate) of: Attempts,
    /// None where the command could not be started.
    pub(crate) pid: Option<u32>,
}

/// How an attempt, or the whole run, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    /// Cut by the timeout of the attempt or by the deadline of the run.
    Timeout,
    /// Not found, or not executable.
    SpawnError,
    /// The command died of a signal.
    Signalled,
    /// redial itself was signalled.
    Cancelled,
    /// Nothing ran: the breaker was open.
    Refused,
    /// It was running when redial itself was killed; of flows alone.
    Lost,
}

impl Outcome {
    /// As it stands in the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::SpawnError => "spawn_error",
            Self::Signalled => "signalled",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Lost => "lost",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AttemptEnd {
    pub(crate) attempt: u32,
    pub(crate) outcome: Outcome,
    pub(crate) exit: Option<i32>,
    /// The name of the signal, such as `SEGV`.
    pub(crate) signal: Option<String>,
    /// The signals that the timeout or the deadline sent, in order: `["TERM"]`, `["INT", "KILL"]`.
    pub(crate) sent: Option<Vec<String>>,
    pub(crate) duration_ns: u64,
    /// The time of processors that the command and everything it started took.
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// The end of standard error, where a rule watched it.
    pub(crate) stderr_tail: Option<String>,
    /// The patterns that were looked for in a part of the output alone, where there are any.
    pub(crate) partly_watched: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    Retry,
    Stop,
}

/// Where a delay came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DelaySource {
    Backoff,
    DelayFrom,
    Control,
}

/// What becomes of a failure. A success needs no decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Decided {
    /// The attempts so far.
    pub(crate) attempt: u32,
    pub(crate) action: Action,
    /// The rule that decided; none where every failure is retried.
    pub(crate) rule: Option<String>,
    /// Why it stops, by the stable names of the core.
    pub(crate) reason: Option<String>,
    pub(crate) delay_ns: Option<u64>,
    pub(crate) delay_source: Option<DelaySource>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sender {
    Terminal,
    Process,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Signalled {
    pub(crate) signal: String,
    pub(crate) from: Sender,
    pub(crate) forwarded: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunEnd {
    pub(crate) outcome: Outcome,
    /// Why it stopped without success, by the stable names of the core; `signal` for a signal.
    pub(crate) reason: Option<String>,
    pub(crate) attempts: u32,
    /// It succeeded, and not at the first attempt; never of `until`.
    pub(crate) flaky: bool,
    /// How redial ends: with this code …
    pub(crate) exit: Option<u8>,
    /// … or by this signal.
    pub(crate) signal: Option<String>,
    pub(crate) waited_ns: u64,
    pub(crate) running_ns: u64,
    pub(crate) duration_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_has_one_name() {
        for outcome in [
            Outcome::Succeeded,
            Outcome::Failed,
            Outcome::Timeout,
            Outcome::SpawnError,
            Outcome::Signalled,
            Outcome::Cancelled,
            Outcome::Refused,
            Outcome::Lost,
        ] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
        }
    }
}
