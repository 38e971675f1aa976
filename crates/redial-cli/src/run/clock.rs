//! Time as the run counts it: it stands still while the run is stopped.

use std::time::{Duration, Instant};

use redial_core::Time;

/// A monotonic clock that starts with the run. Whoever presses Ctrl-Z stops the delays and the
/// timeouts too.
pub(super) struct Clock {
    started: Instant,
    stopped: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { started: Instant::now(), stopped: Duration::ZERO }
    }

    pub(super) fn now(&self) -> Time {
        Time::ZERO.after(self.elapsed().saturating_sub(self.stopped))
    }

    /// With the time in which the run was stopped.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Leaves out the time that `stop` takes.
    pub(super) fn pause(&mut self, stop: impl FnOnce()) {
        let before = Instant::now();
        stop();
        self.stopped += before.elapsed();
    }
}
