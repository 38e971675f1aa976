//! A flow for people in a terminal: its steps below one another, each with what it needs.

use anstyle::{AnsiColor, Style};
use redial_flow::outlook::{StepOutlook, is_command};

use super::{Planned, tables, words};
use crate::text::{BOLD, DIM, READABLE, clip, columns, paragraph, styled, wrap, wrap_clause};
use crate::visible::visible;

const NAME: Style = AnsiColor::Cyan.on_default().bold();
const LIMIT: Style = AnsiColor::Red.on_default();

/// Text with styles, no line of it wider than `width`, ending with a newline.
pub(crate) fn terminal(planned: &Planned<'_>, width: usize) -> String {
    let mut page = Page { width: width.max(20), text: String::new() };
    page.line(BOLD, &visible(planned.name()));
    page.paragraph(Style::new(), &words::summary(planned));
    page.text.push('\n');
    let blocks: Vec<_> = planned.blocks().collect();
    for (at, (one, inner)) in blocks.iter().enumerate() {
        let rail = if at + 1 < blocks.len() { "│" } else { " " };
        let mark = if inner.is_empty() { "●" } else { "◆" };
        page.step(one, &format!("{mark} "), &format!("{rail}   "));
        for (at, one) in inner.iter().enumerate() {
            let (branch, below) =
                if at + 1 < inner.len() { ("├─", "│ ") } else { ("└─", "  ") };
            page.step(one, &format!("{rail}   {branch}● "), &format!("{rail}   {below}  "));
        }
        if at + 1 < blocks.len() {
            page.line(DIM, rail);
        }
    }
    page.text.push('\n');
    let whole = tables::schedules(planned);
    let table = if whole.fits(page.width) { whole } else { tables::tight(planned) };
    page.text.push_str(&table.terminal(page.width));
    page.text.push('\n');
    let style = if planned.outlook.time.is_none() { LIMIT } else { BOLD };
    for (at, sentence) in words::worst(planned).iter().enumerate() {
        page.paragraph(if at == 0 { style } else { Style::new() }, &visible(sentence));
    }
    for sentence in words::killed(planned) {
        page.paragraph(Style::new(), &visible(&sentence));
    }
    page.paragraph(DIM, &words::note(planned));
    page.text
}

/// What has been written so far.
struct Page {
    width: usize,
    text: String,
}

impl Page {
    fn line(&mut self, style: Style, line: &str) {
        let line = clip(line.trim_end(), self.width);
        self.text.push_str(&format!("{}\n", styled(style, &line)));
    }

    fn paragraph(&mut self, style: Style, text: &str) {
        self.text.push_str(&paragraph(style, text, self.width.min(READABLE)));
    }

    /// Its name behind a mark, and what is said of it behind a rail.
    fn step(&mut self, one: &StepOutlook, before: &str, rail: &str) {
        let step = &one.step;
        let room = self.width.saturating_sub(columns(before));
        let name = clip(&visible(&step.name), room);
        let needs = words::needs(&step.needs).map(|needs| format!("← {}", visible(&needs)));
        let needs = needs.unwrap_or_default();
        // Beside the name where there is room, else below it.
        let is_beside = columns(&name) + 2 + columns(&needs) <= room;
        let beside = if is_beside { format!("  {needs}") } else { String::new() };
        let (name, beside) = (styled(NAME, &name), styled(DIM, beside.trim_end()));
        self.text.push_str(&format!("{}{name}{beside}\n", styled(DIM, before)));
        if !is_beside {
            let room = self.width.saturating_sub(columns(rail)).max(10);
            self.wrapped(rail, &needs, room);
        }
        let (field, text) = words::does(step);
        let text = format!("{field} {}", one_line(&text));
        let room = self.width.saturating_sub(columns(rail)).max(10);
        self.behind(rail, Style::new(), &clip(&text, room));
        if is_command(step) {
            for line in wrap_clause(&words::clause(&one.plan), room.min(READABLE)) {
                self.behind(rail, Style::new(), &line);
            }
            let waits = words::waits(&one.plan).map(|waits| format!("waits {waits}"));
            let seeded = words::sampled(&one.plan).map(|waits| format!("with this seed {waits}"));
            for text in waits.into_iter().chain(seeded) {
                self.wrapped(rail, &text, room);
            }
        }
        for text in words::bounds(one).into_iter().chain(words::remarks(one)) {
            self.wrapped(rail, &one_line(&text), room);
        }
    }

    fn wrapped(&mut self, rail: &str, text: &str, room: usize) {
        for line in wrap(text, room.min(READABLE)) {
            self.behind(rail, DIM, &line);
        }
    }

    fn behind(&mut self, rail: &str, style: Style, line: &str) {
        self.text.push_str(&format!("{}{}\n", styled(DIM, rail), styled(style, line.trim_end())));
    }
}

/// A text of several lines in one.
pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    visible(&lines.join(" ⏎ "))
}
