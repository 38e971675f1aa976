use std::time::Duration;

use tokio_retry::Retry;
use tokio_retry::strategy::{ExponentialBackoff, FixedInterval};

use crate::{Calls, SECOND, panics};

#[test]
fn the_base_is_the_factor_too() {
    let millis: Vec<_> =
        ExponentialBackoff::from_millis(500).take(3).map(|delay| delay.as_millis()).collect();
    assert_eq!(millis, [500, 250_000, 125_000_000]);
    let millis: Vec<_> = ExponentialBackoff::from_millis(2)
        .factor(500)
        .take(3)
        .map(|delay| delay.as_millis())
        .collect();
    assert_eq!(millis, [1000, 2000, 4000]);
}

#[tokio::test(start_paused = true)]
async fn three_are_four_calls_and_the_first_is_before_the_first_poll() {
    let calls = Calls::default();
    let action = || {
        calls.count();
        async { Err::<(), _>("down") }
    };
    let retry = Retry::start(FixedInterval::new(SECOND).take(3), action);
    assert_eq!(calls.get(), 1);
    assert_eq!(retry.await, Err("down"));
    assert_eq!(calls.get(), 4);
}

#[test]
fn the_longest_delay_panics() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    assert!(panics(std::panic::AssertUnwindSafe(|| {
        let retry =
            async { Retry::start([Duration::MAX], || async { Err::<(), _>("down") }).await };
        let _ = runtime.block_on(retry);
    })));
}
