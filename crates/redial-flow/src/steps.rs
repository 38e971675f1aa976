//! Steps that are functions of a Rust program, and survive a KILL of it.
//!
//! [`Store::run`] calls an async function whose steps are remembered. The same name again goes on where it stopped, or gives
//! the result it had; there is no server, no database and no macro.
//!
//! ```
//! use redial_core::{Policy, policy};
//! use redial_flow::steps::{DeadLetter, Run, Store};
//!
//! const CHARGE: Policy = policy!("attempts: 5, delay: 1s, backoff: exponential, jitter: full");
//! const SHIP: Policy = policy!("attempts: 3, delay: 10s");
//!
//! # async fn charge(order: u32) -> Result<String, String> { Ok(format!("paid-{order}")) }
//! # async fn ship(_: u32, paid: &str) -> Result<String, String> { Ok(format!("shipped, {paid}")) }
//! async fn checkout(run: Run, order: u32) -> Result<String, DeadLetter> {
//!     let paid = run.step("charge", &CHARGE, || charge(order)).await?;
//!     run.step("ship", &SHIP, || ship(order, &paid)).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("orders.redial");
//! let store = Store::open(path)?;
//! let receipt = store.run("order-17", checkout, 17).await?;
//! assert_eq!(receipt, "shipped, paid-17");
//! assert_eq!(store.run("order-17", checkout, 17).await?, receipt, "and nothing was done again");
//! # Ok(()) }
//! ```
//!
//! The module has two faces. *Steps as code*, above, are for whatever Rust can say: loops, joined futures,
//! errors that are caught. *Steps as data*, a [`Flow`], are known before anything runs. Both are run by the
//! [machine](crate::machine) that runs flow files, and write the same journal: `redial flow status --store PATH`, `report` and `dead` read a
//! program's store, and so does `jq`.
//!
//! # What is promised
//!
//! - The start of an attempt is written down before the operation is called. So one that a KILL cut is known, counts, and is
//!   `lost`: a failure like any other, retried by the policy. A step that is [not idempotent](StepCall::idempotent) is then a
//!   dead letter instead. A policy of 5 attempts never makes a sixth.
//! - A step that has succeeded is not done again: its result, as JSON, is written down before the function sees it.
//! - A wait survives. A run that is taken up waits for what is left of it.
//! - The delays are those of `redial plan --seed` with the seed of the step, which comes from the run's.
//! - What cannot be written down is not done: a full disk ends the run with [`Stopped::Write`], and it can be taken up again.
//! - At least once, honestly: an operation may have done its work although its end was never written down. [`Attempt::key`] is
//!   the same in all attempts, for whoever deduplicates.
//!
//! # What the function has to keep to
//!
//! A function that is taken up is called from its beginning. Its steps give what they gave; what stands between them is done
//! again, and has to come out the same. So random numbers come from [`Run::random`], the time of day from [`Run::now`],
//! and what a step does not return is not remembered. Code that takes another way than its journal is
//! [`Stopped::ChangedCode`], naming the step: a recorded step that is not reached, a result of another type, a map over other items.
//! What cannot be seen is a step whose name stayed and whose meaning changed: give it another name.
//!
//! | what happens | what becomes of the run |
//! |---|---|
//! | a step gives up | the function gets its [`DeadLetter`], now and whenever it is called again, until somebody [retries](Store::retry_dead) it |
//! | a dead letter is retried | it has a fresh policy when the run is next opened; steps that began after it had given up run again, because they may have been given what followed from it |
//! | the function gives an error | [`RunError::Failed`]; the next call of the name calls it again |
//! | the function, or an operation, panics | the panic goes on to the caller; the attempt is lost, and counts |
//! | the future of the run, or of a step, is dropped | the attempt was cancelled, and does not count |
//! | the journal differs, or cannot be written; the store shuts down | the function is dropped where it stands, without being told: it could only do the wrong thing |
//!
//! # Tests
//!
//! [`Store::in_memory`] needs no disk, and its time is that of a manual clock: a flow of a day's waits runs in milliseconds.
//! [`Store::after_a_kill_at`] gives what a process would find that was started after a KILL.
//!
//! ```
//! use std::time::Duration;
//! use redial::testing::{ManualClock, Script};
//! use redial_core::policy;
//! use redial_flow::steps::{DeadLetter, Run, Store};
//!
//! let clock = ManualClock::new();
//! let store = Store::in_memory(&clock);
//! let script = Script::new([Err("busy"), Ok(7)]);
//! let poll = |run: Run, (): ()| {
//!     let script = &script;
//!     async move {
//!         run.sleep(Duration::from_secs(86_400)).await;
//!         run.step("poll", &policy!("attempts: 2, delay: 1h"), || script.next()).await
//!     }
//! };
//! assert_eq!(clock.block_on(store.run("daily", poll, ())).unwrap(), 7);
//! assert_eq!(clock.elapsed(), Duration::from_secs(86_400 + 3600));
//! ```

mod call;
mod conduct;
mod error;
mod flow;
mod items;
mod log;
mod map;
mod reply;
mod run;
mod shared;
mod step;
mod store;
mod telemetry;
mod timing;

pub use call::{Call, Retrying};
pub use error::{DeadLetter, RunError, Stopped};
pub use flow::{Branch, Branched, Flow, Parallel, Planned, Settings, Tuple, Value};
pub use map::{Each, MapCall};
pub use run::Run;
pub use shared::{BreakerSource, BudgetSource};
pub use step::{Attempt, One, StepCall};
pub use store::{Options, RunCall, Store, Unfinished};

pub use crate::flow::{BreakerSettings, BudgetSettings, FailuresMax, Rate};
pub use crate::journal::Sync;
pub use redial_policy::{BackoffStrategy as Strategy, RetryPolicy};
