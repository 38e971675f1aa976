//! The table for machines.

use serde_json::{Map, Value, json};

use crate::measure::Measured;
use crate::row::{Cell, Met, Target};
use crate::subject::Subject;
use crate::table::unit;

pub(crate) fn render(subjects: &[&Subject], measured: &[Measured]) -> String {
    let rows: Vec<Value> = measured.iter().map(|measured| row(subjects, measured)).collect();
    let document = json!({
        "sleep_bytes": size_of::<tokio::time::Sleep>(),
        "multi_thread": cfg!(feature = "multi-thread"),
        "rows": rows,
    });
    format!("{document:#}\n")
}

fn row(subjects: &[&Subject], measured: &Measured) -> Value {
    let cells: Map<String, Value> = subjects
        .iter()
        .zip(&measured.cells)
        .map(|(subject, cell)| (subject.name.into(), value(*cell)))
        .collect();
    json!({
        "measure": measured.row.measure,
        "unit": unit(measured.row.reading),
        "cells": cells,
        "at_most": match measured.row.target { Some(Target::AtMost(most)) => Some(most), _ => None },
        "at_least": match measured.row.target { Some(Target::AtLeast(least)) => Some(least), _ => None },
        "met": match measured.met() {
            Met::Yes => Some(true),
            Met::No => Some(false),
            Met::Unknown => None,
        },
        "checked": measured.row.is_checked(),
    })
}

/// A number, or null; why something is not measured is for humans.
fn value(cell: Cell) -> Value {
    match cell {
        Cell::Number(number) => json!(number),
        Cell::Absent | Cell::Unmeasured(_) => Value::Null,
    }
}
