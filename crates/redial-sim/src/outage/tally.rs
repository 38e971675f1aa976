//! What is counted in a trial.

use super::timetable::{Phases, Timetable};

/// The calls that began in one phase, and how they ended.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
///
/// let run = Outage::new(50.0, 100.0).trials(1).run(&Policy::DEFAULT)?;
/// let before = run.trials()[0].calls.before;
/// assert!(before.begun > 400 && before.begun == before.succeeded + before.gave_up);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CallCounts {
    /// Calls that began.
    pub begun: u64,
    /// Those of them that succeeded, whenever that was.
    pub succeeded: u64,
    /// Those of them that gave up: by their policy, for want of budget, or at an open breaker.
    pub gave_up: u64,
}

/// What is counted in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Window {
    pub(super) calls: u64,
    /// Attempts that arrive at the server.
    pub(super) attempts: u64,
    /// Those of them that are answered before their client stops waiting, be it with an error.
    pub(super) answered: u64,
    /// Those of them that the server takes on.
    pub(super) taken: u64,
    /// Requests that the server has done.
    pub(super) done: u64,
    /// Attempts that an open breaker keeps from the server.
    pub(super) kept_back: u64,
    /// Calls that succeed.
    pub(super) succeeded: u64,
}

impl Window {
    pub(super) const fn failed(&self) -> u64 {
        self.attempts - self.answered + self.kept_back
    }

    /// Whether most attempts fail. Those that fail by the rate of errors were answered.
    pub(super) const fn is_bad(&self) -> bool {
        self.failed() > self.answered
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) timetable: Timetable,
    pub(super) calls: Phases<CallCounts>,
    /// Attempts, by when they arrive at the server.
    pub(super) attempts: Phases<u64>,
    pub(super) windows: Vec<Window>,
    /// How long each call took that was caught in the outage and succeeded.
    pub(super) caught: Vec<u64>,
    /// Attempts that arrive in the last windows, and calls that succeed in them.
    pub(super) late_attempts: u64,
    pub(super) late_succeeded: u64,
}

impl Tally {
    pub(super) fn new(timetable: Timetable) -> Self {
        Self {
            timetable,
            calls: Phases::default(),
            attempts: Phases::default(),
            windows: vec![Window::default(); timetable.windows()],
            caught: Vec::new(),
            late_attempts: 0,
            late_succeeded: 0,
        }
    }

    pub(super) fn call(&mut self, now: u64) {
        self.calls.at(&self.timetable, now).begun += 1;
        self.window(now).calls += 1;
    }

    /// An attempt: when it arrives at the server; when it is done, if the server accepts it; and
    /// whether its client still waits for the answer.
    pub(super) fn attempt(&mut self, arrives: u64, done: Option<u64>, is_answered: bool) {
        if arrives > self.timetable.until {
            return;
        }
        *self.attempts.at(&self.timetable, arrives) += 1;
        self.late_attempts += u64::from(arrives >= self.timetable.late_from());
        let window = self.window(arrives);
        window.attempts += 1;
        window.answered += u64::from(is_answered);
        window.taken += u64::from(done.is_some());
        if let Some(done) = done.filter(|done| *done <= self.timetable.until) {
            self.window(done).done += 1;
        }
    }

    pub(super) fn kept_back(&mut self, now: u64) {
        self.window(now).kept_back += 1;
    }

    pub(super) fn succeeded(&mut self, begun: u64, now: u64) {
        self.calls.at(&self.timetable, begun).succeeded += 1;
        self.window(now).succeeded += 1;
        self.late_succeeded += u64::from(now >= self.timetable.late_from());
        if begun < self.timetable.up && now >= self.timetable.down {
            self.caught.push(now - begun);
        }
    }

    pub(super) fn gave_up(&mut self, begun: u64) {
        self.calls.at(&self.timetable, begun).gave_up += 1;
    }

    /// The end of the last window after the outage for which `is_so` holds, counted from the
    /// outage's end; zero where there is none.
    pub(super) fn last_after(&self, is_so: impl Fn(&Window) -> bool) -> u64 {
        let after = self.timetable.first_after();
        let last = (after..self.windows.len()).rev().find(|window| is_so(&self.windows[*window]));
        last.map_or(0, |window| self.timetable.bounds(window).1 - self.timetable.up)
    }

    /// The most attempts of any window after the outage.
    pub(super) fn peak(&self) -> u64 {
        let after = &self.windows[self.timetable.first_after()..];
        after.iter().map(|window| window.attempts).max().unwrap_or(0)
    }

    fn window(&mut self, time: u64) -> &mut Window {
        &mut self.windows[self.timetable.window_at(time)]
    }
}
