//! How jitter is spread: over its whole range, evenly, and around the mean that is forecast.

use core::time::Duration;
use std::collections::BTreeSet;

use redial_core::{Backoff, Policy, SplitMix64};

const SECOND: u64 = 1_000_000_000;
const SEEDS: u64 = 16_000;

/// The first delay of each seed: what that many clients wait that fail at the same moment.
fn first_delays(policy: &Policy) -> Vec<u64> {
    let first = |seed| policy.delays(SplitMix64::new(seed)).next().expect("a delay");
    (0..SEEDS).map(|seed| first(seed).as_nanos() as u64).collect()
}

/// The same number of delays from one generator: what one patient client waits.
fn stream(backoff: Backoff) -> Vec<u64> {
    let policy = backoff.unlimited();
    let delays = policy.delays(SplitMix64::new(42)).take(SEEDS as usize);
    delays.map(|delay| delay.as_nanos() as u64).collect()
}

/// χ² over 16 buckets: 15 on average, above 45 once in ten thousand times. The seeds are fixed, so
/// it passes always or never.
fn unevenness(delays: &[u64], low: u64, high: u64) -> f64 {
    let mut buckets = [0.0; 16];
    for delay in delays {
        buckets[((delay - low) as u128 * 16 / u128::from(high - low + 1)) as usize] += 1.0;
    }
    let expected = delays.len() as f64 / 16.0;
    buckets.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum()
}

#[track_caller]
fn check_uniform(delays: &[u64], low: u64, high: u64, what: &str) {
    let width = (high - low) as f64;
    let (least, greatest) = (*delays.iter().min().unwrap(), *delays.iter().max().unwrap());
    assert!(low <= least && greatest <= high, "{what}: {least} to {greatest}");
    // Sixteen thousand draws leave a thousandth of the range empty once in ten million times.
    let margin = (width / 1000.0) as u64;
    assert!(least - low <= margin, "{what}: nothing below {least}");
    assert!(high - greatest <= margin, "{what}: nothing above {greatest}");
    let mean = delays.iter().map(|delay| *delay as f64).sum::<f64>() / delays.len() as f64;
    let middle = low as f64 + width / 2.0;
    let doubt = 4.0 * width / (12.0 * delays.len() as f64).sqrt();
    assert!((mean - middle).abs() <= doubt, "{what}: {mean} is not {middle} ± {doubt}");
    let unevenness = unevenness(delays, low, high);
    assert!(unevenness < 45.0, "{what}: χ² is {unevenness}");
    let distinct = delays.iter().collect::<BTreeSet<_>>().len();
    assert!(distinct > delays.len() * 9 / 10, "{what}: only {distinct} different delays");
}

/// A jitter of one, of many and of odd seconds; the ends of its range are given for each.
#[track_caller]
fn check(jitter: fn(Backoff) -> Backoff, range: fn(u64) -> (u64, u64)) {
    for delay in [SECOND, 30 * SECOND, 100_000_000, 1_234_567_891, 3600 * SECOND] {
        let backoff = jitter(Backoff::constant(Duration::from_nanos(delay)));
        let (low, high) = range(delay);
        let policy = backoff.attempts(2);
        check_uniform(&first_delays(&policy), low, high, &format!("{policy}, by seed"));
        check_uniform(&stream(backoff), low, high, &format!("{policy}, in a row"));
    }
}

#[test]
fn full_jitter_is_anything_up_to_the_delay() {
    check(Backoff::full_jitter, |delay| (0, delay));
}

#[test]
fn equal_jitter_is_the_upper_half() {
    check(Backoff::equal_jitter, |delay| (delay / 2, delay));
}

#[test]
fn proportional_jitter_is_around_the_delay() {
    check(
        |backoff| backoff.proportional_jitter(0.25),
        |delay| (delay - delay / 4, delay + delay / 4),
    );
    check(|backoff| backoff.proportional_jitter(1.0), |delay| (0, 2 * delay));
}

#[test]
fn spread_jitter_ends_before_its_upper_factor() {
    check(
        |backoff| backoff.spread_jitter(0.5, 1.5),
        |delay| (delay / 2, (3 * delay).div_ceil(2) - 1),
    );
    check(|backoff| backoff.spread_jitter(0.0, 10.0), |delay| (0, 10 * delay - 1));
}

#[test]
fn additive_jitter_only_adds() {
    check(|backoff| backoff.additive_jitter(0.5), |delay| (delay, delay + delay / 2));
    check(|backoff| backoff.additive_jitter(10.0), |delay| (delay, 11 * delay));
}

#[test]
fn a_second_is_spread_over_its_nanoseconds() {
    let policy = Backoff::constant(Duration::from_secs(1)).full_jitter().attempts(2);
    let delays = first_delays(&policy);
    let distinct = delays.iter().collect::<BTreeSet<_>>().len();
    assert!(distinct > 15_900, "only {distinct} different delays");
    let finer_than_a_millisecond = delays.iter().filter(|delay| **delay % 1_000_000 != 0).count();
    assert!(finer_than_a_millisecond > 15_900, "only {finer_than_a_millisecond}");
}

#[test]
fn the_longest_range_is_spread_too() {
    let policy = Backoff::constant(Duration::MAX).full_jitter().attempts(2);
    check_uniform(&first_delays(&policy), 0, u64::MAX - 1, "584 years");
}

#[test]
fn a_small_range_gets_all_its_points_equally_often() {
    let delays = stream(Backoff::constant(Duration::from_nanos(15)).full_jitter());
    assert_eq!(delays.iter().collect::<BTreeSet<_>>().len(), 16);
    let unevenness = unevenness(&delays, 0, 15);
    assert!(unevenness < 45.0, "χ² is {unevenness}");
}

#[test]
fn two_jitters_do_not_draw_the_same_word() {
    let backoff = Backoff::constant(Duration::from_secs(1)).full_jitter();
    let delays = stream(backoff.full_jitter());
    // The product of two independent uniforms: a quarter on average, below it 60 % of the time.
    let mean = delays.iter().sum::<u64>() as f64 / SEEDS as f64 / SECOND as f64;
    assert!((mean - 0.25).abs() < 0.01, "{mean}");
    let low = delays.iter().filter(|delay| **delay < SECOND / 4).count() as f64 / SEEDS as f64;
    let expected = 0.25 * (1.0 + 4.0f64.ln());
    assert!((low - expected).abs() < 0.02, "{low} is not {expected}");
}

#[test]
fn the_first_decorrelated_delay_is_spread_up_to_three_times_its_base() {
    let policy = Backoff::decorrelated(Duration::from_secs(1)).attempts(2);
    check_uniform(&first_delays(&policy), SECOND, 3 * SECOND, "decorrelated");
}

/// Sampled means of each delay beside the forecast, within one percent and the sample's own doubt.
#[track_caller]
fn check_forecast(policy: &Policy) {
    let samples: Vec<Vec<f64>> = (0..SEEDS)
        .map(|seed| policy.delays(SplitMix64::new(seed)))
        .map(|delays| delays.map(|delay| delay.as_nanos() as f64).collect())
        .collect();
    for (n, forecast) in policy.forecasts().enumerate() {
        let count = SEEDS as f64;
        let mean = samples.iter().map(|delays| delays[n]).sum::<f64>() / count;
        let squares = samples.iter().map(|delays| (delays[n] - mean).powi(2)).sum::<f64>();
        let doubt = 0.01 * mean + 4.0 * squares.sqrt() / count;
        let forecast = forecast.mean.as_nanos() as f64;
        assert!(
            (forecast - mean).abs() <= doubt,
            "{policy}, delay {n}: forecast {forecast}, sampled {mean} ± {doubt}",
        );
    }
}

#[test]
fn a_decorrelated_delay_is_on_average_what_is_forecast() {
    let second = Duration::from_secs(1);
    let backoff = Backoff::decorrelated(second);
    check_forecast(&backoff.max(second).attempts(4));
    check_forecast(&backoff.max(second * 2).attempts(6));
    check_forecast(&backoff.max(second * 30).attempts(16));
    check_forecast(&Backoff::decorrelated(second / 10).max(second * 60).attempts(25));
    check_forecast(&backoff.max(second * 30).full_jitter().attempts(8));
    check_forecast(&backoff.full_jitter().max(second * 5).attempts(8));
}

/// Many jitters with caps between them: few points for each of them are not enough, and many are
/// too many.
#[test]
fn a_long_chain_of_jitters_and_caps_is_on_average_what_is_forecast() {
    let (millis, second) = (Duration::from_millis, Duration::from_secs(1));
    let constant = Backoff::constant(second * 10);
    let decorrelated = Backoff::decorrelated(second).max(second * 60);
    for backoff in [constant, decorrelated] {
        let long = backoff.spread_jitter(0.0, 3.0).spread_jitter(0.0, 3.0).max(millis(6081));
        check_forecast(&long.additive_jitter(5.0).additive_jitter(5.0).equal_jitter().attempts(5));
        let short = backoff.full_jitter().full_jitter().equal_jitter().max(millis(251));
        check_forecast(&short.full_jitter().full_jitter().attempts(5));
        let wide = backoff.spread_jitter(0.0, 3.0).full_jitter().max(millis(5404));
        let wide = wide.proportional_jitter(0.9).proportional_jitter(0.9);
        check_forecast(&wide.equal_jitter().attempts(5));
    }
}

/// The same to the percent: for the first delay alone, from so many samples that they leave little
/// doubt.
#[test]
fn a_long_chain_of_jitters_and_caps_is_forecast_to_the_percent() {
    let (millis, constant) = (Duration::from_millis, Backoff::constant(Duration::from_secs(10)));
    let tripled = |backoff: Backoff| backoff.spread_jitter(0.0, 3.0);
    let capped = tripled(constant).equal_jitter().max(millis(17_606));
    let capped = tripled(tripled(capped)).max(millis(4749)).proportional_jitter(0.9);
    let grown = tripled(tripled(constant.equal_jitter().additive_jitter(5.0)));
    let grown = grown.proportional_jitter(0.9).max(millis(11_045));
    let raised = tripled(constant).min(millis(17_576));
    let raised = tripled(tripled(raised)).max(millis(3647));
    for backoff in [capped, grown, raised] {
        let policy = backoff.unlimited();
        let samples = 100_000;
        let sampled = policy.delays(SplitMix64::new(7)).take(samples);
        let sampled: Vec<_> = sampled.map(|delay| delay.as_nanos() as f64).collect();
        let mean = sampled.iter().sum::<f64>() / samples as f64;
        let squares = sampled.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>();
        let doubt = 0.01 * mean + 3.0 * squares.sqrt() / samples as f64;
        let forecast = policy.forecast(0).mean.as_nanos() as f64;
        let off = (forecast - mean).abs();
        assert!(off <= doubt, "{policy}: forecast {forecast}, sampled {mean} ± {doubt}");
    }
}

/// Without a cap the mean follows a rule: m₀ = 2 · base, then mₙ = (base + 3 · mₙ₋₁) / 2.
#[test]
fn an_uncapped_decorrelated_mean_grows_by_half_each_time() {
    let policy = Backoff::decorrelated(Duration::from_secs(1)).attempts(25);
    let mut expected = SECOND as f64;
    for (n, forecast) in policy.forecasts().enumerate() {
        expected = (SECOND as f64 + 3.0 * expected) / 2.0;
        let off = forecast.mean.as_nanos() as f64 / expected - 1.0;
        assert!(off.abs() < 0.01, "delay {n} is off by {:.1} %", off * 100.0);
    }
}

/// From a nanosecond to 584 years takes hundreds of delays; it is not over before it is.
#[test]
fn a_decorrelated_source_far_from_its_cap_is_not_taken_for_settled() {
    let policy = Backoff::decorrelated(Duration::from_nanos(1)).unlimited();
    let mean = |n: u32| policy.forecast(n).mean.as_secs_f64();
    assert!(mean(600) > 1.5 * mean(256), "{} after {}", mean(600), mean(256));
}
