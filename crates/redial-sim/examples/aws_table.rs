//! The whole table of AWS's study of backoff, with the reference beside it.
//!
//! `cargo run --release -p redial-sim --example aws_table [trials] [threads]`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

#[path = "../tests/it/aws/reference.rs"]
mod reference;

use std::error::Error;
use std::time::Instant;

use redial_sim::Contention;
use reference::{POLICIES, REFERENCE};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>());
    let trials = numbers.next().unwrap_or(Ok(500))?;
    let threads = numbers.next().unwrap_or(Ok(2))?;
    println!("  N  policy             calls    reference            time ms    reference");
    let (begun, mut events) = (Instant::now(), 0);
    let (mut worst_calls, mut worst_time) = (0.0f64, 0.0f64);
    for (clients, calls, times) in REFERENCE {
        for (i, (name, policy)) in POLICIES.iter().enumerate() {
            let run = Contention::occ(clients).trials(trials).threads(threads).run(policy)?;
            let results = run.results()?;
            events += run.events();
            let (call, time) = (results.calls, results.time_ms);
            let (calls_off, time_off) = (off(call.mean, calls[i]), off(time.mean, times[i]));
            worst_calls = worst_calls.max(calls_off.abs());
            worst_time = worst_time.max(time_off.abs());
            println!(
                "{clients:>3}  {name:<13} {:>8.1} ±{:<5.1} {:>7.1} {calls_off:>+5.1}% \
                 {:>10.1} ±{:<6.1} {:>8.1} {time_off:>+5.1}%",
                call.mean, call.ci95, calls[i], time.mean, time.ci95, times[i],
            );
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("largest difference: calls {worst_calls:.2}%, time {worst_time:.2}%");
    println!(
        "{:.1} million events, each of which stands for four of the reference's, in {seconds:.2} s \
         on {threads} threads: {:.1} million/s",
        events as f64 / 1e6,
        events as f64 / 1e6 / seconds,
    );
    Ok(())
}

/// In percent of the reference.
fn off(ours: f64, reference: f64) -> f64 {
    (ours / reference - 1.0) * 100.0
}
