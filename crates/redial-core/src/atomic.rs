//! The one atomic that shared state is made of. The model checker puts its own here.

pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
