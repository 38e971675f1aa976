//! Polly and .NET's HTTP resilience: options of a retry strategy in a section of `appsettings.json`.
//!
//! App-vNext/Polly `src/Polly.Core/Retry/RetryHelper.cs` (`GetRetryDelay`); dotnet/extensions
//! `HttpRetryStrategyOptions.cs` and `HttpStandardResilienceOptions.cs`.

use super::value::{SECOND, scaled};
use super::{
    Draw, Found, Reader, Reads, System, Vector, Walk, duration, field, has_any, joined, word,
};
use crate::Format;
use crate::convert::{Foreign, Link, Parts, Source, Tree};
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "polly",
    title: "Polly",
    clients: &["polly", "http"],
    vocabulary: &[
        ("attempts", "MaxRetryAttempts"),
        ("max_delay", "MaxDelay"),
        ("delay", "Delay"),
        ("backoff", "BackoffType"),
        ("jitter", "UseJitter"),
    ],
    reads: Reads::Maps(is_options, read),
    writes: Some(write),
    page: include_str!("pages/polly.md"),
    vectors: &[
        Vector {
            text: r#"{"MaxRetryAttempts": 3}"#,
            format: Format::Json,
            client: None,
            delays: "2s 2s 2s",
        },
        Vector {
            text: r#"{"MaxRetryAttempts": 6, "BackoffType": "Linear", "Delay": "00:00:01", "UseJitter": true, "MaxDelay": "00:00:04.5"}"#,
            format: Format::Json,
            client: None,
            delays: "750ms-1250ms 1500ms-2500ms 2250ms-3750ms 3s-4500ms 3750ms-4500ms 4500ms",
        },
        Vector {
            text: r#"{"MaxRetryAttempts": 3, "BackoffType": "Exponential", "Delay": "00:00:01", "UseJitter": true, "MaxDelay": "00:00:02"}"#,
            format: Format::Json,
            client: None,
            delays: "0s-1377182200ns 0s-2s 0s-2s",
        },
    ],
};

const OWN: [&str; 3] = ["MaxRetryAttempts", "BackoffType", "UseJitter"];

/// What else the options of the standard handler have.
const HANDLER: [&str; 4] =
    ["AttemptTimeout", "TotalRequestTimeout", "CircuitBreaker", "RateLimiter"];

const DAY: u64 = 86_400 * SECOND;

/// This many retries never end.
const FOREVER: u64 = i32::MAX as u64;

fn is_handler(node: &Node) -> bool {
    node.has("Retry") && has_any(node, &HANDLER)
}

fn is_options(node: &Node, _path: &str) -> bool {
    has_any(node, &OWN) || is_handler(node)
}

/// A `TimeSpan`: `00:00:02`, `1.00:00:00`, `00:00:00.5`.
fn span(text: &str) -> Option<u64> {
    let (days, rest) = match text.split_once('.') {
        Some((days, rest)) if rest.contains(':') => (days, rest),
        _ => ("0", text),
    };
    let mut parts = rest.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    let is_over = parts.next().is_some();
    let below = |text: &str, end: u64, unit: u64| {
        scaled(text, unit).filter(|nanos| *nanos < end * unit && !text.is_empty())
    };
    let sum = [
        scaled(days, DAY)?,
        below(hours, 24, 3600 * SECOND)?,
        below(minutes, 60, 60 * SECOND)?,
        below(seconds, 60, SECOND)?,
    ];
    // A tick has 100 ns.
    let nanos = sum.into_iter().try_fold(0, u64::checked_add)?;
    (!is_over).then_some(nanos - nanos % 100)
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    if !is_handler(node) {
        let is_http = reader.client == "http";
        options(reader, node, path.to_owned(), is_http, None);
        return Walk::Done;
    }
    let limit = |name| field(field(node, &[name])?, &["Timeout"]);
    let limits = (limit("AttemptTimeout"), limit("TotalRequestTimeout"));
    if let Some(retry) = field(node, &["Retry"]) {
        options(reader, retry, joined(path, "Retry"), true, Some(limits));
    }
    Walk::Done
}

fn options(
    reader: &mut Reader<'_>,
    node: &Node,
    name: String,
    is_http: bool,
    handler: Option<(Option<&Node>, Option<&Node>)>,
) {
    const SPAN: &str = "use hours, minutes and seconds such as \"00:00:02\"";
    let before = reader.told();
    let get = |name: &str| field(node, &[name]);
    let at = |name: &str| get(name).map_or(node.span, |node| node.span);
    let retries = reader.whole("MaxRetryAttempts", get("MaxRetryAttempts"), 3);
    let base = reader.time("Delay", get("Delay"), SPAN, span).unwrap_or(2 * SECOND);
    let max = reader.time("MaxDelay", get("MaxDelay"), SPAN, span);
    let jitter = reader.flag("UseJitter", get("UseJitter"), is_http);
    let kind =
        word(node, &["BackoffType"]).unwrap_or(if is_http { "Exponential" } else { "Constant" });
    if !(1..=FOREVER).contains(&retries) {
        reader.rejected(at("MaxRetryAttempts"), "MaxRetryAttempts must be from 1 to 2147483647");
    }
    for (name, time) in [("Delay", Some(base)), ("MaxDelay", max)] {
        if time.is_some_and(|time| time > DAY) {
            reader.rejected(at(name), format!("{name} must be a day at most"));
        }
    }
    let Some(growth) = Growth::named(kind) else {
        reader.rejected(at("BackoffType"), "BackoffType is Constant, Linear or Exponential");
        return;
    };
    let attempts = match retries {
        FOREVER.. => "unlimited".to_owned(),
        retries => (retries + 1).to_string(),
    };
    let mut clause = format!("attempts: {attempts}, delay: {}", duration(base));
    clause += match growth {
        Growth::Constant => "",
        Growth::Linear => ", backoff: linear",
        Growth::Exponential => ", backoff: exponential",
    };
    let cap = max.map_or("none".to_owned(), duration);
    let (before_jitter, after) = match (jitter, growth) {
        (false, _) => (cap, String::new()),
        (true, Growth::Exponential) => (cap, ", jitter: full".to_owned()),
        (true, _) => (
            "none".to_owned(),
            max.map_or(String::new(), |max| format!(", max_delay: {}", duration(max))),
        ),
    };
    if base > 0 {
        clause += &format!(", max_delay: {before_jitter}");
        if jitter && growth != Growth::Exponential {
            clause += ", jitter: 25%";
        }
        clause += &after;
    }
    let timeouts = handler.map(|(attempt, total)| {
        let attempt = reader.time("AttemptTimeout", attempt, SPAN, span).unwrap_or(10 * SECOND);
        let total = reader.time("TotalRequestTimeout", total, SPAN, span).unwrap_or(30 * SECOND);
        (attempt, total)
    });
    if let Some((_, total)) = timeouts.filter(|(_, total)| *total > 0) {
        clause += &format!(", within: {}", duration(total));
    }
    let mut found = Found::new(name, node.span, clause);
    found.timeout = timeouts.map(|(attempt, _)| std::time::Duration::from_nanos(attempt));
    found.note(format!("MaxRetryAttempts counts retries: {attempts} attempts in all."));
    if is_http {
        found.note("A Retry-After of the response takes the place of the delay, and MaxDelay does not cap it.");
    }
    if jitter && growth == Growth::Exponential {
        found.note(
            "The jitter is correlated: a wait is what is left of a curve that each draw moves along, so that it can be shorter \
             than the one before.",
        );
    }
    let max = max.unwrap_or(u64::MAX);
    reader.law(found, before, move |n| growth.delay(n, base, jitter).capped(max));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Growth {
    Constant,
    Linear,
    Exponential,
}

impl Growth {
    fn named(name: &str) -> Option<Self> {
        match name {
            "Constant" => Some(Self::Constant),
            "Linear" => Some(Self::Linear),
            "Exponential" => Some(Self::Exponential),
            _ => None,
        }
    }

    fn delay(self, n: u32, base: u64, jitter: bool) -> Draw {
        let grown = match self {
            Self::Constant => base,
            Self::Linear => base.saturating_mul(u64::from(n) + 1),
            Self::Exponential if jitter && base > 0 => return Draw::curve(n, base),
            Self::Exponential => base.saturating_mul(1u64.checked_shl(n).unwrap_or(u64::MAX)),
        };
        match jitter {
            true => Draw::between(grown - grown / 4, grown.saturating_add(grown / 4)),
            false => Draw::exactly(grown),
        }
    }
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let (delay, kind) = match &parts.source {
        Source::Exponential { delay, .. }
        | Source::Fibonacci(delay)
        | Source::Decorrelated(delay) => (*delay, "Exponential"),
        Source::Linear { delay, .. } => (*delay, "Linear"),
        Source::Fixed(delay) => (*delay, "Constant"),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), "Constant"),
    };
    let time = |time: std::time::Duration| {
        let time = time.min(std::time::Duration::from_nanos(DAY));
        let seconds = time.as_secs();
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        let days = if days > 0 { format!("{days}.") } else { String::new() };
        let ticks = time.subsec_nanos() / 100;
        Tree::text(format!("{days}{hours:02}:{minutes:02}:{:02}.{ticks:07}", seconds % 60))
    };
    let is_jitter = |link: &&Link| !matches!(link, Link::Min(_) | Link::Max(_));
    let retries = parts.attempts.map_or(FOREVER, |attempts| u64::from(attempts.max(2)) - 1);
    let mut options = vec![
        ("MaxRetryAttempts", Tree::bare(retries.min(FOREVER))),
        ("BackoffType", Tree::text(kind)),
        ("Delay", time(delay)),
        ("UseJitter", Tree::bare(parts.chain.iter().any(|link| is_jitter(&link)))),
    ];
    if let Some(cap) = parts.cap() {
        options.push(("MaxDelay", time(cap)));
    }
    Foreign::Tree(Tree::map(options), Format::Json)
}
