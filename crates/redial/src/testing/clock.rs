//! A clock that stands still until somebody moves it.

use core::future::{Future, IntoFuture};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use redial_core::{Pretty, Time};

/// A clock that only moves when it is told to. It drives async and blocking calls without
/// sleeping, and writes down what was slept.
///
/// - [`block_on`](Self::block_on) runs a future and moves the clock to the next timer whenever
///   nothing else can happen, so a test of an hour takes no time.
/// - A blocking call moves the clock itself, by as much as it would have slept.
/// - [`advance`](Self::advance) moves it by hand: time that an attempt takes, or a test with a
///   runtime of its own.
///
/// Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use redial::{Clock, testing::ManualClock};
///
/// let clock = ManualClock::new();
/// clock.block_on(async { clock.sleep(Duration::from_secs(3600)).await });
/// assert_eq!(clock.elapsed(), Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    shared: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    now: Time,
    slept: Vec<Duration>,
    timers: Vec<(u64, Time, Option<Waker>)>,
    timers_made: u64,
}

impl ManualClock {
    /// A clock at zero.
    ///
    /// ```
    /// use redial::testing::ManualClock;
    /// assert!(ManualClock::new().elapsed().is_zero());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The time that it shows.
    ///
    /// ```
    /// use redial::{Breaker, BreakerState, testing::ManualClock};
    /// let (clock, breaker) = (ManualClock::new(), Breaker::new());
    /// assert_eq!(breaker.state(clock.now()), BreakerState::Closed { failures: 0 });
    /// ```
    pub fn now(&self) -> Time {
        self.state().now
    }

    /// How far it has been moved since it was made.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::testing::ManualClock;
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_secs(1));
    /// assert_eq!(clock.elapsed(), Duration::from_secs(1));
    /// ```
    pub fn elapsed(&self) -> Duration {
        self.state().now.since(Time::ZERO)
    }

    /// Moves it on and wakes the timers that are due.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::testing::ManualClock;
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_millis(1));
    /// assert_eq!(clock.elapsed().as_millis(), 1);
    /// ```
    pub fn advance(&self, duration: Duration) {
        let mut state = self.state();
        state.now = state.now.after(duration);
        let now = state.now;
        let due: Vec<_> = state
            .timers
            .iter_mut()
            .filter(|(_, at, _)| *at <= now)
            .filter_map(|(_, _, waker)| waker.take())
            .collect();
        drop(state);
        due.into_iter().for_each(Waker::wake);
    }

    /// What was slept on this clock, in order. A timer that was dropped before it was due, such as
    /// that of a timeout which was not needed, does not count.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> =
    ///     blocking::call(&Policy::DEFAULT, |_| Err(())).rng(|| u64::MAX).clock(&clock).run();
    /// assert_eq!(clock.slept(), [Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    pub fn slept(&self) -> Vec<Duration> {
        self.state().slept.clone()
    }

    /// Asserts what was slept on this clock, in order.
    ///
    /// ```
    /// use redial::testing::ManualClock;
    /// ManualClock::new().assert_slept(&[]);
    /// ```
    ///
    /// # Panics
    ///
    /// Where it was something else, with both written out.
    #[track_caller]
    pub fn assert_slept(&self, expected: &[Duration]) {
        let slept = self.slept();
        assert!(
            slept == expected,
            "expected to sleep {}, and slept {}",
            written(expected),
            written(&slept),
        );
    }

    /// Runs a future, or a call, to its end. Whenever it waits and nothing has woken it, the clock moves to
    /// the next timer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Clock, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let answer = clock.block_on(async {
    ///     clock.sleep(Duration::from_secs(7 * 24 * 3600)).await;
    ///     42
    /// });
    /// assert_eq!(answer, 42);
    /// ```
    ///
    /// # Panics
    ///
    /// Where the future waits for something that is not on this clock: it would wait for ever.
    #[track_caller]
    pub fn block_on<F: IntoFuture>(&self, future: F) -> F::Output {
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut future = pin!(future.into_future());
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
            if !woken.0.swap(false, Ordering::AcqRel) {
                self.advance_to_next_timer();
            }
        }
    }

    #[track_caller]
    fn advance_to_next_timer(&self) {
        let state = self.state();
        let awaited = state.timers.iter().filter(|(_, _, waker)| waker.is_some());
        let next = awaited.map(|(_, at, _)| *at).min();
        let wait = next.map(|at| at.since(state.now));
        drop(state);
        match wait {
            Some(wait) => self.advance(wait),
            None => panic!("the future waits for something that is not on this clock"),
        }
    }

    /// A test that panicked while it held the lock has left nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn written(durations: &[Duration]) -> String {
    let durations: Vec<_> = durations.iter().map(|duration| Pretty(*duration)).collect();
    format!("{durations:?}")
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl crate::Clock for ManualClock {
    type Sleep = ManualSleep;

    fn now(&self) -> Time {
        self.state().now
    }

    fn sleep(&self, duration: Duration) -> ManualSleep {
        let mut state = self.state();
        state.timers_made += 1;
        let (timer, at) = (state.timers_made, state.now.after(duration));
        state.timers.push((timer, at, None));
        ManualSleep { clock: self.clone(), timer, duration }
    }
}

impl crate::blocking::Clock for ManualClock {
    fn now(&self) -> Time {
        self.state().now
    }

    fn sleep(&self, duration: Duration) {
        self.state().slept.push(duration);
        self.advance(duration);
    }
}

/// Sleeping on a [`ManualClock`].
///
/// ```
/// use std::time::Duration;
/// use redial::{Clock, testing::{ManualClock, ManualSleep}};
/// let clock = ManualClock::new();
/// let sleep: ManualSleep = clock.sleep(Duration::from_secs(1));
/// drop(sleep); // cancelled: it leaves nothing behind
/// clock.assert_slept(&[]);
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct ManualSleep {
    clock: ManualClock,
    timer: u64,
    duration: Duration,
}

impl Future for ManualSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        let now = state.now;
        let Some(index) = state.timers.iter().position(|(timer, ..)| *timer == self.timer) else {
            return Poll::Ready(());
        };
        if state.timers[index].1 > now {
            state.timers[index].2 = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.timers.swap_remove(index);
        state.slept.push(self.duration);
        Poll::Ready(())
    }
}

impl Drop for ManualSleep {
    fn drop(&mut self) {
        self.clock.state().timers.retain(|(timer, ..)| *timer != self.timer);
    }
}
