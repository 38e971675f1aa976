//! The rows of the table: what is read, and what redial promises.

use crate::subject::{Call, Figure};
use crate::unit::Unit;

/// One measure of every subject.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) measure: &'static str,
    pub(crate) reading: Reading,
    pub(crate) target: Option<Target>,
}

/// How a row is read.
#[derive(Clone, Copy)]
pub(crate) enum Reading {
    Instructions(Call),
    Nanoseconds(Call),
    Allocations(Call),
    Figure(Figure),
    Crates(Features),
}

/// Which features of a crate are on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Features {
    None,
    Default,
    /// The default ones, and those that the calls here need.
    Needed,
}

/// One subject's part in a row.
#[derive(Clone, Copy)]
pub(crate) enum Cell {
    Number(f64),
    /// The subject has nothing of the kind.
    Absent,
    /// It has, but it could not be read, for this reason.
    Unmeasured(&'static str),
}

/// What redial promises.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

/// Whether a promise is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    Yes,
    No,
    /// Nothing is promised, or nobody could look.
    Unknown,
}

impl Target {
    pub(crate) fn met(self, cell: Cell) -> Met {
        let Cell::Number(number) = cell else { return Met::Unknown };
        let kept = match self {
            Self::AtMost(most) => number <= most,
            Self::AtLeast(least) => number >= least,
        };
        if kept { Met::Yes } else { Met::No }
    }
}

impl Reading {
    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::Instructions(_) => Unit::Instructions,
            Self::Nanoseconds(_) => Unit::Nanoseconds,
            Self::Allocations(_) => Unit::Allocations,
            Self::Figure(Figure::Yields) => Unit::Yields,
            Self::Figure(Figure::FutureBytes | Figure::TaskBytes) => Unit::Bytes,
            Self::Crates(_) => Unit::Crates,
        }
    }
}

/// The table of `docs/DESIGN.md`, "Speed and size", row by row.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = calls();
    rows.extend(sizes());
    rows
}

fn calls() -> Vec<Row> {
    use Reading::{Allocations, Instructions, Nanoseconds};
    use Target::{AtLeast, AtMost};

    let mut rows = Vec::new();
    let mut measure = |call: Call, most: f64, allocations: bool| {
        let measure = call.measure();
        rows.push(Row { measure, reading: Instructions(call), target: Some(AtMost(most)) });
        rows.push(Row { measure, reading: Nanoseconds(call), target: None });
        if allocations {
            rows.push(Row { measure, reading: Allocations(call), target: Some(AtMost(0.0)) });
        }
    };
    measure(Call::AsyncSuccess, 45.0, true);
    measure(Call::BlockingSuccess, 20.0, true);
    measure(Call::DelayBy2, 40.0, false);
    measure(Call::DelayBy2Steady, 40.0, false);
    measure(Call::DelayBy1_5, 60.0, false);
    measure(Call::DelayBy1_5Steady, 60.0, false);
    measure(Call::BlockingFailures, 80.0, false);

    // A timer decides here, and callgrind knows nothing of time.
    let call = Call::AsyncFailures;
    let measure = call.measure();
    rows.push(Row { measure, reading: Nanoseconds(call), target: Some(AtMost(500.0)) });
    let reading = Reading::Figure(Figure::Yields);
    rows.push(Row { measure, reading, target: Some(AtLeast(3.0)) });
    rows
}

fn sizes() -> [Row; 5] {
    let sleep_bytes = size_of::<tokio::time::Sleep>() as f64;
    let at_most =
        |measure, reading, most| Row { measure, reading, target: Some(Target::AtMost(most)) };
    let future = Reading::Figure(Figure::FutureBytes);
    let task = Reading::Figure(Figure::TaskBytes);
    let crates = Reading::Crates;
    [
        at_most("future around 24 bytes", future, sleep_bytes + 56.0),
        at_most("task asleep in it", task, 384.0),
        at_most("crates built, no default features", crates(Features::None), OURS_ALONE),
        at_most("crates built, default features", crates(Features::Default), AND_TIMER),
        at_most("crates built, features as used here", crates(Features::Needed), AND_TIMER),
    ]
}

/// `redial` and `redial-core`.
const OURS_ALONE: f64 = 3.0;
/// And `tokio` and `pin-project-lite`.
const AND_TIMER: f64 = 4.0;
