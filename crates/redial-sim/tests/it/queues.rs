//! The server against queueing theory.

use std::time::Duration;

use redial_core::{Backoff, Policy};
use redial_sim::outage::Service;
use redial_sim::{Estimate, Outage, outage};

const ONCE: Policy = Backoff::none().attempts(1);

/// An "outage" that leaves the server all its capacity, so that how long calls take is measured.
/// Nobody stops waiting.
fn healthy(load: f64, service: Service) -> outage::Results {
    let scenario = Outage::new(1000.0 * load, 1000.0)
        .service(service)
        .timeout(Duration::from_secs(3600))
        .before(Duration::from_secs(20))
        .down(Duration::from_secs(300))
        .remaining(1.0)
        .window(Duration::from_millis(250))
        .trials(4);
    scenario.run(&ONCE).expect("a valid scenario").results().expect("no bound is near")
}

/// Requests in the system, in the mean; the first seconds do not count.
fn held(results: &outage::Results) -> f64 {
    let windows = &results.timeline.queue[80..];
    windows.iter().sum::<f64>() / windows.len() as f64
}

#[track_caller]
fn assert_near(value: f64, expected: f64, share: f64) {
    assert!((value - expected).abs() <= share * expected, "{value}, not {expected}");
}

/// Times in the system are exponentially distributed with mean 1 / (μ − λ).
#[test]
fn exponential_work_waits_as_in_m_m_1() {
    for (load, tolerance) in [(0.3, 0.05), (0.5, 0.05), (0.8, 0.06), (0.9, 0.1)] {
        let results = healthy(load, Service::Exponential);
        assert_near(held(&results), load / (1.0 - load), tolerance);
        let mean_s = 1.0 / (1000.0 - 1000.0 * load);
        let caught = |time: Option<Estimate>| time.expect("calls").mean;
        assert_near(caught(results.caught_p50_s), 2f64.ln() * mean_s, tolerance);
        assert_near(caught(results.caught_p99_s), 100f64.ln() * mean_s, tolerance);
    }
}

/// Half as long in the queue: ρ + ρ² / (2 · (1 − ρ)) in the system.
#[test]
fn constant_work_waits_as_in_m_d_1() {
    for (load, tolerance) in [(0.3, 0.05), (0.5, 0.05), (0.8, 0.06), (0.9, 0.1)] {
        let results = healthy(load, Service::Constant);
        assert_near(held(&results), load + load * load / (2.0 * (1.0 - load)), tolerance);
    }
}

/// Of a queue that holds K, a share of (1 − ρ) · ρᴷ / (1 − ρᴷ⁺¹) is refused.
#[test]
fn a_bounded_queue_refuses_as_in_m_m_1_k() {
    for (load, bound) in [(0.5, 1u32), (0.9, 5), (1.0, 10), (2.0, 4)] {
        let scenario = Outage::new(1000.0 * load, 1000.0).queue(Some(bound));
        let scenario = scenario.down(Duration::ZERO).after(Duration::from_secs(60)).trials(4);
        let results = scenario.run(&ONCE).expect("valid").results().expect("no bound is near");
        let sum: f64 = (0..=bound as i32).map(|held| load.powi(held)).sum();
        let refused = load.powi(bound as i32) / sum;
        assert_near(results.gave_up_after.expect("calls").mean, refused, 0.03);
    }
}
