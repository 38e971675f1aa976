//! The door to chance: words for calls without a seed.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use redial_core::{Random, SplitMix64};

/// Words from a generator of this thread, which the operating system seeded. No two calls, threads
/// or processes share a sequence; nothing is drawn until a jitter asks.
///
/// ```
/// use redial::{Random, ThreadRandom};
/// assert_ne!(ThreadRandom.word(), ThreadRandom.word());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadRandom;

thread_local! {
    static GENERATOR: Cell<Option<SplitMix64>> = const { Cell::new(None) };
}

impl Random for ThreadRandom {
    #[inline]
    fn word(&mut self) -> u64 {
        GENERATOR.with(|cell| {
            let mut generator = cell.take().unwrap_or_else(seeded);
            let word = generator.word();
            cell.set(Some(generator));
            word
        })
    }
}

/// `RandomState` holds 128 random bits of the operating system's and differs between threads; the
/// hash of anything is then a random word.
#[cold]
fn seeded() -> SplitMix64 {
    SplitMix64::new(RandomState::new().hash_one(()))
}
