//! Dead letters in a terminal: a list of them, and each with all that is known of it.

use anstyle::Style;
use redial_flow::Value;
use redial_flow::history::{History, Task};
use serde_json::Value as Json;

use super::{tables, words};
use crate::text::{BOLD, DIM, READABLE, paragraph, styled};
use crate::view::report::plain;
use crate::visible::visible;

/// A dead letter, and what was read for it besides the journal.
#[derive(Debug)]
pub(crate) struct Letter<'h> {
    pub(crate) task: &'h Task,
    /// The item, as it was read.
    pub(crate) value: Option<Value>,
    /// What its last attempt wrote to standard output.
    pub(crate) output: Option<String>,
}

/// A table of dead letters.
pub(crate) fn list(history: &History, tasks: &[&Task], width: usize) -> String {
    tables::dead(history, tasks, tasks.len()).terminal(width)
}

/// Dead letters, one below the other.
pub(crate) fn show(history: &History, letters: &[Letter<'_>], width: usize) -> String {
    let each: Vec<_> = letters.iter().map(|letter| one(history, letter, width)).collect();
    each.join("\n")
}

fn one(history: &History, letter: &Letter<'_>, width: usize) -> String {
    let task = letter.task;
    let mut text = styled(BOLD, &visible(&heading(history, task))) + "\n";
    text += &paragraph(Style::new(), &visible(&sentence(task)), width.min(READABLE));
    if let Some(said) = said_of_last(task) {
        text += &paragraph(Style::new(), &visible(&said), width.min(READABLE));
    }
    if let Some(value) = &letter.value {
        text += &item(value);
    }
    let attempts = tables::attempts(task);
    if !attempts.is_empty() {
        text += &attempts.terminal(width);
    }
    let tail = task.last_ended().and_then(|(_, ended)| ended.stderr_tail.as_deref());
    text += &block("standard error", tail.unwrap_or_default());
    text += &block("output", letter.output.as_deref().unwrap_or_default());
    text
}

/// `fetch, a-17`
pub(super) fn heading(history: &History, task: &Task) -> String {
    match task.item {
        None => history.name(task),
        Some(_) => format!("{}, {}", history.step(task).name, history.name(task)),
    }
}

/// Why it gave up.
pub(super) fn sentence(task: &Task) -> String {
    let tries = words::many(task.tries(), "attempt");
    match words::why(task).as_str() {
        "" => format!("Gave up after {tries}."),
        why => format!("Gave up after {tries}: {why}."),
    }
}

/// What is known of the last attempt beside how it ended.
pub(super) fn said_of_last(task: &Task) -> Option<String> {
    let (attempt, ended) = task.last_ended()?;
    let message = ended.message.as_deref()?;
    Some(format!("The last attempt: {}: {message}.", words::happened(attempt)))
}

/// The item as it is, also where it is nothing, or nothing that can be seen: with names for what cannot.
fn item(value: &Value) -> String {
    let (heading, shown) = match value {
        Value::Json(Json::Null) => ("item", "null".to_owned()),
        Value::Json(Json::String(text)) if text.is_empty() => ("item", "\"\"".to_owned()),
        Value::Json(Json::String(text)) if text.chars().any(char::is_control) => {
            ("item, as JSON", value_as_json(value))
        }
        Value::Json(_) => ("item", String::from_utf8_lossy(&value.bytes()).into_owned()),
        Value::Bytes(_) => ("item, which is not UTF-8, in base64", value_as_json(value)),
    };
    block(heading, &shown)
}

/// As `dead show --json` has it.
fn value_as_json(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What a command wrote, under a heading, each line of it indented.
fn block(heading: &str, printed: &str) -> String {
    let printed = plain(printed);
    let printed = printed.trim_end_matches('\n');
    if printed.is_empty() {
        return String::new();
    }
    let lines: String = printed.lines().map(|line| format!("  {line}\n")).collect();
    format!("{}\n{lines}", styled(DIM, heading))
}
