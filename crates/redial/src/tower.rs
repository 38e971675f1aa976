//! Retries as a layer around a tower service (feature `tower`).
//!
//! The layer sees results, so it can retry a response that is an error in all but type, and obey
//! the delay that a response asks for. Every request has its own schedule and its own jitter; the
//! future is not boxed.
//!
//! ```
//! use redial::{Policy, policy, tower::RetryLayer};
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! const POLICY: Policy = policy!("retry: 3, delay: 10ms, backoff: exponential, jitter: full");
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! # use std::sync::atomic::{AtomicU32, Ordering};
//! # static CALLS: AtomicU32 = AtomicU32::new(0);
//! let mut service = ServiceBuilder::new()
//!     .layer(RetryLayer::new(&POLICY))
//!     .service(service_fn(|request: &'static str| async move {
//!         // … fails twice, then answers
//! #       if CALLS.fetch_add(1, Ordering::Relaxed) < 2 { return Err("refused"); }
//!         Ok(request.len())
//!     }));
//! assert_eq!(service.ready().await.unwrap().call("hello").await, Ok(5));
//! # assert_eq!(CALLS.load(Ordering::Relaxed), 3);
//! # }
//! ```
//!
//! A request is cloned before it is sent, if it can be: see [`try_clone`](Retry::try_clone). The
//! service must be `Clone`, as for every layer that calls it more than once.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{AsPolicy, Decision, Random, Stop, Verdict};
use tower_layer::Layer;
use tower_service::Service;

use crate::clock::Clock;
use crate::guard::{Fails, Guard, Guarded, Made, MaybeGuarded, Open};
use crate::options::{
    AsBreaker, Bounds, ClassifyResult, Judge, OnRetry, Options, Present, RetryErrors, Setup,
    Unbounded,
};
use crate::outcome::{Event, Failure, Interrupted, Ledger};
use crate::retry::{Mode, Retry};
use crate::testing::switch::is_skipped;

/// A layer that retries the requests of the service below it.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use redial::{Breaker, Budget, Policy, tower::RetryLayer};
///
/// // Whatever it shares may be owned by an `Arc`, so the layer borrows nothing.
/// let layer = RetryLayer::new(Arc::new(Policy::DEFAULT))
///     .budget(Arc::new(Budget::new()))
///     .breaker(Arc::new(Breaker::new()))
///     .timeout(Duration::from_secs(2)) // the error is redial::Error<E> with a timeout or breaker
///     .within(Duration::from_secs(30));
/// # let _ = layer;
/// ```
pub type RetryLayer<O, T = CloneRequest> = Retry<Layered<T>, O>;

/// A call for each request of a service: what [`RetryLayer`] makes. `T` is how a request is cloned.
#[derive(Clone, Copy, Debug)]
pub struct Layered<T> {
    try_clone: T,
}

impl<T, K, G> Mode<K, G> for Layered<T> {
    type State = ();

    const STARTED: bool = false;

    #[inline]
    fn idle() {}
}

/// How a request is kept for another attempt.
///
/// ```
/// use redial::tower::{CloneRequest, TryClone};
/// fn takes(_: impl TryClone<String>) {}
/// takes(CloneRequest);
/// takes(|request: &String| (request.len() < 1000).then(|| request.clone()));
/// ```
#[diagnostic::on_unimplemented(
    message = "requests of type `{Request}` cannot be sent again by this layer",
    label = "`{Request}` is not `Clone`",
    note = "say how to copy a request: `RetryLayer::new(policy).try_clone(|request: &{Request}| …)`, which gives `None` for one that can be sent only once",
    note = "for reqwest that is `.try_clone(reqwest::Request::try_clone)`"
)]
pub trait TryClone<Request>: Clone {
    /// The request once more; `None` where it can be sent only once.
    fn try_clone(&mut self, request: &Request) -> Option<Request>;
}

/// Every request can be cloned: what a layer does unless it is told.
///
/// ```
/// use redial::tower::{CloneRequest, TryClone};
/// assert_eq!(CloneRequest.try_clone(&"request"), Some("request"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CloneRequest;

impl<Request: Clone> TryClone<Request> for CloneRequest {
    #[inline]
    fn try_clone(&mut self, request: &Request) -> Option<Request> {
        Some(request.clone())
    }
}

impl<Request, F> TryClone<Request> for F
where
    F: FnMut(&Request) -> Option<Request> + Clone,
{
    #[inline]
    fn try_clone(&mut self, request: &Request) -> Option<Request> {
        self(request)
    }
}

#[cfg(feature = "tokio")]
impl<P: AsPolicy> Retry<Layered<CloneRequest>, Options<P>> {
    /// A layer that retries errors under `policy`, on tokio's clock.
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(Policy::CONTENTION);
    /// # let _ = layer;
    /// ```
    pub fn new(policy: P) -> Self {
        Self::on(crate::TokioClock, policy)
    }
}

impl<P, K> Retry<Layered<CloneRequest>, Options<P, RetryErrors, Unbounded, Open, K>> {
    /// A layer that retries errors under `policy`, on a clock of your own.
    ///
    /// ```
    /// use redial::{Policy, testing::ManualClock, tower::RetryLayer};
    /// let layer = RetryLayer::on(ManualClock::new(), &Policy::DEFAULT);
    /// # let _ = layer;
    /// ```
    pub fn on(clock: K, policy: P) -> Self {
        Self::of(Layered { try_clone: CloneRequest }, Options::new(policy, clock))
    }
}

/// What a layer is told. What a request seeds or clones it does anew: with a
/// [`seed`](Retry::seed), for a test, all requests draw the same delays.
impl<T, P, J, B, G, K, R> Retry<Layered<T>, Options<P, J, B, G, K, R>> {
    /// Says how a request is copied for another attempt, and which cannot be: `None` for a body
    /// that is a stream. Such a request is sent once, and its result is returned as it is. Without
    /// this, requests must be `Clone`, as an `http::Request` is whose body is.
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).try_clone(reqwest::Request::try_clone);
    /// # let _ = layer;
    /// ```
    pub fn try_clone<F, Request>(self, try_clone: F) -> Retry<Layered<F>, Options<P, J, B, G, K, R>>
    where
        F: FnMut(&Request) -> Option<Request> + Clone,
    {
        let (_, options) = self.into_parts();
        Retry::of(Layered { try_clone }, options)
    }

    /// Says of each result what it means: `None` to return it, a verdict to treat it as a failure.
    ///
    /// ```
    /// use redial::{Policy, Verdict, tower::RetryLayer};
    ///
    /// let layer = RetryLayer::new(&Policy::DEFAULT).classify(|result: &Result<u16, ()>| {
    ///     match result {
    ///         Ok(500..) => Some(Verdict::Retry), // a response, and still a failure
    ///         Ok(_) => None,
    ///         Err(()) => Some(Verdict::Stop),
    ///     }
    /// });
    /// # let _ = layer;
    /// ```
    pub fn classify<F, Response, Error>(
        self,
        classify: F,
    ) -> Retry<Layered<T>, Options<P, ClassifyResult<F, J>, B, G, K, R>>
    where
        F: FnMut(&Result<Response, Error>) -> Option<Verdict> + Clone,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| ClassifyResult(classify, judge)))
    }

    /// Hears of each retry, after it was decided and before its wait.
    ///
    /// ```
    /// use redial::{Event, Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT)
    ///     .on_retry(|event: &Event<'_, std::io::Error>| eprintln!("waiting {:?}", event.delay));
    /// # let _ = layer;
    /// ```
    pub fn on_retry<F, Error>(
        self,
        on_retry: F,
    ) -> Retry<Layered<T>, Options<P, OnRetry<F, J>, B, G, K, R>>
    where
        F: FnMut(&Event<'_, Error>) + Clone,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| OnRetry(on_retry, judge)))
    }

    /// Says what a timeout and an open breaker are in the error of the service, which then is the
    /// error of the layer, too. Without it, that is [`Error`](crate::Error) around the service's.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tower::RetryLayer};
    /// use tower::BoxError;
    /// let layer = RetryLayer::new(&Policy::DEFAULT)
    ///     .timeout(Duration::from_secs(2))
    ///     .error_from(|interrupted: redial::Interrupted<BoxError>| BoxError::from(interrupted));
    /// # let _ = layer;
    /// ```
    pub fn error_from<F, E>(
        self,
        make: F,
    ) -> Retry<Layered<T>, Options<P, J, B, Guarded<G::Breaker, Made<F>>, K, R>>
    where
        F: FnMut(Interrupted<E>) -> E + Clone,
        G: MaybeGuarded,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.answered(Made(make))))
    }

    /// Interrupts each attempt after this long, or when the deadline of `within` comes.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).timeout(Duration::from_secs(2));
    /// # let _ = layer;
    /// ```
    pub fn timeout(
        self,
        timeout: Duration,
    ) -> Retry<Layered<T>, Options<P, J, B, Guarded<G::Breaker, G::Answer>, K, R>>
    where
        G: MaybeGuarded,
    {
        let (mode, options) = self.into_parts();
        let guard = |guard: G| Guarded { timeout: Some(timeout), ..guard.wrapped() };
        Retry::of(mode, options.with_guard(guard))
    }

    /// Asks a circuit breaker before each attempt, and tells it how the attempt went.
    ///
    /// ```
    /// use redial::{Breaker, Policy, tower::RetryLayer};
    /// static BREAKER: Breaker = Breaker::new();
    /// let layer = RetryLayer::new(&Policy::DEFAULT).breaker(&BREAKER);
    /// # let _ = layer;
    /// ```
    pub fn breaker<N: AsBreaker>(
        self,
        breaker: N,
    ) -> Retry<Layered<T>, Options<P, J, B, Guarded<Present<N>, G::Answer>, K, R>>
    where
        G: MaybeGuarded,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.wrapped().with_breaker(breaker)))
    }
}

impl<T: Clone, O: Setup + Clone> Clone for Retry<Layered<T>, O> {
    fn clone(&self) -> Self {
        Self { mode: self.mode.clone(), options: self.options.clone(), state: () }
    }
}

impl<Inner, T: Clone, O: Setup + Clone> Layer<Inner> for Retry<Layered<T>, O> {
    type Service = Retrying<Inner, O, T>;

    fn layer(&self, inner: Inner) -> Self::Service {
        let (try_clone, options) = (self.mode.try_clone.clone(), self.options.clone());
        Retrying { inner, try_clone, options }
    }
}

/// A service whose requests are retried: what [`RetryLayer`] makes.
///
/// ```
/// use redial::{Policy, tower::{RetryLayer, Retrying}};
/// use tower::{Layer, service_fn};
/// let service: Retrying<_, _> = RetryLayer::new(&Policy::DEFAULT)
///     .layer(service_fn(|request: u8| async move { Ok::<u8, ()>(request) }));
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct Retrying<Inner, O, T = CloneRequest> {
    inner: Inner,
    try_clone: T,
    options: O,
}

impl<Inner, Request, T, P, J, B, G, K, R> Service<Request>
    for Retrying<Inner, Options<P, J, B, G, K, R>, T>
where
    Inner: Service<Request> + Clone,
    T: TryClone<Request>,
    P: AsPolicy + Clone,
    J: Judge<Inner::Response, Inner::Error> + Clone,
    B: Bounds + Clone,
    G: Fails<Inner::Error> + Clone,
    K: Clock + Clone,
    R: Random + Clone,
{
    type Response = Inner::Response;
    type Error = G::Error;
    type Future = RetryFuture<Inner, Request, Options<P, J, B, G, K, R>, T>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let Self { inner, options, .. } = self;
        inner.poll_ready(context).map_err(|error| options.guard.own(error))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The service that is ready is the one to call; its clone becomes ready next time.
        let clone = self.inner.clone();
        let mut inner = core::mem::replace(&mut self.inner, clone);
        let (mut try_clone, mut options) = (self.try_clone.clone(), self.options.clone());
        options.start(false, K::now);
        let spare = try_clone.try_clone(&request);
        let state = match options.admit(K::now) {
            Ok(()) => State::calling(&options, &mut inner, request),
            Err(cut) => State::Refused { cut },
        };
        let ledger = G::Ledger::open();
        RetryFuture { state, inner, spare, try_clone, options, ledger }
    }
}

/// The types of a request's future, by the options of its layer.
pub trait Kept<E>: Setup {
    /// What can end an attempt in place of the service.
    type Cut;
    /// What cuts an attempt short.
    type Timer;
    /// What sleeping is made of.
    type Sleep;
    /// What keeps the errors on the way.
    type Ledger;
}

impl<E, P, J, B, G: Guard, K: Clock, R> Kept<E> for Options<P, J, B, G, K, R> {
    type Cut = G::Cut;
    type Timer = G::Timer<K::Sleep>;
    type Sleep = K::Sleep;
    type Ledger = G::Ledger<E>;
}

pin_project! {
    /// A request on its way, and its retries.
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// use tower::{Layer, Service, service_fn};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let mut service = RetryLayer::new(&Policy::DEFAULT)
    ///     .layer(service_fn(|request: u8| async move { Ok::<u8, ()>(request) }));
    /// let future = service.call(7);
    /// assert_eq!(future.await, Ok(7));
    /// # }
    /// ```
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryFuture<Inner, Request, O, T>
    where
        Inner: Service<Request>,
        O: Kept<Inner::Error>,
    {
        #[pin]
        state: State<Inner::Future, O::Timer, O::Sleep, O::Cut>,
        inner: Inner,
        // For the next attempt; none where the request could not be cloned.
        spare: Option<Request>,
        try_clone: T,
        options: O,
        ledger: O::Ledger,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<Attempt, Timer, Sleep, Cut> {
        Calling { #[pin] attempt: Attempt, #[pin] timer: Timer },
        Sleeping { #[pin] sleep: Sleep },
        Yielding,
        Readying,
        Refused { cut: Cut },
        Done,
    }
}

impl<Attempt, Timer, Sleep, Cut> State<Attempt, Timer, Sleep, Cut> {
    fn calling<Inner, Request, P, J, B, G, K, R>(
        options: &Options<P, J, B, G, K, R>,
        inner: &mut Inner,
        request: Request,
    ) -> Self
    where
        Inner: Service<Request, Future = Attempt>,
        P: AsPolicy,
        B: Bounds,
        G: Guard<Timer<Sleep> = Timer>,
        K: Clock<Sleep = Sleep>,
        R: Random,
    {
        let now = || options.clock.now();
        let timer = options.guard.timer(&options.clock, || options.deadline(), now);
        Self::Calling { attempt: inner.call(request), timer }
    }
}

impl<Inner, Request, T, P, J, B, G, K, R> Future
    for RetryFuture<Inner, Request, Options<P, J, B, G, K, R>, T>
where
    Inner: Service<Request>,
    T: TryClone<Request>,
    P: AsPolicy,
    J: Judge<Inner::Response, Inner::Error>,
    B: Bounds,
    G: Fails<Inner::Error>,
    K: Clock,
    R: Random,
{
    type Output = Result<Inner::Response, G::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let (options, ledger) = (this.options, this.ledger);
        loop {
            match this.state.as_mut().project() {
                StateProjection::Calling { attempt, timer } => {
                    let result = match attempt.poll(context) {
                        Poll::Ready(result) => result.map_err(Failure::Error),
                        Poll::Pending => match G::poll_cut(timer, context) {
                            Poll::Ready(cut) => Err(Failure::Cut(cut)),
                            Poll::Pending => return Poll::Pending,
                        },
                    };
                    this.state.set(State::Done);
                    match wait_after(options, ledger, result, this.spare.is_some()) {
                        Err(result) => return Poll::Ready(result),
                        Ok(delay) if is_skipped(delay) => {
                            context.waker().wake_by_ref();
                            this.state.set(State::Yielding);
                            return Poll::Pending;
                        }
                        Ok(delay) => {
                            let length = options.sleep_length(K::now, delay);
                            this.state.set(State::Sleeping { sleep: options.clock.sleep(length) });
                        }
                    }
                }
                StateProjection::Sleeping { sleep } => {
                    core::task::ready!(sleep.poll(context));
                    this.state.set(State::Readying);
                }
                StateProjection::Yielding => this.state.set(State::Readying),
                StateProjection::Readying => {
                    if let Err(error) = core::task::ready!(this.inner.poll_ready(context)) {
                        // No attempt follows, so the retry is not spent.
                        options.bounds.refund();
                        options.report(false, Some(Stop::Rejected), K::now);
                        this.state.set(State::Done);
                        return Poll::Ready(Err(options.guard.own(error)));
                    }
                    let next = match (options.admit(K::now), this.spare.take()) {
                        (Ok(()), Some(request)) => {
                            *this.spare = this.try_clone.try_clone(&request);
                            State::calling(options, this.inner, request)
                        }
                        (Err(cut), _) => State::Refused { cut },
                        (Ok(()), None) => {
                            unreachable!("a request that was not cloned is sent once")
                        }
                    };
                    this.state.set(next);
                }
                StateProjection::Refused { cut } => {
                    let cut = *cut;
                    this.state.set(State::Done);
                    options.bounds.refund();
                    options.report(false, Some(Stop::BreakerOpen), K::now);
                    let failure = ledger.last().unwrap_or(Failure::Cut(cut));
                    return Poll::Ready(Err(
                        failure.answer(&mut options.guard, ledger.last_error())
                    ));
                }
                StateProjection::Done => panic!("a request was polled after it was over"),
            }
        }
    }
}

/// How long to wait after this result, or the result to return. A request that cannot be sent again
/// is not.
fn wait_after<Response, E, P, J, B, G, K, R>(
    options: &mut Options<P, J, B, G, K, R>,
    ledger: &mut G::Ledger<E>,
    result: Result<Response, Failure<E, G::Cut>>,
    again: bool,
) -> Result<Duration, Result<Response, G::Error>>
where
    P: AsPolicy,
    J: Judge<Response, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    let result = match result {
        Ok(response) => Ok(response),
        Err(Failure::Error(error)) => Err(error),
        Err(Failure::Cut(cut)) => return wait_after_cut(options, ledger, cut, again),
    };
    let judged = options.judge.result(&result);
    // An error that is to be returned is one that is not worth another attempt.
    let reason = match judged.or(result.is_err().then_some(Verdict::Stop)) {
        None => {
            options.guard.succeeded();
            None
        }
        Some(verdict) => {
            let verdict = if again { verdict } else { Verdict::Stop };
            match options.decide(K::now, |_| verdict) {
                Decision::Wait(delay) => {
                    options.retrying::<Response, E>(delay, result.as_ref().err(), false);
                    if let Err(error) = result {
                        ledger.record(options.call.failures(), Failure::Error(error));
                    }
                    return Ok(delay);
                }
                Decision::Stop(reason) => Some(reason),
            }
        }
    };
    options.report(false, reason, K::now);
    Err(result.map_err(|error| options.guard.own(error)))
}

/// The same after a timeout.
fn wait_after_cut<Response, E, P, J, B, G, K, R>(
    options: &mut Options<P, J, B, G, K, R>,
    ledger: &mut G::Ledger<E>,
    cut: G::Cut,
    again: bool,
) -> Result<Duration, Result<Response, G::Error>>
where
    P: AsPolicy,
    J: Judge<Response, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    let verdict = if again { options.guard.timeout_verdict() } else { Verdict::Stop };
    match options.decide(K::now, |_| verdict) {
        Decision::Wait(delay) => {
            options.retrying::<Response, E>(delay, None, true);
            ledger.record(options.call.failures(), Failure::Cut(cut));
            Ok(delay)
        }
        Decision::Stop(reason) => {
            options.tell_breaker(K::now);
            options.report(false, Some(reason), K::now);
            Err(Err(options.guard.interrupted(cut, ledger.last_error())))
        }
    }
}

impl<Inner, Request, O, T> fmt::Debug for RetryFuture<Inner, Request, O, T>
where
    Inner: Service<Request>,
    O: Kept<Inner::Error>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}
