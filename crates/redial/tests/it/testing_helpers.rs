//! `redial::testing`: what our users test with must itself be right.

use std::any::Any;
use std::future::{Future, pending, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use redial::testing::{ManualClock, Script, without_retries, without_waits};
use redial::{Backoff, Clock, Policy, Stop, blocking, retry, tries_on};

use crate::child;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// What a panic says.
#[track_caller]
fn message<T>(panics: impl FnOnce() -> T) -> String {
    let panic: Box<dyn Any + Send> = match catch_unwind(AssertUnwindSafe(panics)) {
        Ok(_) => panic!("it did not panic"),
        Err(panic) => panic,
    };
    let text = panic.downcast_ref::<String>().cloned();
    text.or(panic.downcast_ref::<&str>().map(|&text| text.to_owned())).expect("a text")
}

// The clock.

#[test]
fn a_clock_moves_only_when_it_is_told_to() {
    let clock = ManualClock::new();
    assert_eq!(clock.elapsed(), Duration::ZERO);
    clock.advance(SECOND);
    clock.clone().advance(SECOND); // clones are the same clock
    assert_eq!(clock.elapsed(), SECOND * 2);
    clock.advance(Duration::MAX);
    clock.advance(Duration::MAX);
    assert_eq!(clock.elapsed(), Duration::from_nanos(u64::MAX)); // the end of time
}

#[test]
fn a_week_takes_no_time() {
    let clock = ManualClock::new();
    let policy = Backoff::constant(HOUR).attempts(24 * 7 + 1);
    // Were one hour of it real, this would not end.
    let failed =
        clock.block_on(async { retry(policy, || ready(Err::<(), _>("down"))).clock(&clock).await });
    assert_eq!(failed, Err("down"));
    assert_eq!(clock.elapsed(), HOUR * 24 * 7);
}

#[test]
fn a_future_that_waits_for_something_else_panics_with_words() {
    assert_eq!(
        message(|| ManualClock::new().block_on(pending::<()>())),
        "the future waits for something that is not on this clock",
    );
    // Another clock's timer is something else.
    let (clock, other) = (ManualClock::new(), ManualClock::new());
    assert_eq!(
        message(|| clock.block_on(Clock::sleep(&other, SECOND))),
        "the future waits for something that is not on this clock",
    );
}

#[test]
fn a_future_that_is_ready_or_wakes_itself_needs_no_timer() {
    let clock = ManualClock::new();
    assert_eq!(clock.block_on(ready(7)), 7);
    let mut turns = 0;
    let waking = poll_fn(|context: &mut Context<'_>| {
        turns += 1;
        context.waker().wake_by_ref();
        if turns < 100 { Poll::Pending } else { Poll::Ready(turns) }
    });
    assert_eq!(clock.block_on(waking), 100);
    assert_eq!(clock.elapsed(), Duration::ZERO);
}

#[test]
fn timers_fire_in_the_order_in_which_they_are_due() {
    let clock = ManualClock::new();
    let fired = std::cell::RefCell::new(Vec::new());
    let timer = |seconds: u64| {
        let (clock, fired) = (&clock, &fired);
        Box::pin(async move {
            Clock::sleep(clock, SECOND * seconds as u32).await;
            fired.borrow_mut().push((seconds, clock.elapsed().as_secs()));
        })
    };
    let mut timers = vec![timer(3), timer(1), timer(2), timer(1)];
    clock.block_on(poll_fn(|context| {
        timers.retain_mut(|timer| timer.as_mut().poll(context).is_pending());
        if timers.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }));
    drop(timers);
    assert_eq!(fired.into_inner(), [(1, 1), (1, 1), (2, 2), (3, 3)]);
    clock.assert_slept(&[SECOND, SECOND, SECOND * 2, SECOND * 3]);
}

/// A timer that nobody polls is nothing to wait for; the clock goes past it.
#[test]
fn a_timer_that_is_not_awaited_yet_does_not_stop_the_clock() {
    let clock = ManualClock::new();
    let mut polls = 0;
    let both = async {
        let early = Clock::sleep(&clock, SECOND);
        Clock::sleep(&clock, SECOND * 5).await;
        early.await;
    };
    let mut both = std::pin::pin!(both);
    clock.block_on(poll_fn(|context| {
        polls += 1;
        assert!(polls < 1000, "the clock stands still at {:?}", clock.elapsed());
        both.as_mut().poll(context)
    }));
    assert_eq!(clock.elapsed(), SECOND * 5);
}

/// The same where nothing else is on the clock: a message is better than a test that hangs.
#[test]
fn a_timer_that_nobody_awaits_does_not_make_the_clock_spin() {
    let clock = ManualClock::new();
    let _never_awaited = Clock::sleep(&clock, SECOND);
    let mut polls = 0;
    let stuck = poll_fn(|_| -> Poll<()> {
        polls += 1;
        assert!(polls < 1000, "the clock spins at {:?}", clock.elapsed());
        Poll::Pending
    });
    assert_eq!(
        message(|| clock.block_on(stuck)),
        "the future waits for something that is not on this clock",
    );
}

#[test]
fn a_timer_that_is_dropped_leaves_nothing() {
    let clock = ManualClock::new();
    let mut sleep = Box::pin(Clock::sleep(&clock, SECOND));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(sleep);
    drop(Clock::sleep(&clock, SECOND));
    // With a timer left, this would move the clock to it before it panics.
    message(|| clock.block_on(pending::<()>()));
    assert_eq!(clock.elapsed(), Duration::ZERO);
    clock.advance(HOUR);
    clock.assert_slept(&[]);
}

#[test]
fn a_timer_wakes_whoever_polled_it_last() {
    let clock = ManualClock::new();
    let mut sleep = Box::pin(Clock::sleep(&clock, SECOND));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // From one task to another, as in a `select!`: the executor below must be the one to wake.
    clock.block_on(sleep);
    assert_eq!(clock.elapsed(), SECOND);
}

/// The thread cannot know when the call has begun to wait, so it moves the clock until it is over.
#[test]
fn a_clock_may_be_moved_from_another_thread() {
    let clock = ManualClock::new();
    let over = Arc::new(AtomicBool::new(false));
    let mover = {
        let (clock, over) = (clock.clone(), Arc::clone(&over));
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                clock.advance(SECOND / 2);
                thread::yield_now();
            }
        })
    };
    let policy = Backoff::constant(SECOND).attempts(3);
    let call = async { retry(policy, || ready(Err::<(), _>("down"))).clock(&clock).await };
    // A call that nobody wakes fails the test, and does not hang it.
    let given_up = async {
        smol::Timer::after(SECOND * 10).await;
        Err("never woken")
    };
    let failed = smol::block_on(smol::future::or(call, given_up));
    over.store(true, Ordering::Relaxed);
    mover.join().unwrap();
    assert_eq!(failed, Err("down"));
    clock.assert_slept(&[SECOND; 2]);
    assert!(clock.elapsed() >= SECOND * 2);
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn a_clock_may_be_moved_from_another_task() {
    let clock = ManualClock::new();
    let mover = clock.clone();
    let task = tokio::spawn(async move {
        while mover.elapsed() < HOUR * 2 {
            mover.advance(HOUR / 4);
            tokio::task::yield_now().await;
        }
    });
    let policy = Backoff::constant(HOUR).attempts(2);
    let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock);
    assert_eq!(tokio::time::timeout(SECOND * 10, call).await, Ok(Err("down")));
    task.await.unwrap();
    clock.assert_slept(&[HOUR]);
}

#[test]
fn what_was_slept_is_said_in_words() {
    let clock = ManualClock::new();
    let policy = Backoff::linear(SECOND, Duration::from_millis(1500)).attempts(3);
    let _ = blocking::call(policy, |_| Err::<(), _>(())).clock(&clock).run();
    clock.assert_slept(&[SECOND, Duration::from_millis(2500)]);
    assert_eq!(
        message(|| clock.assert_slept(&[SECOND])),
        "expected to sleep [1s], and slept [1s, 2500ms]",
    );
    assert_eq!(
        message(|| ManualClock::new().assert_slept(&[HOUR])),
        "expected to sleep [1h], and slept []",
    );
}

/// A timeout that was not needed is not something that was slept.
#[test]
fn a_timeout_that_was_not_needed_does_not_count_as_slept() {
    let clock = ManualClock::new();
    let operation = || async {
        Clock::sleep(&clock, SECOND).await;
        Ok::<_, ()>(1)
    };
    let call = async { retry(Policy::DEFAULT, operation).clock(&clock).timeout(HOUR).await };
    assert_eq!(clock.block_on(call), Ok(1));
    clock.assert_slept(&[SECOND]);
}

#[test]
fn a_clock_works_after_a_panic() {
    let clock = ManualClock::new();
    message(|| clock.block_on(async { panic!("as the test wants it") }));
    clock.block_on(Clock::sleep(&clock, SECOND));
    clock.assert_slept(&[SECOND]);
}

// The script.

#[test]
fn a_script_says_its_lines_in_order() {
    let script = Script::new([Err("refused"), Err("reset"), Ok("page")]);
    assert_eq!((script.calls(), script.is_done()), (0, false));
    let clock = ManualClock::new();
    let policy = Backoff::none().attempts(5);
    let page = clock.block_on(async { retry(policy, || script.next()).clock(&clock).await });
    assert_eq!(page, Ok("page"));
    assert_eq!((script.calls(), script.is_done()), (3, true));
}

#[test]
fn a_script_that_is_played_too_often_says_so() {
    let script: Script<(), &str> = Script::new([Err("refused"), Err("reset")]);
    let policy = Backoff::none().attempts(3);
    let call = || blocking::call(policy, |_| script.call()).clock(ManualClock::new()).run();
    assert_eq!(message(call), "the script has 2 results, and this is call 3");
    // It can still be asked how it went, and goes on saying so.
    assert_eq!((script.calls(), script.is_done()), (3, true));
    assert_eq!(message(|| script.call()), "the script has 2 results, and this is call 4");
    assert_eq!(
        message(|| Script::<(), ()>::new([]).call()),
        "the script has 0 results, and this is call 1",
    );
}

// The switches. They are for the whole process, so each test of them is one.

/// A call that would take four hours: how many attempts it made, and why it stopped.
fn hours() -> (u32, Option<Stop>) {
    let policy = Backoff::constant(HOUR).attempts(5);
    let outcome = blocking::call(policy, |_| Err::<(), _>("down")).outcome();
    (outcome.attempts, outcome.reason)
}

/// The same on a manual clock, where it takes no time: what was slept.
fn slept() -> usize {
    let clock = ManualClock::new();
    let policy = Backoff::constant(HOUR).attempts(5);
    let _ = blocking::call(policy, |_| Err::<(), _>(())).clock(&clock).run();
    clock.slept().len()
}

#[test]
fn waits_can_be_switched_off_for_the_whole_process() {
    child::check(child::command("testing_helpers::child_without_waits"), 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_without_waits() {
    if !child::is_one() {
        return;
    }
    let policy = Backoff::constant(HOUR).attempts(5);
    assert_eq!(slept(), 4);
    {
        let _off = without_waits();
        assert_eq!(hours(), (5, Some(Stop::AttemptsSpent)));
        assert_eq!(thread::spawn(hours).join().unwrap(), hours());
        // The delays are decided and heard of as ever.
        let mut heard = Vec::new();
        let outcome = smol::block_on(
            retry(policy, || ready(Err::<(), _>(())))
                .clock(ManualClock::new())
                .on_retry(|event| heard.push(event.delay))
                .outcome(),
        );
        assert_eq!((heard, outcome.waited), (vec![HOUR; 4], HOUR * 4));
        let attempts = smol::block_on(async {
            let mut tries = tries_on(ManualClock::new(), policy);
            while tries.failed(()).await.is_ok() {}
            tries.attempt() - 1
        });
        assert_eq!(attempts, 5);
    }
    assert_eq!(slept(), 4);
}

#[test]
fn retries_can_be_switched_off_for_the_whole_process() {
    child::check(child::command("testing_helpers::child_without_retries"), 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_without_retries() {
    if !child::is_one() {
        return;
    }
    let policy = Backoff::constant(HOUR).attempts(5);
    {
        let _off = without_retries();
        let mut calls = 0;
        let failed = blocking::retry(policy, || {
            calls += 1;
            Err::<(), _>("down")
        });
        assert_eq!((failed, calls), (Err("down"), 1));
        let clock = ManualClock::new();
        let never = |_: &&str| -> bool { panic!("the last failure is not judged") };
        let call = retry(policy, || ready(Err::<(), _>("down"))).clock(&clock).when(never);
        assert_eq!(clock.block_on(call), Err("down"));
        let own = clock.block_on(async { tries_on(&clock, policy).failed("down").await });
        assert_eq!(own, Err("down"));
        clock.assert_slept(&[]);
        // Nor is there a hedge.
        let slow = || async {
            clock.sleep(HOUR).await;
            Err::<(), _>("down")
        };
        let call = retry(policy, slow).hedge(Duration::ZERO).clock(&clock).when(never).outcome();
        let outcome = clock.block_on(call);
        assert_eq!((outcome.attempts, outcome.reason), (1, Some(Stop::AttemptsSpent)));
    }
    assert_eq!(slept(), 4);
}

#[test]
fn an_attempt_without_retries_is_still_an_attempt() {
    child::check(child::command("testing_helpers::child_without_retries_tells_of_one_attempt"), 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_without_retries_tells_of_one_attempt() {
    if !child::is_one() {
        return;
    }
    let _off = without_retries();
    assert_eq!(hours(), (1, Some(Stop::AttemptsSpent)));
    let policy = Backoff::constant(HOUR).attempts(5);
    let outcome = blocking::call(policy, |_| Err::<(), _>("down")).outcome();
    assert_eq!(outcome.errors().collect::<Vec<_>>(), [(1, &"down")]);
}

#[test]
fn switches_nest() {
    child::check(child::command("testing_helpers::child_nests"), 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_nests() {
    if !child::is_one() {
        return;
    }
    let outer = without_waits();
    let inner = without_waits();
    drop(outer); // in any order
    assert_eq!(hours(), (5, Some(Stop::AttemptsSpent)));
    let retries = without_retries();
    assert_eq!(slept(), 0);
    drop(inner);
    assert_eq!(slept(), 0); // still without retries
    drop(retries);
    assert_eq!(slept(), 4);
    let guard = without_waits();
    assert!(
        catch_unwind(AssertUnwindSafe(|| {
            let _off = without_waits();
            panic!("as the test wants it");
        }))
        .is_err()
    );
    assert_eq!(slept(), 0);
    drop(guard);
    assert_eq!(slept(), 4);
}

#[test]
fn a_switch_may_stay_off_for_good() {
    child::check(child::command("testing_helpers::child_for_good"), 1);
}

#[test]
#[ignore = "a child process of another test"]
fn child_for_good() {
    if !child::is_one() {
        return;
    }
    without_waits().for_good();
    assert_eq!(hours(), (5, Some(Stop::AttemptsSpent)));
}
