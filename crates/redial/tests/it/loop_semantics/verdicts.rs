//! Stop, retry, retry after exactly this long.

use std::future::ready;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Policy, Stop, Verdict, blocking, retry};

use crate::scenario::check;

#[test]
fn a_rejected_error_stops_the_call_at_once() {
    check(
        "attempts: 5, delay: 1s",
        "a, fatal!",
        r#"0s attempt 1
           0s judge a
           0s retry 1/5 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge fatal!
           1s Err("fatal!") rejected: attempts 2, waited 1s, elapsed 1s, errors [1 "a", 2 "fatal!"]"#,
    );
}

#[test]
fn when_is_the_short_form_of_it() {
    let policy = Backoff::none().attempts(9);
    let outcome = blocking::call(policy, |attempt| Err::<(), _>(attempt.number))
        .when(|error| *error < 4)
        .outcome();
    assert_eq!((outcome.attempts, outcome.reason), (4, Some(Stop::Rejected)));
    let clock = ManualClock::new();
    let mut n = 0;
    let operation = || {
        n += 1;
        ready(Err::<(), _>(n))
    };
    let call = async { retry(policy, operation).clock(&clock).when(|n| *n < 4).outcome().await };
    let outcome = clock.block_on(call);
    assert_eq!((outcome.attempts, outcome.reason), (4, Some(Stop::Rejected)));
}

/// Delay 2 of the policy follows the dictated one: the schedule goes by the number of failures.
#[test]
fn a_server_that_knows_better_sets_the_pace() {
    check(
        "attempts: 4, delay: 1s, backoff: exponential",
        "a, busy@7s, c, ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/4 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge busy@7s
           1s retry 2/4 busy@7s: waits 7s, in all 8s
           1s timer 7s
           8s attempt 3
           8s judge c
           8s retry 3/4 c: waits 4s, in all 12s
           8s timer 4s
           12s attempt 4
           12s Ok("done") success: attempts 4, waited 12s, elapsed 12s, errors [1 "a", 2 "busy@7s", 3 "c"]"#,
    );
}

#[test]
fn a_dictated_delay_of_zero_is_no_sleep() {
    check(
        "attempts: 2, delay: 1s",
        "busy@0s, ok",
        r#"0s attempt 1
           0s judge busy@0s
           0s retry 1/2 busy@0s: waits 0s, in all 0s
           0s attempt 2
           0s Ok("done") success: attempts 2, waited 0s, elapsed 0s, errors [1 "busy@0s"]"#,
    );
}

#[test]
fn a_dictated_delay_goes_over_the_cap_of_the_policy() {
    check(
        "attempts: 2, delay: 1s, max_delay: 2s",
        "busy@1min, ok",
        r#"0s attempt 1
           0s judge busy@1min
           0s retry 1/2 busy@1min: waits 1min, in all 1min
           0s timer 1min
           1min attempt 2
           1min Ok("done") success: attempts 2, waited 1min, elapsed 1min, errors [1 "busy@1min"]"#,
    );
}

#[test]
fn two_minutes_may_be_dictated_by_default() {
    check(
        "attempts: 2, delay: 1s",
        "busy@120s, ok",
        r#"0s attempt 1
           0s judge busy@120s
           0s retry 1/2 busy@120s: waits 2min, in all 2min
           0s timer 2min
           2min attempt 2
           2min Ok("done") success: attempts 2, waited 2min, elapsed 2min, errors [1 "busy@120s"]"#,
    );
}

#[test]
fn more_than_two_minutes_may_not_be_dictated_by_default() {
    check(
        "attempts: 2, delay: 1s",
        "busy@120s1ns",
        r#"0s attempt 1
           0s judge busy@120s1ns
           0s Err("busy@120s1ns") retry-after-too-long: attempts 1, waited 0s, elapsed 0s, errors [1 "busy@120s1ns"]"#,
    );
    // With other limits set, this one stays what it was.
    let outcome = blocking::call(Policy::DEFAULT, |_| Err::<(), _>("busy"))
        .classify(|_| Verdict::RetryAfter(Duration::from_nanos(120_000_000_001)))
        .wait_budget(Duration::from_secs(3600))
        .clock(ManualClock::new())
        .outcome();
    assert_eq!(outcome.reason, Some(Stop::RetryAfterTooLong));
}

#[test]
fn the_call_sets_the_bound_of_dictated_delays() {
    check(
        "attempts: 3, delay: 1min; max_retry_after: 5s",
        "busy@5s, busy@5001ms",
        r#"0s attempt 1
           0s judge busy@5s
           0s retry 1/3 busy@5s: waits 5s, in all 5s
           0s timer 5s
           5s attempt 2
           5s judge busy@5001ms
           5s Err("busy@5001ms") retry-after-too-long: attempts 2, waited 5s, elapsed 5s, errors [1 "busy@5s", 2 "busy@5001ms"]"#,
    );
}
