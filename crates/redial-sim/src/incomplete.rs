//! Why there is no result: a bound was reached, or the run was stopped.

use std::fmt;

use crate::engine::Completion;
use crate::scenario::Trial;

/// A run that reached a bound. The mean of trials that were cut short would be wrong, so there is
/// none; what was counted until then is right as far as it goes.
///
/// ```
/// use redial_core::{Policy, policy};
/// use redial_sim::Contention;
/// use redial_sim::contention::Latency;
/// use redial_sim::engine::{Bounds, Completion};
///
/// // In step, two proposals collide for ever.
/// const FOREVER: Policy = policy!(allow(unbounded), "attempts: unlimited, delay: 1s");
/// let scenario = Contention::collision(2)
///     .latency(Latency::millis(10, 0))
///     .bounds(Bounds { events: 10_000, ..Bounds::DEFAULT });
/// let cut = scenario.run(&FOREVER)?.results().unwrap_err();
/// assert_eq!((cut.bound, cut.trial.unwrap().committed), (Completion::Events, 0));
/// assert_eq!(
///     cut.to_string(),
///     "trial 1 of 500 was cut after 10000 events, at 2549.00 s, with 0 of 2 clients done",
/// );
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incomplete<T> {
    /// The bound that was reached.
    pub bound: Completion,
    /// The first trial that reached it, counted from 0. Those before it are complete.
    pub index: u32,
    /// How many trials were asked for.
    pub trials: u32,
    /// That trial as it was when it was cut: each of its counts could only have grown. `None` where
    /// the run was stopped before its first trial had ended.
    pub trial: Option<T>,
}

impl<T: Trial> Incomplete<T> {
    /// Whether the last of the trials that were run was cut: it is the only one that can be.
    pub(crate) fn is_in(all: &[T]) -> bool {
        all.last().is_none_or(|last| !last.trace().ended.is_complete())
    }

    pub(crate) fn of(all: &[T], trials: u32) -> Option<Self> {
        Self::is_in(all).then(|| Self {
            bound: all.last().map_or(Completion::Stopped, |last| last.trace().ended),
            index: (all.len() as u32).saturating_sub(1),
            trials,
            trial: all.last().cloned(),
        })
    }
}

impl<T: Trial> fmt::Display for Incomplete<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, index, trials, trial } = self;
        write!(f, "trial {} of {trials} was cut ", index + 1)?;
        match bound {
            Completion::Time => write!(f, "at the bound on time")?,
            Completion::Clients => write!(f, "at the bound on clients")?,
            Completion::Stopped => write!(f, "because it was stopped")?,
            Completion::Events | Completion::Quiet => {
                write!(
                    f,
                    "after {} events",
                    trial.as_ref().map_or(0, |trial| trial.trace().events)
                )?;
            }
        }
        trial.as_ref().map_or(Ok(()), |trial| trial.describe_progress(f))
    }
}

impl<T: Trial> std::error::Error for Incomplete<T> {}
