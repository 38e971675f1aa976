//! Settings that make no sense, and crowds that never come to an end.

use std::time::Duration;

use redial_core::{Backoff, Policy};
use redial_sim::Contention;
use redial_sim::contention::Latency;
use redial_sim::engine::{Bounds, Completion};

const FOREVER: Policy = Backoff::constant(Duration::from_secs(1)).unlimited();

#[track_caller]
fn refused(scenario: Contention, message: &str) {
    assert_eq!(scenario.run(&FOREVER).unwrap_err().to_string(), message);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_value() {
    refused(Contention::occ(0), "clients: 0 is out of range; use 1 to 4194304");
    refused(Contention::ballot(u32::MAX), "clients: 4294967295 is out of range; use 1 to 4194304");
    refused(Contention::occ(1).trials(0), "trials: 0 is out of range; use 1 to 1000000");
    refused(Contention::occ(1).threads(0), "threads: 0 is out of range; use 1 to 1024");
    refused(
        Contention::occ(50).bounds(Bounds { clients: 49, ..Bounds::DEFAULT }),
        "clients: 50 is out of range; use 1 to 49",
    );
    refused(
        Contention::occ(u32::MAX).bounds(Bounds { clients: u32::MAX, ..Bounds::DEFAULT }),
        "clients: 4294967295 is out of range; use 1 to 16777216",
    );
}

#[test]
fn a_crowd_that_collides_for_ever_is_cut_and_says_so() {
    let scenario = Contention::collision(3).latency(Latency::millis(10, 0)).threads(3);
    let bounds = Bounds { events: 100_000, ..Bounds::DEFAULT };
    let run = scenario.bounds(bounds).run(&FOREVER).expect("a valid scenario");
    let cut = run.results().expect_err("nothing can ever succeed");
    assert_eq!((cut.bound, cut.index, cut.trials), (Completion::Events, 0, 500));
    let trial = cut.trial.expect("one was run");
    assert_eq!((trial.trace.events, trial.committed), (100_000, 0));
    assert_eq!(run.trials().len(), 1, "the other trials would only be cut, too");
    assert!(run.against(&run).is_none(), "there is nothing to compare");
}

#[test]
fn no_delay_at_all_and_no_latency_is_cut_too() {
    let scenario = Contention::collision(2).latency(Latency::millis(10, 0));
    let bounds = Bounds { events: 10_000, ..Bounds::DEFAULT };
    let run = scenario.bounds(bounds).run(&Backoff::none().unlimited()).expect("valid");
    assert_eq!(run.results().expect_err("in step").bound, Completion::Events);
    // Without latency nothing overlaps, and all is over at once.
    let instant = Contention::collision(100).latency(Latency::millis(0, 0)).trials(3);
    let results = instant.run(&FOREVER).expect("valid").results().expect("complete");
    assert_eq!((results.time_ms.mean, results.committed.mean), (0.0, 1.0));
}

#[test]
fn the_end_of_time_is_a_bound_and_not_a_wrap() {
    for scenario in [Contention::occ(3), Contention::collision(3), Contention::ballot(3)] {
        let far = Latency { mean: Duration::MAX, spread: Duration::MAX };
        for scenario in [scenario.latency(far), scenario.start_spread(Duration::MAX)] {
            let run = scenario.trials(3).run(&FOREVER).expect("a valid scenario");
            assert_eq!(run.results().expect_err("beyond all time").bound, Completion::Time);
        }
        let patient = Backoff::constant(Duration::MAX).unlimited();
        let scenario = scenario.latency(Latency::millis(10, 1)).trials(3);
        let run = scenario.run(&patient).expect("a valid scenario");
        assert_eq!(run.results().expect_err("nobody waits so long").bound, Completion::Time);
    }
}

#[test]
fn a_deadline_of_the_policy_is_kept() {
    let limit = Duration::from_millis(300);
    let policy =
        Backoff::constant(Duration::from_millis(20)).full_jitter().unlimited().within(limit);
    for scenario in [Contention::occ(60), Contention::collision(60), Contention::ballot(60)] {
        let latency = Latency::millis(10, 2);
        let run = scenario.latency(latency).trials(20).run(&policy).expect("a valid scenario");
        for trial in run.trials() {
            assert!(trial.gave_up > 0 && trial.committed + trial.gave_up == 60);
            // The last attempt starts before the deadline and takes 40 ms or so.
            assert!(trial.nanos < 400_000_000, "{trial:?}");
        }
    }
}

#[test]
fn a_hundred_thousand_clients_fit() {
    let policy = Backoff::constant(Duration::from_secs(3600)).full_jitter().attempts(3);
    let run = Contention::occ(100_000).trials(1).run(&policy).expect("a valid scenario");
    let results = run.results().expect("no bound is near");
    assert!(results.committed.mean > 0.0);
}
