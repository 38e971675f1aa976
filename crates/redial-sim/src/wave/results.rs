//! What the trials of a wave amount to.

use super::Wave;
use super::timeline::{Bins, Timeline};
use crate::digest::Digest;
use crate::engine::Completion;
use crate::estimate::Estimate;
use crate::run::Run;
use crate::scenario::{self, Trace};

/// One trial of a wave. Times are counted from the failure.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Wave;
///
/// const ONCE_MORE: Policy = policy!("attempts: 2, delay: 1s");
/// let run = Wave::new(50).trials(1).run(&ONCE_MORE)?;
/// let trial = &run.trials()[0];
/// assert_eq!((trial.retries, trial.peak, trial.gave_up), (50, 50, 50));
/// assert_eq!(trial.peak_nanos, Some(1_000_000_000));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Trial {
    /// Its events, the retries: client by client, not in the order of time.
    pub trace: Trace,
    /// Retries of all clients; each is an event.
    pub retries: u64,
    /// The most retries within one window; zero where the trial was cut.
    pub peak: u64,
    /// When that window starts.
    pub peak_nanos: Option<u64>,
    /// When the first retry arrives, if any does.
    pub first_nanos: Option<u64>,
    /// When the last one does.
    pub last_nanos: Option<u64>,
    /// Clients whose policy gave up.
    pub gave_up: u32,
    /// Clients that were waiting when no more was looked at.
    pub still_trying: u32,
    /// Clients that succeeded after the service was back.
    pub back: u32,
    /// When half of these had succeeded.
    pub back_p50_nanos: Option<u64>,
    /// When 99 of 100 of them had.
    pub back_p99_nanos: Option<u64>,
    /// When the last of them did.
    pub back_last_nanos: Option<u64>,
    /// Its timeline, where it is one of the first trials and complete.
    pub(super) bins: Option<Bins>,
}

impl Trial {
    /// Before its first client.
    pub(super) const NONE: Self = Self {
        trace: Trace { ended: Completion::Quiet, events: 0, digest: Digest::new() },
        retries: 0,
        peak: 0,
        peak_nanos: None,
        first_nanos: None,
        last_nanos: None,
        gave_up: 0,
        still_trying: 0,
        back: 0,
        back_p50_nanos: None,
        back_p99_nanos: None,
        back_last_nanos: None,
        bins: None,
    };
}

impl scenario::Trial for Trial {
    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn result(&self) -> Option<u64> {
        Some(self.peak)
    }
}

/// What the trials of one policy in a [`Wave`] amount to. Times are counted from the failure.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Wave;
///
/// let results = Wave::new(1000).run(&Policy::DEFAULT)?.results().unwrap();
/// assert!(results.peak.mean < 60.0); // of a thousand clients within 20 ms
/// assert!(results.peak_at_s.unwrap().mean < 1.0); // when the first delays end
/// assert!(results.last_s.unwrap().mean < 3.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Clients of a trial.
    pub clients: u32,
    /// Trials.
    pub trials: u32,
    /// The most retries within any one window.
    pub peak: Estimate,
    /// The same for each client: 1 where all come within one window, and more where some come
    /// twice.
    pub peak_share: Estimate,
    /// When that window starts, in seconds; `None` where nobody retries.
    pub peak_at_s: Option<Estimate>,
    /// When the first retry arrives, in seconds.
    pub first_s: Option<Estimate>,
    /// When the last one does.
    pub last_s: Option<Estimate>,
    /// Retries of one client.
    pub retries: Estimate,
    /// The share of the clients whose policy gave up.
    pub gave_up: Estimate,
    /// The share that was waiting when no more was looked at.
    pub still_trying: Estimate,
    /// The share that succeeded after the service was back.
    pub back: Estimate,
    /// When half of these had succeeded, in seconds; `None` where nobody did.
    pub back_p50_s: Option<Estimate>,
    /// When 99 of 100 of them had.
    pub back_p99_s: Option<Estimate>,
    /// When the last of them did.
    pub back_last_s: Option<Estimate>,
    /// Arrivals over time.
    pub timeline: Timeline,
    /// The same of the first five trials, each by itself: a mean over trials is the course of none
    /// of them.
    pub timelines: Vec<Timeline>,
}

impl Results {
    pub(super) fn of(run: &Run<Wave>) -> Self {
        let trials = run.trials();
        let clients = f64::from(run.scenario().clients);
        let per_client = |count: fn(&Trial) -> u64| run.mean(|trial| count(trial) as f64 / clients);
        // Attempts take no time and meet nobody: clients are independent.
        let share = |count: fn(&Trial) -> u32| {
            let shares = trials.iter().map(|trial| f64::from(count(trial)) / clients);
            Estimate::of_shares(shares, clients)
        };
        // A time of the trials that have one.
        let seconds = |nanos: fn(&Trial) -> Option<u64>| {
            let seconds = |trial| nanos(trial).map(|nanos| nanos as f64 / 1e9);
            Estimate::of_some(trials.iter().map(seconds), Estimate::of)
        };
        Self {
            clients: run.scenario().clients,
            trials: trials.len() as u32,
            peak: run.mean(|trial| trial.peak as f64),
            peak_share: per_client(|trial| trial.peak),
            peak_at_s: seconds(|trial| trial.peak_nanos),
            first_s: seconds(|trial| trial.first_nanos),
            last_s: seconds(|trial| trial.last_nanos),
            retries: per_client(|trial| trial.retries),
            gave_up: share(|trial| trial.gave_up),
            still_trying: share(|trial| trial.still_trying),
            back: share(|trial| trial.back),
            back_p50_s: seconds(|trial| trial.back_p50_nanos),
            back_p99_s: seconds(|trial| trial.back_p99_nanos),
            back_last_s: seconds(|trial| trial.back_last_nanos),
            timeline: Bins::mean(trials.iter().filter_map(|trial| trial.bins.as_ref())),
            timelines: Bins::each(trials.iter().filter_map(|trial| trial.bins.as_ref())),
        }
    }
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other. The same client draws the same words in both trials of a pair.
///
/// See [`Run::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The most retries within any one window.
    pub peak: Estimate,
    /// Retries of one client.
    pub retries: Estimate,
    /// The share of the clients whose policy gave up.
    pub gave_up: Estimate,
    /// The share that succeeded after the service was back.
    pub back: Estimate,
}

impl Comparison {
    pub(super) fn of(ours: &Run<Wave>, theirs: &Run<Wave>) -> Self {
        let clients = f64::from(ours.scenario().clients);
        let share = |count: fn(&Trial) -> u32| {
            let changes = ours.differences(theirs, |trial| count(trial).into());
            Estimate::of_share_differences(changes.map(|change| change / clients), clients)
        };
        Self {
            peak: Estimate::of(ours.differences(theirs, |trial| trial.peak as f64)),
            retries: Estimate::of(ours.differences(theirs, |trial| trial.retries as f64 / clients)),
            gave_up: share(|trial| trial.gave_up),
            back: share(|trial| trial.back),
        }
    }
}
