//! Where delays come from: a formula for delay *n*, before any modifier.

use core::time::Duration;

use crate::decimal::Decimal;
use crate::power::power;
use crate::random::{Random, pick};
use crate::schedule::Schedule;
use crate::time::nanos;

/// How many delays a list may hold.
pub(crate) const LIST_MAX: usize = 16;

/// The powers of a factor that are worked out when the policy is built.
const POWERS: usize = 16;

/// A built-in delay source. Made by the constructors of [`Backoff`](crate::Backoff), such as
/// [`Backoff::exponential`](crate::Backoff::exponential); this type is only ever named as a
/// parameter's default.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, Source};
///
/// let backoff: Backoff<Source> = Backoff::constant(Duration::from_secs(1));
/// assert_eq!(backoff, Backoff::constant(Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// *c*
    Constant(u64),
    /// *initial* + *n* · *increment*
    Linear { initial: u64, increment: u64 },
    /// *initial* · 2ⁿ: exponential with the factor that everybody uses, which is a shift.
    Doubling { initial: u64 },
    /// *initial* · *factor*ⁿ, the first of them worked out beforehand.
    Exponential { initial: u64, factor: Decimal, first: [u64; POWERS] },
    /// *initial* · F(*n* + 1), F(1) = F(2) = 1
    Fibonacci { initial: u64 },
    /// *dₙ*; past the end, the first `max` of the chain, or the last entry where there is none.
    List { delays: [u64; LIST_MAX], length: usize },
    /// min(*cap*, uniform in [*base*, 3 · previous]); the first `max` of the chain, where there is
    /// one, is the cap.
    Decorrelated { base: u64, cap: u64 },
}

impl Source {
    pub(crate) const fn exponential(initial: u64, factor: Decimal) -> Self {
        if factor.billionths() == Decimal::TWO.billionths() {
            return Self(Kind::Doubling { initial });
        }
        let mut first = [0; POWERS];
        let mut n = 0;
        while n < POWERS {
            first[n] = power(initial, factor, n as u32);
            n += 1;
        }
        Self(Kind::Exponential { initial, factor, first })
    }

    /// Delay `n` of a source that draws no word; the least value of one that does. `first_max` is
    /// the first `max` of the chain behind it.
    #[inline]
    pub(crate) const fn at(&self, n: u32, first_max: Option<u64>) -> u64 {
        match &self.0 {
            Kind::Doubling { initial } => doubled(*initial, n),
            Kind::Constant(delay) => *delay,
            Kind::Linear { initial, increment } => {
                initial.saturating_add(increment.saturating_mul(n as u64))
            }
            Kind::Exponential { initial, factor, first } => {
                if (n as usize) < POWERS {
                    first[n as usize]
                } else {
                    power(*initial, *factor, n)
                }
            }
            Kind::Fibonacci { initial } => fibonacci(*initial, n),
            Kind::List { delays, length } => {
                if (n as usize) < *length {
                    return delays[n as usize];
                }
                match (first_max, *length) {
                    (Some(max), _) => max,
                    (None, 0) => 0,
                    (None, length) => delays[length - 1],
                }
            }
            Kind::Decorrelated { base, cap } => {
                let cap = or(first_max, *cap);
                if *base < cap { *base } else { cap }
            }
        }
    }
}

impl Schedule for Source {
    #[inline]
    fn delay(&self, n: u32, previous: Duration, random: &mut impl Random) -> Duration {
        Duration::from_nanos(self.delay_nanos(n, nanos(previous), None, random))
    }

    #[inline]
    fn delay_nanos(
        &self,
        n: u32,
        previous: u64,
        first_max: Option<u64>,
        random: &mut impl Random,
    ) -> u64 {
        match &self.0 {
            Kind::Decorrelated { base, cap } => {
                decorrelated(*base, or(first_max, *cap), previous, random.word())
            }
            _ => self.at(n, first_max),
        }
    }
}

/// One step of the decorrelated source. Before the first one `previous` is zero, which stands for
/// *base*; afterwards it is never below it, unless the cap is, and then every delay is the cap.
pub(crate) const fn decorrelated(base: u64, cap: u64, previous: u64, word: u64) -> u64 {
    let from = if previous > base { previous } else { base };
    let drawn = pick(base, from.saturating_mul(3), word);
    if drawn < cap { drawn } else { cap }
}

const fn or(first_max: Option<u64>, otherwise: u64) -> u64 {
    match first_max {
        Some(max) => max,
        None => otherwise,
    }
}

#[inline]
const fn doubled(initial: u64, n: u32) -> u64 {
    if n <= initial.leading_zeros() && n < u64::BITS {
        initial << n
    } else if initial == 0 {
        0
    } else {
        u64::MAX
    }
}

const fn fibonacci(initial: u64, n: u32) -> u64 {
    let (mut this, mut next) = (1u64, 1u64);
    let mut i = 0;
    // F(93) is the last that fits in 64 bits.
    while i < n && this < u64::MAX {
        (this, next) = (next, this.saturating_add(next));
        i += 1;
    }
    initial.saturating_mul(this)
}
