//! A call before it runs, and what can be said of it: the same for all loops.

use core::fmt;
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{Random, SplitMix64, Verdict};

use crate::guard::{Guard as _, Guardable, Guarded, Made, MaybeGuarded};
#[cfg(feature = "tracing")]
use crate::options::TraceErrors;
use crate::options::{
    AsBreaker, AsBudget, Bounded, Bounds, Classify, ClassifyOk, MaybeBreaker, OnRetry, Options,
    Present, Setup, When,
};
use crate::outcome::{Event, Interrupted};

pin_project! {
    /// A call that is ready to run, of which more can be said first.
    ///
    /// | made by | | runs when |
    /// |---|---|---|
    /// | [`retry`](crate::retry), [`retry_with`](crate::retry_with) | an async call | it is awaited: it is a future |
    /// | [`blocking::call`](crate::blocking::call) | a blocking call | [`run`](Self::run) |
    /// | [`tries`](crate::tries_on) | your own loop | you run the attempts, and tell it of each [failure](Self::failed) |
    /// | `tower::RetryLayer` | a layer | the service below it is called |
    ///
    /// `M` is which of these it is, and `O` what has been said of it: see [`Options`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, retry};
    /// # #[derive(Debug)] struct Busy(Option<Duration>);
    /// # impl std::fmt::Display for Busy {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
    /// # }
    /// # impl std::error::Error for Busy {}
    /// # async fn call() -> Result<u8, Busy> { Ok(7) }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let result = retry(&Policy::DEFAULT, || call())
    ///     .classify(|busy| match busy.0 {
    ///         Some(wait) => Verdict::RetryAfter(wait),
    ///         None => Verdict::Retry,
    ///     })
    ///     .on_retry(|event| eprintln!("attempt {} failed, waiting {:?}", event.attempt, event.delay))
    ///     .timeout(Duration::from_secs(2)) // the error is redial::Error<Busy> from here on
    ///     .within(Duration::from_secs(30))
    ///     .await;
    /// assert_eq!(result.unwrap(), 7);
    /// # }
    /// ```
    ///
    /// Options may come in any order; the last word on each counts.
    #[must_use = "a call does nothing until it is awaited or run"]
    pub struct Retry<M, O>
    where
        O: Setup,
        M: Mode<O::Clock, O::Guard>,
    {
        pub(crate) mode: M,
        pub(crate) options: O,
        #[pin]
        pub(crate) state: M::State,
    }
}

/// How a call is run: awaited, blocking, in a loop of the caller's, as a layer.
pub trait Mode<Clock, Guard> {
    /// What it keeps while it runs.
    type State;

    /// Whether its first attempt has begun when it is made.
    #[doc(hidden)]
    const STARTED: bool;

    #[doc(hidden)]
    fn idle() -> Self::State;
}

/// One call, as opposed to a layer, which makes one of each request. What it is given it may own,
/// and need not share.
pub trait OneCall {}

/// A call of an operation, which gives a value or fails.
pub trait Retried: OneCall {
    /// What the operation gives.
    type Value;
    /// How it fails.
    type Error;
}

impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G>,
{
    #[inline]
    pub(crate) fn of(mode: M, options: Options<P, J, B, G, K, R>) -> Self {
        Self { mode, options, state: M::idle() }
    }

    #[inline]
    pub(crate) fn into_parts(self) -> (M, Options<P, J, B, G, K, R>) {
        (self.mode, self.options)
    }
}

/// Which attempts are worth another.
impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G> + Retried,
{
    /// Retries only the errors of which `when` says so; the others stop the call at once. Without
    /// it every error is retried.
    ///
    /// ```
    /// use redial::{Policy, retry};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let result: Result<(), u16> =
    ///     retry(&Policy::DEFAULT, || async { Err(404) }).when(|status| *status >= 500).await;
    /// assert_eq!(result, Err(404)); // after one attempt
    /// # }
    /// ```
    #[inline]
    pub fn when<F>(self, when: F) -> Retry<M, Options<P, When<F, J>, B, G, K, R>>
    where
        F: FnMut(&M::Error) -> bool,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| When(when, judge)))
    }

    /// Says of each error what it means: stop, retry, or retry after exactly this long. It is not
    /// asked on the last attempt.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let result: Result<(), &str> = clock.block_on(
    ///     retry(&Policy::DEFAULT, || async { Err("slow down: 7") })
    ///         .classify(|_| Verdict::RetryAfter(Duration::from_secs(7)))
    ///         .clock(&clock),
    /// );
    /// clock.assert_slept(&[Duration::from_secs(7), Duration::from_secs(7)]);
    /// # assert!(result.is_err());
    /// ```
    #[inline]
    pub fn classify<F>(self, classify: F) -> Retry<M, Options<P, Classify<F, J>, B, G, K, R>>
    where
        F: FnMut(&M::Error) -> Verdict,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| Classify(classify, judge)))
    }

    /// Retries also after a value of which `unfinished` says so, such as a job that is still
    /// pending. When the policy gives up, the call is `Ok` with the last, unfinished value: look at
    /// it, or ask for the [`outcome`](Self::outcome), whose `reason` then says why it stopped.
    ///
    /// ```
    /// use redial::{Policy, blocking, testing::ManualClock};
    ///
    /// let job = ["queued", "running", "done"];
    /// let state = blocking::call(&Policy::DEFAULT, |attempt| Ok::<_, ()>(job[attempt.number as usize - 1]))
    ///     .retry_ok_if(|state| *state != "done")
    ///     .clock(&ManualClock::new())
    ///     .run();
    /// assert_eq!(state, Ok("done"));
    /// ```
    #[inline]
    pub fn retry_ok_if<F>(
        self,
        mut unfinished: F,
    ) -> Retry<
        M,
        Options<
            P,
            ClassifyOk<impl FnMut(&M::Value) -> Option<Verdict> + use<F, M, P, J, B, G, K, R>, J>,
            B,
            G,
            K,
            R,
        >,
    >
    where
        F: FnMut(&M::Value) -> bool,
    {
        self.classify_ok(move |value: &M::Value| unfinished(value).then_some(Verdict::Retry))
    }

    /// Says of each value what it means: `None` where it will do, a verdict where it is worth
    /// another attempt, such as an HTTP response with the status 503. When it is over without a
    /// better one, the last value comes back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let status: Result<u16, ()> = clock.block_on(
    ///     retry(&Policy::DEFAULT, || async { Ok(429) })
    ///         .classify_ok(|status| match status {
    ///             429 => Some(Verdict::RetryAfter(Duration::from_secs(5))),
    ///             500.. => Some(Verdict::Retry),
    ///             _ => None,
    ///         })
    ///         .clock(&clock),
    /// );
    /// assert_eq!(status, Ok(429)); // to the end
    /// clock.assert_slept(&[Duration::from_secs(5), Duration::from_secs(5)]);
    /// ```
    #[inline]
    pub fn classify_ok<F>(self, classify: F) -> Retry<M, Options<P, ClassifyOk<F, J>, B, G, K, R>>
    where
        F: FnMut(&M::Value) -> Option<Verdict>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| ClassifyOk(classify, judge)))
    }

    /// Hears of each retry, after it was decided and before its wait; and of each
    /// [hedge](Self::hedge), when it starts.
    ///
    /// ```
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let mut attempts = Vec::new();
    /// let result: Result<(), &str> = clock.block_on(
    ///     retry(&Policy::DEFAULT, || async { Err("down") })
    ///         .on_retry(|event| attempts.push(event.attempt))
    ///         .clock(&clock),
    /// );
    /// assert_eq!(attempts, [1, 2]); // the third failure is not retried
    /// # assert!(result.is_err());
    /// ```
    #[inline]
    pub fn on_retry<F>(self, on_retry: F) -> Retry<M, Options<P, OnRetry<F, J>, B, G, K, R>>
    where
        F: FnMut(&Event<'_, M::Error>),
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| OnRetry(on_retry, judge)))
    }

    /// Asks a circuit breaker before each attempt, and tells it how the attempt went. It is given as
    /// `&Breaker` or `Arc<Breaker>`. The error is [`Error`](crate::Error) from here on, as with
    /// [`timeout`](Self::timeout).
    ///
    /// ```
    /// use redial::{Breaker, Error, Policy, retry};
    /// static BREAKER: Breaker = Breaker::builder().failures(3).build();
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let call = || retry(&Policy::DEFAULT, || async { Err::<(), _>("down") }).breaker(&BREAKER);
    /// assert_eq!(call().await, Err(Error::Failed("down"))); // three failures
    /// assert_eq!(call().await, Err(Error::BreakerOpen)); // and it does not even try
    /// # }
    /// ```
    #[inline]
    pub fn breaker<N, A>(
        self,
        breaker: N,
    ) -> Retry<M, Options<P, J, B, Guarded<Present<N>, A>, K, R>>
    where
        N: AsBreaker,
        G: Guardable<M::Error, A>,
        M: Mode<K, Guarded<Present<N>, A>>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.guarded().with_breaker(breaker)))
    }

    /// Says what a timeout and an open breaker are in the operation's own error, which then is the
    /// error of the call. If your error does not implement [`std::error::Error`], call this before
    /// [`timeout`](Self::timeout) and [`breaker`](Self::breaker).
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, retry};
    ///
    /// #[derive(Debug, PartialEq)]
    /// enum FetchError { Refused, TimedOut }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let result: Result<(), FetchError> = retry(&Policy::DEFAULT, || std::future::pending())
    ///     .error_from(|_interrupted| FetchError::TimedOut)
    ///     .timeout(Duration::from_secs(1))
    ///     .await;
    /// assert_eq!(result, Err(FetchError::TimedOut));
    /// # let _ = FetchError::Refused;
    /// # }
    /// ```
    #[inline]
    pub fn error_from<F>(
        self,
        make: F,
    ) -> Retry<M, Options<P, J, B, Guarded<G::Breaker, Made<F>>, K, R>>
    where
        F: FnMut(Interrupted<M::Error>) -> M::Error,
        G: MaybeGuarded,
        M: Mode<K, Guarded<G::Breaker, Made<F>>>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.answered(Made(make))))
    }
}

/// What a timeout means.
impl<M, P, J, B, X, Br, K, R> Retry<M, Options<P, J, B, Guarded<Br, X>, K, R>>
where
    M: Mode<K, Guarded<Br, X>>,
    Br: MaybeBreaker,
{
    /// What a timeout means; retry unless this says otherwise. `Verdict::Stop` for an operation
    /// that must not run twice when it is unclear whether it ran once. It stands after
    /// [`timeout`](Self::timeout); without one nothing is cut, and this has no say.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Stop, Verdict, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let outcome = retry(&Policy::DEFAULT, || std::future::pending::<Result<(), ()>>())
    ///     .timeout(Duration::from_secs(1))
    ///     .timeout_verdict(Verdict::Stop)
    ///     .outcome()
    ///     .await;
    /// assert_eq!((outcome.attempts, outcome.reason), (1, Some(Stop::Rejected)));
    /// # }
    /// ```
    #[inline]
    pub fn timeout_verdict(mut self, verdict: Verdict) -> Self {
        self.options.guard.set_timeout_verdict(verdict);
        self
    }
}

/// How long it may take, and what it may cost. Where the policy has a limit too, the tighter one
/// holds.
impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G>,
    B: Bounds,
{
    #[inline]
    fn bounded(
        self,
        set: impl FnOnce(&mut Bounded<B::Budget>),
    ) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        let (mode, options) = self.into_parts();
        let bound = |bounds: B| {
            let mut bounds = bounds.bounded();
            set(&mut bounds);
            bounds
        };
        Retry::of(mode, options.with_bounds(bound))
    }

    /// No attempt starts once this much time has passed since the start of the first one.
    ///
    /// An attempt that hangs is not interrupted by it: that is what [`timeout`](Self::timeout) does,
    /// and it is cut to what is left of this.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, Stop, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let outcome = retry(policy, || async { Err::<(), _>("down") })
    ///     .within(Duration::from_millis(2500))
    ///     .outcome()
    ///     .await;
    /// assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::Deadline)));
    /// # }
    /// ```
    #[inline]
    pub fn within(self, within: Duration) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        self.bounded(|bounds| bounds.set_within(within))
    }

    /// The sum of all waits stays within this.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, Stop, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let outcome = retry(policy, || async { Err::<(), _>("down") })
    ///     .wait_budget(Duration::from_secs(2))
    ///     .outcome()
    ///     .await;
    /// assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::WaitBudget)));
    /// # }
    /// ```
    #[inline]
    pub fn wait_budget(
        self,
        wait_budget: Duration,
    ) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        self.bounded(|bounds| bounds.set_wait_budget(wait_budget))
    }

    /// A delay that a verdict dictates stops the call if it is longer than this, instead of being
    /// obeyed. 120 s unless set. A pace of your own, which no server dictates, is better said by
    /// [`policy_when`](Self::policy_when), to which this bound does not apply.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Stop, Verdict, retry};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let outcome = retry(&Policy::DEFAULT, || async { Err::<(), _>("busy") })
    ///     .classify(|_| Verdict::RetryAfter(Duration::from_secs(6)))
    ///     .max_retry_after(Duration::from_secs(5))
    ///     .outcome()
    ///     .await;
    /// assert_eq!(outcome.reason, Some(Stop::RetryAfterTooLong));
    /// # }
    /// ```
    #[inline]
    pub fn max_retry_after(
        self,
        max_retry_after: Duration,
    ) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        self.bounded(|bounds| bounds.set_max_retry_after(max_retry_after))
    }

    /// Leave to wake up to this much late, so that timers can be coalesced: wake-ups fall on
    /// multiples of the tolerance. A deadline is not missed for it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let policy = Backoff::constant(Duration::from_millis(130)).attempts(2);
    /// let _: Result<(), ()> = clock.block_on(
    ///     retry(policy, || async { Err(()) }).tolerance(Duration::from_millis(50)).clock(&clock),
    /// );
    /// clock.assert_slept(&[Duration::from_millis(150)]);
    /// ```
    #[inline]
    pub fn tolerance(
        self,
        tolerance: Duration,
    ) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        self.bounded(|bounds| bounds.set_tolerance(tolerance))
    }

    /// The call's name in traces and metrics. It should be one of few: each is a time series.
    ///
    /// ```
    /// use redial::{Policy, retry};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let result = retry(&Policy::DEFAULT, || async { Ok::<_, ()>(1) }).name("fetch-page").await;
    /// # assert_eq!(result, Ok(1));
    /// # }
    /// ```
    #[inline]
    pub fn name(self, name: &'static str) -> Retry<M, Options<P, J, Bounded<B::Budget>, G, K, R>> {
        if M::STARTED {
            self.options.spans.name(name);
        }
        self.bounded(|bounds| bounds.set_name(name))
    }

    /// Lets traces tell the texts of errors: in the span of each attempt that fails, and in the event
    /// of each retry. Without this they tell the error's type alone, for a text may hold secrets.
    ///
    /// ```
    /// use redial::{Policy, retry};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let call = retry(&Policy::DEFAULT, || async { Ok::<_, std::io::Error>(1) }).name("load").trace_errors();
    /// # assert_eq!(call.await.unwrap(), 1);
    /// # }
    /// ```
    #[cfg(feature = "tracing")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tracing")))]
    #[inline]
    pub fn trace_errors(self) -> Retry<M, Options<P, TraceErrors<J>, B, G, K, R>> {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(TraceErrors))
    }
}

/// What it is paid from.
impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G> + OneCall,
    B: Bounds,
{
    /// Pays for each retry from a budget that many calls share, given as `&Budget` or `Arc<Budget>`;
    /// deposits the share of this call.
    ///
    /// ```
    /// use redial::{Budget, Policy, retry};
    /// static BUDGET: Budget = Budget::new();
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let result: Result<(), _> = retry(&Policy::DEFAULT, || async { Err("down") })
    ///     .budget(&BUDGET)
    ///     .rng(|| 0) // no delay at all, so the floor adds nothing meanwhile
    ///     .await;
    /// assert_eq!(BUDGET.tokens(), 98.0); // two retries
    /// # assert!(result.is_err());
    /// # }
    /// ```
    #[inline]
    pub fn budget<N: AsBudget>(
        self,
        budget: N,
    ) -> Retry<M, Options<P, J, Bounded<Present<N>>, G, K, R>> {
        if M::STARTED {
            budget.as_budget().deposit();
        }
        let (mode, options) = self.into_parts();
        let bound = |bounds: B| bounds.bounded().with_budget(Present(budget));
        Retry::of(mode, options.with_bounds(bound))
    }
}

/// Where its chance and its time come from.
impl<M, P, J, B, G, K, R> Retry<M, Options<P, J, B, G, K, R>>
where
    M: Mode<K, G>,
{
    /// Draws jitter from this seed: the same seed, the same delays, as `Policy::delays` foretells.
    ///
    /// ```
    /// use redial::{Policy, SplitMix64, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> = clock.block_on(
    ///     retry(&Policy::DEFAULT, || async { Err(()) }).seed(42).clock(&clock),
    /// );
    /// let foretold: Vec<_> = Policy::DEFAULT.delays(SplitMix64::new(42)).collect();
    /// clock.assert_slept(&foretold);
    /// ```
    #[inline]
    pub fn seed(self, seed: u64) -> Retry<M, Options<P, J, B, G, K, SplitMix64>> {
        self.rng(SplitMix64::new(seed))
    }

    /// Draws jitter from a source of your own.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> = clock.block_on(
    ///     retry(&Policy::DEFAULT, || async { Err(()) }).rng(|| u64::MAX).clock(&clock),
    /// );
    /// clock.assert_slept(&[Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    #[inline]
    pub fn rng<N: Random>(self, random: N) -> Retry<M, Options<P, J, B, G, K, N>> {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_random(random))
    }

    /// Another clock: another runtime's, or [`ManualClock`](crate::testing::ManualClock) in a
    /// test.
    ///
    /// ```
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let result: Result<(), &str> =
    ///     clock.block_on(retry(&Policy::DEFAULT, || async { Err("down") }).clock(&clock));
    /// assert_eq!(result, Err("down"));
    /// assert_eq!(clock.slept().len(), 2); // and no time has passed
    /// ```
    #[inline]
    pub fn clock<N>(self, clock: N) -> Retry<M, Options<P, J, B, G, N, R>>
    where
        M: Mode<N, G>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_clock(clock))
    }
}

impl<M, O> fmt::Debug for Retry<M, O>
where
    O: Setup,
    M: Mode<O::Clock, O::Guard>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").finish_non_exhaustive()
    }
}
