//! What happens to a delay between its source and the sleep: bounds and jitter, in order.

use core::fmt;

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
    #[inline]
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

/// Modifiers in the order in which they were chained, nine bytes each: policies are copied.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    /// A bound, a fraction, or the lower fraction and most of the upper one.
    values: [u64; CHAIN_MAX],
    /// Which modifier it is, in three bits; above them the rest of an upper fraction.
    tags: [u8; CHAIN_MAX],
    length: u8,
}

const TAG_BITS: u32 = 3;
/// A fraction of at most 10 in billionths.
const FRACTION_BITS: u32 = 34;
const _: () = assert!(Decimal::TEN.billionths() < 1 << FRACTION_BITS);
const _: () = assert!(2 * FRACTION_BITS + TAG_BITS <= 64 + 8);

impl Chain {
    pub(crate) const EMPTY: Self = Self { values: [0; CHAIN_MAX], tags: [0; CHAIN_MAX], length: 0 };

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.length as usize
    }

    #[inline]
    pub(crate) const fn is_full(&self) -> bool {
        self.len() == CHAIN_MAX
    }

    /// The modifier at `index`, which is below the length.
    #[inline]
    pub(crate) const fn get(&self, index: usize) -> Modifier {
        let (value, tag) = (self.values[index], self.tags[index]);
        match tag & ((1 << TAG_BITS) - 1) {
            0 => Modifier::Min(value),
            1 => Modifier::Max(value),
            2 => Modifier::Full,
            3 => Modifier::Equal,
            4 => Modifier::Proportional(Decimal::from_billionths(value)),
            5 => Modifier::Additive(Decimal::from_billionths(value)),
            _ => {
                let low = value & ((1 << FRACTION_BITS) - 1);
                let rest = (tag >> TAG_BITS) as u64;
                let high = value >> FRACTION_BITS | rest << (64 - FRACTION_BITS);
                Modifier::Spread(Decimal::from_billionths(low), Decimal::from_billionths(high))
            }
        }
    }

    /// Puts `modifier` at the end, where there is room.
    #[inline(always)]
    pub(crate) const fn push(&mut self, modifier: Modifier) {
        let (tag, value) = match modifier {
            Modifier::Min(m) => (0, m),
            Modifier::Max(m) => (1, m),
            Modifier::Full => (2, 0),
            Modifier::Equal => (3, 0),
            Modifier::Proportional(f) => (4, f.billionths()),
            Modifier::Additive(f) => (5, f.billionths()),
            Modifier::Spread(low, high) => {
                let (low, high) = (low.billionths(), high.billionths());
                let rest = (high >> (64 - FRACTION_BITS)) as u8;
                (6 | rest << TAG_BITS, low | high << FRACTION_BITS)
            }
        };
        self.values[self.len()] = value;
        self.tags[self.len()] = tag;
        self.length += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Modifier> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    /// All of them, for whoever looks at parts of a chain; only so many are there.
    pub(crate) fn unpacked(&self) -> ([Modifier; CHAIN_MAX], usize) {
        (core::array::from_fn(|index| self.get(index)), self.len())
    }

    /// The bound that the new one contradicts: a `min` above a `max` with no jitter in between,
    /// so that only one of the two could ever matter.
    #[inline]
    pub(crate) const fn contradicts(&self, new: Modifier) -> Option<(u64, u64)> {
        if new.is_jitter() {
            return None;
        }
        let mut i = self.len();
        while i > 0 {
            i -= 1;
            match (self.get(i), new) {
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
        while i < self.len() {
            if let Modifier::Max(max) = self.get(i) {
                return Some(max);
            }
            i += 1;
        }
        None
    }

    /// The least of the `max`es that the chain begins with, or the end of time; and how many they
    /// are.
    #[inline]
    pub(crate) const fn leading_cap(&self) -> (u64, usize) {
        let mut cap = u64::MAX;
        let mut i = 0;
        while i < self.len() {
            match self.get(i) {
                Modifier::Max(max) if max < cap => cap = max,
                Modifier::Max(_) => {}
                _ => break,
            }
            i += 1;
        }
        (cap, i)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
