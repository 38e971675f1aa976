//! A flow for programs. The fields and their order are a promise: fields are only ever added.

use redial_flow::definition::{BudgetSettings, NeedKind, OnFailure};
use redial_flow::outlook::{ItemCount, StepOutlook};
use redial_policy::Diagnostic;
use serde::Serialize;

use super::{Planned, words};
use crate::duration::nanos;
use crate::events::Attempts;
use crate::view::flow::document;
use crate::view::plan::delay;

/// How many delays of a step are listed.
const DELAYS: usize = 100;

/// The flow as JSON, ending with a newline.
pub(crate) fn json(planned: &Planned<'_>) -> String {
    let outlook = planned.outlook;
    let name = |id: &u32| outlook.steps[*id as usize].step.name.as_str();
    document::text(&Document {
        flow: planned.name(),
        slots: outlook.slots.get(),
        within_ns: planned.prepared.definition.within.map(nanos),
        steps: outlook.steps.iter().map(|one| Step::new(planned, one)).collect(),
        worst_case: WorstCase {
            time_ns: outlook.time.map(nanos),
            is_deadline: outlook.is_deadline,
            longest: outlook.longest.iter().map(name).collect(),
            unbounded: outlook.unbounded.iter().map(name).collect(),
            further: outlook
                .further
                .iter()
                .map(|(map, more)| Further { map: name(map), item_ns: nanos(*more) })
                .collect(),
        },
        warnings: planned.warnings.iter().map(Warning::from).collect(),
    })
}

#[derive(Serialize)]
struct Document<'p> {
    flow: &'p str,
    slots: u32,
    within_ns: Option<u64>,
    steps: Vec<Step<'p>>,
    worst_case: WorstCase<'p>,
    warnings: Vec<Warning<'p>>,
}

#[derive(Serialize)]
struct Step<'p> {
    step: &'p str,
    inside: Option<&'p str>,
    instead_of: Option<&'p str>,
    level: u32,
    does: &'static str,
    text: String,
    needs: Vec<Need<'p>>,
    when: Option<&'p str>,
    /// None of a map or a branch.
    policy: Option<String>,
    attempts: Option<Attempts>,
    timeout_ns: Option<u64>,
    delays: Vec<serde_json::Value>,
    asked_delay_max_ns: Option<u64>,
    items: Option<u64>,
    items_are_known: Option<bool>,
    slots: Option<u32>,
    rate: Option<Rate>,
    budget: Option<BudgetSettings>,
    breaker: Option<Breaker>,
    on_failure: &'static str,
    idempotent: bool,
    /// What becomes of an attempt that runs when redial is killed.
    killed: Option<&'static str>,
    task_time_ns: Option<u64>,
    time_ns: Option<u64>,
}

#[derive(Serialize)]
struct Need<'p> {
    step: &'p str,
    kind: &'static str,
}

#[derive(Serialize)]
struct Rate {
    count: u32,
    per_ns: u64,
}

#[derive(Serialize)]
struct Breaker {
    failures: u32,
    recovery_ns: u64,
    probes: u32,
}

#[derive(Serialize)]
struct WorstCase<'p> {
    time_ns: Option<u64>,
    is_deadline: bool,
    longest: Vec<&'p str>,
    unbounded: Vec<&'p str>,
    further: Vec<Further<'p>>,
}

#[derive(Serialize)]
struct Further<'p> {
    map: &'p str,
    item_ns: u64,
}

#[derive(Serialize)]
struct Warning<'p> {
    name: &'static str,
    message: &'p str,
    start: usize,
    end: usize,
}

impl<'p> Step<'p> {
    fn new(planned: &Planned<'p>, one: &'p StepOutlook) -> Self {
        let (does, text) = words::does(&one.step);
        let is_attempted = words::is_attempted(&one.step);
        let of = &planned.outlook.steps;
        let (items, items_are_known) = match one.items {
            None => (None, None),
            Some(ItemCount::Known(items)) => (Some(items), Some(true)),
            Some(ItemCount::AtMost(items)) => (Some(items), Some(false)),
            Some(ItemCount::Unknown) => (None, Some(false)),
        };
        Self {
            step: &one.step.name,
            inside: one.step.inside.as_deref(),
            instead_of: one.instead_of.map(|id| of[id as usize].step.name.as_str()),
            level: one.level,
            does,
            text,
            needs: one.step.needs.iter().map(Need::from).collect(),
            when: one.step.when.as_ref().map(|when| when.text.as_str()),
            policy: is_attempted.then(|| one.plan.policy().to_string()),
            attempts: is_attempted.then(|| one.plan.policy().attempts().into()),
            timeout_ns: one.plan.get_timeout().filter(|_| is_attempted).map(nanos),
            delays: match is_attempted {
                true => {
                    let rows = one.plan.rows().take_while(|row| row.reachable);
                    rows.take(DELAYS).map(delay).collect()
                }
                false => Vec::new(),
            },
            asked_delay_max_ns: one.asked_max.map(nanos),
            items,
            items_are_known,
            slots: one.step.slots.map(|slots| slots.get()),
            rate: one
                .step
                .rate
                .map(|rate| Rate { count: rate.count.get(), per_ns: nanos(rate.per) }),
            budget: one.step.budget,
            breaker: one.step.breaker.map(|breaker| Breaker {
                failures: breaker.failures,
                recovery_ns: nanos(breaker.recovery),
                probes: breaker.probes,
            }),
            on_failure: match one.step.on_failure {
                OnFailure::Stop => "stop",
                OnFailure::DeadLetter => "dead-letter",
                OnFailure::Continue => "continue",
                OnFailure::Fallback => "fallback",
            },
            idempotent: one.step.idempotent,
            killed: match (does, one.step.idempotent, one.plan.policy().attempts()) {
                ("each" | "write_file" | "branch", ..) => None,
                (_, false, _) => Some("dead-letter"),
                (_, true, Some(1)) => Some("failed"),
                _ => Some("retried"),
            },
            task_time_ns: one.task_time.map(nanos),
            time_ns: one.time.map(nanos),
        }
    }
}

impl<'p> From<&'p redial_flow::definition::Need> for Need<'p> {
    fn from(need: &'p redial_flow::definition::Need) -> Self {
        let kind = match need.kind {
            NeedKind::Over => "over",
            NeedKind::Output => "output",
            NeedKind::All => "all",
            NeedKind::Taken => "taken",
        };
        Self { step: &need.step, kind }
    }
}

impl<'p> From<&'p Diagnostic> for Warning<'p> {
    fn from(found: &'p Diagnostic) -> Self {
        let (start, end) = (found.span.start, found.span.end);
        Self { name: found.kind.name(), message: &found.message, start, end }
    }
}
