//! Overlapping proposals destroy each other, as messages do in ALOHA.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{BEGUN, REFUSED, Tally};
use super::latency::Sampler;
use super::{Contest, Crowd, Latency};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Collision<'p, S> {
    crowd: Crowd<'p, S, Pending>,
    round_trip: Sampler,
    channel: Channel,
}

/// What a client's pending event is.
#[derive(Clone, Copy, Debug)]
enum Pending {
    Start,
    End {
        /// How many proposals had started, this one among them.
        started: u64,
        /// Whether another was under way.
        met: bool,
    },
}

/// What is known of all proposals so far. A proposal is a half-open interval: one that starts at
/// the tick at which another ends does not overlap it, whichever of the two events is handled
/// first.
#[derive(Clone, Copy, Debug, Default)]
struct Channel {
    started: u64,
    /// As many had started before `latest_start`.
    started_before: u64,
    latest_start: u64,
    latest_end: u64,
}

impl Channel {
    fn start(&mut self, now: u64, end: u64) -> Pending {
        if self.latest_start < now {
            (self.latest_start, self.started_before) = (now, self.started);
        }
        self.started += 1;
        let met = self.latest_end > now;
        self.latest_end = self.latest_end.max(end);
        Pending::End { started: self.started, met }
    }

    /// How many had started before `now`.
    fn started_before(&self, now: u64) -> u64 {
        if self.latest_start < now { self.started } else { self.started_before }
    }
}

impl<'p, S: Schedule> Collision<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, round_trip: Latency) -> Self {
        let (crowd, round_trip) = (Crowd::new(policy), Sampler::new(round_trip));
        Self { crowd, round_trip, channel: Channel::default() }
    }
}

impl<S: Schedule> Model for Collision<'_, S> {
    #[inline]
    fn event(&mut self, number: u32, now: u64) -> Event {
        let Crowd { clients, tally, jitter, .. } = &mut self.crowd;
        let client = &mut clients[number as usize];
        let Pending::End { started, met } = client.state else {
            let round_trip = self.round_trip.round_trip(&mut client.network);
            let end = now.saturating_add(round_trip.saturating_mul(2));
            client.state = self.channel.start(now, end);
            tally.calls += 1;
            tally.attempts += 1;
            return Event { kind: BEGUN, next: Some(end) };
        };
        if !met && self.channel.started_before(now) <= started {
            return tally.commit(now);
        }
        client.state = Pending::Start;
        match client.failed(now, jitter.of(number)) {
            Some(delay) => Event { kind: REFUSED, next: Some(now.saturating_add(delay)) },
            None => tally.give_up(now),
        }
    }
}

impl<S: Schedule> Contest for Collision<'_, S> {
    fn clear(&mut self, seeds: &mut SplitMix64) {
        self.crowd.clear(seeds);
        self.channel = Channel::default();
    }

    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64 {
        self.crowd.enter(start, Pending::Start, seeds);
        start
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
