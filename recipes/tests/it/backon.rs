use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder, ExponentialBuilder, FibonacciBuilder, Retryable};

use crate::{Calls, SECOND, panics};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn jitter_goes_beyond_the_cap_up_to_twice() {
    let delays: Vec<Duration> = (0..100)
        .flat_map(|seed| {
            ExponentialBuilder::new()
                .with_min_delay(MINUTE)
                .with_max_delay(MINUTE)
                .with_jitter()
                .with_jitter_seed(seed)
                .build()
        })
        .collect();
    assert!(delays.iter().all(|delay| (MINUTE..=MINUTE * 2).contains(delay)));
    assert!(delays.iter().any(|delay| *delay > MINUTE * 19 / 10));
}

#[test]
fn a_first_delay_and_a_fibonacci_sum_pass_the_cap() {
    let first =
        ExponentialBuilder::new().with_min_delay(MINUTE * 2).with_max_delay(MINUTE).build().next();
    assert_eq!(first, Some(MINUTE * 2));
    let greatest = FibonacciBuilder::new()
        .with_min_delay(SECOND)
        .with_max_delay(SECOND * 10)
        .with_max_times(20)
        .build()
        .max();
    assert_eq!(greatest, Some(SECOND * 13));
}

#[test]
fn three_times_are_four_calls_and_no_jitter_by_default() {
    let delays = || ExponentialBuilder::default().build();
    assert_eq!(delays().collect::<Vec<_>>(), [SECOND, SECOND * 2, SECOND * 4]);
}

#[test]
fn a_factor_is_a_float() {
    let second =
        ExponentialBuilder::new().with_min_delay(Duration::from_millis(100)).build().nth(1);
    assert_eq!(second, Some(Duration::from_nanos(200_000_003)));
}

#[test]
fn some_settings_panic() {
    assert!(panics(|| {
        let builder = ExponentialBuilder::new()
            .with_min_delay(Duration::MAX)
            .without_max_delay()
            .with_total_delay(Some(Duration::MAX));
        let _ = builder.build().count();
    }));
    assert!(panics(|| {
        let builder = ConstantBuilder::new().with_delay(Duration::MAX).with_jitter();
        let _ = builder.build().count();
    }));
}

#[tokio::test(start_paused = true)]
async fn an_adjusted_delay_goes_on_past_the_count() {
    let calls = Calls::default();
    let result = (|| async { if calls.count() < 50 { Err("busy") } else { Ok(()) } })
        .retry(ExponentialBuilder::default().with_max_times(3))
        .adjust(|_, _| Some(SECOND))
        .await;
    assert_eq!((result, calls.get()), (Ok(()), 50));
}

#[tokio::test(start_paused = true)]
async fn a_total_delay_does_not_count_the_attempts() {
    let start = tokio::time::Instant::now();
    let attempt = || async {
        tokio::time::sleep(MINUTE).await;
        Err::<(), _>("slow")
    };
    let builder = ExponentialBuilder::default().with_total_delay(Some(SECOND * 10));
    assert_eq!(attempt.retry(builder).await, Err("slow"));
    assert!(start.elapsed() > MINUTE * 4);
}
