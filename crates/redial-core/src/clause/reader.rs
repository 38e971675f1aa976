//! A clause from its text: every option read, every mistake kept, none of them the end of it.

use super::diagnostic::{Diagnostic, Diagnostics, Kind, Span};
use super::lookalike::character;
use super::option::{CALL_NAMES, Name, call_name, nearest, nearest_backoff, nearest_jitter, same};
use super::scan::{
    Length, Number, scan_decimal, scan_duration, scan_value, scan_whole, skip_quoted, skip_trivia,
    skip_word,
};
use super::{CallOption, Lookalike, check};
use crate::decimal::{BILLION, Decimal};
use crate::modifier::{CHAIN_MAX, Modifier};
use crate::policy::Policy;
use crate::source::LIST_MAX;

const DURATION: &str = "use a duration such as 100ms, 1.5s or 1m30s (ns us ms s min h d)";
const COUNT: &str = "use a whole number, or unlimited";
const BACKOFF: &str =
    "use fixed, linear, exponential, fibonacci, decorrelated, or a list such as [1s, 3s, 7s]";
const JITTER: &str = "use none, full, equal, 25%, +50% or [0.5, 1.5]";
const FROM_ZERO: &str = "use 0 or more";
const FROM_ONE: &str = "use 1 or more";
const DIGITS: &str = "use at most nine digits on either side of the point";

/// What `backoff` says.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "read once, in a constant, without an allocator")]
pub(crate) enum Growth {
    Fixed,
    Linear,
    Exponential,
    Fibonacci,
    Decorrelated,
    List([u64; LIST_MAX], usize),
}

/// A modifier and the option that wrote it.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub(crate) modifier: Modifier,
    pub(crate) span: Span,
}

/// What the text says, before the checks that look at all of it.
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    pub(crate) bytes: &'t [u8],
    pub(crate) diagnostics: Diagnostics,
    /// Where each option was written, by [`Name`].
    pub(crate) places: [Option<Span>; 11],
    pub(crate) retries: u32,
    pub(crate) delay: u64,
    pub(crate) growth: Growth,
    pub(crate) factor: Decimal,
    pub(crate) increment: u64,
    pub(crate) within: u64,
    pub(crate) wait_budget: u64,
    pub(crate) timeout: Option<u64>,
    pub(crate) uncapped: bool,
    pub(crate) modifiers: [Option<Written>; CHAIN_MAX],
    pub(crate) modifiers_written: usize,
    pub(crate) call_options: [Option<CallOption>; CALL_NAMES.len()],
    call_allowed: bool,
    is_ascii: bool,
}

impl<'t> Reader<'t> {
    #[inline]
    pub(crate) const fn new(text: &'t str, call_allowed: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            diagnostics: Diagnostics::NONE,
            places: [None; 11],
            retries: 0,
            delay: 0,
            growth: Growth::Fixed,
            factor: Decimal::TWO,
            increment: 0,
            within: u64::MAX,
            wait_budget: u64::MAX,
            timeout: None,
            uncapped: false,
            modifiers: [None; CHAIN_MAX],
            modifiers_written: 0,
            call_options: [None; CALL_NAMES.len()],
            call_allowed,
            is_ascii: text.is_ascii(),
        }
    }

    /// Reads all of it. A reader is some kilobytes large, so it stays where it is.
    #[inline]
    pub(crate) const fn policy(&mut self) -> Policy {
        self.read_options();
        check::lower(self)
    }

    #[inline]
    const fn read_options(&mut self) {
        let mut at = skip_trivia(self.bytes, 0);
        if at == self.bytes.len() {
            let place = Span { start: 0, end: self.bytes.len() };
            return self
                .syntax(place, "the clause is empty; write for example retry: 3, delay: 1s");
        }
        loop {
            at = self.read_option(at);
            if at == self.bytes.len() {
                return;
            }
            let comma = Span { start: at, end: at + 1 };
            at = skip_trivia(self.bytes, at + 1);
            if at == self.bytes.len() {
                return self.syntax(comma, "nothing follows this comma; drop it");
            }
        }
    }

    /// One `name: value`; returns where its comma is, or the end.
    #[inline]
    const fn read_option(&mut self, start: usize) -> usize {
        if let Some(next) = self.refuse_lookalikes(start) {
            return next;
        }
        let end = skip_word(self.bytes, start);
        let colon = skip_trivia(self.bytes, end);
        if end == start {
            let value = scan_value(self.bytes, start);
            let place =
                if value.span.end > start { value.span } else { Span { start, end: start + 1 } };
            self.syntax(place, "expected an option here, such as delay: 1s");
            return value.next;
        }
        let name = Span { start, end };
        if colon == self.bytes.len() || self.bytes[colon] != b':' {
            self.syntax(name, "expected a colon and a value after this name, as in delay: 1s");
            return scan_value(self.bytes, end).next;
        }
        let value = scan_value(self.bytes, colon + 1);
        if !value.closed {
            self.syntax(value.span, "this bracket or quote is never closed");
        } else if value.span.start >= value.span.end {
            self.syntax(name, "expected a value after the colon, as in delay: 1s");
        } else {
            self.take(name, value.span);
        }
        value.next
    }

    /// Names every character of this option that is not what it looks like, outside of quotes and
    /// comments; then returns where the option ends: whatever else could be said of it would only
    /// follow from that.
    #[inline]
    const fn refuse_lookalikes(&mut self, start: usize) -> Option<usize> {
        if self.is_ascii {
            return None;
        }
        let name = skip_word(self.bytes, start);
        let next = scan_value(self.bytes, start).next;
        let end = if self.is_of_a_script(start, name) { name } else { next };
        let before = self.diagnostics.found;
        let mut at = skip_trivia(self.bytes, start);
        while at < end {
            let (seen, width) = character(self.bytes, at);
            if let Some(found) = Lookalike::of(seen) {
                let place = Span { start: at, end: at + width };
                self.diagnostics.push(Diagnostic::of_lookalike(self.text, place, found));
            }
            let after = match skip_quoted_at(self.bytes, at) {
                Some(closing) => closing + 1,
                None => at + width,
            };
            at = skip_trivia(self.bytes, after);
        }
        if self.diagnostics.found > before { Some(next) } else { None }
    }

    /// Whether the value of this name is an expression of a script, which is not read here.
    #[inline]
    const fn is_of_a_script(&self, start: usize, end: usize) -> bool {
        let name = Span { start, end };
        self.is(name, "fallback") || self.is(name, "on_error")
    }

    #[inline]
    const fn take(&mut self, name: Span, value: Span) {
        let word = self.slice(name);
        match (Name::of(word), call_name(word)) {
            (Some(option), _) => {
                if let Some(next) = self.option_inside(value) {
                    self.syntax(next, "expected a comma before this option");
                } else if self.first_of_its_kind(option, name) {
                    self.places[option as usize] = Some(Span { start: name.start, end: value.end });
                    self.set(option, value);
                }
            }
            (None, Some(call)) => self.take_call_option(call, name, value),
            (None, None) => {
                let unknown = Diagnostic::new(Kind::UnknownOption, self.text, name);
                let meant = nearest(word, self.call_allowed);
                self.diagnostics.push(unknown.meant(meant).values(self.call_allowed as u64, 0));
            }
        }
    }

    /// The name of another option inside of a value, where a comma has been forgotten.
    #[inline]
    const fn option_inside(&self, value: Span) -> Option<Span> {
        if matches!(self.bytes[value.start], b'[' | b'(' | b'{' | b'"' | b'\'') {
            return None;
        }
        let mut at = skip_word(self.bytes, value.start);
        while at < value.end {
            let start = skip_trivia(self.bytes, at);
            let end = skip_word(self.bytes, start);
            let colon = skip_trivia(self.bytes, end);
            if start > at && end > start && colon < value.end && self.bytes[colon] == b':' {
                return Some(Span { start, end });
            }
            at = if end > at { end } else { at + 1 };
        }
        None
    }

    #[inline]
    const fn take_call_option(&mut self, call: usize, name: Span, value: Span) {
        let (option, place) = CALL_NAMES[call];
        if !self.call_allowed {
            let misplaced = Diagnostic::new(Kind::UnknownOption, self.text, name);
            self.diagnostics.push(misplaced.option(place));
        } else if self.call_options[call].is_some() {
            self.push(Kind::DuplicateOption, name, option, "");
        } else {
            self.call_options[call] = Some(CallOption { name: option, place: name, value });
            if same(option.as_bytes(), b"timeout") {
                self.timeout = self.duration(option, value);
            }
        }
    }

    #[inline]
    const fn first_of_its_kind(&mut self, option: Name, name: Span) -> bool {
        let repeats = matches!(option, Name::MinDelay | Name::MaxDelay | Name::Jitter);
        if self.places[option as usize].is_some() && !repeats {
            self.push(Kind::DuplicateOption, name, option.text(), "");
            return false;
        }
        let other = match option {
            Name::Retry => Name::Attempts,
            Name::Attempts => Name::Retry,
            _ => return true,
        };
        if self.places[other as usize].is_some() {
            self.push(Kind::TwoCounts, name, option.text(), "");
            return false;
        }
        true
    }

    #[inline]
    const fn set(&mut self, option: Name, value: Span) {
        match option {
            Name::Retry => self.set_retry(value),
            Name::Attempts => self.set_attempts(value),
            Name::Delay => self.delay = self.duration_or_zero(option, value),
            Name::Increment => self.increment = self.duration_or_zero(option, value),
            Name::Within => self.within = self.duration_or_zero(option, value),
            Name::WaitBudget => self.wait_budget = self.duration_or_zero(option, value),
            Name::Backoff => self.set_backoff(value),
            Name::Factor => self.set_factor(value),
            Name::MinDelay => {
                let min = self.duration_or_zero(option, value);
                self.write(Modifier::Min(min), value);
            }
            Name::MaxDelay => self.set_max_delay(value),
            Name::Jitter => self.set_jitter(value),
        }
    }

    #[inline]
    const fn set_retry(&mut self, value: Span) {
        if let Some(retries) = self.count(Name::Retry, value, u32::MAX as u64 - 1) {
            self.retries = retries;
        }
    }

    #[inline]
    const fn set_attempts(&mut self, value: Span) {
        match self.count(Name::Attempts, value, u32::MAX as u64) {
            Some(0) => self.push(Kind::ZeroAttempts, value, "attempts", ""),
            Some(u32::MAX) if self.is(value, "unlimited") => self.retries = u32::MAX,
            Some(attempts) => self.retries = attempts - 1,
            None => {}
        }
    }

    /// A whole number up to `most`; `u32::MAX` for `unlimited`.
    #[inline]
    const fn count(&mut self, option: Name, value: Span, most: u64) -> Option<u32> {
        if self.is(value, "unlimited") {
            return Some(u32::MAX);
        }
        let least = if matches!(option, Name::Attempts) { FROM_ONE } else { FROM_ZERO };
        if self.refuses_negative(option.text(), value, least) {
            return None;
        }
        match scan_whole(self.bytes, value.start, value.end) {
            Number::Is(count, end) if end == value.end && count <= most => Some(count as u32),
            Number::Is(_, end) if end < value.end => {
                self.push(Kind::WrongType, value, option.text(), COUNT);
                None
            }
            Number::None => {
                self.push(Kind::WrongType, value, option.text(), COUNT);
                None
            }
            _ => {
                let advice = match option {
                    Name::Attempts => "use at most 4294967295, or unlimited",
                    _ => "use at most 4294967294, or unlimited",
                };
                self.push(Kind::TooManyDigits, value, option.text(), advice);
                None
            }
        }
    }

    /// Nanoseconds; none where the text is no duration, which has then been reported.
    #[inline]
    const fn duration(&mut self, option: &'static str, value: Span) -> Option<u64> {
        if self.refuses_negative(option, value, FROM_ZERO) {
            return None;
        }
        let (kind, advice) = match scan_duration(self.bytes, value.start, value.end) {
            Length::Is(nanos, end) if end == value.end => return Some(nanos),
            Length::NoUnit => (Kind::MissingUnit, ""),
            Length::TooFine => (Kind::TooManyDigits, "a duration is a whole number of nanoseconds"),
            Length::Is(..) | Length::None => (Kind::WrongType, DURATION),
        };
        self.push(kind, value, option, advice);
        None
    }

    /// The same, and zero where it is none.
    #[inline]
    const fn duration_or_zero(&mut self, option: Name, value: Span) -> u64 {
        match self.duration(option.text(), value) {
            Some(nanos) => nanos,
            None => 0,
        }
    }

    #[inline]
    const fn set_max_delay(&mut self, value: Span) {
        if self.is(value, "none") {
            self.uncapped = true;
            return;
        }
        if let Some(max) = self.duration("max_delay", value) {
            self.write(Modifier::Max(max), value);
        }
    }

    #[inline]
    const fn set_backoff(&mut self, value: Span) {
        if self.bytes[value.start] == b'[' {
            return self.set_list(value);
        }
        let word = self.slice(value);
        self.growth = match () {
            () if same(word, b"fixed") => Growth::Fixed,
            () if same(word, b"linear") => Growth::Linear,
            () if same(word, b"exponential") => Growth::Exponential,
            () if same(word, b"fibonacci") => Growth::Fibonacci,
            () if same(word, b"decorrelated") => Growth::Decorrelated,
            () if self.bytes[value.start] == b'(' => {
                let advice =
                    "a function is a Schedule in Rust; here, use a list such as [1s, 3s, 7s]";
                return self.push(Kind::WrongType, value, "backoff", advice);
            }
            () => return self.refuse_word(value, "backoff", nearest_backoff(word), BACKOFF),
        };
    }

    /// A value that should be one of a few words: the one that was meant, or else all of them.
    #[inline]
    const fn refuse_word(
        &mut self,
        value: Span,
        option: &'static str,
        meant: &'static str,
        all: &'static str,
    ) {
        let advice = if meant.is_empty() { all } else { "" };
        let wrong = Diagnostic::new(Kind::WrongType, self.text, value);
        self.diagnostics.push(wrong.option(option).advice(advice).meant(meant));
    }

    #[inline]
    const fn set_list(&mut self, value: Span) {
        let mut delays = [0; LIST_MAX];
        let mut length = 0;
        let mut at = skip_trivia(self.bytes, value.start + 1);
        let close = value.end - 1;
        if self.bytes[close] != b']' || (self.bytes[at] == b']' && at < close) {
            return self.push(Kind::WrongType, value, "backoff", BACKOFF);
        }
        while at < close {
            let entry = scan_value(self.bytes, at);
            // An entry ends at a comma, or at the bracket that closes the list.
            let end = if entry.span.end < close { entry.span.end } else { close };
            let end = self.before_trivia(at, end);
            let nanos = self.duration_or_zero(Name::Backoff, Span { start: at, end });
            if length == LIST_MAX {
                return self.push(Kind::ListTooLong, value, "backoff", "");
            }
            delays[length] = nanos;
            length += 1;
            if entry.span.end > close || entry.next >= value.end {
                break;
            }
            at = skip_trivia(self.bytes, entry.next + 1);
            if at == close {
                return self.push(Kind::WrongType, value, "backoff", "drop the comma at its end");
            }
        }
        self.growth = Growth::List(delays, length);
    }

    #[inline]
    const fn set_factor(&mut self, value: Span) {
        if self.refuses_negative("factor", value, FROM_ONE) {
            return;
        }
        match scan_decimal(self.bytes, value.start, value.end) {
            Number::Is(billionths, end) if end == value.end => {
                if billionths < BILLION {
                    return self.push(Kind::FactorBelowOne, value, "factor", "");
                }
                self.factor = Decimal::from_billionths(billionths);
            }
            Number::TooFine | Number::TooLarge => {
                self.push(Kind::TooManyDigits, value, "factor", DIGITS);
            }
            _ => self.push(Kind::WrongType, value, "factor", "use a number such as 2 or 1.5"),
        }
    }

    #[inline]
    const fn set_jitter(&mut self, value: Span) {
        let jitter = match self.bytes[value.start] {
            b'[' => self.spread(value),
            b'+' => self.percentage(value, value.start + 1, true),
            b'0'..=b'9' => self.percentage(value, value.start, false),
            _ => self.named_jitter(value),
        };
        if let Some(jitter) = jitter {
            self.write(jitter, value);
        }
    }

    #[inline]
    const fn named_jitter(&mut self, value: Span) -> Option<Modifier> {
        if self.is(value, "full") {
            return Some(Modifier::Full);
        }
        if self.is(value, "equal") {
            return Some(Modifier::Equal);
        }
        if self.is(value, "none") || self.refuses_negative("jitter", value, FROM_ZERO) {
            return None;
        }
        self.refuse_word(value, "jitter", nearest_jitter(self.slice(value)), JITTER);
        None
    }

    /// `25%`, or `+25%` where it only adds.
    #[inline]
    const fn percentage(&mut self, value: Span, from: usize, adds: bool) -> Option<Modifier> {
        let (kind, advice) = match scan_decimal(self.bytes, from, value.end) {
            Number::Is(hundredths, end) if end + 1 == value.end && self.bytes[end] == b'%' => {
                let fraction = Decimal::from_billionths(hundredths / 100);
                let most = if adds { Decimal::TEN } else { Decimal::ONE };
                if hundredths % 100 != 0 {
                    (Kind::TooManyDigits, "use at most seven digits after the point")
                } else if !fraction.at_most(most) {
                    (Kind::JitterOutOfRange, "use 0% to 100%, or +0% to +1000%")
                } else if adds {
                    return Some(Modifier::Additive(fraction));
                } else {
                    return Some(Modifier::Proportional(fraction));
                }
            }
            Number::TooFine | Number::TooLarge => (Kind::TooManyDigits, DIGITS),
            Number::Is(_, end) if end == value.end => {
                (Kind::WrongType, "write it as a percentage, such as 25% or +50%")
            }
            _ => (Kind::WrongType, JITTER),
        };
        self.push(kind, value, "jitter", advice);
        None
    }

    /// `[0.5, 1.5]`
    #[inline]
    const fn spread(&mut self, value: Span) -> Option<Modifier> {
        const RANGE: &str = "use two numbers from 0 to 10, the lower first, such as [0.5, 1.5]";
        let inside = skip_trivia(self.bytes, value.start + 1);
        if self.is_negative(inside) {
            self.push(Kind::JitterOutOfRange, value, "jitter", RANGE);
            return None;
        }
        let (low, comma) = match scan_decimal(self.bytes, inside, value.end) {
            Number::Is(low, end) => (low, skip_trivia(self.bytes, end)),
            other => return self.refuse_spread(other, value),
        };
        if self.bytes[comma] != b',' {
            return self.refuse_spread(Number::None, value);
        }
        let from = skip_trivia(self.bytes, comma + 1);
        if self.is_negative(from) {
            self.push(Kind::JitterOutOfRange, value, "jitter", RANGE);
            return None;
        }
        let (high, close) = match scan_decimal(self.bytes, from, value.end) {
            Number::Is(high, end) => (high, skip_trivia(self.bytes, end)),
            other => return self.refuse_spread(other, value),
        };
        if close + 1 != value.end || self.bytes[close] != b']' {
            return self.refuse_spread(Number::None, value);
        }
        let (low, high) = (Decimal::from_billionths(low), Decimal::from_billionths(high));
        if low.billionths() >= high.billionths() || !high.at_most(Decimal::TEN) {
            self.push(Kind::JitterOutOfRange, value, "jitter", RANGE);
            return None;
        }
        Some(Modifier::Spread(low, high))
    }

    #[inline]
    const fn refuse_spread(&mut self, number: Number, value: Span) -> Option<Modifier> {
        match number {
            Number::TooFine | Number::TooLarge => {
                self.push(Kind::TooManyDigits, value, "jitter", DIGITS);
            }
            _ => self.push(Kind::WrongType, value, "jitter", JITTER),
        }
        None
    }

    #[inline]
    const fn write(&mut self, modifier: Modifier, value: Span) {
        if self.modifiers_written == CHAIN_MAX {
            return self.push(Kind::TooManyModifiers, value, "", "");
        }
        self.modifiers[self.modifiers_written] = Some(Written { modifier, span: value });
        self.modifiers_written += 1;
    }

    #[inline]
    const fn refuses_negative(
        &mut self,
        option: &'static str,
        value: Span,
        least: &'static str,
    ) -> bool {
        let negative = self.is_negative(value.start);
        if negative {
            self.push(Kind::Negative, value, option, least);
        }
        negative
    }

    /// Whether a number with a minus before it starts here.
    #[inline]
    const fn is_negative(&self, at: usize) -> bool {
        at + 1 < self.bytes.len()
            && self.bytes[at] == b'-'
            && matches!(self.bytes[at + 1], b'0'..=b'9' | b'.')
    }

    /// `end`, or where the white space and comments before it begin.
    #[inline]
    const fn before_trivia(&self, start: usize, end: usize) -> usize {
        let mut at = start;
        let mut last = start;
        while at < end {
            let after = skip_trivia(self.bytes, at);
            if after > at {
                at = after;
            } else {
                at += 1;
                last = at;
            }
        }
        if last < end { last } else { end }
    }

    #[inline]
    const fn is(&self, value: Span, word: &str) -> bool {
        same(self.slice(value), word.as_bytes())
    }

    #[inline]
    const fn slice(&self, span: Span) -> &'t [u8] {
        let (_, rest) = self.bytes.split_at(span.start);
        rest.split_at(span.end - span.start).0
    }

    #[inline]
    const fn syntax(&mut self, span: Span, advice: &'static str) {
        self.push(Kind::Syntax, span, "", advice);
    }

    #[inline]
    pub(crate) const fn push(
        &mut self,
        kind: Kind,
        span: Span,
        option: &'static str,
        advice: &'static str,
    ) {
        let diagnostic = Diagnostic::new(kind, self.text, span);
        self.diagnostics.push(diagnostic.option(option).advice(advice));
    }
}

/// The quote that closes the one at this byte, if there are two.
#[inline]
const fn skip_quoted_at(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        quote @ (b'"' | b'\'') => skip_quoted(bytes, at, quote),
        _ => None,
    }
}
