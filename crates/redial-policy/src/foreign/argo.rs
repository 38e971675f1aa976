//! Argo Workflows: the `retryStrategy` of a template or a workflow.
//!
//! argoproj/argo-workflows `workflow/controller/operator.go` (`processNodeRetries`).

use super::value::{SECOND, go_duration, scaled};
use super::{Draw, Found, Reader, Reads, System, Vector, Walk, duration, field, is_under, word};
use crate::Format;
use crate::convert::{Foreign, Parts, Source, Tree};
use crate::diagnostic::Kind;
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "argo",
    title: "Argo Workflows",
    clients: &[],
    vocabulary: &[
        ("attempts", "limit"),
        ("max_delay", "cap"),
        ("delay", "duration"),
        ("within", "maxDuration"),
    ],
    reads: Reads::Maps(is_strategy, read),
    writes: Some(write),
    page: include_str!("pages/argo.md"),
    vectors: &[
        Vector {
            text: r#"retryStrategy: {limit: "7", backoff: {duration: "1", factor: "2", cap: "5"}}"#,
            format: Format::Yaml,
            client: None,
            delays: "1s 2s 4s 5s 5s 5s 5s",
        },
        Vector {
            text: r#"retryStrategy: {backoff: {duration: "1m", factor: 2}}"#,
            format: Format::Yaml,
            client: None,
            delays: "0s 0s …",
        },
    ],
};

fn is_strategy(node: &Node, path: &str) -> bool {
    let holds = || {
        let keys = ["duration", "factor", "maxDuration", "cap"];
        field(node, &["backoff"]).is_some_and(|backoff| super::has_any(backoff, &keys))
    };
    is_under(path, "retryStrategy") || node.has("limit") && holds()
}

/// A number of seconds, or a duration of Go.
fn time(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { scaled(text, SECOND) } else { go_duration(text) }
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    const UNITS: &str = "use seconds, or a number with a unit such as 1m30s";
    let before = reader.told();
    let limit = field(node, &["limit"]);
    let retries = limit.map(|limit| reader.whole("limit", Some(limit), 0));
    let backoff = field(node, &["backoff"]);
    let inside = |name: &str| backoff.and_then(|backoff| field(backoff, &[name]));
    let initial = reader.time("duration", inside("duration"), UNITS, time);
    let factor = match reader.whole("factor", inside("factor"), 1) {
        0 => 1,
        factor => factor,
    };
    let cap = reader.time("cap", inside("cap"), UNITS, time).filter(|cap| *cap > 0);
    let within = reader.time("maxDuration", inside("maxDuration"), UNITS, time);
    if let (Some(backoff), None) = (backoff, inside("duration")) {
        reader.rejected(backoff.span, "duration is missing in backoff");
    }
    if let Some(policy) = field(node, &["retryPolicy"])
        && !["Always", "OnFailure", "OnError", "OnTransientError"]
            .contains(&word(node, &["retryPolicy"]).unwrap_or_default())
    {
        reader
            .rejected(policy.span, "retryPolicy is Always, OnFailure, OnError or OnTransientError");
    }
    let initial = match (retries, backoff) {
        (None, Some(backoff)) => {
            let message =
                "without a limit the backoff is never waited: retries follow one another at once";
            reader.tell(Kind::IgnoredThere, backoff.span, message);
            0
        }
        _ => initial.unwrap_or(0),
    };
    let mut clause = match retries {
        Some(0) => "attempts: 1".to_owned(),
        Some(retries) => format!("retry: {}", retries.min(u64::from(u32::MAX - 1))),
        None => "attempts: unlimited".to_owned(),
    };
    if retries != Some(0) {
        clause += &format!(", delay: {}", duration(initial));
        if factor > 1 && initial > 0 {
            clause += &format!(", backoff: exponential, factor: {factor}");
        }
        match cap {
            Some(cap) if initial > 0 => clause += &format!(", max_delay: {}", duration(cap)),
            _ => clause += ", max_delay: none",
        }
        if let Some(within) = within.filter(|within| *within > 0) {
            clause += &format!(", within: {}", duration(within));
        }
    }
    let mut found = Found::new(path, node.span, clause);
    if let Some(retries) = retries {
        found.note(format!(
            "limit counts retries: {retries} of them are {} attempts.",
            retries.saturating_add(1)
        ));
    } else {
        found.note("Without a limit there is no end to the retries.");
    }
    if initial > 0 {
        found.note("The wait comes before retryPolicy and expression are asked: a failure that is not retried waits, too.");
    }
    if within.is_some() {
        found.note("maxDuration is a deadline from the start of the first attempt, not a cap; it also ends the pod.");
    }
    let (mut current, mut at) = (initial, 0);
    reader.law(found, before, move |n| {
        while at < n {
            // Nanoseconds of 64 bits with a sign.
            current = current.saturating_mul(factor).min(i64::MAX as u64);
            at += 1;
        }
        Draw::exactly(current.min(cap.unwrap_or(u64::MAX)))
    });
    Walk::Done
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let (initial, factor) = match &parts.source {
        Source::Exponential { delay, factor } => {
            (*delay, factor.parse::<f64>().map_or(2, |factor| factor.round().max(1.0) as u64))
        }
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => (*delay, 2),
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, 1),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), 1),
    };
    let time = |time: std::time::Duration| {
        Tree::text(redial_core::Pretty(time).to_string().replace("min", "m"))
    };
    let mut backoff = vec![("duration", time(initial)), ("factor", Tree::text(factor.to_string()))];
    if let Some(cap) = parts.cap() {
        backoff.push(("cap", time(cap)));
    }
    if let Some(within) = parts.within {
        backoff.push(("maxDuration", time(within)));
    }
    let retries = parts.attempts.map_or(i32::MAX as u32, |attempts| attempts - 1);
    let strategy = Tree::map([
        ("limit", Tree::text(retries.to_string())),
        ("retryPolicy", Tree::text("Always")),
        ("backoff", Tree::map(backoff)),
    ]);
    Foreign::Tree(Tree::map([("retryStrategy", strategy)]), Format::Yaml)
}
