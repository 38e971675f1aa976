//! What has become of steps and of the items of a map.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rate::Pacer;
use super::shared::Shared;
use super::task::Queued;

/// How a step came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It succeeded; a map, if it is within its bound of dead items.
    Succeeded,
    /// Its fallback took its place.
    Recovered,
    /// It was not run, because its condition did not hold, or because it needs what was not run.
    Skipped,
    /// It failed, and what needs it runs all the same.
    Continued,
    /// It gave up, and is a dead letter.
    Dead,
    /// It did not run, because something that it needs failed.
    Blocked,
}

impl End {
    /// Whether what needs the step has to do without it.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Dead | Self::Blocked)
    }
}

/// What has become of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ItemState {
    /// It is known, and nothing was done for it yet.
    New,
    /// A task of it is under way.
    Active,
    /// All its steps have succeeded.
    Succeeded,
    /// All its steps are over, and for one of them its fallback took its place.
    Recovered,
    /// A step of it has given up.
    Dead,
    /// It was dead, and is not wanted any more.
    Dropped,
}

impl ItemState {
    /// Whether nothing more is to be done for it.
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::New | Self::Active)
    }
}

/// The items of a map, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Known so far.
    pub known: u64,
    /// Under way.
    pub active: u64,
    /// All steps have succeeded.
    pub succeeded: u64,
    /// Succeeded by a fallback.
    pub recovered: u64,
    /// Given up.
    pub dead: u64,
    /// Dropped.
    pub dropped: u64,
}

impl Counts {
    /// Those for which nothing more is to be done.
    pub fn finished(&self) -> u64 {
        self.succeeded + self.recovered + self.dead + self.dropped
    }
}

/// What has become of a step.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) end: Option<End>,
    /// What it needs is there.
    pub(super) is_open: bool,
    pub(super) generation: u32,
    /// It was a dead letter, and is not wanted any more.
    pub(super) is_dropped: bool,
    pub(super) queue: BinaryHeap<Reverse<Queued>>,
    pub(super) running: u32,
    pub(super) pacer: Option<Pacer>,
    pub(super) shared: Shared,
    pub(super) map: Map,
}

/// What has become of the items of a map.
#[derive(Debug, Default)]
pub(super) struct Map {
    pub(super) items: Vec<ItemState>,
    pub(super) counts: Counts,
    /// How many were admitted, or passed over because they were finished, since this process reads them.
    pub(super) admitted: u32,
    /// How many there are, once that is known.
    pub(super) length: Option<u32>,
    /// Why the source could not be read to its end.
    pub(super) broken: Option<Box<str>>,
    /// Nothing more of it starts, because too many of its items are dead.
    pub(super) is_stopped: bool,
    /// Dead letters from before the source was read again: they are not held against it.
    pub(super) forgiven: u64,
}

impl Map {
    /// Whether there may be one that this process has not read yet.
    pub(super) fn has_more(&self) -> bool {
        self.length.is_none_or(|length| self.admitted < length)
    }

    /// Its source is read once more, from its beginning.
    pub(super) fn expect_more(&mut self) {
        (self.length, self.admitted) = (None, 0);
        (self.broken, self.is_stopped) = (None, false);
        self.forgiven = self.counts.dead;
    }
}
