//! Steps that are functions of a Rust program, and survive a KILL of it.

mod conduct;
mod error;
mod log;
mod map;
mod reply;
mod run;
mod step;
mod store;
mod timing;

pub use error::{DeadLetter, RunError, Stopped};
pub use map::MapCall;
pub use run::Run;
pub use step::{Attempt, Retrying, StepCall};
pub use store::{Options, RunCall, Store, Unfinished};

pub use crate::flow::{BreakerSettings, BudgetSettings, Rate};
pub use crate::journal::Sync;
