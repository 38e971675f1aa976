//! The same loop for threads.
//!
//! ```
//! use redial::{Policy, blocking};
//!
//! # fn main() -> std::io::Result<()> {
//! # let path = "Cargo.toml";
//! let text = blocking::retry(&Policy::DEFAULT, || std::fs::read_to_string(path))?;
//! # assert!(text.contains("redial"));
//! # Ok(()) }
//! ```
//!
//! [`call`] is the same with options. Nothing here interrupts a thread, so there is no `timeout`;
//! instead the operation can ask how much of `within` is left, and give up by itself.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use redial_core::{AsPolicy, Breaker, Budget, Decision, Random, SplitMix64, Stop, Time, Verdict};

use crate::clock::time_of;
use crate::guard::{Admission, Guard, Guarded, Open};
use crate::options::{
    Always, Bounded, Bounds, Classify, Hook, Judge, Nobody, OnRetry, Unbounded, When,
};
use crate::outcome::{Event, History, Ledger, Outcome};
use crate::random::ThreadRandom;
use crate::retry::new_session;
use crate::session::Session;
use crate::testing::switch::is_skipped;

/// Runs `operation` until it succeeds or the policy says that it is over, sleeping in between.
///
/// ```
/// use redial::{Policy, blocking, policy};
///
/// const QUICK: Policy = policy!("retry: 3, delay: 1ms");
///
/// let mut calls = 0;
/// let result = blocking::retry(&QUICK, || {
///     calls += 1;
///     if calls < 3 { Err("flaky") } else { Ok(calls) }
/// });
/// assert_eq!(result, Ok(3));
/// ```
///
/// # Errors
///
/// The operation's own last error, unchanged.
#[inline]
pub fn retry<P, T, E>(policy: P, mut operation: impl FnMut() -> Result<T, E>) -> Result<T, E>
where
    P: AsPolicy,
{
    call(policy, move |_| operation()).run()
}

/// A call with options: say more about it, then [`run`](BlockingCall::run) it. The operation is told
/// which attempt it is, and can ask how much time is left.
///
/// ```
/// use std::time::Duration;
/// use redial::{Policy, blocking, testing::ManualClock};
///
/// let clock = ManualClock::new();
/// let mut left = Vec::new();
/// let result: Result<(), &str> = blocking::call(&Policy::CONTENTION, |attempt| {
///         left.push(attempt.left().unwrap().as_millis());
///         Err("taken")
///     })
///     .within(Duration::from_millis(100))
///     .rng(|| 0)
///     .clock(&clock)
///     .run();
/// assert_eq!(result, Err("taken"));
/// assert_eq!(left, [100, 90, 70, 30]);
/// ```
#[inline]
pub fn call<P, Op, T, E>(
    policy: P,
    operation: Op,
) -> BlockingCall<Op, Open, StdClock, Session<P, Always, Nobody, Unbounded, ThreadRandom>>
where
    P: AsPolicy,
    Op: FnMut(Attempt<'_>) -> Result<T, E>,
{
    BlockingCall { operation, guard: Open, clock: StdClock, session: new_session(policy) }
}

/// What an operation may know of the attempt that it is.
///
/// ```
/// use redial::{Policy, blocking};
/// let result = blocking::call(&Policy::DEFAULT, |attempt| {
///     assert_eq!(attempt.left(), None); // no deadline
///     Ok::<_, ()>(attempt.number)
/// });
/// assert_eq!(result.run(), Ok(1));
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Attempt<'c> {
    /// Its number, from 1.
    pub number: u32,
    deadline: Option<Time>,
    now: &'c dyn Fn() -> Time,
}

impl Attempt<'_> {
    /// How much of `within` is left now; `None` where there is no deadline. Pass it on to whatever
    /// can time out.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, blocking};
    /// let result = blocking::call(&Policy::DEFAULT, |attempt| Ok::<_, ()>(attempt.left()))
    ///     .within(Duration::from_secs(5))
    ///     .run();
    /// assert!(result.unwrap().unwrap() <= Duration::from_secs(5));
    /// ```
    pub fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.since((self.now)()))
    }
}

impl fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("number", &self.number).finish_non_exhaustive()
    }
}

/// What the blocking loop knows of time.
///
/// ```
/// use std::time::Duration;
/// use redial::{Time, blocking::Clock};
///
/// /// For a program that must never wait.
/// struct Impatient;
/// impl Clock for Impatient {
///     fn now(&self) -> Time { Time::ZERO }
///     fn sleep(&self, _: Duration) {}
/// }
///
/// let result: Result<(), _> =
///     redial::blocking::call(&redial::Policy::DEFAULT, |_| Err("down")).clock(Impatient).run();
/// assert_eq!(result, Err("down"));
/// ```
pub trait Clock {
    /// The time now, on a monotonic clock.
    fn now(&self) -> Time;

    /// Sleeps for at least `duration`. Never called with zero.
    fn sleep(&self, duration: Duration);
}

impl<K: Clock> Clock for &K {
    fn now(&self) -> Time {
        (**self).now()
    }

    fn sleep(&self, duration: Duration) {
        (**self).sleep(duration);
    }
}

/// The clock of the standard library.
///
/// ```
/// use redial::blocking::{Clock, StdClock};
/// let earlier = StdClock.now();
/// assert!(StdClock.now() >= earlier);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StdClock;

impl Clock for StdClock {
    fn now(&self) -> Time {
        time_of(Instant::now())
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// Out of line: a thread's sleep is a loop of its own, whose registers every call would pay for.
#[cold]
#[inline(never)]
fn sleep<K, P, C, H, L, R>(clock: &K, session: &Session<P, C, H, L, R>, delay: Duration)
where
    K: Clock,
    P: AsPolicy,
    L: Bounds,
    R: Random,
{
    clock.sleep(session.sleep_length(|| clock.now(), delay));
}

/// A blocking call that is ready to [`run`](Self::run).
///
/// ```
/// use redial::{Policy, blocking};
/// let call = blocking::call(&Policy::DEFAULT, |_| Ok::<_, ()>("done"));
/// assert_eq!(call.run(), Ok("done"));
/// ```
#[must_use = "a call does nothing until `.run()`"]
pub struct BlockingCall<Op, G, K, S> {
    operation: Op,
    guard: G,
    clock: K,
    session: S,
}

impl<Op, G, K, S> fmt::Debug for BlockingCall<Op, G, K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingCall").finish_non_exhaustive()
    }
}

impl<Op, G, K, S> BlockingCall<Op, G, K, S> {
    fn with_guard<H>(self, change: impl FnOnce(G) -> H) -> BlockingCall<Op, H, K, S> {
        let Self { operation, guard, clock, session } = self;
        BlockingCall { operation, guard: change(guard), clock, session }
    }

    fn with_session<U>(self, change: impl FnOnce(S) -> U) -> BlockingCall<Op, G, K, U> {
        let Self { operation, guard, clock, session } = self;
        BlockingCall { operation, guard, clock, session: change(session) }
    }
}

impl<P, Op, T, E, G, K, C, H, L, R> BlockingCall<Op, G, K, Session<P, C, H, L, R>>
where
    P: AsPolicy,
    Op: FnMut(Attempt<'_>) -> Result<T, E>,
    C: Classify<E>,
    H: Hook<E>,
    L: Bounds,
    G: Guard,
    K: Clock,
    R: Random,
{
    /// Runs it.
    ///
    /// ```
    /// use redial::{Policy, blocking};
    /// assert_eq!(blocking::call(&Policy::DEFAULT, |_| Ok::<_, ()>(1)).run(), Ok(1));
    /// ```
    ///
    /// # Errors
    ///
    /// The operation's own last error.
    #[inline]
    pub fn run(self) -> Result<T, G::Error<E>>
    where
        G::Ledger<E>: Ledger<G::Error<E>, Output<T> = Result<T, G::Error<E>>>,
    {
        self.drive(G::Ledger::<E>::open())
    }

    /// Runs it and tells how it ended.
    ///
    /// ```
    /// use redial::{Policy, Stop, blocking, testing::ManualClock};
    /// let outcome = blocking::call(&Policy::DEFAULT, |_| Err::<(), _>("down"))
    ///     .clock(&ManualClock::new())
    ///     .outcome();
    /// assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    /// ```
    pub fn outcome(self) -> Outcome<T, G::Error<E>> {
        self.drive(History::open())
    }

    #[inline]
    fn drive<J: Ledger<G::Error<E>>>(self, ledger: J) -> J::Output<T> {
        if self.session.is_timed(J::TIMED) {
            self.drive_timed(ledger)
        } else {
            self.drive_from(Time::ZERO, ledger)
        }
    }

    /// Apart, so that a call which does not look at the time has no room for it.
    #[inline(never)]
    fn drive_timed<J: Ledger<G::Error<E>>>(self, ledger: J) -> J::Output<T> {
        let started = self.clock.now();
        self.drive_from(started, ledger)
    }

    /// The session is moved into the loop only after the first failure: a call that succeeds at
    /// once then need not even write down that it began.
    #[inline(always)]
    fn drive_from<J: Ledger<G::Error<E>>>(mut self, started: Time, mut ledger: J) -> J::Output<T> {
        let now = || self.clock.now();
        self.session.call.start_at(started);
        self.session.deposit();
        let mut attempt = Attempt { number: 1, deadline: self.session.deadline(), now: &now };
        let mut permit = match self.guard.admit(now) {
            Ok(permit) => permit,
            Err(refused) => {
                return self.session.end(&mut ledger, Err(refused), Some(Stop::BreakerOpen), now);
            }
        };
        let mut result = (self.operation)(attempt);
        if let Ok(value) = result {
            permit.succeeded();
            return self.session.end(&mut ledger, Ok(value), None, now);
        }
        let mut session = self.session;
        loop {
            let error = match result {
                Ok(value) => {
                    permit.succeeded();
                    return session.end(&mut ledger, Ok(value), None, now);
                }
                Err(error) => error,
            };
            let verdict = |classify: &mut C| classify.verdict(&error);
            let delay = match session.failed(&mut permit, now, Some(&error), verdict) {
                Decision::Wait(delay) => delay,
                Decision::Stop(reason) => {
                    return session.end(&mut ledger, Err(G::failed(error)), Some(reason), now);
                }
            };
            ledger.record(session.call.failures(), G::failed(error));
            if !is_skipped(delay) {
                sleep(&self.clock, &session, delay);
            }
            attempt.number = session.call.failures().saturating_add(1);
            permit = match self.guard.admit(now) {
                Ok(permit) => permit,
                Err(refused) => {
                    session.refund();
                    let error = ledger.last().unwrap_or(refused);
                    return session.end(&mut ledger, Err(error), Some(Stop::BreakerOpen), now);
                }
            };
            result = (self.operation)(attempt);
        }
    }

    /// Another clock, such as [`ManualClock`](crate::testing::ManualClock) in a test.
    ///
    /// ```
    /// use redial::{Policy, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let result: Result<(), _> =
    ///     blocking::call(&Policy::DEFAULT, |_| Err("down")).clock(&clock).run();
    /// assert_eq!(clock.slept().len(), 2);
    /// # assert!(result.is_err());
    /// ```
    pub fn clock<N: Clock>(self, clock: N) -> BlockingCall<Op, G, N, Session<P, C, H, L, R>> {
        let Self { operation, guard, session, .. } = self;
        BlockingCall { operation, guard, clock, session }
    }

    /// Retries only the errors of which `when` says so.
    ///
    /// ```
    /// use redial::{Policy, blocking};
    /// let result: Result<(), u16> =
    ///     blocking::call(&Policy::DEFAULT, |_| Err(404)).when(|status| *status >= 500).run();
    /// assert_eq!(result, Err(404)); // after one attempt
    /// ```
    pub fn when<F: FnMut(&E) -> bool>(
        self,
        when: F,
    ) -> BlockingCall<Op, G, K, Session<P, When<F>, H, L, R>> {
        self.with_session(|session| session.with_classify(When(when)))
    }

    /// Says of each error what it means; see [`Retry::classify`](crate::Retry::classify).
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Verdict, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let result: Result<(), _> = blocking::call(&Policy::DEFAULT, |_| Err("busy"))
    ///     .classify(|_| Verdict::RetryAfter(Duration::from_secs(9)))
    ///     .clock(&clock)
    ///     .run();
    /// clock.assert_slept(&[Duration::from_secs(9), Duration::from_secs(9)]);
    /// # assert!(result.is_err());
    /// ```
    pub fn classify<F: FnMut(&E) -> Verdict>(
        self,
        classify: F,
    ) -> BlockingCall<Op, G, K, Session<P, Judge<F>, H, L, R>> {
        self.with_session(|session| session.with_classify(Judge(classify)))
    }

    /// Hears of each retry, after it was decided and before its wait.
    ///
    /// ```
    /// use redial::{Policy, blocking, testing::ManualClock};
    /// let mut attempts = Vec::new();
    /// let result: Result<(), _> = blocking::call(&Policy::DEFAULT, |_| Err("down"))
    ///     .on_retry(|event| attempts.push(event.attempt))
    ///     .clock(&ManualClock::new())
    ///     .run();
    /// assert_eq!(attempts, [1, 2]);
    /// # assert!(result.is_err());
    /// ```
    pub fn on_retry<F: FnMut(&Event<'_, E>)>(
        self,
        on_retry: F,
    ) -> BlockingCall<Op, G, K, Session<P, C, OnRetry<F>, L, R>> {
        self.with_session(|session| session.with_hook(OnRetry(on_retry)))
    }

    /// Asks a circuit breaker before each attempt, and tells it how the attempt went. The error is
    /// [`Error`](crate::Error) from here on.
    ///
    /// ```
    /// use redial::{Breaker, Error, Policy, blocking, testing::ManualClock};
    /// let breaker = Breaker::builder().failures(3).build();
    /// let clock = ManualClock::new();
    /// let call = || blocking::call(&Policy::DEFAULT, |_| Err::<(), _>("down"))
    ///     .breaker(&breaker)
    ///     .clock(&clock)
    ///     .run();
    /// assert_eq!(call(), Err(Error::Failed("down")));
    /// assert_eq!(call(), Err(Error::BreakerOpen));
    /// ```
    pub fn breaker<'n>(
        self,
        breaker: &'n Breaker,
    ) -> BlockingCall<Op, Guarded<'n>, K, Session<P, C, H, L, R>>
    where
        G: 'n,
    {
        self.with_guard(|guard| Guarded { breaker: Some(breaker), ..guard.guarded() })
    }

    /// No attempt starts once this much time has passed since the start of the first one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, Stop, blocking, testing::ManualClock};
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let outcome = blocking::call(policy, |_| Err::<(), _>("down"))
    ///     .within(Duration::from_millis(2500))
    ///     .clock(&ManualClock::new())
    ///     .outcome();
    /// assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::Deadline)));
    /// ```
    pub fn within<'n>(
        self,
        within: Duration,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.limits = bounds.limits.within(within);
        self.with_session(|session| session.bounded(set))
    }

    /// The sum of all waits stays within this.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, Stop, blocking, testing::ManualClock};
    /// let policy = Backoff::constant(Duration::from_secs(1)).unlimited();
    /// let outcome = blocking::call(policy, |_| Err::<(), _>("down"))
    ///     .wait_budget(Duration::from_secs(2))
    ///     .clock(&ManualClock::new())
    ///     .outcome();
    /// assert_eq!((outcome.attempts, outcome.reason), (3, Some(Stop::WaitBudget)));
    /// ```
    pub fn wait_budget<'n>(
        self,
        wait_budget: Duration,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| {
            bounds.limits = bounds.limits.wait_budget(wait_budget);
        };
        self.with_session(|session| session.bounded(set))
    }

    /// A delay that a verdict dictates stops the call if it is longer than this. 120 s unless set.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, Stop, Verdict, blocking};
    /// let outcome = blocking::call(&Policy::DEFAULT, |_| Err::<(), _>("busy"))
    ///     .classify(|_| Verdict::RetryAfter(Duration::from_secs(61)))
    ///     .max_retry_after(Duration::from_secs(60))
    ///     .outcome();
    /// assert_eq!(outcome.reason, Some(Stop::RetryAfterTooLong));
    /// ```
    pub fn max_retry_after<'n>(
        self,
        max_retry_after: Duration,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| {
            bounds.limits = bounds.limits.max_retry_after(max_retry_after);
        };
        self.with_session(|session| session.bounded(set))
    }

    /// Leave to wake up to this much late; see [`Retry::tolerance`](crate::Retry::tolerance).
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Backoff, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let policy = Backoff::constant(Duration::from_millis(130)).attempts(2);
    /// let _: Result<(), ()> = blocking::call(policy, |_| Err(()))
    ///     .tolerance(Duration::from_millis(50))
    ///     .clock(&clock)
    ///     .run();
    /// clock.assert_slept(&[Duration::from_millis(150)]);
    /// ```
    pub fn tolerance<'n>(
        self,
        tolerance: Duration,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.tolerance = tolerance;
        self.with_session(|session| session.bounded(set))
    }

    /// The call's name in traces and metrics.
    ///
    /// ```
    /// use redial::{Policy, blocking};
    /// let result = blocking::call(&Policy::DEFAULT, |_| Ok::<_, ()>(1)).name("load-config").run();
    /// # assert_eq!(result, Ok(1));
    /// ```
    pub fn name<'n>(
        self,
        name: &'static str,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        let set = |bounds: &mut Bounded<'n>| bounds.name = name;
        self.with_session(|session| session.bounded(set))
    }

    /// Pays for each retry from a budget that many calls share; deposits the share of this call.
    ///
    /// ```
    /// use redial::{Budget, Policy, blocking, testing::ManualClock};
    /// let budget = Budget::new();
    /// let result: Result<(), _> = blocking::call(&Policy::DEFAULT, |_| Err("down"))
    ///     .budget(&budget)
    ///     .rng(|| 0) // no delay at all, so the floor adds nothing meanwhile
    ///     .clock(&ManualClock::new())
    ///     .run();
    /// assert_eq!(budget.tokens(), 98.0);
    /// # assert!(result.is_err());
    /// ```
    pub fn budget<'n>(
        self,
        budget: &'n Budget,
    ) -> BlockingCall<Op, G, K, Session<P, C, H, Bounded<'n>, R>>
    where
        L: 'n,
    {
        self.with_session(|session| {
            session.bounded(|bounds| bounds.limits = bounds.limits.budget(budget))
        })
    }

    /// Draws jitter from this seed: the same seed, the same delays, as `Policy::delays` foretells.
    ///
    /// ```
    /// use redial::{Policy, SplitMix64, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> =
    ///     blocking::call(&Policy::DEFAULT, |_| Err(())).seed(42).clock(&clock).run();
    /// let foretold: Vec<_> = Policy::DEFAULT.delays(SplitMix64::new(42)).collect();
    /// clock.assert_slept(&foretold);
    /// ```
    pub fn seed(self, seed: u64) -> BlockingCall<Op, G, K, Session<P, C, H, L, SplitMix64>> {
        self.rng(SplitMix64::new(seed))
    }

    /// Draws jitter from a source of your own.
    ///
    /// ```
    /// use std::time::Duration;
    /// use redial::{Policy, blocking, testing::ManualClock};
    /// let clock = ManualClock::new();
    /// let _: Result<(), ()> =
    ///     blocking::call(&Policy::DEFAULT, |_| Err(())).rng(|| u64::MAX).clock(&clock).run();
    /// clock.assert_slept(&[Duration::from_secs(1), Duration::from_secs(2)]);
    /// ```
    pub fn rng<N: Random>(self, random: N) -> BlockingCall<Op, G, K, Session<P, C, H, L, N>> {
        self.with_session(|session| session.with_random(random))
    }
}
