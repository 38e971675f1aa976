//! A run that reached a bound, in a scenario whose trials are not a crowd's.

use std::fmt;

use crate::engine::Ended;

/// A run that reached a bound. A mean over what was cut short would be wrong, so there is none.
///
/// ```
/// use redial_core::{Backoff, Policy};
/// use redial_sim::Wave;
/// use redial_sim::engine::{Bounds, Ended};
///
/// const AT_ONCE: Policy = Backoff::none().unlimited();
/// let scenario = Wave::new(100).bounds(Bounds { events: 10_000, ..Bounds::DEFAULT });
/// let cut = scenario.run(&AT_ONCE)?.results().unwrap_err();
/// assert_eq!((cut.bound, cut.events), (Ended::Events, 10_000));
/// assert_eq!(cut.to_string(), "trial 1 of 20 was cut after 10000 events");
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CutShort {
    /// The bound that was reached.
    pub bound: Ended,
    /// The first trial that reached it, counted from 0. Those before it are complete.
    pub index: u32,
    /// How many trials were asked for.
    pub trials: u32,
    /// Events of that trial until then.
    pub events: u64,
}

impl CutShort {
    /// What cut the last of the trials that were run, if anything did; `ended` is how each of them
    /// ended, and after how many events.
    pub(crate) fn of<T>(
        all: &[T],
        trials: u32,
        ended: impl Fn(&T) -> (Ended, u64),
    ) -> Option<Self> {
        // Without a trial, it was stopped before the first had ended.
        let (bound, events) = all.last().map_or((Ended::Stopped, 0), ended);
        let index = (all.len() as u32).saturating_sub(1);
        (!bound.is_complete()).then_some(Self { bound, index, trials, events })
    }
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, index, trials, events } = self;
        write!(f, "trial {} of {trials} was cut ", index + 1)?;
        match bound {
            Ended::Time => write!(f, "at the bound on time"),
            Ended::Clients => write!(f, "at the bound on clients"),
            Ended::Stopped => write!(f, "because it was stopped"),
            Ended::Events | Ended::Quiet => write!(f, "after {events} events"),
        }
    }
}

impl std::error::Error for CutShort {}
