//! The whole table of AWS's study of backoff (Brooker, 2015): 19 crowds, 5 policies, 500 trials.

use std::time::{Duration, Instant};

use redial::{Backoff, Policy};
use redial_sim::Contention;

const CAP: Duration = Duration::from_secs(2);
const EXPONENTIAL: Backoff = Backoff::exponential(Duration::from_millis(10)).max(CAP);
const POLICIES: [Policy; 5] = [
    Backoff::none().unlimited(),
    EXPONENTIAL.unlimited(),
    EXPONENTIAL.equal_jitter().unlimited(),
    EXPONENTIAL.full_jitter().unlimited(),
    Backoff::decorrelated(Duration::from_millis(5)).max(CAP).unlimited(),
];
const TRIALS: u32 = 500;
const THREADS: u32 = 2;

pub(super) struct Run {
    pub(super) attempts: u64,
    pub(super) seconds: f64,
}

pub(super) fn run() -> Result<Run, &'static str> {
    let (start, mut attempts) = (Instant::now(), 0);
    for clients in (10..=190).step_by(10) {
        let scenario = Contention::occ(clients).trials(TRIALS).threads(THREADS);
        for policy in &POLICIES {
            attempts += scenario.run(policy).map_err(|_| "there is no such crowd")?.events();
        }
    }
    Ok(Run { attempts, seconds: start.elapsed().as_secs_f64() })
}
