//! What is not asked: the clock, the classifier and chance, where the answer would change nothing.

use std::cell::Cell;
use std::future::ready;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Policy, Verdict, blocking, retry};

use super::SECOND;

/// How many words a call draws whose failures mean these, in either loop.
fn words(policy: Policy, verdicts: &[Verdict]) -> u32 {
    let drawn = Cell::new(0);
    let random = || {
        drawn.set(drawn.get() + 1);
        0
    };
    let judge = |n: &u32| verdicts[*n as usize - 1];
    let call = blocking::call(policy, |attempt| Err::<(), _>(attempt.number));
    let failed = call.clock(ManualClock::new()).classify(judge).rng(random).run();
    assert!(failed.is_err());
    let blocking = drawn.take();

    let clock = ManualClock::new();
    let mut n = 0;
    let operation = || {
        n += 1;
        ready(Err::<(), _>(n))
    };
    let call = async { retry(policy, operation).clock(&clock).classify(judge).rng(random).await };
    assert!(clock.block_on(call).is_err());
    assert_eq!(blocking, drawn.get(), "the loops draw alike");
    blocking
}

#[test]
fn the_last_failure_draws_no_word() {
    let policy = Backoff::constant(SECOND).full_jitter();
    assert_eq!(words(policy.attempts(1), &[]), 0);
    assert_eq!(words(policy.attempts(3), &[Verdict::Retry; 2]), 2);
    assert_eq!(words(policy.equal_jitter().attempts(3), &[Verdict::Retry; 2]), 4);
}

#[test]
fn a_rejected_failure_draws_no_word() {
    let policy = Backoff::constant(SECOND).full_jitter().attempts(9);
    assert_eq!(words(policy, &[Verdict::Stop]), 0);
    assert_eq!(words(policy, &[Verdict::Retry, Verdict::Stop]), 1);
}

#[test]
fn a_dictated_delay_draws_no_word() {
    let after = Verdict::RetryAfter(SECOND);
    let policy = Backoff::decorrelated(SECOND).full_jitter().attempts(5);
    assert_eq!(words(policy, &[after, Verdict::Retry, after, Verdict::Retry]), 4);
    let too_long = Verdict::RetryAfter(Duration::MAX);
    assert_eq!(words(policy, &[too_long]), 0);
}

/// Those who listen want to know how long a call took, and for them the clock is read.
#[cfg(not(any(feature = "tracing", feature = "metrics")))]
mod the_clock {
    use redial::{Clock, Time};

    use super::*;
    use crate::loop_semantics::no_word;

    /// A clock that must not be looked at.
    struct Blindfold;

    impl Clock for Blindfold {
        type Sleep = std::future::Pending<()>;

        fn now(&self) -> Time {
            panic!("the clock was read")
        }

        fn sleep(&self, _: Duration) -> Self::Sleep {
            panic!("a timer was made")
        }
    }

    impl blocking::Clock for Blindfold {
        fn now(&self) -> Time {
            panic!("the clock was read")
        }

        fn sleep(&self, _: Duration) {
            panic!("it slept")
        }
    }

    #[test]
    fn a_call_that_succeeds_at_once_reads_no_clock() {
        let policy = Policy::DEFAULT;
        let done = blocking::call(policy, |_| Ok::<_, ()>(1)).clock(Blindfold).rng(no_word).run();
        assert_eq!(done, Ok(1));
        let done = ManualClock::new().block_on(async {
            retry(policy, || ready(Ok::<_, ()>(1))).clock(Blindfold).rng(no_word).await
        });
        assert_eq!(done, Ok(1));
    }

    #[test]
    fn failures_without_a_delay_or_a_limit_in_time_read_no_clock() {
        let policy = Backoff::none().attempts(5);
        let failed =
            blocking::call(policy, |_| Err::<(), _>(1)).clock(Blindfold).rng(no_word).run();
        assert_eq!(failed, Err(1));
        let failed = ManualClock::new().block_on(async {
            retry(policy, || ready(Err::<(), _>(1))).clock(Blindfold).rng(no_word).await
        });
        assert_eq!(failed, Err(1));
    }
}
