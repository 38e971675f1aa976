//! A circuit breaker is asked before each attempt, and hears of each.

use std::future::{IntoFuture, pending, ready};

use redial::testing::ManualClock;
use redial::{
    Backoff, Breaker, BreakerState, Budget, Error, Policy, Stop, Time, Verdict, blocking, retry,
};

use super::{SECOND, no_word};
use crate::scenario::{check, check_async};
use crate::watched::WatchedClock;

#[test]
fn an_open_breaker_refuses_before_anything_runs() {
    let breaker = Breaker::builder().failures(1).build();
    breaker.admit(|| Time::ZERO).unwrap().failed(Time::ZERO);
    let budget = Budget::builder().capacity(5.0).floor_per_second(0.0).build();
    let (clock, watched) = (ManualClock::new(), WatchedClock::new());
    let never = |_: &()| -> bool { panic!("judged") };

    let call = blocking::call(Policy::DEFAULT, |_| -> Result<(), ()> { panic!("ran") })
        .when(never)
        .on_retry(|_| panic!("retried"))
        .rng(no_word)
        .breaker(&breaker)
        .budget(&budget)
        .clock(&clock);
    let outcome = call.outcome();
    assert_eq!(outcome.result, Err(Error::BreakerOpen));
    assert_eq!((outcome.reason, outcome.attempts), (Some(Stop::BreakerOpen), 0));

    let operation = || -> std::future::Ready<Result<(), ()>> { panic!("ran") };
    let call = retry(Policy::DEFAULT, operation)
        .clock(&watched)
        .when(never)
        .on_retry(|_| panic!("retried"))
        .rng(no_word)
        .breaker(&breaker)
        .budget(&budget)
        .timeout(SECOND);
    let outcome = watched.manual.block_on(call.outcome());
    assert_eq!(outcome.result, Err(Error::BreakerOpen));
    assert_eq!((outcome.reason, outcome.attempts), (Some(Stop::BreakerOpen), 0));
    assert_eq!(watched.log.text(), "");
    assert_eq!(budget.tokens(), 5.0);
}

/// Nothing ran, so there is no attempt whose error this could be.
#[test]
fn a_call_that_never_ran_has_no_errors_of_attempts() {
    let breaker = Breaker::builder().failures(1).build();
    breaker.admit(|| Time::ZERO).unwrap().failed(Time::ZERO);
    let outcome = blocking::call(Policy::DEFAULT, |_| Err::<(), _>("ran"))
        .breaker(&breaker)
        .clock(ManualClock::new())
        .outcome();
    assert_eq!(outcome.errors().collect::<Vec<_>>(), []);
}

#[test]
fn a_breaker_that_opens_on_the_way_gives_the_last_error_back() {
    check(
        "attempts: 9, delay: 1s; breaker: 2 for 30s",
        "a, b",
        r#"0s attempt 1
           0s judge a
           0s retry 1/9 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s judge b
           1s Err(Failed("b")) breaker-open: attempts 2, waited 1s, elapsed 1s, errors [1 Failed("a"), 2 Failed("b")]"#,
    );
}

#[test]
fn a_timeout_is_the_last_error_too() {
    check_async(
        "attempts: 9, delay: 1s; breaker: 2 for 30s, timeout: 3s",
        "a, hang",
        r#"0s attempt 1
           0s judge a
           0s retry 1/9 a: waits 1s, in all 1s
           0s timer 1s
           1s attempt 2
           1s timer 3s
           4s cut
           4s Err(TimedOut(None)) breaker-open: attempts 2, waited 1s, elapsed 4s, errors [1 Failed("a"), 2 TimedOut(None)]"#,
    );
}

#[test]
fn a_breaker_that_opens_after_many_errors_keeps_the_first_and_the_last_eight() {
    let breaker = Breaker::builder().failures(20).build();
    let outcome =
        blocking::call(Backoff::none().attempts(99), |attempt| Err::<(), _>(attempt.number))
            .breaker(&breaker)
            .clock(ManualClock::new())
            .outcome();
    let errors: Vec<u32> = outcome.errors().filter_map(|(_, error)| error.into_inner()).collect();
    assert_eq!(errors, [1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 17, 18, 19, 20]);
    assert_eq!((outcome.attempts, outcome.result), (20, Err(Error::Failed(20))));
}

#[test]
fn a_breaker_that_recovers_during_the_wait_admits_a_probe() {
    check(
        "attempts: 4, delay: 10s; breaker: 1 for 10s",
        "a, b, ok",
        r#"0s attempt 1
           0s judge a
           0s retry 1/4 a: waits 10s, in all 10s
           0s timer 10s
           10s attempt 2
           10s judge b
           10s retry 2/4 b: waits 10s, in all 20s
           10s timer 10s
           20s attempt 3
           20s Ok("done") success: attempts 3, waited 20s, elapsed 20s, errors [1 Failed("a"), 2 Failed("b")]"#,
    );
}

/// How long an attempt took is part of when it failed.
#[test]
fn a_breaker_opens_when_the_attempt_fails_and_not_when_it_started() {
    check(
        "attempts: 4, delay: 9s; breaker: 1 for 10s",
        "5s:a",
        r#"0s attempt 1
           5s judge a
           5s Err(Failed("a")) breaker-open: attempts 1, waited 0s, elapsed 5s, errors [1 Failed("a")]"#,
    );
}

#[test]
fn a_success_closes_the_breakers_count() {
    let breaker = Breaker::builder().failures(3).build();
    let clock = ManualClock::new();
    let call = |failures: u32| {
        let policy = Backoff::none().attempts(3);
        let operation = |attempt: blocking::Attempt<'_>| {
            if attempt.number <= failures { Err("down") } else { Ok(()) }
        };
        blocking::call(policy, operation).breaker(&breaker).clock(&clock).run()
    };
    assert_eq!(call(2), Ok(()));
    assert_eq!(call(2), Ok(())); // four failures, no three in a row
    assert_eq!(breaker.state(Time::ZERO), BreakerState::Closed { failures: 0 });
    assert_eq!(call(3), Err(Error::Failed("down")));
    assert_eq!(call(0), Err(Error::BreakerOpen));
}

/// Five requests for a missing page say nothing about the service. On the last attempt nobody asks
/// whether it is such an error, so that one counts.
#[test]
fn an_error_that_is_rejected_counts_as_neither_success_nor_failure() {
    let clock = ManualClock::new();
    let one_failure = BreakerState::Closed { failures: 1 };
    for (attempts, expected) in [(5, BreakerState::Closed { failures: 0 }), (1, one_failure)] {
        let policy = Backoff::none().attempts(attempts);

        let breaker = Breaker::builder().failures(2).build();
        let call = blocking::call(policy, |_| Err::<(), _>("gone")).when(|_| false).clock(&clock);
        assert_eq!(call.breaker(&breaker).run(), Err(Error::Failed("gone")));
        assert_eq!(breaker.state(Time::ZERO), expected);

        let breaker = Breaker::builder().failures(2).build();
        let call = retry(policy, || ready(Err::<(), _>("gone"))).clock(&clock).when(|_| false);
        let result = clock.block_on(call.breaker(&breaker).into_future());
        assert_eq!(result, Err(Error::Failed("gone")));
        assert_eq!(breaker.state(Time::ZERO), expected);
    }
}

/// A probe that meets such an error makes room for another.
#[test]
fn a_probe_that_is_rejected_makes_room_for_another() {
    let clock = ManualClock::new();
    let policy = Backoff::none().attempts(2);
    let breaker = Breaker::builder().failures(1).recovery(SECOND).build();
    let call = |error: &'static str| {
        let call = blocking::call(policy, |_| Err::<(), _>(error)).when(|error| *error == "down");
        call.clock(&clock).breaker(&breaker).run()
    };
    assert_eq!(call("down"), Err(Error::Failed("down")));
    assert_eq!(call("down"), Err(Error::BreakerOpen));
    clock.advance(SECOND);
    assert_eq!(call("gone"), Err(Error::Failed("gone")));
    assert_eq!(breaker.state(clock.now()), BreakerState::HalfOpen);
    assert_eq!(call("gone"), Err(Error::Failed("gone")));
}

/// An operation that must not run twice, and a service that hangs: what a breaker is for.
#[test]
fn a_timeout_counts_for_the_breaker_whatever_it_means_for_the_call() {
    let clock = ManualClock::new();
    for verdict in [Verdict::Retry, Verdict::Stop] {
        let breaker = Breaker::builder().failures(2).build();
        let call = || {
            let call = retry(Backoff::none().attempts(1), pending::<Result<(), ()>>);
            let call = call.clock(&clock).timeout(SECOND).timeout_verdict(verdict);
            clock.block_on(call.breaker(&breaker).into_future())
        };
        assert_eq!(call(), Err(Error::TimedOut(None)));
        assert_eq!(call(), Err(Error::TimedOut(None)));
        assert_eq!(call(), Err(Error::BreakerOpen), "{verdict:?}");
    }
    let breaker = Breaker::builder().failures(2).build();
    let call = || {
        let call = retry(Backoff::none().attempts(5), pending::<Result<(), ()>>);
        let call = call.clock(&clock).timeout(SECOND).timeout_verdict(Verdict::Stop);
        clock.block_on(call.breaker(&breaker).into_future())
    };
    assert_eq!(call(), Err(Error::TimedOut(None)));
    assert_eq!(call(), Err(Error::TimedOut(None)));
    assert_eq!(call(), Err(Error::BreakerOpen), "with attempts left");
}

/// It was paid for before the wait, and the breaker that its own failure opened refuses it after.
#[test]
fn a_retry_that_the_breaker_refuses_is_not_paid_for() {
    let clock = ManualClock::new();
    let budget = Budget::builder().capacity(10.0).deposit(0.0).floor_per_second(1e-9).build();
    let policy = Backoff::constant(SECOND).attempts(3);

    let breaker = Breaker::builder().failures(1).build();
    let call = blocking::call(policy, |_| Err::<(), _>("down")).clock(&clock);
    let outcome = call.breaker(&breaker).budget(&budget).outcome();
    assert_eq!((outcome.attempts, outcome.reason), (1, Some(Stop::BreakerOpen)));
    assert_eq!(budget.tokens(), 10.0);

    let breaker = Breaker::builder().failures(1).build();
    let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock);
    let outcome = clock.block_on(call.breaker(&breaker).budget(&budget).outcome());
    assert_eq!((outcome.attempts, outcome.reason), (1, Some(Stop::BreakerOpen)));
    assert_eq!(budget.tokens(), 10.0);
}
