//! The longest delays, and the small things that fit nowhere else.

use std::cell::RefCell;
use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Error, Stop, Verdict, blocking, retry};

use super::SECOND;
use crate::scenario::duration;
use crate::watched::WatchedClock;

#[test]
fn the_longest_delays_do_not_panic() {
    for duration in [Duration::MAX, Duration::from_nanos(u64::MAX)] {
        for policy in [
            Backoff::constant(duration).attempts(4),
            Backoff::linear(duration, duration).attempts(4),
            Backoff::exponential(duration).factor(999_999_999.0).attempts(4),
            Backoff::decorrelated(duration).additive_jitter(10.0).attempts(4),
            Backoff::list(&[Duration::ZERO, duration]).attempts(4),
        ] {
            let everything = |clock: &ManualClock| {
                blocking::call(policy, |_| Err::<(), _>("down"))
                    .within(duration)
                    .wait_budget(duration)
                    .max_retry_after(duration)
                    .tolerance(duration)
                    .seed(1)
                    .clock(clock.clone())
                    .outcome()
            };
            let clock = ManualClock::new();
            let outcome = everything(&clock);
            assert_eq!((outcome.attempts, outcome.result), (4, Err("down")), "{policy}");
            clock.advance(duration); // the end of time is where it stays
            assert_eq!(everything(&clock).attempts, 4, "{policy}");

            let clock = ManualClock::new();
            let outcome = clock.block_on(async {
                retry(policy, || ready(Err::<(), _>("down")))
                    .clock(&clock)
                    .within(duration)
                    .wait_budget(duration)
                    .timeout(duration)
                    .tolerance(duration)
                    .seed(1)
                    .outcome()
                    .await
            });
            assert_eq!((outcome.attempts, outcome.reason), (4, Some(Stop::AttemptsSpent)));
        }
    }
}

#[test]
fn the_longest_dictated_delay_is_obeyed_where_it_is_allowed() {
    let outcome = blocking::call(Backoff::none().attempts(3), |_| Err::<(), _>("busy"))
        .classify(|_| Verdict::RetryAfter(Duration::MAX))
        .max_retry_after(Duration::MAX)
        .clock(ManualClock::new())
        .outcome();
    assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::AttemptsSpent)));
}

#[test]
fn a_name_changes_nothing_else() {
    let policy = Backoff::constant(SECOND).attempts(3);
    let clock = ManualClock::new();
    let call = blocking::call(policy, |_| Err::<(), _>("down")).name("fetch").clock(&clock);
    assert_eq!(call.run(), Err("down"));
    let call =
        async { retry(policy, || ready(Err::<(), _>("down"))).clock(&clock).name("fetch").await };
    assert_eq!(clock.block_on(call), Err("down"));
    clock.assert_slept(&[SECOND; 4]);
}

/// An operation can ask how much time is left, and pass it on to whatever can time out.
#[test]
fn a_blocking_attempt_knows_its_number_and_what_is_left() {
    let clock = ManualClock::new();
    let seen = RefCell::new(Vec::new());
    let outcome = blocking::call(Backoff::constant(SECOND).unlimited(), |attempt| {
        let before = attempt.left();
        clock.advance(duration("500ms"));
        seen.borrow_mut().push((attempt.number, before, attempt.left()));
        Err::<(), _>("down")
    })
    .within(SECOND * 3)
    .clock(&clock)
    .outcome();
    let left = |millis| Some(Duration::from_millis(millis));
    assert_eq!(seen.into_inner(), [(1, left(3000), left(2500)), (2, left(1500), left(1000))]);
    assert_eq!(outcome.reason, Some(Stop::Deadline));
}

#[test]
fn a_clock_may_be_shared_by_arc() {
    let clock = Arc::new(ManualClock::new());
    let policy = Backoff::constant(SECOND).attempts(2);
    let failed = clock.block_on(async {
        retry(policy, || ready(Err::<(), _>("down"))).clock(Arc::clone(&clock)).await
    });
    assert_eq!(failed, Err("down"));
    clock.assert_slept(&[SECOND]);
}

#[test]
fn a_timeout_interrupts_an_attempt_that_never_wakes() {
    let clock = WatchedClock::new();
    let failed = clock.manual.block_on(async {
        let policy = Backoff::none().attempts(2);
        retry(policy, pending::<Result<(), ()>>).clock(&clock).timeout(SECOND).await
    });
    assert_eq!(failed, Err(Error::TimedOut(None)));
    assert_eq!(clock.manual.elapsed(), SECOND * 2);
    assert_eq!(clock.timers_alive(), 0);
}
