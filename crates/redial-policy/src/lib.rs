//! The notations of redial: many ways to write a policy, one meaning.

#![forbid(unsafe_code)]

mod diagnostic;
mod explain;
mod plan;

pub use diagnostic::{Diagnostic, Fix, Kind, Span};
pub use plan::{Plan, Row, Total};
