//! Waits or retries off, for the whole process.

use core::time::Duration;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many guards are alive. Counted, so that tests which run side by side do not switch each
/// other back on.
static WAITS_OFF: AtomicUsize = AtomicUsize::new(0);
static RETRIES_OFF: AtomicUsize = AtomicUsize::new(0);

/// Whether a delay is not slept: it is zero, or waits are off.
///
/// By value: a delay that an async loop lends out would be kept through the wait.
#[inline]
pub(crate) fn is_skipped(delay: Duration) -> bool {
    delay.is_zero() || WAITS_OFF.load(Ordering::Relaxed) > 0
}

#[inline]
pub(crate) fn retries_are_off() -> bool {
    RETRIES_OFF.load(Ordering::Relaxed) > 0
}

/// No call in this process waits while the guard lives: delays are decided and reported as ever,
/// and then skipped. For tests of programs whose calls cannot be given a clock.
///
/// ```
/// use redial::{blocking, policy, testing};
///
/// let _off = testing::without_waits();
/// let result: Result<(), _> =
///     blocking::retry(policy!("retry: 3, delay: 1h, max_delay: none"), || Err("down"));
/// assert_eq!(result, Err("down")); // four attempts, at once
/// ```
pub fn without_waits() -> SwitchedOff {
    SwitchedOff::now(&WAITS_OFF)
}

/// No call in this process is retried while the guard lives: the first failure is the last.
///
/// ```
/// use redial::{Policy, blocking, testing};
///
/// let _off = testing::without_retries();
/// let mut calls = 0;
/// let result: Result<(), _> = blocking::retry(&Policy::DEFAULT, || {
///     calls += 1;
///     Err("down")
/// });
/// assert_eq!((result, calls), (Err("down"), 1));
/// ```
pub fn without_retries() -> SwitchedOff {
    SwitchedOff::now(&RETRIES_OFF)
}

/// Something is switched off while this lives; [`for_good`](Self::for_good) keeps it off.
///
/// ```
/// use redial::testing::without_waits;
/// let off = without_waits();
/// drop(off); // on again
/// ```
#[derive(Debug)]
#[must_use = "it is on again as soon as this is dropped"]
pub struct SwitchedOff {
    switch: &'static AtomicUsize,
}

impl SwitchedOff {
    fn now(switch: &'static AtomicUsize) -> Self {
        switch.fetch_add(1, Ordering::Relaxed);
        Self { switch }
    }

    /// Off until the process ends.
    ///
    /// ```
    /// redial::testing::without_waits().for_good();
    /// ```
    pub fn for_good(self) {
        core::mem::forget(self);
    }
}

impl Drop for SwitchedOff {
    fn drop(&mut self) {
        self.switch.fetch_sub(1, Ordering::Relaxed);
    }
}
