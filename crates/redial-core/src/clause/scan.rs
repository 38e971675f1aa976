//! From bytes to names, values and numbers. Nothing here fails: it reports how far it got.

use super::Span;
use crate::decimal::BILLION;
use crate::time::UNITS;

/// Past white space and `#` comments.
#[inline]
pub(crate) const fn skip_trivia(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            _ => return at,
        }
    }
    at
}

/// Past the letters, digits, `_` and `-` of a name. Bytes beyond ASCII count as letters, so that a
/// misspelt word is one word.
#[inline]
pub(crate) const fn skip_word(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len()
        && (bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'-' | 0x80..))
    {
        at += 1;
    }
    at
}

/// A value: all there is up to a comma that is not inside brackets, quotes or a comment.
pub(crate) struct Value {
    pub(crate) span: Span,
    /// Where the comma is, or the end of the text.
    pub(crate) next: usize,
    pub(crate) closed: bool,
}

#[inline]
pub(crate) const fn scan_value(bytes: &[u8], from: usize) -> Value {
    let start = skip_trivia(bytes, from);
    let mut end = start;
    let mut at = start;
    let mut depth = 0usize;
    while at < bytes.len() {
        let after = skip_trivia(bytes, at);
        if after > at {
            at = after;
            continue;
        }
        match bytes[at] {
            b',' if depth == 0 => break,
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth = depth.saturating_sub(1),
            quote @ (b'"' | b'\'') => match skip_quoted(bytes, at, quote) {
                Some(closing) => at = closing,
                None => return unclosed(bytes, start),
            },
            _ => {}
        }
        at += 1;
        end = at;
    }
    if depth > 0 {
        return unclosed(bytes, start);
    }
    Value { span: Span { start, end }, next: at, closed: true }
}

#[inline]
const fn unclosed(bytes: &[u8], start: usize) -> Value {
    Value { span: Span { start, end: bytes.len() }, next: bytes.len(), closed: false }
}

/// The closing quote; a backslash takes the next byte with it.
#[inline]
pub(crate) const fn skip_quoted(bytes: &[u8], opening: usize, quote: u8) -> Option<usize> {
    let mut at = opening + 1;
    while at < bytes.len() {
        if bytes[at] == quote {
            return Some(at);
        }
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    None
}

/// What a number in the text came to.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    /// The value, and where it ends.
    Is(u64, usize),
    /// There is none.
    None,
    /// It ends here, and it is too fine to be exact.
    TooFine,
    /// It is too large to be exact.
    TooLarge,
}

/// A whole number.
#[inline]
pub(crate) const fn scan_whole(bytes: &[u8], from: usize, end: usize) -> Number {
    let mut at = from;
    let mut value = 0u64;
    let mut fits = true;
    while at < end && bytes[at].is_ascii_digit() {
        match value.checked_mul(10) {
            Some(tenfold) => value = tenfold.saturating_add((bytes[at] - b'0') as u64),
            None => fits = false,
        }
        at += 1;
    }
    if at == from {
        Number::None
    } else if !fits || value == u64::MAX {
        Number::TooLarge
    } else {
        Number::Is(value, at)
    }
}

/// Digits after a point, in billionths.
#[inline]
const fn scan_fraction(bytes: &[u8], from: usize, end: usize) -> Number {
    let mut at = from;
    let mut billionths = 0;
    let mut place = BILLION;
    while at < end && bytes[at].is_ascii_digit() {
        place /= 10;
        if place == 0 {
            return Number::TooFine;
        }
        billionths += (bytes[at] - b'0') as u64 * place;
        at += 1;
    }
    if at == from { Number::None } else { Number::Is(billionths, at) }
}

/// A decimal below one billion, in billionths.
#[inline]
pub(crate) const fn scan_decimal(bytes: &[u8], from: usize, end: usize) -> Number {
    match scan_whole(bytes, from, end) {
        Number::Is(whole, _) if whole >= BILLION => Number::TooLarge,
        Number::Is(whole, at) if at < end && bytes[at] == b'.' => {
            match scan_fraction(bytes, at + 1, end) {
                Number::Is(billionths, at) => Number::Is(whole * BILLION + billionths, at),
                other => other,
            }
        }
        Number::Is(whole, at) => Number::Is(whole * BILLION, at),
        other => other,
    }
}

/// What a duration in the text came to.
pub(crate) enum Length {
    /// Nanoseconds, and where it ends.
    Is(u64, usize),
    /// A number and no unit after it.
    NoUnit,
    /// Finer than a nanosecond.
    TooFine,
    /// Not a duration.
    None,
}

/// Numbers with units, `1m30s`, saturating.
#[inline]
pub(crate) const fn scan_duration(bytes: &[u8], from: usize, end: usize) -> Length {
    let mut total = 0u64;
    let mut at = from;
    loop {
        let (whole, after) = match scan_whole(bytes, at, end) {
            Number::Is(whole, after) => (whole, after),
            Number::TooLarge => (u64::MAX, skip_digits(bytes, at, end)),
            _ => return Length::None,
        };
        let (fraction, after) = if after < end && bytes[after] == b'.' {
            match scan_fraction(bytes, after + 1, end) {
                Number::Is(fraction, after) => (fraction, after),
                Number::TooFine => return Length::TooFine,
                _ => return Length::None,
            }
        } else {
            (0, after)
        };
        let unit_end = skip_letters(bytes, after, end);
        if unit_end == after {
            return if after == end { Length::NoUnit } else { Length::None };
        }
        let Some(unit) = unit_nanos(bytes, after, unit_end) else {
            return Length::None;
        };
        let product = fraction as u128 * unit as u128;
        if product % BILLION as u128 != 0 {
            return Length::TooFine;
        }
        let part = whole.saturating_mul(unit).saturating_add((product / BILLION as u128) as u64);
        total = total.saturating_add(part);
        at = unit_end;
        if at >= end || !bytes[at].is_ascii_digit() {
            return Length::Is(total, at);
        }
    }
}

#[inline]
const fn skip_digits(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while at < end && bytes[at].is_ascii_digit() {
        at += 1;
    }
    at
}

#[inline]
const fn skip_letters(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while at < end && bytes[at].is_ascii_alphabetic() {
        at += 1;
    }
    at
}

#[inline]
const fn unit_nanos(bytes: &[u8], from: usize, end: usize) -> Option<u64> {
    if end - from == 1 && bytes[from] == b'm' {
        return Some(60 * BILLION);
    }
    let (_, rest) = bytes.split_at(from);
    let (word, _) = rest.split_at(end - from);
    let mut i = 0;
    while i < UNITS.len() {
        if super::option::same(word, UNITS[i].0.as_bytes()) {
            return Some(UNITS[i].1);
        }
        i += 1;
    }
    None
}
