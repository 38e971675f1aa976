//! What a journal says happened, also a damaged and a hostile one.

use std::fs;
use std::io::Write;

use redial_core::{Time, policy};
use redial_flow::definition::{Action as Does, Definition, Each, ItemFormat, Origin, Source, Step};
use redial_flow::flow::Flow;
use redial_flow::history::{ATTEMPTS_MAX, History, Output, State, TASKS_MAX, TaskState, item};
use redial_flow::journal::{End, Sync};
use redial_flow::machine::TaskId;
use redial_flow::record::{Action, Event, Outcome, Record, Start};
use redial_flow::store::{Run, Store};

use crate::world::{Ends, World, inside, map, step};

const SECOND: u64 = 1_000_000_000;

/// A flow of a step, a map with two inner steps, and a step that needs the map.
fn definition() -> Definition {
    let shell = || Does::Shell("true".into());
    let source = Source { from: Origin::Stdin, format: ItemFormat::Lines };
    let steps = vec![
        Step::new("list", shell()),
        Step::new("each", Does::Each(Each::new(source))),
        Step { inside: Some("each".into()), ..Step::new("fetch", shell()) },
        Step { inside: Some("each".into()), ..Step::new("resize", shell()) },
        Step::new("index", shell()),
    ];
    let (name, inputs, secrets) = ("test".to_owned(), Default::default(), Default::default());
    Definition {
        v: 1,
        name,
        inputs,
        steps,
        outputs: vec![],
        within: None,
        slots: None,
        secrets,
        program: false,
    }
}

struct Written {
    _directory: tempfile::TempDir,
    store: Store,
    run: Run,
}

impl Written {
    fn history(&self) -> History {
        History::read(&self.run).unwrap()
    }
}

fn written(records: &[Record]) -> Written {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::at(directory.path().join(".redial"));
    let flow = serde_json::to_vec(&definition()).unwrap();
    let run = store.create(&"run".parse().unwrap(), &flow).unwrap();
    let held = run.hold().unwrap();
    held.journal(End::default(), Sync::Group).unwrap().append(records).unwrap();
    drop(held);
    Written { _directory: directory, store, run }
}

fn history(records: &[Record]) -> History {
    written(records).history()
}

fn record(seconds: f64, event: Event, step: &str, item: Option<u32>) -> Record {
    let at = Time::from_nanos((seconds * 1e9) as u64);
    let step = Some(step).filter(|step| !step.is_empty()).map(Box::from);
    Record { step, item, ..Record::new("run", at, event) }
}

fn start(seconds: f64, step: &str, item: Option<u32>, attempt: u32) -> Record {
    Record { attempt: Some(attempt), ..record(seconds, Event::AttemptStart, step, item) }
}

fn end(seconds: f64, step: &str, item: Option<u32>, attempt: u32, outcome: Outcome) -> Record {
    let exit = (outcome == Outcome::Failed).then_some(7);
    let tail = (outcome == Outcome::Failed).then(|| "curl: (7) refused\n".into());
    Record {
        attempt: Some(attempt),
        outcome: Some(outcome),
        exit,
        stderr_tail: tail,
        ..record(seconds, Event::AttemptEnd, step, item)
    }
}

fn retry(seconds: f64, step: &str, item: Option<u32>, attempt: u32, delay: u64) -> Record {
    Record {
        attempt: Some(attempt),
        action: Some(Action::Retry),
        delay_ns: Some(delay * SECOND),
        due_ns: Some((seconds * 1e9) as u64 + delay * SECOND),
        ..record(seconds, Event::Decision, step, item)
    }
}

fn dead(seconds: f64, step: &str, item: Option<u32>) -> Record {
    let reason = Some("attempts-spent".into());
    Record { reason, ..record(seconds, Event::Dead, step, item) }
}

fn run_start() -> Record {
    let start = Start {
        ts: "2026-11-15T19:57:01Z".into(),
        wall_ns: 1,
        boot_id: "b".into(),
        boot_ns: 1,
        pid: 7,
        seed: 1,
        argv: vec!["redial".into()],
        cwd: "/w".into(),
        said: serde_json::Value::Null,
        flow_crc: None,
    };
    Record { start: Some(Box::new(start)), ..record(0.0, Event::RunStart, "", None) }
}

fn run_end(seconds: f64, outcome: Outcome) -> Record {
    Record { outcome: Some(outcome), ..record(seconds, Event::RunEnd, "", None) }
}

#[test]
fn a_task_has_its_attempts_waits_and_reasons() {
    let history = history(&[
        run_start(),
        start(0.0, "list", None, 1),
        end(1.0, "list", None, 1, Outcome::Failed),
        retry(1.0, "list", None, 1, 2),
        start(3.5, "list", None, 2),
        end(4.0, "list", None, 2, Outcome::Succeeded),
        run_end(4.0, Outcome::Succeeded),
    ]);
    assert_eq!(history.state, State::Over(Outcome::Succeeded));
    assert_eq!((history.counts.succeeded, history.counts.flaky), (1, 1));
    let [task] = &history.tasks[..] else { panic!("{:?}", history.tasks) };
    assert_eq!((task.state, task.tries()), (TaskState::Flaky, 2));
    let first = &task.attempts[0];
    let ended = first.ended.as_ref().unwrap();
    assert_eq!((ended.what().as_str(), ended.duration_ns), ("exit 7", SECOND));
    assert_eq!(ended.stderr_tail.as_deref(), Some("curl: (7) refused\n"));
    let decided = first.decided.as_ref().unwrap();
    assert_eq!((decided.delay_ns, decided.due_ns), (Some(2 * SECOND), Some(3 * SECOND)));
    let spent = history.spent;
    assert_eq!(
        (spent.running_ns, spent.delays_ns, spent.slots_ns),
        (3 * SECOND / 2, 2 * SECOND, SECOND / 2)
    );
    assert_eq!(history.reasons[0].example.as_deref(), Some("curl: (7) refused"));
    assert_eq!(history.start.unwrap().pid, 7);
}

#[test]
fn a_lost_attempt_ended_with_its_process_and_nobody_waited_for_a_slot_meanwhile() {
    let lost = Record { exit: None, ..end(100.0, "list", None, 1, Outcome::Lost) };
    let history = history(&[
        run_start(),
        start(0.0, "list", None, 1),
        Record { items: Some(0), ..record(2.0, Event::ItemsEnd, "each", None) },
        record(100.0, Event::RunResume, "", None),
        lost,
        retry(100.0, "list", None, 1, 1),
    ]);
    let ended = history.tasks[0].attempts[0].ended.as_ref().unwrap();
    assert_eq!((ended.at_ns, ended.what().as_str()), (2 * SECOND, "lost"));
    assert_eq!(history.stopped, [(2 * SECOND, 100 * SECOND)]);
    assert_eq!((history.resumes, history.state), (1, State::Interrupted));
    assert_eq!((history.counts.waiting, history.due_ns), (1, Some(101 * SECOND)));
    assert_eq!(history.spent.slots_ns, 0);
    assert_eq!(history.steps[1].items, Some(0));
}

#[test]
fn the_next_step_of_an_item_waits_for_its_slot_and_a_dead_item_has_none() {
    let skipped = Record {
        outcome: Some(Outcome::Skipped),
        ..record(3.0, Event::StepEnd, "resize", Some(1))
    };
    let history = history(&[
        start(0.0, "fetch", Some(0), 1),
        start(0.0, "fetch", Some(1), 1),
        end(1.0, "fetch", Some(0), 1, Outcome::Succeeded),
        end(2.0, "fetch", Some(1), 1, Outcome::Succeeded),
        start(3.0, "resize", Some(0), 1),
        skipped,
        end(4.0, "resize", Some(0), 1, Outcome::Failed),
        dead(4.0, "resize", Some(0)),
    ]);
    let each = &history.steps[1];
    assert!(each.is_map);
    assert_eq!((each.counts.succeeded, each.counts.skipped, each.counts.dead), (2, 1, 1));
    assert_eq!((each.attempts, each.failures, each.spent.slots_ns), (3, 1, 2 * SECOND));
    assert_eq!(history.counts.known(), 4);
    let names: Vec<_> = history.dead().map(|task| history.name(task)).collect();
    assert_eq!(names, ["0"]);
    assert_eq!(history.dead().next().unwrap().reason.as_deref(), Some("attempts-spent"));
}

#[test]
fn dead_letters_are_revived_dropped_and_found_by_their_keys() {
    let key = |record: Record, key: &str| Record { key: Some(key.into()), ..record };
    let mut records = vec![run_start()];
    for place in 0..3_u32 {
        let name = format!("a-{place}");
        records.push(key(start(0.0, "fetch", Some(place), 1), &name));
        records.push(end(1.0, "fetch", Some(place), 1, Outcome::Failed));
        records.push(dead(1.0, "fetch", Some(place)));
    }
    records.push(run_end(1.0, Outcome::Failed));
    let before = history(&records);
    assert_eq!((before.state, before.counts.dead), (State::Over(Outcome::Failed), 3));
    let found = |word: &str| before.named(word).map(|task| task.item).collect::<Vec<_>>();
    assert_eq!(found("a-1"), [Some(1)]);
    assert_eq!(found("fetch/a-2"), [Some(2)]);
    assert_eq!((found("1"), found("fetch"), found("resize/a-2")), (vec![], vec![], vec![]));

    records.push(Record { generation: 1, ..record(9.0, Event::DeadRetry, "fetch", Some(0)) });
    records.push(record(9.0, Event::DeadDrop, "fetch", Some(1)));
    records.push(Record { generation: 1, ..start(9.0, "fetch", Some(0), 1) });
    let again = end(10.0, "fetch", Some(0), 1, Outcome::Succeeded);
    records.push(Record { generation: 1, ..again });
    let after = history(&records);
    assert_eq!(after.state, State::Interrupted, "what was revived is to be gone on with");
    assert_eq!((after.counts.flaky, after.counts.dropped, after.counts.dead), (1, 1, 1));
    let revived = after.named("fetch/a-0").next().unwrap();
    assert_eq!((revived.generation, revived.tries()), (1, 2));
    assert_eq!((after.impossible, &after.impossible_first), (0, &None));
}

#[test]
fn a_cancelled_attempt_is_not_counted_and_its_number_comes_again() {
    let history = history(&[
        start(0.0, "list", None, 1),
        end(1.0, "list", None, 1, Outcome::Cancelled),
        record(1.0, Event::Cancel, "", None),
        run_end(1.0, Outcome::Interrupted),
        record(5.0, Event::RunResume, "", None),
        start(5.0, "list", None, 1),
        end(6.0, "list", None, 1, Outcome::Succeeded),
    ]);
    assert_eq!((history.attempts, history.impossible), (1, 0));
    assert_eq!(history.tasks[0].state, TaskState::Succeeded);
    assert_eq!(history.tasks[0].tries(), 2, "both are shown");
}

#[test]
fn a_run_that_a_process_holds_is_running_or_held() {
    let open = written(&[run_start(), start(0.0, "list", None, 1)]);
    assert_eq!(open.history().state, State::Interrupted);
    let held = open.run.hold().unwrap();
    let history = open.history();
    assert_eq!(history.state.name(), "running");
    assert_eq!(history.state.holder().unwrap().pid, Some(std::process::id()));
    assert_eq!(history.counts.running, 1);
    drop(held);
    let over = written(&[run_start(), run_end(1.0, Outcome::Succeeded)]);
    let _held = over.run.hold().unwrap();
    assert_eq!(over.history().state.name(), "held");
    assert_eq!(over.store.list().unwrap().len(), 1);
}

#[test]
fn what_runs_goes_on_by_the_time_of_day_and_what_was_stopped_does_not() {
    let open = written(&[run_start(), start(2.0, "list", None, 1)]);
    let hour = 3600 * SECOND;
    assert_eq!(open.history().at(hour).time_ns, 2 * SECOND);
    let _held = open.run.hold().unwrap();
    let history = open.history().at(hour);
    assert_eq!(history.time_ns, hour - 1, "its clock began a nanosecond after 1970");
    assert_eq!(history.tasks[0].attempts[0].end_ns(history.time_ns), hour - 1);
    assert_eq!(open.history().at(0).time_ns, 2 * SECOND, "never backwards");
}

#[test]
fn what_no_run_can_have_written_is_counted_and_passed_over() {
    let good = [start(1.0, "list", None, 1), end(2.0, "list", None, 1, Outcome::Succeeded)];
    let wrong = [
        start(0.0, "no\u{1b}such", None, 1),
        start(0.0, "list", Some(3), 1),
        start(0.0, "fetch", None, 1),
        start(0.0, "fetch", Some(u32::MAX), 1),
        start(f64::MAX, "", None, 1),
        end(0.0, "list", None, 9, Outcome::Failed),
        retry(0.0, "list", None, 1, u64::MAX / SECOND),
        record(0.0, Event::StepEnd, "list", None),
        record(0.0, Event::DeadRetry, "list", None),
        record(0.0, Event::DeadDrop, "fetch", Some(0)),
    ];
    let history = history(&[&wrong[..], &good[..]].concat());
    assert_eq!(history.impossible, wrong.len() as u64);
    let first = history.impossible_first.as_deref().unwrap();
    assert_eq!(first, "record 1 (`attempt.start` of `no\\u{1b}such`): the flow has no such step");
    assert_eq!(history.counts.succeeded, 1);
    let attempt = &history.tasks[0].attempts[0];
    assert_eq!(attempt.start_ns, u64::MAX, "time never runs backwards");
    assert!(attempt.end_ns(0) >= attempt.start_ns);
}

#[test]
fn unknown_kinds_holes_and_a_torn_tail_are_told_and_the_rest_is_read() {
    let written = written(&[]);
    let held = written.run.hold().unwrap();
    let mut journal = held.journal(End::default(), Sync::Group).unwrap();
    let json = |record: &Record| serde_json::to_value(record).unwrap();
    journal
        .append(&[
            json(&start(0.0, "list", None, 1)),
            serde_json::json!({"v": 1, "run": "run", "t": 1, "type": "slot.taken"}),
            json(&end(2.0, "list", None, 1, Outcome::Succeeded)),
            json(&start(2.0, "index", None, 1)),
            json(&run_end(3.0, Outcome::Succeeded)),
        ])
        .unwrap();
    drop((journal, held));
    let path = written.run.journal_path();
    let mut text = fs::read_to_string(&path).unwrap();
    assert_eq!(written.history().unknown, 1);
    text = text.replacen("\"step\":\"index\"", "\"step\":\"indes\"", 1);
    fs::write(&path, format!("{text}{{\"v\":1,")).unwrap();
    let history = written.history();
    assert_eq!((history.damages_count, history.damages.len()), (1, 1));
    assert_eq!(history.damages[0].missing(), 4..5);
    assert_eq!(history.tail.unwrap().length, 7);
    assert_eq!((history.counts.succeeded, history.counts.running), (1, 0));
    assert_eq!(history.state, State::Over(Outcome::Succeeded));
}

#[test]
fn of_many_items_the_ones_that_went_well_are_counted_and_a_few_kept() {
    const ITEMS: u32 = 12_000;
    let mut records = Vec::new();
    for place in 0..ITEMS {
        let at = f64::from(place);
        records.push(start(at, "fetch", Some(place), 1));
        let outcome = if place % 1000 == 999 { Outcome::Failed } else { Outcome::Succeeded };
        records.push(end(at, "fetch", Some(place), 1, outcome));
        if outcome == Outcome::Failed {
            records.push(dead(at, "fetch", Some(place)));
        } else {
            let outcome = Some(Outcome::Skipped);
            let skipped = record(at, Event::StepEnd, "resize", Some(place));
            records.push(Record { outcome, ..skipped });
        }
    }
    let history = history(&records);
    let well = u64::from(ITEMS) - 12;
    assert_eq!((history.counts.succeeded, history.counts.skipped), (well, well));
    assert_eq!(history.tasks.len(), TASKS_MAX + 12);
    assert_eq!(history.tasks_left_out, well - TASKS_MAX as u64);
    let timeline = history.timeline(30);
    assert_eq!(timeline.len(), 30);
    assert_eq!(timeline.iter().filter(|task| task.state == TaskState::Dead).count(), 12);
}

#[test]
fn of_many_items_that_were_retried_a_few_are_kept_and_all_that_are_dead() {
    let items = TASKS_MAX as u32 + 5;
    let mut records = Vec::new();
    for place in 0..2 * items {
        records.push(start(0.0, "fetch", Some(place), 1));
        records.push(end(1.0, "fetch", Some(place), 1, Outcome::Failed));
        if place % 2 == 0 {
            records.push(dead(1.0, "fetch", Some(place)));
            continue;
        }
        records.push(retry(1.0, "fetch", Some(place), 1, 1));
        records.push(start(2.0, "fetch", Some(place), 2));
        records.push(end(3.0, "fetch", Some(place), 2, Outcome::Succeeded));
        let skipped = record(3.0, Event::StepEnd, "resize", Some(place));
        records.push(Record { outcome: Some(Outcome::Skipped), ..skipped });
    }
    let history = history(&records);
    let count = u64::from(items);
    assert_eq!((history.counts.flaky, history.counts.dead), (count, count));
    assert_eq!(history.dead().count(), items as usize);
    assert_eq!((history.tasks_left_out, history.impossible), (5, 0));
}

#[test]
fn of_many_attempts_the_first_and_the_last_are_kept() {
    let mut records = Vec::new();
    for attempt in 1..=1000 {
        records.push(start(f64::from(attempt), "list", None, attempt));
        records.push(end(f64::from(attempt), "list", None, attempt, Outcome::Failed));
        records.push(retry(f64::from(attempt), "list", None, attempt, 0));
    }
    let history = history(&records);
    let task = &history.tasks[0];
    let numbers: Vec<_> = task.attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers.len(), ATTEMPTS_MAX);
    assert_eq!((numbers[0], numbers[49], numbers[50], numbers[99]), (1, 50, 951, 1000));
    assert_eq!((task.tries(), history.attempts), (1000, 1000));
    assert_eq!(history.reasons[0].count, 1000);
}

#[test]
fn the_output_of_a_failure_and_its_item_are_found() {
    let mut failed = end(1.0, "fetch", Some(1), 1, Outcome::Failed);
    failed.output = Some("half a page".into());
    let written = written(&[start(0.0, "fetch", Some(1), 1), failed, dead(1.0, "fetch", Some(1))]);
    let mut items = fs::OpenOptions::new().append(true).open(written.run.items_path()).unwrap();
    items.write_all(b"no JSON\n{\"step\":\"each\",\"item\":0,\"value\":\"a\"}\n").unwrap();
    items.write_all(b"{\"step\":\"each\",\"item\":1,\"value\":{\"url\":\"b\"}}\n").unwrap();
    let history = written.history();
    let (_, ended) = history.tasks[0].last_ended().unwrap();
    assert_eq!(ended.output, Some(Output::Inline(b"half a page".to_vec())));
    let bytes = ended.output.as_ref().unwrap().bytes(&written.run).unwrap();
    assert_eq!(bytes, b"half a page");
    let found = item(&written.run, "each", 1).unwrap();
    assert_eq!(found, Some(serde_json::json!({"url": "b"}).into()));
    assert_eq!(item(&written.run, "each", 2).unwrap(), None);
}

/// What the machine writes is nothing that a reader finds impossible, wherever it is cut.
#[test]
fn a_history_agrees_with_the_machine_after_every_record() {
    let policy = policy!("attempts: 3, delay: 100ms");
    let flow = Flow {
        name: "test".into(),
        steps: vec![
            step("list", policy),
            map("each", 1, 2, None),
            inside(1, step("fetch", policy)),
            inside(1, step("resize", policy)),
            step("index", policy),
        ],
    };
    let ends = |task: TaskId, attempt: u32| match (task.step, task.item, attempt) {
        (0, _, 1) | (2, Some(1), 1 | 2) => Ends::Badly,
        (3, Some(2), _) => Ends::ForGood,
        _ => Ends::Well,
    };
    let mut world = World::new(flow, &ends);
    world.items = 4;
    let mut records = Vec::new();
    let mut machine = world.machine();
    assert!(world.run(&mut machine, &mut records, usize::MAX));
    for length in 0..=records.len() {
        let history = history(&records[..length]);
        assert_eq!(history.impossible_first, None);
        let mut machine = world.machine();
        records[..length].iter().for_each(|record| machine.apply(record).unwrap());
        assert_eq!(history.counts.dead, machine.counts(1).dead, "{length}");
    }
    let whole = history(&records);
    assert_eq!((whole.counts.flaky, whole.counts.dead, whole.counts.waiting), (2, 1, 0));
    assert_eq!(whole.counts.running, 0);
}

#[test]
fn what_pinned_no_flow_is_an_error_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::at(directory.path());
    let run = store.create(&"x".parse().unwrap(), b"[]").unwrap();
    let error = History::read(&run).unwrap_err().to_string();
    assert!(error.contains("flow.json is no flow that this version of redial knows"), "{error}");
    assert!(error.ends_with("or remove the run"), "{error}");
}
