//! A policy in one line of text: the clause.
//!
//! ```text
//! retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full, within: 30s
//! ```
//!
//! | option | value | without it |
//! |---|---|---|
//! | `retry` or `attempts` | a number, or `unlimited`; `retry: 4` is `attempts: 5` | 1 attempt |
//! | `delay` | a duration: the first delay | none |
//! | `backoff` | `fixed`, `linear`, `exponential`, `fibonacci`, `decorrelated`, or a list such as `[1s, 3s, 7s]` | `fixed` |
//! | `factor` | a number of at least 1, for `exponential` | 2 |
//! | `increment` | a duration, for `linear` | the delay |
//! | `min_delay`, `max_delay` | a duration; `max_delay: none` lifts the default cap | see below |
//! | `jitter` | `none`, `full`, `equal`, `25%` (more or less), `+50%` (on top), or `[0.5, 1.5]` (times) | none |
//! | `within` | a duration: no attempt starts after it | no limit |
//! | `wait_budget` | a duration: the sum of all waits | no limit |
//!
//! `min_delay`, `max_delay` and `jitter` may repeat and apply in the order written; every other
//! option stands at most once, in any order. Durations are numbers with units, `ns us ms s min h
//! d` and `m` for minutes, also together: `1m30s`. Text after `#` is a comment, line breaks are
//! white space, and there is no comma at the end.
//!
//! Where the source grows and no `max_delay` is written, there is a cap of 30 s before all
//! modifiers, or of the delay itself where that is longer. A list goes on with the first
//! `max_delay`, or its last entry where there is none; a decorrelated source is capped by it, or
//! by that default.
//!
//! [`policy!`](crate::policy!) reads a clause when the program is compiled, `"…".parse()` when it
//! runs, and [`read`] reports everything there is to say about it.

mod check;
mod diagnostic;
mod lookalike;
mod option;
mod print;
mod reader;
mod scan;

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use diagnostic::Diagnostics;
pub use diagnostic::{Diagnostic, Kind, Span};
pub use lookalike::Lookalike;
use option::{CALL_NAMES, alike};
use reader::Reader;
use scan::{scan_value, skip_trivia, skip_word};

use crate::policy::Policy;
use crate::text::Text;

/// Reads the timing part of a clause, and keeps every finding.
///
/// ```
/// use redial_core::clause;
///
/// let reading = clause::read("retry: 3, dely: 1s, jitter: 150%");
/// assert!(reading.policy().is_none());
/// let names: Vec<_> = reading.diagnostics().iter().map(|found| found.kind().name()).collect();
/// assert_eq!(names, ["unknown-option", "jitter-out-of-range"]);
/// ```
#[inline]
pub const fn read(clause: &str) -> Reading {
    Reading::of(clause, false)
}

/// The same where the options of a call may stand too: `timeout`, `retry_on`, `stop_on`,
/// `fallback` and `on_error`. The timeout is a duration like the others; what the rest means is
/// for the caller to read: see [`Reading::call_options`].
///
/// ```
/// use redial_core::clause;
///
/// let text = "retry: 3, timeout: 5s";
/// assert!(clause::read(text).policy().is_none());
/// let reading = clause::read_call(text);
/// assert!(reading.policy().is_some());
/// assert_eq!(reading.call_options().next().unwrap().value().of(text), "5s");
/// ```
#[inline]
pub const fn read_call(clause: &str) -> Reading {
    Reading::of(clause, true)
}

/// The options that are written in a clause, in order, whatever their names: where each name is and
/// where its value. What is not of the form `name: value` is passed over.
///
/// ```
/// use redial_core::clause;
///
/// let text = "retry: 3, # three times\n backoff: [1s, 3s]";
/// let written: Vec<_> = clause::options(text).map(|(name, value)| (name.of(text), value.of(text))).collect();
/// assert_eq!(written, [("retry", "3"), ("backoff", "[1s, 3s]")]);
/// ```
#[inline]
pub fn options(clause: &str) -> impl Iterator<Item = (Span, Span)> {
    let bytes = clause.as_bytes();
    let mut at = 0;
    core::iter::from_fn(move || {
        while at < bytes.len() {
            let start = skip_trivia(bytes, at);
            let end = skip_word(bytes, start);
            let colon = skip_trivia(bytes, end);
            let named = end > start && bytes.get(colon) == Some(&b':');
            let value = scan_value(bytes, if named { colon + 1 } else { start });
            at = value.next + 1;
            if named && value.closed && value.span.start < value.span.end {
                return Some((Span { start, end }, value.span));
            }
        }
        None
    })
}

/// The names of all options, in the order in which a policy is printed.
///
/// ```
/// use redial_core::clause;
/// assert!(clause::OPTIONS.iter().all(|name| clause::counterpart(name) == Some(name)));
/// ```
pub const OPTIONS: [&str; 16] = option::ALL;

/// The option that a name stands for: one of ours, or what another system calls it, whatever its
/// case and its separators.
///
/// ```
/// use redial_core::clause;
/// assert_eq!(clause::counterpart("maxRetries"), Some("retry"));
/// assert_eq!(clause::counterpart("sleep"), Some("delay"));
/// assert_eq!(clause::counterpart("within"), Some("within"));
/// assert_eq!(clause::counterpart("colour"), None);
/// ```
#[inline]
pub const fn counterpart(name: &str) -> Option<&'static str> {
    option::counterpart(name.as_bytes())
}

/// What a clause says, and what there is to say about it.
///
/// ```
/// use redial_core::clause;
/// let reading = clause::read("retry: 20, delay: 1s");
/// assert_eq!(reading.policy().unwrap().attempts(), Some(21)); // a warning runs
/// assert_eq!(reading.diagnostics().len(), 1);
/// ```
#[derive(Clone)]
#[must_use = "a reading may hold errors"]
pub struct Reading {
    policy: Policy,
    diagnostics: Diagnostics,
    timeout: Option<u64>,
    call_options: [Option<CallOption>; CALL_NAMES.len()],
}

impl Reading {
    #[inline]
    const fn of(clause: &str, call_allowed: bool) -> Self {
        let mut reader = Reader::new(clause, call_allowed);
        let policy = reader.policy();
        let Reader { diagnostics, timeout, call_options, .. } = reader;
        Self { policy, diagnostics, timeout, call_options }
    }

    /// The policy, unless there are errors.
    ///
    /// ```
    /// use redial_core::{Policy, clause};
    /// let reading = clause::read("retry: 2, delay: 1s, backoff: exponential, jitter: full");
    /// assert_eq!(reading.policy(), Some(Policy::DEFAULT));
    /// ```
    #[inline]
    pub const fn policy(&self) -> Option<Policy> {
        if self.diagnostics.errors == 0 { Some(self.policy) } else { None }
    }

    /// Errors and warnings in the order of the text, the first 16 of them; [`found`](Self::found)
    /// tells how many there are.
    ///
    /// ```
    /// use redial_core::clause;
    /// assert!(clause::read("retry: 3, delay: 1s").diagnostics().is_empty());
    /// ```
    #[inline]
    pub const fn diagnostics(&self) -> &[Diagnostic] {
        self.diagnostics.as_slice()
    }

    /// How many errors and warnings there are in all.
    ///
    /// ```
    /// use redial_core::clause;
    /// let reading = clause::read("a: 1, b: 1, c: 1");
    /// assert_eq!((reading.found(), reading.diagnostics().len()), (3, 3));
    /// ```
    #[inline]
    pub const fn found(&self) -> usize {
        self.diagnostics.found
    }

    /// What `timeout` says, where it may stand: how long each attempt may take.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::clause;
    /// let reading = clause::read_call("retry: 3, timeout: 5s");
    /// assert_eq!(reading.timeout(), Some(Duration::from_secs(5)));
    /// ```
    #[inline]
    pub const fn timeout(&self) -> Option<Duration> {
        match self.timeout {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }

    /// The options of the call, where they may stand.
    ///
    /// ```
    /// use redial_core::clause;
    /// let reading = clause::read_call("retry: 3, retry_on: [timeout, pattern: \"a, b\"]");
    /// let names: Vec<_> = reading.call_options().map(|option| option.name()).collect();
    /// assert_eq!(names, ["retry_on"]);
    /// ```
    #[inline]
    pub fn call_options(&self) -> impl Iterator<Item = &CallOption> {
        self.call_options.iter().flatten()
    }
}

impl fmt::Debug for Reading {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("policy", &self.policy())
            .field("diagnostics", &self.diagnostics())
            .finish_non_exhaustive()
    }
}

/// An option of the call in a clause: its name, and where its value is.
///
/// ```
/// use redial_core::clause;
/// let reading = clause::read_call("retry: 3, timeout: 5s");
/// let timeout = reading.call_options().next().unwrap();
/// assert_eq!((timeout.name(), timeout.place().start), ("timeout", 10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallOption {
    name: &'static str,
    place: Span,
    value: Span,
}

impl CallOption {
    /// Its name.
    ///
    /// ```
    /// # use redial_core::clause;
    /// # let reading = clause::read_call("retry: 3, timeout: 5s");
    /// assert_eq!(reading.call_options().next().unwrap().name(), "timeout");
    /// ```
    #[inline]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Where its name is.
    ///
    /// ```
    /// # use redial_core::clause;
    /// # let text = "retry: 3, timeout: 5s";
    /// # let reading = clause::read_call(text);
    /// assert_eq!(reading.call_options().next().unwrap().place().of(text), "timeout");
    /// ```
    #[inline]
    pub const fn place(&self) -> Span {
        self.place
    }

    /// Where its value is.
    ///
    /// ```
    /// # use redial_core::clause;
    /// # let text = "retry: 3, timeout: 5s";
    /// # let reading = clause::read_call(text);
    /// assert_eq!(reading.call_options().next().unwrap().value().of(text), "5s");
    /// ```
    #[inline]
    pub const fn value(&self) -> Span {
        self.value
    }
}

/// A clause that is not a policy: its first error, and how many there are. [`read`] has them all.
///
/// ```
/// use redial_core::Policy;
///
/// let error = "retry: 3, dely: 1s".parse::<Policy>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown-option at 10..14: `dely` is not an option; did you mean `delay`?",
/// );
/// assert_eq!(error.diagnostic().span().start, 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    first: Diagnostic,
    errors: usize,
}

impl ParseError {
    /// The first error.
    ///
    /// ```
    /// use redial_core::{Policy, clause::Kind};
    /// let error = "attempts: 0".parse::<Policy>().unwrap_err();
    /// assert_eq!(error.diagnostic().kind(), Kind::ZeroAttempts);
    /// ```
    #[inline]
    pub const fn diagnostic(&self) -> &Diagnostic {
        &self.first
    }
}

impl fmt::Display for ParseError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { start, end } = self.first.span();
        write!(f, "{} at {start}..{end}: {}", self.first.kind().name(), self.first)?;
        match self.errors {
            0 | 1 => Ok(()),
            2 => f.write_str(" (and 1 more error)"),
            more => write!(f, " (and {} more errors)", more - 1),
        }
    }
}

impl core::error::Error for ParseError {}

/// Reads a clause at run time. Warnings are left out: [`read`] has them.
impl FromStr for Policy {
    type Err = ParseError;

    #[inline]
    fn from_str(clause: &str) -> Result<Self, ParseError> {
        let mut reader = Reader::new(clause, false);
        let policy = reader.policy();
        let Diagnostics { errors, .. } = reader.diagnostics;
        match reader.diagnostics.as_slice().iter().find(|found| !found.kind().is_warning()) {
            Some(first) => Err(ParseError { first: *first, errors }),
            None => Ok(policy),
        }
    }
}

/// A policy from its clause, read and checked when the program is compiled.
///
/// A mistake fails the build, with the clause, a pointer to the place, and what would be right:
///
/// ```compile_fail
/// # use redial_core::{Policy, policy};
/// const FETCH: Policy = policy!("retry: 4, dely: 100ms");
/// ```
///
/// ```text
/// error[unknown-option]: `dely` is not an option; did you mean `delay`?
///   | retry: 4, dely: 100ms
///   |           ^^^^
/// ```
///
/// So does a warning, unless it is allowed by name:
///
/// ```
/// use redial_core::{Policy, policy};
///
/// const FETCH: Policy =
///     policy!("retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full");
/// const STUBBORN: Policy = policy!(allow(many_retries), "retry: 50, delay: 1s");
///
/// assert_eq!(FETCH.attempts(), Some(5));
/// assert_eq!(STUBBORN.attempts(), Some(51));
/// ```
///
/// The language is described in [`clause`](crate::clause). The clause must be a constant; text that
/// is known only at run time is read by `text.parse::<Policy>()`.
#[macro_export]
macro_rules! policy {
    (allow($($warning:ident),* $(,)?), $clause:expr $(,)?) => {{
        // A constant item, not a `const` block: `cargo check` evaluates it too.
        const POLICY: $crate::Policy =
            $crate::clause::checked($clause, &[$(::core::stringify!($warning)),*]);
        POLICY
    }};
    ($clause:expr $(,)?) => {
        $crate::policy!(allow(), $clause)
    };
}

/// What `policy!` expands to: the policy, or a build that fails with all there is to say.
#[doc(hidden)]
#[track_caller]
#[inline]
pub const fn checked(clause: &str, allowed: &[&str]) -> Policy {
    let reading = read(clause);
    let mut report = Text::<8192>::new().str("this clause is refused\n");
    let mut found = 0;
    let mut i = 0;
    while i < allowed.len() {
        if !is_warning(allowed[i]) {
            report =
                report.str("error: allow(").str(allowed[i]).str("): no warning has this name\n");
            found += 1;
        }
        i += 1;
    }
    /// More than these would be more than anybody reads at once.
    const DRAWN: usize = 8;
    let diagnostics = reading.diagnostics();
    let mut i = 0;
    while i < diagnostics.len() && found < DRAWN {
        if !(diagnostics[i].kind().is_warning() && is_allowed(diagnostics[i].kind(), allowed)) {
            report = diagnostics[i].draw(clause, report);
            if diagnostics[i].kind().is_warning() {
                report = report
                    .str("  = it would run; to have it so: policy!(allow(")
                    .identifier(diagnostics[i].kind().name())
                    .str("), …)\n");
            }
            found += 1;
        }
        i += 1;
    }
    if found == DRAWN && reading.found() > i {
        let more = (reading.found() - i) as u128;
        report = report.str("and ").number(more).str(" more\n");
    }
    if found > 0 {
        panic!("{}", report.as_str());
    }
    reading.policy
}

#[inline]
const fn is_warning(name: &str) -> bool {
    let mut i = 0;
    while i < Kind::ALL.len() {
        if Kind::ALL[i].is_warning() && alike(Kind::ALL[i].name().as_bytes(), name.as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

#[inline]
const fn is_allowed(kind: Kind, allowed: &[&str]) -> bool {
    let mut i = 0;
    while i < allowed.len() {
        if alike(kind.name().as_bytes(), allowed[i].as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}
