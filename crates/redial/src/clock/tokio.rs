//! The default clock: tokio's timer.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::Time;
use tokio::time::{Instant, Sleep};

use crate::clock::{Clock, time_of};

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

impl Clock for TokioClock {
    type Sleep = TokioSleep;

    fn now(&self) -> Time {
        time_of(Instant::now().into_std())
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
