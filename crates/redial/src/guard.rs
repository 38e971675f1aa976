//! What stands around each attempt: nothing, or a timeout and a breaker; and what the error of a
//! call is then.

use core::convert::Infallible;
use core::error::Error as StdError;
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{Gate, Time, Verdict};

use crate::clock::Clock;
use crate::options::{Absent, MaybeBreaker, Period as _, Present};
use crate::outcome::{Cause, Error, Forget, Interrupted, KeepLast, Ledger};

/// What may happen to an attempt besides its own success or failure. A failure is reported inside
/// the engine's decision, to which this is a gate.
pub trait Guard: Gate {
    /// What can end an attempt, or the call, in place of the operation.
    type Cut: Copy;

    /// What keeps the errors on the way.
    type Ledger<E>: Ledger<E, Self::Cut>;

    /// What cuts an attempt short.
    type Timer<Sleep>;

    /// Leave of the breaker to run an attempt.
    #[doc(hidden)]
    fn enter(&mut self, now: impl FnOnce() -> Time) -> Result<(), Self::Cut>;

    /// The attempt succeeded.
    #[doc(hidden)]
    fn succeeded(&mut self);

    /// The timer of an attempt that begins now. `now` is asked only where there is a timeout.
    #[doc(hidden)]
    fn timer<Sleep>(
        &self,
        deadline: impl FnOnce() -> Option<Time>,
        now: impl FnOnce() -> Time,
    ) -> Self::Timer<Sleep>;

    /// Whether the attempt is cut now. The clock is set only here: an attempt that answers at once
    /// needs no timer.
    #[doc(hidden)]
    fn poll_cut<K: Clock>(
        timer: Pin<&mut Self::Timer<K::Sleep>>,
        clock: &K,
        context: &mut Context<'_>,
    ) -> Poll<Self::Cut>;

    /// What a timeout means.
    #[doc(hidden)]
    fn timeout_verdict(&self) -> Verdict;

    /// Says what a timeout means, if there is one.
    #[doc(hidden)]
    fn set_timeout_verdict(&mut self, verdict: Verdict);
}

/// What the error of a call under a guard is, given the operation's.
pub trait Fails<E>: Guard {
    /// It.
    type Error;

    /// The operation's own.
    #[doc(hidden)]
    fn own(&mut self, error: E) -> Self::Error;

    /// Something else ended the call; `last` is the last error of the operation's own, if any.
    #[doc(hidden)]
    fn interrupted(&mut self, cut: Self::Cut, last: Option<E>) -> Self::Error;
}

/// Nothing: the operation's own error comes back.
#[derive(Clone, Copy, Debug)]
pub struct Open;

impl Gate for Open {
    #[inline]
    fn failed(&mut self, now: Time) -> Time {
        now
    }

    #[inline]
    fn needs_time(&self) -> bool {
        false
    }
}

impl Guard for Open {
    type Cut = Infallible;
    type Ledger<E> = Forget;
    type Timer<Sleep> = Uncut<Sleep>;

    #[inline]
    fn enter(&mut self, _now: impl FnOnce() -> Time) -> Result<(), Infallible> {
        Ok(())
    }

    #[inline]
    fn succeeded(&mut self) {}

    #[inline]
    fn timer<Sleep>(
        &self,
        _deadline: impl FnOnce() -> Option<Time>,
        _now: impl FnOnce() -> Time,
    ) -> Uncut<Sleep> {
        Uncut(PhantomData)
    }

    #[inline]
    fn poll_cut<K: Clock>(
        _timer: Pin<&mut Uncut<K::Sleep>>,
        _clock: &K,
        _context: &mut Context<'_>,
    ) -> Poll<Infallible> {
        Poll::Pending
    }

    #[inline]
    fn timeout_verdict(&self) -> Verdict {
        Verdict::Retry
    }

    #[inline]
    fn set_timeout_verdict(&mut self, _verdict: Verdict) {}
}

impl<E> Fails<E> for Open {
    type Error = E;

    #[inline]
    fn own(&mut self, error: E) -> E {
        error
    }

    #[inline]
    fn interrupted(&mut self, cut: Infallible, _last: Option<E>) -> E {
        match cut {}
    }
}

/// No timer.
#[derive(Debug)]
pub struct Uncut<Sleep>(PhantomData<fn() -> Sleep>);

/// A timeout, a breaker, or both. `A` says what the error of the call is: [`Wrapped`], [`Kept`] or
/// [`Made`].
#[derive(Clone, Debug)]
pub struct Guarded<B: MaybeBreaker, A> {
    /// From the start of the attempt; the end of time where there is none.
    timeout: Time,
    timeout_verdict: Verdict,
    pub(crate) admission: Admission<B>,
    pub(crate) answer: A,
}

impl<A> Guarded<Absent, A> {
    #[inline]
    pub(crate) fn new(answer: A) -> Self {
        let admission = Admission { breaker: Absent, period: () };
        Self { timeout: Time::MAX, timeout_verdict: Verdict::Retry, admission, answer }
    }
}

impl<B: MaybeBreaker, A> Guarded<B, A> {
    #[inline]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Time::ZERO.after(timeout), ..self }
    }

    #[inline]
    pub(crate) fn with_breaker<N>(self, breaker: N) -> Guarded<Present<N>, A>
    where
        Present<N>: MaybeBreaker,
    {
        let Self { timeout, timeout_verdict, answer, .. } = self;
        let admission = Admission { breaker: Present(breaker), period: Default::default() };
        Guarded { timeout, timeout_verdict, admission, answer }
    }

    #[inline]
    pub(crate) fn with_answer<N>(self, answer: N) -> Guarded<B, N> {
        let Self { timeout, timeout_verdict, admission, .. } = self;
        Guarded { timeout, timeout_verdict, admission, answer }
    }

    /// When an attempt that begins now is cut: after the timeout, or at the deadline. A deadline by
    /// itself interrupts nothing.
    #[inline]
    fn due(
        &self,
        deadline: impl FnOnce() -> Option<Time>,
        now: impl FnOnce() -> Time,
    ) -> Option<Time> {
        if self.timeout == Time::MAX {
            return None;
        }
        let due = now().as_nanos().saturating_add(self.timeout.as_nanos());
        let due = Time::from_nanos(due);
        Some(deadline().map_or(due, |deadline| due.min(deadline)))
    }
}

/// A breaker, and the period in which it admitted the attempt that is under way. An attempt that is
/// dropped without a word counts as neither success nor failure.
#[derive(Debug)]
pub(crate) struct Admission<B: MaybeBreaker> {
    breaker: B,
    period: B::Period,
}

impl<B: MaybeBreaker + Clone> Clone for Admission<B> {
    fn clone(&self) -> Self {
        Self { breaker: self.breaker.clone(), period: B::Period::default() }
    }
}

impl<B: MaybeBreaker> Drop for Admission<B> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(period), Some(breaker)) = (self.period.get(), self.breaker.breaker()) {
            drop(breaker.permit(period));
        }
    }
}

impl<B: MaybeBreaker, A> Gate for Guarded<B, A> {
    #[inline]
    fn failed(&mut self, now: Time) -> Time {
        match (self.admission.period.take(), self.admission.breaker.breaker()) {
            (Some(period), Some(breaker)) => breaker.permit(period).failed(now),
            _ => now,
        }
    }

    #[inline]
    fn needs_time(&self) -> bool {
        self.admission.period.get().is_some()
    }
}

impl<B: MaybeBreaker, A> Guard for Guarded<B, A> {
    type Cut = Cause;
    type Ledger<E> = KeepLast<E>;
    type Timer<Sleep> = Timer<Sleep>;

    #[inline]
    fn enter(&mut self, now: impl FnOnce() -> Time) -> Result<(), Cause> {
        if let Some(breaker) = self.admission.breaker.breaker() {
            let permit = breaker.admit(now).ok_or(Cause::BreakerOpen)?;
            self.admission.period.set(permit.into_period());
        }
        Ok(())
    }

    #[inline]
    fn succeeded(&mut self) {
        if let Some(breaker) = self.admission.breaker.breaker() {
            if let Some(period) = self.admission.period.take() {
                breaker.permit(period).succeeded();
            }
        }
    }

    #[inline]
    fn timer<Sleep>(
        &self,
        deadline: impl FnOnce() -> Option<Time>,
        now: impl FnOnce() -> Time,
    ) -> Timer<Sleep> {
        Timer { cut: self.due(deadline, now).map_or(Cut::Never, |due| Cut::Due { due }) }
    }

    #[inline]
    fn poll_cut<K: Clock>(
        timer: Pin<&mut Timer<K::Sleep>>,
        clock: &K,
        context: &mut Context<'_>,
    ) -> Poll<Cause> {
        let mut cut = timer.project().cut;
        if let CutProjection::Due { due } = cut.as_mut().project() {
            let left = due.since(clock.now());
            // There is no time left: an attempt may answer when it is first asked, and not later.
            if left.is_zero() {
                return Poll::Ready(Cause::TimedOut);
            }
            cut.set(Cut::After { sleep: clock.sleep(left) });
        }
        match cut.project() {
            CutProjection::After { sleep } => sleep.poll(context).map(|()| Cause::TimedOut),
            CutProjection::Never | CutProjection::Due { .. } => Poll::Pending,
        }
    }

    #[inline]
    fn timeout_verdict(&self) -> Verdict {
        self.timeout_verdict
    }

    #[inline]
    fn set_timeout_verdict(&mut self, verdict: Verdict) {
        self.timeout_verdict = verdict;
    }
}

pin_project! {
    /// What cuts an attempt: a timer, or nothing.
    #[derive(Debug)]
    pub struct Timer<Sleep> {
        #[pin]
        cut: Cut<Sleep>,
    }
}

pin_project! {
    #[project = CutProjection]
    #[derive(Debug)]
    enum Cut<Sleep> {
        Never,
        // Not set yet.
        Due { due: Time },
        After { #[pin] sleep: Sleep },
    }
}

/// The operation's error is a [`std::error::Error`], and that of the call is [`Error`] around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrapped;

/// The operation's error is a text, a number or nothing, and that of the call is [`Error`] around
/// it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WrappedBare;

/// The operation's error can be made from any, and is the error of the call: `anyhow::Error`,
/// `Box<dyn Error + Send + Sync>`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept;

/// The error of a call is the operation's, and the closure makes it.
#[derive(Clone, Copy)]
pub struct Made<F>(pub(crate) F);

impl<F> fmt::Debug for Made<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").finish_non_exhaustive()
    }
}

fn wrapped<E>(cut: Cause, last: Option<E>) -> Error<E> {
    match cut {
        Cause::TimedOut => Error::TimedOut(last),
        Cause::BreakerOpen => Error::BreakerOpen,
    }
}

/// Those that make an error of the call an [`Error`].
trait Wraps {}

impl Wraps for Wrapped {}

impl Wraps for WrappedBare {}

impl<B: MaybeBreaker, A: Wraps, E> Fails<E> for Guarded<B, A> {
    type Error = Error<E>;

    #[inline]
    fn own(&mut self, error: E) -> Error<E> {
        Error::Failed(error)
    }

    fn interrupted(&mut self, cut: Cause, last: Option<E>) -> Error<E> {
        wrapped(cut, last)
    }
}

impl<B: MaybeBreaker, E: From<Interrupted<E>>> Fails<E> for Guarded<B, Kept> {
    type Error = E;

    #[inline]
    fn own(&mut self, error: E) -> E {
        error
    }

    fn interrupted(&mut self, cause: Cause, last: Option<E>) -> E {
        Interrupted { cause, last }.into()
    }
}

impl<B: MaybeBreaker, E, F: FnMut(Interrupted<E>) -> E> Fails<E> for Guarded<B, Made<F>> {
    type Error = E;

    #[inline]
    fn own(&mut self, error: E) -> E {
        error
    }

    fn interrupted(&mut self, cause: Cause, last: Option<E>) -> E {
        (self.answer.0)(Interrupted { cause, last })
    }
}

/// A guard that a timeout or a breaker can be added to, where the operation fails with `E`. What
/// the error of the call is then, `A`, is inferred from `E`, unless it was said.
pub trait Guardable<E, A>: MaybeGuarded {
    #[doc(hidden)]
    fn guarded(self) -> Guarded<Self::Breaker, A>;
}

impl<E: OperationError<A>, A: Default> Guardable<E, A> for Open {
    #[inline]
    fn guarded(self) -> Guarded<Absent, A> {
        Guarded::new(A::default())
    }
}

impl<E, B: MaybeBreaker, A> Guardable<E, A> for Guarded<B, A> {
    #[inline]
    fn guarded(self) -> Self {
        self
    }
}

/// A guard with a breaker or without, whatever the error is.
pub trait MaybeGuarded: Sized {
    /// Its breaker, or none.
    type Breaker: MaybeBreaker;
    /// What says what the error is: [`Wrapped`] unless it was said.
    type Answer;

    #[doc(hidden)]
    fn wrapped(self) -> Guarded<Self::Breaker, Self::Answer>;

    #[doc(hidden)]
    #[inline]
    fn answered<A>(self, answer: A) -> Guarded<Self::Breaker, A> {
        self.wrapped().with_answer(answer)
    }
}

impl MaybeGuarded for Open {
    type Breaker = Absent;
    type Answer = Wrapped;

    #[inline]
    fn wrapped(self) -> Guarded<Absent, Wrapped> {
        Guarded::new(Wrapped)
    }
}

impl<B: MaybeBreaker, A> MaybeGuarded for Guarded<B, A> {
    type Breaker = B;
    type Answer = A;

    #[inline]
    fn wrapped(self) -> Self {
        self
    }
}

/// An error of an operation, where something else may end the call: a timeout or an open breaker.
/// `A` is inferred: [`Wrapped`], [`WrappedBare`] or [`Kept`].
#[diagnostic::on_unimplemented(
    message = "a call with a timeout or a breaker cannot fail with `{Self}` alone",
    label = "`{Self}` is not a `std::error::Error`",
    note = "implement `std::error::Error` for `{Self}`: the call's error is then `redial::Error<{Self}>`",
    note = "or say first what a timeout and an open breaker are in it: `.error_from(|interrupted| …)`"
)]
pub trait OperationError<A> {}

impl<E: StdError> OperationError<Wrapped> for E {}

impl<E> OperationError<Kept> for E where
    E: Deref<Target = dyn StdError + Send + Sync> + From<Interrupted<E>>
{
}

macro_rules! bare {
    ($($type:ty),*) => {
        $(impl OperationError<WrappedBare> for $type {})*
    };
}

bare!((), &str, String, bool, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);
