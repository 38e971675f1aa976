//! Random policies, and what they are made of.

use redial_seeds::{Dice, Draw};

use crate::reference::{BILLION, MILLI, Modifier, SECOND, Source, Timing};

/// What is drawn for the tests of policies.
pub(crate) trait Timings: Draw + Sized {
    /// Any number of nanoseconds, of any magnitude, the ends more often than chance would.
    fn extreme_nanos(&mut self) -> u64 {
        match self.below(4) {
            0 => self.pick(&[0, 1, 2, 3, u64::MAX, u64::MAX - 1, u64::MAX / 2, u64::MAX / 3]),
            1 => self.pick(&[1, 1_000, MILLI, SECOND, 30 * SECOND, 86_400 * SECOND]),
            _ => self.word() >> self.below(64),
        }
    }

    /// Between a microsecond and a few minutes: what a policy might really have.
    fn usual_nanos(&mut self) -> u64 {
        let unit = self.pick(&[1_000, MILLI, SECOND]);
        unit * (1 + self.below(250))
    }

    /// Billionths from 0 to `most`, round ones more often than chance would.
    fn fraction(&mut self, most: u64) -> u64 {
        match self.below(3) {
            0 => self.pick(&[0, 1, BILLION / 4, BILLION / 2, BILLION - 1, BILLION, most]).min(most),
            1 => self.below(11) * (most / 10),
            _ => self.below(most + 1),
        }
    }

    /// Billionths of a factor: from 1 to what the clause can write.
    fn factor(&mut self) -> u64 {
        match self.below(4) {
            0 => self.pick(&[1, 2, 3, 10, 999_999_999]) * BILLION,
            1 => self.pick(&[BILLION + 1, 999_999_999_999_999_999, 1_500_000_000, 1_100_000_000]),
            2 => BILLION + self.below(4 * BILLION),
            _ => (BILLION + self.below(999_999_998_999_999_999)) >> self.below(29),
        }
        .max(BILLION)
    }

    /// A factor that a float holds to its last digit.
    fn small_factor(&mut self) -> u64 {
        (BILLION + self.factor() % (1000 * BILLION)).max(BILLION)
    }

    fn source(&mut self, nanos: fn(&mut Self) -> u64) -> Source {
        match self.below(6) {
            0 => Source::Constant(nanos(self)),
            1 => Source::Linear { initial: nanos(self), increment: nanos(self) },
            2 => Source::Exponential { initial: nanos(self), factor: self.small_factor() },
            3 => Source::Fibonacci(nanos(self)),
            4 => Source::List((0..self.below(33)).map(|_| nanos(self)).collect()),
            _ => Source::Decorrelated(nanos(self)),
        }
    }

    fn jitter(&mut self) -> Modifier {
        match self.below(5) {
            0 => Modifier::Full,
            1 => Modifier::Equal,
            2 => Modifier::Proportional(self.fraction(BILLION)),
            3 => Modifier::Additive(self.fraction(10 * BILLION)),
            _ => {
                let high = self.fraction(10 * BILLION).max(1);
                Modifier::Spread(self.below(high), high)
            }
        }
    }

    fn modifier(&mut self, nanos: fn(&mut Self) -> u64) -> Modifier {
        match self.below(4) {
            0 => Modifier::Min(nanos(self)),
            1 => Modifier::Max(nanos(self)),
            _ => self.jitter(),
        }
    }

    /// A policy that the builder accepts, with at most `jitters` jitters among its modifiers.
    fn timing(&mut self, nanos: fn(&mut Self) -> u64, jitters: usize) -> Timing {
        loop {
            let source = self.source(nanos);
            let modifiers: Vec<_> = (0..self.below(9)).map(|_| self.modifier(nanos)).collect();
            let timing = Timing::new(source, &modifiers, 1 + self.below(20) as u32);
            if !timing.contradicts_itself() && timing.jitters() <= jitters {
                return timing;
            }
        }
    }

    /// The same with limits, and with attempts at their extremes too.
    fn limited_timing(&mut self, nanos: fn(&mut Self) -> u64) -> Timing {
        let mut timing = self.timing(nanos, 8);
        if self.one_in(3) {
            timing.attempts = self.pick(&[None, Some(1), Some(2), Some(u32::MAX)]);
        }
        if self.one_in(2) {
            timing.within = Some(nanos(self));
        }
        if self.one_in(2) {
            timing.wait_budget = Some(nanos(self));
        }
        timing
    }
}

impl Timings for Dice {}
