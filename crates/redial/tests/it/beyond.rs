//! Two policies in sequence, a policy per kind of error, and fallbacks, in every loop.

use std::future::ready;
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial::{
    Backoff, Budget, Error, Kind, Policy, Sequence, SplitMix64, Stop, blocking, policy, retry,
    tries_on,
};

const QUICK: Policy = policy!("attempts: 8, delay: 100ms");
const SLOW: Policy = policy!("attempts: 3, delay: 5s, backoff: exponential");

fn is_slow(error: &&str) -> bool {
    *error == "slow down"
}

/// What each loop slept for these errors, and the error that it ended with.
fn slept(errors: &[&'static str]) -> (Vec<u128>, Option<&'static str>) {
    let script = |clock: &ManualClock| {
        let results = errors.iter().copied().map(Err).chain([Ok(())]);
        (clock.clone(), Script::new(results.collect::<Vec<_>>()))
    };
    let told = |clock: &ManualClock, result: Result<(), &'static str>| {
        (clock.slept().iter().map(Duration::as_millis).collect::<Vec<_>>(), result.err())
    };
    let (clock, scripted) = script(&ManualClock::new());
    let call = blocking::call(&QUICK, |_| scripted.call()).policy_when(is_slow, &SLOW);
    let by_thread = told(&clock, call.clock(&clock).run());

    let (clock, scripted) = script(&ManualClock::new());
    let call = retry(&QUICK, || scripted.next()).policy_when(is_slow, &SLOW).clock(&clock);
    let awaited = told(&clock, clock.block_on(call));

    let (clock, scripted) = script(&ManualClock::new());
    let call = retry(&QUICK, || scripted.next()).policy_when(is_slow, &SLOW).clock(&clock);
    let hedged = told(&clock, clock.block_on(call.hedge(Duration::from_secs(1))));

    let (clock, scripted) = script(&ManualClock::new());
    let own = clock.block_on(async {
        let (mut tries, mut slow) = (tries_on(&clock, &QUICK), Kind::new(&SLOW));
        loop {
            match scripted.call() {
                Ok(()) => break Ok(()),
                Err(error) if is_slow(&error) => tries.failed_as(&mut slow, error).await?,
                Err(error) => tries.failed(error).await?,
            }
        }
    });
    let own = told(&clock, own);
    assert_eq!((&awaited, &hedged, &own), (&by_thread, &by_thread, &by_thread));
    by_thread
}

#[test]
fn every_loop_keeps_the_pace_of_each_kind() {
    let (delays, end) = slept(&["reset", "slow down", "reset", "slow down"]);
    assert_eq!((delays, end), (vec![100, 5000, 100, 10_000], None));
    let (delays, end) = slept(&["slow down"; 3]);
    assert_eq!((delays, end), (vec![5000, 10_000], Some("slow down")));
    let (delays, end) = slept(&["reset"; 8]);
    assert_eq!((delays, end), (vec![100; 7], Some("reset")));
}

#[test]
fn the_last_policy_that_applies_counts_and_classifiers_are_asked_about_the_rest() {
    const HOURLY: Policy = policy!("attempts: 2, delay: 1h, max_delay: none");
    let clock = ManualClock::new();
    let script = Script::new([Err("slow down"), Err("closed"), Err("not found"), Ok(())]);
    let outcome = blocking::call(&QUICK, |_| script.call())
        .policy_when(|_| true, &SLOW)
        .policy_when(|error| *error != "closed", &HOURLY)
        .when(|_| false) // nobody asks
        .on_retry(|_| {})
        .clock(&clock)
        .outcome();
    // An hour is above the bound on what a server may ask for, which is not for this.
    clock.assert_slept(&[3600, 5].map(Duration::from_secs));
    assert_eq!((outcome.result, outcome.reason), (Err("not found"), Some(Stop::AttemptsSpent)));
    let rejected = blocking::call(&QUICK, |_| Err::<(), _>("not found"))
        .when(|error| *error != "not found")
        .policy_when(is_slow, &SLOW)
        .outcome();
    assert_eq!(rejected.reason, Some(Stop::Rejected));
}

#[test]
fn retries_of_a_kind_are_paid_for_as_any() {
    let (clock, budget) = (ManualClock::new(), Budget::new());
    let call = blocking::call(&QUICK, |_| Err::<(), _>("slow down")).policy_when(is_slow, &SLOW);
    assert!(call.budget(&budget).rng(|| 0).clock(&clock).run().is_err());
    // Two retries; the floor adds ten a second meanwhile, up to what it holds.
    assert_eq!(budget.tokens(), 100.0 - 1.0);
}

/// One seed is one sequence of delays, in the order in which they are drawn.
#[test]
fn a_seed_replays_a_call_with_kinds() {
    const JITTERED: Policy = policy!("attempts: 9, delay: 5s, jitter: full");
    const ALSO: Policy = policy!("attempts: 9, delay: 100ms, jitter: full");
    let clock = ManualClock::new();
    let mut number = 0;
    let call = retry(&ALSO, || {
        number += 1;
        ready(Err::<(), _>(number))
    });
    let call = call.policy_when(|number| number % 2 == 0, &JITTERED).seed(42).clock(&clock);
    assert!(clock.block_on(call).is_err());
    let mut words = SplitMix64::new(42);
    let expected: Vec<_> = (1..9)
        .map(|number| {
            let policy = if number % 2 == 0 { JITTERED } else { ALSO };
            policy.delays(&mut || redial::Random::word(&mut words)).next().unwrap()
        })
        .collect();
    clock.assert_slept(&expected);
}

#[cfg(feature = "tower")]
#[test]
fn each_request_of_a_layer_has_its_own_count_of_a_kind() {
    use redial::Verdict;
    use tower::{Layer, Service, service_fn};
    let clock = ManualClock::new();
    let layer = redial::tower::RetryLayer::on(clock.clone(), &QUICK).policy_when(is_slow, &SLOW);
    let layer =
        layer.classify(|result: &Result<(), &str>| result.is_err().then_some(Verdict::Stop));
    let mut service = layer.layer(service_fn(|_: ()| ready(Err::<(), _>("slow down"))));
    for _ in 0..2 {
        assert_eq!(clock.block_on(service.call(())), Err("slow down"));
    }
    clock.assert_slept(&[5, 10, 5, 10].map(Duration::from_secs));
}

#[test]
fn a_sequence_runs_in_every_loop_and_limits_win() {
    const BOTH: Policy<Sequence> = policy!("attempts: 3, delay: 100ms")
        .then(policy!("attempts: 4, delay: 1min, jitter: full"));
    let expected: Vec<_> = BOTH.delays(SplitMix64::new(7)).collect();
    assert_eq!(expected.len(), 6);
    let clock = ManualClock::new();
    let call = retry(&BOTH, || ready(Err::<(), _>("down"))).seed(7).clock(&clock);
    assert!(clock.block_on(call).is_err());
    clock.assert_slept(&expected);
    let clock = ManualClock::new();
    let outcome = blocking::call(BOTH, |_| Err::<(), _>("down"))
        .rng(|| u64::MAX)
        .within(Duration::from_secs(100))
        .clock(&clock)
        .outcome();
    assert_eq!((outcome.attempts, outcome.reason), (4, Some(Stop::Deadline)));
}

#[test]
fn a_fallback_is_for_a_call_that_has_given_up() {
    let clock = ManualClock::new();
    let calls = std::cell::Cell::new(0);
    let call = |result: Result<u8, &'static str>| {
        let call = retry(&SLOW, move || ready(result)).clock(&clock);
        let calls = &calls;
        call.fallback(move |error| async move {
            calls.set(calls.get() + 1);
            if error == "down" { Ok(7) } else { Err(error.len()) }
        })
    };
    assert_eq!(clock.block_on(call(Ok(1))), Ok(1));
    assert_eq!(calls.get(), 0);
    assert_eq!(clock.block_on(call(Err("down"))), Ok(7));
    assert_eq!(clock.block_on(call(Err("gone"))), Err(4));
    assert_eq!((calls.get(), clock.slept().len()), (2, 4));
}

#[test]
fn a_fallback_is_told_of_a_timeout() {
    let clock = ManualClock::new();
    let policy = Backoff::none().attempts(2);
    let call = retry(policy, std::future::pending::<Result<u8, &str>>)
        .timeout(Duration::from_secs(1))
        .hedge(Duration::from_millis(10))
        .clock(&clock)
        .fallback(|error| ready(if error == Error::TimedOut(None) { Ok(9) } else { Err(()) }));
    assert_eq!(clock.block_on(call), Ok(9));
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_call_with_all_of_it_can_be_spawned() {
    static LATENCIES: redial::Latencies = redial::Latencies::new();
    let call =
        retry(QUICK.then(SLOW), || async { Err::<String, _>(std::io::Error::other("down")) })
            .policy_when(
                |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut,
                SLOW,
            )
            .timeout(Duration::from_secs(1))
            .hedge(LATENCIES.percentile(95))
            .fallback(|error| async move {
                tokio::task::yield_now().await;
                Ok::<_, ()>(error.to_string())
            });
    assert_eq!(tokio::spawn(call).await.unwrap(), Ok("down".to_owned()));
}

/// The limits of a kind count from the first attempt, and not from the clock's origin.
#[test]
fn within_of_a_kind_counts_from_the_start_of_the_call() {
    const SLOW: Policy = policy!("attempts: 3, delay: 1s, within: 2500ms");
    const QUICK: Policy = policy!("attempts: 9, delay: 1s");
    let clock = ManualClock::new();
    clock.advance(Duration::from_secs(3600));
    let call = retry(&QUICK, || ready(Err::<(), _>(429)));
    let outcome = clock.block_on(call.policy_when(|_| true, &SLOW).clock(&clock));
    assert_eq!((outcome, clock.slept().len()), (Err(429), 2));
    let call = blocking::call(&QUICK, |_| Err::<(), _>(429));
    assert_eq!(call.policy_when(|_| true, &SLOW).clock(&clock).run(), Err(429));
    assert_eq!(clock.slept().len(), 4);
}
