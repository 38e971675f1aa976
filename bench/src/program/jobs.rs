//! `redial map` beside `xargs` and GNU parallel: jobs that do nothing, and what a slow disk costs,
//! and a run of a million items that is taken up again.

use std::collections::VecDeque;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use redial_core::{Random, SplitMix64, Time};
use redial_flow::definition::{
    Action, Definition, Each, ItemFormat, OnFailure, Origin, OutputKind, Source, Spelling, Step,
};
use redial_flow::journal::{End, Sync, Writer};
use redial_flow::record::{Event, Outcome, Record, Start};
use redial_flow::store::Store;

use super::Program;
use super::process::{Process, median, undisturbed};
use super::wrapper;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const JOBS: u32 = 2000;
const ROUNDS: usize = 5;
const ITEMS: u32 = 1_000_000;

const XARGS: &str = "xargs -P 2";
const PARALLEL: &str = "parallel";
const COLUMNS: [&str; 5] = [XARGS, PARALLEL, "bare spawn", "with a journal", "redial map"];

/// With 8 at once; a journal has each start and end on the disk before anything acts on it.
const WITHOUT_JOURNAL_MIN: f64 = 1.4;
const WITH_JOURNAL_MIN: f64 = 1.2;
/// `true` takes so long to load its libraries that nobody can be much faster than xargs: redial is held to a loop that
/// does nothing but start it.
const BARE_SPAWN_MIN: f64 = 0.85;
const MEMORY_MAX: f64 = 64e6;
const RESUME_MAX: f64 = 3e9;
/// A disk whose `fdatasync` takes 5 ms more, 20 jobs at once. The goal is 0.6, which an idle machine reaches.
const SLOW_DISK_MIN: f64 = 0.5;

pub(crate) fn table(program: &Program, installed: &Program) -> Table {
    let directory = Directory::new();
    let missing = wrapper::find(PARALLEL).is_none();
    let notes = missing.then(|| wrapper::note(&[PARALLEL])).flatten().into_iter().collect();
    let lines: String = (1..=JOBS).map(|number| format!("{number}\n")).collect();
    let items = directory.path.join("items.txt");
    // Where it cannot be written, what is measured says so.
    let _ = fs::write(&items, lines);
    let mut rows = Vec::new();
    rows.extend(Jobs::timed(program, &directory, "true").rows_of_true());
    if let Some(exits) = directory.program_that_exits() {
        rows.extend(Jobs::timed(program, &directory, &exits).rows_of_nothing());
    }
    rows.extend(on_a_slow_disk(installed, &directory));
    rows.extend(resumed(program, &directory));
    Table { columns: COLUMNS.to_vec(), rows, notes }
}

/// How long each took for all jobs, in each round; in the order of the columns.
struct Jobs {
    times: [Vec<Duration>; COLUMNS.len()],
}

impl Jobs {
    /// A command for each line of a file, in turns.
    fn timed(program: &Program, directory: &Directory, command: &str) -> Self {
        let items = directory.path.join("items.txt").display().to_string();
        let store = directory.path.display().to_string();
        let xargs = Process::new("xargs", &["-a", &items, "-P", "2", "-n", "1", command]);
        let joblog = directory.path.join("joblog").display().to_string();
        let parallel = wrapper::find(PARALLEL).map(|path| {
            Process::new(path, &["--joblog", &joblog, "-a", &items, "-j", "2", command])
        });
        let mut times: [Vec<Duration>; COLUMNS.len()] = Default::default();
        for round in 0..ROUNDS {
            let name = format!("round-{round}-{}", command.len());
            #[rustfmt::skip]
            let kept = [
                "map", "-q", "-j", "8", "--store", &store, "--run", &name, "--items", &items, "--", command,
            ];
            let kept = program.process(&kept);
            let map = program.process(&["map", "-q", "-j", "8", "--items", &items, "--", command]);
            let timed = [
                xargs.timed().ok(),
                parallel.as_ref().and_then(|parallel| parallel.timed().ok()),
                bare_spawn(command),
                kept.ok().and_then(|process| process.timed().ok()),
                map.ok().and_then(|process| process.timed().ok()),
            ];
            for (all, time) in times.iter_mut().zip(timed) {
                all.extend(time);
            }
        }
        Self { times }
    }

    fn rates(&self, measure: &'static str) -> Measured {
        let rate = |all: &Vec<Duration>| match all.is_empty() {
            true => Cell::Absent,
            false => Cell::Number(f64::from(JOBS) / median(all.clone()) * 1e9),
        };
        let cells = self.times.iter().map(rate).collect();
        Measured { measure, unit: Unit::JobRate, target: None, cells }
    }

    /// How many times as many jobs one column does as another: the median of pairs of turns, so that a busy
    /// moment hits both alike.
    fn share(&self, ours: usize, theirs: usize) -> Cell {
        let pairs = self.times[theirs].iter().zip(&self.times[ours]);
        let mut shares: Vec<f64> =
            pairs.map(|(theirs, ours)| theirs.as_secs_f64() / ours.as_secs_f64()).collect();
        shares.sort_by(f64::total_cmp);
        let middle = shares.get(shares.len() / 2);
        middle.map_or(Cell::Unmeasured("it fails"), |share| Cell::Number(*share))
    }

    fn rows_of_true(&self) -> Vec<Measured> {
        let over_xargs = |ours| self.share(ours, 0);
        vec![
            self.rates("2000 times true"),
            Measured {
                measure: "the same",
                unit: Unit::XargsShare,
                target: None,
                cells: (0..COLUMNS.len()).map(over_xargs).collect(),
            },
            row(
                "the same over a bare spawn",
                Unit::SpawnShare,
                Target::AtLeast(BARE_SPAWN_MIN),
                self.share(4, 2),
            ),
        ]
    }

    fn rows_of_nothing(&self) -> Vec<Measured> {
        let row = |measure, min, ours| {
            row(measure, Unit::XargsShare, Target::AtLeast(min), self.share(ours, 0))
        };
        vec![
            self.rates("2000 times a program that exits"),
            row("the same without a journal", WITHOUT_JOURNAL_MIN, 4),
            row("the same with one, synced", WITH_JOURNAL_MIN, 3),
        ]
    }
}

/// A row about redial alone.
fn row(measure: &'static str, unit: Unit, target: Target, cell: Cell) -> Measured {
    let mut cells = vec![Cell::Absent; COLUMNS.len() - 1];
    cells.push(cell);
    Measured { measure, unit, target: Some(target), cells }
}

/// `Command::spawn` and `wait` in a loop, 8 at once, and nothing else.
fn bare_spawn(command: &str) -> Option<Duration> {
    let start = Instant::now();
    let mut running = VecDeque::new();
    for number in 1..=JOBS {
        if running.len() == 8 {
            running.pop_front().map(|mut child: Child| child.wait()).transpose().ok()?;
        }
        let mut command = Command::new(command);
        undisturbed(&mut command).arg(number.to_string()).stdin(Stdio::null());
        running.push_back(command.spawn().ok()?);
    }
    for mut child in running {
        child.wait().ok()?;
    }
    Some(start.elapsed())
}

/// `fdatasync` of the C library, with a delay: preloaded, it makes a disk slow.
const SLOW_DISK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int fdatasync(int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    int result = real(file);
    usleep(atoi(getenv("SYNC_DELAY_MICROS")));
    return result;
}
"#;

/// `true` with a journal on a disk that is slow to sync, as a share of what this disk does. The library is preloaded in
/// both, and what it is preloaded into is linked dynamically.
fn on_a_slow_disk(installed: &Program, directory: &Directory) -> Vec<Measured> {
    let share = || {
        let redial = installed.path.clone()?.display().to_string();
        let library = directory.library(SLOW_DISK).ok_or("cc does not build a library")?;
        let preload = format!("LD_PRELOAD={library}");
        let items = directory.path.join("items.txt").display().to_string();
        let store = directory.path.display().to_string();
        let timed = |micros: u32, round: usize| {
            let name = format!("disk-{micros}-{round}");
            let delay = format!("SYNC_DELAY_MICROS={micros}");
            #[rustfmt::skip]
            let arguments = [
                &preload, &delay, &redial, "map", "-q", "-j", "20", "--store", &store, "--run", &name, "--items", &items,
                "--", "true",
            ];
            Process::new("env", &arguments).timed()
        };
        let mut shares = Vec::new();
        for round in 0..ROUNDS {
            let (fast, slow) = (timed(0, round)?, timed(5000, round)?);
            shares.push(fast.as_secs_f64() / slow.as_secs_f64());
        }
        shares.sort_by(f64::total_cmp);
        Ok(shares[ROUNDS / 2])
    };
    let share = share().map_or_else(Cell::Unmeasured, Cell::Number);
    let measure = "true with a journal, 20 at once, fdatasync + 5 ms";
    vec![row(measure, Unit::DiskShare, Target::AtLeast(SLOW_DISK_MIN), share)]
}

/// A run of a million items, all of them finished, that is taken up again.
fn resumed(program: &Program, directory: &Directory) -> Vec<Measured> {
    let measure = "resume of 1 000 000 finished items";
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
    vec![
        row(measure, Unit::Memory, Target::AtMost(MEMORY_MAX), memory),
        row(measure, Unit::Nanoseconds, Target::AtMost(RESUME_MAX), time),
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
    let steps = vec![Step::new("map", Action::Each(Each::new(source))), job];
    let definition = Definition { steps, ..Definition::new("map") };
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
        said: serde_json::Value::Null,
        flow_crc: None,
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
                    "fingerprint": format!("{:016x}", SplitMix64::new(u64::from(item)).word()), "value": item.to_string()})
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

    /// A library, from its source in C.
    fn library(&self, source: &str) -> Option<String> {
        let [text, library] = ["library.c", "library.so"].map(|name| self.path.join(name));
        fs::write(&text, source).ok()?;
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &text]).arg("-ldl");
        cc.status().ok().filter(|status| status.success())?;
        Some(library.display().to_string())
    }

    /// A program that does nothing but exit, and needs no library: an ELF file of one segment, whose code is
    /// `exit(0)`. None on a processor that does not run it.
    fn program_that_exits(&self) -> Option<String> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return None;
        }
        const BASE: u64 = 0x40_0000;
        const HEADERS: u64 = 64 + 56;
        // mov eax, 60; xor edi, edi; syscall
        let code = [0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05];
        let length = HEADERS + code.len() as u64;
        // 64 bits, little-endian, an executable for x86-64.
        let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let halves = |elf: &mut Vec<u8>, halves: &[u16]| {
            elf.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
        };
        let longs = |elf: &mut Vec<u8>, longs: &[u64]| {
            elf.extend(longs.iter().flat_map(|long| long.to_le_bytes()));
        };
        halves(&mut elf, &[2, 62, 1, 0]);
        // The entry point, and where the program headers and no section headers are.
        longs(&mut elf, &[BASE + HEADERS, 64, 0]);
        halves(&mut elf, &[0, 0, 64, 56, 1, 0, 0, 0]);
        // One segment to load, readable and executable.
        halves(&mut elf, &[1, 0, 5, 0]);
        longs(&mut elf, &[0, BASE, BASE, length, length, 0x1000]);
        elf.extend(code);
        let path = self.path.join("exits");
        fs::write(&path, elf).ok()?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).ok()?;
        Some(path.display().to_string())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
