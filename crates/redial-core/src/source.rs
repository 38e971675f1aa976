//! Where delays come from: a formula for delay *n*, before any modifier.

use core::fmt;
use core::time::Duration;

use crate::backoff::Caps;
use crate::decimal::Decimal;
use crate::power::{first_powers, power};
use crate::random::{Random, pick};
use crate::schedule::Schedule;
use crate::time::nanos;

/// How many delays a list may hold.
pub(crate) const LIST_MAX: usize = 32;

/// How many delays are worked out when the policy is built.
const FIRST: usize = LIST_MAX;

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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source {
    kind: Kind,
    /// The first delays, so that the loop looks them up instead of working them out. A list is
    /// nothing else.
    first: [u64; FIRST],
    /// How many of them there are: none where they depend on chance, no end where they are all
    /// the same.
    known: u64,
    /// One more than the last known delay of a formula, which all that follow are at least; zero
    /// where that is not so.
    reached: u64,
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
    /// min(*cap*, uniform in [*base*, 3 · previous]); the chain knows the cap.
    Decorrelated { base: u64 },
}

impl Source {
    pub(crate) const fn new(kind: Kind) -> Self {
        let first = match kind {
            Kind::Exponential { initial, factor } => first_powers(initial, factor),
            Kind::Decorrelated { .. } | Kind::List { .. } => [0; FIRST],
            _ => {
                let formula = Self { kind, first: [0; FIRST], known: 0, reached: 0 };
                let mut first = [0; FIRST];
                let mut n = 0;
                while n < FIRST {
                    first[n] = formula.beyond(n as u64, &Caps::NONE);
                    n += 1;
                }
                first
            }
        };
        match kind {
            Kind::Decorrelated { .. } | Kind::List { .. } => {
                Self { kind, first, known: 0, reached: 0 }
            }
            Kind::Constant(_) => Self { kind, first, known: u64::MAX, reached: 0 },
            _ => {
                let reached = first[FIRST - 1].saturating_add(1);
                Self { kind, first, known: FIRST as u64, reached }
            }
        }
    }

    pub(crate) const fn list(delays: [u64; LIST_MAX], length: usize) -> Self {
        Self { kind: Kind::List { length }, first: delays, known: length as u64, reached: 0 }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    /// How many of the first `count` delays depend neither on chance nor on the chain. All of them
    /// only where what follows is at least the last of them, which a list does not promise.
    pub(crate) const fn known_before(&self, count: u64) -> u64 {
        match self.kind {
            Kind::Decorrelated { .. } => 0,
            Kind::List { length } if (length as u64) < count => length as u64,
            Kind::List { .. } => count - 1,
            _ => count,
        }
    }

    /// The delays of a list.
    pub(crate) const fn entries(&self) -> &[u64] {
        match self.kind {
            Kind::List { length } => self.first.split_at(length).0,
            _ => &[],
        }
    }

    /// Delay `n` of a source that draws no word; the least value of one that does.
    #[inline]
    pub(crate) const fn at(&self, n: u64, caps: &Caps) -> u64 {
        if n < self.known {
            // The remainder only matters to a constant source, whose delays are all the same.
            self.first[n as usize % FIRST]
        } else {
            self.beyond(n, caps)
        }
    }

    /// Delay `n` by the formula.
    const fn beyond(&self, n: u64, caps: &Caps) -> u64 {
        let n = if n < u32::MAX as u64 { n as u32 } else { u32::MAX };
        match self.kind {
            Kind::Constant(delay) => delay,
            Kind::Linear { initial, increment } => {
                initial.saturating_add(increment.saturating_mul(n as u64))
            }
            Kind::Exponential { initial, factor } => power(initial, factor, n),
            Kind::Fibonacci { initial } => fibonacci(initial, n),
            Kind::List { length } => match (caps.first_max, length) {
                (Some(max), _) => max,
                (None, 0) => 0,
                (None, length) => self.first[length - 1],
            },
            Kind::Decorrelated { base } => {
                let cap = caps.source_cap();
                if base < cap { base } else { cap }
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::List { .. } => f.debug_tuple("List").field(&self.entries()).finish(),
            kind => kind.fmt(f),
        }
    }
}

impl Schedule for Source {
    #[inline]
    fn delay(&self, n: u32, previous: Duration, random: &mut impl Random) -> Duration {
        Duration::from_nanos(self.delay_nanos(n.into(), nanos(previous), &Caps::NONE, random))
    }

    fn delay_nanos(&self, n: u64, previous: u64, caps: &Caps, random: &mut impl Random) -> u64 {
        match self.kind {
            Kind::Decorrelated { base } => {
                decorrelated(base, caps.source_cap(), previous, random.word())
            }
            // What is above the cap will be cut to it, so it need not be worked out.
            _ if n >= self.known && caps.leading < self.reached => caps.leading,
            _ => self.at(n, caps),
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
