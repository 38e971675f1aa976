//! An operation that does as its script says.

use core::fmt;
use core::future::{Ready, ready};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    lines: Mutex<Lines<T, E>>,
}

struct Lines<T, E> {
    left: VecDeque<Result<T, E>>,
    length: usize,
    calls: usize,
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
        let left: VecDeque<_> = results.into_iter().collect();
        let length = left.len();
        Self { lines: Mutex::new(Lines { left, length, calls: 0 }) }
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
        let mut lines = self.lines();
        lines.calls += 1;
        let (length, calls) = (lines.length, lines.calls);
        let next = lines.left.pop_front();
        drop(lines);
        next.unwrap_or_else(|| panic!("the script has {length} results, and this is call {calls}"))
    }

    /// A call that panicked at the end of the script has left nothing half done.
    fn lines(&self) -> MutexGuard<'_, Lines<T, E>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.lines().calls
    }

    /// Whether all of it was played.
    ///
    /// ```
    /// use redial::testing::Script;
    /// assert!(!Script::<_, ()>::new([Ok(1)]).is_done());
    /// ```
    pub fn is_done(&self) -> bool {
        self.lines().left.is_empty()
    }
}

impl<T, E> fmt::Debug for Script<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").field("calls", &self.calls()).finish_non_exhaustive()
    }
}
