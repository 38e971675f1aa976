//! The table as text, in Markdown, with its columns aligned.

use std::fmt::Write;

use crate::measure::Measured;
use crate::row::{Cell, Met, Reading, Row, Target};
use crate::subject::{Figure, Subject};

pub(crate) fn render(subjects: &[&Subject], measured: &[Measured]) -> String {
    let mut lines = vec![heading(subjects)];
    lines.extend(measured.iter().map(line));
    say_once(&mut lines);
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = aligned(&lines[0], &widths);
    text.push_str(&rule(&widths));
    for line in &lines[1..] {
        text.push_str(&aligned(line, &widths));
    }
    text
}

fn heading(subjects: &[&Subject]) -> Vec<String> {
    let names = subjects.iter().map(|subject| subject.name);
    ["measure", "in"].into_iter().chain(names).chain(["target", "met?"]).map(String::from).collect()
}

fn line(measured: &Measured) -> Vec<String> {
    let reading = measured.row.reading;
    let mut line = vec![measured.row.measure.into(), unit(reading).into()];
    line.extend(measured.cells.iter().map(|cell| cell_text(*cell, reading)));
    line.push(measured.row.target.map_or_else(String::new, |target| target_text(target, reading)));
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

pub(crate) const fn unit(reading: Reading) -> &'static str {
    match reading {
        Reading::Instructions(_) => "instructions",
        Reading::Nanoseconds(_) => "time",
        Reading::Allocations(_) => "allocations",
        Reading::Figure(Figure::Yields) => "yields",
        Reading::Figure(Figure::FutureBytes | Figure::TaskBytes) => "bytes",
        Reading::Crates(_) => "crates",
    }
}

fn cell_text(cell: Cell, reading: Reading) -> String {
    match cell {
        Cell::Number(number) => number_text(number, reading),
        Cell::Absent => "–".into(),
        Cell::Unmeasured(reason) => reason.into(),
    }
}

fn target_text(target: Target, reading: Reading) -> String {
    match target {
        Target::AtMost(most) => format!("≤ {}", number_text(most, reading)),
        Target::AtLeast(least) => format!("≥ {}", number_text(least, reading)),
    }
}

fn number_text(number: f64, reading: Reading) -> String {
    match reading {
        Reading::Nanoseconds(_) if number >= 1e6 => format!("{:.2} ms", number / 1e6),
        Reading::Nanoseconds(_) if number >= 1e3 => format!("{:.2} µs", number / 1e3),
        Reading::Nanoseconds(_) => format!("{number:.1} ns"),
        Reading::Instructions(_) | Reading::Allocations(_) => format!("{number}"),
        _ => format!("{number:.0}"),
    }
}

/// One line for each target that is not seen to be met.
pub(crate) fn missed(measured: &[Measured]) -> String {
    measured.iter().filter(|measured| measured.is_missed()).map(miss).collect()
}

fn miss(measured: &Measured) -> String {
    let Row { measure, reading, target } = measured.row;
    let (Some(target), Some(cell)) = (target, measured.cells.last()) else { return String::new() };
    let is = match cell {
        Cell::Number(number) => format!("{} {}", number_text(*number, reading), unit(reading)),
        other => format!("unknown ({})", cell_text(*other, reading)),
    };
    format!("missed: {measure}: {is}, target {}\n", target_text(target, reading))
}

fn met_text(measured: &Measured) -> &'static str {
    match (measured.row.target, measured.met()) {
        (None, _) => "",
        (_, Met::Yes) => "yes",
        (_, Met::No) => "NO",
        (_, Met::Unknown) => "?",
    }
}
