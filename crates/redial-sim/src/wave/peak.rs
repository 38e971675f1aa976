//! The most that comes within any window.

/// So many came within one window, which starts when the first of them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peak {
    pub(super) count: u64,
    pub(super) start: u64,
}

/// The most of these times, which are sorted, that lie in any window of the form [start,
/// start + window); the first such window. `None` where there are no times.
pub(super) fn peak(times: &[u64], window: u64) -> Option<Peak> {
    let mut peak = Peak { count: 0, start: *times.first()? };
    let mut first = 0;
    for (last, time) in times.iter().enumerate() {
        while time - times[first] >= window {
            first += 1;
        }
        let count = (last - first + 1) as u64;
        if count > peak.count {
            peak = Peak { count, start: times[first] };
        }
    }
    Some(peak)
}

#[cfg(test)]
mod tests {
    use redial_core::SplitMix64;

    use super::*;
    use crate::chance::uniform;

    fn check(times: &[u64], window: u64, count: u64, start: u64) {
        assert_eq!(peak(times, window), Some(Peak { count, start }), "{times:?} within {window}");
    }

    #[test]
    fn a_window_ends_before_its_end() {
        check(&[5], 1, 1, 5);
        check(&[0, 10], 10, 1, 0);
        check(&[0, 9], 10, 2, 0);
        check(&[0, 9, 10, 18, 19, 19], 10, 4, 10);
        check(&[0, u64::MAX], u64::MAX, 1, 0);
        check(&[3, 3, 3], u64::MAX, 3, 3);
        assert_eq!(peak(&[], 10), None);
    }

    #[test]
    fn it_is_what_counting_every_window_gives() {
        for seed in 0..500 {
            let mut random = SplitMix64::new(seed);
            let (count, window) = (1 + uniform(40, &mut random), 1 + uniform(20, &mut random));
            let mut times: Vec<u64> = (0..count).map(|_| uniform(60, &mut random)).collect();
            times.sort_unstable();
            let within = |start: u64| {
                times.iter().filter(|time| (start..start + window).contains(time)).count() as u64
            };
            let most = (0..=60).map(within).max();
            let found = peak(&times, window).expect("there are times");
            assert_eq!(Some(found.count), most, "seed {seed}");
            assert_eq!(within(found.start), found.count, "seed {seed}");
        }
    }
}
