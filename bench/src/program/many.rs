//! `redial plan` of a file of many policies, beside one of a quarter as many: both what it takes and
//! how long must grow as the file does.

use std::{env, fs, process};

use super::Program;
use super::process::Process;
use crate::callgrind;
use crate::measure::{Measured, Table};
use crate::row::{Cell, Target};
use crate::unit::Unit;

const SOME: u32 = 1000;
const MANY: u32 = 4000;

/// Four times as many, and a tenth for what grows with the logarithm.
const RATIO_MAX: f64 = 4.4;

const COLUMNS: [&str; 3] = ["1000 policies", "4000 policies", "redial"];
const MEASURE: &str = "plan of 4000 policies over 1000";

type Reading = Result<f64, &'static str>;

pub(crate) fn table(program: &Program) -> Table {
    let instructions = |plan: &Process| callgrind::collected(plan).map(|count| count as f64);
    let memory = |plan: &Process| plan.peak(3).map(|bytes| bytes as f64);
    let read = |count, read: &dyn Fn(&Process) -> Reading| planned(program, count, read);
    let row = |whole, ratio, reader: &dyn Fn(&Process) -> Reading| {
        let (some, many) = (read(SOME, reader), read(MANY, reader));
        let growth = some.and_then(|some| many.map(|many| many / some));
        let target = Some(Target::AtMost(RATIO_MAX));
        let absolute = vec![cell(some), cell(many), Cell::Absent];
        [
            Measured { measure: MEASURE, unit: whole, target: None, cells: absolute },
            Measured {
                measure: MEASURE,
                unit: ratio,
                target,
                cells: vec![Cell::Number(1.0), Cell::Absent, cell(growth)],
            },
        ]
    };
    let mut rows = Vec::new();
    rows.extend(row(Unit::Instructions, Unit::InstructionRatio, &instructions));
    rows.extend(row(Unit::Memory, Unit::MemoryRatio, &memory));
    Table { columns: COLUMNS.to_vec(), rows, notes: Vec::new() }
}

/// Reads something of a plan of so many policies.
fn planned(program: &Program, count: u32, read: &dyn Fn(&Process) -> Reading) -> Reading {
    let path = env::temp_dir().join(format!("redial-bench-{}-{count}.yaml", process::id()));
    let mut text = String::from("policies:\n");
    for number in 0..count {
        text += &format!("  policy_{number:04}: \"retry: 3, delay: {}ms\"\n", 100 + number % 400);
    }
    fs::write(&path, text).map_err(|_| "no room for a file")?;
    let shown = path.to_str().ok_or("where do temporary files go?")?;
    let reading = program.process(&["plan", "--policy", shown]).and_then(|plan| read(&plan));
    // What stays behind in a directory for temporary files does no harm.
    let _ = fs::remove_file(&path);
    reading
}

fn cell(reading: Reading) -> Cell {
    reading.map_or_else(Cell::Unmeasured, Cell::Number)
}
