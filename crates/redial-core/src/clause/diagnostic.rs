//! What is wrong with a clause, where, and what would be right.

use core::fmt;

use super::Lookalike;
use crate::modifier::CHAIN_MAX;
use crate::source::LIST_MAX;
use crate::text::Text;

/// A place in the text, in bytes: `start..end`.
///
/// ```
/// let reading = redial_core::clause::read("retry: 3, dely: 1s");
/// let span = reading.diagnostics()[0].span();
/// assert_eq!(&"retry: 3, dely: 1s"[span.start..span.end], "dely");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The text that this is the place of; nothing where it does not fit.
    ///
    /// ```
    /// use redial_core::clause::Span;
    /// assert_eq!(Span { start: 0, end: 5 }.of("retry: 3"), "retry");
    /// ```
    #[inline]
    pub fn of<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or("")
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $severity:ident,)*) => {
        /// The name of a diagnostic. Stable: scripts and `policy!(allow(…))` rely on it.
        ///
        /// ```
        /// use redial_core::clause::{self, Kind};
        /// let kind = clause::read("retry: 20, delay: 1s").diagnostics()[0].kind();
        /// assert_eq!(kind, Kind::ManyRetries);
        /// assert_eq!(kind.name(), "many-retries");
        /// assert!(kind.is_warning());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind there is.
            ///
            /// ```
            /// use redial_core::clause::Kind;
            /// assert!(Kind::ALL.contains(&Kind::HotLoop));
            /// ```
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name, in kebab-case.
            ///
            /// ```
            /// assert_eq!(redial_core::clause::Kind::HotLoop.name(), "hot-loop");
            /// ```
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Whether the policy runs all the same.
            ///
            /// ```
            /// use redial_core::clause::Kind;
            /// assert!(Kind::Unbounded.is_warning());
            /// assert!(!Kind::Negative.is_warning());
            /// ```
            #[inline]
            pub const fn is_warning(self) -> bool {
                match self {
                    $(Self::$kind => kinds!(@ $severity),)*
                }
            }
        }
    };
    (@ error) => { false };
    (@ warning) => { true };
}

kinds! {
    /// The text is not a list of `name: value`.
    Syntax "syntax" error,
    /// No option has this name.
    UnknownOption "unknown-option" error,
    /// An option that may not repeat does.
    DuplicateOption "duplicate-option" error,
    /// Both `retry` and `attempts` are there.
    TwoCounts "two-counts" error,
    /// A value of another kind than the option takes.
    WrongType "wrong-type" error,
    /// A duration without its unit.
    MissingUnit "missing-unit" error,
    /// `attempts: 0`.
    ZeroAttempts "zero-attempts" error,
    /// A number below zero.
    Negative "negative" error,
    /// A factor that would make delays shrink.
    FactorBelowOne "factor-below-one" error,
    /// A jitter that is too large, or a spread whose ends are the wrong way round.
    JitterOutOfRange "jitter-out-of-range" error,
    /// `min_delay` above `max_delay` with nothing in between.
    MinAboveMax "min-above-max" error,
    /// A number too fine or too large to be exact.
    TooManyDigits "too-many-digits" error,
    /// More bounds and jitters than a chain holds.
    TooManyModifiers "too-many-modifiers" error,
    /// More delays than a list holds.
    ListTooLong "list-too-long" error,
    /// A delay, and no retry that could follow it.
    DelayWithoutRetry "delay-without-retry" warning,
    /// A backoff with no delay to grow from.
    BackoffWithoutDelay "backoff-without-delay" warning,
    /// A backoff, and no retry that could follow it.
    BackoffWithoutRetry "backoff-without-retry" warning,
    /// An option that this backoff does not look at.
    UnusedOption "unused-option" warning,
    /// More than ten retries.
    ManyRetries "many-retries" warning,
    /// A cap below the first delay.
    CapBelowBase "cap-below-base" warning,
    /// Jitter, then a cap that the source reaches: delays pile up at the cap.
    CapErasesJitter "cap-erases-jitter" warning,
    /// A cap, then a jitter that can exceed it.
    JitterAboveCap "jitter-above-cap" warning,
    /// Delays in a list that no retry gets to.
    ListLongerThanAttempts "list-longer-than-attempts" warning,
    /// A timeout of each attempt that is longer than the time for all of them.
    TimeoutAboveDeadline "timeout-above-deadline" warning,
    /// Attempts that can never start.
    AttemptsPastDeadline "attempts-past-deadline" warning,
    /// Unlimited attempts and no limit in time.
    Unbounded "unbounded" warning,
    /// Unlimited attempts, no limit in time, and no delay.
    HotLoop "hot-loop" warning,
}

/// The longest piece of the text that a diagnostic repeats.
const EXCERPT: usize = 32;

/// One finding: its kind, its place, and the words for it.
///
/// ```
/// let reading = redial_core::clause::read("retry: 3, dely: 1s");
/// let diagnostic = &reading.diagnostics()[0];
/// assert_eq!(diagnostic.kind().name(), "unknown-option");
/// assert_eq!(diagnostic.to_string(), "`dely` is not an option; did you mean `delay`?");
/// ```
#[derive(Clone, Copy)]
pub struct Diagnostic {
    kind: Kind,
    start: u32,
    end: u32,
    option: &'static str,
    excerpt: Text<EXCERPT>,
    advice: &'static str,
    /// The name or value that was probably meant.
    meant: &'static str,
    values: (u64, u64, u64),
}

impl Diagnostic {
    #[inline]
    pub(crate) const fn new(kind: Kind, text: &str, span: Span) -> Self {
        Self {
            kind,
            start: narrow(span.start),
            end: narrow(span.end),
            option: "",
            excerpt: excerpt(text, span),
            advice: "",
            meant: "",
            values: (0, 0, 0),
        }
    }

    /// Of a character that is not what it looks like.
    #[inline]
    pub(crate) const fn of_lookalike(text: &str, span: Span, found: Lookalike) -> Self {
        let code_point = found.character() as u64;
        Self::new(Kind::Syntax, text, span)
            .option(found.name())
            .meant(found.meant())
            .values(code_point, 0)
    }

    /// Whether it is about such a character: what else is wrong with the syntax has no values.
    #[inline]
    const fn is_lookalike(&self) -> bool {
        matches!(self.kind, Kind::Syntax) && self.values.0 > 0
    }

    #[inline]
    pub(crate) const fn option(self, option: &'static str) -> Self {
        Self { option, ..self }
    }

    #[inline]
    pub(crate) const fn advice(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }

    #[inline]
    pub(crate) const fn meant(self, meant: &'static str) -> Self {
        Self { meant, ..self }
    }

    #[inline]
    pub(crate) const fn values(self, first: u64, second: u64) -> Self {
        Self { values: (first, second, self.values.2), ..self }
    }

    #[inline]
    pub(crate) const fn limit(self, limit: u64) -> Self {
        Self { values: (self.values.0, self.values.1, limit), ..self }
    }

    /// What kind of finding it is.
    ///
    /// ```
    /// use redial_core::clause::{self, Kind};
    /// assert_eq!(clause::read("retry: -1").diagnostics()[0].kind(), Kind::Negative);
    /// ```
    #[inline]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Where in the text it is.
    ///
    /// ```
    /// use redial_core::clause;
    /// let span = clause::read("retry: -1").diagnostics()[0].span();
    /// assert_eq!((span.start, span.end), (7, 9));
    /// ```
    #[inline]
    pub const fn span(&self) -> Span {
        Span { start: self.start as usize, end: self.end as usize }
    }

    /// What would be right in its place, where that is known: a name, a value, a character, or
    /// nothing where something is to be left out.
    ///
    /// ```
    /// use redial_core::clause;
    /// let reading = clause::read("retry: 2, cap: 5s");
    /// assert_eq!(reading.diagnostics()[0].suggestion(), Some("max_delay"));
    /// let reading = clause::read("retry: 2\u{200b}");
    /// assert_eq!(reading.diagnostics()[0].suggestion(), Some(""));
    /// ```
    #[inline]
    pub const fn suggestion(&self) -> Option<&'static str> {
        if self.meant.is_empty() && !self.is_lookalike() { None } else { Some(self.meant) }
    }

    #[inline]
    pub(crate) const fn message(&self) -> Text<320> {
        let text = Text::new();
        let (a, b, _) = self.values;
        match self.kind {
            Kind::Syntax if self.is_lookalike() => self.lookalike(text),
            Kind::Syntax => text.str(self.advice),
            Kind::UnknownOption => self.unknown_option(text),
            Kind::DuplicateOption => {
                text.str("`").str(self.option).str("` is there already; write it once")
            }
            Kind::TwoCounts => text.str(
                "`retry` and `attempts` both say how often; keep one (retry: 4 is attempts: 5)",
            ),
            Kind::WrongType if self.advice.is_empty() => {
                self.value(text).str(" is not known; did you mean `").str(self.meant).str("`?")
            }
            Kind::WrongType => self.value(text).str("; ").str(self.advice),
            Kind::MissingUnit if self.is_short_and_whole() => self
                .value(text)
                .str(" has no unit; write ")
                .str(self.excerpt.as_str())
                .str("ms or ")
                .str(self.excerpt.as_str())
                .str("s"),
            Kind::MissingUnit => {
                self.value(text).str(" has no unit; add one of ns us ms s min h d")
            }
            Kind::ZeroAttempts => {
                text.str("attempts: 0 attempts would never run the operation; use 1 or more")
            }
            Kind::Negative => self.value(text).str(" is below zero; ").str(self.advice),
            Kind::FactorBelowOne => {
                self.value(text).str(" is below 1, so delays would shrink; use 1 or more")
            }
            Kind::JitterOutOfRange => self.value(text).str(" is out of range; ").str(self.advice),
            Kind::MinAboveMax => text
                .str("min_delay: ")
                .duration(a)
                .str(" is above max_delay: ")
                .duration(b)
                .str("; lower the one or raise the other"),
            Kind::TooManyDigits => self.value(text).str("; ").str(self.advice),
            Kind::TooManyModifiers => text
                .str("a policy takes at most ")
                .number(CHAIN_MAX as u128)
                .str(" of min_delay, max_delay and jitter"),
            Kind::ListTooLong => text
                .str("a list holds at most ")
                .number(LIST_MAX as u128)
                .str(" delays; past its end the first max_delay goes on"),
            _ => self.warning(text),
        }
    }

    #[inline]
    const fn warning(&self, text: Text<320>) -> Text<320> {
        let (a, b, limit) = self.values;
        match self.kind {
            Kind::DelayWithoutRetry => {
                text.str("delay has no effect without a retry; have at least one, or drop the delay")
            }
            Kind::BackoffWithoutDelay => text.str(self.advice),
            Kind::BackoffWithoutRetry => {
                text.str("backoff has no effect without a retry; have at least one, or drop it")
            }
            Kind::UnusedOption => {
                text.str("`").str(self.option).str("` has no effect here: ").str(self.advice)
            }
            Kind::ManyRetries => text.str(self.option).str(": ").number(a as u128).str(
                " retries are more than 10; if it is time that matters, write attempts: unlimited, \
                 within: 1min instead",
            ),
            Kind::CapBelowBase => text
                .str("max_delay: ")
                .duration(b)
                .str(" is below the ")
                .str(self.advice)
                .str(" of ")
                .duration(a)
                .str(", so it takes its place"),
            Kind::CapErasesJitter => text
                .str("delays reach ")
                .duration(a)
                .str(" and this cap comes after the jitter, so they pile up at ")
                .duration(b)
                .str("; write it before the jitter, or a higher one after it"),
            Kind::JitterAboveCap if self.advice.is_empty() => text
                .str("this jitter comes after max_delay: ")
                .duration(b)
                .str(" and takes delays up to ")
                .duration(a)
                .str("; write that as max_delay after it too, or a jitter that only shortens"),
            Kind::JitterAboveCap => text
                .str("this jitter comes after ")
                .str(self.advice)
                .duration(b)
                .str(" and takes delays up to ")
                .duration(a)
                .str("; write max_delay before and after it, or a jitter that only shortens"),
            Kind::ListLongerThanAttempts => text
                .str("the list has ")
                .number(a as u128)
                .str(if b == 1 { " delays and there is " } else { " delays and there are " })
                .number(b as u128)
                .str(if b == 1 { " retry" } else { " retries" })
                .str("; the others are never used"),
            Kind::AttemptsPastDeadline => if a == b {
                text.str("attempt ").number(a as u128)
            } else {
                text.str("attempts ").number(a as u128).str(" to ").number(b as u128)
            }
                .str(" can never start: ")
                .str(self.advice)
                .str(" of ")
                .duration(limit)
                .str(" is spent in the wait after attempt ")
                .number(a as u128 - 1)
                .str(" at the latest"),
            Kind::TimeoutAboveDeadline => text
                .str("each attempt may take ")
                .duration(a)
                .str(" and everything ")
                .duration(b)
                .str(", so the timeout never comes first; lower it, or raise within"),
            Kind::Unbounded => text.str(
                "unlimited attempts with no limit in time never give up; add within",
            ),
            Kind::HotLoop => text.str(
                "unlimited attempts with no delay and no deadline spin; have a delay, or add within",
            ),
            _ => text,
        }
    }

    #[inline]
    const fn lookalike(&self, text: Text<320>) -> Text<320> {
        let text = text.str("there is ").str(self.option).str(" (U+").hex(self.values.0);
        match self.meant.as_bytes() {
            b"" => text.str(") here; leave it out"),
            b" " => text.str(") here; write a plain space"),
            _ => text.str(") here; write `").str(self.meant).str("`"),
        }
    }

    #[inline]
    const fn unknown_option(&self, text: Text<320>) -> Text<320> {
        let text = text.str("`").str(self.excerpt.as_str()).str("`");
        if !self.option.is_empty() {
            text.str(" belongs to the call, not to the policy: it is ").str(self.option)
        } else if self.meant.is_empty() {
            let text = text.str(
                " is not an option; there are retry, attempts, delay, backoff, factor, increment, \
                 min_delay, max_delay, jitter, within",
            );
            let of_a_call = self.values.0 == 1;
            text.str(if of_a_call {
                ", wait_budget, timeout, retry_on and stop_on"
            } else {
                " and wait_budget"
            })
        } else {
            text.str(" is not an option; did you mean `").str(self.meant).str("`?")
        }
    }

    /// Whether the excerpt is all digits, so that a unit behind it makes a duration.
    #[inline]
    const fn is_short_and_whole(&self) -> bool {
        let bytes = self.excerpt.as_str().as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            if !bytes[i].is_ascii_digit() {
                return false;
            }
            i += 1;
        }
        true
    }

    #[inline]
    const fn value(&self, text: Text<320>) -> Text<320> {
        text.str(self.option).str(": `").str(self.excerpt.as_str()).str("`")
    }

    /// The finding as rustc would draw it: a headline, the line, and carets under the place.
    #[inline]
    pub(crate) const fn draw<const N: usize>(&self, source: &str, into: Text<N>) -> Text<N> {
        let (line, line_end) = line_around(source, self.start as usize);
        let end = if (self.end as usize) < line_end { self.end as usize } else { line_end };
        let carets = characters(source, self.start as usize, end);
        into.str(if self.kind.is_warning() { "warning[" } else { "error[" })
            .str(self.kind.name())
            .str("]: ")
            .str(self.message().as_str())
            .str("\n  | ")
            .slice(source, line, line_end)
            .str("\n  | ")
            .repeat(" ", characters(source, line, self.start as usize))
            .repeat("^", if carets == 0 { 1 } else { carets })
            .str("\n")
    }
}

impl fmt::Display for Diagnostic {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.message().as_str())
    }
}

impl fmt::Debug for Diagnostic {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}..{}]: {self}", self.kind.name(), self.start, self.end)
    }
}

impl PartialEq for Diagnostic {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.span() == other.span()
            && self.message().as_str() == other.message().as_str()
    }
}

impl Eq for Diagnostic {}

/// Findings in the order of the text: the first 16, and how many there are in all.
#[derive(Clone, Copy)]
pub(crate) struct Diagnostics {
    list: [Diagnostic; 16],
    kept: usize,
    pub(crate) found: usize,
    pub(crate) errors: usize,
}

impl Diagnostics {
    pub(crate) const NONE: Self = Self {
        list: [Diagnostic::new(Kind::Syntax, "", Span { start: 0, end: 0 }); 16],
        kept: 0,
        found: 0,
        errors: 0,
    };

    /// Keeps them sorted by place; a later finding in the same place comes after.
    #[inline]
    pub(crate) const fn push(&mut self, diagnostic: Diagnostic) {
        self.found += 1;
        if !diagnostic.kind.is_warning() {
            self.errors += 1;
        }
        let mut at = self.kept;
        while at > 0 && self.list[at - 1].start > diagnostic.start {
            if at < self.list.len() {
                self.list[at] = self.list[at - 1];
            }
            at -= 1;
        }
        if at < self.list.len() {
            self.list[at] = diagnostic;
        }
        if self.kept < self.list.len() {
            self.kept += 1;
        }
    }

    #[inline]
    pub(crate) const fn as_slice(&self) -> &[Diagnostic] {
        self.list.split_at(self.kept).0
    }
}

/// A clause of over four gigabytes still gets a diagnostic, if not its exact place.
#[inline]
const fn narrow(at: usize) -> u32 {
    if at > u32::MAX as usize { u32::MAX } else { at as u32 }
}

#[inline]
const fn excerpt(text: &str, span: Span) -> Text<EXCERPT> {
    let short = span.end - span.start <= EXCERPT;
    if short {
        return Text::new().slice(text, span.start, span.end);
    }
    let mut end = span.start + EXCERPT - "…".len();
    while text.as_bytes()[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    Text::new().slice(text, span.start, end).str("…")
}

#[inline]
const fn line_around(text: &str, at: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let mut start = if at < bytes.len() { at } else { bytes.len() };
    let mut end = start;
    while start > 0 && bytes[start - 1] != b'\n' {
        start -= 1;
    }
    while end < bytes.len() && bytes[end] != b'\n' {
        end += 1;
    }
    if end > start && bytes[end - 1] == b'\r' {
        end -= 1;
    }
    (start, end)
}

#[inline]
const fn characters(text: &str, from: usize, to: usize) -> usize {
    let bytes = text.as_bytes();
    let mut count = 0;
    let mut at = from;
    while at < to && at < bytes.len() {
        if bytes[at] & 0xc0 != 0x80 {
            count += 1;
        }
        at += 1;
    }
    count
}
