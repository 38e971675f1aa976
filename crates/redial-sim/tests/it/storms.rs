//! Retry storms that others have described, and what a fluid would do.

use std::time::Duration;

use redial_core::{Backoff, Budget, BudgetBuilder, Policy};
use redial_sim::outage::{Arrivals, Service};
use redial_sim::{Outage, outage};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const ONCE: Policy = Backoff::none().attempts(1);
const ONE_RETRY: Policy = Backoff::none().attempts(2);
const THREE_RETRIES: Policy = Backoff::none().attempts(4);

/// Retries of so many calls of a hundred.
fn percent(share: f64) -> Option<BudgetBuilder> {
    Some(Budget::builder().capacity(10.0).deposit(share / 100.0).floor_per_second(0.0))
}

fn results(scenario: Outage, policy: &Policy) -> outage::Results {
    scenario.run(policy).expect("a valid scenario").results().expect("no bound is near")
}

#[track_caller]
fn assert_near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= share * expected, "{value}, not {expected}");
}

#[track_caller]
fn assert_recovers(results: &outage::Results, expected_s: f64, share: f64) {
    assert_eq!(results.recovers.mean, 1.0);
    assert_near(results.recovery_s.expect("they recover").mean, expected_s, share);
}

/// It ends with so many attempts per second and nothing to show for them.
#[track_caller]
fn assert_stuck(results: &outage::Results, load: f64) {
    assert_eq!((results.recovers.mean, results.recovery_s), (0.0, None));
    assert_near(results.late_load.mean, load, 0.015);
    assert!(results.late_goodput.mean < 1.0, "{:?}", results.late_goodput);
    assert_eq!(results.last_failure_s.mean, 200.0);
}

/// Bronson, Aghayev, Charapko and Zhu, Metastable Failures in Distributed Systems (2021), 2.1: a
/// database that is good for 300 requests per second, an outage of 10 s, timeouts of 1 s.
fn database(rate: f64) -> Outage {
    Outage::new(rate, 300.0).after(secs(200)).trials(5)
}

#[test]
fn one_retry_keeps_a_database_at_280_of_300_down_for_ever() {
    assert_stuck(&results(database(280.0), &ONE_RETRY), 560.0);
    assert_stuck(&results(database(152.0), &ONE_RETRY), 304.0);
    // 1400 calls and the retries of 1260 wait at the end of the outage; 20 a second become less.
    let backlog_s = (1400.0 + 1260.0 - 300.0) / 20.0;
    assert_recovers(
        &results(database(140.0).after(secs(400)).trials(20), &ONE_RETRY),
        backlog_s,
        0.08,
    );
    assert_stuck(&results(database(280.0), &THREE_RETRIES), 1120.0);
    assert_stuck(&results(database(140.0), &THREE_RETRIES), 560.0);
}

#[test]
fn without_retries_it_recovers_when_the_backlog_is_done() {
    for (rate, recovery_s) in [(140.0, 7.0), (240.0, 34.5), (280.0, 127.0)] {
        let scenario = database(rate).after(secs(400)).trials(20);
        assert_recovers(&results(scenario, &ONCE), recovery_s, 0.08);
    }
}

#[test]
fn backoff_that_is_short_against_backlog_by_headroom_does_not_end_a_storm() {
    let jitter = Backoff::exponential(secs(1)).full_jitter().attempts(4);
    for rate in [140.0, 280.0] {
        assert_stuck(&results(database(rate), &jitter), 4.0 * rate);
    }
}

#[test]
fn a_budget_saves_what_it_leaves_capacity_for() {
    let with = |rate, share| {
        let scenario = database(rate).after(secs(200)).trials(5).budget(percent(share));
        results(scenario, &THREE_RETRIES)
    };
    assert_recovers(&with(140.0, 20.0), 10.0, 0.15);
    assert_recovers(&with(140.0, 10.0), 8.0, 0.15);
    assert_recovers(&with(240.0, 10.0), 65.0, 0.2);
    assert_recovers(&with(260.0, 5.0), 92.0, 0.2);
    assert_stuck(&with(260.0, 20.0), 312.0);
    assert_stuck(&with(280.0, 20.0), 336.0);
    assert_stuck(&with(280.0, 10.0), 308.0);
}

#[test]
fn a_queue_shorter_than_what_the_timeout_lets_be_served_ends_it_with_the_outage() {
    for rate in [140.0, 240.0, 280.0] {
        let results = results(database(rate).queue(Some(250)), &THREE_RETRIES);
        assert_eq!(results.recovery_s.expect("it recovers").mean, 0.0, "{rate}");
        assert!(results.late_goodput.mean > 0.97 * rate);
    }
}

/// Without chance, what happens is what a fluid would do: t = (A·λ·D − μ·T) / (μ − A·λ).
#[test]
fn without_chance_it_recovers_as_a_fluid_would() {
    for (rate, budget) in [
        (240.0, None),
        (280.0, None),
        (240.0, percent(10.0)),
        (260.0, percent(10.0)),
        (260.0, percent(5.0)),
    ] {
        let policy = if budget.is_some() { THREE_RETRIES } else { ONCE };
        let amplification = 1.0
            + [(percent(10.0), 0.1), (percent(5.0), 0.05)]
                .into_iter()
                .find_map(|(known, share)| (known == budget).then_some(share))
                .unwrap_or(0.0);
        let load = amplification * rate;
        let fluid_s = (load * 10.0 - 300.0) / (300.0 - load);
        assert_recovers(&results(steady(rate, 400).budget(budget), &policy), fluid_s, 0.05);
    }
}

fn steady(rate: f64, after: u64) -> Outage {
    let scenario = Outage::new(rate, 300.0).after(secs(after)).trials(1);
    scenario.arrivals(Arrivals::Regular).service(Service::Constant)
}

/// μ / λ − 1 = 7.14 %
#[test]
fn the_budget_that_a_database_at_280_of_300_can_afford_is_7_percent() {
    let with = |share| results(steady(280.0, 3000).budget(percent(share)), &THREE_RETRIES);
    assert_recovers(&with(6.5), 1570.0, 0.1);
    for share in [7.0, 7.5, 8.0] {
        assert_eq!(with(share).recovers.mean, 0.0, "{share}");
    }
}

/// Huang et al., Metastable Failures in the Wild (2022): MongoDB under a request every 75 µs,
/// with timeouts of 3 s and 4 resends, loses 78 % or 80 % of its processor for 9 or 10 s. Of its
/// capacity they do not say how much it is; that it is 2.6 to 2.72 times the load follows from
/// what recovers.
#[test]
fn mongodb_recovers_from_what_it_recovered_from() {
    let recovers = |capacity: f64, rate: f64, down, remaining| {
        let scenario = Outage::new(1000.0 * rate, 1000.0 * capacity)
            .arrivals(Arrivals::Regular)
            .timeout(secs(3))
            .down(secs(down))
            .remaining(remaining)
            .after(secs(25))
            .trials(2);
        results(scenario, &Backoff::none().attempts(5)).recovers.mean
    };
    let cells = |capacity| {
        [
            recovers(capacity, 1.0, 10, 0.225),
            recovers(capacity, 1.0, 10, 0.2),
            recovers(capacity, 1.0, 9, 0.2),
            recovers(capacity, 0.75, 10, 0.2), // every 100 µs
        ]
    };
    for capacity in [2.6, 2.66, 2.72] {
        assert_eq!(cells(capacity), [1.0, 0.0, 1.0, 1.0], "{capacity}");
    }
    assert_eq!(cells(2.5), [0.0, 0.0, 0.0, 1.0]);
    assert_eq!(cells(2.8), [1.0; 4]);
}

/// Beyer, Jones, Petoff and Murphy, Site Reliability Engineering (2016), 22: a backend that is good
/// for 10 000 requests per second gets 10 100, and what it refuses comes again a second later.
#[test]
fn a_small_overload_grows_by_itself_every_second() {
    let scenario = Outage::new(10_100.0, 10_000.0)
        .arrivals(Arrivals::Regular)
        .service(Service::Constant)
        .queue(Some(10))
        .before(Duration::ZERO)
        .down(Duration::ZERO)
        .after(secs(30))
        .trials(1);
    let load = results(scenario, &Backoff::constant(secs(1)).attempts(100)).timeline.load;
    for (second, load) in load.iter().enumerate() {
        assert_near(*load, 10_100.0 + 100.0 * second as f64, 0.003);
    }
}

/// A service at two thirds of its capacity refuses everything for 30 s, and what exceeds half a
/// second of work after it.
#[test]
fn half_a_minute_of_refusals_is_bridged_or_not() {
    let scenario = Outage::new(1000.0, 1500.0)
        .down(secs(30))
        .refuses(true)
        .queue(Some(750))
        .window(Duration::from_millis(100))
        .trials(2);
    let plain = Backoff::exponential(secs(1)).max(secs(30));
    let full = Backoff::exponential(secs(1)).max(secs(30)).full_jitter();
    let often = Backoff::exponential(secs(1)).max(secs(10)).full_jitter();
    let grpc =
        Backoff::exponential(Duration::from_millis(100)).max(secs(1)).proportional_jitter(0.2);
    // The policy; attempts for a call during it, give-ups, the peak, the last failure, the longest
    // but one of a hundred.
    for (policy, budget, expected) in [
        (ONCE, None, [1.0, 1.0, 1.4, 0.0, 0.0]),
        (THREE_RETRIES, None, [4.0, 1.0, 1.4, 0.0, 0.0]),
        (grpc.attempts(4), None, [3.96, 0.976, 4.0, 0.0, 1.1]),
        (plain.attempts(6), None, [4.13, 0.39, 6.1, 30.0, 31.5]),
        (full.attempts(6), None, [5.05, 0.672, 5.9, 15.0, 27.0]),
        (full.unlimited(), None, [5.22, 0.0, 6.6, 50.0, 88.0]),
        (often.unlimited(), None, [6.05, 0.0, 9.5, 56.0, 78.0]),
        (full.attempts(6), percent(10.0), [1.1, 0.998, 1.4, 0.0, 1.0]),
    ] {
        let results = results(scenario.budget(budget), &policy);
        let ours = [
            results.amplification_during.expect("calls").mean,
            results.gave_up_during.expect("calls").mean,
            results.peak.mean,
            results.last_failure_s.mean,
            results.caught_p99_s.map_or(0.0, |caught| caught.mean),
        ];
        let tolerances =
            [0.01 * expected[0], 0.04, 0.1 * expected[2], 2.0, 0.3 + 0.02 * expected[4]];
        for ((ours, expected), tolerance) in ours.iter().zip(expected).zip(tolerances) {
            assert!((ours - expected).abs() <= tolerance, "{policy:?}: {ours}, not {expected}");
        }
    }
}

#[test]
fn a_breaker_that_opens_keeps_the_load_away() {
    use redial_core::Breaker;
    let breaker = Breaker::builder().recovery(secs(2));
    let with = results(database(280.0).breaker(Some(breaker)), &ONE_RETRY);
    // The requests of the first second, one probe every three seconds from then on.
    assert!(with.amplification_during.expect("calls").mean < 0.25, "{with:?}");
    assert_eq!(with.recovers.mean, 1.0);
    assert!(with.recovery_s.expect("it does").mean < 6.0);
    assert!(with.late_goodput.mean > 270.0);
}
