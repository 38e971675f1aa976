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
//! apart, budgets and breakers, hedging and what else lies beyond retrying, tests that never sleep,
//! other runtimes, recipes for other crates, and moving from them.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tokio` | sleeping on tokio's timer | yes |
//! | `smol` | sleeping on smol's timer: `SmolClock` | |
//! | `wasm` | the clock, the timers and the chance of a JavaScript host, on `wasm32-unknown-unknown`: `WasmClock` | |
//! | `http` | `Retry-After`: `redial::http` | |
//! | `tower` | a layer: `redial::tower` | |
//! | `serde` | policies in a program's own configuration: `redial::serde` | |
//! | `tracing` | a span per call and attempt, an event per retry and per outcome | |
//! | `metrics` | counters and histograms of the same | |
//!
//! Without `tokio` a call is given its clock first, by [`Retry::clock`]; `ThreadClock` needs no
//! runtime and no feature. [`Clock`] has the list.
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
mod fallback;
mod future;
mod guard;
pub mod guide;
mod hedge;
#[cfg(feature = "http")]
pub mod http;
mod kinds;
mod options;
mod outcome;
mod own_loop;
mod random;
mod retry;
#[cfg(feature = "serde")]
pub mod serde;
mod session;
mod telemetry;
pub mod testing;
#[cfg(feature = "tower")]
pub mod tower;

pub use attempt::Attempt;
pub use clock::Clock;
#[cfg(all(feature = "smol", not(target_family = "wasm")))]
pub use clock::smol::{SmolClock, SmolSleep};
#[cfg(not(target_family = "wasm"))]
pub use clock::thread::{ThreadClock, ThreadSleep};
#[cfg(all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))))]
pub use clock::tokio::{TokioClock, TokioSleep};
#[cfg(all(feature = "wasm", target_family = "wasm", target_os = "unknown"))]
pub use clock::wasm::{WasmClock, WasmSleep};
pub use future::{retry, retry_with};
pub use options::{AsBreaker, AsBudget, Options};
pub use outcome::{Cause, Error, Event, Interrupted, Outcome};
#[cfg(any(
    all(feature = "tokio", not(all(target_family = "wasm", target_os = "unknown"))),
    all(feature = "wasm", target_family = "wasm", target_os = "unknown"),
))]
pub use own_loop::tries;
pub use own_loop::tries_on;
pub use random::ThreadRandom;
#[doc(inline)]
pub use redial_core::{
    AsPolicy, Backoff, Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Budget,
    BudgetBuilder, BudgetSnapshot, Call, CallSnapshot, Decision, Delays, Forecast, Forecasts,
    FromFn, Gate, HedgeDelay, Invalid, Kind, Latencies, Limits, Percentile, Permit, Policy, Pretty,
    Race, Random, Ruling, Schedule, Sequence, Source, SplitMix64, Stop, Time, Verdict, clause,
    policy,
};
pub use retry::Retry;

/// The parts of the types of calls. Programs need not name them; they are what rustdoc and the
/// compiler show: [`Retry`]`<Async<…>, Options<…>>`.
pub mod parts {
    pub use crate::attempt::{AttemptFuture, Informed, Operation, Plain};
    pub use crate::clock::{DefaultClock, MaybeClock, NoClock};
    pub use crate::fallback::Fallback;
    pub use crate::future::{Async, Single, State};
    pub use crate::guard::{
        Fails, Guard, Guardable, Guarded, Kept, Made, MaybeGuarded, Open, OperationError, Timer,
        Uncut, Wrapped, WrappedBare,
    };
    pub use crate::hedge::{Hedges, Racing};
    pub use crate::kinds::PolicyWhen;
    #[cfg(feature = "tower")]
    pub use crate::options::ClassifyResult;
    #[cfg(feature = "tracing")]
    pub use crate::options::TraceErrors;
    pub use crate::options::{
        Absent, Bounded, Bounds, Classify, ClassifyOk, Judge, MaybeBreaker, MaybeBudget, OnRetry,
        Present, RetryErrors, Setup, Unbounded, When,
    };
    pub use crate::outcome::{Answer, Failure, Forget, History, KeepLast, Ledger, Told, Value};
    pub use crate::own_loop::OwnLoop;
    pub use crate::retry::{Mode, OneCall, Retried};
    #[cfg(feature = "tower")]
    pub use crate::tower::{Kept as KeptByLayer, Layered};
}

/// The examples of this crate's README, compiled.
#[cfg(all(doctest, feature = "tokio"))]
#[doc = include_str!("../README.md")]
struct Readme;
