//! A run as a page to send to a colleague: its timeline, where the time went, and its dead letters.

use redial_flow::history::{History, Task};
use std::fmt::Write;

use super::dead::{heading, said_of_last, sentence};
use super::timeline::{TITLE, drawing, has_picture};
use super::{report, tables, words};
use crate::text::escape;
use crate::view::page::{code, figure, lead, page};
use crate::view::report::plain;
use crate::view::table::Table;

/// How many tasks are drawn: beyond that nobody looks, and the file of `--trace` has them.
const ROWS: usize = 200;

/// How many dead letters are shown whole.
const DEAD: usize = 50;

/// The run as one HTML page, ending with a newline.
pub(crate) fn html(history: &History) -> String {
    let tasks = history.timeline(ROWS);
    let mut content = lead(&words::sentences(history));
    if has_picture(history, &tasks) {
        let note = words::left_out(history, tasks.len()).map(|words| format!("{words}."));
        let draw = |size| drawing(history, &tasks, size);
        content += &figure(TITLE, draw, note.as_deref().unwrap_or_default());
    }
    for table in report::numbers(history) {
        content += &table.html();
    }
    content += &letters(history);
    content += &flaws(history);
    content += &format!("<footer>\n{FOOTER}</footer>\n");
    page(&words::title(history), &content)
}

const FOOTER: &str = "\
<p>A task is a step in a run; a map has one for each item and inner step. Times are since the run began, and go on \
while no process works on it.</p>
";

fn letters(history: &History) -> String {
    let dead: Vec<&Task> = history.dead().collect();
    if dead.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>Dead letters</h2>\n");
    dead.iter().take(DEAD).for_each(|task| text += &letter(history, task));
    if dead.len() > DEAD {
        let (more, run) = (dead.len() - DEAD, escape(&history.run));
        let _ = writeln!(
            text,
            "<p class=\"note\">And {more} more; <code>redial flow dead list {run}</code> lists them.</p>"
        );
    }
    text
}

fn letter(history: &History, task: &Task) -> String {
    let mut text = format!("<h3>{}</h3>\n", escape(&heading(history, task)));
    let attempts = tables::attempts(task);
    match attempts.is_empty() {
        true => text += &format!("<p>{}</p>\n", escape(&sentence(task))),
        false => text += &Table { caption: sentence(task), ..attempts }.html(),
    }
    if let Some(said) = said_of_last(task) {
        let _ = writeln!(text, "<p>{}</p>", escape(&said));
    }
    let tail = task.last_ended().and_then(|(_, ended)| ended.stderr_tail.as_deref());
    let tail = plain(tail.unwrap_or_default());
    if !tail.trim().is_empty() {
        // Line by line, because a line break is escaped as something that cannot be seen.
        let lines: Vec<_> = tail.trim_end().lines().map(escape).collect();
        text.push_str("<p class=\"note\">Standard error of the last attempt</p>\n");
        let _ = writeln!(text, "<pre><code>{}</code></pre>", lines.join("\n"));
    }
    text
}

fn flaws(history: &History) -> String {
    let flaws = words::flaws(history);
    if flaws.is_empty() {
        return String::new();
    }
    format!("<h2>What is wrong with the journal</h2>\n{}", code(&flaws.join("; ")))
}
