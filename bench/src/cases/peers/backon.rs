//! backon.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use backon::{
    BackoffBuilder, BlockingRetryable, ConstantBuilder, ExponentialBackoff, ExponentialBuilder,
    Retryable,
};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{
    Failing, FailingThrice, Failure, LargeFailure, Succeeding, fail_large_three_times,
    fail_three_times, succeed, succeed_or_large,
};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const BACKON: Subject = Subject {
    name: "backon",
    package: Some(Package { name: "backon", version: Some("1.6"), features: &[] }),
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::BlockingSuccess, blocking_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::DelayBy1_5, delay_by_1_5),
        (Call::DelayBy1_5Steady, delay_by_1_5_steady),
        (Call::BlockingFailures, blocking_failures),
        (Call::AsyncFailures, async_failures),
        // A policy is always by value.
        (Call::LargeAsync, large_async),
        (Call::LargeAsyncByValue, large_async),
        (Call::LargeAsyncWhen, large_async_when),
        (Call::LargeBlocking, large_blocking),
        (Call::LargeBlockingFailures, large_blocking_failures),
        (Call::ThreadDelayBy2, delay_by_2_steady),
        (Call::ThreadDelayBy1_1, delay_by_1_1),
        (Call::ThreadDelayBy1_1Steady, delay_by_1_1_steady),
        (Call::Build, build),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
        (Figure::PolicyBytes, || size_of::<ExponentialBuilder>() as f64),
    ],
};

const FETCH: ExponentialBuilder = ExponentialBuilder::new()
    .with_min_delay(INITIAL)
    .with_max_delay(CAP)
    .with_jitter()
    .with_max_times(RETRIES as usize);

const AT_ONCE: ConstantBuilder =
    ConstantBuilder::new().with_delay(Duration::ZERO).with_max_times(RETRIES as usize);

fn async_success(times: u64) {
    let policy = black_box(FETCH);
    repeat::awaited(times, || Retryable::retry(Succeeding::<Failure>::new, policy));
}

fn blocking_success(times: u64) {
    let policy = black_box(FETCH);
    repeat::blocking(times, || BlockingRetryable::retry(succeed, policy).call());
}

fn series(factor: f32) -> ExponentialBackoff {
    black_box(FETCH.without_max_times().with_factor(factor)).build()
}

fn delay_by_2(times: u64) {
    repeat::first_ten(times, || {
        let mut series = series(2.0);
        move || series.next()
    });
}

fn delay_by_2_steady(times: u64) {
    let mut series = series(2.0);
    repeat::blocking(times, || series.next());
}

fn delay_by_1_5(times: u64) {
    repeat::first_ten(times, || {
        let mut series = series(1.5);
        move || series.next()
    });
}

fn delay_by_1_5_steady(times: u64) {
    let mut series = series(1.5);
    repeat::blocking(times, || series.next());
}

fn blocking_failures(times: u64) {
    let (policy, calls) = (black_box(AT_ONCE), Cell::new(0));
    let operation = || fail_three_times(&calls);
    repeat::blocking(times, || BlockingRetryable::retry(operation, policy).call());
}

fn async_failures(times: u64) {
    let (policy, calls) = (black_box(AT_ONCE), Cell::new(0));
    let operation = || FailingThrice::<Failure>::new(&calls);
    repeat::awaited(times, || Retryable::retry(operation, policy));
}

fn yields_made() -> f64 {
    yields(|calls| Retryable::retry(|| FailingThrice::<Failure>::new(calls), AT_ONCE))
}

fn future_bytes() -> f64 {
    size_of_val(&Retryable::retry(Succeeding::<Failure>::new, FETCH)) as f64
}

fn task_bytes() -> f64 {
    const IN_AN_HOUR: ExponentialBuilder = FETCH.with_min_delay(HOUR).with_max_delay(HOUR);
    per_sleeping_task(|| async { Retryable::retry(Failing::<Failure>::new, IN_AN_HOUR).await })
}

fn large_async(times: u64) {
    let policy = black_box(FETCH);
    repeat::awaited(times, || Retryable::retry(Succeeding::<LargeFailure>::new, policy));
}

fn large_async_when(times: u64) {
    let policy = black_box(FETCH);
    repeat::awaited(times, || {
        Retryable::retry(Succeeding::<LargeFailure>::new, policy).when(|_| black_box(true))
    });
}

fn large_blocking(times: u64) {
    let policy = black_box(FETCH);
    repeat::blocking(times, || BlockingRetryable::retry(succeed_or_large, policy).call());
}

fn large_blocking_failures(times: u64) {
    let (policy, calls) = (black_box(AT_ONCE), Cell::new(0));
    let operation = || fail_large_three_times(&calls);
    repeat::blocking(times, || BlockingRetryable::retry(operation, policy).call());
}

fn delay_by_1_1(times: u64) {
    repeat::first(60, times, || {
        let mut series = series(1.1);
        move || series.next()
    });
}

fn delay_by_1_1_steady(times: u64) {
    let mut series = series(1.1);
    repeat::blocking(times, || series.next());
}

fn build(times: u64) {
    repeat::blocking(times, || {
        ExponentialBuilder::new()
            .with_min_delay(black_box(INITIAL))
            .with_max_delay(black_box(CAP))
            .with_jitter()
            .with_max_times(black_box(RETRIES as usize))
    });
}
