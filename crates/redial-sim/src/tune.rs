//! The search for the policy that serves a crowd of unknown size best.

mod crowds;
mod front;
mod race;
mod space;

use std::ops::RangeInclusive;
use std::time::Duration;

use redial_core::{Backoff, Policy};

use self::race::{Race, Round};
use self::space::{Space, between};
use crate::chance::trial_seed;
use crate::contention::{Comparison, Contention, Results, Trial};
use crate::engine::{Bounds, Engine};
use crate::incomplete::Incomplete;
use crate::invalid::Invalid;
use crate::scenario::Scenario;

/// A search for the policy that does better than yours, however many clients there are.
///
/// The best policy for ten clients is a bad one for two hundred, and seldom is it known how many
/// there will be. So a policy is judged by its [regret](Candidate::regret): the largest share of
/// the calls of yours, or of the time of yours, that it takes at any of the numbers of clients. At
/// 98 % or less it is better than yours in both, at every number, without doubt; of all such
/// policies the winner is the one that takes the least on average, calls times time. Where there is
/// none, it is the one of the least regret, which may be yours. There are no weights to choose: who
/// would rather have less work than time finds that on the [front](Tuned::front).
///
/// Work and time of clients that give up are worth nothing. So a policy must first serve: as many
/// clients as yours at every number, and 99 % at least, or the share that
/// [`commits`](Self::commits) asks for. Where none does, the winner is the one that comes closest.
///
/// The first round is a low-discrepancy sample of the whole space (constant, linear, exponential
/// and decorrelated backoffs; delays from a tenth of the latency; caps; no, proportional, equal and
/// full jitter). Each later round keeps the best, tries others near them, and has fewer policies
/// and more trials, as in successive halving. All policies of a round meet the same random numbers,
/// and each round has new ones. The winner is measured against yours once more on random numbers
/// that the search has not used: the best of many is best partly by luck (selection bias).
///
/// Seed, threads, watch and bounds are those of the scenario; the last measurement has at least as
/// many trials as it. A policy that takes more than a thousand events for each client, or 32 times
/// those of yours, is cut and does not win. All policies have the limits in time that yours has.
///
/// ```
/// use redial_sim::{Contention, Search, tune::Effort};
///
/// let scenario = Contention::occ(1).seed(7);
/// let search = Search::new(scenario, &[5, 20]).effort(Effort::Quick);
/// let found = search.run()?;
///
/// assert!(found.winner.regret < 1.0);
/// assert!(found.beats_yours());
/// assert_eq!(found.winner.policy.to_string().parse(), Ok(found.winner.policy));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a search does nothing until it is run"]
pub struct Search {
    scenario: Contention,
    /// The numbers of clients.
    pub clients: Vec<u32>,
    /// Your policy.
    pub yours: Policy,
    /// The share of the clients that must succeed.
    pub commits: Option<f64>,
    /// How many attempts a policy may make.
    pub attempts: Option<RangeInclusive<u32>>,
    /// How hard to search.
    pub effort: Effort,
}

/// How long a search takes, and how sure it is.
///
/// ```
/// use redial_sim::{Contention, Search, tune::Effort};
/// let search = Search::over(Contention::occ(1), 10..=190);
/// assert!(search.clone().effort(Effort::Quick).trials() < search.trials());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Some 300 policies.
    Quick,
    /// Some 1200 policies: seconds, for up to two hundred clients.
    #[default]
    Normal,
    /// Some 5500 policies, in ten times the time.
    Thorough,
}

/// The most numbers of clients in one search: more than anybody reads.
const NUMBERS_MAX: u32 = 100;

/// Nobody wants a policy that needs a thousand calls for one client's success.
const EVENTS_PER_CLIENT: u64 = 1000;

/// Where yours has a limit on attempts, others have one, too: ten retries, or those of yours where
/// they are more. `redial check` warns of more than ten.
const ATTEMPTS_MAX: u32 = 11;

impl Search {
    /// A search at these numbers of clients, instead of the scenario's own. Until
    /// [`yours`](Self::yours) says otherwise, yours is what most advice comes to: exponential
    /// from the latency to two hundred of it, full jitter, never giving up. At 10 ms that is the
    /// best policy of AWS's study.
    ///
    /// ```
    /// use redial_sim::{Contention, Search};
    /// let search = Search::new(Contention::occ(1), &[10, 100]);
    /// assert_eq!(
    ///     search.yours.to_string(),
    ///     "attempts: unlimited, delay: 10ms, backoff: exponential, max_delay: 2s, jitter: full",
    /// );
    /// ```
    pub fn new(scenario: Contention, clients: &[u32]) -> Self {
        let latency = unit(&scenario);
        let cap = latency.saturating_mul(200);
        let yours = Backoff::exponential(latency).max(cap).full_jitter().unlimited();
        let (commits, attempts, effort) = (None, None, Effort::Normal);
        Self { scenario, clients: clients.to_vec(), yours, commits, attempts, effort }
    }

    /// A search at five numbers of clients, from the least to the most, in equal factors.
    ///
    /// ```
    /// use redial_sim::{Contention, Search};
    /// assert_eq!(Search::over(Contention::occ(1), 10..=190).clients, [10, 21, 44, 91, 190]);
    /// assert_eq!(Search::over(Contention::occ(1), 2..=4).clients, [2, 3, 4]);
    /// ```
    pub fn over(scenario: Contention, clients: RangeInclusive<u32>) -> Self {
        let (least, most) = (f64::from(*clients.start()), f64::from(*clients.end()));
        let number = |step| between(least, most, f64::from(step) / 4.0).round() as u32;
        let mut numbers: Vec<u32> = (0..5).map(number).collect();
        numbers.dedup();
        Self::new(scenario, &numbers)
    }

    /// Your own policy, which others are measured against.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::{Contention, Search};
    /// let search = Search::new(Contention::ballot(1), &[5]).yours(&Policy::CONTENTION);
    /// assert_eq!(search.yours, Policy::CONTENTION);
    /// ```
    pub fn yours(mut self, yours: &Policy) -> Self {
        self.yours = *yours;
        self
    }

    /// The share of the clients that must get what they want, at every number of them.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::{tune::Effort, Contention, Search};
    /// use redial_sim::contention::Latency;
    ///
    /// // Which policy serves 99 % of ten devices at a round trip of 50 ms?
    /// let scenario = Contention::ballot(1).latency(Latency::millis(50, 10));
    /// let search = Search::new(scenario, &[10]).yours(&Policy::CONTENTION).commits(0.99);
    /// let found = search.effort(Effort::Quick).run()?;
    /// assert!(found.yours.committed < 0.9);
    /// assert!(found.winner.meets_goal() && found.winner.committed >= 0.99);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn commits(mut self, share: f64) -> Self {
        self.commits = Some(share);
        self
    }

    /// How many attempts a policy may make. Unless set: as many as it takes where yours is
    /// unlimited; otherwise from 2 to 11, or to those of yours where they are more.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::{Contention, Search, tune::Effort};
    ///
    /// let search = Search::new(Contention::collision(1), &[4]).attempts(7..=7);
    /// let found = search.yours(&Policy::CONTENTION).effort(Effort::Quick).run()?;
    /// assert_eq!(found.winner.policy.attempts(), Some(7));
    /// assert!(found.winner.committed > found.yours.committed);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn attempts(mut self, attempts: RangeInclusive<u32>) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// How hard to search.
    ///
    /// ```
    /// use redial_sim::{Contention, Search, tune::Effort};
    /// let search = Search::new(Contention::occ(1), &[5]).effort(Effort::Thorough);
    /// assert!(search.trials() > 100_000);
    /// ```
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// How many trials the search takes at most: what its [`Watch`](crate::Watch) counts up to.
    /// They are fewer where policies are cut, or found twice.
    ///
    /// ```
    /// use redial_sim::{Contention, Search, Watch, tune::Effort};
    ///
    /// static WATCH: Watch = Watch::new();
    /// let search = Search::new(Contention::occ(1).watch(&WATCH), &[5]).effort(Effort::Quick);
    /// search.run()?;
    /// assert!(WATCH.trials() <= search.trials() && WATCH.trials() > search.trials() / 2);
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn trials(&self) -> u64 {
        let at = |&clients: &u32| -> u64 {
            // Yours is one more in every round.
            let of_round =
                |round: &Round| (u64::from(round.policies) + 1) * u64::from(round.trials(clients));
            let of_rounds: u64 = self.rounds().iter().map(of_round).sum();
            of_rounds + 2 * u64::from(self.trials_of_gain(clients))
        };
        self.clients.iter().filter(|&&clients| clients > 0).map(at).sum()
    }

    /// Searches.
    ///
    /// # Errors
    ///
    /// No clients, trials, threads or attempts, or too many of them; a share that is none.
    pub fn run(&self) -> Result<Tuned, Invalid> {
        self.check()?;
        let mut race = Race::new(self);
        for (index, round) in self.rounds().iter().enumerate() {
            race.run(round, &self.crowds(index, |clients| round.trials(clients)))?;
        }
        let mut candidates = vec![race.yours];
        candidates.append(&mut race.candidates);
        let front = front::front(&candidates).into_iter().map(|index| candidates[index]).collect();
        candidates.sort_by(front::order);
        let winner = candidates[0];
        let gain = self.gain(&winner.policy)?;
        let is_complete = !gain.is_empty();
        Ok(Tuned {
            winner,
            yours: race.yours,
            front,
            gain,
            tried: race.tried.len() as u32,
            events: race.events,
            is_complete,
        })
    }

    fn check(&self) -> Result<(), Invalid> {
        let numbers = self.clients.len() as f64;
        Invalid::unless_within("numbers of clients", numbers, 1, NUMBERS_MAX)?;
        // An error about the least or the most names a number that the caller wrote.
        for &clients in self.clients.iter().max().into_iter().chain(self.clients.iter().min()) {
            Engine::new(clients, self.scenario.experiment().bounds)?;
        }
        self.scenario.experiment().check()?;
        Invalid::unless_within("commits", self.commits.unwrap_or(1.0), 0, 1)?;
        let attempts = self.attempts.clone().unwrap_or(1..=1);
        Invalid::unless_within("attempts", *attempts.start(), 1, *attempts.end())
    }

    /// The winner against yours, on random numbers that the search has not used.
    fn gain(&self, winner: &Policy) -> Result<Vec<Gain>, Invalid> {
        let mut gain = vec![];
        for scenario in self.crowds(self.rounds().len(), |clients| self.trials_of_gain(clients)) {
            let [winner, yours] = scenario.run_each([winner, &self.yours])?;
            let change = winner.against(&yours);
            let (winner, yours) = (winner.results(), yours.results());
            gain.push(Gain { clients: scenario.clients, winner, yours, change });
        }
        if self.is_stopped() { Ok(vec![]) } else { Ok(gain) }
    }

    /// As many as the scenario has, and no fewer than led to the winner.
    fn trials_of_gain(&self, clients: u32) -> u32 {
        let last = self.rounds().last().map_or(0, |round| round.trials(clients));
        self.scenario.experiment().trials.max(last)
    }

    const fn rounds(&self) -> &'static [Round] {
        match self.effort {
            Effort::Quick => race::QUICK,
            Effort::Normal => race::NORMAL,
            Effort::Thorough => race::THOROUGH,
        }
    }

    /// The crowds of one stage of the search, with a seed of its own.
    fn crowds(&self, stage: usize, trials: impl Fn(u32) -> u32) -> Vec<Contention> {
        let experiment = self.scenario.experiment();
        let scenario = self.scenario.seed(trial_seed(experiment.seed, stage as u64));
        let crowd = |&clients: &u32| {
            let events = experiment.bounds.events.min(u64::from(clients) * EVENTS_PER_CLIENT);
            let bounds = Bounds { events, ..experiment.bounds };
            let mut crowd = scenario.trials(trials(clients)).bounds(bounds);
            crowd.clients = clients;
            crowd
        };
        self.clients.iter().map(crowd).collect()
    }

    fn space(&self) -> Space {
        let most = self.clients.iter().copied().max().unwrap_or(1);
        let by_yours = || self.yours.attempts().map(|yours| 2.min(yours)..=yours.max(ATTEMPTS_MAX));
        let attempts = self.attempts.clone().or_else(by_yours);
        Space::new(unit(&self.scenario), most, attempts, self.yours)
    }

    fn is_stopped(&self) -> bool {
        self.scenario.experiment().watch.is_stopped()
    }
}

/// What delays are measured by: the latency, or something where there is none.
fn unit(scenario: &Contention) -> Duration {
    let latency = scenario.latency.mean;
    if latency.is_zero() { Duration::from_millis(1) } else { latency }
}

/// A policy and how it does, measured against yours.
///
/// ```
/// use redial_sim::{Contention, Search, tune::Effort};
///
/// let found = Search::new(Contention::occ(1), &[5]).effort(Effort::Quick).run()?;
/// assert_eq!((found.yours.calls, found.yours.time), (1.0, 1.0));
/// assert_eq!(found.winner.committed, 1.0);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The policy, which prints itself as a clause.
    pub policy: Policy,
    /// The calls that it takes where yours takes 1: the geometric mean over the numbers of clients.
    /// Infinite where it comes to no end.
    pub calls: f64,
    /// The time that it takes where yours takes 1, likewise.
    pub time: f64,
    /// The largest share of the calls of yours, or of the time of yours, that it takes at any
    /// number of clients: below 1, it is better than yours in both, at every number of them.
    pub regret: f64,
    /// The least share of clients that got what they wanted.
    pub committed: f64,
    /// What that may lack of the goal; not above zero where it is met.
    missing: f64,
}

impl Candidate {
    /// Comes to no end, as far as anybody has waited.
    const fn unknown(policy: Policy) -> Self {
        let never = f64::INFINITY;
        let (calls, time, regret) = (never, never, never);
        Self { policy, calls, time, regret, committed: 0.0, missing: 1.0 }
    }

    fn is_known(&self) -> bool {
        self.regret.is_finite()
    }

    /// Whether as many clients get what they want as was asked for, with 95 % confidence.
    ///
    /// ```
    /// use redial_core::Policy;
    /// use redial_sim::{Contention, Search, tune::Effort};
    ///
    /// // Nobody finds a way for a hundred clients to succeed at their first attempt.
    /// let search = Search::new(Contention::occ(1), &[100]).attempts(1..=1);
    /// let found = search.yours(&Policy::DEFAULT).effort(Effort::Quick).run()?;
    /// assert!(!found.winner.meets_goal());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn meets_goal(&self) -> bool {
        self.missing <= 0.0
    }
}

/// What a search has found.
///
/// ```
/// use redial_sim::{Contention, Search, tune::Effort};
///
/// let found = Search::new(Contention::occ(1), &[20]).effort(Effort::Quick).run()?;
/// assert!(found.is_complete && found.tried > 100);
/// assert!(found.front.contains(&found.winner));
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The best policy, which may be yours.
    pub winner: Candidate,
    /// Your policy.
    pub yours: Candidate,
    /// The Pareto front of the last round: the policies with up to twice the winner's regret that
    /// no other dominates in calls, time and regret, the fewest calls first. The winner is one of
    /// them.
    pub front: Vec<Candidate>,
    /// The winner against yours, at each number of clients. Empty where the search was stopped.
    pub gain: Vec<Gain>,
    /// How many policies were tried.
    pub tried: u32,
    /// How many events that took.
    pub events: u64,
    /// Whether the search was not stopped. If it was, this is what it knew by then.
    pub is_complete: bool,
}

impl Tuned {
    /// Whether the winner needs fewer calls and less time than yours, and serves no fewer, at every
    /// number of clients, each with 95 % confidence.
    ///
    /// ```
    /// use redial_sim::{Contention, Search, tune::Effort};
    /// let found = Search::new(Contention::occ(1), &[1]).effort(Effort::Quick).run()?;
    /// assert!(!found.beats_yours()); // there is nothing to gain
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn beats_yours(&self) -> bool {
        !self.gain.is_empty() && self.gain.iter().all(Gain::is_better)
    }
}

/// The winner against yours at one number of clients, on random numbers that the search has not
/// used.
///
/// ```
/// use redial_sim::{Contention, Search, tune::Effort};
///
/// let found = Search::new(Contention::occ(1), &[20]).effort(Effort::Quick).run()?;
/// let gain = &found.gain[0];
/// let (winner, yours) = (gain.winner.unwrap(), gain.yours.unwrap());
/// assert_eq!((gain.clients, winner.clients), (20, 20));
/// assert!(winner.calls.mean < yours.calls.mean);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The number of clients.
    pub clients: u32,
    /// The winner's results, unless it was cut.
    pub winner: Result<Results, Incomplete<Trial>>,
    /// And those of yours.
    pub yours: Result<Results, Incomplete<Trial>>,
    /// What the winner changes, on common random numbers, unless one of them was cut.
    pub change: Option<Comparison>,
}

impl Gain {
    /// Whether the winner needs fewer calls and less time, each with 95 % confidence, and does not
    /// serve fewer clients for it.
    ///
    /// ```
    /// use redial_sim::{Contention, Search, tune::Effort};
    /// let found = Search::new(Contention::occ(1), &[20]).effort(Effort::Quick).run()?;
    /// assert!(found.gain[0].is_better());
    /// # Ok::<(), redial_sim::Invalid>(())
    /// ```
    pub fn is_better(&self) -> bool {
        self.change.is_some_and(|Comparison { calls, time_ms, committed, .. }| {
            let is_less = calls.mean + calls.ci95 < 0.0 && time_ms.mean + time_ms.ci95 < 0.0;
            is_less && committed.mean + committed.ci95 >= 0.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_meets_chance_of_its_own() {
        let search = Search::new(Contention::occ(1), &[5]);
        let digest = |stage| {
            let run = search.crowds(stage, |_| 3)[0].run(&search.yours);
            run.expect("a valid scenario").digest()
        };
        for stage in 0..search.rounds().len() {
            assert_ne!(digest(stage), digest(stage + 1));
        }
    }
}
