//! What works without the feature `tokio`: everything, once the call has a clock.
//!
//! A program of its own, because the other tests need the feature.

use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::{Policy, policy, retry, tries_on};

const POLICY: Policy = policy!("retry: 3, delay: 1s, backoff: exponential");

fn seconds<const N: usize>(seconds: [u64; N]) -> [Duration; N] {
    seconds.map(Duration::from_secs)
}

#[test]
fn a_call_runs_on_the_clock_that_it_is_given() {
    let clock = ManualClock::new();
    let script = Script::new([Err("refused"), Err("reset"), Ok("page")]);
    let page = clock.block_on(async {
        retry(&POLICY, || script.next()).clock(&clock).when(|error| *error != "gone").await
    });
    assert_eq!(page, Ok("page"));
    clock.assert_slept(&seconds([1, 2]));
}

/// A call without a clock would have nothing to sleep on, so it cannot be awaited. Whether a type is
/// a future is asked by the order in which methods are found: the one with the bound comes first.
#[cfg(not(feature = "tokio"))]
#[test]
fn a_call_without_a_clock_cannot_be_awaited() {
    struct Asked<T>(T);

    trait Otherwise {
        fn is_future(&self) -> bool {
            false
        }
    }

    impl<T> Otherwise for Asked<T> {}

    impl<T: IntoFuture> Asked<T> {
        fn is_future(&self) -> bool {
            let _ = &self.0;
            true
        }
    }

    let script: Script<(), ()> = Script::new([]);
    assert!(!Asked(retry(&POLICY, || script.next())).is_future());
    assert!(Asked(retry(&POLICY, || script.next()).clock(ManualClock::new())).is_future());
}

#[test]
fn the_callers_own_loop_does_too() {
    let clock = ManualClock::new();
    let last = clock.block_on(async {
        let mut tries = tries_on(&clock, &POLICY);
        loop {
            if let Err(last) = tries.failed(tries.attempt()).await {
                break last;
            }
        }
    });
    assert_eq!(last, 4);
    clock.assert_slept(&seconds([1, 2, 4]));
}

#[test]
fn the_blocking_loop_needs_no_runtime() {
    let clock = ManualClock::new();
    let result: Result<(), _> =
        redial::blocking::call(&POLICY, |attempt| Err(attempt.number)).clock(&clock).run();
    assert_eq!(result, Err(4));
    clock.assert_slept(&seconds([1, 2, 4]));
}
