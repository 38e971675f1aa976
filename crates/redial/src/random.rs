//! The door to chance: words for calls without a seed.

/// Words from a generator of this thread, which the operating system seeded. No two calls, threads
/// or processes share a sequence; nothing is drawn until a jitter asks.
///
/// On `wasm32-unknown-unknown` the seed comes from `crypto.getRandomValues` of the host, by the
/// feature `wasm`. Without the feature every process would draw the same delays; so a call that was
/// given neither a [`seed`](crate::Retry::seed) nor an [`rng`](crate::Retry::rng) does not compile
/// there.
///
/// ```
/// use redial::{Random, ThreadRandom};
/// assert_ne!(ThreadRandom.word(), ThreadRandom.word());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadRandom;

#[cfg(any(feature = "wasm", not(all(target_family = "wasm", target_os = "unknown"))))]
mod words {
    use std::cell::Cell;
    use std::hash::{BuildHasher, RandomState};

    use redial_core::{Random, SplitMix64};

    thread_local! {
        /// Where in the one cycle of all words this thread is. Zero is nowhere yet; a thread that
        /// comes by it, after 2⁶⁴ words, is put somewhere else.
        static POSITION: Cell<u64> = const { Cell::new(0) };
    }

    impl Random for super::ThreadRandom {
        #[inline]
        fn word(&mut self) -> u64 {
            POSITION.with(|position| {
                let here = match position.get() {
                    0 => anywhere(),
                    here => here,
                };
                position.set(here.wrapping_add(1));
                // The generator steps before it gives a word: one back, and the compiler leaves both out.
                SplitMix64::resume(0, here.wrapping_sub(1)).word()
            })
        }
    }

    /// `RandomState` holds 128 random bits of the operating system's and differs between threads;
    /// the hash of anything is then a random word.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    #[cold]
    fn anywhere() -> u64 {
        RandomState::new().hash_one(())
    }

    /// Here `RandomState` is the same in every process. A host without `crypto` has the time.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    #[cold]
    fn anywhere() -> u64 {
        use crate::{Clock, WasmClock};
        getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(WasmClock.now()))
    }
}
