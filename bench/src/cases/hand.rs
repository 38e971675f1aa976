//! The loop that one writes without a library: as good as we can.

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{
    Failing, FailingThrice, Failure, LargeFailure, Succeeding, fail_large_three_times,
    fail_three_times, succeed, succeed_or_large,
};
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
        (Call::LargeAsync, large_async),
        (Call::LargeAsyncOptions, large_async_options),
        (Call::LargeBlocking, large_blocking),
        (Call::LargeBlockingFailures, large_blocking_failures),
        (Call::ThreadDelayBy2, thread_delay_by_2),
        (Call::ThreadDelayBy1_1, thread_delay_by_1_1),
        (Call::ThreadDelayBy1_1Steady, thread_delay_by_1_1_steady),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
        (Figure::OptionsFutureBytes, options_future_bytes),
        (Figure::OptionsTaskBytes, options_task_bytes),
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

fn blocking<E>(
    settings: &Settings,
    mut operation: impl FnMut() -> Result<u64, E>,
) -> Result<u64, E> {
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
fn awaited<E, F: Future<Output = Result<u64, E>>>(
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
    repeat::awaited(times, || awaited(settings, Succeeding::<Failure>::new));
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
    repeat::awaited(times, || awaited(settings, || FailingThrice::<Failure>::new(&calls)));
}

fn yields_made() -> f64 {
    yields(|calls| awaited(&AT_ONCE, || FailingThrice::<Failure>::new(calls)))
}

fn future_bytes() -> f64 {
    size_of_val(&awaited(&FETCH, Succeeding::<Failure>::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async { awaited(&IN_AN_HOUR, Failing::<Failure>::new).await })
}

/// Tokens that calls share, in hundredths: a call brings a fifth of one, a retry takes one.
static TOKENS: AtomicU64 = AtomicU64::new(CAPACITY);
const CAPACITY: u64 = 100_000_000;

enum TimedOr<E> {
    Failed(E),
    TimedOut,
}

/// With a timeout, a deadline, a classifier, a budget and a hook.
#[expect(clippy::manual_async_fn, reason = "an async fn would hold its arguments twice")]
fn awaited_with_options<E, F: Future<Output = Result<u64, E>>>(
    settings: &Settings,
    mut operation: impl FnMut() -> F,
) -> impl Future<Output = Result<u64, TimedOr<E>>> {
    async move {
        let deadline = Instant::now() + HOUR * 2;
        let deposit = |tokens| (tokens < CAPACITY).then(|| CAPACITY.min(tokens + 20));
        let _ = TOKENS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, deposit);
        let (mut delay, mut left) = (settings.initial, settings.retries);
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            let error = match tokio::time::timeout(HOUR.min(rest), operation()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => TimedOr::Failed(error),
                Err(_) => TimedOr::TimedOut,
            };
            let wait = jittered_here(delay);
            let late = Instant::now() + wait >= deadline;
            let withdraw = |tokens: u64| tokens.checked_sub(100);
            if left == 0
                || !black_box(true)
                || late
                || TOKENS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, withdraw).is_err()
            {
                return Err(error);
            }
            black_box(left);
            tokio::time::sleep(wait).await;
            delay = (delay * 2).min(settings.cap);
            left -= 1;
        }
    }
}

fn large_async(times: u64) {
    let settings = black_box(&FETCH);
    repeat::awaited(times, || awaited(settings, Succeeding::<LargeFailure>::new));
}

fn large_async_options(times: u64) {
    let settings = black_box(&FETCH);
    repeat::awaited(times, || awaited_with_options(settings, Succeeding::<LargeFailure>::new));
}

fn large_blocking(times: u64) {
    let settings = black_box(&FETCH);
    repeat::blocking(times, || blocking(settings, succeed_or_large));
}

fn large_blocking_failures(times: u64) {
    let (settings, calls) = (black_box(&AT_ONCE), Cell::new(0));
    repeat::blocking(times, || blocking(settings, || fail_large_three_times(&calls)));
}

/// By this factor, words from the generator of this thread.
fn growing_here(factor: f64) -> impl FnMut() -> Duration {
    let Settings { initial, cap, .. } = *black_box(&FETCH);
    let (mut delay, factor) = (initial, black_box(factor));
    move || {
        let drawn = jittered_here(delay);
        delay = ((delay as f64 * factor) as u64).min(cap);
        drawn
    }
}

fn thread_delay_by_2(times: u64) {
    let Settings { initial, cap, .. } = *black_box(&FETCH);
    let mut delay = initial;
    repeat::blocking(times, || {
        let drawn = jittered_here(delay);
        delay = (delay * 2).min(cap);
        drawn
    });
}

fn thread_delay_by_1_1(times: u64) {
    repeat::first(60, times, || growing_here(1.1));
}

fn thread_delay_by_1_1_steady(times: u64) {
    repeat::blocking(times, growing_here(1.1));
}

fn options_future_bytes() -> f64 {
    size_of_val(&awaited_with_options(&FETCH, Succeeding::<Failure>::new)) as f64
}

fn options_task_bytes() -> f64 {
    per_sleeping_task(|| async {
        let _ = awaited_with_options(&IN_AN_HOUR, Failing::<Failure>::new).await;
    })
}
