//! Seeded random cases. A failure names its seed; `REDIAL_SEED=<seed>` runs that one case alone.

use std::panic::{AssertUnwindSafe, catch_unwind};

use redial_core::{Random, SplitMix64};

/// Runs `case` once for each of the first `count` seeds.
pub(crate) fn each_seed(count: u64, case: impl Fn(&mut Dice)) {
    let asked = std::env::var("REDIAL_SEED").ok().map(|text| text.parse().expect("a seed"));
    for seed in asked.map_or(0..count, |seed: u64| seed..seed + 1) {
        let outcome = catch_unwind(AssertUnwindSafe(|| case(&mut Dice::new(seed))));
        if let Err(panic) = outcome {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("");
            panic!("REDIAL_SEED={seed}: {message}");
        }
    }
}

pub(crate) struct Dice(SplitMix64);

impl Dice {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds of one generator are neighbouring streams; the cases need not be.
        Self(SplitMix64::new(SplitMix64::new(seed).word()))
    }

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
