//! What passes through `redial run`: output that is held, input that is given twice, output that is
//! watched.

use std::path::PathBuf;
use std::{env, fs, process};

use super::Program;
use super::process::{Process, median};
use super::wrapper::{self, RETRY};
use crate::callgrind;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const HELD_BYTES: u64 = 256 << 20;
const GIVEN_BYTES: u64 = 64 << 20;
const WATCHED_BYTES: usize = 4 << 20;
/// Under callgrind.
const COUNTED_BYTES: usize = 128 << 10;
const ROUNDS: usize = 3;

/// However much passes.
const MEMORY_MAX: f64 = 16e6;
/// A third above what it takes: how much is read at once is up to the pipe.
const INSTRUCTIONS_PER_BYTE_MAX: f64 = 17.0;

/// One stage of a pipe, the one that keeps all in memory, and ours.
const COLUMNS: [&str; 3] = ["cat", RETRY, "redial"];

type Reading = Result<f64, &'static str>;

pub(crate) fn table(program: &Program) -> Table {
    let retry = wrapper::find(RETRY);
    let mut rows = held(program, retry.as_ref());
    rows.extend(given(program, retry.as_ref()));
    rows.extend(watched(program));
    let missing: &[&str] = if retry.is_some() { &[] } else { &[RETRY] };
    Table { columns: COLUMNS.to_vec(), rows, notes: wrapper::note(missing).into_iter().collect() }
}

/// Output that comes out at the end, once.
fn held(program: &Program, retry: Option<&PathBuf>) -> Vec<Measured> {
    let bytes = HELD_BYTES.to_string();
    let command = ["head", "-c", &bytes, "/dev/zero"];
    let ours = program.process(&[&["run", "--output", "hold", "--"], &command[..]].concat());
    let theirs = retry.map(|retry| Process::new(retry, &[&["--"], &command[..]].concat()));
    memory_and_time("256 MiB of output, held", theirs, ours)
}

/// Input that the first attempt reads and the second one reads again.
fn given(program: &Program, retry: Option<&PathBuf>) -> Vec<Measured> {
    let mark = env::temp_dir().join(format!("redial-bench-{}-failed", process::id()));
    // Fails every other time.
    let mark = mark.display();
    let script =
        format!("cat > /dev/null; rmdir {mark} 2> /dev/null || {{ mkdir {mark}; exit 1; }}");
    let command = ["sh", "-c", &script];
    let ours = program.process(&[&["run", "-n", "2", "-d", "0s", "--"], &command[..]].concat());
    let theirs = retry.map(|retry| {
        let arguments = [&["--times=2", "--delay=0", "--"], &command[..]].concat();
        Process::new(retry, &arguments).fed(GIVEN_BYTES)
    });
    memory_and_time("64 MiB of input, twice", theirs, ours.map(|ours| ours.fed(GIVEN_BYTES)))
}

fn memory_and_time(
    measure: &'static str,
    theirs: Option<Process>,
    ours: Result<Process, &'static str>,
) -> Vec<Measured> {
    let row = |unit, target, read: &dyn Fn(&Process) -> Reading| Measured {
        measure,
        unit,
        target,
        cells: vec![
            Cell::Absent,
            theirs.as_ref().map_or(Cell::Absent, |theirs| cell(read(theirs))),
            cell(ours.as_ref().map_err(|reason| *reason).and_then(read)),
        ],
    };
    let peak = |process: &Process| process.peak(1).map(|bytes| bytes as f64);
    vec![
        row(Unit::Memory, Some(Target::AtMost(MEMORY_MAX)), &peak),
        row(Unit::Nanoseconds, None, &time),
    ]
}

fn time(process: &Process) -> Reading {
    let times: Result<Vec<_>, _> = (0..ROUNDS).map(|_| process.timed()).collect();
    times.map(median)
}

/// Output in which a rule looks for something that never comes.
fn watched(program: &Program) -> Vec<Measured> {
    const RULE: &str = "stdout:/never/";
    let measure = "output, watched";
    let through = |file: &Lines| {
        let arguments = ["run", "--stop-on", RULE, "--", "cat", &file.path];
        let per_second = |nanoseconds| WATCHED_BYTES as f64 / nanoseconds * 1e9;
        program.process(&arguments).and_then(|process| time(&process)).map(per_second)
    };
    let cat = |file: &Lines| {
        let process = Process::new("sh", &["-c", &format!("cat {} | cat", file.path)]);
        time(&process).map(|nanoseconds| WATCHED_BYTES as f64 / nanoseconds * 1e9)
    };
    let (theirs, ours) = match Lines::new(WATCHED_BYTES) {
        Ok(file) => (cat(&file), through(&file)),
        Err(reason) => (Err(reason), Err(reason)),
    };
    let count = |bytes| {
        let file = Lines::new(bytes)?;
        let process = program.process(&["run", "--stop-on", RULE, "--", "cat", &file.path])?;
        callgrind::collected(&process)
    };
    let per_byte = count(COUNTED_BYTES).and_then(|all| {
        let start = count(0)?;
        Ok(all.saturating_sub(start) as f64 / COUNTED_BYTES as f64)
    });
    let row = |unit, target, cat, ours| Measured {
        measure,
        unit,
        target,
        cells: vec![cat, Cell::Absent, ours],
    };
    let most = Some(Target::AtMost(INSTRUCTIONS_PER_BYTE_MAX));
    vec![
        row(Unit::InstructionsPerByte, most, Cell::Absent, cell(per_byte)),
        row(Unit::Throughput, None, cell(theirs), cell(ours)),
    ]
}

/// A file of so many bytes, in lines as programs print them, for as long as it lives.
struct Lines {
    path: String,
}

impl Lines {
    fn new(bytes: usize) -> Result<Self, &'static str> {
        const LINE: &str = "2026-01-01T00:00:00Z INFO  worker 7: fetched 200 records in 31 ms\n";
        let path = env::temp_dir().join(format!("redial-bench-{}-{bytes}.log", process::id()));
        let text: Vec<u8> = LINE.bytes().cycle().take(bytes).collect();
        let file = Self { path: path.to_str().ok_or("where do temporary files go?")?.into() };
        fs::write(&file.path, text).map_err(|_| "no room for a file")?;
        Ok(file)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // What stays behind in a directory for temporary files does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

fn cell(reading: Reading) -> Cell {
    reading.map_or_else(Cell::Unmeasured, Cell::Number)
}
