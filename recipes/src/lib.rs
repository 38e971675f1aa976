//! Runs the pages of the guide whose examples need other crates than the library's own tests do:
//! the recipes, and moving from other crates.
//!
//! A page is not copied: rustdoc takes the examples from the file that the guide shows. What they
//! hide is here: real servers on loopback, and a client whose answers are written down.

pub mod client;
pub mod database;
pub mod health;
pub mod http;
pub mod line;

#[cfg(doctest)]
mod pages;
