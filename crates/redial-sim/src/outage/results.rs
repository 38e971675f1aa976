//! What the trials of an outage amount to.

use std::fmt;
use std::time::Duration;

use super::Outage;
use super::tally::{CallCounts, Tally, Window};
use super::timeline::Timeline;
use super::timetable::Phases;
use crate::digest::Digest;
use crate::engine::EngineRun;
use crate::estimate::{COUPLED, Estimate, Share};
use crate::run::Run;
use crate::scenario::{self, Trace};

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
pub struct Trial {
    /// Its events.
    pub trace: Trace,
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
/// assert!(caught.p50 <= caught.p99 && caught.p99 <= caught.longest);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CaughtCounts {
    /// How many there were.
    pub calls: u64,
    /// Half of them took no longer.
    pub p50: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
    /// None took longer.
    pub longest: Duration,
}

impl CaughtCounts {
    fn of(nanos: &mut [u64]) -> Option<Self> {
        let last = nanos.len().checked_sub(1)?;
        let mut at = |index| Duration::from_nanos(*nanos.select_nth_unstable(index).1);
        let (p50, p99, longest) = (at(last / 2), at(last * 99 / 100), at(last));
        Some(Self { calls: nanos.len() as u64, p50, p99, longest })
    }
}

impl Trial {
    pub(super) fn new(run: EngineRun, in_flight: u32, digest: Digest, tally: &mut Tally) -> Self {
        let recovery = tally.last_after(Window::is_bad);
        // Answers that are all errors are no recovery, however quick they are.
        let is_of_use = tally.late_succeeded > 0 || tally.late_attempts == 0;
        let is_over = is_of_use && recovery <= tally.timetable.until - tally.timetable.up;
        let last_failure = tally.last_after(|window| window.failed() > 0);
        Self {
            trace: run.trace(digest),
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

    fn goodput(&self) -> Option<f64> {
        self.share(|calls| calls.succeeded)
    }

    fn gave_up(&self) -> Option<f64> {
        self.share(|calls| calls.gave_up)
    }

    /// One where there was no call.
    fn amplification(&self) -> f64 {
        ratio(self.all_attempts(), self.sum(|calls| calls.begun)).unwrap_or(1.0)
    }

    fn recovery_s(&self) -> Option<f64> {
        self.recovery.map(|recovery| recovery.as_secs_f64())
    }

    fn relative_peak(&self, scenario: &Outage) -> f64 {
        let window = scenario.timetable().window as f64 / 1e9;
        self.peak as f64 / window / scenario.rate
    }
}

impl scenario::Trial for Trial {
    fn describe_progress(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (in_flight, seconds) = (self.in_flight, self.nanos as f64 / 1e9);
        let calls = if in_flight == 1 { "call" } else { "calls" };
        write!(f, ", at {seconds:.2} s, with {in_flight} {calls} under way")
    }

    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn result(&self) -> Option<u64> {
        Some(self.nanos)
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
///
/// const PATIENT: Policy = policy!("attempts: 8, delay: 1s, backoff: exponential");
/// let results = Outage::new(50.0, 500.0).refuses(true).run(&PATIENT)?.results().unwrap();
/// assert!((results.caught_p50_s.unwrap().mean - 7.0).abs() < 0.1); // waits of 1, 2 and 4 s
/// assert!(results.caught_longest_s.unwrap().mean > 14.9); // and of 8 s
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
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
    pub peak: Estimate,
    /// The share of all calls that have succeeded by the end; nothing where there were none.
    pub goodput: Option<Estimate>,
    /// The share of the calls that have succeeded by the end, by when they began.
    pub succeeded: Phases<Option<Estimate>>,
    /// The share of all calls that gave up.
    pub gave_up: Option<Estimate>,
    /// The share that gave up of the calls that began before the outage.
    pub gave_up_before: Option<Estimate>,
    /// The share that gave up of the calls that began during the outage.
    pub gave_up_during: Option<Estimate>,
    /// The share that gave up of the calls that began after the outage.
    pub gave_up_after: Option<Estimate>,
    /// Calls that are still under way at the end.
    pub in_flight: Estimate,
    /// Attempts for a call that succeeds: all of the first by all of the second, and infinite where
    /// none does.
    pub attempts_per_success: f64,
    /// Attempts per second at the end: in the last ten windows.
    pub late_load: Estimate,
    /// Calls that succeed per second at the end.
    pub late_goodput: Estimate,
    /// How many calls of a trial were caught in the outage and succeeded: they began before its
    /// end, and ended after its start. Nothing where there were none, here and below.
    pub caught: Option<Estimate>,
    /// The time that half of them take at most, in seconds.
    pub caught_p50_s: Option<Estimate>,
    /// The time that 99 of 100 of them take at most.
    pub caught_p99_s: Option<Estimate>,
    /// The time of the longest.
    pub caught_longest_s: Option<Estimate>,
    /// What happens in each window.
    pub timeline: Timeline,
    /// The same of the first five trials, each by itself: a mean over trials is the course of none
    /// of them.
    pub timelines: Vec<Timeline>,
}

impl Results {
    pub(super) fn of(run: &Run<Outage>) -> Self {
        let trials = run.trials();
        let count = trials.len() as u32;
        let recovered = trials.iter().filter(|trial| trial.recovery.is_some()).count() as u32;
        let sum = |count: fn(&Trial) -> u64| trials.iter().map(count).sum::<u64>() as f64;
        let timetable = run.scenario().timetable();
        let gave_up = shares(run, |calls| calls.gave_up);
        let caught = |quantity: fn(&CaughtCounts) -> f64| {
            some(run, |trial| trial.caught.as_ref().map(quantity))
        };
        Self {
            trials: count,
            recovers: Share::of(recovered, count),
            recovery_s: some(run, Trial::recovery_s),
            last_failure_s: run.mean(|trial| trial.last_failure.as_secs_f64()),
            amplification: run.mean(Trial::amplification),
            amplification_during: some(run, |trial| {
                ratio(trial.attempts.during, trial.calls.during.begun)
            }),
            peak: run.mean(|trial| trial.relative_peak(run.scenario())),
            goodput: share(run, Trial::goodput),
            succeeded: shares(run, |calls| calls.succeeded),
            gave_up: share(run, Trial::gave_up),
            gave_up_before: gave_up.before,
            gave_up_during: gave_up.during,
            gave_up_after: gave_up.after,
            in_flight: run.mean(|trial| trial.in_flight.into()),
            attempts_per_success: sum(Trial::all_attempts) / sum(Trial::all_succeeded),
            late_load: run.mean(|trial| timetable.late_rate(trial.late_attempts)),
            late_goodput: run.mean(|trial| timetable.late_rate(trial.late_succeeded)),
            caught: caught(|caught| caught.calls as f64),
            caught_p50_s: caught(|caught| caught.p50.as_secs_f64()),
            caught_p99_s: caught(|caught| caught.p99.as_secs_f64()),
            caught_longest_s: caught(|caught| caught.longest.as_secs_f64()),
            timeline: Timeline::of(&timetable, trials.iter().map(|trial| &*trial.windows)),
            timelines: Timeline::each(&timetable, trials.iter().map(|trial| &*trial.windows)),
        }
    }
}

/// Over the trials that have such a value.
fn some(run: &Run<Outage>, quantity: impl Fn(&Trial) -> Option<f64>) -> Option<Estimate> {
    Estimate::of_some(run.trials().iter().map(quantity), Estimate::of)
}

fn share(run: &Run<Outage>, quantity: impl Fn(&Trial) -> Option<f64>) -> Option<Estimate> {
    let of_shares = |values| Estimate::of_shares(values, COUPLED);
    Estimate::of_some(run.trials().iter().map(quantity), of_shares)
}

fn shares(run: &Run<Outage>, count: fn(&CallCounts) -> u64) -> Phases<Option<Estimate>> {
    let phases: Phases<fn(&Phases<CallCounts>) -> CallCounts> = Phases {
        before: |calls| calls.before,
        during: |calls| calls.during,
        after: |calls| calls.after,
    };
    phases.map(|phase| {
        share(run, |trial| {
            let calls = phase(&trial.calls);
            ratio(count(&calls), calls.begun)
        })
    })
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other. In both trials of a pair the same calls come at the same times, and the
/// same attempt of the same call is as much work. A budget, a breaker and their processes may
/// differ:
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
///
/// See [`Run::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The share of the trials that recover.
    pub recovers: Estimate,
    /// Seconds from the outage's end until it has recovered, over the trials in which both do.
    pub recovery_s: Option<Estimate>,
    /// Attempts for a call.
    pub amplification: Estimate,
    /// The load of the fullest window after the outage, as a multiple of the rate of calls.
    pub peak: Estimate,
    /// The share of all calls that have succeeded by the end; nothing where there were none.
    pub goodput: Option<Estimate>,
    /// The share of all calls that gave up.
    pub gave_up: Option<Estimate>,
    /// Attempts per second at the end.
    pub late_load: Estimate,
    /// Calls that succeed per second at the end.
    pub late_goodput: Estimate,
}

impl Comparison {
    pub(super) fn of(ours: &Run<Outage>, theirs: &Run<Outage>) -> Self {
        let (scenario, timetable) = (ours.scenario(), ours.scenario().timetable());
        let pairs = || ours.trials().iter().zip(theirs.trials());
        let some = |quantity: fn(&Trial) -> Option<f64>| {
            pairs().map(move |(ours, theirs)| Some(quantity(ours)? - quantity(theirs)?))
        };
        let of_shares = |values| Estimate::of_share_differences(values, COUPLED);
        let difference =
            |quantity: &dyn Fn(&Trial) -> f64| Estimate::of(ours.differences(theirs, quantity));
        Self {
            recovers: Estimate::of_pairs(
                pairs().map(|(ours, theirs)| (ours.recovery.is_some(), theirs.recovery.is_some())),
            ),
            recovery_s: Estimate::of_some(some(Trial::recovery_s), Estimate::of),
            amplification: difference(&Trial::amplification),
            peak: difference(&|trial| trial.relative_peak(scenario)),
            goodput: Estimate::of_some(some(Trial::goodput), of_shares),
            gave_up: Estimate::of_some(some(Trial::gave_up), of_shares),
            late_load: difference(&|trial| timetable.late_rate(trial.late_attempts)),
            late_goodput: difference(&|trial| timetable.late_rate(trial.late_succeeded)),
        }
    }
}
