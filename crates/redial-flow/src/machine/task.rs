//! A task between its attempts.

use std::cmp::Reverse;
use std::time::Duration;

use redial_core::{CallSnapshot, Time};

use super::TaskId;
use crate::record::{Outcome, Verdict};

#[derive(Debug)]
pub(super) struct Task {
    /// Counted so far, with the one that runs.
    pub(super) attempts: u32,
    pub(super) generation: u32,
    pub(super) call: CallSnapshot,
    /// When its first attempt started.
    pub(super) started: Time,
    pub(super) phase: Phase,
    /// The sequence number of its entry in the queue.
    pub(super) queued: u64,
    /// When its next attempt is due.
    pub(super) due: Time,
    /// The periods in which the breakers of its step and of the map admitted the attempt that runs.
    pub(super) permits: [Option<u16>; 2],
    /// Whether it has brought its share to the budgets: once, also where its first attempt was cut and does not count.
    pub(super) has_deposited: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for its next attempt.
    Queued,
    Running,
    /// What follows is to be decided; the delay is one that the command asked for.
    Failed(Verdict, Option<Duration>),
    /// Its end is to be written down.
    GivenUp(Outcome, Box<str>),
}

impl Task {
    pub(super) fn new(generation: u32) -> Self {
        Self {
            attempts: 0,
            generation,
            call: CallSnapshot::default(),
            started: Time::ZERO,
            phase: Phase::Queued,
            queued: 0,
            due: Time::ZERO,
            permits: [None; 2],
            has_deposited: false,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether a retry was decided, and so paid for, that has not been made.
    pub(super) fn has_paid(&self) -> bool {
        self.phase == Phase::Queued && self.call.failures > 0
    }
}

/// An entry of the queue of a step: what is due first comes first, and then what was there first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Queued {
    pub(super) due: Time,
    pub(super) priority: Reverse<i32>,
    pub(super) sequence: u64,
    pub(super) task: TaskId,
}

impl Queued {
    /// The order in which what is ready starts, also of different steps: the highest priority first, then what was due
    /// first, then what was there first.
    pub(super) fn rank(&self) -> (Reverse<i32>, Time, u64) {
        (self.priority, self.due, self.sequence)
    }
}

/// The seed of a task, from that of its run, the step's name and the place of the item: FNV-1a over them,
/// and then the mixing function of SplitMix64.
pub(super) fn seed(run: u64, step: &str, item: Option<u32>) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let item = item.map_or(u64::MAX, u64::from);
    let bytes = run.to_le_bytes().into_iter().chain(step.bytes()).chain(item.to_le_bytes());
    let hash = bytes.fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
