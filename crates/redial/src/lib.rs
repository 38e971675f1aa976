//! Retry policies you can read, check, see, prove and run: *the delays you read are the delays you
//! get*.
//!
//! ```
//! use std::time::Duration;
//! use redial::{Backoff, Policy, policy, retry};
//!
//! // A policy is a value: const, cheap to clone, Send + Sync, and it allocates nothing.
//! const FETCH: Policy = Backoff::exponential(Duration::from_millis(100))
//!     .max(Duration::from_secs(10))
//!     .full_jitter()
//!     .attempts(5);
//!
//! // The same policy in one line, checked by the compiler.
//! const SAME: Policy =
//!     policy!("retry: 4, delay: 100ms, backoff: exponential, max_delay: 10s, jitter: full");
//!
//! # async fn get() -> Result<&'static str, std::io::Error> { Ok("page") }
//! # fn is_transient(_: &std::io::Error) -> bool { true }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), std::io::Error> {
//! assert_eq!(FETCH, SAME);
//!
//! let page = retry(&FETCH, || get()).await?; // the operation's own error comes back
//! let page = retry(&FETCH, || get()).when(|error| is_transient(error)).await?;
//! # assert_eq!(page, "page");
//! # Ok(()) }
//! ```
//!
//! | you have | you call |
//! |---|---|
//! | an async operation | [`retry`] |
//! | an async operation that wants to know its attempt and the time left | [`retry_with`] |
//! | an async operation that mutates state | [`tries`], and keep the loop |
//! | a blocking operation | [`blocking::retry`], or [`blocking::call`] with options |
//! | a tower service | `tower::RetryLayer` (feature `tower`) |
//! | firmware, a simulator, a driver of your own | the crate `redial-core`, which decides and does nothing else |
//!
//! What holds in all of them:
//!
//! - `attempts` counts executions, the first one included. Nothing is slept before the first
//!   attempt or after the last.
//! - A cap is a cap, in the order in which it is chained. No setting overflows or panics.
//! - Limits always win, also over a delay that the server asked for: attempts, [`within`],
//!   [`wait_budget`], [`budget`].
//! - You get the operation's own last error, unchanged, and [`outcome`] tells why it stopped.
//! - The same [`seed`] gives the same delays everywhere; without one, no two calls share them.
//! - An attempt that hangs is ended by [`timeout`](Retry::timeout), and by nothing else: `within` decides
//!   whether another attempt may start.
//! - Dropping the future cancels the call cleanly at any point.
//! - A call that succeeds at once draws no random number and allocates nothing, and reads the clock
//!   only if it has a deadline, a budget, or an outcome to report (`tries` reads it once in any
//!   case, because its limits come later).
//!
//! The [`guide`] has a chapter on each question that comes up: choosing a policy, telling errors
//! apart, budgets and breakers, tests that never sleep, other runtimes, and moving from other
//! crates.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tokio` | sleeping on tokio's timer | yes |
//! | `http` | `Retry-After`: `redial::http` | |
//! | `tower` | a layer: `redial::tower` | |
//! | `serde` | policies in a program's own configuration: `redial::serde` | |
//! | `tracing` | an event per retry and per outcome | |
//! | `metrics` | counters and histograms of the same | |
//!
//! Without `tokio` a call is given its clock first, by [`Retry::clock`].
//!
//! [`within`]: Retry::within
//! [`wait_budget`]: Retry::wait_budget
//! [`budget`]: Retry::budget
//! [`outcome`]: Retry::outcome
//! [`seed`]: Retry::seed
#![cfg_attr(not(feature = "tokio"), doc = "")]
#![cfg_attr(not(feature = "tokio"), doc = "[`tries`]: tries_on")]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
pub mod blocking;
mod clock;
mod future;
mod guard;
pub mod guide;
#[cfg(feature = "http")]
pub mod http;
mod options;
mod outcome;
mod random;
mod retry;
#[cfg(feature = "serde")]
pub mod serde;
mod session;
mod telemetry;
pub mod testing;
#[cfg(feature = "tokio")]
mod tokio;
#[cfg(feature = "tower")]
pub mod tower;
mod tries;

pub use attempt::Attempt;
pub use clock::Clock;
pub use future::{retry, retry_with};
pub use options::{AsBreaker, AsBudget, Options};
pub use outcome::{Cause, Error, Event, Interrupted, Outcome};
pub use random::ThreadRandom;
#[doc(inline)]
pub use redial_core::{
    AsPolicy, Backoff, Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Budget,
    BudgetBuilder, BudgetSnapshot, Call, CallSnapshot, Decision, Delays, Forecast, Forecasts,
    FromFn, Gate, Invalid, Limits, Permit, Policy, Pretty, Random, Schedule, Source, SplitMix64,
    Stop, Time, Verdict, clause, policy,
};
pub use retry::Retry;
#[cfg(feature = "tokio")]
pub use tokio::{TokioClock, TokioSleep};
#[cfg(feature = "tokio")]
pub use tries::tries;
pub use tries::tries_on;

/// The parts of the types of calls. Programs need not name them; they are what rustdoc and the
/// compiler show: [`Retry`]`<Async<…>, Options<…>>`.
pub mod parts {
    pub use crate::attempt::{AttemptFuture, Informed, Operation, Plain};
    #[cfg(not(feature = "tokio"))]
    pub use crate::clock::NoClock;
    pub use crate::clock::{DefaultClock, MaybeClock};
    pub use crate::future::{Async, State};
    pub use crate::guard::{
        Fails, Guard, Guardable, Guarded, Kept, Made, MaybeGuarded, Open, OperationError, Timer,
        Uncut, Wrapped, WrappedBare,
    };
    #[cfg(feature = "tower")]
    pub use crate::options::ClassifyResult;
    pub use crate::options::{
        Absent, Bounded, Bounds, Classify, ClassifyOk, Judge, MaybeBreaker, MaybeBudget, OnRetry,
        Present, RetryErrors, Setup, Unbounded, When,
    };
    pub use crate::outcome::{Answer, Failure, Forget, History, KeepLast, Ledger, Told, Value};
    pub use crate::retry::{Mode, Retried};
    #[cfg(feature = "tower")]
    pub use crate::tower::{Kept as KeptByLayer, Layered};
    pub use crate::tries::OwnLoop;
}

/// The examples of this crate's README, compiled.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;
