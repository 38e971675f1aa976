//! One seed, one result; nothing is lost; and settings that make no sense.

use std::time::Duration;

use redial_core::{Backoff, Breaker, Budget, Policy};
use redial_sim::engine::{Bounds, Completion};
use redial_sim::outage::{Arrivals, Service};
use redial_sim::{Outage, Run, Watch, outage};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const POLICY: Policy = Backoff::exponential(Duration::from_millis(100)).full_jitter().attempts(5);
const FOREVER: Policy = Backoff::constant(Duration::from_millis(500)).unlimited();

const SCENARIO: Outage = Outage::new(100.0, 150.0).after(secs(30)).trials(6);

/// Of each kind one.
const SCENARIOS: [Outage; 5] = [
    SCENARIO,
    SCENARIO.refuses(true).arrivals(Arrivals::Regular).service(Service::Constant).errors(0.1),
    SCENARIO.remaining(0.3).queue(Some(50)).round_trip(Duration::from_millis(30)),
    SCENARIO.budget(Some(Budget::builder())).processes(3),
    SCENARIO.breaker(Some(Breaker::builder().recovery(secs(1)))).budget(Some(Budget::builder())),
];

fn run(scenario: Outage, policy: &Policy) -> Run<Outage> {
    scenario.run(policy).expect("a valid scenario")
}

#[test]
fn every_call_succeeds_gives_up_or_is_under_way() {
    for scenario in SCENARIOS {
        for policy in [POLICY, FOREVER, Backoff::none().attempts(1)] {
            for trial in run(scenario, &policy).trials() {
                let each = trial.calls.each();
                let begun: u64 = each.iter().map(|calls| calls.begun).sum();
                let ended: u64 = each.iter().map(|calls| calls.succeeded + calls.gave_up).sum();
                assert_eq!(begun, ended + u64::from(trial.in_flight));
                assert!(begun > 4500, "{trial:?}");
            }
        }
    }
}

/// What the timeline counts is what the trials count.
#[test]
fn the_timeline_adds_up() {
    for scenario in SCENARIOS {
        let run = run(scenario, &POLICY);
        let timeline = run.results().expect("complete").timeline;
        let trials = run.trials().len() as f64;
        let total = |rates: &[f64]| rates.iter().sum::<f64>() * trials;
        let sum =
            |count: fn(&outage::Trial) -> u64| run.trials().iter().map(count).sum::<u64>() as f64;
        let near = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-6 * theirs);
        near(total(&timeline.calls), sum(|trial| trial.calls.each().iter().map(|c| c.begun).sum()));
        near(total(&timeline.load), sum(|trial| trial.attempts.each().iter().sum()));
        near(
            total(&timeline.goodput),
            sum(|trial| trial.calls.each().iter().map(|c| c.succeeded).sum()),
        );
        assert!(timeline.queue.iter().all(|held| *held >= 0.0));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for scenario in SCENARIOS {
        let one = run(scenario.threads(1), &POLICY);
        for threads in [2, 7] {
            let many = run(scenario.threads(threads), &POLICY);
            assert_eq!(one.trials(), many.trials());
            assert_eq!((one.digest(), one.results()), (many.digest(), many.results()));
        }
        assert_ne!(one.digest(), run(scenario.seed(2), &POLICY).digest());
    }
}

/// What a change of the engine, of the model or of the random numbers would change, and what
/// another platform must not.
#[test]
fn the_traces_are_these_on_every_platform() {
    let digests = SCENARIOS.map(|scenario| run(scenario, &POLICY).digest().value());
    assert_eq!(digests, DIGESTS, "{digests:#x?}");
}

const DIGESTS: [u64; 5] = [
    0x9fbd_9989_57b8_e249,
    0x8d01_f52a_c080_3ba7,
    0x3c23_c667_33c3_eb21,
    0xb0a5_eedf_ca9c_3d00,
    0xf119_811a_502b_e292,
];

#[test]
fn all_times_times_1024_change_no_count() {
    let scaled = |factor: u32| {
        let ms = |millis| Duration::from_millis(millis) * factor;
        let rate = |rate: f64| rate / f64::from(factor);
        let scenario = Outage::new(rate(100.0), rate(150.0))
            .timeout(ms(1000))
            .round_trip(ms(10))
            .before(ms(5000))
            .down(ms(5000))
            .after(ms(20_000))
            .window(ms(1000))
            .trials(5);
        run(scenario, &Backoff::exponential(ms(100)).max(ms(2000)).full_jitter().attempts(5))
    };
    let (small, large) = (scaled(1), scaled(1024));
    for (small, large) in small.trials().iter().zip(large.trials()) {
        assert_eq!((small.calls, small.attempts), (large.calls, large.attempts));
        assert_eq!((small.in_flight, small.trace.events), (large.in_flight, large.trace.events));
        assert_eq!((small.peak, small.late_attempts), (large.peak, large.late_attempts));
        assert_eq!(small.recovery.map(|time| time * 1024), large.recovery);
    }
}

#[test]
fn a_policy_against_itself_makes_no_difference_at_all() {
    for scenario in SCENARIOS {
        let change = run(scenario, &POLICY).against(&run(scenario, &POLICY)).expect("the same");
        for difference in [
            change.recovers,
            change.amplification,
            change.peak,
            change.goodput.expect("calls"),
            change.gave_up.expect("calls"),
            change.late_load,
            change.late_goodput,
        ] {
            assert_eq!((difference.mean, difference.ci95), (0.0, 0.0));
        }
    }
}

#[test]
fn a_budget_may_differ_in_a_comparison_and_the_world_may_not() {
    let base = run(SCENARIO, &POLICY);
    let with = run(SCENARIO.budget(Some(Budget::builder())), &POLICY);
    assert!(with.against(&base).expect("the same calls").amplification.mean < 0.0);
    for other in [SCENARIO.seed(2), SCENARIO.down(secs(9)), SCENARIO.queue(Some(9))] {
        assert!(base.against(&run(other, &POLICY)).is_none());
    }
}

/// The same calls come, whatever the policy does.
#[test]
fn policies_meet_the_same_calls() {
    let begun = |policy| {
        let run = run(SCENARIO, &policy);
        run.trials().iter().map(|trial| trial.calls.map(|calls| calls.begun)).collect::<Vec<_>>()
    };
    assert_eq!(begun(POLICY), begun(FOREVER));
}

#[test]
fn a_deadline_of_the_policy_cuts_an_attempt_too() {
    let limit = Duration::from_millis(1500);
    let policy = Backoff::none().unlimited().within(limit);
    let run = run(SCENARIO.trials(2), &policy);
    for trial in run.trials() {
        // One attempt of a second, one of half a second, and it is over.
        assert!(trial.caught.is_none_or(|caught| caught.longest <= limit));
        assert!(trial.attempts.during <= 2 * trial.calls.during.begun + 100);
        assert!(trial.in_flight <= 200);
    }
}

#[test]
fn a_storm_without_end_ends_with_the_time_looked_at() {
    let run = run(Outage::new(200.0, 100.0).trials(2), &FOREVER);
    let results = run.results().expect("the end of the time looked at is no bound");
    assert_eq!(results.recovers.mean, 0.0);
    assert!(results.in_flight.mean > 10_000.0);
    assert_eq!(results.gave_up_during.expect("calls").mean, 0.0);
}

#[test]
fn a_bound_cuts_and_says_so() {
    let cut = |bounds, policy: &Policy| {
        let run = run(SCENARIO.refuses(true).bounds(bounds).threads(3), policy);
        assert_eq!(run.trials().len(), 1, "the other trials would only be cut, too");
        assert!(run.against(&run).is_none(), "there is nothing to compare");
        run.results().expect_err("it was cut")
    };
    let few = Bounds { events: 50_000, ..Bounds::DEFAULT };
    // Refused at once, and at once again.
    let endless = cut(few, &Backoff::none().unlimited());
    let trial = endless.trial.expect("one was run");
    assert_eq!(
        (endless.bound, trial.trace.events, endless.trials),
        (Completion::Events, 50_000, 6)
    );
    assert_eq!(trial.nanos / 1_000_000_000, 10);

    let crowded = cut(Bounds { clients: 40, ..Bounds::DEFAULT }, &FOREVER);
    assert!(crowded.to_string().contains("at the bound on clients"));
    let trial = crowded.trial.expect("one was run");
    assert_eq!((crowded.bound, trial.in_flight), (Completion::Clients, 40));

    let short = cut(Bounds { ticks: 1_000_000, ..Bounds::DEFAULT }, &FOREVER);
    assert_eq!(short.bound, Completion::Time);
}

#[test]
fn a_run_that_is_stopped_has_what_it_had() {
    static WATCH: Watch = Watch::new();
    WATCH.stop();
    let run = run(SCENARIO.watch(&WATCH), &POLICY);
    assert_eq!(run.results().expect_err("nothing was run").bound, Completion::Stopped);
}

#[track_caller]
fn refused(scenario: Outage, message: &str) {
    assert_eq!(scenario.run(&POLICY).unwrap_err().to_string(), message);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_value() {
    for (rate, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let range = "is out of range; use 0.000001 to 10000000";
        refused(Outage::new(rate, 1.0), &format!("rate: {shown} {range}"));
        refused(Outage::new(1.0, rate), &format!("capacity: {shown} {range}"));
    }
    for (share, shown) in [(-0.1, "-0.1"), (1.1, "1.1"), (f64::NAN, "NaN")] {
        let range = "is out of range; use 0 to 1";
        refused(SCENARIO.remaining(share), &format!("remaining: {shown} {range}"));
        refused(SCENARIO.errors(share), &format!("errors: {shown} {range}"));
    }
    refused(
        SCENARIO.timeout(Duration::ZERO),
        "timeout in seconds: 0 is out of range; use 0.000000001 to 86400",
    );
    refused(SCENARIO.down(secs(90_000)), "down in seconds: 90000 is out of range; use 0 to 86400");
    refused(
        SCENARIO.after(Duration::ZERO),
        "after in seconds: 0 is out of range; use 0.000000001 to 86400",
    );
    refused(
        SCENARIO.window(Duration::ZERO),
        "window in seconds: 0 is out of range; use 0.00038147 to 86400", // 131072 of them
    );
    refused(SCENARIO.queue(Some(0)), "queue: 0 is out of range; use 1 to 16777216");
    refused(SCENARIO.processes(0), "processes: 0 is out of range; use 1 to 65536");
    refused(SCENARIO.trials(0), "trials: 0 is out of range; use 1 to 1000000");
    refused(
        SCENARIO.trials(100_000),
        "trials: 100000 is out of range; use 1 to 41943", // fifty windows each
    );
    refused(
        SCENARIO.breaker(Some(Breaker::builder().failures(0))),
        "breaker failures: 0 is not allowed; use 1 or more",
    );
    refused(
        SCENARIO.budget(Some(Budget::builder().deposit(0.0).floor_per_second(0.0))),
        "budget: with no deposit and no floor an empty budget never refills",
    );
}

#[test]
fn settings_at_their_ends_do_not_break_it() {
    let day = secs(86_400);
    for scenario in [
        Outage::new(1e-6, 1e7),
        Outage::new(1e-3, 1e-6).before(day).down(day).after(day).window(day),
        Outage::new(10.0, 1e-6).timeout(day).round_trip(day),
        Outage::new(10.0, 20.0).remaining(f64::MIN_POSITIVE),
        Outage::new(10.0, 20.0).errors(1.0).remaining(1.0),
        Outage::new(10.0, 20.0).before(Duration::ZERO).down(Duration::ZERO),
        Outage::new(10.0, 20.0).after(Duration::from_nanos(1)),
        Outage::new(10.0, 20.0).window(Duration::from_nanos(2_999_999_999)),
        Outage::new(10.0, 20.0).timeout(Duration::from_nanos(1)).queue(Some(1)),
    ] {
        for delay in [secs(3600), Duration::MAX] {
            let policy = Backoff::constant(delay).unlimited();
            let results = run(scenario.trials(2), &policy).results().expect("no bound is near");
            assert!(results.amplification.mean >= 0.0);
            assert_eq!(results.timeline.load.len(), results.timeline.starts_s.len());
        }
    }
}
