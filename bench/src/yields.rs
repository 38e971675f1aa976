//! Whether a call lets others work.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

use crate::repeat::runtime;

/// How often `call` hands the thread back before it is done: polls that end with "pending".
pub(crate) fn yields<F: Future>(call: impl FnOnce(&'static Cell<u64>) -> F) -> f64 {
    // Leaked for the sake of simple lifetimes: eight bytes, a dozen times in the whole run.
    let calls: &'static Cell<u64> = Box::leak(Box::default());
    let mut yields = 0u32;
    runtime().block_on(async {
        let mut call = pin!(call(calls));
        poll_fn(|context| {
            let poll = call.as_mut().poll(context);
            yields += u32::from(poll.is_pending());
            poll.map(drop)
        })
        .await;
    });
    f64::from(yields)
}
