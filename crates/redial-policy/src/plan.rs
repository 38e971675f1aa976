//! What a policy will do: every delay, how many attempts are reachable, and when a call gives up.

use std::time::Duration;

use redial_core::{AsPolicy, Decision, Forecast, Policy, Schedule, SplitMix64, Time, Verdict};

use crate::document::Entry;
use crate::foreign::{Draws, Law};

const NANOSECOND: Duration = Duration::from_nanos(1);

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
    policy: Timing,
    timeout: Option<Duration>,
    seed: Option<u64>,
}

/// When attempts are made: by a policy of ours, or by the law of another system. The engine takes either.
#[derive(Clone, Debug)]
pub enum Timing {
    /// A policy.
    Policy(Box<Ours>),
    /// The law of another system that no clause says.
    Law(Law),
}

/// A policy of ours, and the same as the engine takes it where it may get a law, too.
#[derive(Clone, Debug)]
pub struct Ours {
    policy: Policy,
    retyped: Policy<Draws>,
}

impl std::ops::Deref for Ours {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.policy
    }
}

impl AsPolicy for Timing {
    type Source = Draws;

    fn as_policy(&self) -> &Policy<Draws> {
        match self {
            Self::Policy(ours) => &ours.retyped,
            Self::Law(law) => law.policy(),
        }
    }
}

impl Timing {
    /// What an entry does, unless it has errors.
    pub fn of(entry: &Entry) -> Option<Self> {
        let law = || entry.law.clone().map(Self::Law);
        entry.policy.map(Self::from).or_else(law)
    }

    /// How many executions in all, at most; none where they are unlimited.
    pub fn attempts(&self) -> Option<u32> {
        match self {
            Self::Policy(policy) => policy.attempts(),
            Self::Law(law) => law.policy().attempts(),
        }
    }

    /// The time after which no attempt starts.
    pub fn get_within(&self) -> Option<Duration> {
        match self {
            Self::Policy(policy) => policy.get_within(),
            Self::Law(law) => law.policy().get_within(),
        }
    }

    /// The limit of all waits together.
    pub fn get_wait_budget(&self) -> Option<Duration> {
        match self {
            Self::Policy(policy) => policy.get_wait_budget(),
            Self::Law(_) => None,
        }
    }

    /// How many delays some call could get to sleep; none where there is no end to them.
    pub fn reachable(&self) -> Option<u32> {
        match self {
            Self::Policy(policy) => policy.reachable(),
            Self::Law(law) => law.reachable(),
        }
    }

    /// What delay `n` can be.
    pub fn forecast(&self, n: u32) -> Forecast {
        match self {
            Self::Policy(policy) => policy.forecast(n),
            Self::Law(law) => law.forecast(n),
        }
    }

    /// What each delay can be, in order; endless where attempts are unlimited.
    pub fn forecasts(&self) -> Box<dyn Iterator<Item = Forecast> + '_> {
        match self {
            Self::Policy(policy) => Box::new(policy.forecasts()),
            Self::Law(law) => Box::new(law.forecasts()),
        }
    }

    /// The sum of the first `count` delays, or of all where there are fewer.
    pub fn total_of(&self, count: u32) -> Forecast {
        match self {
            Self::Policy(policy) => policy.total_of(count),
            Self::Law(law) => law.total_of(count),
        }
    }

    /// What a call with this seed sleeps.
    pub fn delays(&self, seed: u64) -> Box<dyn Iterator<Item = Duration> + '_> {
        match self {
            Self::Policy(policy) => Box::new(policy.delays(SplitMix64::new(seed))),
            Self::Law(law) => Box::new(law.policy().delays(SplitMix64::new(seed))),
        }
    }
}

impl std::fmt::Display for Timing {
    /// The clause, or the dialect and the name of a law.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Policy(ours) => ours.policy.fmt(f),
            Self::Law(law) => law.fmt(f),
        }
    }
}

impl From<Policy> for Timing {
    fn from(policy: Policy) -> Self {
        Self::Policy(Box::new(Ours { policy, retyped: Draws::of(policy) }))
    }
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

/// The least, the mean and the greatest total; none where it is unbounded.
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
    /// The plan of a policy, or of a law.
    pub fn new(policy: impl Into<Timing>) -> Self {
        Self { policy: policy.into(), timeout: None, seed: None }
    }

    /// With attempts that may take this long each.
    #[must_use]
    pub fn timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// With the delays that a call with this seed sleeps.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// The policy.
    pub const fn policy(&self) -> &Timing {
        &self.policy
    }

    /// How long each attempt may take.
    pub const fn get_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Every delay, in order; endless where attempts are unlimited.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let reachable = self.policy.reachable().unwrap_or(u32::MAX);
        let mut samples = self.seed.map(|seed| self.policy.delays(seed));
        self.policy.forecasts().zip(0..).map(move |(delay, n)| Row {
            after_attempt: n + 1,
            delay,
            sample: samples.as_mut().and_then(Iterator::next),
            reachable: n < reachable,
        })
    }

    /// The waits of a call that fails every time, over the delays that can be reached.
    pub fn total_wait(&self) -> Total {
        let (least, greatest) = self.wait_bounds();
        let sum = || self.policy.total_of(self.policy.reachable().unwrap_or(u32::MAX));
        let mean = match self.wait_limit() {
            None => greatest.map(|_| sum().mean),
            Some(limit) if greatest < Some(limit) || self.is_certain() => {
                Some(sum().mean.min(limit))
            }
            Some(limit) => Some(self.mean_under(limit)),
        };
        Total { least, mean, greatest }
    }

    /// Whether every call waits the same.
    fn is_certain(&self) -> bool {
        let sum = self.policy.total_of(self.policy.reachable().unwrap_or(u32::MAX));
        sum.least == sum.greatest
    }

    /// The least and the most that a call waits in all; none where it is unbounded. The two ends of
    /// [`total_wait`](Self::total_wait), at no cost.
    pub fn wait_bounds(&self) -> (Option<Duration>, Option<Duration>) {
        let count = self.policy.reachable();
        let sum = self.policy.total_of(count.unwrap_or(u32::MAX));
        let Some(limit) = self.wait_limit() else {
            let endless =
                count.is_none() && self.policy.forecast(u32::MAX).greatest > Duration::ZERO;
            return if endless { (None, None) } else { (Some(sum.least), Some(sum.greatest)) };
        };
        // Endless waits reach the limit, unless the delays become zero.
        let last = self.policy.forecast(u32::MAX).greatest;
        let greatest = if count.is_none() && last > Duration::ZERO { limit } else { sum.greatest };
        if greatest < limit || sum.least == sum.greatest {
            return (Some(sum.least.min(limit)), Some(greatest.min(limit)));
        }
        // Unlimited attempts end only with a delay that exceeds the limit.
        let at_least = if count.is_none() { limit.saturating_sub(last) } else { sum.least };
        let least = self.least_under(limit).unwrap_or(at_least).min(limit);
        (Some(least), Some(limit))
    }

    /// The least that a call has waited when it ends. That is not the sum of the least delays: after
    /// short waits a long one may exceed the limit, so that the call ends before it.
    fn least_under(&self, limit: Duration) -> Option<Duration> {
        const LOOKED_AT: usize = 4096;
        let mut start =
            Forecast { least: Duration::ZERO, mean: Duration::ZERO, greatest: Duration::ZERO };
        let mut found: Option<Duration> = None;
        let mut delays = 0;
        for delay in self.policy.forecasts().take(LOOKED_AT) {
            // How long it must have waited for this delay to exceed the limit.
            let before = start.least.max((limit + NANOSECOND).saturating_sub(delay.greatest));
            if before <= start.greatest.min(limit) {
                found = Some(found.map_or(before, |found| found.min(before)));
            }
            start.least = start.least.saturating_add(delay.least);
            start.greatest = start.greatest.saturating_add(delay.greatest);
            delays += 1;
        }
        let all = self.policy.attempts().is_some_and(|attempts| attempts - 1 == delays);
        let all = all.then_some(start.least).filter(|least| *least <= limit);
        found.into_iter().chain(all).min()
    }

    /// What calls wait on average where a limit ends some of them: the mean of many simulated calls,
    /// always with the same seeds.
    fn mean_under(&self, limit: Duration) -> Duration {
        match &self.policy {
            Timing::Policy(policy) => mean_under(policy, limit),
            Timing::Law(law) => mean_under(law.policy(), limit),
        }
    }

    /// When a call that fails every time gives up, at the earliest and at the latest: with attempts
    /// that take no time, and with attempts that take all of their timeout. None where it may go on
    /// for ever.
    pub fn gives_up_after(&self) -> (Option<Duration>, Option<Duration>) {
        let (least_wait, greatest_wait) = self.wait_bounds();
        let attempts = self.policy.reachable().map(|delays| u64::from(delays) + 1);
        let running = match (self.timeout, attempts) {
            (None, Some(_)) => Some(Duration::ZERO),
            (Some(timeout), Some(attempts)) => Some(times(timeout, attempts)),
            // Endless waits reach the limit, unless they are zero.
            (None, None) => {
                let waits = self.policy.forecast(u32::MAX).greatest > Duration::ZERO;
                waits.then_some(Duration::ZERO)
            }
            (Some(_), None) => None,
        };
        let latest = greatest_wait.zip(running).map(|(wait, run)| wait.saturating_add(run));
        // A timeout is cut to what the deadline leaves.
        let latest = match (latest, self.policy.get_within()) {
            (Some(latest), Some(within)) => Some(latest.min(within)),
            (latest, within) => latest.or(within),
        };
        // Without a limit, or with waits of zero, it never ends.
        let ends = attempts.is_some() || greatest_wait.is_some_and(|wait| wait > Duration::ZERO);
        (least_wait.filter(|_| ends || latest.is_some()), latest)
    }

    /// The most that a call can wait: a wait that ends at the deadline is not slept.
    fn wait_limit(&self) -> Option<Duration> {
        let within = self.policy.get_within().map(|within| within.saturating_sub(NANOSECOND));
        match (within, self.policy.get_wait_budget()) {
            (Some(within), Some(budget)) => Some(within.min(budget)),
            (within, budget) => within.or(budget),
        }
    }
}

fn times(timeout: Duration, attempts: u64) -> Duration {
    let nanos = timeout.as_nanos().saturating_mul(u128::from(attempts));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn mean_under<S: Schedule>(policy: &Policy<S>, limit: Duration) -> Duration {
    const CALLS: u32 = 1 << 16;
    const DELAYS: u32 = 1 << 19;
    let (mut delays, mut waited, mut calls) = (0, Duration::ZERO, 0);
    while calls < CALLS && delays < DELAYS {
        let mut random = SplitMix64::new(u64::from(calls));
        let mut call = policy.start(Time::ZERO);
        let mut now = Time::ZERO;
        while let Decision::Wait(delay) = call.failed(now, || Verdict::Retry, &mut random) {
            now = now.after(delay);
            delays += 1;
            if delays == DELAYS {
                // Where so many delays do not reach the limit, each is negligible beside it.
                let mean = waited.checked_div(calls);
                return mean.filter(|_| calls >= 16).unwrap_or(limit);
            }
        }
        waited = waited.saturating_add(now.since(Time::ZERO));
        calls += 1;
    }
    waited.checked_div(calls).unwrap_or(limit).min(limit)
}
