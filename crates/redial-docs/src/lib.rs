//! Compiles the Rust examples of the repository's own pages. A published crate cannot do that: the
//! pages lie outside of its package.

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
