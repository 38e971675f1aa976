//! How long children have run on the processors.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// What all children that were waited for have taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl Times {
    pub(crate) fn of_children() -> Self {
        let time = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
        getrusage(UsageWho::RUSAGE_CHILDREN).map_or_else(
            |_| Self::default(),
            |usage| Self { user: time(usage.user_time()), system: time(usage.system_time()) },
        )
    }

    /// What was taken since an earlier time.
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}
