//! Devices that propose at once, under the two policies of a Paxos implementation: 10, 20, 30 ms
//! before, and 10 ms · 2ᵏ with up to half on top after. The references are two independent
//! simulators for the cells, and an exact convolution for two devices in step.

use std::time::Duration;

use redial_core::{Backoff, Policy, Random, Schedule};
use redial_sim::Contention;
use redial_sim::chance::uniform;
use redial_sim::contention::{Latency, Learning};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const OLD: Policy = Backoff::list(&[ms(10), ms(20), ms(30)]).attempts(4);
const NEW: Policy<WholeMillis> = Backoff::new(WholeMillis { first: 0 }).attempts(7);
/// The same where the code counts a failure before it computes the delay.
const NEW_LATE: Policy<WholeMillis> = Backoff::new(WholeMillis { first: 1 }).attempts(7);
/// Full jitter with the same mean.
const FULL: Policy = Backoff::exponential(ms(50)).full_jitter().attempts(7);

/// 10 ms · 2ᵏ plus a whole number of milliseconds up to half of it, as that code draws.
struct WholeMillis {
    first: u32,
}

impl Schedule for WholeMillis {
    fn delay(&self, n: u32, _previous: Duration, random: &mut impl Random) -> Duration {
        let delay = 10 << (n + self.first).min(6);
        ms(delay + uniform(delay / 2, random))
    }
}

/// P(a device commits) and P(all commit), within two and a half standard errors of the reference's
/// 4000 trials. The first is steadier, the more devices share a trial.
fn check<S: Schedule + Sync>(
    scenario: Contention,
    rtt: u64,
    policy: &Policy<S>,
    (committed, all): (f64, f64),
) {
    let latency = Latency { mean: ms(rtt), spread: ms(rtt) / 5 };
    let scenario = scenario.latency(latency).trials(20_000).threads(2);
    let results = scenario.run(policy).expect("valid").results().expect("no bound is near");
    for (ours, reference, tolerance) in [
        (results.committed.mean, committed, 0.02 * (2.0 / f64::from(scenario.clients)).sqrt()),
        (results.all_committed.mean, all, 0.02),
    ] {
        assert!((ours - reference).abs() <= tolerance, "{scenario:?}: {ours}, not {reference}");
    }
}

#[test]
fn colliding_proposals_commit_as_often_as_the_references_say() {
    let devices = Contention::collision;
    check(devices(2), 1, &OLD, (0.070, 0.070));
    check(devices(2), 20, &OLD, (0.037, 0.009));
    check(devices(3), 50, &OLD, (0.005, 0.000));
    check(devices(20), 1, &NEW, (0.969, 0.744));
    check(devices(5), 5, &NEW, (0.929, 0.838));
    check(devices(10), 5, &NEW, (0.611, 0.076));
    check(devices(5), 20, &NEW, (0.270, 0.019));
    check(devices(2), 50, &NEW, (0.421, 0.421));
    check(devices(10), 5, &NEW_LATE, (0.921, 0.673));
    check(devices(5), 20, &NEW_LATE, (0.632, 0.309));
    check(devices(3), 100, &NEW_LATE, (0.204, 0.070));
    check(devices(10), 20, &FULL, (0.787, 0.196));
    check(devices(2), 100, &FULL, (0.913, 0.887));
}

#[test]
fn ballots_commit_as_often_as_the_references_say() {
    let devices = Contention::ballot;
    check(devices(4), 1, &OLD, (1.000, 1.000));
    check(devices(5), 1, &OLD, (0.817, 0.084));
    check(devices(10), 5, &OLD, (0.425, 0.000));
    check(devices(4), 20, &OLD, (0.953, 0.816));
    check(devices(4), 50, &OLD, (0.795, 0.263));
    check(devices(12), 100, &OLD, (0.218, 0.000));
    check(devices(50), 50, &OLD, (0.054, 0.000));
    check(devices(10), 5, &NEW, (1.000, 1.000));
    check(devices(20), 5, &NEW, (0.981, 0.685));
    check(devices(10), 20, &NEW, (0.962, 0.670));
    check(devices(10), 50, &NEW, (0.802, 0.079));
    check(devices(5), 100, &NEW, (0.998, 0.988));
    check(devices(30), 100, &NEW, (0.223, 0.000));
    check(devices(10), 50, &NEW_LATE, (0.936, 0.489));
    check(devices(10), 100, &NEW_LATE, (0.801, 0.068));
    check(devices(12), 100, &FULL, (0.861, 0.100));
}

/// One choice at a time, and each costs all others an attempt: seven attempts are good for six.
#[test]
fn learning_of_the_round_from_refusals_six_of_any_number_commit() {
    for (clients, share) in [(10, 0.6), (12, 0.5), (20, 0.3)] {
        let scenario = Contention::ballot(clients).learning(Learning::FromRefusals);
        check(scenario, 1, &NEW, (share, 0.0));
    }
}

#[test]
fn a_base_as_long_as_a_proposal_makes_the_round_trip_irrelevant() {
    for rtt in [1, 20, 100] {
        let policy = Backoff::exponential(ms(4 * rtt)).full_jitter().attempts(7);
        check(Contention::collision(8), rtt, &policy, (0.968, 0.817));
        check(Contention::ballot(30), rtt, &policy, (0.987, 0.670));
    }
}

#[test]
fn two_devices_in_step_commit_with_the_exact_probability() {
    for (first, exact) in [
        (0, [(5, 0.994_029), (20, 0.725_979), (50, 0.204_042), (100, 0.003_796)]),
        (1, [(5, 0.999_637), (20, 0.937_882), (50, 0.603_750), (100, 0.200_466)]),
    ] {
        let policy = Backoff::new(WholeMillis { first }).attempts(7);
        for (rtt, probability) in exact {
            let scenario = Contention::collision(2).latency(Latency::millis(rtt, 0));
            let run = scenario.trials(40_000).threads(2).run(&policy).expect("valid");
            let results = run.results().expect("no bound is near");
            let ours = results.all_committed.mean;
            let sigma = (probability * (1.0 - probability) / 40_000.0f64).sqrt();
            let off = (ours - probability).abs();
            assert!(off < 4.0 * sigma, "k from {first}, {rtt} ms: {ours}, not {probability}");
        }
    }
}
