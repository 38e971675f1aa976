//! What interrupts an attempt is its timeout, cut to what `within` leaves.

use crate::scenario::check_async;

#[test]
fn a_timeout_is_retried_and_not_judged() {
    check_async(
        "attempts: 3, delay: 1s; timeout: 2s",
        "hang, 1999ms:b, 5s:c",
        r#"0s attempt 1
           0s timer 2s
           2s cut
           2s retry 1/3 timeout: waits 1s, in all 1s
           2s timer 1s
           3s attempt 2
           3s timer 2s
           4999ms judge b
           4999ms retry 2/3 b: waits 1s, in all 2s
           4999ms timer 1s
           5999ms attempt 3
           5999ms timer 2s
           7999ms cut
           7999ms Err(TimedOut(None)) attempts-spent: attempts 3, waited 2s, elapsed 7999ms, errors [1 TimedOut(None), 2 Failed("b"), 3 TimedOut(None)]"#,
    );
}

#[test]
fn a_timeout_stops_the_call_where_the_call_says_so() {
    check_async(
        "attempts: 3, delay: 1s; timeout: 2s, timeout_verdict: fatal!",
        "hang",
        "0s attempt 1
         0s timer 2s
         2s cut
         2s Err(TimedOut(None)) rejected: attempts 1, waited 0s, elapsed 2s, errors [1 TimedOut(None)]",
    );
}

#[test]
fn a_timeout_may_have_a_delay_of_its_own() {
    check_async(
        "attempts: 3, delay: 1s; timeout: 2s, timeout_verdict: then@9s",
        "hang, ok",
        r#"0s attempt 1
           0s timer 2s
           2s cut
           2s retry 1/3 timeout: waits 9s, in all 9s
           2s timer 9s
           11s attempt 2
           11s Ok("done") success: attempts 2, waited 9s, elapsed 11s, errors [1 TimedOut(None)]"#,
    );
}

#[test]
fn an_attempt_that_is_ready_when_its_time_is_up_has_succeeded() {
    check_async(
        "attempts: 3, delay: 1s; timeout: 2s",
        "2s:ok",
        r#"0s attempt 1
           0s timer 2s
           2s Ok("done") success: attempts 1, waited 0s, elapsed 2s, errors []"#,
    );
}

#[test]
fn the_timeout_is_cut_to_what_within_leaves() {
    check_async(
        "attempts: 5, delay: 1s; timeout: 4s, within: 7s",
        "hang",
        "0s attempt 1
         0s timer 4s
         4s cut
         4s retry 1/5 timeout: waits 1s, in all 1s
         4s timer 1s
         5s attempt 2
         5s timer 2s
         7s cut
         7s Err(TimedOut(None)) deadline: attempts 2, waited 1s, elapsed 7s, errors [1 TimedOut(None), 2 TimedOut(None)]",
    );
    // The policy's own limit cuts as the call's does.
    check_async(
        "attempts: 5, delay: 1s, within: 3s; timeout: 4s",
        "hang",
        "0s attempt 1
         0s timer 3s
         3s cut
         3s Err(TimedOut(None)) deadline: attempts 1, waited 0s, elapsed 3s, errors [1 TimedOut(None)]",
    );
}

/// The attempt gets its one turn, and no timer is made for it.
#[test]
fn a_timeout_of_zero_gives_each_attempt_one_turn() {
    check_async(
        "attempts: 2; timeout: 0s",
        "hang, ok",
        r#"0s attempt 1
           0s cut
           0s retry 1/2 timeout: waits 0s, in all 0s
           0s attempt 2
           0s Ok("done") success: attempts 2, waited 0s, elapsed 0s, errors [1 TimedOut(None)]"#,
    );
}

#[test]
fn everything_at_once() {
    check_async(
        "attempts: 9, delay: 1s, backoff: exponential; within: 1min, wait_budget: 20s, budget: 3, breaker: 4 for 5s, timeout: 2s",
        "a, hang, busy@10s, d, e",
        r#"0s attempt 1
           0s judge a
           0s retry 1/9 a: waits 1s, in all 1s, 2 tokens left
           0s timer 1s
           1s attempt 2
           1s timer 2s
           3s cut
           3s retry 2/9 timeout: waits 2s, in all 3s, 1 tokens left
           3s timer 2s
           5s attempt 3
           5s judge busy@10s
           5s retry 3/9 busy@10s: waits 10s, in all 13s, 0 tokens left
           5s timer 10s
           15s attempt 4
           15s judge d
           15s Err(Failed("d")) wait-budget: attempts 4, waited 13s, elapsed 15s, errors [1 Failed("a"), 2 TimedOut(None), 3 Failed("busy@10s"), 4 Failed("d")]"#,
    );
}
