//! A plan for programs. The fields and their order are a promise.

use redial_policy::{Diagnostic, Row, Total};
use serde::Serialize;

use super::Planned;
use crate::duration::nanos;
use crate::events::Attempts;
use crate::output;

/// The plans as JSON, ending with a newline.
pub(crate) fn json(plans: &[Planned]) -> String {
    output::json(&Document { plans: plans.iter().map(Entry::new).collect() })
}

/// All there is to say.
#[derive(Serialize)]
struct Document {
    plans: Vec<Entry>,
}

/// One policy.
#[derive(Serialize)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'static str>,
    policy: String,
    attempts: Attempts,
    delays: Vec<DelayEntry>,
    total_wait: TotalWait,
    gives_up_after: GivesUpAfter,
    diagnostics: Vec<Finding>,
}

/// One delay.
#[derive(Serialize)]
pub(crate) struct Delay {
    after_attempt: u32,
    min_ns: u64,
    mean_ns: u64,
    max_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_ns: Option<u64>,
}

/// The same, and whether it comes before the policy gives up.
#[derive(Serialize)]
struct DelayEntry {
    #[serde(flatten)]
    delay: Delay,
    reachable: bool,
}

/// All waits together.
#[derive(Serialize)]
struct TotalWait {
    min_ns: Option<u64>,
    mean_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// The end of a call that always fails.
#[derive(Serialize)]
struct GivesUpAfter {
    min_ns: Option<u64>,
    max_ns: Option<u64>,
}

/// One diagnostic.
#[derive(Serialize)]
struct Finding {
    name: &'static str,
    severity: &'static str,
    message: String,
    start: usize,
    end: usize,
}

impl Entry {
    fn new(planned: &Planned) -> Self {
        let (earliest, latest) = planned.plan.gives_up_after();
        Self {
            name: planned.name.clone(),
            from: planned.from,
            policy: planned.clause(),
            attempts: planned.plan.policy().attempts().into(),
            delays: planned.plan.rows().take(planned.limit()).map(DelayEntry::from).collect(),
            total_wait: planned.plan.total_wait().into(),
            gives_up_after: GivesUpAfter { min_ns: earliest.map(nanos), max_ns: latest.map(nanos) },
            diagnostics: planned.diagnostics.iter().map(Finding::from).collect(),
        }
    }
}

impl From<Row> for Delay {
    fn from(row: Row) -> Self {
        Self {
            after_attempt: row.after_attempt,
            min_ns: nanos(row.delay.least),
            mean_ns: nanos(row.delay.mean),
            max_ns: nanos(row.delay.greatest),
            sample_ns: row.sample.map(nanos),
        }
    }
}

impl From<Row> for DelayEntry {
    fn from(row: Row) -> Self {
        Self { reachable: row.reachable, delay: row.into() }
    }
}

impl From<Total> for TotalWait {
    fn from(total: Total) -> Self {
        Self {
            min_ns: total.least.map(nanos),
            mean_ns: total.mean.map(nanos),
            max_ns: total.greatest.map(nanos),
        }
    }
}

impl From<&Diagnostic> for Finding {
    fn from(diagnostic: &Diagnostic) -> Self {
        Self {
            name: diagnostic.kind.name(),
            severity: diagnostic.severity(),
            message: diagnostic.message.clone(),
            start: diagnostic.span.start,
            end: diagnostic.span.end,
        }
    }
}
