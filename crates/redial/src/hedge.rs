//! Hedging: the async loop where an attempt that is slow gets another beside it, and the first good
//! answer wins.
//!
//! The engine says whether and when a hedge starts, and what a failure means while others run
//! ([`Race`]). All attempts are polled by the one future of the call: nothing is spawned, and
//! dropping the call cancels them all. The first attempt is in the future itself; only a hedge that
//! starts is boxed.

use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use pin_project_lite::pin_project;
use redial_core::{AsPolicy, Decision, HedgeDelay, Race, Random, Ruling, Stop, Time, Verdict};

use crate::attempt::{Attempt, AttemptFuture, Operation};
use crate::clock::{Clock, MaybeClock};
use crate::future::{Async, Single};
use crate::guard::{Fails, Guard};
use crate::options::{Bounds, Judge, Options};
use crate::outcome::{Answer, Failure, Ledger, Report};
use crate::retry::{Mode, Retry};
use crate::telemetry::AttemptSpan;
use crate::testing::switch::{is_skipped, retries_are_off};

/// Others may run beside an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Hedges<D> {
    delay: D,
    running_max: u32,
}

impl<Op, Fut, A, P, J, B, G, K, R> Retry<Async<Op, Fut, A, Single>, Options<P, J, B, G, K, R>>
where
    Async<Op, Fut, A, Single>: Mode<K, G>,
{
    /// Starts a second attempt beside one that has not answered after `delay`: the first good answer
    /// wins, and the other attempt is cancelled. For operations that may run twice at once, where the
    /// slowest answers are much slower than most.
    ///
    /// The delay is a [`Duration`], or a percentile of the latencies that were seen:
    /// [`Latencies::percentile`](crate::Latencies::percentile).
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Clock, Policy, retry_with, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let answer = clock.block_on(
    ///     retry_with(&Policy::DEFAULT, |attempt| {
    ///         let clock = &clock;
    ///         async move {
    ///             // The first hangs for a minute, the second answers in 20 ms.
    ///             let takes = if attempt.number == 1 { 60_000 } else { 20 };
    ///             clock.sleep(Duration::from_millis(takes)).await;
    ///             Ok::<_, ()>(attempt.number)
    ///         }
    ///     })
    ///     .hedge(Duration::from_millis(100))
    ///     .clock(&clock),
    /// );
    /// assert_eq!(answer, Ok(2));
    /// assert_eq!(clock.elapsed(), Duration::from_millis(120));
    /// ```
    ///
    /// A hedge is an attempt: it counts against the policy's attempts, is paid for from the
    /// [`budget`](Self::budget), asks the [`breaker`](Self::breaker), has its own
    /// [`timeout`](Self::timeout), and does not start after the deadline of [`within`](Self::within).
    /// Where the budget is empty or the breaker open there is no hedge, and the call goes on with what
    /// runs. An attempt that fails while another runs is not retried by itself; the failure of the last
    /// one that runs is. One that is rejected ends the call. See the
    /// [guide](crate::guide::beyond#hedging).
    #[inline]
    pub fn hedge<D: HedgeDelay>(
        self,
        delay: D,
    ) -> Retry<Async<Op, Fut, A, Hedges<D>>, Options<P, J, B, G, K, R>>
    where
        Async<Op, Fut, A, Hedges<D>>: Mode<K, G>,
    {
        self.hedge_up_to(2, delay)
    }

    /// [`hedge`](Self::hedge) with up to so many attempts at a time: another one starts whenever the
    /// one before it has not answered after `delay`. At most one is no hedging.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, retry, testing::ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let policy = Backoff::none().attempts(3);
    /// let outcome = clock.block_on(
    ///     retry(policy, || std::future::pending::<Result<(), ()>>())
    ///         .timeout(Duration::from_secs(1))
    ///         .hedge_up_to(3, Duration::from_millis(100))
    ///         .clock(&clock)
    ///         .outcome(),
    /// );
    /// assert_eq!((outcome.attempts, outcome.hedges), (3, 2));
    /// ```
    #[inline]
    pub fn hedge_up_to<D: HedgeDelay>(
        self,
        running_max: u32,
        delay: D,
    ) -> Retry<Async<Op, Fut, A, Hedges<D>>, Options<P, J, B, G, K, R>>
    where
        Async<Op, Fut, A, Hedges<D>>: Mode<K, G>,
    {
        let (Async { operation, .. }, options) = self.into_parts();
        let hedging = Hedges { delay, running_max };
        Retry::of(Async { operation, hedging, types: PhantomData }, options)
    }
}

impl<Op, Fut, A, D, K, G> Mode<K, G> for Async<Op, Fut, A, Hedges<D>>
where
    Fut: AttemptFuture,
    A: Answer,
    K: MaybeClock,
    G: Guard,
{
    type State = Racing<Fut, K::Sleep, G::Timer<K::Sleep>, G, A::Ledger<G, Fut::Error>>;

    const STARTED: bool = false;

    #[inline]
    fn idle() -> Self::State {
        Racing {
            stage: Stage::Start,
            first: None,
            others: Vec::new(),
            sleep: None,
            hedge_at: None,
            race: Race::new(0),
            started: 0,
            hedges: 0,
            ledger: A::Ledger::<G, Fut::Error>::open(),
        }
    }
}

pin_project! {
    /// Where a hedged call stands: the attempts that run, and the errors that it keeps.
    #[project = RacingProjection]
    #[derive(Debug)]
    pub struct Racing<Fut, Sleep, Timer, G, Ledger> {
        stage: Stage,
        #[pin]
        first: Option<Running<Fut, Timer, G>>,
        others: Vec<Pin<Box<Running<Fut, Timer, G>>>>,
        // Between attempts: the wait. While some run: until a hedge is due, which is then.
        #[pin]
        sleep: Option<Sleep>,
        hedge_at: Option<Time>,
        race: Race,
        started: u32,
        hedges: u32,
        ledger: Ledger,
    }
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Start,
    Race,
    Wait,
    Yield,
    End,
}

pin_project! {
    /// An attempt that runs, with all that is its own: a permit of the breaker in its guard, a
    /// timer, a span.
    #[derive(Debug)]
    pub(crate) struct Running<Fut, Timer, G> {
        number: u32,
        started: Time,
        patience: Option<Duration>,
        // Taken when it is over.
        guard: Option<G>,
        span: AttemptSpan,
        #[pin]
        attempt: Fut,
        #[pin]
        timer: Timer,
    }
}

/// An attempt that is over.
struct Over<T, E, G: Guard> {
    number: u32,
    ran: Ran,
    guard: G,
    span: AttemptSpan,
    result: Result<T, Failure<E, G::Cut>>,
}

/// Since when an attempt runs, and after how long a hedge was to start.
#[derive(Clone, Copy)]
struct Ran {
    started: Time,
    patience: Option<Duration>,
}

impl Ran {
    /// An attempt answered.
    fn answered(self, delay: &impl HedgeDelay, now: Time) {
        delay.took(now.since(self.started));
    }

    /// An attempt was cut while it ran. How long it would have taken is not known; that it was slow
    /// is, if it was hedged. Without these, what was recorded would get faster with every hedge.
    fn cut(self, delay: &impl HedgeDelay, now: Time) {
        let ran = now.since(self.started);
        if self.patience.is_some_and(|patience| ran >= patience) {
            delay.took(ran);
        }
    }
}

impl<Fut, Timer, G> Running<Fut, Timer, G> {
    fn ran(&self) -> Ran {
        Ran { started: self.started, patience: self.patience }
    }

    fn poll<K, T, E>(
        self: Pin<&mut Self>,
        clock: &K,
        context: &mut Context<'_>,
    ) -> Poll<Over<T, E, G>>
    where
        K: Clock,
        Fut: Future<Output = Result<T, E>>,
        G: Guard<Timer<K::Sleep> = Timer>,
    {
        let ran = self.ran();
        let this = self.project();
        let polled = this.span.scope(|| this.attempt.poll(context));
        let result = match polled {
            Poll::Ready(result) => result.map_err(Failure::Error),
            Poll::Pending => Err(Failure::Cut(ready!(G::poll_cut(this.timer, clock, context)))),
        };
        let span = core::mem::replace(this.span, AttemptSpan::NONE);
        match this.guard.take() {
            Some(guard) => Poll::Ready(Over { number: *this.number, ran, guard, span, result }),
            None => unreachable!("an attempt that is over is dropped"),
        }
    }
}

impl<Fut, Sleep, Timer, G, L> RacingProjection<'_, Fut, Sleep, Timer, G, L> {
    /// The first attempt, in the order of their starts, that is over. It is dropped.
    fn poll<K, T, E>(&mut self, clock: &K, context: &mut Context<'_>) -> Poll<Over<T, E, G>>
    where
        K: Clock,
        Fut: Future<Output = Result<T, E>>,
        G: Guard<Timer<K::Sleep> = Timer>,
    {
        if let Some(first) = self.first.as_mut().as_pin_mut() {
            if let Poll::Ready(over) = first.poll(clock, context) {
                self.first.set(None);
                return Poll::Ready(over);
            }
        }
        for (index, running) in self.others.iter_mut().enumerate() {
            if let Poll::Ready(over) = running.as_mut().poll(clock, context) {
                self.others.remove(index);
                return Poll::Ready(over);
            }
        }
        Poll::Pending
    }

    /// Cancels all attempts that run.
    fn cancel(&mut self, delay: &impl HedgeDelay, now: Time) {
        let first = self.first.as_ref().as_pin_ref().map(|running| running.ran());
        let others = self.others.iter().map(|running| running.ran());
        first.into_iter().chain(others).for_each(|ran| ran.cut(delay, now));
        self.first.set(None);
        self.others.clear();
        self.sleep.set(None);
        *self.stage = Stage::End;
    }
}

impl<P, J, B, G, K, R> Options<P, J, B, G, K, R>
where
    P: AsPolicy,
    B: Bounds,
    G: Guard + Clone,
    K: Clock,
    R: Random,
{
    /// Begins an attempt, unless the breaker refuses it.
    fn begin<T, E, Op, Fut, D, L>(
        &mut self,
        operation: &mut Op,
        hedging: &Hedges<D>,
        state: &mut RacingProjection<'_, Fut, K::Sleep, G::Timer<K::Sleep>, G, L>,
        hedge: bool,
    ) -> Result<(), G::Cut>
    where
        J: Judge<T, E>,
        Op: Operation<Fut>,
        D: HedgeDelay,
    {
        let now = self.clock.now();
        // Each attempt has a guard of its own, with the permit that the breaker gave it.
        let mut guard = self.guard.clone();
        guard.enter(|| now)?;
        if hedge {
            let slow = *state.started;
            self.announce::<T, E>(slow, Duration::ZERO, None, false, true);
        }
        self.bounds.spent();
        *state.started = state.started.saturating_add(1);
        *state.hedges = state.hedges.saturating_add(u32::from(hedge));
        let number = *state.started;
        self.spans.begin(number, hedge);
        let span = core::mem::replace(&mut self.spans.attempt, AttemptSpan::NONE);
        let deadline = self.deadline();
        let left = deadline.map(|deadline| deadline.since(now));
        let timer = guard.timer(|| deadline, || now);
        let patience = hedging.delay.patience().filter(|_| !retries_are_off());
        state.race.started(now, patience);
        let attempt = span.scope(|| operation.attempt(Attempt { number, left }));
        let guard = Some(guard);
        let running = Running { number, started: now, patience, guard, span, attempt, timer };
        match state.first.is_none() {
            true => state.first.set(Some(running)),
            false => state.others.push(Box::pin(running)),
        }
        *state.stage = Stage::Race;
        Ok(())
    }

    /// Waits until a hedge is due, and says whether it starts: it is paid for then.
    fn poll_hedge<Fut, L>(
        &mut self,
        state: &mut RacingProjection<'_, Fut, K::Sleep, G::Timer<K::Sleep>, G, L>,
        context: &mut Context<'_>,
    ) -> Poll<bool> {
        let due = self.call.hedge_due(state.race, &self.bounds.limits());
        if due != *state.hedge_at {
            *state.hedge_at = due;
            let left = due.map(|due| due.since(self.clock.now()));
            let left = left.filter(|left| !left.is_zero());
            state.sleep.set(left.map(|left| self.clock.sleep(left)));
        }
        if due.is_none() {
            return Poll::Pending;
        }
        if let Some(sleep) = state.sleep.as_mut().as_pin_mut() {
            ready!(sleep.poll(context));
        }
        state.sleep.set(None);
        *state.hedge_at = None;
        let now = self.clock.now();
        let limits = self.bounds.limits();
        let starts = self.call.hedge(state.race, &limits, &mut self.guard, now).is_ok();
        if starts {
            // Refunded if the breaker does not admit it.
            self.bounds.paid();
        }
        Poll::Ready(starts)
    }

    /// What the engine makes of an attempt that failed, or gave a value that will not do.
    fn failed_beside<T, E>(
        &mut self,
        race: &mut Race,
        over: &mut Over<T, E, G>,
        verdict: Option<Verdict>,
        now: Time,
    ) -> Option<Decision>
    where
        J: Judge<T, E>,
    {
        let error = over.result.as_ref().err().and_then(Failure::error);
        let timed_out = over.result.is_err() && error.is_none();
        core::mem::swap(&mut self.spans.attempt, &mut over.span);
        self.attempt_failed::<T, E>(error, timed_out);
        let gate = &mut over.guard;
        let timeout_verdict = self.guard.timeout_verdict();
        let Self { call, judge, bounds, random, spans, .. } = self;
        if retries_are_off() {
            // As in `decide`. No other runs, for there are no hedges then.
            let _ = call.failed(Time::ZERO, || Verdict::Stop, random);
            tell(gate, now);
            return Some(Decision::Stop(Stop::AttemptsSpent));
        }
        let classify = |random: &mut R| {
            spans.scope(|| match (verdict, error) {
                (Some(verdict), _) => verdict.into(),
                (None, Some(error)) => judge.ruling(error, random),
                (None, None) => Ruling::from(timeout_verdict),
            })
        };
        let limits = bounds.limits();
        let decision = call.failed_beside(race, &limits, gate, now, classify, random);
        // A timeout is a failure of the service, also where it is not retried.
        if timed_out && decision == Some(Decision::Stop(Stop::Rejected)) {
            tell(gate, now);
        }
        decision
    }
}

fn tell(gate: &mut impl Guard, now: Time) {
    if gate.needs_time() {
        gate.failed(now);
    }
}

impl<Op, Fut, T, E, A, D, P, J, B, G, K, R> Future
    for Retry<Async<Op, Fut, A, Hedges<D>>, Options<P, J, B, G, K, R>>
where
    Op: Operation<Fut>,
    Fut: Future<Output = Result<T, E>>,
    A: Answer,
    D: HedgeDelay,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E> + Clone,
    K: Clock,
    R: Random,
{
    type Output = A::Output<T, G::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let (mode, options) = (this.mode, this.options);
        let (operation, hedging) = (&mut mode.operation, &mode.hedging);
        let mut state = this.state.project();
        loop {
            let mut hedge = false;
            match *state.stage {
                Stage::Start => {
                    options.start(true, K::now);
                    *state.race = Race::new(hedging.running_max);
                }
                Stage::Yield => {}
                Stage::Wait => {
                    if let Some(sleep) = state.sleep.as_mut().as_pin_mut() {
                        ready!(sleep.poll(context));
                    }
                    state.sleep.set(None);
                }
                Stage::Race => match state.poll(&options.clock, context) {
                    Poll::Ready(over) => {
                        match options.settle::<A, _, _, _, _>(&mut state, hedging, over) {
                            Next::Race => continue,
                            Next::Wait(delay) if is_skipped(delay) => {
                                context.waker().wake_by_ref();
                                *state.stage = Stage::Yield;
                                return Poll::Pending;
                            }
                            Next::Wait(delay) => {
                                let length = options.sleep_length(K::now, delay);
                                state.sleep.set(Some(options.clock.sleep(length)));
                                *state.stage = Stage::Wait;
                                continue;
                            }
                            Next::End(output) => return Poll::Ready(output),
                        }
                    }
                    Poll::Pending => {
                        if !ready!(options.poll_hedge(&mut state, context)) {
                            continue;
                        }
                        hedge = true;
                    }
                },
                Stage::End => panic!("a call was polled after it was over"),
            }
            match options.begin::<T, E, _, _, _, _>(operation, hedging, &mut state, hedge) {
                Ok(()) => {}
                Err(_) if hedge => options.bounds.refund(),
                Err(cut) => {
                    *state.stage = Stage::End;
                    return Poll::Ready(options.refused::<A, T, E>(cut, state.ledger, K::now));
                }
            }
        }
    }
}

/// What follows an attempt that is over.
enum Next<Output> {
    /// The others go on.
    Race,
    /// Another attempt, after this long.
    Wait(Duration),
    /// The call is over.
    End(Output),
}

impl<P, J, B, G, K, R> Options<P, J, B, G, K, R>
where
    P: AsPolicy,
    B: Bounds,
    G: Guard + Clone,
    K: Clock,
    R: Random,
{
    /// Does what the engine says of an attempt that is over.
    fn settle<A, Fut, D, T, E>(
        &mut self,
        state: &mut RacingProjection<'_, Fut, K::Sleep, G::Timer<K::Sleep>, G, A::Ledger<G, E>>,
        hedging: &Hedges<D>,
        mut over: Over<T, E, G>,
    ) -> Next<A::Output<T, G::Error>>
    where
        A: Answer,
        D: HedgeDelay,
        J: Judge<T, E>,
        G: Fails<E>,
    {
        let now = self.clock.now();
        match over.result {
            Ok(_) => over.ran.answered(&hedging.delay, now),
            Err(Failure::Cut(_)) => over.ran.cut(&hedging.delay, now),
            Err(Failure::Error(_)) => {}
        }
        let unaccepted = over.result.as_ref().ok().and_then(|value| self.judge.value(value));
        let reason = if over.result.is_ok() && unaccepted.is_none() {
            over.guard.succeeded();
            None
        } else {
            match self.failed_beside::<T, E>(state.race, &mut over, unaccepted, now) {
                Some(Decision::Stop(reason)) => Some(reason),
                decision => return self.goes_on::<A, _, _, _>(state, over, decision),
            }
        };
        state.cancel(&hedging.delay, now);
        let report = self.tell(Report {
            attempts: *state.started,
            attempt: over.number,
            hedges: *state.hedges,
            elapsed: now.since(self.call.started()),
            ..self.told(reason)
        });
        Next::End(A::close(state.ledger, &mut self.guard, over.result, report))
    }

    /// The call goes on after a failure: with what runs, or after a wait.
    fn goes_on<A, Fut, T, E>(
        &mut self,
        state: &mut RacingProjection<'_, Fut, K::Sleep, G::Timer<K::Sleep>, G, A::Ledger<G, E>>,
        over: Over<T, E, G>,
        decision: Option<Decision>,
    ) -> Next<A::Output<T, G::Error>>
    where
        A: Answer,
        J: Judge<T, E>,
        G: Fails<E>,
    {
        let failure = over.result.err();
        let next = match decision {
            Some(Decision::Wait(delay)) => {
                let error = failure.as_ref().and_then(Failure::error);
                let timed_out = failure.is_some() && error.is_none();
                self.announce::<T, E>(over.number, delay, error, timed_out, false);
                Next::Wait(delay)
            }
            _ => Next::Race,
        };
        if let Some(failure) = failure {
            state.ledger.record(over.number, failure);
        }
        next
    }
}
