//! A report for the summary of a CI job.

use super::collector::{Run, Verdict};
use super::grid::{self, Cell, Grid, Kind};
use super::plain::plain;
use super::summary::Summary;
use super::words;
use crate::text::clip;
use crate::visible::visible;

/// What is longer makes a table nobody can read; JSON has it whole.
const CELL_MAX: usize = 200;

/// The report as Markdown, ending with a newline.
pub(super) fn markdown(summary: &Summary<'_>) -> String {
    let mut text = match summary.only_run() {
        Some(run) => format!("### {}\n\n", cell(&Cell::of(run.command()))),
        None => "### Retries\n\n".to_owned(),
    };
    let sentences = words::totals(summary);
    text.push_str(&format!("{}\n", escape(&sentences.join(" "))));
    match summary.only_run() {
        Some(run) => {
            push_table(&mut text, None, &grid::attempts(run));
            push_tail(&mut text, run);
        }
        None => {
            push_table(&mut text, None, &grid::commands(summary));
            push_table(&mut text, Some("Slowest runs"), &grid::runs(&summary.slowest));
            push_table(&mut text, Some("Most retried"), &grid::runs(&summary.most_retried));
        }
    }
    text
}

fn push_table(text: &mut String, title: Option<&str>, grid: &Grid) {
    if grid.rows.is_empty() {
        return;
    }
    if let Some(title) = title {
        text.push_str(&format!("\n#### {title}\n"));
    }
    text.push('\n');
    push_row(text, grid.columns.iter().map(|column| column.heading.to_owned()));
    push_row(text, grid.columns.iter().map(|column| rule(column.kind).to_owned()));
    for row in &grid.rows {
        push_row(text, row.iter().map(cell));
    }
    if let Some(rest) = &grid.rest {
        text.push_str(&format!("\n{}\n", escape(rest)));
    }
}

fn push_row(text: &mut String, cells: impl Iterator<Item = String>) {
    text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
}

fn rule(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "---:",
        Kind::Words | Kind::Command => "---",
    }
}

fn cell(cell: &Cell) -> String {
    let text = escape(&clip(&visible(cell.text()), CELL_MAX));
    match cell {
        Cell::Words(_) => text,
        // By a tag and not by backticks, whose rules about backticks and bars in tables differ
        // from one reader of Markdown to the next.
        Cell::Typed(_) => format!("<code>{text}</code>"),
    }
}

/// The text with nothing in it that Markdown or HTML would act on.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '~' | '[' | ']' | '\\' | '$' | '@' | '#' => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// What the last failure had to say.
fn push_tail(text: &mut String, run: &Run) {
    let failed = run.attempts.listed().iter().rev().find_map(|attempt| {
        let tail = attempt.ended.as_ref()?.stderr_tail.as_deref()?;
        (!tail.trim().is_empty()).then_some((attempt.number, tail))
    });
    let Some((attempt, tail)) = failed.filter(|_| run.verdict() != Verdict::SucceededAtOnce) else {
        return;
    };
    let tail = plain(tail);
    let fence = "`".repeat(longest_run_of_backticks(&tail).max(2) + 1);
    text.push_str(&format!(
        "\nThe end of the standard error of attempt {attempt}:\n\n{fence}text\n{}\n{fence}\n",
        tail.trim_end(),
    ));
}

fn longest_run_of_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
