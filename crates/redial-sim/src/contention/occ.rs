//! Optimistic concurrency control: the server of AWS's study.
//!
//! An attempt is four messages there: a read, its reply, a write, its reply. Here it is one event,
//! the write's arrival. Whether the version is still the one that was read is the same as whether
//! the record has not changed since the read, and for that it is enough to remember when the read
//! arrived.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{REFUSED, Tally};
use super::latency::Sampler;
use super::{Contest, Crowd, Latency};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Occ<'p, S> {
    crowd: Crowd<'p, S, Read>,
    hops: Sampler,
    /// When the record last changed.
    changed: u64,
    /// Whether the policy has a deadline, so that it matters when a client learns of a failure.
    has_deadline: bool,
}

/// When the read of a client's attempt arrived. That is all that is kept of an attempt, so that a
/// client fits in one cache line.
#[derive(Clone, Copy, Debug)]
struct Read(u64);

/// How long the messages of an attempt take.
struct Messages {
    /// The reply to the last attempt's write and this one's request to read.
    until_read: u64,
    /// From that read to the write.
    until_write: u64,
}

impl Messages {
    #[inline(always)]
    fn draw(hops: &Sampler, network: &mut SplitMix64) -> Self {
        Self { until_read: hops.two_hops(network), until_write: hops.two_hops(network) }
    }
}

impl<'p, S: Schedule> Occ<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, hop: Latency) -> Self {
        let has_deadline = policy.get_within().is_some();
        Self { crowd: Crowd::new(policy), hops: Sampler::new(hop), changed: 0, has_deadline }
    }
}

impl<S: Schedule> Model for Occ<'_, S> {
    #[inline]
    fn event(&mut self, number: u32, now: u64) -> Event {
        let Crowd { clients, tally, jitter, .. } = &mut self.crowd;
        let client = &mut clients[number as usize];
        tally.calls += 1;
        tally.attempts += 1;
        let network = &mut client.network;
        // Drawn before the branch, so that the processor need not wait for it: most writes fail,
        // and then both are needed.
        let Messages { mut until_read, until_write } = Messages::draw(&self.hops, network);
        if client.state.0 >= self.changed {
            self.changed = now;
            return tally.commit(now.saturating_add(self.hops.hop(network)));
        }
        // Without a deadline nothing depends on when the reply arrives, and it is one draw together
        // with the next request.
        let mut known = now;
        if self.has_deadline {
            known = now.saturating_add(self.hops.hop(network));
            until_read = self.hops.hop(network);
        }
        let Some(delay) = client.failed(known, jitter.of(number)) else {
            let reply = if self.has_deadline { 0 } else { self.hops.hop(&mut client.network) };
            return tally.give_up(known.saturating_add(reply));
        };
        let read = known.saturating_add(delay).saturating_add(until_read);
        client.state = Read(read);
        Event { kind: REFUSED, next: Some(read.saturating_add(until_write)) }
    }
}

impl<S: Schedule> Contest for Occ<'_, S> {
    fn clear(&mut self, seeds: &mut SplitMix64) {
        self.crowd.clear(seeds);
        self.changed = 0;
    }

    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64 {
        let client = self.crowd.enter(start, Read(0), seeds);
        let read = start.saturating_add(self.hops.hop(&mut client.network));
        client.state = Read(read);
        // Before the first attempt there is no reply to wait for.
        let Messages { until_write, .. } = Messages::draw(&self.hops, &mut client.network);
        read.saturating_add(until_write)
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
