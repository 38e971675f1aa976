//! One seed, one result: on any number of threads, in any unit of time, against itself.

use std::time::Duration;

use redial_core::{Backoff, Policy};
use redial_sim::contention::Latency;
use redial_sim::{Contention, Digest};

const POLICY: Policy = Backoff::exponential(Duration::from_millis(10))
    .max(Duration::from_secs(2))
    .full_jitter()
    .attempts(12);

const SCENARIOS: [Contention; 3] =
    [Contention::occ(30), Contention::collision(8), Contention::ballot(12)];

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for scenario in SCENARIOS {
        let run = |threads| {
            scenario.trials(60).seed(5).threads(threads).run(&POLICY).expect("a valid scenario")
        };
        let one = run(1);
        for threads in [2, 7] {
            let many = run(threads);
            assert_eq!(one.trials(), many.trials(), "{:?}", scenario.model);
            assert_eq!(one.results(), many.results());
            assert_eq!(one.digest(), many.digest());
        }
    }
}

/// What a change of the engine, of a model or of the random numbers would change, and what another
/// platform must not.
#[test]
fn the_traces_are_these_on_every_platform() {
    let digests = SCENARIOS.map(|scenario| {
        let run = scenario.trials(20).seed(5).run(&POLICY).expect("a valid scenario");
        run.digest().value()
    });
    assert_eq!(digests, [0x1389_a753_dccd_ae4a, 0x1bcf_f36e_bc61_0a1f, 0x71ba_b4ac_c806_4f8e]);
}

#[test]
fn the_seed_matters() {
    let digest = |seed| -> Digest {
        let run = Contention::occ(5).trials(2).seed(seed).run(&POLICY);
        run.expect("a valid scenario").digest()
    };
    assert_ne!(digest(1), digest(2));
}

#[test]
fn all_times_times_a_thousand_change_no_count() {
    let scaled = |scenario: Contention, factor: u32| {
        let ms = |millis| Duration::from_millis(millis) * factor;
        let policy = Backoff::exponential(ms(10)).max(ms(2000)).full_jitter().attempts(12);
        let latency = Latency { mean: ms(10), spread: ms(2) };
        let scenario = scenario.latency(latency).start_spread(ms(5)).trials(60);
        scenario.run(&policy).expect("a valid scenario")
    };
    for scenario in SCENARIOS {
        let (one, thousand) = (scaled(scenario, 1), scaled(scenario, 1000));
        for (small, large) in one.trials().iter().zip(thousand.trials()) {
            assert_eq!(
                (small.calls, small.attempts, small.committed, small.gave_up, small.trace.events),
                (large.calls, large.attempts, large.committed, large.gave_up, large.trace.events),
            );
            assert!((large.nanos as f64 / small.nanos as f64 - 1000.0).abs() < 0.01);
        }
    }
}

#[test]
fn a_policy_against_itself_makes_no_difference_at_all() {
    for scenario in SCENARIOS {
        let scenario = scenario.trials(40);
        let run = || scenario.run(&POLICY).expect("a valid scenario");
        let change = run().against(&run()).expect("the same scenario");
        for difference in [change.calls, change.time_ms, change.committed, change.attempts] {
            assert_eq!((difference.mean, difference.ci95), (0.0, 0.0));
        }
    }
}

#[test]
fn common_random_numbers_make_a_small_difference_visible() {
    let ms = Duration::from_millis;
    let backoff = |base| Backoff::exponential(base).max(ms(2000)).full_jitter().unlimited();
    let scenario = Contention::occ(10).trials(400);
    let run = |base| scenario.run(&backoff(base)).expect("a valid scenario");
    let (ten, eleven) = (run(ms(10)), run(Duration::from_micros(10_500)));
    let change = eleven.against(&ten).expect("the same scenario");
    let (one, other) = (ten.results().expect("complete"), eleven.results().expect("complete"));
    let unpaired = one.calls.ci95.hypot(other.calls.ci95);
    assert!(change.calls.ci95 < 0.9 * unpaired, "{} of {unpaired}", change.calls.ci95);
}

#[test]
fn different_crowds_are_not_compared() {
    let run = |scenario: Contention| scenario.trials(5).run(&POLICY).expect("a valid scenario");
    let base = run(Contention::occ(5));
    assert!(base.against(&run(Contention::occ(6))).is_none());
    assert!(base.against(&run(Contention::occ(5).seed(2))).is_none());
    assert!(base.against(&run(Contention::occ(5).threads(3))).is_some());
}
