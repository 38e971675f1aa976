//! Every small policy against the reference: each source at its edges, each chain of up to three
//! modifiers, each word at its ends.

use crate::reference;

use core::cell::Cell;

use redial_core::clause::Kind;
use redial_core::{Backoff, Policy, Random, SplitMix64, clause};
use reference::power::{power_bounds, powers};
use reference::render::nanos;
use reference::{BILLION, MILLI, Modifier, SECOND, Source, Timing, picked};

const MAX: u64 = u64::MAX;
const DELAYS: usize = 6;

fn sources() -> Vec<Source> {
    let linear = |initial, increment| Source::Linear { initial, increment };
    let exponential = |initial, factor| Source::Exponential { initial, factor };
    vec![
        Source::Constant(0),
        Source::Constant(1),
        Source::Constant(SECOND),
        Source::Constant(MAX),
        linear(0, 0),
        linear(1, SECOND),
        linear(MAX - 1, 1),
        linear(0, MAX),
        exponential(0, 3 * BILLION),
        exponential(1, 2 * BILLION),
        exponential(SECOND, BILLION),
        exponential(7, 1_500_000_000),
        exponential(100 * MILLI, 1_100_000_000),
        exponential(MAX / 4, 2 * BILLION),
        exponential(MAX / 2, BILLION + 1),
        Source::Fibonacci(1),
        Source::Fibonacci(MAX / 5),
        Source::List(vec![]),
        Source::List(vec![MAX]),
        Source::List(vec![SECOND, 0, 3 * SECOND]),
        Source::Decorrelated(0),
        Source::Decorrelated(1),
        Source::Decorrelated(SECOND),
        Source::Decorrelated(MAX / 4),
    ]
}

const MODIFIERS: [Modifier; 9] = [
    Modifier::Min(2 * SECOND),
    Modifier::Max(5 * SECOND),
    Modifier::Max(1),
    Modifier::Full,
    Modifier::Equal,
    Modifier::Proportional(333_333_333),
    Modifier::Proportional(BILLION),
    Modifier::Spread(500_000_000, 1_500_000_000),
    Modifier::Additive(10 * BILLION),
];

fn chains(longest: usize) -> Vec<Vec<Modifier>> {
    let mut chains = vec![vec![]];
    let mut from = 0;
    for _ in 0..longest {
        let to = chains.len();
        for i in from..to {
            for modifier in MODIFIERS {
                chains.push([chains[i].as_slice(), &[modifier]].concat());
            }
        }
        from = to;
    }
    chains
}

fn each_small_timing(mut check: impl FnMut(&Timing)) {
    let chains = chains(3);
    assert_eq!(chains.len(), 1 + 9 + 81 + 729);
    for source in sources() {
        for chain in &chains {
            check(&Timing::new(source.clone(), chain, DELAYS as u32 + 1));
        }
    }
}

fn nanos_of(policy: &Policy, words: impl FnMut() -> u64) -> Vec<u64> {
    policy.delays(words).map(|delay| delay.as_nanos() as u64).collect()
}

#[track_caller]
fn check_delays(timing: &Timing, policy: &Policy) {
    for word in [0, 1, MAX / 2, MAX] {
        let delays = nanos_of(policy, || word);
        assert_eq!(delays, timing.delays(DELAYS, || word), "{policy} with words of {word}");
    }
    let (mut ours, mut theirs) = (SplitMix64::new(42), SplitMix64::new(42));
    let delays = nanos_of(policy, || ours.word());
    assert_eq!(delays, timing.delays(DELAYS, || theirs.word()), "{policy} from seed 42");
    assert_eq!(ours, theirs, "{policy} draws another number of words");
}

#[test]
fn every_small_policy_gives_the_delays_of_the_reference() {
    each_small_timing(|timing| match timing.build() {
        Ok(policy) => {
            assert!(!timing.contradicts_itself(), "{timing:?}");
            check_delays(timing, &policy);
        }
        Err(invalid) => assert!(timing.contradicts_itself(), "{timing:?}: {invalid}"),
    });
}

#[test]
fn every_small_clause_means_what_the_builder_builds() {
    each_small_timing(|timing| {
        let text = timing.clause();
        match timing.build() {
            Ok(policy) => assert_eq!(text.parse(), Ok(policy), "{text}"),
            Err(_) => check_contradiction(&text),
        }
    });
}

#[test]
fn every_small_policy_reads_back_as_it_prints() {
    each_small_timing(|timing| {
        if let Ok(policy) = timing.build() {
            let printed = policy.to_string();
            assert_eq!(printed.parse(), Ok(policy), "{printed}");
        }
    });
}

#[test]
fn every_small_clause_has_the_default_cap_where_its_source_grows() {
    each_small_timing(|timing| {
        let text = timing.clause_by_default();
        if timing.contradicts_itself() {
            return check_contradiction(&text);
        }
        let policy: Policy = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        check_delays(&timing.with_default_cap(), &policy);
        assert_eq!(policy.to_string().parse(), Ok(policy), "{text} prints as {policy}");
    });
}

#[track_caller]
fn check_contradiction(text: &str) {
    let reading = clause::read(text);
    let kinds: Vec<_> = reading.diagnostics().iter().map(|found| found.kind()).collect();
    assert!(!kinds.is_empty(), "{text}");
    assert!(kinds.iter().all(|kind| *kind == Kind::MinAboveMax), "{text}: {kinds:?}");
}

#[test]
fn a_word_picks_each_point_of_a_range_from_its_first_word_to_its_last() {
    for points in 1..=40u64 {
        let policy = Backoff::constant(nanos(points - 1)).full_jitter().attempts(2);
        for point in 0..points {
            let first = ((u128::from(point) << 64).div_ceil(points.into())) as u64;
            assert_eq!(nanos_of(&policy, || first), [point], "{point} of {points}");
            if point > 0 {
                assert_eq!(nanos_of(&policy, || first - 1), [point - 1], "{point} of {points}");
            }
        }
        assert_eq!(nanos_of(&policy, || MAX), [points - 1]);
    }
}

#[test]
fn every_jitter_of_every_small_delay() {
    let fractions = [0, 1, 100_000_000, 333_333_333, 500_000_000, 999_999_999, BILLION];
    let wide = [0, 1, 333_333_333, BILLION, 1_500_000_000, 10 * BILLION - 1, 10 * BILLION];
    let mut jitters = vec![Modifier::Full, Modifier::Equal];
    jitters.extend(fractions.map(Modifier::Proportional));
    jitters.extend(wide.map(Modifier::Additive));
    for low in wide {
        jitters.extend(
            wide.iter().filter(|high| low < **high).map(|high| Modifier::Spread(low, *high)),
        );
    }
    for jitter in jitters {
        for delay in (0..=30).chain([MAX / 11, MAX / 10, MAX / 2, MAX - 1, MAX]) {
            let timing = Timing::new(Source::Constant(delay), &[jitter], 2);
            let policy = timing.build().expect("a jitter in range");
            let (low, high) = jitter.range(delay);
            for word in [0, 1, MAX / 3, MAX / 2, MAX / 2 + 1, MAX - 1, MAX] {
                let expected = picked(low, high, word);
                assert_eq!(nanos_of(&policy, || word), [expected], "{policy}, word {word}");
            }
        }
    }
}

const FACTORS: [u64; 15] = [
    BILLION,
    BILLION + 1,
    1_000_100_000,
    1_100_000_000,
    1_234_567_891,
    1_333_333_333,
    1_500_000_000,
    1_999_999_999,
    2 * BILLION,
    2 * BILLION + 1,
    2_500_000_000,
    10 * BILLION,
    12_345_678_900_000_001,
    999_999_999 * BILLION,
    999_999_999 * BILLION + 999_999_999,
];

const INITIALS: [u64; 8] = [0, 1, 3, 1001, 10 * MILLI, SECOND, MAX / 2, MAX];

fn exponential(initial: u64, factor: u64, attempts: u32) -> Policy {
    let source = Source::Exponential { initial, factor };
    let text = Timing::new(source, &[], attempts).clause();
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_power_is_the_nearest_nanosecond() {
    for factor in FACTORS {
        for initial in INITIALS {
            let policy = exponential(initial, factor, 81);
            let expected: Vec<_> = powers(initial, factor).take(80).collect();
            assert_eq!(nanos_of(&policy, || 0), expected, "{policy}");
        }
    }
}

#[test]
fn powers_stay_the_nearest_nanosecond_far_out() {
    let ns = [100, 255, 256, 1000, 65_535, 1_000_000, 1 << 31, u32::MAX - 2];
    for factor in FACTORS {
        for initial in INITIALS {
            let policy = exponential(initial, factor, u32::MAX);
            for n in ns {
                let (low, high) = power_bounds(initial, factor, n);
                assert!(high - low <= 1, "the reference is too coarse");
                let value = policy.forecast(n).greatest.as_nanos() as u64;
                assert!((low..=high).contains(&value), "{policy}, delay {n}: {value} is not {low}");
            }
        }
    }
}

#[test]
fn the_two_references_of_powers_agree() {
    for factor in FACTORS {
        for (n, value) in powers(1001, factor).take(40).enumerate() {
            let (low, high) = power_bounds(1001, factor, n as u32);
            assert!((low..=high).contains(&value), "1001 · {factor}e-9 ^ {n}");
        }
    }
}

#[test]
fn doubling_keeps_the_last_value_that_fits() {
    for initial in (0..64).map(|bits| 1u64 << bits).chain([3, 5, MAX / 2, MAX / 2 + 1]) {
        let policy = Backoff::exponential(nanos(initial)).attempts(70);
        for (n, delay) in nanos_of(&policy, || 0).into_iter().enumerate() {
            let exact = u128::from(initial) << n.min(64);
            assert_eq!(delay, reference::saturated(exact), "{initial} · 2^{n}");
        }
    }
}

#[test]
fn fibonacci_keeps_the_last_value_that_fits() {
    for initial in [0, 1, 2, 1000, SECOND, MAX / 2, MAX] {
        let timing = Timing::new(Source::Fibonacci(initial), &[], 101);
        let policy = timing.build().expect("no modifiers");
        assert_eq!(nanos_of(&policy, || 0), timing.delays(100, || 0), "{policy}");
    }
    let ninety_third = nanos_of(&Backoff::fibonacci(nanos(1)).attempts(95), || 0);
    assert_eq!(ninety_third[92..], [12_200_160_415_121_876_738, MAX]);
}

#[test]
fn a_source_goes_on_behind_its_cap_for_as_long_as_it_is_asked() {
    const LONG: usize = 70;
    for source in sources() {
        let plain = Timing::new(source.clone(), &[], LONG as u32 + 1);
        let delays = plain.delays(LONG, || MAX);
        // On both sides of where a table of 16, 32 or 64 delays would end.
        let ends = [0, 1, 15, 16, 31, 32, 63, 64];
        let mut caps: Vec<_> = ends.iter().map(|n| delays[*n]).collect();
        caps.extend([SECOND, MAX]);
        caps.sort_unstable();
        caps.dedup();
        for cap in
            caps.into_iter().flat_map(|cap| [cap.saturating_sub(1), cap, cap.saturating_add(1)])
        {
            let max = Modifier::Max(cap);
            let chains = [
                vec![max],
                vec![max, Modifier::Full],
                vec![max, Modifier::Equal],
                vec![max, Modifier::Max(MAX)],
                vec![Modifier::Min(0), max],
                vec![Modifier::Full, max],
            ];
            for chain in chains {
                let timing = Timing::new(source.clone(), &chain, LONG as u32 + 1);
                let policy = timing.build().expect("no contradiction");
                let delays = nanos_of(&policy, || MAX / 2);
                assert_eq!(delays, timing.delays(LONG, || MAX / 2), "{policy}");
            }
        }
    }
}

#[test]
fn no_word_is_drawn_where_nothing_is_left_to_chance() {
    let drawn = Cell::new(0);
    for source in sources() {
        if matches!(source, Source::Decorrelated(_)) {
            continue;
        }
        let timing = Timing::new(source, &MODIFIERS[..1], 7);
        let policy = timing.build().expect("one bound");
        let count = policy.delays(|| {
            drawn.set(drawn.get() + 1);
            0
        });
        assert_eq!((count.count(), drawn.get()), (6, 0), "{policy}");
    }
}
