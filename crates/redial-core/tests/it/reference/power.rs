//! *initial* · *factor*ⁿ to the nearest nanosecond, by exact arithmetic.

use super::BILLION;
use super::natural::Natural;

/// *initial* · *factor*ⁿ for n = 0, 1, 2 …, each rounded to the nearest, a half up.
pub(crate) fn powers(initial: u64, factor: u64) -> impl Iterator<Item = u64> {
    // In lowest terms, so that 1.5 costs what 3/2 costs.
    let common = greatest_common_divisor(factor, BILLION);
    let (over, under) = (Natural::from(factor / common), (BILLION / common) as u32);
    let mut numerator = Natural::from(initial);
    let mut denominator = Natural::from(1);
    let mut n = 0;
    let mut saturated = false;
    std::iter::from_fn(move || {
        if saturated {
            return Some(u64::MAX);
        }
        // ⌊x + 1/2⌋ = ⌊(2 · numerator + denominator) / (2 · denominator)⌋
        let mut rounded = numerator.plus(&numerator).plus(&denominator);
        for _ in 0..n {
            rounded = rounded.divided_by(under).0;
        }
        let value = rounded.divided_by(2).0.saturated();
        saturated = value == u64::MAX;
        numerator = numerator.times(&over);
        denominator = denominator.times(&Natural::from(u64::from(under)));
        n += 1;
        Some(value)
    })
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Between which two values *initial* · *factor*ⁿ lies once it is rounded, for any *n*: the same
/// calculation twice in 256 bits, cut off downwards and upwards.
pub(crate) fn power_bounds(initial: u64, factor: u64, n: u32) -> (u64, u64) {
    let bound = |side| {
        let power = Scaled::quotient(factor, BILLION, side).to_the(n, side);
        power.times(&Scaled::whole(initial), side).nearest()
    };
    (bound(Side::Below), bound(Side::Above))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below,
    Above,
}

/// A number as mantissa / 2^(32 · `places`).
#[derive(Clone)]
struct Scaled {
    mantissa: Natural,
    places: usize,
}

/// Digits of base 2³² behind the point: 192 bits, beside the 64 before it.
const PLACES: usize = 6;

impl Scaled {
    fn whole(number: u64) -> Self {
        Self { mantissa: Natural::from(number).raised(PLACES), places: PLACES }
    }

    fn quotient(numerator: u64, denominator: u64, side: Side) -> Self {
        let (mantissa, rest) =
            Natural::from(numerator).raised(PLACES).divided_by(denominator as u32);
        Self { mantissa, places: PLACES }.cut(rest, side)
    }

    fn cut(mut self, rest: bool, side: Side) -> Self {
        if rest && side == Side::Above {
            self.mantissa = self.mantissa.plus(&Natural::from(1));
        }
        self
    }

    fn times(&self, other: &Self, side: Side) -> Self {
        let product = self.mantissa.times(&other.mantissa);
        let (mantissa, rest) = product.lowered(self.places + other.places - PLACES);
        Self { mantissa, places: PLACES }.cut(rest, side)
    }

    fn to_the(&self, n: u32, side: Side) -> Self {
        let mut power = Self::whole(1);
        for bit in (0..u32::BITS).rev() {
            power = power.times(&power, side);
            if n >> bit & 1 == 1 {
                power = power.times(self, side);
            }
            // Past 2⁶⁴ it only grows, and saturates whatever it is multiplied with.
            if power.mantissa.digits() > PLACES + 2 {
                return power;
            }
        }
        power
    }

    fn nearest(&self) -> u64 {
        let half = Natural::from(1 << 31).raised(PLACES - 1);
        self.mantissa.plus(&half).lowered(PLACES).0.saturated()
    }
}
