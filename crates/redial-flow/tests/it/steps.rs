//! Steps that are functions of a program: what is remembered of them, and what is not done twice.

mod calls;
mod flows;
pub(crate) mod kills;
pub(crate) mod service;
pub(crate) mod stores;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod telemetry;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial_core::{Policy, Verdict, policy};
use redial_flow::record::{Event, Outcome, Record};
use redial_flow::steps::{DeadLetter, Run, RunError, Stopped, Store};

const FIVE: Policy = policy!("attempts: 5, delay: 1s, backoff: exponential, jitter: full");
const NINE: Policy = policy!("attempts: 9, delay: 1s, backoff: exponential, jitter: full");
const THREE: Policy = policy!("attempts: 3, delay: 10s");
const ONCE: Policy = policy!("attempts: 1");

/// How often each operation was called, over all processes.
#[derive(Clone, Debug, Default)]
struct Calls(Arc<Mutex<BTreeMap<String, u32>>>);

impl Calls {
    fn count(&self, name: &str) -> u32 {
        let mut calls = self.0.lock().unwrap();
        let count = calls.entry(name.into()).or_default();
        *count += 1;
        *count
    }

    fn of(&self, name: &str) -> u32 {
        self.0.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

fn events(records: &[Record]) -> Vec<String> {
    let name = |record: &Record| {
        let event = serde_json::to_value(record.event).unwrap();
        let step = record.step.as_deref().unwrap_or("");
        let outcome = record.outcome.map(|outcome| format!(" {outcome:?}")).unwrap_or_default();
        format!("{} {step}{outcome}", event.as_str().unwrap()).replace("  ", " ").trim().to_owned()
    };
    records.iter().map(name).collect()
}

#[track_caller]
fn changed_step<T: std::fmt::Debug, E: std::fmt::Debug>(
    ended: Result<T, RunError<E>>,
) -> (String, String) {
    match ended {
        Err(RunError::Stopped(Stopped::ChangedCode { step, why, .. })) => (step, why),
        other => panic!("expected changed-code, and it is {other:?}"),
    }
}

#[test]
fn a_run_gives_its_result_and_gives_it_again() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let checkout = |run: Run, order: u32| {
        let calls = calls.clone();
        async move {
            let charge = run.step("charge", &ONCE, || async {
                calls.count("charge");
                Ok::<_, String>(order * 2)
            });
            let charge = charge.await?;
            run.step("ship", &ONCE, || async { Ok::<_, String>(format!("paid {charge}")) }).await
        }
    };
    clock.block_on(async {
        assert_eq!(store.run("order-17", checkout, 21).await.unwrap(), "paid 42");
        assert_eq!(store.run("order-17", checkout, 21).await.unwrap(), "paid 42");
        let other = store.run("order-17", checkout, 22).await.unwrap_err();
        assert!(matches!(other, RunError::Stopped(Stopped::OtherInput { .. })), "{other}");
    });
    assert_eq!(calls.of("charge"), 1);
    assert_eq!(
        events(&store.records("order-17").unwrap()),
        [
            "run.start",
            "attempt.start charge",
            "attempt.end charge Succeeded",
            "attempt.start ship",
            "attempt.end ship Succeeded",
            "run.end Succeeded",
        ]
    );
}

#[test]
fn the_delays_are_those_of_the_policy_with_the_seed_of_the_task() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let script = Script::new([Err("a"), Err("b"), Err("c"), Ok(7)]);
    let flaky = |run: Run, (): ()| {
        let script = &script;
        async move { run.step("flaky", &FIVE, || script.next()).await }
    };
    assert_eq!(clock.block_on(store.run("r", flaky, ())).unwrap(), 7);
    let records = store.records("r").unwrap();
    let seed = records[0].start.as_ref().unwrap().seed;
    let flow = redial_flow::flow::Flow {
        name: String::new(),
        steps: vec![redial_flow::flow::Step::new("flaky")],
    };
    let machine = redial_flow::machine::Machine::new(flow.into(), "r", seed);
    let seed = machine.seed(redial_flow::machine::TaskId { step: 0, item: None });
    let mut random = redial_core::SplitMix64::new(seed);
    let planned: Vec<_> =
        FIVE.delays(move || redial_core::Random::word(&mut random)).take(3).collect();
    assert_eq!(clock.slept(), planned);
}

#[test]
fn a_step_that_gives_up_is_the_same_dead_letter_in_every_process() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let doomed = |run: Run, (): ()| {
        let calls = calls.clone();
        async move {
            run.step("ship", &THREE, || async {
                Err::<(), _>(format!("refused {}", calls.count("ship")))
            })
            .await
        }
    };
    let first = clock.block_on(store.run("r", doomed, ())).unwrap_err();
    assert_eq!(
        first.to_string(),
        "step `ship` gave up after 3 attempts (attempts-spent): refused 3"
    );
    let killed = store.after_a_kill(&clock);
    let again = clock.block_on(killed.run("r", doomed, ())).unwrap_err();
    assert_eq!(first.to_string(), again.to_string());
    assert_eq!(calls.of("ship"), 3);
    let dead = killed.dead_letters("r").unwrap();
    assert_eq!((dead.len(), dead[0].step.as_str(), dead[0].attempts), (1, "ship", 3));
}

#[test]
fn a_dead_letter_that_is_retried_revives_its_run() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let checkout = |run: Run, (): ()| {
        let calls = calls.clone();
        async move {
            let count = |name: &'static str| {
                let calls = calls.clone();
                async move { Ok::<_, String>(calls.count(name)) }
            };
            run.step("charge", &THREE, || count("charge")).await?;
            let ship = run.step("ship", &THREE, || async {
                match calls.count("ship") {
                    nth if nth <= 3 => Err("closed".to_owned()),
                    nth => Ok(nth),
                }
            });
            match ship.await {
                Ok(nth) => Ok::<_, DeadLetter>(format!(
                    "shipped {nth}, mail {}",
                    run.step("mail", &ONCE, || count("mail")).await?
                )),
                Err(_) => {
                    Ok(format!("later, mail {}", run.step("mail", &ONCE, || count("mail")).await?))
                }
            }
        }
    };
    assert_eq!(clock.block_on(store.run("r", checkout, ())).unwrap(), "later, mail 1");
    let dead = store.dead_letters("r").unwrap();
    store.retry_dead("r", &dead[0]).unwrap();
    // What ran after the step had given up may have been given what followed from it, and runs again.
    assert_eq!(clock.block_on(store.run("r", checkout, ())).unwrap(), "shipped 4, mail 2");
    assert_eq!(clock.block_on(store.run("r", checkout, ())).unwrap(), "shipped 4, mail 2");
    assert_eq!((calls.of("charge"), calls.of("ship"), calls.of("mail")), (1, 4, 2));
    assert!(store.dead_letters("r").unwrap().is_empty());
    assert!(store.retry_dead("r", &dead[0]).unwrap_err().to_string().contains("no dead letter"));
}

#[test]
fn a_dropped_dead_letter_stays_failed() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let doomed =
        async |run: Run, (): ()| run.step("ship", &ONCE, || async { Err::<(), _>("no") }).await;
    let ended = clock.block_on(store.run("r", |run, ()| doomed(run, ()), ()));
    assert!(ended.is_err());
    let dead = store.dead_letters("r").unwrap();
    store.drop_dead("r", &dead[0]).unwrap();
    assert!(store.dead_letters("r").unwrap().is_empty());
    let ended = clock.block_on(store.run("r", |run, ()| doomed(run, ()), ()));
    assert!(matches!(ended, Err(RunError::Failed(_))));
}

/// A function with everything in it: steps, a loop, steps that are awaited together, a map, a sleep, the time and chance.
async fn everything(run: Run, calls: Calls) -> Result<Vec<u64>, DeadLetter> {
    let operation = |name: String, fails: u32| {
        let calls = calls.clone();
        async move {
            match calls.count(&name) {
                nth if nth <= fails => Err(format!("{name} {nth}")),
                _ => Ok(name.len() as u64),
            }
        }
    };
    let mut sum = vec![run.random(), run.random()];
    sum.push(run.step("first", &NINE, || operation("first".into(), 1)).await?);
    for turn in 0..3 {
        sum.push(run.step("turn", &NINE, || operation(format!("turn {turn}"), 0)).await?);
    }
    let (left, right) = (
        run.step("left", &NINE, || operation("left".into(), 2)),
        run.step("right", &NINE, || operation("right".into(), 0)),
    );
    let (left, right) = join(left.into_future(), right.into_future()).await;
    sum.extend([left?, right?]);
    run.sleep(Duration::from_secs(3600)).await;
    let now = run.now().await;
    sum.push(now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs());
    let items = ["a", "b", "c"].map(str::to_owned);
    let mapped = run.map("map", &NINE, items, |item| {
        let fails = u32::from(item == "b");
        operation(format!("map {item}"), fails)
    });
    for result in mapped.await {
        sum.push(result?);
    }
    Ok(sum)
}

async fn join<A: Future + Unpin, B: Future + Unpin>(mut a: A, mut b: B) -> (A::Output, B::Output) {
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|context| {
        use std::task::Poll;
        if first.is_none()
            && let Poll::Ready(output) = std::pin::Pin::new(&mut a).poll(context)
        {
            first = Some(output);
        }
        if second.is_none()
            && let Poll::Ready(output) = std::pin::Pin::new(&mut b).poll(context)
        {
            second = Some(output);
        }
        if first.is_some() && second.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (first.unwrap(), second.unwrap())
}

use std::future::IntoFuture;

#[test]
fn a_kill_after_any_record_changes_no_result_and_repeats_nothing_that_succeeded() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let undisturbed =
        clock.block_on(store.run("r", |run, ()| everything(run, calls.clone()), ())).unwrap();
    let records = store.records("r").unwrap();
    for killed_at in 0..=records.len() {
        let later = ManualClock::new();
        later.advance(clock.elapsed());
        let killed = store.after_a_kill_at(&later, killed_at);
        // What succeeded before the kill has been called once, and is not called again.
        let succeeded: Vec<&Record> = records[..killed_at]
            .iter()
            .filter(|record| {
                record.event == Event::AttemptEnd && record.outcome == Some(Outcome::Succeeded)
            })
            .collect();
        let fresh = Calls::default();
        let resumed =
            later.block_on(killed.run("r", |run, ()| everything(run, fresh.clone()), ())).unwrap();
        // Before the first records were written there is no seed and no time of day to keep.
        let has = |step: &str| succeeded.iter().any(|record| record.step.as_deref() == Some(step));
        match killed_at {
            0 => assert_eq!(resumed[2..8], undisturbed[2..8]),
            _ if !has("now") => {
                assert_eq!(resumed[..8], undisturbed[..8], "killed after {killed_at}");
            }
            _ => assert_eq!(resumed, undisturbed, "killed after {killed_at} records"),
        }
        for record in &succeeded {
            let name = match (record.step.as_deref().unwrap(), record.key.as_deref()) {
                ("turn", _) => "turn 0".to_owned(),
                ("turn#2", _) => "turn 1".to_owned(),
                ("turn#3", _) => "turn 2".to_owned(),
                ("map.1", Some(key)) => format!("map {key}"),
                (step, _) => step.to_owned(),
            };
            assert_eq!(fresh.of(&name), 0, "{name}, killed after {killed_at}");
        }
        let after = killed.records("r").unwrap();
        let most = after.iter().filter_map(|record| record.attempt).max();
        assert!(most <= Some(9), "{most:?} attempts");
    }
}

#[test]
fn an_attempt_that_a_kill_cut_is_lost_and_counts() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let always_fails =
        async |run: Run, (): ()| run.step("s", &THREE, || async { Err::<(), _>("no") }).await;
    let ended = clock.block_on(store.run("r", |run, ()| always_fails(run, ()), ()));
    assert!(ended.is_err());
    // run.start, attempt.start, end, decision, attempt.start | killed
    let killed = store.after_a_kill_at(&clock, 5);
    let ended = clock.block_on(killed.run("r", |run, ()| always_fails(run, ()), ())).unwrap_err();
    assert!(ended.to_string().contains("after 3 attempts"), "{ended}");
    let records = killed.records("r").unwrap();
    let outcomes: Vec<_> = records
        .iter()
        .filter(|record| record.event == Event::AttemptEnd)
        .map(|record| record.outcome.unwrap())
        .collect();
    assert_eq!(outcomes, [Outcome::Failed, Outcome::Lost, Outcome::Failed]);
}

#[test]
fn what_must_not_run_twice_is_a_dead_letter_when_a_kill_cut_it() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let charge = |run: Run, (): ()| {
        let calls = calls.clone();
        async move {
            let charge =
                run.step("charge", &FIVE, || async { Ok::<_, String>(calls.count("charge")) });
            charge.idempotent(false).await
        }
    };
    clock.block_on(store.run("r", charge, ())).unwrap();
    let killed = store.after_a_kill_at(&clock, 2);
    let RunError::Failed(dead) = clock.block_on(killed.run("r", charge, ())).unwrap_err() else {
        panic!("it is a dead letter");
    };
    assert!(dead.may_have_succeeded(), "{dead}");
    assert_eq!(calls.of("charge"), 1);
}

#[test]
fn code_that_takes_another_way_than_its_journal_is_told_so() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let begun = async |run: Run, (): ()| {
        run.step("charge", &ONCE, || async { Ok::<_, String>(7) }).await?;
        run.map("items", &ONCE, [1, 2], |item| async move { Ok::<_, String>(item) }).await;
        run.step("ship", &THREE, || async { Err::<u32, _>("no".to_owned()) }).await
    };
    drop(clock.block_on(store.run("r", |run, ()| begun(run, ()), ())));
    let again = || store.after_a_kill(&clock);

    let without =
        async |run: Run, (): ()| run.step("charge", &ONCE, || async { Ok::<_, String>(7) }).await;
    let (step, why) =
        changed_step(clock.block_on(again().run("r", |run, ()| without(run, ()), ())));
    assert_eq!((step.as_str(), why.contains("without it")), ("items", true), "{why}");

    let of_another_type = async |run: Run, (): ()| {
        // The function is dropped here: it cannot go on with a wrong result, nor pass over the error.
        drop(run.step("charge", &ONCE, || async { Ok::<_, String>("seven".to_owned()) }).await);
        Ok::<_, DeadLetter>(())
    };
    let (step, why) =
        changed_step(clock.block_on(again().run("r", |run, ()| of_another_type(run, ()), ())));
    assert_eq!((step.as_str(), why.contains("of another type")), ("charge", true), "{why}");

    let other_items = async |run: Run, (): ()| {
        run.map("items", &ONCE, [1, 3], |item| async move { Ok::<_, String>(item) }).await;
        Ok::<_, DeadLetter>(())
    };
    let (step, why) =
        changed_step(clock.block_on(again().run("r", |run, ()| other_items(run, ()), ())));
    assert_eq!((step.as_str(), why.as_str()), ("items", "its item 1 was 2, and now is 3"));

    let another_kind =
        async |run: Run, (): ()| run.step("items", &ONCE, || async { Ok::<_, String>(1) }).await;
    let (step, _) =
        changed_step(clock.block_on(again().run("r", |run, ()| another_kind(run, ()), ())));
    assert_eq!(step, "items");
}

#[test]
fn a_wait_survives_and_is_never_longer_than_the_whole() {
    const WAITS: Policy = policy!("attempts: 2, delay: 100s");
    for (down, left) in [(0, 100), (30, 70), (100, 0), (5000, 0)] {
        let clock = ManualClock::new();
        let store = Store::in_memory(&clock);
        let script = Script::new([Err("once"), Ok(1)]);
        let flaky = |run: Run, (): ()| {
            let script = &script;
            async move { run.step("s", &WAITS, || script.next()).await }
        };
        clock.block_on(store.run("r", flaky, ())).unwrap();
        // After the decision, at 0 s.
        let killed_clock = ManualClock::new();
        let killed = store.after_a_kill_at(&killed_clock, 4);
        killed_clock.advance(Duration::from_secs(down));
        let script = Script::new([Ok::<_, &str>(1)]);
        let flaky = |run: Run, (): ()| {
            let script = &script;
            async move { run.step("s", &WAITS, || script.next()).await }
        };
        killed_clock.block_on(killed.run("r", flaky, ())).unwrap();
        let slept: Duration = killed_clock.slept().iter().sum();
        assert_eq!(slept, Duration::from_secs(left), "down for {down} s");
    }
}

#[test]
fn a_flow_of_a_days_waits_runs_in_no_time() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let hourly = async |run: Run, (): ()| {
        for _ in 0..24 {
            run.sleep(Duration::from_secs(3600)).await;
            run.step("poll", &ONCE, || async { Ok::<_, String>(()) }).await?;
        }
        Ok::<_, DeadLetter>(run.now().await.duration_since(std::time::UNIX_EPOCH).unwrap())
    };
    let end = clock.block_on(store.run("r", |run, ()| hourly(run, ()), ())).unwrap();
    assert_eq!(end, Duration::from_secs(86_400));
}

#[test]
fn errors_are_classified_timed_and_told() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let told = Mutex::new(Vec::new());
    let run_all = |run: Run, (): ()| {
        let (told, clock) = (&told, &clock);
        async move {
            let fatal = run.step("fatal", &FIVE, || async { Err::<(), _>("fatal") });
            let fatal = fatal.when(|error| *error != "fatal").await.unwrap_err();
            let asked = Script::new([Err("busy"), Ok(())]);
            let asked = run
                .step("asked", &FIVE, || asked.next())
                .classify(|_| Verdict::RetryAfter(Duration::from_secs(77)))
                .on_retry(|retry| {
                    told.lock()
                        .unwrap()
                        .push(format!("{} {:?} {:?}", retry.attempt, retry.delay, retry.error))
                })
                .await;
            asked.unwrap();
            let slow = run.step_with("slow", &THREE, |attempt| async move {
                assert_eq!(attempt.left, Some(Duration::from_secs(5)));
                redial::Clock::sleep(clock, Duration::from_secs(60)).await;
                Ok::<_, String>(())
            });
            let slow = slow.timeout(Duration::from_secs(5)).await.unwrap_err();
            let late = run.step("late", &THREE, || async { Err::<(), _>("no") });
            let late = late.within(Duration::from_secs(15)).await.unwrap_err();
            Ok::<_, DeadLetter>([fatal, slow, late].map(|dead| (dead.attempts, dead.reason)))
        }
    };
    let ended = clock.block_on(store.run("r", run_all, ())).unwrap();
    let expected = [(1, "rejected"), (3, "attempts-spent"), (2, "deadline")];
    assert_eq!(ended, expected.map(|(attempts, reason)| (attempts, reason.to_owned())));
    assert_eq!(*told.lock().unwrap(), ["1 77s Some(\"busy\")"]);
    assert!(clock.slept().contains(&Duration::from_secs(77)));
}

#[test]
fn the_key_is_the_same_in_all_attempts_and_no_other() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let keys = Mutex::new(Vec::new());
    let run_all = |run: Run, (): ()| {
        let keys = &keys;
        async move {
            let note = |attempt: redial_flow::steps::Attempt| async move {
                keys.lock().unwrap().push(attempt.key.clone());
                if attempt.number < 2 { Err("again") } else { Ok(()) }
            };
            run.step_with("s", &FIVE, note).await?;
            run.step_with("s", &FIVE, note).await?;
            let mapped = run.map_with("m", &FIVE, ["x"], |_, attempt| note(attempt)).await;
            mapped.into_iter().collect::<Result<Vec<_>, _>>()
        }
    };
    clock.block_on(store.run("r", run_all, ())).unwrap();
    assert_eq!(*keys.lock().unwrap(), ["r/s", "r/s", "r/s#2", "r/s#2", "r/m.1/x", "r/m.1/x"]);
}

#[test]
fn a_map_goes_on_without_its_dead_items_and_keeps_to_its_slots() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let (running, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let mapped = |run: Run, (): ()| {
        let (running, most, clock) = (&running, &most, &clock);
        async move {
            let mapped = run.map("m", &THREE, 0..10_u32, |item| async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                redial::Clock::sleep(clock, Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                if item == 4 { Err("four") } else { Ok(item * 10) }
            });
            let mapped = mapped.slots(3.try_into().unwrap()).await;
            Ok::<_, DeadLetter>(mapped.into_iter().map(|item| item.ok()).collect::<Vec<_>>())
        }
    };
    let ended = clock.block_on(store.run("r", mapped, ())).unwrap();
    let expected: Vec<_> = (0..10).map(|item| (item != 4).then_some(item * 10)).collect();
    assert_eq!(ended, expected);
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let dead = store.dead_letters("r").unwrap();
    assert_eq!(
        (dead[0].step.as_str(), dead[0].item, dead[0].key.as_deref()),
        ("m.1", Some(4), Some("4"))
    );
    assert_eq!(clock.block_on(store.run("r", mapped, ())).unwrap(), expected);
}

#[test]
fn a_step_that_is_dropped_was_cut_and_does_not_count() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let raced = |run: Run, (): ()| {
        let (clock, calls) = (&clock, &calls);
        async move {
            calls.count("function");
            let step = run.step("s", &ONCE, || async {
                calls.count("s");
                redial::Clock::sleep(clock, Duration::from_secs(60)).await;
                Ok::<_, String>(5)
            });
            step.await
        }
    };
    // Whoever awaits the run loses patience.
    clock.block_on(async {
        let mut call = store.run("r", raced, ()).into_future();
        let mut patience = Box::pin(redial::Clock::sleep(&clock, Duration::from_secs(1)));
        std::future::poll_fn(|context| {
            assert!(call.as_mut().poll(context).is_pending());
            patience.as_mut().poll(context)
        })
        .await;
    });
    let records = store.records("r").unwrap();
    assert_eq!(events(&records)[2..], ["attempt.end s Cancelled", "run.end Interrupted"]);
    assert_eq!(clock.block_on(store.run("r", raced, ())).unwrap(), 5);
    assert_eq!((calls.of("s"), calls.of("function")), (2, 2));
}

#[test]
fn a_panic_is_passed_on_and_counts_as_an_attempt() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let panics = |run: Run, (): ()| {
        let calls = &calls;
        async move {
            run.step("s", &policy!("attempts: 2, delay: 0s"), || async {
                calls.count("s");
                let nobody: Option<u32> = [].first().copied();
                Ok::<_, String>(nobody.expect("a mistake"))
            })
            .await
        }
    };
    for _ in 0..2 {
        let run = std::panic::AssertUnwindSafe(|| clock.block_on(store.run("r", panics, ())));
        assert!(std::panic::catch_unwind(run).is_err());
    }
    let ended = clock.block_on(store.run("r", panics, ())).unwrap_err();
    assert!(ended.to_string().contains("gave up after 2 attempts"), "{ended}");
    assert_eq!(calls.of("s"), 2);
}

#[test]
fn names_that_no_step_can_have_stop_the_run() {
    let clock = ManualClock::new();
    for name in ["", "a#2", "a/b", "a.1", "a\nb"] {
        let store = Store::in_memory(&clock);
        let calls = Calls::default();
        let named = |run: Run, (): ()| {
            let calls = &calls;
            async move {
                drop(run.step(name, &ONCE, || async { Ok::<_, String>(calls.count("s")) }).await);
                Ok::<_, DeadLetter>(())
            }
        };
        let ended = clock.block_on(store.run("r", named, ())).unwrap_err();
        assert!(matches!(ended, RunError::Stopped(Stopped::StepName { .. })), "{name:?}: {ended}");
        assert_eq!(calls.of("s"), 0, "{name:?}: nothing more starts");
    }
    let store = Store::in_memory(&clock);
    let ended =
        clock.block_on(store.run("../x", async |_: Run, (): ()| Ok::<_, DeadLetter>(()), ()));
    assert!(ended.unwrap_err().to_string().contains("cannot name a run"));
}

#[test]
fn floats_come_back_as_they_were() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let numbers: Vec<f64> = redial_seeds_floats();
    let given = numbers.clone();
    let float = |run: Run, (): ()| {
        let given = given.clone();
        async move { run.step("s", &ONCE, || async { Ok::<_, String>(given.clone()) }).await }
    };
    let first = clock.block_on(store.run("r", float, ())).unwrap();
    assert_eq!(first, numbers);
}

fn redial_seeds_floats() -> Vec<f64> {
    let mut random = redial_core::SplitMix64::new(7);
    let word = |_| f64::from_bits(redial_core::Random::word(&mut random));
    (0..100).map(word).filter(|float| float.is_finite()).collect()
}
