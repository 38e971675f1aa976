//! The core's one atomic, as the model checker sees it.
//!
//! `loom` 0.7 remembers one access to an atomic, the last one, to find out which steps of other
//! threads it has to try in another order. Code that loads and then exchanges hides the loads of
//! others behind its own, and most interleavings are never tried: without what [`AtomicU64::load`]
//! does about it, the test below sees 3 outcomes of 24. See
//! <https://github.com/tokio-rs/loom/issues/166> and `issues/392`.

use std::sync::OnceLock;

pub(crate) use loom::sync::atomic::Ordering;

use crate::check::{Loads, loads};

/// A value that no budget and no breaker of a model has.
const NEVER: u64 = u64::MAX;

/// `loom`'s atomics belong to one run of one model, so no `const fn` can make them: they are made
/// at their first use. That use must be in the thread that spawns the others. `loom` stops a model
/// that forgets it, with "causality violation", rather than check something else.
pub(crate) struct AtomicU64 {
    initial: u64,
    modelled: OnceLock<Modelled>,
}

struct Modelled {
    word: loom::sync::atomic::AtomicU64,
    /// Holds nothing. Loads exchange it in vain, so that `loom` tries them in every order.
    turn: loom::sync::atomic::AtomicU64,
}

impl AtomicU64 {
    pub(crate) const fn new(initial: u64) -> Self {
        Self { initial, modelled: OnceLock::new() }
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        let Modelled { word, turn } = self.modelled();
        match loads() {
            // Where a load has to be the latest, it can be an exchange itself.
            Loads::Latest => {
                word.compare_exchange(NEVER, NEVER, order, order).unwrap_or_else(|latest| latest)
            }
            Loads::Stale => {
                let _ = turn.compare_exchange(NEVER, NEVER, Ordering::Relaxed, Ordering::Relaxed);
                word.load(order)
            }
        }
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.modelled().word.compare_exchange(current, new, success, failure)
    }

    /// As in `core`, but for exchanges that fail without a cause.
    pub(crate) fn fetch_update(
        &self,
        set: Ordering,
        fetch: Ordering,
        mut step: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64> {
        let mut seen = self.load(fetch);
        while let Some(new) = step(seen) {
            match self.compare_exchange(seen, new, set, fetch) {
                Ok(old) => return Ok(old),
                Err(latest) => seen = latest,
            }
        }
        Err(seen)
    }

    fn modelled(&self) -> &Modelled {
        self.modelled.get_or_init(|| Modelled {
            word: loom::sync::atomic::AtomicU64::new(self.initial),
            turn: loom::sync::atomic::AtomicU64::new(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex};

    use loom::thread;

    use super::{AtomicU64, Ordering::Relaxed};
    use crate::check::{bounded, exhaustive};

    /// What one run of the model did: the values that each thread's update was tried on, and two
    /// looks at the word from outside.
    type Outcome = ([Vec<u64>; 2], [u64; 2]);

    /// Two threads append their digit to the word while a third looks at it twice.
    fn two_updates_and_two_looks() -> Outcome {
        let word: &AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        word.load(Relaxed);
        let threads = [1, 2].map(|digit| {
            thread::spawn(move || {
                let mut tried = Vec::new();
                let _ = word.fetch_update(Relaxed, Relaxed, |word| {
                    tried.push(word);
                    Some(word * 10 + digit)
                });
                tried
            })
        });
        let looks = [word.load(Relaxed), word.load(Relaxed)];
        (threads.map(|thread| thread.join().unwrap()), looks)
    }

    /// One is first; the other finds that out at once or at its exchange; and the looks see any
    /// two of the three values, in their order.
    fn all_there_are() -> BTreeSet<Outcome> {
        let mut outcomes = BTreeSet::new();
        for (updates, values) in [
            ([vec![0], vec![1]], [0, 1, 12]),
            ([vec![0], vec![0, 1]], [0, 1, 12]),
            ([vec![2], vec![0]], [0, 2, 21]),
            ([vec![0, 2], vec![0]], [0, 2, 21]),
        ] {
            for first in 0..values.len() {
                for second in first..values.len() {
                    outcomes.insert((updates.clone(), [values[first], values[second]]));
                }
            }
        }
        outcomes
    }

    fn outcomes(check: fn(Box<dyn Fn() + Send + Sync>)) -> BTreeSet<Outcome> {
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let record = Arc::clone(&seen);
        check(Box::new(move || {
            let outcome = two_updates_and_two_looks();
            record.lock().unwrap().insert(outcome);
        }));
        let seen = seen.lock().unwrap();
        seen.clone()
    }

    #[test]
    fn an_exhaustive_check_misses_nothing_that_can_happen() {
        assert_eq!(outcomes(exhaustive), all_there_are());
    }

    #[test]
    fn two_preemptions_and_stale_loads_are_enough_for_the_same() {
        assert_eq!(outcomes(bounded), all_there_are());
    }
}
