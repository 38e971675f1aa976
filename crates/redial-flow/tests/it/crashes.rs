//! A crash after every record, exhaustively, and the same twice.

use std::collections::BTreeMap;
use std::time::Duration;

use redial_core::policy;
use redial_flow::flow::{Flow, NeedKind, ONCE, OnFailure, Rate, Step};
use redial_flow::machine::{Counts, End, Machine, TaskId};
use redial_flow::record::{Action, Event, Outcome, Record};

use crate::world::{Ends, World, inside, map, needs, step};

const ATTEMPTS: u32 = 6;

/// A map with a fallback, a rate and dead letters, and what needs it.
fn flow() -> Flow {
    let rate = Rate { count: std::num::NonZeroU32::new(50).unwrap(), per: Duration::from_secs(1) };
    let fetch = policy!("attempts: 6, delay: 40ms, backoff: exponential, jitter: full");
    let fetch = Step { rate: Some(rate), ..step("fetch", fetch) };
    let score = Step {
        on_failure: OnFailure::Fallback,
        ..step("score", policy!("attempts: 2, delay: 1ms"))
    };
    let join = needs(step("join", policy!("attempts: 6")), 1, NeedKind::Over);
    Flow {
        name: "crashes".into(),
        steps: vec![
            step("list", policy!("attempts: 6")),
            needs(map("each", 1, 2, None), 0, NeedKind::Output),
            inside(1, fetch),
            inside(1, score),
            join,
        ],
    }
}

/// Item 1 fails twice, item 2 for good, and the second step of item 3 always.
fn ends(task: TaskId, attempt: u32) -> Ends {
    match (task.step, task.item) {
        (2, Some(1)) if attempt <= 2 => Ends::Badly,
        (2, Some(2)) => Ends::ForGood,
        (3, Some(3)) => Ends::Badly,
        _ => Ends::Well,
    }
}

fn world() -> World<'static> {
    let mut world = World::new(flow(), &ends);
    world.items = 5;
    world
}

fn undisturbed() -> (Machine, Vec<Record>) {
    let mut world = world();
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    (machine, records)
}

/// What holds of every run, however often it was killed.
fn check(world: &World<'_>, machine: &Machine, records: &[Record], after: &str) {
    let mut counted: BTreeMap<_, u32> = BTreeMap::new();
    let mut succeeded = std::collections::BTreeSet::new();
    for record in records {
        let task = (record.step.clone(), record.item);
        match record.event {
            Event::AttemptStart => {
                assert!(
                    !succeeded.contains(&task),
                    "{after}: {task:?} runs again after its success"
                );
                let count = counted.entry(task).or_default();
                *count += 1;
                assert!(*count <= ATTEMPTS, "{after}: a seventh attempt");
            }
            Event::AttemptEnd if record.outcome == Some(Outcome::Succeeded) => {
                succeeded.insert(task);
            }
            _ => {}
        }
    }
    for (task, attempts) in &world.ran {
        let mut numbers = attempts.clone();
        numbers.dedup();
        assert_eq!(&numbers, attempts, "{after}: an attempt of {task:?} ran twice");
    }
    // The delays of each task are those of its policy with its seed, without a gap.
    for step in [0, 2, 3, 4] {
        let policy = machine.flow().steps[step as usize].policy;
        for item in (0..5).map(Some).chain([None]) {
            let task = TaskId { step, item };
            let name = &machine.flow().steps[step as usize].name;
            let of_task =
                |record: &&Record| record.step.as_deref() == Some(name) && record.item == item;
            let waits = records
                .iter()
                .filter(of_task)
                .filter(|record| record.action == Some(Action::Retry));
            let waits: Vec<_> = waits.map(|record| record.delay_ns.unwrap()).collect();
            let random = redial_core::SplitMix64::new(machine.seed(task));
            let planned: Vec<_> =
                policy.delays(random).map(|delay| delay.as_nanos() as u64).collect();
            assert!(
                planned.starts_with(&waits),
                "{after}: {task:?} waits {waits:?}, planned {planned:?}"
            );
        }
    }
}

fn result(machine: &Machine) -> (Counts, Option<End>) {
    (machine.counts(1), machine.end(4))
}

#[test]
fn a_kill_after_any_record_changes_nothing_but_lost_attempts() {
    let (whole, all) = undisturbed();
    assert_eq!(
        whole.counts(1),
        Counts { known: 5, succeeded: 3, recovered: 1, dead: 1, ..Counts::default() }
    );
    assert!(all.len() > 30, "{} records", all.len());
    for first in 0..=all.len() {
        for second in [usize::MAX, 3, 7] {
            let mut world = world();
            let mut machine = world.machine();
            let mut records = Vec::new();
            let mut kills = [first, second].into_iter();
            loop {
                let so_far = if records.is_empty() { 0 } else { records.len() };
                let kill_after = kills.next().unwrap_or(usize::MAX).saturating_add(so_far);
                if world.run(&mut machine, &mut records, kill_after) {
                    break;
                }
                machine = world.resume(&mut records, Duration::from_millis(5));
            }
            let after = format!("killed after {first} and {second}");
            check(&world, &machine, &records, &after);
            // Two kills cost two attempts at most; every task that can succeed has more to spare.
            assert_eq!(result(&machine).1, result(&whole).1, "{after}");
            let (counts, whole) = (machine.counts(1), whole.counts(1));
            assert_eq!(counts.dead, whole.dead, "{after}");
            assert_eq!(
                counts.succeeded + counts.recovered,
                whole.succeeded + whole.recovered,
                "{after}"
            );
        }
    }
}

#[test]
fn a_wait_is_taken_up_and_never_longer_than_the_whole_delay() {
    let ends = |_, attempt| if attempt == 1 { Ends::Badly } else { Ends::Well };
    let flow =
        Flow { name: "wait".into(), steps: vec![step("one", policy!("attempts: 2, delay: 10s"))] };
    for (downtime, started_at) in [(0, 10_010), (4_000, 10_010), (60_000, 60_010)] {
        let mut world = World::new(flow.clone(), &ends);
        let mut machine = world.machine();
        let mut records = Vec::new();
        assert!(!world.run(&mut machine, &mut records, 3));
        let mut machine = world.resume(&mut records, Duration::from_millis(downtime));
        assert!(world.run(&mut machine, &mut records, usize::MAX));
        let mut starts = records.iter().filter(|record| record.event == Event::AttemptStart);
        let last = starts.next_back().unwrap().time().as_nanos() / 1_000_000;
        assert_eq!(last, started_at, "{downtime} ms later");
    }
}

#[test]
fn an_attempt_that_may_have_succeeded_does_not_run_again_where_it_must_not() {
    let once = Step { is_idempotent: false, ..step("pay", policy!("attempts: 5")) };
    let mut world = World::new(Flow { name: "pay".into(), steps: vec![once] }, &|_, _| Ends::Well);
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(!world.run(&mut machine, &mut records, 1));
    let mut machine = world.resume(&mut records, Duration::ZERO);
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    let last = records.last().unwrap();
    assert_eq!((last.event, last.reason.as_deref()), (Event::Dead, Some("may-have-succeeded")));
    assert_eq!(records.iter().filter(|record| record.event == Event::AttemptStart).count(), 1);
}

#[test]
fn a_step_with_one_attempt_is_dead_when_that_is_lost() {
    let mut world =
        World::new(Flow { name: "once".into(), steps: vec![step("one", ONCE)] }, &|_, _| {
            Ends::Well
        });
    let mut machine = world.machine();
    let mut records = Vec::new();
    assert!(!world.run(&mut machine, &mut records, 1));
    let mut machine = world.resume(&mut records, Duration::ZERO);
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!(machine.end(0), Some(End::Dead));
}
