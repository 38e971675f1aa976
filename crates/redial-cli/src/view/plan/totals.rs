//! The last lines of a plan, for people: what the waits add up to, and when it gives up.

use std::time::Duration;

use redial_policy::Total;

use super::words::is_endless;
use super::{Planned, View};
use crate::duration::human;

/// The sums of a policy.
pub(super) struct Sums {
    /// What all waits add up to.
    pub(super) waits: Total,
    /// When a call that always fails gives up, at the earliest and at the latest.
    pub(super) gives_up: (Option<Duration>, Option<Duration>),
}

impl Sums {
    /// The sums of this policy.
    pub(super) fn new(planned: &Planned) -> Self {
        Self { waits: planned.plan.total_wait(), gives_up: planned.plan.gives_up_after() }
    }
}

/// The sums as text, column by column.
pub(super) struct Totals {
    /// What all waits add up to: at least, on average, at most.
    pub(super) waits: [String; 3],
    /// When a call that always fails gives up, at the earliest.
    pub(super) earliest: String,
    /// At the latest.
    pub(super) latest: String,
    /// What all waits of the call with the seed add up to, where they are all known.
    pub(super) sample: Option<String>,
}

impl Totals {
    /// The sums of a policy, with its durations written by `format`.
    pub(super) fn new(view: &View<'_>, format: fn(Duration) -> String) -> Self {
        let Sums { waits, gives_up: (earliest, latest) } = view.sums;
        let or = |duration: Option<Duration>, word: &str| duration.map_or(word.into(), format);
        let ends = !is_endless(view.planned);
        Self {
            waits: [
                or(waits.least, "no end"),
                or(waits.mean, "no end"),
                or(waits.greatest, "no end"),
            ],
            latest: or(latest, if ends { "no limit" } else { "never" }),
            earliest: or(earliest, "never"),
            sample: sample(view).map(format),
        }
    }
}

/// What the call with the seed waits in all, under the limits.
fn sample(view: &View<'_>) -> Option<Duration> {
    let View { planned, listing, .. } = view;
    let reachable = planned.reachable()? as usize;
    let known = listing.is_seeded() && listing.rows.len() >= reachable;
    let samples = listing.rows.iter().map_while(|row| row.sample).take(reachable);
    known.then(|| samples_within(planned, samples).last().unwrap_or_default())
}

/// When each retry of the call with the seed starts, as far as the limits let it: attempts taking
/// no time, a deadline stops at the very moment, and a wait budget may be spent to the end.
pub(super) fn samples_within(
    planned: &Planned,
    samples: impl Iterator<Item = Duration>,
) -> impl Iterator<Item = Duration> {
    let policy = planned.plan.policy();
    let (within, budget) = (policy.get_within(), policy.get_wait_budget());
    samples
        .scan(Duration::ZERO, |sum, sample| {
            *sum = sum.saturating_add(sample);
            Some(*sum)
        })
        .take_while(move |sum| within.is_none_or(|within| *sum < within))
        .take_while(move |sum| budget.is_none_or(|budget| *sum <= budget))
}

/// What the sums assume.
pub(super) fn note(planned: &Planned) -> String {
    match planned.plan.get_timeout() {
        None => "The time that the attempts themselves take is not counted.".into(),
        Some(timeout) => format!(
            "It gives up earliest where attempts take no time, and latest where each takes all of \
             its {}.",
            human(timeout)
        ),
    }
}
