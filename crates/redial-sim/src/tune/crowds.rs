//! What policies cost on the same crowds, as multiples of what yours costs.

use redial_core::Policy;

use super::Candidate;
use crate::contention::Contention;
use crate::elementary::{exp, ln};
use crate::engine::Bounds;
use crate::invalid::Invalid;
use crate::run::Run;
use crate::scenario::Scenario;

/// The crowds that all policies of a round meet.
#[derive(Debug)]
pub(super) struct Crowds {
    crowds: Vec<Crowd>,
    /// Yours, against itself, and the events that took.
    pub(super) yours: (Candidate, u64),
}

/// One of them, and what yours costs there.
#[derive(Debug)]
struct Crowd {
    scenario: Contention,
    calls: f64,
    time_ms: f64,
    /// The share of clients that should get what they want.
    goal: f64,
}

/// Without a goal of its own, a search looks for what serves as many as yours, and this many at
/// least.
const GOAL: f64 = 0.99;

/// A policy that takes so many times the events of yours is not worth the wait for its end.
const PATIENCE: u64 = 32;

/// How a policy does in one of them.
#[derive(Clone, Copy, Debug)]
struct Score {
    /// Where yours takes 1.
    calls: f64,
    time: f64,
    /// The share of clients that got what they wanted.
    committed: f64,
    /// What that may lack of the goal.
    missing: f64,
}

impl Crowds {
    pub(super) fn new(
        scenarios: &[Contention],
        yours: &Policy,
        goal: Option<f64>,
    ) -> Result<Self, Invalid> {
        let (mut crowds, mut scores, mut events) = (vec![], vec![], 0);
        for scenario in scenarios {
            let run = scenario.run(yours)?;
            let crowd = Crowd::new(scenario, &run, goal);
            scores.push(crowd.judge(&run));
            crowds.push(crowd);
            events += run.events();
        }
        let scores: Option<Vec<_>> = scores.into_iter().collect();
        let unknown = Candidate::unknown(*yours);
        let yours = scores.map_or(unknown, |scores| overall(yours, &scores));
        Ok(Self { crowds, yours: (yours, events) })
    }

    /// How `policy` does, and the events that took.
    pub(super) fn measure(&self, policy: &Policy) -> Result<(Candidate, u64), Invalid> {
        let (mut scores, mut events) = (vec![], 0);
        for crowd in &self.crowds {
            let run = crowd.scenario.run(policy)?;
            events += run.events();
            match crowd.judge(&run) {
                Some(score) => scores.push(score),
                None => return Ok((Candidate::unknown(*policy), events)),
            }
        }
        Ok((overall(policy, &scores), events))
    }
}

impl Crowd {
    fn new(scenario: &Contention, yours: &Run<Contention>, goal: Option<f64>) -> Self {
        // Where yours was cut, the unit is one attempt of each client.
        let attempt_ms = scenario.latency.mean.as_secs_f64() * 1e3;
        let alone = (f64::from(scenario.clients), attempt_ms, 0.0);
        let (calls, time_ms, committed) = yours.results().map_or(alone, |results| {
            (results.calls.mean, results.time_ms.mean, results.committed.mean)
        });
        let longest = yours.trials().iter().map(|trial| trial.trace.events).max().unwrap_or(0);
        let bounds = scenario.experiment().bounds;
        let events = bounds.events.min(longest.saturating_mul(PATIENCE));
        let scenario = scenario.bounds(Bounds { events, ..bounds }).threads(1);
        Self { scenario, calls, time_ms, goal: goal.unwrap_or(committed.max(GOAL)) }
    }

    /// Nothing where the run was cut.
    fn judge(&self, run: &Run<Contention>) -> Option<Score> {
        let results = run.results().ok()?;
        let committed = results.committed;
        // One trial says nothing about the spread.
        let doubt = if committed.ci95.is_finite() { committed.ci95 } else { 0.0 };
        Some(Score {
            calls: ratio(results.calls.mean, self.calls),
            time: ratio(results.time_ms.mean, self.time_ms),
            committed: committed.mean,
            missing: self.goal - (committed.mean - doubt),
        })
    }
}

/// 0 / 0 is 1.
fn ratio(ours: f64, theirs: f64) -> f64 {
    if ours == theirs { 1.0 } else { ours / theirs }
}

/// The geometric means over the crowds, and the regret.
fn overall(policy: &Policy, scores: &[Score]) -> Candidate {
    let most = |of: fn(&Score) -> f64| scores.iter().map(of).fold(0.0, f64::max);
    Candidate {
        policy: *policy,
        calls: mean(scores.iter().map(|score| score.calls)),
        time: mean(scores.iter().map(|score| score.time)),
        regret: most(|score| score.calls.max(score.time)),
        committed: scores.iter().map(|score| score.committed).fold(1.0, f64::min),
        missing: most(|score| score.missing),
    }
}

/// The geometric mean: half and twice cancel out.
fn mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len() as f64;
    let logarithm = ratios.map(ln).sum::<f64>() / count;
    // `elementary::exp` is for arguments up to zero.
    if logarithm > 0.0 { 1.0 / exp(-logarithm) } else { exp(logarithm) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_only_without_doubt() {
        let scenario = Contention::collision(4).trials(50);
        let run = scenario.run(&Policy::CONTENTION).expect("a valid scenario");
        let committed = run.results().expect("all end").committed;
        let meets = |goal| {
            let crowds = Crowds::new(&[scenario], &Policy::CONTENTION, Some(goal));
            crowds.expect("a valid scenario").yours.0.meets_goal()
        };
        assert!(!meets(committed.mean));
        assert!(!meets(committed.mean - 0.9 * committed.ci95));
        assert!(meets(committed.mean - 1.1 * committed.ci95));
    }

    #[test]
    fn half_and_twice_are_no_change() {
        for (ratios, expected) in
            [([0.5, 2.0], 1.0), ([1.0, 1.0], 1.0), ([4.0, 9.0], 6.0), ([0.04, 0.09], 0.06)]
        {
            assert!((mean(ratios.into_iter()) - expected).abs() < 1e-12 * expected);
        }
        assert_eq!(mean([f64::INFINITY].into_iter()), f64::INFINITY);
    }

    #[test]
    fn what_takes_far_longer_than_yours_is_cut() {
        let crowd = [Contention::occ(20).trials(5)];
        let crowds = Crowds::new(&crowd, &Policy::DEFAULT, None).expect("a valid scenario");
        let soon = redial_core::Backoff::none().unlimited();
        assert!(crowds.measure(&soon).expect("valid").0.is_known());
        let one = [Contention::collision(2).trials(5)];
        let crowds = Crowds::new(&one, &Policy::DEFAULT, None).expect("a valid scenario");
        let (candidate, events) = crowds.measure(&soon).expect("valid");
        assert!(!candidate.is_known() && events < 1000, "{candidate:?} after {events}");
    }
}
