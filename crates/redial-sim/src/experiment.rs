//! How often a scenario is tried, on what, and from which chance: the same for all scenarios.

use crate::engine::{Bounds, Ended};
use crate::invalid::Invalid;
use crate::trials;
use crate::watch::Watch;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub(crate) trials: u32,
    pub(crate) threads: u32,
    pub(crate) seed: u64,
    pub(crate) bounds: Bounds,
    pub(crate) watch: &'static Watch,
}

static NOBODY: Watch = Watch::new();

/// So that the results of all trials fit in memory, however many are asked for.
const TRIALS_MAX: u32 = 1_000_000;
const THREADS_MAX: u32 = 1024;

impl Experiment {
    pub(crate) const fn new(trials: u32) -> Self {
        Self { trials, threads: 1, seed: 1, bounds: Bounds::DEFAULT, watch: &NOBODY }
    }

    /// Whether trial *i* of both meets the same chance.
    pub(crate) fn same_draws(&self, other: &Self) -> bool {
        (self.trials, self.seed, self.bounds) == (other.trials, other.seed, other.bounds)
    }

    /// # Errors
    ///
    /// No trials or threads, or too many of them.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        Invalid::unless_within("trials", self.trials, 1, TRIALS_MAX)?;
        Invalid::unless_within("threads", self.threads, 1, THREADS_MAX)
    }

    /// The trials in order, up to the first that was cut by a bound, or that was never run because
    /// the watch was stopped.
    pub(crate) fn run<W, T: Send>(
        &self,
        workshop: impl Fn() -> W + Sync,
        trial: impl Fn(&mut W, u32) -> T + Sync,
        ended: impl Fn(&T) -> Ended + Sync,
    ) -> Vec<T> {
        let watched = |workshop: &mut W, index| {
            if self.watch.is_stopped() {
                return None;
            }
            let result = trial(workshop, index);
            (ended(&result) != Ended::Stopped).then(|| {
                self.watch.count_trial();
                result
            })
        };
        let is_last =
            |result: &Option<T>| result.as_ref().is_none_or(|result| !ended(result).is_complete());
        let all = trials::run(self.trials, self.threads, workshop, watched, is_last);
        all.into_iter().flatten().collect()
    }
}

/// The settings of a scenario's field `experiment`, each with an example for `$scenario`.
macro_rules! experiment_settings {
    ($scenario:literal) => {
        /// How many trials; a million at most.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        #[doc = concat!("let run = ", $scenario, ".trials(3).run(&Policy::DEFAULT)?;")]
        /// assert_eq!(run.trials().len(), 3);
        #[doc = concat!("let none = ", $scenario, ".trials(0).run(&Policy::DEFAULT).unwrap_err();")]
        /// assert_eq!(none.to_string(), "trials: 0 is out of range; use 1 to 1000000");
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn trials(mut self, trials: u32) -> Self {
            self.experiment.trials = trials;
            self
        }

        /// How many threads share the trials, one unless set. It changes nothing but the time it
        /// takes.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        #[doc = concat!("let scenario = ", $scenario, ".trials(9);")]
        /// let one = scenario.run(&Policy::DEFAULT)?;
        /// let two = scenario.threads(2).run(&Policy::DEFAULT)?;
        /// assert_eq!(one.digest(), two.digest());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn threads(mut self, threads: u32) -> Self {
            self.experiment.threads = threads;
            self
        }

        /// Where all chance comes from, 1 unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        #[doc = concat!("let scenario = ", $scenario, ".trials(3);")]
        /// let one = scenario.run(&Policy::DEFAULT)?;
        /// let other = scenario.seed(2).run(&Policy::DEFAULT)?;
        /// assert_ne!(one.digest(), other.digest());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn seed(mut self, seed: u64) -> Self {
            self.experiment.seed = seed;
            self
        }

        /// How far each trial may go. A tick is a nanosecond.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        /// let few = engine::Bounds { events: 2, ..engine::Bounds::DEFAULT };
        #[doc = concat!("let run = ", $scenario, ".bounds(few).run(&Policy::DEFAULT)?;")]
        /// assert_eq!(run.results().unwrap_err().bound, engine::Ended::Events);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn bounds(mut self, bounds: crate::engine::Bounds) -> Self {
            self.experiment.bounds = bounds;
            self
        }

        /// Who looks at a run while it runs, and may stop it.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        /// static WATCH: Watch = Watch::new();
        #[doc = concat!($scenario, ".trials(3).watch(&WATCH).run(&Policy::DEFAULT)?;")]
        /// assert_eq!(WATCH.trials(), 3);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn watch(mut self, watch: &'static crate::watch::Watch) -> Self {
            self.experiment.watch = watch;
            self
        }
    };
}
pub(crate) use experiment_settings;
