//! AWS Step Functions: `Retry` of a state, a list of retriers of which each has its own count and its own exponent.
//!
//! The service is closed. The law is that of LocalStack (`services/stepfunctions/asl/component/common/retry`), which agrees
//! with what AWS writes; the limits of the fields are those of awslabs/statelint.

use super::arithmetic::nanos_of_seconds;
use super::value::SECOND;
use super::{Draw, Found, Reader, Reads, System, Vector, Walk, field, items, joined};
use crate::Format;
use crate::convert::{Foreign, Link, Parts, Source, Tree};
use crate::document::Entry;
use crate::tree::{Node, Value};

pub(super) const SYSTEM: System = System {
    name: "step-functions",
    title: "AWS Step Functions",
    clients: &[],
    vocabulary: &[
        ("attempts", "MaxAttempts"),
        ("delay", "IntervalSeconds"),
        ("factor", "BackoffRate"),
        ("max_delay", "MaxDelaySeconds"),
        ("jitter", "JitterStrategy"),
    ],
    reads: Reads::Maps(is_state, read),
    writes: Some(write),
    page: include_str!("pages/step-functions.md"),
    vectors: &[
        Vector {
            text: r#"{"Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 6}]}"#,
            format: Format::Json,
            client: None,
            delays: "1s 2s 4s 8s 16s 32s",
        },
        Vector {
            text: r#"{"Retry": [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 3, "MaxAttempts": 6,
                      "BackoffRate": 1.5, "MaxDelaySeconds": 10, "JitterStrategy": "FULL"}]}"#,
            format: Format::Json,
            client: None,
            delays: "0ns-3s 0ns-4500ms 0ns-6750ms 0ns-10s 0ns-10s 0ns-10s",
        },
    ],
};

const FIELDS: [&str; 7] = [
    "ErrorEquals",
    "IntervalSeconds",
    "MaxAttempts",
    "BackoffRate",
    "MaxDelaySeconds",
    "JitterStrategy",
    "Comment",
];

/// The largest of the whole numbers in a retrier.
const LARGEST: u64 = 99_999_999;
const DELAY_MAX: u64 = 31_622_400;

fn is_state(node: &Node, path: &str) -> bool {
    path.is_empty() && is_retrier(node) || items(node, &["Retry"]).iter().any(is_its)
}

fn is_its(node: &Node) -> bool {
    node.has("ErrorEquals") || is_retrier(node)
}

/// A catcher has `ErrorEquals`, too.
fn is_retrier(node: &Node) -> bool {
    ["IntervalSeconds", "BackoffRate", "MaxDelaySeconds"].iter().any(|name| node.has(name))
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    let retriers = items(node, &["Retry"]);
    if retriers.is_empty() {
        retrier(reader, node, path.to_owned(), None, true);
        return Walk::Done;
    }
    let timeout = field(node, &["TimeoutSeconds"]);
    for (at, one) in retriers.iter().enumerate() {
        let name = format!("{}[{at}]", joined(path, "Retry"));
        retrier(reader, one, name, timeout, at + 1 == retriers.len());
    }
    // A state has branches, or an iterator, of states.
    Walk::Beside(&["Retry"])
}

fn retrier(
    reader: &mut Reader<'_>,
    node: &Node,
    name: String,
    timeout: Option<&Node>,
    is_last: bool,
) {
    let before = reader.told();
    let mut told = Vec::new();
    crate::fields::known(node, "a retrier", &FIELDS, |_| None, reader.text, &mut told);
    reader.document.diagnostics.append(&mut told);
    errors(reader, node, is_last);
    let interval = reader.whole("IntervalSeconds", field(node, &["IntervalSeconds"]), 1);
    let retries = reader.whole("MaxAttempts", field(node, &["MaxAttempts"]), 3);
    let rate = reader.float("BackoffRate", field(node, &["BackoffRate"]), 2.0);
    let max = field(node, &["MaxDelaySeconds"]);
    let cap = max.map(|max| reader.whole("MaxDelaySeconds", Some(max), 1));
    let full = jitter(reader, node);
    let at = |name: &str| field(node, &[name]).map_or(node.span, |node| node.span);
    if !(1..=LARGEST).contains(&interval) {
        let why = format!("IntervalSeconds is {interval}, and must be from 1 to {LARGEST}");
        reader.rejected(at("IntervalSeconds"), why);
    }
    if retries > LARGEST {
        let why = format!("MaxAttempts is {retries}, and must be at most {LARGEST}");
        reader.rejected(at("MaxAttempts"), why);
    }
    if rate < 1.0 {
        reader
            .rejected(at("BackoffRate"), format!("BackoffRate is {rate}, and must be at least 1"));
    }
    if let Some(cap) = cap.filter(|cap| !(1..=DELAY_MAX).contains(cap)) {
        let why = format!("MaxDelaySeconds is {cap}, and must be from 1 to {DELAY_MAX}");
        reader.rejected(at("MaxDelaySeconds"), why);
    }
    let mut clause = format!("retry: {}, delay: {interval}s", retries.min(LARGEST));
    if rate != 1.0 {
        clause += &format!(", backoff: exponential, factor: {}", super::factor(rate));
    }
    match cap {
        Some(cap) => clause += &format!(", max_delay: {cap}s"),
        None => clause += ", max_delay: none",
    }
    if full {
        clause += ", jitter: full";
    }
    if retries == 0 {
        clause = "attempts: 1".to_owned();
    }
    let mut found = Found::new(name, node.span, clause);
    if let Some(timeout) = timeout {
        let seconds = reader.whole("TimeoutSeconds", Some(timeout), 0);
        found.timeout =
            Some(std::time::Duration::from_secs(seconds)).filter(|time| !time.is_zero());
    }
    found.note(format!(
        "MaxAttempts counts retries: {retries} of them are {} attempts.",
        retries.saturating_add(1)
    ));
    if !is_last {
        found.note("Each retrier of a state keeps its own count and its own exponent.".to_owned());
    }
    // A running product of floats, of seconds and without rounding; then the cap, then the draw.
    let (mut product, mut at) = (interval as f64, 0);
    reader.law(found, before, move |n| {
        while at < n {
            product *= rate;
            at += 1;
        }
        let nanos = nanos_of_seconds(product).min(cap.map_or(u64::MAX, |cap| cap * SECOND));
        if full { Draw::between(0, nanos) } else { Draw::exactly(nanos) }
    });
}

fn errors(reader: &mut Reader<'_>, node: &Node, is_last: bool) {
    let names = items(node, &["ErrorEquals"]);
    if names.is_empty() {
        return reader
            .rejected(node.span, "ErrorEquals is missing, which names one error at least");
    }
    let all = |name: &Node| matches!(&name.value, Value::Text(name) if name == "States.ALL");
    if let Some(place) = names.iter().find(|name| all(name)).map(|name| name.span) {
        if names.len() > 1 {
            reader.rejected(place, "States.ALL must be the only name in ErrorEquals");
        } else if !is_last {
            reader.rejected(place, "States.ALL must be in the last retrier");
        }
    }
}

fn jitter(reader: &mut Reader<'_>, node: &Node) -> bool {
    let Some(strategy) = field(node, &["JitterStrategy"]) else { return false };
    match &strategy.value {
        Value::Text(word) if word == "FULL" => true,
        Value::Text(word) if word == "NONE" => false,
        _ => {
            reader.rejected(strategy.span, "JitterStrategy is FULL or NONE");
            false
        }
    }
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let seconds = |time: std::time::Duration| time.as_nanos().div_ceil(1_000_000_000).max(1);
    let retries = parts.attempts.map_or(LARGEST, |attempts| u64::from(attempts) - 1);
    let (interval, rate) = match &parts.source {
        Source::Exponential { delay, factor } => (*delay, factor.clone()),
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => (*delay, "2.0".to_owned()),
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, "1.0".to_owned()),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), "1.0".to_owned()),
    };
    let mut fields = vec![
        ("ErrorEquals", Tree::List(vec![Tree::text("States.ALL")])),
        ("IntervalSeconds", Tree::bare(seconds(interval))),
        ("MaxAttempts", Tree::bare(retries.min(LARGEST))),
        ("BackoffRate", Tree::bare(rate)),
    ];
    if let Some(cap) = parts.cap() {
        fields.push(("MaxDelaySeconds", Tree::bare(seconds(cap))));
    }
    let is_jitter = |link: &Link| !matches!(link, Link::Min(_) | Link::Max(_));
    if parts.chain.iter().any(is_jitter) {
        fields.push(("JitterStrategy", Tree::text("FULL")));
    }
    Foreign::Tree(Tree::map([("Retry", Tree::List(vec![Tree::map(fields)]))]), Format::Json)
}
