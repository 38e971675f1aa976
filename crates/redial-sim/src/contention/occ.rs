//! Optimistic concurrency control: the server of AWS's study.
//!
//! An attempt is four messages there: a read, its reply, a write, its reply. Here it is one event,
//! the write's arrival. Whether the version is still the one that was read is the same as whether
//! the record has not changed since the read, and for that it is enough to remember when the read
//! arrived.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{Client, REFUSED, Tally};
use super::latency::Draw;
use super::{Contest, Crowd, Latency};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Occ<'p, S> {
    crowd: Crowd<'p, S, Attempt>,
    hops: Draw,
    /// When the record last changed.
    changed: u64,
    /// Whether the policy has a deadline, so that it matters when a client learns of a failure.
    has_deadline: bool,
}

/// A client's attempt under way, and the messages of its next one.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    /// When its read arrived.
    read: u64,
    /// How long the reply to its write and the next read's request will take. Drawn ahead, because
    /// the queue waits for the sum and not for what follows.
    until_read: u64,
    /// And from that read to the write.
    until_write: u64,
}

impl Attempt {
    #[inline(always)]
    fn draw_ahead(&mut self, hops: &Draw, network: &mut SplitMix64) {
        self.until_read = hops.two_hops(network);
        self.until_write = hops.two_hops(network);
    }

    /// The next attempt, whose write arrives when this says.
    fn next(&mut self, read: u64) -> u64 {
        self.read = read;
        read.saturating_add(self.until_write)
    }
}

impl<'p, S: Schedule> Occ<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, hop: Latency) -> Self {
        let has_deadline = policy.limit().is_some();
        Self { crowd: Crowd::new(policy), hops: Draw::new(hop), changed: 0, has_deadline }
    }
}

impl<S: Schedule> Model for Occ<'_, S> {
    #[inline]
    fn event(&mut self, number: u32, now: u64) -> Event {
        let Crowd { clients, tally, jitter, .. } = &mut self.crowd;
        let client = &mut clients[number as usize];
        tally.calls += 1;
        tally.attempts += 1;
        if client.state.read >= self.changed {
            self.changed = now;
            return tally.commit(now.saturating_add(self.hops.hop(&mut client.network)));
        }
        // The reply and the next request are one draw where nobody asks when the reply came.
        let known = if self.has_deadline { split(client, &self.hops, now) } else { now };
        let Some(delay) = client.failed(known, jitter.of(number)) else {
            let reply = if self.has_deadline { 0 } else { self.hops.hop(&mut client.network) };
            return tally.give_up(known.saturating_add(reply));
        };
        let read = known.saturating_add(delay).saturating_add(client.state.until_read);
        let write = client.state.next(read);
        client.state.draw_ahead(&self.hops, &mut client.network);
        Event { kind: REFUSED, next: Some(write) }
    }
}

/// The arrival of the reply, drawn by itself; what was drawn ahead becomes the request alone.
fn split<S>(client: &mut Client<'_, S, Attempt>, hops: &Draw, now: u64) -> u64 {
    let reply = hops.hop(&mut client.network);
    client.state.until_read = hops.hop(&mut client.network);
    now.saturating_add(reply)
}

impl<S: Schedule> Contest for Occ<'_, S> {
    fn clear(&mut self, seeds: &mut SplitMix64) {
        self.crowd.clear(seeds);
        self.changed = 0;
    }

    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64 {
        let nothing = Attempt { read: 0, until_read: 0, until_write: 0 };
        let client = self.crowd.enter(start, nothing, seeds);
        let request = self.hops.hop(&mut client.network);
        client.state.draw_ahead(&self.hops, &mut client.network);
        let write = client.state.next(start.saturating_add(request));
        client.state.draw_ahead(&self.hops, &mut client.network);
        write
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
