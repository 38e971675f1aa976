//! redial.

use std::cell::Cell;
use std::hint::black_box;

use redial::{
    Backoff, Breaker, Budget, Clock as _, Policy, SplitMix64, ThreadRandom, Time, TokioClock,
    Verdict, blocking, retry,
};

use crate::cases::{CAP, HOUR, INITIAL, RETRIES};
use crate::memory::per_sleeping_task;
use crate::operation::{
    Failing, FailingThrice, Failure, LargeFailure, Succeeding, fail_large_three_times,
    fail_three_times, succeed, succeed_or_large,
};
use crate::repeat;
use crate::subject::{Call, Figure, Package, Subject};
use crate::wall;
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
        (Call::LargeAsync, large_async),
        (Call::LargeAsyncByValue, large_async_by_value),
        (Call::LargeAsyncWhen, large_async_when),
        (Call::LargeAsyncClassify, large_async_classify),
        (Call::LargeAsyncHook, large_async_hook),
        (Call::LargeAsyncTimeout, large_async_timeout),
        (Call::LargeAsyncWithin, large_async_within),
        (Call::LargeAsyncBudget, large_async_budget),
        (Call::LargeAsyncOptions, large_async_options),
        (Call::LargeBlocking, large_blocking),
        (Call::LargeBlockingFailures, large_blocking_failures),
        (Call::ThreadDelayBy2, thread_delay_by_2),
        (Call::ThreadDelayBy1_1, thread_delay_by_1_1),
        (Call::ThreadDelayBy1_1Steady, thread_delay_by_1_1_steady),
        (Call::Build, build),
        (Call::Parse, parse),
        (Call::Clock, clock),
    ],
    figures: &[
        (Figure::Yields, yields_made),
        (Figure::FutureBytes, future_bytes),
        (Figure::TaskBytes, task_bytes),
        (Figure::OptionsFutureBytes, options_future_bytes),
        (Figure::OptionsTaskBytes, options_task_bytes),
        (Figure::PolicyBytes, || size_of::<Policy>() as f64),
        (Figure::SharedAlone, || shared(1)),
        (Figure::SharedByTwo, || shared(2)),
        (Figure::PaidAlone, || paid(1)),
        (Figure::PaidByTwo, || paid(2)),
    ],
};

const EXPONENTIAL: Backoff = Backoff::exponential(INITIAL).max(CAP).full_jitter();

static FETCH: Policy = EXPONENTIAL.attempts(RETRIES + 1);
static AT_ONCE: Policy = Backoff::none().attempts(RETRIES + 1);
static IN_AN_HOUR: Policy =
    Backoff::exponential(HOUR).max(HOUR).full_jitter().attempts(RETRIES + 1);
static DOUBLING: Policy = EXPONENTIAL.unlimited();
static GROWING: Policy = EXPONENTIAL.factor(1.5).unlimited();
static GROWING_SLOWLY: Policy = EXPONENTIAL.factor(1.1).unlimited();
/// Never empty, however many tasks fail.
static BUDGET: Budget = Budget::builder().capacity(1e6).build();

fn async_success(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<Failure>::new));
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
    repeat::awaited(times, || retry(policy, operation));
}

fn yields_made() -> f64 {
    yields(|calls| retry(&AT_ONCE, || FailingThrice::<Failure>::new(calls)))
}

fn future_bytes() -> f64 {
    size_of_val(&retry(&FETCH, Succeeding::<Failure>::new)) as f64
}

fn task_bytes() -> f64 {
    per_sleeping_task(|| async { retry(&IN_AN_HOUR, Failing::<Failure>::new).await })
}

fn large_async(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<LargeFailure>::new));
}

fn large_async_by_value(times: u64) {
    let policy = black_box(FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<LargeFailure>::new));
}

fn large_async_when(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || {
        retry(policy, Succeeding::<LargeFailure>::new).when(|_| black_box(true))
    });
}

fn large_async_classify(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || {
        retry(policy, Succeeding::<LargeFailure>::new).classify(|_| black_box(Verdict::Retry))
    });
}

fn large_async_hook(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || {
        retry(policy, Succeeding::<LargeFailure>::new).on_retry(|event| {
            black_box(event.attempt);
        })
    });
}

fn large_async_timeout(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<LargeFailure>::new).timeout(HOUR));
}

fn large_async_within(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<LargeFailure>::new).within(HOUR * 2));
}

fn large_async_budget(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || retry(policy, Succeeding::<LargeFailure>::new).budget(&BUDGET));
}

/// All that a service sets.
macro_rules! with_options {
    ($policy:expr, $operation:expr) => {
        retry($policy, $operation)
            .classify(|_| black_box(Verdict::Retry))
            .on_retry(|event| {
                black_box(event.attempt);
            })
            .timeout(HOUR)
            .within(HOUR * 2)
            .budget(&BUDGET)
    };
}

fn large_async_options(times: u64) {
    let policy = black_box(&FETCH);
    repeat::awaited(times, || with_options!(policy, Succeeding::<LargeFailure>::new));
}

fn large_blocking(times: u64) {
    let policy = black_box(&FETCH);
    repeat::blocking(times, || blocking::retry(policy, succeed_or_large));
}

fn large_blocking_failures(times: u64) {
    let (policy, calls) = (black_box(&AT_ONCE), Cell::new(0));
    repeat::blocking(times, || blocking::retry(policy, || fail_large_three_times(&calls)));
}

fn thread_delay_by_2(times: u64) {
    let mut delays = black_box(&DOUBLING).delays(ThreadRandom);
    repeat::blocking(times, || delays.next());
}

fn thread_delay_by_1_1(times: u64) {
    let policy = black_box(&GROWING_SLOWLY);
    repeat::first(60, times, || {
        let mut delays = policy.delays(ThreadRandom);
        move || delays.next()
    });
}

fn thread_delay_by_1_1_steady(times: u64) {
    let mut delays = black_box(&GROWING_SLOWLY).delays(ThreadRandom);
    repeat::blocking(times, || delays.next());
}

fn build(times: u64) {
    repeat::blocking(times, || {
        Backoff::exponential(black_box(INITIAL))
            .max(black_box(CAP))
            .full_jitter()
            .try_attempts(black_box(RETRIES + 1))
    });
}

fn parse(times: u64) {
    const CLAUSE: &str =
        "retry: 3, delay: 100ms, backoff: exponential, max_delay: 60s, jitter: full";
    repeat::blocking(times, || black_box(CLAUSE).parse::<Policy>().ok());
}

fn clock(times: u64) {
    repeat::blocking(times, || TokioClock.now());
}

fn options_future_bytes() -> f64 {
    let call = with_options!(&FETCH, Succeeding::<Failure>::new);
    size_of_val(&call) as f64
}

fn options_task_bytes() -> f64 {
    per_sleeping_task(|| async { with_options!(&IN_AN_HOUR, Failing::<Failure>::new).await })
}

/// A call that succeeds: it deposits, is admitted, and reports.
fn shared(threads: usize) -> f64 {
    let (budget, breaker) = (Budget::new(), Breaker::new());
    wall::on_threads(threads, |time| {
        budget.deposit();
        breaker.admit(|| Time::from_nanos(time)).map(redial::Permit::succeeded)
    })
}

/// A call that pays for a retry, of which it deposits as much as it takes.
fn paid(threads: usize) -> f64 {
    let budget = Budget::builder().deposit(1.0).cost(1.0).build();
    let breaker = Breaker::new();
    wall::on_threads(threads, |time| {
        let now = Time::from_nanos(time);
        budget.deposit();
        let paid = budget.withdraw(now);
        (paid, breaker.admit(|| now).map(redial::Permit::succeeded))
    })
}
