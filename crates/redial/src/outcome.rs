//! How a call ended, for whoever asks: errors, reasons, history, and the event of one retry.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use redial_core::Stop;

use crate::guard::{Fails, Guard};

/// The error of a call that can end without an error of the operation's own: one that carries a
/// `timeout` or a breaker.
///
/// ```
/// use redial::Error;
///
/// let error: Error<std::io::Error> = Error::TimedOut(None);
/// assert_eq!(error.to_string(), "the last attempt timed out");
/// assert!(error.into_inner().is_none());
/// ```
///
/// It is a [`std::error::Error`] where `E` is one, so `?` turns it into `anyhow::Error` and
/// `Box<dyn Error + Send + Sync>`, and into an error of your own by `From<redial::Error<E>>`.
/// `Failed(E)` prints as `E` does and has the sources of `E`, so that a report has no message twice;
/// `E` itself is in it, by [`inner`](Self::inner). Where
/// `E` is itself `anyhow::Error` or `Box<dyn Error + Send + Sync>`, the call gives `E` back, and an
/// [`Interrupted`] in it where it has none of the operation's. To keep any other `E` as it is, say
/// what a timeout is in it: [`error_from`](crate::Retry::error_from).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error<E> {
    /// The operation's own last error.
    Failed(E),
    /// The last attempt was cut by the timeout. The last error of the operation's own, of an
    /// attempt before, is in it; in an [`Outcome`] it is among the errors instead.
    TimedOut(Option<E>),
    /// The circuit breaker was open, and nothing ran.
    BreakerOpen,
}

impl<E> Error<E> {
    /// The operation's own last error, if it ever failed by itself.
    ///
    /// ```
    /// use redial::Error;
    /// assert_eq!(Error::Failed("refused").into_inner(), Some("refused"));
    /// assert_eq!(Error::TimedOut(Some("refused")).into_inner(), Some("refused"));
    /// ```
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Failed(error) => Some(error),
            Self::TimedOut(last) => last,
            Self::BreakerOpen => None,
        }
    }

    /// The same, where it is.
    ///
    /// ```
    /// use redial::Error;
    /// assert_eq!(Error::Failed("refused").inner(), Some(&"refused"));
    /// assert_eq!(Error::<()>::BreakerOpen.inner(), None);
    /// ```
    pub fn inner(&self) -> Option<&E> {
        match self {
            Self::Failed(error) | Self::TimedOut(Some(error)) => Some(error),
            Self::TimedOut(None) | Self::BreakerOpen => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut(_) => Cause::TimedOut.fmt(f),
            Self::BreakerOpen => Cause::BreakerOpen.fmt(f),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            Self::TimedOut(Some(last)) => Some(last),
            Self::TimedOut(None) | Self::BreakerOpen => None,
        }
    }
}

/// What ended a call in place of the operation.
///
/// ```
/// assert_eq!(redial::Cause::TimedOut.to_string(), "the last attempt timed out");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The last attempt was cut by the timeout.
    TimedOut,
    /// The circuit breaker was open, and nothing ran.
    BreakerOpen,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TimedOut => "the last attempt timed out",
            Self::BreakerOpen => "the circuit breaker is open",
        })
    }
}

/// A call that ended without an error of the operation's own, for
/// [`error_from`](crate::Retry::error_from). It is what `anyhow::Error` and
/// `Box<dyn Error + Send + Sync>` hold after a timeout or an open breaker.
///
/// ```
/// use redial::{Cause, Interrupted};
///
/// type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// let error = BoxError::from(Interrupted { cause: Cause::TimedOut, last: Some(BoxError::from("refused")) });
/// assert_eq!(error.to_string(), "the last attempt timed out");
/// assert_eq!(error.source().unwrap().to_string(), "refused"); // the attempt before
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interrupted<E> {
    /// What ended it.
    pub cause: Cause,
    /// The last error of the operation's own, of an attempt before.
    pub last: Option<E>,
}

impl<E> fmt::Display for Interrupted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<E> core::error::Error for Interrupted<E>
where
    E: core::ops::Deref<Target = dyn core::error::Error + Send + Sync> + fmt::Debug,
{
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.last.as_deref().map(|last| last as _)
    }
}

/// One retry, as `on_retry` sees it: an attempt has failed, and the wait is about to begin. Or a hedge,
/// see `hedge`.
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
    /// The attempt that failed, or is slow, counted from 1.
    pub attempt: u32,
    /// How many attempts there are at most; `None` where they are unlimited.
    pub attempts: Option<u32>,
    /// How long it waits now.
    pub delay: Duration,
    /// The sum of all waits, this one included.
    pub waited: Duration,
    /// The operation's error; `None` where the attempt timed out, gave a value that is worth another
    /// attempt, or is slow.
    pub error: Option<&'e E>,
    /// Whether the attempt was cut by the timeout.
    pub timed_out: bool,
    /// Whether this is a hedge: the attempt has not failed, and another starts beside it now.
    pub hedge: bool,
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
    /// Why it stopped; `None` where it succeeded. A last value that was worth another attempt has a
    /// reason, too: see [`retry_ok_if`](crate::Retry::retry_ok_if).
    pub reason: Option<Stop>,
    /// How many attempts were started.
    pub attempts: u32,
    /// Which of them the result is from: the last, unless there were hedges.
    pub attempt: u32,
    /// How many of them were hedges.
    pub hedges: u32,
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
        self.reason.is_none() && self.attempt > 1
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
        let last = self.result.as_ref().err().map(|error| (self.attempt, error));
        let last = last.filter(|(attempt, _)| *attempt > 0);
        self.history.iter().chain(last)
    }
}

/// What a call is to say of itself at its end.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub(crate) reason: Option<Stop>,
    pub(crate) attempts: u32,
    pub(crate) attempt: u32,
    pub(crate) hedges: u32,
    pub(crate) waited: Duration,
    pub(crate) elapsed: Duration,
}

/// Why an attempt failed: the operation's error, or what cut it.
#[derive(Clone, Copy, Debug)]
pub enum Failure<E, Cut> {
    /// The operation's own.
    Error(E),
    /// What cut it.
    Cut(Cut),
}

impl<E, Cut> Failure<E, Cut> {
    #[inline]
    pub(crate) fn error(&self) -> Option<&E> {
        match self {
            Self::Error(error) => Some(error),
            Self::Cut(_) => None,
        }
    }

    #[inline]
    pub(crate) fn answer<G: Fails<E, Cut = Cut>>(self, guard: &mut G, last: Option<E>) -> G::Error {
        match self {
            Self::Error(error) => guard.own(error),
            Self::Cut(cut) => guard.interrupted(cut, last),
        }
    }
}

/// What becomes of the failures on the way.
pub trait Ledger<E, Cut> {
    #[doc(hidden)]
    fn open() -> Self;
    /// An attempt failed and another will follow.
    #[doc(hidden)]
    fn record(&mut self, attempt: u32, failure: Failure<E, Cut>);
    /// The failure of the attempt before, for a call that stops without a new one.
    #[doc(hidden)]
    fn last(&mut self) -> Option<Failure<E, Cut>>;
    /// The last error of the operation's own, to go with a timeout.
    #[doc(hidden)]
    fn last_error(&mut self) -> Option<E>;
}

/// Keeps nothing: an error that will be retried is dropped before the wait.
#[derive(Debug)]
pub struct Forget;

impl<E, Cut> Ledger<E, Cut> for Forget {
    #[inline]
    fn open() -> Self {
        Self
    }

    #[inline]
    fn record(&mut self, _attempt: u32, _failure: Failure<E, Cut>) {}

    #[inline]
    fn last(&mut self) -> Option<Failure<E, Cut>> {
        None
    }

    #[inline]
    fn last_error(&mut self) -> Option<E> {
        None
    }
}

/// Keeps the last error: a breaker may refuse the attempt that would have made a new one, and a
/// timeout makes none.
#[derive(Debug)]
pub struct KeepLast<E> {
    error: Option<E>,
    cut: Option<Cause>,
}

impl<E> Ledger<E, Cause> for KeepLast<E> {
    #[inline]
    fn open() -> Self {
        Self { error: None, cut: None }
    }

    fn record(&mut self, _attempt: u32, failure: Failure<E, Cause>) {
        match failure {
            Failure::Error(error) => *self = Self { error: Some(error), cut: None },
            Failure::Cut(cut) => self.cut = Some(cut),
        }
    }

    fn last(&mut self) -> Option<Failure<E, Cause>> {
        match self.cut {
            Some(cut) => Some(Failure::Cut(cut)),
            None => self.error.take().map(Failure::Error),
        }
    }

    fn last_error(&mut self) -> Option<E> {
        self.error.take()
    }
}

/// Keeps the first eight errors and the last eight, for an [`Outcome`].
#[derive(Clone, Debug)]
pub struct History<E> {
    first: Vec<(u32, E)>,
    last: VecDeque<(u32, E)>,
}

const KEPT: usize = 8;

impl<E> History<E> {
    fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        self.first.iter().chain(&self.last).map(|(attempt, error)| (*attempt, error))
    }

    fn map<N>(self, mut change: impl FnMut(E) -> N) -> History<N> {
        let mut change = |(attempt, error)| (attempt, change(error));
        History {
            first: self.first.into_iter().map(&mut change).collect(),
            last: self.last.into_iter().map(&mut change).collect(),
        }
    }
}

impl<E, Cut> Ledger<E, Cut> for History<Failure<E, Cut>> {
    fn open() -> Self {
        Self { first: Vec::new(), last: VecDeque::new() }
    }

    fn record(&mut self, attempt: u32, failure: Failure<E, Cut>) {
        if self.first.len() < KEPT {
            self.first.push((attempt, failure));
            return;
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((attempt, failure));
    }

    fn last(&mut self) -> Option<Failure<E, Cut>> {
        self.last.pop_back().or_else(|| self.first.pop()).map(|(_, failure)| failure)
    }

    fn last_error(&mut self) -> Option<E> {
        None
    }
}

/// What a call gives its caller: the result alone, or how it came about.
pub trait Answer {
    /// What keeps the errors on the way.
    type Ledger<G: Guard, E>: Ledger<E, G::Cut>;
    /// It, for a value and an error.
    type Output<T, E>;

    /// Whether the time that the call took is wanted.
    #[doc(hidden)]
    const TIMED: bool;

    #[doc(hidden)]
    fn close<T, E, G: Fails<E>>(
        ledger: &mut Self::Ledger<G, E>,
        guard: &mut G,
        result: Result<T, Failure<E, G::Cut>>,
        report: Report,
    ) -> Self::Output<T, G::Error>;
}

/// The result.
#[derive(Clone, Copy, Debug)]
pub struct Value;

impl Answer for Value {
    type Ledger<G: Guard, E> = G::Ledger<E>;
    type Output<T, E> = Result<T, E>;
    const TIMED: bool = false;

    #[inline]
    fn close<T, E, G: Fails<E>>(
        ledger: &mut G::Ledger<E>,
        guard: &mut G,
        result: Result<T, Failure<E, G::Cut>>,
        _report: Report,
    ) -> Result<T, G::Error> {
        match result {
            Ok(value) => Ok(value),
            Err(failure) => Err(failure.answer(guard, ledger.last_error())),
        }
    }
}

/// An [`Outcome`].
#[derive(Clone, Copy, Debug)]
pub struct Told;

impl Answer for Told {
    type Ledger<G: Guard, E> = History<Failure<E, G::Cut>>;
    type Output<T, E> = Outcome<T, E>;
    const TIMED: bool = true;

    fn close<T, E, G: Fails<E>>(
        ledger: &mut History<Failure<E, G::Cut>>,
        guard: &mut G,
        result: Result<T, Failure<E, G::Cut>>,
        report: Report,
    ) -> Outcome<T, G::Error> {
        // The error in the result is one of the last eight.
        if result.is_err() && ledger.last.len() == KEPT {
            ledger.last.pop_front();
        }
        let Report { reason, attempts, attempt, hedges, waited, elapsed } = report;
        let mut history = History { first: Vec::new(), last: VecDeque::new() };
        core::mem::swap(ledger, &mut history);
        let history = history.map(|failure| failure.answer(guard, None));
        let result = result.map_err(|failure| failure.answer(guard, None));
        Outcome { result, reason, attempts, attempt, hedges, waited, elapsed, history }
    }
}
