//! Whether the machine had time to spare: how late timers fired.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Counts timers, and those that fired so late that it may have changed who won.
#[derive(Debug)]
pub(crate) struct Punctuality {
    late_from: Duration,
    timers: AtomicU32,
    late: AtomicU32,
}

impl Punctuality {
    /// A timer that is late by less than a round trip varies anyway says nothing new.
    pub(crate) fn new(round_trip: Duration) -> Self {
        Self { late_from: round_trip / 5, timers: AtomicU32::new(0), late: AtomicU32::new(0) }
    }

    pub(crate) fn record(&self, lateness: Duration) {
        self.timers.fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u32::from(lateness >= self.late_from), Ordering::Relaxed);
    }

    /// Whether no more than one timer of twenty was late.
    pub(crate) fn is_good(&self) -> bool {
        let (late, timers) = (&self.late, &self.timers);
        u64::from(late.load(Ordering::Relaxed)) * 20 <= u64::from(timers.load(Ordering::Relaxed))
    }
}
