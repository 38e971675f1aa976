//! The calls: each comes, attempts by the policy, and leaves when it has succeeded or given up.

use std::time::Duration;

use redial_core::{
    Breaker, BreakerBuilder, Budget, BudgetBuilder, Call, Decision, Limits, Policy, Random,
    Schedule, SplitMix64, Time, Verdict,
};

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
pub(super) struct Terms {
    pub(super) timeout: u64,
    /// How long a message takes to the server, and an answer back.
    pub(super) one_way: u64,
    /// The share of what is served that fails all the same.
    pub(super) errors: f64,
    pub(super) budget: Option<BudgetBuilder>,
    pub(super) breaker: Option<BreakerBuilder>,
    pub(super) processes: u32,
}

/// What the calls of one process share.
#[derive(Debug)]
struct Process {
    budget: Option<Budget>,
    breaker: Option<Breaker>,
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
    terms: Terms,
    traffic: Traffic,
    server: Server,
    processes: Vec<Process>,
    callers: Vec<Caller<'p, S>>,
    /// How many calls have come.
    begun: u64,
    /// Where the words of a delay come from.
    jitter: u64,
    /// Where the words for errors come from.
    luck: u64,
    pub(super) tally: Tally,
}

/// A stream of words for one attempt of one call. It is not kept but made when it is needed, so
/// that another policy, which attempts more or less often, meets the same chance.
pub(super) fn words(seed: u64, call: u64, attempt: u32) -> SplitMix64 {
    SplitMix64::new(seed.wrapping_add(call << 32).wrapping_add(attempt.into()))
}

impl<'p, S: Schedule> Calls<'p, S> {
    pub(super) fn new(
        policy: &'p Policy<S>,
        terms: Terms,
        traffic: Traffic,
        server: Server,
    ) -> Self {
        let tally = Tally::new(server.course);
        let (processes, callers) = (Vec::new(), Vec::new());
        let (begun, jitter, luck) = (0, 0, 0);
        Self { policy, terms, traffic, server, processes, callers, begun, jitter, luck, tally }
    }

    /// Back to the beginning, without calls, and new chance for those to come.
    pub(super) fn clear(&mut self, seeds: &mut SplitMix64) {
        self.traffic.clear(seeds);
        self.server.clear();
        self.callers.clear();
        self.begun = 0;
        (self.jitter, self.luck) = (seeds.word(), seeds.word());
        self.tally = Tally::new(self.server.course);
        let Terms { budget, breaker, processes, .. } = self.terms;
        let process = |_| Process {
            budget: budget.map(BudgetBuilder::build),
            breaker: breaker.map(BreakerBuilder::build),
        };
        self.processes = (0..processes).map(process).collect();
    }

    /// Attempts, unless the breaker is open.
    fn attempt(&mut self, client: u32, now: u64) -> Event {
        let caller = &mut self.callers[client as usize];
        let process = process_of(&self.processes, caller.number);
        let time = Time::from_nanos(now);
        let admitted_in = match &process.breaker {
            None => 0,
            Some(breaker) => match breaker.admit(|| time) {
                Some(permit) => permit.into_period(),
                None => {
                    // As the driver does: what was paid for the retry that does not happen.
                    if let Some(budget) =
                        process.budget.as_ref().filter(|_| caller.call.failures() > 0)
                    {
                        budget.refund();
                    }
                    self.tally.kept_back(now);
                    self.tally.gave_up(caller.call.started().as_nanos());
                    return Event { kind: KEPT_BACK, next: None };
                }
            },
        };
        let (attempt, arrives) = (caller.call.failures(), now.saturating_add(self.terms.one_way));
        let work = self.traffic.work(caller.number, attempt);
        let done = self.server.arrive(arrives, work);
        let answer = done.unwrap_or(arrives).saturating_add(self.terms.one_way);
        // The driver cuts an attempt at the deadline of its call, too.
        let left =
            caller.call.deadline(&Limits::new()).map_or(u64::MAX, |end| nanos(end.since(time)));
        let stops_waiting = now.saturating_add(self.terms.timeout.min(left));
        let is_answered = done.is_some() && answer <= stops_waiting;
        let is_lucky = unit(&mut words(self.luck, caller.number, attempt)) > self.terms.errors;
        caller.pending = Pending::Outcome { is_success: is_answered && is_lucky, admitted_in };
        self.tally.attempt(arrives, done, is_answered);
        Event { kind: ATTEMPTED, next: Some(answer.min(stops_waiting)) }
    }

    /// Learns how the attempt went.
    fn outcome(&mut self, client: u32, now: u64, is_success: bool, admitted_in: u16) -> Event {
        let caller = &mut self.callers[client as usize];
        let process = process_of(&self.processes, caller.number);
        let permit = process.breaker.as_ref().map(|breaker| breaker.permit(admitted_in));
        let (begun, time) = (caller.call.started().as_nanos(), Time::from_nanos(now));
        if is_success {
            if let Some(permit) = permit {
                permit.succeeded();
            }
            self.tally.succeeded(begun, now);
            return Event { kind: SUCCEEDED, next: None };
        }
        let mut random = words(self.jitter, caller.number, caller.call.failures());
        let limits = Limits::new();
        let limits = process.budget.as_ref().map_or(limits, |budget| limits.budget(budget));
        let decision = caller.call.failed_under(&limits, || time, || Verdict::Retry, &mut random);
        if let Some(permit) = permit {
            permit.failed(time);
        }
        match decision {
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
        if let Some(budget) = &process_of(&self.processes, caller.number).budget {
            budget.deposit();
        }
        self.tally.call(now);
        // Numbers are given out in order, so a new one is the next place.
        match self.callers.get_mut(client as usize) {
            Some(place) => *place = caller,
            None => self.callers.push(caller),
        }
    }
}

/// The process that makes a call: they take turns.
fn process_of(processes: &[Process], call: u64) -> &Process {
    &processes[(call % processes.len() as u64) as usize]
}

/// A duration of the core, which never has more than 64 bits of nanoseconds.
fn nanos(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}
