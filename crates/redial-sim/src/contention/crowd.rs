//! What all contests share: clients that retry by a policy, and what is counted of them.

use std::time::Duration;

use redial_core::{Call, Decision, Policy, Random, Schedule, SplitMix64, Time, Verdict};

use crate::engine::Event;

/// The kinds of events, for the digest of a trace: the same for all contests.
pub(super) const BEGUN: u8 = 0;
pub(super) const REFUSED: u8 = 1;
pub(super) const COMMITTED: u8 = 2;
pub(super) const GAVE_UP: u8 = 3;

/// What is counted in a trial.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) attempts: u64,
    pub(super) committed: u32,
    pub(super) gave_up: u32,
    /// When the last client learnt whether it had succeeded.
    pub(super) last_known: u64,
}

impl Tally {
    /// A client learns at `known` that it has succeeded.
    #[inline]
    pub(super) fn commit(&mut self, known: u64) -> Event {
        self.committed += 1;
        self.last_known = self.last_known.max(known);
        Event { kind: COMMITTED, next: None }
    }

    /// A client gave up at `known`.
    pub(super) fn give_up(&mut self, known: u64) -> Event {
        self.gave_up += 1;
        self.last_known = self.last_known.max(known);
        Event { kind: GAVE_UP, next: None }
    }
}

/// One client. The latencies of its messages come from a random stream of their own, so that a
/// policy that draws more or fewer words meets the same network (common random numbers).
///
/// In a large crowd nearly every event is a cache miss on its client, so a client is aligned to
/// cache lines and kept to as few as possible.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Client<'p, S, T> {
    pub(super) call: Call<&'p Policy<S>>,
    pub(super) network: SplitMix64,
    /// What the contest knows of it.
    pub(super) state: T,
}

impl<S: Schedule, T> Client<'_, S, T> {
    /// The attempt failed, as the client learns at `now`: how long it waits, unless it gives up.
    #[inline]
    pub(super) fn failed(&mut self, now: u64, jitter: Jitter) -> Option<u64> {
        let now = Time::from_nanos(now);
        let mut words = jitter.of_retry(self.call.failures());
        match self.call.failed(now, || Verdict::Retry, &mut words) {
            Decision::Wait(delay) => Some(nanos(delay)),
            Decision::Stop(_) => None,
        }
    }
}

/// The seed of the random words for delays. Each retry of each client has a stream of its own,
/// whose seed is computed from the two numbers when it is needed: it takes no memory in the client,
/// and a policy that draws two words for one delay does not shift those of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jitter(u64);

impl Jitter {
    #[inline]
    pub(super) const fn of(self, client: u32) -> Self {
        Self(self.0.wrapping_add((client as u64) << 32))
    }

    #[inline]
    const fn of_retry(self, failures: u32) -> SplitMix64 {
        SplitMix64::new(self.0.wrapping_add(failures as u64))
    }
}

/// A delay of the engine, which never has more than 64 bits.
#[inline]
fn nanos(delay: Duration) -> u64 {
    delay.as_secs() * 1_000_000_000 + u64::from(delay.subsec_nanos())
}

/// The clients of a trial and what is counted of them.
#[derive(Debug)]
pub(super) struct Crowd<'p, S, T> {
    policy: &'p Policy<S>,
    pub(super) jitter: Jitter,
    pub(super) clients: Vec<Client<'p, S, T>>,
    pub(super) tally: Tally,
}

impl<'p, S, T> Crowd<'p, S, T> {
    pub(super) fn new(policy: &'p Policy<S>) -> Self {
        Self { policy, jitter: Jitter(0), clients: Vec::new(), tally: Tally::default() }
    }

    /// No clients yet, and a new seed for those to come.
    pub(super) fn clear(&mut self, seeds: &mut SplitMix64) {
        self.jitter = Jitter(seeds.word());
        self.clients.clear();
        self.tally = Tally::default();
    }

    /// One more client, whose call starts then.
    pub(super) fn enter(
        &mut self,
        start: u64,
        state: T,
        seeds: &mut SplitMix64,
    ) -> &mut Client<'p, S, T> {
        let call = self.policy.start(Time::from_nanos(start));
        let network = SplitMix64::new(seeds.word());
        let index = self.clients.len();
        self.clients.push(Client { call, network, state });
        &mut self.clients[index]
    }
}
