//! The search for a policy that beats the best of AWS's study, at every number of clients of it.
//!
//! `cargo run --release -p redial-sim --example tune_aws [seed] [threads]`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::time::Instant;

use redial_sim::tune::Candidate;
use redial_sim::{Contention, Estimate, Search};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<u32>());
    let seed = numbers.next().unwrap_or(Ok(1))?;
    let threads = numbers.next().unwrap_or(Ok(2))?;
    let scenario = Contention::occ(1).seed(seed.into()).threads(threads);
    let begun = Instant::now();
    let search = Search::over(scenario, 10..=190);
    let found = search.run()?;
    println!("yours   {}", found.yours.policy);
    println!("winner  {}", found.winner.policy);
    println!(
        "{} policies, {:.0} million events, {:.2} s",
        found.tried,
        found.events as f64 / 1e6,
        begun.elapsed().as_secs_f64(),
    );
    println!("\nthe front: calls, time and regret against yours");
    for Candidate { policy, calls, time, regret, .. } in &found.front {
        println!("  {calls:.2}  {time:.2}  {regret:.2}  {policy}");
    }
    println!("\n  N     calls    yours                    time ms    yours");
    for clients in (10..=190).step_by(10) {
        let scenario =
            Contention::occ(clients).seed(u64::MAX - u64::from(seed)).threads(threads).trials(1000);
        let winner = scenario.run(&found.winner.policy)?;
        let yours = scenario.run(&found.yours.policy)?;
        let change = winner.against(&yours).ok_or("cut")?;
        let (winner, yours) = (winner.results()?, yours.results()?);
        let percent = |change: Estimate, of: f64| {
            format!("{:>+6.1} ±{:.1} %", 100.0 * change.mean / of, 100.0 * change.ci95 / of)
        };
        println!(
            "{clients:>3}  {:>8.1} {:>8.1}  {:<15}  {:>8.0} {:>8.0}  {}",
            winner.calls.mean,
            yours.calls.mean,
            percent(change.calls, yours.calls.mean),
            winner.time_ms.mean,
            yours.time_ms.mean,
            percent(change.time_ms, yours.time_ms.mean),
        );
    }
    Ok(())
}
