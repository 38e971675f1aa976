//! The notation of `retry_config`: a number of attempts, `initial_delay`, a backoff with a cap that
//! always applies, and jitter after it.

use std::time::Duration;

use redial_core::Pretty;
use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Notation};
use crate::draft::{Draft, Written};
use crate::fields::{excerpt, inside_quotes, is_typo, known, nearest, wrong_type};
use crate::matcher::{self, Matcher, Patterns};
use crate::names::{Vocabulary, synonym};
use crate::place::Place;
use crate::tree::{Field, Node, Value};

/// The fields that no other notation has.
pub(crate) const OWN: [&str; 3] = ["initial_delay", "jitter_factor", "retry_budget"];

pub(crate) const FIELDS: [&str; 8] = [
    "attempts",
    "initial_delay",
    "max_delay",
    "backoff",
    "jitter",
    "jitter_factor",
    "retry_on",
    "retry_budget",
];

const VOCABULARY: Vocabulary =
    &[("delay", "initial_delay"), ("wait_budget", "retry_budget"), ("factor", "base")];

const STRATEGIES: [&str; 5] = ["fixed", "linear", "exponential", "fibonacci", "custom"];
const DURATION: &str = "use a duration such as \"2s\", \"1m 30s\" or {secs: 1, nanos: 0}";

pub(crate) fn read(
    node: &Node,
    path: String,
    text: &str,
    format: Format,
    patterns: &mut Patterns,
) -> (Entry, Vec<Diagnostic>) {
    let mut config = Config {
        text,
        place: Span { start: node.span.start, end: node.span.start },
        diagnostics: Vec::new(),
        draft: Draft::new(format, VOCABULARY),
        retry_on: Vec::new(),
        patterns,
    };
    if !matches!(node.value, Value::Map(_)) {
        let advice = "use a map such as {attempts: 5, initial_delay: \"1s\"}";
        config.diagnostics.push(wrong_type("retry_config", node, text, advice));
    }
    config.read(node);
    let mut read = config.draft.read(config.patterns);
    if config.diagnostics.iter().any(|found| !found.is_warning()) {
        read.refuse();
    }
    config.diagnostics.append(&mut read.diagnostics);
    let (clause, found) = (config.draft.clause(), config.diagnostics);
    let entry = Entry::new(path, Notation::RetryConfig, node.span, clause, read, &found);
    (entry.rules(config.retry_on, Vec::new()), found)
}

struct Config<'t, 'p> {
    text: &'t str,
    /// The place of options that are not written.
    place: Span,
    diagnostics: Vec<Diagnostic>,
    draft: Draft,
    retry_on: Vec<Matcher>,
    patterns: &'p mut Patterns,
}

impl Config<'_, '_> {
    fn read(&mut self, node: &Node) {
        let synonyms = |name: &str| synonym(name, &FIELDS, VOCABULARY);
        let fields =
            known(node, "retry_config", &FIELDS, synonyms, self.text, &mut self.diagnostics);
        if let Some(first) = node.fields().first() {
            self.place = first.place;
        }
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        match field("attempts") {
            Some(field) => self.attempts(field),
            None => self.draft.plain("attempts", "3", self.place),
        }
        self.backoff(field("backoff"), field("initial_delay"));
        let cap = self.duration_or(field("max_delay"), "30s");
        self.option("max_delay", cap);
        self.jitter(field("jitter"), field("jitter_factor"));
        if let Some(field) = field("retry_budget")
            && !matches!(field.value.value, Value::Null)
            && let Some(budget) = self.duration("retry_budget", &field.value)
        {
            self.option("wait_budget", (budget, Place::Whole(field.value.span)));
        }
        if let Some(field) = field("retry_on") {
            let (matchers, found) =
                matcher::of_list(&field.value, "retry_on", self.text, self.patterns);
            self.retry_on = matchers;
            self.diagnostics.extend(found);
        }
    }

    fn option(&mut self, name: &str, (value, value_place): (String, Place)) {
        let name_place = Place::Whole(value_place.of(0, value.len()));
        self.draft.option(&Written { name: name.to_owned(), name_place, value, value_place });
    }

    fn attempts(&mut self, field: &Field) {
        match &field.value.value {
            Value::Number(number) if is_whole(number) => {
                let place = Place::Whole(field.value.span);
                self.option("attempts", (number.clone(), place));
            }
            Value::Number(number) if number.starts_with('-') => {
                let message = format!("attempts: `{number}` is below zero; use 1 or more");
                self.refuse(Clause::Negative, field.value.span, message);
            }
            _ => self.wrong("attempts", &field.value, "use a whole number"),
        }
    }

    fn duration_or(&mut self, field: Option<&Field>, default: &str) -> (String, Place) {
        match field {
            Some(field) => {
                let duration = self.duration(&field.key, &field.value);
                let place = Place::Whole(field.value.span);
                (duration.unwrap_or_else(|| default.to_owned()), place)
            }
            None => (default.to_owned(), Place::Whole(self.place)),
        }
    }

    /// `"2s"` or `{secs, nanos}`, as the clause writes it.
    fn duration(&mut self, field: &str, node: &Node) -> Option<String> {
        let duration = match &node.value {
            Value::Text(text) => self.written_duration(field, text, node)?,
            Value::Map(_) => self.counted_duration(field, node)?,
            Value::Number(number) if number.starts_with('-') => {
                let message = format!("{field}: `{number}` is below zero; use 0 or more");
                self.refuse(Clause::Negative, node.span, message);
                return None;
            }
            Value::Number(number) if is_decimal(number) => {
                let message = format!(
                    "{field}: `{number}` has no unit; write \"{number}s\" or \"{number}ms\""
                );
                self.refuse(Clause::MissingUnit, node.span, message);
                return None;
            }
            _ => {
                self.wrong(field, node, DURATION);
                return None;
            }
        };
        Some(Pretty(duration).to_string())
    }

    fn written_duration(&mut self, field: &str, text: &str, node: &Node) -> Option<Duration> {
        let (kind, message) = match humantime::parse_duration(text.trim()) {
            Ok(duration) => return Some(duration),
            Err(_) if text.trim_start().starts_with('-') => {
                (Clause::Negative, format!("`{}` is below zero; use 0 or more", excerpt(text)))
            }
            Err(humantime::DurationError::NumberOverflow) if text.contains('.') => {
                let advice = "a duration is a whole number of nanoseconds";
                (Clause::TooManyDigits, format!("`{}`; {advice}", excerpt(text)))
            }
            Err(humantime::DurationError::NumberOverflow) => return Some(Duration::MAX),
            Err(humantime::DurationError::UnknownUnit { unit, .. }) if unit.is_empty() => {
                let text = excerpt(text.trim());
                (
                    Clause::MissingUnit,
                    format!("`{text}` has no unit; write \"{text}s\" or \"{text}ms\""),
                )
            }
            Err(error) => (Clause::WrongType, format!("`{}`; {DURATION} ({error})", excerpt(text))),
        };
        self.refuse(kind, node.span, format!("{field}: {message}"));
        None
    }

    fn counted_duration(&mut self, field: &str, node: &Node) -> Option<Duration> {
        let what = format!("the duration of {field}");
        let fields =
            known(node, &what, &["secs", "nanos"], |_| None, self.text, &mut self.diagnostics);
        let mut parts = [0, 0];
        for part in fields {
            let index = usize::from(part.key == "nanos");
            match &part.value.value {
                Value::Number(number) if is_whole(number) => {
                    parts[index] = number.parse().unwrap_or(u64::MAX);
                }
                Value::Number(number) if number.starts_with('-') => {
                    let message = format!("{field}: `{number}` is below zero; use 0 or more");
                    self.refuse(Clause::Negative, part.value.span, message);
                    return None;
                }
                _ => {
                    self.wrong(&part.key, &part.value, "use a whole number");
                    return None;
                }
            }
        }
        if !node.has("secs") && !node.has("nanos") {
            if node.fields().is_empty() {
                self.wrong(field, node, DURATION);
            }
            return None;
        }
        let [seconds, nanos] = parts;
        Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos)))
    }

    fn backoff(&mut self, field: Option<&Field>, initial: Option<&Field>) {
        let delay = self.duration_or(initial, "1s");
        let Some(field) = field else {
            return self.growing("exponential", delay, self.place);
        };
        let Some((name, place, settings)) = strategy(&field.value) else {
            return self.wrong("backoff", &field.value, STRATEGY);
        };
        match name {
            "fixed" => {
                self.no_settings(name, settings);
                self.option("delay", delay);
            }
            "fibonacci" => {
                self.no_settings(name, settings);
                self.growing("fibonacci", delay, place);
            }
            "exponential" => {
                self.growing("exponential", delay, place);
                self.base(settings);
            }
            "linear" => {
                self.growing("linear", delay, place);
                self.increment(settings, place);
            }
            "custom" => {
                if initial.is_some() {
                    // It has no effect, which the core warns of.
                    self.option("delay", delay);
                }
                self.custom(settings, place);
            }
            other => self.unknown_strategy(other, place),
        }
    }

    fn growing(&mut self, backoff: &str, delay: (String, Place), place: Span) {
        self.option("delay", delay);
        self.draft.plain("backoff", backoff, place);
    }

    fn unknown_strategy(&mut self, name: &str, place: Span) {
        let told = match nearest(name, &STRATEGIES) {
            Some(meant) => {
                let message = format!("backoff: `{name}` is not known; did you mean `{meant}`?");
                let inside = inside_quotes(place, self.text);
                let safe = is_typo(name, meant, &STRATEGIES);
                Diagnostic::new(Clause::WrongType, place, message).fix(inside, meant, safe)
            }
            None => {
                let message = format!("backoff: `{}`; {STRATEGY}", excerpt(name));
                Diagnostic::new(Clause::WrongType, place, message)
            }
        };
        self.diagnostics.push(told);
    }

    fn no_settings(&mut self, name: &str, settings: Option<&Node>) {
        match settings {
            None => {}
            Some(Node { value: Value::Null, .. }) => {}
            Some(node) if matches!(&node.value, Value::Map(fields) if fields.is_empty()) => {}
            Some(node) => self.wrong(name, node, "it has no settings: write its name alone"),
        }
    }

    /// The settings of a strategy, where they are a map; `null` is an empty one.
    fn settings<'n>(
        &mut self,
        name: &str,
        settings: Option<&'n Node>,
        field: &'static str,
    ) -> Option<&'n Node> {
        let node = settings?;
        match &node.value {
            Value::Null => None,
            Value::Map(_) => {
                let found = known(
                    node,
                    name,
                    &[field],
                    |name| synonym(name, &[field], VOCABULARY),
                    self.text,
                    &mut self.diagnostics,
                );
                found.first().map(|field| &field.value)
            }
            _ => {
                let advice = format!("use a map such as {{{field}: …}}");
                self.wrong(name, node, &advice);
                None
            }
        }
    }

    fn base(&mut self, settings: Option<&Node>) {
        let Some(node) = self.settings("exponential", settings, "base") else { return };
        match &node.value {
            Value::Number(number) => {
                self.option("factor", (number.clone(), Place::Whole(node.span)));
            }
            _ => self.wrong("base", node, "use a number such as 2.0 or 1.5"),
        }
    }

    fn increment(&mut self, settings: Option<&Node>, place: Span) {
        let before = self.diagnostics.len();
        match self.settings("linear", settings, "increment") {
            Some(node) => {
                if let Some(increment) = self.duration("increment", node) {
                    self.option("increment", (increment, Place::Whole(node.span)));
                }
            }
            None if self.diagnostics.len() > before => {}
            None => {
                let message =
                    "backoff: linear has no increment; write {linear: {increment: \"1s\"}}";
                self.refuse(Clause::WrongType, place, message.to_owned());
            }
        }
    }

    fn custom(&mut self, settings: Option<&Node>, place: Span) {
        let before = self.diagnostics.len();
        let Some(node) = self.settings("custom", settings, "delays") else {
            if self.diagnostics.len() == before {
                let message =
                    "backoff: custom has no delays; write {custom: {delays: [\"1s\", \"3s\"]}}";
                self.refuse(Clause::WrongType, place, message.to_owned());
            }
            return;
        };
        let Value::List(nodes) = &node.value else {
            return self.wrong("delays", node, "use a list such as [\"1s\", {secs: 3, nanos: 0}]");
        };
        let delays: Vec<_> =
            nodes.iter().filter_map(|node| self.duration("delays", node)).collect();
        self.draft.plain("backoff", format!("[{}]", delays.join(", ")), node.span);
    }

    fn jitter(&mut self, jitter: Option<&Field>, factor: Option<&Field>) {
        let on = match jitter.map(|field| &field.value) {
            None => false,
            Some(Node { value: Value::Bool(on), .. }) => *on,
            Some(node) => return self.wrong("jitter", node, "use true or false"),
        };
        let percent = match factor.map(|field| &field.value) {
            None => Some("25%".to_owned()),
            Some(node) => match &node.value {
                Value::Number(number) => self.percent(number, node.span),
                _ => return self.wrong("jitter_factor", node, "use a number from 0 to 1"),
            },
        };
        let place = factor.or(jitter).map_or(self.place, |field| field.value.span);
        if let (true, Some(percent)) = (on, percent) {
            self.draft.plain("jitter", percent, place);
        }
        if let (false, Some(field)) = (on, factor) {
            let message = "`jitter_factor` has no effect here: jitter is off; write jitter: true";
            let found = Diagnostic::new(Clause::UnusedOption, field.place, message);
            self.diagnostics.push(found);
        }
    }

    /// A fraction as a percentage, digit by digit.
    fn percent(&mut self, number: &str, span: Span) -> Option<String> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (kind, advice) = if number.starts_with('-') {
            (Clause::Negative, "is below zero; use 0 to 1")
        } else if !digits(whole) || !digits(fraction) || number == "." {
            (Clause::WrongType, "is not a plain decimal; use a number from 0 to 1")
        } else if fraction.trim_end_matches('0').len() > 9 {
            (Clause::TooManyDigits, "is too fine; use at most nine digits after the point")
        } else if !matches!(whole.trim_start_matches('0'), "" | "1")
            || (whole.ends_with('1') && !fraction.trim_end_matches('0').is_empty())
        {
            (Clause::JitterOutOfRange, "is out of range; use 0 to 1 (0.25 is plus or minus 25%)")
        } else {
            let fraction = format!("{:0<2}", fraction.trim_end_matches('0'));
            let (hundredths, rest) = fraction.split_at(2);
            let point = if rest.is_empty() { "" } else { "." };
            return Some(format!("{whole}{hundredths}{point}{rest}%"));
        };
        self.refuse(kind, span, format!("jitter_factor: `{}` {advice}", excerpt(number)));
        None
    }

    fn refuse(&mut self, kind: Clause, span: Span, message: String) {
        self.diagnostics.push(Diagnostic::new(kind, span, message));
    }

    fn wrong(&mut self, field: &str, node: &Node, advice: &str) {
        self.diagnostics.push(wrong_type(field, node, self.text, advice));
    }
}

const STRATEGY: &str = "use fixed, fibonacci, exponential, {linear: {increment: \"1s\"}}, \
                        {exponential: {base: 2.0}} or {custom: {delays: [\"1s\", \"3s\"]}}";

/// `fixed`, `{fixed: null}` or `{linear: {…}}`: the name, its place and the settings.
fn strategy(node: &Node) -> Option<(&str, Span, Option<&Node>)> {
    match &node.value {
        Value::Text(name) => Some((name, node.span, None)),
        Value::Map(fields) => match fields.as_slice() {
            [field] => Some((&field.key, field.place, Some(&field.value))),
            _ => None,
        },
        _ => None,
    }
}

fn is_decimal(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_whole(number: &str) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit())
}
