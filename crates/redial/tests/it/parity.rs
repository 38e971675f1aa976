//! One seed, one call: the same delays, the same end, whoever drives it.

use std::cell::Cell;
use std::future::ready;
use std::rc::Rc;
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{
    Backoff, Decision, Outcome, Policy, Random, SplitMix64, Stop, Time, Verdict, blocking, retry,
    tries_on,
};
use redial_seeds::{Dice, Draw, each_case};

use crate::dice::Calls;

/// A call whose every attempt takes this long and fails, and what the failures mean.
#[derive(Debug)]
struct Case {
    policy: Policy,
    seed: u64,
    takes: Duration,
    verdicts: Vec<Verdict>,
    /// The attempt that succeeds, if one does.
    succeeds: Option<u32>,
}

/// What became of it.
#[derive(Debug, PartialEq)]
struct Ending {
    delays: Vec<Duration>,
    reason: Option<Stop>,
    attempts: u32,
    waited: Duration,
    elapsed: Duration,
    /// The attempts' errors, which are their numbers.
    errors: Vec<(u32, u32)>,
}

impl Ending {
    fn of(outcome: &Outcome<(), u32>, delays: Vec<Duration>) -> Self {
        Self {
            delays,
            reason: outcome.reason,
            attempts: outcome.attempts,
            waited: outcome.waited,
            elapsed: outcome.elapsed,
            errors: outcome.errors().map(|(attempt, error)| (attempt, *error)).collect(),
        }
    }
}

impl Case {
    fn random(dice: &mut Dice, policy: Policy) -> Self {
        let verdicts = dice.verdicts();
        let succeeds = dice.one_in(3).then(|| 1 + dice.below(12) as u32);
        Self { policy, seed: dice.word(), takes: dice.usual(), verdicts, succeeds }
    }

    fn verdict(&self, attempt: u32) -> Verdict {
        self.verdicts[attempt as usize - 1]
    }

    fn result(&self, attempt: u32) -> Result<(), u32> {
        if self.succeeds == Some(attempt) { Ok(()) } else { Err(attempt) }
    }

    /// The engine by itself, which knows no loop.
    fn engine(&self) -> Ending {
        let mut random = SplitMix64::new(self.seed);
        let mut now = Time::ZERO;
        let mut call = self.policy.start(now);
        let mut ending = Ending {
            delays: Vec::new(),
            reason: None,
            attempts: 0,
            waited: Duration::ZERO,
            elapsed: Duration::ZERO,
            errors: Vec::new(),
        };
        loop {
            ending.attempts += 1;
            now = now.after(self.takes);
            let Err(attempt) = self.result(ending.attempts) else { break };
            ending.errors.push((attempt, attempt));
            match call.failed(now, || self.verdict(attempt), &mut random) {
                Decision::Wait(delay) => {
                    ending.delays.push(delay);
                    now = now.after(delay);
                }
                Decision::Stop(reason) => {
                    ending.reason = Some(reason);
                    break;
                }
            }
        }
        ending.waited = call.waited();
        ending.elapsed = now.since(Time::ZERO);
        ending
    }

    fn blocking(&self) -> Ending {
        let clock = ManualClock::new();
        let mut delays = Vec::new();
        let outcome = blocking::call(&self.policy, |attempt| {
            clock.advance(self.takes);
            self.result(attempt.number)
        })
        .classify(|attempt| self.verdict(*attempt))
        .on_retry(|event| delays.push(event.delay))
        .seed(self.seed)
        .clock(&clock)
        .outcome();
        clock.assert_slept(&slept(&delays));
        Ending::of(&outcome, delays)
    }

    fn asynchronous(&self) -> Ending {
        let clock = ManualClock::new();
        let mut delays = Vec::new();
        let mut attempt = 0;
        let outcome = clock.block_on(async {
            let operation = || {
                attempt += 1;
                clock.advance(self.takes);
                ready(self.result(attempt))
            };
            retry(&self.policy, operation)
                .clock(&clock)
                .classify(|attempt| self.verdict(*attempt))
                .on_retry(|event| delays.push(event.delay))
                .seed(self.seed)
                .outcome()
                .await
        });
        clock.assert_slept(&slept(&delays));
        Ending::of(&outcome, delays)
    }

    /// The caller's own loop: what it waited, and in which attempt it ended.
    fn tries(&self) -> (Vec<Duration>, u32) {
        let clock = ManualClock::new();
        let attempts = clock.block_on(async {
            let mut tries = tries_on(&clock, &self.policy).seed(self.seed);
            loop {
                clock.advance(self.takes);
                let attempt = tries.attempt();
                match self.result(attempt) {
                    Ok(()) => break attempt,
                    Err(error) => {
                        if tries.judged(error, self.verdict(error)).await.is_err() {
                            break attempt;
                        }
                    }
                }
            }
        });
        (clock.slept(), attempts)
    }

    /// Tokio's clock goes by milliseconds, so what was decided is compared, and not what was slept.
    #[cfg(feature = "tokio")]
    fn tokio(&self) -> (Vec<Duration>, Outcome<(), u32>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        let mut delays = Vec::new();
        let mut attempt = 0;
        let operation = || {
            attempt += 1;
            ready(self.result(attempt))
        };
        let call = retry(&self.policy, operation)
            .classify(|attempt| self.verdict(*attempt))
            .on_retry(|event| delays.push(event.delay))
            .seed(self.seed);
        let outcome = runtime.block_on(call.outcome());
        (delays, outcome)
    }

    #[track_caller]
    fn check(&self) -> Ending {
        let Self { policy, .. } = self;
        let engine = self.engine();
        assert_eq!(self.blocking(), engine, "blocking: {policy}: {self:?}");
        assert_eq!(self.asynchronous(), engine, "async: {policy}: {self:?}");
        let tries = self.tries();
        assert_eq!(tries, (slept(&engine.delays), engine.attempts), "tries: {policy}: {self:?}");
        engine
    }
}

/// What of the delays is slept: a zero delay is a yield.
fn slept(delays: &[Duration]) -> Vec<Duration> {
    delays.iter().copied().filter(|delay| !delay.is_zero()).collect()
}

#[test]
fn every_loop_does_what_the_engine_decides() {
    each_case(400, |dice| {
        let policy = dice.limited_policy(Dice::usual);
        Case::random(dice, policy).check();
    });
}

#[test]
fn every_loop_does_what_the_engine_decides_at_the_extremes() {
    each_case(400, |dice| {
        let policy = dice.limited_policy(Dice::extreme);
        Case::random(dice, policy).check();
    });
}

/// All failures are plain retries and there is no limit in time: the delays are the foretold ones.
#[test]
fn every_loop_sleeps_what_the_policy_foretells() {
    each_case(300, |dice| {
        let policy = dice.policy(Dice::extreme);
        let verdicts = vec![Verdict::Retry; 12];
        let case =
            Case { policy, seed: dice.word(), takes: dice.usual(), verdicts, succeeds: None };
        let foretold: Vec<_> = policy.delays(SplitMix64::new(case.seed)).collect();
        assert_eq!(case.check().delays, foretold, "{policy}: {case:?}");
    });
}

/// A dictated delay takes no word: the foretold delays around it are those of a generator that
/// stands still meanwhile. Where the source remembers, the engine is the only reference.
#[test]
fn a_dictated_delay_leaves_the_others_as_they_were() {
    each_case(300, |dice| {
        let policy = dice.policy(Dice::extreme);
        if policy.to_string().contains("decorrelated") {
            return;
        }
        let mut case = Case::random(dice, policy);
        case.succeeds = None;
        let generator = Rc::new(Cell::new(Some(SplitMix64::new(case.seed))));
        let stands = Rc::new(Cell::new(false));
        let word = {
            let (generator, stands) = (Rc::clone(&generator), Rc::clone(&stands));
            move || {
                let mut words = generator.take().expect("always put back");
                let word = if stands.get() { 0 } else { words.word() };
                generator.set(Some(words));
                word
            }
        };
        let mut foretold = policy.delays(word);
        let mut expected = Vec::new();
        for attempt in 1..policy.attempts().expect("a number") {
            let verdict = case.verdict(attempt);
            stands.set(verdict != Verdict::Retry);
            let delay = foretold.next().expect("one for each retry");
            match verdict {
                Verdict::Stop => break,
                Verdict::Retry => expected.push(delay),
                Verdict::RetryAfter(dictated) => expected.push(dictated),
            }
        }
        assert_eq!(case.check().delays, expected, "{policy}: {case:?}");
    });
}

#[cfg(feature = "tokio")]
#[test]
fn tokios_clock_decides_alike() {
    each_case(200, |dice| {
        let policy = dice.policy(Dice::usual);
        let mut case = Case::random(dice, policy);
        case.takes = Duration::ZERO;
        let engine = case.check();
        let (delays, outcome) = case.tokio();
        assert_eq!(delays, engine.delays, "{policy}: {case:?}");
        assert_eq!(outcome.reason, engine.reason, "{policy}: {case:?}");
        assert_eq!(outcome.attempts, engine.attempts, "{policy}: {case:?}");
        assert_eq!(outcome.waited, engine.waited, "{policy}: {case:?}");
        // Each of at most eleven waits is late by less than a millisecond, and never early.
        let late = outcome.elapsed.checked_sub(engine.elapsed).expect("not early");
        assert!(late < Duration::from_millis(11), "late by {late:?}; {policy}: {case:?}");
    });
}

#[cfg(feature = "tokio")]
#[test]
fn tokios_clock_decides_alike_at_the_extremes() {
    each_case(60, |dice| {
        let policy = dice.policy(Dice::extreme);
        let mut case = Case::random(dice, policy);
        case.takes = Duration::ZERO;
        let (delays, outcome) = case.tokio();
        let engine = case.engine();
        assert_eq!(delays, engine.delays, "{policy}: {case:?}");
        assert_eq!(outcome.reason, engine.reason, "{policy}: {case:?}");
    });
}

/// The vectors of the contract, as slept and not only as foretold.
#[test]
fn seed_42_sleeps_the_vectors_of_the_contract() {
    let hundred = Backoff::constant(Duration::from_millis(100));
    for (policy, nanos) in [
        (hundred.full_jitter().attempts(5), [74_156_488, 15_991_039, 27_860_113, 34_419_071]),
        (hundred.equal_jitter().attempts(5), [87_078_244, 57_995_519, 63_930_056, 67_209_536]),
    ] {
        let expected = nanos.map(Duration::from_nanos);
        let verdicts = vec![Verdict::Retry; 12];
        let takes = Duration::ZERO;
        let case = Case { policy, seed: 42, takes, verdicts, succeeds: None };
        assert_eq!(case.check().delays, expected);
    }
}
