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

/// The same for cases that lend their dice to others.
///
/// # Panics
///
/// As the case does, with the seed before its message.
pub fn each_case(count: u64, case: impl Fn(&mut Dice)) {
    each_seed(count, |mut dice| case(&mut dice));
}

/// What a case draws from.
pub type Dice = SplitMix64;

/// What is drawn from dice, or from anything else that gives words.
pub trait Draw: Random {
    /// A number below this one, each as likely as the next, as far as a test can tell.
    fn below<N: Whole>(&mut self, bound: N) -> N {
        N::narrowed(self.word() % bound.widened())
    }

    /// True once in so many times.
    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// One of these.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

impl<R: Random + ?Sized> Draw for R {}

/// A kind of whole numbers; a literal without a suffix is an `i32`.
pub trait Whole {
    /// As a word.
    fn widened(self) -> u64;
    /// From a word that fits.
    fn narrowed(word: u64) -> Self;
}

macro_rules! whole {
    ($($number:ty),*) => {$(
        impl Whole for $number {
            fn widened(self) -> u64 {
                self.try_into().expect("a bound above zero")
            }

            fn narrowed(word: u64) -> Self {
                word.try_into().expect("it is below a number of this kind")
            }
        }
    )*};
}

whole!(i32, u32, u64, usize);

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
