//! The notation of `retryPolicy`: a number of attempts, whole milliseconds, jitter before the cap.

use std::time::Duration;

use redial_core::clause::Kind as Clause;
use redial_core::{Backoff, Invalid, Policy};

use crate::Format;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Notation};
use crate::draft::Draft;
use crate::fields::{inside_quotes, is_typo, known, nearest, wrong_type};
use crate::matcher::Patterns;
use crate::names::{Vocabulary, synonym};
use crate::tree::{Field, Node, Value};

/// The fields that no other notation has.
pub(crate) const OWN: [&str; 4] = ["maxAttempts", "backoffStrategy", "baseDelayMs", "maxDelayMs"];

pub(crate) const FIELDS: [&str; 6] =
    ["maxAttempts", "backoff", "backoffStrategy", "baseDelayMs", "maxDelayMs", "jitter"];

const VOCABULARY: Vocabulary =
    &[("attempts", "maxAttempts"), ("max_delay", "maxDelayMs"), ("delay", "baseDelayMs")];

const STRATEGIES: [(&str, &str); 3] =
    [("FIXED", "fixed"), ("LINEAR", "linear"), ("EXPONENTIAL", "exponential")];

/// How delays grow in a `retryPolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BackoffStrategy {
    /// The same delay each time.
    #[default]
    Fixed,
    /// The base delay more each time.
    Linear,
    /// Twice the delay each time.
    Exponential,
}

/// A builder with the names and the defaults of `retryPolicy`: 3 attempts, a fixed delay of 1 s, at most
/// 300 s, no jitter.
///
/// ```
/// use redial_policy::{BackoffStrategy, RetryPolicy};
///
/// const POLICY: redial_core::Policy = RetryPolicy::new()
///     .max_attempts(5)
///     .backoff(BackoffStrategy::Exponential)
///     .base_delay(1000)
///     .max_delay(60_000)
///     .jitter(true)
///     .build();
///
/// assert_eq!(
///     POLICY.to_string(),
///     "attempts: 5, delay: 1s, backoff: exponential, jitter: [0.5, 1.5], max_delay: 1min",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a builder does nothing until it is built"]
pub struct RetryPolicy {
    max_attempts: u32,
    backoff: BackoffStrategy,
    base_delay_ms: u64,
    max_delay_ms: u64,
    jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl RetryPolicy {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            max_attempts: 3,
            backoff: BackoffStrategy::Fixed,
            base_delay_ms: 1000,
            max_delay_ms: 300_000,
            jitter: false,
        }
    }

    /// How many executions in all, at most.
    pub const fn max_attempts(self, attempts: u32) -> Self {
        Self { max_attempts: attempts, ..self }
    }

    /// How delays grow.
    pub const fn backoff(self, strategy: BackoffStrategy) -> Self {
        Self { backoff: strategy, ..self }
    }

    /// The first delay, in milliseconds.
    pub const fn base_delay(self, milliseconds: u64) -> Self {
        Self { base_delay_ms: milliseconds, ..self }
    }

    /// The longest delay, in milliseconds.
    pub const fn max_delay(self, milliseconds: u64) -> Self {
        Self { max_delay_ms: milliseconds, ..self }
    }

    /// Whether each delay is multiplied by a random factor from 0.5 to 1.5.
    pub const fn jitter(self, jitter: bool) -> Self {
        Self { jitter, ..self }
    }

    /// The policy. Panics on zero attempts; in a constant that is an error of the compiler.
    #[track_caller]
    pub const fn build(self) -> Policy {
        self.delays().attempts(self.max_attempts)
    }

    /// The policy, or an error.
    ///
    /// # Errors
    ///
    /// There must be at least one attempt.
    pub fn try_build(self) -> Result<Policy, Invalid> {
        self.delays().try_attempts(self.max_attempts)
    }

    const fn delays(self) -> Backoff {
        let base = Duration::from_millis(self.base_delay_ms);
        let delays = match self.backoff {
            BackoffStrategy::Fixed => Backoff::constant(base),
            BackoffStrategy::Linear => Backoff::linear(base, base),
            BackoffStrategy::Exponential => Backoff::exponential(base),
        };
        let delays = if self.jitter { delays.spread_jitter(0.5, 1.5) } else { delays };
        delays.max(Duration::from_millis(self.max_delay_ms))
    }
}

pub(crate) fn read(
    node: &Node,
    path: String,
    text: &str,
    format: Format,
) -> (Entry, Vec<Diagnostic>) {
    let place = node.fields().first().map_or(node.span, |field| field.place);
    let mut map =
        Map { text, place, diagnostics: Vec::new(), draft: Draft::new(format, VOCABULARY) };
    if !matches!(node.value, Value::Map(_)) {
        let advice = "use a map such as {\"maxAttempts\": 5, \"baseDelayMs\": 1000}";
        map.diagnostics.push(wrong_type("retryPolicy", node, text, advice));
    }
    map.read(node);
    let mut read = map.draft.read(&mut Patterns::default());
    if map.diagnostics.iter().any(|found| !found.is_warning()) {
        read.refuse();
    }
    map.diagnostics.append(&mut read.diagnostics);
    let (clause, found) = (map.draft.clause(), map.diagnostics);
    (Entry::new(path, Notation::RetryPolicy, node.span, clause, read, &found), found)
}

struct Map<'t> {
    text: &'t str,
    /// The place of options that are not written.
    place: Span,
    diagnostics: Vec<Diagnostic>,
    draft: Draft,
}

impl Map<'_> {
    fn read(&mut self, node: &Node) {
        let synonyms = |name: &str| synonym(name, &FIELDS, VOCABULARY);
        let fields =
            known(node, "retryPolicy", &FIELDS, synonyms, self.text, &mut self.diagnostics);
        let field = |name: &str| fields.iter().find(|field| field.key == name).copied();
        if let (Some(_), Some(second)) = (field("backoff"), field("backoffStrategy")) {
            let message = "`backoff` and `backoffStrategy` say the same; write one of them";
            let found = Diagnostic::new(Clause::DuplicateOption, second.place, message);
            self.diagnostics.push(found);
        }
        let attempts = self.number(field("maxAttempts"), "3", "use a whole number, 1 or more");
        let strategy = self.strategy(field("backoff").or(field("backoffStrategy")));
        let base = self.number(field("baseDelayMs"), "1000", MILLISECONDS);
        let max = self.number(field("maxDelayMs"), "300000", MILLISECONDS);
        let jitter = self.jitter(field("jitter"));

        self.draft.plain("attempts", attempts.0, attempts.1);
        self.draft.plain("delay", base.0 + "ms", base.1);
        if let Some((strategy, place)) = strategy {
            self.draft.plain("backoff", strategy, place);
        }
        if let Some(place) = jitter {
            self.draft.plain("jitter", "[0.5, 1.5]", place);
        }
        self.draft.plain("max_delay", max.0 + "ms", max.1);
    }

    fn number(&mut self, field: Option<&Field>, default: &str, advice: &str) -> (String, Span) {
        let Some(field) = field else { return (default.to_owned(), self.place) };
        let span = field.value.span;
        match &field.value.value {
            Value::Number(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                return (number.clone(), span);
            }
            Value::Number(number) if number.starts_with('-') => {
                let least = if field.key == "maxAttempts" { 1 } else { 0 };
                let message =
                    format!("{}: `{number}` is below zero; use {least} or more", field.key);
                self.diagnostics.push(Diagnostic::new(Clause::Negative, span, message));
            }
            _ => self.diagnostics.push(wrong_type(&field.key, &field.value, self.text, advice)),
        }
        (default.to_owned(), span)
    }

    fn strategy(&mut self, field: Option<&Field>) -> Option<(&'static str, Span)> {
        const ADVICE: &str = "use FIXED, LINEAR or EXPONENTIAL";
        let field = field?;
        let span = field.value.span;
        let Value::Text(name) = &field.value.value else {
            self.diagnostics.push(wrong_type(&field.key, &field.value, self.text, ADVICE));
            return None;
        };
        if let Some((_, ours)) = STRATEGIES.iter().find(|(theirs, _)| theirs == name) {
            return Some((*ours, span)).filter(|(ours, _)| *ours != "fixed");
        }
        let names = STRATEGIES.map(|(theirs, _)| theirs);
        let told = match nearest(name, &names) {
            Some(meant) => {
                let message =
                    format!("{}: `{name}` is not known; did you mean `{meant}`?", field.key);
                let inside = inside_quotes(span, self.text);
                let safe = is_typo(name, meant, &names);
                Diagnostic::new(Clause::WrongType, span, message).fix(inside, meant, safe)
            }
            None => wrong_type(&field.key, &field.value, self.text, ADVICE),
        };
        self.diagnostics.push(told);
        None
    }

    /// Where jitter is turned on, if it is.
    fn jitter(&mut self, field: Option<&Field>) -> Option<Span> {
        let node = &field?.value;
        match node.value {
            Value::Bool(on) => on.then_some(node.span),
            _ => {
                self.diagnostics.push(wrong_type("jitter", node, self.text, "use true or false"));
                None
            }
        }
    }
}

const MILLISECONDS: &str = "use a whole number of milliseconds";
