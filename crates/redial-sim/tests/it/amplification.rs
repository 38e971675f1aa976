//! How many attempts a call takes, against the closed forms.

use std::time::Duration;

use redial_core::{Backoff, Budget, BudgetBuilder, Policy};
use redial_sim::{Estimate, Outage, outage};

const AT_ONCE: Backoff = Backoff::none();

/// No outage: a fast server, of whose answers this share is an error. 10 000 calls in each of 20
/// trials.
fn flaky(errors: f64) -> Outage {
    let scenario = Outage::new(1000.0, 1e6).errors(errors).before(Duration::from_secs(10));
    scenario.down(Duration::ZERO).after(Duration::from_nanos(1))
}

fn results(scenario: Outage, policy: &Policy) -> outage::Results {
    scenario.run(policy).expect("a valid scenario").results().expect("no bound is near")
}

/// Within four standard errors.
#[track_caller]
fn assert_within_four_sigma(estimate: Estimate, expected: f64) {
    let sigma = estimate.ci95 / 2.093; // Student's 97.5 % point for 20 trials
    let off = (estimate.mean - expected).abs();
    // A call or two may be under way at the end.
    assert!(off <= 4.0 * sigma + 1e-4, "{estimate:?}, not {expected}");
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
}

/// A = (1 − fᴺ⁺¹) / (1 − f), and of A attempts a share of 1 − f is a success.
#[test]
fn retries_of_independent_failures_follow_the_geometric_series() {
    for failures in [0.0, 0.1, 0.3, 0.5, 0.9] {
        for retries in [0, 1, 3] {
            let results = results(flaky(failures), &AT_ONCE.attempts(retries + 1));
            let gives_up = failures.powi(retries as i32 + 1);
            let amplification = (1.0 - gives_up) / (1.0 - failures);
            assert_within_four_sigma(results.amplification, amplification);
            let succeeded = results.succeeded.before.expect("calls");
            assert_within_four_sigma(succeeded, (1.0 - failures) * amplification);
        }
    }
}

#[test]
fn what_always_fails_is_attempted_as_often_as_allowed() {
    let results = results(flaky(1.0), &AT_ONCE.attempts(5));
    assert_near(results.amplification.mean, 5.0, 1e-3);
    assert_eq!(results.succeeded.before.expect("calls").mean, 0.0);
    assert_eq!(results.attempts_per_success, f64::INFINITY);
}

fn budget(capacity: f64, deposit: f64) -> Option<BudgetBuilder> {
    Some(Budget::builder().capacity(capacity).deposit(deposit).floor_per_second(0.0))
}

/// A = min(1 / (1 − f), 1 + ρ), with the knee at f = ρ / (1 + ρ).
#[test]
fn a_token_bucket_lets_through_what_calls_have_put_in() {
    for deposit in [0.1, 0.2] {
        let knee = deposit / (1.0 + deposit);
        for failures in [0.5 * knee, 0.8 * knee, 1.3 * knee, 0.5, 0.9] {
            let scenario = flaky(failures).budget(budget(10.0, deposit));
            let results = results(scenario, &AT_ONCE.unlimited());
            let amplification = (1.0 / (1.0 - failures)).min(1.0 + deposit);
            assert_near(results.amplification.mean, amplification, 0.003);
            let succeeded = results.succeeded.before.expect("calls").mean;
            assert_near(succeeded, (1.0 - failures) * amplification, 0.003);
        }
    }
}

/// Brooker's simulator of retries (2022): 100 clients, 10 calls per second each, for 10 s. His
/// bucket of 5 is full at first, which is half a retry in ten calls of each client.
#[test]
fn brooker_s_clients_load_a_service_as_he_says() {
    for (failures, three_retries, adaptive) in [
        (0.1, [1.111, 0.9998], [1.100, 0.992]),
        (0.2, [1.248, 0.9988], [1.134, 0.908]),
        (0.5, [1.864, 0.943], [1.142, 0.576]),
    ] {
        let scenario = flaky(failures).processes(100);
        for (budget, [load, availability]) in [(None, three_retries), (budget(5.0, 0.1), adaptive)]
        {
            let results = results(scenario.budget(budget), &AT_ONCE.attempts(4));
            assert_near(results.amplification.mean, load, 0.015);
            assert_near(results.succeeded.before.expect("calls").mean, availability, 0.015);
        }
    }
}
