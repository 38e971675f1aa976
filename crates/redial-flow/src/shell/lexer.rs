//! Finds the references of a line, and what quoting they stand in.

mod commands;
mod here;
mod quoting;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use here::Here;

use super::{Piece, Shell, Use};
use crate::argument_space::STRING_MAX;
use crate::interpreter::{Refused, Word};
use crate::reference::name_at;
use crate::template::{BadTemplate, BadTemplateKind};

/// Reads a line: as far as its quoting is clear, and with all that is wrong with it, in the order of its bytes.
pub(super) fn lex(line: &str, roots: &[&str]) -> (Shell, Vec<BadTemplate>) {
    let known: HashSet<&str> = roots.iter().copied().collect();
    let unread = || Shell { pieces: vec![Piece::Text(line.to_owned())], uses: Vec::new() };
    if !mentions(line.as_bytes(), &known) {
        return (unread(), Vec::new());
    }
    if line.len() > STRING_MAX {
        let message =
            format!("the line has {} bytes, and the system takes {STRING_MAX}", line.len());
        let remedy = "put it in a file, and run that with arguments";
        return (unread(), vec![unclear(0..0, message, remedy)]);
    }
    let mut output = Output { roots, known, ..Output::default() };
    match Lexer::new(line.as_bytes(), &mut output).commands(false) {
        Ok(()) => output.check(),
        // What follows it cannot be read.
        Err(bad) => output.found.push(bad),
    }
    let mut found = std::mem::take(&mut output.found);
    found.sort_by_key(|bad| bad.span.start);
    // A value in the words of two commands, as in `eval $(eval ${x})`, is told once, and so is a reference without an end.
    found.dedup_by_key(|bad| bad.span.start);
    (output.finish(line), found)
}

fn unclear(
    span: Range<usize>,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> BadTemplate {
    let (message, remedy) = (message.into(), remedy.into());
    BadTemplate { kind: BadTemplateKind::UnclearShell, span, message, remedy }
}

/// Whether a `${` is ours, or is one that we leave to the shell because of its two dollars.
fn mentions(text: &[u8], known: &HashSet<&str>) -> bool {
    let braces = text.windows(2).enumerate().filter(|(_, two)| two == b"${").map(|(at, _)| at);
    braces.into_iter().any(|at| {
        let doubled = at > 0 && text[at - 1] == b'$';
        doubled || !matches!(claim(text, at + 2, known), Claim::Shells)
    })
}

/// Who owns `${`, by the name after it.
enum Claim {
    /// A root, and where its name ends.
    Ours(String, usize),
    /// A root, and then an operator of the shell.
    Mixed(String),
    /// A name that is no root, and a dot.
    Unknown(String),
    Shells,
}

fn claim(text: &[u8], at: usize, known: &HashSet<&str>) -> Claim {
    let Some((name, end)) = name_at(text, at) else { return Claim::Shells };
    if known.contains(name.as_str()) {
        return Claim::Ours(name, end);
    }
    // `${item-none}` is meant for the shell, which has no such variable.
    let dashes = name.bytes().take(256).enumerate().filter(|(_, byte)| *byte == b'-');
    for (dash, _) in dashes {
        if known.contains(&name[..dash]) {
            return Claim::Mixed(name[..dash].to_owned());
        }
    }
    let variable = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match text.get(end) {
        Some(b'.') if variable && !name.starts_with(|first: char| first.is_ascii_digit()) => {
            Claim::Unknown(name)
        }
        _ => Claim::Shells,
    }
}

/// What is found, and where the text changes.
#[derive(Default)]
struct Output<'t> {
    roots: &'t [&'t str],
    known: HashSet<&'t str>,
    uses: Vec<Use>,
    variables: HashMap<String, String>,
    edits: Vec<(Range<usize>, Piece)>,
    /// Variables that the line itself sets.
    assigned: HashSet<String>,
    /// `declare -i`: whatever is assigned is evaluated.
    integers: bool,
    /// A program that executes the standard input of the line.
    executes_stdin: Option<&'static str>,
    /// What is wrong and does not keep the rest of the line from being read.
    found: Vec<BadTemplate>,
}

impl Output<'_> {
    /// What can only be said once everything is read.
    fn check(&mut self) {
        for one in &self.uses {
            let span = one.reference.span();
            let root = one.reference.root();
            if one.words && !one.alone {
                self.found.push(BadTemplate::reference(
                    span,
                    "`:words` stands for words of a command, and here is none",
                    "let it stand alone between blanks, and not in quotes",
                ));
            } else if one.reference.path().is_empty() && self.assigned.contains(root) {
                self.found.push(BadTemplate::reference(
                    span,
                    format!(
                        "the line sets a variable `{root}`, and `${{{root}}}` is a value of the flow"
                    ),
                    format!("write `${root}` or `$${{{root}}}` for the variable, or rename it"),
                ));
            }
        }
        if let Some(one) = self.uses.first().filter(|_| self.integers) {
            self.found.push(nested(
                one.reference.span(),
                "declare -i",
                "some shells evaluate what is assigned to such a variable; leave the `-i` out",
            ));
        }
    }

    fn finish(mut self, line: &str) -> Shell {
        self.edits.sort_by_key(|(span, _)| span.start);
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut done = 0;
        for (span, piece) in self.edits {
            // Spans begin and end at ASCII, and do not overlap.
            text.push_str(line.get(done..span.start).unwrap_or_default());
            done = span.end;
            match piece {
                Piece::Text(new) => text.push_str(&new),
                value @ Piece::Value(_) => {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                    pieces.push(value);
                }
            }
        }
        text.push_str(line.get(done..).unwrap_or_default());
        pieces.push(Piece::Text(text));
        Shell { pieces, uses: self.uses }
    }
}

fn nested(span: Range<usize>, program: &str, remedy: &'static str) -> BadTemplate {
    Refused { word: 0, program: program.to_owned(), remedy }.into_error(span)
}

/// The program of a line that executes what the line is given on standard input, as far as the line can be read.
pub(super) fn executes_stdin(line: &str, roots: &[&str]) -> Option<&'static str> {
    let known: HashSet<&str> = roots.iter().copied().collect();
    let mut output = Output { roots, known, ..Output::default() };
    // What is wrong with the line is told where it is read to be run.
    let _ = Lexer::new(line.as_bytes(), &mut output).commands(false);
    output.executes_stdin
}

/// How deep `$(…)`, `${x:-…}` and the like may stand in each other.
const DEPTH_MAX: usize = 64;

struct Lexer<'t, 'o, 'r> {
    text: &'t [u8],
    /// Where each byte stands in the line, if this is what backquotes held.
    origin: Option<&'t [usize]>,
    at: usize,
    end: usize,
    depth: usize,
    /// How many `((` are open.
    arithmetic: usize,
    /// Why no value may stand here.
    forbidden: Option<&'static str>,
    /// Here-documents whose text begins after the next newline.
    pending: Vec<Here>,
    /// The same, of what this is inside of.
    pending_outside: usize,
    output: &'o mut Output<'r>,
}

/// A word, and what the rest of the lexer wants to know about it.
#[derive(Default)]
struct Lexed {
    word: Word,
    /// How much of the text stands before the first quote or value.
    unquoted: Option<usize>,
    /// Our values in it, apart from those in `$(…)`.
    direct: Vec<usize>,
    begins_with_value: bool,
}

impl Lexed {
    fn quoted(&mut self) {
        self.unquoted.get_or_insert(self.word.text.len());
    }

    fn unknown(&mut self) {
        self.quoted();
        self.word.text.push(0);
    }

    fn push(&mut self, byte: u8) {
        // A NUL stands for what is not known.
        self.word.text.push(if byte == 0 { 1 } else { byte });
    }

    /// The text, if it has no quotes: only then it can be a word of the grammar.
    fn keyword(&self) -> &[u8] {
        if self.unquoted.is_none() { &self.word.text } else { b"" }
    }
}

type Lexing<T = ()> = Result<T, BadTemplate>;

impl<'t, 'o, 'r> Lexer<'t, 'o, 'r> {
    fn new(text: &'t [u8], output: &'o mut Output<'r>) -> Self {
        Self {
            text,
            origin: None,
            at: 0,
            end: text.len(),
            depth: 0,
            arithmetic: 0,
            forbidden: None,
            pending: Vec::new(),
            pending_outside: 0,
            output,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.text[at])
    }

    fn looking_at(&self, bytes: &[u8]) -> bool {
        self.text[self.at..self.end].starts_with(bytes)
    }

    /// Where a place of this text stands in the line.
    fn place(&self, at: usize) -> usize {
        self.origin.map_or(at, |origin| origin[at])
    }

    fn span(&self, from: usize, to: usize) -> Range<usize> {
        self.place(from)..self.place(to)
    }

    fn here(&self) -> Range<usize> {
        self.span(self.at, (self.at + 1).min(self.end))
    }

    /// Tells what is wrong, and goes on.
    fn tell(&mut self, bad: BadTemplate) {
        self.output.found.push(bad);
    }

    fn unclosed(&self, from: usize, what: &str) -> BadTemplate {
        let span = self.span(from, (from + 1).min(self.end));
        unclear(span, format!("nothing closes this {what}"), "close it")
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Lexing<T>) -> Lexing<T> {
        if self.depth == DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} levels of `$(…)` and `${{…}}`");
            return Err(unclear(self.here(), message, "give a part of it a line of its own"));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }
}
