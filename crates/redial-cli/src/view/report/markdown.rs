//! A report for the summary of a CI job.

use super::collector::{Run, Verdict};
use super::grid;
use super::plain::plain;
use super::summary::Summary;
use super::words::{self, name};
use crate::text::{clip, markdown as escape, markdown_code};
use crate::view::table::Table;
use crate::visible::visible;

/// The report as Markdown, ending with a newline.
pub(super) fn markdown(summary: &Summary<'_>) -> String {
    const NAME_MAX: usize = 200;
    let mut text = match summary.only_run() {
        Some(run) => {
            let name = clip(&visible(&name(run.command())), NAME_MAX);
            format!("### {}\n\n", markdown_code(&name))
        }
        None => "### Retries\n\n".to_owned(),
    };
    let sentences = words::totals(summary);
    text.push_str(&format!("{}\n", escape(&sentences.join(" "))));
    match summary.only_run() {
        Some(run) => {
            push_table(&mut text, &grid::attempts(run));
            push_tail(&mut text, run);
        }
        None => grid::all(summary).iter().for_each(|table| push_table(&mut text, table)),
    }
    text
}

fn push_table(text: &mut String, table: &Table) {
    if !table.is_empty() {
        text.push_str(&format!("\n{}", table.markdown()));
    }
}

/// The standard error of the last failure.
fn push_tail(text: &mut String, run: &Run) {
    let failed = run.attempts.listed().iter().rev().find_map(|attempt| {
        let tail = attempt.ended.as_ref()?.stderr_tail.as_deref()?;
        (!tail.trim().is_empty()).then_some((attempt.number, tail))
    });
    let is_fine = matches!(run.verdict(), Verdict::SucceededAtOnce | Verdict::BecameReady);
    let Some((attempt, tail)) = failed.filter(|_| !is_fine) else { return };
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
