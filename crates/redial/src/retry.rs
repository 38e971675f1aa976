//! The async loop.

use core::fmt;
use core::future::{Future, IntoFuture};
use core::time::Duration;

use redial_core::{
    AsPolicy, Breaker, Budget, Call, Decision, Gate, Random, SplitMix64, Stop, Time, Verdict,
};

use crate::clock::{Clock, yield_now};
use crate::guard::{Admission, Guard, Guarded, Open};
use crate::options::{
    Always, Bounded, Bounds, Classify, Hook, Judge, Nobody, OnRetry, Unbounded, When,
};
use crate::outcome::{Event, History, Ledger, Outcome};
use crate::random::ThreadRandom;
use crate::session::Session;
use crate::testing::switch::is_skipped;

/// Runs `operation` until it succeeds or the policy says that it is over. Awaiting the result runs
/// it; the methods of [`Retry`] say more about it first.
///
/// The operation is a closure that makes a future, called once for each attempt. The error that
/// comes back is the operation's own last one, unchanged.
///
/// ```
/// use redial::{Policy, policy, retry};
///
/// const FETCH: Policy = policy!("retry: 4, delay: 100ms, backoff: exponential, jitter: full");
///
/// # async fn fetch() -> Result<&'static str, std::io::Error> { Ok("page") }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), std::io::Error> {
/// let page = retry(&FETCH, || fetch()).await?;
/// # assert_eq!(page, "page");
/// # Ok(()) }
/// ```
///
/// Dropping the future cancels it cleanly at any point: no task, timer or token is left behind.
/// For state that the attempts mutate (rustc says that a captured variable cannot escape), see
/// [`tries`](crate::tries).
///
/// # Panics
///
/// Where it has to wait and there is no tokio runtime with its time enabled, as tokio's own timer
/// does. A call on another runtime, or in a test without one, names its [`clock`](Retry::clock).
#[cfg(feature = "tokio")]
pub fn retry<P, Op, Fut, T, E>(
    policy: P,
    operation: Op,
) -> Retry<
    Parts<Op, Open, crate::TokioClock, Session<P, Always, Nobody, Unbounded, ThreadRandom>>,
    impl Future<Output = Result<T, E>>,
>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Parts::new(policy, operation, crate::TokioClock).ready()
}

/// Runs `operation` until it succeeds or the policy says that it is over. Without the feature
/// `tokio` the call must be given a clock first, by [`Retry::clock`].
#[cfg(not(feature = "tokio"))]
pub fn retry<P, Op, Fut, T, E>(
    policy: P,
    operation: Op,
) -> Retry<Parts<Op, Open, NoClock, Session<P, Always, Nobody, Unbounded, ThreadRandom>>, NoClock>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retry { parts: Parts::new(policy, operation, NoClock), run: |_| NoClock }
}

/// What a call without a clock becomes. It is not a future, so such a call cannot be awaited.
#[cfg(not(feature = "tokio"))]
#[derive(Clone, Copy, Debug)]
pub struct NoClock;

/// A call that is ready to run: `.await` it, or say more about it first.
///
/// ```
/// use std::time::Duration;
/// use redial::{Policy, Verdict, retry};
/// # #[derive(Debug)] struct Busy(Option<Duration>);
/// # impl std::fmt::Display for Busy {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
/// # }
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
#[must_use = "a call does nothing until it is awaited"]
pub struct Retry<Parts, Fut> {
    parts: Parts,
    run: fn(Parts) -> Fut,
}

impl<Parts, Fut: Future> IntoFuture for Retry<Parts, Fut> {
    type Output = Fut::Output;
    type IntoFuture = Fut;

    #[inline]
    fn into_future(self) -> Fut {
        (self.run)(self.parts)
    }
}

impl<Parts, Fut> fmt::Debug for Retry<Parts, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").finish_non_exhaustive()
    }
}

/// What an async call is made of.
#[derive(Debug)]
pub struct Parts<Op, G, K, S> {
    operation: Op,
    guard: G,
    clock: K,
    session: S,
}

type NewSession<P> = Session<P, Always, Nobody, Unbounded, ThreadRandom>;

impl<P, Op, K> Parts<Op, Open, K, NewSession<P>> {
    #[inline]
    fn new(policy: P, operation: Op, clock: K) -> Self {
        Self { operation, guard: Open, clock, session: new_session(policy) }
    }
}

/// A call under `policy` with nothing said about it yet.
#[inline]
pub(crate) const fn new_session<P>(policy: P) -> NewSession<P> {
    Session {
        call: Call::new(policy, Time::ZERO),
        classify: Always,
        hook: Nobody,
        bounds: Unbounded,
        random: ThreadRandom,
    }
}

impl<Op, G, K, S> Parts<Op, G, K, S> {
    fn with_guard<H>(self, change: impl FnOnce(G) -> H) -> Parts<Op, H, K, S> {
        let Self { operation, guard, clock, session } = self;
        Parts { operation, guard: change(guard), clock, session }
    }

    fn with_clock<L>(self, clock: L) -> Parts<Op, G, L, S> {
        let Self { operation, guard, session, .. } = self;
        Parts { operation, guard, clock, session }
    }

    fn with_session<U>(self, change: impl FnOnce(S) -> U) -> Parts<Op, G, K, U> {
        let Self { operation, guard, clock, session } = self;
        Parts { operation, guard, clock, session: change(session) }
    }
}

impl<P, Op, Fut, T, E, C, H, L, G, K, R> Parts<Op, G, K, Session<P, C, H, L, R>>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    L: Bounds,
    G: Guard,
    G::Ledger<E>: Ledger<G::Error<E>, Output<T> = Result<T, G::Error<E>>>,
    K: Clock,
    R: Random,
{
    #[inline]
    fn ready(self) -> Retry<Self, impl Future<Output = Result<T, G::Error<E>>>> {
        Retry { parts: self, run: |parts| parts.drive(G::Ledger::<E>::open()) }
    }
}

impl<P, Op, Fut, T, E, C, H, L, G, K, R> Parts<Op, G, K, Session<P, C, H, L, R>>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    L: Bounds,
    G: Guard,
    K: Clock,
    R: Random,
{
    /// The loop. What it captures it uses in place: a copy would double the size of the future.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` keeps a copy of its arguments")]
    #[inline]
    fn drive<J: Ledger<G::Error<E>>>(
        mut self,
        mut ledger: J,
    ) -> impl Future<Output = J::Output<T>> {
        async move {
            self.session.start(J::TIMED, || self.clock.now());
            loop {
                let mut permit = match self.guard.admit(|| self.clock.now()) {
                    Ok(permit) => permit,
                    Err(refused) => return self.refused(refused, &mut ledger),
                };
                let deadline = if G::CUTS { self.session.deadline() } else { None };
                let attempt = self.guard.attempt((self.operation)(), &self.clock, deadline);
                let delay = match attempt.await {
                    Ok(value) => {
                        permit.succeeded();
                        return self.end(&mut ledger, Ok(value), None);
                    }
                    Err(error) => match self.failed(error, &mut permit, &mut ledger) {
                        Ok(delay) => delay,
                        Err((error, reason)) => {
                            return self.end(&mut ledger, Err(error), Some(reason));
                        }
                    },
                };
                let mut paid = self.session.bounds.paid();
                if is_skipped(delay) {
                    yield_now().await;
                } else {
                    self.sleep(delay).await;
                }
                L::spent(&mut paid);
            }
        }
    }

    /// The breaker refused the attempt: the error of the one before comes back, if there was one.
    #[cold]
    fn refused<J: Ledger<G::Error<E>>>(
        &self,
        refused: G::Error<E>,
        ledger: &mut J,
    ) -> J::Output<T> {
        self.session.refund();
        let error = ledger.last().unwrap_or(refused);
        self.end(ledger, Err(error), Some(Stop::BreakerOpen))
    }

    /// How long to wait after a failure, or the error that the call ends with, and why. The error
    /// goes in and out by value: one that the loop lent out would be kept through the wait.
    #[cold]
    fn failed<J: Ledger<G::Error<E>>>(
        &mut self,
        error: G::Error<E>,
        permit: &mut G::Permit,
        ledger: &mut J,
    ) -> Result<Duration, (G::Error<E>, Stop)> {
        let own = G::operation_error(&error);
        let timed_out = self.guard.timeout_verdict();
        let verdict = |classify: &mut C| own.map_or(timed_out, |error| classify.verdict(error));
        let decision = self.session.failed(permit, || self.clock.now(), own, verdict);
        // An error that another attempt would meet again says nothing about the service, and the
        // engine does not report it. A timeout does, also where it is not retried.
        if decision == Decision::Stop(Stop::Rejected) && own.is_none() && permit.needs_time() {
            permit.failed(self.clock.now());
        }
        match decision {
            Decision::Stop(reason) => Err((error, reason)),
            Decision::Wait(delay) => {
                ledger.record(self.session.call.failures(), error);
                Ok(delay)
            }
        }
    }

    fn sleep(&self, delay: Duration) -> K::Sleep {
        self.clock.sleep(self.session.sleep_length(|| self.clock.now(), delay))
    }

    #[inline]
    fn end<J: Ledger<G::Error<E>>>(
        &self,
        ledger: &mut J,
        result: Result<T, G::Error<E>>,
        reason: Option<Stop>,
    ) -> J::Output<T> {
        self.session.end(ledger, result, reason, || self.clock.now())
    }
}

impl<P, Op, Fut, T, E, G, K, C, H, L, R, Run> Retry<Parts<Op, G, K, Session<P, C, H, L, R>>, Run>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    L: Bounds,
    G: Guard,
    G::Ledger<E>: Ledger<G::Error<E>, Output<T> = Result<T, G::Error<E>>>,
    R: Random,
{
    /// Another clock: another runtime's, or [`ManualClock`](crate::testing::ManualClock) in a
    /// test.
    ///
    /// ```
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let result: Result<(), &str> = clock.block_on(async {
    ///     retry(&Policy::DEFAULT, || async { Err("down") }).clock(&clock).await
    /// });
    /// assert_eq!(result, Err("down"));
    /// assert_eq!(clock.slept().len(), 2); // and no time has passed
    /// ```
    pub fn clock<N: Clock>(
        self,
        clock: N,
    ) -> Retry<Parts<Op, G, N, Session<P, C, H, L, R>>, impl Future<Output = Result<T, G::Error<E>>>>
    {
        self.parts.with_clock(clock).ready()
    }
}

impl<P, Op, Fut, T, E, G, K, C, H, L, R, Run> Retry<Parts<Op, G, K, Session<P, C, H, L, R>>, Run>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classify<E>,
    H: Hook<E>,
    L: Bounds,
    G: Guard,
    G::Ledger<E>: Ledger<G::Error<E>, Output<T> = Result<T, G::Error<E>>>,
    K: Clock,
    R: Random,
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
    pub fn when<F: FnMut(&E) -> bool>(
        self,
        when: F,
    ) -> Retry<
        Parts<Op, G, K, Session<P, When<F>, H, L, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    > {
        self.parts.with_session(|session| session.with_classify(When(when))).ready()
    }

    /// Says of each error what it means: stop, retry, or retry after exactly this long. It is not
    /// asked on the last attempt.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let result: Result<(), &str> = clock.block_on(async {
    ///     retry(&Policy::DEFAULT, || async { Err("slow down: 7") })
    ///         .classify(|_| Verdict::RetryAfter(Duration::from_secs(7)))
    ///         .clock(&clock)
    ///         .await
    /// });
    /// clock.assert_slept(&[Duration::from_secs(7), Duration::from_secs(7)]);
    /// # assert!(result.is_err());
    /// ```
    pub fn classify<F: FnMut(&E) -> Verdict>(
        self,
        classify: F,
    ) -> Retry<
        Parts<Op, G, K, Session<P, Judge<F>, H, L, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    > {
        self.parts.with_session(|session| session.with_classify(Judge(classify))).ready()
    }

    /// Hears of each retry, after it was decided and before its wait.
    ///
    /// ```
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let mut attempts = Vec::new();
    /// let result: Result<(), &str> = clock.block_on(async {
    ///     retry(&Policy::DEFAULT, || async { Err("down") })
    ///         .on_retry(|event| attempts.push(event.attempt))
    ///         .clock(&clock)
    ///         .await
    /// });
    /// assert_eq!(attempts, [1, 2]); // the third failure is not retried
    /// # assert!(result.is_err());
    /// ```
    pub fn on_retry<F: FnMut(&Event<'_, E>)>(
        self,
        on_retry: F,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, OnRetry<F>, L, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    > {
        self.parts.with_session(|session| session.with_hook(OnRetry(on_retry))).ready()
    }

    /// Interrupts each attempt after this long, or when the deadline of `within` comes. A timeout
    /// is retried, unless [`timeout_verdict`](Self::timeout_verdict) says otherwise. The error is
    /// [`Error`](crate::Error) from here on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Error, Policy, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let result: Result<(), Error<()>> = retry(&Policy::DEFAULT, || std::future::pending())
    ///     .timeout(Duration::from_secs(1))
    ///     .await;
    /// assert_eq!(result, Err(Error::TimedOut));
    /// # }
    /// ```
    pub fn timeout<'n>(
        self,
        timeout: Duration,
    ) -> Retry<
        Parts<Op, Guarded<'n>, K, Session<P, C, H, L, R>>,
        impl Future<Output = Result<T, crate::Error<E>>>,
    >
    where
        G: 'n,
    {
        let guard = |guard: G| Guarded { timeout: Some(timeout), ..guard.guarded() };
        self.parts.with_guard(guard).ready()
    }

    /// What a timeout means; retry unless this says otherwise. `Verdict::Stop` for an operation
    /// that must not run twice when it is unclear whether it ran once.
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
    pub fn timeout_verdict<'n>(
        self,
        verdict: Verdict,
    ) -> Retry<
        Parts<Op, Guarded<'n>, K, Session<P, C, H, L, R>>,
        impl Future<Output = Result<T, crate::Error<E>>>,
    >
    where
        G: 'n,
    {
        let guard = |guard: G| Guarded { timeout_verdict: verdict, ..guard.guarded() };
        self.parts.with_guard(guard).ready()
    }

    /// Asks a circuit breaker before each attempt, and tells it how the attempt went. The error is
    /// [`Error`](crate::Error) from here on.
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
    pub fn breaker<'n>(
        self,
        breaker: &'n Breaker,
    ) -> Retry<
        Parts<Op, Guarded<'n>, K, Session<P, C, H, L, R>>,
        impl Future<Output = Result<T, crate::Error<E>>>,
    >
    where
        G: 'n,
    {
        self.parts.with_guard(|guard| Guarded { breaker: Some(breaker), ..guard.guarded() }).ready()
    }

    /// No attempt starts once this much time has passed since the start of the first one. Where
    /// the policy has a limit too, the tighter one holds.
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
    pub fn within<'n>(
        self,
        within: Duration,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.within(within);
        self.parts.with_session(|session| session.bounded(set)).ready()
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
    pub fn wait_budget<'n>(
        self,
        wait_budget: Duration,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.wait_budget(wait_budget);
        self.parts.with_session(|session| session.bounded(set)).ready()
    }

    /// A delay that a verdict dictates stops the call if it is longer than this, instead of being
    /// obeyed. 120 s unless set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Stop, Verdict, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let outcome = retry(&Policy::DEFAULT, || async { Err::<(), _>("come back tomorrow") })
    ///     .classify(|_| Verdict::RetryAfter(Duration::from_secs(86_400)))
    ///     .max_retry_after(Duration::from_secs(60))
    ///     .outcome()
    ///     .await;
    /// assert_eq!(outcome.reason, Some(Stop::RetryAfterTooLong));
    /// # }
    /// ```
    pub fn max_retry_after<'n>(
        self,
        max_retry_after: Duration,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| {
            bounds.limits = bounds.limits.max_retry_after(max_retry_after)
        };
        self.parts.with_session(|session| session.bounded(set)).ready()
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
    /// let _: Result<(), ()> = clock.block_on(async {
    ///     retry(policy, || async { Err(()) })
    ///         .tolerance(Duration::from_millis(50))
    ///         .clock(&clock)
    ///         .await
    /// });
    /// clock.assert_slept(&[Duration::from_millis(150)]);
    /// ```
    pub fn tolerance<'n>(
        self,
        tolerance: Duration,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.tolerance = tolerance;
        self.parts.with_session(|session| session.bounded(set)).ready()
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
    pub fn name<'n>(
        self,
        name: &'static str,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.name = name;
        self.parts.with_session(|session| session.bounded(set)).ready()
    }

    /// Pays for each retry from a budget that many calls share; deposits the share of this call.
    ///
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
    pub fn budget<'n>(
        self,
        budget: &'n Budget,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, Bounded<'n>, R>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    >
    where
        L: 'n,
    {
        self.parts
            .with_session(|session| {
                session.bounded(|bounds| bounds.limits = bounds.limits.budget(budget))
            })
            .ready()
    }

    /// Draws jitter from this seed: the same seed, the same delays, as `Policy::delays` foretells.
    ///
    /// ```
    /// use redial::{Policy, SplitMix64, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> = clock.block_on(async {
    ///     retry(&Policy::DEFAULT, || async { Err(()) }).seed(42).clock(&clock).await
    /// });
    /// let foretold: Vec<_> = Policy::DEFAULT.delays(SplitMix64::new(42)).collect();
    /// clock.assert_slept(&foretold);
    /// ```
    pub fn seed(
        self,
        seed: u64,
    ) -> Retry<
        Parts<Op, G, K, Session<P, C, H, L, SplitMix64>>,
        impl Future<Output = Result<T, G::Error<E>>>,
    > {
        self.rng(SplitMix64::new(seed))
    }

    /// Draws jitter from a source of your own.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> = clock.block_on(async {
    ///     retry(&Policy::DEFAULT, || async { Err(()) }).rng(|| u64::MAX).clock(&clock).await
    /// });
    /// clock.assert_slept(&[Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    pub fn rng<N: Random>(
        self,
        random: N,
    ) -> Retry<Parts<Op, G, K, Session<P, C, H, L, N>>, impl Future<Output = Result<T, G::Error<E>>>>
    {
        self.parts.with_session(|session| session.with_random(random)).ready()
    }

    /// Runs the call and tells how it ended: why it stopped, how many attempts it took, how long
    /// it waited, and the errors on the way.
    ///
    /// ```
    /// use redial::{Policy, Stop, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let outcome = retry(&Policy::DEFAULT, || async { Err::<(), _>("down") }).outcome().await;
    /// assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    /// assert_eq!(outcome.attempts, 3);
    /// # }
    /// ```
    pub fn outcome(self) -> impl Future<Output = Outcome<T, G::Error<E>>> {
        self.parts.drive(History::open())
    }
}
