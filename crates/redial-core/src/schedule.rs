//! A delay source of the user's own.

use core::fmt;
use core::time::Duration;

use crate::random::Random;
use crate::time::nanos;

/// A source of delays. The built-in ones are behind [`Backoff`](crate::Backoff)'s constructors;
/// implement this to bring your own, then hand it to [`Backoff::new`](crate::Backoff::new). It
/// takes the same modifiers and runs in the same loop.
///
/// A schedule that only depends on `n` is a closure: see
/// [`Backoff::from_fn`](crate::Backoff::from_fn).
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, Policy, Random, Schedule};
///
/// /// Grows by the square: 1 s, 4 s, 9 s, …
/// struct Squares;
///
/// impl Schedule for Squares {
///     fn delay(&self, n: u32, _previous: Duration, _random: &mut impl Random) -> Duration {
///         let k = u64::from(n) + 1;
///         Duration::from_secs(k.saturating_mul(k))
///     }
/// }
///
/// const POLICY: Policy<Squares> =
///     Backoff::new(Squares).max(Duration::from_secs(5)).attempts(4);
///
/// let delays: Vec<_> = POLICY.delays(|| 0).map(|delay| delay.as_secs()).collect();
/// assert_eq!(delays, [1, 4, 5]);
/// ```
pub trait Schedule {
    /// Delay `n`, counted from 0: the wait after attempt `n + 1` failed. It stays at `u32::MAX`
    /// once it gets there.
    ///
    /// `previous` is the delay that this schedule gave last in this call, zero before the first.
    /// A schedule with chance in it takes its words from `random`, the same number each time, so
    /// that one seed replays one call.
    fn delay(&self, n: u32, previous: Duration, random: &mut impl Random) -> Duration;

    /// The same in nanoseconds; `previous` becomes what will be the previous delay next time.
    #[doc(hidden)]
    #[inline]
    fn advance(&self, n: u32, previous: &mut u64, random: &mut impl Random) -> u64 {
        *previous = nanos(self.delay(n, Duration::from_nanos(*previous), random));
        *previous
    }
}

/// A schedule that is a function of `n`: what [`Backoff::from_fn`](crate::Backoff::from_fn) makes.
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, FromFn};
///
/// let backoff: Backoff<FromFn<_>> = Backoff::from_fn(|n| Duration::from_secs(n.into()));
/// let delays: Vec<_> = backoff.attempts(3).delays(|| 0).collect();
/// assert_eq!(delays, [Duration::ZERO, Duration::from_secs(1)]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FromFn<F>(pub(crate) F);

impl<F: Fn(u32) -> Duration> Schedule for FromFn<F> {
    #[inline]
    fn delay(&self, n: u32, _previous: Duration, _random: &mut impl Random) -> Duration {
        (self.0)(n)
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromFn(..)")
    }
}
