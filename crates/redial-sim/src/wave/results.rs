//! What the trials of a wave amount to.

use super::Wave;
use super::timeline::{Bins, WaveTimeline};
use crate::cut_short::CutShort;
use crate::digest::Digest;
use crate::engine::Ended;
use crate::estimate::Estimate;

/// One trial of a wave. Times are counted from the failure.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Wave;
///
/// const ONCE_MORE: Policy = policy!("attempts: 2, delay: 1s");
/// let run = Wave::new(50).trials(1).run(&ONCE_MORE)?;
/// let trial = run.trials()[0];
/// assert_eq!((trial.retries, trial.peak, trial.gave_up), (50, 50, 50));
/// assert_eq!(trial.peak_nanos, Some(1_000_000_000));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaveTrial {
    /// How it ended.
    pub ended: Ended,
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
    /// The digest of all arrivals, client by client.
    pub digest: Digest,
}

impl WaveTrial {
    /// Before its first client.
    pub(super) const NONE: Self = Self {
        ended: Ended::Quiet,
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
        digest: Digest::new(),
    };
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
pub struct WaveResults {
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
    pub retries_per_client: Estimate,
    /// The share of the clients whose policy gave up.
    pub gave_up: Estimate,
    /// The share that was waiting when no more was looked at.
    pub still_trying: Estimate,
    /// The share that succeeded after the service was back.
    pub back: Estimate,
    /// When they did; `None` where nobody did.
    pub back_s: Option<BackAgain>,
    /// Arrivals over time.
    pub timeline: WaveTimeline,
}

/// When the clients that succeed after the service is back do so, in seconds after the failure.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Policy, policy};
/// use redial_sim::Wave;
///
/// const STEADY: Policy = policy!("attempts: 10, delay: 1s, jitter: full");
/// let scenario = Wave::new(1000).down(Some(Duration::from_secs(1)));
/// let back = scenario.run(&STEADY)?.results().unwrap().back_s.unwrap();
/// assert!(1.0 <= back.p50.mean && back.p50.mean < back.p99.mean);
/// assert!(back.p99.mean <= back.last.mean && back.last.mean < 2.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackAgain {
    /// Half of them.
    pub p50: Estimate,
    /// 99 of 100 of them.
    pub p99: Estimate,
    /// The last of them.
    pub last: Estimate,
}

/// The trials of one policy in a [`Wave`].
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Wave;
///
/// let run = Wave::new(5).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials().len(), 20);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct WaveRun {
    scenario: Wave,
    trials: Vec<WaveTrial>,
    /// Of the first trials.
    bins: Vec<Bins>,
}

impl WaveRun {
    pub(super) fn new(scenario: Wave, trials: Vec<(WaveTrial, Option<Bins>)>) -> Self {
        let (trials, bins): (Vec<_>, Vec<_>) = trials.into_iter().unzip();
        Self { scenario, trials, bins: bins.into_iter().flatten().collect() }
    }

    /// The trials in order, up to the first that was cut. Fewer than were asked for where the run
    /// was stopped; then the results are theirs.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let run = Wave::new(3).trials(4).run(&Policy::DEFAULT)?;
    /// assert!(run.trials().iter().all(|trial| trial.retries == 6 && trial.gave_up == 3));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn trials(&self) -> &[WaveTrial] {
        &self.trials
    }

    /// Events of all trials: their retries.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let run = Wave::new(3).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 24);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn events(&self) -> u64 {
        self.trials.iter().map(|trial| trial.retries).sum()
    }

    /// The digest of all trials: equal for equal seeds, and different, all but surely, where any
    /// retry of any client came at another time.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let one = Wave::new(5).run(&Policy::DEFAULT)?;
    /// assert_eq!(one.digest(), Wave::new(5).threads(3).run(&Policy::DEFAULT)?.digest());
    /// assert_ne!(one.digest(), Wave::new(5).seed(9).run(&Policy::DEFAULT)?.digest());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        for trial in &self.trials {
            digest.add(trial.digest.value());
            digest.add(trial.peak);
        }
        digest
    }

    /// What the trials amount to.
    ///
    /// ```
    /// # use redial_core::{Policy, policy}; use redial_sim::Wave;
    /// const ONCE: Policy = policy!("attempts: 1");
    /// let results = Wave::new(5).run(&ONCE)?.results().unwrap();
    /// assert_eq!((results.peak.mean, results.first_s), (0.0, None));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A trial was cut short by a bound, or the run was stopped before one had ended.
    pub fn results(&self) -> Result<WaveResults, CutShort> {
        if let Some(cut) = self.cut() {
            return Err(cut);
        }
        let clients = f64::from(self.scenario.clients());
        let per_client = |count: fn(&WaveTrial) -> u64| {
            Estimate::of(self.trials.iter().map(|trial| count(trial) as f64 / clients))
        };
        Ok(WaveResults {
            clients: self.scenario.clients(),
            trials: self.trials.len() as u32,
            peak: Estimate::of(self.trials.iter().map(|trial| trial.peak as f64)),
            peak_share: per_client(|trial| trial.peak),
            peak_at_s: self.seconds(|trial| trial.peak_nanos),
            first_s: self.seconds(|trial| trial.first_nanos),
            last_s: self.seconds(|trial| trial.last_nanos),
            retries_per_client: per_client(|trial| trial.retries),
            gave_up: per_client(|trial| trial.gave_up.into()),
            still_trying: per_client(|trial| trial.still_trying.into()),
            back: per_client(|trial| trial.back.into()),
            back_s: self.back_again(),
            timeline: Bins::mean(self.bins.iter()),
        })
    }

    /// What this policy changes against `other`'s, trial by trial on common random numbers: the
    /// same client draws the same words in both. `None` where the scenario or its seed differs, so
    /// that trials do not match, and where one of them was cut short.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let run = Wave::new(10).run(&Policy::DEFAULT)?;
    /// let change = run.against(&run).unwrap();
    /// assert_eq!((change.peak.mean, change.peak.ci95), (0.0, 0.0));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn against(&self, other: &Self) -> Option<WaveComparison> {
        let comparable = self.scenario.same_draws(&other.scenario);
        if !comparable || self.cut().is_some() || other.cut().is_some() {
            return None;
        }
        let clients = f64::from(self.scenario.clients());
        let difference = |quantity: &dyn Fn(&WaveTrial) -> f64| {
            let pairs = self.trials.iter().zip(&other.trials);
            Estimate::of(pairs.map(|(ours, theirs)| quantity(ours) - quantity(theirs)))
        };
        Some(WaveComparison {
            peak: difference(&|trial| trial.peak as f64),
            retries_per_client: difference(&|trial| trial.retries as f64 / clients),
            gave_up: difference(&|trial| f64::from(trial.gave_up) / clients),
            back: difference(&|trial| f64::from(trial.back) / clients),
        })
    }

    fn cut(&self) -> Option<CutShort> {
        let trials = self.scenario.trial_count();
        CutShort::of(&self.trials, trials, |trial| (trial.ended, trial.retries))
    }

    fn back_again(&self) -> Option<BackAgain> {
        Some(BackAgain {
            p50: self.seconds(|trial| trial.back_p50_nanos)?,
            p99: self.seconds(|trial| trial.back_p99_nanos)?,
            last: self.seconds(|trial| trial.back_last_nanos)?,
        })
    }

    /// A time of the trials that have one.
    fn seconds(&self, nanos: impl Fn(&WaveTrial) -> Option<u64>) -> Option<Estimate> {
        let mut times = self.trials.iter().filter_map(nanos).peekable();
        times.peek()?;
        Some(Estimate::of(times.map(|nanos| nanos as f64 / 1e9)))
    }
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other.
///
/// See [`WaveRun::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WaveComparison {
    /// The most retries within any one window.
    pub peak: Estimate,
    /// Retries of one client.
    pub retries_per_client: Estimate,
    /// The share of the clients whose policy gave up.
    pub gave_up: Estimate,
    /// The share that succeeded after the service was back.
    pub back: Estimate,
}
