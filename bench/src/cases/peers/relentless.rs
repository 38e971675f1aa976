//! relentless.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Duration;

use relentless::clock::TokioClock;
use relentless::stop::{self, StopAfterAttempts};
use relentless::wait::{self, Jittered, WaitCapped, WaitExponential, WaitFixed};
use relentless::{RetryPolicy, RetryState, Wait};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{Failing, FailingThrice, Failure, Succeeding, fail_three_times, succeed};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::yields::yields;

pub(crate) const RELENTLESS: Subject = Subject {
    name: "relentless",
    package: Some(Package {
        name: "relentless",
        version: Some("0.18"),
        features: &["tokio-clock"],
    }),
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

type Waits = Jittered<WaitCapped<WaitExponential>>;

fn waits(initial: Duration, cap: Duration, factor: f64) -> Waits {
    wait::exponential(initial).base(factor).cap(cap).full_jitter()
}

fn policy(initial: Duration, cap: Duration) -> RetryPolicy<StopAfterAttempts, Waits> {
    RetryPolicy::new().stop(stop::attempts(RETRIES + 1)).wait(waits(initial, cap, 2.0))
}

fn at_once() -> RetryPolicy<StopAfterAttempts, WaitFixed> {
    RetryPolicy::new().stop(stop::attempts(RETRIES + 1)).wait(wait::fixed(Duration::ZERO))
}

fn async_success(times: u64) {
    let (policy, clock) = (black_box(policy(INITIAL, CAP)), TokioClock::new());
    repeat::awaited(times, || {
        policy.retry_async(|_| Succeeding::<Failure>::new()).clock(clock).call()
    });
}

fn blocking_success(times: u64) {
    let policy = black_box(policy(INITIAL, CAP));
    repeat::blocking(times, || policy.retry(|_| succeed()).call());
}

/// The delays of one strategy, which is built beforehand: it has no state but its generator.
fn series(waits: &Waits) -> impl FnMut() -> Duration {
    let mut attempt = 0;
    let mut previous = None;
    move || {
        attempt += 1;
        let delay =
            waits.next_wait(&RetryState::for_attempt(attempt).with_previous_delay(previous));
        previous = Some(delay);
        delay
    }
}

fn delay_by_2(times: u64) {
    let waits = black_box(waits(INITIAL, CAP, 2.0));
    repeat::first_ten(times, || series(&waits));
}

fn delay_by_2_steady(times: u64) {
    let waits = black_box(waits(INITIAL, CAP, 2.0));
    repeat::blocking(times, series(&waits));
}

fn delay_by_1_5(times: u64) {
    let waits = black_box(waits(INITIAL, CAP, 1.5));
    repeat::first_ten(times, || series(&waits));
}

fn delay_by_1_5_steady(times: u64) {
    let waits = black_box(waits(INITIAL, CAP, 1.5));
    repeat::blocking(times, series(&waits));
}

fn blocking_failures(times: u64) {
    let (policy, calls) = (black_box(at_once()), Cell::new(0));
    repeat::blocking(times, || policy.retry(|_| fail_three_times(&calls)).call());
}

fn async_failures(times: u64) {
    let (policy, clock, calls) = (black_box(at_once()), TokioClock::new(), Cell::new(0));
    repeat::awaited(times, || {
        policy.retry_async(|_| FailingThrice::<Failure>::new(&calls)).clock(clock).call()
    });
}

fn yields_made() -> f64 {
    let policy = at_once();
    yields(|calls| {
        let operation = |_| FailingThrice::<Failure>::new(calls);
        policy.retry_async(operation).clock(TokioClock::new()).call()
    })
}

fn future_bytes() -> f64 {
    let policy = policy(INITIAL, CAP);
    let call = policy.retry_async(|_| Succeeding::<Failure>::new()).clock(TokioClock::new()).call();
    size_of_val(&call) as f64
}

fn task_bytes() -> f64 {
    static IN_AN_HOUR: LazyLock<RetryPolicy<StopAfterAttempts, Waits>> =
        LazyLock::new(|| policy(HOUR, HOUR));
    let (policy, clock) = (&*IN_AN_HOUR, TokioClock::new());
    per_sleeping_task(|| async move {
        policy.retry_async(|_| Failing::<Failure>::new()).clock(clock).call().await
    })
}
