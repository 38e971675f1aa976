//! Spans, events and numbers of runs and steps, under the names that the library has for calls. Without the features `tracing` and
//! `metrics` nothing here is compiled in.
//!
//! What is told comes out of the records: so it is what the journal says, and what a process finds in the journal is
//! not told twice.

#[cfg(not(any(feature = "tracing", feature = "metrics")))]
mod silent;
#[cfg(any(feature = "tracing", feature = "metrics"))]
mod told;

#[cfg(not(any(feature = "tracing", feature = "metrics")))]
pub(super) use self::silent::{AttemptSpan, RunSpan, Watch};
#[cfg(any(feature = "tracing", feature = "metrics"))]
pub(super) use self::told::{AttemptSpan, RunSpan, Watch};
