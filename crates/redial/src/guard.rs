//! What stands around each attempt: nothing, or a timeout and a breaker.

use core::future::Future;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use redial_core::{Breaker, Gate, Permit, Time, Verdict};

use crate::clock::Clock;
use crate::outcome::{Error, Forget, KeepLast, Ledger};

/// What may happen to an attempt besides its own success or failure, and what the error of a call
/// is then.
pub trait Guard {
    /// The error of a call under this guard, given the operation's.
    type Error<E>;

    /// What keeps the errors on the way.
    type Ledger<E>: Ledger<Self::Error<E>>;

    /// Leave to run one attempt. It names its own lifetime, for the reason in
    /// [`Bounds`](crate::options::Bounds).
    type Permit: Admission;

    /// Whether an attempt can be cut short.
    #[doc(hidden)]
    const CUTS: bool;

    /// The same with room for values.
    #[doc(hidden)]
    fn guarded<'n>(self) -> Guarded<'n>
    where
        Self: 'n;

    /// The breaker's leave to run an attempt, or the error that says it was refused.
    #[doc(hidden)]
    fn admit<E>(&self, now: impl FnOnce() -> Time) -> Result<Self::Permit, Self::Error<E>>;

    /// Runs an attempt of an async call.
    #[doc(hidden)]
    fn attempt<F: Attempt, K: Clock>(
        &self,
        attempt: F,
        clock: &K,
        deadline: Option<Time>,
    ) -> impl Future<Output = Result<F::Value, Self::Error<F::Error>>>;

    /// The call's error from the operation's.
    #[doc(hidden)]
    fn failed<E>(error: E) -> Self::Error<E>;

    /// The operation's own error; none where the attempt timed out.
    #[doc(hidden)]
    fn operation_error<E>(error: &Self::Error<E>) -> Option<&E>;

    /// What a timeout means.
    #[doc(hidden)]
    fn timeout_verdict(&self) -> Verdict;
}

/// The future of one attempt, with what it gives and how it fails as types of its own.
///
/// Not `F: Future<Output = Result<T, E>>`: inside of a spawned task the compiler forgets that the
/// lifetimes in `T` and `E` are those in `F`, and then the future of a call is not `Send`.
pub trait Attempt: Future<Output = Result<Self::Value, Self::Error>> {
    /// What it gives.
    type Value;
    /// How it fails.
    type Error;
}

impl<F: Future<Output = Result<T, E>>, T, E> Attempt for F {
    type Value = T;
    type Error = E;
}

/// Leave to run an attempt. A failure is reported inside the engine's decision, to which this is a
/// gate. One that is dropped without a word counts as neither success nor failure.
pub trait Admission: Gate {
    /// The attempt succeeded.
    #[doc(hidden)]
    fn succeeded(&mut self);
}

impl Admission for () {
    #[inline]
    fn succeeded(&mut self) {}
}

impl Admission for Option<Permit<'_>> {
    fn succeeded(&mut self) {
        if let Some(permit) = self.take() {
            permit.succeeded();
        }
    }
}

/// Nothing: the operation's own error comes back.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Guard for Open {
    type Error<E> = E;
    type Ledger<E> = Forget;
    type Permit = ();

    const CUTS: bool = false;

    fn guarded<'n>(self) -> Guarded<'n> {
        Guarded { timeout: None, timeout_verdict: Verdict::Retry, breaker: None }
    }

    #[inline]
    fn admit<E>(&self, _now: impl FnOnce() -> Time) -> Result<(), E> {
        Ok(())
    }

    #[inline]
    fn attempt<F: Attempt, K: Clock>(
        &self,
        attempt: F,
        _clock: &K,
        _deadline: Option<Time>,
    ) -> impl Future<Output = Result<F::Value, F::Error>> {
        attempt
    }

    #[inline]
    fn failed<E>(error: E) -> E {
        error
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
pub struct Guarded<'b> {
    pub(crate) timeout: Option<Duration>,
    pub(crate) timeout_verdict: Verdict,
    pub(crate) breaker: Option<&'b Breaker>,
}

impl Guarded<'_> {
    /// The timeout, cut to what the deadline leaves. A deadline by itself interrupts nothing.
    fn limit<K: Clock>(&self, clock: &K, deadline: Option<Time>) -> Option<Duration> {
        let timeout = self.timeout?;
        Some(match deadline {
            Some(deadline) => timeout.min(deadline.since(clock.now())),
            None => timeout,
        })
    }
}

impl<'b> Guard for Guarded<'b> {
    type Error<E> = Error<E>;
    type Ledger<E> = KeepLast<Error<E>>;
    type Permit = Option<Permit<'b>>;

    const CUTS: bool = true;

    fn guarded<'n>(self) -> Guarded<'n>
    where
        Self: 'n,
    {
        self
    }

    fn admit<E>(&self, now: impl FnOnce() -> Time) -> Result<Option<Permit<'b>>, Error<E>> {
        match self.breaker {
            None => Ok(None),
            Some(breaker) => breaker.admit(now).map(Some).ok_or(Error::BreakerOpen),
        }
    }

    /// An attempt that is ready when it is cut has succeeded: it is asked first.
    fn attempt<F: Attempt, K: Clock>(
        &self,
        attempt: F,
        clock: &K,
        deadline: Option<Time>,
    ) -> impl Future<Output = Result<F::Value, Error<F::Error>>> {
        let limit = self.limit(clock, deadline);
        let timer = limit.filter(|limit| !limit.is_zero()).map(|limit| clock.sleep(limit));
        async move {
            let mut attempt = pin!(attempt);
            let mut timer = pin!(timer);
            core::future::poll_fn(|context| {
                if let Poll::Ready(result) = attempt.as_mut().poll(context) {
                    return Poll::Ready(result.map_err(Error::Failed));
                }
                let fired = match (timer.as_mut().as_pin_mut(), limit) {
                    (Some(timer), _) => timer.poll(context).is_ready(),
                    (None, limit) => limit.is_some(),
                };
                if fired { Poll::Ready(Err(Error::TimedOut)) } else { Poll::Pending }
            })
            .await
        }
    }

    fn failed<E>(error: E) -> Error<E> {
        Error::Failed(error)
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
