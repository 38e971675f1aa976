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

/// The time of a call of `run` over that of one of `other`: the median of pairs that take turns, so that a busy
/// moment hits both alike. A turn is so short that most are not interrupted, and each goes first as often.
pub(crate) fn over(run: Loop, other: Loop) -> f64 {
    const TURN_MIN: Duration = Duration::from_micros(200);
    // A call that waits for a timer of whole milliseconds needs no more turns to be told apart.
    const SLOW: Duration = Duration::from_millis(1);
    let calls = |run: Loop| {
        let mut times = 1;
        while timed(run, times) < TURN_MIN {
            times *= 2;
        }
        times
    };
    let (ours, theirs) = (calls(run), calls(other));
    let pairs = if timed(run, ours) < SLOW { 401 } else { 11 };
    let one = |run: Loop, times: u64| timed(run, times).as_secs_f64() / times as f64;
    let mut ratios: Vec<f64> = (0..pairs)
        .map(|pair| {
            if pair % 2 == 0 {
                let time = one(run, ours);
                time / one(other, theirs)
            } else {
                let time = one(other, theirs);
                one(run, ours) / time
            }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[pairs / 2]
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
