//! Tests that never sleep: a clock that is moved by hand, an operation with a script, and a switch
//! for the whole process.
//!
//! ```
//! use std::time::Duration;
//! use redial::{Policy, policy, retry, testing::{ManualClock, Script}};
//!
//! const POLICY: Policy = policy!("retry: 3, delay: 1s, backoff: exponential");
//!
//! let clock = ManualClock::new();
//! let script = Script::new([Err("refused"), Err("reset"), Ok("page")]);
//!
//! let page = clock.block_on(async { retry(&POLICY, || script.next()).clock(&clock).await });
//!
//! assert_eq!(page, Ok("page"));
//! clock.assert_slept(&[Duration::from_secs(1), Duration::from_secs(2)]);
//! assert_eq!(script.calls(), 3);
//! ```

mod clock;
mod script;
pub(crate) mod switch;

pub use clock::{ManualClock, ManualSleep};
pub use script::Script;
pub use switch::{SwitchedOff, without_retries, without_waits};
