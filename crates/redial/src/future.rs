//! The async loop.

use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{AsPolicy, Random, Verdict};

use crate::attempt::{Attempt, AttemptFuture, Informed, Operation, Plain};
use crate::clock::{Clock, DefaultClock, MaybeClock};
use crate::guard::{Fails, Guard, Guardable, Guarded};
use crate::options::{Bounds, Judge, Options};
use crate::outcome::{Answer, Failure, Forget, Ledger, Told, Value};
use crate::retry::{Mode, OneCall, Retried, Retry};
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
/// A call is a future: it can be spawned, joined, boxed and selected as it is. A task that is
/// spawned cannot borrow: give it a policy that is not a constant by value or in an `Arc`. Dropping
/// a call cancels it cleanly at any point: no task, timer or token is left behind.
///
/// An operation that wants to know which attempt it is, or how much time is left, is run by
/// [`retry_with`]. For state that the attempts mutate (rustc says that a captured variable cannot
/// escape), see [`tries`](crate::tries_on).
///
/// Without the feature `tokio` a call must be given a clock first, by [`Retry::clock`].
///
/// # Panics
///
/// Where it has to wait and there is no tokio runtime with its time enabled, as tokio's own timer
/// does. A call on another runtime, or in a test without one, names its [`clock`](Retry::clock).
#[inline]
pub fn retry<P, Op, Fut, T, E>(policy: P, operation: Op) -> Retry<Async<Plain<Op>, Fut>, Options<P>>
where
    P: AsPolicy,
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    // Written out: a policy by value is large, and each function that it passes through may copy it.
    Retry {
        mode: Async { operation: Plain(operation), hedging: Single, types: PhantomData },
        options: Options::new(policy, DefaultClock::default()),
        state: State { step: Step::Start, ledger: Forget },
    }
}

/// [`retry`] for an operation that wants to know which [`Attempt`] it is: its number, and how much
/// of `within` is left.
///
/// ```
/// use std::time::Duration;
/// use redial::{Policy, retry_with};
/// # async fn query(replica: u32, limit: Option<Duration>) -> Result<u32, std::io::Error> {
/// #     if replica < 2 { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(replica) }
/// # }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() -> Result<(), std::io::Error> {
/// let row = retry_with(&Policy::DEFAULT, |attempt| query(attempt.number, attempt.left))
///     .within(Duration::from_secs(10))
///     .await?;
/// # assert_eq!(row, 2);
/// # Ok(()) }
/// ```
#[inline]
pub fn retry_with<P, Op, Fut, T, E>(
    policy: P,
    operation: Op,
) -> Retry<Async<Informed<Op>, Fut>, Options<P>>
where
    P: AsPolicy,
    Op: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let mode = Async { operation: Informed(operation), hedging: Single, types: PhantomData };
    Retry::of(mode, Options::new(policy, DefaultClock::default()))
}

/// A call that is awaited: what [`retry`] makes. `Op` is the operation, `Fut` the future of one
/// attempt, and `H` whether others may run beside it.
#[derive(Debug)]
pub struct Async<Op, Fut, A = Value, H = Single> {
    pub(crate) operation: Op,
    pub(crate) hedging: H,
    pub(crate) types: PhantomData<fn() -> (Fut, A)>,
}

/// One attempt at a time.
#[derive(Clone, Copy, Debug)]
pub struct Single;

impl<Op, Fut, A, H> OneCall for Async<Op, Fut, A, H> {}

impl<Op, Fut: AttemptFuture, A, H> Retried for Async<Op, Fut, A, H> {
    type Value = Fut::Value;
    type Error = Fut::Error;
}

impl<Op, Fut, A, K, G> Mode<K, G> for Async<Op, Fut, A>
where
    Fut: AttemptFuture,
    A: Answer,
    K: MaybeClock,
    G: Guard,
{
    type State = State<Fut, K::Sleep, G::Timer<K::Sleep>, A::Ledger<G, Fut::Error>>;

    const STARTED: bool = false;

    #[inline]
    fn idle() -> Self::State {
        State { step: Step::Start, ledger: A::Ledger::<G, Fut::Error>::open() }
    }
}

pin_project! {
    /// Where an async call stands, and the errors that it keeps.
    #[derive(Debug)]
    pub struct State<Fut, Sleep, Timer, Ledger> {
        #[pin]
        step: Step<Fut, Sleep, Timer>,
        ledger: Ledger,
    }
}

pin_project! {
    #[project = StepProjection]
    #[derive(Debug)]
    enum Step<Fut, Sleep, Timer> {
        Start,
        Attempt { #[pin] attempt: Fut, #[pin] timer: Timer },
        Sleep { #[pin] sleep: Sleep },
        Yield,
        End,
    }
}

/// Begins an attempt, unless the breaker refuses it.
macro_rules! begin {
    ($step:ident, $operation:ident, $options:ident, $ledger:ident, $now:expr) => {{
        if let Err(cut) = $options.admit(K::now) {
            $step.set(Step::End);
            return Poll::Ready($options.refused::<A, T, E>(cut, $ledger, K::now));
        }
        let now = $now;
        let now = || now.unwrap_or_else(|| $options.clock.now());
        let attempt = $options.attempt(Op::ASKS, now);
        let timer = $options.guard.timer(|| $options.deadline(), now);
        let attempt = $options.spans.attempt.scope(|| $operation.attempt(attempt));
        $step.set(Step::Attempt { attempt, timer });
    }};
}

/// Sleeps, or gives the other tasks a turn: what a zero delay is.
macro_rules! wait {
    ($step:ident, $options:ident, $context:ident, $delay:ident) => {{
        if is_skipped($delay) {
            $context.waker().wake_by_ref();
            $step.set(Step::Yield);
            return Poll::Pending;
        }
        let length = $options.sleep_length(K::now, $delay);
        $step.set(Step::Sleep { sleep: $options.clock.sleep(length) });
        continue;
    }};
}
impl<Op, Fut, T, E, A, P, J, B, G, K, R> Future
    for Retry<Async<Op, Fut, A>, Options<P, J, B, G, K, R>>
where
    Op: Operation<Fut>,
    Fut: Future<Output = Result<T, E>>,
    A: Answer,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    type Output = A::Output<T, G::Error>;

    /// The first attempt, if it succeeds at once; everything else is in `resume`, out of line.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        let (operation, options) = (&mut this.mode.operation, this.options);
        let state = this.state.project();
        let (mut step, ledger) = (state.step, state.ledger);
        if !matches!(*step, Step::Start) {
            return self.resume(None, None, context);
        }
        let now = options.start(A::TIMED || J::KINDS, K::now);
        begin!(step, operation, options, ledger, now);
        let polled = match step.as_mut().project() {
            StepProjection::Attempt { attempt, .. } => {
                options.spans.attempt.scope(|| attempt.poll(context))
            }
            _ => unreachable!("an attempt has begun"),
        };
        if let Poll::Ready(Ok(value)) = polled {
            if let Some(verdict) = options.judge.value(&value) {
                return self.resume(Some(Poll::Ready(Ok(value))), Some(verdict), context);
            }
            options.guard.succeeded();
            return Poll::Ready(options.end::<A, T, E>(ledger, Ok(value), None, K::now));
        }
        self.resume(Some(polled), None, context)
    }
}

impl<Op, Fut, T, E, A, P, J, B, G, K, R> Retry<Async<Op, Fut, A>, Options<P, J, B, G, K, R>>
where
    Op: Operation<Fut>,
    Fut: Future<Output = Result<T, E>>,
    A: Answer,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    /// The loop. `polled` is what the attempt has just answered, if it was asked, and `judged` what
    /// that means.
    #[inline(never)]
    fn resume(
        self: Pin<&mut Self>,
        mut polled: Option<Poll<Result<T, E>>>,
        mut judged: Option<Verdict>,
        context: &mut Context<'_>,
    ) -> Poll<A::Output<T, G::Error>> {
        let this = self.project();
        let (operation, options) = (&mut this.mode.operation, this.options);
        let state = this.state.project();
        let (mut step, ledger) = (state.step, state.ledger);
        loop {
            match step.as_mut().project() {
                StepProjection::Attempt { attempt, timer } => {
                    let poll = || options.spans.attempt.scope(|| attempt.poll(context));
                    let failure = match polled.take().unwrap_or_else(poll) {
                        Poll::Ready(Ok(value)) => {
                            step.set(Step::End);
                            let reason = match judged.take().or_else(|| options.judge.value(&value))
                            {
                                None => {
                                    options.guard.succeeded();
                                    None
                                }
                                Some(verdict) => {
                                    match options.unaccepted::<T, E>(verdict, K::now) {
                                        Err(reason) => Some(reason),
                                        Ok(delay) => wait!(step, options, context, delay),
                                    }
                                }
                            };
                            let end = options.end::<A, T, E>(ledger, Ok(value), reason, K::now);
                            return Poll::Ready(end);
                        }
                        Poll::Ready(Err(error)) => Failure::Error(error),
                        Poll::Pending => match G::poll_cut(timer, &options.clock, context) {
                            Poll::Ready(cut) => Failure::Cut(cut),
                            Poll::Pending => return Poll::Pending,
                        },
                    };
                    // The attempt is dropped before anybody hears of its failure.
                    step.set(Step::End);
                    match options.failed::<T, E>(failure, ledger, K::now) {
                        Ok(delay) => wait!(step, options, context, delay),
                        Err((failure, reason)) => {
                            let reason = Some(reason);
                            let end = options.end::<A, T, E>(ledger, Err(failure), reason, K::now);
                            return Poll::Ready(end);
                        }
                    }
                }
                StepProjection::Sleep { sleep } => core::task::ready!(sleep.poll(context)),
                StepProjection::Start | StepProjection::Yield => {}
                StepProjection::End => panic!("a call was polled after it was over"),
            }
            begin!(step, operation, options, ledger, None);
        }
    }
}

impl<Op, Fut, H, P, J, B, G, K, R> Retry<Async<Op, Fut, Value, H>, Options<P, J, B, G, K, R>>
where
    Async<Op, Fut, Value, H>: Mode<K, G>,
    Async<Op, Fut, Told, H>: Mode<K, G>,
{
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
    #[inline]
    pub fn outcome(self) -> Retry<Async<Op, Fut, Told, H>, Options<P, J, B, G, K, R>> {
        let (Async { operation, hedging, .. }, options) = self.into_parts();
        Retry::of(Async { operation, hedging, types: PhantomData }, options)
    }
}

impl<Op, Fut, A, H, P, J, B, G, K, R> Retry<Async<Op, Fut, A, H>, Options<P, J, B, G, K, R>>
where
    Fut: AttemptFuture,
    Async<Op, Fut, A, H>: Mode<K, G>,
{
    /// Interrupts each attempt after this long, or when the deadline of `within` comes. A timeout
    /// is retried, unless [`timeout_verdict`](Self::timeout_verdict) says otherwise. The error is
    /// [`Error`](crate::Error) from here on; where the operation's is `anyhow::Error` or
    /// `Box<dyn Error + Send + Sync>`, it stays that. [`error_from`](Self::error_from) keeps any
    /// other error as it is. (`X` is inferred.)
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Error, Policy, retry};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
    /// let result = retry(&Policy::DEFAULT, || std::future::pending::<Result<(), ()>>())
    ///     .timeout(Duration::from_secs(1))
    ///     .await;
    /// assert_eq!(result, Err(Error::TimedOut(None)));
    /// # }
    /// ```
    #[inline]
    pub fn timeout<X>(
        self,
        timeout: Duration,
    ) -> Retry<Async<Op, Fut, A, H>, Options<P, J, B, Guarded<G::Breaker, X>, K, R>>
    where
        G: Guardable<Fut::Error, X>,
        Async<Op, Fut, A, H>: Mode<K, Guarded<G::Breaker, X>>,
    {
        let (mode, options) = self.into_parts();
        Retry::of(mode, options.with_guard(|guard| guard.guarded().with_timeout(timeout)))
    }
}
