//! Instructions, which a machine repeats: per call, by this program again, and of a whole process,
//! under callgrind.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::program;
use crate::program::process::{self, Process};
use crate::row::Cell;
use crate::subject::{Call, Subject};

const FEW: u64 = 1_000;
const MANY: u64 = 11_000;

/// What is left when everything but the calls themselves is taken off: two runs of different
/// length, and the difference by call.
pub(crate) fn instructions(subject: &Subject, call: Call) -> Cell {
    let program = std::env::current_exe().map_err(|_| "where is this program?");
    instructions_of(program, subject, call)
}

/// The same of this program as it is built without LTO.
pub(crate) fn unlinked_instructions(subject: &Subject, call: Call) -> Cell {
    static UNLINKED: LazyLock<Result<PathBuf, &'static str>> = LazyLock::new(program::unlinked);
    instructions_of(UNLINKED.clone(), subject, call)
}

fn instructions_of(program: Result<PathBuf, &'static str>, subject: &Subject, call: Call) -> Cell {
    let calls = |times| program.clone().and_then(|program| calls(program, subject, call, times));
    match (calls(FEW), calls(MANY)) {
        (Ok(few), Ok(many)) => Cell::Number(per_call(few, many)),
        (Err(reason), _) | (_, Err(reason)) => Cell::Unmeasured(reason),
    }
}

/// To a tenth: two runs differ by a few instructions before they come to the first call.
fn per_call(few: u64, many: u64) -> f64 {
    let per_call = (many as f64 - few as f64) / (MANY - FEW) as f64;
    (per_call * 10.0).round() / 10.0
}

fn calls(program: PathBuf, subject: &Subject, call: Call, times: u64) -> Result<u64, &'static str> {
    let times = times.to_string();
    let arguments = ["--case", subject.name, call.name(), "--times", &times];
    collected(&Process::new(program, &arguments))
}

/// From the first instruction of a process, which is the dynamic linker's, to its last.
pub(crate) fn collected(process: &Process) -> Result<u64, &'static str> {
    let mut valgrind = Command::new("valgrind");
    let output = process::undisturbed(&mut valgrind)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&process.program)
        .args(&process.arguments)
        .stdout(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "install valgrind",
            _ => "valgrind does not start",
        })?;
    if !output.status.success() {
        return Err("callgrind fails");
    }
    parse(&String::from_utf8_lossy(&output.stderr)).ok_or("callgrind says nothing")
}

/// The total, from a line such as `==4711== Collected : 319227`.
fn parse(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{parse, per_call};

    #[test]
    fn the_total_is_on_its_own_line() {
        let report = "==7== Events    : Ir\n==7== Collected : 319227\n==7==\n";
        assert_eq!(parse(report), Some(319_227));
        assert_eq!(parse("valgrind: no such program"), None);
    }

    #[test]
    fn what_happens_before_the_first_call_does_not_count() {
        assert_eq!(per_call(300_000, 750_000), 45.0);
        assert_eq!(per_call(300_000, 750_016), 45.0);
        assert_eq!(per_call(300_000, 695_000), 39.5);
    }
}
