//! Durations as the models of this crate count them.

use std::time::Duration;

use redial_core::Time;

/// A tick is a nanosecond. Saturates at 2⁶⁴ − 1 of them, which is 584 years.
pub(crate) const fn ticks(duration: Duration) -> u64 {
    Time::ZERO.after(duration).as_nanos()
}
