//! The phases of a trial, before, during and after the outage, and its windows.

/// The timetable of a trial, in nanoseconds from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timetable {
    /// When the outage begins.
    pub(super) down: u64,
    /// When it ends.
    pub(super) up: u64,
    /// The last nanosecond of the trial.
    pub(super) until: u64,
    /// The length of a window. One begins as the outage ends.
    pub(super) window: u64,
    /// How much earlier the first window begins than the trial.
    offset: u64,
}

/// One value for each part of the time: of calls, by when they began.
///
/// ```
/// let phases = redial_sim::outage::Phases { before: 1, during: 2, after: 3 };
/// assert_eq!(phases.each().into_iter().sum::<i32>(), 6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Phases<T> {
    /// Before the outage.
    pub before: T,
    /// During it.
    pub during: T,
    /// After its end.
    pub after: T,
}

impl<T> Phases<T> {
    /// The three of them, in the order of time.
    ///
    /// ```
    /// let phases = redial_sim::outage::Phases { before: "a", during: "b", after: "c" };
    /// assert_eq!(phases.each().concat(), "abc");
    /// ```
    pub fn each(self) -> [T; 3] {
        [self.before, self.during, self.after]
    }

    /// Another value for each.
    ///
    /// ```
    /// let phases = redial_sim::outage::Phases { before: 1, during: 2, after: 3 };
    /// assert_eq!(phases.map(|value| value * 10).after, 30);
    /// ```
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Phases<U> {
        let [before, during, after] = self.each().map(&mut change);
        Phases { before, during, after }
    }

    /// The value of the phase at this time.
    pub(super) fn at(&mut self, timetable: &Timetable, time: u64) -> &mut T {
        if time < timetable.down {
            &mut self.before
        } else if time < timetable.up {
            &mut self.during
        } else {
            &mut self.after
        }
    }
}

impl Timetable {
    /// So long before the outage, in it, after it, and for a window.
    pub(super) const fn new(before: u64, down: u64, after: u64, window: u64) -> Self {
        let up = before + down;
        let offset = (window - up % window) % window;
        Self { down: before, up, until: up + after - 1, window, offset }
    }

    pub(super) const fn is_down(&self, time: u64) -> bool {
        self.down <= time && time < self.up
    }

    /// The window of a time.
    pub(super) const fn window_at(&self, time: u64) -> usize {
        ((time + self.offset) / self.window) as usize
    }

    /// The first window after the outage.
    pub(super) const fn first_after(&self) -> usize {
        self.window_at(self.up)
    }

    pub(super) const fn windows(&self) -> usize {
        self.window_at(self.until) + 1
    }

    /// From when to when a window is. The first and the last may be shorter than the others.
    pub(super) fn bounds(&self, window: usize) -> (u64, u64) {
        let start = window as u64 * self.window;
        let (start, end) = (start.saturating_sub(self.offset), start + self.window - self.offset);
        (start, end.min(self.until + 1))
    }

    /// When the end of the trial begins: its last ten windows, as far as they are after the outage.
    pub(super) fn late_from(&self) -> u64 {
        self.up.max((self.until + 1).saturating_sub(10 * self.window))
    }

    /// A count of the end of the trial, per second.
    pub(super) fn late_rate(&self, count: u64) -> f64 {
        count as f64 / ((self.until + 1 - self.late_from()) as f64 / 1e9)
    }

    /// When a window begins, in seconds from the start of the outage.
    pub(super) fn seconds_from_outage(&self, window: usize) -> f64 {
        (self.bounds(window).0 as f64 - self.down as f64) / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_all_time_and_one_begins_as_the_outage_ends() {
        for timetable in [
            Timetable::new(30, 15, 55, 10),
            Timetable::new(0, 40, 60, 10),
            Timetable::new(7, 1, 3, 100),
        ] {
            let mut time = 0;
            for window in 0..timetable.windows() {
                let (start, end) = timetable.bounds(window);
                assert_eq!(start, time);
                assert!((start..end).all(|time| timetable.window_at(time) == window));
                time = end;
            }
            assert_eq!(time, timetable.until + 1);
            assert_eq!(timetable.bounds(timetable.first_after()).0, timetable.up);
        }
    }
}
