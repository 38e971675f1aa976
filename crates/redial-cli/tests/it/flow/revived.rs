//! What needs a dead letter that is tried again, and has run, or waits to run, over what was there before.

use std::fs;

use super::Place;
use crate::program::{stderr, stdout};

/// A map whose item `b` is dead until `mended` is there; what it gives is the source of another one.
const CHAIN: &str = "
steps:
  first:
    each: {lines: items.txt}
    steps: [{shell: '{ test ${item} != b || test -e mended; } && echo ${item}'}]
  list:
    needs: first
    stdin: ${first.results}
    run: [cat]
    output: json
  second:
    each: ${list.output}
    steps: [{shell: 'echo ${item} >> second; echo ${item}'}]
  last:
    shell: echo ${second.succeeded}
outputs: {last: '${last.output}'}
";

#[test]
fn a_map_reads_the_output_of_a_step_that_ran_again() {
    let place = Place::new();
    fs::write(place.path().join("items.txt"), "a\nb\nc\n").unwrap();
    assert_eq!(place.runs(CHAIN, &["--run", "q"], 1).0, "2\n");
    fs::write(place.path().join("mended"), "").unwrap();
    let output = place.redial(&["dead", "retry", "q"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), "3\n"), "{}", stderr(&output));
    let said = "map `second` reads its source again after them: what is new in it runs, what has succeeded stays";
    assert!(stderr(&output).contains(said), "{}", stderr(&output));
    // Each item once: what had succeeded did not run again.
    let ran = fs::read_to_string(place.path().join("second")).unwrap();
    let mut ran: Vec<&str> = ran.lines().collect();
    ran.sort_unstable();
    assert_eq!(ran, ["a", "b", "c"]);
}

/// The join was killed while it waited for its second attempt, after its first one had counted a map with a dead item.
#[test]
fn a_step_that_waits_does_not_run_beside_what_it_needs() {
    let place = Place::new();
    fs::write(place.path().join("items.txt"), "a\nb\n").unwrap();
    let flow = "
steps:
  map:
    each: {lines: items.txt}
    steps: [{shell: 'test ${item} != b || { test -e mended && sleep 0.5; }'}]
  join:
    needs: map
    shell: 'echo ${map.succeeded} of ${map.total}; test -e mended'
    policy: 'attempts: 9, delay: 100ms'
outputs: {join: '${join.output}'}
";
    fs::write(place.path().join("flow.yaml"), flow).unwrap();
    place.killed_after("redial: join: attempt 1", &["run", "flow.yaml", "--run", "q", "-v"]);
    fs::write(place.path().join("mended"), "").unwrap();
    let output = place.redial(&["dead", "retry", "q", "b"]);
    let ended = (output.status.code(), stdout(&output));
    assert_eq!(ended, (Some(0), "2 of 2\n"), "{}", stderr(&output));
}
