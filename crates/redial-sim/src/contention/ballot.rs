//! Ballots and epochs, with one acceptor.
//!
//! An event is a message that reaches the acceptor: a prepare, or the accept of a ballot that was
//! promised. The start of a proposal needs no event. Its epoch is known when the prepare arrives:
//! from whether a choice was made since the start, or from the epoch that the last refusal named.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{BEGUN, REFUSED, Tally};
use super::latency::Sampler;
use super::{Contest, Crowd, Latency, Learning};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Ballot<'p, S> {
    crowd: Crowd<'p, S, Proposal>,
    round_trip: Sampler,
    learning: Learning,
    /// The promised ballot of this epoch: a number, counted from 1, and the client.
    promised: (u32, u32),
    epoch: u32,
    /// When the epoch opened.
    opened: u64,
}

/// A client's proposal under way.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    start: u64,
    round_trip: u64,
    /// The epoch that the client knew last, and the number of its ballot in that.
    epoch: u32,
    number: u32,
    /// Whether its pending event is the accept.
    is_promised: bool,
}

impl Proposal {
    /// What a client knows before its first one.
    const NONE: Self =
        Self { start: 0, round_trip: 0, epoch: 0, number: FIRST_NUMBER, is_promised: false };

    /// The client's next one.
    fn again(self, start: u64, round_trip: u64) -> Self {
        Self { start, round_trip, is_promised: false, ..self }
    }

    /// Numbers start again in each epoch.
    fn enter(&mut self, epoch: u32) {
        if self.epoch != epoch {
            (self.epoch, self.number) = (epoch, FIRST_NUMBER);
        }
    }

    /// When the prepare reaches the acceptor.
    fn prepare(&self) -> u64 {
        self.start.saturating_add(self.round_trip / 2)
    }
}

const FIRST_NUMBER: u32 = 1;

/// Below every ballot, for numbers count from 1.
const NO_BALLOT: (u32, u32) = (0, 0);

impl<'p, S: Schedule> Ballot<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, round_trip: Latency, learning: Learning) -> Self {
        let (crowd, round_trip) = (Crowd::new(policy), Sampler::new(round_trip));
        Self { crowd, round_trip, learning, promised: NO_BALLOT, epoch: 0, opened: 0 }
    }
}

impl<S: Schedule> Model for Ballot<'_, S> {
    #[inline]
    fn event(&mut self, index: u32, now: u64) -> Event {
        let Crowd { clients, tally, jitter, .. } = &mut self.crowd;
        let client = &mut clients[index as usize];
        let proposal = &mut client.state;
        let (is_promised, round_trip) = (proposal.is_promised, proposal.round_trip);
        let is_current = match self.learning {
            Learning::AtStart => proposal.start >= self.opened,
            Learning::FromRefusals => proposal.epoch == self.epoch,
        };
        tally.calls += 1;
        tally.attempts += u64::from(!is_promised);
        if is_current {
            proposal.enter(self.epoch);
        }
        let ballot = (proposal.number, index);
        let reply = now.saturating_add(round_trip / 2);
        if is_current && is_promised && ballot == self.promised {
            (self.promised, self.epoch, self.opened) = (NO_BALLOT, self.epoch + 1, now);
            return tally.commit(reply);
        }
        if is_current && !is_promised && ballot > self.promised {
            self.promised = ballot;
            proposal.is_promised = true;
            return Event { kind: BEGUN, next: Some(now.saturating_add(round_trip)) };
        }
        // The refusal names the open epoch and the ballot promised in it. With `AtStart`, a client
        // whose epoch has closed learns nothing from it: it will know the open one when it starts
        // again.
        if is_current || self.learning == Learning::FromRefusals {
            (proposal.epoch, proposal.number) = (self.epoch, self.promised.0.saturating_add(1));
        }
        let Some(delay) = client.failed(reply, jitter.of(index)) else {
            return tally.give_up(reply);
        };
        let round_trip = self.round_trip.round_trip(&mut client.network);
        client.state = client.state.again(reply.saturating_add(delay), round_trip);
        Event { kind: REFUSED, next: Some(client.state.prepare()) }
    }
}

impl<S: Schedule> Contest for Ballot<'_, S> {
    fn clear(&mut self, seeds: &mut SplitMix64) {
        self.crowd.clear(seeds);
        (self.promised, self.epoch, self.opened) = (NO_BALLOT, 0, 0);
    }

    fn enter(&mut self, start: u64, seeds: &mut SplitMix64) -> u64 {
        let client = self.crowd.enter(start, Proposal::NONE, seeds);
        let round_trip = self.round_trip.round_trip(&mut client.network);
        client.state = client.state.again(start, round_trip);
        client.state.prepare()
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
