//! Events per second of `occ` beside a bare loop over the same kind of heap, which does nothing at
//! an event but choose the time of the next one. An event of `occ` is a whole attempt: two arrivals
//! at the server, four hops, and a decision of the policy.
//!
//! `cargo run --release -p redial-sim --example event_rate`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use redial_core::{Backoff, Policy, Random, SplitMix64};
use redial_sim::Contention;
use redial_sim::engine::Bounds;

const FULL: Policy = Backoff::exponential(Duration::from_millis(10))
    .max(Duration::from_secs(2))
    .full_jitter()
    .unlimited();

const EVENTS: u64 = 4_000_000;
const ROUNDS: u32 = 5;

fn main() -> Result<(), Box<dyn Error>> {
    println!("clients   bare heap        occ    ratio    (million events/s, best of {ROUNDS})");
    for clients in [10, 100, 1000, 10_000, 100_000, 1_000_000] {
        let (mut bare, mut occ) = (0.0f64, 0.0f64);
        for _ in 0..ROUNDS {
            bare = bare.max(rate(|| Ok(bare_heap(clients)))?);
            occ = occ.max(rate(|| contend(clients))?);
        }
        println!("{clients:>7} {:>11.1} {:>10.1} {:>8.2}", bare / 1e6, occ / 1e6, occ / bare);
    }
    Ok(())
}

fn rate(run: impl FnOnce() -> Result<u64, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    let events = run()?;
    Ok(events as f64 / begun.elapsed().as_secs_f64())
}

/// As many events of a heap that always holds one for each client, 0 to 67 ms after the last.
fn bare_heap(clients: u64) -> u64 {
    let client_bits = u64::BITS - clients.leading_zeros();
    let mut random = SplitMix64::new(1);
    let first = |client| Reverse((random.word() >> 38) << client_bits | client);
    let mut pending: BinaryHeap<_> = (0..clients).map(first).collect();
    for _ in 0..EVENTS {
        let Some(mut top) = pending.peek_mut() else { break };
        top.0 += (random.word() >> 38) << client_bits;
    }
    black_box(pending.len());
    EVENTS
}

/// Trials until there were as many events. Where a trial has more, it is cut after so many.
fn contend(clients: u64) -> Result<u64, Box<dyn Error>> {
    let clients = u32::try_from(clients)?;
    // About what the policy needs for so many.
    let per_trial = u64::from(clients) * 8;
    let trials = u32::try_from(EVENTS.div_ceil(per_trial))?;
    let bounds = Bounds { events: EVENTS, ..Bounds::DEFAULT };
    Ok(Contention::occ(clients).trials(trials).bounds(bounds).run(&FULL)?.events())
}
