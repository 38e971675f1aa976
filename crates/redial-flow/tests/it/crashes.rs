//! A crash after every record, exhaustively, and the same twice.

use std::collections::BTreeMap;
use std::time::Duration;

use redial_core::{AsPolicy, Time, policy};
use redial_flow::flow::{
    BreakerSettings, BudgetSettings, FailuresMax, Flow, NeedKind, ONCE, OnFailure, Rate, Step,
};
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
        let policy = machine.flow().steps[step as usize].policy.as_policy();
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

const RETRIES: f64 = 7.0;
const FAILURES: u32 = 3;
const RECOVERY: Duration = Duration::from_millis(200);

/// A map whose steps share a budget and a breaker, one of them with a budget of its own, and a step beside it.
fn shared_flow() -> Flow {
    let budget =
        BudgetSettings { capacity: RETRIES, deposit: 0.1, cost: 1.0, floor_per_second: 0.0 };
    let breaker = BreakerSettings { failures: FAILURES, recovery: RECOVERY, probes: 1 };
    let each = Step { budget: Some(budget), breaker: Some(breaker), ..map("each", 0, 2, None) };
    let own = BudgetSettings { capacity: 2.0, floor_per_second: 1.5, ..budget };
    let fetch = policy!("attempts: 6, delay: 40ms, backoff: exponential, jitter: full");
    let score = Step { budget: Some(own), ..step("score", policy!("attempts: 3, delay: 300ms")) };
    let beside = Step { breaker: Some(breaker), ..step("beside", policy!("attempts: 6")) };
    let steps = vec![each, inside(0, step("fetch", fetch)), inside(0, score), beside];
    Flow { name: "shared".into(), steps }
}

/// The first items fail at first, and every second one in its second step.
fn shared_ends(task: TaskId, attempt: u32) -> Ends {
    match (task.step, task.item) {
        (1, Some(0..6)) if attempt <= 3 => Ends::Badly,
        (2, Some(item)) if item % 2 == 1 && attempt <= 2 => Ends::Badly,
        (3, _) if attempt <= 2 => Ends::Badly,
        _ => Ends::Well,
    }
}

fn shared_world() -> World<'static> {
    let mut world = World::new(shared_flow(), &shared_ends);
    world.items = 12;
    world
}

/// The state of every budget and breaker.
fn shared_state(machine: &Machine) -> String {
    let of_step =
        |step| format!("{:?} {:?}", machine.budget(step), machine.breaker(step, machine.time()));
    [0, 1, 2, 3].map(of_step).join("\n")
}

/// A breaker in a few lines, by the records of the map and its steps: none starts that it would not admit.
fn check_breaker(records: &[Record], after: &str) {
    let (mut failed, mut open_until, mut probe) = (0, None, None);
    // Attempts that were admitted before the breaker last changed its state do not count.
    let mut admitted = std::collections::BTreeSet::new();
    for record in records.iter().filter(|record| record.item.is_some()) {
        let task = (record.step.clone(), record.item);
        match record.event {
            Event::AttemptStart => {
                assert_eq!(probe, None, "{after}: a second probe at {}", record.t);
                if let Some(until) = open_until {
                    assert!(record.time() >= until, "{after}: a start at {} while open", record.t);
                    (open_until, probe) = (None, Some(task.clone()));
                    admitted.clear();
                }
                admitted.insert(task);
            }
            Event::AttemptEnd if admitted.remove(&task) => match record.outcome {
                Some(Outcome::Succeeded) => {
                    failed = 0;
                    if probe.take().is_some() {
                        admitted.clear();
                    }
                }
                Some(Outcome::Failed) => {
                    failed += 1;
                    if probe.take().is_some() || failed >= FAILURES {
                        (failed, open_until) = (0, Some(record.time().after(RECOVERY)));
                        admitted.clear();
                    }
                }
                // A lost probe makes room for another, at once.
                _ if probe.take().is_some() => open_until = Some(record.time()),
                _ => {}
            },
            _ => {}
        }
    }
}

#[test]
fn a_budget_and_a_breaker_are_what_the_records_say() {
    let mut undisturbed = shared_world();
    let mut machine = undisturbed.machine();
    let mut all = Vec::new();
    assert!(undisturbed.run(&mut machine, &mut all, usize::MAX));
    let gave_up = |reason: &str| all.iter().any(|record| record.reason.as_deref() == Some(reason));
    assert!(gave_up("budget") && gave_up("breaker-open"), "each of them has a word in it");
    check_breaker(&all, "undisturbed");

    // A machine that is made anew from the records after each of them decides the same, to the nanosecond.
    let mut replaying = shared_world();
    replaying.replays = true;
    let mut again = replaying.machine();
    let mut records = Vec::new();
    assert!(replaying.run(&mut again, &mut records, usize::MAX));
    assert_eq!(records, all);
    assert_eq!(shared_state(&again), shared_state(&machine));
}

#[test]
fn a_kill_after_any_record_loses_no_token_and_admits_no_attempt_too_many() {
    let mut undisturbed = shared_world();
    let mut machine = undisturbed.machine();
    let mut all = Vec::new();
    assert!(undisturbed.run(&mut machine, &mut all, usize::MAX));
    for first in 0..=all.len() {
        for second in [usize::MAX, 5] {
            let after = format!("killed after {first} and {second}");
            let mut world = shared_world();
            let mut machine = world.machine();
            let mut records = Vec::new();
            let mut kills = [first, second].into_iter();
            loop {
                let kill_after = kills.next().unwrap_or(usize::MAX).saturating_add(records.len());
                if world.run(&mut machine, &mut records, kill_after) {
                    break;
                }
                let before = shared_state(&machine);
                assert_eq!(shared_state(&world.replayed(&records)), before, "{after}");
                machine = world.resume(&mut records, Duration::from_millis(5));
            }
            check_breaker(&records, &after);
            let retries = records
                .iter()
                .filter(|record| record.action == Some(Action::Retry) && record.item.is_some());
            // Twelve items with two tasks each, which bring a tenth of a token each.
            let most = RETRIES + 24.0 * 0.1;
            assert!(retries.count() as f64 <= most, "{after}");
            let counts = machine.counts(0);
            assert_eq!(counts.finished(), 12, "{after}");
            assert_eq!(machine.end(3), Some(End::Succeeded), "{after}");
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

/// What takes no arm is skipped; who names it is, too, or its fallback takes its place, which may be a command.
fn skipping_flow() -> Flow {
    let output = |step: Step, other: u32| needs(step, other, NeedKind::Output);
    let value = Step { on_failure: OnFailure::Fallback, ..step("value", ONCE) };
    let command = Step { on_failure: OnFailure::Continue, ..step("command", ONCE) };
    let substitute =
        Step { is_substitute: true, ..step("command.fallback", policy!("attempts: 6")) };
    Flow {
        name: "skipping".into(),
        steps: vec![
            step("branch", ONCE),
            needs(step("arm", ONCE), 0, NeedKind::Taken),
            output(step("after", ONCE), 0),
            output(value, 2),
            output(command, 0),
            needs(substitute, 4, NeedKind::Over),
            output(map("each", 6, 1, None), 2),
            inside(6, step("inner", ONCE)),
            needs(step("last", policy!("attempts: 6")), 6, NeedKind::Over),
        ],
    }
}

#[test]
fn a_kill_after_any_record_skips_and_recovers_each_step_once() {
    let ends = |task: TaskId, _| match task.step {
        0 => Ends::Taking(None),
        _ => Ends::Well,
    };
    let mut undisturbed = World::new(skipping_flow(), &ends);
    let mut machine = undisturbed.machine();
    let mut all = Vec::new();
    assert!(undisturbed.run(&mut machine, &mut all, usize::MAX));
    let outcomes = |records: &[Record]| -> BTreeMap<String, Option<Outcome>> {
        let ends = records.iter().filter(|record| record.event == Event::StepEnd);
        let mut found = BTreeMap::new();
        for record in ends {
            let step = record.step.as_deref().unwrap().to_owned();
            assert!(found.insert(step.clone(), record.outcome).is_none(), "{step} ended twice");
        }
        found
    };
    let expected = [
        ("after", Outcome::Skipped),
        ("branch", Outcome::Skipped),
        ("command", Outcome::Failed),
        ("each", Outcome::Skipped),
        ("value", Outcome::Recovered),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(step, outcome)| (step.to_owned(), Some(outcome))).collect();
    assert_eq!(outcomes(&all), expected);
    for kill_after in 0..=all.len() {
        let mut world = World::new(skipping_flow(), &ends);
        let mut machine = world.machine();
        let mut records = Vec::new();
        if !world.run(&mut machine, &mut records, kill_after) {
            machine = world.resume(&mut records, Duration::from_millis(5));
            assert!(world.run(&mut machine, &mut records, usize::MAX));
        }
        let after = format!("killed after {kill_after}");
        assert_eq!(outcomes(&records), expected, "{after}");
        let all_ends: Vec<_> = (0..9).map(|step| machine.end(step)).collect();
        assert_eq!(all_ends[3], Some(End::Recovered), "{after}");
        assert_eq!(all_ends[5], Some(End::Succeeded), "{after}");
        assert_eq!(all_ends[8], Some(End::Succeeded), "{after}");
    }
}

/// Runs to the end, killed once after so many records.
fn killed_once(world: &mut World<'_>, kill_after: usize, records: &mut Vec<Record>) -> Machine {
    let mut machine = world.replayed(records);
    if !world.run(&mut machine, records, kill_after) {
        machine = world.resume(records, Duration::from_millis(5));
        assert!(world.run(&mut machine, records, usize::MAX));
    }
    machine
}

fn joined_map(failures_max: Option<FailuresMax>) -> Flow {
    let inner = inside(0, step("inner", policy!("attempts: 6")));
    let join = needs(step("join", policy!("attempts: 6")), 0, NeedKind::Over);
    Flow { name: "joined".into(), steps: vec![map("each", 0, 1, failures_max), inner, join] }
}

fn of_map(event: Event) -> Record {
    Record { step: Some("each".into()), ..Record::new("run", Time::ZERO, event) }
}

#[test]
fn a_map_whose_source_breaks_is_one_dead_letter_and_its_retry_reads_on() {
    let fails = std::cell::Cell::new(true);
    let ends = |task: TaskId, _| match task.item {
        Some(1) if fails.get() => Ends::ForGood,
        _ => Ends::Well,
    };
    for kill_after in 0..12 {
        fails.set(true);
        let after = format!("killed after {kill_after}");
        let mut world = World::new(joined_map(None), &ends);
        (world.items, world.breaks) = (3, Some("line 4"));
        let mut records = Vec::new();
        let machine = killed_once(&mut world, kill_after, &mut records);
        assert_eq!((machine.end(0), machine.end(2)), (Some(End::Dead), Some(End::Blocked)));
        assert!(machine.is_dead_letter(0), "{after}");
        let letters = |records: &[Record]| {
            let of_map = |record: &&Record| record.event == Event::Dead && record.item.is_none();
            records.iter().filter(of_map).cloned().collect::<Vec<_>>()
        };
        let [letter] = &letters(&records)[..] else { panic!("{after}: {records:?}") };
        let why = (letter.reason.as_deref(), letter.message.as_deref());
        assert_eq!(why, (Some("bad-source"), Some("line 4")), "{after}");

        // The source is mended, and has two more. What is dead stays so.
        records.push(Record { generation: 1, ..of_map(Event::DeadRetry) });
        (world.items, world.breaks) = (5, None);
        let machine = killed_once(&mut world, records.len() + kill_after, &mut records);
        assert_eq!(machine.counts(0).succeeded, 4, "{after}");
        assert_eq!(machine.counts(0).dead, 1, "{after}");
        assert_eq!(machine.end(2), Some(End::Succeeded), "{after}");
        assert_eq!(letters(&records).len(), 1, "{after}");
    }
}

#[test]
fn a_map_that_was_stopped_goes_on_when_it_is_within_its_bound_again() {
    let ends = |task: TaskId, _| match task.item {
        Some(0 | 1) => Ends::ForGood,
        _ => Ends::Well,
    };
    for kill_after in 0..12 {
        let after = format!("killed after {kill_after}");
        let mut world = World::new(joined_map(Some(FailuresMax::Count(1))), &ends);
        (world.items, world.slots) = (6, 1);
        let mut records = Vec::new();
        let machine = killed_once(&mut world, kill_after, &mut records);
        assert!(machine.is_stopped(0), "{after}");
        assert_eq!((machine.end(0), machine.end(2)), (Some(End::Dead), Some(End::Blocked)));
        assert_eq!(machine.counts(0).finished(), 2, "{after}");
        let is_stop = |record: &&Record| record.reason.as_deref() == Some("failures-max");
        assert_eq!(records.iter().filter(is_stop).count(), 1, "{after}");

        let drop = Record { step: Some("inner".into()), item: Some(0), ..of_map(Event::DeadDrop) };
        records.push(drop);
        assert!(!world.replayed(&records).is_over(), "{after}");
        let machine = killed_once(&mut world, records.len() + kill_after, &mut records);
        assert_eq!(machine.counts(0).succeeded, 4, "{after}");
        assert_eq!(machine.end(2), Some(End::Succeeded), "{after}");
    }
}

/// A join that waits for its next attempt has seen a map that is not what it will be.
#[test]
fn a_join_that_waits_runs_anew_after_the_dead_letters_below_it() {
    for policy in [policy!("attempts: 6, delay: 15ms"), policy!("attempts: 1")] {
        for (is_idempotent, kills) in [(true, 0), (true, 1), (false, 1)] {
            joins_anew(policy, is_idempotent, kills);
        }
    }
}

/// The join is killed while it waits, or also while its attempt runs.
fn joins_anew(policy: redial_core::Policy, is_idempotent: bool, kills: usize) {
    let is_mended = std::cell::Cell::new(false);
    let ends = |task: TaskId, _| match (task.step, task.item) {
        (1, Some(1)) | (2, _) if !is_mended.get() => Ends::ForGood,
        _ => Ends::Well,
    };
    let ends = |task: TaskId, attempt| match ends(task, attempt) {
        Ends::ForGood if task.step == 2 => Ends::Badly,
        end => end,
    };
    let mut flow = joined_map(None);
    flow.steps[2] = Step { is_idempotent, ..needs(step("join", policy), 0, NeedKind::Over) };
    let mut world = World::new(flow, &ends);
    world.items = 3;
    let mut records = Vec::new();
    let mut machine = world.machine();
    let is_start = |record: &Record| {
        record.event == Event::AttemptStart && record.step.as_deref() == Some("join")
    };
    world.run(&mut machine, &mut records, usize::MAX);
    let first = records.iter().position(is_start).unwrap();
    // Its attempt is running, or has ended and its next one is due.
    records.truncate(first + if kills == 1 { 1 } else { 3 });
    is_mended.set(true);
    let mut machine = world.resume(&mut records, Duration::from_millis(1));
    let retry = machine.record(machine.time(), Event::DeadRetry, TaskId { step: 1, item: Some(1) });
    records.push(Record { generation: 1, ..retry });
    machine.apply(records.last().unwrap()).unwrap();
    let before = records.len();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    let case = format!("{policy}, {is_idempotent}, {kills}");
    if !is_idempotent {
        // It may have done its work, and does not do it twice by itself.
        assert_eq!(machine.end(2), Some(End::Dead), "{case}");
        assert_eq!(records[before..].iter().filter(|record| is_start(record)).count(), 0, "{case}");
        return;
    }
    let mended = records
        .iter()
        .position(|record| record.item == Some(1) && record.outcome == Some(Outcome::Succeeded));
    let starts: Vec<_> = (before..records.len()).filter(|at| is_start(&records[*at])).collect();
    assert!(matches!(starts[..], [at] if Some(at) > mended), "{case}: {starts:?}, {mended:?}");
    let start = &records[starts[0]];
    assert_eq!((start.generation, start.attempt), (1, Some(1)), "{case}");
    assert_eq!(machine.end(2), Some(End::Succeeded), "{case}");
    // And it is what the records say.
    assert_eq!(world.replayed(&records).end(2), Some(End::Succeeded), "{case}");
}
