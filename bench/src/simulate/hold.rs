//! The least that an event can cost: a queue that always holds as many, whose earliest one is put off
//! by a random time. Simulation calls this the hold model.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use redial::{Random, SplitMix64};

/// So many waits that the table costs a cache line or two and the waits still differ.
const WAITS: usize = 1024;
const MEAN_NANOS: f64 = 50e6;

/// Exponentially distributed waits, made ahead: a logarithm costs more than the queue does.
pub(super) struct Hold {
    waits: [u64; WAITS],
}

impl Hold {
    pub(super) fn new() -> Self {
        let share = |index| (index as f64 + 0.5) / WAITS as f64;
        let wait = |index| -(1.0 - share(index)).ln() * MEAN_NANOS;
        Self { waits: std::array::from_fn(|index| wait(index) as u64) }
    }

    /// So many events, with one pending for each client: its time above its number, in one word, as
    /// the engine has it.
    pub(super) fn run(&self, clients: u32, events: u64) {
        let client_bits = u32::BITS - (clients - 1).leading_zeros();
        let mut random = SplitMix64::new(1);
        let mut wait = || self.waits[(random.word() >> 54) as usize] << client_bits;
        let mut pending: BinaryHeap<Reverse<u64>> =
            (0..clients).map(|client| Reverse(wait() | u64::from(client))).collect();
        for _ in 0..events {
            if let Some(mut earliest) = pending.peek_mut() {
                earliest.0 += wait();
            }
        }
        black_box(pending);
    }
}
