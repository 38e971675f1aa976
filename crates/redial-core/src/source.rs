//! Where delays come from: a formula for delay *n*, before any modifier.

use core::time::Duration;

use crate::decimal::Decimal;
use crate::invalid::Mistake;
use crate::power::{Powers, power};
use crate::random::{Random, pick};
use crate::schedule::Schedule;

/// How many delays a list may hold.
pub(crate) const LIST_MAX: usize = 32;

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
pub struct Source(());

impl Source {
    /// Which one it is, the backoff knows.
    pub(crate) const BUILT_IN: Self = Self(());
}

/// Never asked: a backoff works its own delays out.
impl Schedule for Source {
    fn delay(&self, _n: u32, _previous: Duration, _random: &mut impl Random) -> Duration {
        Duration::ZERO
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// *c*
    Constant(u64),
    /// *initial* + *n* · *increment*
    Linear { initial: u64, increment: u64 },
    /// *initial* · *factor*ⁿ
    Exponential { initial: u64, factor: Decimal },
    /// *initial* · F(*n* + 1), F(1) = F(2) = 1
    Fibonacci { initial: u64 },
    /// *dₙ*; past the end, the first `max` of the chain, or the last entry where there is none.
    List { length: usize },
    /// min(*cap*, uniform in [*base*, 3 · previous]); the chain knows the cap, and where it has no
    /// `max` it is the unwritten one.
    Decorrelated { base: u64, unwritten_cap: u64 },
    /// A schedule of one's own.
    Own,
    /// None: a setting was out of range, and no policy is made of this.
    Mistaken(Mistake),
}

impl Kind {
    /// Delay `n` where it is a formula of `n`, and those that follow are at least as long; zero
    /// otherwise.
    pub(crate) const fn formula(self, n: u64) -> u64 {
        let n = if n < u32::MAX as u64 { n as u32 } else { u32::MAX };
        match self {
            Self::Constant(delay) => delay,
            Self::Linear { initial, increment } => {
                initial.saturating_add(increment.saturating_mul(n as u64))
            }
            Self::Exponential { initial, factor } => power(initial, factor, n),
            Self::Fibonacci { initial } => fibonacci(initial, n),
            _ => 0,
        }
    }

    /// Whether the delays of a formula differ.
    #[inline]
    pub(crate) const fn grows(self) -> bool {
        match self {
            Self::Linear { increment, .. } => increment > 0,
            Self::Exponential { initial, factor } => initial > 0 && !factor.at_most(Decimal::ONE),
            Self::Fibonacci { initial } => initial > 0,
            _ => false,
        }
    }

    /// The first delay, and what the next one is of each: it times this, and this much more. `None`
    /// where there is more to it.
    #[inline]
    pub(crate) const fn steps(self) -> Option<(u64, u64, u64)> {
        match self {
            Self::Constant(delay) => Some((delay, 1, 0)),
            Self::Linear { initial, increment } => Some((initial, 1, increment)),
            Self::Exponential { initial, factor } => match factor.whole() {
                Some(factor) => Some((initial, factor, 0)),
                None => None,
            },
            _ => None,
        }
    }

    #[inline]
    pub(crate) const fn has_formula(self) -> bool {
        matches!(
            self,
            Self::Constant(_)
                | Self::Linear { .. }
                | Self::Exponential { .. }
                | Self::Fibonacci { .. }
        )
    }
}

/// The delays of a formula one after the other, where [`Kind::steps`] has none.
pub(crate) enum Series {
    /// The next two.
    Fibonacci(u64, u64),
    Powers(Powers),
}

impl Series {
    pub(crate) const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Exponential { initial, factor } => Self::Powers(Powers::new(initial, factor)),
            Kind::Fibonacci { initial } => Self::Fibonacci(initial, initial),
            _ => Self::Fibonacci(0, 0),
        }
    }

    pub(crate) const fn next(&mut self) -> u64 {
        match self {
            Self::Fibonacci(next, after) => {
                let this = *next;
                (*next, *after) = (*after, this.saturating_add(*after));
                this
            }
            Self::Powers(powers) => powers.next(),
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
