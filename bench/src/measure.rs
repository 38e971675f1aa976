//! Fills the table.

use crate::callgrind;
use crate::cases;
use crate::memory;
use crate::packages;
use crate::row::{Cell, Met, Reading, Row, Target, everyday as everyday_rows, rows};
use crate::subject::Subject;
use crate::unit::Unit;
use crate::wall;

/// Who stands in the columns, redial last, and what was read of them.
pub(crate) struct Table {
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Measured>,
    /// What there is to say under it.
    pub(crate) notes: Vec<String>,
}

/// A row with a cell for every column.
pub(crate) struct Measured {
    pub(crate) measure: &'static str,
    pub(crate) unit: Unit,
    pub(crate) target: Option<Target>,
    pub(crate) cells: Vec<Cell>,
}

/// The table of calls.
pub(crate) fn calls(subjects: &[&Subject]) -> Table {
    table(subjects, rows(), footing())
}

/// What people write.
pub(crate) fn everyday(subjects: &[&Subject]) -> Table {
    let note =
        "Without LTO: opt-level 3, 16 codegen units, as a release build is that sets nothing.";
    table(subjects, everyday_rows(), note.into())
}

/// What it costs to build.
pub(crate) fn builds(subjects: &[&Subject]) -> Table {
    let note = "A package of its own with one call, built with cargo's release profile as it is.";
    table(subjects, crate::row::builds(), note.into())
}

fn table(subjects: &[&Subject], rows: Vec<Row>, note: String) -> Table {
    let rows = rows.into_iter().map(|Row { measure, reading, target }| {
        let cells = subjects.iter().map(|subject| read(reading, subject)).collect();
        Measured { measure, unit: reading.unit(), target, cells }
    });
    Table {
        rows: rows.collect(),
        columns: subjects.iter().map(|subject| subject.name).collect(),
        notes: vec![note],
    }
}

fn footing() -> String {
    let runtime = if cfg!(feature = "multi-thread") { "rt-multi-thread" } else { "rt alone" };
    let sleep_bytes = size_of::<tokio::time::Sleep>();
    format!("tokio with {runtime}: its Sleep is {sleep_bytes} bytes.")
}

fn read(reading: Reading, subject: &Subject) -> Cell {
    let cell = match reading {
        Reading::Instructions(call) => {
            subject.call(call).map(|_| callgrind::instructions(subject, call))
        }
        Reading::UnlinkedInstructions(call) => {
            subject.call(call).map(|_| callgrind::unlinked_instructions(subject, call))
        }
        Reading::Nanoseconds(call) => {
            subject.call(call).map(|run| Cell::Number(wall::nanoseconds(run)))
        }
        Reading::OverHand(call) => {
            let hand = cases::HAND.call(call);
            subject.call(call).zip(hand).map(|(run, hand)| Cell::Number(wall::over(run, hand)))
        }
        Reading::Allocations(call) => {
            subject.call(call).map(|run| Cell::Number(memory::allocations(run)))
        }
        Reading::Figure(figure) => subject.figure(figure).map(|tell| Cell::Number(tell())),
        Reading::BuildTime => packages::build(subject.name).map(|built| built.cpu_time),
        Reading::BinaryBytes => packages::build(subject.name).map(|built| built.bytes),
        Reading::Crates(features) => {
            subject.package.as_ref().map(|package| packages::crates_built(package, features))
        }
    };
    cell.unwrap_or(Cell::Absent)
}

impl Measured {
    /// redial is in the last column.
    pub(crate) fn met(&self) -> Met {
        match (self.target, self.cells.last()) {
            (Some(target), Some(cell)) => target.met(*cell),
            _ => Met::Unknown,
        }
    }

    /// Whether a promise is held to: time differs from run to run.
    pub(crate) fn is_checked(&self) -> bool {
        let held = !matches!(self.target, None | Some(Target::Goal(_)));
        held && !self.unit.is_time()
    }

    /// A promise that is checked and not seen to be kept.
    pub(crate) fn is_missed(&self) -> bool {
        self.is_checked() && !matches!(self.met(), Met::Yes | Met::NotYet)
    }
}
