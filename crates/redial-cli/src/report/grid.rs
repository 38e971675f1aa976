//! The tables of a report, before anybody knows how they are drawn.

use std::time::Duration;

use super::collector::{Command, Run};
use super::summary::{Summary, Sums};
use super::words::{UNKNOWN_COMMAND, decision, happened, nanos, number, rate, verdict, wait};
use crate::duration::compact;

/// More commands than these are more than anybody looks at.
const COMMANDS_MAX: usize = 50;

pub(super) struct Grid {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
    /// Words for the rows that are not shown.
    pub(super) rest: Option<String>,
}

pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Words,
    Command,
}

/// What stands in a place of a table.
pub(super) enum Cell {
    Words(String),
    /// A command, which may be of any length and hold anything.
    Typed(String),
}

impl Cell {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Words(text) | Self::Typed(text) => text,
        }
    }

    pub(super) fn of(command: Option<&Command>) -> Self {
        match command {
            Some(command) => Self::Typed(command.typed.clone()),
            None => Self::Words(UNKNOWN_COMMAND.into()),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(words: T) -> Self {
        Self::Words(words.into())
    }
}

/// One row for each command.
pub(super) fn commands(summary: &Summary<'_>) -> Grid {
    type Value = fn(&Sums) -> u64;
    // Most logs have none of these.
    let rare: [(&'static str, Value); 3] = [
        ("cancelled", |sums| sums.cancelled),
        ("refused", |sums| sums.refused),
        ("unfinished", |sums| sums.unfinished),
    ];
    let rare: Vec<_> = rare.into_iter().filter(|(_, value)| value(&summary.totals) > 0).collect();
    let mut columns = vec![COMMAND];
    columns.extend(["runs", "at once", "flaky", "failed"].map(numbers));
    columns.extend(rare.iter().map(|(heading, _)| numbers(heading)));
    columns.extend(["flake rate", "attempts", "waited", "slowest"].map(numbers));
    let rows = summary.commands.iter().take(COMMANDS_MAX).map(|group| {
        let sums = &group.sums;
        let short = |nanos| compact(Duration::from_nanos(nanos));
        let mut row = vec![Cell::of(group.command)];
        let counts = [sums.runs, sums.succeeded_at_once, sums.flaky, sums.failed];
        let rare = rare.iter().map(|(_, value)| value(sums));
        row.extend(counts.into_iter().chain(rare).map(|count| Cell::from(count.to_string())));
        row.push(rate(sums).unwrap_or_else(|| "–".into()).into());
        row.push(sums.attempts.to_string().into());
        row.extend([sums.waited_ns, sums.slowest_ns].map(|nanos| Cell::from(short(nanos))));
        row
    });
    let rest = match summary.commands.len().saturating_sub(COMMANDS_MAX) {
        0 => None,
        more => Some(format!("… and {}; JSON has them all", number(more as u64, "more command"))),
    };
    Grid { columns, rows: rows.collect(), rest }
}

/// Some runs, each with what it is to be compared by.
pub(super) fn runs(runs: &[&Run]) -> Grid {
    let columns = vec![
        numbers("took"),
        numbers("attempts"),
        numbers("waited"),
        words("result"),
        words("run"),
        COMMAND,
    ];
    let row = |run: &&Run| {
        vec![
            nanos(run.duration_ns()).into(),
            run.tries().to_string().into(),
            nanos(run.waited_ns()).into(),
            verdict(run.verdict()).into(),
            run.id.to_string().into(),
            Cell::of(run.command()),
        ]
    };
    Grid { columns, rows: runs.iter().map(row).collect(), rest: None }
}

/// The attempts of a run, one row each.
pub(super) fn attempts(run: &Run) -> Grid {
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
        rows.push(vec![
            attempt.number.to_string().into(),
            happened(attempt).into(),
            duration.unwrap_or_default().into(),
            decision(attempt).into(),
            wait(attempt).into(),
        ]);
    }
    if run.tries() > before {
        rows.push(gap(run.tries() - before));
    }
    Grid { columns, rows, rest: None }
}

fn gap(attempts: u32) -> Vec<Cell> {
    let not_listed = format!("{} not listed", number(attempts.into(), "attempt"));
    vec!["…".into(), not_listed.into(), "".into(), "".into(), "".into()]
}

const COMMAND: Column = Column { heading: "command", kind: Kind::Command };

fn words(heading: &'static str) -> Column {
    Column { heading, kind: Kind::Words }
}

fn numbers(heading: &'static str) -> Column {
    Column { heading, kind: Kind::Number }
}
