//! What a call can be told, each as a type: an option that is not used costs nothing.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use redial_core::{Breaker, Budget, Call, Limits, Random, Ruling, Time, Verdict};

use crate::clock::DefaultClock;
use crate::guard::Open;
use crate::outcome::Event;
use crate::random::ThreadRandom;
use crate::telemetry::Spans;

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
    pub(crate) spans: Spans,
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
            spans: Spans::NONE,
        }
    }
}

impl<P, J, B, G, K, R> Options<P, J, B, G, K, R> {
    #[inline]
    pub(crate) fn with_judge<N>(self, change: impl FnOnce(J) -> N) -> Options<P, N, B, G, K, R> {
        let Self { call, judge, bounds, guard, clock, random, spans } = self;
        Options { call, judge: change(judge), bounds, guard, clock, random, spans }
    }

    #[inline]
    pub(crate) fn with_bounds<N>(self, change: impl FnOnce(B) -> N) -> Options<P, J, N, G, K, R> {
        let Self { call, judge, bounds, guard, clock, random, spans } = self;
        Options { call, judge, bounds: change(bounds), guard, clock, random, spans }
    }

    #[inline]
    pub(crate) fn with_guard<N>(self, change: impl FnOnce(G) -> N) -> Options<P, J, B, N, K, R> {
        let Self { call, judge, bounds, guard, clock, random, spans } = self;
        Options { call, judge, bounds, guard: change(guard), clock, random, spans }
    }

    #[inline]
    pub(crate) fn with_clock<N>(self, clock: N) -> Options<P, J, B, G, N, R> {
        let Self { call, judge, bounds, guard, random, spans, .. } = self;
        Options { call, judge, bounds, guard, clock, random, spans }
    }

    #[inline]
    pub(crate) fn with_random<N>(self, random: N) -> Options<P, J, B, G, K, N> {
        let Self { call, judge, bounds, guard, clock, spans, .. } = self;
        Options { call, judge, bounds, guard, clock, random, spans }
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
#[diagnostic::on_unimplemented(
    message = "what was said of this call does not fit an operation that gives `{T}` or fails with `{E}`",
    note = "a classifier or a hook takes `&{E}`, `&{T}`, or in a layer `&Result<{T}, {E}>`"
)]
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
    /// Whether some errors are of a kind with a policy of its own. That may have a limit in time,
    /// which counts from the start of the call.
    #[doc(hidden)]
    const KINDS: bool = false;
    /// Such an error is counted, and meets its own policy.
    #[doc(hidden)]
    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        let _ = (error, random);
        None
    }
    /// What an error means, and under which policy.
    #[doc(hidden)]
    #[inline]
    fn ruling(&mut self, error: &E, random: &mut dyn Random) -> Ruling {
        match self.kind(error, random) {
            Some(ruling) => ruling,
            None => self.error(error).into(),
        }
    }
    /// A retry was decided, and its wait is about to begin.
    #[doc(hidden)]
    fn retrying(&mut self, event: &Event<'_, E>);
    /// The text of an error, if it may be traced.
    #[doc(hidden)]
    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        let _ = error;
        None
    }
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

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
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

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
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

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
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

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
    }
}

/// As `J`, and the texts of errors may be traced.
#[cfg(feature = "tracing")]
#[derive(Clone, Copy, Debug)]
pub struct TraceErrors<J>(pub(crate) J);

#[cfg(feature = "tracing")]
impl<T, E: fmt::Display, J: Judge<T, E>> Judge<T, E> for TraceErrors<J> {
    #[inline]
    fn value(&mut self, value: &T) -> Option<Verdict> {
        self.0.value(value)
    }

    #[inline]
    fn error(&mut self, error: &E) -> Verdict {
        self.0.error(error)
    }

    #[inline]
    fn result(&mut self, result: &Result<T, E>) -> Option<Verdict> {
        self.0.result(result)
    }

    #[inline]
    fn retrying(&mut self, event: &Event<'_, E>) {
        self.0.retrying(event);
    }

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.0.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        Some(error)
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

    const KINDS: bool = J::KINDS;

    #[inline]
    fn kind(&mut self, error: &E, random: &mut dyn Random) -> Option<Ruling> {
        self.1.kind(error, random)
    }

    #[inline]
    fn text<'e>(&self, error: &'e E) -> Option<&'e dyn fmt::Display> {
        self.1.text(error)
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
    /// Lends them: where there are none they need not even be written down.
    #[doc(hidden)]
    fn under<D>(&self, decide: impl FnOnce(&Limits<'_>) -> D) -> D;
    /// Whether one of them is a deadline.
    #[doc(hidden)]
    fn has_deadline(&self) -> bool;
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
    // Each in one word: a task that sleeps keeps them.
    within: u64,
    wait_budget: u64,
    max_retry_after: u64,
    tolerance: u64,
    account: Account<B>,
    name: Name,
}

/// A limit that was not set.
const NO_LIMIT: u64 = u64::MAX;

/// Saturating at 584 years, as everywhere.
#[inline]
fn nanos(duration: Duration) -> u64 {
    Time::ZERO.after(duration).as_nanos()
}

/// The name of a call, where somebody listens who wants to know it.
#[derive(Clone, Copy, Debug)]
struct Name {
    #[cfg(any(feature = "tracing", feature = "metrics"))]
    name: &'static str,
}

impl Name {
    #[inline]
    const fn new(name: &'static str) -> Self {
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        return Self { name };
        #[cfg(not(any(feature = "tracing", feature = "metrics")))]
        {
            let _ = name;
            Self {}
        }
    }

    #[inline]
    const fn get(self) -> &'static str {
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        return self.name;
        #[cfg(not(any(feature = "tracing", feature = "metrics")))]
        ""
    }
}

impl Bounds for Unbounded {
    type Budget = Absent;

    #[inline]
    fn bounded(self) -> Bounded {
        Bounded {
            within: NO_LIMIT,
            wait_budget: NO_LIMIT,
            max_retry_after: nanos(const { Limits::new().get_max_retry_after() }),
            tolerance: 0,
            account: Account { budget: Absent, paid: false },
            name: Name::new(""),
        }
    }

    #[inline]
    fn limits(&self) -> Limits<'_> {
        const { Limits::new() }
    }

    #[inline]
    fn under<D>(&self, decide: impl FnOnce(&Limits<'_>) -> D) -> D {
        decide(const { &Limits::new() })
    }

    #[inline]
    fn has_deadline(&self) -> bool {
        false
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
        let limits = Limits::from_nanos(self.within, self.wait_budget, self.max_retry_after);
        match self.account.budget.budget() {
            Some(budget) => limits.budget(budget),
            None => limits,
        }
    }

    #[inline]
    fn under<D>(&self, decide: impl FnOnce(&Limits<'_>) -> D) -> D {
        decide(&self.limits())
    }

    #[inline]
    fn has_deadline(&self) -> bool {
        self.within != NO_LIMIT
    }

    #[inline]
    fn tolerance(&self) -> Duration {
        Duration::from_nanos(self.tolerance)
    }

    #[inline]
    fn name(&self) -> &'static str {
        self.name.get()
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
        let Self { within, wait_budget, max_retry_after, tolerance, name, .. } = self;
        let account = Account { budget, paid: false };
        Bounded { within, wait_budget, max_retry_after, tolerance, account, name }
    }

    #[inline]
    pub(crate) fn set_within(&mut self, within: Duration) {
        self.within = nanos(within);
    }

    #[inline]
    pub(crate) fn set_wait_budget(&mut self, wait_budget: Duration) {
        self.wait_budget = nanos(wait_budget);
    }

    #[inline]
    pub(crate) fn set_max_retry_after(&mut self, max_retry_after: Duration) {
        self.max_retry_after = nanos(max_retry_after);
    }

    #[inline]
    pub(crate) fn set_tolerance(&mut self, tolerance: Duration) {
        self.tolerance = nanos(tolerance);
    }

    #[inline]
    pub(crate) fn set_name(&mut self, name: &'static str) {
        self.name = Name::new(name);
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

/// Implements a trait of what is owned, borrowed or shared by `Arc`.
macro_rules! owned_borrowed_or_shared {
    ($as:ident, $method:ident, $type:ty) => {
        impl $as for $type {
            #[inline]
            fn $method(&self) -> &$type {
                self
            }
        }

        impl<B: $as + ?Sized> $as for &B {
            #[inline]
            fn $method(&self) -> &$type {
                (**self).$method()
            }
        }

        impl<B: $as + ?Sized> $as for Arc<B> {
            #[inline]
            fn $method(&self) -> &$type {
                (**self).$method()
            }
        }
    };
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
    note = "a budget is given as `Budget`, `&Budget` or `Arc<Budget>`"
)]
pub trait AsBudget {
    /// The budget.
    fn as_budget(&self) -> &Budget;
}

owned_borrowed_or_shared!(AsBudget, as_budget, Budget);

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
    note = "a breaker is given as `Breaker`, `&Breaker` or `Arc<Breaker>`"
)]
pub trait AsBreaker {
    /// The breaker.
    fn as_breaker(&self) -> &Breaker;
}

owned_borrowed_or_shared!(AsBreaker, as_breaker, Breaker);

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
    /// The period in which it admitted the attempt that is under way, if it did.
    #[doc(hidden)]
    type Period: Period;

    #[doc(hidden)]
    fn breaker(&self) -> Option<&Breaker>;
}

impl MaybeBudget for Absent {
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        None
    }
}

/// What [`Breaker::permit`] takes, where there is a breaker.
#[doc(hidden)]
pub trait Period: Default + core::fmt::Debug {
    fn set(&mut self, period: u16);
    fn get(&self) -> Option<u16>;
    fn take(&mut self) -> Option<u16>;
}

impl Period for () {
    #[inline]
    fn set(&mut self, _period: u16) {}

    #[inline]
    fn get(&self) -> Option<u16> {
        None
    }

    #[inline]
    fn take(&mut self) -> Option<u16> {
        None
    }
}

impl Period for Option<u16> {
    #[inline]
    fn set(&mut self, period: u16) {
        *self = Some(period);
    }

    #[inline]
    fn get(&self) -> Option<u16> {
        *self
    }

    #[inline]
    fn take(&mut self) -> Option<u16> {
        Self::take(self)
    }
}

impl MaybeBreaker for Absent {
    type Period = ();

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
    type Period = Option<u16>;

    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        Some(self.0.as_breaker())
    }
}
