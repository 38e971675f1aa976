use std::time::Duration;

use backoff::backoff::{Backoff, Constant};
use backoff::{Error, ExponentialBackoff, ExponentialBackoffBuilder, future};
use tokio::time::Instant;

use crate::{Calls, SECOND};

#[test]
fn the_defaults_are_those_of_the_page() {
    let defaults = ExponentialBackoff::default();
    assert_eq!(defaults.initial_interval, Duration::from_millis(500));
    assert_eq!((defaults.multiplier, defaults.randomization_factor), (1.5, 0.5));
    assert_eq!(defaults.max_interval, SECOND * 60);
    assert_eq!(defaults.max_elapsed_time, Some(SECOND * 15 * 60));
}

#[test]
fn jitter_goes_beyond_the_cap_by_half() {
    let delays: Vec<Duration> = (0..1000)
        .filter_map(|_| {
            ExponentialBackoffBuilder::new()
                .with_initial_interval(SECOND * 60)
                .with_max_interval(SECOND * 60)
                .build()
                .next_backoff()
        })
        .collect();
    assert!(delays.iter().all(|delay| (SECOND * 30..=SECOND * 91).contains(delay)));
    assert!(delays.iter().any(|delay| *delay > SECOND * 80));
}

#[tokio::test(start_paused = true)]
async fn under_a_paused_clock_no_time_passes_for_it() {
    let calls = Calls::default();
    let start = Instant::now();
    let backoff = ExponentialBackoffBuilder::new()
        .with_initial_interval(SECOND)
        .with_multiplier(1.0)
        .with_max_elapsed_time(Some(SECOND * 10))
        .build();
    let operation =
        || async { if calls.count() < 100 { Err(Error::transient("down")) } else { Ok(()) } };
    assert_eq!(future::retry(backoff, operation).await, Ok(()));
    assert!(start.elapsed() > SECOND * 30);
}

#[tokio::test(start_paused = true)]
async fn nothing_bounds_the_delay_that_an_error_asks_for() {
    let calls = Calls::default();
    let backoff =
        ExponentialBackoffBuilder::new().with_max_elapsed_time(Some(Duration::ZERO)).build();
    let operation = || async {
        if calls.count() < 20 { Err(Error::retry_after("busy", SECOND * 3600)) } else { Ok(()) }
    };
    assert_eq!(future::retry(backoff, operation).await, Ok(()));
    assert_eq!(calls.get(), 20);
}

#[tokio::test(start_paused = true)]
async fn the_operation_is_called_before_the_wait_and_before_the_first_poll() {
    let start = Instant::now();
    let calls = Calls::default();
    let mut called = Vec::new();
    let operation = || {
        called.push(start.elapsed().as_secs());
        let fails = calls.count() < 2;
        async move { if fails { Err(Error::transient("down")) } else { Ok(()) } }
    };
    let retry = future::retry(Constant::new(SECOND * 10), operation);
    assert_eq!(calls.get(), 1);
    assert_eq!(retry.await, Ok(()));
    assert!(start.elapsed() >= SECOND * 10);
    assert_eq!(called, [0, 0]);
}
