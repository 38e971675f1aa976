//! Drawing: one table, one axis, one SVG writer and one HTML page for every verb, and what each verb
//! draws with them.

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
pub(crate) mod shared;
pub(crate) mod svg;
pub(crate) mod table;

// After the others, as in `verb.rs`.
pub(crate) mod find;
pub(crate) mod flow;
