//! The engine of redial: it decides every delay, and everything else asks it.
//!
//! Programs use the crate `redial`, which re-exports all of this and adds the loops. This crate is
//! for firmware, for simulators, and for whoever builds a driver of their own: it reads no clock,
//! never sleeps, draws no random number that was not handed to it, allocates nothing, and depends
//! on nothing.
//!
//! - [`Backoff`]: how long to wait. A source of delays and modifiers, in order.
//! - [`Policy`]: timing alone. Attempts, delays, and limits in time.
//! - [`policy!`] and [`clause`]: the same in one line of text, checked by the compiler.
//! - [`Forecast`]: the policy's own future, without sleeping.
//! - [`Call`]: one call between its attempts. A [`Verdict`] goes in, a [`Decision`] comes out.
//! - [`Budget`] and [`Breaker`]: what many calls share, so that retries do not become the outage.
//!
//! ```
//! use core::time::Duration;
//! use redial_core::{Decision, Policy, SplitMix64, Time, Verdict, policy};
//!
//! const FETCH: Policy = policy!("retry: 4, delay: 100ms, backoff: exponential, jitter: full");
//!
//! let mut random = SplitMix64::new(42);
//! let mut call = FETCH.start(Time::ZERO);
//! let decision = call.failed(Time::ZERO, || Verdict::Retry, &mut random);
//! assert_eq!(decision, Decision::Wait(Duration::from_nanos(74_156_488)));
//! ```
//!
//! [`Budget`] and [`Breaker`] need 64-bit atomics and are absent on targets without them.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(target_has_atomic = "64")]
mod atomic;
mod backoff;
#[cfg(target_has_atomic = "64")]
mod breaker;
#[cfg(target_has_atomic = "64")]
mod budget;
mod call;
pub mod clause;
mod decimal;
mod forecast;
mod gate;
mod invalid;
#[cfg(target_has_atomic = "32")]
mod latencies;
mod modifier;
mod policy;
mod power;
mod random;
mod schedule;
mod sequence;
mod shape;
mod source;
mod text;
mod time;

pub use backoff::Backoff;
#[cfg(target_has_atomic = "64")]
pub use breaker::{Breaker, BreakerBuilder, BreakerSnapshot, BreakerState, Permit};
#[cfg(target_has_atomic = "64")]
pub use budget::{Budget, BudgetBuilder, BudgetSnapshot};
pub use call::{Call, CallSnapshot, Decision, Kind, Limits, Race, Ruling, Stop, Verdict};
pub use forecast::{Forecast, Forecasts};
pub use gate::Gate;
pub use invalid::Invalid;
#[cfg(target_has_atomic = "32")]
pub use latencies::{HedgeDelay, Latencies, Percentile};
pub use policy::{AsPolicy, Delays, Policy};
pub use random::{Random, SplitMix64};
pub use schedule::{FromFn, Schedule};
pub use sequence::Sequence;
pub use source::Source;
pub use time::{Pretty, Time};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
