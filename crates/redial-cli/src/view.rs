//! What is shown, and how: one table, one axis, one writer of SVG and one page for every verb, and
//! on them what each verb shows.

// `redial run` needs the first two; see `main.rs`.
pub(crate) mod duration;
pub(crate) mod text;

pub(crate) mod axis;
pub(crate) mod chart;
pub(crate) mod diagnostic;
pub(crate) mod number;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod svg;
pub(crate) mod table;
