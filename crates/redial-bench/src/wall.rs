//! Wall time: printed beside the instructions, never checked.

use std::time::{Duration, Instant};

use crate::subject::Loop;

const RUNS: u32 = 15;
/// Long enough that reading the clock and starting a runtime do not count.
const RUN_MIN: Duration = Duration::from_millis(4);

/// Nanoseconds per call of `run`: the least over several runs.
pub(crate) fn nanoseconds(run: Loop) -> f64 {
    let mut times = 1;
    while timed(run, times) < RUN_MIN {
        times *= 4;
    }
    let least = (0..RUNS).map(|_| timed(run, times)).min().unwrap_or_default();
    least.as_nanos() as f64 / times as f64
}

fn timed(run: Loop, times: u64) -> Duration {
    let start = Instant::now();
    run(times);
    start.elapsed()
}
