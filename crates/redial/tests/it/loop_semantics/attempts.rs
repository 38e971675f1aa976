//! Attempts are counted from 1, and the last error comes back as it was.

use std::cell::{Cell, RefCell};
use std::future::ready;

use redial::testing::ManualClock;
use redial::{Backoff, Error, Stop, Verdict, blocking, retry, tries_on};

use super::SECOND;
use crate::scenario::check;
use crate::watched::WatchedClock;

#[test]
fn a_success_at_once_is_all_that_happens() {
    check(
        "attempts: 3, delay: 1s",
        "ok",
        r#"0s attempt 1
           0s Ok("done") success: attempts 1, waited 0s, elapsed 0s, errors []"#,
    );
}

#[test]
fn nothing_is_slept_before_the_first_attempt_or_after_the_last() {
    check(
        "attempts: 3, delay: 1s, backoff: exponential",
        "a, b, c",
        r#"0s attempt 1
           0s judge a
           0s retry 1/3 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge b
           1s retry 2/3 b: waits 2s, in all 3s
           1s timer 2s
           3s attempt 3
           3s Err("c") attempts-spent: attempts 3, waited 3s, elapsed 3s, errors [1 "a", 2 "b", 3 "c"]"#,
    );
}

#[test]
fn one_attempt_is_not_judged_and_not_retried() {
    check(
        "attempts: 1",
        "200ms:a",
        r#"0s attempt 1
           200ms Err("a") attempts-spent: attempts 1, waited 0s, elapsed 200ms, errors [1 "a"]"#,
    );
}

#[test]
fn a_success_ends_it() {
    check(
        "attempts: 9, delay: 1s",
        "a, b, 250ms:ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/9 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge b
           1s retry 2/9 b: waits 1s, in all 2s
           1s timer 1s
           2s attempt 3
           2250ms Ok("done") success: attempts 3, waited 2s, elapsed 2250ms, errors [1 "a", 2 "b"]"#,
    );
}

#[test]
fn a_success_of_the_last_attempt_is_a_success() {
    check(
        "attempts: 2",
        "a, ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/2 a: waits 0s, in all 0s
           0s attempt 2
           0s Ok("done") success: attempts 2, waited 0s, elapsed 0s, errors [1 "a"]"#,
    );
}

#[test]
fn a_hundred_thousand_unlimited_attempts_keep_the_first_and_the_last_eight_errors() {
    let policy = Backoff::none().unlimited();
    let kept: Vec<u32> = (1..=8).chain(99_993..=100_000).collect();
    let verdict = |n: &u32| if *n < 100_000 { Verdict::Retry } else { Verdict::Stop };

    let outcome = blocking::call(policy, |attempt| Err::<(), _>(attempt.number))
        .clock(ManualClock::new())
        .classify(verdict)
        .outcome();
    assert_eq!(outcome.errors().map(|(_, error)| *error).collect::<Vec<_>>(), kept);

    let clock = ManualClock::new();
    let mut n = 0;
    let outcome = clock.block_on(async {
        let operation = || {
            n += 1;
            ready(Err::<(), _>(n))
        };
        retry(policy, operation).clock(&clock).classify(verdict).outcome().await
    });
    assert_eq!((outcome.attempts, outcome.reason), (100_000, Some(Stop::Rejected)));
    assert!(outcome.errors().all(|(attempt, error)| attempt == *error));
    assert_eq!(outcome.errors().map(|(_, error)| *error).collect::<Vec<_>>(), kept);
}

#[test]
fn the_errors_of_an_outcome_are_the_first_and_the_last_eight_at_every_count() {
    for attempts in 1..=40_u32 {
        for succeeds in [false, true] {
            let failures = attempts - u32::from(succeeds);
            let policy = Backoff::none().attempts(attempts);
            let outcome = blocking::call(policy, |attempt| match attempt.number {
                n if n > failures => Ok(()),
                n => Err(n),
            })
            .outcome();
            let expected: Vec<u32> =
                (1..=failures).filter(|n| *n <= 8 || *n > failures.saturating_sub(8)).collect();
            let errors: Vec<u32> = outcome.errors().map(|(_, error)| *error).collect();
            assert_eq!(errors, expected, "{attempts} attempts, {failures} failures");
            assert_eq!(outcome.recovered(), succeeds && attempts > 1);
        }
    }
}

/// Not `Clone`, and told apart by where it is: what comes back is the very error of the operation.
#[derive(Debug)]
struct Own(Box<u32>);

impl std::fmt::Display for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Own {}

#[test]
fn the_operations_own_last_error_comes_back_unchanged() {
    let policy = Backoff::none().attempts(3);
    let made = RefCell::new(Vec::new());
    let own = || {
        let error = Own(Box::new(7));
        made.borrow_mut().push(std::ptr::from_ref(&*error.0));
        Err::<(), _>(error)
    };
    let clock = ManualClock::new();
    let last =
        |error: Own| made.take().last().is_some_and(|at| *at == std::ptr::from_ref(&*error.0));

    assert!(last(blocking::retry(policy, own).unwrap_err()));
    assert!(last(blocking::call(policy, |_| own()).outcome().result.unwrap_err()));
    let plain = async { retry(policy, || ready(own())).clock(&clock).await };
    assert!(last(clock.block_on(plain).unwrap_err()));
    let told = async { retry(policy, || ready(own())).clock(&clock).outcome().await };
    assert!(last(clock.block_on(told).result.unwrap_err()));
    let timed = async { retry(policy, || ready(own())).clock(&clock).timeout(SECOND).await };
    assert!(last(clock.block_on(timed).unwrap_err().into_inner().unwrap()));
    let kept = clock.block_on(async {
        let mut tries = tries_on(&clock, policy);
        loop {
            if let Err(error) = tries.failed(own().unwrap_err()).await {
                break error;
            }
        }
    });
    assert!(last(kept));
}

/// A future that is done with goes before the wait: it may hold a connection.
#[test]
fn an_attempt_is_gone_before_its_error_is_judged() {
    struct Held<'a>(&'a Cell<bool>);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    let held = Cell::new(false);
    let clock = WatchedClock::new();
    let policy = Backoff::constant(SECOND).attempts(3);
    let operation = || {
        held.set(true);
        let connection = Held(&held);
        // Held by the future itself, not by its body, which is over when it is ready.
        let mut result = Some(Err::<(), _>("down"));
        std::future::poll_fn(move |_| {
            let _ = &connection;
            std::task::Poll::Ready(result.take().expect("polled once"))
        })
    };
    let judge = |_: &&str| {
        assert!(!held.get());
        Verdict::Retry
    };
    let call = async { retry(policy, operation).clock(&clock).classify(judge).await };
    assert_eq!(clock.manual.block_on(call), Err("down"));
    let call =
        async { retry(policy, operation).clock(&clock).classify(judge).timeout(SECOND).await };
    assert_eq!(clock.manual.block_on(call), Err(Error::Failed("down")));
}
