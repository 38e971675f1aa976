//! A clock that needs no runtime: one thread of this process keeps the timers.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use redial_core::Time;

use crate::clock::{Clock, time_of};

/// A clock for any executor, or none: it needs nothing but a thread.
///
/// The first sleep starts a thread, `redial-timers`, which keeps the timers of the whole process in
/// order of time and wakes the tasks that are due. There is never more than one; it runs until the
/// process ends, and while nothing sleeps, it is parked. Each sleeping task takes one entry of its
/// memory, which is gone when the sleep is over or dropped.
///
/// ```
/// use redial::{Policy, ThreadClock, policy, retry};
///
/// const QUICK: Policy = policy!("retry: 2, delay: 1ms");
///
/// let mut calls = 0;
/// let call = retry(&QUICK, || {
///     calls += 1;
///     std::future::ready(if calls < 3 { Err("flaky") } else { Ok(calls) })
/// });
/// assert_eq!(pollster::block_on(call.clock(ThreadClock)), Ok(3));
/// ```
///
/// A timer of the executor's own is cheaper, for it takes no second thread to wake the first. Where
/// the system refuses the thread, a sleep yields to the other tasks until its time has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadClock;

impl Clock for ThreadClock {
    type Sleep = ThreadSleep;

    fn now(&self) -> Time {
        time_of(Instant::now())
    }

    fn sleep(&self, duration: Duration) -> ThreadSleep {
        ThreadSleep { until: Instant::now().checked_add(duration), timer: None }
    }
}

/// Sleeping on [`ThreadClock`].
///
/// ```
/// use std::time::Duration;
/// use redial::{Clock, ThreadClock};
///
/// let before = ThreadClock.now();
/// pollster::block_on(ThreadClock.sleep(Duration::from_millis(2)));
/// assert!(ThreadClock.now().since(before) >= Duration::from_millis(2));
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct ThreadSleep {
    /// `None` is later than the system's clock can say.
    until: Option<Instant>,
    /// Its number in the queue, once it is there.
    timer: Option<u64>,
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until else { return Poll::Pending };
        if Instant::now() >= until {
            self.cancel();
            return Poll::Ready(());
        }
        // A waker is a stranger's code: it is never cloned, dropped or woken while the lock is held.
        let waker = context.waker().clone();
        let mut queue = TIMERS.queue();
        let timer = *self.timer.get_or_insert_with(|| queue.next_number());
        let replaced = queue.waiting.insert((until, timer), waker);
        let is_first = queue.waiting.keys().next() == Some(&(until, timer));
        let is_kept = TIMERS.has_thread(&mut queue);
        drop(queue);
        if is_first && replaced.is_none() {
            TIMERS.changed.notify_one();
        }
        if !is_kept {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl ThreadSleep {
    fn cancel(&mut self) {
        if let (Some(until), Some(timer)) = (self.until, self.timer.take()) {
            let removed = TIMERS.queue().waiting.remove(&(until, timer));
            drop(removed);
        }
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// The timers of the process.
static TIMERS: Timers = Timers {
    queue: Mutex::new(Queue { waiting: BTreeMap::new(), made: 0, has_thread: false }),
    changed: Condvar::new(),
};

struct Timers {
    queue: Mutex<Queue>,
    /// The first timer is not the one that the thread waits for.
    changed: Condvar,
}

struct Queue {
    /// In order of time; the number tells timers of one instant apart.
    waiting: BTreeMap<(Instant, u64), Waker>,
    made: u64,
    has_thread: bool,
}

impl Queue {
    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            due.push(first.remove());
        }
        due
    }
}

impl Timers {
    /// Nothing that could panic happens while the lock is held.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody keeps the timers; starts the thread if nobody does.
    fn has_thread(&'static self, queue: &mut Queue) -> bool {
        if !queue.has_thread {
            let thread = std::thread::Builder::new().name("redial-timers".into());
            queue.has_thread = thread.spawn(|| self.keep()).is_ok();
        }
        queue.has_thread
    }

    fn keep(&self) {
        let mut queue = self.queue();
        loop {
            let now = Instant::now();
            let due = queue.take_due(now);
            if !due.is_empty() {
                drop(queue);
                for waker in due {
                    // The panic of one task's waker is not the end of all others' timers.
                    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                }
                queue = self.queue();
                continue;
            }
            let next = queue.waiting.keys().next().map(|(at, _)| *at - now);
            queue = match next {
                None => self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    let waited = self.changed.wait_timeout(queue, wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
