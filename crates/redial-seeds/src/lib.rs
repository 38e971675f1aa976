//! Random cases for tests, each from a seed of its own. A failure names its seed; `REDIAL_SEED=<seed>` runs that one case
//! alone.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redial_core::{Random, SplitMix64};

/// Runs `case` once for each of the first `count` seeds, or for the one that is asked for.
///
/// # Panics
///
/// As the case does, with the seed before its message.
pub fn each_seed(count: u64, case: impl Fn(SplitMix64)) {
    for seed in asked().map_or(0..count, |seed| seed..seed + 1) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| case(random(seed)))) {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("");
            panic!("REDIAL_SEED={seed}: {message}");
        }
    }
}

/// The seed that `REDIAL_SEED` asks for.
///
/// # Panics
///
/// If it is no number.
pub fn asked() -> Option<u64> {
    env::var("REDIAL_SEED").ok().map(|text| text.parse().expect("REDIAL_SEED is a number"))
}

/// What a case draws from. Neighbouring seeds of one generator are neighbouring streams; the cases need not be.
pub fn random(seed: u64) -> SplitMix64 {
    SplitMix64::new(SplitMix64::new(seed).word())
}
