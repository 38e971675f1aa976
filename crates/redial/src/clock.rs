//! The door to time: what the async loop asks for.

use core::future::Future;
use core::task::Poll;
use core::time::Duration;

use redial_core::Time;

#[cfg(all(feature = "smol", not(target_family = "wasm")))]
pub(crate) mod smol;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod thread;
#[cfg(all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))))]
pub(crate) mod tokio;
#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
pub(crate) mod wasm;

/// What the async loop knows of time. With the default feature `tokio` every call has a clock
/// already; any other is passed to [`Retry::clock`](crate::Retry::clock).
///
/// | clock | for | feature |
/// |---|---|---|
/// | `TokioClock` | tokio; what a call has unless it is told | `tokio`, on by default |
/// | `SmolClock` | smol | `smol` |
/// | `ThreadClock` | any executor, or none: a thread of its own keeps the timers | none |
/// | `WasmClock` | JavaScript hosts; on `wasm32-unknown-unknown`, what a call has unless it is told | `wasm` |
/// | [`ManualClock`](crate::testing::ManualClock) | tests | none |
///
/// For anything else, implement this. A clock on the timers of a runtime, or of a host, is a few
/// lines:
///
/// ```
/// use std::pin::Pin;
/// use std::sync::OnceLock;
/// use std::time::{Duration, Instant};
/// use redial::{Backoff, Clock, Policy, Time};
///
/// #[derive(Clone, Copy)]
/// struct MyClock;
///
/// impl Clock for MyClock {
///     type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;
///
///     fn now(&self) -> Time {
///         // One origin for the whole program: calls that share a breaker share its time.
///         static START: OnceLock<Instant> = OnceLock::new();
///         Time::ZERO.after(START.get_or_init(Instant::now).elapsed())
///     }
///
///     fn sleep(&self, duration: Duration) -> Self::Sleep {
///         Box::pin(async move { my_runtime::sleep(duration).await; })
///     }
/// }
/// # mod my_runtime { pub async fn sleep(duration: std::time::Duration) { smol::Timer::after(duration).await; } }
///
/// const POLICY: Policy = Backoff::constant(Duration::from_millis(1)).attempts(3);
///
/// let mut calls = 0;
/// let call = redial::retry(&POLICY, || {
///     calls += 1;
///     std::future::ready(if calls < 3 { Err("flaky") } else { Ok(calls) })
/// });
/// assert_eq!(smol::block_on(call.clock(MyClock)), Ok(3));
/// ```
#[diagnostic::on_unimplemented(
    message = "this call has no clock",
    label = "`{Self}` cannot tell the time or sleep",
    note = "tokio: enable the feature `tokio` of redial",
    note = "smol: enable the feature `smol`, and say `.clock(redial::SmolClock)`",
    note = "wasm32-unknown-unknown in a JavaScript host: enable the feature `wasm`",
    note = "any other executor: say `.clock(redial::ThreadClock)`, or give it a clock of your own"
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

    #[inline]
    fn now(&self) -> Time {
        (**self).now()
    }

    #[inline]
    fn sleep(&self, duration: Duration) -> Self::Sleep {
        (**self).sleep(duration)
    }
}

impl<K: Clock> Clock for std::sync::Arc<K> {
    type Sleep = K::Sleep;

    #[inline]
    fn now(&self) -> Time {
        (**self).now()
    }

    #[inline]
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

/// The clock of a call that was not told of any: tokio's.
#[cfg(all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))))]
pub type DefaultClock = tokio::TokioClock;

/// The clock of a call that was not told of any: the host's.
#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
pub type DefaultClock = wasm::WasmClock;

/// The clock of a call that was not told of any: none. Such a call cannot be awaited.
#[cfg(not(any(
    all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))),
    all(feature = "wasm", target_family = "wasm", target_os = "unknown"),
)))]
pub type DefaultClock = NoClock;

/// No clock: the call has yet to be given one, by [`Retry::clock`](crate::Retry::clock).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl MaybeClock for NoClock {
    type Sleep = ();
}

/// An instant of the operating system's monotonic clock as a [`Time`]: the same for all clocks of
/// this crate, because calls on different clocks may share a breaker or a budget.
///
/// The first instant that anybody reads is two years after the origin, for another runtime's
/// paused clock may be behind it.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[inline]
pub(crate) fn time_of(instant: std::time::Instant) -> Time {
    use std::sync::OnceLock;
    const FIRST: Time = Time::from_nanos(1 << 56);
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
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
