//! Totals over all runs, and over those of each command.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::collector::{Collector, Command, Run, Verdict};

/// How many of the slowest and of the most retried runs are listed.
const NAMED: usize = 5;

/// What there is to report.
#[derive(Debug)]
pub(crate) struct Summary<'c> {
    pub(crate) totals: Sums,
    /// The flakiest first.
    pub(crate) commands: Vec<CommandSummary<'c>>,
    pub(crate) slowest: Vec<&'c Run>,
    pub(crate) most_retried: Vec<&'c Run>,
}

/// The runs of one command.
#[derive(Debug)]
pub(crate) struct CommandSummary<'c> {
    /// None for the runs whose start is not in the log.
    pub(crate) command: Option<&'c Command>,
    pub(crate) sums: Sums,
    pub(crate) runs: Vec<&'c Run>,
}

/// The order of the fields is that of the JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Sums {
    pub(crate) runs: u64,
    pub(crate) succeeded_at_once: u64,
    pub(crate) became_ready: u64,
    pub(crate) flaky: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
    pub(crate) refused: u64,
    pub(crate) unfinished: u64,
    /// The share of flaky runs among those that succeeded or failed; none if there are none.
    pub(crate) flake_rate: Option<f64>,
    pub(crate) attempts: u64,
    pub(crate) waited_ns: u64,
    pub(crate) running_ns: u64,
    pub(crate) slowest_ns: u64,
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
        // A stable sort: ties stay in the order of the names.
        commands.sort_by(|one, other| one.sums.compare_trouble(&other.sums).reverse());
        let all = || self.runs().iter();
        let retried = all().filter(|run| run.tries() > 1 && !run.is_poll());
        Summary {
            totals,
            commands,
            slowest: greatest(all(), |run| run.duration_ns()),
            most_retried: greatest(retried, |run| run.tries()),
        }
    }
}

impl Summary<'_> {
    /// The run, where there is only one.
    pub(crate) fn only_run(&self) -> Option<&Run> {
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
            Verdict::BecameReady => &mut self.became_ready,
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
        let finished = self.finished();
        self.flake_rate = (finished > 0).then(|| self.flaky as f64 / finished as f64);
    }

    /// The runs that succeeded or failed. One that was cancelled, refused or killed says nothing about
    /// how flaky its command is.
    pub(crate) fn finished(&self) -> u64 {
        self.succeeded_at_once + self.became_ready + self.flaky + self.failed
    }

    /// By the share of flaky runs, then by failures, then by runs.
    fn compare_trouble(&self, other: &Self) -> std::cmp::Ordering {
        let rates = self.flake_rate.unwrap_or(0.0).total_cmp(&other.flake_rate.unwrap_or(0.0));
        rates.then(self.failed.cmp(&other.failed)).then(self.runs.cmp(&other.runs))
    }
}

/// The runs with the greatest key; ties keep their order.
fn greatest<'c, K: Ord>(
    runs: impl Iterator<Item = &'c Run>,
    key: impl Fn(&Run) -> K,
) -> Vec<&'c Run> {
    let mut runs: Vec<_> = runs.collect();
    runs.sort_by_key(|run| Reverse(key(run)));
    runs.truncate(NAMED);
    runs
}
