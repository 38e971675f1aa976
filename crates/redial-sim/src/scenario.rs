//! What all scenarios share.

use std::fmt;

use redial_core::{Policy, Schedule};

use crate::digest::Digest;
use crate::engine::Completion;
use crate::experiment::Experiment;
use crate::invalid::Invalid;
use crate::run::Run;

/// A scenario: something that can be tried many times under any policy, with a seed that decides
/// everything else.
///
/// The four scenarios of this crate are written against nothing but this trait, and so can one of
/// your own be:
///
/// ```
/// use redial_core::{Call, Decision, Policy, Schedule, Time, Verdict, policy};
/// use redial_sim::chance::unit;
/// use redial_sim::engine::Completion;
/// use redial_sim::{Digest, Estimate, Experiment, Invalid, Run, Scenario, Trace, Trial};
///
/// /// One call whose attempts fail as often as a coin shows tails.
/// #[derive(Clone)]
/// struct Coin(Experiment);
///
/// /// An event is a toss.
/// #[derive(Clone, Debug)]
/// struct Tosses(Trace);
///
/// impl Trial for Tosses {
///     fn trace(&self) -> &Trace {
///         &self.0
///     }
/// }
///
/// impl Scenario for Coin {
///     type Trial = Tosses;
///     type Results = Estimate;
///     type Comparison = Estimate;
///
///     fn experiment(&self) -> &Experiment {
///         &self.0
///     }
///     fn with_experiment(self, experiment: Experiment) -> Self {
///         Self(experiment)
///     }
///     fn is_comparable(&self, _: &Self) -> bool {
///         true
///     }
///     fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Vec<Tosses>, Invalid> {
///         self.0.run(
///             || (),
///             |(), index| {
///                 let mut random = self.0.seeds(index);
///                 let mut call = Call::new(policy, Time::ZERO);
///                 let mut events = 1;
///                 while unit(&mut random) > 0.5 {
///                     match call.failed(Time::ZERO, || Verdict::Retry, &mut random) {
///                         Decision::Wait(_) => events += 1,
///                         Decision::Stop(_) => break,
///                     }
///                 }
///                 let mut digest = Digest::new();
///                 digest.add(events);
///                 Tosses(Trace { ended: Completion::Quiet, events, digest })
///             },
///         )
///     }
///     fn results(run: &Run<Self>) -> Estimate {
///         run.mean(|trial| trial.0.events as f64)
///     }
///     fn compare(ours: &Run<Self>, theirs: &Run<Self>) -> Estimate {
///         Estimate::of(ours.differences(theirs, |trial| trial.0.events as f64))
///     }
/// }
///
/// const ONCE: Policy = policy!("attempts: 1");
/// const TEN: Policy = policy!("attempts: 10");
/// let [ten, once] = Coin(Experiment::new(500)).run_each([&TEN, &ONCE])?;
/// assert!((ten.results().unwrap().mean - 2.0).abs() < 0.2);
/// assert!(ten.against(&once).unwrap().low > 0.8);
/// # Ok::<(), Invalid>(())
/// ```
pub trait Scenario: Clone {
    /// What is counted in one trial.
    type Trial: Trial;
    /// What the trials of one policy amount to.
    type Results;
    /// What one policy changes against another, trial by trial.
    type Comparison;

    /// How often it is tried, from which seed, and on what.
    fn experiment(&self) -> &Experiment;

    /// The same scenario, tried otherwise.
    #[must_use]
    fn with_experiment(self, experiment: Experiment) -> Self;

    /// Whether a trial of both with the same seed draws the same random numbers for the same
    /// things, so that the difference between two policies is not one between two scenarios.
    fn is_comparable(&self, other: &Self) -> bool;

    /// Runs all trials under `policy`: see [`Experiment::run`].
    ///
    /// # Errors
    ///
    /// A setting that is out of its range.
    fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>)
    -> Result<Vec<Self::Trial>, Invalid>;

    /// What the trials of a run amount to, none of which was cut short.
    fn results(run: &Run<Self>) -> Self::Results;

    /// What our policy changes against theirs, in runs that are comparable and complete.
    fn compare(ours: &Run<Self>, theirs: &Run<Self>) -> Self::Comparison;

    /// Runs all trials under `policy`, which decides through [`redial_core::Call`] as it does
    /// everywhere.
    ///
    /// # Errors
    ///
    /// A setting that is out of its range.
    fn run<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Run<Self>, Invalid> {
        Ok(Run::new(self.clone(), self.simulate(policy)?))
    }

    /// Runs all trials under each of these policies, on common random numbers: see
    /// [`Run::against`].
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// use redial_sim::{Scenario, Wave};
    ///
    /// const IN_STEP: Policy = policy!("retry: 3, delay: 1s");
    /// const JITTERED: Policy = policy!("retry: 3, delay: 1s, jitter: full");
    /// let [jittered, in_step] = Wave::new(100).run_each([&JITTERED, &IN_STEP])?;
    /// assert!(jittered.against(&in_step).unwrap().peak.mean < -50.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A setting that is out of its range.
    fn run_each<S: Schedule + Sync, const N: usize>(
        &self,
        policies: [&Policy<S>; N],
    ) -> Result<[Run<Self>; N], Invalid> {
        let mut invalid = Ok(());
        let runs = policies.map(|policy| {
            let trials = self.simulate(policy).unwrap_or_else(|error| {
                invalid = Err(error);
                Vec::new()
            });
            Run::new(self.clone(), trials)
        });
        invalid.map(|()| runs)
    }
}

/// The items of [`Scenario`] that are the same for every scenario of this crate, whose modules have the
/// same names.
macro_rules! scenario_items {
    () => {
        type Trial = Trial;
        type Results = Results;
        type Comparison = Comparison;

        fn experiment(&self) -> &Experiment {
            &self.experiment
        }

        fn with_experiment(self, experiment: Experiment) -> Self {
            Self { experiment, ..self }
        }

        fn results(run: &crate::run::Run<Self>) -> Results {
            Results::of(run)
        }

        fn compare(ours: &crate::run::Run<Self>, theirs: &crate::run::Run<Self>) -> Comparison {
            Comparison::of(ours, theirs)
        }
    };
}
pub(crate) use scenario_items;

/// What is known of the events of every trial.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::{Contention, engine::Completion};
///
/// let run = Contention::occ(1).trials(1).run(&Policy::DEFAULT)?;
/// let trace = run.trials()[0].trace;
/// assert_eq!((trace.ended, trace.events), (Completion::Quiet, 1));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trace {
    /// How the trial ended.
    pub ended: Completion,
    /// How many events there were.
    pub events: u64,
    /// One number for all of them, in their order.
    pub digest: Digest,
}

/// One trial of a scenario.
pub trait Trial: Clone + fmt::Debug + Send {
    /// Its events.
    fn trace(&self) -> &Trace;

    /// Adds it to the digest of a run: its trace, and whatever else must be the same for equal seeds.
    fn add_to(&self, digest: &mut Digest) {
        digest.add(self.trace().digest.value());
        if let Some(result) = self.result() {
            digest.add(result);
        }
    }

    /// What must be the same for equal seeds besides its events, as one number; none unless the scenario has it.
    fn result(&self) -> Option<u64> {
        None
    }

    /// Writes how far it had got when it was cut, as it follows on "was cut after 9 events";
    /// nothing unless the scenario has something to say.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    fn describe_progress(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}
