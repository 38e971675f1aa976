//! Systems that are known and not read yet: pasting a policy of one says so by name.

use crate::diagnostic::{Diagnostic, Kind};
use crate::tree::{Field, Node, Value};

/// The system, and keys that no policy of another one has, of which all are there.
const SYSTEMS: &[(&str, &[&str])] = &[
    ("Docker Swarm", &["restart_policy"]),
    ("the retry action of GitHub workflows", &["max_attempts", "retry_wait_seconds"]),
    ("the retry action of GitHub workflows", &["max_attempts", "timeout_minutes"]),
    ("Restate", &["initial-interval", "exponentiation-factor"]),
    ("Google's API client libraries", &["initial_retry_delay_millis", "retry_delay_multiplier"]),
    ("NATS JetStream", &["max_deliver", "ack_wait"]),
    ("RabbitMQ", &["x-delayed-retry-type"]),
    ("Kafka", &["retry.backoff.ms"]),
    ("the azapi provider of Terraform", &["interval_seconds", "randomization_factor"]),
    ("Ansible", &["until", "retries"]),
];

/// A policy of a system that is not read yet.
pub(crate) fn unread(node: &Node) -> Option<Diagnostic> {
    let is_there = |(_, keys): &&(&str, &[&str])| keys.iter().all(|key| node.has(key));
    if let Some((system, keys)) = SYSTEMS.iter().find(is_there) {
        let place = node.fields().iter().find(|field| field.key == keys[0])?.place;
        let message = format!(
            "this is a policy of {system}, which is not read yet; docs/FOREIGN.md has what is known of its delays"
        );
        return Some(Diagnostic::new(Kind::NotReadYet, place, message));
    }
    match &node.value {
        Value::List(nodes) => nodes.iter().find_map(unread),
        Value::Map(fields) => fields.iter().find_map(|Field { value, .. }| unread(value)),
        _ => None,
    }
}
