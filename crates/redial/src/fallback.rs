//! What to do once a call has given up.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::future::Async;
use crate::options::Options;
use crate::outcome::Value;
use crate::retry::{Mode, Retry};

impl<Op, Fut, H, P, J, B, G, K, R> Retry<Async<Op, Fut, Value, H>, Options<P, J, B, G, K, R>>
where
    Async<Op, Fut, Value, H>: Mode<K, G>,
{
    /// Does something else once the call has given up: another server, a cache, a default. It is told
    /// the error, and may fail in its own way, also with that error.
    ///
    /// ```
    /// use redial::{Error, Policy, retry};
    /// # use std::time::Duration;
    /// # async fn primary() -> Result<&'static str, &'static str> { Err("down") }
    /// # async fn replica() -> Result<&'static str, &'static str> { Ok("page") }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let page = retry(&Policy::DEFAULT, || primary())
    ///     .fallback(|error| async move {
    ///         eprintln!("gave up: {error}");
    ///         replica().await
    ///     })
    ///     .await;
    /// assert_eq!(page, Ok("page"));
    /// # }
    /// ```
    ///
    /// It stands last, and is run once, without retries, timeout or deadline of its own; those it can
    /// have from a [`retry`](crate::retry()) inside. A value that is at hand needs no more than
    /// `retry(…).await.unwrap_or(value)`; so does a blocking call, after `run()`.
    #[inline]
    pub fn fallback<F, Next, T, E, N>(self, fallback: F) -> Fallback<Self, F, Next>
    where
        Self: Future<Output = Result<T, E>>,
        F: FnOnce(E) -> Next,
        Next: Future<Output = Result<T, N>>,
    {
        Fallback { step: Step::Call { call: self, fallback: Some(fallback) } }
    }
}

pin_project! {
    /// A call with a fallback: see [`Retry::fallback`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Fallback<Call, F, Next> {
        #[pin]
        step: Step<Call, F, Next>,
    }
}

pin_project! {
    #[project = StepProjection]
    enum Step<Call, F, Next> {
        Call { #[pin] call: Call, fallback: Option<F> },
        Fallback { #[pin] next: Next },
    }
}

impl<Call, F, Next, T, E, N> Future for Fallback<Call, F, Next>
where
    Call: Future<Output = Result<T, E>>,
    F: FnOnce(E) -> Next,
    Next: Future<Output = Result<T, N>>,
{
    type Output = Result<T, N>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, N>> {
        let mut step = self.project().step;
        loop {
            let next = match step.as_mut().project() {
                StepProjection::Fallback { next } => return next.poll(context),
                StepProjection::Call { call, fallback } => match ready!(call.poll(context)) {
                    Ok(value) => return Poll::Ready(Ok(value)),
                    Err(error) => match fallback.take() {
                        Some(fallback) => fallback(error),
                        None => unreachable!("a call fails once"),
                    },
                },
            };
            step.set(Step::Fallback { next });
        }
    }
}

impl<Call, F, Next> fmt::Debug for Fallback<Call, F, Next> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").finish_non_exhaustive()
    }
}
