//! Seeded random cases. A failure names its seed; `REDIAL_SEED=<seed>` runs that one case alone.

use redial_core::{Random, SplitMix64};

/// Runs `case` once for each of the first `count` seeds.
pub(crate) fn each_seed(count: u64, case: impl Fn(&mut Dice)) {
    redial_seeds::each_seed(count, |random| case(&mut Dice(random)));
}

pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.0.word() % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }
}
