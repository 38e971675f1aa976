//! An operation that does as its script says.

use core::fmt;
use core::future::{Ready, ready};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// An operation whose results are written down beforehand.
///
/// ```
/// use redial::{Policy, blocking, testing::{ManualClock, Script}};
///
/// let script = Script::new([Err("refused"), Ok(7)]);
/// let result =
///     blocking::call(&Policy::DEFAULT, |_| script.call()).clock(&ManualClock::new()).run();
/// assert_eq!(result, Ok(7));
/// assert_eq!(script.calls(), 2);
/// assert!(script.is_done());
/// ```
pub struct Script<T, E> {
    lines: Mutex<(VecDeque<Result<T, E>>, usize)>,
}

impl<T, E> Script<T, E> {
    /// An operation that gives these results, one a call.
    ///
    /// ```
    /// use redial::testing::Script;
    /// let script: Script<(), &str> = Script::new([Err("once"), Ok(())]);
    /// assert_eq!(script.call(), Err("once"));
    /// ```
    pub fn new(results: impl IntoIterator<Item = Result<T, E>>) -> Self {
        Self { lines: Mutex::new((results.into_iter().collect(), 0)) }
    }

    /// The next result, for a blocking call.
    ///
    /// ```
    /// use redial::testing::Script;
    /// assert_eq!(Script::<_, ()>::new([Ok(1)]).call(), Ok(1));
    /// ```
    ///
    /// # Panics
    ///
    /// Where the script is at its end: the call under test went on for longer than it was written
    /// to.
    #[track_caller]
    pub fn call(&self) -> Result<T, E> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.1 += 1;
        let calls = lines.1;
        match lines.0.pop_front() {
            Some(result) => result,
            None => {
                drop(lines);
                panic!("the script has {} results, and this is call {calls}", calls - 1)
            }
        }
    }

    /// The next result, for an async call.
    ///
    /// ```
    /// use redial::testing::Script;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// assert_eq!(Script::<_, ()>::new([Ok(1)]).next().await, Ok(1));
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// As [`call`](Self::call).
    #[track_caller]
    pub fn next(&self) -> Ready<Result<T, E>> {
        ready(self.call())
    }

    /// How often it was called.
    ///
    /// ```
    /// use redial::testing::Script;
    /// assert_eq!(Script::<(), ()>::new([]).calls(), 0);
    /// ```
    pub fn calls(&self) -> usize {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// Whether all of it was played.
    ///
    /// ```
    /// use redial::testing::Script;
    /// assert!(!Script::<_, ()>::new([Ok(1)]).is_done());
    /// ```
    pub fn is_done(&self) -> bool {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).0.is_empty()
    }
}

impl<T, E> fmt::Debug for Script<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
