//! Text built in a `const`: one set of messages serves the compiler's errors and `Display`.

use crate::decimal::{BILLION, Decimal};
use crate::time::UNITS;

/// A string of at most `N` bytes that a `const fn` can write to. What does not fit is cut off, at
/// the boundary of a character.
#[derive(Clone, Copy)]
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
    full: bool,
}

impl<const N: usize> Text<N> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; N], length: 0, full: false }
    }

    #[inline]
    pub(crate) const fn as_str(&self) -> &str {
        let (written, _) = self.bytes.split_at(self.length);
        match core::str::from_utf8(written) {
            Ok(text) => text,
            Err(_) => "",
        }
    }

    #[inline]
    pub(crate) const fn str(self, text: &str) -> Self {
        self.slice(text, 0, text.len())
    }

    /// The bytes `from..to` of `text`, which are taken to be at the boundaries of characters.
    #[inline]
    pub(crate) const fn slice(self, text: &str, from: usize, to: usize) -> Self {
        let mut written = self;
        let bytes = text.as_bytes();
        let mut at = from;
        while at < to && !written.full {
            let width = character_width(bytes[at]);
            if written.length + width > N || at + width > to {
                written.full = true;
                break;
            }
            let mut i = 0;
            while i < width {
                written.bytes[written.length] = printable(bytes[at + i]);
                written.length += 1;
                i += 1;
            }
            at += width;
        }
        written
    }

    /// A kebab-case name as an identifier: `many_retries`.
    #[inline]
    pub(crate) const fn identifier(self, name: &str) -> Self {
        let mut text = self;
        let mut at = 0;
        while at < name.len() {
            text = if name.as_bytes()[at] == b'-' {
                text.str("_")
            } else {
                text.slice(name, at, at + 1)
            };
            at += 1;
        }
        text
    }

    #[inline]
    pub(crate) const fn repeat(self, character: &str, times: usize) -> Self {
        let mut text = self;
        let mut i = 0;
        while i < times {
            text = text.str(character);
            i += 1;
        }
        text
    }

    #[inline]
    pub(crate) const fn number(self, number: u128) -> Self {
        let mut digits = [0u8; 39];
        let mut at = digits.len();
        let mut rest = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let (_, written) = digits.split_at(at);
        match core::str::from_utf8(written) {
            Ok(text) => self.str(text),
            Err(_) => self,
        }
    }

    /// In hexadecimal digits, four at least, as code points are written.
    #[inline]
    pub(crate) const fn hex(self, number: u64) -> Self {
        let mut text = self;
        const DIGITS: &str = "0123456789ABCDEF";
        let mut place = 16;
        while place > 0 {
            place -= 1;
            let digit = (number >> (4 * place) & 0xf) as usize;
            if place < 4 || number >> (4 * place) > 0 {
                text = text.slice(DIGITS, digit, digit + 1);
            }
        }
        text
    }

    /// A duration in the largest unit that leaves a whole number.
    #[inline]
    pub(crate) const fn duration(self, nanos: u64) -> Self {
        if nanos == 0 {
            return self.str("0s");
        }
        let mut i = 0;
        while nanos % UNITS[i].1 != 0 {
            i += 1;
        }
        self.number((nanos / UNITS[i].1) as u128).str(UNITS[i].0)
    }

    #[inline]
    pub(crate) const fn decimal(self, decimal: Decimal) -> Self {
        let mut text = self;
        let billionths = decimal.billionths();
        text = text.number((billionths / BILLION) as u128);
        let mut fraction = billionths % BILLION;
        if fraction == 0 {
            return text;
        }
        text = text.str(".");
        let mut place = BILLION / 10;
        while fraction > 0 {
            text = text.number((fraction / place) as u128);
            fraction %= place;
            place /= 10;
        }
        text
    }

    /// A fraction as a percentage: 0.125 is `12.5%`.
    #[inline]
    pub(crate) const fn percent(self, fraction: Decimal) -> Self {
        let hundredfold = fraction.billionths().saturating_mul(100);
        self.decimal(Decimal::from_billionths(hundredfold)).str("%")
    }

    /// A float as a person would recognise it in an error message: nine digits after the point.
    #[inline]
    pub(crate) const fn float(self, value: f64) -> Self {
        if value.is_nan() {
            return self.str("NaN");
        }
        if value < 0.0 {
            return self.str("-").float(-value);
        }
        if value.is_infinite() {
            return self.str("infinity");
        }
        match Decimal::from_float(value) {
            Some(decimal) => self.decimal(decimal),
            None if value < 1e21 => self.number(value as u128),
            None => self.scientific(value),
        }
    }

    /// A large float as `1.5e308`.
    #[inline]
    const fn scientific(self, mut value: f64) -> Self {
        let mut exponent = 0;
        while value >= 10.0 {
            value /= 10.0;
            exponent += 1;
        }
        match Decimal::from_float(value) {
            Some(decimal) => self.decimal(decimal).str("e").number(exponent),
            None => self,
        }
    }
}

/// What is quoted from a text may come from anywhere: it must not steer a terminal.
#[inline]
const fn printable(byte: u8) -> u8 {
    match byte {
        b'\n' => byte,
        b'\t' => b' ',
        0..=0x1f | 0x7f => b'?',
        _ => byte,
    }
}

#[inline]
const fn character_width(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}
