//! The default clock: tokio's timer.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::OnceLock;

use pin_project_lite::pin_project;
use redial_core::Time;
use tokio::time::{Instant, Sleep};

use crate::clock::Clock;

/// Tokio's clock. It follows `tokio::time::pause`, so a test with `start_paused` never sleeps.
///
/// ```
/// use redial::{Policy, TokioClock};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let result: Result<_, ()> =
///     redial::retry(&Policy::DEFAULT, || async { Ok("same as without") }).clock(TokioClock).await;
/// assert_eq!(result, Ok("same as without"));
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

/// Where the first instant that anybody reads is put: two years after the origin, because another
/// runtime's paused clock may be behind it.
const FIRST: u64 = 1 << 56;

impl Clock for TokioClock {
    type Sleep = TokioSleep;

    fn now(&self) -> Time {
        static ORIGIN: OnceLock<Instant> = OnceLock::new();
        let now = Instant::now();
        let origin = *ORIGIN.get_or_init(|| now);
        let ahead = Time::from_nanos(FIRST).after(now.saturating_duration_since(origin));
        let behind = Time::ZERO.after(origin.saturating_duration_since(now)).as_nanos();
        Time::from_nanos(ahead.as_nanos().saturating_sub(behind))
    }

    fn sleep(&self, duration: Duration) -> TokioSleep {
        TokioSleep { sleep: tokio::time::sleep(duration) }
    }
}

pin_project! {
    /// Sleeping on [`TokioClock`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Clock, TokioClock};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let before = TokioClock.now();
    /// TokioClock.sleep(Duration::from_secs(5)).await;
    /// assert_eq!(TokioClock.now().since(before), Duration::from_secs(5));
    /// # }
    /// ```
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct TokioSleep {
        #[pin]
        sleep: Sleep,
    }
}

impl Future for TokioSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.project().sleep.poll(context)
    }
}
