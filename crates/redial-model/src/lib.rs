//! The budget and the breaker of `redial-core` on the model checker's atomics.
//!
//! `loom` runs a model once for every order in which its threads can interleave, and for every
//! stale value that a load may return. What it checks are the core's own files, compiled here
//! with another `atomic` beneath them: there is no copy that could drift. The models are in
//! `tests/`.

#![forbid(unsafe_code)]

mod atomic;
#[path = "../../redial-core/src/breaker.rs"]
mod breaker;
#[path = "../../redial-core/src/budget.rs"]
mod budget;
mod check;
#[path = "../../redial-core/src/decimal.rs"]
#[allow(dead_code, reason = "the policies of the core use the rest")]
mod decimal;
#[path = "../../redial-core/src/invalid.rs"]
#[allow(dead_code, reason = "the policies of the core use the rest")]
mod invalid;
#[path = "../../redial-core/src/text.rs"]
#[allow(dead_code, reason = "the policies of the core use the rest")]
mod text;
#[path = "../../redial-core/src/time.rs"]
mod time;

// Two limits that only the messages about policies name. No model has a policy, so any number does,
// and the files they come from need not be here.
mod modifier {
    pub(crate) const CHAIN_MAX: usize = 0;
}
mod source {
    pub(crate) const LIST_MAX: usize = 0;
}

pub use breaker::{Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Permit};
pub use budget::{Budget, BudgetBuilder, BudgetSnapshot};
pub use check::{bounded, exhaustive};
pub use invalid::Invalid;
pub use time::{Pretty, Time};
