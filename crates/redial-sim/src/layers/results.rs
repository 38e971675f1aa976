//! What the trials of layers amount to.

use super::Layers;
use crate::estimate::{COUPLED, Estimate};
use crate::run::Run;
use crate::scenario::{self, Trace};

/// One trial of layers.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Layers;
///
/// let run = Layers::new(3).calls(2).trials(1).run(&Policy::DEFAULT)?;
/// let trial = &run.trials()[0];
/// assert_eq!(trial.entered, [2, 6, 18]);
/// assert_eq!((trial.attempts, trial.attempts_worst), (54, 27));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its events: the end of each attempt, and with a budget the start of those that enter a layer.
    pub trace: Trace,
    /// Attempts at the bottom.
    pub attempts: u64,
    /// The most attempts that one call at the top became, of those that have ended.
    pub attempts_worst: u64,
    /// How often each layer was called, from the top.
    pub entered: Vec<u64>,
    /// Calls at the top that succeeded.
    pub succeeded: u32,
    /// Calls at the top that gave up.
    pub gave_up: u32,
    /// How long a call at the top took, in the mean.
    pub nanos_mean: u64,
    /// How long 99 of 100 of them took at most.
    pub nanos_p99: u64,
    /// How many attempts for each call are to be expected of the policy: see
    /// [`Results::closed_form`].
    pub(super) closed_form: Option<f64>,
}

impl scenario::Trial for Trial {
    fn trace(&self) -> &Trace {
        &self.trace
    }
}

/// What the trials of one policy in [`Layers`] amount to.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Layers;
///
/// let results = Layers::new(2).errors(0.5).run(&Policy::DEFAULT)?.results().unwrap();
/// let closed_form = results.closed_form.unwrap();
/// assert!((closed_form - 1.75 * 1.140625).abs() < 1e-9);
/// assert!((results.amplification.mean - closed_form).abs() < 0.1);
/// assert!(results.worst <= 9);
/// assert!((results.succeeded.mean - 0.998).abs() < 0.001); // 1 − 0.5⁹
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Layers that retry.
    pub depth: u32,
    /// Calls at the top of a trial.
    pub calls: u32,
    /// Trials.
    pub trials: u32,
    /// Attempts at the bottom for each call at the top.
    pub amplification: Estimate,
    /// Calls of each layer for each call at the top, from the top, which is called once.
    pub per_layer: Vec<Estimate>,
    /// The most attempts at the bottom that any one call became.
    pub worst: u64,
    /// The expected amplification in closed form, where only the number of attempts ends a call:
    /// there is no limit in time and no budget.
    pub closed_form: Option<f64>,
    /// The share of the calls at the top that succeeded.
    pub succeeded: Estimate,
    /// How long a call at the top takes, in milliseconds.
    pub time_ms: Estimate,
    /// How long 99 of 100 of them take at most, in milliseconds.
    pub time_p99_ms: Estimate,
}

impl Results {
    pub(super) fn of(run: &Run<Layers>) -> Self {
        let Layers { depth, calls, .. } = *run.scenario();
        let trials = run.trials();
        let per_call = |count: &dyn Fn(&Trial) -> u64| {
            run.mean(|trial| count(trial) as f64 / f64::from(calls))
        };
        Self {
            depth,
            calls,
            trials: trials.len() as u32,
            amplification: per_call(&|trial| trial.attempts),
            per_layer: (0..depth as usize)
                .map(|layer| per_call(&|trial| trial.entered[layer]))
                .collect(),
            worst: trials.iter().map(|trial| trial.attempts_worst).max().unwrap_or(0),
            closed_form: trials.first().and_then(|trial| trial.closed_form),
            succeeded: Estimate::of_shares(
                trials.iter().map(|trial| f64::from(trial.succeeded) / f64::from(calls)),
                independent(run.scenario()),
            ),
            time_ms: run.mean(|trial| trial.nanos_mean as f64 / 1e6),
            time_p99_ms: run.mean(|trial| trial.nanos_p99 as f64 / 1e6),
        }
    }
}

/// How many calls of a trial are independent of each other: without a budget, all of them.
fn independent(scenario: &Layers) -> f64 {
    if scenario.budget.is_some() { COUPLED } else { f64::from(scenario.calls) }
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other. The same attempt of the same call fails in both trials of a pair.
///
/// ```
/// # use redial_core::{Budget, Policy}; use redial_sim::Layers;
/// let scenario = Layers::new(2).errors(0.5);
/// let without = scenario.run(&Policy::DEFAULT)?;
/// let with = scenario.budget(Some(Budget::builder())).run(&Policy::DEFAULT)?;
/// assert!(with.against(&without).unwrap().amplification.mean < 0.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
///
/// See [`Run::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Attempts at the bottom for each call at the top.
    pub amplification: Estimate,
    /// The share of the calls at the top that succeeded.
    pub succeeded: Estimate,
    /// How long a call at the top takes, in milliseconds.
    pub time_ms: Estimate,
}

impl Comparison {
    pub(super) fn of(ours: &Run<Layers>, theirs: &Run<Layers>) -> Self {
        let calls = f64::from(ours.scenario().calls);
        let independent = independent(ours.scenario()).min(independent(theirs.scenario()));
        let succeeded = ours.differences(theirs, |trial| trial.succeeded.into());
        Self {
            amplification: Estimate::of(
                ours.differences(theirs, |trial| trial.attempts as f64 / calls),
            ),
            succeeded: Estimate::of_share_differences(
                succeeded.map(|change| change / calls),
                independent,
            ),
            time_ms: Estimate::of(ours.differences(theirs, |trial| trial.nanos_mean as f64 / 1e6)),
        }
    }
}
