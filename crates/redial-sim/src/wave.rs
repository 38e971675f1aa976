//! All clients fail at once: what comes back at the service, and when.

mod clients;
mod peak;
mod results;
mod timeline;

use std::time::Duration;

use redial_core::{Policy, Schedule};

pub use self::results::{Comparison, Results, Trial};
pub use self::timeline::Timeline;

use self::clients::Clients;
use crate::experiment::{Experiment, experiment_settings, setters};
use crate::invalid::Invalid;
use crate::scenario::{Scenario, scenario_items};
use crate::ticks::ticks;

/// Clients that all fail at time zero, because the service went down under them, and retry by a
/// policy: what hits the service, and how much of it at once.
///
/// Attempts take no time, so that what is seen is the policy and nothing else. The first calls,
/// which fail at time zero, are not retries and are not counted. A retry is an event, and a trial
/// holds eight bytes for each: the bound on events is one on memory, too.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, Policy};
/// use redial_sim::Wave;
///
/// const PLAIN: Policy = Backoff::exponential(Duration::from_secs(1)).attempts(5);
/// const JITTERED: Policy = PLAIN.backoff().full_jitter().attempts(5);
///
/// let scenario = Wave::new(10_000);
/// let plain = scenario.run(&PLAIN)?.results().unwrap();
/// assert_eq!(plain.peak.mean, 10_000.0); // all at the very same moment, again and again
///
/// let jittered = scenario.run(&JITTERED)?.results().unwrap();
/// assert!(jittered.peak_share.mean < 0.04); // one in thirty within 20 ms
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a scenario does nothing until it is run"]
#[non_exhaustive]
pub struct Wave {
    /// How many clients there are.
    pub clients: u32,
    /// How long the window is within which the most retries are looked for.
    pub window: Duration,
    /// When a trial ends.
    pub until: Duration,
    /// When the service comes back.
    pub down: Option<Duration>,
    experiment: Experiment,
}

/// As many clients as the engine's bound can allow.
const CLIENTS_MAX: u32 = 1 << 24;

impl Wave {
    /// So many clients, looked at for a minute, for the most retries within 20 ms; the service
    /// stays down. Twenty trials unless set: where there are many clients, one trial is much like
    /// another.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::Wave;
    ///
    /// let results = Wave::new(50).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!(results.retries.mean, 2.0);
    /// assert_eq!(results.gave_up.mean, 1.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn new(clients: u32) -> Self {
        Self {
            clients,
            window: Duration::from_millis(20),
            until: Duration::from_secs(60),
            down: None,
            experiment: Experiment::new(20),
        }
    }

    setters! {
        /// How long the window is within which the most retries are looked for.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Wave;
        /// let wide = Wave::new(50).window(Duration::from_secs(60)).run(&Policy::DEFAULT)?;
        /// assert_eq!(wide.results().unwrap().peak.mean, 100.0); // all of them
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        window: Duration;

        /// When a trial ends. A client whose next retry would be then or later counts as still trying:
        /// so there is an end also to a policy that never gives up.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::{Policy, policy}; use redial_sim::Wave;
        /// const FOREVER: Policy = policy!(allow(unbounded), "attempts: unlimited, delay: 1s");
        /// let scenario = Wave::new(50).until(Duration::from_secs(10));
        /// let results = scenario.run(&FOREVER)?.results().unwrap();
        /// assert_eq!(results.retries.mean, 9.0);
        /// assert_eq!(results.still_trying.mean, 1.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        until: Duration;

        /// The service comes back then, and a retry at that time or later succeeds. `None`, unless
        /// set: it stays down.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::{Policy, policy}; use redial_sim::Wave;
        /// const STEADY: Policy = policy!("attempts: 10, delay: 1s");
        /// let scenario = Wave::new(50).down(Some(Duration::from_millis(3500)));
        /// let results = scenario.run(&STEADY)?.results().unwrap();
        /// assert_eq!(results.back.mean, 1.0);
        /// assert_eq!(results.back_last_s.unwrap().mean, 4.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        down: Option<Duration>;
    }

    experiment_settings!("Wave::new(10)");

    fn check(&self) -> Result<(), Invalid> {
        let most = self.experiment.bounds.clients.min(CLIENTS_MAX);
        Invalid::unless_within("clients", self.clients, 1, most)?;
        for (setting, duration) in
            [("window in seconds", self.window), ("until in seconds", self.until)]
        {
            let seconds = ticks(duration) as f64 / 1e9;
            Invalid::unless_within(setting, seconds, 1e-9, u64::MAX as f64 / 1e9)?;
        }
        Ok(())
    }
}

/// A thousand clients.
impl Default for Wave {
    fn default() -> Self {
        Self::new(1000)
    }
}

impl Scenario for Wave {
    scenario_items!();

    fn is_comparable(&self, other: &Self) -> bool {
        *self == Self { experiment: self.experiment, ..*other }
    }

    fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Vec<Trial>, Invalid> {
        self.check()?;
        self.experiment.run(
            || Clients::new(self, policy),
            |clients, index| clients.trial(self.experiment.seeds(index), index < timeline::TRIALS),
        )
    }
}
