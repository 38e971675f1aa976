//! Looking at a run while it runs, and stopping it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Tells another thread how far a run is, and lets it stop the run.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::{Contention, Watch};
///
/// static WATCH: Watch = Watch::new();
///
/// let scenario = Contention::occ(5).trials(100).watch(&WATCH);
/// scenario.run(&Policy::DEFAULT)?;
/// assert_eq!(WATCH.trials(), 100);
///
/// WATCH.stop(); // as another thread would, at any time
/// let run = scenario.run(&Policy::DEFAULT)?;
/// assert!(run.trials().is_empty());
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    trials: AtomicU64,
    is_stopped: AtomicBool,
}

impl Watch {
    /// A watch of nothing yet.
    ///
    /// ```
    /// assert_eq!(redial_sim::Watch::new().trials(), 0);
    /// ```
    pub const fn new() -> Self {
        Self { trials: AtomicU64::new(0), is_stopped: AtomicBool::new(false) }
    }

    /// How many trials have ended, of all runs that were watched.
    ///
    /// ```
    /// assert_eq!(redial_sim::Watch::new().trials(), 0);
    /// ```
    pub fn trials(&self) -> u64 {
        self.trials.load(Ordering::Relaxed)
    }

    /// Stops what is running and what would run: trials under way are dropped, those that have
    /// ended count.
    ///
    /// ```
    /// let watch = redial_sim::Watch::new();
    /// watch.stop();
    /// assert!(watch.is_stopped());
    /// ```
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped.
    ///
    /// ```
    /// assert!(!redial_sim::Watch::new().is_stopped());
    /// ```
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    pub(crate) fn count_trial(&self) {
        self.trials.fetch_add(1, Ordering::Relaxed);
    }
}
