//! Wall time: printed beside the instructions, and checked only where two take turns.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
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

/// The time of `run` over that of `other`: the median of pairs that take turns, so that a busy moment
/// hits both alike. A turn is so short that most are not interrupted, and each goes first as often.
pub(crate) fn over(run: Loop, other: Loop) -> f64 {
    const PAIRS: usize = 401;
    const TURN_MIN: Duration = Duration::from_micros(200);
    let mut times = 1;
    while timed(other, times) < TURN_MIN {
        times *= 2;
    }
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|pair| {
            let (ours, theirs) = if pair % 2 == 0 {
                let ours = timed(run, times);
                (ours, timed(other, times))
            } else {
                let theirs = timed(other, times);
                (timed(run, times), theirs)
            };
            ours.as_secs_f64() / theirs.as_secs_f64()
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[PAIRS / 2]
}

fn timed(run: Loop, times: u64) -> Duration {
    let start = Instant::now();
    run(times);
    start.elapsed()
}

/// Nanoseconds for each call on so many threads at once: the least over several runs of what the
/// slowest thread takes. A call is told a time that goes on.
pub(crate) fn on_threads<T>(threads: usize, call: impl Fn(u64) -> T + Sync) -> f64 {
    const CALLS: u64 = 200_000;
    let begin = Barrier::new(threads);
    let run = || {
        begin.wait();
        let start = Instant::now();
        for time in 0..CALLS {
            black_box(call(black_box(time * 50)));
        }
        start.elapsed()
    };
    let slowest = || {
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            let times = running.into_iter().map(|thread| thread.join().unwrap_or_default());
            times.max().unwrap_or_default()
        })
    };
    let least = (0..RUNS).map(|_| slowest()).min().unwrap_or_default();
    least.as_nanos() as f64 / CALLS as f64
}
