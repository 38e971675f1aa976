//! Section 3 of the contract, line by line: what happens, in which order, and what does not.

mod attempts;
mod breaker;
mod budget;
mod extremes;
mod limits;
#[cfg(feature = "tokio")]
mod on_tokio;
mod timeout;
mod unasked;
mod verdicts;
mod wait;

use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Chance, where there must be none.
fn no_word() -> u64 {
    panic!("a word was drawn")
}
