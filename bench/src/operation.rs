//! What is retried: operations that the compiler cannot see through.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::hint::black_box;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// What an operation fails with. It carries something, as errors do.
#[derive(Debug)]
pub(crate) struct Failure(u64);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it failed")
    }
}

impl Error for Failure {}

/// 32 bytes that the compiler knows nothing of: a result that does not travel in registers.
#[derive(Debug)]
pub(crate) struct LargeFailure(#[expect(dead_code, reason = "it is there to be carried")] [u64; 4]);

impl fmt::Display for LargeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it failed")
    }
}

impl Error for LargeFailure {}

impl From<Failure> for LargeFailure {
    fn from(failure: Failure) -> Self {
        Self(black_box([failure.0, 2, 3, 4]))
    }
}

/// Succeeds at once, and could fail with something large.
#[inline(never)]
pub(crate) fn succeed_or_large() -> Result<u64, LargeFailure> {
    black_box(Ok(1))
}

/// Fails three times with something large, succeeds, …
#[inline(never)]
pub(crate) fn fail_large_three_times(calls: &Cell<u64>) -> Result<u64, LargeFailure> {
    let call = calls.get() + 1;
    calls.set(call);
    if call.is_multiple_of(4) { Ok(call) } else { Err(LargeFailure([call; 4])) }
}

/// Succeeds at once.
#[inline(never)]
pub(crate) fn succeed() -> Result<u64, Failure> {
    black_box(Ok(1))
}

/// Fails three times, succeeds, fails three times, succeeds, …
#[inline(never)]
pub(crate) fn fail_three_times(calls: &Cell<u64>) -> Result<u64, Failure> {
    let call = calls.get() + 1;
    calls.set(call);
    if call & black_box(3) == 0 { Ok(call) } else { Err(Failure(call)) }
}

/// An operation of 24 bytes that succeeds when it is first polled, and whose error type is the
/// one that the caller's library wants.
pub(crate) struct Succeeding<E = Failure> {
    state: [u64; 3],
    error: PhantomData<fn() -> E>,
}

impl<E> Succeeding<E> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { state: [1, 2, 3], error: PhantomData }
    }
}

impl<E> Future for Succeeding<E> {
    type Output = Result<u64, E>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        black_box(Poll::Ready(Ok(self.state[0])))
    }
}

/// How often a [`Failing`] operation has failed, in the whole process.
pub(crate) static FAILURES: AtomicU64 = AtomicU64::new(0);

/// The same, failing.
pub(crate) struct Failing<E = Failure> {
    state: [u64; 3],
    error: PhantomData<fn() -> E>,
}

impl<E> Failing<E> {
    pub(crate) fn new() -> Self {
        Self { state: [1, 2, 3], error: PhantomData }
    }
}

impl<E: From<Failure>> Future for Failing<E> {
    type Output = Result<u64, E>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        FAILURES.fetch_add(1, Ordering::Relaxed);
        black_box(Poll::Ready(Err(Failure(self.state[0]).into())))
    }
}

/// Fails three times, succeeds, …: each future is one attempt.
pub(crate) struct FailingThrice<'c, E = Failure> {
    calls: &'c Cell<u64>,
    error: PhantomData<fn() -> E>,
}

impl<'c, E> FailingThrice<'c, E> {
    pub(crate) fn new(calls: &'c Cell<u64>) -> Self {
        Self { calls, error: PhantomData }
    }
}

impl<E: From<Failure>> Future for FailingThrice<'_, E> {
    type Output = Result<u64, E>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(fail_three_times(self.calls).map_err(E::from))
    }
}
