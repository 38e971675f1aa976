//! The experiment: many runs of some proposers and an acceptor, and what they amount to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use redial::Policy;
use redial_sim::contention::{Latency, Results};
use redial_sim::{Contention, Estimate, Share};
use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use crate::acceptor;
use crate::proposer::Proposer;
use crate::punctuality::Punctuality;

/// Runs that are kept or discarded together. Were each run judged alone, long ones, which have
/// more timers to be late, would be discarded more often, and they are those in which devices fail.
const BATCH: u32 = 20;
/// How many runs are repeated for each that is kept, before the machine is found too busy.
const PATIENCE: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Experiment {
    pub(crate) policy: &'static Policy,
    pub(crate) devices: u32,
    pub(crate) round_trip: Duration,
    pub(crate) runs: u32,
}

/// What became of the devices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) committed: Estimate,
    pub(crate) all_committed: Share,
    /// Runs that were repeated, because the machine was too busy for them.
    pub(crate) discarded: u32,
}

impl Experiment {
    /// What the simulator says.
    pub(crate) fn simulated(&self) -> Results {
        let latency = Latency { mean: self.round_trip, spread: self.round_trip / 5 };
        let scenario = Contention::ballot(self.devices).latency(latency).trials(20_000).threads(2);
        let run = scenario.run(self.policy).expect("a valid scenario");
        run.results().expect("no bound is near")
    }

    /// What sockets and timers say. `room` has a permit for each device that may be under way.
    pub(crate) async fn measured(self, room: Arc<Semaphore>) -> io::Result<Measured> {
        let mut batches = JoinSet::new();
        for first in (0..self.runs).step_by(BATCH as usize) {
            batches.spawn(self.batch(BATCH.min(self.runs - first), Arc::clone(&room)));
        }
        let (mut committed, mut discarded) = (Vec::new(), 0);
        while let Some(batch) = batches.join_next().await {
            let (counts, is_punctual) = batch??;
            if is_punctual {
                committed.extend(counts);
                continue;
            }
            let runs = counts.len() as u32;
            discarded += runs;
            if discarded > PATIENCE * self.runs {
                return Err(io::Error::other("the machine is too busy: timers fire too late"));
            }
            batches.spawn(self.batch(runs, Arc::clone(&room)));
        }
        let all = committed.iter().filter(|&&count| count == self.devices).count() as u32;
        let share = |count: &u32| f64::from(*count) / f64::from(self.devices);
        Ok(Measured {
            committed: Estimate::of(committed.iter().map(share)),
            all_committed: Share::of(all, self.runs),
            discarded,
        })
    }

    /// How many devices committed in each run of a batch, and whether its timers were on time.
    async fn batch(self, runs: u32, room: Arc<Semaphore>) -> io::Result<(Vec<u32>, bool)> {
        let punctuality = Arc::new(Punctuality::new(self.round_trip));
        let mut batch = JoinSet::new();
        for _ in 0..runs {
            batch.spawn(self.run(Arc::clone(&room), Arc::clone(&punctuality)));
        }
        let mut committed = Vec::new();
        while let Some(run) = batch.join_next().await {
            committed.push(run??);
        }
        Ok((committed, punctuality.is_good()))
    }

    /// How many devices committed.
    async fn run(self, room: Arc<Semaphore>, punctuality: Arc<Punctuality>) -> io::Result<u32> {
        let mut places = room.acquire_many_owned(self.devices).await.map_err(io::Error::other)?;
        let acceptor = acceptor::start(self.devices).await?;
        let start = Arc::new(Barrier::new(self.devices as usize));
        let mut devices = JoinSet::new();
        for client in 0..self.devices {
            let (start, punctuality) = (Arc::clone(&start), Arc::clone(&punctuality));
            let place = places.split(1);
            devices.spawn(async move {
                let proposer =
                    Proposer::connect(acceptor, client, self.round_trip, &punctuality).await?;
                start.wait().await;
                let committed = proposer.commit(self.policy).await;
                drop(place);
                committed
            });
        }
        let mut committed = 0;
        while let Some(device) = devices.join_next().await {
            committed += u32::from(device??);
        }
        Ok(committed)
    }
}
