//! The operation alone.

use std::cell::Cell;
use std::time::Instant;

use crate::cases::HOUR;
use crate::memory::per_sleeping_task;
use crate::operation::{
    Failing, FailingThrice, Failure, LargeFailure, Succeeding, fail_large_three_times,
    fail_three_times, succeed, succeed_or_large,
};
use crate::repeat;
use crate::subject::{Call, Figure, Subject};
use crate::yields::yields;

pub(crate) const BARE: Subject = Subject {
    name: "bare",
    package: None,
    loops: &[
        (Call::AsyncSuccess, async_success),
        (Call::BlockingSuccess, blocking_success),
        (Call::BlockingFailures, blocking_failures),
        (Call::AsyncFailures, async_failures),
        (Call::LargeAsync, large_async),
        (Call::LargeBlocking, large_blocking),
        (Call::LargeBlockingFailures, large_blocking_failures),
        (Call::Clock, clock),
    ],
    figures: &[(Figure::Yields, yields_made), (Figure::TaskBytes, task_bytes)],
};

fn async_success(times: u64) {
    repeat::awaited(times, Succeeding::<Failure>::new);
}

fn blocking_success(times: u64) {
    repeat::blocking(times, succeed);
}

fn blocking_failures(times: u64) {
    let calls = Cell::new(0);
    repeat::blocking(times, || while fail_three_times(&calls).is_err() {});
}

async fn four_times(calls: &Cell<u64>) {
    while FailingThrice::<Failure>::new(calls).await.is_err() {}
}

fn async_failures(times: u64) {
    let calls = Cell::new(0);
    repeat::awaited(times, || four_times(&calls));
}

fn yields_made() -> f64 {
    yields(four_times)
}

fn clock(times: u64) {
    repeat::blocking(times, Instant::now);
}

/// A sleep and nothing around it.
fn task_bytes() -> f64 {
    per_sleeping_task(|| async {
        let _ = Failing::<Failure>::new().await;
        tokio::time::sleep(HOUR).await;
    })
}

fn large_async(times: u64) {
    repeat::awaited(times, Succeeding::<LargeFailure>::new);
}

fn large_blocking(times: u64) {
    repeat::blocking(times, succeed_or_large);
}

fn large_blocking_failures(times: u64) {
    let calls = Cell::new(0);
    repeat::blocking(times, || while fail_large_three_times(&calls).is_err() {});
}
