//! What the trials of an outage amount to.

use std::fmt;
use std::time::Duration;

use super::Outage;
use super::course::Phases;
use super::tally::{CallCounts, Tally, Window};
use super::timeline::OutageTimeline;
use crate::digest::Digest;
use crate::engine::{Ended, EngineRun};
use crate::estimate::{Estimate, Share};

/// One trial: one outage, from some time before it to some time after.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
///
/// let run = Outage::new(50.0, 100.0).trials(1).run(&Policy::DEFAULT)?;
/// let trial = &run.trials()[0];
/// let calls = trial.calls.each();
/// let ended: u64 = calls.iter().map(|calls| calls.succeeded + calls.gave_up).sum();
/// let begun: u64 = calls.iter().map(|calls| calls.begun).sum();
/// assert_eq!(begun, ended + u64::from(trial.in_flight));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutageTrial {
    /// How it ended.
    pub ended: Ended,
    /// Calls, by when they began.
    pub calls: Phases<CallCounts>,
    /// Calls that had neither succeeded nor given up at the end.
    pub in_flight: u32,
    /// Attempts, by when they arrived at the server.
    pub attempts: Phases<u64>,
    /// How long after the outage's end the last window ended in which most attempts failed.
    /// Nothing where that was the last of all: it has not recovered in the time looked at.
    pub recovery: Option<Duration>,
    /// How long after the outage's end the last window ended in which an attempt failed, other than
    /// by the rate of [`errors`](Outage::errors).
    pub last_failure: Duration,
    /// The most attempts that arrived in any one window after the outage.
    pub peak: u64,
    /// Attempts that arrived at the end: in the last ten windows, as far as they are after the
    /// outage.
    pub late_attempts: u64,
    /// Calls that succeeded then.
    pub late_succeeded: u64,
    /// How long the calls took that were caught in the outage and succeeded. Nothing where there
    /// were none.
    pub caught: Option<CaughtCounts>,
    /// When its last event was, in nanoseconds from its start.
    pub nanos: u64,
    /// Events of the engine.
    pub events: u64,
    /// The digest of the trace.
    pub digest: Digest,
    pub(super) windows: Vec<Window>,
}

/// How long the calls of one trial took that were caught in the outage and succeeded: those that
/// began before its end, and ended after its start.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
///
/// let run = Outage::new(50.0, 100.0).refuses(true).trials(1).run(&Policy::DEFAULT)?;
/// let caught = run.trials()[0].caught.unwrap();
/// assert!(caught.median <= caught.p99 && caught.p99 <= caught.longest);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaughtCounts {
    /// How many there were.
    pub calls: u64,
    /// Half of them took no longer.
    pub median: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
    /// None took longer.
    pub longest: Duration,
}

impl CaughtCounts {
    fn of(nanos: &mut [u64]) -> Option<Self> {
        let last = nanos.len().checked_sub(1)?;
        let mut at = |index| Duration::from_nanos(*nanos.select_nth_unstable(index).1);
        let (median, p99, longest) = (at(last / 2), at(last * 99 / 100), at(last));
        Some(Self { calls: nanos.len() as u64, median, p99, longest })
    }
}

impl OutageTrial {
    pub(super) fn new(run: EngineRun, in_flight: u32, digest: Digest, tally: &mut Tally) -> Self {
        let recovery = tally.last_after(Window::is_bad);
        // Answers that are all errors are no recovery, however quick they are.
        let is_of_use = tally.late_succeeded > 0 || tally.late_attempts == 0;
        let is_over = is_of_use && recovery <= tally.course.until - tally.course.up;
        let last_failure = tally.last_after(|window| window.failed() > 0);
        Self {
            ended: run.ended,
            calls: tally.calls,
            in_flight,
            attempts: tally.attempts,
            recovery: is_over.then(|| Duration::from_nanos(recovery)),
            last_failure: Duration::from_nanos(last_failure),
            peak: tally.peak(),
            late_attempts: tally.late_attempts,
            late_succeeded: tally.late_succeeded,
            caught: CaughtCounts::of(&mut tally.caught),
            nanos: run.last_tick,
            events: run.events,
            digest,
            windows: std::mem::take(&mut tally.windows),
        }
    }

    fn sum(&self, count: fn(&CallCounts) -> u64) -> u64 {
        self.calls.each().iter().map(count).sum()
    }

    /// The share of all calls; nothing where there were none.
    fn share(&self, count: fn(&CallCounts) -> u64) -> Option<f64> {
        ratio(self.sum(count), self.sum(|calls| calls.begun))
    }

    fn all_attempts(&self) -> u64 {
        self.attempts.each().iter().sum()
    }

    fn all_succeeded(&self) -> u64 {
        self.sum(|calls| calls.succeeded)
    }
}

/// What the trials of one policy amount to.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Outage;
///
/// // Half the capacity is used, and yet one retry is too many.
/// const AT_ONCE: Policy = policy!("attempts: 3");
/// let results = Outage::new(160.0, 300.0).run(&AT_ONCE)?.results().unwrap();
/// assert_eq!(results.recovers.mean, 0.0);
/// assert!((results.late_load.mean - 480.0).abs() < 10.0); // three attempts for every call, for ever
/// assert_eq!(results.late_goodput.mean, 0.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OutageResults {
    /// Trials.
    pub trials: u32,
    /// The share of the trials that recover in the time looked at: in their last window, at least
    /// half of the attempts are answered in time, and in the last ten some call succeeds.
    pub recovers: Share,
    /// How many seconds after the outage's end that holds for good: in every window from there on.
    /// Over the trials that recover; nothing where none does.
    pub recovery_s: Option<Estimate>,
    /// How many seconds after the outage's end the last window ends in which an attempt fails,
    /// other than by the rate of [`errors`](Outage::errors).
    pub last_failure_s: Estimate,
    /// Attempts for a call, over the whole time.
    pub amplification: Estimate,
    /// Attempts that arrive during the outage, for each call that begins during it.
    pub amplification_during: Option<Estimate>,
    /// The load of the fullest window after the outage, as a multiple of the rate of calls.
    pub peak_over_base: Estimate,
    /// The share of all calls that have succeeded by the end; nothing where there were none.
    pub goodput: Option<Estimate>,
    /// The share of all calls that gave up.
    pub lost: Option<Estimate>,
    /// The share of the calls that have succeeded by the end, by when they began.
    pub succeeded: Phases<Option<Estimate>>,
    /// The share of the calls that gave up, by when they began.
    pub gave_up: Phases<Option<Estimate>>,
    /// Calls that are still under way at the end.
    pub in_flight: Estimate,
    /// Attempts for a call that succeeds: all of the first by all of the second, and infinite where
    /// none does.
    pub attempts_per_success: f64,
    /// Attempts per second at the end: in the last ten windows.
    pub late_load: Estimate,
    /// Calls that succeed per second at the end.
    pub late_goodput: Estimate,
    /// How long the calls took that were caught in the outage and succeeded. Nothing where there
    /// were none.
    pub caught: Option<Caught>,
    /// What happens in each window.
    pub timeline: OutageTimeline,
}

/// How long the calls took that were caught in the outage and succeeded: those that began before
/// its end, and ended after its start.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Outage;
///
/// const PATIENT: Policy = policy!("attempts: 8, delay: 1s, backoff: exponential");
/// let results = Outage::new(50.0, 500.0).refuses(true).run(&PATIENT)?.results().unwrap();
/// let caught = results.caught.unwrap();
/// assert!((caught.median_s.mean - 7.0).abs() < 0.1); // waits of 1, 2 and 4 s
/// assert!(caught.longest_s.mean > 14.9); // and of 8 s
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Caught {
    /// How many there are in a trial.
    pub calls: Estimate,
    /// The time that half of them take at most, in seconds.
    pub median_s: Estimate,
    /// The time that 99 of 100 take at most.
    pub p99_s: Estimate,
    /// The time of the longest.
    pub longest_s: Estimate,
}

/// A run that reached a bound. A mean over what was cut short would be wrong, so there is none.
///
/// ```
/// use redial_core::{Backoff, Policy};
/// use redial_sim::engine::{Bounds, Ended};
/// use redial_sim::{Arrivals, Outage};
///
/// // Refused at once, and at once again, for ever.
/// const FOREVER: Policy = Backoff::none().unlimited();
/// let scenario = Outage::new(1.0, 10.0)
///     .arrivals(Arrivals::Regular)
///     .refuses(true)
///     .bounds(Bounds { events: 10_000, ..Bounds::DEFAULT });
/// let cut = scenario.run(&FOREVER)?.results().unwrap_err();
/// assert_eq!((cut.bound, cut.index), (Ended::Events, 0));
/// assert_eq!(
///     cut.to_string(),
///     "trial 1 of 20 was cut after 10000 events, at 10.00 s, with 1 call under way",
/// );
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutageCut {
    /// The bound that was reached.
    pub bound: Ended,
    /// The first trial that reached it, counted from 0. Those before it are complete.
    pub index: u32,
    /// How many trials were asked for.
    pub trials: u32,
    /// How many events of it had happened.
    pub events: u64,
    /// When it was cut, in nanoseconds from its start.
    pub nanos: u64,
    /// How many calls were under way then.
    pub in_flight: u32,
}

impl fmt::Display for OutageCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, index, trials, events, nanos, in_flight } = self;
        let number = index + 1;
        write!(f, "trial {number} of {trials} was cut ")?;
        match bound {
            Ended::Time => write!(f, "at the bound on time")?,
            Ended::Clients => write!(f, "at the bound on clients")?,
            Ended::Stopped => write!(f, "because it was stopped")?,
            Ended::Events | Ended::Quiet => write!(f, "after {events} events")?,
        }
        let seconds = *nanos as f64 / 1e9;
        let calls = if *in_flight == 1 { "call" } else { "calls" };
        write!(f, ", at {seconds:.2} s, with {in_flight} {calls} under way")
    }
}

impl std::error::Error for OutageCut {}

/// The trials of one policy in one scenario.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
///
/// let run = Outage::new(50.0, 100.0).trials(3).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials().len(), 3);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct OutageRun {
    scenario: Outage,
    trials: Vec<OutageTrial>,
}

impl OutageRun {
    pub(super) fn new(scenario: Outage, trials: Vec<OutageTrial>) -> Self {
        Self { scenario, trials }
    }

    /// The trials in order, up to the first that was cut. Fewer than were asked for where the run
    /// was stopped; then the results are theirs.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Outage;
    /// let run = Outage::new(50.0, 100.0).trials(3).run(&Policy::DEFAULT)?;
    /// assert!(run.trials().iter().all(|trial| trial.calls.during.begun > 400));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn trials(&self) -> &[OutageTrial] {
        &self.trials
    }

    /// Events of all trials.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Outage;
    /// let run = Outage::new(50.0, 100.0).trials(1).run(&Policy::DEFAULT)?;
    /// assert!(run.events() > 2 * 50 * 140); // two for every attempt
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn events(&self) -> u64 {
        self.trials.iter().map(|trial| trial.events).sum()
    }

    /// The digest of all traces: equal for equal seeds, and different, all but surely, where any
    /// event of any trial was.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Outage;
    /// let scenario = Outage::new(50.0, 100.0).trials(4);
    /// let one = scenario.threads(1).run(&Policy::DEFAULT)?;
    /// let many = scenario.threads(3).run(&Policy::DEFAULT)?;
    /// assert_eq!(one.digest(), many.digest());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        for trial in &self.trials {
            digest.add(trial.digest.value());
            digest.add(trial.nanos);
        }
        digest
    }

    /// What the trials amount to.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Outage;
    /// let results = Outage::new(50.0, 100.0).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!(results.trials, 20);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A trial was cut short by a bound, or the run was stopped before one had ended.
    pub fn results(&self) -> Result<OutageResults, OutageCut> {
        if let Some(cut) = self.cut() {
            return Err(cut);
        }
        let trials = self.trials.len() as u32;
        let recovered = self.trials.iter().filter(|trial| trial.recovery.is_some()).count() as u32;
        let sum =
            |count: fn(&OutageTrial) -> u64| self.trials.iter().map(count).sum::<u64>() as f64;
        let windows = self.trials.iter().map(|trial| &*trial.windows);
        Ok(OutageResults {
            trials,
            recovers: Share::of(recovered, trials),
            recovery_s: self.estimate(recovery_s),
            last_failure_s: self.mean(|trial| trial.last_failure.as_secs_f64()),
            amplification: self.mean(amplification),
            amplification_during: self
                .estimate(|trial| ratio(trial.attempts.during, trial.calls.during.begun)),
            peak_over_base: self.mean(|trial| self.peak_over_base(trial)),
            goodput: self.estimate(|trial| trial.share(|calls| calls.succeeded)),
            lost: self.estimate(|trial| trial.share(|calls| calls.gave_up)),
            succeeded: self.shares(|calls| calls.succeeded),
            gave_up: self.shares(|calls| calls.gave_up),
            in_flight: self.mean(|trial| trial.in_flight.into()),
            attempts_per_success: sum(OutageTrial::all_attempts) / sum(OutageTrial::all_succeeded),
            late_load: self.mean(|trial| self.late_rate(trial.late_attempts)),
            late_goodput: self.mean(|trial| self.late_rate(trial.late_succeeded)),
            caught: self.caught(),
            timeline: OutageTimeline::of(&self.scenario.course(), windows),
        })
    }

    /// What this policy changes against `other`'s, trial by trial on common random numbers: the
    /// same calls come at the same times, and the same attempt of the same call is as much work.
    /// `None` where the scenario or its seed differs, so that trials do not match, and where one of
    /// them was cut short. A budget, a breaker and their processes may differ.
    ///
    /// ```
    /// use redial_core::{Budget, Policy};
    /// use redial_sim::Outage;
    ///
    /// let scenario = Outage::new(50.0, 100.0);
    /// let without = scenario.run(&Policy::DEFAULT)?;
    /// let with = scenario.budget(Some(Budget::builder().deposit(0.1))).run(&Policy::DEFAULT)?;
    /// assert!(with.against(&without).unwrap().amplification.mean < 0.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn against(&self, other: &Self) -> Option<OutageComparison> {
        let comparable = self.scenario.same_draws(&other.scenario);
        if !comparable || self.cut().is_some() || other.cut().is_some() {
            return None;
        }
        let maybe = |quantity: &dyn Fn(&OutageTrial) -> Option<f64>| {
            let pairs = self.trials.iter().zip(&other.trials);
            estimate(pairs.map(|(ours, theirs)| Some(quantity(ours)? - quantity(theirs)?)))
        };
        let difference = |quantity: &dyn Fn(&OutageTrial) -> f64| {
            let pairs = self.trials.iter().zip(&other.trials);
            Estimate::of(pairs.map(|(ours, theirs)| quantity(ours) - quantity(theirs)))
        };
        Some(OutageComparison {
            recovers: difference(&|trial| f64::from(u8::from(trial.recovery.is_some()))),
            recovery_s: maybe(&recovery_s),
            amplification: difference(&amplification),
            peak_over_base: difference(&|trial| self.peak_over_base(trial)),
            goodput: maybe(&|trial| trial.share(|calls| calls.succeeded)),
            lost: maybe(&|trial| trial.share(|calls| calls.gave_up)),
            late_load: difference(&|trial| self.late_rate(trial.late_attempts)),
            late_goodput: difference(&|trial| self.late_rate(trial.late_succeeded)),
        })
    }

    fn cut(&self) -> Option<OutageCut> {
        let last = self.trials.last();
        let bound = last.map_or(Ended::Stopped, |trial| trial.ended);
        (!bound.is_complete()).then(|| OutageCut {
            bound,
            index: (self.trials.len() as u32).saturating_sub(1),
            trials: self.scenario.trial_count(),
            events: last.map_or(0, |trial| trial.events),
            nanos: last.map_or(0, |trial| trial.nanos),
            in_flight: last.map_or(0, |trial| trial.in_flight),
        })
    }

    fn shares(&self, count: fn(&CallCounts) -> u64) -> Phases<Option<Estimate>> {
        let phases: Phases<fn(&Phases<CallCounts>) -> CallCounts> = Phases {
            before: |calls| calls.before,
            during: |calls| calls.during,
            after: |calls| calls.after,
        };
        phases.map(|phase| {
            self.estimate(|trial| {
                let calls = phase(&trial.calls);
                ratio(count(&calls), calls.begun)
            })
        })
    }

    fn caught(&self) -> Option<Caught> {
        let of = |quantity: fn(&CaughtCounts) -> f64| {
            self.estimate(|trial| trial.caught.as_ref().map(quantity))
        };
        Some(Caught {
            calls: of(|caught| caught.calls as f64)?,
            median_s: of(|caught| caught.median.as_secs_f64())?,
            p99_s: of(|caught| caught.p99.as_secs_f64())?,
            longest_s: of(|caught| caught.longest.as_secs_f64())?,
        })
    }

    fn peak_over_base(&self, trial: &OutageTrial) -> f64 {
        let window = self.scenario.course().window as f64 / 1e9;
        trial.peak as f64 / window / self.scenario.rate()
    }

    fn late_rate(&self, count: u64) -> f64 {
        count as f64 / self.scenario.course().late_seconds()
    }

    fn mean(&self, quantity: impl Fn(&OutageTrial) -> f64) -> Estimate {
        Estimate::of(self.trials.iter().map(quantity))
    }

    fn estimate(&self, quantity: impl Fn(&OutageTrial) -> Option<f64>) -> Option<Estimate> {
        estimate(self.trials.iter().map(quantity))
    }
}

/// Over the trials that have such a value; nothing where none has.
fn estimate(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    let values: Vec<f64> = values.flatten().collect();
    (!values.is_empty()).then(|| Estimate::of(values))
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A trial without a call has no attempt, and one for each of them.
fn amplification(trial: &OutageTrial) -> f64 {
    ratio(trial.all_attempts(), trial.sum(|calls| calls.begun)).unwrap_or(1.0)
}

fn recovery_s(trial: &OutageTrial) -> Option<f64> {
    trial.recovery.map(|recovery| recovery.as_secs_f64())
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other.
///
/// See [`OutageRun::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageComparison {
    /// The share of the trials that recover.
    pub recovers: Estimate,
    /// Seconds from the outage's end until it has recovered, over the trials in which both do.
    pub recovery_s: Option<Estimate>,
    /// Attempts for a call.
    pub amplification: Estimate,
    /// The load of the fullest window after the outage, as a multiple of the rate of calls.
    pub peak_over_base: Estimate,
    /// The share of all calls that have succeeded by the end; nothing where there were none.
    pub goodput: Option<Estimate>,
    /// The share of all calls that gave up.
    pub lost: Option<Estimate>,
    /// Attempts per second at the end.
    pub late_load: Estimate,
    /// Calls that succeed per second at the end.
    pub late_goodput: Estimate,
}
