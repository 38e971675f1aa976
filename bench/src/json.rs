//! The table for machines.

use serde_json::{Map, Value, json};

use crate::measure::{Measured, Table};
use crate::row::{Cell, Met, Target};

pub(crate) fn render(tables: &[Table]) -> String {
    let rows = tables.iter().flat_map(|table| table.rows.iter().map(|each| row(table, each)));
    let rows: Vec<Value> = rows.collect();
    let document = json!({
        "sleep_bytes": size_of::<tokio::time::Sleep>(),
        "multi_thread": cfg!(feature = "multi-thread"),
        "rows": rows,
    });
    format!("{document:#}\n")
}

fn row(table: &Table, measured: &Measured) -> Value {
    let cells: Map<String, Value> = table
        .columns
        .iter()
        .zip(&measured.cells)
        .map(|(column, cell)| ((*column).into(), value(*cell)))
        .collect();
    json!({
        "measure": measured.measure,
        "unit": measured.unit.name(),
        "cells": cells,
        "at_most": match measured.target {
            Some(Target::AtMost(most) | Target::Towards { most, .. }) => Some(most),
            _ => None,
        },
        "goal": match measured.target {
            Some(Target::Goal(goal) | Target::Towards { goal, .. }) => Some(goal),
            _ => None,
        },
        "at_least": match measured.target { Some(Target::AtLeast(least)) => Some(least), _ => None },
        "met": match measured.met() {
            Met::Yes => Some(true),
            Met::NotYet | Met::No => Some(false),
            Met::Unknown => None,
        },
        "checked": measured.is_checked(),
    })
}

/// A number, or null; why something is not measured is for humans.
fn value(cell: Cell) -> Value {
    match cell {
        Cell::Number(number) => json!(number),
        Cell::Absent | Cell::Unmeasured(_) => Value::Null,
    }
}
