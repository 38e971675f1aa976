//! The calls: each comes, attempts by the policy, and leaves when it has succeeded or given up.

use std::time::Duration;

use redial_core::{
    BreakerBuilder, BudgetBuilder, Call, Decision, Limits, Policy, Random, Schedule, SplitMix64,
    Time, Verdict,
};

use super::process::Process;
use super::server::Server;
use super::tally::Tally;
use super::traffic::Traffic;
use crate::chance::unit;
use crate::engine::{Event, Model, OpenModel};

/// What happened, in the digest of a trace.
const ATTEMPTED: u8 = 0;
const FAILED: u8 = 1;
const SUCCEEDED: u8 = 2;
const GAVE_UP: u8 = 3;
const KEPT_BACK: u8 = 4;

/// What does not change from trial to trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallSettings {
    pub(super) timeout: u64,
    /// How long a message takes to the server, and an answer back.
    pub(super) one_way: u64,
    /// The share of what is served that fails all the same.
    pub(super) errors: f64,
    pub(super) budget: Option<BudgetBuilder>,
    pub(super) breaker: Option<BreakerBuilder>,
    pub(super) processes: u32,
}

/// A call that is under way.
#[derive(Debug)]
struct Caller<'p, S> {
    call: Call<&'p Policy<S>>,
    number: u64,
    pending: Pending,
}

/// What happens next to it.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Attempt,
    Outcome {
        is_success: bool,
        /// The period in which the breaker admitted it.
        admitted_in: u16,
    },
}

#[derive(Debug)]
pub(super) struct Calls<'p, S> {
    policy: &'p Policy<S>,
    settings: CallSettings,
    traffic: Traffic,
    server: Server,
    processes: Vec<Process>,
    callers: Vec<Caller<'p, S>>,
    /// How many calls have come.
    begun: u64,
    /// The seed of the random words for delays.
    jitter: u64,
    /// The seed of the random words for errors.
    luck: u64,
    pub(super) tally: Tally,
}

/// The random stream of one attempt of one call. Its seed is computed from the two numbers when it
/// is needed, so that a policy that attempts more or less often meets the same numbers (common
/// random numbers).
pub(super) fn words(seed: u64, call: u64, attempt: u32) -> SplitMix64 {
    SplitMix64::new(seed.wrapping_add(call << 32).wrapping_add(attempt.into()))
}

impl<'p, S: Schedule> Calls<'p, S> {
    pub(super) fn new(
        policy: &'p Policy<S>,
        settings: CallSettings,
        traffic: Traffic,
        server: Server,
    ) -> Self {
        let tally = Tally::new(server.timetable);
        let (processes, callers) = (Vec::new(), Vec::new());
        let (begun, jitter, luck) = (0, 0, 0);
        Self { policy, settings, traffic, server, processes, callers, begun, jitter, luck, tally }
    }

    /// Back to the beginning, without calls, and new seeds for those to come.
    pub(super) fn clear(&mut self, seeds: &mut SplitMix64) {
        self.traffic.clear(seeds);
        self.server.clear();
        self.callers.clear();
        self.begun = 0;
        (self.jitter, self.luck) = (seeds.word(), seeds.word());
        self.tally = Tally::new(self.server.timetable);
        let CallSettings { budget, breaker, processes, .. } = self.settings;
        self.processes = (0..processes).map(|_| Process::new(budget, breaker)).collect();
    }

    /// Attempts, unless the breaker is open.
    fn attempt(&mut self, client: u32, now: u64) -> Event {
        let caller = &self.callers[client as usize];
        let process = Process::of(&self.processes, caller.number);
        if let Some(admitted_in) = process.admit(Time::from_nanos(now)) {
            return self.send(client, now, admitted_in);
        }
        if caller.call.failures() > 0 {
            process.refund();
        }
        self.tally.kept_back(now);
        self.tally.gave_up(caller.call.started().as_nanos());
        Event { kind: KEPT_BACK, next: None }
    }

    /// Sends the request. The server knows at once when it will be done, so the outcome and the
    /// time at which the client learns of it are known here.
    fn send(&mut self, client: u32, now: u64, admitted_in: u16) -> Event {
        let caller = &mut self.callers[client as usize];
        let (number, attempt) = (caller.number, caller.call.failures());
        let arrives = now.saturating_add(self.settings.one_way);
        let done = self.server.arrive(arrives, self.traffic.work(number, attempt));
        let answer = done.unwrap_or(arrives).saturating_add(self.settings.one_way);
        let stops_waiting = now.saturating_add(self.settings.timeout.min(left(&caller.call, now)));
        // An answer that arrives exactly at the timeout counts, as it does in the library's loops.
        let is_answered = done.is_some() && answer <= stops_waiting;
        let is_lucky = unit(&mut words(self.luck, number, attempt)) > self.settings.errors;
        caller.pending = Pending::Outcome { is_success: is_answered && is_lucky, admitted_in };
        self.tally.attempt(arrives, done, is_answered);
        Event { kind: ATTEMPTED, next: Some(answer.min(stops_waiting)) }
    }

    /// Learns how the attempt went.
    fn outcome(&mut self, client: u32, now: u64, is_success: bool, admitted_in: u16) -> Event {
        let caller = &mut self.callers[client as usize];
        let process = Process::of(&self.processes, caller.number);
        let (begun, time) = (caller.call.started().as_nanos(), Time::from_nanos(now));
        if is_success {
            process.succeeded(admitted_in);
            self.tally.succeeded(begun, now);
            return Event { kind: SUCCEEDED, next: None };
        }
        let random = &mut words(self.jitter, caller.number, caller.call.failures());
        let (limits, mut permit) = (process.limits(), process.permit(admitted_in));
        let verdict = || Verdict::Retry;
        match caller.call.failed_past(&limits, &mut permit, || time, verdict, random) {
            Decision::Wait(delay) => {
                caller.pending = Pending::Attempt;
                Event { kind: FAILED, next: Some(now.saturating_add(nanos(delay))) }
            }
            Decision::Stop(_) => {
                self.tally.gave_up(begun);
                Event { kind: GAVE_UP, next: None }
            }
        }
    }
}

/// The time until the call's deadline: the library's loops cut an attempt there, too.
fn left<S: Schedule>(call: &Call<&Policy<S>>, now: u64) -> u64 {
    let deadline = call.deadline(&Limits::new());
    deadline.map_or(u64::MAX, |deadline| nanos(deadline.since(Time::from_nanos(now))))
}

impl<S: Schedule> Model for Calls<'_, S> {
    fn event(&mut self, client: u32, now: u64) -> Event {
        match self.callers[client as usize].pending {
            Pending::Attempt => self.attempt(client, now),
            Pending::Outcome { is_success, admitted_in } => {
                self.outcome(client, now, is_success, admitted_in)
            }
        }
    }
}

impl<S: Schedule> OpenModel for Calls<'_, S> {
    fn next_arrival(&mut self) -> u64 {
        self.traffic.next_arrival()
    }

    fn enter(&mut self, client: u32, now: u64) {
        let call = self.policy.start(Time::from_nanos(now));
        let caller = Caller { call, number: self.begun, pending: Pending::Attempt };
        self.begun += 1;
        Process::of(&self.processes, caller.number).deposit();
        self.tally.call(now);
        // Numbers are given out in order, so a new one is the next place.
        match self.callers.get_mut(client as usize) {
            Some(place) => *place = caller,
            None => self.callers.push(caller),
        }
    }
}

/// A duration of the core, which never has more than 64 bits of nanoseconds.
fn nanos(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}
