//! The crowd whose events are counted: `occ` under exponential backoff with full jitter.

use std::time::Duration;

use redial::{Backoff, Policy};
use redial_sim::Contention;
use redial_sim::engine::Bounds;

const POLICY: Policy = Backoff::exponential(Duration::from_millis(10))
    .max(Duration::from_secs(2))
    .full_jitter()
    .unlimited();

/// About what each client needs under this policy before it succeeds.
const ATTEMPTS_EACH: u64 = 8;

/// Whole trials until there were about so many attempts, or the part of one that has so many. How
/// many there were.
pub(super) fn attempts(clients: u32, about: u64) -> Result<u64, &'static str> {
    let trials = about.div_ceil(u64::from(clients) * ATTEMPTS_EACH);
    let trials = u32::try_from(trials).map_err(|_| "too many trials")?;
    run(Contention::occ(clients).trials(trials), about)
}

/// The first so many attempts of a crowd, for each of so many crowds.
pub(super) fn first_attempts(clients: u32, most: u64, crowds: u64) -> Result<(), &'static str> {
    for seed in 0..crowds {
        run(Contention::occ(clients).trials(1).seed(seed), most)?;
    }
    Ok(())
}

fn run(scenario: Contention, events_max: u64) -> Result<u64, &'static str> {
    let scenario = scenario.bounds(Bounds { events: events_max, ..Bounds::DEFAULT });
    scenario.run(&POLICY).map(|run| run.events()).map_err(|_| "there is no such crowd")
}
