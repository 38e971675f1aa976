//! What holds for every policy, on seeded random ones: ordinary numbers and the most extreme.

use crate::cases;
use crate::reference;

use core::time::Duration;

use cases::Timings;
use redial_core::{
    Backoff, Budget, Decision, Forecast, Limits, Policy, Random, SplitMix64, Stop, Time, Verdict,
    clause,
};
use redial_seeds::{Dice, Draw, each_case};
use reference::render::{nanos, written};
use reference::{BILLION, Modifier, SECOND, Source, Timing, Walk, formula, picked, saturated};

const MAX: u64 = u64::MAX;

fn built(timing: &Timing) -> Policy {
    timing.build().unwrap_or_else(|invalid| panic!("{timing:?}: {invalid}"))
}

fn nanos_of(policy: &Policy, random: impl Random) -> Vec<u64> {
    policy.delays(random).take(80).map(|delay| delay.as_nanos() as u64).collect()
}

/// A policy whose chain ends in `last`, which contradicts nothing before it.
fn ending_in(dice: &mut Dice, last: Modifier) -> Timing {
    loop {
        let mut timing = dice.timing(Dice::extreme_nanos, 2);
        timing.modifiers.truncate(7);
        timing.modifiers.push(last);
        if !timing.contradicts_itself() {
            return timing;
        }
    }
}

#[test]
fn random_policies_give_the_delays_of_the_reference() {
    each_case(3000, |dice| {
        let mut timing = dice.timing(Dice::extreme_nanos, 8);
        if dice.one_in(8) {
            // Past what a source may have worked out beforehand.
            timing.attempts = Some(70);
        }
        let policy = built(&timing);
        let seed = dice.word();
        let (mut ours, mut theirs) = (SplitMix64::new(seed), SplitMix64::new(seed));
        let delays = nanos_of(&policy, || ours.word());
        assert_eq!(delays.len(), timing.attempts.unwrap() as usize - 1, "{policy}");
        assert_eq!(delays, timing.delays(delays.len(), || theirs.word()), "{policy}, seed {seed}");
        assert_eq!(ours, theirs, "{policy} draws another number of words");
    });
}

/// What is worked out from a few powers is what the exact power is, also where it lies half way
/// between two nanoseconds.
#[test]
fn slow_factors_give_the_delays_of_the_reference() {
    each_case(1500, |dice| {
        let billionths = match dice.one_in(3) {
            true => SECOND + 125_000_000 * (1 + dice.word() % 15),
            false => SECOND + dice.word() % (2 * SECOND),
        };
        let initial = match dice.one_in(3) {
            true => dice.word() % 2000,
            false => dice.word() >> (dice.word() % 64),
        };
        let factor = billionths as f64 / SECOND as f64;
        let backoff = Backoff::exponential(Duration::from_nanos(initial)).factor(factor);
        let exact: Vec<u64> = reference::power::powers(initial, billionths).take(80).collect();
        for policy in [backoff.unlimited(), backoff.full_jitter().unlimited()] {
            let delays = policy.delays(|| MAX).take(80).map(|delay| delay.as_nanos() as u64);
            assert_eq!(delays.collect::<Vec<_>>(), exact, "{policy}");
        }
    });
}

/// A slow factor comes to its cap long after what is worked out beforehand ends.
#[test]
fn delays_are_exact_before_and_after_they_have_settled() {
    for (factor, billionths) in
        [(1.1, 1_100_000_000), (1.05, 1_050_000_000), (1.013, 1_013_000_000)]
    {
        for cap in [SECOND / 4, 60 * SECOND, MAX] {
            let backoff = Backoff::exponential(Duration::from_millis(100))
                .factor(factor)
                .max(Duration::from_nanos(cap));
            let exact =
                reference::power::powers(SECOND / 10, billionths).map(|delay| delay.min(cap));
            let exact: Vec<u64> = exact.take(600).collect();
            let delays = |policy: Policy| -> Vec<u64> {
                let delays = policy.delays(|| MAX).take(600);
                delays.map(|delay| delay.as_nanos() as u64).collect()
            };
            assert_eq!(delays(backoff.unlimited()), exact, "{factor}, {cap}");
            assert_eq!(delays(backoff.full_jitter().unlimited()), exact, "{factor}, {cap}");
            for retries in [1, 30, 31, 32, 33, 68, 69, 70] {
                let policy = backoff.full_jitter().attempts(retries + 1);
                assert_eq!(delays(policy), exact[..retries as usize], "{factor}, {cap}, {retries}");
                let more = policy.backoff().attempts(500);
                assert_eq!(delays(more), exact[..499], "{factor}, {cap}, made of {retries}");
            }
        }
    }
}

#[test]
fn random_clauses_mean_what_the_builder_builds_whatever_their_order() {
    each_case(2000, |dice| {
        let timing = dice.limited_timing(Dice::extreme_nanos);
        let mut options: Vec<_> = timing.modifiers.iter().map(written).collect();
        options.push("max_delay: none".to_owned());
        for setting in timing.settings() {
            options.insert(dice.below(options.len() as u64 + 1) as usize, setting);
        }
        let separator = dice.pick(&[",", ", ", " ,\n  ", ", # next\n"]);
        let text = options.join(separator);
        assert_eq!(text.parse(), Ok(built(&timing)), "{text}");
    });
}

#[test]
fn random_policies_read_back_as_they_print() {
    each_case(3000, |dice| {
        let policy = built(&dice.limited_timing(Dice::extreme_nanos));
        let printed = policy.to_string();
        assert_eq!(printed.parse(), Ok(policy), "{printed}");
    });
}

#[test]
fn random_clauses_under_the_default_cap_read_back_as_they_print() {
    each_case(2000, |dice| {
        let mut timing = dice.limited_timing(Dice::extreme_nanos);
        // The cap takes a place in the chain.
        timing.modifiers.truncate(7);
        let text = timing.clause_by_default();
        let policy: Policy = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(policy.to_string().parse(), Ok(policy), "{text} prints as {policy}");
        let seed = dice.word();
        let mut words = SplitMix64::new(seed);
        let delays = nanos_of(&policy, SplitMix64::new(seed));
        let expected = timing.with_default_cap().delays(delays.len(), || words.word());
        assert_eq!(delays, expected, "{text}, seed {seed}");
    });
}

#[test]
fn a_policy_made_of_another_reads_back_as_it_prints() {
    each_case(1000, |dice| {
        let mut timing = dice.limited_timing(Dice::usual_nanos);
        timing.modifiers.truncate(6);
        let policy: Policy = timing.clause_by_default().parse().expect("a policy");
        let made = match dice.modifier(Dice::usual_nanos) {
            Modifier::Min(min) => policy.backoff().min(nanos(min)),
            Modifier::Max(max) => policy.backoff().max(nanos(max)),
            _ => policy.backoff().full_jitter(),
        };
        if let Ok(made) = made.try_attempts(3) {
            assert_eq!(made.to_string().parse(), Ok(made), "{made}, made of {policy}");
        }
    });
}

#[test]
fn every_factor_that_a_clause_can_write_is_taken_to_its_last_digit() {
    each_case(1000, |dice| {
        let source = Source::Exponential { initial: dice.extreme_nanos(), factor: dice.factor() };
        let timing = Timing::new(source, &[], 14);
        let text = timing.clause();
        let policy: Policy = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(nanos_of(&policy, || 0), timing.delays(13, || 0), "{text}");
        assert_eq!(policy.to_string().parse(), Ok(policy), "{text} prints as {policy}");
    });
}

#[test]
fn durations_past_the_top_are_the_top() {
    let (past, top) = (Duration::MAX, nanos(MAX));
    assert_eq!(Backoff::constant(past), Backoff::constant(top));
    assert_eq!(Backoff::linear(past, past), Backoff::linear(top, top));
    assert_eq!(Backoff::exponential(past), Backoff::exponential(top));
    assert_eq!(Backoff::fibonacci(past), Backoff::fibonacci(top));
    assert_eq!(Backoff::list(&[past]), Backoff::list(&[top]));
    assert_eq!(Backoff::decorrelated(past), Backoff::decorrelated(top));
    assert_eq!(Backoff::none().min(past).max(past), Backoff::none().min(top).max(top));
    let limited = Policy::DEFAULT.within(past).wait_budget(past);
    assert_eq!(limited, Policy::DEFAULT.within(top).wait_budget(top));
}

#[test]
fn a_max_at_the_end_is_never_exceeded() {
    each_case(500, |dice| {
        let max = dice.extreme_nanos();
        let policy = built(&ending_in(dice, Modifier::Max(max)));
        for random in [MAX, MAX / 2, dice.word()] {
            let delays = nanos_of(&policy, || random);
            assert!(delays.iter().all(|delay| *delay <= max), "{policy}: {delays:?}");
        }
        assert!(policy.forecast(9).greatest <= nanos(max), "{policy}");
    });
}

#[test]
fn a_min_at_the_end_is_never_undercut() {
    each_case(500, |dice| {
        let min = dice.extreme_nanos();
        let policy = built(&ending_in(dice, Modifier::Min(min)));
        for random in [0, MAX / 2, dice.word()] {
            let delays = nanos_of(&policy, || random);
            assert!(delays.iter().all(|delay| *delay >= min), "{policy}: {delays:?}");
        }
        assert!(policy.forecast(0).least >= nanos(min), "{policy}");
    });
}

#[test]
fn a_jitter_at_the_end_stays_in_its_range() {
    each_case(2000, |dice| {
        let jitter = dice.jitter();
        let timing = Timing::new(Source::Constant(dice.extreme_nanos()), &[jitter], 20);
        let (low, high) = jitter.range(formula(&timing, 1)[0]);
        let policy = built(&timing);
        let delays = nanos_of(&policy, SplitMix64::new(dice.word()));
        assert!(delays.iter().all(|delay| (low..=high).contains(delay)), "{policy}: {delays:?}");
        assert_eq!(nanos_of(&policy, || 0)[0], low, "{policy}");
        assert_eq!(nanos_of(&policy, || MAX)[0], high, "{policy}");
    });
}

#[test]
fn jitter_before_a_cap_piles_up_and_after_it_spreads() {
    each_case(300, |dice| {
        let delay = dice.usual_nanos() + 1;
        let cap = dice.below(delay);
        let word = dice.word();
        let piled = Backoff::constant(nanos(delay)).full_jitter().max(nanos(cap)).attempts(2);
        let spread = Backoff::constant(nanos(delay)).max(nanos(cap)).full_jitter().attempts(2);
        assert_eq!(nanos_of(&piled, || word), [picked(0, delay, word).min(cap)], "{piled}");
        assert_eq!(nanos_of(&spread, || word), [picked(0, cap, word)], "{spread}");
    });
    let (delay, cap) = (nanos(8 * SECOND), nanos(5 * SECOND));
    let at_the_cap = |policy: Policy| {
        (0..8000).filter(|seed| policy.delays(SplitMix64::new(*seed)).next() == Some(cap)).count()
    };
    let piled = at_the_cap(Backoff::constant(delay).full_jitter().max(cap).attempts(2));
    assert!((2850..=3150).contains(&piled), "three in eight, not {piled} in 8000");
    assert_eq!(at_the_cap(Backoff::constant(delay).max(cap).full_jitter().attempts(2)), 0);
}

#[test]
fn a_forecast_begins_at_the_lowest_words_and_ends_at_the_highest() {
    each_case(400, |dice| {
        let policy = built(&dice.timing(Dice::extreme_nanos, 2));
        let forecasts: Vec<_> = policy.forecasts().collect();
        let of = |end: fn(&Forecast) -> Duration| -> Vec<u64> {
            forecasts.iter().map(|forecast| end(forecast).as_nanos() as u64).collect()
        };
        assert_eq!(of(|forecast| forecast.least), nanos_of(&policy, || 0), "{policy}");
        assert_eq!(of(|forecast| forecast.greatest), nanos_of(&policy, || MAX), "{policy}");
        for seed in 0..8 {
            for (forecast, delay) in forecasts.iter().zip(policy.delays(SplitMix64::new(seed))) {
                let range = forecast.least..=forecast.greatest;
                assert!(range.contains(&delay), "{policy}: {delay:?} is not in {range:?}");
                assert!(range.contains(&forecast.mean), "{policy}: {forecast:?}");
            }
        }
    });
}

#[test]
fn a_forecast_looks_any_distance_ahead() {
    each_case(1000, |dice| {
        let source = match dice.below(3) {
            0 => Source::Constant(dice.extreme_nanos()),
            1 => Source::Linear { initial: dice.extreme_nanos(), increment: dice.extreme_nanos() },
            _ => Source::List((0..dice.below(33)).map(|_| dice.extreme_nanos()).collect()),
        };
        let anywhere = dice.word() as u32;
        let n = dice.pick(&[
            0,
            1,
            15,
            16,
            31,
            32,
            33,
            255,
            256,
            4096,
            anywhere,
            u32::MAX - 1,
            u32::MAX,
        ]);
        let timing = Timing { attempts: None, ..Timing::new(source, &[], 1) };
        let expected = match &timing.source {
            Source::Linear { initial, increment } => {
                saturated(u128::from(*initial) + u128::from(n) * u128::from(*increment))
            }
            // Both are steady after the longest list.
            _ => formula(&timing, 34)[n.min(33) as usize],
        };
        let policy = built(&timing);
        let all = nanos(expected);
        let forecast = Forecast { least: all, mean: all, greatest: all };
        assert_eq!(policy.forecast(n), forecast, "{policy}, delay {n}");
    });
}

#[test]
fn one_forecast_is_the_same_alone_and_in_its_row() {
    each_case(100, |dice| {
        let policy = built(&dice.timing(Dice::usual_nanos, 2));
        for (n, forecast) in policy.forecasts().enumerate() {
            assert_eq!(policy.forecast(n as u32), forecast, "{policy}, delay {n}");
        }
    });
}

/// Σ clamp(x) for x from 0 to `last`: what lies above the floor is a triangle, then a strip.
fn clamped_sum(last: u128, floor: u128, ceiling: u128) -> u128 {
    let rise = last.min(ceiling).saturating_sub(floor);
    let strip = last.saturating_sub(ceiling) * (ceiling - floor);
    floor * (last + 1) + rise * (rise + 1) / 2 + strip
}

/// The mean of a uniform draw from `low` to `high` after `bounds`, rounded down.
fn exact_mean((low, high): (u64, u64), bounds: &[Modifier]) -> u64 {
    let bounded = |g: u64| bounds.iter().fold(g, |g, bound| bound.range(g).0);
    let (floor, ceiling) = (u128::from(bounded(0)), u128::from(bounded(MAX)));
    let (low, high) = (u128::from(low), u128::from(high));
    let below = if low == 0 { 0 } else { clamped_sum(low - 1, floor, ceiling) };
    saturated((clamped_sum(high, floor, ceiling) - below) / (high - low + 1))
}

#[test]
fn the_mean_of_one_draw_from_a_few_points_is_their_average() {
    let bounds = [Modifier::Min(0), Modifier::Min(7), Modifier::Max(0), Modifier::Max(11)];
    let jitters = [
        Modifier::Full,
        Modifier::Equal,
        Modifier::Proportional(BILLION / 2),
        Modifier::Spread(BILLION / 2, 3 * BILLION / 2),
        Modifier::Additive(BILLION),
    ];
    for delay in 0..=24 {
        for jitter in jitters {
            for bound in bounds {
                let policy = built(&Timing::new(Source::Constant(delay), &[jitter, bound], 2));
                let (low, high) = jitter.range(delay);
                let sum: u64 = (low..=high).map(|drawn| bound.range(drawn).0).sum();
                let mean = sum / (high - low + 1);
                assert_eq!(policy.forecast(0).mean, nanos(mean), "{policy}");
                assert_eq!(exact_mean((low, high), &[bound]), mean, "{policy}");
            }
        }
    }
}

#[test]
fn the_mean_of_at_most_one_draw_is_exact() {
    each_case(2000, |dice| {
        let mut timing = dice.timing(Dice::usual_nanos, 1);
        timing.attempts = Some(7);
        if matches!(timing.source, Source::Decorrelated(_)) {
            return;
        }
        let policy = built(&timing);
        for (given, forecast) in formula(&timing, 6).into_iter().zip(policy.forecasts()) {
            // Past 146 years it is as exact as a float.
            if forecast.greatest >= nanos(1 << 62) {
                continue;
            }
            let drawn_at = timing.modifiers.iter().position(Modifier::is_jitter);
            let (before, after) = timing.modifiers.split_at(drawn_at.unwrap_or(0));
            let entering = before.iter().fold(given, |g, bound| bound.range(g).0);
            let mean = match after {
                [jitter, bounds @ ..] if jitter.is_jitter() => {
                    exact_mean(jitter.range(entering), bounds)
                }
                bounds => exact_mean((entering, entering), bounds),
            };
            assert_eq!(forecast.mean, nanos(mean), "{policy}");
        }
    });
}

#[test]
fn the_mean_of_the_first_decorrelated_draw_is_exact() {
    for base in [0, 1, 2, 10, 999, 1000, SECOND, 7 * SECOND + 1] {
        let cap = nanos(2 * base + 1);
        let backoff = Backoff::decorrelated(nanos(base));
        let range = (base, 3 * base);
        assert_eq!(backoff.attempts(2).forecast(0).mean, nanos(2 * base), "base {base}");
        let capped = backoff.max(cap).attempts(2);
        let mean = exact_mean(range, &[Modifier::Max(2 * base + 1)]);
        assert_eq!(capped.forecast(0).mean, nanos(mean), "{capped}");
    }
}

#[test]
fn the_mean_of_several_draws_is_what_samples_average() {
    const SAMPLES: u64 = 12_000;
    each_case(80, |dice| {
        let timing = dice.timing(Dice::usual_nanos, 3);
        let policy = built(&timing);
        let last = timing.attempts.unwrap().min(8) - 1;
        let Some(n) = last.checked_sub(1) else { return };
        let seed = dice.word();
        let mut random = SplitMix64::new(seed);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..SAMPLES {
            let delay = policy.delays(|| random.word()).nth(n as usize).expect("a delay");
            sum += delay.as_nanos() as f64;
            squares += (delay.as_nanos() as f64).powi(2);
        }
        let sampled = sum / SAMPLES as f64;
        let variance = (squares / SAMPLES as f64 - sampled * sampled).max(0.0);
        let forecast = policy.forecast(n).mean.as_nanos() as f64;
        // One percent is the promise, five standard errors are the sample's own doubt.
        let doubt = 0.01 * sampled + 5.0 * (variance / SAMPLES as f64).sqrt() + 1.0;
        assert!(
            (forecast - sampled).abs() <= doubt,
            "{policy}, delay {n}, seed {seed}: forecast {forecast}, sampled {sampled} ± {doubt}",
        );
    });
}

#[test]
fn a_forecast_holds_past_a_hundred_years() {
    for delay in [1 << 61, 1 << 62, 1 << 63, MAX] {
        let once = Backoff::constant(nanos(delay)).full_jitter();
        let half = delay as f64 / 2.0;
        // A second draw from a single point changes nothing.
        let twice = once.proportional_jitter(0.0);
        for backoff in [once, twice] {
            let policy = backoff.attempts(2);
            let mean = policy.forecast(0).mean.as_nanos() as f64;
            assert!((mean / half - 1.0).abs() < 0.01, "{policy}: {mean}, not {half}");
        }
    }
}

fn check_total(policy: &Policy) {
    let (mut least, mut mean, mut greatest) = (0u128, 0u128, 0u128);
    for forecast in policy.forecasts() {
        least += forecast.least.as_nanos();
        mean += forecast.mean.as_nanos();
        greatest += forecast.greatest.as_nanos();
    }
    let [least, mean, greatest] = [least, mean, greatest].map(|sum| nanos(saturated(sum)));
    assert_eq!(policy.total(), Some(Forecast { least, mean, greatest }), "{policy}");
}

#[test]
fn a_total_is_the_sum_of_the_forecasts() {
    for attempts in [1, 2, 3, 4096, 4097, 4098] {
        check_total(&Backoff::linear(nanos(SECOND), nanos(1)).full_jitter().attempts(attempts));
    }
    each_case(60, |dice| check_total(&built(&dice.timing(Dice::extreme_nanos, 2))));
}

#[test]
fn a_total_of_four_billion_delays_is_near_enough() {
    let count = u32::MAX - 1;
    let steady = Backoff::constant(nanos(3)).attempts(u32::MAX).total().expect("a limit");
    let sum = nanos(3 * u64::from(count));
    assert_eq!(steady, Forecast { least: sum, mean: sum, greatest: sum });

    let growing = Backoff::linear(nanos(0), nanos(1)).attempts(u32::MAX).total().expect("a limit");
    let exact = u128::from(count) * u128::from(count - 1) / 2;
    let off = growing.mean.as_nanos().abs_diff(exact);
    assert!(off * 1000 <= exact, "{growing:?} is off by {off}");

    let saturated = Backoff::exponential(nanos(1)).attempts(u32::MAX).total().expect("a limit");
    assert_eq!(saturated.least, nanos(MAX));
    assert_eq!(Backoff::none().unlimited().total(), None);
}

#[test]
fn delays_know_how_many_they_are() {
    for attempts in [1, 2, 7, u32::MAX] {
        let policy = Backoff::none().attempts(attempts);
        let left = attempts as usize - 1;
        assert_eq!(policy.delays(|| 0).size_hint(), (left, Some(left)));
        let mut delays = policy.delays(|| 0);
        assert_eq!(delays.by_ref().take(9).count(), left.min(9));
        assert_eq!(delays.size_hint(), (left.saturating_sub(9), Some(left.saturating_sub(9))));
    }
    let endless = Backoff::exponential(nanos(1)).max(nanos(9)).unlimited();
    assert_eq!(endless.delays(|| 0).size_hint(), (usize::MAX, None));
    assert_eq!(endless.delays(|| 0).nth(100_000), Some(nanos(9)));
}

#[test]
fn delays_in_nanoseconds_are_the_same_delays() {
    each_case(100, |dice| {
        let policy = built(&dice.timing(Dice::extreme_nanos, 8));
        let seed = dice.word();
        let mut counted = policy.delays(SplitMix64::new(seed));
        for delay in policy.delays(SplitMix64::new(seed)) {
            assert_eq!(counted.next_nanos().map(nanos), Some(delay), "{policy}, seed {seed}");
        }
        assert_eq!((counted.next_nanos(), counted.next()), (None, None), "{policy}");
    });
}

#[test]
fn a_call_sleeps_what_the_policy_says_from_the_same_seed() {
    each_case(1000, |dice| {
        let policy = built(&dice.timing(Dice::extreme_nanos, 8));
        let seed = dice.word();
        let mut random = SplitMix64::new(seed);
        let mut call = policy.start(Time::from_nanos(dice.word()));
        for delay in policy.delays(SplitMix64::new(seed)) {
            let now = Time::from_nanos(dice.word());
            let decision = call.failed(now, || Verdict::Retry, &mut random);
            assert_eq!(decision, Decision::Wait(delay), "{policy}, seed {seed}");
        }
        let decision = call.failed(Time::MAX, || unreachable!(), &mut || unreachable!());
        assert_eq!(decision, Decision::Stop(Stop::AttemptsSpent), "{policy}");
    });
}

/// Section 3 of the contract with numbers that cannot overflow.
struct Model<'t> {
    walk: Walk<'t>,
    attempts: u64,
    within: u128,
    wait_budget: u128,
    max_retry_after: u128,
    tokens: u32,
    failures: u64,
    waited: u128,
}

const NEVER: u128 = u128::MAX;

impl Model<'_> {
    fn failed(&mut self, elapsed: u64, verdict: Verdict, words: &mut SplitMix64) -> Decision {
        self.failures += 1;
        if self.failures >= self.attempts {
            return Decision::Stop(Stop::AttemptsSpent);
        }
        let delay = match verdict {
            Verdict::Stop => return Decision::Stop(Stop::Rejected),
            Verdict::Retry => self.walk.delay(self.failures as usize - 1, &mut || words.word()),
            Verdict::RetryAfter(dictated) if dictated.as_nanos() > self.max_retry_after => {
                return Decision::Stop(Stop::RetryAfterTooLong);
            }
            Verdict::RetryAfter(dictated) => saturated(dictated.as_nanos()),
        };
        if u128::from(elapsed) + u128::from(delay) >= self.within {
            return Decision::Stop(Stop::Deadline);
        }
        if self.waited + u128::from(delay) > self.wait_budget {
            return Decision::Stop(Stop::WaitBudget);
        }
        if self.tokens == 0 {
            return Decision::Stop(Stop::Budget);
        }
        self.tokens -= 1;
        self.waited += u128::from(delay);
        Decision::Wait(nanos(delay))
    }
}

/// The top of the scale is no limit.
fn limit(most: Option<u64>) -> u128 {
    most.filter(|most| *most < MAX).map_or(NEVER, u128::from)
}

#[test]
fn no_call_goes_beyond_any_of_its_limits() {
    const STEPS: usize = 24;
    each_case(6000, |dice| {
        let numbers = dice.pick(&[Dice::extreme_nanos as fn(&mut Dice) -> u64, Dice::usual_nanos]);
        let mut timing = dice.limited_timing(numbers);
        if dice.one_in(2) {
            // Longer calls than a random limit allows.
            timing.within = None;
        }
        let policy = built(&timing);
        let (within, wait_budget) = (dice.one_in(3), dice.one_in(3));
        let within = within.then(|| numbers(dice));
        let wait_budget = wait_budget.then(|| numbers(dice));
        let bound = dice.one_in(3).then(|| numbers(dice));
        let tokens = dice.one_in(3).then(|| dice.below(5) as u32);

        let capacity = f64::from(tokens.unwrap_or(0));
        let budget = Budget::builder().capacity(capacity.max(1.0)).deposit(0.5);
        let budget = budget.floor_per_second(0.0).build();
        let mut limits = Limits::new();
        if let Some(within) = within {
            limits = limits.within(nanos(within));
        }
        if let Some(most) = wait_budget {
            limits = limits.wait_budget(nanos(most));
        }
        if let Some(bound) = bound {
            limits = limits.max_retry_after(nanos(bound));
        }
        if let Some(tokens) = tokens {
            if tokens == 0 {
                assert!(budget.withdraw(Time::ZERO), "it starts full");
            }
            limits = limits.budget(&budget);
        }
        let mut model = Model {
            walk: Walk::of(&timing, STEPS),
            attempts: timing.attempts.map_or(MAX, u64::from),
            within: limit(timing.within).min(limit(within)),
            wait_budget: limit(timing.wait_budget).min(limit(wait_budget)),
            max_retry_after: bound.unwrap_or(120 * SECOND).into(),
            tokens: tokens.unwrap_or(u32::MAX),
            failures: 0,
            waited: 0,
        };
        // No cast of the top bound: past it every dictated delay is the top itself.
        if bound == Some(MAX) {
            model.max_retry_after = NEVER;
        }

        let seed = dice.word();
        let (mut ours, mut theirs) = (SplitMix64::new(seed), SplitMix64::new(seed));
        let started = dice.pick(&[0, 1, SECOND, MAX / 2]);
        let mut call = policy.start(Time::from_nanos(started));
        let mut elapsed = 0u64;
        for _ in 0..STEPS {
            elapsed = elapsed.saturating_add(numbers(dice) / 64).min(MAX - started);
            let now = Time::from_nanos(started + elapsed);
            let verdict = match dice.below(16) {
                0 => Verdict::Stop,
                1 => Verdict::RetryAfter(Duration::MAX),
                2..=5 => Verdict::RetryAfter(nanos(numbers(dice))),
                _ => Verdict::Retry,
            };
            let decision = call.failed_under(&limits, || now, || verdict, &mut ours);
            let expected = model.failed(elapsed, verdict, &mut theirs);
            assert_eq!(decision, expected, "{policy} under {limits:?} at {now:?}: {verdict:?}");
            assert_eq!(ours, theirs, "{policy} draws another number of words");
            assert_eq!(u64::from(call.failures()), model.failures);
            assert_eq!(call.waited(), nanos(saturated(model.waited)), "{policy}");
            let Decision::Wait(delay) = decision else { return };
            elapsed = elapsed.saturating_add(delay.as_nanos() as u64).min(MAX - started);
        }
    });
}

#[test]
fn a_reading_and_a_parse_agree() {
    each_case(500, |dice| {
        let text = dice.limited_timing(Dice::extreme_nanos).clause();
        let reading = clause::read(&text);
        assert_eq!(reading.policy(), text.parse().ok(), "{text}");
        assert!(reading.diagnostics().iter().all(|found| found.kind().is_warning()), "{text}");
        assert_eq!(clause::read_call(&text).policy(), reading.policy(), "{text}");
    });
}
