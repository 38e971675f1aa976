//! What a call can be told, each as a type: an option that is not used costs nothing.

use core::time::Duration;

use redial_core::{Budget, Limits, Verdict};

use crate::outcome::Event;

/// Which errors are worth another attempt.
pub trait Classify<E> {
    #[doc(hidden)]
    fn verdict(&mut self, error: &E) -> Verdict;
}

/// All of them.
#[derive(Clone, Copy, Debug)]
pub struct Always;

/// Those of which the closure says so.
#[derive(Clone, Copy, Debug)]
pub struct When<F>(pub(crate) F);

/// What the closure says.
#[derive(Clone, Copy, Debug)]
pub struct Judge<F>(pub(crate) F);

impl<E> Classify<E> for Always {
    #[inline]
    fn verdict(&mut self, _error: &E) -> Verdict {
        Verdict::Retry
    }
}

impl<E, F: FnMut(&E) -> bool> Classify<E> for When<F> {
    #[inline]
    fn verdict(&mut self, error: &E) -> Verdict {
        if (self.0)(error) { Verdict::Retry } else { Verdict::Stop }
    }
}

impl<E, F: FnMut(&E) -> Verdict> Classify<E> for Judge<F> {
    #[inline]
    fn verdict(&mut self, error: &E) -> Verdict {
        (self.0)(error)
    }
}

/// Who hears of a retry before its wait.
pub trait Hook<E> {
    #[doc(hidden)]
    fn retrying(&mut self, event: &Event<'_, E>);
}

/// Nobody.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

/// The closure.
#[derive(Clone, Copy, Debug)]
pub struct OnRetry<F>(pub(crate) F);

impl<E> Hook<E> for Nobody {
    #[inline]
    fn retrying(&mut self, _event: &Event<'_, E>) {}
}

impl<E, F: FnMut(&Event<'_, E>)> Hook<E> for OnRetry<F> {
    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        (self.0)(event);
    }
}

/// The limits, the tolerance and the name of a call.
///
/// The types here name their lifetimes and have none of their own (no `Self::Paid<'b>`): a future
/// that holds such a type through a wait is not `Send` to today's compiler.
pub trait Bounds {
    /// What is held through a wait that was paid for.
    type Paid;

    /// The same with room for values.
    #[doc(hidden)]
    fn bounded<'n>(self) -> Bounded<'n>
    where
        Self: 'n;
    /// A retry was just paid for. What this gives refunds it if it is dropped before it is
    /// [`spent`](Self::spent).
    #[doc(hidden)]
    fn paid(&self) -> Self::Paid;
    #[doc(hidden)]
    fn spent(paid: &mut Self::Paid);
    #[doc(hidden)]
    fn limits(&self) -> &Limits<'_>;
    #[doc(hidden)]
    fn tolerance(&self) -> Duration;
    #[doc(hidden)]
    fn name(&self) -> &'static str;
}

/// None beyond the policy's.
#[derive(Clone, Copy, Debug)]
pub struct Unbounded;

/// Some.
#[derive(Clone, Copy, Debug)]
pub struct Bounded<'b> {
    pub(crate) limits: Limits<'b>,
    pub(crate) tolerance: Duration,
    pub(crate) name: &'static str,
}

impl Bounds for Unbounded {
    type Paid = ();

    fn bounded<'n>(self) -> Bounded<'n> {
        Bounded { limits: Limits::new(), tolerance: Duration::ZERO, name: "" }
    }

    #[inline]
    fn paid(&self) {}

    #[inline]
    fn spent(_paid: &mut ()) {}

    #[inline]
    fn limits(&self) -> &Limits<'_> {
        const { &Limits::new() }
    }

    #[inline]
    fn tolerance(&self) -> Duration {
        Duration::ZERO
    }

    #[inline]
    fn name(&self) -> &'static str {
        ""
    }
}

impl<'b> Bounds for Bounded<'b> {
    type Paid = Refund<'b>;

    fn bounded<'n>(self) -> Bounded<'n>
    where
        Self: 'n,
    {
        self
    }

    fn paid(&self) -> Refund<'b> {
        Refund(self.limits.shared_budget())
    }

    fn spent(paid: &mut Refund<'b>) {
        paid.0 = None;
    }

    #[inline]
    fn limits(&self) -> &Limits<'_> {
        &self.limits
    }

    #[inline]
    fn tolerance(&self) -> Duration {
        self.tolerance
    }

    #[inline]
    fn name(&self) -> &'static str {
        self.name
    }
}

/// Gives the cost of a retry back when it is dropped: the wait was cancelled.
#[derive(Debug)]
pub struct Refund<'b>(Option<&'b Budget>);

impl Drop for Refund<'_> {
    fn drop(&mut self) {
        if let Some(budget) = self.0 {
            budget.refund();
        }
    }
}
