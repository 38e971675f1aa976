//! The layers of every call. An event is the end of an attempt at the bottom; and its start, where
//! layers are entered that have a budget to deposit to.

use redial_core::{
    Budget, BudgetBuilder, Call, Decision, Limits, Policy, Random, Schedule, SplitMix64, Time,
    Verdict,
};

use super::Layers;
use super::closed_form;
use super::results::Trial;
use crate::chance::unit;
use crate::digest::Digest;
use crate::engine::{EngineRun, Event, Model};
use crate::quantile::quantile;
use crate::ticks::ticks;

/// What happened, in the digest of a trace.
const FAILED: u8 = 0;
const SUCCEEDED: u8 = 1;
const GAVE_UP: u8 = 2;
const STARTED: u8 = 3;

#[derive(Debug)]
pub(super) struct Stack<'p, S> {
    policy: &'p Policy<S>,
    depth: usize,
    errors: f64,
    attempt_time: u64,
    every: u64,
    budget: Option<BudgetBuilder>,
    /// One for each layer from the top, or none at all.
    budgets: Vec<Budget>,
    /// Where the streams of words of the calls start.
    jitter: u64,
    bottom: u64,
    tops: Vec<Top>,
    /// The layers of each call, from the top: as many as there are layers for the first call, then
    /// as many for the second, and so on.
    layers: Vec<Call<&'p Policy<S>>>,
    /// Retries of each layer.
    retries: Vec<u64>,
    attempts: u64,
    attempts_worst: u64,
    succeeded: u32,
    /// How long each call took that has ended.
    times: Vec<u64>,
    closed_form: Option<f64>,
}

/// A call at the top. The bottom has a stream of words of its own, so that another policy, which
/// draws more or fewer, meets the same failures.
#[derive(Debug)]
struct Top {
    started: u64,
    attempts: u64,
    /// The attempt to come, or under way, enters the layers from this one on anew.
    entered_from: usize,
    /// Whether its pending event is the start of an attempt.
    is_starting: bool,
    jitter: SplitMix64,
    bottom: SplitMix64,
}

impl<'p, S: Schedule> Stack<'p, S> {
    pub(super) fn new(layers: &Layers, policy: &'p Policy<S>) -> Self {
        let depth = layers.depth as usize;
        Self {
            policy,
            depth,
            errors: layers.errors,
            attempt_time: ticks(layers.attempt_time),
            every: ticks(layers.every),
            budget: layers.budget,
            budgets: Vec::new(),
            jitter: 0,
            bottom: 0,
            tops: Vec::new(),
            layers: Vec::new(),
            retries: vec![0; depth],
            attempts: 0,
            attempts_worst: 0,
            succeeded: 0,
            times: Vec::new(),
            closed_form: closed_form::amplification(layers, policy),
        }
    }

    /// Back to the beginning, without calls, and new seeds for those to come.
    pub(super) fn clear(&mut self, seeds: &mut SplitMix64) {
        let full = |settings: BudgetBuilder| (0..self.depth).map(move |_| settings.build());
        self.budgets = self.budget.into_iter().flat_map(full).collect();
        (self.jitter, self.bottom) = (seeds.word(), seeds.word());
        self.tops.clear();
        self.layers.clear();
        self.retries.fill(0);
        (self.attempts, self.attempts_worst, self.succeeded) = (0, 0, 0);
        self.times.clear();
    }

    /// The next call at the top; the tick of its first event.
    pub(super) fn enter(&mut self, number: u32) -> u64 {
        // SplitMix64 is a counter: streams that start 2³² apart do not overlap, because a call
        // draws fewer than 2³² words.
        let stream = |start: u64| SplitMix64::new(start.wrapping_add(u64::from(number) << 32));
        let started = self.every.saturating_mul(number.into());
        let (jitter, bottom) = (stream(self.jitter), stream(self.bottom));
        let is_starting = false;
        self.tops.push(Top { started, attempts: 0, entered_from: 0, is_starting, jitter, bottom });
        let layer = self.policy.start(Time::from_nanos(started));
        self.layers.extend((0..self.depth).map(|_| layer.clone()));
        self.begin(number as usize, started)
    }

    /// Schedules an attempt: the tick of its first event. Where layers with a budget are entered,
    /// that is its start, not its end: they deposit when they are called, as the library does, and
    /// another call may withdraw the deposit before this attempt ends.
    fn begin(&mut self, number: usize, start: u64) -> u64 {
        let top = &mut self.tops[number];
        top.is_starting = top.entered_from < self.budgets.len();
        if top.is_starting { start } else { start.saturating_add(self.attempt_time) }
    }

    /// What was counted in a trial that the engine has run.
    pub(super) fn trial(&mut self, run: EngineRun, digest: Digest) -> Trial {
        let calls = self.tops.len() as u64;
        // Each retry of a layer is one more call of every layer below it.
        let entered = self.retries.iter().scan(calls, |entered, retries| {
            let into_this = *entered;
            *entered += retries;
            Some(into_this)
        });
        Trial {
            trace: run.trace(digest),
            attempts: self.attempts,
            attempts_worst: self.attempts_worst,
            entered: entered.collect(),
            succeeded: self.succeeded,
            gave_up: self.times.len() as u32 - self.succeeded,
            nanos_mean: mean(&self.times),
            nanos_p99: quantile(&mut self.times, 99).unwrap_or(0),
            closed_form: self.closed_form,
        }
    }

    fn end(&mut self, number: usize, now: u64, kind: u8) -> Event {
        let top = &self.tops[number];
        self.attempts_worst = self.attempts_worst.max(top.attempts);
        self.times.push(now - top.started);
        Event { kind, next: None }
    }

    /// The attempt failed: the lowest layer that does not give up waits, and when it tries again,
    /// all layers below it start anew. The time of that; `None` where the top gives up.
    fn retry(&mut self, number: usize, now: u64) -> Option<u64> {
        let top = &mut self.tops[number];
        let layers = &mut self.layers[number * self.depth..][..self.depth];
        for layer in (0..self.depth).rev() {
            let limits = match self.budgets.get(layer) {
                Some(budget) => Limits::new().budget(budget),
                None => Limits::new(),
            };
            let now = Time::from_nanos(now);
            let call = &mut layers[layer];
            let decision = call.failed_under(&limits, || now, || Verdict::Retry, &mut top.jitter);
            if let Decision::Wait(delay) = decision {
                let again = now.after(delay);
                self.retries[layer] += 1;
                top.entered_from = layer + 1;
                layers[layer + 1..].fill(self.policy.start(again));
                return Some(again.as_nanos());
            }
        }
        None
    }
}

impl<S: Schedule> Model for Stack<'_, S> {
    #[inline]
    fn event(&mut self, number: u32, now: u64) -> Event {
        let number = number as usize;
        let top = &mut self.tops[number];
        if top.is_starting {
            top.is_starting = false;
            self.budgets[top.entered_from..].iter().for_each(Budget::deposit);
            return Event { kind: STARTED, next: Some(now.saturating_add(self.attempt_time)) };
        }
        top.attempts += 1;
        self.attempts += 1;
        if unit(&mut top.bottom) > self.errors {
            self.succeeded += 1;
            return self.end(number, now, SUCCEEDED);
        }
        match self.retry(number, now) {
            Some(again) => Event { kind: FAILED, next: Some(self.begin(number, again)) },
            None => self.end(number, now, GAVE_UP),
        }
    }
}

/// Rounded down; zero of nothing.
fn mean(times: &[u64]) -> u64 {
    let sum: u128 = times.iter().map(|nanos| u128::from(*nanos)).sum();
    sum.checked_div(times.len() as u128).unwrap_or(0) as u64
}
