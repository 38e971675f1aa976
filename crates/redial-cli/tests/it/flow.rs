//! `redial flow plan|status|report|dead|remove` as people and scripts use them, on journals with real checksums.

#[cfg(unix)]
mod begun;
#[cfg(unix)]
mod bounds;
#[cfg(unix)]
mod branch;
#[cfg(target_os = "linux")]
mod browser;
#[cfg(unix)]
mod check;
#[cfg(target_os = "linux")]
mod damage;
mod dead;
mod journal;
#[cfg(target_os = "linux")]
mod order;
#[cfg(target_os = "linux")]
mod outputs;
#[cfg(unix)]
mod plan;
#[cfg(target_os = "linux")]
mod remembered;
mod report;
#[cfg(target_os = "linux")]
mod revived;
#[cfg(target_os = "linux")]
mod scripts;
#[cfg(target_os = "linux")]
mod seed_001;
#[cfg(unix)]
mod shared;
#[cfg(target_os = "linux")]
mod skipped;
#[cfg(target_os = "linux")]
mod sources;
mod status;
#[cfg(target_os = "linux")]
mod takeover;
mod trace;
#[cfg(target_os = "linux")]
mod values;
#[cfg(target_os = "linux")]
mod worked;

use std::path::Path;
use std::process::Output;

use redial_core::Time;
use redial_flow::definition::{
    Action as Does, Definition, Each, ItemFormat, Need, NeedKind, Origin, Source, Step,
};
use redial_flow::journal::{End, Sync};
use redial_flow::record::{Action, Event, Outcome, Record, Start, Verdict};
use redial_flow::store::{Run, Store};
use tempfile::TempDir;

use crate::program::{self, stderr, stdout};

/// A run in a folder, for the examples of the help.
pub(crate) fn example(folder: &Path) {
    make(&Store::at(folder.join(".redial")), "nightly", &whole());
}

/// A run with these records.
fn make(store: &Store, name: &str, records: &[Record]) -> Run {
    let flow = serde_json::to_vec(&definition()).unwrap();
    let run = store.create(&name.parse().unwrap(), &flow).unwrap();
    let held = run.hold().unwrap();
    let named = |record: &Record| Record { run: name.into(), ..record.clone() };
    let records: Vec<_> = records.iter().map(named).collect();
    held.journal(End::default(), Sync::Group).unwrap().append(&records).unwrap();
    drop(held);
    run
}

/// A folder with runs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn store(&self) -> Store {
        Store::at(self.path().join(".redial"))
    }

    /// A run with these records.
    fn run(&self, name: &str, records: &[Record]) -> Run {
        make(&self.store(), name, records)
    }

    fn redial(&self, arguments: &[&str]) -> Output {
        program::redial(self.path(), &[&["flow"], arguments].concat())
    }

    /// What works, and what it prints.
    #[track_caller]
    fn works(&self, arguments: &[&str]) -> String {
        let output = self.redial(arguments);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{arguments:?}");
        stdout(&output).to_owned()
    }

    /// Runs a flow, which has to end with this code; gives what it printed and what it said.
    #[track_caller]
    fn runs(&self, flow: &str, arguments: &[&str], code: i32) -> (String, String) {
        std::fs::write(self.path().join("flow.yaml"), flow).unwrap();
        let output = self.redial(&[&["run", "flow.yaml"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{flow}: {}", stderr(&output));
        (stdout(&output).to_owned(), stderr(&output).to_owned())
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.works(arguments)).unwrap()
    }

    #[track_caller]
    fn refused(&self, arguments: &[&str], words: &str) {
        let output = self.redial(arguments);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

/// The run of a Rust program, whose steps are known by their records alone, has a dead letter.
fn program_run(place: &Place) -> Run {
    let definition = Definition { program: true, ..Definition::new("shop::checkout") };
    let flow = serde_json::to_vec(&definition).unwrap();
    let run = place.store().create(&"order-17".parse().unwrap(), &flow).unwrap();
    let policy = Some("attempts: 1".into());
    let mut records = vec![
        run_start(0.0, Event::RunStart),
        Record { policy, ..start(0.0, "charge", None, 1) },
        end(0.1, "charge", None, 1, Outcome::Succeeded),
        start(0.1, "ship", None, 1),
        Record { exit: None, ..failed(0.2, "ship", None, 1, 7) },
    ];
    records.extend(gives_up(0.2, "ship", None, 1));
    records.push(run_end(0.2, Outcome::Failed));
    let held = run.hold().unwrap();
    held.journal(End::default(), Sync::Group).unwrap().append(&records).unwrap();
    drop(held);
    run
}

#[test]
fn the_run_of_a_program_is_read_and_its_revival_is_written_down() {
    let place = Place::new();
    let run = program_run(&place);
    let status = place.json(&["report", "order-17", "--json"]);
    assert_eq!(status["flow"], "shop::checkout");
    let steps = status["steps"].as_array().unwrap();
    let names: Vec<_> =
        steps.iter().map(|step| step["step"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["charge", "ship"], "{status}");
    assert!(place.works(&["dead", "list", "order-17"]).contains("ship"));
    assert!(place.works(&["dead", "show", "order-17"]).contains("curl: (7)"));
    assert!(place.works(&["report", "order-17"]).contains("charge"));
    place.refused(&["resume", "order-17"], "functions of a Rust program");
    place.refused(&["dead", "retry", "order-17", "--with", "attempts: 2"], "--with and --rate");

    let retried = place.redial(&["dead", "retry", "order-17", "ship"]);
    assert_eq!(retried.status.code(), Some(0), "{}", stderr(&retried));
    assert!(
        stderr(&retried).contains("done by the program whose run order-17 is"),
        "{}",
        stderr(&retried)
    );
    let last = run.read_journal::<Record>().unwrap().last().unwrap().unwrap().record;
    assert_eq!((last.event, last.generation), (Event::DeadRetry, 1));
    assert_eq!(place.json(&["report", "order-17", "--json"])["state"], "interrupted");

    let cancelled = place.redial(&["cancel", "order-17"]);
    assert!(stderr(&cancelled).contains("its program does not go on"), "{}", stderr(&cancelled));
    let last = run.read_journal::<Record>().unwrap().last().unwrap().unwrap().record;
    assert_eq!(last.event, Event::Cancel);
}

#[test]
fn a_dead_letter_of_a_program_is_dropped() {
    let place = Place::new();
    program_run(&place);
    let dropped = place.redial(&["dead", "drop", "order-17", "ship"]);
    assert_eq!(dropped.status.code(), Some(0), "{}", stderr(&dropped));
    let list = place.redial(&["dead", "list", "order-17"]);
    assert!(stderr(&list).contains("no dead letters"), "{}", stderr(&list));
}

/// A step, a map with two inner steps, and a step after it.
fn definition() -> Definition {
    let shell = || Does::Shell("true".into());
    let needs = |step: &str| vec![Need { step: step.into(), kind: NeedKind::Over }];
    let source = Source { from: Origin::Stdin, format: ItemFormat::Lines };
    let steps = vec![
        Step::new("list", shell()),
        Step { needs: needs("list"), ..Step::new("pictures", Does::Each(Each::new(source))) },
        Step { inside: Some("pictures".into()), ..Step::new("fetch", shell()) },
        Step { inside: Some("pictures".into()), ..Step::new("resize", shell()) },
        Step { needs: needs("pictures"), ..Step::new("index", shell()) },
    ];
    let (inputs, secrets) = Default::default();
    let name = "thumbnails".to_owned();
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

fn record(seconds: f64, event: Event, step: &str, item: Option<u32>) -> Record {
    let at = Time::from_nanos((seconds * 1e9).round() as u64);
    let step = Some(step).filter(|step| !step.is_empty()).map(Box::from);
    let key = item.map(|item| format!("picture-{item}").into());
    Record { step, item, key, ..Record::new("run", at, event) }
}

fn run_start(seconds: f64, event: Event) -> Record {
    let start = Start {
        ts: "2026-11-15T19:57:01.123456Z".into(),
        wall_ns: 1_794_772_621_123_456_000,
        boot_id: "b".into(),
        boot_ns: 1,
        pid: 7,
        seed: 42,
        argv: vec!["redial".into(), "flow".into(), "run".into(), "thumbnails.yaml".into()],
        cwd: "/w".into(),
        said: serde_json::Value::Null,
        flow_crc: None,
    };
    Record { start: Some(Box::new(start)), ..record(seconds, event, "", None) }
}

fn run_end(seconds: f64, outcome: Outcome) -> Record {
    Record { outcome: Some(outcome), ..record(seconds, Event::RunEnd, "", None) }
}

fn start(seconds: f64, step: &str, item: Option<u32>, attempt: u32) -> Record {
    Record { attempt: Some(attempt), ..record(seconds, Event::AttemptStart, step, item) }
}

fn end(seconds: f64, step: &str, item: Option<u32>, attempt: u32, outcome: Outcome) -> Record {
    let attempt = Some(attempt);
    let ended = record(seconds, Event::AttemptEnd, step, item);
    Record { attempt, outcome: Some(outcome), ..ended }
}

fn failed(seconds: f64, step: &str, item: Option<u32>, attempt: u32, exit: i32) -> Record {
    let tail = format!("curl: ({exit}) \u{1b}[31mgave\u{1b}[0m up <&>\n");
    Record {
        exit: Some(exit),
        stderr_tail: Some(tail.into()),
        verdict: Some(Verdict::Retry),
        ..end(seconds, step, item, attempt, Outcome::Failed)
    }
}

fn retry(seconds: f64, step: &str, item: Option<u32>, attempt: u32, delay: f64) -> Record {
    Record {
        attempt: Some(attempt),
        action: Some(Action::Retry),
        delay_ns: Some((delay * 1e9) as u64),
        due_ns: Some(((seconds + delay) * 1e9) as u64),
        ..record(seconds, Event::Decision, step, item)
    }
}

/// It stops, and is a dead letter.
fn gives_up(seconds: f64, step: &str, item: Option<u32>, attempt: u32) -> Vec<Record> {
    let (attempt, reason) = (Some(attempt), Some("attempts-spent".into()));
    let decision = record(seconds, Event::Decision, step, item);
    let decision =
        Record { attempt, reason: reason.clone(), action: Some(Action::Stop), ..decision };
    vec![decision, Record { attempt, reason, ..record(seconds, Event::Dead, step, item) }]
}

/// A flaky step, ten items of which one is dead and one is flaky, a process that was killed, and a last step.
fn whole() -> Vec<Record> {
    let mut records = vec![
        run_start(0.0, Event::RunStart),
        start(0.0, "list", None, 1),
        failed(0.8, "list", None, 1, 7),
        retry(0.8, "list", None, 1, 1.0),
        start(1.8, "list", None, 2),
        end(2.6, "list", None, 2, Outcome::Succeeded),
    ];
    for item in 0..10 {
        let at = 2.6 + f64::from(item) * 0.4;
        records.push(start(at, "fetch", Some(item), 1));
        match item {
            3 => {
                records.push(failed(at + 0.2, "fetch", Some(3), 1, 22));
                records.push(retry(at + 0.2, "fetch", Some(3), 1, 0.5));
                records.push(start(at + 0.9, "fetch", Some(3), 2));
                let timeout = end(at + 1.4, "fetch", Some(3), 2, Outcome::Timeout);
                records.push(Record { exit: None, ..timeout });
                records.push(retry(at + 1.4, "fetch", Some(3), 2, 1.0));
                records.push(start(at + 2.4, "fetch", Some(3), 3));
                records.push(failed(at + 2.6, "fetch", Some(3), 3, 22));
                records.extend(gives_up(at + 2.6, "fetch", Some(3), 3));
            }
            _ => records.push(end(at + 0.3, "fetch", Some(item), 1, Outcome::Succeeded)),
        }
        if item != 3 && item != 9 {
            records.push(start(at + 0.4, "resize", Some(item), 1));
            records.push(end(at + 0.9, "resize", Some(item), 1, Outcome::Succeeded));
        }
    }
    records.sort_by(|one, other| one.t.total_cmp(&other.t));
    let ends = Record { items: Some(10), ..record(8.0, Event::ItemsEnd, "pictures", None) };
    records.extend([
        ends,
        start(8.0, "resize", Some(9), 1),
        run_start(12.0, Event::RunResume),
        end(12.0, "resize", Some(9), 1, Outcome::Lost),
        retry(12.0, "resize", Some(9), 1, 0.5),
        start(12.5, "resize", Some(9), 2),
        end(13.0, "resize", Some(9), 2, Outcome::Succeeded),
        start(13.0, "index", None, 1),
        end(14.0, "index", None, 1, Outcome::Succeeded),
        run_end(14.0, Outcome::Failed),
    ]);
    records
}
