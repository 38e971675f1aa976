//! What the trials of layers amount to.

use super::Layers;
use crate::cut_short::CutShort;
use crate::digest::Digest;
use crate::engine::Ended;
use crate::estimate::Estimate;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayersTrial {
    /// How it ended.
    pub ended: Ended,
    /// Attempts at the bottom; each is an event.
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
    /// The digest of the trace.
    pub digest: Digest,
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
pub struct LayersResults {
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
    /// What the amplification is in theory, where nothing but chance ends a call: no limit in time
    /// and no budget.
    pub closed_form: Option<f64>,
    /// The share of the calls at the top that succeeded.
    pub succeeded: Estimate,
    /// How long a call at the top takes, in milliseconds.
    pub time_ms: Estimate,
    /// How long 99 of 100 of them take at most, in milliseconds.
    pub time_p99_ms: Estimate,
}

/// The trials of one policy in [`Layers`].
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Layers;
///
/// let run = Layers::new(2).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials().len(), 20);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct LayersRun {
    scenario: Layers,
    closed_form: Option<f64>,
    trials: Vec<LayersTrial>,
}

impl LayersRun {
    pub(super) const fn new(
        scenario: Layers,
        closed_form: Option<f64>,
        trials: Vec<LayersTrial>,
    ) -> Self {
        Self { scenario, closed_form, trials }
    }

    /// The trials in order, up to the first that was cut. Fewer than were asked for where the run
    /// was stopped; then the results are theirs.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let run = Layers::new(1).calls(9).trials(4).run(&Policy::DEFAULT)?;
    /// assert!(run.trials().iter().all(|trial| trial.gave_up == 9));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn trials(&self) -> &[LayersTrial] {
        &self.trials
    }

    /// Events of all trials: attempts at the bottom.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let run = Layers::new(2).calls(1).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 36);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn events(&self) -> u64 {
        self.trials.iter().map(|trial| trial.attempts).sum()
    }

    /// The digest of all traces: equal for equal seeds, and different, all but surely, where any
    /// event of any trial was.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let one = Layers::new(2).run(&Policy::DEFAULT)?;
    /// assert_eq!(one.digest(), Layers::new(2).threads(3).run(&Policy::DEFAULT)?.digest());
    /// assert_ne!(one.digest(), Layers::new(2).seed(9).run(&Policy::DEFAULT)?.digest());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        for trial in &self.trials {
            digest.add(trial.digest.value());
        }
        digest
    }

    /// What the trials amount to.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Layers;
    /// let results = Layers::new(2).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!((results.per_layer[0].mean, results.per_layer[1].mean), (1.0, 3.0));
    /// assert_eq!(results.amplification.mean, 9.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A trial was cut short by a bound, or the run was stopped before one had ended.
    pub fn results(&self) -> Result<LayersResults, CutShort> {
        if let Some(cut) = self.cut() {
            return Err(cut);
        }
        let Layers { depth, calls, .. } = self.scenario;
        let per_call = |count: &dyn Fn(&LayersTrial) -> u64| {
            self.estimate(|trial| count(trial) as f64 / f64::from(calls))
        };
        Ok(LayersResults {
            depth,
            calls,
            trials: self.trials.len() as u32,
            amplification: per_call(&|trial| trial.attempts),
            per_layer: (0..depth as usize)
                .map(|layer| per_call(&|trial| trial.entered[layer]))
                .collect(),
            worst: self.trials.iter().map(|trial| trial.attempts_worst).max().unwrap_or(0),
            closed_form: self.closed_form,
            succeeded: per_call(&|trial| trial.succeeded.into()),
            time_ms: self.estimate(|trial| trial.nanos_mean as f64 / 1e6),
            time_p99_ms: self.estimate(|trial| trial.nanos_p99 as f64 / 1e6),
        })
    }

    /// What this policy, or this budget, changes against `other`'s, trial by trial on common random
    /// numbers: the same attempt of the same call fails in both. `None` where the scenario or its
    /// seed differs, so that trials do not match, and where one of them was cut short.
    ///
    /// ```
    /// # use redial_core::{Budget, Policy}; use redial_sim::Layers;
    /// let scenario = Layers::new(2).errors(0.5);
    /// let without = scenario.run(&Policy::DEFAULT)?;
    /// let with = scenario.budget(Some(Budget::builder())).run(&Policy::DEFAULT)?;
    /// assert!(with.against(&without).unwrap().amplification.mean < 0.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn against(&self, other: &Self) -> Option<LayersComparison> {
        let comparable = self.scenario.same_draws(&other.scenario);
        if !comparable || self.cut().is_some() || other.cut().is_some() {
            return None;
        }
        let calls = f64::from(self.scenario.calls);
        let difference = |quantity: &dyn Fn(&LayersTrial) -> f64| {
            let pairs = self.trials.iter().zip(&other.trials);
            Estimate::of(pairs.map(|(ours, theirs)| quantity(ours) - quantity(theirs)))
        };
        Some(LayersComparison {
            amplification: difference(&|trial| trial.attempts as f64 / calls),
            succeeded: difference(&|trial| f64::from(trial.succeeded) / calls),
            time_ms: difference(&|trial| trial.nanos_mean as f64 / 1e6),
        })
    }

    fn cut(&self) -> Option<CutShort> {
        let trials = self.scenario.trial_count();
        CutShort::of(&self.trials, trials, |trial| (trial.ended, trial.attempts))
    }

    fn estimate(&self, quantity: impl Fn(&LayersTrial) -> f64) -> Estimate {
        Estimate::of(self.trials.iter().map(quantity))
    }
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other.
///
/// See [`LayersRun::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayersComparison {
    /// Attempts at the bottom for each call at the top.
    pub amplification: Estimate,
    /// The share of the calls at the top that succeeded.
    pub succeeded: Estimate,
    /// How long a call at the top takes, in milliseconds.
    pub time_ms: Estimate,
}
