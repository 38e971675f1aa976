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
    /// In the build without LTO.
    UnlinkedInstructions(Call),
    Nanoseconds(Call),
    Allocations(Call),
    Figure(Figure),
    Crates(Features),
    /// Of a cold release build of a program that uses it, over one that uses tokio alone: the time
    /// on processors, and the bytes of the stripped program.
    BuildTime,
    BinaryBytes,
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
    /// At most this is the goal. It is not reached yet, and nobody is held to it.
    Goal(f64),
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
            Self::AtMost(most) | Self::Goal(most) => number <= most,
            Self::AtLeast(least) => number >= least,
        };
        if kept { Met::Yes } else { Met::No }
    }
}

impl Reading {
    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::Instructions(_) => Unit::Instructions,
            Self::UnlinkedInstructions(_) => Unit::UnlinkedInstructions,
            Self::Nanoseconds(_) => Unit::Nanoseconds,
            Self::Allocations(_) => Unit::Allocations,
            Self::Figure(Figure::Yields) => Unit::Yields,
            Self::Figure(
                Figure::SharedAlone | Figure::SharedByTwo | Figure::PaidAlone | Figure::PaidByTwo,
            ) => Unit::Nanoseconds,
            Self::Figure(_) => Unit::Bytes,
            Self::Crates(_) => Unit::Crates,
            Self::BuildTime => Unit::CpuTime,
            Self::BinaryBytes => Unit::Size,
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

/// What people write, in both builds: the target of each, or the goal where it is not reached.
pub(crate) fn everyday() -> Vec<Row> {
    use Reading::{Instructions, Nanoseconds, UnlinkedInstructions};
    use Target::{AtMost, Goal};

    let calls = [
        (Call::LargeAsync, Goal(40.0), Goal(44.0)),
        (Call::LargeAsyncByValue, Goal(120.0), Goal(120.0)),
        (Call::LargeAsyncWhen, Goal(50.0), Goal(54.0)),
        (Call::LargeAsyncOptions, Goal(400.0), Goal(400.0)),
        (Call::LargeBlocking, Goal(18.0), Goal(30.0)),
        (Call::LargeBlockingFailures, Goal(72.0), Goal(110.0)),
        (Call::ThreadDelayBy2, Goal(40.0), AtMost(45.0)),
        (Call::ThreadDelayBy1_1, Goal(60.0), Goal(60.0)),
        (Call::ThreadDelayBy1_1Steady, AtMost(60.0), Goal(60.0)),
        (Call::Build, Goal(300.0), Goal(300.0)),
        (Call::Parse, AtMost(5000.0), Goal(5000.0)),
    ];
    let mut rows = Vec::new();
    for (call, linked, unlinked) in calls {
        let measure = call.measure();
        let mut row = |reading, target| rows.push(Row { measure, reading, target });
        row(Instructions(call), Some(linked));
        row(UnlinkedInstructions(call), Some(unlinked));
        row(Nanoseconds(call), None);
    }
    let sleep_bytes = size_of::<tokio::time::Sleep>() as f64;
    let figures = [
        ("future around 24 bytes", Figure::FutureBytes, Goal(sleep_bytes + 32.0)),
        ("task asleep in it", Figure::TaskBytes, Goal(256.0)),
        ("future with five options", Figure::OptionsFutureBytes, Goal(256.0)),
        ("task asleep in it, with options", Figure::OptionsTaskBytes, Goal(384.0)),
        ("a policy", Figure::PolicyBytes, AtMost(600.0)),
        ("budget and breaker, 1 thread", Figure::SharedAlone, Goal(20.0)),
        ("budget and breaker, 2 threads", Figure::SharedByTwo, Goal(40.0)),
        ("and a retry paid for, 1 thread", Figure::PaidAlone, Goal(20.0)),
        ("and a retry paid for, 2 threads", Figure::PaidByTwo, Goal(40.0)),
    ];
    rows.extend(figures.map(|(measure, figure, target)| Row {
        measure,
        reading: Reading::Figure(figure),
        target: Some(target),
    }));
    rows
}

/// What a program pays that uses it, when it is built.
pub(crate) fn builds() -> Vec<Row> {
    let goal = |measure, reading, most| Row { measure, reading, target: Some(Target::Goal(most)) };
    vec![
        goal("cold release build, over tokio's", Reading::BuildTime, 2e9),
        goal("program, over tokio's", Reading::BinaryBytes, 16.0 * 1024.0),
    ]
}

/// `redial` and `redial-core`.
const OURS_ALONE: f64 = 3.0;
/// And `tokio` and `pin-project-lite`.
const AND_TIMER: f64 = 4.0;
