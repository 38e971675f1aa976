//! *initial* · *factor*ⁿ: exact for whole factors, rounded to the nearest nanosecond for others.
//!
//! A fractional power is first worked out in 64 bits, with a bound on the error. Where that leaves
//! open which nanosecond is the nearest (Ziv's test), it is worked out again in 128 bits.

use crate::decimal::{BILLION, Decimal, saturate};

/// The nanoseconds of `initial` · `factor`ⁿ, saturating.
pub(crate) const fn power(initial: u64, factor: Decimal, n: u32) -> u64 {
    if initial == 0 {
        0
    } else if let Some(factor) = factor.whole() {
        whole_power(initial, factor, n)
    } else {
        match Narrow::from_decimal(factor).to_the(n).scaled(initial) {
            Some(nanos) => nanos,
            None => wide_power(initial, factor, n),
        }
    }
}

/// Powers one after the other, each from the one before.
pub(crate) struct Powers {
    initial: u64,
    factor: Decimal,
    step: Narrow,
    power: Narrow,
    n: u32,
}

impl Powers {
    pub(crate) const fn new(initial: u64, factor: Decimal) -> Self {
        let step = Narrow::from_decimal(factor);
        Self { initial, factor, step, power: Narrow::ONE, n: 0 }
    }

    pub(crate) const fn next(&mut self) -> u64 {
        let nanos = match self.power.scaled(self.initial) {
            Some(nanos) => nanos,
            None => wide_power(self.initial, self.factor, self.n),
        };
        if !self.power.exceeds_all() {
            self.power = self.power.times(self.step);
        }
        self.n += 1;
        nanos
    }
}

/// A few powers of one factor, in one word each: the first eight, and six that are eight apart. Each
/// of 48 others is the product of two of them.
pub(crate) struct Steps;

impl Steps {
    const SMALL: usize = 8;
    const LARGE: usize = 6;

    /// How many words they take.
    pub(crate) const WORDS: usize = Self::SMALL + Self::LARGE;

    /// How many powers follow from them.
    pub(crate) const REACH: u64 = (Self::SMALL * Self::LARGE) as u64;

    /// Writes them to the words from `at` on; `first` is the first power that they are for, below 64.
    pub(crate) const fn write<const N: usize>(
        words: &mut [u64; N],
        at: usize,
        factor: Decimal,
        first: u32,
    ) {
        let step = Narrow::from_decimal(factor);
        let (mut small, mut n) = (Narrow::ONE, 0);
        while n < Self::SMALL {
            words[at + n] = small.packed();
            small = small.times(step);
            n += 1;
        }
        let mut large = step.to_the(first);
        while n < Self::WORDS {
            words[at + n] = large.packed();
            if !large.exceeds_all() {
                large = large.times(small);
            }
            n += 1;
        }
    }

    /// `initial` times the power that is `past` the first one, below [`REACH`](Self::REACH); `None`
    /// where the error leaves open which nanosecond is the nearest.
    pub(crate) const fn scaled<const N: usize>(
        words: &[u64; N],
        at: usize,
        past: u64,
        initial: u64,
    ) -> Option<u64> {
        let (large, small) = (past as usize / Self::SMALL, past as usize % Self::SMALL);
        let (large, small) = (words[at + Self::SMALL + large], words[at + small]);
        let [exponent, other] = [large & EXPONENT, small & EXPONENT];
        let power = (((large - exponent) as u128 * (small - other) as u128) >> 64) + 1;
        let down = BIAS.wrapping_sub(exponent + other);
        let product = initial as u128 * power;
        let above_64 = (product >> 64) as u64;
        // What saturates, or nearly does, is for somebody else.
        if down.wrapping_sub(1) > 62 || above_64 >> (down - 1) != 0 || above_64 >= 1 << 53 {
            return None;
        }
        let (low, carry) = (product as u64).overflowing_add(1 << (down - 1));
        let nanos = ((above_64 + carry as u64) << (64 - down)) | (low >> down);
        // The exact value is less by 512 parts in 2⁶³ at most: two that were packed are 127 too large,
        // the power before that had two for each factor, of which there are at most 64, and the
        // product has two.
        let loss = (above_64 + 1) << 10;
        if loss <= low & ((1 << down) - 1) { Some(nanos) } else { None }
    }
}

/// Where a packed power has its exponent: from −63 to 2, and [`BIAS`] more.
const EXPONENT: u64 = (1 << 7) - 1;
const BIAS: u64 = 64;

const fn whole_power(initial: u64, factor: u64, n: u32) -> u64 {
    if factor == 1 {
        return initial;
    }
    if factor == 2 {
        return if n <= initial.leading_zeros() { initial << n } else { u64::MAX };
    }
    // At 64 doublings everything has saturated, so the loop is short whatever n is.
    let mut value = initial;
    let mut i = 0;
    while i < n && value < u64::MAX {
        value = value.saturating_mul(factor);
        i += 1;
    }
    value
}

#[cold]
const fn wide_power(initial: u64, factor: Decimal, n: u32) -> u64 {
    Wide::from_decimal(factor).to_the(n).scaled(initial)
}

/// A number of at least one as mantissa · 2^exponent, the mantissa's top bit set.
///
/// Every operation rounds up, so the exact value is at most this one, and at least this one less
/// `error` parts in 2⁶³.
#[derive(Clone, Copy)]
struct Narrow {
    mantissa: u64,
    exponent: i32,
    error: u64,
}

impl Narrow {
    const ONE: Self = Self { mantissa: 1 << 63, exponent: -63, error: 0 };

    const fn from_decimal(decimal: Decimal) -> Self {
        let whole = decimal.billionths() / BILLION;
        let (fraction, rest) = binary_digits(decimal.billionths() % BILLION);
        // A factor is at least 1, so the whole part is not zero.
        let shift = whole.leading_zeros();
        let mantissa = whole << shift | (fraction >> 1) >> (63 - shift);
        Self::round_up(mantissa, -(shift as i32), fraction << shift > 0 || rest > 0, 0)
    }

    const fn round_up(mantissa: u64, exponent: i32, inexact: bool, error: u64) -> Self {
        if !inexact {
            Self { mantissa, exponent, error }
        } else if mantissa == u64::MAX {
            Self { mantissa: 1 << 63, exponent: exponent + 1, error: error + 1 }
        } else {
            Self { mantissa: mantissa + 1, exponent, error: error + 1 }
        }
    }

    const fn times(self, other: Self) -> Self {
        let product = self.mantissa as u128 * other.mantissa as u128;
        let (high, low) = ((product >> 64) as u64, product as u64);
        let exponent = self.exponent + other.exponent + 64;
        // (1 − a)(1 − b) is at least 1 − a − b.
        let error = self.error + other.error;
        if high >= 1 << 63 {
            Self::round_up(high, exponent, low > 0, error)
        } else {
            Self::round_up(high << 1 | low >> 63, exponent - 1, low << 1 > 0, error)
        }
    }

    /// In one word, rounded up: the exponent takes the place of the lowest bits of the mantissa.
    const fn packed(self) -> u64 {
        let exponent = if self.exceeds_all() { 2 } else { self.exponent };
        let low = self.mantissa & EXPONENT;
        let (mantissa, exponent) = match (self.mantissa - low).checked_add(EXPONENT + 1) {
            _ if low == 0 => (self.mantissa, exponent),
            Some(mantissa) => (mantissa, exponent),
            None => (1 << 63, exponent + 1),
        };
        mantissa | (exponent + BIAS as i32) as u64
    }

    /// By squaring, and not much further than 2⁶⁴: past that every product has saturated.
    const fn to_the(self, n: u32) -> Self {
        let mut result = Self::ONE;
        let mut square = self;
        let mut left = n;
        loop {
            if left & 1 == 1 {
                result = result.times(square);
            }
            left >>= 1;
            if left == 0 || result.exceeds_all() {
                return result;
            }
            if square.exceeds_all() {
                return square;
            }
            square = square.times(square);
        }
    }

    /// Whether it is 2⁶⁵ or more, and the exact value then above 2⁶⁴.
    const fn exceeds_all(self) -> bool {
        self.exponent >= 2
    }

    /// `nanos` times this, rounded to the nearest, saturating; `None` where the error leaves open
    /// which one is the nearest.
    const fn scaled(self, nanos: u64) -> Option<u64> {
        if self.exceeds_all() {
            return Some(u64::MAX);
        }
        if self.exponent >= 0 {
            return None;
        }
        // The value is the product / 2^down, and down is 1 to 63.
        let down = -self.exponent as u32;
        let product = nanos as u128 * self.mantissa as u128;
        let loss = ((product >> 63) + 1) * self.error as u128;
        // Below 2¹²⁸ − 2⁶⁵ + 2⁶³, so this does not overflow.
        let raised = product + (1 << (down - 1));
        let above = raised as u64 & ((1 << down) - 1);
        if loss <= above as u128 { Some(saturate(raised >> down)) } else { None }
    }
}

/// The first 64 binary digits of `billionths` / 10⁹, which is below one, and what is left over.
const fn binary_digits(billionths: u64) -> (u64, u64) {
    let first = billionths << 32;
    let second = (first % BILLION) << 32;
    (((first / BILLION) << 32) | (second / BILLION), second % BILLION)
}

/// The same in 128 bits: every operation rounds up, by less than one part in 2¹²⁷.
///
/// So the error after *n* factors is below *n* parts in 2¹²⁶, and a product that lies exactly
/// between two nanoseconds never falls below the middle: it rounds up, as on paper.
#[derive(Clone, Copy)]
struct Wide {
    mantissa: u128,
    exponent: i64,
}

impl Wide {
    const ONE: Self = Self { mantissa: 1 << 127, exponent: -127 };

    const fn from_decimal(decimal: Decimal) -> Self {
        let whole = decimal.billionths() / BILLION;
        let (high, rest) = binary_digits(decimal.billionths() % BILLION);
        let (low, rest) = binary_digits(rest);
        let fraction = (high as u128) << 64 | low as u128;
        let shift = whole.leading_zeros() + 64;
        let mantissa = (whole as u128) << shift | (fraction >> 1) >> (127 - shift);
        Self::round_up(mantissa, -(shift as i64), fraction << shift > 0 || rest > 0)
    }

    const fn round_up(mantissa: u128, exponent: i64, inexact: bool) -> Self {
        if !inexact {
            Self { mantissa, exponent }
        } else if mantissa == u128::MAX {
            Self { mantissa: 1 << 127, exponent: exponent + 1 }
        } else {
            Self { mantissa: mantissa + 1, exponent }
        }
    }

    const fn times(self, other: Self) -> Self {
        let (high, low) = multiply(self.mantissa, other.mantissa);
        let exponent = self.exponent + other.exponent + 128;
        if high >= 1 << 127 {
            Self::round_up(high, exponent, low > 0)
        } else {
            Self::round_up(high << 1 | low >> 127, exponent - 1, low << 1 > 0)
        }
    }

    /// By squaring, and no further than 2⁶⁴: past that every product has saturated.
    const fn to_the(self, n: u32) -> Self {
        let mut result = Self::ONE;
        let mut square = self;
        let mut left = n;
        while left > 0 {
            if left & 1 == 1 {
                result = result.times(square);
            }
            left >>= 1;
            if result.exceeds_all() || (left > 0 && square.exceeds_all()) {
                return Self { mantissa: 1 << 127, exponent: 0 };
            }
            square = square.times(square);
        }
        result
    }

    const fn exceeds_all(self) -> bool {
        self.exponent + 127 >= 64
    }

    /// `nanos` times this, rounded to the nearest, saturating.
    const fn scaled(self, nanos: u64) -> u64 {
        if self.exceeds_all() {
            return u64::MAX;
        }
        let shift = nanos.leading_zeros();
        let whole = Self { mantissa: (nanos as u128) << 64 << shift, exponent: -64 - shift as i64 };
        let product = self.times(whole);
        // The value is mantissa / 2^down; at down ≤ 63 it is at least 2⁶⁴.
        let down = -product.exponent;
        if down <= 63 {
            return u64::MAX;
        }
        let half = 1u128 << (down - 1);
        match product.mantissa.checked_add(half) {
            Some(sum) => saturate(sum >> down),
            None => saturate((product.mantissa >> down) + 1),
        }
    }
}

/// The 256-bit product of two 128-bit numbers, as high and low halves.
const fn multiply(a: u128, b: u128) -> (u128, u128) {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & LOW);
    (a1 * b1 + (middle >> 64) + (other >> 64), other << 64 | low & LOW)
}
