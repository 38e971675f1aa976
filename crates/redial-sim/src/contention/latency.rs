//! How long messages take.

use std::time::Duration;

use redial_core::Random;

use crate::chance::normal;

/// How long a message takes: normally distributed.
///
/// ```
/// use core::time::Duration;
/// use redial_sim::contention::Latency;
///
/// let latency = Latency { mean: Duration::from_micros(250), spread: Duration::from_micros(20) };
/// assert_eq!(Latency::millis(20, 4).mean, Duration::from_millis(20));
/// # let _ = latency;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Latency {
    /// The mean.
    pub mean: Duration,
    /// The standard deviation.
    pub spread: Duration,
}

impl Latency {
    /// So much in the mean, with a standard deviation of a fifth of it.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_sim::contention::Latency;
    /// assert_eq!(Latency::around(Duration::from_millis(10)), Latency::millis(10, 2));
    /// ```
    pub const fn around(mean: Duration) -> Self {
        let Some(spread) = mean.checked_div(5) else { panic!("five is not zero") };
        Self { mean, spread }
    }

    /// Mean and standard deviation in milliseconds.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_sim::contention::Latency;
    /// assert_eq!(Latency::millis(10, 2).spread, Duration::from_millis(2));
    /// ```
    pub const fn millis(mean: u64, spread: u64) -> Self {
        Self { mean: Duration::from_millis(mean), spread: Duration::from_millis(spread) }
    }
}

/// Draws latencies, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampler {
    mean: f64,
    spread: f64,
    spread_of_two: f64,
    /// Whether the sum of two hops may be drawn as one normal number. A hop is |Normal|, whose sum
    /// is not normal; but where the mean is five standard deviations above zero, the absolute value
    /// changes one hop in three million.
    sums_are_normal: bool,
}

impl Sampler {
    pub(super) fn new(latency: Latency) -> Self {
        let (mean, spread) = (latency.mean.as_nanos() as f64, latency.spread.as_nanos() as f64);
        let spread_of_two = spread * core::f64::consts::SQRT_2;
        Self { mean, spread, spread_of_two, sums_are_normal: mean >= 5.0 * spread }
    }

    /// One hop: |Normal(mean, spread)|.
    #[inline]
    pub(super) fn hop(&self, random: &mut impl Random) -> u64 {
        whole(self.mean + self.spread * normal(random))
    }

    /// Two hops, in one draw where that is the same.
    #[inline(always)]
    pub(super) fn two_hops(&self, random: &mut impl Random) -> u64 {
        if self.sums_are_normal {
            whole(2.0 * self.mean + self.spread_of_two * normal(random))
        } else {
            self.hop(random).saturating_add(self.hop(random))
        }
    }

    /// A round trip: Normal(mean, spread), but at least a twentieth of the mean.
    #[inline]
    pub(super) fn round_trip(&self, random: &mut impl Random) -> u64 {
        whole((self.mean + self.spread * normal(random)).max(0.05 * self.mean))
    }
}

/// |nanos| to the nearest whole nanosecond; what is too large saturates.
#[inline(always)]
fn whole(nanos: f64) -> u64 {
    // From 2⁵² on the mantissa of a double is an integer. Adding 2⁵² to a number below 2⁵¹, which
    // is 26 days, rounds it and leaves it in the low bits. `as u64` is slower than all else here,
    // because it checks for NaN and saturates.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let nanos = nanos.abs();
    if nanos < WHOLE / 2.0 { (nanos + WHOLE).to_bits() - WHOLE.to_bits() } else { nanos as u64 }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn times_are_rounded_to_the_nearest_and_saturate() {
        for (nanos, expected) in [
            (0.0, 0),
            (0.4, 0),
            (0.6, 1),
            (-7.0, 7),
            (1e7 + 0.75, 10_000_001),
            ((1u64 << 51) as f64 - 1.0, (1 << 51) - 1),
            ((1u64 << 51) as f64, 1 << 51),
            (1e300, u64::MAX),
            (f64::INFINITY, u64::MAX),
        ] {
            assert_eq!(whole(nanos), expected, "{nanos}");
        }
    }
}
