//! The vectors of the contract: each policy, and the delays that it gives.

use core::time::Duration;

use redial_core::{Backoff, Policy, Random, SplitMix64};

fn clause(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[track_caller]
fn check(policy: Policy, random: impl Random, expected_ms: &[u64]) {
    let delays: Vec<_> = policy.delays(random).collect();
    let expected: Vec<_> = expected_ms.iter().map(|&ms| Duration::from_millis(ms)).collect();
    assert_eq!(delays, expected, "{policy}");
}

#[track_caller]
fn check_clause(text: &str, expected_ms: &[u64]) {
    check(clause(text), || unreachable!("no jitter, no word"), expected_ms);
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_fixed_delay_stays() {
    check_clause("delay: 1s, retry: 4", &[1000; 4]);
}

#[test]
fn a_linear_delay_adds_itself() {
    check_clause("delay: 1s, retry: 4, backoff: linear", &[1000, 2000, 3000, 4000]);
}

#[test]
fn an_exponential_delay_doubles_up_to_thirty_seconds() {
    let seconds = [1, 2, 4, 8, 16, 30, 30, 30, 30, 30].map(|s| s * 1000);
    check_clause("delay: 1s, retry: 10, backoff: exponential", &seconds);
    check_clause("delay: 100ms, retry: 5, backoff: exponential", &[100, 200, 400, 800, 1600]);
}

#[test]
fn the_default_cap_never_goes_below_the_delay() {
    check_clause("delay: 1min, retry: 3, backoff: exponential", &[60_000; 3]);
    check_clause("delay: 1min, retry: 3", &[60_000; 3]);
    check_clause(
        "delay: 20s, retry: 3, backoff: linear, max_delay: none",
        &[20_000, 40_000, 60_000],
    );
}

#[test]
fn linear_with_an_increment_of_its_own() {
    check_clause(
        "attempts: 5, delay: 1s, increment: 2s, backoff: linear",
        &[1000, 3000, 5000, 7000],
    );
}

#[test]
fn exponential_by_three_under_a_minute() {
    check_clause(
        "attempts: 6, delay: 1s, backoff: exponential, factor: 3, max_delay: 60s",
        &[1000, 3000, 9000, 27_000, 60_000],
    );
}

#[test]
fn fibonacci() {
    check_clause(
        "attempts: 7, delay: 1s, backoff: fibonacci, max_delay: 30s",
        &[1000, 1000, 2000, 3000, 5000, 8000],
    );
}

#[test]
fn a_list_goes_on_with_its_cap() {
    check_clause(
        "attempts: 6, backoff: [1s, 3s, 7s, 15s], max_delay: 60s",
        &[1000, 3000, 7000, 15_000, 60_000],
    );
    check_clause("attempts: 4, backoff: [1s, 3s]", &[1000, 3000, 3000]);
    check_clause("attempts: 3, backoff: [], max_delay: 9s", &[9000, 9000]);
}

#[test]
fn milliseconds_doubled_up_to_a_minute() {
    check_clause(
        "attempts: 8, delay: 1000ms, backoff: exponential, max_delay: 60000ms",
        &[1000, 2000, 4000, 8000, 16_000, 32_000, 60_000],
    );
}

#[test]
fn contention_from_its_least_to_its_greatest() {
    check(Policy::CONTENTION, || 0, &[10, 20, 40, 80, 160, 320]);
    check(Policy::CONTENTION, || u64::MAX, &[15, 30, 60, 120, 240, 480]);
}

#[test]
fn composition_in_rust() {
    let exponential = Backoff::exponential(ms(1));
    check(exponential.min(ms(2)).attempts(5), || 0, &[2, 2, 4, 8]);
    check(exponential.max(ms(5)).attempts(5), || 0, &[1, 2, 4, 5]);
    check(Backoff::linear(ms(1), ms(2)).attempts(5), || 0, &[1, 3, 5, 7]);
}

#[test]
fn fractional_factors_are_exact() {
    let policy = clause("attempts: 6, delay: 100ms, backoff: exponential, factor: 1.5");
    let micros: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_micros()).collect();
    assert_eq!(micros, [100_000, 150_000, 225_000, 337_500, 506_250]);
}

#[test]
fn jitter_from_seed_42() {
    let nanos = |backoff: Backoff| -> Vec<u128> {
        backoff.attempts(5).delays(SplitMix64::new(42)).map(|delay| delay.as_nanos()).collect()
    };
    let constant = Backoff::constant(ms(100));
    assert_eq!(nanos(constant.full_jitter()), [74156488, 15991039, 27860113, 34419071]);
    assert_eq!(nanos(constant.equal_jitter()), [87078244, 57995519, 63930056, 67209536]);
    assert_eq!(nanos(Backoff::constant(ms(1000)).full_jitter())[0], 741564879);
}

#[test]
fn the_generator_starts_as_published() {
    let mut random = SplitMix64::new(42);
    let words = [0; 4].map(|_: u64| random.word());
    assert_eq!(
        words,
        [0xbdd732262feb6e95, 0x28efe333b266f103, 0x47526757130f9f52, 0x581ce1ff0e4ae394]
    );
}

#[test]
fn a_saturated_source_keeps_its_cap() {
    check_clause(
        "attempts: 3, delay: 500d, backoff: exponential, factor: 999999999, max_delay: 30s",
        &[30_000; 2],
    );
    let policy = Backoff::exponential(Duration::MAX).max(ms(30)).attempts(3);
    check(policy, || 0, &[30, 30]);
}

#[test]
fn a_long_list_goes_on_below_its_cap_after_it_has_reached_it() {
    let mut delays = [ms(1000); 32];
    delays[30] = ms(1);
    let policy = Backoff::list(&delays).max(ms(1000)).full_jitter().attempts(34);
    let greatest: Vec<_> = policy.delays(|| u64::MAX).map(|delay| delay.as_millis()).collect();
    assert_eq!(greatest[28..], [1000, 1000, 1, 1000, 1000]);
}
