//! `redial compare`: several policies side by side.

use std::path::Path;

use serde_json::json;

use crate::program::{folder, parsed, redial, root, stderr, stdout};

#[test]
fn policies_of_any_notation_are_columns_of_one_table() {
    let files = ["docs/examples/foreign/job.yaml", "curl --retry 2", "docs/examples/step.json"];
    let output = redial(&root(), &[&["compare"][..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let line =
        |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
    assert_eq!(
        line("after attempt").split_whitespace().collect::<Vec<_>>(),
        ["after", "attempt", "1.", "Job/migrate", "2.", "curl", "3.", "retryPolicy"],
    );
    assert!(line("1 ").contains("10s") && line("1 ").contains("1s"), "{text}");
    assert_eq!(
        line("3 ").split_whitespace().take(4).collect::<Vec<_>>(),
        ["3", "40s", "gives", "up"]
    );
    assert!(line("gives up by").contains("30min 30s"), "{text}");
    assert!(text.contains("When each attempt can start\n1. Job/migrate\n"), "{text}");
}

#[test]
fn a_policy_that_waits_the_same_is_said_to() {
    let theirs = redial(
        &root(),
        &["compare", "curl --retry 2", "--with", "retry: 2, delay: 1s, backoff: exponential"],
    );
    assert!(stdout(&theirs).contains("It waits what 1. curl waits."), "{}", stdout(&theirs));
    // One more limit, and it does not.
    let clause = "retry: 2, delay: 1s, backoff: exponential, within: 1min";
    let other = redial(&root(), &["compare", "curl --retry 2", "--with", clause]);
    assert!(!stdout(&other).contains("It waits what"), "{}", stdout(&other));
}

#[test]
fn its_json_is_that_of_plan() {
    let asked = ["--preset", "default", "--preset", "contention", "--json", "--seed", "1"];
    let compared = parsed(&redial(&root(), &[&["compare"][..], &asked].concat()));
    let planned = parsed(&redial(&root(), &[&["plan"][..], &asked].concat()));
    assert_eq!(compared, planned);
    assert_eq!(compared["plans"].as_array().unwrap().len(), 2);
    assert_eq!(compared["plans"][1]["name"], json!("contention"));
}

#[test]
fn one_policy_is_refused_and_a_file_stands_for_all_of_its_own() {
    let alone = redial(Path::new("."), &["compare", "--with", "retry: 3"]);
    assert_eq!(alone.status.code(), Some(125));
    assert!(stderr(&alone).contains("two or more are compared"), "{}", stderr(&alone));
    let retries = redial(&root(), &["compare", "docs/examples/retries.yaml"]);
    for title in ["1. fetch", "2. patient", "3. contended"] {
        assert!(stdout(&retries).contains(title), "{title}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_however_many_policies_there_are() {
    let many: String =
        (1..30).map(|n| format!("  policy-number-{n}: 'retry: {n}, delay: 1h'\n")).collect();
    let folder = folder(&[("many.yaml", &format!("policies:\n{many}"))]);
    for columns in ["40", "80", "160"] {
        let output = crate::program::command(folder.path(), &["compare", "many.yaml"])
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let most = stdout(&output).lines().map(|line| line.chars().count()).max().unwrap();
        assert!(most <= columns.parse().unwrap(), "{columns}: {most}");
        assert!(stdout(&output).matches("gives up by").count() >= 3, "{columns}");
    }
}

#[test]
fn policies_at_their_extremes_are_compared() {
    let extremes = [
        "retry: 4294967294, delay: 0s",
        "attempts: unlimited, delay: 1ns",
        "attempts: 1",
        "retry: 100, delay: 200000d, backoff: exponential, factor: 999999999, max_delay: none",
    ];
    let clauses = extremes.iter().flat_map(|clause| ["--with", clause]);
    let arguments: Vec<_> = std::iter::once("compare").chain(clauses).collect();
    let output = redial(Path::new("."), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("never"), "{}", stdout(&output));
}
