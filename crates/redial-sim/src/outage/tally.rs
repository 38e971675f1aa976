//! What is counted in a trial.

use super::course::{Course, Phases};

/// How it went for the calls that began in one phase.
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

    /// Whether most attempts fail, other than by chance.
    pub(super) const fn is_bad(&self) -> bool {
        self.failed() > self.answered
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) course: Course,
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
    pub(super) fn new(course: Course) -> Self {
        Self {
            course,
            calls: Phases::default(),
            attempts: Phases::default(),
            windows: vec![Window::default(); course.windows()],
            caught: Vec::new(),
            late_attempts: 0,
            late_succeeded: 0,
        }
    }

    pub(super) fn call(&mut self, now: u64) {
        self.calls.at(&self.course, now).begun += 1;
        self.window(now).calls += 1;
    }

    /// An attempt arrives then, is done then if it was taken on, and is answered in time or not.
    pub(super) fn attempt(&mut self, arrives: u64, done: Option<u64>, is_answered: bool) {
        if arrives > self.course.until {
            return;
        }
        *self.attempts.at(&self.course, arrives) += 1;
        self.late_attempts += u64::from(arrives >= self.course.late_from());
        let window = self.window(arrives);
        window.attempts += 1;
        window.answered += u64::from(is_answered);
        window.taken += u64::from(done.is_some());
        if let Some(done) = done.filter(|done| *done <= self.course.until) {
            self.window(done).done += 1;
        }
    }

    pub(super) fn kept_back(&mut self, now: u64) {
        self.window(now).kept_back += 1;
    }

    pub(super) fn succeeded(&mut self, begun: u64, now: u64) {
        self.calls.at(&self.course, begun).succeeded += 1;
        self.window(now).succeeded += 1;
        self.late_succeeded += u64::from(now >= self.course.late_from());
        if begun < self.course.up && now >= self.course.down {
            self.caught.push(now - begun);
        }
    }

    pub(super) fn gave_up(&mut self, begun: u64) {
        self.calls.at(&self.course, begun).gave_up += 1;
    }

    /// How long after the outage's end the last window ends of which `is_so` holds.
    pub(super) fn last_after(&self, is_so: impl Fn(&Window) -> bool) -> u64 {
        let after = self.course.first_after();
        let last = (after..self.windows.len()).rev().find(|window| is_so(&self.windows[*window]));
        last.map_or(0, |window| self.course.bounds(window).1 - self.course.up)
    }

    /// The most attempts of any window after the outage.
    pub(super) fn peak(&self) -> u64 {
        let after = &self.windows[self.course.first_after()..];
        after.iter().map(|window| window.attempts).max().unwrap_or(0)
    }

    fn window(&mut self, time: u64) -> &mut Window {
        &mut self.windows[self.course.window_at(time)]
    }
}
