//! *initial* · *factor*ⁿ: exact for whole factors, rounded to the nearest nanosecond for others.

use crate::decimal::{BILLION, Decimal, saturate};

/// The nanoseconds of `initial` · `factor`ⁿ, saturating.
pub(crate) const fn power(initial: u64, factor: Decimal, n: u32) -> u64 {
    if initial == 0 {
        0
    } else if factor.is_whole() {
        whole_power(initial, factor.billionths() / BILLION, n)
    } else {
        Wide::from_decimal(factor).to_the(n).scaled(initial)
    }
}

/// The nanoseconds of `initial` · `factor`ⁿ for the first *n*, one from the other.
pub(crate) const fn first_powers<const N: usize>(initial: u64, factor: Decimal) -> [u64; N] {
    let mut powers = [0; N];
    let whole = factor.billionths() / BILLION;
    let (mut value, mut wide) = (initial, Wide::ONE);
    let step = Wide::from_decimal(factor);
    let mut n = 0;
    while n < N && initial > 0 {
        powers[n] = if factor.is_whole() { value } else { wide.scaled(initial) };
        value = value.saturating_mul(whole);
        if !factor.is_whole() && !wide.exceeds_all() {
            wide = wide.times(step);
        }
        n += 1;
    }
    powers
}

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

/// A number of at least one as mantissa · 2^exponent, the mantissa's top bit set.
///
/// Every operation rounds up, by less than one part in 2¹²⁷. So the error after *n* factors is
/// below *n* parts in 2¹²⁶, and a product that lies exactly between two nanoseconds never falls
/// below the middle: it rounds up, as on paper.
#[derive(Clone, Copy)]
struct Wide {
    mantissa: u128,
    exponent: i64,
}

impl Wide {
    const ONE: Self = Self { mantissa: 1 << 127, exponent: -127 };

    const fn from_decimal(decimal: Decimal) -> Self {
        // billionths / 10⁹ in binary, rounded up: long division, one bit at a time.
        let mut remainder = decimal.billionths() as u128;
        let mut mantissa = remainder / BILLION as u128;
        remainder %= BILLION as u128;
        let mut exponent = 0;
        while mantissa < 1 << 127 {
            remainder *= 2;
            mantissa = mantissa * 2 + remainder / BILLION as u128;
            remainder %= BILLION as u128;
            exponent -= 1;
        }
        Self::round_up(mantissa, exponent, remainder > 0)
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
