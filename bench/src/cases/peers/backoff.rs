//! backoff. It has no limit of attempts; what it has instead, a limit of elapsed time, is off.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use backoff::backoff::{Backoff, Zero};
use backoff::{Error, ExponentialBackoff, ExponentialBackoffBuilder, future};

use crate::cases::{CAP, HOUR, INITIAL};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding, fail_three_times, succeed};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const BACKOFF: Subject = Subject {
    name: "backoff",
    package: Some(Package { name: "backoff", version: Some("0.4"), features: &["tokio"] }),
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

/// What an operation has to fail with.
type Transient = Error<Failure>;

fn exponential(initial: Duration, factor: f64, cap: Duration) -> ExponentialBackoff {
    ExponentialBackoffBuilder::new()
        .with_initial_interval(initial)
        .with_multiplier(factor)
        .with_max_interval(cap)
        .with_max_elapsed_time(None)
        .build()
}

fn async_success(times: u64) {
    let policy = black_box(exponential(INITIAL, 2.0, CAP));
    repeat::awaited(times, || future::retry(policy.clone(), Succeeding::<Transient>::new));
}

fn blocking_success(times: u64) {
    let policy = black_box(exponential(INITIAL, 2.0, CAP));
    repeat::blocking(times, || {
        backoff::retry(policy.clone(), || succeed().map_err(Transient::from))
    });
}

fn series(policy: &ExponentialBackoff) -> impl FnMut() -> Option<Duration> {
    let mut series = policy.clone();
    move || series.next_backoff()
}

fn delay_by_2(times: u64) {
    let policy = black_box(exponential(INITIAL, 2.0, CAP));
    repeat::first_ten(times, || series(&policy));
}

fn delay_by_2_steady(times: u64) {
    let policy = black_box(exponential(INITIAL, 2.0, CAP));
    repeat::blocking(times, series(&policy));
}

fn delay_by_1_5(times: u64) {
    let policy = black_box(exponential(INITIAL, 1.5, CAP));
    repeat::first_ten(times, || series(&policy));
}

fn delay_by_1_5_steady(times: u64) {
    let policy = black_box(exponential(INITIAL, 1.5, CAP));
    repeat::blocking(times, series(&policy));
}

fn blocking_failures(times: u64) {
    let calls = Cell::new(0);
    repeat::blocking(times, || {
        backoff::retry(Zero {}, || fail_three_times(&calls).map_err(Transient::from))
    });
}

fn async_failures(times: u64) {
    let calls = Cell::new(0);
    repeat::awaited(times, || future::retry(Zero {}, || FailingThrice::<Transient>::new(&calls)));
}

fn yields_made() -> f64 {
    yields(|calls| future::retry(Zero {}, || FailingThrice::<Transient>::new(calls)))
}

fn future_bytes() -> f64 {
    let policy = exponential(INITIAL, 2.0, CAP);
    size_of_val(&future::retry(policy, Succeeding::<Transient>::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async {
        future::retry(exponential(HOUR, 2.0, HOUR), Failing::<Transient>::new).await
    })
}
