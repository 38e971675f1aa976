//! A report for programs. The fields and their order are a promise: fields are only ever added.

use serde::{Serialize, Serializer};

use super::collector::{Attempt, Run, Verdict};
use super::summary::{CommandSummary, Summary, Sums};
use crate::events::{Action, DelaySource, Outcome};
use crate::output;

/// The version of the document.
const VERSION: u32 = 1;

/// The report as JSON, ending with a newline.
pub(super) fn json(summary: &Summary<'_>) -> String {
    const DELETE: char = '\u{7f}';
    // JSON may hold DEL as it is, but anstream strips it along with the styles.
    output::json(&Document::new(summary)).replace(DELETE, "\\u007f")
}

#[derive(Serialize)]
struct Document<'c> {
    v: u32,
    totals: &'c Sums,
    /// The flakiest first.
    commands: Vec<CommandEntry<'c>>,
    /// At most five each, the greatest first.
    slowest: Vec<Named<'c>>,
    most_retried: Vec<Named<'c>>,
}

impl<'c> Document<'c> {
    fn new(summary: &'c Summary<'c>) -> Self {
        let named = |runs: &[&'c Run]| runs.iter().map(|run| Named::new(run)).collect();
        Self {
            v: VERSION,
            totals: &summary.totals,
            commands: summary.commands.iter().map(CommandEntry::new).collect(),
            slowest: named(&summary.slowest),
            most_retried: named(&summary.most_retried),
        }
    }
}

#[derive(Serialize)]
struct CommandEntry<'c> {
    /// As it would be typed into a shell; null for runs whose start is not in the log.
    command: Option<&'c str>,
    argv: Option<&'c [String]>,
    totals: &'c Sums,
    #[serde(serialize_with = "each_run")]
    runs: &'c [&'c Run],
}

/// One after the other: there may be very many.
fn each_run<S: Serializer>(runs: &[&Run], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(runs.iter().map(|run| RunEntry::new(run)))
}

impl<'c> CommandEntry<'c> {
    fn new(group: &'c CommandSummary<'c>) -> Self {
        Self {
            command: group.command.map(|command| command.typed.as_str()),
            argv: group.command.map(|command| command.argv.as_slice()),
            totals: &group.sums,
            runs: &group.runs,
        }
    }
}

/// What the log does not have is null.
#[derive(Serialize)]
struct RunEntry<'c> {
    run: &'c str,
    ts: Option<&'c str>,
    cwd: Option<&'c str>,
    policy: Option<&'c str>,
    seed: Option<u64>,
    verdict: Verdict,
    outcome: Option<Outcome>,
    reason: Option<&'c str>,
    exit: Option<u8>,
    signal: Option<&'c str>,
    attempts: u32,
    waited_ns: u64,
    running_ns: u64,
    duration_ns: u64,
    /// Of a long run, the first and the last.
    attempt_details: Vec<AttemptEntry<'c>>,
    /// How many others there were.
    attempts_not_listed: u32,
}

impl<'c> RunEntry<'c> {
    fn new(run: &'c Run) -> Self {
        let (start, end) = (run.start.as_ref(), run.end.as_ref());
        Self {
            run: &run.id,
            ts: start.map(|start| &*start.ts),
            cwd: start.map(|start| &*start.cwd),
            policy: start.map(|start| &*start.policy),
            seed: start.map(|start| start.seed),
            verdict: run.verdict(),
            outcome: end.map(|end| end.outcome),
            reason: end.and_then(|end| end.reason.as_deref()),
            exit: end.and_then(|end| end.exit),
            signal: end.and_then(|end| end.signal.as_deref()),
            attempts: run.tries(),
            waited_ns: run.waited_ns(),
            running_ns: run.running_ns(),
            duration_ns: run.duration_ns(),
            attempt_details: run.attempts.listed().iter().map(AttemptEntry::new).collect(),
            attempts_not_listed: run.unlisted(),
        }
    }
}

#[derive(Serialize)]
struct AttemptEntry<'c> {
    attempt: u32,
    outcome: Option<Outcome>,
    exit: Option<i32>,
    signal: Option<&'c str>,
    duration_ns: Option<u64>,
    stderr_tail: Option<&'c str>,
    action: Option<Action>,
    rule: Option<&'c str>,
    reason: Option<&'c str>,
    delay_ns: Option<u64>,
    delay_source: Option<DelaySource>,
}

impl<'c> AttemptEntry<'c> {
    fn new(attempt: &'c Attempt) -> Self {
        let (ended, decided) = (attempt.ended.as_ref(), attempt.decided.as_ref());
        Self {
            attempt: attempt.number,
            outcome: ended.map(|ended| ended.outcome),
            exit: ended.and_then(|ended| ended.exit),
            signal: ended.and_then(|ended| ended.signal.as_deref()),
            duration_ns: ended.map(|ended| ended.duration_ns),
            stderr_tail: ended.and_then(|ended| ended.stderr_tail.as_deref()),
            action: decided.map(|decided| decided.action),
            rule: decided.and_then(|decided| decided.rule.as_deref()),
            reason: decided.and_then(|decided| decided.reason.as_deref()),
            delay_ns: decided.and_then(|decided| decided.delay_ns),
            delay_source: decided.and_then(|decided| decided.delay_source),
        }
    }
}

/// A run in a ranking.
#[derive(Serialize)]
struct Named<'c> {
    run: &'c str,
    command: Option<&'c str>,
    verdict: Verdict,
    attempts: u32,
    waited_ns: u64,
    duration_ns: u64,
}

impl<'c> Named<'c> {
    fn new(run: &'c Run) -> Self {
        Self {
            run: &run.id,
            command: run.command().map(|command| command.typed.as_str()),
            verdict: run.verdict(),
            attempts: run.tries(),
            waited_ns: run.waited_ns(),
            duration_ns: run.duration_ns(),
        }
    }
}
