//! Istio's `retries` and the Gateway API's `retry`, both of which become a policy of Envoy's.
//!
//! istio/istio `pilot/pkg/networking/core/route/retry/retry.go` (`ConvertPolicy`).

use super::envoy::{clause, draws, milliseconds, seconds, written};
use super::value::go_duration;
use super::{Found, Reader, Reads, System, Vector, Walk, field, items, word};
use crate::Format;
use crate::convert::{Foreign, Parts, Tree};
use crate::diagnostic::Kind;
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "istio",
    title: "Istio and Gateway API",
    clients: &[],
    vocabulary: &[
        ("attempts", "attempts"),
        ("delay", "backoff"),
        ("within", "timeout"),
        ("timeout", "perTryTimeout"),
    ],
    reads: Reads::Maps(is_route, read),
    writes: Some(write),
    page: include_str!("pages/istio.md"),
    vectors: &[
        Vector {
            text: "{kind: VirtualService, spec: {http: [{retries: {attempts: 5, backoff: 2s}}]}}",
            format: Format::Yaml,
            client: None,
            delays: "0ns-1999ms 0ns-3999ms 0ns-7999ms 0ns-15999ms 0ns-19999ms",
        },
        Vector {
            text: "{kind: VirtualService, spec: {http: [{route: []}]}}",
            format: Format::Yaml,
            client: None,
            delays: "0ns-24ms 0ns-49ms",
        },
        Vector {
            text: "{kind: HTTPRoute, spec: {rules: [{retry: {attempts: 2, backoff: 100ms, codes: [503]}}]}}",
            format: Format::Yaml,
            client: None,
            delays: "0ns-99ms 0ns-199ms",
        },
    ],
};

/// The words that stand for 2 retries where nothing is written.
const DEFAULT: u64 = 2;

fn is_route(node: &Node, _path: &str) -> bool {
    node.has("spec") && matches!(word(node, &["kind"]), Some("VirtualService" | "HTTPRoute"))
}

fn read(reader: &mut Reader<'_>, node: &Node, _path: &str) -> Walk {
    let is_istio = word(node, &["kind"]) == Some("VirtualService");
    let name = field(node, &["metadata"]).and_then(|metadata| word(metadata, &["name"]));
    let kind = if is_istio { "VirtualService" } else { "HTTPRoute" };
    let name = name.map_or(kind.to_owned(), |name| format!("{kind}/{name}"));
    let Some(spec) = field(node, &["spec"]) else { return Walk::Done };
    let key = if is_istio { "http" } else { "rules" };
    for (at, route) in items(spec, &[key]).iter().enumerate() {
        let name = format!("{name}.{key}[{at}]");
        match is_istio {
            true => istio(reader, route, name),
            false => gateway(reader, route, name),
        }
    }
    Walk::Done
}

fn istio(reader: &mut Reader<'_>, route: &Node, name: String) {
    const UNITS: &str = "use a number with a unit, such as 2s";
    let before = reader.told();
    let retries = field(route, &["retries"]);
    let inside = |name: &str| retries.and_then(|retries| field(retries, &[name]));
    let count = match retries {
        None => DEFAULT,
        Some(_) => reader.whole("attempts", inside("attempts"), 0),
    };
    for name in ["perTryTimeout", "retryOn", "retryRemoteLocalities"] {
        if let Some(node) = inside(name).filter(|_| count == 0) {
            reader.rejected(node.span, format!("{name} goes with attempts above 0"));
        }
    }
    let base =
        reader.time("backoff", inside("backoff"), UNITS, go_duration).map_or(25, milliseconds);
    let timeout = reader.time("perTryTimeout", inside("perTryTimeout"), UNITS, go_duration);
    let within = reader.time("timeout", field(route, &["timeout"]), UNITS, go_duration);
    let within = within.filter(|within| *within > 0);
    let max = base.saturating_mul(10);
    let span = retries.map_or(route.span, |retries| retries.span);
    let mut found = Found::new(name, span, clause(count, base, max, within));
    found.timeout = timeout.filter(|time| *time > 0).map(std::time::Duration::from_nanos);
    match retries {
        None => found.note(
            "Nothing is written, and still there are 2 retries: on connect-failure, refused-stream, unavailable, \
             cancelled and retriable-status-codes.",
        ),
        Some(_) => found.note(format!("attempts counts retries: {count} of them are {} attempts.", count.saturating_add(1))),
    }
    if inside("backoff").is_some() {
        found.note("The API calls backoff a minimum; it is the exclusive maximum of the first delay, and the cap is 10 times as much.");
    }
    reader.law(found, before, draws(base, max));
}

fn gateway(reader: &mut Reader<'_>, route: &Node, name: String) {
    const UNITS: &str = "use a number with a unit, such as 500ms";
    let Some(retry) = field(route, &["retry"]) else { return };
    let before = reader.told();
    let Some(attempts) = field(retry, &["attempts"]) else {
        let message =
            "attempts is missing, and each implementation has a default of its own".to_owned();
        return reader.tell(Kind::Computed, retry.span, message);
    };
    let count = reader.whole("attempts", Some(attempts), 1);
    let backoff = field(retry, &["backoff"]);
    let base = reader.time("backoff", backoff, UNITS, go_duration).map_or(25, milliseconds);
    let limits = field(route, &["timeouts"]);
    let mut limit = |name: &str| {
        let node = limits.and_then(|limits| field(limits, &[name]));
        reader.time(name, node, UNITS, go_duration).filter(|time| *time > 0)
    };
    let (within, timeout) = (limit("request"), limit("backendRequest"));
    let max = base.saturating_mul(10);
    let mut found = Found::new(name, retry.span, clause(count, base, max, within));
    found.timeout = timeout.map(std::time::Duration::from_nanos);
    found.note(format!(
        "attempts counts retries: {count} of them are {} attempts.",
        count.saturating_add(1)
    ));
    found.note("These are the delays of Istio, Envoy Gateway and kgateway, which give backoff to Envoy as its base_interval.");
    if backoff.is_some() {
        found.note(
            "The specification calls backoff a minimum that no retry may undercut; with Envoy it is the exclusive maximum \
             of the first delay (kubernetes-sigs/gateway-api#5167).",
        );
    }
    reader.law(found, before, draws(base, max));
}

fn write(parts: &Parts, entry: &Entry) -> Foreign {
    let (base, _) = written(parts);
    let retries = parts.attempts.map_or(i32::MAX as u32, |attempts| attempts - 1);
    let mut policy = vec![("attempts", Tree::bare(retries))];
    if let Some(timeout) = entry.timeout.filter(|_| retries > 0) {
        policy.push(("perTryTimeout", Tree::text(seconds(timeout.as_millis()))));
    }
    policy.push(("backoff", Tree::text(seconds(base))));
    let mut route = Vec::new();
    if let Some(within) = parts.within {
        route.push(("timeout", Tree::text(seconds(within.as_millis()))));
    }
    route.push(("retries", Tree::map(policy)));
    let tree = Tree::map([
        ("apiVersion", Tree::text("networking.istio.io/v1")),
        ("kind", Tree::text("VirtualService")),
        ("spec", Tree::map([("http", Tree::List(vec![Tree::map(route)]))])),
    ]);
    Foreign::Tree(tree, Format::Yaml)
}
