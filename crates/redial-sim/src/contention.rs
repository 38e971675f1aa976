//! Many clients want to change one thing at once.

mod ballot;
mod collision;
mod crowd;
mod latency;
mod occ;

use std::time::Duration;

use redial_core::{Policy, Schedule, SplitMix64};

pub use self::latency::Latency;

use self::ballot::Ballot;
use self::collision::Collision;
use self::crowd::{Crowd, Tally};
use self::occ::Occ;
use crate::chance::{trial_seed, uniform};
use crate::digest::Digest;
use crate::engine::{Engine, Model};
use crate::experiment::{Experiment, experiment_settings};
use crate::invalid::Invalid;
use crate::results::{Run, Trial};

/// What decides between the clients.
///
/// ```
/// use redial_sim::{Contention, Rules};
/// assert_eq!(Contention::ballot(5).rules(), Rules::Ballot);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// Optimistic concurrency control: see [`Contention::occ`].
    Occ,
    /// Overlapping proposals destroy each other: see [`Contention::collision`].
    Collision,
    /// Ballots and epochs: see [`Contention::ballot`].
    Ballot,
}

/// A crowd of clients, each of which wants to change one thing once, retries by a policy, and
/// leaves when it has succeeded or given up.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Policy;
/// use redial_sim::{Contention, Latency};
///
/// // Does the policy for contention serve five devices at a round trip of 20 ms?
/// let scenario = Contention::collision(5).latency(Latency::millis(20, 4)).trials(2000);
/// let results = scenario.run(&Policy::CONTENTION)?.results().unwrap();
/// assert!((results.committed.mean - 0.27).abs() < 0.02); // no: one in four
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a scenario does nothing until it is run"]
pub struct Contention {
    rules: Rules,
    clients: u32,
    latency: Latency,
    start_spread: Duration,
    experiment: Experiment,
}

impl Contention {
    /// The server of AWS's study of backoff (Brooker, 2015), which holds a version. A client reads
    /// it and then writes; the write succeeds if the version is still the one that was read. The
    /// server takes no time, and each message, request or reply, takes the
    /// [`latency`](Self::latency), 10 ms with a standard deviation of 2 ms unless set.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::Contention;
    ///
    /// let results = Contention::occ(1).run(&Policy::DEFAULT)?.results().unwrap();
    /// assert_eq!(results.calls.mean, 1.0); // writes; reads are not counted
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn occ(clients: u32) -> Self {
        Self::new(Rules::Occ, clients, Latency::millis(10, 2))
    }

    /// The harshest case: a proposal takes two round trips, and two proposals that overlap destroy
    /// each other. Clients learn it at the end of their own. The [`latency`](Self::latency) is that
    /// of a round trip, drawn once for a proposal, 20 ms with a standard deviation of 4 ms unless
    /// set, and never below a twentieth of its mean.
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// use redial_sim::Contention;
    ///
    /// const ONCE: Policy = policy!("attempts: 1");
    /// let results = Contention::collision(2).run(&ONCE)?.results().unwrap();
    /// assert_eq!(results.committed.mean, 0.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn collision(clients: u32) -> Self {
        Self::new(Rules::Collision, clients, Latency::millis(20, 4))
    }

    /// One acceptor of a consensus protocol in the manner of Paxos. A proposal is a prepare, which
    /// arrives half a round trip after its start and is promised if its ballot (number, client) is
    /// above the promised one; and an accept, which arrives a round trip later and is chosen if its
    /// ballot is still the promised one. A refusal names the promised ballot, and the client's next
    /// number is one above that one's. A choice opens the next epoch, in which no ballot is
    /// promised, numbers start again from 1, and proposals of the last one are refused. Clients know
    /// the epoch in which they start a proposal. The [`latency`](Self::latency) is as for
    /// [`collision`](Self::collision).
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// use redial_sim::Contention;
    ///
    /// const ONCE: Policy = policy!("attempts: 1");
    /// let results = Contention::ballot(4).run(&ONCE)?.results().unwrap();
    /// assert!(results.committed.mean <= 0.25); // one at most
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn ballot(clients: u32) -> Self {
        Self::new(Rules::Ballot, clients, Latency::millis(20, 4))
    }

    const fn new(rules: Rules, clients: u32, latency: Latency) -> Self {
        Self {
            rules,
            clients,
            latency,
            start_spread: Duration::ZERO,
            experiment: Experiment::new(500),
        }
    }

    /// How long messages take: one hop for `occ`, a round trip for the others.
    ///
    /// ```
    /// # use redial_core::Policy; use redial_sim::{Contention, Latency};
    /// let far = Contention::occ(1).latency(Latency::millis(100, 0));
    /// assert_eq!(far.run(&Policy::DEFAULT)?.results().unwrap().time_ms.mean, 400.0);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// Clients start anywhere from zero to this, instead of all at once.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Contention;
    /// let apart = Contention::collision(2).start_spread(Duration::from_secs(3600)).trials(50);
    /// assert!(apart.run(&Policy::DEFAULT)?.results().unwrap().committed.mean > 0.95);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub const fn start_spread(mut self, spread: Duration) -> Self {
        self.start_spread = spread;
        self
    }

    experiment_settings!("Contention::occ(5)");

    /// What decides between the clients.
    ///
    /// ```
    /// use redial_sim::{Contention, Rules};
    /// assert_eq!(Contention::occ(5).rules(), Rules::Occ);
    /// ```
    pub const fn rules(&self) -> Rules {
        self.rules
    }

    /// How many clients there are.
    ///
    /// ```
    /// assert_eq!(redial_sim::Contention::occ(5).clients(), 5);
    /// ```
    pub const fn clients(&self) -> u32 {
        self.clients
    }

    pub(crate) const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    pub(crate) const fn latency_mean(&self) -> Duration {
        self.latency.mean
    }

    /// The same with so many clients.
    pub(crate) const fn of(self, clients: u32) -> Self {
        Self { clients, ..self }
    }

    /// Whether trial *i* of both has the same crowd in it.
    pub(crate) fn same_draws(&self, other: &Self) -> bool {
        let crowd = |one: &Self| (one.rules, one.clients, one.latency, one.start_spread);
        crowd(self) == crowd(other) && self.experiment.same_draws(&other.experiment)
    }

    /// Runs all trials under `policy`, which decides through [`redial_core::Call`] as it does
    /// everywhere.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Backoff;
    /// use redial_sim::Contention;
    ///
    /// let policy = Backoff::from_fn(|n| Duration::from_millis(7 * u64::from(n))).full_jitter();
    /// let run = Contention::occ(10).trials(20).run(&policy.attempts(50))?;
    /// assert!(run.results().is_ok());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// No clients, trials or threads, or too many of them.
    pub fn run<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Run, Invalid> {
        let engine = Engine::new(self.clients, self.experiment.bounds)?;
        self.experiment.check()?;
        let engine = engine.watch(self.experiment.watch);
        let trials = match self.rules {
            Rules::Occ => self.run_as(engine, || Occ::new(policy, self.latency)),
            Rules::Collision => self.run_as(engine, || Collision::new(policy, self.latency)),
            Rules::Ballot => self.run_as(engine, || Ballot::new(policy, self.latency)),
        };
        Ok(Run::new(*self, trials))
    }

    fn run_as<M: Contest>(&self, engine: Engine, model: impl Fn() -> M + Sync) -> Vec<Trial> {
        self.experiment.run(
            || (engine.clone(), model()),
            |(engine, model), index| self.trial(engine, model, index),
            |trial| trial.ended,
        )
    }

    fn trial(&self, engine: &mut Engine, model: &mut impl Contest, index: u32) -> Trial {
        let mut seeds = SplitMix64::new(trial_seed(self.experiment.seed, index.into()));
        let spread = u64::try_from(self.start_spread.as_nanos()).unwrap_or(u64::MAX);
        model.clear(&mut seeds);
        let mut digest = Digest::new();
        let start = |_| {
            let start = uniform(spread, &mut seeds);
            model.enter(start, &mut seeds)
        };
        // All clients enter before the first event.
        let starts: Vec<u64> = (0..self.clients).map(start).collect();
        let run = engine.run(
            model,
            |client| starts[client as usize],
            |tick, client, kind| digest.add_event(tick, client, kind),
        );
        let Tally { calls, attempts, committed, gave_up, last_known } = *model.tally();
        // A trial that was cut has got as far as its last event.
        let nanos = if run.ended.is_complete() { last_known } else { run.last_tick };
        let events = run.events;
        Trial { ended: run.ended, calls, attempts, committed, gave_up, nanos, events, digest }
    }
}

/// A model of contention, to be used for one trial after another.
trait Contest: Model {
    /// Back to the beginning, without clients.
    fn clear(&mut self, seeds: &mut SplitMix64);

    /// One more client, which starts then; the tick of its first event.
    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64;

    /// What has been counted.
    fn tally(&self) -> &Tally;
}
