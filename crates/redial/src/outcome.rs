//! How a call ended, for whoever asks: errors, reasons, history, and the event of one retry.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use redial_core::Stop;

/// The error of a call that can end without an error of the operation's own: one that carries a
/// `timeout` or a breaker.
///
/// ```
/// use redial::Error;
///
/// let error: Error<std::io::Error> = Error::TimedOut;
/// assert_eq!(error.to_string(), "the last attempt timed out");
/// assert!(error.into_inner().is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error<E> {
    /// The operation's own last error.
    Failed(E),
    /// The last attempt was cut by the timeout.
    TimedOut,
    /// The circuit breaker was open, and nothing ran.
    BreakerOpen,
}

impl<E> Error<E> {
    /// The operation's own error, where there is one.
    ///
    /// ```
    /// use redial::Error;
    /// assert_eq!(Error::Failed("refused").into_inner(), Some("refused"));
    /// ```
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::TimedOut | Self::BreakerOpen => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut => f.pad("the last attempt timed out"),
            Self::BreakerOpen => f.pad("the circuit breaker is open"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            Self::TimedOut | Self::BreakerOpen => None,
        }
    }
}

/// One retry, as `on_retry` sees it: an attempt has failed, and the wait is about to begin.
///
/// ```
/// use redial::{Policy, blocking, testing::ManualClock};
///
/// let mut seen = Vec::new();
/// let result: Result<(), &str> = blocking::call(&Policy::CONTENTION, |_| Err("taken"))
///     .on_retry(|event| seen.push((event.attempt, event.error.copied())))
///     .clock(&ManualClock::new())
///     .run();
/// assert_eq!(result, Err("taken"));
/// assert_eq!(seen[0], (1, Some("taken")));
/// assert_eq!(seen.len(), 6);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Event<'e, E> {
    /// The attempt that failed, counted from 1.
    pub attempt: u32,
    /// How many attempts there are at most; `None` where they are unlimited.
    pub attempts: Option<u32>,
    /// How long it waits now.
    pub delay: Duration,
    /// The sum of all waits, this one included.
    pub waited: Duration,
    /// The operation's error; `None` where the attempt timed out.
    pub error: Option<&'e E>,
}

/// How a whole call ended: the result, and how it came about.
///
/// ```
/// use redial::{Policy, Stop, blocking, testing::ManualClock};
///
/// let outcome = blocking::call(&Policy::DEFAULT, |attempt| match attempt.number {
///         1 => Err("refused"),
///         2 => Err("reset"),
///         _ => Ok("page"),
///     })
///     .clock(&ManualClock::new())
///     .outcome();
/// assert_eq!(outcome.result, Ok("page"));
/// assert_eq!(outcome.attempts, 3);
/// assert!(outcome.recovered());
/// assert_eq!(outcome.errors().collect::<Vec<_>>(), [(1, &"refused"), (2, &"reset")]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "an outcome holds the result of the call"]
pub struct Outcome<T, E> {
    /// The value, or the last error.
    pub result: Result<T, E>,
    /// Why it stopped; `None` where it succeeded.
    pub reason: Option<Stop>,
    /// How many attempts were started.
    pub attempts: u32,
    /// The sum of all waits.
    pub waited: Duration,
    /// From the start of the first attempt to the end.
    pub elapsed: Duration,
    history: History<E>,
}

impl<T, E> Outcome<T, E> {
    /// Success, though not at the first attempt: a flaky one.
    ///
    /// ```
    /// use redial::{Policy, blocking};
    /// let outcome = blocking::call(&Policy::DEFAULT, |_| Ok::<_, ()>(1)).outcome();
    /// assert!(!outcome.recovered());
    /// ```
    pub fn recovered(&self) -> bool {
        self.result.is_ok() && self.attempts > 1
    }

    /// The attempts' errors with their numbers: the first eight and the last eight, the one in
    /// `result` included. A call that a breaker refused before it ran has none.
    ///
    /// ```
    /// use redial::{Backoff, blocking};
    /// let policy = Backoff::none().attempts(100);
    /// let outcome = blocking::call(policy, |attempt| Err::<(), _>(attempt.number)).outcome();
    /// let kept: Vec<u32> = outcome.errors().map(|(_, error)| *error).collect();
    /// assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7, 8, 93, 94, 95, 96, 97, 98, 99, 100]);
    /// ```
    pub fn errors(&self) -> impl Iterator<Item = (u32, &E)> {
        let last = self.result.as_ref().err().map(|error| (self.attempts, error));
        let last = last.filter(|(attempt, _)| *attempt > 0);
        self.history.iter().chain(last)
    }
}

/// What a call is to say of itself at its end.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub(crate) reason: Option<Stop>,
    pub(crate) attempts: u32,
    pub(crate) waited: Duration,
    pub(crate) elapsed: Duration,
}

/// What becomes of the errors on the way, and of the result at the end.
pub trait Ledger<E> {
    /// What the call gives its caller.
    type Output<T>;

    /// Whether the time that the call took is wanted.
    const TIMED: bool;

    #[doc(hidden)]
    fn open() -> Self;
    /// An attempt failed and another will follow.
    #[doc(hidden)]
    fn record(&mut self, attempt: u32, error: E);
    /// The error of the attempt before, for a call that stops without a new one.
    #[doc(hidden)]
    fn last(&mut self) -> Option<E>;
    #[doc(hidden)]
    fn close<T>(&mut self, result: Result<T, E>, report: Report) -> Self::Output<T>;
}

/// Keeps nothing: an error that will be retried is dropped before the wait.
#[derive(Debug)]
pub struct Forget;

impl<E> Ledger<E> for Forget {
    type Output<T> = Result<T, E>;
    const TIMED: bool = false;

    #[inline]
    fn open() -> Self {
        Self
    }

    #[inline]
    fn record(&mut self, _attempt: u32, _error: E) {}

    #[inline]
    fn last(&mut self) -> Option<E> {
        None
    }

    #[inline]
    fn close<T>(&mut self, result: Result<T, E>, _report: Report) -> Result<T, E> {
        result
    }
}

/// Keeps the error before: a breaker may refuse the attempt that would have made a new one.
#[derive(Debug)]
pub struct KeepLast<E>(Option<E>);

impl<E> Ledger<E> for KeepLast<E> {
    type Output<T> = Result<T, E>;
    const TIMED: bool = false;

    fn open() -> Self {
        Self(None)
    }

    fn record(&mut self, _attempt: u32, error: E) {
        self.0 = Some(error);
    }

    fn last(&mut self) -> Option<E> {
        self.0.take()
    }

    fn close<T>(&mut self, result: Result<T, E>, _report: Report) -> Result<T, E> {
        result
    }
}

/// Keeps the first eight errors and the last eight, for an [`Outcome`].
#[derive(Clone, Debug)]
pub(crate) struct History<E> {
    first: Vec<(u32, E)>,
    last: VecDeque<(u32, E)>,
}

const KEPT: usize = 8;

impl<E> History<E> {
    fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        self.first.iter().chain(&self.last).map(|(attempt, error)| (*attempt, error))
    }
}

impl<E> Ledger<E> for History<E> {
    type Output<T> = Outcome<T, E>;
    const TIMED: bool = true;

    fn open() -> Self {
        Self { first: Vec::new(), last: VecDeque::new() }
    }

    fn record(&mut self, attempt: u32, error: E) {
        if self.first.len() < KEPT {
            self.first.push((attempt, error));
            return;
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((attempt, error));
    }

    fn last(&mut self) -> Option<E> {
        self.last.pop_back().or_else(|| self.first.pop()).map(|(_, error)| error)
    }

    fn close<T>(&mut self, result: Result<T, E>, report: Report) -> Outcome<T, E> {
        // The error in the result is one of the last eight.
        if result.is_err() && self.last.len() == KEPT {
            self.last.pop_front();
        }
        let Report { reason, attempts, waited, elapsed } = report;
        let history = core::mem::replace(self, Self::open());
        Outcome { result, reason, attempts, waited, elapsed, history }
    }
}
