//! What stands around each attempt of an async call: nothing, or a timeout and a breaker.

use core::future::Future;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use redial_core::{Breaker, Permit, Time, Verdict};

use crate::clock::Clock;
use crate::options::{Nothing, Shared};
use crate::outcome::{Error, Forget, KeepLast, Ledger};

/// How one attempt is run, and what its error is then.
pub trait Guard {
    /// The error of a call under this guard, given the operation's.
    type Error<E>;

    /// What keeps the errors on the way.
    type Ledger<E>: Ledger<Self::Error<E>>;

    /// How the call holds its breaker.
    type Breaker: Shared<Breaker>;

    /// Whether an attempt can be cut short.
    #[doc(hidden)]
    const CUTS: bool;

    /// The same with room for values.
    #[doc(hidden)]
    fn guarded(self) -> Guarded<Self::Breaker>;

    /// Runs the attempt that `make` makes.
    #[doc(hidden)]
    fn attempt<T, E, F, K>(
        &self,
        make: impl FnOnce() -> F,
        clock: &K,
        deadline: Option<Time>,
    ) -> impl Future<Output = Result<T, Self::Error<E>>>
    where
        F: Future<Output = Result<T, E>>,
        K: Clock;

    /// Runs an attempt of a blocking call.
    #[doc(hidden)]
    fn run<T, E>(
        &self,
        attempt: impl FnOnce() -> Result<T, E>,
        now: impl Fn() -> Time,
    ) -> Result<T, Self::Error<E>>;

    /// Whether the error says that the breaker refused the attempt.
    #[doc(hidden)]
    fn refused<E>(error: &Self::Error<E>) -> bool;

    /// The operation's own error; none where the attempt timed out.
    #[doc(hidden)]
    fn operation_error<E>(error: &Self::Error<E>) -> Option<&E>;

    /// What a timeout means.
    #[doc(hidden)]
    fn timeout_verdict(&self) -> Verdict;
}

/// Nothing: the operation's own error comes back.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Guard for Open {
    type Error<E> = E;
    type Ledger<E> = Forget;
    type Breaker = Nothing;

    const CUTS: bool = false;

    fn guarded(self) -> Guarded<Nothing> {
        Guarded { timeout: None, timeout_verdict: Verdict::Retry, breaker: Nothing }
    }

    #[inline]
    fn attempt<T, E, F, K>(
        &self,
        make: impl FnOnce() -> F,
        _clock: &K,
        _deadline: Option<Time>,
    ) -> impl Future<Output = Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        K: Clock,
    {
        make()
    }

    #[inline]
    fn run<T, E>(
        &self,
        attempt: impl FnOnce() -> Result<T, E>,
        _now: impl Fn() -> Time,
    ) -> Result<T, E> {
        attempt()
    }

    #[inline]
    fn refused<E>(_error: &E) -> bool {
        false
    }

    #[inline]
    fn operation_error<E>(error: &E) -> Option<&E> {
        Some(error)
    }

    #[inline]
    fn timeout_verdict(&self) -> Verdict {
        Verdict::Retry
    }
}

/// A timeout, a breaker, or both: the error is [`Error`].
#[derive(Clone, Copy, Debug)]
pub struct Guarded<B> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) timeout_verdict: Verdict,
    pub(crate) breaker: B,
}

impl<B: Shared<Breaker>> Guarded<B> {
    /// The timeout, cut to what the deadline leaves. A deadline by itself interrupts nothing.
    fn limit<K: Clock>(&self, clock: &K, deadline: Option<Time>) -> Option<Duration> {
        let timeout = self.timeout?;
        Some(match deadline {
            Some(deadline) => timeout.min(deadline.since(clock.now())),
            None => timeout,
        })
    }

    pub(crate) fn with_breaker<N>(self, breaker: N) -> Guarded<N> {
        let Self { timeout, timeout_verdict, .. } = self;
        Guarded { timeout, timeout_verdict, breaker }
    }

    /// The breaker's leave to run; none is needed where there is no breaker.
    fn admit<E>(&self, now: impl FnOnce() -> Time) -> Result<Option<Permit<'_>>, Error<E>> {
        match self.breaker.shared() {
            None => Ok(None),
            Some(breaker) => breaker.admit(now).map(Some).ok_or(Error::BreakerOpen),
        }
    }
}

/// Tells the breaker how the attempt went.
fn report<T, E>(permit: Option<Permit<'_>>, result: &Result<T, E>, now: impl FnOnce() -> Time) {
    match (permit, result) {
        (Some(permit), Ok(_)) => permit.succeeded(),
        (Some(permit), Err(_)) => permit.failed(now()),
        (None, _) => {}
    }
}

impl<B: Shared<Breaker>> Guard for Guarded<B> {
    type Error<E> = Error<E>;
    type Ledger<E> = KeepLast<Error<E>>;
    type Breaker = B;

    const CUTS: bool = true;

    fn guarded(self) -> Self {
        self
    }

    async fn attempt<T, E, F, K>(
        &self,
        make: impl FnOnce() -> F,
        clock: &K,
        deadline: Option<Time>,
    ) -> Result<T, Error<E>>
    where
        F: Future<Output = Result<T, E>>,
        K: Clock,
    {
        let permit = self.admit(|| clock.now())?;
        let result = match self.limit(clock, deadline) {
            None => make().await.map_err(Error::Failed),
            Some(limit) => cut(make, clock, limit).await,
        };
        report(permit, &result, || clock.now());
        result
    }

    fn run<T, E>(
        &self,
        attempt: impl FnOnce() -> Result<T, E>,
        now: impl Fn() -> Time,
    ) -> Result<T, Error<E>> {
        let permit = self.admit(&now)?;
        let result = attempt().map_err(Error::Failed);
        report(permit, &result, now);
        result
    }

    fn refused<E>(error: &Error<E>) -> bool {
        matches!(error, Error::BreakerOpen)
    }

    fn operation_error<E>(error: &Error<E>) -> Option<&E> {
        match error {
            Error::Failed(error) => Some(error),
            Error::TimedOut | Error::BreakerOpen => None,
        }
    }

    fn timeout_verdict(&self) -> Verdict {
        self.timeout_verdict
    }
}

/// Runs an attempt for at most `limit`. An attempt that is ready when it is cut has succeeded: it
/// is asked first.
async fn cut<T, E, F, K>(
    make: impl FnOnce() -> F,
    clock: &K,
    limit: Duration,
) -> Result<T, Error<E>>
where
    F: Future<Output = Result<T, E>>,
    K: Clock,
{
    let mut attempt = pin!(make());
    let mut timer = pin!(async {
        if !limit.is_zero() {
            clock.sleep(limit).await;
        }
    });
    core::future::poll_fn(|context| {
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(result.map_err(Error::Failed));
        }
        timer.as_mut().poll(context).map(|()| Err(Error::TimedOut))
    })
    .await
}
