//! What has become of runs, for people in a terminal.

use std::time::Duration;

use anstyle::Style;
use redial_flow::history::History;

use super::{tables, words};
use crate::text::{READABLE, paragraph};
use crate::visible::visible;

/// All runs in a table, the newest last.
pub(crate) fn all(histories: &[History], now: Duration, width: usize) -> String {
    tables::runs(histories, now).terminal(width)
}

/// One run, with its steps.
pub(crate) fn one(history: &History, width: usize) -> String {
    let mut text = sentences(&words::headlines(history), width);
    let steps = tables::steps(history);
    if !steps.is_empty() {
        text.push_str(&format!("\n{}", steps.terminal(width)));
    }
    text
}

/// A paragraph each.
pub(super) fn sentences(sentences: &[String], width: usize) -> String {
    let line = |sentence: &String| paragraph(Style::new(), &visible(sentence), width.min(READABLE));
    sentences.iter().map(line).collect()
}
