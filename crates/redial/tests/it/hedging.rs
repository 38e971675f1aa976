//! A second attempt beside one that is slow: who wins, what it costs, and what failures mean.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::pending;
use std::task::{Context, Waker};
use std::time::Duration;

use redial::testing::ManualClock;
use redial::{
    Backoff, Breaker, BreakerState, Budget, Clock, Error, HedgeDelay, Latencies, Policy, Random,
    Stop, Verdict, policy, retry, retry_with,
};
use redial_seeds::{Dice, each_case};

use crate::dice::Calls;

const PATIENCE: Duration = millis(100);
const POLICY: Policy = policy!("attempts: 4, delay: 1s, backoff: exponential");

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What the attempts do, in the order of their starts: take so many milliseconds, then answer.
/// Every start and every end is written down with its time.
struct Plan<'c> {
    clock: &'c ManualClock,
    attempts: RefCell<VecDeque<(u64, Result<u32, &'static str>)>>,
    log: RefCell<Vec<String>>,
}

/// Says so when an attempt is dropped before its end.
struct Ends<'p, 'c>(&'p Plan<'c>, u32, Cell<bool>);

impl Drop for Ends<'_, '_> {
    fn drop(&mut self) {
        if !self.2.get() {
            self.0.note(&format!("{} cancelled", self.1));
        }
    }
}

impl<'c> Plan<'c> {
    fn new(clock: &'c ManualClock, attempts: &[(u64, Result<u32, &'static str>)]) -> Self {
        let attempts = RefCell::new(attempts.iter().copied().collect());
        Self { clock, attempts, log: RefCell::default() }
    }

    fn note(&self, what: &str) {
        self.log.borrow_mut().push(format!("{} {what}", self.clock.elapsed().as_millis()));
    }

    async fn attempt(&self, number: u32) -> Result<u32, &'static str> {
        self.note(&format!("{number} starts"));
        let ends = Ends(self, number, Cell::new(false));
        let (takes, result) = self.attempts.borrow_mut().pop_front().expect("an attempt too many");
        if takes > 0 {
            self.clock.sleep(millis(takes)).await;
        }
        ends.2.set(true);
        let what = if result.is_ok() { "answers" } else { "fails" };
        self.note(&format!("{number} {what}"));
        result
    }

    #[track_caller]
    fn check(&self, log: &str) {
        let expected: Vec<&str> = log.split(", ").collect();
        assert_eq!(*self.log.borrow(), expected);
        assert!(self.attempts.borrow().is_empty(), "an attempt was never started");
    }
}

#[test]
fn the_first_good_answer_wins_and_the_other_attempt_is_cancelled() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(500, Ok(1)), (50, Ok(2))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    plan.check("0 1 starts, 100 2 starts, 150 2 answers, 150 1 cancelled");
    assert_eq!(outcome.result, Ok(2));
    assert_eq!((outcome.attempts, outcome.attempt, outcome.hedges), (2, 2, 1));
    assert_eq!((outcome.reason, outcome.waited), (None, Duration::ZERO));
    assert_eq!(outcome.elapsed, millis(150));
    assert!(outcome.recovered());
}

#[test]
fn the_first_attempt_may_win_after_all() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(150, Ok(1)), (500, Ok(2))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    plan.check("0 1 starts, 100 2 starts, 150 1 answers, 150 2 cancelled");
    assert_eq!((outcome.attempts, outcome.attempt, outcome.hedges), (2, 1, 1));
    assert!(!outcome.recovered(), "the first attempt succeeded");
}

#[test]
fn an_attempt_that_answers_in_time_has_no_hedge() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(99, Ok(1))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    plan.check("0 1 starts, 99 1 answers");
    assert_eq!((outcome.attempts, outcome.hedges), (1, 0));
}

#[test]
fn an_attempt_that_answers_at_once_sets_no_timer() {
    let clock = ManualClock::new();
    let call = retry(&POLICY, || async { Ok::<_, ()>(7) }).hedge(PATIENCE).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(7));
    assert!(clock.slept().is_empty());
}

#[test]
fn hedges_come_one_after_the_other_up_to_as_many_as_may_run() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(900, Ok(1)), (900, Ok(2)), (250, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge_up_to(3, PATIENCE).clock(&clock)), Ok(3));
    plan.check(
        "0 1 starts, 100 2 starts, 200 3 starts, 450 3 answers, 450 1 cancelled, 450 2 cancelled",
    );
}

#[test]
fn one_at_a_time_is_no_hedging_and_zero_patience_is_all_at_once() {
    let clock = ManualClock::new();
    for most in [0, 1] {
        let plan = Plan::new(&clock, &[(500, Ok(1))]);
        let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
        let call = call.hedge_up_to(most, PATIENCE).clock(&clock);
        assert_eq!(clock.block_on(call), Ok(1), "{most}");
    }
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(500, Ok(1)), (500, Ok(2)), (500, Ok(3)), (400, Ok(4))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge_up_to(u32::MAX, Duration::ZERO).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(4));
    assert_eq!(clock.elapsed(), millis(400));
}

#[test]
fn a_hedge_counts_against_the_attempts() {
    let clock = ManualClock::new();
    let twice = Backoff::none().attempts(2);
    let plan = Plan::new(&clock, &[(300, Err("one")), (300, Err("two"))]);
    let call = retry_with(twice, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge_up_to(9, PATIENCE).clock(&clock).outcome());
    plan.check("0 1 starts, 100 2 starts, 300 1 fails, 400 2 fails");
    assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    assert_eq!(outcome.errors().collect::<Vec<_>>(), [(1, &"one"), (2, &"two")]);

    let plan = Plan::new(&clock, &[(300, Ok(1))]);
    let call = retry_with(policy!("attempts: 1"), |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).clock(&clock)), Ok(1));
}

/// The errors have the numbers of their attempts, also where the later one fails first.
#[test]
fn failures_keep_their_numbers() {
    let clock = ManualClock::new();
    let twice = Backoff::none().attempts(2);
    let plan = Plan::new(&clock, &[(300, Err("one")), (50, Err("two"))]);
    let call = retry_with(twice, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    assert_eq!((outcome.result, outcome.attempt), (Err("one"), 1));
    let plan = Plan::new(&clock, &[(300, Err("one")), (50, Err("two"))]);
    let call = retry_with(twice, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    assert_eq!(outcome.errors().collect::<Vec<_>>(), [(2, &"two"), (1, &"one")]);
}

/// While another runs, a failure waits for nothing; the failure of the last one is retried, after
/// the delay that follows so many failures.
#[test]
fn the_failure_of_the_last_that_runs_is_retried() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(150, Err("one")), (80, Err("two")), (10, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let outcome = clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome());
    // Two failures: delay 1 of the policy.
    plan.check("0 1 starts, 100 2 starts, 150 1 fails, 180 2 fails, 2180 3 starts, 2190 3 answers");
    assert_eq!((outcome.attempts, outcome.waited), (3, millis(2000)));
    assert_eq!(outcome.errors().collect::<Vec<_>>(), [(1, &"one"), (2, &"two")]);
}

/// A failure frees its place: the one that still runs may be hedged again when that is due.
#[test]
fn an_attempt_that_is_left_alone_is_hedged_as_any_other() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(150, Err("one")), (900, Ok(2)), (50, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).clock(&clock)), Ok(3));
    plan.check(
        "0 1 starts, 100 2 starts, 150 1 fails, 200 3 starts, 250 3 answers, 250 2 cancelled",
    );
}

#[test]
fn a_failure_before_the_hedge_is_due_is_an_ordinary_one() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(50, Err("one")), (500, Ok(2)), (10, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).clock(&clock)), Ok(3));
    plan.check(
        "0 1 starts, 50 1 fails, 1050 2 starts, 1150 3 starts, 1160 3 answers, 1160 2 cancelled",
    );
}

#[test]
fn a_rejection_ends_the_call_and_cancels_the_others() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(500, Ok(1)), (50, Err("not found"))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).when(|error| *error != "not found").clock(&clock).outcome();
    let outcome = clock.block_on(call);
    plan.check("0 1 starts, 100 2 starts, 150 2 fails, 150 1 cancelled");
    assert_eq!((outcome.result, outcome.reason), (Err("not found"), Some(Stop::Rejected)));
    assert_eq!((outcome.attempts, outcome.attempt), (2, 2));
}

#[test]
fn a_value_that_will_not_do_is_a_failure() {
    let clock = ManualClock::new();
    let twice = Backoff::none().attempts(2);
    let plan = Plan::new(&clock, &[(500, Ok(200)), (50, Ok(503))]);
    let call = retry_with(twice, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).retry_ok_if(|status| *status == 503).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(200));

    let plan = Plan::new(&clock, &[(500, Ok(503)), (50, Ok(503))]);
    let call = retry_with(twice, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).retry_ok_if(|status| *status == 503).clock(&clock);
    let outcome = clock.block_on(call.outcome());
    assert_eq!((outcome.result, outcome.reason), (Ok(503), Some(Stop::AttemptsSpent)));
}

#[test]
fn what_a_server_asks_for_keeps_hedges_back() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(150, Err("busy")), (3000, Err("down")), (10, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).classify(|error| match *error {
        "busy" => Verdict::RetryAfter(millis(5000)),
        _ => Verdict::Retry,
    });
    assert_eq!(clock.block_on(call.clock(&clock)), Ok(3));
    // No hedge at 200, and 5 s from 150 where the policy has 2 s from 3100.
    plan.check(
        "0 1 starts, 100 2 starts, 150 1 fails, 3100 2 fails, 5150 3 starts, 5160 3 answers",
    );
}

#[test]
fn each_attempt_has_its_own_timeout() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(900, Ok(1)), (290, Ok(2)), (900, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.timeout(millis(300)).hedge(PATIENCE).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(2));
    // A hedge was due at 200; there is a place for it at 300.
    plan.check(
        "0 1 starts, 100 2 starts, 300 1 cancelled, 300 3 starts, 390 2 answers, 390 3 cancelled",
    );
}

/// A timeout that is not to be retried ends the call, as any rejection.
#[test]
fn a_timeout_that_stops_stops_all() {
    let clock = ManualClock::new();
    let call = retry(&POLICY, pending::<Result<(), ()>>).hedge(PATIENCE).timeout(millis(300));
    let call = call.timeout_verdict(Verdict::Stop).clock(&clock).outcome();
    let outcome = clock.block_on(call);
    assert_eq!(
        (outcome.result, outcome.reason),
        (Err(Error::TimedOut(None)), Some(Stop::Rejected))
    );
    assert_eq!((outcome.attempts, outcome.elapsed), (2, millis(300)));
}

#[test]
fn no_hedge_starts_at_the_deadline_or_later() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(500, Ok(1))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).within(PATIENCE).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(1), "within interrupts nothing by itself");
    let plan = Plan::new(&clock, &[(500, Ok(1)), (5, Ok(2))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).within(millis(101)).clock(&clock);
    assert_eq!(clock.block_on(call), Ok(2));
}

#[test]
fn a_hedge_is_paid_for_and_an_empty_budget_means_none() {
    let clock = ManualClock::new();
    let budget = Budget::builder().capacity(1.0).deposit(0.0).floor_per_second(1e-6).build();
    let plan = Plan::new(&clock, &[(500, Ok(1)), (5, Ok(2))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).budget(&budget).clock(&clock)), Ok(2));
    assert!(budget.tokens() < 0.01);
    let plan = Plan::new(&clock, &[(500, Ok(1))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).budget(&budget).clock(&clock)), Ok(1));
}

#[test]
fn an_open_breaker_means_no_hedge_and_the_token_comes_back() {
    let clock = ManualClock::new();
    let (budget, breaker) = (Budget::new(), Breaker::builder().failures(1).build());
    let plan = Plan::new(&clock, &[(500, Ok(1))]);
    let mut opens = Some(clock.sleep(millis(50)));
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let call = call.hedge(PATIENCE).breaker(&breaker).budget(&budget).clock(&clock);
    let call = call.on_retry(|event| panic!("told of {event:?}"));
    // Somebody else's failure opens it meanwhile.
    let other = async {
        opens.take().unwrap().await;
        breaker.admit(|| clock.now()).unwrap().failed(clock.now());
        pending::<()>().await;
    };
    let mut call = std::pin::pin!(call);
    let mut other = std::pin::pin!(other);
    let both = std::future::poll_fn(|context| {
        let _ = other.as_mut().poll(context);
        call.as_mut().poll(context)
    });
    assert_eq!(clock.block_on(both), Ok(1));
    assert_eq!(budget.tokens(), 100.0);
}

/// A breaker that lets one probe through is not hedged round, and a probe that is cancelled makes
/// room for another.
#[test]
fn permits_are_given_back_by_attempts_that_are_cancelled() {
    let clock = ManualClock::new();
    let breaker = Breaker::builder().failures(1).recovery(millis(1000)).probes(2).build();
    breaker.admit(|| clock.now()).unwrap().failed(clock.now());
    clock.advance(millis(1000));
    let places = || breaker.snapshot(clock.now()).running;

    let call = retry(&POLICY, pending::<Result<(), ()>>).hedge_up_to(3, PATIENCE);
    let mut call = Box::pin(call.breaker(&breaker).clock(&clock));
    let mut context = Context::from_waker(Waker::noop());
    for running in [1, 2, 2] {
        assert!(call.as_mut().poll(&mut context).is_pending());
        assert_eq!(places(), running, "and no third");
        clock.advance(PATIENCE);
    }
    drop(call);
    assert_eq!(places(), 0);

    // The winner's success counts for one, and the loser's place is free.
    let plan = Plan::new(&clock, &[(500, Ok(1)), (5, Ok(2))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    assert_eq!(clock.block_on(call.hedge(PATIENCE).breaker(&breaker).clock(&clock)), Ok(2));
    let snapshot = breaker.snapshot(clock.now());
    assert_eq!(
        (snapshot.state, snapshot.running, snapshot.succeeded),
        (BreakerState::HalfOpen, 0, 1)
    );
}

#[test]
fn hooks_hear_of_hedges_and_retries() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(150, Err("one")), (80, Err("two")), (0, Ok(3))]);
    let mut heard = Vec::new();
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number)).hedge(PATIENCE);
    let call = call.on_retry(|event| {
        heard.push((event.attempt, event.hedge, event.delay, event.error.copied()));
    });
    assert_eq!(clock.block_on(call.clock(&clock)), Ok(3));
    let second = (2, false, millis(2000), Some("two"));
    assert_eq!(heard, [(1, true, Duration::ZERO, None), second]);
}

#[test]
fn dropping_the_call_cancels_every_attempt() {
    let clock = ManualClock::new();
    let plan = Plan::new(&clock, &[(900, Ok(1)), (900, Ok(2)), (900, Ok(3))]);
    let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
    let mut call = Box::pin(call.hedge_up_to(3, PATIENCE).clock(&clock));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        assert!(call.as_mut().poll(&mut context).is_pending());
        clock.advance(PATIENCE);
    }
    drop(call);
    plan.check(
        "0 1 starts, 100 2 starts, 200 3 starts, 300 1 cancelled, 300 2 cancelled, 300 3 cancelled",
    );
}

#[test]
fn the_patience_is_a_percentile_of_what_was_seen() {
    let clock = ManualClock::new();
    let latencies = Latencies::new();
    let call = |takes: u64| {
        let clock = &clock;
        let operation = move || async move {
            clock.sleep(millis(takes)).await;
            Ok::<_, ()>(())
        };
        retry(&POLICY, operation).hedge(latencies.percentile(90)).clock(clock).outcome()
    };
    for _ in 0..9 {
        assert_eq!(clock.block_on(call(50)).hedges, 0);
    }
    assert_eq!(clock.block_on(call(500)).hedges, 0, "before enough were seen there is none");
    let patience = latencies.at(90).unwrap();
    assert!(patience >= millis(50) && patience < millis(57));
    let outcome = clock.block_on(call(500));
    assert_eq!((outcome.attempts, outcome.hedges), (2, 1));
}

/// Slow attempts that a hedge overtook count as slow. Else each hedge would make the service look
/// faster, and the next hedge start sooner.
#[test]
fn hedges_do_not_make_the_service_look_faster() {
    let clock = ManualClock::new();
    let latencies = Latencies::new();
    let mut number = 0;
    for _ in 0..2000 {
        // One attempt in eight is slow, whether it is a hedge or not.
        let operation = || {
            number += 1;
            let (takes, clock) = (if number % 8 == 0 { 2000 } else { 40 }, &clock);
            async move {
                clock.sleep(millis(takes)).await;
                Ok::<_, ()>(())
            }
        };
        let call = retry(&POLICY, operation).hedge(latencies.percentile(80)).clock(&clock);
        assert_eq!(clock.block_on(call), Ok(()));
    }
    let (usual, slow) = (latencies.at(85).unwrap(), latencies.at(90).unwrap());
    assert!(usual < millis(46) && slow > millis(80), "{latencies:?}");
}

/// No latency is recorded of what failed, or was cancelled before anything is known of it.
#[test]
fn what_says_nothing_about_latency_is_not_recorded() {
    struct Heard(RefCell<Vec<u128>>);
    impl HedgeDelay for &Heard {
        fn patience(&self) -> Option<Duration> {
            Some(PATIENCE)
        }
        fn took(&self, took: Duration) {
            self.0.borrow_mut().push(took.as_millis());
        }
    }
    let check = |attempts: &[(u64, Result<u32, &'static str>)], expected: &[u128]| {
        let (clock, heard) = (ManualClock::new(), Heard(RefCell::default()));
        let plan = Plan::new(&clock, attempts);
        let call = retry_with(&POLICY, |attempt| plan.attempt(attempt.number));
        let _ = clock.block_on(call.timeout(millis(400)).hedge(&heard).clock(&clock));
        assert_eq!(*heard.0.borrow(), expected);
    };
    check(&[(50, Ok(1))], &[50]);
    check(&[(50, Err("one")), (60, Ok(2))], &[60]);
    check(&[(500, Ok(1)), (50, Ok(2))], &[50, 150]); // overtaken, and slow
    check(&[(150, Ok(1)), (500, Ok(2))], &[150]); // cancelled after 50 ms: who knows
    check(&[(500, Ok(1)), (350, Ok(2)), (500, Ok(3))], &[400, 350]); // cut by the timeout
}

#[test]
fn without_anything_slow_it_sleeps_what_a_plain_call_sleeps() {
    each_case(200, |dice| {
        let policy = dice.limited_policy(Dice::usual);
        let seed = dice.word();
        let slept = |hedged: bool| {
            let clock = ManualClock::new();
            let call = retry(&policy, || std::future::ready(Err::<(), _>("down"))).seed(seed);
            let outcome = match hedged {
                true => clock.block_on(call.hedge(PATIENCE).clock(&clock).outcome()),
                false => clock.block_on(call.clock(&clock).outcome()),
            };
            (clock.slept(), outcome.attempts, outcome.reason, outcome.waited)
        };
        assert_eq!(slept(true), slept(false), "{policy}");
    });
}

#[cfg(feature = "tokio")]
mod on_tokio {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    /// A real server that leaves its first client waiting for ever.
    #[tokio::test]
    async fn a_server_that_hangs_once_is_overtaken() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (_hanging, _) = listener.accept().await.unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"page").await.unwrap();
            stream.shutdown().await.unwrap();
            pending::<()>().await;
        });
        let fetch = move || async move {
            let mut text = String::new();
            TcpStream::connect(address).await?.read_to_string(&mut text).await?;
            Ok::<_, std::io::Error>(text)
        };
        // Spawned, so it is `Send`, and borrows nothing.
        let call = tokio::spawn(retry(POLICY, fetch).hedge(millis(1)).outcome());
        let outcome = call.await.unwrap();
        assert_eq!(outcome.result.unwrap(), "page");
        assert!(outcome.hedges >= 1);
    }

    #[tokio::test(start_paused = true)]
    async fn options_may_come_in_any_order() {
        let call = || retry(POLICY, pending::<Result<(), std::io::Error>>);
        let one = call().hedge(PATIENCE).timeout(millis(300)).outcome().within(millis(500));
        let other = call().outcome().within(millis(500)).timeout(millis(300)).hedge(PATIENCE);
        let (one, other) = (tokio::spawn(one).await.unwrap(), tokio::spawn(other).await.unwrap());
        assert_eq!((one.attempts, one.reason), (other.attempts, other.reason));
        assert!(matches!(one.result, Err(Error::TimedOut(None))));
    }
}
