//! What trials amount to: means, shares, differences, and what was cut short.

use crate::contention::Contention;
use crate::digest::Digest;
use crate::engine::Ended;
use crate::estimate::{Estimate, Share};

/// One trial: one crowd, from the first event to the last.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Contention;
///
/// let run = Contention::occ(1).trials(1).run(&Policy::DEFAULT)?;
/// let trial = run.trials()[0];
/// assert_eq!((trial.calls, trial.committed, trial.gave_up), (1, 1, 0));
/// assert!((trial.nanos as f64 - 40e6).abs() < 20e6); // four hops of 10 ms
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trial {
    /// How it ended.
    pub ended: Ended,
    /// Requests that the contended thing had to decide: writes, proposals, or prepares and accepts.
    pub calls: u64,
    /// Attempts of all clients.
    pub attempts: u64,
    /// Clients that got what they wanted.
    pub committed: u32,
    /// Clients whose policy gave up.
    pub gave_up: u32,
    /// When the last client learnt how it ended for it.
    pub nanos: u64,
    /// Events of the engine.
    pub events: u64,
    /// The digest of the trace.
    pub digest: Digest,
}

impl Trial {
    /// Stopped before its first event.
    const NONE: Self = Self {
        ended: Ended::Stopped,
        calls: 0,
        attempts: 0,
        committed: 0,
        gave_up: 0,
        nanos: 0,
        events: 0,
        digest: Digest::new(),
    };
}

/// What the trials of one policy in one scenario amount to.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Contention;
///
/// let results = Contention::occ(2).trials(50).run(&Policy::DEFAULT)?.results().unwrap();
/// assert_eq!(results.committed.mean, 1.0);
/// assert!(results.attempts_per_client.mean >= 1.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// Clients of a trial.
    pub clients: u32,
    /// Trials.
    pub trials: u32,
    /// Requests of a trial that the contended thing had to decide.
    pub calls: Estimate,
    /// From the start until the last client knew how it ended for it, in milliseconds.
    pub time_ms: Estimate,
    /// The share of a trial's clients that got what they wanted.
    pub committed: Estimate,
    /// The share of the trials in which all of them did.
    pub all_committed: Share,
    /// Attempts of one client.
    pub attempts_per_client: Estimate,
}

/// A run that reached a bound. A mean over what was cut short would be wrong, so there is none;
/// what was counted until then is right as far as it goes.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Contention;
/// use redial_sim::engine::{Bounds, Ended};
///
/// // In step, two proposals collide for ever.
/// const FOREVER: Policy = policy!(allow(unbounded), "attempts: unlimited, delay: 1s");
/// let scenario = Contention::collision(2)
///     .latency(redial_sim::Latency::millis(10, 0))
///     .bounds(Bounds { events: 10_000, ..Bounds::DEFAULT });
/// let cut = scenario.run(&FOREVER)?.results().unwrap_err();
/// assert_eq!((cut.bound, cut.trial.committed), (Ended::Events, 0));
/// assert_eq!(
///     cut.to_string(),
///     "trial 1 of 500 was cut after 10000 events, at 2549.00 s, with 0 of 2 clients done",
/// );
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// The bound that was reached.
    pub bound: Ended,
    /// The first trial that reached it, counted from 0. Those before it are complete.
    pub index: u32,
    /// How many trials were asked for.
    pub trials: u32,
    /// Clients of a trial.
    pub clients: u32,
    /// That trial as it was when it was cut: of its counts, each would only have grown.
    pub trial: Trial,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bound, index, trials, clients, trial } = self;
        let number = index + 1;
        write!(f, "trial {number} of {trials} was cut ")?;
        match bound {
            Ended::Time => write!(f, "at the bound on time")?,
            Ended::Clients => write!(f, "at the bound on clients")?,
            Ended::Stopped => write!(f, "because it was stopped")?,
            Ended::Events | Ended::Quiet => write!(f, "after {} events", trial.events)?,
        }
        let (done, seconds) = (trial.committed + trial.gave_up, trial.nanos as f64 / 1e9);
        write!(f, ", at {seconds:.2} s, with {done} of {clients} clients done")
    }
}

impl std::error::Error for Cut {}

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
pub struct Run {
    scenario: Contention,
    trials: Vec<Trial>,
}

impl Run {
    pub(crate) fn new(scenario: Contention, trials: Vec<Trial>) -> Self {
        Self { scenario, trials }
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
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Events of all trials.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let run = Contention::occ(1).trials(4).run(&Policy::DEFAULT)?;
    /// assert_eq!(run.events(), 4); // a write each
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn events(&self) -> u64 {
        self.trials.iter().map(|trial| trial.events).sum()
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
            digest.add(trial.digest.value());
            digest.add(trial.nanos);
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
    pub fn results(&self) -> Result<Results, Cut> {
        if let Some(cut) = self.cut() {
            return Err(cut);
        }
        let clients = self.scenario.clients();
        let per_client = 1.0 / f64::from(clients);
        let all = self.trials.iter().filter(|trial| trial.committed == clients).count() as u32;
        let trials = self.trials.len() as u32;
        Ok(Results {
            clients,
            trials,
            calls: self.estimate(calls),
            time_ms: self.estimate(millis),
            committed: self.estimate(|trial| f64::from(trial.committed) / f64::from(clients)),
            all_committed: Share::of(all, trials),
            attempts_per_client: self.estimate(|trial| trial.attempts as f64 * per_client),
        })
    }

    /// What this policy changes against `other`'s, trial by trial on common random numbers: the
    /// same client waits equally long for the same hop in both. `None` where the scenario or its
    /// seed differs, so that trials do not match, and where one of them was cut short.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::Contention;
    /// let run = Contention::occ(10).trials(20).run(&Policy::DEFAULT)?;
    /// let change = run.against(&run).unwrap();
    /// assert_eq!((change.calls.mean, change.calls.ci95), (0.0, 0.0));
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn against(&self, other: &Self) -> Option<Comparison> {
        let comparable = self.scenario.same_draws(&other.scenario);
        if !comparable || self.cut().is_some() || other.cut().is_some() {
            return None;
        }
        let clients = f64::from(self.scenario.clients());
        let difference = |quantity: &dyn Fn(&Trial) -> f64| {
            let pairs = self.trials.iter().zip(&other.trials);
            Estimate::of(pairs.map(|(ours, theirs)| quantity(ours) - quantity(theirs)))
        };
        Some(Comparison {
            calls: difference(&calls),
            time_ms: difference(&millis),
            committed: difference(&|trial| f64::from(trial.committed) / clients),
            attempts_per_client: difference(&|trial| trial.attempts as f64 / clients),
        })
    }

    fn cut(&self) -> Option<Cut> {
        let last = match self.trials.last() {
            Some(last) if last.ended.is_complete() => return None,
            Some(last) => *last,
            None => Trial::NONE,
        };
        Some(Cut {
            bound: last.ended,
            index: (self.trials.len() as u32).saturating_sub(1),
            trials: self.scenario.experiment().trials,
            clients: self.scenario.clients(),
            trial: last,
        })
    }

    fn estimate(&self, quantity: impl Fn(&Trial) -> f64) -> Estimate {
        Estimate::of(self.trials.iter().map(quantity))
    }
}

fn calls(trial: &Trial) -> f64 {
    trial.calls as f64
}

fn millis(trial: &Trial) -> f64 {
    trial.nanos as f64 / 1e6
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other.
///
/// See [`Run::against`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Requests that the contended thing had to decide.
    pub calls: Estimate,
    /// Time until the last client knew, in milliseconds.
    pub time_ms: Estimate,
    /// The share of the clients that got what they wanted.
    pub committed: Estimate,
    /// Attempts of one client.
    pub attempts_per_client: Estimate,
}
