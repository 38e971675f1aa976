//! Temporal: the retry policy of an activity or a workflow.
//!
//! temporalio/temporal `common/retrypolicy/retry_policy.go` (`EnsureDefaults`, `Validate`), `common/backoff/retry.go`
//! (`ExponentialBackoffAlgorithm`) and `service/history/workflow/retry.go` (`nextBackoffInterval`).

use super::arithmetic::go_power;
use super::value::{SECOND, go_duration};
use super::{Draw, Found, Reader, Reads, System, Vector, Walk, duration, field, has_any, joined};
use crate::Format;
use crate::convert::{Foreign, Parts, Source, Tree};
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "temporal",
    title: "Temporal",
    clients: &[],
    vocabulary: &[
        ("attempts", "maximumAttempts"),
        ("max_delay", "maximumInterval"),
        ("delay", "initialInterval"),
        ("factor", "backoffCoefficient"),
        ("within", "scheduleToCloseTimeout"),
        ("timeout", "startToCloseTimeout"),
    ],
    reads: Reads::Maps(is_policy_or_options, read),
    writes: Some(write),
    page: include_str!("pages/temporal.md"),
    vectors: &[
        Vector {
            text: "{initialInterval: 1s, backoffCoefficient: 2}",
            format: Format::Yaml,
            client: None,
            delays: "1s 2s 4s 8s 16s 32s 64s 100s 100s …",
        },
        Vector {
            text: r#"{"initialInterval": "5s", "backoffCoefficient": 1.5, "maximumInterval": "30s", "maximumAttempts": 7}"#,
            format: Format::Json,
            client: None,
            delays: "5s 7500ms 11250ms 16875ms 25312500us 30s",
        },
    ],
};

const INITIAL: [&str; 3] = ["initialInterval", "initial_interval", "InitialInterval"];
const COEFFICIENT: [&str; 3] = ["backoffCoefficient", "backoff_coefficient", "BackoffCoefficient"];
const MAXIMUM: [&str; 3] = ["maximumInterval", "maximum_interval", "MaximumInterval"];
const ATTEMPTS: [&str; 3] = ["maximumAttempts", "maximum_attempts", "MaximumAttempts"];
const ERRORS: [&str; 3] =
    ["nonRetryableErrorTypes", "non_retryable_error_types", "NonRetryableErrorTypes"];
/// Where a policy stands among the options of an activity.
const HOLDERS: [&str; 4] = ["retryPolicy", "retry_policy", "RetryPolicy", "retry"];
const START_TO_CLOSE: [&str; 3] =
    ["startToCloseTimeout", "start_to_close_timeout", "StartToCloseTimeout"];
const SCHEDULE_TO_CLOSE: [&str; 3] =
    ["scheduleToCloseTimeout", "schedule_to_close_timeout", "ScheduleToCloseTimeout"];

fn is_policy(node: &Node) -> bool {
    [INITIAL, COEFFICIENT, MAXIMUM, ATTEMPTS, ERRORS].iter().any(|names| has_any(node, names))
}

fn is_policy_or_options(node: &Node, _path: &str) -> bool {
    is_policy(node) || HOLDERS.iter().any(|name| field(node, &[name]).is_some_and(is_policy))
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    if is_policy(node) {
        policy(reader, node, path.to_owned(), None);
        return Walk::Done;
    }
    for name in HOLDERS {
        if let Some(retry) = field(node, &[name]).filter(|retry| is_policy(retry)) {
            policy(reader, retry, joined(path, name), Some(node));
        }
    }
    Walk::Done
}

fn policy(reader: &mut Reader<'_>, node: &Node, name: String, options: Option<&Node>) {
    const UNITS: &str = "use a number with a unit, such as 1.5s or 1m";
    let before = reader.told();
    let at = |names: &[&str]| field(node, names).map_or(node.span, |node| node.span);
    let attempts = reader.whole("maximumAttempts", field(node, &ATTEMPTS), 0);
    let written = reader.time("initialInterval", field(node, &INITIAL), UNITS, go_duration);
    let initial = written.filter(|initial| *initial > 0).unwrap_or(SECOND);
    let coefficient = match reader.float("backoffCoefficient", field(node, &COEFFICIENT), 2.0) {
        0.0 => 2.0,
        coefficient => coefficient,
    };
    let cap = reader.time("maximumInterval", field(node, &MAXIMUM), UNITS, go_duration);
    let cap = cap.filter(|cap| *cap > 0);
    let max = cap.unwrap_or(initial.saturating_mul(100));
    if attempts > i32::MAX as u64 {
        reader.rejected(
            at(&ATTEMPTS),
            format!("maximumAttempts is {attempts}, which is more than 32 bits"),
        );
    }
    // With one attempt nothing else is looked at.
    if attempts != 1 && coefficient < 1.0 {
        let why = format!("backoffCoefficient is {coefficient}, and must be at least 1");
        reader.rejected(at(&COEFFICIENT), why);
    }
    if attempts != 1 && max < initial {
        let (max, initial) = (duration(max), duration(initial));
        let why = format!(
            "maximumInterval is {max}, and must not be below initialInterval, which is {initial}"
        );
        reader.rejected(at(&MAXIMUM), why);
    }
    let mut clause = match attempts {
        0 => "attempts: unlimited".to_owned(),
        1 => "attempts: 1".to_owned(),
        attempts => format!("attempts: {}", attempts.min(i32::MAX as u64)),
    };
    if attempts != 1 {
        clause += &format!(", delay: {}", duration(initial));
        if coefficient > 1.0 {
            clause += &format!(", backoff: exponential, factor: {}", super::factor(coefficient));
        }
        clause += &format!(", max_delay: {}", duration(max));
    }
    let mut limit = |names: &[&str]| {
        let node = options.and_then(|options| field(options, names));
        reader.time(names[0], node, UNITS, go_duration).filter(|limit| *limit > 0)
    };
    let (within, timeout) = (limit(&SCHEDULE_TO_CLOSE), limit(&START_TO_CLOSE));
    if let Some(within) = within {
        clause += &format!(", within: {}", duration(within));
    }
    let mut found = Found::new(name, node.span, clause);
    found.timeout = timeout.map(std::time::Duration::from_nanos);
    if cap.is_none() && attempts != 1 {
        found.note(format!(
            "Without a maximumInterval the cap is 100 times the initial one: {}.",
            duration(max)
        ));
    }
    if attempts == 0 {
        found
            .note("Without maximumAttempts, or with 0 of them, there is no limit to the attempts.");
    }
    if within.is_some() {
        found.note(
            "The server gives up before scheduleToCloseTimeout where the next delay would not fit into it \
             (temporalio/sdk-go#1380).",
        );
    }
    if field(node, &ERRORS).is_some() {
        found.note("The types of errors that are not retried are not shown.");
    }
    reader.law(found, before, move |n| {
        // Nanoseconds of 64 bits with a sign, cut; what overflows is the cap.
        let interval = initial as f64 * go_power(coefficient, n);
        Draw::exactly(super::arithmetic::cut(interval).min(i64::MAX as u64).min(max))
    });
}

fn write(parts: &Parts, entry: &Entry) -> Foreign {
    let (initial, coefficient) = match &parts.source {
        Source::Exponential { delay, factor } => (*delay, factor.clone()),
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => (*delay, "2".to_owned()),
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, "1".to_owned()),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), "1".to_owned()),
    };
    let initial = initial.max(std::time::Duration::from_nanos(1));
    let time = |time: std::time::Duration| {
        Tree::text(redial_core::Pretty(time).to_string().replace("min", "m"))
    };
    let cap = parts.cap().unwrap_or(std::time::Duration::from_secs(3_153_600_000)).max(initial);
    let policy = Tree::map([
        ("initialInterval", time(initial)),
        ("backoffCoefficient", Tree::bare(coefficient)),
        ("maximumInterval", time(cap)),
        ("maximumAttempts", Tree::bare(parts.attempts.unwrap_or(0))),
    ]);
    let mut options = Vec::new();
    if let Some(timeout) = entry.timeout {
        options.push(("startToCloseTimeout", time(timeout)));
    }
    if let Some(within) = parts.within {
        options.push(("scheduleToCloseTimeout", time(within)));
    }
    options.push(("retryPolicy", policy));
    Foreign::Tree(Tree::map(options), Format::Json)
}
