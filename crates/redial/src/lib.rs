//! x

#![forbid(unsafe_code)]

pub mod blocking;
mod clock;
mod guard;
mod options;
mod outcome;
mod random;
mod retry;
mod session;
mod telemetry;
pub mod testing;
#[cfg(feature = "tokio")]
mod tokio;
mod tries;

pub use clock::Clock;
pub use outcome::{Error, Event, Outcome};
pub use random::ThreadRandom;
#[doc(inline)]
pub use redial_core::*;
pub use retry::{Retry, retry};
#[cfg(feature = "tokio")]
pub use tokio::{TokioClock, TokioSleep};
#[cfg(feature = "tokio")]
pub use tries::tries;
pub use tries::{Tries, tries_on};
