//! A call is a future: spawned, joined, boxed and pinned as it is; what its operation may know, and
//! values that are worth another attempt.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::{Backoff, Breaker, BreakerState, Budget, Policy, Stop, Verdict, blocking, policy};
use redial::{retry, retry_with};

const SECOND: Duration = Duration::from_secs(1);
const STEADY: Policy = Backoff::constant(SECOND).attempts(3);

async fn answer() -> Result<u32, &'static str> {
    Ok(1)
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_call_is_spawned_and_joined_without_a_word() {
    assert_eq!(tokio::spawn(retry(&STEADY, answer)).await.unwrap(), Ok(1));
    let timed = retry(&STEADY, answer).timeout(SECOND).within(SECOND * 9);
    assert_eq!(tokio::spawn(timed).await.unwrap(), Ok(1));
    assert_eq!(tokio::spawn(retry(&STEADY, answer).outcome()).await.unwrap().attempts, 1);

    let both = tokio::try_join!(retry(&STEADY, answer), retry(&STEADY, answer));
    assert_eq!(both, Ok((1, 1)));
    let mut set = tokio::task::JoinSet::new();
    set.spawn(retry(&STEADY, answer));
    assert_eq!(set.join_all().await, [Ok(1)]);
    assert_eq!(tokio::time::timeout(SECOND, retry(&STEADY, answer)).await.unwrap(), Ok(1));
}

#[test]
fn a_call_is_boxed_and_pinned_without_a_word() {
    let clock = ManualClock::new();
    type Boxed<'a> = Pin<Box<dyn Future<Output = Result<u32, &'static str>> + Send + 'a>>;
    let mut calls: Vec<Boxed<'_>> = vec![
        Box::pin(retry(&STEADY, answer).clock(&clock)),
        Box::pin(retry(STEADY, answer).clock(clock.clone()).within(SECOND)),
    ];
    for call in &mut calls {
        assert_eq!(clock.block_on(call), Ok(1));
    }
    let mut pinned = pin!(retry(&STEADY, answer).clock(&clock));
    assert!(pinned.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn an_attempt_knows_its_number_and_the_time_left() {
    let (clock, seen) = (ManualClock::new(), RefCell::new(Vec::new()));
    let operation = |attempt: redial::Attempt| {
        seen.borrow_mut().push((attempt.number, attempt.left.map(|left| left.as_secs())));
        clock.advance(SECOND * 2);
        ready(Err::<(), _>("down"))
    };
    let _ = clock.block_on(retry_with(&STEADY, operation).within(SECOND * 10).clock(&clock));
    assert_eq!(seen.take(), [(1, Some(10)), (2, Some(7)), (3, Some(4))]);
    let _ = clock.block_on(retry_with(&STEADY, operation).clock(&clock));
    assert_eq!(seen.take(), [(1, None), (2, None), (3, None)]);
}

#[test]
fn a_value_may_be_worth_another_attempt() {
    let clock = ManualClock::new();
    let script: Script<_, ()> = Script::new([Ok("queued"), Ok("running"), Ok("done")]);
    let call = retry(&STEADY, || script.next()).retry_ok_if(|state| *state != "done");
    let outcome = clock.block_on(call.clock(&clock).outcome());
    assert_eq!((outcome.result, outcome.reason), (Ok("done"), None));
    assert_eq!(outcome.attempts, 3);
    clock.assert_slept(&[SECOND, SECOND]);
}

/// It is judged once for each attempt, the last one included, and comes back when all are spent.
#[test]
fn the_last_value_comes_back_when_the_attempts_are_spent() {
    let (clock, judged) = (ManualClock::new(), Cell::new(0));
    let pending = |_: &u32| {
        judged.set(judged.get() + 1);
        true
    };
    let call = retry_with(&STEADY, |attempt| ready(Ok::<_, ()>(attempt.number)));
    let outcome = clock.block_on(call.retry_ok_if(pending).clock(&clock).outcome());
    assert_eq!((outcome.result, outcome.reason), (Ok(3), Some(Stop::AttemptsSpent)));
    assert_eq!((outcome.attempts, judged.take()), (3, 3));

    let call = blocking::call(&STEADY, |attempt| Ok::<_, ()>(attempt.number));
    assert_eq!(call.retry_ok_if(pending).clock(&clock).run(), Ok(3));
    assert_eq!(judged.take(), 3);
}

/// A value that is worth another attempt is a failure to everything but the caller: it sets the
/// pace, costs a token, is heard of, and counts for the breaker.
#[test]
fn an_unaccepted_value_is_a_failure_to_budget_breaker_and_hook() {
    let clock = ManualClock::new();
    let budget = Budget::builder().capacity(9.0).deposit(0.0).floor_per_second(0.1).build();
    let breaker = Breaker::new();
    let heard = RefCell::new(Vec::new());
    let call = retry(&STEADY, || ready(Ok::<u16, &str>(503)))
        .classify_ok(|status| (*status >= 500).then_some(Verdict::RetryAfter(SECOND * 2)))
        .on_retry(|event| {
            heard.borrow_mut().push((event.attempt, event.error.is_none(), event.timed_out))
        })
        .budget(&budget)
        .breaker(&breaker)
        .clock(&clock);
    assert_eq!(clock.block_on(call), Ok(503));
    clock.assert_slept(&[SECOND * 2, SECOND * 2]);
    assert_eq!(heard.into_inner(), [(1, true, false), (2, true, false)]);
    assert!(budget.tokens() < 8.0);
    assert_eq!(breaker.state(clock.now()), BreakerState::Closed { failures: 3 });
}

#[test]
#[should_panic(expected = "polled after it was over")]
fn a_call_that_is_over_says_so() {
    const ONCE: Policy = policy!("attempts: 1");
    let clock = ManualClock::new();
    let mut call = pin!(retry(&ONCE, || ready(Err::<(), _>("down"))).clock(&clock));
    let mut context = Context::from_waker(Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_ready());
    let _ = call.poll(&mut context);
}

/// A clock that counts its timers.
#[derive(Default)]
struct CountingClock {
    clock: ManualClock,
    timers: Cell<u32>,
}

impl redial::Clock for CountingClock {
    type Sleep = <ManualClock as redial::Clock>::Sleep;

    fn now(&self) -> redial::Time {
        self.clock.now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.timers.set(self.timers.get() + 1);
        redial::Clock::sleep(&self.clock, duration)
    }
}

#[test]
fn an_attempt_that_answers_at_once_sets_no_timer() {
    let counting = CountingClock::default();
    let call = retry(&STEADY, answer).timeout(SECOND).within(SECOND * 9).clock(&counting);
    assert_eq!(counting.clock.block_on(call), Ok(1));
    assert_eq!(counting.timers.get(), 0);

    let hung = retry(&STEADY, std::future::pending::<Result<(), &str>>).timeout(SECOND);
    assert!(counting.clock.block_on(hung.clock(&counting)).is_err());
    assert_eq!(counting.timers.get(), 3 + 2); // three attempts, two waits
}

#[test]
fn a_timeout_counts_from_the_start_of_the_attempt_not_from_its_first_answer() {
    let clock = ManualClock::new();
    // Busy for a while, and then it hangs.
    let busy = |busy_for: Duration| {
        let clock = &clock;
        move || {
            let mut first = true;
            std::future::poll_fn(move |_| {
                if std::mem::take(&mut first) {
                    clock.advance(busy_for);
                }
                std::task::Poll::<Result<(), &str>>::Pending
            })
        }
    };
    let once = Backoff::none().attempts(1);
    for (busy_for, ends_after) in [(0, 5), (3, 5), (5, 5), (7, 7)] {
        let before = clock.elapsed();
        let call = retry(once, busy(SECOND * busy_for)).timeout(SECOND * 5).clock(&clock);
        assert_eq!(clock.block_on(call), Err(redial::Error::TimedOut(None)));
        assert_eq!(clock.elapsed() - before, SECOND * ends_after, "busy for {busy_for} s");
    }
}
