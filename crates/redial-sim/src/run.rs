//! The trials of one policy in one scenario.

use crate::digest::Digest;
use crate::estimate::Estimate;
use crate::incomplete::Incomplete;
use crate::scenario::{Scenario, Trial};

/// The trials of one policy in one scenario.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Contention;
///
/// let run = Contention::occ(5).trials(20).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials().len(), 20);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Run<C: Scenario> {
    scenario: C,
    trials: Vec<C::Trial>,
}

impl<C: Scenario> Run<C> {
    pub(crate) const fn new(scenario: C, trials: Vec<C::Trial>) -> Self {
        Self { scenario, trials }
    }

    /// The scenario that was run.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::{Scenario, Wave};
    /// let run = Wave::new(5).trials(3).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.scenario().experiment().trials, 3);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn scenario(&self) -> &C {
        &self.scenario
    }

    /// The trials in order, up to the first that was cut. Fewer than were asked for where the run
    /// was stopped; then the results are theirs.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let run = Contention::ballot(3).trials(4).run(&Policy::DEFAULT)?;
    /// assert!(run.trials().iter().all(|trial| trial.committed + trial.gave_up == 3));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn trials(&self) -> &[C::Trial] {
        &self.trials
    }

    /// Events of all trials.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::{Contention, Layers, Wave};
    /// let run = Contention::occ(1).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 4); // a write each
    /// let run = Wave::new(3).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 24); // retries
    /// let run = Layers::new(2).calls(1).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 36); // attempts at the bottom
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn events(&self) -> u64 {
        self.trials.iter().map(|trial| trial.trace().events).sum()
    }

    /// The digest of all traces: equal for equal seeds, and different, all but surely, where any
    /// event of any trial was.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let scenario = Contention::occ(5).trials(20);
    /// let one = scenario.threads(1).run(&Policy::DEFAULT)?;
    /// let many = scenario.threads(3).run(&Policy::DEFAULT)?;
    /// assert_eq!(one.digest(), many.digest());
    /// assert_ne!(one.digest(), scenario.seed(9).run(&Policy::DEFAULT)?.digest());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn digest(&self) -> Digest {
        let mut digest = Digest::new();
        for trial in &self.trials {
            trial.add_to(&mut digest);
        }
        digest
    }

    /// What the trials amount to.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let results = Contention::occ(1).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!(results.calls.mean, 1.0);
    /// assert!((results.time_ms.mean - 40.0).abs() < 1.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A trial was cut short by a bound, or the run was stopped before one had ended.
    pub fn results(&self) -> Result<C::Results, Incomplete<C::Trial>> {
        match Incomplete::of(&self.trials, self.scenario.experiment().trials) {
            Some(cut) => Err(cut),
            None => Ok(C::results(self)),
        }
    }

    /// What this policy changes against `other`'s, trial by trial on common random numbers. `None`
    /// where the scenario or its seed differs, so that trials do not match, and where one of the
    /// runs was cut short.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let run = Contention::occ(10).trials(20).run(&Policy::DEFAULT)?;
    /// let change = run.against(&run).unwrap();
    /// assert_eq!((change.calls.mean, change.calls.ci95), (0.0, 0.0));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn against(&self, other: &Self) -> Option<C::Comparison> {
        let (ours, theirs) = (self.scenario.experiment(), other.scenario.experiment());
        let is_cut = Incomplete::is_in(&self.trials) || Incomplete::is_in(&other.trials);
        let is_same = ours.same_draws(theirs) && self.scenario.is_comparable(&other.scenario);
        (is_same && !is_cut).then(|| C::compare(self, other))
    }

    /// The mean of a quantity over the trials.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let run = Wave::new(3).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.mean(|trial| trial.retries as f64).mean, 6.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn mean(&self, quantity: impl Fn(&C::Trial) -> f64) -> Estimate {
        Estimate::of(self.trials.iter().map(quantity))
    }

    /// The differences of a quantity between our trials and theirs, of each pair with the same
    /// random numbers.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Wave;
    /// let run = Wave::new(3).run(&Policy::DEFAULT)?;
    /// assert!(run.differences(&run, |trial| trial.peak as f64).all(|change| change == 0.0));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn differences(
        &self,
        other: &Self,
        quantity: impl Fn(&C::Trial) -> f64,
    ) -> impl Iterator<Item = f64> {
        let pairs = self.trials.iter().zip(&other.trials);
        pairs.map(move |(ours, theirs)| quantity(ours) - quantity(theirs))
    }
}
