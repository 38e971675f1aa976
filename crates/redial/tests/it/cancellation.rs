//! Dropping a call at every point at which it can be dropped, and panics on the way: no timer, no
//! token, no probe, no attempt and no error is left behind.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{Backoff, Breaker, Budget, Clock, Policy, Time, Verdict, blocking, retry, tries_on};

use crate::watched::WatchedClock;

const SECOND: Duration = Duration::from_secs(1);
const TOKENS: f64 = 100.0;

/// No delay, then some: a wait that yields, and waits on a timer.
fn policy() -> Policy {
    Backoff::list(&[Duration::ZERO, SECOND * 2, SECOND * 3]).attempts(5)
}

/// Everything that a call could leave behind.
struct World {
    clock: WatchedClock,
    budget: Budget,
    breaker: Breaker,
    attempts: Cell<u32>,
    attempts_alive: Cell<i32>,
    errors_alive: Cell<i32>,
    /// Where the call is to panic.
    panics: Option<(&'static str, u32)>,
}

/// Something of which there must be none in the end.
#[derive(Debug)]
struct Counted<'w>(&'w Cell<i32>);

impl std::fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("down")
    }
}

impl std::error::Error for Counted<'_> {}

impl<'w> Counted<'w> {
    fn new(alive: &'w Cell<i32>) -> Self {
        alive.set(alive.get() + 1);
        Self(alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

type Attempt<'w> = Pin<Box<dyn Future<Output = Result<u32, Counted<'w>>> + 'w>>;

impl World {
    /// The breaker is half open, and opens for no time at all, so that each attempt is a probe.
    fn new(panics: Option<(&'static str, u32)>) -> Self {
        let breaker = Breaker::builder().failures(1).recovery(Duration::ZERO).build();
        breaker.admit(|| Time::ZERO).expect("closed").failed(Time::ZERO);
        let clock = WatchedClock::new();
        clock.manual.advance(SECOND);
        Self {
            clock,
            budget: Budget::builder().capacity(TOKENS).floor_per_second(0.0).build(),
            breaker,
            attempts: Cell::new(0),
            attempts_alive: Cell::new(0),
            errors_alive: Cell::new(0),
            panics,
        }
    }

    fn panic_at(&self, place: &'static str, attempt: u32) {
        assert!(self.panics != Some((place, attempt)), "as the test wants it");
    }

    /// An attempt that takes a few polls and some time; the second hangs, the fifth succeeds.
    fn attempt(&self) -> Attempt<'_> {
        self.attempt_that_hangs(2)
    }

    /// The same for a call without a timeout.
    fn attempt_that_ends(&self) -> Attempt<'_> {
        self.attempt_that_hangs(0)
    }

    fn attempt_that_hangs(&self, hangs: u32) -> Attempt<'_> {
        let number = self.attempts.get() + 1;
        self.attempts.set(number);
        self.panic_at("making the attempt", number);
        let alive = Counted::new(&self.attempts_alive);
        Box::pin(async move {
            let _alive = alive;
            yielded().await;
            self.panic_at("the attempt", number);
            if number == hangs {
                std::future::pending::<()>().await;
            }
            // Its own timer is one that must not be left behind either.
            self.clock.sleep(Duration::from_millis(10)).await;
            if number == 5 { Ok(number) } else { Err(Counted::new(&self.errors_alive)) }
        })
    }

    fn judge(&self) -> Verdict {
        self.panic_at("the classifier", self.attempts.get());
        Verdict::Retry
    }

    fn hear(&self) {
        self.panic_at("on_retry", self.attempts.get());
    }

    /// Nothing of a call that is over is left, whether it ended or not.
    #[track_caller]
    fn check_nothing_left(&self, case: &str) {
        assert_eq!(self.clock.timers_alive(), 0, "{case}: timers left");
        assert_eq!(self.attempts_alive.get(), 0, "{case}: attempts left");
        assert_eq!(self.errors_alive.get(), 0, "{case}: errors left");
    }

    /// A retry is paid for if and only if its attempt began.
    #[track_caller]
    fn check_tokens(&self, case: &str) {
        let retries = self.attempts.get().saturating_sub(1);
        assert_eq!(self.budget.tokens(), TOKENS - f64::from(retries), "{case}: {retries} retries");
    }

    /// A probe that was given up made room for another: after its time the breaker admits one.
    #[track_caller]
    fn check_breaker(&self, case: &str) {
        self.clock.manual.advance(SECOND);
        assert!(self.breaker.admit(|| self.clock.time()).is_some(), "{case}: a probe is left");
    }
}

async fn yielded() {
    let mut done = false;
    poll_fn(|context| {
        if std::mem::replace(&mut done, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls at most this often, the clock moving on where nothing else does; then drops it. How often
/// it was polled before it ended, or `None` where it did not.
fn poll_and_drop<F: Future>(world: &World, future: F, polls: u32) -> Option<u32> {
    let flag = Arc::new(Flag(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    for poll in 1..=polls {
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            return Some(poll);
        }
        // Dropped with the clock where the call left it: the next poll moves it.
        if poll < polls && !flag.0.swap(false, Ordering::Relaxed) {
            world.clock.advance_to_next_timer();
        }
    }
    None
}

/// Drops the call after 0, 1, 2 … polls, until it gets to its end.
#[track_caller]
fn check_every_drop(
    at_least: u32,
    checks: fn(&World, &str),
    call: impl for<'w> Fn(&'w World) -> Pin<Box<dyn Future<Output = ()> + 'w>>,
) {
    for polls in 0.. {
        assert!(polls < 1000, "it never ends");
        let world = World::new(None);
        let ended = poll_and_drop(&world, call(&world), polls);
        let case = format!("dropped after {polls} polls, in attempt {}", world.attempts.get());
        world.check_nothing_left(&case);
        checks(&world, &case);
        if ended.is_some() {
            assert!(polls >= at_least, "only {polls} polls: the call should have more awaits");
            return;
        }
    }
}

#[test]
fn a_plain_call_leaves_nothing() {
    check_every_drop(
        8,
        |_, _| {},
        |world| {
            Box::pin(async {
                let call = retry(policy(), || world.attempt_that_ends()).clock(&world.clock);
                assert_eq!(call.await.ok(), Some(5));
            })
        },
    );
}

#[test]
fn a_call_with_everything_leaves_nothing() {
    check_every_drop(
        15,
        |world, case| {
            world.check_tokens(case);
            world.check_breaker(case);
        },
        |world| {
            Box::pin(async {
                let result = retry(policy(), || world.attempt())
                    .clock(&world.clock)
                    .classify(|_| world.judge())
                    .on_retry(|_| world.hear())
                    .timeout(SECOND)
                    .within(SECOND * 60)
                    .budget(&world.budget)
                    .breaker(&world.breaker)
                    .tolerance(Duration::from_millis(1))
                    .await;
                assert_eq!(result.ok(), Some(5));
            })
        },
    );
}

#[test]
fn a_call_with_everything_that_tells_its_outcome_leaves_nothing() {
    check_every_drop(
        15,
        |world, case| {
            world.check_tokens(case);
            world.check_breaker(case);
        },
        |world| {
            Box::pin(async {
                let outcome = retry(policy(), || world.attempt())
                    .clock(&world.clock)
                    .timeout(SECOND)
                    .within(SECOND * 60)
                    .budget(&world.budget)
                    .breaker(&world.breaker)
                    .outcome()
                    .await;
                assert_eq!(outcome.attempts, 5);
                assert_eq!(outcome.errors().count(), 4);
            })
        },
    );
}

#[test]
fn the_callers_own_loop_leaves_nothing() {
    check_every_drop(10, World::check_tokens, |world| {
        Box::pin(async {
            let mut tries =
                tries_on(&world.clock, policy()).within(SECOND * 60).budget(&world.budget);
            loop {
                match world.attempt_that_ends().await {
                    Ok(_) => break,
                    Err(error) => assert!(tries.failed(error).await.is_ok()),
                }
            }
        })
    });
}

/// A call that was made and never awaited has not begun.
#[test]
fn a_call_that_is_never_awaited_costs_nothing() {
    let world = World::new(None);
    let call = retry(policy(), || world.attempt())
        .clock(&world.clock)
        .budget(&world.budget)
        .breaker(&world.breaker);
    drop(call);
    let call = retry(policy(), || world.attempt()).clock(&world.clock).budget(&world.budget);
    drop(std::future::IntoFuture::into_future(call));
    assert_eq!(world.attempts.get(), 0);
    world.check_tokens("never awaited");
}

/// The tokens that one dropped call gives back, the next one can use.
#[test]
fn a_cancelled_wait_pays_for_the_next_one() {
    let clock = ManualClock::new();
    let budget = Budget::builder().capacity(1.0).floor_per_second(0.0).build();
    let policy = Backoff::constant(SECOND).attempts(2);
    for _ in 0..10 {
        let operation = || std::future::ready(Err::<(), _>("down"));
        let mut call = Box::pin(retry(policy, operation).clock(&clock).budget(&budget).outcome());
        let mut context = Context::from_waker(Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert_eq!(budget.tokens(), 0.0);
        drop(call);
        assert_eq!(budget.tokens(), 1.0);
    }
}

/// The places where somebody else's code runs, and how many attempts have begun there.
const PLACES: [&str; 4] = ["making the attempt", "the attempt", "the classifier", "on_retry"];

/// Runs a call that panics at this place in this attempt, and checks what is left.
#[track_caller]
fn check_panic(place: &'static str, attempt: u32, call: impl FnOnce(&World)) {
    let world = World::new(Some((place, attempt)));
    let unwound = catch_unwind(AssertUnwindSafe(|| call(&world)));
    let case = format!("{place} {attempt} panicked");
    assert!(unwound.is_err(), "{case}, and nobody noticed");
    world.check_nothing_left(&case);
    world.check_tokens(&case);
    world.check_breaker(&case);
}

fn everything_async(world: &World) {
    let call = async {
        retry(policy(), || world.attempt())
            .clock(&world.clock)
            .classify(|_| world.judge())
            .on_retry(|_| world.hear())
            .timeout(SECOND)
            .within(SECOND * 60)
            .budget(&world.budget)
            .breaker(&world.breaker)
            .outcome()
            .await
            .attempts
    };
    world.clock.manual.block_on(call);
}

/// The blocking loop, with attempts that do not hang.
fn everything_blocking(world: &World) {
    let call = blocking::call(policy(), |attempt| {
        world.attempts.set(attempt.number);
        let _alive = Counted::new(&world.attempts_alive);
        world.panic_at("making the attempt", attempt.number);
        world.clock.manual.advance(Duration::from_millis(10));
        world.panic_at("the attempt", attempt.number);
        Err::<(), _>(Counted::new(&world.errors_alive))
    });
    let _ = call
        .clock(&world.clock)
        .classify(|_| world.judge())
        .on_retry(|_| world.hear())
        .within(SECOND * 60)
        .budget(&world.budget)
        .breaker(&world.breaker)
        .outcome();
}

#[test]
fn a_panic_anywhere_unwinds_cleanly() {
    for place in PLACES.into_iter().filter(|place| *place != "on_retry") {
        for attempt in [1, 3, 4] {
            check_panic(place, attempt, everything_async);
        }
    }
}

#[test]
fn a_panic_anywhere_in_a_blocking_call_unwinds_cleanly() {
    for place in PLACES.into_iter().filter(|place| *place != "on_retry") {
        for attempt in [1, 3, 4] {
            check_panic(place, attempt, everything_blocking);
        }
    }
}

/// The retry that `on_retry` hears of is paid for, and never happens.
#[test]
fn a_panic_in_on_retry_gives_the_token_back() {
    for attempt in [1, 3, 4] {
        check_panic("on_retry", attempt, everything_async);
    }
}

#[test]
fn a_panic_in_on_retry_gives_the_token_back_in_a_blocking_call_too() {
    for attempt in [1, 3, 4] {
        check_panic("on_retry", attempt, everything_blocking);
    }
}

/// A thread that goes on after a caught panic has a working call and a working clock.
#[test]
fn a_call_after_a_panic_works() {
    let clock = ManualClock::new();
    let policy = Backoff::constant(SECOND).attempts(2);
    let panicking = || -> std::future::Ready<Result<(), ()>> { panic!("as the test wants it") };
    let call = async { retry(policy, panicking).clock(&clock).await };
    assert!(catch_unwind(AssertUnwindSafe(|| clock.block_on(call))).is_err());
    let call = async { retry(policy, || std::future::ready(Err::<(), _>(1))).clock(&clock).await };
    assert_eq!(clock.block_on(call), Err(1));
    clock.assert_slept(&[SECOND]);
}
