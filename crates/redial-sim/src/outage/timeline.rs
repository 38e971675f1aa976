//! Load, goodput and queue over time, in the mean over all trials.

use std::time::Duration;

use super::tally::Window;
use super::timetable::Timetable;

/// What happens in each window of time, in the mean over all trials. All of these are as long as
/// the timeline.
///
/// Windows are aligned to the end of the outage, so that none straddles it; the first and the last
/// may be shorter than the others.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
///
/// let results = Outage::new(50.0, 100.0).run(&Policy::DEFAULT)?.results().unwrap();
/// let timeline = results.timeline;
/// assert_eq!((timeline.starts_s[0], timeline.starts_s[10]), (-10.0, 0.0));
/// assert!((timeline.load[5] - 50.0).abs() < 5.0); // before the outage: every call, once
/// assert!(timeline.load[15] > 90.0 && timeline.goodput[15] == 0.0); // and in it
/// assert!(timeline.queue[19] > 800.0); // all of them wait until it ends
/// assert_eq!(results.timelines.len(), 5); // the first trials, each by itself
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// How long a window is.
    pub window: Duration,
    /// When each begins, in seconds from the start of the outage: those before it are negative.
    pub starts_s: Vec<f64>,
    /// Calls that begin, per second.
    pub calls: Vec<f64>,
    /// Attempts that arrive at the server, per second.
    pub load: Vec<f64>,
    /// Calls that succeed, per second.
    pub goodput: Vec<f64>,
    /// Requests that the server holds as the window ends, the one that it works on among them.
    pub queue: Vec<f64>,
}

/// How many trials have a timeline of their own.
const TRIALS: usize = 5;

impl Timeline {
    /// Those of the first trials, each by itself.
    pub(super) fn each<'w>(
        timetable: &Timetable,
        trials: impl Iterator<Item = &'w [Window]>,
    ) -> Vec<Self> {
        trials.take(TRIALS).map(|windows| Self::of(timetable, std::iter::once(windows))).collect()
    }

    pub(super) fn of<'w>(
        timetable: &Timetable,
        trials: impl ExactSizeIterator<Item = &'w [Window]>,
    ) -> Self {
        let mut sums = vec![Sum::default(); timetable.windows()];
        let count = trials.len() as f64;
        for windows in trials {
            sums.iter_mut().zip(windows).for_each(|(sum, window)| sum.add(window));
        }
        let seconds = |window| {
            let (start, end) = timetable.bounds(window);
            (end - start) as f64 / 1e9
        };
        let rates = |count_of: fn(&Sum) -> u64| -> Vec<f64> {
            let rate = |(window, sum)| count_of(sum) as f64 / (count * seconds(window));
            sums.iter().enumerate().map(rate).collect()
        };
        Self {
            window: Duration::from_nanos(timetable.window),
            starts_s: (0..sums.len()).map(|window| timetable.seconds_from_outage(window)).collect(),
            calls: rates(|sum| sum.calls),
            load: rates(|sum| sum.attempts),
            goodput: rates(|sum| sum.succeeded),
            queue: queue(&sums).map(|held| held as f64 / count).collect(),
        }
    }
}

/// Whole numbers, so that it does not matter in which order trials are added.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    attempts: u64,
    succeeded: u64,
    taken: u64,
    done: u64,
}

impl Sum {
    fn add(&mut self, window: &Window) {
        self.calls += window.calls;
        self.attempts += window.attempts;
        self.succeeded += window.succeeded;
        self.taken += window.taken;
        self.done += window.done;
    }
}

/// What was taken on and is not done yet.
fn queue(sums: &[Sum]) -> impl Iterator<Item = u64> {
    sums.iter().scan(0, |held, sum| {
        *held = *held + sum.taken - sum.done;
        Some(*held)
    })
}
