//! Where the time of a run went and what made attempts fail, in a terminal and as Markdown.

use redial_flow::history::{History, Task};

use super::status::sentences;
use super::{tables, words};
use crate::text::markdown as escaped;
use crate::view::table::Table;

/// How many dead letters are named.
const DEAD: usize = 10;

/// The report as text with styles, no line of it wider than `width`, ending with a newline.
pub(crate) fn terminal(history: &History, width: usize) -> String {
    let mut text = sentences(&lead(history), width);
    for table in all(history) {
        text.push_str(&format!("\n{}", table.terminal(width)));
    }
    text
}

/// The report as Markdown, ending with a newline.
pub(crate) fn markdown(history: &History) -> String {
    let mut text = format!("### {}\n", escaped(&words::title(history)));
    for sentence in words::sentences(history) {
        text.push_str(&format!("\n{}\n", escaped(&sentence)));
    }
    for table in all(history) {
        text.push_str(&format!("\n{}", table.markdown()));
    }
    text
}

fn lead(history: &History) -> Vec<String> {
    let mut sentences = words::headlines(history);
    sentences.push(words::spent(history));
    sentences
}

fn all(history: &History) -> Vec<Table> {
    let dead: Vec<&Task> = history.dead().collect();
    let dead = (!dead.is_empty()).then(|| tables::dead(history, &dead, DEAD));
    numbers(history).into_iter().chain(dead).collect()
}

/// Why attempts failed and where the time went, where there is something to say.
pub(super) fn numbers(history: &History) -> Vec<Table> {
    let tables = [tables::reasons(history), tables::slowest(history)];
    tables.into_iter().filter(|table| !table.is_empty()).collect()
}
