//! Retries within retries, against closed forms and published multiples.

use std::time::Duration;

use redial_core::{Backoff, Budget, BudgetBuilder, Policy};
use redial_sim::engine::{Bounds, Completion};
use redial_sim::{Estimate, Layers, layers};

const BASE: Duration = Duration::from_millis(100);

fn policy(attempts: u32) -> Policy {
    Backoff::exponential(BASE).full_jitter().attempts(attempts)
}

fn results(scenario: Layers, policy: &Policy) -> layers::Results {
    let run = scenario.run(policy).expect("a valid scenario");
    run.results().expect("no bound is near")
}

/// Within four standard errors, of which the interval has about two; or exact, where there is no
/// chance.
#[track_caller]
fn agrees(estimate: Estimate, theory: f64) {
    let off = (estimate.mean - theory).abs();
    assert!(off <= 2.05 * estimate.ci95 + 1e-12 * theory, "{estimate:?}, not {theory}");
}

/// Google's SRE book has three layers of three retries, AWS's Builders' Library five of three tries.
#[test]
fn layers_above_an_outage_multiply() {
    for (depth, attempts, multiple) in [(3, 4, 64u32), (5, 3, 243), (5, 4, 1024), (1, 7, 7)] {
        let results = results(Layers::new(depth).calls(20).trials(3), &policy(attempts));
        assert_eq!(results.amplification, Estimate::exact(f64::from(multiple)));
        assert_eq!(results.closed_form, Some(f64::from(multiple)));
        assert_eq!((results.worst, results.succeeded.mean), (multiple.into(), 0.0));
        let per_layer: Vec<f64> = results.per_layer.iter().map(|calls| calls.mean).collect();
        let powers = (0..depth).map(|layer| f64::from(attempts.pow(layer)));
        assert_eq!(per_layer, powers.collect::<Vec<_>>());
    }
}

#[test]
fn one_layer_is_a_geometric_series() {
    for errors in [0.1, 0.5, 0.9, 0.99] {
        for attempts in [1, 2, 4] {
            let layers = Layers::new(1).errors(errors).calls(2000).trials(40);
            let results = results(layers, &policy(attempts));
            let failure = errors.powi(attempts as i32);
            let amplification = (1.0 - failure) / (1.0 - errors);
            agrees(results.amplification, amplification);
            agrees(results.succeeded, 1.0 - failure);
            agrees(results.succeeded, (1.0 - errors) * amplification);
            let closed_form = results.closed_form.expect("nothing but chance ends a call");
            assert!((closed_form - amplification).abs() < 1e-12);
        }
    }
}

#[test]
fn what_a_layer_gives_up_is_a_failure_of_the_layer_above() {
    for (depth, attempts, errors) in [(2, 3, 0.5), (3, 2, 0.7), (4, 3, 0.9), (3, 4, 0.97)] {
        let layers = Layers::new(depth).errors(errors).calls(2000).trials(40);
        let results = results(layers, &policy(attempts));
        let (mut failure, mut amplification): (f64, f64) = (errors, 1.0);
        for layer in (0..depth).rev() {
            let failure_above = failure.powi(attempts as i32);
            amplification *= (1.0 - failure_above) / (1.0 - failure);
            failure = failure_above;
            // The calls of a layer are what is left to multiply above it.
            let whole = results.closed_form.expect("nothing but chance ends a call");
            agrees(results.per_layer[layer as usize], whole / amplification);
        }
        agrees(results.amplification, amplification);
        agrees(results.succeeded, 1.0 - failure);
        assert!(results.worst <= u64::from(attempts).pow(depth));
        assert!((results.closed_form.expect("as above") / amplification - 1.0).abs() < 1e-12);
    }
}

#[test]
fn unlimited_attempts_have_a_closed_form_unless_all_fail() {
    let forever = Backoff::constant(BASE).unlimited();
    let results = results(Layers::new(3).errors(0.5), &forever);
    assert_eq!(results.closed_form, Some(2.0)); // the layers above never see a failure
    agrees(results.amplification, 2.0);
    assert_eq!(results.succeeded.mean, 1.0);
}

/// What is deposited while an attempt of the layer is under way must fit, or it is lost.
const TENTH: BudgetBuilder = Budget::builder().capacity(10.0).deposit(0.1).floor_per_second(0.0);

#[test]
fn a_budget_of_a_tenth_keeps_each_layer_at_1_1() {
    for depth in 1..=5 {
        let layers = Layers::new(depth).budget(Some(TENTH)).calls(5000).trials(3);
        let results = results(layers, &policy(4));
        let theory = 1.1f64.powi(depth as i32);
        let over = results.amplification.mean / theory;
        // Each layer has ten retries more, from what its budget held at first.
        let most = (1.0 + 10.0 / 5000.0 / 1.1f64).powi(depth as i32);
        assert!((0.999..most).contains(&over), "{depth}: {over} of {theory}");
        assert_eq!(results.closed_form, None);
    }
}

/// With a deposit of ρ for each call, A = min(1 / (1 − f), 1 + ρ): the knee is at f = ρ / (1 + ρ).
#[test]
fn a_budget_has_its_knee_where_theory_has_it() {
    for (errors, amplification) in [(0.05, 1.0 / 0.95), (0.2, 1.1), (0.5, 1.1)] {
        let layers = Layers::new(1).errors(errors).budget(Some(TENTH)).calls(20_000).trials(5);
        let results = results(layers, &policy(50));
        let off = results.amplification.mean - amplification;
        assert!(off.abs() < 0.005, "{errors}: {:?}", results.amplification);
        let success = (1.0 - errors) * results.amplification.mean;
        assert!((results.succeeded.mean - success).abs() < 0.005, "{:?}", results.succeeded);
    }
}

#[test]
fn a_floor_comes_with_time() {
    // One call and one retry each second.
    let budget = Budget::builder().capacity(1.0).deposit(0.0).floor_per_second(1.0);
    let layers = Layers::new(1).calls(500).every(Duration::from_secs(1)).budget(Some(budget));
    let once = Backoff::constant(BASE).attempts(9);
    assert_eq!(results(layers, &once).amplification.mean, 2.0);
    let busy = layers.every(BASE); // 49 whole seconds, and what was there at first
    assert_eq!(results(busy, &once).amplification.mean, 1.0 + 50.0 / 500.0);
}

#[test]
fn time_adds_up_through_the_layers() {
    let twice = Backoff::constant(BASE).attempts(2);
    // 10 + 100 + 10, then 120 + 100 + 120, then 340 + 100 + 340
    for (depth, millis) in [(1, 120.0), (2, 340.0), (3, 780.0)] {
        let results = results(Layers::new(depth).trials(2), &twice);
        assert_eq!((results.time_ms.mean, results.time_p99_ms.mean), (millis, millis));
    }
}

#[test]
fn the_deadline_of_each_layer_cuts_attempts() {
    let policy = Backoff::constant(BASE).attempts(9).within(Duration::from_millis(250));
    // Attempts start at 0, 110 and 220 ms; a fourth would at 330.
    let one = results(Layers::new(1), &policy);
    assert_eq!((one.amplification.mean, one.closed_form), (3.0, None));
    // They take 230 ms, after which the layer above has no time for another.
    let two = results(Layers::new(2), &policy);
    assert_eq!((two.amplification.mean, two.per_layer[1].mean), (3.0, 1.0));
    // Where it has time, the layer below starts anew, with all of its own: at 220 and at 330 ms.
    let twice = Backoff::constant(BASE).attempts(2).within(Duration::from_millis(250));
    assert_eq!(results(Layers::new(2), &twice).amplification.mean, 4.0);
    // Waits alone count against the other limit: two of them, at each layer.
    let waits = Backoff::constant(BASE).attempts(9).wait_budget(Duration::from_millis(250));
    assert_eq!(results(Layers::new(2), &waits).amplification.mean, 9.0);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let layers = Layers::new(3).errors(0.6).calls(200).budget(Some(Budget::builder())).seed(5);
    let one = layers.run(&policy(3)).expect("a valid scenario");
    for threads in [2, 7] {
        let many = layers.threads(threads).run(&policy(3)).expect("a valid scenario");
        assert_eq!(one.trials(), many.trials());
        assert_eq!(one.results(), many.results());
        assert_eq!(one.digest(), many.digest());
    }
}

/// What a change of the random numbers would change, and what another platform must not.
#[test]
fn the_trace_is_this_on_every_platform() {
    let run = Layers::new(3).errors(0.6).calls(200).seed(5).run(&policy(3));
    assert_eq!(run.expect("a valid scenario").digest().value(), 0x9fcf_0399_27bf_79fd);
}

#[test]
fn common_random_numbers_fail_the_same_attempts() {
    let layers = Layers::new(2).errors(0.5);
    let run = |layers: Layers, attempts| layers.run(&policy(attempts)).expect("a valid scenario");
    let same = run(layers, 3).against(&run(layers.threads(2), 3)).expect("the same scenario");
    for difference in [same.amplification, same.succeeded, same.time_ms] {
        assert_eq!((difference.mean, difference.ci95), (0.0, 0.0));
    }
    // With another attempt no call can fare worse.
    let (three, four) = (run(layers, 3), run(layers, 4));
    for (three, four) in three.trials().iter().zip(four.trials()) {
        assert!(three.succeeded <= four.succeeded && three.attempts <= four.attempts);
    }
    for other in [layers.errors(0.6), layers.calls(9), layers.seed(2), Layers::new(3)] {
        assert!(run(layers, 3).against(&run(other, 3)).is_none());
    }
}

#[track_caller]
fn refused(scenario: Layers, message: &str) {
    assert_eq!(scenario.run(&policy(3)).unwrap_err().to_string(), message);
}

#[test]
fn what_makes_no_sense_is_refused_with_its_value() {
    refused(Layers::new(0), "depth: 0 is out of range; use 1 to 64");
    refused(Layers::new(65), "depth: 65 is out of range; use 1 to 64");
    refused(Layers::new(1).errors(f64::NAN), "errors: NaN is out of range; use 0 to 1");
    refused(Layers::new(1).errors(-1.0), "errors: -1 is out of range; use 0 to 1");
    refused(Layers::new(1).errors(2.0), "errors: 2 is out of range; use 0 to 1");
    refused(Layers::new(1).calls(0), "calls: 0 is out of range; use 1 to 4194304");
    refused(Layers::new(4).calls(u32::MAX), "calls: 4294967295 is out of range; use 1 to 1048576");
    refused(Layers::new(1).trials(0), "trials: 0 is out of range; use 1 to 1000000");
    refused(
        Layers::new(1).budget(Some(TENTH.deposit(0.0))),
        "budget: with no deposit and no floor an empty budget never refills",
    );
}

#[test]
fn growth_without_end_is_cut_and_says_so() {
    let bounds = Bounds { events: 100_000, ..Bounds::DEFAULT };
    let forever = Backoff::none().unlimited();
    for (layers, policy) in [(Layers::new(20), policy(7)), (Layers::new(2), forever)] {
        let run = layers.bounds(bounds).threads(3).run(&policy).expect("a valid scenario");
        let cut = run.results().expect_err("7²⁰ attempts");
        assert_eq!((cut.bound, cut.index), (Completion::Events, 0));
        assert_eq!(cut.to_string(), "trial 1 of 20 was cut after 100000 events");
        assert!(run.against(&run).is_none(), "there is nothing to compare");
    }
    let far = Layers::new(2).attempt_time(Duration::MAX).every(Duration::MAX);
    let run = far.run(&policy(3)).expect("a valid scenario");
    assert_eq!(run.results().expect_err("beyond all time").bound, Completion::Time);
}

#[test]
fn a_bottom_that_never_fails_is_called_once() {
    let results = results(Layers::new(64).errors(0.0), &policy(7));
    assert_eq!((results.amplification.mean, results.worst), (1.0, 1));
    assert_eq!((results.succeeded.mean, results.time_ms.mean), (1.0, 10.0));
}
