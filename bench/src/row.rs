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
    /// The time of a call over that of the loop by hand.
    OverHand(Call),
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
    /// At most this, which was reached, on the way to a goal.
    Towards {
        most: f64,
        goal: f64,
    },
    /// At most this is the goal. It is not reached yet, and nobody is held to it.
    Goal(f64),
}

/// Whether a promise is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    Yes,
    /// What was reached is kept, and the goal is not.
    NotYet,
    No,
    /// Nothing is promised, or nobody could look.
    Unknown,
}

impl Target {
    pub(crate) fn met(self, cell: Cell) -> Met {
        let Cell::Number(number) = cell else { return Met::Unknown };
        let kept = match self {
            Self::Towards { most, goal } if goal < number && number <= most => return Met::NotYet,
            Self::AtMost(most) | Self::Towards { goal: most, .. } | Self::Goal(most) => {
                number <= most
            }
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
            Self::OverHand(_) => Unit::HandRatio,
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

/// The first table of `docs/SPEED.md`, row by row.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = calls();
    rows.extend(sizes());
    rows
}

fn calls() -> Vec<Row> {
    use Reading::{Allocations, Instructions, Nanoseconds};
    use Target::{AtLeast, AtMost, Towards};

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
    let reading = Reading::OverHand(call);
    // Most of it is tokio's yield, on both sides.
    let target = Some(Towards { most: 1.2, goal: 1.0 });
    rows.push(Row { measure, reading, target });
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

/// What people write, in both builds: the target of each, or what was reached of it.
pub(crate) fn everyday() -> Vec<Row> {
    use Reading::{Instructions, Nanoseconds, OverHand, UnlinkedInstructions};
    use Target::{AtMost, Goal, Towards};

    let towards = |goal, most| Towards { most, goal };
    let calls = [
        (Call::LargeAsync, towards(40.0, 48.0), towards(44.0, 52.0)),
        (Call::LargeAsyncByValue, towards(120.0, 330.0), towards(120.0, 330.0)),
        (Call::LargeAsyncWhen, AtMost(50.0), AtMost(54.0)),
        // One option is to add no more than ten to a call without. A timeout and a deadline read the
        // clock when the call starts, which is most of what they take; a budget makes a deposit.
        (Call::LargeAsyncClassify, AtMost(50.0), AtMost(54.0)),
        (Call::LargeAsyncHook, AtMost(50.0), AtMost(54.0)),
        (Call::LargeAsyncTimeout, towards(50.0, 220.0), towards(54.0, 236.0)),
        (Call::LargeAsyncWithin, towards(50.0, 164.0), towards(54.0, 183.0)),
        (Call::LargeAsyncBudget, towards(50.0, 84.0), towards(54.0, 79.0)),
        (Call::LargeAsyncOptions, AtMost(320.0), AtMost(340.0)),
        (Call::LargeBlocking, towards(18.0, 22.0), AtMost(30.0)),
        (Call::LargeBlockingFailures, towards(72.0, 94.0), towards(110.0, 138.0)),
        (Call::ThreadDelayBy2, towards(40.0, 43.0), AtMost(43.0)),
        (Call::ThreadDelayBy1_1, towards(60.0, 114.0), towards(60.0, 224.0)),
        (Call::ThreadDelayBy1_1Steady, AtMost(54.0), towards(60.0, 64.0)),
        (Call::Build, towards(300.0, 376.0), towards(300.0, 380.0)),
        (Call::Parse, AtMost(4700.0), AtMost(5000.0)),
        (Call::Clock, AtMost(112.0), AtMost(150.0)),
    ];
    let mut rows = Vec::new();
    for (call, linked, unlinked) in calls {
        let measure = call.measure();
        let mut row = |reading, target| rows.push(Row { measure, reading, target });
        row(Instructions(call), Some(linked));
        row(UnlinkedInstructions(call), Some(unlinked));
        row(Nanoseconds(call), None);
        match call {
            Call::LargeAsyncOptions => row(OverHand(call), Some(AtMost(1.3))),
            Call::LargeBlockingFailures => row(OverHand(call), Some(AtMost(1.1))),
            _ => {}
        }
    }
    let sleep_bytes = size_of::<tokio::time::Sleep>() as f64;
    // A task is rounded up to 128 bytes, and the larger timer is the last straw.
    let multi_thread = if cfg!(feature = "multi-thread") { 128.0 } else { 0.0 };
    let figures = [
        (
            "future around 24 bytes",
            Figure::FutureBytes,
            towards(sleep_bytes + 32.0, sleep_bytes + 40.0),
        ),
        ("task asleep in it", Figure::TaskBytes, AtMost(256.0 + multi_thread)),
        ("future with five options", Figure::OptionsFutureBytes, AtMost(sleep_bytes + 160.0)),
        ("task asleep in it, with options", Figure::OptionsTaskBytes, AtMost(384.0 + multi_thread)),
        ("a policy", Figure::PolicyBytes, AtMost(416.0)),
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
    use Target::{Goal, Towards};

    let row = |measure, reading, target| Row { measure, reading, target: Some(target) };
    // The size repeats from run to run; the time is that of this machine.
    let size = Towards { most: 20.0 * 1024.0, goal: 16.0 * 1024.0 };
    vec![
        row("cold release build, over tokio's", Reading::BuildTime, Goal(2e9)),
        row("program, over tokio's", Reading::BinaryBytes, size),
    ]
}

/// `redial`, `redial-core` and `pin-project-lite`.
const OURS_ALONE: f64 = 3.0;
/// And `tokio`, which needs `pin-project-lite`, too.
const AND_TIMER: f64 = 4.0;
