//! The laws of other systems in everything that runs or simulates: what `plan` shows is what they sleep.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{folder, parsed, redial, stderr, stdout};

/// At most 0 to 4 and 0 to 9 ms, in whole milliseconds.
const ROUTE: &str = "retry_policy: {retry_on: 5xx, num_retries: 2, retry_back_off: {base_interval: 0.005s, max_interval: 1s}}\n";

/// What a call with the seed sleeps, in nanoseconds, as `plan` says.
fn planned(folder: &Path, seed: &str) -> Vec<u64> {
    let plan = parsed(&redial(folder, &["plan", "route.yaml", "--seed", seed, "--json"]));
    let plan = &plan["plans"][0];
    assert_eq!(plan["policy"], Value::Null);
    assert_eq!(plan["law"], json!("Envoy route.yaml#retry_policy"));
    let delays = plan["delays"].as_array().unwrap().iter();
    delays.map(|delay| delay["sample_ns"].as_u64().unwrap()).collect()
}

#[test]
fn run_sleeps_the_law_and_names_it() {
    let folder = folder(&[("route.yaml", ROUTE)]);
    for seed in ["1", "2", "3"] {
        let arguments =
            ["run", "--policy", "route.yaml", "--seed", seed, "--events", "-", "--", "false"];
        let output = redial(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let events: Vec<Value> =
            stdout(&output).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let delays: Vec<_> = events.iter().filter_map(|event| event["delay_ns"].as_u64()).collect();
        let planned = planned(folder.path(), seed);
        assert_eq!(delays, planned, "seed {seed}: {events:?}");
        assert!(planned.iter().all(|delay| delay % 1_000_000 == 0), "{planned:?}");
        assert_eq!(events[0]["policy"], json!("Envoy route.yaml#retry_policy"));
    }
    let dry = redial(folder.path(), &["run", "--policy", "route.yaml", "--dry-run", "--", "false"]);
    assert!(stdout(&dry).contains("policy   Envoy route.yaml#retry_policy\n"), "{}", stdout(&dry));
}

#[test]
fn no_flag_changes_a_part_of_a_law() {
    let folder = folder(&[("route.yaml", ROUTE)]);
    let output =
        redial(folder.path(), &["run", "--policy", "route.yaml", "-d", "1s", "--", "false"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("--delay: no clause says the law"), "{}", stderr(&output));
}

#[test]
fn map_writes_the_law_down_and_goes_on_with_it_without_the_file() {
    let folder = folder(&[("route.yaml", ROUTE), ("items", "a\nb\n")]);
    let map = [
        "map",
        "--policy",
        "route.yaml",
        "--run",
        "r",
        "--items",
        "items",
        "--",
        "test",
        "-e",
        "done",
    ];
    let output = redial(folder.path(), &map);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    fs::remove_file(folder.path().join("route.yaml")).unwrap();
    let again = redial(folder.path(), &["flow", "dead", "retry", "r"]);
    let store = folder.path().join(".redial/runs/r");
    let journal: String = fs::read_dir(&store)
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default())
        .collect();
    assert!(
        journal.contains("law of envoy; delays: 0-4999999/1000000, 0-9999999/1000000; "),
        "{journal}"
    );
    let records = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let delays: Vec<_> = records.filter_map(|record| record["delay_ns"].as_u64()).collect();
    // Two items, each of which waits twice, and twice more when it is revived.
    assert_eq!(delays.len(), 8, "{delays:?} {}", stderr(&again));
    assert!(delays.iter().all(|delay| delay % 1_000_000 == 0 && *delay < 10_000_000), "{delays:?}");
}

#[test]
fn a_step_of_a_flow_takes_the_words_of_another_system() {
    let flow = "steps:\n  a: {run: ['true'], policy: 'curl --retry 2 --retry-delay 1'}\n  \
                b: {run: ['true'], policy: {initialInterval: 7ms, backoffCoefficient: 1.1, maximumAttempts: 3}}\n  \
                c: {run: ['true'], policy: {retry_policy: {retry_on: 5xx, num_retries: 2}}}\n  \
                d: {run: ['true'], policy: 'attempts: 2, delay: 5ms'}\n";
    let folder = folder(&[("flow.yaml", flow)]);
    let plan = parsed(&redial(folder.path(), &["flow", "plan", "flow.yaml", "--json"]));
    let greatest = |name: &str| -> Vec<u64> {
        let steps = plan["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["step"] == json!(name)).unwrap();
        let delays = step["delays"].as_array().unwrap().iter();
        delays.map(|delay| delay["max_ns"].as_u64().unwrap() / 100_000).collect()
    };
    assert_eq!(greatest("a"), [10_000, 10_000], "{plan}");
    assert_eq!(greatest("b"), [70, 77]);
    assert_eq!(greatest("c"), [240, 490]);
    assert_eq!(greatest("d"), [50]);
    let run = redial(folder.path(), &["flow", "run", "flow.yaml"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
}

#[test]
fn simulate_tries_the_law_and_tune_says_why_it_does_not() {
    let folder = folder(&[("route.yaml", ROUTE)]);
    let simulate = |policy: &[&str]| {
        let common =
            ["simulate", "contention", "--clients", "5", "--trials", "5", "--seed", "1", "--json"];
        parsed(&redial(folder.path(), &[&common[..], policy].concat()))
    };
    let law = simulate(&["--policy", "route.yaml"]);
    let near = simulate(&[
        "--with",
        "attempts: 3, delay: 5ms, backoff: exponential, max_delay: 1s, jitter: full",
    ]);
    let text = |results: &Value| results.to_string().replace("Envoy route.yaml#retry_policy", "");
    assert!(law.to_string().contains("Envoy route.yaml#retry_policy"), "{law}");
    // Its delays are whole milliseconds, and so the crowd fares otherwise.
    assert_ne!(text(&law), text(&near));
    let tune = redial(folder.path(), &["tune", "contention", "--policy", "route.yaml"]);
    assert_eq!(tune.status.code(), Some(125));
    assert!(stderr(&tune).contains("tune searches among policies of ours"), "{}", stderr(&tune));
}
