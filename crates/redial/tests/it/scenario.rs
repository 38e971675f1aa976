//! A call as text, and what becomes of it as text.
//!
//! ```text
//! check(
//!     "attempts: 3, delay: 1s; within: 9s",   // the policy's clause; what the call adds to it
//!     "100ms:a, b@7s, ok",                     // what each attempt does
//!     "0s attempt 1
//!      100ms judge a
//!      …",
//! );
//! ```
//!
//! An attempt takes the time before the colon, none if there is none, and then fails with an error
//! or is `ok`; `hang` never ends. Of the errors, `fatal!` is not worth another attempt, `busy@7s`
//! is worth one after 7 s, and any other is retried. The last attempt of the script repeats.

use std::cell::Cell;
use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use redial::{
    Breaker, Budget, Event, Outcome, Policy, Pretty, Verdict, blocking, retry, testing::ManualClock,
};

use crate::watched::WatchedClock;

/// Runs the call in the blocking and in the async loop, and expects the same transcript of both.
#[track_caller]
pub(crate) fn check(call: &str, script: &str, transcript: &str) {
    compare(
        "blocking",
        &transcript_of(call, script, |call, tell| call.run_blocking(tell)),
        transcript,
    );
    check_async(call, script, transcript);
}

/// The same for what the blocking loop does not have: a timeout.
#[track_caller]
pub(crate) fn check_async(call: &str, script: &str, transcript: &str) {
    compare("async", &transcript_of(call, script, |call, tell| call.run_async(tell)), transcript);
}

/// The transcript of the call that tells its outcome, after a look at the one that does not: it
/// must do the same and give the same result.
fn transcript_of(call: &str, script: &str, run: fn(&Scenario<'_>, bool) -> String) -> String {
    let scenario = Scenario::read(call, script);
    let (told, untold) = (run(&scenario, true), run(&scenario, false));
    // A timeout has the last error of the operation's in it; in an outcome that is among the errors.
    let untold = match untold.split_once("TimedOut(Some(") {
        Some((before, _)) => format!("{before}TimedOut(None))"),
        None => untold,
    };
    assert!(told.starts_with(&untold), "with an outcome:\n{told}\nwithout:\n{untold}");
    told
}

#[track_caller]
fn compare(which: &str, found: &str, expected: &str) {
    let expected: Vec<_> = expected.trim().lines().map(str::trim).collect();
    let expected = expected.join("\n");
    assert!(found == expected, "the {which} loop did this:\n{found}\n\nexpected:\n{expected}");
}

pub(crate) fn duration(text: &str) -> Duration {
    let clause = format!("attempts: 2, delay: {}", text.trim());
    let policy: Policy = clause.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    policy.delays(|| 0).next().expect("one delay")
}

#[derive(Clone, Copy)]
struct Step<'s> {
    takes: Duration,
    end: End<'s>,
}

#[derive(Clone, Copy)]
enum End<'s> {
    Ok,
    Err(&'s str),
    Hang,
}

impl<'s> Step<'s> {
    fn read(text: &'s str) -> Self {
        let (takes, end) = text.trim().split_once(':').unwrap_or(("0s", text.trim()));
        let end = match end {
            "ok" => End::Ok,
            "hang" => End::Hang,
            error => End::Err(error),
        };
        Self { takes: duration(takes), end }
    }

    fn result(self) -> Result<&'static str, &'s str> {
        match self.end {
            End::Ok => Ok("done"),
            End::Err(error) => Err(error),
            End::Hang => panic!("a thread that hangs would hang the test"),
        }
    }
}

fn verdict(error: &str) -> Verdict {
    match error.split_once('@') {
        Some((_, wait)) => Verdict::RetryAfter(duration(wait)),
        None if error.ends_with('!') => Verdict::Stop,
        None => Verdict::Retry,
    }
}

struct Scenario<'s> {
    policy: Policy,
    steps: Vec<Step<'s>>,
    /// Whether the call adds anything: one that does not is made without the room for it.
    adds: bool,
    within: Duration,
    wait_budget: Duration,
    max_retry_after: Duration,
    tolerance: Duration,
    budget: Option<f64>,
    breaker: Option<(u32, Duration)>,
    timeout: Option<Duration>,
    timeout_verdict: Verdict,
}

impl<'s> Scenario<'s> {
    fn read(call: &str, script: &'s str) -> Self {
        let (clause, added) = call.split_once(';').unwrap_or((call, ""));
        let mut scenario = Self {
            policy: clause.parse().unwrap_or_else(|error| panic!("{clause}: {error}")),
            steps: script.split(',').map(Step::read).collect(),
            adds: !added.trim().is_empty(),
            // The longest duration is the same as no limit.
            within: Duration::MAX,
            wait_budget: Duration::MAX,
            max_retry_after: Duration::from_secs(120),
            tolerance: Duration::ZERO,
            budget: None,
            breaker: None,
            timeout: None,
            timeout_verdict: Verdict::Retry,
        };
        for option in added.split(',').filter(|option| !option.trim().is_empty()) {
            scenario.add(option);
        }
        scenario
    }

    fn add(&mut self, option: &str) {
        let (name, value) = option.trim().split_once(": ").expect("an option has a value");
        match name {
            "within" => self.within = duration(value),
            "wait_budget" => self.wait_budget = duration(value),
            "max_retry_after" => self.max_retry_after = duration(value),
            "tolerance" => self.tolerance = duration(value),
            "budget" => self.budget = Some(value.parse().expect("tokens")),
            "breaker" => {
                let (failures, recovery) = value.split_once(" for ").expect("`3 for 30s`");
                self.breaker = Some((failures.parse().expect("failures"), duration(recovery)));
            }
            "timeout" => self.timeout = Some(duration(value)),
            "timeout_verdict" => self.timeout_verdict = verdict(value),
            _ => panic!("no such option of a call: {name}"),
        }
    }

    fn step(&self, attempt: u32) -> Step<'s> {
        assert!(attempt < 100, "no scenario is that long: the call never ends");
        self.steps[(attempt as usize - 1).min(self.steps.len() - 1)]
    }

    /// A budget that gets nothing while the call runs, so that the tokens are easy to follow.
    fn budget(&self) -> Option<Budget> {
        let new = |tokens| Budget::builder().capacity(tokens).floor_per_second(0.0).build();
        self.budget.map(new)
    }

    fn breaker(&self) -> Option<Breaker> {
        let new = |(failures, recovery)| Breaker::builder().failures(failures).recovery(recovery);
        self.breaker.map(|settings| new(settings).build())
    }
}

/// Every way to combine what a call can carry: each makes another type.
macro_rules! guarded {
    ($call:expr, $finish:ident, $budget:expr, $breaker:expr, $timeout:expr) => {
        match ($budget, $breaker, $timeout) {
            (None, None, None) => $finish!($call),
            (None, None, Some((limit, verdict))) => {
                $finish!($call.timeout(limit).timeout_verdict(verdict))
            }
            (None, Some(breaker), None) => $finish!($call.breaker(breaker)),
            (None, Some(breaker), Some((limit, verdict))) => {
                $finish!($call.breaker(breaker).timeout(limit).timeout_verdict(verdict))
            }
            (Some(budget), None, None) => $finish!($call.budget(budget)),
            (Some(budget), None, Some((limit, verdict))) => {
                $finish!($call.timeout(limit).budget(budget).timeout_verdict(verdict))
            }
            (Some(budget), Some(breaker), None) => $finish!($call.breaker(breaker).budget(budget)),
            (Some(budget), Some(breaker), Some((limit, verdict))) => $finish!(
                $call
                    .budget(budget)
                    .timeout(limit)
                    .breaker(breaker)
                    .timeout_verdict(verdict)
                    .name("everything")
            ),
        }
    };
}

impl Scenario<'_> {
    fn run_blocking(&self, tell: bool) -> String {
        assert!(self.timeout.is_none(), "a thread cannot be interrupted");
        let clock = WatchedClock::new();
        let (budget, breaker) = (self.budget(), self.breaker());
        let end = {
            let call = blocking::call(&self.policy, |attempt| {
                clock.log(&format!("attempt {}", attempt.number));
                let step = self.step(attempt.number);
                clock.manual.advance(step.takes);
                step.result()
            })
            .clock(&clock)
            .classify(|error: &&str| judge(&clock, error))
            .on_retry(|event| heard(&clock, event, budget.as_ref()))
            .seed(42);
            macro_rules! finish {
                ($call:expr) => {
                    if tell { told(&$call.outcome()) } else { format!("{:?}", $call.run()) }
                };
            }
            if self.adds {
                let call = call
                    .within(self.within)
                    .wait_budget(self.wait_budget)
                    .max_retry_after(self.max_retry_after)
                    .tolerance(self.tolerance);
                match (&budget, &breaker) {
                    (None, None) => finish!(call),
                    (Some(budget), None) => finish!(call.budget(budget)),
                    (None, Some(breaker)) => finish!(call.breaker(breaker)),
                    (Some(budget), Some(breaker)) => finish!(call.breaker(breaker).budget(budget)),
                }
            } else {
                finish!(call)
            }
        };
        clock.log(&end);
        clock.log.text()
    }

    fn run_async(&self, tell: bool) -> String {
        let clock = WatchedClock::new();
        let end = clock.manual.block_on(self.end_of_async(tell, &clock));
        clock.log(&end);
        assert_eq!(clock.timers_alive(), 0, "timers left behind");
        clock.log.text()
    }

    async fn end_of_async(&self, tell: bool, clock: &WatchedClock) -> String {
        let (budget, breaker) = (self.budget(), self.breaker());
        let timeout = self.timeout.map(|timeout| (timeout, self.timeout_verdict));
        let attempts = Cell::new(0);
        let call = retry(&self.policy, || {
            attempts.set(attempts.get() + 1);
            clock.log(&format!("attempt {}", attempts.get()));
            attempt(clock, self.step(attempts.get()))
        })
        .clock(clock)
        .classify(|error: &&str| judge(clock, error))
        .on_retry(|event| heard(clock, event, budget.as_ref()))
        .seed(42);
        macro_rules! finish {
            ($call:expr) => {
                if tell { told(&$call.outcome().await) } else { format!("{:?}", $call.await) }
            };
        }
        if !self.adds {
            return finish!(call);
        }
        let call = call
            .within(self.within)
            .wait_budget(self.wait_budget)
            .max_retry_after(self.max_retry_after)
            .tolerance(self.tolerance);
        guarded!(call, finish, &budget, &breaker, timeout)
    }
}

/// The attempt's own time is not on the loop's account: it is spent on the manual clock below it.
async fn attempt<'s>(clock: &WatchedClock, step: Step<'s>) -> Result<&'static str, &'s str> {
    let mut running = Running { clock, ended: false };
    if !step.takes.is_zero() {
        redial::Clock::sleep(&clock.manual as &ManualClock, step.takes).await;
    }
    if let End::Hang = step.end {
        pending::<()>().await;
    }
    running.ended = true;
    step.result()
}

/// Notices when an attempt is dropped before its end.
struct Running<'c> {
    clock: &'c WatchedClock,
    ended: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.clock.log("cut");
        }
    }
}

fn judge(clock: &WatchedClock, error: &str) -> Verdict {
    clock.log(&format!("judge {error}"));
    verdict(error)
}

fn heard(clock: &WatchedClock, event: &Event<'_, &str>, budget: Option<&Budget>) {
    let attempts = event.attempts.map_or("unlimited".to_owned(), |attempts| attempts.to_string());
    let error = event.error.copied().unwrap_or("timeout");
    let tokens = budget.map(|budget| format!(", {} tokens left", budget.tokens()));
    clock.log(&format!(
        "retry {}/{attempts} {error}: waits {}, in all {}{}",
        event.attempt,
        Pretty(event.delay),
        Pretty(event.waited),
        tokens.unwrap_or_default(),
    ));
}

fn told<E: Debug>(outcome: &Outcome<&str, E>) -> String {
    let errors: Vec<_> = outcome.errors().map(|(n, error)| format!("{n} {error:?}")).collect();
    format!(
        "{:?} {}: attempts {}, waited {}, elapsed {}, errors [{}]",
        outcome.result,
        outcome.reason.map_or("success", redial::Stop::name),
        outcome.attempts,
        Pretty(outcome.waited),
        Pretty(outcome.elapsed),
        errors.join(", "),
    )
}
