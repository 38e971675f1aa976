//! A clause by itself, or a script whose calls carry clauses: `x = Module(y) with retry: 3`.
//!
//! The scanner knows only as much of a script as it takes to find where each clause begins and ends:
//! comments, strings, brackets, and nested calls.

use redial_core::clause::OPTIONS;

use crate::Format;
use crate::clause;
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Document, Entry, Notation};
use crate::draft::{Draft, Written};
use crate::matcher::Patterns;
use crate::place::Place;
use crate::tree::DEPTH_MAX;

/// Options of a call in a script that are not about retrying.
const OTHERS: [&str; 12] = [
    "cache",
    "cache_backend",
    "throttle",
    "concurrency",
    "lazy",
    "priority",
    "batch",
    "batch_timeout",
    "window",
    "checkpoint",
    "join",
    "memoize",
];

/// Where a clause is expected, a text without calls is one, whatever it looks like.
pub(crate) fn read(text: &str, clause_wanted: bool) -> Document {
    let mut scanner = Scanner::new(text);
    scanner.scan(0);
    if let Some(diagnostic) = scanner.refused {
        return Document::refuse(diagnostic);
    }
    if scanner.clauses.is_empty() && (clause_wanted || !scanner.is_script()) {
        return alone(text);
    }
    let mut document = Document::default();
    let mut patterns = Patterns::default();
    scanner.clauses.sort_by_key(|clause| clause.span.start);
    for found in &scanner.clauses {
        let draft = found.draft(text);
        if draft.clause().is_empty() && !found.whole {
            continue; // None of its options is about retrying.
        }
        let mut read = draft.read(&mut patterns);
        let mut told = std::mem::take(&mut read.diagnostics);
        let name = found.name.of(text).to_owned();
        let entry = Entry::new(name, Notation::Clause, found.span, draft.clause(), read, &told);
        document.entries.push(entry);
        document.diagnostics.append(&mut told);
    }
    document
}

fn alone(text: &str) -> Document {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let clause = &text[start..];
    let draft = Draft::verbatim(clause, Place::at(start), Format::Text);
    let span = Span { start, end: text.len() };
    let (entry, diagnostics) = clause::entry(&draft, String::new(), span, &mut Patterns::default());
    Document { entries: vec![entry], diagnostics, ..Document::default() }
}

/// A clause in a script.
struct ScriptClause {
    /// The variable that its call is assigned to.
    name: Span,
    /// From its first option to its last.
    span: Span,
    options: Vec<ScriptOption>,
    /// Whether the core can read it as it stands.
    whole: bool,
}

/// An option of such a clause, as far as it could be scanned.
struct ScriptOption {
    name: Span,
    /// Whether a colon follows the name.
    named: bool,
    value: Span,
    /// Whether another clause is inside of its value.
    nests: bool,
}

impl ScriptClause {
    fn draft(&self, text: &str) -> Draft {
        if self.whole {
            return Draft::verbatim(self.span.of(text), Place::at(self.span.start), Format::Text);
        }
        let mut draft = Draft::new(Format::Text, &[]);
        for option in &self.options {
            if OTHERS.contains(&option.name.of(text)) {
                continue;
            }
            if !option.named {
                let Span { start, .. } = option.name;
                draft.item(&text[start..option.value.end], Place::at(start));
                continue;
            }
            // A nested call has a clause of its own.
            let value = if option.nests { "nested" } else { option.value.of(text) };
            draft.option(&Written {
                name: option.name.of(text).to_owned(),
                name_place: Place::at(option.name.start),
                value: value.to_owned(),
                value_place: if option.nests {
                    Place::Whole(option.value)
                } else {
                    Place::at(option.value.start)
                },
            });
        }
        draft
    }
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// The variable of the statement that is being read.
    name: Span,
    clauses: Vec<ScriptClause>,
    refused: Option<Diagnostic>,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str) -> Self {
        let name = Span { start: 0, end: 0 };
        Self { text, bytes: text.as_bytes(), at: 0, name, clauses: Vec::new(), refused: None }
    }

    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_trivia(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => self.skip_line(),
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn skip_string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.next() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote {
                break;
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn word(&mut self) -> Span {
        let start = self.at;
        while self.next().is_some_and(is_word) {
            self.at += 1;
        }
        Span { start, end: self.at }
    }

    /// Scans to the closing bracket of this depth, or to the end of the text.
    fn scan(&mut self, depth: usize) {
        if depth > DEPTH_MAX {
            return self.refuse();
        }
        while let Some(byte) = self.next() {
            match byte {
                _ if self.refused.is_some() => return,
                b'#' => self.skip_line(),
                b'"' | b'\'' => self.skip_string(byte),
                b'(' | b'[' | b'{' => {
                    self.at += 1;
                    self.scan(depth + 1);
                }
                b')' | b']' | b'}' => {
                    self.at += 1;
                    if depth > 0 {
                        return;
                    }
                }
                _ if is_word(byte) => self.take_word(depth),
                _ => self.at += 1,
            }
        }
    }

    fn take_word(&mut self, depth: usize) {
        let word = self.word();
        if word.of(self.text) == "with" && self.starts_clause(word) {
            return self.clause(depth);
        }
        let rest = self.text[self.at..].trim_start_matches([' ', '\t']);
        if rest.starts_with('=') && !rest.starts_with("==") && !rest.starts_with("=>") {
            self.name = word;
        }
    }

    /// Whether `with` starts a clause: it follows a call, or an option follows it.
    fn starts_clause(&self, with: Span) -> bool {
        let called = self.text[..with.start].trim_end().ends_with(')');
        let mut ahead = Self { at: with.end, ..Self::new(self.text) };
        ahead.skip_trivia();
        let option = ahead.word();
        ahead.skip_trivia();
        called || (option.start < option.end && ahead.next() == Some(b':'))
    }

    fn clause(&mut self, depth: usize) {
        let name = self.name;
        self.skip_trivia();
        let start = self.at;
        let mut found = ScriptClause {
            name,
            span: Span { start, end: start },
            options: Vec::new(),
            whole: true,
        };
        loop {
            let before = self.at;
            self.skip_trivia();
            if !self.option(&mut found, depth) {
                self.at = before;
                break;
            }
            let end = self.at;
            self.skip_trivia();
            if self.next() == Some(b',') {
                self.at += 1;
                found.span.end = self.at;
            } else if !self.at_option() {
                self.at = end;
                break;
            }
        }
        self.clauses.push(found);
    }

    /// Whether a known option follows, so that a comma is missing before it.
    fn at_option(&self) -> bool {
        let mut ahead = Self { at: self.at, ..Self::new(self.text) };
        let word = ahead.word();
        ahead.skip_trivia();
        ahead.next() == Some(b':') && OPTIONS.contains(&word.of(self.text))
    }

    /// Reads one option. Returns whether there was one.
    fn option(&mut self, found: &mut ScriptClause, depth: usize) -> bool {
        let name = self.word();
        if name.start == name.end {
            return false;
        }
        let after = self.at;
        self.skip_trivia();
        let named = self.next() == Some(b':');
        let follows = self.text[found.span.end.min(name.start)..name.start].contains('\n');
        if !named {
            self.at = after;
            if OTHERS.contains(&name.of(self.text)) {
                found.whole = false;
                found.span.end = name.end;
                return true;
            }
            // On a line of its own it is the next statement; on this one it is a mistake.
            if follows && found.span.end > found.span.start {
                return false;
            }
        } else {
            self.at += 1;
        }
        let (value, nests) = self.value(depth);
        found.whole &= !nests && !OTHERS.contains(&name.of(self.text));
        found.span.end = value.end.max(name.end);
        found.options.push(ScriptOption { name, named, value, nests });
        true
    }

    /// Reads a value, up to a comma, the end of the line or the closing bracket around it. Returns also
    /// whether it contains a clause.
    fn value(&mut self, depth: usize) -> (Span, bool) {
        self.skip_trivia();
        let start = self.at;
        let mut end = start;
        let mut nests = false;
        while let Some(byte) = self.next() {
            match byte {
                b',' | b'\n' | b'#' | b')' | b']' | b'}' => break,
                b'"' | b'\'' => self.skip_string(byte),
                b'(' | b'[' | b'{' => {
                    let before = self.clauses.len();
                    self.at += 1;
                    self.scan(depth + 1);
                    nests |= self.clauses.len() > before;
                }
                b' ' | b'\t' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                _ if is_word(byte) => {
                    let before = self.clauses.len();
                    let word = self.word();
                    if word.of(self.text) == "with" && self.starts_clause(word) {
                        if depth >= DEPTH_MAX {
                            self.refuse();
                        } else {
                            self.clause(depth + 1);
                        }
                    }
                    nests |= self.clauses.len() > before;
                }
                _ => self.at += 1,
            }
            end = self.at;
            if self.refused.is_some() {
                break;
            }
        }
        (Span { start, end }, nests)
    }

    fn refuse(&mut self) {
        let message = format!("this is nested deeper than {DEPTH_MAX} levels");
        let place =
            Span { start: self.at.min(self.bytes.len()), end: self.at.min(self.bytes.len()) };
        self.refused.get_or_insert_with(|| Diagnostic::new(Kind::TooLarge, place, message));
    }

    /// Whether the text is a script without clauses rather than a clause.
    fn is_script(&self) -> bool {
        let mut ahead = Self::new(self.text);
        ahead.skip_trivia();
        let word = ahead.word();
        ahead.skip_trivia();
        match word.of(self.text) {
            "in" | "out" | "type" | "use" => ahead.next() != Some(b':'),
            _ => self.name.end > 0,
        }
    }
}

/// Bytes beyond ASCII count as letters, so that no span ends inside of a character.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
