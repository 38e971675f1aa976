//! A wait: a timer, a yield where there is no delay, a little later where that is tolerated.

use std::cell::RefCell;
use std::future::{IntoFuture, ready};
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, blocking, retry};
use redial_seeds::each_case;

use crate::dice::Calls;
use crate::scenario::check;

/// Two calls that fail without a delay take turns: each yields after each failure.
#[test]
fn a_zero_delay_lets_the_others_run() {
    let turns = RefCell::new(String::new());
    let call = |name: char| {
        let turns = &turns;
        let clock = ManualClock::new();
        let operation = move || {
            turns.borrow_mut().push(name);
            ready(Err::<(), _>(name))
        };
        async move { retry(Backoff::none().attempts(4), operation).clock(&clock).await }
    };
    let (mut one, mut other) = (Box::pin(call('a')), Box::pin(call('b')));
    let mut pending = [true; 2];
    ManualClock::new().block_on(std::future::poll_fn(|context| {
        use std::future::Future;
        pending[0] = pending[0] && one.as_mut().poll(context).is_pending();
        pending[1] = pending[1] && other.as_mut().poll(context).is_pending();
        if pending == [false; 2] { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }));
    assert_eq!(*turns.borrow(), "abababab");
}

#[test]
fn tolerance_lets_a_wake_up_fall_on_the_grid() {
    check(
        "attempts: 4, delay: 130ms; tolerance: 50ms",
        "a, 20ms:b, c, ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/4 a: waits 130ms, in all 130ms
           0s timer 150ms
           150ms attempt 2
           170ms judge b
           170ms retry 2/4 b: waits 130ms, in all 260ms
           170ms timer 130ms
           300ms attempt 3
           300ms judge c
           300ms retry 3/4 c: waits 130ms, in all 390ms
           300ms timer 150ms
           450ms attempt 4
           450ms Ok("done") success: attempts 4, waited 390ms, elapsed 450ms, errors [1 "a", 2 "b", 3 "c"]"#,
    );
}

#[test]
fn tolerance_misses_no_deadline() {
    check(
        "attempts: 2, delay: 130ms; tolerance: 50ms, within: 150ms",
        "a, ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/2 a: waits 130ms, in all 130ms
           0s timer 130ms
           130ms attempt 2
           130ms Ok("done") success: attempts 2, waited 130ms, elapsed 130ms, errors [1 "a"]"#,
    );
}

#[test]
fn tolerance_makes_nothing_of_a_zero_delay() {
    check(
        "attempts: 2; tolerance: 50ms",
        "20ms:a, ok",
        r#"0s attempt 1
           20ms judge a
           20ms retry 1/2 a: waits 0s, in all 0s
           20ms attempt 2
           20ms Ok("done") success: attempts 2, waited 0s, elapsed 20ms, errors [1 "a"]"#,
    );
}

/// By the definition of it: the wake-up falls on the next multiple of the tolerance, unless that is
/// where the deadline is or after it.
fn tolerated(start: Duration, delay: Duration, tolerance: Duration, within: Duration) -> Duration {
    let (due, grid) = ((start + delay).as_nanos(), tolerance.as_nanos().max(1));
    let late = Duration::from_nanos((due.next_multiple_of(grid) - due) as u64);
    if delay + late < within { delay + late } else { delay }
}

#[test]
fn a_tolerated_wake_up_falls_on_the_grid_and_misses_no_deadline() {
    each_case(300, |dice| {
        let (delay, tolerance) = (dice.usual(), dice.usual());
        let (start, within) = (dice.usual(), dice.extreme());
        let slept = if delay.is_zero() || delay >= within {
            vec![]
        } else {
            vec![tolerated(start, delay, tolerance, within)]
        };
        let case = format!("{delay:?} from {start:?}, tolerance {tolerance:?}, within {within:?}");
        let policy = Backoff::constant(delay).attempts(2);

        let clock = ManualClock::new();
        clock.advance(start);
        let call = blocking::call(policy, |_| Err::<(), _>(())).tolerance(tolerance);
        let _ = call.within(within).clock(&clock).run();
        assert_eq!(clock.slept(), slept, "{case}, blocking");

        let clock = ManualClock::new();
        clock.advance(start);
        let call = retry(policy, || ready(Err::<(), _>(()))).clock(&clock).tolerance(tolerance);
        let _ = clock.block_on(call.within(within).into_future());
        assert_eq!(clock.slept(), slept, "{case}, async");
    });
}
