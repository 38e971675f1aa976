//! What a policy tells about itself, it tells at once: no chain and no count makes it think long.
//!
//! Whatever grows with the count here, or doubles with every jitter, would take hours: these tests would not end.

use core::time::Duration;

use redial_core::{Backoff, Policy};

fn with_jitters(backoff: Backoff, count: usize) -> Policy {
    (0..count).fold(backoff, |backoff, _| backoff.full_jitter()).attempts(3)
}

#[test]
fn a_chain_of_jitters_is_forecast_at_once() {
    for jitters in 0..=8 {
        let policy = with_jitters(Backoff::constant(Duration::from_secs(1)), jitters);
        drop(policy.forecasts().collect::<Vec<_>>());
    }
}

#[test]
fn a_chain_of_jitters_on_a_decorrelated_source_is_forecast_at_once() {
    for jitters in 0..=7 {
        let decorrelated = Backoff::decorrelated(Duration::from_secs(1));
        let policy = with_jitters(decorrelated.max(Duration::from_secs(30)), jitters);
        drop(policy.forecasts().collect::<Vec<_>>());
    }
}

#[test]
fn a_delay_four_billion_attempts_ahead_is_forecast_at_once() {
    let (nano, second) = (Duration::from_nanos(1), Duration::from_secs(1));
    let backoffs = [
        Backoff::linear(nano, nano),
        Backoff::exponential(nano),
        Backoff::exponential(nano).factor(1.000_000_001),
        Backoff::fibonacci(nano),
        Backoff::decorrelated(nano),
        Backoff::decorrelated(second).max(second * 30),
    ];
    for backoff in backoffs {
        let _ = backoff.full_jitter().unlimited().forecast(u32::MAX);
    }
}

#[test]
fn four_billion_delays_are_summed_up_at_once() {
    let second = Duration::from_secs(1);
    let _ = Backoff::exponential(second).full_jitter().attempts(u32::MAX).total();
    let _ = Backoff::decorrelated(second).max(second * 30).attempts(u32::MAX).total();
}
