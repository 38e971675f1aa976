//! The loop that one writes without a library: as good as we can.

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding, fail_three_times, succeed};
use crate::repeat;
use crate::subject::{Call, Figure, Subject};
use crate::yields::yields;

pub(crate) const HAND: Subject = Subject {
    name: "hand",
    package: None,
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::BlockingSuccess, blocking_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::DelayBy1_5, delay_by_1_5),
        (Call::DelayBy1_5Steady, delay_by_1_5_steady),
        (Call::BlockingFailures, blocking_failures),
        (Call::AsyncFailures, async_failures),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
    ],
};

struct Settings {
    initial: u64,
    cap: u64,
    retries: u32,
}

impl Settings {
    const fn new(initial: Duration, cap: Duration) -> Self {
        let (initial, cap) = (initial.as_nanos() as u64, cap.as_nanos() as u64);
        Self { initial, cap, retries: RETRIES }
    }
}

static FETCH: Settings = Settings::new(INITIAL, CAP);
static AT_ONCE: Settings = Settings::new(Duration::ZERO, CAP);
static IN_AN_HOUR: Settings = Settings::new(HOUR, HOUR);

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(42) };
}

/// Wang Yi's wyrand, as in the crate `fastrand`.
#[inline]
fn word(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0xa076_1d64_78bd_642f);
    let product = u128::from(*random) * u128::from(*random ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

/// Anywhere from nothing to all of it.
#[inline]
fn jittered(nanos: u64, random: &mut u64) -> Duration {
    Duration::from_nanos(((u128::from(word(random)) * u128::from(nanos)) >> 64) as u64)
}

fn jittered_here(nanos: u64) -> Duration {
    RANDOM.with(|cell| {
        let mut random = cell.get();
        let delay = jittered(nanos, &mut random);
        cell.set(random);
        delay
    })
}

fn blocking(
    settings: &Settings,
    mut operation: impl FnMut() -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let (mut delay, mut left) = (settings.initial, settings.retries);
    loop {
        match operation() {
            Err(_) if left > 0 => {
                if delay > 0 {
                    thread::sleep(jittered_here(delay));
                    delay = (delay * 2).min(settings.cap);
                }
                left -= 1;
            }
            result => return result,
        }
    }
}

#[expect(clippy::manual_async_fn, reason = "an async fn would hold its arguments twice")]
fn awaited<F: Future<Output = Result<u64, Failure>>>(
    settings: &Settings,
    mut operation: impl FnMut() -> F,
) -> impl Future<Output = F::Output> {
    async move {
        let (mut delay, mut left) = (settings.initial, settings.retries);
        loop {
            match operation().await {
                Err(_) if left > 0 => {
                    if delay > 0 {
                        tokio::time::sleep(jittered_here(delay)).await;
                        delay = (delay * 2).min(settings.cap);
                    } else {
                        tokio::task::yield_now().await;
                    }
                    left -= 1;
                }
                result => return result,
            }
        }
    }
}

fn async_success(times: u64) {
    let settings = black_box(&FETCH);
    repeat::awaited(times, || awaited(settings, Succeeding::new));
}

fn blocking_success(times: u64) {
    let settings = black_box(&FETCH);
    repeat::blocking(times, || blocking(settings, succeed));
}

/// Delays by two, as integers.
fn doubling() -> impl FnMut() -> Duration {
    let Settings { initial, cap, .. } = *black_box(&FETCH);
    let (mut delay, mut random) = (initial, black_box(42));
    move || {
        let drawn = jittered(delay, &mut random);
        delay = (delay * 2).min(cap);
        drawn
    }
}

/// By one and a half.
fn growing() -> impl FnMut() -> Duration {
    let Settings { initial, cap, .. } = *black_box(&FETCH);
    let (mut delay, mut random) = (initial, black_box(42));
    let factor = black_box(1.5);
    move || {
        let drawn = jittered(delay, &mut random);
        delay = ((delay as f64 * factor) as u64).min(cap);
        drawn
    }
}

fn delay_by_2(times: u64) {
    repeat::first_ten(times, doubling);
}

fn delay_by_2_steady(times: u64) {
    repeat::blocking(times, doubling());
}

fn delay_by_1_5(times: u64) {
    repeat::first_ten(times, growing);
}

fn delay_by_1_5_steady(times: u64) {
    repeat::blocking(times, growing());
}

fn blocking_failures(times: u64) {
    let (settings, calls) = (black_box(&AT_ONCE), Cell::new(0));
    repeat::blocking(times, || blocking(settings, || fail_three_times(&calls)));
}

fn async_failures(times: u64) {
    let (settings, calls) = (black_box(&AT_ONCE), Cell::new(0));
    repeat::awaited(times, || awaited(settings, || FailingThrice::new(&calls)));
}

fn yields_made() -> f64 {
    yields(|calls| awaited(&AT_ONCE, || FailingThrice::new(calls)))
}

fn future_bytes() -> f64 {
    size_of_val(&awaited(&FETCH, Succeeding::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async { awaited(&IN_AN_HOUR, Failing::new).await })
}
