//! What can be said of a step, of a map, and of the steps of a flow: what they share with others, and how many dead items are too many.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use redial::testing::{ManualClock, Script};
use redial_core::{Breaker, Budget, Policy, policy};
use redial_flow::steps::{
    BreakerSettings, BudgetSettings, DeadLetter, FailuresMax, Flow, Run, RunError, Stopped, Store,
};

use super::{Calls, THREE};

const MANY: Policy = policy!("attempts: 10, delay: 1s");

async fn fails(run: Run, budget: Arc<Budget>) -> Result<(), DeadLetter> {
    run.step("s", &MANY, || async { Err("down") }).budget(budget).await
}

#[test]
fn a_budget_of_the_process_is_shared_by_the_steps_of_all_runs() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let budget = Budget::builder().capacity(4.0).deposit(0.0).floor_per_second(0.001);
    let budget = Arc::new(budget.build());
    let mut attempts = Vec::new();
    for name in ["one", "other"] {
        let shared = Arc::clone(&budget);
        let ended = clock.block_on(store.run(name, |run, ()| fails(run, shared), ()));
        let RunError::Failed(dead) = ended.unwrap_err() else { panic!("it is a dead letter") };
        assert_eq!(dead.reason, "budget");
        attempts.push(dead.attempts);
    }
    assert_eq!(attempts, [5, 1], "four retries, and none is left for the other run");
}

#[test]
fn a_retry_that_is_dropped_before_it_starts_is_not_paid_for() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let budget = Arc::new(Budget::builder().capacity(4.0).floor_per_second(0.0).build());
    let shared = Arc::clone(&budget);
    clock.block_on(async {
        let mut call = store.run("r", |run, ()| fails(run, shared), ()).into_future();
        std::future::poll_fn(|context| {
            assert!(call.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        assert!(budget.tokens() < 4.0, "it waits for its second attempt");
    });
    assert_eq!(budget.tokens(), 4.0);
}

#[test]
fn a_breaker_of_the_process_keeps_the_steps_of_other_runs_from_starting() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let breaker = Breaker::builder().failures(3).recovery(Duration::from_secs(60)).build();
    let opens = |run: Run, (): ()| {
        let breaker = &breaker;
        async move {
            let step = run.step("s", &MANY, || async { Err::<(), _>("down") }).breaker(breaker);
            step.within(Duration::from_secs(30)).await
        }
    };
    let dead = clock.block_on(store.run("opens", opens, ())).unwrap_err();
    let RunError::Failed(dead) = dead else { panic!("{dead}") };
    // The breaker closes after the deadline, so there is nothing to wait for.
    assert_eq!((dead.attempts, dead.reason.as_str()), (3, "breaker-open"));
    let waits = |run: Run, (): ()| {
        let breaker = &breaker;
        async move { run.step("s", &THREE, || async { Ok::<_, &str>(()) }).breaker(breaker).await }
    };
    clock.block_on(store.run("waits", waits, ())).unwrap();
    assert_eq!(clock.elapsed(), Duration::from_secs(2 + 60), "it opened at 2 s");
}

#[test]
fn a_breaker_of_a_map_lets_what_runs_go_on_and_starts_the_rest_later() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let breaker = Arc::new(Breaker::builder().failures(2).recovery(Duration::from_secs(9)).build());
    for of_process in [true, false] {
        let calls = Calls::default();
        let mapped = |run: Run, (): ()| {
            let (calls, breaker) = (calls.clone(), Arc::clone(&breaker));
            async move {
                let map = run.map("m", &THREE, 0..6_u32, |item| {
                    let nth = calls.count("m");
                    async move { if nth <= 2 { Err("down") } else { Ok(item) } }
                });
                let settings = BreakerSettings {
                    failures: 2,
                    recovery: Duration::from_secs(9),
                    ..BreakerSettings::default()
                };
                let map = map.slots(2.try_into().unwrap());
                let map = if of_process { map.breaker(breaker) } else { map.breaker(settings) };
                map.await.into_iter().collect::<Result<Vec<_>, _>>()
            }
        };
        let name = if of_process { "of-process" } else { "of-run" };
        assert_eq!(clock.block_on(store.run(name, mapped, ())).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(calls.of("m"), 8);
    }
}

#[test]
fn a_budget_or_a_breaker_that_cannot_be_stops_the_run_before_anything_is_done() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let never = BreakerSettings { probes: 0, ..BreakerSettings::default() };
    let nan = BudgetSettings { capacity: f64::NAN, ..BudgetSettings::default() };
    let step = |run: Run, (): ()| {
        let calls = &calls;
        async move {
            run.step("s", &THREE, || async { Ok::<_, &str>(calls.count("s")) }).breaker(never).await
        }
    };
    let error = clock.block_on(store.run("step", step, ())).unwrap_err();
    let expected = "step `s`: breaker probes: 0 is not allowed; use 1 or more";
    assert_eq!(error.to_string(), expected);
    let map = |run: Run, (): ()| {
        let calls = &calls;
        async move {
            let map = run.map("m", &THREE, [1], |_| async { Ok::<_, &str>(calls.count("m")) });
            map.budget(nan).await.into_iter().collect::<Result<Vec<_>, _>>()
        }
    };
    let error = clock.block_on(store.run("map", map, ())).unwrap_err();
    assert!(matches!(error, RunError::Stopped(Stopped::Setting { .. })), "{error}");
    let flow = Flow::new("f").step_where(
        "s",
        move |step| step.breaker(never),
        |input: u32, _| async move { Ok::<_, String>(input) },
    );
    assert_eq!(flow.check().unwrap_err(), [expected]);
    assert_eq!((calls.of("s"), calls.of("m")), (0, 0));
}

#[test]
fn too_many_dead_items_keep_the_others_from_starting() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let mapped = |run: Run, (): ()| {
        let calls = calls.clone();
        async move {
            let map = run.map("m", &policy!("attempts: 1"), 0..10_u32, |item| {
                let nth = calls.count("m");
                async move { if nth <= 3 { Err("down") } else { Ok(item) } }
            });
            let map = map.slots(1.try_into().unwrap()).failures_max(FailuresMax::Count(2));
            let reasons = |item: Result<u32, DeadLetter>| item.map_err(|dead| dead.reason);
            Ok::<_, DeadLetter>(map.await.into_iter().map(reasons).collect::<Vec<_>>())
        }
    };
    let ended = clock.block_on(store.run("r", mapped, ())).unwrap();
    assert_eq!(ended[2], Err("attempts-spent".to_owned()));
    assert_eq!(ended[3], Err("failures-max".to_owned()));
    assert_eq!((calls.of("m"), store.dead_letters("r").unwrap().len()), (3, 3));
    // Within the bound again, it goes on.
    for dead in store.dead_letters("r").unwrap() {
        store.retry_dead("r", &dead).unwrap();
    }
    let again = clock.block_on(store.run("r", mapped, ())).unwrap();
    assert_eq!(again, (0..10).map(Ok).collect::<Vec<_>>());
}

#[test]
fn items_are_those_that_the_map_began_with_also_where_nothing_was_done_for_them() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let map = |items: Vec<f64>| {
        move |run: Run, (): ()| async move {
            let map = run.map("m", &THREE, items, |item| async move { Ok::<_, String>(item) });
            map.slots(1.try_into().unwrap()).await.into_iter().collect::<Result<Vec<_>, _>>()
        }
    };
    let items = vec![0.1, 2.0, 1e300];
    assert_eq!(clock.block_on(store.run("r", map(items.clone()), ())).unwrap(), items);
    // run.start, and what follows from it
    for killed_at in 1..store.records("r").unwrap().len() {
        let killed = || store.after_a_kill_at(&clock, killed_at);
        let other = clock.block_on(killed().run("r", map(vec![0.1, 2.0, 3.0]), ())).unwrap_err();
        let RunError::Stopped(Stopped::ChangedCode { step, why, .. }) = other else {
            panic!("killed at {killed_at}: {other}");
        };
        assert_eq!((&*step, &*why), ("m", "its item 2 was 1e+300, and now is 3.0"));
        let shorter = clock.block_on(killed().run("r", map(vec![0.1, 2.0]), ())).unwrap_err();
        assert!(shorter.to_string().contains("it had 3 items, and now has 2"), "{shorter}");
        assert_eq!(clock.block_on(killed().run("r", map(items.clone()), ())).unwrap(), items);
    }
}

#[test]
fn a_step_of_a_flow_can_be_told_more_than_its_policy() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    static BUDGET: Budget = Budget::new();
    let flow = Flow::new("told")
        .step_where(
            "call",
            |step| step.when(|error: &String| error != "fatal").budget(&BUDGET).idempotent(false),
            |input: u32, attempt| async move {
                if attempt.number == 1 { Err("busy".to_owned()) } else { Ok(input) }
            },
        )
        .policy(&THREE)
        .step_where(
            "fatal",
            |step| step.when(|error: &String| error != "fatal").timeout(Duration::from_secs(1)),
            |_, _| async move { Err::<u32, _>("fatal".to_owned()) },
        )
        .policy(&THREE);
    assert!(!flow.steps()[0].is_idempotent);
    assert_eq!(flow.steps()[1].timeout, Some(Duration::from_secs(1)));
    let ended = clock.block_on(store.run_flow("r", &flow, 7)).unwrap_err().to_string();
    assert_eq!(ended, "step `fatal` gave up after 1 attempt (rejected): fatal");
    assert!(BUDGET.tokens() < 100.0);
}

#[test]
fn the_others_will_do_where_a_flow_says_so() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let calls = Calls::default();
    let counted = calls.clone();
    let flow = Flow::new("partial")
        .parallel(|p| {
            p.step_or_none("score", |_: u32| async { Err::<u32, _>("down") }).step_with(
                "geo",
                |input, attempt| async move {
                    assert_eq!(attempt.key, "r/geo");
                    Ok::<u32, String>(input)
                },
            )
        })
        .step("list", |(score, geo): (Option<u32>, u32)| async move {
            Ok::<_, String>(vec![score.unwrap_or(0), geo, 2])
        })
        .map("double", move |item: u32| {
            let nth = counted.count("double");
            async move { if item == 2 && nth <= 3 { Err("no") } else { Ok(item * 2) } }
        })
        .allow_partial()
        .step("sum", |all: Vec<u32>| async move { Ok::<_, String>(all.iter().sum::<u32>()) });
    let run = || clock.block_on(store.run_flow("r", &flow, 5));
    assert_eq!(run().unwrap(), 10);
    let dead = store.dead_letters("r").unwrap();
    let names: Vec<_> = dead.iter().map(|dead| dead.step.as_str()).collect();
    assert_eq!(names, ["score", "double.1"]);
    // What followed runs again with the item that was missing.
    store.retry_dead("r", &dead[1]).unwrap();
    assert_eq!(run().unwrap(), 14);
    let nothing = |input: u32| async move { Ok::<_, String>(input) };
    let wrong = Flow::new("wrong").step("s", nothing).allow_partial();
    assert!(wrong.check().unwrap_err()[0].contains("`allow_partial` follows no map"));
}

#[test]
fn a_script_of_failures_meets_a_classifier_of_a_map() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let script = Script::new([Err("busy"), Ok(1), Err("fatal")]);
    let mapped = |run: Run, (): ()| {
        let script = &script;
        async move {
            let map = run.map("m", &THREE, ["a", "b"], |_| script.next());
            let map = map.when(|error| *error != "fatal").slots(1.try_into().unwrap());
            let reasons = |item: Result<u32, DeadLetter>| item.map_err(|dead| dead.reason);
            Ok::<_, DeadLetter>(map.await.into_iter().map(reasons).collect::<Vec<_>>())
        }
    };
    let ended = clock.block_on(store.run("r", mapped, ())).unwrap();
    assert_eq!(ended.iter().filter(|item| item.is_ok()).count(), 1, "{ended:?}");
    assert!(ended.contains(&Err("rejected".to_owned())), "{ended:?}");
}
