//! Ballots and epochs, with one acceptor.
//!
//! The events are what reaches the acceptor: a prepare, and an accept where it was promised. That a
//! client starts a proposal is none: to know its epoch, it is enough to know whether a choice was
//! made since.

use redial_core::{Policy, Schedule, SplitMix64};

use super::crowd::{BEGUN, REFUSED, Tally};
use super::latency::Draw;
use super::{Contest, Crowd, Latency};
use crate::engine::{Event, Model};

#[derive(Debug)]
pub(super) struct Ballot<'p, S> {
    crowd: Crowd<'p, S, Proposal>,
    round_trip: Draw,
    /// The promised ballot of this epoch: a client's attempt in it, counted from 1, and the client.
    promised: (u32, u32),
    epoch: u32,
    /// When the epoch opened.
    opened: u64,
}

/// A client's proposal under way.
#[derive(Clone, Copy, Debug, Default)]
struct Proposal {
    start: u64,
    round_trip: u64,
    /// The epoch that the client knew last, and its attempts in that.
    epoch: u32,
    attempts: u32,
    /// Whether its pending event is the accept.
    is_promised: bool,
}

impl Proposal {
    /// The client's next one.
    fn again(self, start: u64, round_trip: u64) -> Self {
        Self { start, round_trip, is_promised: false, ..self }
    }

    /// Ballots start again in each epoch.
    fn count_attempt(&mut self, epoch: u32) {
        self.attempts = if self.epoch == epoch { self.attempts.saturating_add(1) } else { 1 };
        self.epoch = epoch;
    }

    /// When the prepare reaches the acceptor.
    fn prepare(&self) -> u64 {
        self.start.saturating_add(self.round_trip / 2)
    }
}

/// Below every ballot, for attempts count from 1.
const NO_BALLOT: (u32, u32) = (0, 0);

impl<'p, S: Schedule> Ballot<'p, S> {
    pub(super) fn new(policy: &'p Policy<S>, round_trip: Latency) -> Self {
        let (crowd, round_trip) = (Crowd::new(policy), Draw::new(round_trip));
        Self { crowd, round_trip, promised: NO_BALLOT, epoch: 0, opened: 0 }
    }
}

impl<S: Schedule> Model for Ballot<'_, S> {
    #[inline]
    fn event(&mut self, number: u32, now: u64) -> Event {
        let Crowd { clients, tally, jitter, .. } = &mut self.crowd;
        let client = &mut clients[number as usize];
        let proposal = &mut client.state;
        let (is_promised, round_trip) = (proposal.is_promised, proposal.round_trip);
        let is_current = proposal.start >= self.opened;
        tally.calls += 1;
        tally.attempts += u64::from(!is_promised);
        if is_current && !is_promised {
            proposal.count_attempt(self.epoch);
        }
        let ballot = (proposal.attempts, number);
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
        let Some(delay) = client.failed(reply, jitter.of(number)) else {
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
        let client = self.crowd.enter(start, Proposal::default(), seeds);
        let round_trip = self.round_trip.round_trip(&mut client.network);
        client.state = Proposal::default().again(start, round_trip);
        client.state.prepare()
    }

    fn tally(&self) -> &Tally {
        &self.crowd.tally
    }
}
