//! Every setting that is refused at run time, and the words it is refused with.

use core::fmt::Debug;
use core::time::Duration;

use redial_core::{Backoff, Breaker, Budget, Invalid, Policy};

const SECOND: Duration = Duration::from_secs(1);
const CONSTANT: Backoff = Backoff::constant(SECOND);
const EXPONENTIAL: Backoff = Backoff::exponential(SECOND);

#[track_caller]
fn check<T: Debug>(built: Result<T, Invalid>, expected: &str) {
    match built {
        Err(invalid) => assert_eq!(invalid.to_string(), expected),
        Ok(built) => panic!("{built:?} should be refused: {expected}"),
    }
}

#[track_caller]
fn check_backoff(backoff: Backoff, expected: &str) {
    check(backoff.try_attempts(3), expected);
    check(backoff.try_unlimited(), expected);
}

#[test]
fn zero_attempts() {
    const MESSAGE: &str = "attempts: 0 attempts would never run the operation; use 1 or more";
    check(CONSTANT.try_attempts(0), MESSAGE);
    assert_eq!(CONSTANT.try_attempts(1).map(|policy| policy.attempts()), Ok(Some(1)));
    assert_eq!(CONSTANT.try_attempts(u32::MAX).map(|policy| policy.attempts()), Ok(Some(u32::MAX)));
    assert_eq!(CONSTANT.try_unlimited().map(|policy| policy.attempts()), Ok(None));
}

#[test]
fn a_factor_below_one() {
    let check = |factor: f64, shown: &str| {
        let message =
            format!("factor: {shown} is below 1; a factor is at least 1 and below 1000000000");
        check_backoff(EXPONENTIAL.factor(factor), &message);
    };
    check(0.5, "0.5");
    check(0.0, "0");
    check(-1.0, "-1");
    check(0.999_999_999, "0.999999999");
    check(f64::NEG_INFINITY, "-infinity");
}

#[test]
fn a_factor_that_is_no_number_or_too_large() {
    let check = |factor: f64, shown: &str| {
        let message =
            format!("factor: {shown} is out of range; a factor is at least 1 and below 1000000000");
        check_backoff(EXPONENTIAL.factor(factor), &message);
    };
    check(f64::NAN, "NaN");
    check(f64::INFINITY, "infinity");
    check(1e9, "1000000000");
    check(1e20, "100000000000000000000");
}

#[test]
fn a_factor_where_nothing_is_multiplied() {
    check_backoff(
        CONSTANT.factor(1.5),
        "factor: 1.5 has no effect here; only an exponential backoff has a factor",
    );
    check_backoff(
        Backoff::fibonacci(SECOND).factor(2.0),
        "factor: 2 has no effect here; only an exponential backoff has a factor",
    );
}

#[test]
fn the_ends_of_what_a_factor_may_be() {
    for factor in [1.0, 1.000_000_001, 2.0, 999_999_999.0, 999_999_999.999_999_9] {
        assert!(EXPONENTIAL.factor(factor).try_attempts(3).is_ok(), "{factor}");
    }
}

#[test]
fn a_float_is_taken_as_the_decimal_that_was_meant() {
    let printed = |factor: f64| EXPONENTIAL.factor(factor).max(SECOND).attempts(2).to_string();
    let expected = |factor: &str| {
        format!("attempts: 2, delay: 1s, backoff: exponential{factor}, max_delay: 1s")
    };
    assert_eq!(printed(1.1), expected(", factor: 1.1"));
    assert_eq!(printed(1.0 + 0.1 + 0.2), expected(", factor: 1.3"));
    assert_eq!(printed(1.0 / 3.0 + 1.0), expected(", factor: 1.333333333"));
    assert_eq!(printed(2.0 / 3.0 + 1.0), expected(", factor: 1.666666667"));
    assert_eq!(printed(1.999_999_999_9), expected(""));
    assert_eq!(printed(2.000_000_000_4), expected(""));
    assert_eq!(printed(1.000_000_000_5), expected(", factor: 1.000000001"));
}

#[test]
fn a_proportional_jitter_out_of_range() {
    let check = |fraction: f64, shown: &str| {
        let message = format!(
            "proportional jitter: {shown} is out of range; use 0 to 1 (0.25 is plus or minus 25%)"
        );
        check_backoff(CONSTANT.proportional_jitter(fraction), &message);
    };
    check(1.1, "1.1");
    check(1.000_000_001, "1.000000001");
    check(-0.1, "-0.1");
    check(f64::NAN, "NaN");
    check(f64::INFINITY, "infinity");
    for fraction in [0.0, -0.0, 0.25, 1.0] {
        assert!(CONSTANT.proportional_jitter(fraction).try_attempts(2).is_ok(), "{fraction}");
    }
}

#[test]
fn an_additive_jitter_out_of_range() {
    let check = |fraction: f64, shown: &str| {
        let message =
            format!("additive jitter: {shown} is out of range; use 0 to 10 (0.5 adds up to 50%)");
        check_backoff(CONSTANT.additive_jitter(fraction), &message);
    };
    check(10.1, "10.1");
    check(-0.1, "-0.1");
    check(f64::NAN, "NaN");
    check(f64::NEG_INFINITY, "-infinity");
    for fraction in [0.0, 0.5, 10.0] {
        assert!(CONSTANT.additive_jitter(fraction).try_attempts(2).is_ok(), "{fraction}");
    }
}

#[test]
fn a_spread_jitter_out_of_range() {
    let check = |low: f64, high: f64, shown: &str| {
        let message = format!(
            "spread jitter: [{shown}) is out of range; \
             use two numbers from 0 to 10, the lower first"
        );
        check_backoff(CONSTANT.spread_jitter(low, high), &message);
    };
    check(1.5, 0.5, "1.5, 0.5");
    check(1.0, 1.0, "1, 1");
    check(0.0, 0.0, "0, 0");
    check(1.0, 10.1, "1, 10.1");
    check(-0.5, 0.5, "-0.5, 0.5");
    check(f64::NAN, 1.0, "NaN, 1");
    check(0.5, f64::NAN, "0.5, NaN");
    check(0.5, f64::INFINITY, "0.5, infinity");
    // Ten digits tell them apart, nine do not.
    check(0.5, 0.500_000_000_1, "0.5, 0.5");
    for (low, high) in [(0.0, 10.0), (0.0, 0.000_000_001), (9.999_999_999, 10.0)] {
        assert!(CONSTANT.spread_jitter(low, high).try_attempts(2).is_ok(), "{low}, {high}");
    }
}

#[test]
fn a_refusal_names_the_number_that_was_given_and_is_never_cut_off() {
    let tail = "out of range; use two numbers from 0 to 10, the lower first";
    for huge in [1e30, 1e38, 1e39, 1e300, 1.5e308] {
        for (low, high) in [(huge, -huge), (-huge, -huge)] {
            let invalid = CONSTANT.spread_jitter(low, high).try_attempts(2).unwrap_err();
            assert!(invalid.to_string().ends_with(tail), "{invalid}");
        }
        let invalid = EXPONENTIAL.factor(huge).try_attempts(2).unwrap_err().to_string();
        // It may be rounded, or said in words; it may not be another number.
        if let Ok(shown) = invalid.split(' ').nth(1).expect("a value").parse::<f64>() {
            assert!((shown / huge - 1.0).abs() < 1e-6, "{huge:e} is not {invalid}");
        }
    }
}

#[test]
fn a_floor_above_its_ceiling() {
    let (one, two) = (SECOND, SECOND * 2);
    let message = "min: 2s is above max: 1s; lower the one or raise the other";
    check_backoff(CONSTANT.min(two).max(one), message);
    check_backoff(CONSTANT.max(one).min(two), message);
    check_backoff(CONSTANT.max(one).max(two).min(one).min(two), message);
    check_backoff(CONSTANT.full_jitter().min(two).max(one), message);
    check_backoff(
        CONSTANT.min(Duration::MAX).max(Duration::ZERO),
        "min: 18446744073709551615ns is above max: 0s; lower the one or raise the other",
    );
    assert!(CONSTANT.min(one).max(one).try_attempts(2).is_ok());
    assert!(CONSTANT.min(two).full_jitter().max(one).try_attempts(2).is_ok());
    assert!(CONSTANT.max(one).full_jitter().min(two).try_attempts(2).is_ok());
}

#[test]
fn a_chain_of_nine_modifiers() {
    let of = |count: usize| (0..count).fold(CONSTANT, |backoff, _| backoff.full_jitter());
    check_backoff(of(9), "modifiers: a backoff takes at most 8 of min, max and jitter");
    check_backoff(of(100), "modifiers: a backoff takes at most 8 of min, max and jitter");
    assert!(of(8).try_attempts(2).is_ok());
}

#[test]
fn a_list_of_thirty_three_delays() {
    let of = |count: usize| Backoff::list(&vec![SECOND; count]);
    let message = |count: usize| {
        format!(
            "list: {count} delays are too many; \
             a list holds at most 32, and Backoff::from_fn takes any number"
        )
    };
    check_backoff(of(33), &message(33));
    check_backoff(of(1000), &message(1000));
    assert!(of(32).try_attempts(2).is_ok());
    assert!(of(0).try_attempts(2).is_ok());
}

#[test]
fn the_first_mistake_of_a_chain_is_the_one_that_is_told() {
    check_backoff(
        EXPONENTIAL.proportional_jitter(2.0).factor(0.5).min(SECOND).max(Duration::ZERO),
        "proportional jitter: 2 is out of range; use 0 to 1 (0.25 is plus or minus 25%)",
    );
    check(
        EXPONENTIAL.additive_jitter(11.0).try_attempts(0),
        "additive jitter: 11 is out of range; use 0 to 10 (0.5 adds up to 50%)",
    );
}

#[test]
fn a_mistake_outlives_what_is_chained_after_it() {
    let backoff = EXPONENTIAL.factor(0.5).max(SECOND).factor(2.0).full_jitter();
    check_backoff(backoff, "factor: 0.5 is below 1; a factor is at least 1 and below 1000000000");
    assert_ne!(backoff, EXPONENTIAL.max(SECOND).full_jitter());
}

#[test]
fn the_panic_says_what_the_error_says() {
    let panicked = |build: fn() -> Policy| {
        let panic = std::panic::catch_unwind(build).expect_err("it is invalid");
        panic.downcast_ref::<String>().cloned().expect("a message")
    };
    assert_eq!(
        panicked(|| CONSTANT.attempts(0)),
        CONSTANT.try_attempts(0).unwrap_err().to_string(),
    );
    let low = EXPONENTIAL.factor(0.5);
    let expected = low.try_unlimited().unwrap_err().to_string();
    assert_eq!(panicked(|| EXPONENTIAL.factor(0.5).unlimited()), expected);
    assert_eq!(panicked(|| EXPONENTIAL.factor(0.5).attempts(0)), expected);
}

#[test]
fn an_error_is_comparable_and_shows_its_words() {
    let invalid = CONSTANT.additive_jitter(f64::NAN).try_attempts(1).unwrap_err();
    assert_eq!(Err(invalid), CONSTANT.additive_jitter(f64::NAN).try_attempts(1));
    assert_eq!(
        format!("{invalid:?}"),
        "Invalid(\"additive jitter: NaN is out of range; use 0 to 10 (0.5 adds up to 50%)\")",
    );
}

#[test]
fn budget_amounts_out_of_range() {
    let message = |option: &str, shown: &str| {
        format!("{option}: {shown} is out of range; use 0 or more, below 1000000000")
    };
    let shown = [
        (-1.0, "-1"),
        (-0.1, "-0.1"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "infinity"),
        (1e9, "1000000000"),
    ];
    for (amount, text) in shown {
        let budget = Budget::builder();
        check(budget.capacity(amount).try_build(), &message("budget capacity", text));
        check(budget.deposit(amount).try_build(), &message("budget deposit", text));
        check(budget.cost(amount).try_build(), &message("budget cost", text));
        let floor = budget.floor_per_second(amount).try_build();
        check(floor, &message("budget floor per second", text));
    }
    check(
        Budget::builder().deposit(-1.0).capacity(-2.0).try_build(),
        &message("budget deposit", "-1"),
    );
    assert!(Budget::builder().capacity(999_999_999.0).try_build().is_ok());
}

#[test]
fn a_budget_that_could_never_be_paid_from() {
    let unpayable = "budget: a retry that costs more than the capacity could never be paid";
    check(Budget::builder().capacity(0.0).try_build(), unpayable);
    check(Budget::builder().capacity(0.5).try_build(), unpayable);
    check(Budget::builder().cost(100.1).try_build(), unpayable);
    assert!(Budget::builder().cost(100.0).try_build().is_ok());
    assert!(Budget::builder().capacity(0.0).cost(0.0).try_build().is_ok());
}

#[test]
fn a_budget_that_would_never_refill() {
    let empty = Budget::builder().deposit(0.0).floor_per_second(0.0);
    check(empty.try_build(), "budget: with no deposit and no floor an empty budget never refills");
    assert!(empty.deposit(0.000_000_001).try_build().is_ok());
    assert!(empty.floor_per_second(0.000_000_001).try_build().is_ok());
}

#[test]
fn breaker_counts_out_of_range() {
    let breaker = Breaker::builder();
    let zero = |option: &str| format!("{option}: 0 is not allowed; use 1 or more");
    check(breaker.failures(0).try_build(), &zero("breaker failures"));
    check(breaker.probes(0).try_build(), &zero("breaker probes"));
    check(breaker.failures(0).probes(0).try_build(), &zero("breaker failures"));
    check(
        breaker.probes(16_777_216).try_build(),
        "breaker probes: 16777216 are too many; use at most 16777215",
    );
    check(
        breaker.probes(u32::MAX).try_build(),
        "breaker probes: 4294967295 are too many; use at most 16777215",
    );
    assert!(breaker.failures(1).probes(1).try_build().is_ok());
    assert!(breaker.failures(u32::MAX).probes(16_777_215).try_build().is_ok());
    for recovery in [Duration::ZERO, Duration::MAX] {
        assert!(breaker.recovery(recovery).try_build().is_ok());
    }
}
