//! One retry budget or one breaker for every process that names the same file.
//!
//! The core decides, as it does for calls in one process. What is here locks the file, reads the state
//! from it, asks the core, and writes the state back. The settings are in the file too, so that all
//! processes have the same.
//!
//! A process may be killed at any point and nobody has to clean up after it. A change is one write
//! of one record; the kernel releases the locks of a process that ends; and a running probe is nothing
//! but such a lock.
//!
//! Every operation opens the file by its path. A file that was replaced is used as it is now, and
//! one that was deleted is created again, with the default settings. [`Status`] shows what is in a
//! file, and resets it without changing its settings.
//!
//! An error of `open` comes before anything runs. An error later (the file was made unreadable,
//! the disk failed) is only warned of: the caller goes on without the file.

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
pub use record::LOCK_TIMEOUT;
pub use status::Status;

use breaker::SharedPermit;

use std::time::SystemTime;

use redial_core::Time;

/// Where the time comes from; tests bring their own.
type Clock = fn() -> Time;

/// The wall clock: processes share it, also across a reboot. It may jump, which the core allows for.
/// Whole microseconds, as in the file.
fn wall_clock() -> Time {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos((since_1970.as_micros() as u64).saturating_mul(1000))
}

/// A time as it is in the file: seconds since 1970.
fn seconds(time: Time) -> f64 {
    (time.as_nanos() / 1000) as f64 / 1e6
}

/// The inverse of [`seconds`]. NaN and what is below zero is 0; what is too large saturates.
fn time(seconds: f64) -> Time {
    Time::from_nanos(((seconds * 1e6).round() as u64).saturating_mul(1000))
}
