//! One attempt, as the operation sees it.

use core::future::Future;
use core::time::Duration;

/// What the operation of an async call may know of the attempt that it is: see
/// [`retry_with`](crate::retry_with).
///
/// ```
/// use redial::{Policy, retry_with};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// let result = retry_with(&Policy::DEFAULT, |attempt| async move {
///     if attempt.number < 3 { Err("busy") } else { Ok(attempt.number) }
/// });
/// assert_eq!(result.await, Ok(3));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// How much of `within` is left when it starts; `None` where there is no deadline. Pass it on to
    /// whatever can time out.
    pub left: Option<Duration>,
}

/// What is retried: a closure with or without an argument.
pub trait Operation<Output> {
    /// Whether it wants to know of the attempt.
    #[doc(hidden)]
    const ASKS: bool;

    #[doc(hidden)]
    fn attempt(&mut self, attempt: Attempt) -> Output;
}

/// A closure without arguments.
#[derive(Clone, Copy, Debug)]
pub struct Plain<F>(pub(crate) F);

/// A closure that is told which [`Attempt`] it is.
#[derive(Clone, Copy, Debug)]
pub struct Informed<F>(pub(crate) F);

impl<F: FnMut() -> Output, Output> Operation<Output> for Plain<F> {
    const ASKS: bool = false;

    #[inline]
    fn attempt(&mut self, _attempt: Attempt) -> Output {
        (self.0)()
    }
}

impl<F: FnMut(Attempt) -> Output, Output> Operation<Output> for Informed<F> {
    const ASKS: bool = true;

    #[inline]
    fn attempt(&mut self, attempt: Attempt) -> Output {
        (self.0)(attempt)
    }
}

/// The future of one attempt, with what it gives and how it fails as types of its own.
///
/// Not `F: Future<Output = Result<T, E>>`: inside of a spawned task the compiler forgets that the
/// lifetimes in `T` and `E` are those in `F`, and then the future of a call is not `Send`.
pub trait AttemptFuture: Future<Output = Result<Self::Value, Self::Error>> {
    /// What it gives.
    type Value;
    /// How it fails.
    type Error;
}

impl<F: Future<Output = Result<T, E>>, T, E> AttemptFuture for F {
    type Value = T;
    type Error = E;
}
