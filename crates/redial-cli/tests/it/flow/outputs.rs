//! What a flow prints when something of it has failed.

use super::Place;
use crate::program::{stderr, stdout};

const FLOW: &str = "
flow: half
steps:
  good: {run: [echo, fine]}
  bad: {run: ['false']}
  after: {run: [echo, '${bad.output}']}
  many:
    each: {lines: items.txt}
    steps:
      - {shell: 'test ${item} != b && echo ${item}'}
outputs:
  good: ${good.output}
  bad: ${bad.output}
  after: ${after.output}
  done: ${many.succeeded}
";

fn place() -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("items.txt"), "a\nb\nc\n").unwrap();
    place
}

#[test]
fn outputs_that_have_a_value_are_printed_also_where_something_is_dead() {
    let place = place();
    let (printed, said) = place.runs(FLOW, &[], 1);
    assert_eq!(printed, "good: fine\ndone: 2\n");
    for line in [
        "redial: no output `bad`: step `bad` has failed\n",
        "redial: no output `after`: step `after` was not run, because what it needs has failed\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn as_json_they_are_an_object_without_those_that_have_none() {
    let place = place();
    let (printed, said) = place.runs(FLOW, &["--json"], 1);
    assert_eq!(printed, "{\"good\":\"fine\",\"done\":2}\n");
    assert!(said.contains("no output `bad`"), "{said}");
}

#[test]
fn one_of_several_is_printed_with_its_name_also_where_the_others_have_no_value() {
    let flow = FLOW.replace("  done: ${many.succeeded}\n", "");
    let (printed, _) = place().runs(&flow, &[], 1);
    assert_eq!(printed, "good: fine\n");
}

#[test]
fn what_an_earlier_generation_gave_is_no_output_of_a_step_that_has_failed_since() {
    let place = place();
    let flow = "
flow: join
steps:
  many:
    each: {lines: items.txt}
    steps:
      - {shell: 'test ${item} != b || test -e again'}
  join: {needs: many, shell: 'test ! -e again && echo joined'}
outputs: {joined: '${join.output}'}
";
    let (printed, _) = place.runs(flow, &["--run", "q"], 1);
    assert_eq!(printed, "joined\n");
    std::fs::write(place.path().join("again"), "").unwrap();
    let output = place.redial(&["dead", "retry", "q"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("no output `joined`: step `join` has failed"));
}
