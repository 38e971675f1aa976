//! A wait: a timer, a yield where there is no delay, a little later where that is tolerated.

use std::cell::RefCell;
use std::future::ready;

use redial::testing::ManualClock;
use redial::{Backoff, Stop, blocking, retry};

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

#[test]
fn a_tolerated_wake_up_is_late_by_less_than_the_tolerance_and_on_the_grid() {
    crate::dice::each_seed(300, |dice| {
        let (delay, tolerance) = (dice.usual(), dice.usual());
        let (start, within) = (dice.usual(), dice.extreme());
        let clock = ManualClock::new();
        clock.advance(start);
        let call = blocking::call(Backoff::constant(delay).attempts(2), |_| Err::<(), _>(()));
        let call = call.tolerance(tolerance).within(within).clock(&clock);
        if call.outcome().reason == Some(Stop::Deadline) || delay.is_zero() {
            return clock.assert_slept(&[]);
        }
        let slept = clock.slept()[0];
        let case = format!("{delay:?} from {start:?}, tolerance {tolerance:?}, within {within:?}");
        assert!(slept >= delay && slept - delay <= tolerance, "{case}: slept {slept:?}");
        assert!(slept < within, "{case}: slept {slept:?}");
        let on_grid =
            tolerance.is_zero() || clock.elapsed().as_nanos().is_multiple_of(tolerance.as_nanos());
        assert!(on_grid || slept == delay, "{case}: woke at {:?}", clock.elapsed());
    });
}
