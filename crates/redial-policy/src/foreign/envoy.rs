//! Envoy: the `retry_policy` of a route or a virtual host.
//!
//! envoyproxy/envoy `source/common/common/backoff_strategy.cc` (`JitteredExponentialBackOffStrategy`) and
//! `source/common/router/retry_state_impl.cc`.

use super::value::{MILLISECOND, go_duration, proto_duration};
use super::{
    Draw, Found, Reader, Reads, System, Vector, Walk, duration, field, has_any, joined, word,
};
use crate::Format;
use crate::convert::{Foreign, Parts, Source, Tree};
use crate::diagnostic::Kind;
use crate::document::Entry;
use crate::tree::{Node, Value};

pub(super) const SYSTEM: System = System {
    name: "envoy",
    title: "Envoy",
    clients: &[],
    vocabulary: &[
        ("attempts", "num_retries"),
        ("max_delay", "max_interval"),
        ("delay", "base_interval"),
        ("within", "timeout"),
        ("timeout", "per_try_timeout"),
    ],
    reads: Reads::Maps(is_route, read),
    writes: Some(write),
    page: include_str!("pages/envoy.md"),
    vectors: &[
        Vector {
            text: "retry_policy: {retry_on: 5xx, num_retries: 6}",
            format: Format::Yaml,
            client: None,
            delays: "0ns-24ms 0ns-49ms 0ns-99ms 0ns-199ms 0ns-249ms 0ns-249ms",
        },
        Vector {
            text: "retry_policy: {retry_on: 5xx, num_retries: 3, retry_back_off: {base_interval: 0.03s, max_interval: 0.061s}}",
            format: Format::Yaml,
            client: None,
            delays: "0ns-29ms 0ns-60ms 0ns-60ms",
        },
    ],
};

/// What no other policy has, in YAML and in the JSON of protobuf.
const OWN: [&str; 12] = [
    "num_retries",
    "numRetries",
    "retry_back_off",
    "retryBackOff",
    "per_try_idle_timeout",
    "perTryIdleTimeout",
    "retriable_status_codes",
    "retriableStatusCodes",
    "rate_limited_retry_back_off",
    "rateLimitedRetryBackOff",
    "retry_host_predicate",
    "retryHostPredicate",
];

const ON: [&str; 2] = ["retry_on", "retryOn"];

/// What can be retried on; other words are logged and ignored.
const WORDS: [&str; 18] = [
    "5xx",
    "gateway-error",
    "reset",
    "reset-before-request",
    "connect-failure",
    "envoy-ratelimited",
    "retriable-4xx",
    "refused-stream",
    CODES,
    "retriable-headers",
    "http3-post-connect-failure",
    "cancelled",
    "deadline-exceeded",
    "internal",
    "resource-exhausted",
    "unavailable",
    "retriable-client-4xx",
    "http2-stream-error",
];

const CODES: &str = "retriable-status-codes";

/// 25 ms, in milliseconds.
const BASE: u64 = 25;

fn is_policy(node: &Node) -> bool {
    let of_envoy = |words: &str| words.split(',').all(|word| WORDS.contains(&word.trim()));
    has_any(node, &OWN) || word(node, &ON).is_some_and(of_envoy) && !node.has("attempts")
}

fn is_route(node: &Node, path: &str) -> bool {
    let holds = |name: &str| field(node, &[name]).is_some_and(is_policy);
    holds("retry_policy") || holds("retryPolicy") || path.is_empty() && is_policy(node)
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    for name in ["retry_policy", "retryPolicy"] {
        if let Some(retry) = field(node, &[name]) {
            policy(reader, retry, joined(path, name), Some(node));
            // A virtual host has routes beside its policy.
            return Walk::Beside(&["retry_policy", "retryPolicy"]);
        }
    }
    policy(reader, node, path.to_owned(), None);
    Walk::Done
}

fn time(text: &str) -> Option<u64> {
    proto_duration(text).or_else(|| go_duration(text))
}

fn policy(reader: &mut Reader<'_>, node: &Node, name: String, route: Option<&Node>) {
    const SECONDS: &str = "use seconds, such as 0.025s";
    let before = reader.told();
    let retries = reader.whole("num_retries", field(node, &["num_retries", "numRetries"]), 1);
    let timeout = field(node, &["per_try_timeout", "perTryTimeout"]);
    let timeout = reader.time("per_try_timeout", timeout, SECONDS, time);
    let backoff = field(node, &["retry_back_off", "retryBackOff"]);
    let interval = |names: &[&str]| backoff.and_then(|backoff| field(backoff, names));
    let base = interval(&["base_interval", "baseInterval"]);
    let max = interval(&["max_interval", "maxInterval"]);
    if let (Some(backoff), None) = (backoff, base) {
        reader.rejected(backoff.span, "base_interval is missing");
    }
    let base_ms =
        reader.time("base_interval", base, SECONDS, time).map(milliseconds).unwrap_or(BASE);
    let max_ms = reader.time("max_interval", max, SECONDS, time).map(milliseconds);
    let max_ms = max_ms.unwrap_or(base_ms.saturating_mul(10));
    if let (Some(max), true) = (max, max_ms < base_ms) {
        let why = format!(
            "max_interval is {max_ms} ms, and must not be below base_interval, which is {base_ms} ms"
        );
        reader.rejected(max.span, why);
    }
    conditions(reader, node);
    let within = route.and_then(|route| field(route, &["timeout"]));
    let is_written = within.is_some();
    let within = reader.time("timeout", within, SECONDS, time).filter(|within| *within > 0);
    let mut found = Found::new(name, node.span, clause(retries, base_ms, max_ms, within));
    found.timeout = timeout.filter(|time| *time > 0).map(std::time::Duration::from_nanos);
    if base.is_none() && retries > 1 {
        found.note(
            "The documentation of the router promises 0-24, 0-74 and 0-174 ms; the code draws from 0-24, 0-49 and \
             0-99 ms since 2020 (source/common/common/backoff_strategy.cc).",
        );
    }
    if route.is_some() && !is_written {
        found.note("A route without a timeout has one of 15 s, for all attempts together; it is not shown.");
    }
    found.note(
        "At most 3 retries run at once for a cluster, unless its circuit breakers say otherwise.",
    );
    reader.law(found, before, draws(base_ms, max_ms));
}

/// Whole milliseconds, one at least.
pub(super) fn milliseconds(nanos: u64) -> u64 {
    (nanos / MILLISECOND).max(1)
}

/// The clause that comes nearest.
pub(super) fn clause(retries: u64, base: u64, max: u64, within: Option<u64>) -> String {
    let retries = retries.min(u64::from(u32::MAX - 1));
    let mut clause = match retries {
        0 => return "attempts: 1".to_owned(),
        retries => {
            format!("retry: {retries}, delay: {}", duration(base.saturating_mul(MILLISECOND)))
        }
    };
    if max > base {
        clause += ", backoff: exponential";
    }
    clause += &format!(", max_delay: {}, jitter: full", duration(max.saturating_mul(MILLISECOND)));
    if let Some(within) = within {
        clause += &format!(", within: {}", duration(within));
    }
    clause
}

/// A random number modulo a span, in milliseconds; the span doubles up to half of the greatest one, and is the greatest then.
pub(super) fn draws(base: u64, max: u64) -> impl FnMut(u32) -> Draw {
    let (mut span, mut at) = (base, 0);
    move |n| {
        while at < n {
            span = if span < max / 2 { span * 2 } else { max };
            at += 1;
        }
        Draw::whole(0, span.saturating_sub(1), MILLISECOND)
    }
}

/// Words that mean nothing there, and status codes that nothing turns on.
fn conditions(reader: &mut Reader<'_>, node: &Node) {
    let words: Vec<&str> = word(node, &ON).unwrap_or_default().split(',').map(str::trim).collect();
    if let Some(on) = field(node, &ON) {
        let unknown = words.iter().filter(|word| !word.is_empty() && !WORDS.contains(word));
        for word in unknown {
            let word = crate::fields::excerpt(word);
            reader.tell(
                Kind::IgnoredThere,
                on.span,
                format!("retry_on: `{word}` is not known, and Envoy ignores it"),
            );
        }
    }
    let codes = field(node, &["retriable_status_codes", "retriableStatusCodes"]);
    if let Some(codes) =
        codes.filter(|codes| matches!(&codes.value, Value::List(codes) if !codes.is_empty()))
        && !words.contains(&CODES)
    {
        let message = format!("retriable_status_codes has no effect unless retry_on has {CODES}");
        reader.tell(Kind::IgnoredThere, codes.span, message);
    }
}

/// The first delay and the cap of the policy, in milliseconds.
pub(super) fn written(parts: &Parts) -> (u128, u128) {
    let base = match &parts.source {
        Source::Exponential { delay, .. }
        | Source::Fibonacci(delay)
        | Source::Decorrelated(delay)
        | Source::Fixed(delay)
        | Source::Linear { delay, .. } => *delay,
        Source::List(delays) => delays.first().copied().unwrap_or_default(),
    };
    let whole =
        |time: std::time::Duration| time.as_nanos().div_ceil(u128::from(MILLISECOND)).max(1);
    let base = whole(base);
    let grows = !matches!(parts.source, Source::Fixed(_));
    let cap = parts.cap().filter(|_| grows).map_or(if grows { base * 10 } else { base }, whole);
    (base, cap.max(base))
}

pub(super) fn seconds(milliseconds: u128) -> String {
    let text = format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

fn write(parts: &Parts, entry: &Entry) -> Foreign {
    let (base, cap) = written(parts);
    let retries = parts.attempts.map_or(u32::MAX - 1, |attempts| attempts - 1);
    let mut policy = vec![
        ("retry_on", Tree::text("5xx,reset,connect-failure")),
        ("num_retries", Tree::bare(retries)),
        (
            "retry_back_off",
            Tree::map([
                ("base_interval", Tree::text(seconds(base))),
                ("max_interval", Tree::text(seconds(cap))),
            ]),
        ),
    ];
    if let Some(timeout) = entry.timeout {
        policy.push(("per_try_timeout", Tree::text(seconds(timeout.as_millis()))));
    }
    let mut route = Vec::new();
    if let Some(within) = parts.within {
        route.push(("timeout", Tree::text(seconds(within.as_millis()))));
    }
    route.push(("retry_policy", Tree::map(policy)));
    Foreign::Tree(Tree::map(route), Format::Yaml)
}
