//! A clock that stands still while this process is stopped.

use std::time::{Duration, Instant};

use redial_core::Time;

/// A monotonic clock that stands still while this process is stopped: Ctrl-Z stops delays and timeouts
/// too.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    stopped: Duration,
}

impl Clock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self { started: Instant::now(), stopped: Duration::ZERO }
    }

    /// The time since the start, without what was spent stopped.
    pub fn now(&self) -> Time {
        Time::ZERO.after(self.elapsed().saturating_sub(self.stopped))
    }

    /// The time since the start, with what was spent stopped.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Does not count the time that `stop` takes.
    pub(crate) fn pause(&mut self, stop: impl FnOnce()) {
        let before = Instant::now();
        stop();
        self.stopped += before.elapsed();
    }
}
