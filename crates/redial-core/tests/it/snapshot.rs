//! A call that is written down and taken up again decides as one that was never interrupted.

use core::time::Duration;

use redial_core::{
    Call, CallSnapshot, Decision, Limits, Policy, Random, SplitMix64, Time, Verdict, policy,
};
use redial_seeds::{Dice, Draw, each_case};

use crate::cases::Timings;

/// One call that is interrupted before any of its decisions, and one that never is.
struct Pair {
    policy: Policy,
    seed: u64,
    whole: Call<Policy>,
    whole_random: SplitMix64,
    parts: Call<Policy>,
    parts_random: SplitMix64,
    /// By how much the clock of the interrupted call is ahead of the other.
    ahead: u64,
}

impl Pair {
    fn new(policy: Policy, seed: u64) -> Self {
        let start = Time::from_nanos(1000);
        Self {
            policy,
            seed,
            whole: Call::new(policy, start),
            whole_random: SplitMix64::new(seed),
            parts: Call::new(policy, start),
            parts_random: SplitMix64::new(seed),
            ahead: 0,
        }
    }

    /// Written down as text, and taken up again by a clock with another origin.
    fn interrupt(&mut self, now: u64, ahead: u64) {
        let at = Time::from_nanos(now.saturating_add(self.ahead));
        let written = write(self.parts.snapshot(at, self.parts_random.words_since(self.seed)));
        let snapshot = read(&written);
        self.ahead = ahead;
        let at = Time::from_nanos(now.saturating_add(ahead));
        self.parts = Call::resume(self.policy, snapshot, at).expect(&written);
        self.parts_random = SplitMix64::resume(self.seed, snapshot.words_drawn);
    }

    fn failed(&mut self, limits: &Limits<'_>, now: u64, verdict: Verdict) -> (Decision, Decision) {
        let time = || Time::from_nanos(now);
        let whole = self.whole.failed_under(limits, time, || verdict, &mut self.whole_random);
        let time = || Time::from_nanos(now.saturating_add(self.ahead));
        let parts = self.parts.failed_under(limits, time, || verdict, &mut self.parts_random);
        (whole, parts)
    }
}

fn write(snapshot: CallSnapshot) -> String {
    let CallSnapshot { failures, previous_delay_nanos, waited_nanos, words_drawn, elapsed_nanos } =
        snapshot;
    format!("{failures} {previous_delay_nanos} {waited_nanos} {words_drawn} {elapsed_nanos}")
}

fn read(text: &str) -> CallSnapshot {
    let mut numbers = text.split(' ').map(|number| number.parse().expect(text));
    let mut next = || numbers.next().expect(text);
    CallSnapshot {
        failures: next(),
        previous_delay_nanos: next(),
        waited_nanos: next(),
        words_drawn: next(),
        elapsed_nanos: next(),
    }
}

#[test]
fn any_number_of_interruptions_gives_the_delays_of_an_uninterrupted_call() {
    each_case(3000, |dice| {
        let timing = dice.limited_timing(Dice::extreme_nanos);
        let policy = timing.build().unwrap_or_else(|invalid| panic!("{timing:?}: {invalid}"));
        let mut limits = Limits::new();
        if dice.one_in(4) {
            limits = limits.within(Duration::from_nanos(dice.extreme_nanos()));
        }
        let mut pair = Pair::new(policy, dice.word());
        let mut now = 1000u64;
        for _ in 0..60 {
            for _ in 0..dice.below(3) {
                // No clock reaches its end: a time that saturates tells no elapsed time.
                let ahead = dice.extreme_nanos().min(u64::MAX - now);
                pair.interrupt(now, ahead);
            }
            now = now.saturating_add(dice.usual_nanos());
            let verdict = match dice.below(8) {
                0 => Verdict::RetryAfter(Duration::from_nanos(dice.usual_nanos())),
                1 if dice.one_in(4) => Verdict::Stop,
                _ => Verdict::Retry,
            };
            if now.checked_add(pair.ahead).is_none() {
                break;
            }
            let (whole, parts) = pair.failed(&limits, now, verdict);
            assert_eq!(whole, parts, "{policy}");
            let Decision::Wait(delay) = whole else { break };
            now = now.saturating_add(delay.as_nanos().min(u64::MAX.into()) as u64);
        }
        assert_eq!(pair.whole_random, pair.parts_random, "{policy} draws another number of words");
    });
}

#[test]
fn a_generator_goes_on_after_any_number_of_words() {
    for words in [0, 1, 2, 1 << 32, u64::MAX - 1, u64::MAX] {
        for seed in [0, 1, 42, u64::MAX] {
            let mut resumed = SplitMix64::resume(seed, words);
            assert_eq!(resumed.words_since(seed), words);
            let _ = resumed.word();
            assert_eq!(resumed.words_since(seed), words.wrapping_add(1));
        }
    }
}

#[test]
fn an_impossible_state_is_an_error_that_names_it() {
    const POLICY: Policy = policy!("attempts: 3, delay: 1s, wait_budget: 5s");
    let refused = |snapshot, text: &str| {
        let error = Call::resume(POLICY, snapshot, Time::from_nanos(7)).expect_err(text);
        assert_eq!(error.to_string(), text);
    };
    let new = CallSnapshot::default();
    refused(
        CallSnapshot { failures: 3, ..new },
        "failures: after 3 of them a call of 3 attempts is over, and cannot be resumed",
    );
    refused(
        CallSnapshot { failures: 1, waited_nanos: 5_000_000_001, ..new },
        "waited_nanos: 5000000001ns is above the wait budget of 5s; is this another policy's call?",
    );
    refused(
        CallSnapshot { words_drawn: 1, ..new },
        "words_drawn: 1 before the first failure; a call that has not failed has 0 there",
    );
    refused(
        CallSnapshot { elapsed_nanos: 8, ..new },
        "elapsed_nanos: 8ns ago is before the clock's origin, now is 7ns; count the time from an earlier \
         origin",
    );
    assert!(
        Call::resume(POLICY, CallSnapshot { elapsed_nanos: 7, ..new }, Time::from_nanos(7)).is_ok()
    );
}

#[test]
fn no_state_panics_whatever_its_numbers() {
    const FOREVER: Policy = policy!(
        allow(unbounded, many_retries),
        "attempts: unlimited, delay: 1s, backoff: decorrelated, jitter: full"
    );
    each_case(3000, |dice| {
        let policy = match dice.one_in(3) {
            true => FOREVER,
            false => dice.limited_timing(Dice::extreme_nanos).build().expect("a policy"),
        };
        let snapshot = CallSnapshot {
            failures: dice.extreme_nanos(),
            previous_delay_nanos: dice.extreme_nanos(),
            waited_nanos: dice.extreme_nanos(),
            words_drawn: dice.extreme_nanos(),
            elapsed_nanos: dice.extreme_nanos(),
        };
        let now = Time::from_nanos(dice.extreme_nanos());
        let Ok(mut call) = Call::resume(policy, snapshot, now) else { return };
        assert_eq!(call.snapshot(now, snapshot.words_drawn), snapshot);
        let mut random = SplitMix64::resume(dice.word(), snapshot.words_drawn);
        for _ in 0..3 {
            let Decision::Wait(_) = call.failed(now, || Verdict::Retry, &mut random) else { break };
        }
    });
}
