//! Budgets and breakers of flows, through the program: what a run comes to, and what another process finds in its journal.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::Place;
use crate::program;

impl Place {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs it until it prints a line with these words, and kills it.
    pub(super) fn killed_after(&self, words: &str, arguments: &[&str]) {
        let mut command = program::command(self.path(), &[&["flow"], arguments].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = lines.any(|line| line.is_ok_and(|line| line.contains(words)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told, "{arguments:?} does not say {words:?}");
    }

    /// The records of a run of this type.
    fn records(&self, run: &str, event: &str) -> Vec<Value> {
        let journal = self.path().join(".redial/runs").join(run).join("journal.ndjson");
        let text = std::fs::read_to_string(journal).unwrap();
        let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
        records.filter(|record: &Value| record["type"] == event).collect()
    }
}

#[test]
fn a_budget_ends_retries_and_is_still_spent_for_the_next_process() {
    let place = Place::new();
    let budget = "{capacity: 2, deposit: 0.1, floor_per_second: 0}";
    place.write(
        "flow.yaml",
        &format!("steps: {{fetch: {{run: ['false'], policy: 'attempts: 9, delay: 1ms', budget: {budget}}}}}"),
    );
    let run = place.redial(&["run", "flow.yaml", "--run", "spent"]);
    assert_eq!(run.status.code(), Some(1));
    assert_eq!(place.records("spent", "attempt.start").len(), 3);
    assert_eq!(place.records("spent", "dead")[0]["reason"], "budget");
    // A fresh policy, but the tokens are gone: the budget is what the journal says.
    let again = place.redial(&["dead", "retry", "spent"]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(place.records("spent", "attempt.start").len(), 4);
    assert_eq!(place.records("spent", "dead")[1]["reason"], "budget");
    let dead = place.works(&["dead", "list", "spent"]);
    assert!(dead.contains("the retry budget is empty"), "{dead}");
}

#[test]
fn a_breaker_ends_retries_before_a_wait_that_leads_into_it() {
    let place = Place::new();
    place.write(
        "flow.yaml",
        "
steps:
  fetch:
    run: ['false']
    policy: 'attempts: 9, delay: 1ms'
    breaker: {failures: 2, recovery: 1h}
  absent:
    run: ['true']
    dir: nowhere
    policy: 'attempts: 4, delay: 1ms'
    breaker: {failures: 2, recovery: 1h}
",
    );
    let run = place.redial(&["run", "flow.yaml", "--run", "open"]);
    assert_eq!(run.status.code(), Some(1));
    let dead = place.records("open", "dead");
    let of = |step: &str| dead.iter().find(|record| record["step"] == step).unwrap();
    assert_eq!(
        (&of("fetch")["reason"], &of("fetch")["attempt"]),
        (&"breaker-open".into(), &2.into())
    );
    // What cannot be started says nothing about a service.
    assert_eq!(of("absent")["reason"], "attempts-spent");
    let ends = place.records("open", "attempt.end");
    assert_eq!(ends.iter().filter(|record| record["outcome"] == "spawn_error").count(), 4);
}

#[test]
fn a_workflow_with_a_circuit_breaker_lets_one_probe_through_and_goes_on() {
    let place = Place::new();
    place.write("items.txt", "a\nb\nc\nd\ne\n");
    // The first two fail, and then it works again.
    place.write(
        "flow.yaml",
        "
map:
  input: items.txt
  max_parallel: 3
  agent_template:
    - shell: 'mkdir first 2> /dev/null && exit 1; mkdir second 2> /dev/null && exit 1; true'
error_policy:
  circuit_breaker: {failure_threshold: 1, timeout: 50ms, success_threshold: 1, half_open_requests: 1}
",
    );
    let run = place.redial(&["run", "flow.yaml", "--run", "circuit", "-j", "1"]);
    assert_eq!(run.status.code(), Some(1));
    let status = place.json(&["status", "circuit", "--json"]);
    let times = |event: &str| {
        let records = place.records("circuit", event);
        records.iter().map(|record| record["t"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let (starts, ends) = (times("attempt.start"), times("attempt.end"));
    assert_eq!((starts.len(), place.records("circuit", "dead").len()), (5, 2), "{status}");
    for at in [0, 1] {
        let held = starts[at + 1] - ends[at];
        assert!(held >= 0.049_999, "attempt {at} opens it, and the next starts {held} s later");
    }
}

#[test]
fn an_open_breaker_is_told_and_is_still_open_after_a_kill() {
    let place = Place::new();
    place.write("items.txt", "a\nb\n");
    place.write(
        "flow.yaml",
        "
steps:
  pages:
    each: {lines: items.txt}
    slots: 1
    breaker: {failures: 1, recovery: 1h}
    steps: [{run: ['false']}]
",
    );
    let open = "redial: pages: the breaker is open for ";
    place.killed_after(open, &["run", "flow.yaml", "--run", "killed"]);
    place.killed_after(open, &["resume", "killed"]);
    assert_eq!(place.records("killed", "attempt.start").len(), 1, "the second item is held back");
}
