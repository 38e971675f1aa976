//! The recorder of latencies: how exact, how much it remembers, and from many threads at once.

use std::thread;
use std::time::Duration;

use redial_core::{HedgeDelay, Latencies, Percentile, Random};
use redial_seeds::{Draw, each_case};

const MILLI: Duration = Duration::from_millis(1);

#[test]
fn a_percentile_is_up_to_an_eighth_above_the_true_one() {
    each_case(300, |dice| {
        let latencies = Latencies::new();
        // From 16 µs to over an hour: what it tells apart.
        let count = 200 + dice.below(2000);
        let mut taken: Vec<u64> =
            (0..count).map(|_| (1 << 14) + (dice.word() >> (22 + dice.below(27)))).collect();
        taken.iter().for_each(|nanos| latencies.record(Duration::from_nanos(*nanos)));
        taken.sort_unstable();
        for percent in [1, 50, 90, 95, 99] {
            let rank = (taken.len() * usize::from(percent)).div_ceil(100).max(1);
            let exact = taken[rank - 1];
            let told = latencies.at(percent).unwrap().as_nanos() as u64;
            assert!(exact <= told && told <= exact + exact / 8, "{percent}: {told} for {exact}");
        }
    });
}

#[test]
fn it_tells_nothing_before_it_has_seen_enough() {
    for (percent, enough) in [(50, 2), (90, 10), (95, 20), (99, 100)] {
        let latencies = Latencies::new();
        for _ in 1..enough {
            latencies.record(MILLI);
            assert_eq!(latencies.at(percent), None);
        }
        latencies.record(MILLI);
        assert!(latencies.at(percent).is_some(), "{percent}");
    }
    assert_eq!(Latencies::new().at(100), None);
}

#[test]
fn it_forgets_what_was_long_ago() {
    let latencies = Latencies::new();
    (0..4096).for_each(|_| latencies.record(MILLI * 1000));
    assert!(latencies.at(95).unwrap() >= MILLI * 1000);
    (0..5 * 4096).for_each(|_| latencies.record(MILLI));
    assert!(latencies.at(95).unwrap() < MILLI * 2, "{latencies:?}");
}

#[test]
fn extremes_are_kept_at_the_ends() {
    let latencies = Latencies::new();
    (0..10).for_each(|_| latencies.record(Duration::ZERO));
    assert!(latencies.at(50).unwrap() < MILLI / 10);
    (0..100).for_each(|_| latencies.record(Duration::MAX));
    let longest = latencies.at(90).unwrap();
    assert!(longest > Duration::from_secs(3600) && longest < Duration::from_secs(7200));
}

/// Counts of many threads add up; only halving takes some away.
#[test]
fn nothing_is_lost_between_threads() {
    let latencies = Latencies::new();
    thread::scope(|scope| {
        for thread in 0..4 {
            let latencies = &latencies;
            scope.spawn(move || {
                for _ in 0..1000 {
                    latencies.record(MILLI * if thread == 0 { 1000 } else { 1 });
                }
            });
        }
    });
    // A quarter took a second: the 74th percentile is fast, the 76th is not.
    assert!(latencies.at(74).unwrap() < MILLI * 2 && latencies.at(76).unwrap() >= MILLI * 1000);
}

#[test]
fn a_percentage_out_of_range_is_refused_by_name() {
    for percent in [0, 100, 255] {
        let refused = Percentile::try_new(&Latencies::new(), percent).unwrap_err().to_string();
        assert_eq!(refused, format!("percentile: {percent} is out of range; use 1 to 99"));
    }
    let latencies = Latencies::new();
    let edge = Percentile::try_new(&latencies, 99).unwrap();
    assert_eq!(edge.or(MILLI).patience(), Some(MILLI));
}
