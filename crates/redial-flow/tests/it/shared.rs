//! Budgets and breakers of steps and of maps.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::Duration;

use redial_core::{BreakerState, Time, policy};
use redial_flow::flow::{BreakerSettings, BudgetSettings, Flow, ONCE, OnFailure, Rate, Step};
use redial_flow::machine::{Machine, TaskId};
use redial_flow::record::{Action, Event, Outcome, Record, Verdict};

use crate::world::{Ends, World, inside, map, step};

/// So many retries and, for all that a test sees, no more.
fn budget(capacity: f64) -> Option<BudgetSettings> {
    Some(BudgetSettings { capacity, deposit: 1e-9, cost: 1.0, floor_per_second: 0.0 })
}

fn breaker(failures: u32, recovery: Duration) -> Option<BreakerSettings> {
    Some(BreakerSettings { failures, recovery, probes: 1 })
}

const SECOND: Duration = Duration::from_secs(1);

fn alone(step: Step) -> Flow {
    Flow { name: "test".into(), steps: vec![step] }
}

/// A map with one inner step.
fn mapped(map_step: Step, inner: Step) -> Flow {
    Flow { name: "test".into(), steps: vec![map_step, inside(0, inner)] }
}

fn run(world: &mut World<'_>) -> (Machine, Vec<Record>) {
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    (machine, records)
}

fn millis(record: &Record) -> u64 {
    record.time().as_nanos() / 1_000_000
}

fn starts(records: &[Record]) -> Vec<u64> {
    records.iter().filter(|record| record.event == Event::AttemptStart).map(millis).collect()
}

/// The reasons of dead letters, in the order in which they died.
fn reasons(records: &[Record]) -> Vec<&str> {
    let dead = records.iter().filter(|record| record.event == Event::Dead);
    dead.map(|record| record.reason.as_deref().unwrap_or_default()).collect()
}

fn retries(records: &[Record]) -> usize {
    records.iter().filter(|record| record.action == Some(Action::Retry)).count()
}

#[test]
fn a_retry_that_the_budget_cannot_pay_is_not_made() {
    let fetch = Step { budget: budget(2.0), ..step("fetch", policy!("attempts: 9, delay: 1s")) };
    let (_, records) = run(&mut World::new(alone(fetch), &|_, _| Ends::Badly));
    assert_eq!(starts(&records), [0, 1010, 2020]);
    assert_eq!(reasons(&records), ["budget"]);
}

#[test]
fn the_budget_of_a_map_is_one_for_all_its_items() {
    let each = Step { budget: budget(3.0), ..map("each", 0, 1, None) };
    let flow = mapped(each, step("fetch", policy!("attempts: 9, delay: 1s")));
    let mut world = World::new(flow, &|_, _| Ends::Badly);
    world.items = 5;
    let (machine, records) = run(&mut world);
    assert_eq!(retries(&records), 3);
    assert_eq!(reasons(&records), ["budget"; 5]);
    assert!(machine.budget(0).unwrap().tokens < 1e-6);
    assert!(machine.budget(1).is_none());
}

#[test]
fn the_floor_comes_with_the_time_of_the_run() {
    let slow = BudgetSettings { capacity: 1.0, deposit: 0.0, cost: 1.0, floor_per_second: 0.5 };
    let fetch =
        Step { budget: Some(slow), ..step("fetch", policy!("attempts: 9, backoff: [3s, 3s, 1s]")) };
    let (_, records) = run(&mut World::new(alone(fetch), &|_, _| Ends::Badly));
    // One token is there, and one comes in two seconds: after the third wait there is half a one.
    assert_eq!(starts(&records), [0, 3010, 6020, 7030]);
    assert_eq!(reasons(&records), ["budget"]);
}

#[test]
fn a_task_brings_its_share_once_although_its_first_attempt_was_cut() {
    let shares = BudgetSettings { capacity: 9.0, deposit: 0.25, cost: 1.0, floor_per_second: 0.0 };
    let fetch = Step { budget: Some(shares), ..step("fetch", policy!("attempts: 9")) };
    let world = World::new(alone(fetch), &|_, _| Ends::Well);
    let mut machine = world.machine();
    let task = TaskId { step: 0, item: None };
    // Two retries, so that there is room for a share.
    for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Cancelled, Outcome::Cancelled] {
        let start = machine.attempt_start(Time::ZERO, task);
        machine.apply(&start).unwrap();
        let end = Record { event: Event::AttemptEnd, outcome: Some(outcome), ..start };
        machine.apply(&end).unwrap();
        if outcome == Outcome::Failed {
            let decided = Record {
                action: Some(Action::Retry),
                ..machine.record(Time::ZERO, Event::Decision, task)
            };
            machine.apply(&decided).unwrap();
        }
    }
    assert_eq!(machine.budget(0).unwrap().tokens, 7.0);
}

#[test]
fn an_open_breaker_holds_back_all_starts_until_a_probe_closes_it() {
    let ends = |task: TaskId, _| if task.item == Some(0) { Ends::Badly } else { Ends::Well };
    let each = Step { breaker: breaker(1, 30 * SECOND), ..map("each", 0, 1, None) };
    let mut world = World::new(mapped(each, step("fetch", ONCE)), &ends);
    (world.items, world.slots) = (8, 4);
    let (machine, records) = run(&mut world);
    // Four start at once, and the failure of the first opens it. The others were admitted before, and do not close it.
    // Then there is one probe, and after its end all that are left.
    assert_eq!(starts(&records), [0, 0, 0, 0, 30_010, 30_020, 30_020, 30_020]);
    assert_eq!((machine.counts(0).succeeded, machine.counts(0).dead), (7, 1));
    assert_eq!(
        machine.breaker(0, machine.time()).unwrap().state,
        BreakerState::Closed { failures: 0 }
    );
}

#[test]
fn a_success_in_between_begins_the_count_anew() {
    // Of 3 in a row: 0 and 1 fail, 2 does not, and 3 to 5 open it.
    let ends = |task: TaskId, _| match task.item {
        Some(0 | 1 | 3 | 4 | 5) => Ends::Badly,
        _ => Ends::Well,
    };
    let fetch = Step { breaker: breaker(3, 30 * SECOND), ..step("fetch", ONCE) };
    let mut world = World::new(mapped(map("each", 0, 1, None), fetch), &ends);
    (world.items, world.slots) = (7, 1);
    let (_, records) = run(&mut world);
    assert_eq!(starts(&records), [0, 10, 20, 30, 40, 50, 30_060]);
}

#[test]
fn a_probe_that_fails_opens_the_breaker_again_and_gives_up() {
    let failed = Cell::new(0);
    let ends = |_, _| match failed.replace(failed.get() + 1) {
        0..3 => Ends::Badly,
        _ => Ends::Well,
    };
    let fetch = Step {
        breaker: breaker(1, 30 * SECOND),
        ..step("fetch", policy!("attempts: 5, delay: 1s"))
    };
    let mut world = World::new(mapped(map("each", 0, 1, None), fetch), &ends);
    (world.items, world.slots) = (5, 1);
    let (_, records) = run(&mut world);
    assert_eq!(starts(&records), [0, 30_010, 60_020, 90_030, 90_040]);
    assert_eq!(reasons(&records), ["breaker-open"; 3]);
}

#[test]
fn no_wait_leads_into_an_open_breaker_and_no_token_is_spent_for_one() {
    let fetch = Step {
        budget: budget(9.0),
        breaker: breaker(1, 30 * SECOND),
        ..step("fetch", policy!("attempts: 5, delay: 4s"))
    };
    let (machine, records) = run(&mut World::new(alone(fetch), &|_, _| Ends::Badly));
    assert_eq!(reasons(&records), ["breaker-open"]);
    assert_eq!(millis(records.last().unwrap()), 10);
    assert_eq!(machine.budget(0).unwrap().tokens, 9.0);
}

#[test]
fn a_wait_that_outlasts_the_recovery_is_waited_and_ends_in_a_probe() {
    let fetch = Step {
        breaker: breaker(1, 30 * SECOND),
        ..step("fetch", policy!("attempts: 3, delay: 1min"))
    };
    let ends = |_, attempt| if attempt == 1 { Ends::Badly } else { Ends::Well };
    let (machine, records) = run(&mut World::new(alone(fetch), &ends));
    assert_eq!(starts(&records), [0, 60_010]);
    assert_eq!(
        machine.breaker(0, machine.time()).unwrap().state,
        BreakerState::Closed { failures: 0 }
    );
}

#[test]
fn what_says_nothing_about_the_service_does_not_open_a_breaker() {
    let fetch = Step { breaker: breaker(2, SECOND), ..step("fetch", policy!("attempts: 9")) };
    let world = World::new(alone(fetch), &|_, _| Ends::Well);
    for (outcome, verdict, failures) in [
        (Outcome::Failed, Verdict::Retry, 1),
        (Outcome::Timeout, Verdict::Retry, 1),
        (Outcome::Signalled, Verdict::Retry, 1),
        (Outcome::Failed, Verdict::Stop, 0),
        (Outcome::SpawnError, Verdict::Retry, 0),
        (Outcome::Cancelled, Verdict::Retry, 0),
        (Outcome::Lost, Verdict::Retry, 0),
    ] {
        let mut machine = world.machine();
        let start = machine.attempt_start(Time::ZERO, TaskId { step: 0, item: None });
        machine.apply(&start).unwrap();
        let end = Record {
            event: Event::AttemptEnd,
            outcome: Some(outcome),
            verdict: Some(verdict),
            ..start
        };
        machine.apply(&end).unwrap();
        let state = machine.breaker(0, Time::ZERO).unwrap().state;
        assert_eq!(state, BreakerState::Closed { failures }, "{outcome:?}, {verdict:?}");
    }
}

#[test]
fn a_probe_that_is_cut_makes_room_for_another() {
    let fetch = Step { breaker: breaker(1, SECOND), ..step("fetch", ONCE) };
    let each = map("each", 0, 1, None);
    let ends = |task: TaskId, _| if task.item == Some(0) { Ends::Badly } else { Ends::Well };
    let mut world = World::new(mapped(each, fetch), &ends);
    (world.items, world.slots) = (3, 1);
    let (_, undisturbed) = run(&mut world);
    let is_start = |record: &Record| record.event == Event::AttemptStart;
    let probe = undisturbed.iter().rposition(|record| is_start(record) && record.item == Some(1));
    // Killed while the probe runs.
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(!world.run(&mut machine, &mut records, probe.unwrap() + 1));
    assert_eq!(starts(&records), [0, 1010]);
    let mut machine = world.resume(&mut records, Duration::ZERO);
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!((machine.counts(0).succeeded, machine.counts(0).dead), (1, 2));
    assert_eq!(starts(&records).len(), 3);
}

#[test]
fn an_open_breaker_keeps_neither_other_steps_nor_a_fallback() {
    let each = Step { breaker: breaker(1, 3600 * SECOND), ..map("each", 0, 2, None) };
    let fetch = Step { on_failure: OnFailure::Continue, ..step("fetch", ONCE) };
    let instead = Step { is_substitute: true, ..step("fetch.fallback", ONCE) };
    let steps = vec![each, inside(0, fetch), inside(0, instead), step("other", ONCE)];
    let ends = |task: TaskId, _| match (task.step, task.item) {
        (1, Some(0)) => Ends::Badly,
        _ => Ends::Well,
    };
    let mut world = World::new(Flow { name: "test".into(), steps }, &ends);
    (world.items, world.slots) = (2, 1);
    let (_, records) = run(&mut world);
    let starts = records.iter().filter(|record| record.event == Event::AttemptStart);
    let starts: Vec<_> =
        starts.map(|record| (record.step.as_deref().unwrap(), millis(record))).collect();
    let (held, at_once) = starts.split_at(3);
    assert!(at_once.iter().all(|(_, at)| *at >= 3_600_000), "{starts:?}");
    assert!(held.iter().all(|(_, at)| *at < 1000), "{starts:?}");
    assert!(held.iter().any(|(name, _)| *name == "fetch.fallback"), "{starts:?}");
    assert!(held.iter().any(|(name, _)| *name == "other"), "{starts:?}");
}

#[test]
fn a_retry_that_the_breaker_keeps_past_its_deadline_gives_up_at_once_and_gets_its_token_back() {
    let each =
        Step { budget: budget(5.0), breaker: breaker(2, 30 * SECOND), ..map("each", 0, 1, None) };
    let flow = mapped(each, step("fetch", policy!("attempts: 5, delay: 1s, within: 5s")));
    let mut world = World::new(flow, &|_, _| Ends::Badly);
    (world.items, world.slots) = (2, 1);
    let (machine, records) = run(&mut world);
    // The first waits for its retry when the second opens the breaker.
    assert_eq!((starts(&records), retries(&records)), (vec![0, 10], 1));
    assert_eq!(reasons(&records), ["breaker-open"; 2]);
    assert_eq!(millis(records.last().unwrap()), 20);
    assert_eq!(machine.budget(0).unwrap().tokens, 5.0);
}

#[test]
fn an_attempt_that_could_start_only_after_its_deadline_is_not_made() {
    let rate = Rate { count: NonZeroU32::MIN, per: 60 * SECOND };
    let policy = policy!("attempts: 5, delay: 1s, within: 5s");
    let fetch = Step { rate: Some(rate), ..step("fetch", policy) };
    let (_, records) = run(&mut World::new(alone(fetch), &|_, _| Ends::Badly));
    assert_eq!(starts(&records), [0]);
    assert_eq!(reasons(&records), ["deadline"]);
}

#[test]
fn several_probes_have_to_succeed_where_that_many_are_wanted() {
    let failed = Cell::new(0);
    let ends = |_, _| match failed.replace(failed.get() + 1) {
        0 => Ends::Badly,
        _ => Ends::Well,
    };
    let twice = BreakerSettings { failures: 1, recovery: SECOND, probes: 2 };
    let each = Step { breaker: Some(twice), ..map("each", 0, 1, None) };
    let mut world = World::new(mapped(each, step("fetch", ONCE)), &ends);
    (world.items, world.slots) = (6, 3);
    let (_, records) = run(&mut world);
    assert_eq!(starts(&records), [0, 0, 0, 1010, 1010, 1020]);
}
