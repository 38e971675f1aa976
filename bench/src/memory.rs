//! What is allocated: how often, and how much of it at once.
#![expect(unsafe_code, reason = "an allocator that counts is an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::yield_now;

use crate::operation::FAILURES;
use crate::repeat::runtime;
use crate::subject::Loop;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES_LIVE: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counted.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES_LIVE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES_LIVE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations per call of `run`, without those that come with the loop.
pub(crate) fn allocations(run: Loop) -> f64 {
    const FEW: u64 = 100;
    const MANY: u64 = 1_100;
    let count = |times| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        run(times);
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    let few = count(FEW);
    (count(MANY) as f64 - few as f64) / (MANY - FEW) as f64
}

/// Heap bytes per task while 100 000 tasks are asleep, each after its `Failing` operation failed.
pub(crate) fn per_sleeping_task<F>(call: impl Fn() -> F) -> f64
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    const TASKS: u64 = 100_000;
    // A few at a time, so that the runtime's queue does not grow into the figure.
    const BATCH: u64 = 20;
    runtime().block_on(async {
        let failures_before = FAILURES.load(Ordering::Relaxed);
        let bytes_before = BYTES_LIVE.load(Ordering::Relaxed);
        for batch in 1..=TASKS / BATCH {
            for _ in 0..BATCH {
                tokio::spawn(call());
            }
            while FAILURES.load(Ordering::Relaxed) - failures_before < batch * BATCH {
                yield_now().await;
            }
        }
        // To the nearest byte: what the runtime keeps for itself is a fraction of one.
        ((BYTES_LIVE.load(Ordering::Relaxed) - bytes_before) as f64 / TASKS as f64).round()
    })
}
