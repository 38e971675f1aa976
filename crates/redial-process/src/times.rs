//! CPU time of children, by `getrusage`.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

/// CPU time of children that have been waited for, and of their descendants.
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

    #[cfg(target_os = "linux")]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }

    /// How much more it is than at an earlier time.
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }
}
