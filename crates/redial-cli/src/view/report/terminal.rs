//! A report for people in a terminal.

use anstyle::{AnsiColor, Style};

use super::grid;
use super::summary::Summary;
use super::words::{self, name};
use crate::text::{READABLE, clip, paragraph, styled};
use crate::visible::visible;

const COMMAND: Style = AnsiColor::Cyan.on_default();

/// The report as text with styles, no line of it wider than `width`, ending with a newline.
pub(super) fn terminal(summary: &Summary<'_>, width: usize) -> String {
    let mut text = String::new();
    if let Some(run) = summary.only_run() {
        let name = clip(visible(&name(run.command())).trim_end(), width);
        text.push_str(&(styled(COMMAND, &name) + "\n"));
    }
    for sentence in words::totals(summary) {
        text.push_str(&paragraph(Style::new(), &visible(&sentence), width.min(READABLE)));
    }
    let tables = match summary.only_run() {
        Some(run) => vec![grid::attempts(run)],
        None => grid::all(summary).into(),
    };
    for table in tables.iter().filter(|table| !table.is_empty()) {
        text.push_str(&format!("\n{}", table.terminal(width)));
    }
    text
}
