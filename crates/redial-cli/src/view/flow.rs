//! The runs of flows: what has become of them, where their time went, their dead letters, their timelines.

pub(crate) mod dead;
pub(crate) mod document;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod status;
mod tables;
mod timeline;
pub(crate) mod trace;
pub(crate) mod words;
