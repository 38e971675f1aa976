//! A clause assembled from pieces of a file. The core parses the clause, and its diagnostics are mapped
//! back to where the pieces were written.
//!
//! Every notation becomes a policy this way, so there is one parser, one set of checks and one
//! meaning for all of them.

use std::time::Duration;

use redial_core::Policy;
use redial_core::clause::{self, Kind as Clause, OPTIONS};

use crate::Format;
use crate::diagnostic::{Diagnostic, Span};
use crate::fields::is_typo;
use crate::matcher::{self, Matcher, Patterns};
use crate::names::{Vocabulary, is_unambiguous};
use crate::place::Place;

/// An option, and where its name and its value were written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) name_place: Place,
    pub(crate) value: String,
    pub(crate) value_place: Place,
}

/// A clause, and where each piece of it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    clause: String,
    pieces: Vec<Piece>,
    format: Format,
    vocabulary: Vocabulary,
    /// Whether the clause is the text of the file itself, so that whole options can be dropped.
    verbatim: bool,
}

#[derive(Clone, Debug)]
struct Piece {
    start: usize,
    end: usize,
    place: Place,
}

/// What was read from a draft.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) policy: Option<Policy>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry_on: Vec<Matcher>,
    pub(crate) stop_on: Vec<Matcher>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Read {
    /// Drops the policy of a draft that is incomplete, because a piece of it could not be read, and the
    /// findings that come of what is missing.
    pub(crate) fn refuse(&mut self) {
        self.policy = None;
        self.diagnostics.retain(|found| !found.is_warning() && found.kind != Clause::Syntax.into());
    }
}

impl Draft {
    pub(crate) fn new(format: Format, vocabulary: Vocabulary) -> Self {
        Self { clause: String::new(), pieces: Vec::new(), format, vocabulary, verbatim: false }
    }

    /// A clause that is written in the file.
    pub(crate) fn verbatim(clause: &str, place: Place, format: Format) -> Self {
        let mut draft = Self::new(format, &[]);
        draft.verbatim = true;
        draft.push(clause, place);
        draft
    }

    /// The clause so far.
    pub(crate) fn clause(&self) -> &str {
        &self.clause
    }

    pub(crate) fn option(&mut self, written: &Written) {
        self.item(&written.name, written.name_place.clone());
        self.clause.push_str(": ");
        self.push(&written.value, written.value_place.clone());
    }

    /// Adds a text that should have been an option.
    pub(crate) fn item(&mut self, text: &str, place: Place) {
        if !self.clause.is_empty() {
            self.clause.push_str(", ");
        }
        self.push(text, place);
    }

    /// Adds an option whose name and value have the same place in the file.
    pub(crate) fn plain(&mut self, name: &str, value: impl Into<String>, place: Span) {
        self.option(&Written {
            name: name.to_owned(),
            name_place: Place::Whole(place),
            value: value.into(),
            value_place: Place::Whole(place),
        });
    }

    fn push(&mut self, text: &str, place: Place) {
        let start = self.clause.len();
        self.clause.push_str(text);
        self.pieces.push(Piece { start, end: self.clause.len(), place });
    }

    /// The options as they are written, with their places.
    pub(crate) fn options(&self) -> Vec<Written> {
        let part = |span: Span| {
            let place = match self.piece(span.start) {
                Some(piece) => piece.place.clone().from(span.start - piece.start),
                None => Place::Whole(self.locate(span)),
            };
            (span.of(&self.clause).to_owned(), place)
        };
        let written = |(name, value)| {
            let (name, name_place) = part(name);
            let (value, value_place) = part(value);
            Written { name, name_place, value, value_place }
        };
        clause::options(&self.clause).map(written).collect()
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.start <= at);
        after.checked_sub(1).map(|last| &self.pieces[last])
    }

    /// Where `span` of the clause is in the file.
    fn locate(&self, span: Span) -> Span {
        let Some(first) = self.piece(span.start) else { return span };
        let whole = first.place.of(span.start - first.start, span.end.min(first.end) - first.start);
        match self.piece(span.end.saturating_sub(1)) {
            Some(last) if last.start > first.start => {
                let end = last.place.of(0, span.end.min(last.end) - last.start).end;
                Span { start: whole.start, end: end.max(whole.end) }
            }
            _ => whole,
        }
    }

    /// Parses the clause, by the core.
    pub(crate) fn read(&self, patterns: &mut Patterns) -> Read {
        let reading = clause::read_call(&self.clause);
        let mut diagnostics: Vec<_> =
            reading.diagnostics().iter().map(|found| self.translated(found)).collect();
        if let (Some(last), more @ 1..) =
            (diagnostics.last_mut(), reading.found() - reading.diagnostics().len())
        {
            last.note = Some(format!("and {more} more after this one"));
        }
        let mut rules = [Vec::new(), Vec::new()];
        for option in reading.call_options() {
            let list = match option.name() {
                "retry_on" => 0,
                "stop_on" => 1,
                _ => continue,
            };
            let (matchers, found) =
                matcher::parse(&self.clause, option.value(), option.name(), patterns);
            rules[list] = matchers;
            diagnostics.extend(found.into_iter().map(|mut found| {
                found.span = self.locate(found.span);
                if let Some(fix) = &mut found.fix {
                    fix.span = self.locate(fix.span);
                }
                found
            }));
        }
        let [retry_on, stop_on] = rules;
        let refused = diagnostics.iter().any(|found| !found.is_warning());
        let policy = reading.policy().filter(|_| !refused);
        Read { policy, timeout: reading.timeout(), retry_on, stop_on, diagnostics }
    }

    /// A diagnostic of the core, at its place in the file and with the names of the notation.
    fn translated(&self, found: &clause::Diagnostic) -> Diagnostic {
        let span = self.locate(found.span());
        let message = self.message(found);
        let diagnostic = Diagnostic::new(found.kind(), span, message);
        if let Some(meant) = found.suggestion() {
            let written = found.span().of(&self.clause);
            let names = clause::options(&self.clause).map(|(name, _)| name.of(&self.clause));
            let is_name = found.kind() == Clause::UnknownOption;
            let taken = is_name && names.into_iter().any(|name| name == meant);
            // Values are few and foreign names of options are known; other suggestions are guesses.
            let safe = !is_name || is_unambiguous(written) || is_typo(written, meant, &OPTIONS);
            // A quote cannot be inserted into a quoted string of a file.
            let ends_string = self.format != Format::Text && matches!(meant, "\"" | "'");
            return if taken || ends_string {
                diagnostic
            } else {
                diagnostic.fix(span, self.quoted(found.span(), meant), safe)
            };
        }
        let place = found.span();
        match found.kind() {
            Clause::Syntax if self.verbatim && place.of(&self.clause) == "," => {
                diagnostic.fix(span, "", true)
            }
            // A backoff that the default cap keeps from growing is not dropped: it was meant to grow.
            Clause::UnusedOption
                if self.verbatim && !place.of(&self.clause).starts_with("backoff") =>
            {
                let option = self.with_comma(place);
                // The option may be what was meant, for a backoff that a flag brings: the fix is shown,
                // and never applied. It is not even shown where it would drop a comment.
                match option.of(&self.clause).contains('#') {
                    true => diagnostic,
                    false => diagnostic.fix(self.locate(option), "", false),
                }
            }
            _ => diagnostic,
        }
    }

    /// An option and the comma that would be left over without it.
    fn with_comma(&self, option: Span) -> Span {
        let options: Vec<_> = clause::options(&self.clause).collect();
        let at = options.iter().position(|(name, _)| name.start == option.start);
        match at {
            Some(at) if at > 0 => Span { start: options[at - 1].1.end, end: option.end },
            Some(at) if at + 1 < options.len() => {
                Span { start: option.start, end: options[at + 1].0.start }
            }
            _ => option,
        }
    }

    /// In quotes, where the file has no string there and the format needs them.
    fn quoted(&self, span: Span, text: &str) -> String {
        let bare =
            matches!(self.piece(span.start).map(|piece| &piece.place), Some(Place::Whole(_)));
        match self.format {
            Format::Json | Format::Toml if bare => format!("\"{text}\""),
            _ => text.to_owned(),
        }
    }

    /// The message with the option names of the notation.
    fn message(&self, found: &clause::Diagnostic) -> String {
        let mut message = found.to_string();
        if !self.vocabulary.is_empty() {
            message = without_our_advice(found.kind(), message);
        }
        for (ours, theirs) in self.vocabulary {
            for (before, after) in [("", ":"), ("`", "`"), (" ", ":")] {
                let ours = format!("{before}{ours}{after}");
                if before.is_empty() && !message.starts_with(&ours) {
                    continue;
                }
                message = message.replace(&ours, &format!("{before}{theirs}{after}"));
            }
        }
        message
    }
}

/// Without advice that can be followed in a clause only.
fn without_our_advice(kind: Clause, message: String) -> String {
    match (kind, message.rsplit_once("; ")) {
        (
            Clause::ManyRetries | Clause::CapErasesJitter | Clause::JitterAboveCap,
            Some((finding, _)),
        ) => finding.to_owned(),
        _ => message.replace(", or unlimited", ""),
    }
}
