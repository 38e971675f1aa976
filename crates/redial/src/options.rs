//! What a call can be told, each as a type: an option that is not used costs nothing.

use core::time::Duration;
use std::sync::Arc;

use redial_core::{Breaker, Budget, Call, Limits, Time, Verdict};

use crate::clock::DefaultClock;
use crate::guard::Open;
use crate::outcome::Event;
use crate::random::ThreadRandom;

/// All that a call has been told, and where it stands: its policy, who judges its attempts, its
/// bounds, what guards an attempt, its clock and its source of chance. `Options<P>` is a call under
/// policy `P` of which nothing more was said.
#[derive(Clone, Debug)]
pub struct Options<
    Policy,
    Judge = RetryErrors,
    Bounds = Unbounded,
    Guard = Open,
    Clock = DefaultClock,
    Random = ThreadRandom,
> {
    pub(crate) call: Call<Policy>,
    pub(crate) judge: Judge,
    pub(crate) bounds: Bounds,
    pub(crate) guard: Guard,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl<P, K> Options<P, RetryErrors, Unbounded, Open, K> {
    #[inline(always)]
    pub(crate) const fn new(policy: P, clock: K) -> Self {
        Self {
            call: Call::new(policy, Time::ZERO),
            judge: RetryErrors,
            bounds: Unbounded,
            guard: Open,
            clock,
            random: ThreadRandom,
        }
    }
}

impl<P, J, B, G, K, R> Options<P, J, B, G, K, R> {
    #[inline]
    pub(crate) fn with_judge<N>(self, change: impl FnOnce(J) -> N) -> Options<P, N, B, G, K, R> {
        let Self { call, judge, bounds, guard, clock, random } = self;
        Options { call, judge: change(judge), bounds, guard, clock, random }
    }

    #[inline]
    pub(crate) fn with_bounds<N>(self, change: impl FnOnce(B) -> N) -> Options<P, J, N, G, K, R> {
        let Self { call, judge, bounds, guard, clock, random } = self;
        Options { call, judge, bounds: change(bounds), guard, clock, random }
    }

    #[inline]
    pub(crate) fn with_guard<N>(self, change: impl FnOnce(G) -> N) -> Options<P, J, B, N, K, R> {
        let Self { call, judge, bounds, guard, clock, random } = self;
        Options { call, judge, bounds, guard: change(guard), clock, random }
    }

    #[inline]
    pub(crate) fn with_clock<N>(self, clock: N) -> Options<P, J, B, G, N, R> {
        let Self { call, judge, bounds, guard, random, .. } = self;
        Options { call, judge, bounds, guard, clock, random }
    }

    #[inline]
    pub(crate) fn with_random<N>(self, random: N) -> Options<P, J, B, G, K, N> {
        let Self { call, judge, bounds, guard, clock, .. } = self;
        Options { call, judge, bounds, guard, clock, random }
    }
}

/// The parts of [`Options`] on which the future of a call depends.
pub trait Setup {
    /// The clock.
    type Clock;
    /// What stands around an attempt.
    type Guard;
}

impl<P, J, B, G, K, R> Setup for Options<P, J, B, G, K, R> {
    type Clock = K;
    type Guard = G;
}

/// What is made of each attempt: which values will do, what an error means, and who hears of it.
pub trait Judge<T, E> {
    /// What a value means: `None` where it will do.
    #[doc(hidden)]
    fn value(&mut self, value: &T) -> Option<Verdict>;
    #[doc(hidden)]
    fn error(&mut self, error: &E) -> Verdict;
    /// What either of them means, for a loop that keeps them together.
    #[doc(hidden)]
    #[inline]
    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        match result {
            Ok(value) => self.value(value),
            Err(error) => Some(self.error(error)),
        }
    }
    /// A retry was decided, and its wait is about to begin.
    #[doc(hidden)]
    fn retrying(&mut self, event: &Event<'_, E>);
}

/// Every error is retried, every value will do, and nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct RetryErrors;

impl<T, E> Judge<T, E> for RetryErrors {
    #[inline]
    fn value(&mut self, _value: &T) -> Option<Verdict> {
        None
    }

    #[inline]
    fn error(&mut self, _error: &E) -> Verdict {
        Verdict::Retry
    }

    #[inline]
    fn retrying(&mut self, _event: &Event<'_, E>) {}
}

/// As `J`, and errors are retried if the closure says so.
#[derive(Clone, Copy, Debug)]
pub struct When<F, J>(pub(crate) F, pub(crate) J);

impl<T, E, F: FnMut(&E) -> bool, J: Judge<T, E>> Judge<T, E> for When<F, J> {
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.1.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        if (self.0)(error) { Verdict::Retry } else { Verdict::Stop }
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.1.retrying(event);
    }
}

/// As `J`, and errors mean what the closure says.
#[derive(Clone, Copy, Debug)]
pub struct Classify<F, J>(pub(crate) F, pub(crate) J);

impl<T, E, F: FnMut(&E) -> Verdict, J: Judge<T, E>> Judge<T, E> for Classify<F, J> {
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.1.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        (self.0)(error)
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.1.retrying(event);
    }
}

/// As `J`, and the closure says which values are worth another attempt.
#[derive(Clone, Copy, Debug)]
pub struct ClassifyOk<F, J>(pub(crate) F, pub(crate) J);

impl<T, E, F: FnMut(&T) -> Option<Verdict>, J: Judge<T, E>> Judge<T, E> for ClassifyOk<F, J> {
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        (self.0)(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        self.1.error(error)
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.1.retrying(event);
    }
}

/// As `J`, and the closure hears of each retry.
#[derive(Clone, Copy, Debug)]
pub struct OnRetry<F, J>(pub(crate) F, pub(crate) J);

impl<T, E, F: FnMut(&Event<'_, E>), J: Judge<T, E>> Judge<T, E> for OnRetry<F, J> {
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.1.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        self.1.error(error)
    }

    #[inline]
    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        self.1.result(result)
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        (self.0)(event);
    }
}

/// As `J`, and the closure says what a result means, value or error.
#[cfg(feature = "tower")]
#[derive(Clone, Copy, Debug)]
pub struct ClassifyResult<F, J>(pub(crate) F, pub(crate) J);

#[cfg(feature = "tower")]
impl<T, E, F, J> Judge<T, E> for ClassifyResult<F, J>
where
    F: FnMut(&Result<T, E>) -> Option<Verdict>,
    J: Judge<T, E>,
{
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.1.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        self.1.error(error)
    }

    #[inline]
    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        (self.0)(result)
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.1.retrying(event);
    }
}

/// The limits, the tolerance and the name of a call.
pub trait Bounds: Sized {
    /// What retries are paid from.
    type Budget: MaybeBudget;

    /// The same with room for values.
    #[doc(hidden)]
    fn bounded(self) -> Bounded<Self::Budget>;
    #[doc(hidden)]
    fn limits(&self) -> Limits<'_>;
    #[doc(hidden)]
    fn tolerance(&self) -> Duration;
    #[doc(hidden)]
    fn name(&self) -> &'static str;
    /// A retry was paid for. If this is dropped before it begins, it is refunded.
    #[doc(hidden)]
    fn paid(&mut self);
    /// It begins.
    #[doc(hidden)]
    fn spent(&mut self);
    /// It will not begin.
    #[doc(hidden)]
    fn refund(&mut self);
}

/// None beyond the policy's.
#[derive(Clone, Copy, Debug)]
pub struct Unbounded;

/// Some.
#[derive(Clone, Debug)]
pub struct Bounded<B: MaybeBudget = Absent> {
    pub(crate) limits: Limits<'static>,
    pub(crate) account: Account<B>,
    pub(crate) tolerance: Duration,
    pub(crate) name: &'static str,
}

impl Bounds for Unbounded {
    type Budget = Absent;

    #[inline]
    fn bounded(self) -> Bounded {
        let account = Account { budget: Absent, paid: false };
        Bounded { limits: Limits::new(), account, tolerance: Duration::ZERO, name: "" }
    }

    #[inline]
    fn limits(&self) -> Limits<'_> {
        const { Limits::new() }
    }

    #[inline]
    fn tolerance(&self) -> Duration {
        Duration::ZERO
    }

    #[inline]
    fn name(&self) -> &'static str {
        ""
    }

    #[inline]
    fn paid(&mut self) {}

    #[inline]
    fn spent(&mut self) {}

    #[inline]
    fn refund(&mut self) {}
}

impl<B: MaybeBudget> Bounds for Bounded<B> {
    type Budget = B;

    #[inline]
    fn bounded(self) -> Self {
        self
    }

    #[inline]
    fn limits(&self) -> Limits<'_> {
        match self.account.budget.budget() {
            Some(budget) => self.limits.budget(budget),
            None => self.limits,
        }
    }

    #[inline]
    fn tolerance(&self) -> Duration {
        self.tolerance
    }

    #[inline]
    fn name(&self) -> &'static str {
        self.name
    }

    #[inline]
    fn paid(&mut self) {
        self.account.paid = true;
    }

    #[inline]
    fn spent(&mut self) {
        self.account.paid = false;
    }

    #[inline]
    fn refund(&mut self) {
        self.account.refund();
    }
}

impl<B: MaybeBudget> Bounded<B> {
    #[inline]
    pub(crate) fn with_budget<N: MaybeBudget>(self, budget: N) -> Bounded<N> {
        let Self { limits, tolerance, name, .. } = self;
        Bounded { limits, account: Account { budget, paid: false }, tolerance, name }
    }
}

/// A budget, and whether a retry was paid from it that has not begun. Dropped then, it gives the
/// cost back: the wait was cancelled.
#[derive(Debug)]
pub(crate) struct Account<B: MaybeBudget> {
    budget: B,
    paid: bool,
}

impl<B: MaybeBudget + Clone> Clone for Account<B> {
    fn clone(&self) -> Self {
        Self { budget: self.budget.clone(), paid: false }
    }
}

impl<B: MaybeBudget> Account<B> {
    #[inline]
    fn refund(&mut self) {
        if let (true, Some(budget)) = (core::mem::take(&mut self.paid), self.budget.budget()) {
            budget.refund();
        }
    }
}

impl<B: MaybeBudget> Drop for Account<B> {
    #[inline]
    fn drop(&mut self) {
        self.refund();
    }
}

/// A budget that is owned, borrowed or shared: [`Budget`], `&Budget`, `Arc<Budget>`.
///
/// ```
/// use std::sync::Arc;
/// use redial::{AsBudget, Budget};
/// fn tokens(budget: impl AsBudget) -> f64 {
///     budget.as_budget().tokens()
/// }
/// assert_eq!(tokens(Arc::new(Budget::new())), 100.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a budget",
    note = "a budget is given as `&Budget` or `Arc<Budget>`"
)]
pub trait AsBudget {
    /// The budget.
    fn as_budget(&self) -> &Budget;
}

impl AsBudget for Budget {
    #[inline]
    fn as_budget(&self) -> &Budget {
        self
    }
}

impl<B: AsBudget + ?Sized> AsBudget for &B {
    #[inline]
    fn as_budget(&self) -> &Budget {
        (**self).as_budget()
    }
}

impl<B: AsBudget + ?Sized> AsBudget for Arc<B> {
    #[inline]
    fn as_budget(&self) -> &Budget {
        (**self).as_budget()
    }
}

/// A circuit breaker that is owned, borrowed or shared: [`Breaker`], `&Breaker`, `Arc<Breaker>`.
///
/// ```
/// use std::sync::Arc;
/// use redial::{AsBreaker, Breaker, Time};
/// fn is_closed(breaker: impl AsBreaker) -> bool {
///     breaker.as_breaker().admit(|| Time::ZERO).is_some()
/// }
/// assert!(is_closed(Arc::new(Breaker::new())));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a circuit breaker",
    note = "a breaker is given as `&Breaker` or `Arc<Breaker>`"
)]
pub trait AsBreaker {
    /// The breaker.
    fn as_breaker(&self) -> &Breaker;
}

impl AsBreaker for Breaker {
    #[inline]
    fn as_breaker(&self) -> &Breaker {
        self
    }
}

impl<B: AsBreaker + ?Sized> AsBreaker for &B {
    #[inline]
    fn as_breaker(&self) -> &Breaker {
        (**self).as_breaker()
    }
}

impl<B: AsBreaker + ?Sized> AsBreaker for Arc<B> {
    #[inline]
    fn as_breaker(&self) -> &Breaker {
        (**self).as_breaker()
    }
}

/// There is none.
#[derive(Clone, Copy, Debug)]
pub struct Absent;

/// There is this one.
#[derive(Clone, Copy, Debug)]
pub struct Present<B>(pub(crate) B);

/// A budget, or none.
pub trait MaybeBudget {
    #[doc(hidden)]
    fn budget(&self) -> Option<&Budget>;
}

/// A breaker, or none.
pub trait MaybeBreaker {
    #[doc(hidden)]
    fn breaker(&self) -> Option<&Breaker>;
}

impl MaybeBudget for Absent {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        None
    }
}

impl MaybeBreaker for Absent {
    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        None
    }
}

impl<B: AsBudget> MaybeBudget for Present<B> {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        Some(self.0.as_budget())
    }
}

impl<B: AsBreaker> MaybeBreaker for Present<B> {
    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        Some(self.0.as_breaker())
    }
}
