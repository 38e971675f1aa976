//! futures-retry. Delays and limits are the user's: here a handler that works them out from the
//! number of the attempt, without jitter.

use std::cell::Cell;
use std::hint::black_box;

use futures_retry::{ErrorHandler, FutureRetry, RetryPolicy};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const FUTURES_RETRY: Subject = Subject {
    name: "futures-retry",
    package: Some(Package { name: "futures-retry", version: Some("0.6"), features: &[] }),
    loops: &[(Call::AsyncSuccess, async_success), (Call::AsyncFailures, async_failures)],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
    ],
};

#[derive(Clone, Copy)]
struct Exponential;

impl ErrorHandler<Failure> for Exponential {
    type OutError = Failure;

    fn handle(&mut self, attempt: usize, failure: Failure) -> RetryPolicy<Failure> {
        if attempt > RETRIES as usize {
            return RetryPolicy::ForwardError(failure);
        }
        RetryPolicy::WaitRetry(INITIAL.saturating_mul(1 << (attempt - 1)).min(CAP))
    }
}

/// Again at once, which is this crate's word for no delay; it does not yield.
fn at_once(_: Failure) -> RetryPolicy<Failure> {
    RetryPolicy::Repeat
}

fn in_an_hour(_: Failure) -> RetryPolicy<Failure> {
    RetryPolicy::WaitRetry(HOUR)
}

fn async_success(times: u64) {
    let handler = black_box(Exponential);
    repeat::awaited(times, || FutureRetry::new(Succeeding::<Failure>::new, handler));
}

fn async_failures(times: u64) {
    let calls = Cell::new(0);
    let operation = || FailingThrice::<Failure>::new(&calls);
    repeat::awaited(times, || FutureRetry::new(operation, at_once));
}

fn yields_made() -> f64 {
    yields(|calls| FutureRetry::new(|| FailingThrice::<Failure>::new(calls), at_once))
}

fn future_bytes() -> f64 {
    size_of_val(&FutureRetry::new(Succeeding::<Failure>::new, Exponential)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async { FutureRetry::new(Failing::<Failure>::new, in_an_hour).await })
}
