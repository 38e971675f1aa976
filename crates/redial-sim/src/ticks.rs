//! Durations as the models of this crate count them.

use std::time::Duration;

use redial_core::Time;

/// A tick is a nanosecond; longer than 584 years is as long as there are ticks.
pub(crate) const fn ticks(duration: Duration) -> u64 {
    Time::ZERO.after(duration).as_nanos()
}
