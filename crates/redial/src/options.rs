//! What a call can be told, each as a type: an option that is not used costs nothing.

use core::time::Duration;
use std::sync::Arc;

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

/// Something that calls share: by reference, by `Arc`, or not at all.
pub trait Shared<T> {
    #[doc(hidden)]
    fn shared(&self) -> Option<&T>;
}

/// Not at all.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl<T> Shared<T> for Nothing {
    #[inline]
    fn shared(&self) -> Option<&T> {
        None
    }
}

impl<T> Shared<T> for &T {
    #[inline]
    fn shared(&self) -> Option<&T> {
        Some(self)
    }
}

impl<T> Shared<T> for Arc<T> {
    #[inline]
    fn shared(&self) -> Option<&T> {
        Some(self)
    }
}

/// The limits, the tolerance and the name of a call.
pub trait Bounds {
    /// How the call holds its budget.
    type Budget: Shared<Budget>;

    /// The same with room for values.
    #[doc(hidden)]
    fn bounded(self) -> Bounded<Self::Budget>;
    #[doc(hidden)]
    fn limits(&self) -> Limits<'_>;
    #[doc(hidden)]
    fn budget(&self) -> Option<&Budget>;
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
pub struct Bounded<B> {
    pub(crate) limits: Limits<'static>,
    pub(crate) budget: B,
    pub(crate) tolerance: Duration,
    pub(crate) name: &'static str,
}

impl Bounds for Unbounded {
    type Budget = Nothing;

    fn bounded(self) -> Bounded<Nothing> {
        Bounded { limits: Limits::new(), budget: Nothing, tolerance: Duration::ZERO, name: "" }
    }

    #[inline]
    fn limits(&self) -> Limits<'_> {
        Limits::new()
    }

    #[inline]
    fn budget(&self) -> Option<&Budget> {
        None
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

impl<B: Shared<Budget>> Bounds for Bounded<B> {
    type Budget = B;

    fn bounded(self) -> Self {
        self
    }

    #[inline]
    fn limits(&self) -> Limits<'_> {
        match self.budget.shared() {
            Some(budget) => self.limits.budget(budget),
            None => self.limits,
        }
    }

    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.budget.shared()
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
