//! What runs add up to: all of them, and those of each command.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::collector::{Collector, Command, Run, Verdict};

/// How many runs are named as the slowest, and as the most retried.
const NAMED: usize = 5;

/// What there is to report.
#[derive(Debug)]
pub(crate) struct Summary<'c> {
    pub(super) totals: Sums,
    /// The flakiest first.
    pub(super) commands: Vec<CommandSummary<'c>>,
    pub(super) slowest: Vec<&'c Run>,
    pub(super) most_retried: Vec<&'c Run>,
}

/// The runs of one command.
#[derive(Debug)]
pub(super) struct CommandSummary<'c> {
    /// None for the runs whose start is not in the log.
    pub(super) command: Option<&'c Command>,
    pub(super) sums: Sums,
    pub(super) runs: Vec<&'c Run>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) runs: u64,
    pub(super) succeeded_at_once: u64,
    pub(super) flaky: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) refused: u64,
    pub(super) unfinished: u64,
    pub(super) attempts: u64,
    pub(super) waited_ns: u64,
    pub(super) running_ns: u64,
    pub(super) slowest_ns: u64,
}

impl Collector {
    pub(crate) fn summary(&self) -> Summary<'_> {
        let mut groups = BTreeMap::<Option<&str>, CommandSummary<'_>>::new();
        let mut totals = Sums::default();
        for run in self.runs() {
            let command = run.command();
            let group = groups.entry(command.map(|command| command.typed.as_str()));
            let empty = || CommandSummary { command, sums: Sums::default(), runs: Vec::new() };
            let group = group.or_insert_with(empty);
            group.sums.add(run);
            group.runs.push(run);
            totals.add(run);
        }
        let mut commands: Vec<_> = groups.into_values().collect();
        // What is equal stays in the order of the names.
        commands.sort_by(|one, other| one.sums.compare_trouble(&other.sums).reverse());
        let all = || self.runs().iter();
        Summary {
            totals,
            commands,
            slowest: greatest(all(), |run| run.duration_ns()),
            most_retried: greatest(all().filter(|run| run.tries() > 1), |run| run.tries()),
        }
    }
}

impl Summary<'_> {
    /// The run, where there is only one.
    pub(super) fn only_run(&self) -> Option<&Run> {
        match self.commands.as_slice() {
            [CommandSummary { runs, .. }] if runs.len() == 1 => runs.first().copied(),
            _ => None,
        }
    }
}

impl Sums {
    fn add(&mut self, run: &Run) {
        self.runs += 1;
        *match run.verdict() {
            Verdict::SucceededAtOnce => &mut self.succeeded_at_once,
            Verdict::Flaky => &mut self.flaky,
            Verdict::Failed => &mut self.failed,
            Verdict::Cancelled => &mut self.cancelled,
            Verdict::Refused => &mut self.refused,
            Verdict::Unfinished => &mut self.unfinished,
        } += 1;
        self.attempts = self.attempts.saturating_add(run.tries().into());
        self.waited_ns = self.waited_ns.saturating_add(run.waited_ns());
        self.running_ns = self.running_ns.saturating_add(run.running_ns());
        self.slowest_ns = self.slowest_ns.max(run.duration_ns());
    }

    /// The runs that came to a result. A run that was cancelled, refused or killed says nothing
    /// about how flaky its command is.
    pub(super) fn finished(&self) -> u64 {
        self.succeeded_at_once + self.flaky + self.failed
    }

    /// The share of the flaky runs in those that came to a result; none where there are none.
    pub(super) fn flake_rate(&self) -> Option<f64> {
        (self.finished() > 0).then(|| self.flaky as f64 / self.finished() as f64)
    }

    /// By the share of flaky runs, then by failures, then by runs.
    fn compare_trouble(&self, other: &Self) -> std::cmp::Ordering {
        let rates = self.flake_rate().unwrap_or(0.0).total_cmp(&other.flake_rate().unwrap_or(0.0));
        rates.then(self.failed.cmp(&other.failed)).then(self.runs.cmp(&other.runs))
    }
}

/// The runs with the most of something; of those with as much, the earlier ones.
fn greatest<'c, K: Ord>(
    runs: impl Iterator<Item = &'c Run>,
    key: impl Fn(&Run) -> K,
) -> Vec<&'c Run> {
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|run| Reverse(key(run)));
    runs.truncate(NAMED);
    runs
}
