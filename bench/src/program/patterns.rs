//! Output in which a rule looks for a pattern that is no plain text, beside `grep -P`, which looks for
//! it in the same file.
//!
//! They take turns, the best turn of each counts, and there are more turns where the promise is not
//! seen kept: a busy machine delays it, and whoever is slow is slow every time.

use std::path::PathBuf;
use std::{env, fs, process};

use super::Program;
use super::process::Process;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const BYTES: usize = 32 << 20;
const TURNS_MIN: usize = 3;
const TURNS_MAX: usize = 15;

/// The promises: bytes in a second, on a machine that has nothing else to do, and the share of grep's.
const THROUGHPUT_MIN: f64 = 200e6;
const SHARE_MIN: f64 = 0.6;

/// No busy machine does this to one of two that take turns, and the next turn may take minutes.
const HOPELESS: f64 = SHARE_MIN / 4.0;

const COLUMNS: [&str; 2] = ["grep -cP", "redial"];

struct Case {
    measure: &'static str,
    pattern: &'static str,
    /// What grep looks for, always in the log.
    of_grep: &'static str,
    text: fn(usize) -> Vec<u8>,
}

const CASES: [Case; 5] = [
    Case { measure: r"output, \w+Error", pattern: r"\w+Error", of_grep: r"\w+Error", text: log },
    Case { measure: r"\S+ refused", pattern: r"\S+ refused", of_grep: r"\S+ refused", text: log },
    Case { measure: r"\d+ errors?", pattern: r"\d+ errors?", of_grep: r"\d+ errors?", text: log },
    Case {
        measure: "(a?){30}a{30}b, all a",
        pattern: "(a?){30}a{30}b",
        of_grep: r"\S+ refused",
        text: |bytes| letters(bytes, |_| b'a'),
    },
    Case {
        measure: "a[ab]{20}[^ab\\n][ab], a and b",
        pattern: r"a[ab]{20}[^ab\n][ab]",
        of_grep: r"\S+ refused",
        text: |bytes| letters(bytes, |random| b'a' + u8::from(random.is_multiple_of(2))),
    },
];

pub(crate) fn table(program: &Program) -> Table {
    let mut rows = Vec::new();
    for case in &CASES {
        let times = case.times(program);
        let grep = times.map(|(grep, _)| BYTES as f64 / grep * 1e9);
        let ours = times.map(|(_, ours)| BYTES as f64 / ours * 1e9);
        let share = times.map(|(grep, ours)| grep / ours);
        let mut row = |unit, least, cells: [Cell; 2]| {
            let target = Some(Target::AtLeast(least));
            rows.push(Measured { measure: case.measure, unit, target, cells: cells.to_vec() });
        };
        row(Unit::Throughput, THROUGHPUT_MIN, [cell(grep), cell(ours)]);
        row(Unit::GrepShare, SHARE_MIN, [Cell::Number(1.0), cell(share)]);
    }
    let note = r"In the last two, grep looks for \S+ refused in the log: for theirs it gives up.";
    Table { columns: COLUMNS.to_vec(), rows, notes: vec![note.into()] }
}

type Reading<T> = Result<T, &'static str>;

impl Case {
    /// The best of grep, and ours, in nanoseconds.
    fn times(&self, program: &Program) -> Reading<(f64, f64)> {
        let (log, file) = (File::new("log", log(BYTES))?, File::new("text", (self.text)(BYTES))?);
        // What finds nothing fails.
        let grep = format!("grep -cP '{}' {}; :", self.of_grep, log.path);
        let grep = Process::new("sh", &["-c", &grep]);
        // What is found is not looked for any more, which is fast, and fails here.
        let rule = format!("exit:0 & !stdout:/{}/", self.pattern);
        let ours = ["run", "-n", "1", "--success-on", &rule, "--", "cat", &file.path];
        let ours = program.process(&ours)?;
        let (mut best_grep, mut best_ours) = (f64::MAX, f64::MAX);
        for turn in 1..=TURNS_MAX {
            best_grep = best_grep.min(grep.timed()?.as_nanos() as f64);
            best_ours = best_ours.min(ours.timed()?.as_nanos() as f64);
            let share = best_grep / best_ours;
            if share < HOPELESS || (turn >= TURNS_MIN && share >= SHARE_MIN) {
                break;
            }
        }
        Ok((best_grep, best_ours))
    }
}

/// Lines as programs print them.
fn log(bytes: usize) -> Vec<u8> {
    const LINE: &str = "2026-01-01T00:00:00Z INFO  worker 7: fetched 200 records in 31 ms\n";
    LINE.bytes().cycle().take(bytes).collect()
}

/// Lines of a hundred letters, out of random numbers that are the same every time.
fn letters(bytes: usize, letter: fn(u64) -> u8) -> Vec<u8> {
    let mut random = 1_u64;
    let byte = |at: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if at % 100 == 99 { b'\n' } else { letter(random >> 40) }
    };
    (0..bytes).map(byte).collect()
}

/// A file for as long as it lives.
struct File {
    path: String,
}

impl File {
    fn new(name: &str, text: Vec<u8>) -> Reading<Self> {
        let path: PathBuf = env::temp_dir().join(format!("redial-bench-{}.{name}", process::id()));
        let file = Self { path: path.to_str().ok_or("where do temporary files go?")?.into() };
        fs::write(&file.path, text).map_err(|_| "no room for a file")?;
        Ok(file)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // What stays behind in a directory for temporary files does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

fn cell(reading: Reading<f64>) -> Cell {
    reading.map_or_else(Cell::Unmeasured, Cell::Number)
}
