//! A fleet that fails at once, against a published experiment and against closed forms.

use std::time::Duration;

use redial_core::{Backoff, Policy};
use redial_sim::engine::{Bounds, Completion};
use redial_sim::{Watch, Wave, wave};

const BASE: Duration = Duration::from_secs(1);
const PLAIN: Policy = Backoff::exponential(BASE).unlimited();
const FULL: Policy = Backoff::exponential(BASE).full_jitter().unlimited();
const EQUAL: Policy = Backoff::exponential(BASE).equal_jitter().unlimited();
const DECORRELATED: Policy = Backoff::decorrelated(BASE).unlimited();
const STEADY: Policy = Backoff::constant(BASE).full_jitter().unlimited();
const AT_ONCE: Policy = Backoff::none().unlimited();

fn results(scenario: Wave, policy: &Policy) -> wave::Results {
    let run = scenario.run(policy).expect("a valid scenario");
    run.results().expect("no bound is near")
}

/// The README of v-code01/retrystorm counts the retries within 20 ms in fixed bins, and so do the
/// bins of our timeline, one trial at a time; its own repetitions differ by about a percent, and
/// those of the smaller fleet by more. Windows that may start anywhere find a little more.
#[test]
fn a_fleet_peaks_as_published() {
    let policies = [PLAIN, FULL, EQUAL, DECORRELATED];
    for (clients, repetitions, tolerance, published) in [
        (100_000, 4, 0.01, [100_000.0, 3132.0, 4118.0, 1344.0]),
        (10_000, 20, 0.02, [10_000.0, 333.0, 440.0, 148.0]),
    ] {
        for (policy, published) in policies.iter().zip(published) {
            let wave = Wave::new(clients).until(Duration::from_secs(30)).trials(1);
            let [mut fixed, mut sliding] = [0.0; 2];
            for seed in 1..=repetitions {
                let results = results(wave.seed(seed), policy);
                let bins = results.timeline.arrivals;
                fixed += bins.into_iter().fold(0.0, f64::max) / repetitions as f64;
                sliding += results.peak.mean / repetitions as f64;
            }
            let off = (fixed / published - 1.0).abs();
            assert!(off < tolerance, "{policy}: {fixed}, not {published}");
            assert!((1.0..1.05).contains(&(sliding / fixed)), "{policy}: {sliding}, {fixed}");
        }
    }
}

/// Where the arrivals are densest they are so many for each client in each base of the backoff:
///
/// - full jitter, just before the first base is over: Σ 1 / ((k − 1)! · 2^(k(k − 1)/2))
/// - equal jitter, from half of it on: 2
/// - decorrelated, after three of them: 1/2 + ln(5/2) / 6
///
/// The peak of a million clients is that, or up to 2 % more because the window is laid where chance
/// is highest.
#[test]
fn a_large_fleet_peaks_at_the_closed_form() {
    let term = |k: i32| {
        let factorial: f64 = (1..k).map(f64::from).product();
        1.0 / (factorial * 2f64.powi(k * (k - 1) / 2))
    };
    let full: f64 = (1..20).map(term).sum();
    assert!((full - 1.5651).abs() < 1e-4);
    let decorrelated = 0.5 + 2.5f64.ln() / 6.0;
    for (policy, density, second) in
        [(FULL, full, 0.98), (EQUAL, 2.0, 0.75), (DECORRELATED, decorrelated, 2.98)]
    {
        let wave = Wave::new(1_000_000).until(Duration::from_secs(5)).trials(2);
        let results = results(wave, &policy);
        let over = results.peak.mean / (density * 0.020 * 1e6);
        assert!((0.99..1.02).contains(&over), "{policy}: {over} of {density}");
        let at = results.peak_at_s.expect("there are retries").mean;
        assert!((at - second).abs() < 0.26, "{policy}: at {at}, not {second}");
    }
}

#[test]
fn what_is_left_of_a_wait_when_the_service_is_back_is_as_in_theory() {
    // Of waits uniform in [0, 1], what is left at a late time has the density 2(1 − x).
    let down = Duration::from_secs(30);
    let results = results(Wave::new(20_000).down(Some(down)).trials(5), &STEADY);
    assert_eq!((results.back.mean, results.gave_up.mean), (1.0, 0.0));
    let [p50, p99, last] = [results.back_p50_s, results.back_p99_s, results.back_last_s]
        .map(|time| time.expect("all are"));
    for (quantile, left) in [(p50, 1.0 - 0.5f64.sqrt()), (p99, 0.9)] {
        assert!((quantile.mean - (30.0 + left)).abs() < 0.01, "{quantile:?}, not {left}");
    }
    assert!(last.mean > 30.97 && last.mean < 31.0, "{last:?}");
    assert_eq!(results.last_s.map(|last| last.mean), Some(last.mean));
    // The mean wait is half a second, and the last one goes on for a third of one in the mean.
    let retries = results.retries.mean;
    assert!((retries - (30.0 + 1.0 / 3.0) / 0.5).abs() < 0.05, "{retries}");
}

#[test]
fn every_client_has_one_end() {
    let policy = Backoff::exponential(BASE).full_jitter().attempts(5);
    let down = Duration::from_secs(5);
    let wave = Wave::new(1000).until(Duration::from_secs(8)).down(Some(down));
    let run = wave.run(&policy).expect("a valid scenario");
    for trial in run.trials() {
        assert_eq!(trial.back + trial.gave_up + trial.still_trying, 1000);
        assert!(trial.back > 0 && trial.gave_up > 0 && trial.still_trying > 0, "{trial:?}");
        assert!(trial.back_p50_nanos >= Some(5_000_000_000));
        assert!(trial.last_nanos < Some(8_000_000_000));
        assert!(trial.retries >= u64::from(trial.back + 4 * trial.gave_up));
    }
}

#[test]
fn the_last_moment_is_not_looked_at_and_the_service_is_back_at_once() {
    let steady = Backoff::constant(BASE).attempts(4);
    let looked = |until, down| {
        let wave = Wave::new(10).until(Duration::from_secs(until));
        let results = results(wave.down(Some(Duration::from_secs(down))), &steady);
        [results.retries, results.back, results.still_trying, results.gave_up]
            .map(|estimate| estimate.mean)
    };
    assert_eq!(looked(10, 2), [2.0, 1.0, 0.0, 0.0]);
    assert_eq!(looked(10, 0), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(looked(10, 4), [3.0, 0.0, 0.0, 1.0]);
    assert_eq!(looked(3, 4), [2.0, 0.0, 1.0, 0.0]);
    assert_eq!(looked(3, 3), [2.0, 0.0, 1.0, 0.0]);
}

#[test]
fn limits_in_time_end_a_wave() {
    let policy = STEADY.within(Duration::from_secs(10));
    let results = results(Wave::new(1000), &policy);
    assert_eq!(results.gave_up.mean, 1.0);
    let last = results.last_s.expect("there are retries").mean;
    assert!(last > 9.9 && last < 10.0, "{last}");
    assert!((results.retries.mean - 20.0).abs() < 1.0);
}

#[test]
fn who_never_retries_makes_no_wave() {
    let results = results(Wave::new(1000), &Backoff::constant(BASE).attempts(1));
    assert_eq!((results.peak.mean, results.retries.mean), (0.0, 0.0));
    assert_eq!((results.peak_at_s, results.first_s, results.back_last_s), (None, None, None));
    assert_eq!(results.gave_up.mean, 1.0);
    assert!(results.timeline.arrivals.is_empty());
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let wave = Wave::new(300).down(Some(Duration::from_secs(3))).seed(5);
    let one = wave.run(&FULL).expect("a valid scenario");
    for threads in [2, 7] {
        let many = wave.threads(threads).run(&FULL).expect("a valid scenario");
        assert_eq!(one.trials(), many.trials());
        assert_eq!(one.results(), many.results());
        assert_eq!(one.digest(), many.digest());
    }
}

/// What a change of the random numbers would change, and what another platform must not.
#[test]
fn the_arrivals_are_these_on_every_platform() {
    let digests = [FULL, EQUAL, DECORRELATED].map(|policy| {
        let run = Wave::new(300).seed(5).run(&policy).expect("a valid scenario");
        run.digest().value()
    });
    assert_eq!(digests, [0x47ae_12f2_572d_cb91, 0x06e5_d819_84ee_8b2d, 0xdc9f_2116_68ca_2b8d]);
}

#[test]
fn all_times_times_a_thousand_change_no_count() {
    let scaled = |factor: u32| {
        let second = Duration::from_millis(1) * factor;
        let policy = Backoff::exponential(second).full_jitter().attempts(6);
        let wave = Wave::new(1000).window(second / 50).until(second * 60).down(Some(second * 9));
        wave.run(&policy).expect("a valid scenario")
    };
    let (one, thousand) = (scaled(1), scaled(1000));
    for (small, large) in one.trials().iter().zip(thousand.trials()) {
        assert_eq!(
            (small.retries, small.back, small.gave_up, small.still_trying),
            (large.retries, large.back, large.gave_up, large.still_trying),
        );
        // A nanosecond may be the one that takes a retry out of a window.
        assert!(small.peak.abs_diff(large.peak) <= 1);
    }
}

#[test]
fn a_policy_against_itself_makes_no_difference_at_all() {
    let wave = Wave::new(100).down(Some(BASE * 4));
    let run = |wave: Wave| wave.run(&FULL).expect("a valid scenario");
    let change = run(wave).against(&run(wave.threads(3))).expect("the same scenario");
    for difference in [change.peak, change.retries, change.gave_up, change.back] {
        assert_eq!((difference.mean, difference.ci95), (0.0, 0.0));
    }
    for other in [Wave::new(101), wave.seed(2), wave.down(None), wave.window(BASE)] {
        assert!(run(wave).against(&run(other)).is_none());
    }
}

#[track_caller]
fn refused(scenario: Wave, message: &str) {
    assert_eq!(scenario.run(&FULL).unwrap_err().to_string(), message);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_value() {
    refused(Wave::new(0), "clients: 0 is out of range; use 1 to 4194304");
    refused(Wave::new(u32::MAX), "clients: 4294967295 is out of range; use 1 to 4194304");
    refused(
        Wave::new(1).window(Duration::ZERO),
        "window in seconds: 0 is out of range; use 0.000000001 to 18446744073.709553",
    );
    refused(
        Wave::new(1).until(Duration::ZERO),
        "until in seconds: 0 is out of range; use 0.000000001 to 18446744073.709553",
    );
    refused(Wave::new(1).trials(0), "trials: 0 is out of range; use 1 to 1000000");
    refused(Wave::new(1).threads(0), "threads: 0 is out of range; use 1 to 1024");
}

#[test]
fn retries_without_end_are_cut_and_say_so() {
    let bounds = Bounds { events: 100_000, ..Bounds::DEFAULT };
    let forever = Wave::new(10).until(Duration::MAX).bounds(bounds);
    for (wave, policy) in [(Wave::new(1_000_000).bounds(bounds), AT_ONCE), (forever, STEADY)] {
        let run = wave.threads(3).run(&policy).expect("a valid scenario");
        let cut = run.results().expect_err("there is no end");
        assert_eq!((cut.bound, cut.index, cut.trials), (Completion::Events, 0, 20));
        assert_eq!(cut.to_string(), "trial 1 of 20 was cut after 100000 events");
        assert_eq!(run.trials().len(), 1, "the other trials would only be cut, too");
        assert!(run.against(&run).is_none(), "there is nothing to compare");
    }
    // As many as are allowed are not too many.
    let three = Backoff::none().attempts(4);
    let wave = Wave::new(10).bounds(Bounds { events: 30, ..Bounds::DEFAULT });
    assert_eq!(results(wave, &three).peak.mean, 30.0);
    let wave = wave.bounds(Bounds { ticks: 2_000_000_000, ..Bounds::DEFAULT });
    let cut = wave.run(&PLAIN).expect("a valid scenario").results().expect_err("too early");
    assert_eq!(cut.bound, Completion::Time);
}

#[test]
fn the_end_of_time_is_an_end_and_not_a_wrap() {
    let patient = Backoff::constant(Duration::MAX).unlimited();
    let ever = Wave::new(10).window(Duration::MAX).until(Duration::MAX).down(Some(Duration::MAX));
    let results = |policy| results(ever, policy);
    assert_eq!(results(&patient).still_trying.mean, 1.0);
    // Doubled until nothing is left of 64 bits of nanoseconds.
    let doubled = results(&FULL);
    assert_eq!(doubled.still_trying.mean, 1.0);
    assert_eq!(doubled.peak.mean, 10.0 * doubled.retries.mean);
    assert!(doubled.retries.mean > 30.0);
    assert!(doubled.timeline.arrivals.len() == 1);
    let thin = ever.window(Duration::from_nanos(1)).run(&FULL).expect("a valid scenario");
    assert!(thin.results().expect("complete").timeline.arrivals.len() <= 2048);
}

#[test]
fn a_wave_that_is_stopped_has_no_results() {
    static WATCH: Watch = Watch::new();
    WATCH.stop();
    let run = Wave::new(10).watch(&WATCH).run(&FULL).expect("a valid scenario");
    let cut = run.results().expect_err("nothing was run");
    assert_eq!(cut.to_string(), "trial 1 of 20 was cut because it was stopped");
}
