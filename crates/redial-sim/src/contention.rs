//! Many clients want to change one thing at once.

mod ballot;
mod collision;
mod crowd;
mod latency;
mod occ;
mod results;

use std::time::Duration;

use redial_core::{Policy, Schedule, SplitMix64};

pub use self::latency::Latency;
pub use self::results::{Comparison, Results, Trial};

use self::ballot::Ballot;
use self::collision::Collision;
use self::crowd::{Crowd, Tally};
use self::occ::Occ;
use crate::chance::uniform;
use crate::digest::Digest;
use crate::engine::{self, Engine};
use crate::experiment::{Experiment, experiment_settings, setters};
use crate::invalid::Invalid;
use crate::scenario::{Scenario, scenario_items};

/// What decides between the clients.
///
/// ```
/// use redial_sim::Contention;
/// use redial_sim::contention::Model;
/// assert_eq!(Contention::ballot(5).model, Model::Ballot);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    /// Optimistic concurrency control: see [`Contention::occ`].
    Occ,
    /// Overlapping proposals destroy each other: see [`Contention::collision`].
    Collision,
    /// Ballots and epochs: see [`Contention::ballot`].
    Ballot,
}

/// How the clients of [`Contention::ballot`] learn which epoch is open.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Contention;
/// use redial_sim::contention::Learning;
///
/// // The second of two proposals that are far apart: has it heard of the first?
/// const ONCE: Policy = policy!("attempts: 1");
/// let apart = Contention::ballot(2).start_spread(core::time::Duration::from_secs(3600)).trials(50);
/// let told = apart.run(&ONCE)?.results().unwrap();
/// assert!(told.all_committed.mean > 0.95);
/// let refused = apart.learning(Learning::FromRefusals).run(&ONCE)?.results().unwrap();
/// assert_eq!(refused.all_committed.mean, 0.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Learning {
    /// A client knows the open epoch whenever it starts a proposal: somebody tells it what was
    /// chosen, at no cost and without delay.
    AtStart,
    /// A client knows the first epoch, and after that what the last refusal of its own named. So a
    /// choice that it has not heard of costs it an attempt.
    FromRefusals,
}

/// A crowd of clients, each of which wants to change one thing once, retries by a policy, and
/// leaves when it has succeeded or given up.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Policy;
/// use redial_sim::Contention;
/// use redial_sim::contention::Latency;
///
/// // Does the policy for contention serve five devices at a round trip of 20 ms?
/// let scenario = Contention::collision(5).latency(Latency::millis(20, 4)).trials(2000);
/// let results = scenario.run(&Policy::CONTENTION)?.results().unwrap();
/// assert!((results.committed.mean - 0.27).abs() < 0.02); // no: one in four
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a scenario does nothing until it is run"]
#[non_exhaustive]
pub struct Contention {
    /// What decides between the clients.
    pub model: Model,
    /// How many clients there are.
    pub clients: u32,
    /// How long messages take.
    pub latency: Latency,
    /// Within which time clients start.
    pub start_spread: Duration,
    /// How clients of [`Model::Ballot`] learn which epoch is open.
    pub learning: Learning,
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
        Self::new(Model::Occ, clients, Latency::around(Duration::from_millis(10)))
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
        Self::new(Model::Collision, clients, Latency::around(Duration::from_millis(20)))
    }

    /// One acceptor of a consensus protocol in the manner of Paxos. A proposal is a prepare, which
    /// arrives half a round trip after its start and is promised if its ballot (number, client) is
    /// above the promised one; and an accept, which arrives a round trip later and is chosen if its
    /// ballot is still the promised one. A refusal names the promised ballot, and the client's next
    /// number is one above that one's. A choice opens the next epoch, in which no ballot is
    /// promised, numbers start again from 1, and proposals of the last one are refused. Clients
    /// know the epoch in which they start a proposal, unless [`learning`](Self::learning) says
    /// otherwise. The [`latency`](Self::latency) is as for [`collision`](Self::collision): one draw
    /// for both messages of a proposal and their replies.
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
        Self::new(Model::Ballot, clients, Latency::around(Duration::from_millis(20)))
    }

    const fn new(model: Model, clients: u32, latency: Latency) -> Self {
        Self {
            model,
            clients,
            latency,
            start_spread: Duration::ZERO,
            learning: Learning::AtStart,
            experiment: Experiment::new(500),
        }
    }

    setters! {
        /// How long messages take: one hop for `occ`, a round trip for the others.
        ///
        /// ```
        /// # use redial_core::Policy; use redial_sim::Contention; use redial_sim::contention::Latency;
        /// let far = Contention::occ(1).latency(Latency::millis(100, 0));
        /// assert_eq!(far.run(&Policy::DEFAULT)?.results().unwrap().time_ms.mean, 400.0);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        latency: Latency;

        /// Clients start anywhere from zero to this, instead of all at once.
        ///
        /// ```
        /// # use core::time::Duration; use redial_core::Policy; use redial_sim::Contention;
        /// let apart = Contention::collision(2).start_spread(Duration::from_secs(3600)).trials(50);
        /// assert!(apart.run(&Policy::DEFAULT)?.results().unwrap().committed.mean > 0.95);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        start_spread: Duration;

        /// How clients of [`ballot`](Self::ballot) learn which epoch is open; nothing to the others.
        ///
        /// ```
        /// use redial_core::Policy;
        /// use redial_sim::Contention;
        /// use redial_sim::contention::{Latency, Learning};
        ///
        /// let near = Contention::ballot(10).latency(Latency::millis(1, 0));
        /// let told = near.run(&Policy::CONTENTION)?.results().unwrap();
        /// let refused = near.learning(Learning::FromRefusals).run(&Policy::CONTENTION)?;
        /// assert_eq!(told.committed.mean, 1.0);
        /// assert!(refused.results().unwrap().committed.mean < 0.9);
        /// # Ok::<(), redial_sim::Invalid>(())
        /// ```
        learning: Learning;
    }

    experiment_settings!("Contention::occ(5)");

    fn run_as<M: Contest>(
        &self,
        engine: &Engine,
        model: impl Fn() -> M + Sync,
    ) -> Result<Vec<Trial>, Invalid> {
        self.experiment.run(
            || (engine.clone(), model()),
            |(engine, model), index| self.trial(engine, model, index),
        )
    }

    fn trial(&self, engine: &mut Engine, model: &mut impl Contest, index: u32) -> Trial {
        let mut seeds = self.experiment.seeds(index);
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
        let (trace, clients) = (run.trace(digest), self.clients);
        Trial { trace, clients, calls, attempts, committed, gave_up, nanos }
    }
}

impl Scenario for Contention {
    scenario_items!();

    fn is_comparable(&self, other: &Self) -> bool {
        *self == Self { experiment: self.experiment, ..*other }
    }

    fn simulate<S: Schedule + Sync>(&self, policy: &Policy<S>) -> Result<Vec<Trial>, Invalid> {
        let engine = Engine::new(self.clients, self.experiment.bounds)?;
        let engine = &engine.watch(self.experiment.watch);
        match self.model {
            Model::Occ => self.run_as(engine, || Occ::new(policy, self.latency)),
            Model::Collision => self.run_as(engine, || Collision::new(policy, self.latency)),
            Model::Ballot => {
                self.run_as(engine, || Ballot::new(policy, self.latency, self.learning))
            }
        }
    }
}

/// A model of contention, to be used for one trial after another.
trait Contest: engine::Model {
    /// Back to the beginning, without clients.
    fn clear(&mut self, seeds: &mut SplitMix64);

    /// One more client, which starts then; the tick of its first event.
    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64;

    /// What has been counted.
    fn tally(&self) -> &Tally;
}
