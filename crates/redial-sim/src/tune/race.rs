//! Rounds with ever fewer policies and ever more trials.
//!
//! Each round has random numbers of its own, so that luck in one is no help in the next.

use std::collections::HashSet;

use redial_core::{Policy, SplitMix64};

use super::crowds::Crowds;
use super::front::worth_keeping;
use super::space::{Point, Space};
use super::{Candidate, Search};
use crate::contention::Contention;
use crate::invalid::Invalid;
use crate::scenario::Scenario;
use crate::trials;

/// One round: the best of the last one, and others near them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) policies: u32,
    /// So many of them were in the last round, too.
    kept: u32,
    /// How far from those the others are.
    reach: f64,
    /// Clients times trials, the same for each number of clients: small crowds vary more and are
    /// tried more often, and all take about equally long.
    clients: u32,
}

impl Round {
    const fn new(policies: u32, kept: u32, reach: f64, clients: u32) -> Self {
        Self { policies, kept, reach, clients }
    }

    /// At least two, or there is no variance. A trial with fewer than eight clients takes about as
    /// long as one with eight.
    pub(super) fn trials(&self, clients: u32) -> u32 {
        (self.clients / clients.max(8)).max(2)
    }
}

pub(super) const QUICK: &[Round] = &[
    Round::new(240, 0, 1.0, 400),
    Round::new(80, 20, 0.12, 1200),
    Round::new(40, 12, 0.05, 5000),
    Round::new(12, 12, 0.0, 60_000),
];

pub(super) const NORMAL: &[Round] = &[
    Round::new(800, 0, 1.0, 400),
    Round::new(240, 60, 0.15, 1200),
    Round::new(200, 40, 0.08, 2400),
    Round::new(120, 30, 0.04, 6000),
    Round::new(24, 24, 0.0, 80_000),
];

pub(super) const THOROUGH: &[Round] = &[
    Round::new(4000, 0, 1.0, 400),
    Round::new(1000, 250, 0.15, 1200),
    Round::new(500, 120, 0.08, 5000),
    Round::new(300, 60, 0.04, 12_000),
    Round::new(200, 40, 0.02, 30_000),
    Round::new(40, 40, 0.0, 200_000),
];

#[derive(Debug)]
pub(super) struct Race<'s> {
    search: &'s Search,
    space: Space,
    random: SplitMix64,
    /// Those of the last round that was run to its end, and how they did.
    entrants: Vec<Entrant>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) yours: Candidate,
    pub(super) tried: HashSet<Policy>,
    pub(super) events: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entrant {
    point: Point,
    policy: Policy,
}

impl<'s> Race<'s> {
    pub(super) fn new(search: &'s Search) -> Self {
        Self {
            search,
            space: search.space(),
            random: SplitMix64::new(search.scenario.experiment().seed),
            entrants: vec![],
            candidates: vec![],
            yours: Candidate::unknown(search.yours),
            tried: HashSet::new(),
            events: 0,
        }
    }

    /// Runs a round, unless it is stopped: then all is as before.
    pub(super) fn run(&mut self, round: &Round, scenarios: &[Contention]) -> Result<(), Invalid> {
        let entrants = self.field(round);
        let crowds = Crowds::new(scenarios, &self.search.yours, self.search.commits)?;
        let measured = trials::run(
            entrants.len() as u32,
            self.search.scenario.experiment().threads,
            || (),
            |(), index| crowds.measure(&entrants[index as usize].policy),
            |_| self.search.is_stopped(),
        );
        let measured = measured.into_iter().collect::<Result<Vec<_>, _>>()?;
        if self.search.is_stopped() {
            return Ok(());
        }
        self.tried.extend(entrants.iter().map(|entrant| entrant.policy));
        self.events += crowds.yours.1 + measured.iter().map(|(_, events)| events).sum::<u64>();
        self.candidates = measured.into_iter().map(|(candidate, _)| candidate).collect();
        (self.entrants, self.yours) = (entrants, crowds.yours.0);
        Ok(())
    }

    /// Who enters a round: from all over the space, where the last one leaves nobody.
    fn field(&mut self, round: &Round) -> Vec<Entrant> {
        let kept = worth_keeping(&self.candidates, round.kept as usize);
        let mut points: Vec<_> = kept.iter().map(|&index| self.entrants[index].point).collect();
        let count = round.policies as usize;
        if points.is_empty() {
            points.extend(Point::scattered(&mut self.random).take(count));
        }
        for parent in 0..count.saturating_sub(points.len()) {
            points.push(points[parent % kept.len()].near(round.reach, &mut self.random));
        }
        let mut seen = HashSet::new();
        let entrants = points.into_iter().map(|point| {
            let policy = self.space.policy(&point);
            Entrant { point, policy }
        });
        entrants.filter(|entrant| seen.insert(entrant.policy)).collect()
    }
}
