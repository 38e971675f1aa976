//! What the trials of a contention amount to.

use std::fmt;

use super::Contention;
use crate::estimate::{COUPLED, Estimate, Share};
use crate::run::Run;
use crate::scenario::{self, Trace};

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
    /// Its events: messages that the contended thing had to decide.
    pub trace: Trace,
    /// Clients.
    pub clients: u32,
    /// Requests that the contended thing had to decide: writes, proposals, or prepares and accepts.
    pub calls: u64,
    /// Attempts of all clients.
    pub attempts: u64,
    /// Clients that got what they wanted.
    pub committed: u32,
    /// Clients whose policy gave up.
    pub gave_up: u32,
    /// When the last client learnt whether it had succeeded.
    pub nanos: u64,
}

impl Trial {
    fn millis(&self) -> f64 {
        self.nanos as f64 / 1e6
    }

    fn committed_share(&self) -> f64 {
        f64::from(self.committed) / f64::from(self.clients)
    }

    fn is_all_committed(&self) -> bool {
        self.committed == self.clients
    }
}

impl scenario::Trial for Trial {
    fn describe_progress(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, seconds) = (self.committed + self.gave_up, self.nanos as f64 / 1e9);
        write!(f, ", at {seconds:.2} s, with {done} of {} clients done", self.clients)
    }

    fn trace(&self) -> &Trace {
        &self.trace
    }

    fn result(&self) -> Option<u64> {
        Some(self.nanos)
    }
}

/// What the trials of one policy in a [`Contention`] amount to.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Contention;
///
/// let results = Contention::occ(2).trials(50).run(&Policy::DEFAULT)?.results().unwrap();
/// assert_eq!(results.committed.mean, 1.0);
/// assert!(results.attempts.mean >= 1.0);
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
    /// From the start until the last client knew whether it had succeeded, in milliseconds.
    pub time_ms: Estimate,
    /// The share of a trial's clients that got what they wanted.
    pub committed: Estimate,
    /// The share of the trials in which all of them did.
    pub all_committed: Share,
    /// Attempts of one client.
    pub attempts: Estimate,
}

impl Results {
    pub(super) fn of(run: &Run<Contention>) -> Self {
        let trials = run.trials();
        let (clients, count) = (run.scenario().clients, trials.len() as u32);
        let per_client = 1.0 / f64::from(clients);
        let all = trials.iter().filter(|trial| trial.is_all_committed()).count() as u32;
        Self {
            clients,
            trials: count,
            calls: run.mean(|trial| trial.calls as f64),
            time_ms: run.mean(Trial::millis),
            committed: Estimate::of_shares(trials.iter().map(Trial::committed_share), COUPLED),
            all_committed: Share::of(all, count),
            attempts: run.mean(|trial| trial.attempts as f64 * per_client),
        }
    }
}

/// What one policy changes against another: means of differences, trial by trial. Below zero is
/// less than the other. The same hop of the same client takes equally long in both trials of a
/// pair.
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
    /// The share of the trials in which all of them did.
    pub all_committed: Estimate,
    /// Attempts of one client.
    pub attempts: Estimate,
}

impl Comparison {
    pub(super) fn of(ours: &Run<Contention>, theirs: &Run<Contention>) -> Self {
        let clients = f64::from(ours.scenario().clients);
        let difference =
            |quantity: fn(&Trial) -> f64| Estimate::of(ours.differences(theirs, quantity));
        let all = |trial: &Trial| trial.is_all_committed();
        let pairs = ours.trials().iter().zip(theirs.trials());
        Self {
            calls: difference(|trial| trial.calls as f64),
            time_ms: difference(Trial::millis),
            committed: Estimate::of_share_differences(
                ours.differences(theirs, Trial::committed_share),
                COUPLED,
            ),
            all_committed: Estimate::of_pairs(pairs.map(|(ours, theirs)| (all(ours), all(theirs)))),
            attempts: Estimate::of(
                ours.differences(theirs, |trial| trial.attempts as f64 / clients),
            ),
        }
    }
}
