//! What all contests share: clients that retry by a policy, and what is counted of them.

use std::time::Duration;

use redial_core::{Call, Decision, Policy, Random, Schedule, SplitMix64, Time, Verdict};

use crate::engine::Event;

/// What happened, in the digest of a trace. Each contest has its own first event of an attempt and
/// its own way to be decided; these are the same for all.
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
    /// When the last client learnt how it ended for it.
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

/// One client. Its network and its jitter have a stream of words each, so that another policy,
/// which draws more or fewer words, meets the same network.
#[derive(Debug)]
pub(super) struct Client<'p, S, T> {
    pub(super) call: Call<&'p Policy<S>>,
    pub(super) network: SplitMix64,
    pub(super) jitter: SplitMix64,
    /// What the contest knows of it.
    pub(super) state: T,
}

impl<S: Schedule, T> Client<'_, S, T> {
    /// The attempt failed, as the client learns at `now`: how long it waits, unless it gives up.
    #[inline]
    pub(super) fn failed(&mut self, now: u64) -> Option<u64> {
        let now = Time::from_nanos(now);
        match self.call.failed(now, || Verdict::Retry, &mut self.jitter) {
            Decision::Wait(delay) => Some(nanos(delay)),
            Decision::Stop(_) => None,
        }
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
    pub(super) clients: Vec<Client<'p, S, T>>,
    pub(super) tally: Tally,
}

impl<'p, S, T> Crowd<'p, S, T> {
    pub(super) fn new(policy: &'p Policy<S>) -> Self {
        Self { policy, clients: Vec::new(), tally: Tally::default() }
    }

    pub(super) fn clear(&mut self) {
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
        let [network, jitter] = [(); 2].map(|()| SplitMix64::new(seeds.word()));
        let index = self.clients.len();
        self.clients.push(Client { call, network, jitter, state });
        &mut self.clients[index]
    }
}
