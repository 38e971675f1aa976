//! The verbs, one file or folder each.

// First, as in `main.rs`.
#[cfg(unix)]
pub(crate) mod run;

pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod find;
pub(crate) mod help;
pub(crate) mod plan;
pub(crate) mod report;
#[cfg(unix)]
pub(crate) mod shared;
pub(crate) mod simulate;
pub(crate) mod tune;
// After the others: none of it is needed by `run`.
pub(crate) mod completions;
#[cfg(unix)]
pub(crate) mod conduct;
pub(crate) mod flow;
#[cfg(unix)]
pub(crate) mod map;
#[cfg(unix)]
pub(crate) mod said;
