//! `redial check` of ten thousand policies, in each format of a policy file.

use std::path::PathBuf;
use std::{env, fs, process, thread};

use serde_json::Value;

use super::Program;
use super::policies::{Format, POLICIES, WARNINGS_MIN, text};
use super::process::{Process, medians};
use crate::callgrind;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const RUNS: usize = 7;
const WATCHED_RUNS: u32 = 3;

pub(crate) fn table(program: &Program) -> Table {
    let files = Format::ALL.map(|format| File::new(program, format));
    let instructions = instructions(&files);
    let times = times(&files);
    let mut rows = Vec::new();
    for (((format, file), instructions), time) in
        Format::ALL.into_iter().zip(&files).zip(instructions).zip(times)
    {
        let memory = file.as_ref().map_err(|reason| *reason);
        let memory =
            memory.and_then(|file| file.check.peak(WATCHED_RUNS)).map(|bytes| bytes as f64);
        let size = file.as_ref().map(|file| file.bytes as f64).map_err(|reason| *reason);
        let mut row = |unit, target, whole| {
            let cells = cells(whole);
            rows.push(Measured { measure: measure(format), unit, target, cells });
        };
        row(Unit::Instructions, Some(Target::AtMost(instructions_max(format))), instructions);
        row(Unit::Nanoseconds, None, time);
        row(Unit::Memory, None, memory);
        row(Unit::Size, None, size);
    }
    Table { columns: vec!["per policy", "redial"], rows, notes: Vec::new() }
}

const fn measure(format: Format) -> &'static str {
    match format {
        Format::Yaml => "check of 10 000 policies, YAML",
        Format::Toml => "check of 10 000 policies, TOML",
        Format::Json => "check of 10 000 policies, JSON",
    }
}

/// A third or more above what it takes.
const fn instructions_max(format: Format) -> f64 {
    match format {
        Format::Yaml => 970e6,
        Format::Toml => 800e6,
        Format::Json => 740e6,
    }
}

type Reading = Result<f64, &'static str>;

/// The share of each policy, and the whole.
fn cells(whole: Reading) -> Vec<Cell> {
    match whole {
        Ok(whole) => {
            vec![Cell::Number((whole / f64::from(POLICIES)).round()), Cell::Number(whole)]
        }
        Err(reason) => vec![Cell::Unmeasured(reason); 2],
    }
}

/// At the same time: instructions do not mind.
fn instructions(files: &[Result<File, &'static str>; 3]) -> [Reading; 3] {
    let count = |file: &File| callgrind::collected(&file.check).map(|count| count as f64);
    thread::scope(|scope| {
        files
            .each_ref()
            .map(|file| {
                scope.spawn(move || file.as_ref().map_err(|reason| *reason).and_then(count))
            })
            .map(|counting| counting.join().unwrap_or(Err("callgrind fails")))
    })
}

fn times(files: &[Result<File, &'static str>; 3]) -> [Reading; 3] {
    match files {
        [Ok(yaml), Ok(toml), Ok(json)] => medians([&yaml.check, &toml.check, &json.check], RUNS),
        _ => files.each_ref().map(|file| Err(file.as_ref().err().copied().unwrap_or("no time"))),
    }
}

/// A file of policies for as long as it lives, and the check of it.
struct File {
    path: PathBuf,
    bytes: usize,
    check: Process,
}

impl File {
    fn new(program: &Program, format: Format) -> Result<Self, &'static str> {
        let name = format!("redial-bench-{}.{}", process::id(), format.extension());
        let path = env::temp_dir().join(name);
        let text = text(format);
        let shown = path.to_str().ok_or("where do temporary files go?")?;
        let check = program.process(&["check", shown])?;
        let report = program.process(&["check", "--format", "json", shown])?;
        let file = Self { bytes: text.len(), check, path };
        fs::write(&file.path, text).map_err(|_| "no room for a file")?;
        if is_read(&report) { Ok(file) } else { Err("it finds other policies") }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // What stays behind in a directory for temporary files does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether all of the policies are found, and in them what is wrong: a check that finds nothing is
/// quick.
fn is_read(report: &Process) -> bool {
    let Ok(output) = report.command().output() else { return false };
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else { return false };
    report["files"][0]["policies"] == POLICIES
        && report["errors"] == 0
        && report["warnings"].as_u64() >= Some(u64::from(WARNINGS_MIN))
}
