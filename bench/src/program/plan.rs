//! `redial plan`, cold: how much of it is the start of a process, and of this one.

use super::Program;
use super::process::{Process, medians};
use crate::callgrind;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const CLAUSE: &str = "retry: 4, delay: 100ms, backoff: exponential, jitter: full";
const RUNS: usize = 100;

/// A few in a hundred above what it takes: the count repeats, and grows with the help and the verbs.
const INSTRUCTIONS_MAX: f64 = 1.9e6;

/// A tenth above what it is: another verb takes 100 to 200 KiB of it, and a library that nobody meant
/// to ship takes more. A program of this size is read from the disk, and mapped, at every start.
/// Maps and flows took it from 4.6 to 6.4 MiB: the engine, the notations, JSON paths and CEL. Scripts, the
/// policies of other systems and the search for them, which honours `.gitignore`, took it to 7.7.
const SIZE_MAX: f64 = 8.4 * 1024.0 * 1024.0;

/// A process that does nothing, ours when it has next to nothing to do, and the plan.
const COLUMNS: [&str; 3] = ["true", "redial --version", "redial"];

pub(crate) fn table(program: &Program) -> Table {
    let (instructions, times) = match processes(program) {
        Ok(processes) => (processes.each_ref().map(instructions), times(&processes)),
        Err(reason) => ([Cell::Unmeasured(reason); 3], [Cell::Unmeasured(reason); 3]),
    };
    let measure = "plan of a clause, cold";
    let target = Some(Target::AtMost(INSTRUCTIONS_MAX));
    let size = vec![Cell::Absent, Cell::Absent, program.stripped_bytes()];
    Table {
        columns: COLUMNS.to_vec(),
        rows: vec![
            Measured { measure, unit: Unit::Instructions, target, cells: instructions.to_vec() },
            Measured { measure, unit: Unit::Nanoseconds, target: None, cells: times.to_vec() },
            Measured {
                measure: "the program, stripped",
                unit: Unit::Size,
                target: Some(Target::AtMost(SIZE_MAX)),
                cells: size,
            },
        ],
        notes: Vec::new(),
    }
}

fn processes(program: &Program) -> Result<[Process; 3], &'static str> {
    Ok([
        Process::new("true", &[]),
        program.process(&["--version"])?,
        program.process(&["plan", "--with", CLAUSE])?,
    ])
}

fn instructions(process: &Process) -> Cell {
    callgrind::collected(process)
        .map_or_else(Cell::Unmeasured, |instructions| Cell::Number(instructions as f64))
}

fn times(processes: &[Process; 3]) -> [Cell; 3] {
    medians(processes.each_ref(), RUNS).map(|time| time.map_or_else(Cell::Unmeasured, Cell::Number))
}
