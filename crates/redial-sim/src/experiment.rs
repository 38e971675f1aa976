//! How often a scenario is tried, on what, and from which seed: the same for all scenarios.

use redial_core::SplitMix64;

use crate::chance::trial_seed;
use crate::engine::{Bounds, Completion};
use crate::invalid::Invalid;
use crate::scenario::Trial;
use crate::trials;
use crate::watch::Watch;

/// How often a scenario is tried, on what, and from which seed.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::{Experiment, Scenario, Wave};
///
/// let wave = Wave::new(5);
/// let usual = *wave.experiment();
/// let run = wave.with_experiment(Experiment { trials: 3, seed: 7, ..usual }).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials().len(), 3);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// How many trials; a million at most.
    pub trials: u32,
    /// How many threads share the trials.
    pub threads: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How far each trial may go.
    pub bounds: Bounds,
    /// Who looks at a run while it runs, and may stop it.
    pub watch: &'static Watch,
}

/// Two are equal if they have the same watch, and not only one that has seen as much.
impl PartialEq for Experiment {
    fn eq(&self, other: &Self) -> bool {
        self.same_draws(other)
            && self.threads == other.threads
            && std::ptr::eq(self.watch, other.watch)
    }
}

static NOBODY: Watch = Watch::new();

/// So that the results of all trials fit in memory, however many are asked for.
const TRIALS_MAX: u32 = 1_000_000;
const THREADS_MAX: u32 = 1024;

impl Experiment {
    /// So many trials, on one thread, from seed 1, within the default bounds, watched by nobody.
    ///
    /// ```
    /// assert_eq!(redial_sim::Experiment::new(20).seed, 1);
    /// ```
    pub const fn new(trials: u32) -> Self {
        Self { trials, threads: 1, seed: 1, bounds: Bounds::DEFAULT, watch: &NOBODY }
    }

    /// Whether trial *i* of both starts from the same seed and may go equally far.
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

    /// The random numbers of one trial: those of neighbouring trials have nothing in common.
    ///
    /// ```
    /// # use redial_core::Random; use redial_sim::Experiment;
    /// let experiment = Experiment::new(20);
    /// assert_ne!(experiment.seeds(0).word(), experiment.seeds(1).word());
    /// ```
    pub fn seeds(&self, index: u32) -> SplitMix64 {
        SplitMix64::new(trial_seed(self.seed, index.into()))
    }

    /// The trials in order, up to the first that was cut by a bound, or that was never run because
    /// the watch was stopped. Each thread makes one `workspace` and uses it for all its trials, so
    /// that they allocate once; `trial` is given the workspace and the trial's index.
    ///
    /// See [`Scenario`](crate::Scenario) for an example.
    ///
    /// # Errors
    ///
    /// No trials or threads, or too many of them.
    pub fn run<W, T: Trial>(
        &self,
        workspace: impl Fn() -> W + Sync,
        trial: impl Fn(&mut W, u32) -> T + Sync,
    ) -> Result<Vec<T>, Invalid> {
        self.check()?;
        let watched = |workspace: &mut W, index| {
            if self.watch.is_stopped() {
                return None;
            }
            let result = trial(workspace, index);
            (result.trace().ended != Completion::Stopped).then(|| {
                self.watch.count_trial();
                result
            })
        };
        let is_cut = |result: &T| !result.trace().ended.is_complete();
        let is_last = |result: &Option<T>| result.as_ref().is_none_or(is_cut);
        let all = trials::run(self.trials, self.threads, workspace, watched, is_last);
        Ok(all.into_iter().flatten().collect())
    }
}

/// Methods that set a field and return the scenario: `name: Type;` after the documentation of each.
macro_rules! setters {
    ($($(#[$documentation:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$documentation])*
        pub const fn $name(self, $name: $type) -> Self {
            Self { $name, ..self }
        }
    )*};
}
pub(crate) use setters;

/// What every scenario has beside its own settings: those of its field `experiment`, and `run`, for
/// which nobody has to import a trait. Each comes with an example for `$scenario`.
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
        pub const fn trials(self, trials: u32) -> Self {
            Self { experiment: crate::experiment::Experiment { trials, ..self.experiment }, ..self }
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
        pub const fn threads(self, threads: u32) -> Self {
            Self {
                experiment: crate::experiment::Experiment { threads, ..self.experiment },
                ..self
            }
        }

        /// The seed of all random numbers, 1 unless set.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        #[doc = concat!("let scenario = ", $scenario, ".trials(3);")]
        /// let one = scenario.run(&Policy::DEFAULT)?;
        /// let other = scenario.seed(2).run(&Policy::DEFAULT)?;
        /// assert_ne!(one.digest(), other.digest());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn seed(self, seed: u64) -> Self {
            Self { experiment: crate::experiment::Experiment { seed, ..self.experiment }, ..self }
        }

        /// How far each trial may go. A tick is a nanosecond.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::*;
        /// let few = engine::Bounds { events: 2, ..engine::Bounds::DEFAULT };
        #[doc = concat!("let run = ", $scenario, ".bounds(few).run(&Policy::DEFAULT)?;")]
        /// assert_eq!(run.results().unwrap_err().bound, engine::Completion::Events);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        pub const fn bounds(self, bounds: crate::engine::Bounds) -> Self {
            Self { experiment: crate::experiment::Experiment { bounds, ..self.experiment }, ..self }
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
        pub const fn watch(self, watch: &'static crate::watch::Watch) -> Self {
            Self { experiment: crate::experiment::Experiment { watch, ..self.experiment }, ..self }
        }

        /// Runs all trials under `policy`, also one with a schedule of your own. It decides through
        /// [`redial_core::Call`], as it does everywhere.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Backoff; use redial_sim::*;
        /// let policy = Backoff::from_fn(|n| Duration::from_millis(7 * u64::from(n))).full_jitter();
        #[doc = concat!("let run = ", $scenario, ".trials(3).run(&policy.attempts(50))?;")]
        /// assert!(run.results().is_ok());
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        ///
        /// # Errors
        ///
        /// A setting that is out of its range.
        pub fn run<S: redial_core::Schedule + Sync>(
            &self,
            policy: &redial_core::Policy<S>,
        ) -> Result<crate::run::Run<Self>, crate::invalid::Invalid> {
            crate::scenario::Scenario::run(self, policy)
        }
    };
}
pub(crate) use experiment_settings;
