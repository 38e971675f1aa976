//! The table as text, in Markdown, with its columns aligned.

use std::fmt::Write;

use crate::measure::{Measured, Table};
use crate::row::{Cell, Met, Target};
use crate::unit::Unit;

pub(crate) fn render(table: &Table) -> String {
    let mut lines = vec![heading(&table.columns)];
    lines.extend(table.rows.iter().map(line));
    say_once(&mut lines);
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = aligned(&lines[0], &widths);
    text.push_str(&rule(&widths));
    for line in &lines[1..] {
        text.push_str(&aligned(line, &widths));
    }
    for note in &table.notes {
        text.push('\n');
        text.push_str(note);
        text.push('\n');
    }
    text
}

fn heading(columns: &[&str]) -> Vec<String> {
    let columns = columns.iter().copied();
    let all = ["measure", "in"].into_iter().chain(columns).chain(["target", "met?"]);
    all.map(String::from).collect()
}

fn line(measured: &Measured) -> Vec<String> {
    let unit = measured.unit;
    let mut line = vec![measured.measure.into(), unit.name().into()];
    line.extend(measured.cells.iter().map(|cell| cell_text(*cell, unit)));
    line.push(measured.target.map_or_else(String::new, |target| target_text(target, unit)));
    line.push(met_text(measured).into());
    line
}

/// Blanks a measure that is the one of the line above.
fn say_once(lines: &mut [Vec<String>]) {
    for below in (1..lines.len()).rev() {
        if lines[below][0] == lines[below - 1][0] {
            lines[below][0].clear();
        }
    }
}

/// Text to the left, numbers to the right.
fn aligned(line: &[String], widths: &[usize]) -> String {
    let mut text = String::from("|");
    for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.chars().count());
        let _ = match column {
            0 | 1 => write!(text, " {cell}{padding} |"),
            _ => write!(text, " {padding}{cell} |"),
        };
    }
    text.push('\n');
    text
}

fn rule(widths: &[usize]) -> String {
    let dashes = widths.iter().enumerate().map(|(column, width)| match column {
        0 | 1 => format!("{}|", "-".repeat(width + 2)),
        _ => format!("{}:|", "-".repeat(width + 1)),
    });
    format!("|{}\n", dashes.collect::<String>())
}

fn cell_text(cell: Cell, unit: Unit) -> String {
    match cell {
        Cell::Number(number) => unit.text(number),
        Cell::Absent => "–".into(),
        Cell::Unmeasured(reason) => reason.into(),
    }
}

fn target_text(target: Target, unit: Unit) -> String {
    match target {
        Target::AtMost(most) => format!("≤ {}", unit.text(most)),
        Target::AtLeast(least) => format!("≥ {}", unit.text(least)),
        Target::Towards { most, goal } => {
            format!("≤ {}, goal {}", unit.text(most), unit.text(goal))
        }
        Target::Goal(most) => format!("goal ≤ {}", unit.text(most)),
    }
}

/// One line for each target that is not seen to be met.
pub(crate) fn missed(table: &Table) -> String {
    table.rows.iter().filter(|measured| measured.is_missed()).map(miss).collect()
}

fn miss(measured: &Measured) -> String {
    let Measured { measure, unit, target, cells } = measured;
    let (Some(target), Some(cell)) = (target, cells.last()) else { return String::new() };
    let is = match cell {
        Cell::Number(number) => format!("{} {}", unit.text(*number), unit.name()),
        other => format!("unknown ({})", cell_text(*other, *unit)),
    };
    format!("missed: {measure}: {is}, target {}\n", target_text(*target, *unit))
}

fn met_text(measured: &Measured) -> &'static str {
    match (measured.target, measured.met()) {
        (None, _) => "",
        (_, Met::Yes) => "yes",
        (_, Met::NotYet) => "not yet",
        (_, Met::No) => "NO",
        (_, Met::Unknown) => "?",
    }
}
