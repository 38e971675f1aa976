//! How much of a model is explored.

use std::cell::Cell;
use std::sync::Arc;

use loom::model::Builder;

/// What a load may return.
#[derive(Clone, Copy)]
pub(crate) enum Loads {
    /// The latest value. The orders in which the threads can take their steps are all there is.
    Latest,
    /// Any value that the memory model allows: also one that is no longer there.
    Stale,
}

thread_local! {
    /// Of the model that this thread checks: `loom` runs all threads of a model in one.
    static LOADS: Cell<Loads> = const { Cell::new(Loads::Stale) };
}

pub(crate) fn loads() -> Loads {
    LOADS.get()
}

/// Every interleaving there is; then, as in [`bounded`], the stale loads.
pub fn exhaustive(model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    run(Loads::Latest, None, Arc::clone(&model));
    run(Loads::Stale, Some(preemptions()), model);
}

/// Every interleaving, and every stale load, where threads are interrupted at most twice while
/// they could have run on: for models that have millions of others. Most races need only one.
///
/// `LOOM_MAX_PREEMPTIONS` sets another bound.
pub fn bounded(model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    run(Loads::Latest, Some(preemptions()), Arc::clone(&model));
    run(Loads::Stale, Some(preemptions()), model);
}

fn preemptions() -> usize {
    Builder::new().preemption_bound.unwrap_or(2)
}

fn run(loads: Loads, preemptions: Option<usize>, model: Arc<impl Fn() + Send + Sync + 'static>) {
    LOADS.set(loads);
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || model());
}
