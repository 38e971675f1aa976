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
//!
//! # It does not compile
//!
//! The layer goes round any service, and whether the result is one depends on the request. Where it
//! is not, a method of `ServiceExt` is there that cannot be called (E0599, `ready` or `oneshot`
//! "exists … but its trait bounds were not satisfied"), and the compiler does not say much more. Ask
//! the service by [`checked_for`](Retrying::checked_for), and it says which bound is missing. There
//! are three:
//!
//! The request is not `Clone`: "requests of type `Request` cannot be sent again by this layer". Say
//! how it is copied, by [`try_clone`](Retry::try_clone):
//!
//! ```compile_fail,E0277
//! # use redial::{Policy, tower::RetryLayer};
//! # use tower::Layer;
//! RetryLayer::new(&Policy::DEFAULT)
//!     // .try_clone(reqwest::Request::try_clone)
//!     .layer(reqwest::Client::new())
//!     .checked_for::<reqwest::Request>();
//! ```
//!
//! The service below is not `Clone`: "the trait bound `BoxService<…>: Clone` is not satisfied". Put
//! `tower`'s buffer below the layer, or box it as a `BoxCloneSyncService`:
//!
//! ```compile_fail,E0277
//! # use redial::{Policy, tower::RetryLayer};
//! # use tower::{Layer, util::BoxService};
//! # fn boxed(service: BoxService<u8, u8, std::io::Error>) {
//! RetryLayer::new(&Policy::DEFAULT).layer(service).checked_for::<u8>();
//! # }
//! ```
//!
//! A classifier or a hook names other types than the service has: "type mismatch in closure
//! arguments", "expected … `Result<u8, _>`, found … `Result<u16, _>`":
//!
//! ```compile_fail,E0631
//! # use redial::{Policy, Verdict, tower::RetryLayer};
//! # use tower::{Layer, service_fn};
//! RetryLayer::new(&Policy::DEFAULT)
//!     .classify(|result: &Result<u16, ()>| result.is_err().then_some(Verdict::Retry))
//!     .layer(service_fn(|_: ()| async { Ok::<u8, ()>(7) }))
//!     .checked_for::<()>();
//! ```

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
use crate::guard::{Fails, Guard, Guarded, Kept as KeptError, Made, MaybeGuarded, Open};
use crate::kinds::PolicyWhen;
use crate::options::{
    AsBreaker, AsBudget, Bounded, Bounds, ClassifyResult, Judge, OnRetry, Options, Present,
    RetryErrors, Setup, Unbounded,
};
use crate::outcome::{Event, Failure, Interrupted, Ledger};
use crate::retry::{Mode, Retry};
use crate::testing::switch::is_skipped;

mod requests;
mod share;

pub use requests::{ClassifyRequest, Sees, TimeoutVerdictFor};
pub use share::Share;

/// A layer that retries the requests of the service below it.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use redial::{Breaker, Budget, Policy, tower::RetryLayer};
///
/// // Whatever it shares may be its own or in an `Arc`, so the layer borrows nothing.
/// let breaker = Arc::new(Breaker::new());
/// let layer = RetryLayer::new(Policy::DEFAULT)
///     .budget(Budget::new())
///     .breaker(breaker.clone()) // to look at
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

#[cfg(any(
    all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))),
    all(feature = "wasm", target_family = "wasm", target_os = "unknown"),
))]
impl<P: AsPolicy> Retry<Layered<CloneRequest>, Options<P>> {
    /// A layer that retries errors under `policy`, on tokio's clock; on `wasm32-unknown-unknown`, on
    /// that of the host.
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(Policy::CONTENTION);
    /// # let _ = layer;
    /// ```
    pub fn new(policy: P) -> Self {
        Self::on(crate::clock::DefaultClock::default(), policy)
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

    /// As [`classify`](Self::classify), by a classifier that is made for each request: whether a
    /// failure may be sent again depends on what was sent. The last of the two counts.
    ///
    /// ```
    /// use http::{Request, Response};
    /// use redial::{Policy, Verdict, http::{is_idempotent, response, response_once}, tower::RetryLayer};
    ///
    /// let layer = RetryLayer::new(&Policy::DEFAULT).classify_request(|request: &Request<String>| {
    ///     let twice = is_idempotent(request.method(), request.headers());
    ///     move |result: &Result<Response<String>, std::io::Error>| match result {
    ///         Ok(answer) if twice => response(answer.status(), answer.headers()),
    ///         Ok(answer) => response_once(answer.status(), answer.headers()),
    ///         Err(_) => Some(if twice { Verdict::Retry } else { Verdict::Stop }),
    ///     }
    /// });
    /// # let _ = layer;
    /// ```
    pub fn classify_request<M, F, Request, Response, Error>(
        self,
        make: M,
    ) -> Retry<Layered<T>, Options<P, ClassifyRequest<M, F, J>, B, G, K, R>>
    where
        M: FnMut(&Request) -> F + Clone,
        F: FnMut(&Result<Response, Error>) -> Option<Verdict>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| ClassifyRequest::new(make, judge)))
    }

    /// Says of each request what a [`timeout`](Self::timeout) means: `Verdict::Stop` for one that
    /// must not be processed twice. It holds also where [`timeout_verdict`](Self::timeout_verdict)
    /// says something for all.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, tower::RetryLayer};
    ///
    /// let layer = RetryLayer::new(&Policy::DEFAULT)
    ///     .timeout(Duration::from_secs(2))
    ///     .timeout_verdict_for(|request: &http::Request<String>| {
    ///         match redial::http::is_idempotent(request.method(), request.headers()) {
    ///             true => Verdict::Retry,
    ///             false => Verdict::Stop,
    ///         }
    ///     });
    /// # let _ = layer;
    /// ```
    pub fn timeout_verdict_for<F, Request>(
        self,
        verdict: F,
    ) -> Retry<Layered<T>, Options<P, TimeoutVerdictFor<F, J>, B, G, K, R>>
    where
        F: FnMut(&Request) -> Verdict + Clone,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| TimeoutVerdictFor(verdict, judge)))
    }

    /// Retries the errors of which `when` says so under a policy of their own: see
    /// [`policy_when`](Retry::policy_when) of a call.
    ///
    /// ```
    /// use redial::{Policy, policy, tower::RetryLayer};
    /// const THROTTLED: Policy = policy!("attempts: 4, delay: 5s, backoff: exponential");
    /// let layer = RetryLayer::new(&Policy::DEFAULT)
    ///     .policy_when(|status: &u16| *status == 429, &THROTTLED);
    /// # let _ = layer;
    /// ```
    pub fn policy_when<F, Error, Q>(
        self,
        when: F,
        policy: Q,
    ) -> Retry<Layered<T>, Options<P, PolicyWhen<F, Q, J>, B, G, K, R>>
    where
        F: FnMut(&Error) -> bool + Clone,
        Q: AsPolicy + Clone,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_judge(|judge| PolicyWhen::new(when, policy, judge)))
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

    /// Leaves the error of the service as it is, also with a timeout or a breaker, where it can be
    /// made from an [`Interrupted`]: `tower::BoxError`, `anyhow::Error`, or one of your own with
    /// `From<Interrupted<_>>`. `tower`'s own layers go round it then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tower::RetryLayer};
    /// use tower::{BoxError, ServiceBuilder, service_fn};
    /// let service = ServiceBuilder::new()
    ///     .timeout(Duration::from_secs(30))
    ///     .layer(RetryLayer::new(&Policy::DEFAULT).timeout(Duration::from_secs(2)).keep_error())
    ///     .service(service_fn(|_: ()| async { Err::<(), _>(BoxError::from("down")) }));
    /// # let _ = service;
    /// ```
    pub fn keep_error(
        self,
    ) -> Retry<Layered<T>, Options<P, J, B, Guarded<G::Breaker, KeptError>, K, R>>
    where
        G: MaybeGuarded,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.answered(KeptError)))
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
        let guard = |guard: G| guard.wrapped().with_timeout(timeout);
        Retry::of(mode, options.with_guard(guard))
    }

    /// Asks a circuit breaker before each attempt, and tells it how the attempt went. All requests
    /// share it, and so do clones of the layer, whether it is borrowed, in an `Arc` or owned.
    ///
    /// ```
    /// use redial::{Breaker, Policy, tower::RetryLayer};
    /// static BREAKER: Breaker = Breaker::new();
    /// let layer = RetryLayer::new(&Policy::DEFAULT).breaker(&BREAKER);
    /// # let _ = layer;
    /// ```
    pub fn breaker<N>(
        self,
        breaker: N,
    ) -> Retry<Layered<T>, Options<P, J, B, Guarded<Present<N::Shared>, G::Answer>, K, R>>
    where
        N: Share<Shared: AsBreaker>,
        G: MaybeGuarded,
    {
        let (mode, options) = self.into_parts();
        let guard = |guard: G| guard.wrapped().with_breaker(breaker.share());
        Retry::of(mode, options.with_guard(guard))
    }

    /// Pays for each retry from a budget; each request deposits its share. All requests share it,
    /// and so do clones of the layer, whether it is borrowed, in an `Arc` or owned.
    ///
    /// ```
    /// use redial::{Budget, Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).budget(Budget::new());
    /// # let _ = layer;
    /// ```
    pub fn budget<N>(
        self,
        budget: N,
    ) -> Retry<Layered<T>, Options<P, J, Bounded<Present<N::Shared>>, G, K, R>>
    where
        N: Share<Shared: AsBudget>,
        B: Bounds,
    {
        let (mode, options) = self.into_parts();
        let bound = |bounds: B| bounds.bounded().with_budget(Present(budget.share()));
        Retry::of(mode, options.with_bounds(bound))
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

impl<Inner, T, P, J, B, G, K, R> Retrying<Inner, Options<P, J, B, G, K, R>, T> {
    /// The same service, of which the compiler has seen that it takes requests of this type. Where it
    /// does not, the error here says what is missing: see [above](self#it-does-not-compile).
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// use tower::Layer;
    /// let service = RetryLayer::new(&Policy::DEFAULT)
    ///     .try_clone(reqwest::Request::try_clone)
    ///     .layer(reqwest::Client::new())
    ///     .checked_for::<reqwest::Request>();
    /// # let _ = service;
    /// ```
    pub fn checked_for<Request>(self) -> Self
    where
        Inner: Service<Request> + Clone,
        T: TryClone<Request>,
        P: AsPolicy + Clone,
        J: Judge<Inner::Response, Inner::Error> + Sees<Request> + Clone,
        B: Bounds + Clone,
        G: Fails<Inner::Error> + Clone,
        K: Clock + Clone,
        R: Random + Clone,
    {
        self
    }
}

impl<Inner, Request, T, P, J, B, G, K, R> Service<Request>
    for Retrying<Inner, Options<P, J, B, G, K, R>, T>
where
    Inner: Service<Request> + Clone,
    T: TryClone<Request>,
    P: AsPolicy + Clone,
    J: Judge<Inner::Response, Inner::Error> + Sees<Request> + Clone,
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
        if let Some(verdict) = options.judge.see(&request) {
            options.guard.set_timeout_verdict(verdict);
        }
        options.start(J::KINDS, K::now);
        let spare = try_clone.try_clone(&request);
        let state = match options.admit(K::now) {
            Ok(()) => State::calling(&options, &mut inner, request),
            Err(cut) => State::Refused { cut },
        };
        let ledger = G::Ledger::open();
        RetryFuture { state, inner, spare, last: None, try_clone, options, ledger }
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
        // Between two attempts under a deadline: the service may become ready too late for another.
        last: Option<Result<Inner::Response, Failure<Inner::Error, O::Cut>>>,
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
        // The deadline is set once the service is not ready at once.
        Readying { #[pin] deadline: Option<Sleep> },
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
        let timer = options.guard.timer::<Sleep>(|| options.deadline(), now);
        Self::Calling { attempt: options.spans.attempt.scope(|| inner.call(request)), timer }
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
                    let polled = options.spans.attempt.scope(|| attempt.poll(context));
                    let result = match polled {
                        Poll::Ready(result) => result.map_err(Failure::Error),
                        Poll::Pending => match G::poll_cut(timer, &options.clock, context) {
                            Poll::Ready(cut) => Err(Failure::Cut(cut)),
                            Poll::Pending => return Poll::Pending,
                        },
                    };
                    this.state.set(State::Done);
                    let delay = match after(options, ledger, result, this.spare.is_some()) {
                        After::End(result) => return Poll::Ready(result),
                        After::Wait { delay, last } => {
                            match (options.deadline(), last) {
                                (Some(_), last) => *this.last = Some(last),
                                (None, Err(failure)) => {
                                    ledger.record(options.call.failures(), failure);
                                }
                                (None, Ok(_)) => {}
                            }
                            delay
                        }
                    };
                    if is_skipped(delay) {
                        context.waker().wake_by_ref();
                        this.state.set(State::Yielding);
                        return Poll::Pending;
                    }
                    let length = options.sleep_length(K::now, delay);
                    this.state.set(State::Sleeping { sleep: options.clock.sleep(length) });
                }
                StateProjection::Sleeping { sleep } => {
                    core::task::ready!(sleep.poll(context));
                    this.state.set(State::Readying { deadline: None });
                }
                StateProjection::Yielding => this.state.set(State::Readying { deadline: None }),
                StateProjection::Readying { deadline } => {
                    match this.inner.poll_ready(context) {
                        Poll::Ready(Ok(())) if !is_late(options) => {}
                        Poll::Ready(Err(error)) => {
                            // No attempt follows, so the retry is not spent.
                            options.bounds.refund();
                            options.report(false, Some(Stop::Rejected), K::now);
                            this.state.set(State::Done);
                            return Poll::Ready(Err(options.guard.own(error)));
                        }
                        ready => {
                            if ready.is_pending() {
                                core::task::ready!(poll_deadline(options, deadline, context));
                            }
                            this.state.set(State::Done);
                            options.bounds.refund();
                            options.report(false, Some(Stop::Deadline), K::now);
                            return Poll::Ready(match this.last.take() {
                                Some(Ok(response)) => Ok(response),
                                Some(Err(failure)) => {
                                    let last = ledger.last_error();
                                    Err(failure.answer(&mut options.guard, last))
                                }
                                None => unreachable!("under a deadline the last result is kept"),
                            });
                        }
                    }
                    if let Some(Err(failure)) = this.last.take() {
                        ledger.record(options.call.failures(), failure);
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

/// Whether the deadline has come. The clock is read only where there is one.
fn is_late<P, J, B, G, K, R>(options: &Options<P, J, B, G, K, R>) -> bool
where
    P: AsPolicy,
    B: Bounds,
    K: Clock,
{
    options.deadline().is_some_and(|deadline| options.clock.now() >= deadline)
}

/// Waits for the deadline, beside a service that is not ready.
fn poll_deadline<P, J, B, G, K, R>(
    options: &Options<P, J, B, G, K, R>,
    mut sleep: Pin<&mut Option<K::Sleep>>,
    context: &mut Context<'_>,
) -> Poll<()>
where
    P: AsPolicy,
    B: Bounds,
    K: Clock,
{
    let Some(deadline) = options.deadline() else { return Poll::Pending };
    if sleep.is_none() {
        let left = deadline.since(options.clock.now());
        if left.is_zero() {
            return Poll::Ready(());
        }
        sleep.set(Some(options.clock.sleep(left)));
    }
    match sleep.as_pin_mut() {
        Some(sleep) => sleep.poll(context),
        None => Poll::Pending,
    }
}

/// What follows an attempt.
enum After<Response, Failure, Error> {
    /// Another, after this long. This one's result may still be the last.
    Wait { delay: Duration, last: Result<Response, Failure> },
    /// The end of the request.
    End(Result<Response, Error>),
}

/// What follows this result. A request that cannot be sent again is not.
fn after<Response, E, P, J, B, G, K, R>(
    options: &mut Options<P, J, B, G, K, R>,
    ledger: &mut G::Ledger<E>,
    result: Result<Response, Failure<E, G::Cut>>,
    again: bool,
) -> After<Response, Failure<E, G::Cut>, G::Error>
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
        Err(Failure::Cut(cut)) => return after_cut(options, ledger, cut, again),
    };
    let judged = options.judge.result(&result);
    // An error that is to be returned is one that is not worth another attempt.
    let reason = match judged.or(result.is_err().then_some(Verdict::Stop)) {
        None => {
            options.guard.succeeded();
            None
        }
        Some(verdict) => {
            options.attempt_failed::<Response, E>(result.as_ref().err(), false);
            let decision = match &result {
                Err(error) if !again => {
                    // An error with a policy of its own is worth another attempt.
                    let kind = options.judge.kind(error, &mut options.random);
                    decide_once(options, kind.map_or(verdict, |_| Verdict::Retry))
                }
                Ok(_) if !again => decide_once(options, verdict),
                Err(error) if J::KINDS => options.decide_ruled(K::now, |judge, random| {
                    judge.kind(error, random).unwrap_or_else(|| verdict.into())
                }),
                _ => options.decide(K::now, |_| verdict),
            };
            match decision {
                Decision::Wait(delay) => {
                    options.retrying::<Response, E>(delay, result.as_ref().err(), false);
                    return After::Wait { delay, last: result.map_err(Failure::Error) };
                }
                Decision::Stop(reason) => Some(reason),
            }
        }
    };
    options.report(false, reason, K::now);
    After::End(result.map_err(|error| options.guard.own(error)))
}

/// The end of a request that cannot be sent again. Its failure is one of the service, unless it would
/// not have been retried anyway.
fn decide_once<P, J, B, G, K, R>(
    options: &mut Options<P, J, B, G, K, R>,
    verdict: Verdict,
) -> Decision
where
    P: AsPolicy,
    B: Bounds,
    G: Guard,
    K: Clock,
    R: Random,
{
    match options.decide(K::now, |_| Verdict::Stop) {
        Decision::Stop(Stop::Rejected) if verdict != Verdict::Stop => {
            options.tell_breaker(K::now);
            Decision::Stop(Stop::AttemptsSpent)
        }
        decision => decision,
    }
}

/// As [`after`], of a timeout.
fn after_cut<Response, E, P, J, B, G, K, R>(
    options: &mut Options<P, J, B, G, K, R>,
    ledger: &mut G::Ledger<E>,
    cut: G::Cut,
    again: bool,
) -> After<Response, Failure<E, G::Cut>, G::Error>
where
    P: AsPolicy,
    J: Judge<Response, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    let verdict = options.guard.timeout_verdict();
    options.attempt_failed::<Response, E>(None, true);
    let decision = match again {
        true => options.decide(K::now, |_| verdict),
        false => decide_once(options, verdict),
    };
    match decision {
        Decision::Wait(delay) => {
            options.retrying::<Response, E>(delay, None, true);
            After::Wait { delay, last: Err(Failure::Cut(cut)) }
        }
        Decision::Stop(reason) => {
            options.tell_breaker(K::now);
            options.report(false, Some(reason), K::now);
            After::End(Err(options.guard.interrupted(cut, ledger.last_error())))
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
