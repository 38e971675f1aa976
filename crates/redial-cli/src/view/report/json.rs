//! A report for programs. The fields and their order are a promise: fields are only ever added. What the log does
//! not have is null.

use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::collector::{Attempt, Run};
use super::summary::{CommandSummary, Summary, Sums};
use crate::output;

/// The version of the document.
const VERSION: u32 = 1;

/// The report as JSON, ending with a newline.
pub(super) fn json(summary: &Summary<'_>) -> String {
    const DELETE: char = '\u{7f}';
    let document = Document {
        v: VERSION,
        totals: &summary.totals,
        commands: summary.commands.iter().map(CommandEntry::new).collect(),
        slowest: summary.slowest.iter().map(|run| ranked(run)).collect(),
        most_retried: summary.most_retried.iter().map(|run| ranked(run)).collect(),
    };
    // JSON may hold DEL as it is, but anstream strips it along with the styles.
    output::json(&document).replace(DELETE, "\\u007f")
}

#[derive(Serialize)]
struct Document<'c> {
    v: u32,
    totals: &'c Sums,
    /// The flakiest first.
    commands: Vec<CommandEntry<'c>>,
    /// At most five each, the greatest first.
    slowest: Json,
    most_retried: Json,
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
    serializer.collect_seq(runs.iter().map(|run| entry(run)))
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

fn entry(run: &Run) -> Json {
    let (start, end) = (run.start.as_ref(), run.end.as_ref());
    json!({
        "run": &*run.id,
        "ts": start.map(|start| &*start.ts),
        "cwd": start.map(|start| &*start.cwd),
        "policy": start.map(|start| &*start.policy),
        "seed": start.map(|start| start.seed),
        "verdict": run.verdict(),
        "outcome": end.map(|end| end.outcome),
        "reason": end.map(|end| &end.reason),
        "exit": end.map(|end| end.exit),
        "signal": end.map(|end| &end.signal),
        "attempts": run.tries(),
        "waited_ns": run.waited_ns(),
        "running_ns": run.running_ns(),
        "duration_ns": run.duration_ns(),
        // Of a long run, the first and the last, and how many others there were.
        "attempt_details": run.attempts.listed().iter().map(attempt).collect::<Json>(),
        "attempts_not_listed": run.unlisted(),
    })
}

fn attempt(attempt: &Attempt) -> Json {
    let (ended, decided) = (attempt.ended.as_ref(), attempt.decided.as_ref());
    json!({
        "attempt": attempt.number,
        "outcome": ended.map(|ended| ended.outcome),
        "exit": ended.map(|ended| ended.exit),
        "signal": ended.map(|ended| ended.signal.as_deref()),
        "duration_ns": ended.map(|ended| ended.duration_ns),
        "stderr_tail": ended.map(|ended| &ended.stderr_tail),
        "action": decided.map(|decided| decided.action),
        "rule": decided.map(|decided| decided.rule.as_deref()),
        "reason": decided.map(|decided| decided.reason.as_deref()),
        "delay_ns": decided.map(|decided| decided.delay_ns),
        "delay_source": decided.map(|decided| decided.delay_source),
    })
}

/// A run in a ranking.
fn ranked(run: &Run) -> Json {
    json!({
        "run": &*run.id,
        "command": run.command().map(|command| &command.typed),
        "verdict": run.verdict(),
        "attempts": run.tries(),
        "waited_ns": run.waited_ns(),
        "duration_ns": run.duration_ns(),
    })
}
