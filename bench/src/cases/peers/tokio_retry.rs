//! tokio-retry. Its delays are base, base², base³, …, so doubling from 100 ms is 50 times 2ⁿ.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use tokio_retry::Retry;
use tokio_retry::strategy::{ExponentialBackoff, FixedInterval, jitter};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, LargeFailure, Succeeding};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const TOKIO_RETRY: Subject = Subject {
    name: "tokio-retry",
    package: Some(Package { name: "tokio-retry", version: Some("0.3"), features: &[] }),
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::AsyncFailures, async_failures),
        (Call::LargeAsync, large_async),
        (Call::ThreadDelayBy2, delay_by_2_steady),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
    ],
};

fn fetch() -> ExponentialBackoff {
    ExponentialBackoff::from_millis(2).factor(INITIAL.as_millis() as u64 / 2).max_delay(CAP)
}

fn at_once() -> FixedInterval {
    FixedInterval::new(Duration::ZERO)
}

fn async_success(times: u64) {
    let policy = black_box(fetch());
    repeat::awaited(times, || {
        let delays = policy.clone().map(jitter).take(RETRIES as usize);
        Retry::start(delays, Succeeding::<Failure>::new)
    });
}

fn delay_by_2(times: u64) {
    repeat::first_ten(times, || {
        let mut series = black_box(fetch()).map(jitter);
        move || series.next()
    });
}

fn delay_by_2_steady(times: u64) {
    let mut series = black_box(fetch()).map(jitter);
    repeat::blocking(times, || series.next());
}

fn async_failures(times: u64) {
    let (policy, calls) = (black_box(at_once()), Cell::new(0));
    repeat::awaited(times, || {
        let delays = policy.clone().take(RETRIES as usize);
        Retry::start(delays, || FailingThrice::<Failure>::new(&calls))
    });
}

fn yields_made() -> f64 {
    yields(|calls| {
        Retry::start(at_once().take(RETRIES as usize), || FailingThrice::<Failure>::new(calls))
    })
}

fn future_bytes() -> f64 {
    let delays = fetch().map(jitter).take(RETRIES as usize);
    size_of_val(&Retry::start(delays, Succeeding::<Failure>::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async {
        let hours = ExponentialBackoff::from_millis(HOUR.as_millis() as u64).max_delay(HOUR);
        Retry::start(hours.map(jitter).take(RETRIES as usize), Failing::<Failure>::new).await
    })
}

fn large_async(times: u64) {
    let policy = black_box(fetch());
    repeat::awaited(times, || {
        let delays = policy.clone().map(jitter).take(RETRIES as usize);
        Retry::start(delays, Succeeding::<LargeFailure>::new)
    });
}
