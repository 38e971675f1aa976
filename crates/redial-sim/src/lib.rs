//! What a retry policy does to a crowd of clients.
//!
//! A policy is written for one call, and its effect is on all of them: a delay that spreads ten
//! clients well starves two hundred. This crate lets the crowd run, in simulated time, and every
//! delay in it is decided by [`redial_core::Call`], the code that decides in production.
//!
//! ```
//! use core::time::Duration;
//! use redial_core::{Backoff, Policy};
//! use redial_sim::{Contention, Scenario};
//!
//! const PLAIN: Policy = Backoff::exponential(Duration::from_millis(10))
//!     .max(Duration::from_secs(2))
//!     .unlimited();
//! const JITTERED: Policy = PLAIN.backoff().full_jitter().unlimited();
//!
//! // Twenty clients write to one record of a database with optimistic concurrency control.
//! let scenario = Contention::occ(20).trials(100).seed(7);
//! let [plain, jittered] = scenario.run_each([&PLAIN, &JITTERED])?;
//!
//! let results = jittered.results().unwrap();
//! assert!((results.calls.mean - 100.0).abs() < 3.0); // five writes for each that succeeds
//!
//! let change = jittered.against(&plain).unwrap(); // on the same random numbers
//! assert!(change.time_ms.mean < -10_000.0); // ten seconds sooner
//! assert!(change.time_ms.mean + change.time_ms.ci95 < 0.0); // and that is no accident
//! # Ok::<(), redial_sim::Invalid>(())
//! ```
//!
//! # Scenarios
//!
//! | | who | what is asked |
//! |---|---|---|
//! | [`Contention`] | clients that want to change one thing at once | what it costs, and who gives up |
//! | [`Outage`] | calls that keep coming while their service is down | whether it recovers, and what the retries did to it |
//! | [`Wave`] | clients that all fail at once | how many come back at the same moment |
//! | [`Layers`] | services that call one another and all retry | what one call becomes at the bottom |
//!
//! Each is a value with settings, and `run` tries a policy in it: any policy, also one with a
//! schedule of your own. Each has a module with the same names: `Trial`, what is counted in one
//! trial; `Results`, what the trials amount to; `Comparison`, what one policy changes against
//! another on the same random numbers. What they share is the trait [`Scenario`], which a scenario
//! of your own can have, too. [`Search`] looks for a policy that does better than yours in a
//! contention. `redial simulate` and `redial tune` are the same for the command line.
//!
//! # Promises
//!
//! The same seed gives the same result, bit for bit, on any number of threads and on any platform
//! that computes in IEEE 754 doubles: [`Run::digest`] proves it. No clock is read and no number is
//! drawn that does not come from the seed. No run is without an end: see [`engine::Bounds`]. A run
//! that reaches a bound has no results, only what it has seen so far: see [`Incomplete`].
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod chance;
pub mod contention;
mod digest;
mod elementary;
pub mod engine;
mod estimate;
mod experiment;
mod incomplete;
mod invalid;
pub mod layers;
pub mod outage;
mod quantile;
mod run;
mod scenario;
mod ticks;
mod trials;
pub mod tune;
mod watch;
pub mod wave;

pub use crate::contention::Contention;
pub use crate::digest::Digest;
pub use crate::estimate::{Estimate, Share};
pub use crate::experiment::Experiment;
pub use crate::incomplete::Incomplete;
pub use crate::invalid::Invalid;
pub use crate::layers::Layers;
pub use crate::outage::Outage;
pub use crate::run::Run;
pub use crate::scenario::{Scenario, Trace, Trial};
pub use crate::tune::Search;
pub use crate::watch::Watch;
pub use crate::wave::Wave;

/// The examples of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
