//! Optimistic concurrency control: the server of AWS's study.
//!
//! Of the four messages of an attempt, two touch the server: the read and the write. Only those are
//! events; the hops between them are added up.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{BEGUN, REFUSED, Tally};
use super::latency::Draw;
use super::{Contest, Crowd, Latency};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Occ<'p, S> {
    crowd: Crowd<'p, S, Pending>,
    hops: Draw,
    version: u32,
    /// Whether the policy has a deadline, so that it matters when a client learns of a failure.
    has_deadline: bool,
}

/// What a client's pending event is.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Read,
    /// With the version that was read.
    Write(u32),
}

impl<'p, S: Schedule> Occ<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, hop: Latency) -> Self {
        let has_deadline = policy.limit().is_some();
        Self { crowd: Crowd::new(policy), hops: Draw::new(hop), version: 0, has_deadline }
    }
}

impl<S: Schedule> Model for Occ<'_, S> {
    #[inline]
    fn event(&mut self, client: u32, now: u64) -> Event {
        let Crowd { clients, tally, .. } = &mut self.crowd;
        let client = &mut clients[client as usize];
        let Pending::Write(version) = client.state else {
            client.state = Pending::Write(self.version);
            let write = now.saturating_add(self.hops.two_hops(&mut client.network));
            return Event { kind: BEGUN, next: Some(write) };
        };
        tally.calls += 1;
        tally.attempts += 1;
        if version == self.version {
            self.version += 1;
            return tally.commit(now.saturating_add(self.hops.hop(&mut client.network)));
        }
        client.state = Pending::Read;
        // The reply and the next request are one draw where nobody asks when the reply came.
        let reply = if self.has_deadline { self.hops.hop(&mut client.network) } else { 0 };
        let known = now.saturating_add(reply);
        let Some(delay) = client.failed(known) else {
            let reply = if self.has_deadline { 0 } else { self.hops.hop(&mut client.network) };
            return tally.give_up(known.saturating_add(reply));
        };
        let hops = if self.has_deadline {
            self.hops.hop(&mut client.network)
        } else {
            self.hops.two_hops(&mut client.network)
        };
        let read = known.saturating_add(delay).saturating_add(hops);
        Event { kind: REFUSED, next: Some(read) }
    }
}

impl<S: Schedule> Contest for Occ<'_, S> {
    fn clear(&mut self) {
        self.crowd.clear();
        self.version = 0;
    }

    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64 {
        let client = self.crowd.enter(start, Pending::Read, seeds);
        start.saturating_add(self.hops.hop(&mut client.network))
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
