//! Kubernetes: how often a Job starts its pods anew, and how long the kubelet waits before it restarts a container.
//!
//! None of the delays is in the text. For pods that are replaced they are constants of `pkg/controller/job/backoff_utils.go`,
//! for containers that are restarted those of the kubelet (`newCrashLoopBackOff` in `pkg/kubelet/kubelet.go`, and
//! `util/flowcontrol/backoff.go` of client-go).

use std::time::Duration;

use super::{Found, Reader, Reads, System, Vector, Walk, field, items, joined, word};
use crate::Format;
use crate::convert::{Foreign, Parts, Tree};
use crate::document::Entry;
use crate::tree::Node;

pub(super) const SYSTEM: System = System {
    name: "kubernetes",
    title: "Kubernetes",
    clients: &[],
    vocabulary: &[("attempts", "backoffLimit"), ("within", "activeDeadlineSeconds")],
    reads: Reads::Maps(is_workload, read),
    writes: Some(write),
    page: include_str!("pages/kubernetes.md"),
    vectors: &[
        Vector {
            text: "{kind: Job, spec: {backoffLimit: 8, template: {spec: {restartPolicy: Never}}}}",
            format: Format::Yaml,
            client: None,
            delays: "10s 20s 40s 80s 160s 320s 10min 10min",
        },
        Vector {
            text: "{kind: Job, spec: {backoffLimit: 8, template: {spec: {restartPolicy: OnFailure}}}}",
            format: Format::Yaml,
            client: None,
            delays: "0s 10s 20s 40s 80s 160s 5min",
        },
        Vector {
            text: "{kind: Pod, spec: {containers: []}}",
            format: Format::Yaml,
            client: None,
            delays: "0s 10s 20s 40s 80s 160s 5min …",
        },
    ],
};

/// What has pods that are restarted, where they are, and what their restart policy is by default.
const PODS: [(&str, &[&str]); 6] = [
    ("Pod", &["spec"]),
    ("Deployment", &["spec", "template", "spec"]),
    ("StatefulSet", &["spec", "template", "spec"]),
    ("DaemonSet", &["spec", "template", "spec"]),
    ("ReplicaSet", &["spec", "template", "spec"]),
    ("ReplicationController", &["spec", "template", "spec"]),
];

/// The delays of CrashLoopBackOff, in seconds, before the cap of five minutes.
const CRASH_LOOP: [u64; 6] = [0, 10, 20, 40, 80, 160];

fn is_workload(node: &Node, _path: &str) -> bool {
    let is_pods = |kind: &str| PODS.iter().any(|(name, _)| *name == kind);
    let kind = word(node, &["kind"]);
    node.has("spec") && kind.is_some_and(|kind| is_pods(kind) || ["Job", "CronJob"].contains(&kind))
}

fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Walk {
    let kind = word(node, &["kind"]).unwrap_or_default();
    let name = field(node, &["metadata"]).and_then(|metadata| word(metadata, &["name"]));
    let name = match name {
        Some(name) => format!("{kind}/{name}"),
        None if path.starts_with('[') => format!("{path}{kind}"),
        None => joined(path, kind),
    };
    match kind {
        "Job" => job(reader, field(node, &["spec"]), node, name),
        "CronJob" => job(reader, inside(node, &["spec", "jobTemplate", "spec"]), node, name),
        _ => pods(reader, node, kind, name),
    }
    Walk::Done
}

fn inside<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| field(node, &[key]))
}

fn job(reader: &mut Reader<'_>, spec: Option<&Node>, whole: &Node, name: String) {
    let before = reader.told();
    let Some(spec) = spec else {
        return reader.rejected(whole.span, "a CronJob has its job under spec.jobTemplate.spec");
    };
    let limit = field(spec, &["backoffLimit"]);
    let per_index = field(spec, &["backoffLimitPerIndex"]);
    let count = match per_index {
        Some(node) => reader.whole("backoffLimitPerIndex", Some(node), 0),
        None => reader.whole("backoffLimit", limit, 6),
    };
    let deadline = field(spec, &["activeDeadlineSeconds"]);
    let deadline = deadline.map(|node| reader.whole("activeDeadlineSeconds", Some(node), 1));
    let policy = inside(spec, &["template", "spec", "restartPolicy"]);
    let place = policy.map_or(spec.span, |node| node.span);
    let word = inside(spec, &["template", "spec"]).and_then(|pod| word(pod, &["restartPolicy"]));
    let replaces = match word {
        Some("Never") => true,
        Some("OnFailure") => false,
        Some(other) => {
            let why = format!("the restartPolicy of a Job is Never or OnFailure, not {other}");
            reader.rejected(place, why);
            return;
        }
        None => {
            reader.rejected(place, "a Job has to say restartPolicy: Never or OnFailure");
            return;
        }
    };
    needs_never(reader, spec, replaces);
    let span = limit.or(per_index).map_or(spec.span, |node| node.span);
    let retries = if replaces { count } else { count.saturating_sub(1) };
    let mut clause = if replaces { replacing(retries) } else { restarting(Some(retries)) };
    if let Some(deadline) = deadline {
        clause += &format!(", within: {deadline}s");
    }
    let mut found = Found::new(name, span, clause);
    notes(&mut found, replaces, count, limit.or(per_index).is_none());
    reader.policy(found, before);
}

/// What goes with pods that are replaced only.
fn needs_never(reader: &mut Reader<'_>, spec: &Node, replaces: bool) {
    for name in ["podFailurePolicy", "backoffLimitPerIndex", "maxFailedIndexes"] {
        if let Some(node) = field(spec, &[name]).filter(|_| !replaces) {
            reader.rejected(node.span, format!("{name} needs restartPolicy: Never"));
        }
    }
    let rules =
        field(spec, &["podFailurePolicy"]).map_or(&[][..], |policy| items(policy, &["rules"]));
    for rule in rules {
        if let Some(node) = field(rule, &["action"])
            && !["FailJob", "FailIndex", "Ignore", "Count"]
                .contains(&word(rule, &["action"]).unwrap_or(""))
        {
            reader.rejected(node.span, "action is FailJob, FailIndex, Ignore or Count");
        }
    }
}

/// 10 s, twice as long each time, up to 10 min.
fn replacing(retries: u64) -> String {
    match retries {
        0 => "attempts: 1".to_owned(),
        retries => format!("retry: {retries}, delay: 10s, backoff: exponential, max_delay: 10min"),
    }
}

/// At once, then 10 s, twice as long each time, up to 5 min.
fn restarting(retries: Option<u64>) -> String {
    let shown = retries.unwrap_or(u64::MAX);
    let listed = CRASH_LOOP.iter().zip(0..shown).map(|(seconds, _)| format!("{seconds}s"));
    let listed: Vec<_> = listed.collect();
    match retries {
        Some(0) => "attempts: 1".to_owned(),
        Some(1) => "retry: 1".to_owned(),
        Some(retries) => {
            format!("retry: {retries}, backoff: [{}], max_delay: 5min", listed.join(", "))
        }
        None => format!("attempts: unlimited, backoff: [{}], max_delay: 5min", listed.join(", ")),
    }
}

fn notes(found: &mut Found, replaces: bool, count: u64, by_default: bool) {
    if by_default {
        found.note("Nothing is written; backoffLimit is 6.");
    }
    if replaces {
        found.note(
            "The documentation of Jobs caps the delay at six minutes; the code does at ten \
             (pkg/controller/job/backoff_utils.go).",
        );
        found.note(format!(
            "The Job fails when more than {count} pods have failed; the documentation says when they reach it."
        ));
    } else {
        found.note(
            "With OnFailure the kubelet restarts the container, by CrashLoopBackOff: the first restart comes at once.",
        );
        found.note(format!(
            "The Job fails as soon as the restarts reach {count}, so that the last restart is killed: one attempt \
             fewer than with Never.",
        ));
    }
}

fn pods(reader: &mut Reader<'_>, node: &Node, kind: &str, name: String) {
    let before = reader.told();
    let path = PODS.iter().find(|(pods, _)| *pods == kind).map_or(&[][..], |(_, path)| path);
    let Some(spec) = inside(node, path) else { return };
    let policy = word(spec, &["restartPolicy"]).unwrap_or("Always");
    let place = field(spec, &["restartPolicy"]).map_or(spec.span, |node| node.span);
    let clause = match policy {
        "Never" => "attempts: 1".to_owned(),
        "Always" | "OnFailure" => restarting(None),
        other => {
            return reader.rejected(
                place,
                format!("restartPolicy is Always, OnFailure or Never, not {other}"),
            );
        }
    };
    if kind != "Pod" && policy != "Always" {
        return reader.rejected(place, format!("the restartPolicy of a {kind} is Always"));
    }
    let mut found = Found::new(name, place, clause);
    found.note(
        "CrashLoopBackOff: the first restart comes at once, and a container that ran for ten minutes starts over.",
    );
    reader.policy(found, before);
    // Containers are meant to be restarted for ever.
    let is_meant =
        |found: &crate::Diagnostic| found.kind == redial_core::clause::Kind::Unbounded.into();
    reader.document.diagnostics.retain(|found| !is_meant(found));
    if let Some(entry) = reader.document.entries.last_mut() {
        entry.warnings.retain(|found| !is_meant(found));
    }
}

fn write(parts: &Parts, _entry: &Entry) -> Foreign {
    let retries = parts.attempts.map_or(i32::MAX as u32, |attempts| attempts - 1);
    let mut spec = vec![("backoffLimit", Tree::bare(retries))];
    if let Some(within) = parts.within {
        let seconds = within.as_nanos().div_ceil(Duration::from_secs(1).as_nanos());
        spec.push(("activeDeadlineSeconds", Tree::bare(seconds)));
    }
    let pod = Tree::map([("restartPolicy", Tree::text("Never"))]);
    spec.push(("template", Tree::map([("spec", pod)])));
    let tree = Tree::map([
        ("apiVersion", Tree::text("batch/v1")),
        ("kind", Tree::text("Job")),
        ("spec", Tree::map(spec)),
    ]);
    Foreign::Tree(tree, Format::Yaml)
}
