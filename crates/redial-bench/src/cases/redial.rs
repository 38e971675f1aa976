//! redial.

use std::cell::Cell;
use std::future::IntoFuture;
use std::hint::black_box;

use redial::{Backoff, Policy, SplitMix64, blocking, retry};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding, fail_three_times, succeed};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const REDIAL: Subject = Subject {
    name: "redial",
    package: Some(Package { name: "redial", version: None, features: &[] }),
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

const EXPONENTIAL: Backoff = Backoff::exponential(INITIAL).max(CAP).full_jitter();

static FETCH: Policy = EXPONENTIAL.attempts(RETRIES + 1);
static AT_ONCE: Policy = Backoff::none().attempts(RETRIES + 1);
static IN_AN_HOUR: Policy =
    Backoff::exponential(HOUR).max(HOUR).full_jitter().attempts(RETRIES + 1);
static DOUBLING: Policy = EXPONENTIAL.unlimited();
static GROWING: Policy = EXPONENTIAL.factor(1.5).unlimited();

fn async_success(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<Failure>::new).into_future());
}

fn blocking_success(times: u64) {
    let policy = black_box(&FETCH);
    repeat::blocking(times, || blocking::retry(policy, succeed));
}

fn delay_by_2(times: u64) {
    let policy = black_box(&DOUBLING);
    repeat::first_ten(times, || {
        let mut delays = policy.delays(SplitMix64::new(black_box(42)));
        move || delays.next()
    });
}

fn delay_by_2_steady(times: u64) {
    let mut delays = black_box(&DOUBLING).delays(SplitMix64::new(black_box(42)));
    repeat::blocking(times, || delays.next());
}

fn delay_by_1_5(times: u64) {
    let policy = black_box(&GROWING);
    repeat::first_ten(times, || {
        let mut delays = policy.delays(SplitMix64::new(black_box(42)));
        move || delays.next()
    });
}

fn delay_by_1_5_steady(times: u64) {
    let mut delays = black_box(&GROWING).delays(SplitMix64::new(black_box(42)));
    repeat::blocking(times, || delays.next());
}

fn blocking_failures(times: u64) {
    let (policy, calls) = (black_box(&AT_ONCE), Cell::new(0));
    repeat::blocking(times, || blocking::retry(policy, || fail_three_times(&calls)));
}

fn async_failures(times: u64) {
    let (policy, calls) = (black_box(&AT_ONCE), Cell::new(0));
    let operation = || FailingThrice::<Failure>::new(&calls);
    repeat::awaited(times, || retry(policy, operation).into_future());
}

fn yields_made() -> f64 {
    yields(|calls| retry(&AT_ONCE, || FailingThrice::<Failure>::new(calls)).into_future())
}

fn future_bytes() -> f64 {
    size_of_val(&retry(&FETCH, Succeeding::<Failure>::new).into_future()) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async { retry(&IN_AN_HOUR, Failing::<Failure>::new).await })
}
