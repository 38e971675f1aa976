//! The loops around what is measured, the same for every subject.

use std::future::Future;
use std::hint::black_box;

use tokio::runtime::{Builder, Runtime};

/// What becomes of a result. One that does not travel in registers is lent: moving it would be a
/// copy of ours.
#[inline(always)]
fn consume<T>(result: T) {
    if size_of::<T>() > 2 * size_of::<usize>() {
        black_box(&result);
    } else {
        black_box(result);
    }
}

/// `times` blocking calls.
#[inline]
pub(crate) fn blocking<T>(times: u64, mut call: impl FnMut() -> T) {
    for _ in 0..times {
        consume(call());
    }
}

/// `times` calls, one after the other, on tokio's runtime of one thread.
#[inline]
pub(crate) fn awaited<F: Future>(times: u64, mut call: impl FnMut() -> F) {
    runtime().block_on(async move {
        for _ in 0..times {
            consume(call().await);
        }
    });
}

/// `times` delays, ten from each series.
#[inline]
pub(crate) fn first_ten<T, N: FnMut() -> T>(times: u64, series: impl Fn() -> N) {
    first(10, times, series);
}

/// `times` delays, so many from each series.
#[inline]
pub(crate) fn first<T, N: FnMut() -> T>(count: u64, times: u64, series: impl Fn() -> N) {
    // Opaque, or else the compiler works out delay 0 to 9 by itself.
    let count = black_box(count);
    for _ in 0..times / count {
        let mut next = series();
        blocking(count, &mut next);
    }
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime of one thread")
}
