//! The tables of a report.

use std::time::Duration;

use super::collector::Run;
use super::summary::{Summary, Sums};
use super::words::{decision, happened, name, nanos, number, rate, verdict, wait};
use crate::duration::compact;
use crate::view::table::{Kind, Row, Table};

/// How many commands are listed.
const COMMANDS_MAX: usize = 50;

/// Those of many runs.
pub(super) fn all(summary: &Summary<'_>) -> [Table; 3] {
    [
        commands(summary),
        runs("Slowest runs", &summary.slowest),
        runs("Most retried", &summary.most_retried),
    ]
}

/// One row for each command.
fn commands(summary: &Summary<'_>) -> Table {
    type Value = fn(&Sums) -> u64;
    // Most logs have none of these.
    let rare: [(&'static str, Value); 4] = [
        ("ready", |sums| sums.became_ready),
        ("cancelled", |sums| sums.cancelled),
        ("refused", |sums| sums.refused),
        ("unfinished", |sums| sums.unfinished),
    ];
    let rare: Vec<_> = rare.into_iter().filter(|(_, value)| value(&summary.totals) > 0).collect();
    let mut columns = vec![command()];
    columns.extend(["runs", "at once", "flaky", "failed"].map(numbers));
    columns.extend(rare.iter().map(|(heading, _)| numbers(heading)));
    columns.extend(["flake rate", "attempts", "waited", "slowest"].map(numbers));
    let rows = summary.commands.iter().take(COMMANDS_MAX).map(|group| {
        let sums = &group.sums;
        let short = |nanos| compact(Duration::from_nanos(nanos));
        let mut row = vec![name(group.command)];
        let counts = [sums.runs, sums.succeeded_at_once, sums.flaky, sums.failed];
        let rare = rare.iter().map(|(_, value)| value(sums));
        row.extend(counts.into_iter().chain(rare).map(|count| count.to_string()));
        row.push(rate(sums).unwrap_or_else(|| "–".into()));
        row.push(sums.attempts.to_string());
        row.extend([sums.waited_ns, sums.slowest_ns].map(short));
        Row::from(row)
    });
    let rest = match summary.commands.len().saturating_sub(COMMANDS_MAX) {
        0 => None,
        more => Some(format!("… and {}; JSON has them all", number(more as u64, "more command"))),
    };
    Table { rest, ..Table::of("", columns, rows.collect()) }
}

/// Some runs, with what they are ranked by.
fn runs(caption: &str, runs: &[&Run]) -> Table {
    let columns = vec![
        numbers("took"),
        numbers("attempts"),
        numbers("waited"),
        words("result"),
        words("run"),
        command(),
    ];
    let row = |run: &&Run| {
        Row::from(vec![
            nanos(run.duration_ns()),
            run.tries().to_string(),
            nanos(run.waited_ns()),
            verdict(run.verdict()).into(),
            run.id.to_string(),
            name(run.command()),
        ])
    };
    Table::of(caption, columns, runs.iter().map(row).collect())
}

/// The attempts of a run, one row each.
pub(super) fn attempts(run: &Run) -> Table {
    let columns = vec![
        numbers("attempt"),
        words("what happened"),
        numbers("duration"),
        words("decision"),
        numbers("wait"),
    ];
    let mut before = 0;
    let mut rows = Vec::new();
    for attempt in run.attempts.listed() {
        if attempt.number > before + 1 {
            rows.push(gap(attempt.number - before - 1));
        }
        before = attempt.number;
        let duration = attempt.ended.as_ref().map(|ended| nanos(ended.duration_ns));
        rows.push(Row::from(vec![
            attempt.number.to_string(),
            happened(attempt),
            duration.unwrap_or_default(),
            decision(attempt),
            wait(attempt),
        ]));
    }
    if run.tries() > before {
        rows.push(gap(run.tries() - before));
    }
    Table::of("", columns, rows)
}

fn gap(attempts: u32) -> Row {
    let not_listed = format!("{} not listed", number(attempts.into(), "attempt"));
    Row::from(["…", &not_listed, "", "", ""].map(String::from).to_vec())
}

fn command() -> (String, Kind) {
    ("command".into(), Kind::Name)
}

fn words(heading: &str) -> (String, Kind) {
    (heading.into(), Kind::Words)
}

fn numbers(heading: &str) -> (String, Kind) {
    (heading.into(), Kind::Number)
}
