//! One policy after the other.

use std::time::Duration;

use redial_core::{
    Backoff, Decision, Policy, Random, Sequence, SplitMix64, Stop, Time, Verdict, policy,
};
use redial_seeds::{Dice, each_case};

use crate::cases::Timings;

const QUICK: Policy = policy!("attempts: 3, delay: 100ms");

#[test]
fn attempts_add_up_and_each_of_the_second_waits_for_its_own_delay() {
    let slow = policy!("attempts: 2, delay: 1min, backoff: exponential, max_delay: none");
    let both: Policy<Sequence> = QUICK.then(slow);
    assert_eq!(both.attempts(), Some(5));
    let seconds: Vec<_> = both.delays(|| 0).map(|delay| delay.as_secs_f64()).collect();
    assert_eq!(seconds, [0.1, 0.1, 60.0, 120.0]);
    let third = both.then(Backoff::constant(Duration::from_secs(3600)).attempts(1));
    assert_eq!(
        third.delays(|| 0).map(|delay| delay.as_secs()).collect::<Vec<_>>(),
        [0, 0, 60, 120, 3600]
    );
    assert_eq!(policy!("attempts: 1").then(slow).delays(|| 0).count(), 2);
}

#[test]
fn the_limits_of_the_second_hold_for_the_whole() {
    let slow = policy!("attempts: unlimited, delay: 1min, within: 1h, wait_budget: 2min");
    let both = QUICK.then(slow);
    assert_eq!((both.attempts(), both.get_within()), (None, Some(Duration::from_secs(3600))));
    let mut call = both.start(Time::ZERO);
    let mut waited = Vec::new();
    let reason = loop {
        match call.failed(Time::ZERO, || Verdict::Retry, &mut || 0) {
            Decision::Wait(delay) => waited.push(delay.as_millis()),
            Decision::Stop(reason) => break reason,
        }
    };
    assert_eq!((waited, reason), (vec![100, 100, 60_000], Stop::WaitBudget));
}

#[test]
fn a_first_that_would_not_end_or_would_end_both_is_refused() {
    let refused = |first: Policy| first.try_then(QUICK).unwrap_err().to_string();
    assert_eq!(
        refused(Backoff::none().unlimited()),
        "then: the first policy has unlimited attempts and would never come to its end; give it a number",
    );
    assert_eq!(
        refused(QUICK.within(Duration::from_secs(5))),
        "then: within 5s of the first policy would end both; say it of the second, or of the whole",
    );
    assert_eq!(
        refused(QUICK.wait_budget(Duration::from_secs(5))),
        "then: wait_budget 5s of the first policy would end both; say it of the second, or of the whole",
    );
}

#[test]
fn the_most_attempts_there_can_be_are_the_most_there_are() {
    let most = Backoff::none().attempts(u32::MAX);
    assert_eq!(most.then(most).attempts(), Some(u32::MAX));
    assert_eq!(QUICK.then(Backoff::none().unlimited()).attempts(), None);
}

/// Each part sleeps what it would sleep alone, chance and all.
#[test]
fn the_delays_are_those_of_the_parts() {
    each_case(2000, |dice| {
        let first = dice.timing(Dice::extreme_nanos, 8).build().unwrap();
        let second = dice.timing(Dice::extreme_nanos, 8).build().unwrap();
        let seed = dice.word();
        let (mut ours, mut theirs) = (SplitMix64::new(seed), SplitMix64::new(seed));
        let both: Vec<_> =
            first.then(second).delays(&mut || redial_core::Random::word(&mut ours)).collect();
        let mut word = || redial_core::Random::word(&mut theirs);
        let mut parts: Vec<_> = first.delays(&mut word).collect();
        // One more than the second has alone: before its first attempt.
        let more = second.attempts().unwrap() + 1;
        parts.extend(second.backoff().attempts(more).delays(&mut word));
        assert_eq!(both, parts, "{first} then {second}");
        assert_eq!(ours, theirs);
    });
}
