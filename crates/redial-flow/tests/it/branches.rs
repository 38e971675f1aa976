//! Branches in the machine: one arm is taken, once, whatever happens to the process.

use std::time::Duration;

use redial_core::{Time, policy};
use redial_flow::flow::{Flow, Need, NeedKind, ONCE, OnFailure, Step};
use redial_flow::machine::{Counts, End, Machine, TaskId};
use redial_flow::record::{Event, Outcome, Record};

use crate::world::{Ends, World, inside, map, needs, step};

const PROBE: u32 = 0;
const CHOOSE: u32 = 1;
const BIG: u32 = 2;
const SMALL: u32 = 3;
const AFTER: u32 = 4;
const READER: u32 = 5;

fn alone(step: u32) -> TaskId {
    TaskId { step, item: None }
}

fn arm(name: &str) -> Step {
    needs(step(name, policy!("attempts: 4, delay: 1ms")), CHOOSE, NeedKind::Taken)
}

/// A branch with two arms after a probe, what needs it, and what needs its output.
fn flow() -> Flow {
    let of_branch = |name: &str, kind| {
        let step = needs(step(name, policy!("attempts: 4")), CHOOSE, kind);
        needs(needs(step, BIG, NeedKind::Over), SMALL, NeedKind::Over)
    };
    let steps = vec![
        step("probe", policy!("attempts: 4")),
        needs(step("choose", ONCE), PROBE, NeedKind::Over),
        arm("big"),
        arm("small"),
        of_branch("after", NeedKind::Over),
        of_branch("reader", NeedKind::Output),
    ];
    Flow { name: "branches".into(), steps }
}

fn run(flow: Flow, ends: &dyn Fn(TaskId, u32) -> Ends) -> (Machine, Vec<Record>) {
    let mut world = World::new(flow, ends);
    let (mut machine, mut records) = (world.machine(), Vec::new());
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    (machine, records)
}

fn ends_of(machine: &Machine) -> [End; 6] {
    [PROBE, CHOOSE, BIG, SMALL, AFTER, READER].map(|step| machine.end(step).unwrap())
}

fn taking(arm: Option<u32>) -> impl Fn(TaskId, u32) -> Ends {
    move |task, _| if task.step == CHOOSE { Ends::Taking(arm) } else { Ends::Well }
}

#[test]
fn the_arm_that_is_taken_runs_and_the_others_are_skipped() {
    use End::{Skipped, Succeeded};
    for (arm, big, small) in [(BIG, Succeeded, Skipped), (SMALL, Skipped, Succeeded)] {
        let (machine, records) = run(flow(), &taking(Some(arm)));
        assert_eq!(ends_of(&machine), [Succeeded, Succeeded, big, small, Succeeded, Succeeded]);
        assert_eq!(machine.taken(alone(CHOOSE)), Some(arm));
        let took: Vec<_> = records.iter().filter_map(|record| record.arm.as_deref()).collect();
        assert_eq!(took, [&*machine.flow().steps[arm as usize].name]);
    }
}

#[test]
fn a_branch_that_takes_no_arm_is_skipped_and_so_is_who_reads_its_output() {
    use End::{Skipped, Succeeded};
    let (machine, _) = run(flow(), &taking(None));
    assert_eq!(ends_of(&machine), [Succeeded, Skipped, Skipped, Skipped, Succeeded, Skipped]);
}

#[test]
fn a_failed_arm_fails_the_branch() {
    use End::{Blocked, Dead, Skipped, Succeeded};
    let ends = |task: TaskId, _| match task.step {
        CHOOSE => Ends::Taking(Some(BIG)),
        BIG => Ends::ForGood,
        _ => Ends::Well,
    };
    let (mut machine, mut records) = run(flow(), &ends);
    assert_eq!(ends_of(&machine), [Succeeded, Succeeded, Dead, Skipped, Blocked, Blocked]);
    // Once it is tried again, so is what needs the branch; the branch itself has decided.
    let retry =
        Record { generation: 1, ..machine.record(machine.time(), Event::DeadRetry, alone(BIG)) };
    machine.apply(&retry).unwrap();
    records.push(retry);
    let ends = taking(Some(SMALL));
    assert!(World::new(flow(), &ends).run(&mut machine, &mut records, usize::MAX));
    let [after, reader] = [Succeeded, Succeeded];
    assert_eq!(ends_of(&machine), [Succeeded, Succeeded, Succeeded, Skipped, after, reader]);
    assert_eq!(records.iter().filter(|record| record.arm.is_some()).count(), 1);
}

#[test]
fn what_an_arm_needs_counts_only_where_it_is_taken() {
    use End::{Blocked, Dead, Skipped, Succeeded};
    // `big` also needs what fails.
    let mut flow = flow();
    flow.steps.push(step("fails", ONCE));
    flow.steps[BIG as usize].needs.push(Need { step: 6, kind: NeedKind::Output });
    let ends = |arm: u32| {
        move |task: TaskId, _: u32| match task.step {
            CHOOSE => Ends::Taking(Some(arm)),
            6 => Ends::ForGood,
            _ => Ends::Well,
        }
    };
    let (machine, _) = run(flow.clone(), &ends(SMALL));
    assert_eq!(ends_of(&machine), [Succeeded, Succeeded, Skipped, Succeeded, Succeeded, Succeeded]);
    let (machine, _) = run(flow.clone(), &ends(BIG));
    assert_eq!(ends_of(&machine), [Succeeded, Succeeded, Blocked, Skipped, Blocked, Blocked]);
    assert_eq!(machine.end(6), Some(Dead));
    // Where that is skipped, so is the arm, and who reads the branch.
    let skips = Record {
        outcome: Some(Outcome::Skipped),
        ..World::new(flow.clone(), &|_, _| Ends::Well).machine().record(
            Time::ZERO,
            Event::StepEnd,
            alone(6),
        )
    };
    let ends = taking(Some(BIG));
    let mut world = World::new(flow, &ends);
    let mut machine = world.machine();
    machine.apply(&skips).unwrap();
    assert!(world.run(&mut machine, &mut Vec::new(), usize::MAX));
    assert_eq!(ends_of(&machine), [Succeeded, Succeeded, Skipped, Skipped, Succeeded, Skipped]);
}

#[test]
fn a_branch_decides_anew_once_a_map_that_it_needs_has_gone_on() {
    use End::{Skipped, Succeeded};
    let arm = |name| needs(step(name, ONCE), 2, NeedKind::Taken);
    let after = needs(step("after", ONCE), 2, NeedKind::Output);
    let after = needs(needs(after, 3, NeedKind::Over), 4, NeedKind::Over);
    let steps = vec![
        map("each", 0, 1, None),
        inside(0, step("fetch", ONCE)),
        needs(step("choose", ONCE), 0, NeedKind::Over),
        arm("big"),
        arm("small"),
        after,
    ];
    let flow = Flow { name: "anew".into(), steps };
    let first = |task: TaskId, _: u32| match task.step {
        1 => Ends::ForGood,
        2 => Ends::Taking(Some(3)),
        _ => Ends::Well,
    };
    let ends = |machine: &Machine| [2, 3, 4, 5].map(|step| machine.end(step).unwrap());
    let mut world = World::new(flow.clone(), &first);
    world.items = 1;
    let (mut machine, mut records) = (world.machine(), Vec::new());
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!(ends(&machine), [Succeeded, Succeeded, Skipped, Succeeded]);
    let dead = TaskId { step: 1, item: Some(0) };
    let retry = machine.record(machine.time(), Event::DeadRetry, dead);
    machine.apply(&Record { generation: 1, ..retry }).unwrap();
    assert_eq!(machine.taken(alone(2)), None);
    let second = |task: TaskId, _: u32| match task.step {
        2 => Ends::Taking(Some(4)),
        _ => Ends::Well,
    };
    let mut world = World::new(flow, &second);
    world.items = 1;
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!(ends(&machine), [Succeeded, Skipped, Succeeded, Succeeded]);
    assert_eq!(machine.taken(alone(2)), Some(4));
}

/// A branch in a map: the arm by the item, and a step after it. The fourth step is what takes the place of `big`.
fn mapped() -> Flow {
    let big = Step {
        on_failure: OnFailure::Continue,
        ..needs(step("big", policy!("attempts: 4")), 1, NeedKind::Taken)
    };
    let steps = vec![
        map("each", 0, 5, None),
        inside(0, step("choose", ONCE)),
        inside(0, big),
        inside(0, needs(step("big.fallback", policy!("attempts: 4")), 2, NeedKind::Over)),
        inside(0, needs(step("small", policy!("attempts: 4")), 1, NeedKind::Taken)),
        inside(0, step("last", policy!("attempts: 4"))),
    ];
    Flow { name: "mapped".into(), steps }
}

/// Item 0 takes the first arm, 1 the second, 2 none, 3 the first, which fails.
fn mapped_ends(task: TaskId, _: u32) -> Ends {
    match (task.step, task.item) {
        (1, Some(0 | 3)) => Ends::Taking(Some(2)),
        (1, Some(1)) => Ends::Taking(Some(4)),
        (1, _) => Ends::Taking(None),
        (2, Some(3)) => Ends::ForGood,
        _ => Ends::Well,
    }
}

fn started(records: &[Record], item: u32) -> Vec<String> {
    let starts = records.iter().filter(|record| record.event == Event::AttemptStart);
    let mut steps: Vec<String> = starts
        .filter(|record| record.item == Some(item))
        .map(|record| record.step.as_deref().unwrap().to_owned())
        .collect();
    steps.dedup();
    steps
}

#[test]
fn each_item_takes_its_own_arm_and_goes_on_behind_the_branch() {
    let mut world = World::new(mapped(), &mapped_ends);
    world.items = 4;
    let (mut machine, mut records) = (world.machine(), Vec::new());
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    assert_eq!(started(&records, 0), ["big", "big.fallback", "last"]);
    assert_eq!(started(&records, 1), ["small", "last"]);
    assert_eq!(started(&records, 2), ["last"]);
    assert_eq!(started(&records, 3), ["big", "big.fallback", "last"]);
    assert_eq!(machine.counts(0), Counts { known: 4, succeeded: 4, ..Counts::default() });
}

#[test]
fn a_kill_after_any_record_takes_no_other_arm() {
    let probe_fails = |task: TaskId, attempt| match task.step {
        CHOOSE => Ends::Taking(Some(BIG)),
        PROBE | BIG if attempt == 1 => Ends::Badly,
        _ => Ends::Well,
    };
    let killed = |flow: fn() -> Flow, ends: &dyn Fn(TaskId, u32) -> Ends, items| {
        let mut whole = World::new(flow(), ends);
        whole.items = items;
        let (mut machine, mut all) = (whole.machine(), Vec::new());
        assert!(whole.run(&mut machine, &mut all, usize::MAX));
        for kill in 0..=all.len() {
            let mut world = World::new(flow(), ends);
            world.items = items;
            let (mut machine, mut records) = (world.machine(), Vec::new());
            if !world.run(&mut machine, &mut records, kill) {
                let decided: Vec<_> = decisions(&records);
                // What was decided stays, also if the condition would say otherwise now.
                let otherwise = |task: TaskId, attempt| match ends(task, attempt) {
                    Ends::Taking(_) if decided.iter().any(|(of, _)| *of == task.item) => {
                        panic!("killed after {kill}: {task:?} is decided twice")
                    }
                    end => end,
                };
                let mut world = World::new(flow(), &otherwise);
                world.items = items;
                machine = world.resume(&mut records, Duration::from_millis(5));
                assert!(world.run(&mut machine, &mut records, usize::MAX));
            }
            let mut decided = decisions(&records);
            let mut whole = decisions(&all);
            decided.sort_unstable();
            whole.sort_unstable();
            assert_eq!(decided, whole, "killed after {kill}");
            for step in 0..machine.flow().steps.len() as u32 {
                let place = &machine.flow().steps[step as usize].place;
                if !matches!(place, redial_flow::flow::Place::Inside(_)) {
                    assert!(!matches!(machine.end(step), Some(End::Dead | End::Blocked) | None));
                }
            }
        }
        assert!(all.len() > 10, "{} records", all.len());
    };
    killed(flow, &probe_fails, 0);
    killed(mapped, &mapped_ends, 4);
}

/// The branches that have decided, by their items, with the arms.
fn decisions(records: &[Record]) -> Vec<(Option<u32>, String)> {
    let took = records.iter().filter(|record| {
        record.event == Event::StepEnd && record.step.as_deref() == Some("choose")
    });
    took.map(|record| (record.item, record.arm.as_deref().unwrap_or("none").to_owned())).collect()
}

#[test]
fn a_record_with_an_arm_that_the_branch_does_not_have_is_impossible() {
    let ends = taking(None);
    let mut machine = World::new(flow(), &ends).machine();
    let end = |arm: &str, step: &str| Record {
        step: Some(step.into()),
        arm: Some(arm.into()),
        outcome: Some(Outcome::Succeeded),
        ..Record::new("run", Time::ZERO, Event::StepEnd)
    };
    let mut refused = |record: Record| machine.apply(&record).unwrap_err().to_string();
    assert!(refused(end("big", "probe")).ends_with("it has no such arm"));
    assert!(refused(end("after", "probe")).ends_with("it has no such arm"));
    assert!(refused(end("big", "choose")).ends_with("it is over, or was not to be done yet"));
}
