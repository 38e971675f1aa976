//! A manual clock that writes down what the loop asks of it, and counts the timers that are alive.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use redial::testing::{ManualClock, ManualSleep};
use redial::{Clock, Pretty, Time, blocking};

/// What happened, with the time of each step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, at: Duration, what: &str) {
        self.0.lock().unwrap().push(format!("{} {what}", Pretty(at)));
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedClock {
    pub(crate) manual: ManualClock,
    pub(crate) log: Log,
    /// When the timers that are alive are due.
    due: Arc<Mutex<Vec<Time>>>,
}

impl WatchedClock {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn time(&self) -> Time {
        Time::ZERO.after(self.manual.elapsed())
    }

    pub(crate) fn log(&self, what: &str) {
        self.log.add(self.manual.elapsed(), what);
    }

    pub(crate) fn timers_alive(&self) -> usize {
        self.due.lock().unwrap().len()
    }

    /// Moves to the timer that is due next, if there is one.
    pub(crate) fn advance_to_next_timer(&self) {
        let next = self.due.lock().unwrap().iter().min().copied();
        if let Some(next) = next {
            self.manual.advance(next.since(self.time()));
        }
    }
}

impl Clock for WatchedClock {
    type Sleep = WatchedSleep;

    fn now(&self) -> Time {
        self.time()
    }

    fn sleep(&self, duration: Duration) -> WatchedSleep {
        assert!(!duration.is_zero(), "the loop promises never to sleep for zero");
        let at = self.time().after(duration);
        self.due.lock().unwrap().push(at);
        let sleep = Clock::sleep(&self.manual, duration);
        WatchedSleep { sleep, at, clock: self.clone(), begins: Some(duration) }
    }
}

impl blocking::Clock for WatchedClock {
    fn now(&self) -> Time {
        self.time()
    }

    fn sleep(&self, duration: Duration) {
        assert!(!duration.is_zero(), "the loop promises never to sleep for zero");
        self.log(&format!("timer {}", Pretty(duration)));
        blocking::Clock::sleep(&self.manual, duration);
    }
}

pub(crate) struct WatchedSleep {
    sleep: ManualSleep,
    at: Time,
    clock: WatchedClock,
    /// Until it is polled: a timer that nobody waits for is not worth a line in the log.
    begins: Option<Duration>,
}

impl Future for WatchedSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(duration) = self.begins.take() {
            self.clock.log(&format!("timer {}", Pretty(duration)));
        }
        Pin::new(&mut self.sleep).poll(context)
    }
}

impl Drop for WatchedSleep {
    fn drop(&mut self) {
        let mut due = self.clock.due.lock().unwrap();
        let place = due.iter().position(|at| *at == self.at);
        due.swap_remove(place.expect("a timer is dropped once"));
    }
}
