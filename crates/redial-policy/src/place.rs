//! A source map from the bytes of a value to the bytes of the file: a string in a file may be quoted,
//! escaped, indented or folded, and a finding in it must still point at the exact byte.

use std::rc::Rc;

use crate::Format;
use crate::diagnostic::Span;
use crate::tree::Node;

/// Where the bytes of a piece of text come from.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// The whole span, where it is not known more exactly.
    Whole(Span),
    /// Mapped byte by byte.
    Exact(Alignment),
}

impl Place {
    /// A string of a tree, as it is written in the file.
    pub(crate) fn of_string(value: &str, node: &Node, text: &str, format: Format) -> Self {
        Self::Exact(Alignment::new(value, Raw::new(node.span.of(text), format), node.span))
    }

    /// Pieces one after the other, each with the byte of the value that it starts at.
    pub(crate) fn joined(pieces: Vec<(usize, Self)>, end: usize) -> Self {
        let mut runs = Vec::new();
        for (from, place) in pieces {
            match place {
                Self::Whole(span) => runs.push(Run::escaped(from, span.start, span.end)),
                Self::Exact(alignment) => runs.extend(alignment.runs_from(from)),
            }
        }
        Self::Exact(Alignment { runs: runs.into(), skipped: 0, end })
    }

    /// A piece of the file itself, byte for byte.
    pub(crate) fn at(start: usize) -> Self {
        let runs = Rc::new([Run::same(0, start)]);
        Self::Exact(Alignment { runs, skipped: 0, end: usize::MAX })
    }

    /// Where `start..end` of the piece is in the file.
    pub(crate) fn of(&self, start: usize, end: usize) -> Span {
        match self {
            Self::Whole(span) => *span,
            Self::Exact(alignment) => alignment.span(start, end),
        }
    }

    /// The place of the rest of the piece, from one of its bytes on.
    pub(crate) fn from(mut self, at: usize) -> Self {
        if let Self::Exact(alignment) = &mut self {
            alignment.skipped += at;
        }
        self
    }
}

/// Pieces of a value and where they are in the file, in order.
#[derive(Clone, Debug)]
pub(crate) struct Alignment {
    /// Shared, since the options of one long clause all come from it.
    runs: Rc<[Run]>,
    /// How many bytes of the value come before the piece.
    skipped: usize,
    /// Where the value ends in the file.
    end: usize,
}

/// Where a run of bytes of the value, up to the next run, is in the file.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: usize,
    file: usize,
    /// Where an escape sequence ends in the file; none where the run is written as it is.
    escape_end: Option<usize>,
}

impl Run {
    const fn same(from: usize, file: usize) -> Self {
        Self { from, file, escape_end: None }
    }

    const fn escaped(from: usize, file: usize, end: usize) -> Self {
        Self { from, file, escape_end: Some(end) }
    }

    /// Whether the byte `from` of the value, at `file`, continues this run.
    fn continues(&self, from: usize, file: usize) -> bool {
        self.escape_end.is_none() && self.file + (from - self.from) == file
    }
}

impl Alignment {
    /// Finds each character of `value` in its source text at `place`.
    fn new(value: &str, mut raw: Raw<'_>, place: Span) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (from, character) in value.char_indices() {
            let at = raw.find(character);
            let file = place.start + at.start;
            if at.end - at.start != character.len_utf8() {
                runs.push(Run::escaped(from, file, place.start + at.end));
            } else if !runs.last().is_some_and(|run| run.continues(from, file)) {
                runs.push(Run::same(from, file));
            }
        }
        Self { runs: runs.into(), skipped: 0, end: place.end }
    }

    /// The runs of a piece that starts at this byte of something larger.
    fn runs_from(&self, from: usize) -> impl Iterator<Item = Run> {
        let shift = move |run: &Run| Run { from: from + run.from, ..*run };
        self.runs.iter().map(shift)
    }

    fn run(&self, at: usize) -> Option<Run> {
        let after = self.runs.partition_point(|run| run.from <= at);
        after.checked_sub(1).map(|last| self.runs[last])
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let (start, end) = (start + self.skipped, end + self.skipped);
        let first = self.run(start).map_or(self.end, |run| match run.escape_end {
            Some(_) => run.file,
            None => run.file + (start - run.from),
        });
        let last = match self.run(end.saturating_sub(1)) {
            Some(run) if end > start => {
                run.escape_end.unwrap_or_else(|| run.file + (end - run.from))
            }
            _ => first,
        };
        let first = first.min(self.end);
        Span { start: first, end: last.clamp(first, self.end) }
    }
}

/// The source text of a value, and how far it has been read.
struct Raw<'t> {
    text: &'t str,
    at: usize,
    format: Format,
    style: Style,
}

/// How the text is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    /// Double quotes, with escape sequences.
    Escaped,
    /// YAML's single quotes, in which a quote is doubled.
    Doubled,
}

impl<'t> Raw<'t> {
    fn new(text: &'t str, format: Format) -> Self {
        let triple = text.starts_with("\"\"\"") || text.starts_with("'''");
        let opening = if format == Format::Toml && triple && text.len() >= 6 { 3 } else { 1 };
        let (at, style) = match text.bytes().next() {
            Some(b'"') => (opening, Style::Escaped),
            Some(b'\'') if format == Format::Toml => (opening, Style::Plain),
            Some(b'\'') => (1, Style::Doubled),
            // A block scalar starts on the line after its header.
            Some(b'|' | b'>') => {
                (text.find('\n').map_or(text.len(), |newline| newline + 1), Style::Plain)
            }
            _ => (0, Style::Plain),
        };
        Self { text, at, format, style }
    }

    /// Where the next `wanted` is written; goes past it. Skips indentation and white space that was
    /// folded away.
    fn find(&mut self, wanted: char) -> Span {
        while let Some(next) = self.text[self.at..].chars().next() {
            let start = self.at;
            let rest = &self.text[start..];
            let found = match next {
                '\\' if self.style == Style::Escaped => {
                    let continued = continuation(rest, self.format);
                    self.at += continued.unwrap_or_else(|| escape(rest));
                    continued.is_none()
                }
                '\'' if wanted == next && self.style == Style::Doubled => {
                    self.at += if rest.starts_with("''") { 2 } else { 1 };
                    true
                }
                // A line that was folded into the one before it.
                '\n' if wanted == ' ' && self.format == Format::Yaml => {
                    self.at += 1;
                    true
                }
                _ => {
                    self.at += next.len_utf8();
                    next == wanted
                }
            };
            if found {
                return Span { start, end: self.at };
            }
        }
        Span { start: self.at, end: self.at }
    }
}

/// The length of a line continuation: a backslash, the newline, and the indentation of the next line.
fn continuation(text: &str, format: Format) -> Option<usize> {
    let after = match format {
        Format::Toml => text[1..].trim_start_matches([' ', '\t']),
        _ => &text[1..],
    };
    let line = after.strip_prefix('\r').unwrap_or(after).strip_prefix('\n')?;
    let next = match format {
        Format::Toml => line.trim_start(),
        _ => line.trim_start_matches([' ', '\t']),
    };
    Some(text.len() - next.len())
}

/// How long an escape sequence is, the backslash included.
fn escape(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    let length = match characters.next() {
        None => 1,
        Some('x') => 4,
        // A high surrogate of UTF-16; the low one follows.
        Some('u') if is_high_surrogate(text) && text[6..].starts_with("\\u") => 12,
        Some('u') => 6,
        Some('U') => 10,
        Some(other) => 1 + other.len_utf8(),
    };
    (0..=length.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

fn is_high_surrogate(escape: &str) -> bool {
    let code = escape.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    code.is_some_and(|code| (0xd800..0xdc00).contains(&code))
}
