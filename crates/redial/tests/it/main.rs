//! The loops of `redial` against their contract, in one binary.
//!
//! Most tests are text in, text out: a [`scenario`] is a policy, what the call adds to it, and what
//! each attempt does; what comes out is a transcript with the time of every step. The same
//! transcript is expected of the blocking and of the async loop. No test sleeps, except where real
//! time is what it is about, and then for milliseconds.
//!
//! Random cases name their seed when they fail; `REDIAL_SEED=<seed>` runs that one case alone.

mod beyond;
mod cancellation;
mod child;
mod dice;
mod errors;
mod future;
mod guide;
mod hedging;
#[cfg(feature = "http")]
mod http;
mod loop_semantics;
mod no_clock;
mod parity;
mod runtimes;
mod scenario;
mod send;
#[cfg(feature = "serde")]
mod serde;
#[cfg(all(feature = "tracing", feature = "tower"))]
mod spans;
#[cfg(feature = "tokio")]
mod spawn;
#[cfg(all(feature = "tracing", feature = "metrics"))]
mod telemetry;
mod testing_helpers;
#[cfg(feature = "tower")]
mod tower;
mod unseeded;
mod watched;
