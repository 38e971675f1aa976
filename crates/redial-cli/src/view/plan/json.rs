//! A plan for programs. The fields and their order are a promise.

use redial_policy::{Diagnostic, Row, Timing};
use serde_json::{Value as Json, json};

use super::Planned;
use crate::duration::nanos;
use crate::events::Attempts;
use crate::output::{self, optional};

/// The plans as JSON, ending with a newline.
pub(crate) fn json(plans: &[Planned]) -> String {
    output::json(&json!({ "plans": plans.iter().map(entry).collect::<Json>() }))
}

fn entry(planned: &Planned) -> Json {
    let plan = &planned.plan;
    let (earliest, latest) = plan.gives_up_after();
    let total = plan.total_wait();
    let is_law = matches!(plan.policy(), Timing::Law(_));
    let notes = Some(&planned.notes).filter(|notes| !notes.is_empty());
    let with_reach = |row: Row| {
        let mut entry = delay(row);
        entry["reachable"] = row.reachable.into();
        entry
    };
    let entry = json!({
        "name": planned.name,
        "from": planned.from,
        // No clause says a law.
        "policy": (!is_law).then(|| planned.clause()),
        "law": is_law.then(|| planned.clause()),
        "attempts": Attempts::from(plan.policy().attempts()),
        "delays": plan.rows().take(planned.limit()).map(with_reach).collect::<Json>(),
        "total_wait": {
            "min_ns": total.least.map(nanos),
            "mean_ns": total.mean.map(nanos),
            "max_ns": total.greatest.map(nanos),
        },
        "gives_up_after": { "min_ns": earliest.map(nanos), "max_ns": latest.map(nanos) },
        "diagnostics": planned.diagnostics.iter().map(finding).collect::<Json>(),
        "notes": notes,
    });
    optional(entry, &["name", "from", "law", "notes"])
}

/// One delay; `sample_ns` is there with a seed alone.
pub(crate) fn delay(row: Row) -> Json {
    let delay = json!({
        "after_attempt": row.after_attempt,
        "min_ns": nanos(row.delay.least),
        "mean_ns": nanos(row.delay.mean),
        "max_ns": nanos(row.delay.greatest),
        "sample_ns": row.sample.map(nanos),
    });
    optional(delay, &["sample_ns"])
}

fn finding(found: &Diagnostic) -> Json {
    json!({
        "name": found.kind.name(),
        "severity": found.severity(),
        "message": found.message,
        "start": found.span.start,
        "end": found.span.end,
    })
}
