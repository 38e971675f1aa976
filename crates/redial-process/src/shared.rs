//! One retry budget or one breaker for every process that names the same file.
//!
//! The core decides, as it does for calls in one process; what is here takes its state out of a
//! file, asks, and puts the state back, while nobody else does. The settings are in the file too:
//! whoever shares it shares them.
//!
//! A process may be killed at any point and nobody has to clean up after it. A change is one write
//! of one record; the locks are the kernel's, which gives them back with the process; and a running
//! probe is nothing but such a lock.
//!
//! Every operation opens the file by its path. A file that was replaced is used as it is now, and
//! one that was deleted starts afresh, with the default settings. [`Status`] shows what is in a file,
//! and resets it with its settings.
//!
//! An error of `open` is for before anything runs. An error later (the file was made unreadable,
//! the disk failed) is worth a warning and no more: the caller goes on as if it had not asked.

mod breaker;
mod budget;
mod gate;
mod lock;
mod record;
mod status;
#[cfg(test)]
mod tests;

pub use breaker::{BreakerSettings, BreakerStatus, Refusal, SharedBreaker, State};
pub use budget::{BudgetSettings, BudgetStatus, SharedBudget};
pub use gate::SharedGate;
pub use record::LOCK_PATIENCE;
pub use status::Status;

use breaker::{Admission, SharedPermit};

use std::time::SystemTime;

use redial_core::Time;

/// Where the time comes from; tests bring their own.
type Clock = fn() -> Time;

/// The clock that processes have in common, also across a restart of the machine. It may jump; the
/// core sees to it that this wedges nothing. Whole microseconds, which is what a file keeps.
fn wall_clock() -> Time {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos((since_1970.as_micros() as u64).saturating_mul(1000))
}

/// A time as it stands in a file: seconds since 1970.
fn seconds(time: Time) -> f64 {
    (time.as_nanos() / 1000) as f64 / 1e6
}

/// And back. What is no time at all is the beginning or the end of it.
fn time(seconds: f64) -> Time {
    Time::from_nanos(((seconds * 1e6).round() as u64).saturating_mul(1000))
}
