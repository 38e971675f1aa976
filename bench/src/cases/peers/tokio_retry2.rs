//! tokio-retry2.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use tokio_retry2::strategy::{ExponentialFactorBackoff, FixedInterval, jitter};
use tokio_retry2::{Retry, RetryError};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const TOKIO_RETRY2: Subject = Subject {
    name: "tokio-retry2",
    package: Some(Package { name: "tokio-retry2", version: Some("0.9"), features: &["jitter"] }),
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::DelayBy1_5, delay_by_1_5),
        (Call::DelayBy1_5Steady, delay_by_1_5_steady),
        (Call::AsyncFailures, async_failures),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
    ],
};

/// What an operation has to fail with.
type Transient = RetryError<Failure>;

fn exponential(initial: Duration, factor: f64, cap: Duration) -> ExponentialFactorBackoff {
    ExponentialFactorBackoff::from_millis(initial.as_millis() as u64, factor).max_delay(cap)
}

fn at_once() -> FixedInterval {
    FixedInterval::new(Duration::ZERO)
}

fn async_success(times: u64) {
    let policy = black_box(exponential(INITIAL, 2.0, CAP));
    repeat::awaited(times, || {
        let delays = policy.clone().map(jitter).take(RETRIES as usize);
        Retry::spawn(delays, Succeeding::<Transient>::new)
    });
}

fn series(factor: f64) -> impl FnMut() -> Option<Duration> {
    let mut delays = black_box(exponential(INITIAL, factor, CAP)).map(jitter);
    move || delays.next()
}

fn delay_by_2(times: u64) {
    repeat::first_ten(times, || series(2.0));
}

fn delay_by_2_steady(times: u64) {
    repeat::blocking(times, series(2.0));
}

fn delay_by_1_5(times: u64) {
    repeat::first_ten(times, || series(1.5));
}

fn delay_by_1_5_steady(times: u64) {
    repeat::blocking(times, series(1.5));
}

fn async_failures(times: u64) {
    let (policy, calls) = (black_box(at_once()), Cell::new(0));
    repeat::awaited(times, || {
        let delays = policy.clone().take(RETRIES as usize);
        Retry::spawn(delays, || FailingThrice::<Transient>::new(&calls))
    });
}

fn yields_made() -> f64 {
    yields(|calls| {
        Retry::spawn(at_once().take(RETRIES as usize), || FailingThrice::<Transient>::new(calls))
    })
}

fn future_bytes() -> f64 {
    let delays = exponential(INITIAL, 2.0, CAP).map(jitter).take(RETRIES as usize);
    size_of_val(&Retry::spawn(delays, Succeeding::<Transient>::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async {
        let hours = exponential(HOUR, 2.0, HOUR).map(jitter).take(RETRIES as usize);
        Retry::spawn(hours, Failing::<Transient>::new).await
    })
}
