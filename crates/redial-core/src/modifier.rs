//! What happens to a delay between its source and the sleep: bounds and jitter, in order.

use crate::decimal::Decimal;
use crate::random::{Random, pick};

/// How many modifiers a chain may hold.
pub(crate) const CHAIN_MAX: usize = 8;

/// One modifier of a delay *g*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Modifier {
    /// max(*m*, *g*)
    Min(u64),
    /// min(*m*, *g*)
    Max(u64),
    /// uniform in [0, *g*]
    Full,
    /// uniform in [⌊*g*/2⌋, *g*]
    Equal,
    /// uniform in [*g* − ⌊*f·g*⌋, *g* + ⌊*f·g*⌋]
    Proportional(Decimal),
    /// uniform in [⌊*lo·g*⌋, ⌈*hi·g*⌉ − 1]
    Spread(Decimal, Decimal),
    /// uniform in [*g*, *g* + ⌊*f·g*⌋]
    Additive(Decimal),
}

impl Modifier {
    pub(crate) const fn is_jitter(&self) -> bool {
        !matches!(self, Self::Min(_) | Self::Max(_))
    }

    /// The range that a delay of `g` becomes; one point for a bound.
    pub(crate) const fn range(&self, g: u64) -> (u64, u64) {
        match *self {
            Self::Min(m) => {
                let bounded = if g < m { m } else { g };
                (bounded, bounded)
            }
            Self::Max(m) => {
                let bounded = if g > m { m } else { g };
                (bounded, bounded)
            }
            Self::Full => (0, g),
            Self::Equal => (g / 2, g),
            Self::Proportional(f) => {
                let part = f.of_floor(g);
                (g.saturating_sub(part), g.saturating_add(part))
            }
            Self::Spread(low, high) => {
                let least = low.of_floor(g);
                let greatest = high.of_ceil_less_one(g);
                (least, if greatest < least { least } else { greatest })
            }
            Self::Additive(f) => (g, g.saturating_add(f.of_floor(g))),
        }
    }

    /// The delay that a delay of `g` becomes. A jitter draws one word, also where its range has
    /// one point.
    pub(crate) fn apply(&self, g: u64, random: &mut impl Random) -> u64 {
        let (low, high) = self.range(g);
        if self.is_jitter() { pick(low, high, random.word()) } else { low }
    }
}

/// Modifiers in the order in which they were chained.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    modifiers: [Modifier; CHAIN_MAX],
    length: usize,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self { modifiers: [Modifier::Full; CHAIN_MAX], length: 0 };

    pub(crate) const fn as_slice(&self) -> &[Modifier] {
        self.modifiers.split_at(self.length).0
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.length == CHAIN_MAX
    }

    /// Puts `modifier` at the end, where there is room.
    pub(crate) const fn push(&mut self, modifier: Modifier) {
        self.modifiers[self.length] = modifier;
        self.length += 1;
    }

    /// The bound that the new one contradicts: a `min` above a `max` with no jitter in between,
    /// so that only one of the two could ever matter.
    pub(crate) const fn contradicts(&self, new: Modifier) -> Option<(u64, u64)> {
        let mut i = self.length;
        while i > 0 {
            i -= 1;
            match (self.modifiers[i], new) {
                (Modifier::Max(max), Modifier::Min(min)) if min > max => return Some((min, max)),
                (Modifier::Min(min), Modifier::Max(max)) if min > max => return Some((min, max)),
                (Modifier::Min(_) | Modifier::Max(_), _) => {}
                _ => return None,
            }
        }
        None
    }

    pub(crate) const fn first_max(&self) -> Option<u64> {
        let mut i = 0;
        while i < self.length {
            if let Modifier::Max(max) = self.modifiers[i] {
                return Some(max);
            }
            i += 1;
        }
        None
    }
}
