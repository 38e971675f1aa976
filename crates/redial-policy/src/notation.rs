//! What the reader of a larger file is built of, in which policies are a part: a workflow whose steps have one each.
//!
//! A [`Source`] is the text; [`Source::parse`] gives its tree, in which every [`Node`] knows its place. [`Policies`]
//! are the policies in it: those that have a name, and those that are written where they are used.
//!
//! ```
//! use redial_policy::notation::{Policies, Source};
//! use redial_policy::Format;
//!
//! let text = "
//! policies:
//!   fetch: 'retry: 4, delay: 100ms'
//! steps:
//!   - policy: {extends: fetch, attempts: 2}
//!   - policy: fetsh
//! ";
//! let source = Source::new(text, Format::Yaml);
//! let roots = source.parse()?;
//! let (file, steps) = (&roots[0].fields()[0].value, &roots[0].fields()[1].value);
//! let redial_policy::notation::Value::List(steps) = &steps.value else { unreachable!() };
//!
//! let mut policies = Policies::new(source);
//! policies.named(file);
//! let first = policies.used(&steps[0].fields()[0].value);
//! let second = policies.used(&steps[1].fields()[0].value);
//!
//! let (resolved, found) = policies.finish();
//! assert_eq!(resolved.of(first).unwrap().clause, "attempts: 2, delay: 100ms");
//! assert!(resolved.of(second).is_none());
//! assert_eq!(found[0].message, "policy: there is no policy `fetsh`; did you mean `fetch`?");
//! # Ok::<(), redial_policy::Diagnostic>(())
//! ```

use std::ops::Range;
use std::time::Duration;

use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::condition::{BadCondition, Condition, delay_from};
use crate::diagnostic::{Diagnostic, Kind, Span};
use crate::document::{Entry, Notation, TEXT_MAX};
use crate::draft::{Draft, Written};
use crate::fields::{self, excerpt, is_plain};
use crate::lookalike;
use crate::matcher::Patterns;
use crate::names::{Vocabulary, synonym_in};
use crate::place::Place;
use crate::{foreign, retry_config, tree};

pub use crate::fields::nearest;
pub use crate::file::{Policies, Resolved, Used};
pub use crate::fix::{apply_fixes, has_no_more_errors, safe_fixes};
pub use crate::tree::{Field, Node, Value};

/// A text, and how it is put together.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    pub(crate) text: &'t str,
    pub(crate) format: Format,
    pub(crate) client: Option<&'t str>,
}

impl<'t> Source<'t> {
    /// A text in YAML, TOML or JSON.
    pub fn new(text: &'t str, format: Format) -> Self {
        Self { text, format, client: None }
    }

    /// As this implementation of another system reads it, see [`System::clients`](crate::System::clients).
    #[must_use]
    pub fn client(self, client: Option<&'t str>) -> Self {
        Self { client, ..self }
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The trees of its documents: one, or as many as a stream of YAML has. [`Format::Text`] has none.
    ///
    /// # Errors
    ///
    /// If it is larger than [`TEXT_MAX`], nested too deeply, or not well-formed.
    pub fn parse(&self) -> Result<Vec<Node>, Diagnostic> {
        let text = self.text;
        if text.len() > TEXT_MAX {
            let message =
                format!("this text has {} bytes; at most {TEXT_MAX} are read", text.len());
            return Err(Diagnostic::new(Kind::TooLarge, Span { start: 0, end: 0 }, message));
        }
        if let Some(at) = text.find('\0') {
            let span = Span { start: at, end: at + 1 };
            return Err(Diagnostic::new(
                Clause::Syntax,
                span,
                "there is a NUL byte here; only text can be read",
            ));
        }
        tree::parse(text, self.format).map_err(|mut found| {
            lookalike::name(&mut found, text, true);
            found
        })
    }

    /// The fields of a map that have one of these names, the first of each. Others are reported with the nearest
    /// name, unless they begin with `x-`; `elsewhere` are names that other systems give them.
    pub fn known<'n>(
        &self,
        node: &'n Node,
        what: &str,
        names: &[&str],
        elsewhere: &[(&str, &'static str)],
        found: &mut Vec<Diagnostic>,
    ) -> Vec<&'n Field> {
        self.known_besides(|_| false, node, what, names, elsewhere, found)
    }

    /// The same, but fields for which `others` is true are ignored.
    pub fn known_besides<'n>(
        &self,
        others: impl Fn(&str) -> bool,
        node: &'n Node,
        what: &str,
        names: &[&str],
        elsewhere: &[(&str, &'static str)],
        found: &mut Vec<Diagnostic>,
    ) -> Vec<&'n Field> {
        let synonyms = |name: &str| synonym_in(name, elsewhere);
        let others = |key: &str| crate::file::is_extension(key) || others(key);
        fields::known_besides(others, node, what, names, synonyms, self.text, found)
    }

    /// A value of another kind than the field takes.
    pub fn wrong_type(&self, field: &str, node: &Node, advice: &str) -> Diagnostic {
        fields::wrong_type(field, node, self.text, advice)
    }

    /// A name that is none of `names`: `needs: there is no step `lst`; did you mean `list`?`, with the fix.
    pub fn unknown(
        &self,
        kind: impl Into<Kind>,
        span: Span,
        problem: &str,
        name: &str,
        names: &[&str],
    ) -> Diagnostic {
        let shown = excerpt(name);
        match nearest(name, names) {
            Some(meant) => {
                let message = format!("{problem} `{shown}`; did you mean `{meant}`?");
                let place = fields::inside_quotes(span, self.text);
                let found = Diagnostic::new(kind, span, message);
                let safe = fields::is_typo(name, meant, names);
                // Only where the text is the name itself, and not an alias or an escape of it.
                if place.of(self.text) == name { found.fix(place, meant, safe) } else { found }
            }
            None => {
                let first: Vec<_> = names.iter().take(8).map(|name| excerpt(name)).collect();
                let more = if names.len() > first.len() { " …" } else { "" };
                let there = match first.is_empty() {
                    true => String::new(),
                    false => format!("; there is {}{more}", first.join(", ")),
                };
                Diagnostic::new(kind, span, format!("{problem} `{shown}`{there}"))
            }
        }
    }

    /// Where the bytes of a string are in the text.
    pub fn places(&self, node: &Node) -> Places {
        match &node.value {
            Value::Text(value) => {
                let place = Place::of_string(value, node, self.text, self.format);
                Places { place, length: value.len() }
            }
            _ => Places { place: Place::Whole(node.span), length: 0 },
        }
    }

    /// A duration as a clause has it: `500ms`, `1m30s`. `field` is one of `timeout`, `within`, `rate`, `recovery`
    /// and `max_retry_after`.
    pub fn duration(
        &self,
        field: &str,
        node: &Node,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Duration> {
        let value = fields::scalar(node, self.text, self.format);
        let Some((value, place)) = value.filter(|(value, _)| is_plain(value)) else {
            found.push(self.wrong_type(field, node, DURATION));
            return None;
        };
        self.duration_at(field, &value, place, found)
    }

    /// The same of a part of a string.
    pub fn duration_in(
        &self,
        field: &str,
        node: &Node,
        bytes: Range<usize>,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Duration> {
        let (value, place) = fields::scalar(node, self.text, self.format)?;
        let part = value.get(bytes.clone()).filter(|part| is_plain(part));
        let Some(part) = part else {
            found.push(self.wrong_type(field, node, DURATION));
            return None;
        };
        self.duration_at(field, part, place.from(bytes.start), found)
    }

    /// The same where it stands in the text as it is: an option of a call in a script.
    pub fn duration_of(
        &self,
        field: &str,
        span: Span,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Duration> {
        self.duration_at(field, span.of(self.text), Place::at(span.start), found)
    }

    /// The policy of a call in a script, by the options about retrying among those that it has: where the name of each is,
    /// and where its value.
    pub fn policy_of(
        &self,
        name: &str,
        options: &[(Span, Span)],
        found: &mut Vec<Diagnostic>,
    ) -> Entry {
        let mut draft = Draft::new(self.format, &[]);
        for (name, value) in options {
            draft.option(&Written {
                name: name.of(self.text).to_owned(),
                name_place: Place::at(name.start),
                value: value.of(self.text).to_owned(),
                value_place: Place::at(value.start),
            });
        }
        let whole = match (options.first(), options.last()) {
            (Some((first, _)), Some((_, last))) => Span { start: first.start, end: last.end },
            _ => Span { start: 0, end: 0 },
        };
        let mut read = draft.read(&mut Patterns::default());
        let told = std::mem::take(&mut read.diagnostics);
        let clause = Notation::Clause;
        let entry = Entry::new(name.to_owned(), clause, whole, draft.clause(), read, &told);
        found.extend(told);
        entry
    }

    fn duration_at(
        &self,
        field: &str,
        value: &str,
        place: Place,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Duration> {
        let vocabulary: Vocabulary = match field {
            "within" => &[("timeout", "within")],
            "rate" => &[("timeout", "rate")],
            "throttle" => &[("timeout", "throttle")],
            "cache" => &[("timeout", "cache")],
            "recovery" => &[("timeout", "recovery")],
            "max_retry_after" => &[("timeout", "max_retry_after")],
            _ => &[],
        };
        let mut draft = Draft::new(self.format, vocabulary);
        draft.option(&Written {
            name: "timeout".to_owned(),
            name_place: place.clone(),
            value: value.to_owned(),
            value_place: place,
        });
        let read = draft.read(&mut Patterns::default());
        let errors = read.diagnostics.into_iter().filter(|found| !found.is_warning());
        found.extend(errors);
        read.timeout
    }
}

/// Where the bytes of a string are in the text, whatever its quotes, escapes and indentation.
#[derive(Clone, Debug)]
pub struct Places {
    place: Place,
    length: usize,
}

impl Places {
    /// Where these bytes of the string are; of a value that is no string, where all of it is.
    pub fn of(&self, bytes: Range<usize>) -> Span {
        self.place.of(bytes.start.min(self.length), bytes.end.min(self.length))
    }
}

const DURATION: &str = "use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)";

impl<'n> Policies<'_, 'n> {
    /// A condition on how an attempt ended, as `--retry-on` takes it.
    pub fn condition(&mut self, field: &str, node: &'n Node) -> Option<String> {
        self.checked(field, node, |text, patterns| Condition::read(text, patterns).map(drop))
    }

    /// Where a command prints how long to wait, as `--delay-from` takes it.
    pub fn delay_from(&mut self, field: &str, node: &'n Node) -> Option<String> {
        self.checked(field, node, |text, patterns| delay_from(text, patterns).map(drop))
    }

    fn checked(
        &mut self,
        field: &str,
        node: &Node,
        read: impl Fn(&str, &mut Patterns) -> Result<(), BadCondition>,
    ) -> Option<String> {
        let source = self.source;
        let Value::Text(text) = &node.value else {
            let advice = "use a condition such as \"exit:6\"";
            self.file.found.push(source.wrong_type(field, node, advice));
            return None;
        };
        match read(text, &mut self.file.patterns) {
            Ok(()) => Some(text.clone()),
            Err(bad) => {
                let span = source.places(node).of(bad.span.start..bad.span.end);
                let message = format!("{field}: {}", bad.message);
                self.file.found.push(Diagnostic::new(bad.kind, span, message));
                None
            }
        }
    }

    /// A policy in the words of another system, such as `curl --retry 5` or a map with `initialBackoff`, or a law that
    /// redial has [written down](Entry::written): the text that it is read from again. None if it is ours.
    pub fn foreign(&mut self, node: &'n Node) -> Option<String> {
        let Source { text, format, .. } = self.source;
        if let Value::Text(words) = &node.value
            && foreign::is_written(words)
        {
            return Some(words.clone());
        }
        let document = foreign::only(node, text, format)?;
        self.file.found.extend(document.diagnostics().iter().cloned().map(|mut found| {
            if matches!(node.value, Value::Text(_)) {
                found.span = node.span;
            }
            found
        }));
        let written = document.policies().next().and_then(Entry::written);
        Some(written.unwrap_or_default())
    }

    /// A `retry_config`, or `retry`, of another system's workflow, with the meaning that it has there.
    pub fn retry_config(&mut self, node: &'n Node) -> Entry {
        let Source { text, format, .. } = self.source;
        let (entry, found) =
            retry_config::read(node, String::new(), text, format, &mut self.file.patterns);
        self.file.found.extend(found);
        entry
    }
}
