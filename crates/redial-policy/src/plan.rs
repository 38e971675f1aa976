//! What a policy will do, before it does it: every delay, how far calls can get, and when they
//! give up.

use std::time::Duration;

use redial_core::{Forecast, Policy, SplitMix64};

/// The schedule of a policy. Nothing in it is estimated that the engine knows exactly.
///
/// ```
/// use redial_core::Policy;
/// use redial_policy::Plan;
///
/// let plan = Plan::new(Policy::DEFAULT).seed(42);
/// let rows: Vec<_> = plan.rows().collect();
/// assert_eq!(rows.len(), 2); // three attempts, two waits
/// assert_eq!(rows[0].sample, Some(std::time::Duration::from_nanos(741_564_879)));
/// assert_eq!(plan.gives_up_after().1, Some(std::time::Duration::from_secs(3)));
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    policy: Policy,
    timeout: Option<Duration>,
    seed: Option<u64>,
}

/// One delay of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The attempt whose failure it follows, counted from 1.
    pub after_attempt: u32,
    /// What the delay can be.
    pub delay: Forecast,
    /// What a call with the plan's seed sleeps.
    pub sample: Option<Duration>,
    /// Whether any call can get here, where attempts take no time.
    pub reachable: bool,
}

/// The least, the mean and the greatest; none where there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// With every draw at its lowest.
    pub least: Option<Duration>,
    /// On average.
    pub mean: Option<Duration>,
    /// With every draw at its highest.
    pub greatest: Option<Duration>,
}

impl Plan {
    /// The plan of a policy.
    pub const fn new(policy: Policy) -> Self {
        Self { policy, timeout: None, seed: None }
    }

    /// With attempts that may take this long each.
    #[must_use]
    pub const fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// With the delays that a call with this seed sleeps.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The policy.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How long each attempt may take.
    pub const fn attempt_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Every delay, in order; endless where attempts are unlimited.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let reachable = self.policy.reachable().unwrap_or(u32::MAX);
        let mut samples = self.seed.map(|seed| self.policy.delays(SplitMix64::new(seed)));
        self.policy.forecasts().zip(0..).map(move |(delay, n)| Row {
            after_attempt: n + 1,
            delay,
            sample: samples.as_mut().and_then(Iterator::next),
            reachable: n < reachable,
        })
    }

    /// The waits of a call that fails every time, over the delays that can be reached.
    pub fn total_wait(&self) -> Total {
        let count = self.policy.reachable();
        let sum = self.policy.total_of(count.unwrap_or(u32::MAX));
        let limit = self.wait_limit();
        let limited = |wait: Duration| limit.map_or(wait, |limit| wait.min(limit));
        if count.is_none() {
            // Waits without end come to the limit, unless there is nothing to add in the end.
            let last = self.policy.forecast(u32::MAX);
            let total = |sum, last| if last > Duration::ZERO { limit } else { Some(limited(sum)) };
            let greatest = total(sum.greatest, last.greatest);
            let least = greatest.and_then(|_| total(sum.least, last.least));
            return Total { least, mean: total(sum.mean, last.mean), greatest };
        }
        Total {
            least: Some(sum.least),
            mean: Some(limited(sum.mean)),
            greatest: Some(limited(sum.greatest)),
        }
    }

    /// When a call that fails every time gives up, at the earliest and at the latest: with attempts
    /// that take no time, and with attempts that take all of their timeout. None where it never
    /// has to.
    pub fn gives_up_after(&self) -> (Option<Duration>, Option<Duration>) {
        let waits = self.total_wait();
        let attempts = self.policy.reachable().map(|delays| u64::from(delays) + 1);
        let running = match (self.timeout, attempts) {
            (None, Some(_)) => Some(Duration::ZERO),
            (Some(timeout), Some(attempts)) => Some(times(timeout, attempts)),
            // Waits without end get to the limit, if they are any.
            (None, None) => {
                let waits = self.policy.forecast(u32::MAX).greatest > Duration::ZERO;
                waits.then_some(Duration::ZERO)
            }
            (Some(_), None) => None,
        };
        let latest = waits.greatest.zip(running).map(|(wait, run)| wait.saturating_add(run));
        // A timeout is cut to what the deadline leaves.
        let latest = match (latest, self.policy.limit()) {
            (Some(latest), Some(within)) => Some(latest.min(within)),
            (latest, within) => latest.or(within),
        };
        // Without a limit, or with nothing that could use it up, there is no end.
        let ends = attempts.is_some() || waits.greatest.is_some_and(|wait| wait > Duration::ZERO);
        (waits.least.filter(|_| ends || latest.is_some()), latest)
    }

    fn wait_limit(&self) -> Option<Duration> {
        match (self.policy.limit(), self.policy.wait_limit()) {
            (Some(within), Some(budget)) => Some(within.min(budget)),
            (within, budget) => within.or(budget),
        }
    }
}

fn times(timeout: Duration, attempts: u64) -> Duration {
    let nanos = timeout.as_nanos().saturating_mul(u128::from(attempts));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
