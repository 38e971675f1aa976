use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;
use tokio_retry2::strategy::{ExponentialFactorBackoff, FixedInterval, jitter, jitter_range};
use tokio_retry2::{Retry, RetryError};

use crate::SECOND;

#[tokio::test(start_paused = true)]
async fn the_delay_that_an_error_asks_for_is_ignored() {
    let start = Instant::now();
    let action = || async { Err::<(), _>(RetryError::retry_after("busy", SECOND * 42)) };
    let result: Result<(), &str> = Retry::spawn(FixedInterval::new(SECOND).take(1), action).await;
    assert_eq!(result, Err("busy"));
    assert!(start.elapsed() < SECOND * 2);
}

#[tokio::test(start_paused = true)]
async fn the_hook_is_told_the_sum_and_called_on_the_last_failure() {
    static TOLD: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    let action = || async { Err::<(), RetryError<&str>>(RetryError::transient("down")) };
    let notify = |_: &&str, sum: Duration| TOLD.lock().unwrap().push(sum.as_secs());
    let strategy = FixedInterval::new(SECOND).take(3);
    let result: Result<(), &str> = Retry::spawn_notify(strategy, action, notify).await;
    assert_eq!(result, Err("down"));
    assert_eq!(*TOLD.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn jitter_goes_beyond_the_cap_by_half() {
    let delays: Vec<Duration> = (0..1000)
        .flat_map(|_| {
            ExponentialFactorBackoff::from_millis(10_000, 2.0)
                .max_delay(SECOND * 10)
                .map(jitter)
                .take(1)
        })
        .collect();
    assert!(delays.iter().all(|delay| (SECOND * 5..=SECOND * 15).contains(delay)));
    assert!(delays.iter().any(|delay| *delay > SECOND * 12));
}

#[test]
fn a_range_is_drawn_from_once() {
    let delays: Vec<Duration> =
        FixedInterval::new(SECOND).map(jitter_range(2..=4)).take(5).collect();
    assert!(delays.iter().all(|delay| *delay == delays[0]), "{delays:?}");
}
