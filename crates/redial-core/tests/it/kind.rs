//! Failures of a kind that has a policy of its own.

use std::time::Duration;

use redial_core::{
    Decision, Kind, Limits, Policy, Random, Ruling, SplitMix64, Stop, Time, Verdict, policy,
};
use redial_seeds::{Dice, each_case};

use crate::cases::Timings;

const SECOND: Duration = Duration::from_secs(1);
const QUICK: Policy = policy!("attempts: 6, delay: 100ms, backoff: exponential");
const SLOW: Policy = policy!("attempts: 3, delay: 10s, backoff: linear");

/// What becomes of failures, each `s` of the slow kind or of none, under limits.
fn decided(failures: &str, slow: &Policy, limits: &Limits<'_>) -> Vec<String> {
    let mut kind = Kind::new(slow);
    let mut call = QUICK.start(Time::ZERO);
    let decisions = failures.chars().map(|failure| {
        let ruling = |random: &mut fn() -> u64| match failure {
            's' => kind.failed(random),
            '.' => Verdict::Retry.into(),
            'x' => Verdict::Stop.into(),
            _ => Verdict::RetryAfter(SECOND * 121).into(),
        };
        let random: &mut fn() -> u64 = &mut { || unreachable!("no chance in these") };
        match call.failed_as(limits, &mut (), || Time::ZERO, ruling, random) {
            Decision::Wait(delay) => format!("{delay:?}"),
            Decision::Stop(reason) => reason.name().to_owned(),
        }
    });
    decisions.collect()
}

#[test]
fn each_kind_has_its_own_pace() {
    // The policy of the call goes by all failures so far, the kind by its own.
    assert_eq!(decided("..s.s", &SLOW, &Limits::new()), ["100ms", "200ms", "10s", "800ms", "20s"]);
}

#[test]
fn each_kind_has_its_own_count_and_the_call_counts_all() {
    assert_eq!(decided("sss", &SLOW, &Limits::new()), ["10s", "20s", "attempts-spent"]);
    let six = ["100ms", "10s", "400ms", "800ms", "1.6s", "attempts-spent"];
    assert_eq!(decided(".s....", &SLOW, &Limits::new()), six);
}

#[test]
fn the_limits_of_the_kind_and_of_the_call_both_hold() {
    const SHORT: Policy =
        policy!(allow(attempts_past_deadline), "attempts: 9, delay: 10s, within: 5s");
    const CHEAP: Policy =
        policy!(allow(attempts_past_deadline), "attempts: 9, delay: 10s, wait_budget: 15s");
    assert_eq!(decided("s", &SHORT, &Limits::new()), ["deadline"]);
    assert_eq!(decided("ss", &CHEAP, &Limits::new()), ["10s", "wait-budget"]);
    assert_eq!(decided("s", &SLOW, &Limits::new().within(SECOND * 9)), ["deadline"]);
    assert_eq!(decided("s", &SLOW, &Limits::new().wait_budget(SECOND * 9)), ["wait-budget"]);
}

/// The bound on what a server asks for is not for a pace of one's own.
#[test]
fn a_kind_may_wait_longer_than_a_server_may_ask() {
    const HOURS: Policy = policy!("attempts: 9, delay: 1h");
    assert_eq!(decided("s", &HOURS, &Limits::new()), ["3600s"]);
    assert_eq!(decided("r", &HOURS, &Limits::new()), ["retry-after-too-long"]);
}

#[test]
fn a_rejection_is_a_rejection() {
    assert_eq!(decided("x", &SLOW, &Limits::new()), ["rejected"]);
}

#[test]
fn without_kinds_it_decides_as_ever() {
    each_case(1000, |dice| {
        let words = dice.word();
        let policy = dice.limited_timing(Dice::extreme_nanos).build().unwrap();
        let (mut one, mut other) = (policy.start(Time::ZERO), policy.start(Time::ZERO));
        let (mut ours, mut theirs) = (SplitMix64::new(words), SplitMix64::new(words));
        let mut now = Time::ZERO;
        for _ in 0..20 {
            let limits = Limits::new();
            let retry = |_: &mut _| Ruling::from(Verdict::Retry);
            let decision = one.failed_as(&limits, &mut (), || now, retry, &mut ours);
            assert_eq!(decision, other.failed(now, || Verdict::Retry, &mut theirs), "{policy}");
            let Decision::Wait(delay) = decision else { break };
            now = now.after(delay);
        }
        assert_eq!(ours, theirs);
    });
}

/// All failures of one kind are that kind's policy alone, whatever that of the call would say.
#[test]
fn failures_of_one_kind_sleep_what_its_policy_foretells() {
    each_case(1000, |dice| {
        const ENDLESS: Policy =
            policy!(allow(unbounded), "attempts: unlimited, delay: 7s, jitter: full");
        let policy = dice.timing(Dice::extreme_nanos, 8).build().unwrap();
        let words = dice.word();
        let mut random = SplitMix64::new(words);
        let (mut kind, mut call) = (Kind::new(&policy), ENDLESS.start(Time::ZERO));
        let mut slept = Vec::new();
        let reason = loop {
            let ruling = |random: &mut _| kind.failed(random);
            match call.failed_as(&Limits::new(), &mut (), || Time::ZERO, ruling, &mut random) {
                Decision::Wait(delay) => slept.push(delay),
                Decision::Stop(reason) => break reason,
            }
        };
        assert_eq!(reason, Stop::AttemptsSpent);
        assert_eq!(slept, policy.delays(SplitMix64::new(words)).collect::<Vec<_>>(), "{policy}");
    });
}
