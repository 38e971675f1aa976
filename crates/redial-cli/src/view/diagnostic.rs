//! Diagnostics, drawn with their source line.

use std::cell::Cell;

use annotate_snippets::{AnnotationKind, Level, Patch, Renderer, Snippet};
use redial_policy::{Diagnostic, Document, Fix, Notation, Span, fixable};

use crate::environment;
use crate::output;
use crate::source::Source;
use crate::visible::{visible, visible_in_place};

/// A longer source line is not drawn.
const LINE_MAX: usize = 4096;

/// Where the lines of a text begin, to find the line of a byte by binary search.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// The last byte that was looked up, and the number of characters before it in its line. Diagnostics
    /// come in order, so that a long line with many of them does not take quadratic time.
    last: Cell<(usize, usize)>,
}

/// A place as editors count: lines and characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let after =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        // A byte order mark does not count as a character.
        let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            text,
            starts: std::iter::once(first).chain(after).collect(),
            last: Cell::new((0, 0)),
        }
    }

    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    pub(crate) fn position(&self, at: usize) -> Position {
        let at = at.min(self.text.len());
        let line = self.line(at);
        let (last, count) = self.last.get();
        let known = last >= self.starts[line] && last <= at && self.line(last) == line;
        let (from, count) = if known { (last, count) } else { (self.starts[line], 0) };
        let count = count + self.text.get(from..at).unwrap_or_default().chars().count();
        self.last.set((at, count));
        Position { line: line + 1, column: count + 1 }
    }

    /// From the start of the line that `span` begins in to the end of the one that it ends in.
    fn around(&self, span: Span) -> Span {
        let last = self.line(span.end.saturating_sub(1).max(span.start));
        let start = self.starts[self.line(span.start)];
        let end = self.starts.get(last + 1).map_or(self.text.len(), |next| next - 1);
        Span { start, end }
    }
}

/// Draws the diagnostics of one text, in the style of rustc.
pub(crate) struct Drawing<'s> {
    source: &'s Source,
    lines: Lines<'s>,
    /// The fixes that `redial check --fix` applies to this text.
    applied: Vec<Fix>,
}

impl<'s> Drawing<'s> {
    pub(crate) fn of(source: &'s Source) -> Self {
        Self { source, lines: Lines::new(&source.text), applied: Vec::new() }
    }

    /// For a text that `redial check --fix` can fix; `document` is what was read from it.
    pub(crate) fn fixable(mut self, document: &Document, notation: Option<Notation>) -> Self {
        self.applied = fixable(&self.source.text, document, self.source.format, notation);
        self
    }

    /// For a text of which `redial check --fix` applies these fixes.
    pub(crate) fn applying(mut self, fixes: Vec<Fix>) -> Self {
        self.applied = fixes;
        self
    }

    pub(crate) fn draw(&self, found: &Diagnostic) -> String {
        draw(self.source, &self.lines, found, &self.applied)
    }
}

/// What, where, the line, a pointer, and the fix.
fn draw(source: &Source, lines: &Lines<'_>, found: &Diagnostic, applied: &[Fix]) -> String {
    let level = if found.is_warning() { Level::WARNING } else { Level::ERROR };
    let title = level.primary_title(found.message.clone()).id(found.kind.name());
    let mut around = lines.around(found.span);
    if let Some(fix) = &found.fix {
        let fixed = lines.around(fix.span);
        around = Span { start: around.start.min(fixed.start), end: around.end.max(fixed.end) };
    }
    if around.end - around.start > LINE_MAX {
        return plain(source, lines, found);
    }
    let text = visible_in_place(around.of(&source.text));
    let name = visible(&source.name);
    let line = lines.position(around.start).line;
    let inside = |span: Span| {
        let start = span.start.clamp(around.start, around.end) - around.start;
        start..(span.end.clamp(around.start, around.end) - around.start).max(start)
    };
    let pointer = AnnotationKind::Primary.span(inside(found.span));
    let snippet = Snippet::source(text.as_str()).path(name.as_str()).line_start(line);
    let mut group = title.element(snippet.annotation(pointer));
    if let Some(note) = &found.note {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    let more = format!("redial explain {} says more", found.kind.name());
    let mut report = vec![group];
    match &found.fix {
        Some(fix) => {
            let patch = Patch::new(inside(fix.span), fix.replacement.as_str());
            let snippet = Snippet::source(text.as_str()).line_start(line).patch(patch);
            let promise = promise(source).filter(|_| applied.contains(fix));
            let headline = headline(fix, promise);
            report.push(Level::HELP.secondary_title(headline).element(snippet));
        }
        None => {
            let group = report.remove(0);
            report.push(group.element(Level::HELP.message(more)));
        }
    }
    Renderer::styled().term_width(output::width()).render(&report) + "\n\n"
}

fn headline(fix: &Fix, promise: Option<&str>) -> String {
    let said = match (fix.safe, fix.replacement.is_empty()) {
        (true, true) => "it can be left out",
        (true, false) => "this would be right",
        (false, _) => "this might be meant",
    };
    match promise {
        Some(promise) if fix.safe => format!("{said} ({promise})"),
        _ => said.to_owned(),
    }
}

/// The command that applies the fixes of a text; none for one from the environment.
fn promise(source: &Source) -> Option<&'static str> {
    match source.name.as_str() {
        "--with" => Some("redial check --fix --with prints it"),
        "-" => Some("redial check --fix - prints it"),
        environment::WITH => None,
        _ => Some("redial check --fix does it"),
    }
}

/// Without the source line, where that is too long.
fn plain(source: &Source, lines: &Lines<'_>, found: &Diagnostic) -> String {
    let Position { line, column } = lines.position(found.span.start);
    format!("{found}\n --> {}:{line}:{column}\n\n", visible(&source.name))
}
