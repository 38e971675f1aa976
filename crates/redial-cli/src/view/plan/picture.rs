//! The picture of a plan, before anything is drawn: which attempts, when they can start, and the
//! time axis they share.

use std::time::Duration;

use redial_core::Forecast;

use super::Planned;
use super::totals::samples_within;
use crate::duration::{human, nanos};
use crate::view::axis::Range;

/// The attempts of several policies on one time axis.
pub(super) struct Picture {
    /// One for each policy.
    pub(super) charts: Vec<Chart>,
    /// The axis; none where no policy ever waits.
    pub(super) axis: Option<Range>,
}

/// The attempts of one policy.
pub(super) struct Chart {
    /// The attempts that are drawn.
    pub(super) windows: Vec<Window>,
    /// The moments from which on no attempt starts.
    pub(super) limits: Vec<Limit>,
    /// Notes on what is not drawn.
    pub(super) notes: Vec<String>,
}

/// When an attempt can start, in nanoseconds after the first one started, attempts taking no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The attempt, counted from 1.
    pub(super) attempt: u64,
    /// With every draw at its lowest.
    pub(super) earliest: u64,
    /// On average; none where the average call is stopped before.
    pub(super) mean: Option<u64>,
    /// With every draw at its highest, as far as the limits let it.
    pub(super) latest: u64,
    /// With the seed of the plan, where that call gets here.
    pub(super) sample: Option<u64>,
}

/// A moment from which on no attempt starts.
pub(super) struct Limit {
    /// Words for it.
    pub(super) label: String,
    /// When it is.
    pub(super) at: u64,
}

impl Window {
    /// Whether chance decides when the attempt starts.
    pub(super) fn is_range(&self) -> bool {
        self.earliest < self.latest
    }
}

impl Picture {
    /// The picture of these policies.
    pub(super) fn new(plans: &[Planned]) -> Self {
        let mut charts: Vec<Chart> = plans.iter().map(Chart::new).collect();
        let end = end(&charts);
        charts.iter_mut().for_each(|chart| chart.leave_out_beyond(end));
        let first = charts.iter().filter_map(first_start).min();
        let axis = first.map(|first| Range::of_time(first, end));
        Self { charts, axis }
    }

    /// Whether a seed's starts are in it.
    pub(super) fn is_seeded(&self) -> bool {
        self.windows().any(|window| window.is_range() && window.sample.is_some())
    }

    /// Whether any attempt has more than one moment to start at.
    pub(super) fn has_ranges(&self) -> bool {
        self.windows().any(Window::is_range)
    }

    /// The greatest number of an attempt.
    pub(super) fn last_attempt(&self) -> u64 {
        self.windows().map(|window| window.attempt).max().unwrap_or(1)
    }

    fn windows(&self) -> impl Iterator<Item = &Window> {
        self.charts.iter().flat_map(|chart| &chart.windows)
    }
}

impl Chart {
    fn new(planned: &Planned) -> Self {
        let starts = starts(planned.reachable());
        Self {
            notes: notes(planned, starts.len()),
            windows: windows(planned, &starts),
            limits: limits(planned),
        }
    }

    fn end(&self) -> u64 {
        self.windows.iter().map(|window| window.latest).max().unwrap_or(0)
    }

    /// Replaces limits off the axis by notes.
    fn leave_out_beyond(&mut self, end: u64) {
        for limit in self.limits.extract_if(.., |limit| limit.at > end) {
            self.notes.push(format!("Beyond this axis: {}.", limit.label));
        }
    }
}

/// How many delays come before each of the attempts to draw: all attempts where they are few, otherwise
/// the first ones and some of the others up to the last.
fn starts(reachable: Option<u32>) -> Vec<u32> {
    const DRAWN: u32 = 12;
    const FIRST: u32 = DRAWN / 2;
    match reachable {
        Some(last) if last >= DRAWN => {
            let step = |i: u32| {
                let others = u64::from(last - FIRST + 1);
                FIRST - 1 + (others * u64::from(i) / u64::from(DRAWN - FIRST)) as u32
            };
            (0..FIRST).chain((1..=DRAWN - FIRST).map(step)).collect()
        }
        Some(last) => (0..=last).collect(),
        None => (0..DRAWN).collect(),
    }
}

fn notes(planned: &Planned, drawn: usize) -> Vec<String> {
    let mut notes = Vec::new();
    match planned.reachable().map(|reachable| u64::from(reachable) + 1) {
        None => notes.push(format!("The first {drawn} attempts are drawn; there are more.")),
        Some(attempts) if attempts > drawn as u64 => {
            notes.push(format!("{drawn} of {attempts} attempts are drawn."));
        }
        Some(_) => {}
    }
    if let (true, Some(reachable)) = (planned.is_cut_short(), planned.reachable()) {
        let first = u64::from(reachable) + 2;
        notes.push(match planned.plan.policy().attempts() {
            Some(last) if u64::from(last) == first => format!("Attempt {first} is never reached."),
            Some(last) => format!("Attempts {first} to {last} are never reached."),
            None => format!("Attempt {first} is never reached."),
        });
    }
    notes
}

fn windows(planned: &Planned, starts: &[u32]) -> Vec<Window> {
    let policy = planned.plan.policy();
    let budget = policy.get_wait_budget().map_or(u64::MAX, nanos);
    let limit = policy.get_within().map_or(u64::MAX, nanos).min(budget);
    let samples = samples(planned, starts);
    let near = near_starts(planned, starts);
    let window = |&delays: &u32| {
        let total = near.get(delays as usize).copied().unwrap_or_else(|| policy.total_of(delays));
        let mean = nanos(total.mean);
        let start = delays as usize;
        Window {
            attempt: u64::from(delays) + 1,
            earliest: nanos(total.least).min(limit),
            mean: (mean <= limit).then_some(mean),
            latest: nanos(total.greatest).min(limit),
            sample: samples.get(start).copied(),
        }
    };
    starts.iter().map(window).collect()
}

/// When the first attempts can start, in one pass.
fn near_starts(planned: &Planned, starts: &[u32]) -> Vec<Forecast> {
    const NEAR: u32 = 4096;
    let count = starts.iter().copied().filter(|delays| *delays <= NEAR).max().unwrap_or(0);
    let zero = Forecast { least: Duration::ZERO, mean: Duration::ZERO, greatest: Duration::ZERO };
    let sums = planned.plan.rows().take(count as usize).scan(zero, |sum, row| {
        sum.least = sum.least.saturating_add(row.delay.least);
        sum.mean = sum.mean.saturating_add(row.delay.mean);
        sum.greatest = sum.greatest.saturating_add(row.delay.greatest);
        Some(*sum)
    });
    [zero].into_iter().chain(sums).collect()
}

/// When the attempts of the call with the seed start, from the first one on.
fn samples(planned: &Planned, starts: &[u32]) -> Vec<u64> {
    /// A bound on the time that this takes.
    const SUMMED: usize = 100_000;
    let count = starts.last().map_or(0, |last| *last as usize).min(SUMMED);
    let drawn = planned.plan.rows().take(count).map_while(|row| row.sample);
    let later: Vec<u64> = samples_within(planned, drawn).map(nanos).collect();
    let seeded = planned.plan.rows().next().is_some_and(|row| row.sample.is_some());
    if seeded { [0].into_iter().chain(later).collect() } else { later }
}

fn limits(planned: &Planned) -> Vec<Limit> {
    let policy = planned.plan.policy();
    let limit = |words: &'static str| {
        move |at: Duration| Limit { label: format!("{words} {}", human(at)), at: nanos(at) }
    };
    let within = policy.get_within().map(limit("within"));
    let budget = policy.get_wait_budget().map(limit("wait budget"));
    within.into_iter().chain(budget).collect()
}

/// The first moment after the start at which an attempt can start.
fn first_start(chart: &Chart) -> Option<u64> {
    chart
        .windows
        .iter()
        .flat_map(|window| [window.earliest, window.latest])
        .filter(|at| *at > 0)
        .min()
}

/// Where the axis ends: it includes a limit that is not far after the last start.
fn end(charts: &[Chart]) -> u64 {
    let end = charts.iter().map(Chart::end).max().unwrap_or(0);
    let limits = charts.iter().flat_map(|chart| &chart.limits).map(|limit| limit.at);
    limits.filter(|at| *at <= end.saturating_add(end / 2)).fold(end, u64::max)
}

#[cfg(test)]
mod tests {
    use redial_core::clause;
    use redial_policy::Plan;

    use super::*;

    #[test]
    fn every_window_lies_on_the_axis_in_order() {
        let extremes = include_str!("extremes.txt").lines();
        for (clause, seed) in extremes.flat_map(|clause| [0, 1, 42].map(|seed| (clause, seed))) {
            let plan = Plan::new(clause::read_call(clause).policy().unwrap()).seed(seed);
            let planned = Planned {
                name: None,
                from: None,
                plan,
                show: None,
                diagnostics: Vec::new(),
                notes: Vec::new(),
            };
            let picture = Picture::new(&[planned]);
            let Some(axis) = picture.axis else { continue };
            for window in &picture.charts[0].windows {
                let moments =
                    [window.earliest, window.mean.unwrap_or(window.latest), window.latest];
                assert!(moments.is_sorted(), "{clause}: {window:?}");
                if let Some(sample) = window.sample {
                    let range = window.earliest..=window.latest;
                    assert!(range.contains(&sample), "{clause}: {window:?}");
                }
                let positions = moments.map(|moment| axis.moment(moment));
                assert!(positions.is_sorted(), "{clause}: {positions:?}");
                assert!(positions.iter().all(|at| (0.0..=1.0).contains(at)), "{clause}");
            }
        }
    }
}
