//! gRPC service config (gRFC A6): one text, and a law for each implementation.
//!
//! grpc/grpc-go `stream.go` (`shouldRetry`); grpc/grpc `src/core/util/backoff.cc` and
//! `src/core/client_channel/retry_service_config.cc`; grpc/grpc-java `RetriableStream.java` (`intervalWithJitter`); grpc/grpc-node
//! `packages/grpc-js/src/retrying-call.ts`.

use super::arithmetic::{cut, go_power};
use super::value::{MILLISECOND, proto_duration};
use super::{
    Draw, Found, Reader, Reads, System, Vector, Walk, duration, field, has_any, items, joined,
};
use crate::Format;
use crate::convert::{Foreign, Parts, Source, Tree};
use crate::diagnostic::Kind;
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "grpc",
    title: "gRPC",
    clients: &["go", "core", "java", "js"],
    vocabulary: &[
        ("attempts", "maxAttempts"),
        ("max_delay", "maxBackoff"),
        ("delay", "initialBackoff"),
        ("factor", "backoffMultiplier"),
        ("within", "timeout"),
    ],
    reads: Reads::Maps(is_config, read),
    writes: Some(write),
    page: include_str!("pages/grpc.md"),
    vectors: &[
        Vector {
            text: r#"{"maxAttempts": 9, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2,
                      "retryableStatusCodes": ["UNAVAILABLE"]}"#,
            format: Format::Json,
            client: None,
            delays: "80ms-120ms 160ms-240ms 320ms-480ms 640ms-960ms",
        },
        Vector {
            text: PUBSUB,
            format: Format::Json,
            client: Some("go"),
            delays: "80ms-120ms 104ms-156ms 135200us-202800us 175760us-263640us",
        },
        Vector {
            text: PUBSUB,
            format: Format::Json,
            client: Some("core"),
            delays: "80ms-120ms 103ms-154ms 133ms-200ms 173ms-260ms",
        },
        Vector {
            text: STEEP,
            format: Format::Json,
            client: Some("go"),
            delays: "1600ms-2400ms 1600ms-2400ms",
        },
        Vector {
            text: STEEP,
            format: Format::Json,
            client: Some("java"),
            delays: "8s-12s 1600ms-2400ms",
        },
    ],
};

const PUBSUB: &str = r#"{"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "60s", "backoffMultiplier": 1.3,
                         "retryableStatusCodes": ["UNAVAILABLE"]}"#;
const STEEP: &str = r#"{"maxAttempts": 3, "initialBackoff": "10s", "maxBackoff": "2s", "backoffMultiplier": 2,
                        "retryableStatusCodes": ["UNAVAILABLE"]}"#;

/// What no other policy has.
const OWN: [&str; 4] =
    ["initialBackoff", "maxBackoff", "backoffMultiplier", "retryableStatusCodes"];

/// More attempts than this are not made, whatever is written.
const ATTEMPTS_MAX: u64 = 5;

fn is_policy(node: &Node) -> bool {
    has_any(node, &OWN)
}

fn is_config(node: &Node, _path: &str) -> bool {
    let is_method = |method: &Node| method.has("retryPolicy") || method.has("hedgingPolicy");
    is_policy(node)
        || field(node, &["retryPolicy"]).is_some_and(is_policy)
        || items(node, &["methodConfig"]).iter().any(is_method)
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    let throttled = node.has("retryThrottling");
    for (at, method) in items(node, &["methodConfig"]).iter().enumerate() {
        let path = format!("{}[{at}]", joined(path, "methodConfig"));
        one_method(reader, method, &path, throttled);
    }
    if is_policy(node) {
        policy(reader, node, path.to_owned(), None, throttled);
    } else if node.has("retryPolicy") {
        one_method(reader, node, path, throttled);
    }
    Walk::Done
}

fn one_method(reader: &mut Reader<'_>, node: &Node, path: &str, throttled: bool) {
    if let Some(hedging) = field(node, &["hedgingPolicy"]) {
        let ignored = match reader.client {
            "go" => "grpc-go ignores hedgingPolicy",
            "core" => "gRPC core does not implement hedgingPolicy",
            _ => "hedgingPolicy is not a retry policy, and is not shown",
        };
        reader.tell(Kind::IgnoredThere, hedging.span, ignored);
    }
    if let Some(retry) = field(node, &["retryPolicy"]) {
        let timeout = field(node, &["timeout"]);
        policy(reader, retry, joined(path, "retryPolicy"), timeout, throttled);
    }
}

fn policy(
    reader: &mut Reader<'_>,
    node: &Node,
    name: String,
    timeout: Option<&Node>,
    throttled: bool,
) {
    const SECONDS: &str = "use seconds in a string, such as \"0.5s\"";
    let before = reader.told();
    for name in ["maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier"] {
        if field(node, &[name]).is_none() {
            reader.rejected(
                node.span,
                format!("{name} is missing, and with it the whole service config"),
            );
        }
    }
    let at = |name: &str| field(node, &[name]).map_or(node.span, |node| node.span);
    let attempts = reader.whole("maxAttempts", field(node, &["maxAttempts"]), 2);
    let mut time =
        |name: &str| reader.time(name, field(node, &[name]), SECONDS, proto_duration).unwrap_or(1);
    let (initial, max) = (time("initialBackoff"), time("maxBackoff"));
    let multiplier = reader.float("backoffMultiplier", field(node, &["backoffMultiplier"]), 1.0);
    if attempts < 2 {
        reader.rejected(
            at("maxAttempts"),
            format!("maxAttempts is {attempts}, and must be at least 2"),
        );
    }
    for (name, value) in [("initialBackoff", initial), ("maxBackoff", max)] {
        if value == 0 {
            reader.rejected(at(name), format!("{name} must be longer than zero"));
        }
    }
    if multiplier <= 0.0 {
        reader.rejected(at("backoffMultiplier"), "backoffMultiplier must be greater than zero");
    }
    let codes = items(node, &["retryableStatusCodes"]);
    if codes.is_empty() && !(reader.client == "java" && node.has("perAttemptRecvTimeout")) {
        reader.rejected(
            at("retryableStatusCodes"),
            "retryableStatusCodes must name one code at least",
        );
    }
    if attempts > ATTEMPTS_MAX {
        let raised = match reader.client {
            "core" => "nothing raises that",
            "go" => "a dial option raises that (WithMaxCallAttempts)",
            "java" => "the builder of the channel raises that (maxRetryAttempts)",
            _ => "an option of the channel raises that",
        };
        let message = format!(
            "maxAttempts is {attempts}, and is lowered to {ATTEMPTS_MAX} in silence; {raised}"
        );
        reader.tell(Kind::LoweredThere, at("maxAttempts"), message);
    }
    let mut clause =
        format!("attempts: {}, delay: {}", attempts.clamp(1, ATTEMPTS_MAX), duration(initial));
    if multiplier > 1.0 {
        clause += &format!(", backoff: exponential, factor: {}", super::factor(multiplier));
    }
    clause += &format!(", max_delay: {}, jitter: 20%", duration(max));
    let within = reader.time("timeout", timeout, SECONDS, proto_duration);
    if let Some(within) = within.filter(|within| *within > 0) {
        clause += &format!(", within: {}", duration(within));
    }
    let mut found = Found::new(name, node.span, clause);
    found.note(
        "The jitter comes after the cap, so that a delay can be a fifth longer than maxBackoff.",
    );
    if throttled {
        found.note("With retryThrottling nothing is retried while half of the tokens or fewer are left; that is not shown.");
    }
    if initial > max && ["java", "js"].contains(&reader.client) {
        found.note("Java and JavaScript do not cap the first delay; Go and the core do.");
    }
    let growth = Growth { initial, max, multiplier };
    match reader.client {
        "core" => reader.law(found, before, growth.core()),
        "java" => reader.law(found, before, growth.java()),
        "js" => reader.law(found, before, growth.js()),
        _ => reader.law(found, before, growth.go()),
    }
}

#[derive(Clone, Copy)]
struct Growth {
    initial: u64,
    max: u64,
    multiplier: f64,
}

impl Growth {
    fn go(self) -> impl FnMut(u32) -> Draw {
        move |n| {
            let grown = self.initial as f64 * go_power(self.multiplier, n);
            spread(cut(grown.min(self.max as f64)))
        }
    }

    /// Whole milliseconds, cut at each step, times a float of 32 bits; the draw is cut, too.
    fn core(self) -> impl FnMut(u32) -> Draw {
        let max = self.max / MILLISECOND;
        let multiplier = f64::from(self.multiplier as f32);
        let (mut current, mut at) = ((self.initial / MILLISECOND).min(max), 0);
        move |n| {
            while at < n {
                current = cut(current as f64 * multiplier).min(max);
                at += 1;
            }
            spread(current.saturating_mul(MILLISECOND)).cut_to(MILLISECOND)
        }
    }

    /// Whole nanoseconds, cut at each step; the first is not capped.
    fn java(self) -> impl FnMut(u32) -> Draw {
        let (mut current, mut at) = (self.initial, 0);
        move |n| {
            while at < n {
                current = cut(current as f64 * self.multiplier).min(self.max);
                at += 1;
            }
            spread(current)
        }
    }

    /// Seconds as floats; the first is not capped.
    fn js(self) -> impl FnMut(u32) -> Draw {
        let (mut current, mut at) = (self.initial as f64 / 1e9, 0);
        move |n| {
            while at < n {
                current = (current * self.multiplier).min(self.max as f64 / 1e9);
                at += 1;
            }
            spread(super::arithmetic::nanos_of_seconds(current))
        }
    }
}

/// From four fifths to six fifths.
fn spread(nanos: u64) -> Draw {
    Draw::between(nanos - nanos / 5, nanos.saturating_add(nanos / 5))
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let (initial, multiplier) = match &parts.source {
        Source::Exponential { delay, factor } => (*delay, factor.clone()),
        Source::Fibonacci(delay) | Source::Decorrelated(delay) => (*delay, "2".to_owned()),
        Source::Fixed(delay) | Source::Linear { delay, .. } => (*delay, "1".to_owned()),
        Source::List(delays) => (delays.first().copied().unwrap_or_default(), "1".to_owned()),
    };
    let seconds = |time: std::time::Duration| {
        let time = time.max(std::time::Duration::from_nanos(1));
        let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
        Tree::text(format!("{}s", text.trim_end_matches('0').trim_end_matches('.')))
    };
    // 10 000 years is the most that a duration of protobuf can be.
    let max = parts.cap().unwrap_or(std::time::Duration::from_secs(315_576_000_000));
    let policy = Tree::map([
        ("maxAttempts", Tree::bare(parts.attempts.unwrap_or(5).clamp(2, 5))),
        ("initialBackoff", seconds(initial)),
        ("maxBackoff", seconds(max.min(std::time::Duration::from_secs(18_446_744_073)))),
        ("backoffMultiplier", Tree::bare(multiplier)),
        ("retryableStatusCodes", Tree::List(vec![Tree::text("UNAVAILABLE")])),
    ]);
    let mut method = vec![("name", Tree::List(vec![Tree::map([])]))];
    if let Some(within) = parts.within {
        method.push(("timeout", seconds(within)));
    }
    method.push(("retryPolicy", policy));
    Foreign::Tree(Tree::map([("methodConfig", Tree::List(vec![Tree::map(method)]))]), Format::Json)
}
