//! The verbs, one file or folder each.

pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod plan;
pub(crate) mod report;
