//! Fills the table.

use crate::callgrind;
use crate::memory;
use crate::packages;
use crate::row::{Cell, Met, Reading, Row, rows};
use crate::subject::Subject;
use crate::wall;

/// A row with a cell for every subject.
pub(crate) struct Measured {
    pub(crate) row: Row,
    pub(crate) cells: Vec<Cell>,
}

pub(crate) fn all(subjects: &[&Subject]) -> Vec<Measured> {
    rows()
        .into_iter()
        .map(|row| {
            let cells = subjects.iter().map(|subject| read(row.reading, subject)).collect();
            Measured { row, cells }
        })
        .collect()
}

fn read(reading: Reading, subject: &Subject) -> Cell {
    let cell = match reading {
        Reading::Instructions(call) => {
            subject.call(call).map(|_| callgrind::instructions(subject, call))
        }
        Reading::Nanoseconds(call) => {
            subject.call(call).map(|run| Cell::Number(wall::nanoseconds(run)))
        }
        Reading::Allocations(call) => {
            subject.call(call).map(|run| Cell::Number(memory::allocations(run)))
        }
        Reading::Figure(figure) => subject.figure(figure).map(|tell| Cell::Number(tell())),
        Reading::Crates(features) => {
            subject.package.as_ref().map(|package| packages::crates_built(package, features))
        }
    };
    cell.unwrap_or(Cell::Absent)
}

impl Measured {
    /// redial is the last subject.
    pub(crate) fn met(&self) -> Met {
        match (self.row.target, self.cells.last()) {
            (Some(target), Some(cell)) => target.met(*cell),
            _ => Met::Unknown,
        }
    }

    /// A promise that is checked and not seen to be kept.
    pub(crate) fn is_missed(&self) -> bool {
        self.row.is_checked() && self.met() != Met::Yes
    }
}
