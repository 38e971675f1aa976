//! Steps as data: known before they run, and run by the same machine.

use std::time::Duration;

use redial::testing::ManualClock;
use redial_core::policy;
use redial_flow::steps::{Flow, RunError, Stopped, Store, Strategy};

use super::Calls;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Risk {
    High,
    Low,
}

impl From<&(u32, String)> for Risk {
    fn from((score, _): &(u32, String)) -> Self {
        if *score > 80 { Self::High } else { Self::Low }
    }
}

fn enrich(calls: &Calls, fails: u32) -> Flow<u32, String> {
    let counted = calls.clone();
    let call_api = move |customer: u32| {
        let nth = counted.count("call-external-api");
        async move { if nth <= fails { Err(format!("busy {nth}")) } else { Ok(customer * 2) } }
    };
    let (score, geo) = (calls.clone(), calls.clone());
    Flow::new("enrich")
        .step("call-external-api", call_api)
        .retry_policy(|p| {
            p.max_attempts(5)
                .backoff(Strategy::Exponential)
                .base_delay(1000)
                .max_delay(60_000)
                .jitter(true)
        })
        .parallel(|p| {
            p.step("score", move |answer: u32| {
                score.count("score");
                async move { Ok::<_, String>(answer) }
            })
            .step("geo", move |_| {
                geo.count("geo");
                async move { Ok::<_, String>("CH".to_owned()) }
            })
        })
        .branch("risk", |b| {
            b.on(Risk::High, |s| {
                s.step("review", |(score, _): (u32, String)| async move {
                    Ok::<_, String>(format!("review {score}"))
                })
            })
            .otherwise(|s| {
                s.step("accept", |(_, land): (u32, String)| async move {
                    Ok::<_, String>(format!("accept {land}"))
                })
            })
        })
}

#[test]
fn the_snippet_of_the_seed_has_its_meaning() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let flow = enrich(&calls, 4);
    assert_eq!(clock.block_on(store.run_flow("c", &flow, 7)).unwrap(), "accept CH");
    // Five executions, and four delays: a factor from 0.5 to 1.5 of 1, 2, 4 and 8 s.
    assert_eq!(calls.of("call-external-api"), 5);
    let slept = clock.slept();
    assert_eq!(slept.len(), 4);
    for (delay, base) in slept.iter().zip([1, 2, 4, 8]) {
        let range = Duration::from_millis(500 * base)..=Duration::from_millis(1500 * base);
        assert!(range.contains(delay), "{delay:?} for {base} s");
    }
    let doomed = enrich(&Calls::default(), 5);
    let RunError::Failed(dead) = clock.block_on(store.run_flow("d", &doomed, 7)).unwrap_err()
    else {
        panic!("it is a dead letter");
    };
    assert_eq!((dead.attempts, dead.error.as_deref()), (5, Some("busy 5")));
}

#[test]
fn what_can_run_is_known_before_it_runs() {
    let flow = enrich(&Calls::default(), 0);
    assert_eq!(flow.check(), Ok(()));
    let names: Vec<_> = flow.steps().iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["call-external-api", "score", "geo", "risk", "review", "accept"]);
    assert_eq!(flow.steps()[0].policy.attempts(), Some(5));
    assert_eq!(flow.steps()[1].policy.attempts(), Some(1), "a step without a policy runs once");
    assert_eq!(flow.steps()[4].arms, [("risk".to_owned(), 1)]);
    assert_eq!(flow.steps()[5].arms, [("risk".to_owned(), 0)]);
}

#[test]
fn a_flow_that_is_wrong_says_all_of_it_before_anything_runs() {
    let nothing = |input: u32| async move { Ok::<_, String>(input) };
    let flow = Flow::new("wrong")
        .timeout(Duration::from_secs(1))
        .step("twice", nothing)
        .retry_policy(|p| p.max_attempts(0))
        .step("twice", nothing)
        .step("a#b", nothing);
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let error = clock.block_on(store.run_flow("r", &flow, 1)).unwrap_err();
    let RunError::Stopped(Stopped::Flow { mistakes, .. }) = error else { panic!("{error}") };
    assert_eq!(mistakes.len(), 4, "{mistakes:?}");
    assert!(store.records("r").is_err(), "nothing was begun");
    assert!(Flow::<u32>::new("empty").check().is_err());
}

#[test]
fn a_kill_after_any_record_of_a_flow_changes_nothing() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    clock.block_on(store.run_flow("c", &enrich(&Calls::default(), 1), 50)).unwrap();
    let records = store.records("c").unwrap();
    for killed_at in 1..=records.len() {
        let later = ManualClock::new();
        let killed = store.after_a_kill_at(&later, killed_at);
        let calls = Calls::default();
        let resumed = later.block_on(killed.run_flow("c", &enrich(&calls, 0), 50));
        // A step without a policy runs once, and a KILL has cut that.
        let open = |step: &str| {
            let of =
                records[..killed_at].iter().filter(|record| record.step.as_deref() == Some(step));
            of.count() == 1
        };
        match ["score", "geo", "review"].into_iter().find(|step| open(step)) {
            Some(step) => {
                let error = resumed.unwrap_err().to_string();
                assert!(
                    error.contains(&format!("step `{step}` gave up after 1 attempt")),
                    "{error}"
                );
            }
            None => assert_eq!(resumed.unwrap(), "review 100"),
        }
        assert!(calls.of("score") <= 1 && calls.of("geo") <= 1);
    }
}

#[test]
fn a_dead_sibling_ends_the_flow_once_the_others_have_ended() {
    let (clock, calls) = (ManualClock::new(), Calls::default());
    let store = Store::in_memory(&clock);
    let counted = calls.clone();
    let flow = Flow::new("siblings").parallel(|p| {
        p.step("dead", |_: u32| async { Err::<u32, _>("no") })
            .policy(&policy!("attempts: 2, delay: 1s"))
            .step("good", move |input: u32| {
                let nth = counted.count("good");
                async move { if nth < 3 { Err("again") } else { Ok(input) } }
            })
            .policy(&policy!("attempts: 3, delay: 5s"))
    });
    let ended = clock.block_on(store.run_flow("r", &flow, 1)).unwrap_err();
    assert!(ended.to_string().contains("step `dead` gave up after 2 attempts"), "{ended}");
    assert_eq!(calls.of("good"), 3);
    // The dead letter is revived, and the sibling that succeeded does not run again.
    let dead = store.dead_letters("r").unwrap();
    store.retry_dead("r", &dead[0]).unwrap();
    drop(clock.block_on(store.run_flow("r", &flow, 1)));
    assert_eq!(calls.of("good"), 3);
}

#[test]
fn a_map_of_a_flow_gives_a_list() {
    let clock = ManualClock::new();
    let store = Store::in_memory(&clock);
    let flow = Flow::new("map")
        .step("list", |count: u32| async move { Ok::<_, String>((0..count).collect::<Vec<_>>()) })
        .map("double", |item: u32| async move { Ok::<_, String>(item * 2) })
        .timeout(Duration::from_secs(1))
        .step("sum", |items: Vec<u32>| async move { Ok::<_, String>(items.iter().sum::<u32>()) });
    assert_eq!(clock.block_on(store.run_flow("r", &flow, 4)).unwrap(), 12);
}
