//! Attempts that run at the same time: what the engine decides about hedges and about failures
//! beside others.

use std::time::Duration;

use redial_core::{
    Breaker, Budget, Decision, Kind, Limits, Policy, Race, Random, Ruling, SplitMix64, Stop, Time,
    Verdict, policy,
};
use redial_seeds::{Dice, each_case};

use crate::cases::Timings;

const SECOND: Duration = Duration::from_secs(1);
const POLICY: Policy = policy!("attempts: 4, delay: 1s, backoff: exponential");

fn at(millis: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(millis))
}

fn retry(_: &mut fn() -> u64) -> Ruling {
    Verdict::Retry.into()
}

fn no_word() -> u64 {
    panic!("no word is drawn")
}

const NO_WORD: fn() -> u64 = no_word;

/// Two attempts run, the second since 100 ms.
fn two_running() -> Race {
    let mut race = Race::new(2);
    race.started(at(0), Some(SECOND / 10));
    race.started(at(100), Some(SECOND / 10));
    race
}

#[test]
fn a_hedge_is_due_when_patience_is_at_its_end() {
    let call = POLICY.start(at(0));
    let mut race = Race::new(2);
    assert_eq!(call.hedge_due(&race, &Limits::new()), None);
    race.started(at(5), Some(SECOND));
    assert_eq!(call.hedge_due(&race, &Limits::new()), Some(at(1005)));
    race.declined();
    assert_eq!(call.hedge_due(&race, &Limits::new()), None);
    race.started(at(2000), None); // before enough was seen to know
    assert_eq!(call.hedge_due(&race, &Limits::new()), None);
}

#[test]
fn no_more_run_at_a_time_than_may() {
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    assert_eq!(call.hedge_due(&race, &Limits::new()), None);
    let hedge = call.hedge(&mut race, &Limits::new(), &mut (), at(500));
    assert_eq!(hedge, Err(Stop::AttemptsSpent));
}

#[test]
fn hedges_count_against_the_attempts() {
    let mut call = POLICY.start(at(0)); // of four
    let mut race = Race::new(u32::MAX);
    for started in 1..=4 {
        race.started(at(0), Some(Duration::ZERO));
        let due = call.hedge_due(&race, &Limits::new());
        assert_eq!(due.is_some(), started < 4, "after {started}");
    }
    let hedge = call.hedge(&mut race, &Limits::new(), &mut (), at(0));
    assert_eq!(hedge, Err(Stop::AttemptsSpent));
    for running in [3, 2, 1] {
        let beside =
            call.failed_beside(&mut race, &Limits::new(), &mut (), at(9), retry, &mut { NO_WORD });
        assert_eq!((beside, race.running()), (None, running));
    }
    // The last is the last allowed attempt: nobody is asked what it means.
    let last = call.failed_beside(
        &mut race,
        &Limits::new(),
        &mut (),
        at(9),
        |_| unreachable!("not asked"),
        &mut { NO_WORD },
    );
    assert_eq!(last, Some(Decision::Stop(Stop::AttemptsSpent)));
}

#[test]
fn a_hedge_starts_before_the_deadline_or_not_at_all() {
    let limits = Limits::new().within(SECOND);
    let mut call = POLICY.start(at(0));
    let mut race = Race::new(2);
    race.started(at(0), Some(SECOND));
    assert_eq!(call.hedge_due(&race, &limits), None); // due at the deadline
    race.started(at(0), Some(SECOND / 2));
    let mut race = Race::new(2);
    race.started(at(0), Some(SECOND / 2));
    assert_eq!(call.hedge_due(&race, &limits), Some(at(500)));
    // The timer was late.
    assert_eq!(call.hedge(&mut race, &limits, &mut (), at(1000)), Err(Stop::Deadline));
}

#[test]
fn a_hedge_is_paid_for_and_one_that_is_refused_costs_nothing() {
    let budget = Budget::builder().capacity(1.0).floor_per_second(0.0).build();
    let limits = Limits::new().budget(&budget);
    let mut call = POLICY.start(at(0));
    let mut race = Race::new(3);
    race.started(at(0), Some(Duration::ZERO));
    assert_eq!(call.hedge(&mut race, &limits, &mut (), at(0)), Ok(()));
    assert_eq!(budget.tokens(), 0.0);
    race.started(at(0), Some(Duration::ZERO));
    assert_eq!(call.hedge(&mut race, &limits, &mut (), at(0)), Err(Stop::Budget));
    assert_eq!(call.hedge_due(&race, &limits), None, "it is not asked for again");
    assert_eq!(call.waited(), Duration::ZERO);
}

#[test]
fn the_last_failure_waits_as_after_so_many_failures() {
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let limits = Limits::new();
    let first = call.failed_beside(&mut race, &limits, &mut (), at(200), retry, &mut { NO_WORD });
    assert_eq!((first, call.failures()), (None, 1));
    assert_eq!(call.hedge_due(&race, &limits), Some(at(200)), "its place is free");
    let second = call.failed_beside(&mut race, &limits, &mut (), at(300), retry, &mut { NO_WORD });
    assert_eq!(second, Some(Decision::Wait(SECOND * 2)));
    assert_eq!((call.failures(), call.waited()), (2, SECOND * 2));
}

#[test]
fn a_rejection_ends_the_call_while_others_run() {
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let stop = |_: &mut _| Ruling::from(Verdict::Stop);
    let decision =
        call.failed_beside(&mut race, &Limits::new(), &mut (), at(200), stop, &mut { NO_WORD });
    assert_eq!(decision, Some(Decision::Stop(Stop::Rejected)));
}

/// What a server asks of one attempt holds for those that come after it.
#[test]
fn a_delay_that_one_was_asked_for_keeps_the_next_back() {
    let limits = Limits::new();
    let after = |asked: Duration| move |_: &mut _| Ruling::from(Verdict::RetryAfter(asked));
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let first = call
        .failed_beside(&mut race, &limits, &mut (), at(200), after(SECOND * 9), &mut { NO_WORD });
    assert_eq!(first, None);
    assert_eq!(call.hedge_due(&race, &limits), Some(at(9200)));
    let last = call.failed_beside(&mut race, &limits, &mut (), at(1200), retry, &mut { NO_WORD });
    assert_eq!(last, Some(Decision::Wait(SECOND * 8))); // and not the policy's 2 s

    // The policy's own delay, where that is longer.
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let _ = call
        .failed_beside(&mut race, &limits, &mut (), at(200), after(SECOND / 10), &mut { NO_WORD });
    let last = call.failed_beside(&mut race, &limits, &mut (), at(250), retry, &mut { NO_WORD });
    assert_eq!(last, Some(Decision::Wait(SECOND * 2)));

    // And no longer than the call allows.
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let _ = call
        .failed_beside(&mut race, &limits, &mut (), at(200), after(SECOND * 121), &mut { NO_WORD });
    let last = call.failed_beside(&mut race, &limits, &mut (), at(250), retry, &mut { NO_WORD });
    assert_eq!(last, Some(Decision::Stop(Stop::RetryAfterTooLong)));
}

#[test]
fn a_breaker_hears_of_every_failure_but_not_of_a_rejection() {
    let breaker = Breaker::builder().failures(2).build();
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let (mut one, mut two) = (breaker.admit(|| at(0)), breaker.admit(|| at(0)));
    let limits = Limits::new();
    let random = &mut { NO_WORD };
    assert_eq!(call.failed_beside(&mut race, &limits, &mut one, at(1), retry, random), None);
    let last = call.failed_beside(&mut race, &limits, &mut two, at(2), retry, random);
    assert_eq!(last, Some(Decision::Stop(Stop::BreakerOpen)));

    let breaker = Breaker::builder().failures(1).build();
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let mut one = breaker.admit(|| at(0));
    let stop = |_: &mut _| Ruling::from(Verdict::Stop);
    let _ = call.failed_beside(&mut race, &limits, &mut one, at(1), stop, &mut { NO_WORD });
    drop(one);
    assert!(breaker.admit(|| at(2)).is_some());
}

#[test]
fn a_kind_keeps_its_pace_and_its_count_while_others_run() {
    const SLOW: Policy = policy!("attempts: 2, delay: 5s");
    let limits = Limits::new();
    let mut slow = Kind::new(&SLOW);
    let (mut call, mut race) = (POLICY.start(at(0)), two_running());
    let throttled = |random: &mut fn() -> u64| slow.failed(random);
    let first =
        call.failed_beside(&mut race, &limits, &mut (), at(200), throttled, &mut { NO_WORD });
    assert_eq!((first, call.hedge_due(&race, &limits)), (None, Some(at(5200))));
    race.started(at(5200), Some(Duration::ZERO));
    let throttled = |random: &mut fn() -> u64| slow.failed(random);
    let second =
        call.failed_beside(&mut race, &limits, &mut (), at(5300), throttled, &mut { NO_WORD });
    assert_eq!(second, None);
    // The second was the last of its kind: what still runs may answer, and nothing follows it.
    assert_eq!(call.hedge_due(&race, &limits), None);
    let last = call.failed_beside(&mut race, &limits, &mut (), at(5400), retry, &mut { NO_WORD });
    assert_eq!(last, Some(Decision::Stop(Stop::AttemptsSpent)));
}

/// Without hedges a race is a call.
#[test]
fn a_race_of_one_decides_as_a_call_does() {
    each_case(1000, |dice| {
        let words = dice.word();
        let policy = dice.limited_timing(Dice::usual_nanos).build().unwrap();
        let (mut alone, mut call) = (policy.start(at(0)), policy.start(at(0)));
        let (mut ours, mut theirs) = (SplitMix64::new(words), SplitMix64::new(words));
        let mut now = at(0);
        for _ in 0..12 {
            let mut race = Race::new(2);
            race.started(now, Some(Duration::ZERO));
            now = now.after(SECOND / 7);
            let limits = Limits::new().within(SECOND * 600);
            let retry = |_: &mut _| Ruling::from(Verdict::Retry);
            let raced = call.failed_beside(&mut race, &limits, &mut (), now, retry, &mut ours);
            let decision = alone.failed_under(&limits, || now, || Verdict::Retry, &mut theirs);
            assert_eq!(raced, Some(decision));
            let Decision::Wait(delay) = decision else { break };
            now = now.after(delay);
        }
    });
}

#[test]
fn extremes_neither_panic_nor_wrap() {
    const ENDLESS: Policy = policy!(allow(unbounded, hot_loop), "attempts: unlimited");
    let mut call = ENDLESS.start(Time::MAX);
    let mut race = Race::new(u32::MAX);
    race.started(Time::MAX, Some(Duration::MAX));
    race.started(Time::MAX, Some(Duration::MAX));
    assert_eq!(call.hedge_due(&race, &Limits::new()), Some(Time::MAX));
    let after = |_: &mut _| Ruling::from(Verdict::RetryAfter(Duration::MAX));
    let limits = Limits::new().max_retry_after(Duration::MAX);
    let beside =
        call.failed_beside(&mut race, &limits, &mut (), Time::MAX, after, &mut { NO_WORD });
    assert_eq!(beside, None);
    let last = call.failed_beside(&mut race, &limits, &mut (), Time::ZERO, after, &mut { NO_WORD });
    assert!(matches!(last, Some(Decision::Wait(_))), "{last:?}");
    assert!(
        call.failed_beside(&mut Race::new(0), &limits, &mut (), Time::ZERO, after, &mut {
            NO_WORD
        })
        .is_some()
    );
}
