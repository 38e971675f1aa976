//! The clients of a wave, simulated one after the other: they do not influence each other.

use redial_core::{Call, Decision, Policy, Random, Schedule, SplitMix64, Time, Verdict};

use super::Wave;
use super::peak::peak;
use super::results::Trial;
use super::timeline::Bins;
use crate::engine::{Bounds, Completion};
use crate::quantile::quantile;
use crate::ticks::ticks;
use crate::watch::Watch;

#[derive(Debug)]
pub(super) struct Clients<'p, S> {
    policy: &'p Policy<S>,
    count: u32,
    window: u64,
    until: u64,
    /// When the service is back: at the end of time, if never.
    back_from: u64,
    bounds: Bounds,
    watch: &'static Watch,
    /// When retries arrived, of all clients.
    arrivals: Vec<u64>,
    /// When retries succeeded.
    successes: Vec<u64>,
}

/// How a client ended.
enum Fate {
    Back,
    GaveUp,
    StillTrying,
    Cut(Completion),
}

impl<'p, S: Schedule> Clients<'p, S> {
    pub(super) fn new(wave: &Wave, policy: &'p Policy<S>) -> Self {
        Self {
            policy,
            count: wave.clients,
            window: ticks(wave.window),
            until: ticks(wave.until),
            back_from: wave.down.map_or(u64::MAX, ticks),
            bounds: wave.experiment.bounds,
            watch: wave.experiment.watch,
            arrivals: Vec::new(),
            successes: Vec::new(),
        }
    }

    pub(super) fn trial(&mut self, mut seeds: SplitMix64, with_bins: bool) -> Trial {
        self.arrivals.clear();
        self.successes.clear();
        let mut trial = Trial::NONE;
        // SplitMix64 is a counter: streams that start 2³² apart do not overlap, because a client
        // draws fewer than 2³² words.
        let words = seeds.word();
        trial.trace.ended = (0..self.count)
            .find_map(|client| {
                let words = SplitMix64::new(words.wrapping_add(u64::from(client) << 32));
                self.client(words, &mut trial)
            })
            .unwrap_or(Completion::Quiet);
        trial.retries = self.arrivals.len() as u64;
        trial.trace.events = trial.retries;
        if trial.trace.ended.is_complete() {
            self.look_at(&mut trial);
            trial.bins = with_bins.then(|| Bins::of(&self.arrivals, self.window));
        }
        trial
    }

    /// Simulates one client from its failure to its end and counts it. `Some` where the trial was
    /// cut at it.
    fn client(&mut self, words: SplitMix64, trial: &mut Trial) -> Option<Completion> {
        if self.watch.is_stopped() {
            return Some(Completion::Stopped);
        }
        let from = self.arrivals.len();
        let fate = self.retry(words);
        for arrival in &self.arrivals[from..] {
            trial.trace.digest.add(*arrival);
        }
        // A separator between the arrivals of one client and those of the next.
        trial.trace.digest.add(u64::MAX);
        match fate {
            Fate::Back => trial.back += 1,
            Fate::GaveUp => trial.gave_up += 1,
            Fate::StillTrying => trial.still_trying += 1,
            Fate::Cut(bound) => return Some(bound),
        }
        None
    }

    /// The retries of one client, whose call failed at time zero.
    fn retry(&mut self, mut words: SplitMix64) -> Fate {
        let mut call = Call::new(self.policy, Time::ZERO);
        let mut now = Time::ZERO;
        loop {
            let Decision::Wait(delay) = call.failed(now, || Verdict::Retry, &mut words) else {
                return Fate::GaveUp;
            };
            now = now.after(delay);
            let arrival = now.as_nanos();
            if arrival >= self.until {
                return Fate::StillTrying;
            }
            if arrival > self.bounds.ticks {
                return Fate::Cut(Completion::Time);
            }
            if self.arrivals.len() as u64 == self.bounds.events {
                return Fate::Cut(Completion::Events);
            }
            self.arrivals.push(arrival);
            if arrival >= self.back_from {
                self.successes.push(arrival);
                return Fate::Back;
            }
        }
    }

    fn look_at(&mut self, trial: &mut Trial) {
        self.arrivals.sort_unstable();
        let peak = peak(&self.arrivals, self.window);
        trial.peak = peak.map_or(0, |peak| peak.count);
        trial.peak_nanos = peak.map(|peak| peak.start);
        trial.first_nanos = self.arrivals.first().copied();
        trial.last_nanos = self.arrivals.last().copied();
        let [p50, p99, last] = [50, 99, 100].map(|percent| quantile(&mut self.successes, percent));
        (trial.back_p50_nanos, trial.back_p99_nanos, trial.back_last_nanos) = (p50, p99, last);
    }
}
