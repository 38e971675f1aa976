//! `redial map` beside `xargs` and GNU parallel: jobs that do nothing, and a run of 100 000 items that is taken up again.

use std::path::PathBuf;
use std::{env, fs, process};

use redial_core::Time;
use redial_flow::definition::{
    Action, Definition, Each, ItemFormat, OnFailure, Origin, OutputKind, Source, Spelling, Step,
    VERSION,
};
use redial_flow::journal::{End, Sync, Writer};
use redial_flow::record::{Event, Outcome, Record, Start};
use redial_flow::store::Store;

use super::Program;
use super::process::{Process, median};
use super::wrapper;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const JOBS: u32 = 2000;
const ROUNDS: usize = 5;
const ITEMS: u32 = 100_000;

const XARGS: &str = "xargs -P 2";
const PARALLEL: &str = "parallel";
const COLUMNS: [&str; 4] = [XARGS, PARALLEL, "redial map", "with a journal"];

/// Jobs that do nothing, with 8 at once; a journal has each start and end on the disk before anything acts on it. The
/// goals are 1.4 and 1.2; what is held is what a busy machine reaches, too.
const WITHOUT_JOURNAL_MIN: f64 = 1.1;
const WITH_JOURNAL_MIN: f64 = 0.9;
const MEMORY_MAX: f64 = 64e6;

pub(crate) fn table(program: &Program) -> Table {
    let directory = Directory::new();
    let mut notes = Vec::new();
    let mut rows = jobs(program, &directory, &mut notes);
    rows.extend(resumed(program, &directory));
    Table { columns: COLUMNS.to_vec(), rows, notes }
}

/// `true` for each line of a file, in turns.
fn jobs(program: &Program, directory: &Directory, notes: &mut Vec<String>) -> Vec<Measured> {
    let measure = "2000 times true";
    let items = directory.path.join("items.txt");
    let lines: String = (1..=JOBS).map(|number| format!("{number}\n")).collect();
    if fs::write(&items, lines).is_err() {
        return Vec::new();
    }
    let (items, store) = (items.display().to_string(), directory.path.display().to_string());
    let xargs = Process::new("xargs", &["-a", &items, "-P", "2", "-n", "1", "true"]);
    let parallel = wrapper::find(PARALLEL);
    if parallel.is_none() {
        notes.extend(wrapper::note(&[PARALLEL]));
    }
    let joblog = directory.path.join("joblog").display().to_string();
    let parallel = parallel
        .map(|path| Process::new(path, &["--joblog", &joblog, "-a", &items, "-j", "2", "true"]));
    let mut times: [Vec<std::time::Duration>; 4] = Default::default();
    for round in 0..ROUNDS {
        let map = ["map", "-q", "-j", "8", "--items", &items, "--", "true"];
        let name = format!("round-{round}");
        let kept = [
            "map", "-q", "-j", "8", "--store", &store, "--run", &name, "--items", &items, "--",
            "true",
        ];
        let ours = [program.process(&map), program.process(&kept)];
        let timed = [
            xargs.timed().ok(),
            parallel.as_ref().and_then(|parallel| parallel.timed().ok()),
            ours[0].as_ref().ok().and_then(|process| process.timed().ok()),
            ours[1].as_ref().ok().and_then(|process| process.timed().ok()),
        ];
        for (all, time) in times.iter_mut().zip(timed) {
            all.extend(time);
        }
    }
    let rate = |all: &Vec<std::time::Duration>| match all.is_empty() {
        true => Cell::Absent,
        false => Cell::Number(f64::from(JOBS) / median(all.clone()) * 1e9),
    };
    // Pairs of turns, so that a busy moment hits both alike.
    let share = |all: &Vec<std::time::Duration>| {
        let mut pairs: Vec<f64> = times[0]
            .iter()
            .zip(all)
            .map(|(theirs, ours)| theirs.as_secs_f64() / ours.as_secs_f64())
            .collect();
        pairs.sort_by(f64::total_cmp);
        pairs
            .get(pairs.len() / 2)
            .map_or(Cell::Unmeasured("it fails"), |share| Cell::Number(*share))
    };
    let target = |min| Some(Target::AtLeast(min));
    vec![
        Measured {
            measure,
            unit: Unit::JobRate,
            target: None,
            cells: times.iter().map(rate).collect(),
        },
        Measured {
            measure: "the same without a journal",
            unit: Unit::XargsShare,
            target: target(WITHOUT_JOURNAL_MIN),
            cells: vec![Cell::Number(1.0), Cell::Absent, Cell::Absent, share(&times[2])],
        },
        Measured {
            measure: "the same with one, synced",
            unit: Unit::XargsShare,
            target: target(WITH_JOURNAL_MIN),
            cells: vec![Cell::Number(1.0), Cell::Absent, Cell::Absent, share(&times[3])],
        },
    ]
}

/// A run of 100 000 items, all of them finished, that is taken up again.
fn resumed(program: &Program, directory: &Directory) -> Vec<Measured> {
    let measure = "resume of 100 000 finished items";
    let store = directory.path.join("million");
    let made = finished(&store);
    let path = store.display().to_string();
    let process = program.process(&["flow", "resume", "million", "-q", "--store", &path]);
    let read = |read: &dyn Fn(&Process) -> Result<f64, &'static str>| {
        let cell = made.and_then(|()| process.as_ref().map_err(|reason| *reason)).and_then(read);
        cell.map_or_else(Cell::Unmeasured, Cell::Number)
    };
    let memory = read(&|process| process.peak(1).map(|bytes| bytes as f64));
    let time = read(&|process| process.timed().map(|time| time.as_nanos() as f64));
    let row = |unit, target, cell| Measured {
        measure,
        unit,
        target,
        cells: vec![Cell::Absent, Cell::Absent, Cell::Absent, cell],
    };
    vec![
        row(Unit::Memory, Some(Target::Goal(MEMORY_MAX)), memory),
        row(Unit::Nanoseconds, Some(Target::AtMost(3e9)), time),
    ]
}

/// Writes the journal that such a run leaves.
fn finished(store: &std::path::Path) -> Result<(), &'static str> {
    const NO: &str = "no room for a run";
    let source = Source { from: Origin::Stdin, format: ItemFormat::Lines };
    let job = Step {
        inside: Some("map".into()),
        output: OutputKind::None,
        on_failure: OnFailure::DeadLetter,
        ..Step::new(
            "job",
            Action::Run { argv: vec!["true".into(), "{}".into()], spelling: Spelling::Braces },
        )
    };
    let definition = Definition {
        v: VERSION,
        name: "map".into(),
        inputs: Default::default(),
        steps: vec![Step::new("map", Action::Each(Each::new(source))), job],
        outputs: Vec::new(),
        within: None,
        slots: None,
        secrets: Default::default(),
    };
    let pinned = serde_json::to_vec(&definition).map_err(|_| NO)?;
    let name = "million".parse().map_err(|_| NO)?;
    let run = Store::at(store).create(&name, &pinned).map_err(|_| NO)?;
    let held = run.hold().map_err(|_| NO)?;
    let mut journal = held.journal::<Record>(End::default(), Sync::Group).map_err(|_| NO)?;
    let mut items =
        Writer::<serde_json::Value>::open(run.items_path(), End::default(), Sync::Group)
            .map_err(|_| NO)?;
    let start = Start {
        ts: "2026-01-01T00:00:00.000000Z".into(),
        wall_ns: 1_767_225_600_000_000_000,
        boot_id: "".into(),
        boot_ns: 0,
        pid: 1,
        seed: 7,
        argv: Vec::new(),
        cwd: String::new(),
    };
    let begun = Record::new("million", Time::ZERO, Event::RunStart);
    journal.append(&[Record { start: Some(Box::new(start)), ..begun }]).map_err(|_| NO)?;
    const CHUNK: u32 = 10_000;
    for first in (0..ITEMS).step_by(CHUNK as usize) {
        let numbers = first..first + CHUNK;
        let lines: Vec<_> = numbers
            .clone()
            .map(|item| {
                serde_json::json!({"step": "map", "item": item, "key": item.to_string(),
                    "fingerprint": format!("{:016x}", u64::from(item) + 1), "value": item.to_string()})
            })
            .collect();
        items.append(&lines).map_err(|_| NO)?;
        let records: Vec<Record> = numbers
            .flat_map(|item| {
                let at = Time::from_nanos(u64::from(item) * 1_000_000);
                let record = |event| Record {
                    step: Some("job".into()),
                    item: Some(item),
                    attempt: Some(1),
                    ..Record::new("million", at, event)
                };
                let key = Some(item.to_string().into());
                let ended = Record {
                    outcome: Some(Outcome::Succeeded),
                    exit: Some(0),
                    duration_ns: Some(1_000_000),
                    ..record(Event::AttemptEnd)
                };
                [Record { key, ..record(Event::AttemptStart) }, ended]
            })
            .collect();
        journal.append(&records).map_err(|_| NO)?;
    }
    let at = Time::from_nanos(u64::from(ITEMS) * 1_000_000);
    let end = Record {
        step: Some("map".into()),
        items: Some(ITEMS),
        ..Record::new("million", at, Event::ItemsEnd)
    };
    journal.append(&[end]).map_err(|_| NO)
}

/// A directory for as long as it lives.
struct Directory {
    path: PathBuf,
}

impl Directory {
    fn new() -> Self {
        let path = env::temp_dir().join(format!("redial-bench-{}-jobs", process::id()));
        // Where it cannot be made, what is measured says so.
        let _ = fs::create_dir_all(&path);
        Self { path }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
