//! The door to time: what the async loop asks for.

use core::future::Future;
use core::task::Poll;
use core::time::Duration;
use std::sync::OnceLock;
use std::time::Instant;

use redial_core::Time;

/// What the async loop knows of time. With the default feature `tokio` every call has a clock
/// already; for another runtime, implement this and pass it to [`Retry::clock`](crate::Retry::clock).
///
/// ```
/// use std::sync::OnceLock;
/// use std::time::{Duration, Instant};
/// use redial::{Backoff, Clock, Policy, Time};
///
/// /// A clock for smol, async-std, or no runtime at all.
/// #[derive(Clone, Copy)]
/// struct SmolClock;
///
/// impl Clock for SmolClock {
///     type Sleep = smol::future::Boxed<()>;
///
///     fn now(&self) -> Time {
///         // One origin for the whole program: calls that share a breaker share its time.
///         static START: OnceLock<Instant> = OnceLock::new();
///         Time::ZERO.after(START.get_or_init(Instant::now).elapsed())
///     }
///
///     fn sleep(&self, duration: Duration) -> Self::Sleep {
///         Box::pin(async move { smol::Timer::after(duration).await; })
///     }
/// }
///
/// const POLICY: Policy = Backoff::constant(Duration::from_millis(1)).attempts(3);
///
/// let mut calls = 0;
/// let result: Result<u32, &str> = smol::block_on(async {
///     redial::retry(&POLICY, || {
///         calls += 1;
///         std::future::ready(if calls < 3 { Err("flaky") } else { Ok(calls) })
///     })
///     .clock(SmolClock)
///     .await
/// });
/// assert_eq!(result, Ok(3));
/// ```
#[diagnostic::on_unimplemented(
    message = "this call has no clock",
    label = "`{Self}` cannot tell the time or sleep",
    note = "enable the feature `tokio` of redial, or name a clock first: `retry(policy, operation).clock(…)`"
)]
pub trait Clock {
    /// What sleeping is made of. Dropping it must cancel the timer.
    type Sleep: Future<Output = ()>;

    /// The time now, on a monotonic clock: it never goes backwards, and all calls that share a
    /// budget or a breaker count from the same origin.
    fn now(&self) -> Time;

    /// Sleeps for at least `duration`. Never called with zero: a zero delay yields instead.
    fn sleep(&self, duration: Duration) -> Self::Sleep;
}

impl<K: Clock> Clock for &K {
    type Sleep = K::Sleep;

    fn now(&self) -> Time {
        (**self).now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        (**self).sleep(duration)
    }
}

impl<K: Clock> Clock for std::sync::Arc<K> {
    type Sleep = K::Sleep;

    fn now(&self) -> Time {
        (**self).now()
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        (**self).sleep(duration)
    }
}

/// A clock, or none yet: what a call without the feature `tokio` has at first.
pub trait MaybeClock {
    /// What sleeping is made of.
    type Sleep;
}

impl<K: Clock> MaybeClock for K {
    type Sleep = K::Sleep;
}

/// The clock of a call that was not told of any.
#[cfg(feature = "tokio")]
pub type DefaultClock = crate::TokioClock;

/// The clock of a call that was not told of any: none. Such a call cannot be awaited.
#[cfg(not(feature = "tokio"))]
pub type DefaultClock = NoClock;

/// No clock: the call has yet to be given one, by [`Retry::clock`](crate::Retry::clock).
#[cfg(not(feature = "tokio"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

#[cfg(not(feature = "tokio"))]
impl MaybeClock for NoClock {
    type Sleep = ();
}

/// An instant of the operating system's monotonic clock as a [`Time`]: the same for all clocks of
/// this crate, because calls on different clocks may share a breaker or a budget.
///
/// The first instant that anybody reads is two years after the origin, for another runtime's
/// paused clock may be behind it.
#[inline]
pub(crate) fn time_of(instant: Instant) -> Time {
    const FIRST: Time = Time::from_nanos(1 << 56);
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let origin = *ORIGIN.get_or_init(|| instant);
    match instant.checked_duration_since(origin) {
        Some(ahead) => FIRST.after(ahead),
        None => {
            let behind = Time::ZERO.after(origin.duration_since(instant)).as_nanos();
            Time::from_nanos(FIRST.as_nanos().saturating_sub(behind))
        }
    }
}

/// Gives the other tasks a turn: what a zero delay is. No timer is involved.
pub(crate) fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    core::future::poll_fn(move |context| {
        if core::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// `delay`, or up to `tolerance` longer so that the wake-up falls on a multiple of the tolerance.
/// Timers that are given leave to be late then fire together.
pub(crate) fn coalesced(now: Time, delay: Duration, tolerance: Duration) -> Duration {
    if tolerance.is_zero() {
        return delay;
    }
    let grid = u64::try_from(tolerance.as_nanos()).unwrap_or(u64::MAX);
    let wake = now.after(delay).as_nanos();
    let late = match wake % grid {
        0 => 0,
        past => grid - past,
    };
    delay.saturating_add(Duration::from_nanos(late))
}
