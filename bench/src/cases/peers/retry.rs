//! retry. Blocking only, and without a cap, which is written by hand.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use retry::delay::{Exponential, NoDelay, jitter};

use crate::cases::{CAP, INITIAL, RETRIES};
use crate::operation::{fail_large_three_times, fail_three_times, succeed, succeed_or_large};
use crate::repeat;
use crate::subject::{Call, Package, Subject};

pub(crate) const RETRY: Subject = Subject {
    name: "retry",
    package: Some(Package { name: "retry", version: Some("2"), features: &[] }),
    loops: &[
        (Call::BlockingSuccess, blocking_success),
        (Call::DelayBy2, delay_by_2),
        (Call::DelayBy2Steady, delay_by_2_steady),
        (Call::DelayBy1_5, delay_by_1_5),
        (Call::DelayBy1_5Steady, delay_by_1_5_steady),
        (Call::BlockingFailures, blocking_failures),
        (Call::LargeBlocking, large_blocking),
        (Call::LargeBlockingFailures, large_blocking_failures),
        (Call::ThreadDelayBy2, delay_by_2_steady),
        (Call::ThreadDelayBy1_1, delay_by_1_1),
        (Call::ThreadDelayBy1_1Steady, delay_by_1_1_steady),
    ],
    figures: &[],
};

fn delays(initial_millis: u64, factor: f64) -> impl Iterator<Item = Duration> {
    Exponential::from_millis_with_factor(initial_millis, factor).map(|delay| jitter(delay.min(CAP)))
}

fn initial_millis() -> u64 {
    black_box(INITIAL.as_millis() as u64)
}

fn blocking_success(times: u64) {
    let (millis, factor) = (initial_millis(), black_box(2.0));
    repeat::blocking(times, || {
        retry::retry(delays(millis, factor).take(RETRIES as usize), succeed)
    });
}

fn series(factor: f64) -> impl FnMut() -> Option<Duration> {
    let mut delays = delays(initial_millis(), black_box(factor));
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

fn blocking_failures(times: u64) {
    let (retries, calls) = (black_box(RETRIES as usize), Cell::new(0));
    repeat::blocking(times, || retry::retry(NoDelay.take(retries), || fail_three_times(&calls)));
}

fn large_blocking(times: u64) {
    let (millis, factor) = (initial_millis(), black_box(2.0));
    repeat::blocking(times, || {
        retry::retry(delays(millis, factor).take(RETRIES as usize), succeed_or_large)
    });
}

fn large_blocking_failures(times: u64) {
    let (retries, calls) = (black_box(RETRIES as usize), Cell::new(0));
    repeat::blocking(times, || {
        retry::retry(NoDelay.take(retries), || fail_large_three_times(&calls))
    });
}

fn delay_by_1_1(times: u64) {
    repeat::first(60, times, || series(1.1));
}

fn delay_by_1_1_steady(times: u64) {
    repeat::blocking(times, series(1.1));
}
