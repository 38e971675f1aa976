//! A rate, kept by spacing starts evenly: `100/1min` is one every 600 ms.

use std::time::Duration;

use redial_core::Time;

use crate::flow::Rate;

/// When the next start may be. There is no burst: so no window of the rate's time has more starts than the
/// rate says, wherever it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    interval: Duration,
    free_at: Time,
}

impl Pacer {
    pub(super) fn new(rate: Rate) -> Self {
        let nanos = rate.per.as_nanos().div_ceil(u128::from(rate.count.get()));
        let interval = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        Self { interval, free_at: Time::ZERO }
    }

    pub(super) fn free_at(&self) -> Time {
        self.free_at
    }

    /// Something has started.
    pub(super) fn take(&mut self, at: Time) {
        self.free_at = at.after(self.interval);
    }
}
