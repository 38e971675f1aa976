//! What `redial plan` shows: the schedule of a policy, for programs and for people.
//!
//! Every renderer reads the same numbers, those of [`Plan`], and none of them computes a delay.

use redial_policy::{Diagnostic, Plan, Row};

mod html;
mod json;
mod picture;
mod svg;
mod tables;
mod terminal;
mod totals;
mod words;

pub(crate) use html::html;
pub(crate) use json::{delay, json};
pub(crate) use svg::svg;
pub(crate) use terminal::{side_by_side, terminal};
use totals::Sums;

use crate::visible::visible;

/// One policy to show.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// What it is called where it was found; none for a clause of the command line.
    pub name: Option<String>,
    /// The environment variable that it comes from, if it does.
    pub from: Option<&'static str>,
    /// Its schedule.
    pub plan: Plan,
    /// How many delays to show; without it, 100, or 10 where attempts are unlimited.
    pub show: Option<usize>,
    /// Its warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the documentation of its system says otherwise.
    pub notes: Vec<String>,
}

impl Planned {
    /// The clause that parses to an equal policy.
    fn clause(&self) -> String {
        self.plan.policy().to_string()
    }

    /// The name without control characters.
    fn shown_name(&self) -> Option<String> {
        self.name.as_deref().map(visible)
    }

    /// What to call it among others.
    fn title(&self, index: usize) -> String {
        let number = index + 1;
        match self.shown_name() {
            Some(name) => format!("{number}. {name}"),
            None => format!("Policy {number}"),
        }
    }

    /// Whether it waits what the other one waits, as far as its delays are looked at.
    fn waits_as(&self, other: &Self) -> bool {
        /// What differs only after so many delays is not looked for.
        const LOOKED_AT: usize = 4096;
        let (ours, theirs) = (self.plan.policy(), other.plan.policy());
        let limits = |planned: &Self| {
            let policy = planned.plan.policy();
            let times = (policy.get_within(), policy.get_wait_budget(), planned.plan.get_timeout());
            (policy.attempts(), times)
        };
        limits(self) == limits(other)
            && ours.forecasts().take(LOOKED_AT).eq(theirs.forecasts().take(LOOKED_AT))
    }

    /// How many delays there are to show.
    fn limit(&self) -> usize {
        let default = if self.plan.policy().attempts().is_some() { 100 } else { 10 };
        self.show.unwrap_or(default)
    }

    /// How many delays there are; none where there is no end to them.
    fn retries(&self) -> Option<u32> {
        self.plan.policy().attempts().map(|attempts| attempts.saturating_sub(1))
    }

    /// How many delays are reachable; none where there is no end to them.
    fn reachable(&self) -> Option<u32> {
        self.plan.policy().reachable()
    }

    /// Whether the limits keep every call from using all of its attempts.
    fn is_cut_short(&self) -> bool {
        match (self.reachable(), self.retries()) {
            (Some(reachable), Some(retries)) => reachable < retries,
            (reachable, _) => reachable.is_some(),
        }
    }

    /// The delays to show to people.
    fn listing(&self) -> Listing {
        /// How many unreachable delays are listed.
        const UNREACHABLE: usize = 3;
        let mut rows: Vec<Row> = self.plan.rows().take(self.limit()).collect();
        if self.show.is_none() {
            let reachable = rows.iter().filter(|row| row.reachable).count();
            rows.truncate(reachable + UNREACHABLE);
        }
        let rest = rest_after(rows.len(), self);
        Listing { rows, rest }
    }
}

/// A policy with all that is shown of it, computed once.
struct View<'p> {
    /// The policy.
    planned: &'p Planned,
    /// What its waits add up to, and when it gives up.
    sums: Sums,
    /// What it does, in plain words.
    words: String,
    /// Its delays.
    listing: Listing,
}

impl<'p> View<'p> {
    fn all(plans: &'p [Planned]) -> Vec<Self> {
        plans.iter().map(Self::new).collect()
    }

    fn new(planned: &'p Planned) -> Self {
        let sums = Sums::new(planned);
        let words = words::words(planned, &sums);
        Self { planned, sums, words, listing: planned.listing() }
    }
}

/// The delays that are shown, and what is not.
struct Listing {
    /// In order, from the first one on.
    rows: Vec<Row>,
    /// Words for the others, where there are any.
    rest: Option<String>,
}

impl Listing {
    /// Whether there is a seed whose delays to show.
    fn is_seeded(&self) -> bool {
        self.rows.iter().any(|row| row.sample.is_some())
    }
}

/// Words for the delays after the first `shown`, where there are any.
fn rest_after(shown: usize, planned: &Planned) -> Option<String> {
    let never = match planned.reachable() {
        Some(reachable) if shown >= reachable as usize => ", never reached",
        _ => "",
    };
    let Some(retries) = planned.retries() else {
        let end = if never.is_empty() { ", without end" } else { never };
        return Some(format!("… and so on{end}"));
    };
    match (retries as usize).saturating_sub(shown) {
        0 => None,
        more => Some(format!("… and {more} more{never}")),
    }
}

/// How many attempts there are, and how many of them can start where these are fewer.
fn attempts_words(planned: &Planned) -> String {
    let can_start = planned.reachable().map(|reachable| u64::from(reachable) + 1);
    match (planned.plan.policy().attempts(), can_start) {
        (Some(attempts), Some(can_start)) if can_start < u64::from(attempts) => {
            format!("{can_start} of {attempts}")
        }
        (Some(attempts), _) => attempts.to_string(),
        (None, Some(can_start)) => format!("at most {can_start}"),
        (None, None) => "unlimited".into(),
    }
}
