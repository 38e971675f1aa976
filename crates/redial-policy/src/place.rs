//! From a place in a value to its place in the file: a string in a file may be quoted, escaped,
//! indented or folded, and a finding in it must still point at the very byte.

use crate::diagnostic::Span;

/// Where the bytes of a piece of text come from.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// From somewhere in here; all of it is pointed at.
    Whole(Span),
    /// Byte by byte.
    Exact(Alignment),
}

impl Place {
    /// Where `start..end` of the piece is in the file.
    pub(crate) fn of(&self, start: usize, end: usize) -> Span {
        match self {
            Self::Whole(span) => *span,
            Self::Exact(alignment) => alignment.span(start, end),
        }
    }

    /// The place of the rest of the piece, from one of its bytes on.
    pub(crate) fn from(self, at: usize) -> Self {
        match self {
            Self::Exact(Alignment { runs, end }) if at > 0 => {
                let after = runs.partition_point(|run| run.from <= at).saturating_sub(1);
                let runs = runs[after..].iter().map(|run| match at.checked_sub(run.from) {
                    Some(skipped) => Run { from: 0, file: run.file + skipped },
                    None => Run { from: run.from - at, file: run.file },
                });
                Self::Exact(Alignment { runs: runs.collect(), end })
            }
            other => other,
        }
    }

    /// A piece of the file itself, byte for byte.
    pub(crate) fn at(start: usize) -> Self {
        Self::Exact(Alignment { runs: vec![Run { from: 0, file: start }], end: usize::MAX })
    }
}

/// Pieces of a value that are the same in the file, in order.
#[derive(Clone, Debug)]
pub(crate) struct Alignment {
    runs: Vec<Run>,
    /// Where the value ends in the file.
    end: usize,
}

/// From this byte of the value on, it is the same as from this byte of the file on.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: usize,
    file: usize,
}

impl Alignment {
    /// Finds each character of `value` in `raw`, the way it is written in the file at `start`.
    pub(crate) fn new(value: &str, raw: &str, start: usize) -> Self {
        let mut raw_rest = Raw::new(raw);
        let mut runs: Vec<Run> = Vec::new();
        for (from, character) in value.char_indices() {
            let file = start + raw_rest.find(character);
            let follows = runs.last().is_some_and(|run| run.file + (from - run.from) == file);
            if !follows {
                runs.push(Run { from, file });
            }
        }
        Self { runs, end: start + raw.len() }
    }

    /// Pieces one after the other, each with the byte of the value that it starts at.
    pub(crate) fn joined(pieces: Vec<(usize, Place)>, end: usize) -> Self {
        let mut runs = Vec::new();
        for (from, place) in pieces {
            match place {
                Place::Whole(span) => runs.push(Run { from, file: span.start }),
                Place::Exact(alignment) => {
                    let shifted = |run: Run| Run { from: from + run.from, file: run.file };
                    runs.extend(alignment.runs.into_iter().map(shifted));
                }
            }
        }
        Self { runs, end }
    }

    fn byte(&self, at: usize) -> usize {
        let after = self.runs.partition_point(|run| run.from <= at);
        match after.checked_sub(1).map(|last| self.runs[last]) {
            Some(run) => (run.file + (at - run.from)).min(self.end),
            None => self.end,
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let first = self.byte(start);
        let last = if end > start { self.byte(end - 1) + 1 } else { first };
        Span { start: first, end: last.clamp(first, self.end.max(first)) }
    }
}

/// A value as it is written, and how far it has been read.
struct Raw<'t> {
    text: &'t str,
    at: usize,
    quote: Option<u8>,
}

impl<'t> Raw<'t> {
    fn new(text: &'t str) -> Self {
        let first = text.bytes().next();
        match first {
            Some(quote @ (b'"' | b'\'')) => {
                let triple = [quote; 3];
                let opening =
                    if text.as_bytes().starts_with(&triple) && text.len() >= 6 { 3 } else { 1 };
                Self { text, at: opening, quote: Some(quote) }
            }
            // A block scalar starts on the line after its header.
            Some(b'|' | b'>') => {
                let header = text.find('\n').map_or(text.len(), |newline| newline + 1);
                Self { text, at: header, quote: None }
            }
            _ => Self { text, at: 0, quote: None },
        }
    }

    /// Where the next `wanted` is written; goes past it. White space that was folded away, and
    /// whatever else is only there for the writing, is passed over.
    fn find(&mut self, wanted: char) -> usize {
        while let Some(next) = self.text[self.at..].chars().next() {
            let at = self.at;
            if next == '\\' && self.quote == Some(b'"') {
                self.at += escape_length(&self.text[at..]);
                if !self.text[at + 1..].starts_with(['\n', '\r']) {
                    return at;
                }
            } else if next == wanted {
                self.at += next.len_utf8();
                if wanted == '\''
                    && self.quote == Some(b'\'')
                    && self.text[self.at..].starts_with('\'')
                {
                    self.at += 1;
                }
                return at;
            } else if wanted == ' ' && next == '\n' {
                self.at += 1 + blanks(&self.text[at + 1..]);
                return at;
            } else {
                self.at += next.len_utf8();
            }
        }
        self.at
    }
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// How long an escape sequence is, the backslash included. One that continues a line takes the
/// indentation of the next with it.
fn escape_length(text: &str) -> usize {
    let mut characters = text.chars();
    characters.next();
    let length = match characters.next() {
        None => 1,
        Some('x') => 4,
        Some('u') => 6,
        Some('U') => 10,
        Some('\n') => 2 + blanks(&text[2..]),
        Some(other) => 1 + other.len_utf8(),
    };
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
