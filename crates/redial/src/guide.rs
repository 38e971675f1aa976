//! The guide: one chapter for each question that comes up. Every example in it is compiled and run
//! with the tests, and none of them sleeps.
//!
//! | chapter | answers |
//! |---|---|
//! | [`choosing`] | Which backoff, cap, jitter, count and deadline? What will this policy do? |
//! | [`classification`] | Which errors are worth another attempt, and what comes back? |
//! | `configuration` (feature `serde`) | How does a policy get into a configuration file, the environment or a flag? |
//! | [`budgets`] | How do retries not become the outage? |
//! | [`testing`] | How do I test it without sleeping? |
//! | [`runtimes`] | What about another runtime, no runtime, threads, or `no_std`? |
//! | [`observing`] | What happened, and why did it stop? |
//! | [`from_backon`] | What changes when I move from `backon`? |
//! | [`from_tokio_retry`] | … from `tokio-retry` or `tokio-retry2`? |
//! | [`from_tower`] | … from `tower`'s retry? |

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

#[doc = include_str!("guide/classification.md")]
pub mod classification {}

#[cfg(feature = "serde")]
#[doc = include_str!("guide/configuration.md")]
pub mod configuration {}

#[doc = include_str!("guide/budgets.md")]
pub mod budgets {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/runtimes.md")]
pub mod runtimes {}

#[doc = include_str!("guide/observing.md")]
pub mod observing {}

#[doc = include_str!("guide/from_backon.md")]
pub mod from_backon {}

#[doc = include_str!("guide/from_tokio_retry.md")]
pub mod from_tokio_retry {}

#[doc = include_str!("guide/from_tower.md")]
pub mod from_tower {}
