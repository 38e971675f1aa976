//! `within` and the wait budget win over everything else.

use std::future::ready;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, blocking, retry, tries_on};

use super::SECOND;
use crate::scenario::check;

#[test]
fn within_counts_the_time_that_attempts_take() {
    check(
        "attempts: unlimited, delay: 1s; within: 4s",
        "1500ms:a",
        r#"0s attempt 1
           1500ms judge a
           1500ms retry 1/unlimited a: waits 1s, in all 1s
           1500ms timer 1s
           2500ms attempt 2
           4s judge a
           4s Err("a") deadline: attempts 2, waited 1s, elapsed 4s, errors [1 "a", 2 "a"]"#,
    );
}

#[test]
fn a_wait_that_ends_at_the_deadline_is_not_slept() {
    check(
        "attempts: unlimited, delay: 1s; within: 2s",
        "a",
        r#"0s attempt 1
           0s judge a
           0s retry 1/unlimited a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge a
           1s Err("a") deadline: attempts 2, waited 1s, elapsed 1s, errors [1 "a", 2 "a"]"#,
    );
}

#[test]
fn a_wait_that_ends_a_nanosecond_before_the_deadline_is_slept() {
    check(
        "attempts: unlimited, delay: 1s; within: 1000000001ns",
        "a",
        r#"0s attempt 1
           0s judge a
           0s retry 1/unlimited a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge a
           1s Err("a") deadline: attempts 2, waited 1s, elapsed 1s, errors [1 "a", 2 "a"]"#,
    );
}

#[test]
fn within_nothing_there_is_one_attempt() {
    for call in ["attempts: 5; within: 0s", "attempts: 5, within: 0s"] {
        check(
            call,
            "a",
            r#"0s attempt 1
               0s judge a
               0s Err("a") deadline: attempts 1, waited 0s, elapsed 0s, errors [1 "a"]"#,
        );
    }
}

/// The last allowed attempt is spent whatever the time.
#[test]
fn attempts_are_counted_before_the_deadline_is_looked_at() {
    check(
        "attempts: 1, within: 1s",
        "9s:a",
        r#"0s attempt 1
           9s Err("a") attempts-spent: attempts 1, waited 0s, elapsed 9s, errors [1 "a"]"#,
    );
}

#[test]
fn the_tighter_of_two_deadlines_holds() {
    for call in [
        "attempts: unlimited, delay: 1s, within: 2s; within: 5s",
        "attempts: unlimited, delay: 1s, within: 5s; within: 2s",
        "attempts: unlimited, delay: 1s, within: 2s",
    ] {
        check(
            call,
            "a",
            r#"0s attempt 1
               0s judge a
               0s retry 1/unlimited a: waits 1s, in all 1s
               0s timer 1s
               1s attempt 2
               1s judge a
               1s Err("a") deadline: attempts 2, waited 1s, elapsed 1s, errors [1 "a", 2 "a"]"#,
        );
    }
}

#[test]
fn within_by_itself_never_interrupts_an_attempt() {
    check(
        "attempts: 5, delay: 1s; within: 3s",
        "1h:ok",
        r#"0s attempt 1
           1h Ok("done") success: attempts 1, waited 0s, elapsed 1h, errors []"#,
    );
    // A breaker is not a timeout either.
    check(
        "attempts: 5, delay: 1s; within: 3s, breaker: 5 for 30s",
        "1h:a",
        r#"0s attempt 1
           1h judge a
           1h Err(Failed("a")) deadline: attempts 1, waited 0s, elapsed 1h, errors [1 Failed("a")]"#,
    );
}

#[test]
fn within_starts_with_the_first_attempt_and_not_with_the_builder() {
    let clock = ManualClock::new();
    let policy = Backoff::constant(SECOND).unlimited().within(SECOND * 3);
    let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock).outcome();
    clock.advance(Duration::from_secs(100));
    let outcome = clock.block_on(call);
    assert_eq!((outcome.attempts, outcome.elapsed), (3, SECOND * 2));

    let call = blocking::call(policy, |_| Err::<(), _>("down")).clock(&clock);
    clock.advance(Duration::from_secs(100));
    let outcome = call.outcome();
    assert_eq!((outcome.attempts, outcome.elapsed), (3, SECOND * 2));

    // The caller's own loop starts where it is made: the first attempt follows.
    let tries = tries_on(&clock, policy);
    clock.advance(SECOND);
    let attempts = clock.block_on(async move {
        let mut tries = tries;
        while tries.failed("down").await.is_ok() {}
        tries.attempt() - 1
    });
    assert_eq!(attempts, 2);
}

#[test]
fn limits_win_over_a_dictated_delay() {
    check(
        "attempts: 5; within: 10s",
        "3s:busy@7s",
        r#"0s attempt 1
           3s judge busy@7s
           3s Err("busy@7s") deadline: attempts 1, waited 0s, elapsed 3s, errors [1 "busy@7s"]"#,
    );
    check(
        "attempts: 5; wait_budget: 6s",
        "busy@7s",
        r#"0s attempt 1
           0s judge busy@7s
           0s Err("busy@7s") wait-budget: attempts 1, waited 0s, elapsed 0s, errors [1 "busy@7s"]"#,
    );
    check(
        "attempts: 5; budget: 1",
        "busy@7s",
        r#"0s attempt 1
           0s judge busy@7s
           0s retry 1/5 busy@7s: waits 7s, in all 7s, 0 tokens left
           0s timer 7s
           7s attempt 2
           7s judge busy@7s
           7s Err("busy@7s") budget: attempts 2, waited 7s, elapsed 7s, errors [1 "busy@7s", 2 "busy@7s"]"#,
    );
}

#[test]
fn the_wait_budget_may_be_spent_to_the_last_nanosecond() {
    check(
        "attempts: unlimited, delay: 1s, backoff: linear; wait_budget: 3s",
        "500ms:a",
        r#"0s attempt 1
           500ms judge a
           500ms retry 1/unlimited a: waits 1s, in all 1s
           500ms timer 1s
           1500ms attempt 2
           2s judge a
           2s retry 2/unlimited a: waits 2s, in all 3s
           2s timer 2s
           4s attempt 3
           4500ms judge a
           4500ms Err("a") wait-budget: attempts 3, waited 3s, elapsed 4500ms, errors [1 "a", 2 "a", 3 "a"]"#,
    );
}

#[test]
fn the_tighter_of_two_wait_budgets_holds() {
    for call in [
        "attempts: unlimited, delay: 1s, wait_budget: 1s; wait_budget: 9s",
        "attempts: unlimited, delay: 1s, wait_budget: 9s; wait_budget: 1s",
        "attempts: unlimited, delay: 1s, wait_budget: 1s",
    ] {
        check(
            call,
            "a",
            r#"0s attempt 1
               0s judge a
               0s retry 1/unlimited a: waits 1s, in all 1s
               0s timer 1s
               1s attempt 2
               1s judge a
               1s Err("a") wait-budget: attempts 2, waited 1s, elapsed 1s, errors [1 "a", 2 "a"]"#,
        );
    }
}

#[test]
fn the_deadline_is_looked_at_before_the_wait_budget_and_that_before_the_tokens() {
    check(
        "attempts: 5, delay: 9s; within: 1s, wait_budget: 1s, budget: 1",
        "a",
        r#"0s attempt 1
           0s judge a
           0s Err("a") deadline: attempts 1, waited 0s, elapsed 0s, errors [1 "a"]"#,
    );
    check(
        "attempts: 5, delay: 9s; wait_budget: 1s, budget: 1",
        "a",
        r#"0s attempt 1
           0s judge a
           0s Err("a") wait-budget: attempts 1, waited 0s, elapsed 0s, errors [1 "a"]"#,
    );
}
