//! Whole nanoseconds in 64 bits. The only file that adds times and durations, and it saturates.

use core::fmt;
use core::time::Duration;

/// A duration as the engine counts it: nanoseconds, saturating at 584 years.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> u64 {
    let whole = duration.as_secs().saturating_mul(1_000_000_000);
    whole.saturating_add(duration.subsec_nanos() as u64)
}

/// A point on a clock: nanoseconds since whatever origin the clock has.
///
/// The core reads no clock; whoever drives it brings the time. Two times are comparable only when
/// they come from the same clock, and that clock must not go backwards.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Time;
///
/// let start = Time::from_nanos(500);
/// let later = start.after(Duration::from_nanos(250));
/// assert_eq!(later.since(start), Duration::from_nanos(250));
/// assert_eq!(start.since(later), Duration::ZERO); // never negative
/// assert_eq!(Time::MAX.after(Duration::MAX), Time::MAX); // never wraps
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin of the clock.
    ///
    /// ```
    /// assert_eq!(redial_core::Time::ZERO, redial_core::Time::from_nanos(0));
    /// ```
    pub const ZERO: Self = Self(0);

    /// The end of time, 584 years after the origin.
    ///
    /// ```
    /// assert_eq!(redial_core::Time::MAX.as_nanos(), u64::MAX);
    /// ```
    pub const MAX: Self = Self(u64::MAX);

    /// The time `nanos` nanoseconds after the origin.
    ///
    /// ```
    /// assert_eq!(redial_core::Time::from_nanos(7).as_nanos(), 7);
    /// ```
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    ///
    /// ```
    /// assert_eq!(redial_core::Time::MAX.as_nanos(), u64::MAX);
    /// ```
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time `duration` later, or [`Time::MAX`] where that does not fit.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Time;
    /// assert_eq!(Time::ZERO.after(Duration::from_secs(1)), Time::from_nanos(1_000_000_000));
    /// ```
    #[inline]
    pub const fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    /// How long after `earlier` this is; zero where it is not after it.
    ///
    /// ```
    /// use core::time::Duration;
    /// use redial_core::Time;
    /// assert_eq!(Time::from_nanos(9).since(Time::from_nanos(4)), Duration::from_nanos(5));
    /// ```
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The units a duration is written in, the largest first, as the clause spells them.
pub(crate) const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A duration printed as the clause writes it: `1500ms`, `30s`, `2min`.
///
/// The unit is the largest one that leaves a whole number, so what is printed is exact and reads
/// back as the same duration. Durations past 584 years print as the 64-bit maximum.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Pretty;
///
/// assert_eq!(Pretty(Duration::from_millis(1500)).to_string(), "1500ms");
/// assert_eq!(Pretty(Duration::from_secs(120)).to_string(), "2min");
/// assert_eq!(Pretty(Duration::ZERO).to_string(), "0s");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pretty(pub Duration);

impl fmt::Display for Pretty {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(crate::text::Text::<32>::new().duration(nanos(self.0)).as_str())
    }
}

impl fmt::Debug for Pretty {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
