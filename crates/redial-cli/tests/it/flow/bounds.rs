//! Maps that are stopped because too many of their items are dead.

use super::Place;
use crate::program::{stderr, stdout};

const FLOW: &str = r#"
flow: bounded
steps:
  m:
    each: {lines: items}
    slots: 1
    failures_max: 2
    steps:
      - shell: 'test ${item} -gt 3 || test -e mended'
  join:
    needs: m
    run: [echo, "${m.succeeded} of ${m.total}"]
outputs: {join: "${join.output}"}
"#;

fn stopped() -> Place {
    let place = Place::new();
    let items: String = (1..=13).map(|item| format!("{item}\n")).collect();
    std::fs::write(place.path().join("items"), items).unwrap();
    let (_, said) = place.runs(FLOW, &["--run", "t"], 1);
    let words =
        "m: stopped: 3 of 3 items are dead, more than failures_max allows; 10 items were not run";
    assert!(said.contains(words), "{said}");
    place
}

#[test]
fn a_map_that_is_stopped_says_so_and_goes_on_when_dead_items_are_dropped() {
    let place = stopped();
    let status = place.works(&["status", "t"]);
    assert!(status.contains("m was stopped: 3 of 3 items are dead"), "{status}");
    let output = place.redial(&["resume", "t"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));

    let output = place.redial(&["dead", "drop", "t", "--all"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("redial flow resume t goes on"), "{}", stderr(&output));
    assert!(!place.works(&["status", "t"]).contains("was stopped"));
    let output = place.redial(&["resume", "t"]);
    assert_eq!(stdout(&output), "10 of 13\n", "{}", stderr(&output));
}

#[test]
fn a_map_that_is_stopped_goes_on_when_dead_items_are_retried() {
    let place = stopped();
    std::fs::write(place.path().join("mended"), "").unwrap();
    let output = place.redial(&["dead", "retry", "t", "1"]);
    assert_eq!(stdout(&output), "11 of 13\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1), "two are dead still: {}", stderr(&output));
    let output = place.redial(&["dead", "retry", "t"]);
    assert_eq!(stdout(&output), "13 of 13\n", "{}", stderr(&output));
}
