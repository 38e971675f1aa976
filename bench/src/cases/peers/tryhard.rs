//! tryhard. It has no jitter, so its next delay is not compared.

use std::cell::Cell;
use std::hint::black_box;

use tryhard::backoff_strategies::{ExponentialBackoff, NoBackoff};
use tryhard::{NoOnRetry, RetryFutureConfig, retry_fn};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const TRYHARD: Subject = Subject {
    name: "tryhard",
    package: Some(Package { name: "tryhard", version: Some("0.5"), features: &[] }),
    loops: &[(Call::AsyncSuccess, async_success), (Call::AsyncFailures, async_failures)],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
    ],
};

fn fetch() -> RetryFutureConfig<ExponentialBackoff, NoOnRetry> {
    RetryFutureConfig::new(RETRIES).exponential_backoff(INITIAL).max_delay(CAP)
}

fn at_once() -> RetryFutureConfig<NoBackoff, NoOnRetry> {
    RetryFutureConfig::new(RETRIES).no_backoff()
}

fn async_success(times: u64) {
    let config = black_box(fetch());
    repeat::awaited(times, || retry_fn(Succeeding::<Failure>::new).with_config(config));
}

fn async_failures(times: u64) {
    let (config, calls) = (black_box(at_once()), Cell::new(0));
    let operation = || FailingThrice::<Failure>::new(&calls);
    repeat::awaited(times, || retry_fn(operation).with_config(config));
}

fn yields_made() -> f64 {
    yields(|calls| retry_fn(|| FailingThrice::<Failure>::new(calls)).with_config(at_once()))
}

fn future_bytes() -> f64 {
    size_of_val(&retry_fn(Succeeding::<Failure>::new).with_config(fetch())) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async {
        let hours = RetryFutureConfig::new(RETRIES).exponential_backoff(HOUR).max_delay(HOUR);
        retry_fn(Failing::<Failure>::new).with_config(hours).await
    })
}
