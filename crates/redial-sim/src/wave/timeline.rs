//! Arrivals over time, in few enough bins to be drawn.

use std::time::Duration;

/// More bins than a screen has columns.
const BINS_MAX: u64 = 2048;

/// How many trials have a timeline. More would take memory and change nothing visible.
pub(super) const TRIALS: u32 = 100;

/// How many retries arrive over time, from time zero to the last of them, in windows of the same
/// length as that of the peak.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Policy, policy};
/// use redial_sim::Wave;
///
/// const STEADY: Policy = policy!("attempts: 3, delay: 1s");
/// let scenario = Wave::new(50).window(Duration::from_millis(500));
/// let timeline = scenario.run(&STEADY)?.results().unwrap().timeline;
/// assert_eq!(timeline.bin, Duration::from_millis(500));
/// assert_eq!(timeline.arrivals, [0.0, 0.0, 50.0, 0.0, 50.0]);
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The length of each bin: one window, or two, four, … so that there are 2048 bins at most.
    pub bin: Duration,
    /// The arrivals in the fullest window of each bin, in the mean over the first hundred trials.
    /// The last is not zero. Empty where nothing arrives.
    pub arrivals: Vec<f64>,
}

/// The timeline of one trial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bins {
    nanos: u64,
    /// The arrivals in the fullest window of each.
    counts: Vec<u64>,
}

impl Bins {
    /// The bins of these times, which are sorted.
    pub(super) fn of(times: &[u64], window: u64) -> Self {
        let Some(last) = times.last() else {
            return Self { nanos: window, counts: Vec::new() };
        };
        let mut nanos = window;
        while last / nanos >= BINS_MAX {
            nanos *= 2;
        }
        let mut counts = vec![0; (last / nanos) as usize + 1];
        for within in times.chunk_by(|one, other| one / window == other / window) {
            let count = &mut counts[(within[0] / nanos) as usize];
            *count = within.len().max(*count as usize) as u64;
        }
        Self { nanos, counts }
    }

    /// The timelines of the first five trials.
    pub(super) fn each<'b>(all: impl Iterator<Item = &'b Self>) -> Vec<Timeline> {
        all.take(5).map(|bins| Self::mean(std::iter::once(bins))).collect()
    }

    /// The mean of them all, in the longest of their bins: each is a power of two of any other.
    pub(super) fn mean<'b>(all: impl Iterator<Item = &'b Self> + Clone) -> Timeline {
        let nanos = all.clone().map(|bins| bins.nanos).max().unwrap_or(0);
        let mut sums: Vec<u64> = Vec::new();
        for bins in all.clone() {
            for (index, counts) in bins.counts.chunks((nanos / bins.nanos) as usize).enumerate() {
                if index == sums.len() {
                    sums.push(0);
                }
                sums[index] += counts.iter().max().unwrap_or(&0);
            }
        }
        let trials = all.count() as f64;
        let arrivals = sums.into_iter().map(|sum| sum as f64 / trials).collect();
        Timeline { bin: Duration::from_nanos(nanos), arrivals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_has_the_arrivals_of_its_fullest_window() {
        let times: Vec<u64> = (0..100_000).map(|n| n * n / 1000).collect();
        for window in [1, 7, 10_000, u64::MAX] {
            let bins = Bins::of(&times, window);
            assert!(bins.counts.len() <= BINS_MAX as usize, "{}", bins.counts.len());
            let in_window =
                |number: u64| times.iter().filter(move |time| **time / window == number);
            let windows = bins.nanos / window;
            let fullest = (2 * windows..3 * windows).map(|number| in_window(number).count()).max();
            assert_eq!(bins.counts.get(2).map_or(0, |count| *count as usize), fullest.unwrap());
            if windows == 1 {
                assert_eq!(bins.counts.iter().sum::<u64>(), 100_000);
            }
        }
    }

    #[test]
    fn the_end_of_time_has_a_bin() {
        let bins = Bins::of(&[0, u64::MAX], 1);
        assert_eq!(bins.counts.len() as u64, BINS_MAX);
        assert_eq!((bins.counts[0], bins.counts[2047]), (1, 1));
    }

    #[test]
    fn trials_of_different_lengths_have_a_mean() {
        let short = Bins::of(&[0, 1, 3], 2);
        let long = Bins::of(&[0, 2 * 2048 + 3], 2);
        let none = Bins::of(&[], 2);
        let mean = Bins::mean([&short, &long, &none].into_iter());
        assert_eq!(mean.bin, Duration::from_nanos(4));
        assert_eq!((mean.arrivals[0], mean.arrivals.len()), (1.0, 1025));
        assert_eq!(mean.arrivals[1024], 1.0 / 3.0);
    }
}
