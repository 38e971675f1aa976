//! The engine for clients that come and go.
//!
//! The number of a client that has left is given to a later one (a free list), so the memory of a
//! run is that of the clients that are there at once. The next arrival is kept beside the heap, not
//! in it: in a healthy system most clients have an event or two, and their arrival would be another
//! push and pop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::{Bounds, CLIENTS_MAX, Completion, EngineRun, Event, Model, UNWATCHED};
use crate::watch::Watch;

/// A [`Model`] whose clients come one by one and leave when nothing happens next to them.
pub(crate) trait OpenModel: Model {
    /// When the next client comes. Asked for once for each, in order; never earlier than the last.
    fn next_arrival(&mut self) -> u64;

    /// It comes, under a number that is its own until it leaves. Its first event follows at once.
    fn enter(&mut self, client: u32, now: u64);
}

/// The events of one run after another, from tick 0 to a last one.
#[derive(Clone, Debug)]
pub(crate) struct OpenEngine {
    pending: BinaryHeap<Reverse<u64>>,
    numbers: Numbers,
    client_bits: u32,
    until: u64,
    bounds: Bounds,
    watch: &'static Watch,
}

/// Which numbers are taken.
#[derive(Clone, Debug, Default)]
struct Numbers {
    ever_taken: u32,
    free: Vec<u32>,
}

impl Numbers {
    fn clear(&mut self) {
        self.ever_taken = 0;
        self.free.clear();
    }

    fn take(&mut self, most: u32) -> Option<u32> {
        self.free.pop().or_else(|| {
            let next = self.ever_taken;
            (next < most).then(|| {
                self.ever_taken += 1;
                next
            })
        })
    }

    fn taken(&self) -> u32 {
        self.ever_taken - self.free.len() as u32
    }
}

impl OpenEngine {
    /// An engine for the ticks from 0 to `until`, inclusive. A client's number has to fit in the
    /// bits of the 64-bit key that the tick `until` leaves: for an hour of nanoseconds, four
    /// million.
    pub(crate) fn new(until: u64, bounds: Bounds, watch: &'static Watch) -> Self {
        let client_bits = until.leading_zeros().min(CLIENTS_MAX.trailing_zeros());
        let bounds = Bounds { clients: bounds.clients.min(1 << client_bits), ..bounds };
        let (pending, numbers) = (BinaryHeap::new(), Numbers::default());
        Self { pending, numbers, client_bits, until, bounds, watch }
    }

    /// How many clients were there when the last run ended.
    pub(crate) fn clients_left(&self) -> u32 {
        self.numbers.taken()
    }

    /// Runs `model` until the last tick is over or a bound is reached. `observe` is told of each
    /// event's tick, client and kind, in order.
    pub(crate) fn run(
        &mut self,
        model: &mut impl OpenModel,
        mut observe: impl FnMut(u64, u32, u8),
    ) -> EngineRun {
        self.pending.clear();
        self.numbers.clear();
        let (mut events, mut last_tick, mut look_at) = (0, 0, 0);
        let mut arrival = model.next_arrival();
        let ended = loop {
            let pending = self.pending.peek().map_or(u64::MAX, |key| key.0 >> self.client_bits);
            let now = arrival.min(pending);
            if let Some(ended) = self.end(now, events, &mut look_at) {
                break ended;
            }
            if arrival <= pending {
                let Some(client) = self.numbers.take(self.bounds.clients) else {
                    break Completion::Clients;
                };
                arrival = model.next_arrival();
                model.enter(client, now);
                let Event { kind, next } = model.event(client, now);
                observe(now, client, kind);
                self.first(client, now, next);
            } else {
                self.step(model, &mut observe);
            }
            (events, last_tick) = (events + 1, now);
        };
        EngineRun { ended, events, last_tick }
    }

    /// Whether it is over before an event at `now`.
    fn end(&self, now: u64, events: u64, look_at: &mut u64) -> Option<Completion> {
        if now > self.until {
            return Some(Completion::Quiet);
        }
        if now > self.bounds.ticks {
            return Some(Completion::Time);
        }
        if events == *look_at {
            if self.watch.is_stopped() {
                return Some(Completion::Stopped);
            }
            if events == self.bounds.events {
                return Some(Completion::Events);
            }
            *look_at = self.bounds.events.min(events + UNWATCHED);
        }
        None
    }

    /// What follows on a client's first event.
    fn first(&mut self, client: u32, now: u64, next: Option<u64>) {
        match next {
            Some(next) if next <= self.until => self.pending.push(self.key(next.max(now), client)),
            // Its next event is after the end of the run: it keeps its number and needs no event.
            Some(_) => {}
            None => self.numbers.free.push(client),
        }
    }

    /// The earliest pending event.
    fn step(&mut self, model: &mut impl OpenModel, observe: &mut impl FnMut(u64, u32, u8)) {
        let bits = self.client_bits;
        let Some(mut top) = self.pending.peek_mut() else { return };
        let (now, client) = (top.0 >> bits, (top.0 & ((1 << bits) - 1)) as u32);
        let Event { kind, next } = model.event(client, now);
        observe(now, client, kind);
        match next {
            Some(next) if next <= self.until => {
                *top = Reverse(next.max(now) << bits | u64::from(client));
            }
            next => {
                PeekMut::pop(top);
                if next.is_none() {
                    self.numbers.free.push(client);
                }
            }
        }
    }

    fn key(&self, tick: u64, client: u32) -> Reverse<u64> {
        Reverse(tick << self.client_bits | u64::from(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static NOBODY: Watch = Watch::new();

    /// One comes every ten ticks and stays for some.
    struct Visitors {
        last: u64,
        stay: u64,
        numbers: Vec<u32>,
    }

    impl Model for Visitors {
        fn event(&mut self, _client: u32, now: u64) -> Event {
            Event { kind: 0, next: (now % 10 == 0).then_some(now + self.stay) }
        }
    }

    impl OpenModel for Visitors {
        fn next_arrival(&mut self) -> u64 {
            self.last += 10;
            self.last
        }

        fn enter(&mut self, client: u32, _now: u64) {
            self.numbers.push(client);
        }
    }

    fn visit(stay: u64, bounds: Bounds) -> (EngineRun, u32, Vec<u32>) {
        let mut visitors = Visitors { last: 0, stay, numbers: Vec::new() };
        let mut engine = OpenEngine::new(100, bounds, &NOBODY);
        let run = engine.run(&mut visitors, |_, _, _| {});
        (run, engine.clients_left(), visitors.numbers)
    }

    #[test]
    fn who_comes_takes_the_place_of_who_has_left() {
        let (run, left, numbers) = visit(15, Bounds { clients: 2, ..Bounds::DEFAULT });
        assert_eq!((run.ended, run.events, run.last_tick), (Completion::Quiet, 18, 100));
        assert_eq!(numbers, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(left, 2, "who came at 90 and at 100");
    }

    #[test]
    fn one_too_many_at_once_is_a_bound() {
        let (run, left, _) = visit(25, Bounds { clients: 2, ..Bounds::DEFAULT });
        assert_eq!((run.ended, run.last_tick, left), (Completion::Clients, 20, 2));
    }
}
