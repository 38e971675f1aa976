//! What the machine says comes next.

use std::time::Duration;

use redial_core::{Time, policy};
use redial_flow::flow::{FailuresMax, Flow, NeedKind, ONCE, OnFailure, Rate, Step};
use redial_flow::machine::{Counts, End, ItemState, Next, Supply, TaskId};
use redial_flow::record::{Action, Event, Outcome, Record};

use crate::world::{Ends, World, inside, map, needs, slots, step};

fn flow(steps: impl Into<Vec<Step>>) -> Flow {
    Flow { name: "test".into(), steps: steps.into() }
}

fn alone(step: u32) -> TaskId {
    TaskId { step, item: None }
}

fn run(world: &mut World<'_>) -> (redial_flow::machine::Machine, Vec<Record>) {
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    (machine, records)
}

fn starts(records: &[Record]) -> Vec<(String, u64)> {
    let starts = records.iter().filter(|record| record.event == Event::AttemptStart);
    starts
        .map(|record| (record.step.clone().unwrap().into(), record.time().as_nanos() / 1_000_000))
        .collect()
}

#[test]
fn steps_run_in_the_order_of_what_they_need() {
    let last = needs(needs(step("last", ONCE), 0, NeedKind::Over), 1, NeedKind::Output);
    let mut world =
        World::new(flow([step("one", ONCE), step("two", ONCE), last]), &|_, _| Ends::Well);
    let (machine, records) = run(&mut world);
    assert_eq!(starts(&records), [("one".into(), 0), ("two".into(), 0), ("last".into(), 10)]);
    assert_eq!(machine.end(2), Some(End::Succeeded));
}

#[test]
fn the_delays_are_those_of_the_policy() {
    let policy = policy!("attempts: 4, delay: 100ms, backoff: exponential");
    let mut world = World::new(flow([step("fetch", policy)]), &|_, _| Ends::Badly);
    let (machine, records) = run(&mut world);
    let at = [0, 110, 320, 730].map(|at| ("fetch".to_owned(), at));
    assert_eq!(starts(&records), at);
    assert_eq!(machine.end(0), Some(End::Dead));
    let dead = records.iter().find(|record| record.event == Event::Dead).unwrap();
    assert_eq!(dead.reason.as_deref(), Some("attempts-spent"));
}

#[test]
fn jitter_is_that_of_a_plan_with_the_seed_of_the_task() {
    let policy = policy!("attempts: 9, delay: 100ms, backoff: exponential, jitter: full");
    let mut world = World::new(flow([step("fetch", policy)]), &|_, _| Ends::Badly);
    let (machine, records) = run(&mut world);
    let random = redial_core::SplitMix64::new(machine.seed(alone(0)));
    let planned: Vec<_> = policy.delays(random).map(|delay| delay.as_nanos() as u64).collect();
    let waited: Vec<_> =
        records.iter().filter(|record| record.action == Some(Action::Retry)).collect();
    let waited: Vec<_> = waited.into_iter().map(|record| record.delay_ns.unwrap()).collect();
    assert_eq!(waited, planned);
    assert_eq!(planned.len(), 8);
}

#[test]
fn what_needs_a_dead_step_does_not_run_and_the_rest_does() {
    let after = needs(step("after", ONCE), 0, NeedKind::Over);
    let ends = |task: TaskId, _| if task.step == 0 { Ends::Badly } else { Ends::Well };
    let mut world = World::new(flow([step("bad", ONCE), after, step("other", ONCE)]), &ends);
    let (machine, _) = run(&mut world);
    assert_eq!(
        [0, 1, 2].map(|step| machine.end(step).unwrap()),
        [End::Dead, End::Blocked, End::Succeeded]
    );
}

#[test]
fn a_step_may_fail_and_be_passed_over() {
    let bad = Step { on_failure: OnFailure::Continue, ..step("bad", ONCE) };
    let after = needs(step("after", ONCE), 0, NeedKind::Output);
    let ends = |task: TaskId, _| if task.step == 0 { Ends::Badly } else { Ends::Well };
    let mut world = World::new(flow([bad, after]), &ends);
    let (machine, _) = run(&mut world);
    assert_eq!([0, 1].map(|step| machine.end(step).unwrap()), [End::Continued, End::Succeeded]);
}

#[test]
fn a_fallback_takes_the_place_of_what_gave_up() {
    let bad = Step { on_failure: OnFailure::Fallback, ..step("bad", ONCE) };
    let mut world = World::new(flow([bad]), &|_, _| Ends::Badly);
    let (machine, records) = run(&mut world);
    assert_eq!(machine.end(0), Some(End::Recovered));
    assert_eq!(records.last().unwrap().outcome, Some(Outcome::Recovered));
}

fn mapped(failures_max: Option<FailuresMax>, inner: Step) -> Flow {
    let join = needs(step("join", ONCE), 0, NeedKind::Over);
    flow([map("each", 0, 2, failures_max), inside(0, inner), inside(0, step("second", ONCE)), join])
}

#[test]
fn each_item_goes_through_all_inner_steps_and_the_join_waits_for_all() {
    let mut world = World::new(mapped(None, step("first", ONCE)), &|_, _| Ends::Well);
    world.items = 5;
    let (machine, records) = run(&mut world);
    assert_eq!(machine.counts(0), Counts { known: 5, succeeded: 5, ..Counts::default() });
    assert_eq!(starts(&records).len(), 11);
    assert_eq!(starts(&records).last().unwrap().0, "join");
}

#[test]
fn an_empty_map_succeeds_and_its_join_runs() {
    let mut world = World::new(mapped(None, step("first", ONCE)), &|_, _| Ends::Well);
    let (machine, records) = run(&mut world);
    assert_eq!(starts(&records), [("join".into(), 0)]);
    assert_eq!(machine.end(0), Some(End::Succeeded));
}

#[test]
fn a_dead_item_does_not_keep_the_others_or_the_join() {
    let ends = |task: TaskId, _| if task.item == Some(1) { Ends::Badly } else { Ends::Well };
    let mut world = World::new(mapped(None, step("first", ONCE)), &ends);
    world.items = 4;
    let (machine, _) = run(&mut world);
    assert_eq!(machine.counts(0), Counts { known: 4, succeeded: 3, dead: 1, ..Counts::default() });
    assert_eq!((machine.item(0, 1), machine.end(3)), (Some(ItemState::Dead), Some(End::Succeeded)));
}

#[test]
fn a_join_that_needs_all_does_not_run_after_a_dead_item() {
    let ends = |task: TaskId, _| if task.item == Some(1) { Ends::Badly } else { Ends::Well };
    let mut flow = mapped(None, step("first", ONCE));
    flow.steps[3].needs[0].kind = NeedKind::All;
    let mut world = World::new(flow, &ends);
    world.items = 4;
    let (machine, _) = run(&mut world);
    assert_eq!(machine.end(3), Some(End::Blocked));
}

#[test]
fn beyond_the_bound_of_failures_nothing_new_starts() {
    for (max, expected) in [(FailuresMax::Count(2), 4), (FailuresMax::Millionths(200_000), 11)] {
        let mut world = World::new(mapped(Some(max), step("first", ONCE)), &|_, _| Ends::Badly);
        world.items = 100;
        let (machine, records) = run(&mut world);
        assert_eq!(machine.end(0), Some(End::Dead));
        assert_eq!(machine.end(3), Some(End::Blocked));
        let started = starts(&records).len();
        assert!(started <= expected, "{started} of at most {expected}");
    }
}

#[test]
fn an_item_that_waits_holds_no_slot() {
    let policy = policy!("attempts: 2, delay: 1h");
    let ends = |_, attempt| if attempt == 1 { Ends::Badly } else { Ends::Well };
    let first = Step { slots: slots(1), ..step("first", policy) };
    let mut world = World::new(mapped(None, first), &ends);
    world.items = 50;
    let (_, records) = run(&mut world);
    // All make their first attempt before any makes its second.
    let first: Vec<_> = starts(&records).into_iter().filter(|(name, _)| name == "first").collect();
    assert!(first[..50].iter().all(|(_, at)| *at < 1000), "{first:?}");
    assert!(first[50..].iter().all(|(_, at)| *at >= 3_600_000), "{first:?}");
}

#[test]
fn no_window_has_more_starts_than_the_rate_says() {
    let rate = Rate { count: std::num::NonZeroU32::new(7).unwrap(), per: Duration::from_secs(1) };
    let first = Step { rate: Some(rate), ..step("first", policy!("attempts: 3, delay: 5ms")) };
    let ends = |task: TaskId, attempt| {
        if task.item.is_some_and(|item| item % 3 == 0) && attempt < 3 {
            Ends::Badly
        } else {
            Ends::Well
        }
    };
    let mut world = World::new(mapped(None, first), &ends);
    (world.items, world.slots) = (40, 8);
    let (_, records) = run(&mut world);
    let at: Vec<_> = starts(&records)
        .into_iter()
        .filter(|(name, _)| name == "first")
        .map(|(_, at)| at)
        .collect();
    assert!(at.len() > 40);
    for (index, start) in at.iter().enumerate() {
        let within = at[index..].iter().filter(|other| **other < start + 1000).count();
        assert!(within <= 7, "{within} from {start} on");
    }
}

#[test]
fn a_rate_does_not_keep_other_steps() {
    let rate = Rate { count: std::num::NonZeroU32::new(1).unwrap(), per: Duration::from_secs(60) };
    let first = Step { rate: Some(rate), ..step("first", ONCE) };
    let mut flow = mapped(None, first);
    flow.steps.push(step("other", ONCE));
    let mut world = World::new(flow, &|_, _| Ends::Well);
    world.items = 3;
    let (_, records) = run(&mut world);
    let other = starts(&records).into_iter().find(|(name, _)| name == "other").unwrap();
    assert!(other.1 < 60_000, "{other:?}");
}

#[test]
fn the_highest_priority_of_what_is_due_starts_first() {
    let high = Step { priority: 5, ..step("high", ONCE) };
    let mut world = World::new(flow([step("low", ONCE), high]), &|_, _| Ends::Well);
    world.slots = 1;
    let (_, records) = run(&mut world);
    assert_eq!(starts(&records)[0].0, "high");
}

#[test]
fn an_item_that_is_still_to_be_read_starts_before_what_has_a_lower_priority() {
    let high = Step { priority: 5, ..step("high", ONCE) };
    let mut flow = mapped(None, high);
    flow.steps.extend((0..3).map(|at| step(&format!("low {at}"), ONCE)));
    let mut world = World::new(flow, &|_, _| Ends::Well);
    (world.slots, world.items) = (1, 3);
    let (_, records) = run(&mut world);
    let names: Vec<_> = starts(&records).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names[..3], ["high", "high", "high"], "{names:?}");
}

#[test]
fn a_delay_that_the_command_asks_for_is_waited_exactly() {
    let ends = |_, attempt| if attempt == 1 { Ends::Asking(777) } else { Ends::Well };
    let mut world = World::new(flow([step("one", policy!("attempts: 3, delay: 5s"))]), &ends);
    let (_, records) = run(&mut world);
    assert_eq!(starts(&records), [("one".into(), 0), ("one".into(), 787)]);
}

#[test]
fn what_no_rule_retries_is_dead_at_once() {
    let mut world = World::new(flow([step("one", policy!("attempts: 3"))]), &|_, _| Ends::ForGood);
    let (_, records) = run(&mut world);
    assert_eq!(records.last().unwrap().reason.as_deref(), Some("rejected"));
    assert_eq!(starts(&records).len(), 1);
}

#[test]
fn a_dead_letter_that_is_retried_runs_what_needs_it_again() {
    let fails = std::cell::Cell::new(true);
    let ends = |task: TaskId, _| {
        if task.item == Some(1) && fails.get() { Ends::Badly } else { Ends::Well }
    };
    let mut world = World::new(mapped(None, step("first", policy!("attempts: 2"))), &ends);
    world.items = 3;
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!(machine.counts(0).dead, 1);
    fails.set(false);
    let task = TaskId { step: 1, item: Some(1) };
    let retry = Record { generation: 1, ..machine.record(machine.time(), Event::DeadRetry, task) };
    machine.apply(&retry).unwrap();
    let before = records.len();
    records.push(retry);
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    let again: Vec<_> = starts(&records[before..]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(again, ["first", "second", "join"]);
    assert_eq!(machine.counts(0), Counts { known: 3, succeeded: 3, ..Counts::default() });
    assert_eq!(machine.end(3), Some(End::Succeeded));
}

#[test]
fn records_that_no_run_can_have_written_are_refused() {
    let world = World::new(mapped(None, step("first", ONCE)), &|_, _| Ends::Well);
    let mut machine = world.machine();
    let start = machine.attempt_start(Time::ZERO, TaskId { step: 1, item: Some(0) });
    let refused = |machine: &mut redial_flow::machine::Machine, record: Record| {
        machine.apply(&record).expect_err("refused").to_string()
    };
    let second = Record { attempt: Some(2), ..start.clone() };
    assert_eq!(
        refused(&mut machine, second),
        "attempt.start of `first`, item 0, attempt 2: 0 attempts were counted before",
    );
    let mut machine = world.machine();
    let unknown = Record { step: Some("nope".into()), ..start.clone() };
    assert!(refused(&mut machine, unknown).ends_with("the flow has no such step"));
    let no_item = Record { item: None, ..start.clone() };
    assert!(refused(&mut machine, no_item).ends_with("it names no item"));
    let end = Record { event: Event::AttemptEnd, ..start.clone() };
    assert!(refused(&mut machine, end).ends_with("no such attempt is running"));
    machine.apply(&start).unwrap();
    assert!(refused(&mut machine, start).ends_with("the task is not waiting for an attempt"));
}

#[test]
fn an_item_that_died_without_an_attempt_is_known_when_the_run_is_replayed() {
    let world = World::new(mapped(None, step("first", ONCE)), &|_, _| Ends::Well);
    let mut machine = world.machine();
    let dead = |step| machine.record(Time::ZERO, Event::Dead, TaskId { step, item: Some(3) });
    let [first, second] = [dead(1), dead(2)];
    let refused = machine.apply(&second).expect_err("it has not come to its second step");
    assert!(refused.to_string().ends_with("at another step"), "{refused}");
    machine.apply(&first).unwrap();
    assert_eq!(machine.counts(0), Counts { known: 4, dead: 1, ..Counts::default() });
    assert!(machine.apply(&first).is_err(), "it is dead once");
    let skipped = Record { outcome: Some(Outcome::Skipped), event: Event::StepEnd, ..first };
    assert!(machine.apply(&skipped).is_err(), "and is not skipped then");
    // The join has not been reached, and a step is no map.
    let join = machine.record(Time::ZERO, Event::Dead, alone(3));
    assert!(machine.apply(&join).is_err());
    let items = Record { event: Event::ItemsEnd, items: Some(1), ..join };
    assert!(machine.apply(&items).is_err());
}

#[test]
fn a_source_that_breaks_off_fails_its_map_once_its_items_are_over() {
    let mut world = World::new(mapped(None, step("first", ONCE)), &|_, _| Ends::Well);
    let mut machine = world.machine();
    machine.admit(0, 0);
    let end = Record {
        items: Some(1),
        reason: Some("bad-source".into()),
        ..machine.record(Time::ZERO, Event::ItemsEnd, alone(0))
    };
    machine.apply(&end).unwrap();
    assert_eq!(machine.end(0), None, "an item is under way");
    assert!(world.run(&mut machine, &mut Vec::new(), usize::MAX));
    assert_eq!([0, 3].map(|step| machine.end(step).unwrap()), [End::Dead, End::Blocked]);
}

#[test]
fn dead_letters_from_before_a_source_is_read_again_do_not_stop_it() {
    let mut world =
        World::new(mapped(Some(FailuresMax::Count(0)), step("first", ONCE)), &|_, _| Ends::Well);
    let mut machine = world.machine();
    let dead = machine.record(Time::ZERO, Event::Dead, TaskId { step: 1, item: Some(0) });
    machine.apply(&dead).unwrap();
    let Next::Write(stop) = machine.next(Time::ZERO, true, &mut |_| Supply::Item) else {
        panic!("it is not stopped");
    };
    machine.apply(&stop).unwrap();
    assert!(machine.is_stopped(0));
    machine.expect_more_items();
    world.items = 3;
    assert!(world.run(&mut machine, &mut Vec::new(), usize::MAX));
    let counts = Counts { known: 3, succeeded: 2, dead: 1, ..Counts::default() };
    assert_eq!((machine.counts(0), machine.end(0)), (counts, Some(End::Succeeded)));
}

#[test]
fn the_end_of_a_source_needs_no_place_in_the_rate() {
    let rate = Rate { count: std::num::NonZeroU32::MIN, per: Duration::from_secs(3600) };
    let mut slow = mapped(None, step("first", ONCE));
    slow.steps[0].rate = Some(rate);
    slow.steps[0].place = map("each", 0, 1, None).place;
    slow.steps.remove(2);
    let mut world = World::new(slow, &|_, _| Ends::Well);
    world.items = 1;
    let (_, records) = run(&mut world);
    assert!(records.last().unwrap().time() < Time::ZERO.after(Duration::from_secs(1)));
}

#[test]
fn what_was_cut_or_killed_does_not_run_again_where_it_must_not_run_twice() {
    let policy = policy!("attempts: 3, delay: 1ms");
    for (outcome, attempts, reason) in [
        (Outcome::Timeout, 1, "may-have-succeeded"),
        (Outcome::Signalled, 1, "may-have-succeeded"),
        (Outcome::Lost, 1, "may-have-succeeded"),
        // The command itself said so, or was never there.
        (Outcome::Failed, 3, "attempts-spent"),
        (Outcome::SpawnError, 3, "attempts-spent"),
    ] {
        for on_failure in [OnFailure::Stop, OnFailure::Continue, OnFailure::Fallback] {
            let pay = Step { is_idempotent: false, on_failure, ..step("pay", policy) };
            let ends = |_, _| Ends::With(outcome);
            let mut world = World::new(flow([pay]), &ends);
            let (machine, records) = run(&mut world);
            assert_eq!(starts(&records).len(), attempts, "{outcome:?}, {on_failure:?}");
            let last = records.last().unwrap();
            assert_eq!(last.reason.as_deref(), Some(reason), "{outcome:?}, {on_failure:?}");
            // Neither a fallback nor the rest of the flow takes it for a failure.
            if attempts == 1 {
                assert_eq!(machine.end(0), Some(End::Dead), "{outcome:?}, {on_failure:?}");
            }
        }
    }
}
