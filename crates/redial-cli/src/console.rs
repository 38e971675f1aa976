//! What is said to people while something runs.

mod countdown;
pub(crate) mod github;
pub(crate) mod narrator;
mod screen;
