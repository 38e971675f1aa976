//! The same on tokio's clock: paused, or in real milliseconds.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use redial::{Backoff, Error, Policy, Stop, retry};

use super::SECOND;

#[tokio::test(start_paused = true)]
async fn the_longest_delays_do_not_panic() {
    for backoff in [Backoff::constant(Duration::MAX), Backoff::exponential(Duration::MAX)] {
        let outcome = retry(backoff.attempts(3), || ready(Err::<(), _>("down")))
            .within(Duration::MAX)
            .timeout(Duration::MAX)
            .outcome()
            .await;
        assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::AttemptsSpent)));
    }
}

/// Real time: the longest sleep is begun on a real timer, and given up.
#[tokio::test]
async fn the_longest_delay_may_be_given_up() {
    let call = retry(Backoff::constant(Duration::MAX).attempts(2), || ready(Err::<(), _>(())));
    assert!(tokio::time::timeout(Duration::from_millis(2), call).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_longest_timeout_does_not_panic() {
    let operation = || async {
        tokio::time::sleep(SECOND).await;
        Ok::<_, ()>("done")
    };
    let done = retry(Policy::DEFAULT, operation).timeout(Duration::MAX).await;
    assert_eq!(done, Ok("done"));
}

/// Real time: without a yield in each round the timeout would never get its turn. The loop would
/// then end by itself, after more rounds than milliseconds are enough for, so that the test fails
/// and does not hang.
#[tokio::test]
async fn a_timeout_around_a_hot_loop_fires() {
    const MANY: u32 = 20_000_000;
    let hot = || {
        let mut rounds = 0;
        let operation = move || {
            rounds += 1;
            ready(if rounds > MANY { Ok(()) } else { Err(7) })
        };
        retry(Backoff::none().unlimited(), operation)
    };
    assert!(tokio::time::timeout(Duration::from_millis(5), hot()).await.is_err());
    // Spawned, on a runtime of one thread: the task must let the timer's task run.
    let task = tokio::spawn(async move { hot().await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!task.is_finished());
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn another_task_makes_progress_between_failures_without_a_delay() {
    let progress = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = Arc::clone(&progress);
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let call = retry(Backoff::none().attempts(1000), || ready(Err::<(), _>("down")));
    assert_eq!(call.await, Err("down"));
    let turns = progress.load(std::sync::atomic::Ordering::Relaxed);
    other.abort();
    assert!(turns >= 10, "{turns} turns in 999 retries");
}

#[tokio::test(start_paused = true)]
async fn what_is_decided_is_slept_on_tokios_clock_too() {
    let start = tokio::time::Instant::now();
    let policy: Policy = "retry: 3, delay: 100ms, backoff: exponential".parse().unwrap();
    let outcome = retry(policy, || ready(Err::<(), _>("down"))).outcome().await;
    assert_eq!(outcome.elapsed, Duration::from_millis(700));
    assert_eq!(start.elapsed(), Duration::from_millis(700));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_cut_to_what_within_leaves_on_tokios_clock_too() {
    let outcome = retry(Backoff::constant(SECOND).unlimited(), pending::<Result<(), ()>>)
        .timeout(SECOND * 4)
        .within(SECOND * 7)
        .outcome()
        .await;
    assert_eq!((outcome.attempts, outcome.elapsed), (2, SECOND * 7));
    assert_eq!(outcome.result, Err(Error::TimedOut(None)));
}
