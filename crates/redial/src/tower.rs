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

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{AsPolicy, Budget, Decision, Stop, Time, Verdict};
use tower_layer::Layer;
use tower_service::Service;

use crate::clock::Clock;
use crate::options::{Bounded, Bounds, Nobody, Unbounded};
use crate::outcome::Forget;
use crate::random::ThreadRandom;
use crate::retry::new_session;
use crate::session::Session;
use crate::testing::switch::is_skipped;

type LayerSession<P, C, L> = Session<P, C, Nobody, L, ThreadRandom>;

/// Says of a result what it means: `None` where it is to be returned, a verdict where it is a
/// failure. A closure does; see [`RetryLayer::classify`].
///
/// ```
/// use redial::{Verdict, tower::Judge};
/// fn takes(_: impl Judge<u16, ()>) {}
/// takes(|result: &Result<u16, ()>| matches!(result, Ok(503)).then_some(Verdict::Retry));
/// ```
pub trait Judge<Response, Error>: Clone {
    #[doc(hidden)]
    fn judge(&mut self, result: &Result<Response, Error>) -> Option<Verdict>;
}

/// Every error is retried, every response is returned: what a layer does unless it is told.
///
/// ```
/// use redial::tower::{Errors, Judge};
/// fn takes(_: impl Judge<u16, ()>) {}
/// takes(Errors);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Errors;

impl<Response, Error> Judge<Response, Error> for Errors {
    fn judge(&mut self, result: &Result<Response, Error>) -> Option<Verdict> {
        result.is_err().then_some(Verdict::Retry)
    }
}

impl<Response, Error, F> Judge<Response, Error> for F
where
    F: FnMut(&Result<Response, Error>) -> Option<Verdict> + Clone,
{
    fn judge(&mut self, result: &Result<Response, Error>) -> Option<Verdict> {
        self(result)
    }
}

/// A layer that retries the requests of the service below it. Requests must be `Clone`, and so
/// must the service.
///
/// ```
/// use redial::{Policy, tower::RetryLayer};
/// let layer = RetryLayer::new(&Policy::DEFAULT);
/// # let _ = layer;
/// ```
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct RetryLayer<K, S> {
    clock: K,
    session: S,
}

#[cfg(feature = "tokio")]
impl<P: AsPolicy> RetryLayer<crate::TokioClock, LayerSession<P, Errors, Unbounded>> {
    /// Retries errors under `policy`, on tokio's clock.
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

impl<K, P> RetryLayer<K, LayerSession<P, Errors, Unbounded>> {
    /// Retries errors under `policy`, on a clock of your own.
    ///
    /// ```
    /// use redial::{Policy, testing::ManualClock, tower::RetryLayer};
    /// let layer = RetryLayer::on(ManualClock::new(), &Policy::DEFAULT);
    /// # let _ = layer;
    /// ```
    pub fn on(clock: K, policy: P) -> Self {
        Self { clock, session: new_session(policy).with_classify(Errors) }
    }
}

impl<K, P, C, L: Bounds> RetryLayer<K, LayerSession<P, C, L>> {
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
    pub fn classify<F, Response, Error>(self, classify: F) -> RetryLayer<K, LayerSession<P, F, L>>
    where
        F: FnMut(&Result<Response, Error>) -> Option<Verdict> + Clone,
    {
        RetryLayer { clock: self.clock, session: self.session.with_classify(classify) }
    }

    /// No attempt of a request starts once this much time has passed since its first one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).within(Duration::from_secs(10));
    /// # let _ = layer;
    /// ```
    pub fn within<'n>(self, within: Duration) -> RetryLayer<K, LayerSession<P, C, Bounded<'n>>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.within(within);
        RetryLayer { clock: self.clock, session: self.session.bounded(set) }
    }

    /// A delay that a verdict dictates ends the request if it is longer than this. 120 s unless
    /// set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).max_retry_after(Duration::from_secs(10));
    /// # let _ = layer;
    /// ```
    pub fn max_retry_after<'n>(
        self,
        max_retry_after: Duration,
    ) -> RetryLayer<K, LayerSession<P, C, Bounded<'n>>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| {
            bounds.limits = bounds.limits.max_retry_after(max_retry_after);
        };
        RetryLayer { clock: self.clock, session: self.session.bounded(set) }
    }

    /// The name of these calls in traces and metrics.
    ///
    /// ```
    /// use redial::{Policy, tower::RetryLayer};
    /// let layer = RetryLayer::new(&Policy::DEFAULT).name("orders");
    /// # let _ = layer;
    /// ```
    pub fn name<'n>(self, name: &'static str) -> RetryLayer<K, LayerSession<P, C, Bounded<'n>>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.name = name;
        RetryLayer { clock: self.clock, session: self.session.bounded(set) }
    }

    /// Pays for each retry from a budget, which other layers and calls may share.
    ///
    /// ```
    /// use redial::{Budget, Policy, tower::RetryLayer};
    /// static BUDGET: Budget = Budget::new();
    /// let layer = RetryLayer::new(&Policy::DEFAULT).budget(&BUDGET);
    /// # let _ = layer;
    /// ```
    pub fn budget<'n>(self, budget: &'n Budget) -> RetryLayer<K, LayerSession<P, C, Bounded<'n>>>
    where
        L: 'n,
    {
        RetryLayer {
            clock: self.clock,
            session: self.session.bounded(|bounds| bounds.limits = bounds.limits.budget(budget)),
        }
    }
}

impl<Inner, K: Clone, S: Clone> Layer<Inner> for RetryLayer<K, S> {
    type Service = Retrying<Inner, K, S>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Retrying { inner, clock: self.clock.clone(), session: self.session.clone() }
    }
}

/// A service whose requests are retried: what [`RetryLayer`] makes.
///
/// ```
/// use redial::{Policy, tower::{RetryLayer, Retrying}};
/// use tower::{Layer, service_fn};
/// let service: Retrying<_, _, _> = RetryLayer::new(&Policy::DEFAULT)
///     .layer(service_fn(|request: u8| async move { Ok::<u8, ()>(request) }));
/// # let _ = service;
/// ```
#[derive(Clone, Debug)]
pub struct Retrying<Inner, K, S> {
    inner: Inner,
    clock: K,
    session: S,
}

impl<Inner, Request, K, P, C, L> Service<Request> for Retrying<Inner, K, LayerSession<P, C, L>>
where
    Inner: Service<Request> + Clone,
    Request: Clone,
    K: Clock + Clone,
    P: AsPolicy + Clone,
    C: Judge<Inner::Response, Inner::Error>,
    L: Bounds + Clone,
{
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = RetryFuture<Inner, Request, K, P, C, L>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The service that is ready is the one to call; its clone becomes ready next time.
        let clone = self.inner.clone();
        let mut inner = core::mem::replace(&mut self.inner, clone);
        let mut session = self.session.clone();
        session.start(false, || self.clock.now());
        let attempt = inner.call(request.clone());
        RetryFuture {
            state: State::Calling { attempt },
            inner,
            request,
            clock: self.clock.clone(),
            session,
            paid: false,
        }
    }
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
    pub struct RetryFuture<Inner, Request, K, P, C, L>
    where
        Inner: Service<Request>,
        K: Clock,
        L: Bounds,
    {
        #[pin]
        state: State<Inner::Future, K::Sleep>,
        inner: Inner,
        request: Request,
        clock: K,
        session: LayerSession<P, C, L>,
        // A retry that was paid for and has not begun.
        paid: bool,
    }

    impl<Inner, Request, K, P, C, L> PinnedDrop for RetryFuture<Inner, Request, K, P, C, L>
    where
        Inner: Service<Request>,
        K: Clock,
        L: Bounds,
    {
        fn drop(this: Pin<&mut Self>) {
            if let (true, Some(budget)) = (this.paid, this.session.bounds.limits().shared_budget()) {
                budget.refund();
            }
        }
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<Attempt, Sleep> {
        Calling { #[pin] attempt: Attempt },
        Sleeping { #[pin] sleep: Sleep },
        Yielding,
        Readying,
    }
}

impl<Inner, Request, K, P, C, L> Future for RetryFuture<Inner, Request, K, P, C, L>
where
    Inner: Service<Request>,
    Request: Clone,
    K: Clock,
    P: AsPolicy,
    C: Judge<Inner::Response, Inner::Error>,
    L: Bounds,
{
    type Output = Result<Inner::Response, Inner::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Calling { attempt } => {
                    let result = core::task::ready!(attempt.poll(context));
                    let clock = || this.clock.now();
                    let Some(delay) = wait_after(this.session, clock, &result) else {
                        return Poll::Ready(result);
                    };
                    *this.paid = true;
                    if is_skipped(delay) {
                        context.waker().wake_by_ref();
                        this.state.set(State::Yielding);
                        return Poll::Pending;
                    }
                    State::Sleeping { sleep: this.clock.sleep(delay) }
                }
                StateProjection::Sleeping { sleep } => {
                    core::task::ready!(sleep.poll(context));
                    State::Readying
                }
                StateProjection::Yielding => State::Readying,
                StateProjection::Readying => {
                    if let Err(error) = core::task::ready!(this.inner.poll_ready(context)) {
                        // No attempt follows, so the retry is not spent: dropping refunds it.
                        end(this.session, || this.clock.now(), Some(Stop::Rejected));
                        return Poll::Ready(Err(error));
                    }
                    *this.paid = false;
                    State::Calling { attempt: this.inner.call(this.request.clone()) }
                }
            };
            this.state.set(next);
        }
    }
}

/// How long to wait after this result, or `None` where it is the one to return.
fn wait_after<P, C, L, Response, Error>(
    session: &mut LayerSession<P, C, L>,
    now: impl Fn() -> Time,
    result: &Result<Response, Error>,
) -> Option<Duration>
where
    P: AsPolicy,
    C: Judge<Response, Error>,
    L: Bounds,
{
    let judged = session.classify.judge(result);
    // An error that is to be returned is one that is not worth another attempt.
    let reason = match judged.or(result.is_err().then_some(Verdict::Stop)) {
        None => None,
        Some(verdict) => match session.failed(&mut (), &now, Some(&()), |_| verdict) {
            Decision::Wait(delay) => return Some(session.sleep_length(now, delay)),
            Decision::Stop(reason) => Some(reason),
        },
    };
    end(session, now, reason);
    None
}

/// Tells whoever listens that the request is over.
fn end<P: AsPolicy, C, L: Bounds>(
    session: &LayerSession<P, C, L>,
    now: impl FnOnce() -> Time,
    reason: Option<Stop>,
) {
    let result = if reason.is_none() { Ok(()) } else { Err(()) };
    let _: Result<(), ()> = session.end(&mut Forget, result, reason, now);
}

impl<Inner, Request, K, P, C, L> fmt::Debug for RetryFuture<Inner, Request, K, P, C, L>
where
    Inner: Service<Request>,
    K: Clock,
    L: Bounds,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}
