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
use core::marker::PhantomData;
use core::time::Duration;

use redial_core::{AsPolicy, Decision, Random, Stop, Time};

use crate::attempt::{Informed, Plain};
use crate::guard::{Fails, Open};
use crate::options::{Bounds, Judge, Options, RetryErrors, Unbounded};
use crate::outcome::{Answer, Failure, Ledger, Outcome, Told, Value};
use crate::retry::{Mode, OneCall, Retried, Retry};
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
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
#[inline]
pub fn retry<P, T, E>(policy: P, operation: impl FnMut() -> Result<T, E>) -> Result<T, E>
where
    P: AsPolicy,
{
    let mode = Blocking { operation: Plain(operation), types: PhantomData };
    Retry::of(mode, Options::new(policy, StdClock)).run()
}

/// A call with options: say more about it, then [`run`](Retry::run) it. The operation is told
/// which [`Attempt`] it is, and can ask how much time is left.
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
) -> Retry<Blocking<Informed<Op>, T, E>, Options<P, RetryErrors, Unbounded, Open, StdClock>>
where
    P: AsPolicy,
    Op: FnMut(Attempt<'_>) -> Result<T, E>,
{
    let mode = Blocking { operation: Informed(operation), types: PhantomData };
    Retry::of(mode, Options::new(policy, StdClock))
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

/// What is retried: a closure with or without an argument.
pub trait Operation<T, E> {
    #[doc(hidden)]
    fn attempt(&mut self, attempt: Attempt<'_>) -> Result<T, E>;
}

impl<T, E, F: FnMut() -> Result<T, E>> Operation<T, E> for Plain<F> {
    #[inline]
    fn attempt(&mut self, _attempt: Attempt<'_>) -> Result<T, E> {
        (self.0)()
    }
}

impl<T, E, F: FnMut(Attempt<'_>) -> Result<T, E>> Operation<T, E> for Informed<F> {
    #[inline]
    fn attempt(&mut self, attempt: Attempt<'_>) -> Result<T, E> {
        (self.0)(attempt)
    }
}

/// A call that blocks: what [`call`] makes.
#[derive(Debug)]
pub struct Blocking<Op, T, E> {
    operation: Op,
    types: PhantomData<fn() -> (T, E)>,
}

impl<Op, T, E> OneCall for Blocking<Op, T, E> {}

impl<Op, T, E> Retried for Blocking<Op, T, E> {
    type Value = T;
    type Error = E;
}

impl<Op, T, E, K, G> Mode<K, G> for Blocking<Op, T, E> {
    type State = ();

    const STARTED: bool = false;

    #[inline]
    fn idle() {}
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
#[diagnostic::on_unimplemented(
    message = "this call has no clock",
    label = "`{Self}` cannot tell the time or put a thread to sleep",
    note = "on wasm32-unknown-unknown a thread cannot sleep: use `redial::retry` and the feature `wasm`",
    note = "or name a clock first: `blocking::call(policy, operation).clock(…)`"
)]
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

/// The clock of the standard library. `wasm32-unknown-unknown` has none, and no thread there can
/// sleep: a blocking call is given a [`clock`](Retry::clock), or does not compile.
///
/// ```
/// use redial::blocking::{Clock, StdClock};
/// let earlier = StdClock.now();
/// assert!(StdClock.now() >= earlier);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StdClock;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
impl Clock for StdClock {
    fn now(&self) -> Time {
        crate::clock::time_of(std::time::Instant::now())
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// Out of line: a thread's sleep is a loop of its own, whose registers every call would pay for.
#[cold]
#[inline(never)]
fn sleep<P, J, B, G, K, R>(options: &Options<P, J, B, G, K, R>, delay: Duration)
where
    P: AsPolicy,
    B: Bounds,
    K: Clock,
    R: Random,
{
    if !is_skipped(delay) {
        options.clock.sleep(options.sleep_length(K::now, delay));
    }
}

impl<Op, T, E, P, J, B, G, K, R> Retry<Blocking<Op, T, E>, Options<P, J, B, G, K, R>>
where
    Op: Operation<T, E>,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E>,
{
    /// Runs a blocking call.
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
    pub fn run(self) -> Result<T, G::Error>
    where
        K: Clock,
        R: Random,
    {
        self.drive::<Value>()
    }

    /// Runs a blocking call and tells how it ended.
    ///
    /// ```
    /// use redial::{Policy, Stop, blocking, testing::ManualClock};
    /// let outcome = blocking::call(&Policy::DEFAULT, |_| Err::<(), _>("down"))
    ///     .clock(&ManualClock::new())
    ///     .outcome();
    /// assert_eq!(outcome.reason, Some(Stop::AttemptsSpent));
    /// ```
    pub fn outcome(self) -> Outcome<T, G::Error>
    where
        K: Clock,
        R: Random,
    {
        self.drive::<Told>()
    }

    #[inline]
    fn drive<A: Answer>(self) -> A::Output<T, G::Error>
    where
        K: Clock,
        R: Random,
    {
        let (mode, options) = self.into_parts();
        if options.is_timed(A::TIMED || J::KINDS) {
            drive_timed::<A, _, _, _, _, _, _, _, _, _>(mode.operation, options)
        } else {
            drive_from::<A, _, _, _, _, _, _, _, _, _>(mode.operation, options, Time::ZERO)
        }
    }
}

/// Apart, so that a call which does not look at the time has no room for it.
#[inline(never)]
fn drive_timed<A, Op, T, E, P, J, B, G, K, R>(
    operation: Op,
    options: Options<P, J, B, G, K, R>,
) -> A::Output<T, G::Error>
where
    A: Answer,
    Op: Operation<T, E>,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    let started = options.clock.now();
    drive_from::<A, _, _, _, _, _, _, _, _, _>(operation, options, started)
}

/// The loop. The options are moved into it only after the first failure: a call that succeeds at
/// once then need not even write down that it began. What the operation gives is matched where it
/// arrives: an error of several words that is stored first is loaded before it is there.
#[inline(always)]
fn drive_from<A, Op, T, E, P, J, B, G, K, R>(
    mut operation: Op,
    mut first: Options<P, J, B, G, K, R>,
    started: Time,
) -> A::Output<T, G::Error>
where
    A: Answer,
    Op: Operation<T, E>,
    P: AsPolicy,
    J: Judge<T, E>,
    B: Bounds,
    G: Fails<E>,
    K: Clock,
    R: Random,
{
    let mut ledger = A::Ledger::<G, E>::open();
    /// One attempt: returns from the loop, or goes on after the wait.
    macro_rules! attempt {
        ($options:ident) => {
            match $options.spans.attempt.scope(|| {
                operation.attempt(Attempt {
                    number: $options.call.failures().saturating_add(1),
                    deadline: $options.deadline(),
                    now: &|| $options.clock.now(),
                })
            }) {
                Ok(value) => {
                    let Some(verdict) = $options.judge.value(&value) else {
                        $options.guard.succeeded();
                        return $options.end::<A, T, E>(&mut ledger, Ok(value), None, K::now);
                    };
                    match $options.unaccepted::<T, E>(verdict, K::now) {
                        Ok(delay) => sleep(&$options, delay),
                        Err(reason) => {
                            let reason = Some(reason);
                            return $options.end::<A, T, E>(&mut ledger, Ok(value), reason, K::now);
                        }
                    }
                }
                Err(error) => {
                    $options.attempt_failed::<T, E>(Some(&error), false);
                    match $options.decide_error::<T, E>(K::now, &error) {
                        Decision::Wait(delay) => {
                            $options.retrying::<T, E>(delay, Some(&error), false);
                            ledger.record($options.call.failures(), Failure::Error(error));
                            if !is_skipped(delay) {
                                sleep(&$options, delay);
                            }
                        }
                        Decision::Stop(reason) => {
                            let (error, reason) = (Err(Failure::Error(error)), Some(reason));
                            return $options.end::<A, T, E>(&mut ledger, error, reason, K::now);
                        }
                    }
                }
            }
        };
    }
    first.call.start_at(started);
    first.deposit();
    first.spans.open(first.bounds.name());
    if let Err(cut) = first.admit(K::now) {
        return first.end::<A, T, E>(
            &mut ledger,
            Err(Failure::Cut(cut)),
            Some(Stop::BreakerOpen),
            K::now,
        );
    }
    attempt!(first);
    let mut options = first;
    loop {
        if let Err(cut) = options.admit(K::now) {
            return options.refused::<A, T, E>(cut, &mut ledger, K::now);
        }
        attempt!(options);
    }
}
