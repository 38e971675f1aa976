//! Steps that are skipped, and what is skipped after them.

use serde_json::Value;

use super::Place;

/// How each step of the journal ended without a success: its name, its item, and how.
fn ends(place: &Place, run: &str) -> Vec<String> {
    let path = place.path().join(format!(".redial/runs/{run}/journal.ndjson"));
    let text = std::fs::read_to_string(path).unwrap();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ends = records.filter(|record| record["type"] == "step.end").map(|record| {
        let item = record["item"].as_u64().map(|item| format!(" {item}")).unwrap_or_default();
        let word = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        format!("{}{item} {} {}", word("step"), word("outcome"), word("reason"))
    });
    ends.map(|end| end.trim_end().to_owned()).collect()
}

#[test]
fn what_names_the_output_of_a_skipped_step_is_skipped_and_counted() {
    let place = Place::new();
    let flow = r#"
flow: skips
steps:
  sk: {when: "false", run: [echo, never]}
  after: {run: [echo, "${sk.output}"]}
  last: {run: [echo, "${after.output}"]}
  beside: {needs: after, run: [echo, beside]}
  handles: {when: "sk.output == ''", run: [echo, "handled ${sk.output}"]}
outputs: {beside: "${beside.output}", handles: "${handles.output}"}
"#;
    let (printed, said) = place.runs(flow, &["--run", "one"], 0);
    assert_eq!(printed, "beside: beside\nhandles: handled \n", "{said}");
    let mut ended = ends(&place, "one");
    ended.sort();
    assert_eq!(ended, ["after skipped needs-skipped", "last skipped needs-skipped", "sk skipped"]);
    let status = place.json(&["status", "one", "--json"]);
    assert_eq!(status["runs"][0]["tasks"]["skipped"], 3, "{status}");
    assert!(said.contains("3 skipped"), "{said}");
}

#[test]
fn a_fallback_handles_a_reference_to_a_skipped_step() {
    let place = Place::new();
    let flow = r#"
flow: skips
steps:
  sk: {when: "false", run: [echo, never]}
  value: {shell: 'echo ${sk.output}', fallback: {value: handled}}
  command: {shell: 'echo ${sk.output}', fallback: {shell: "echo by a command"}}
  last: {run: [echo, "${value.output}, ${command.output}"]}
outputs: {last: "${last.output}"}
"#;
    let (printed, said) = place.runs(flow, &["--run", "one"], 0);
    assert_eq!(printed, "handled, by a command\n", "{said}");
    assert!(said.contains("2 recovered"), "{said}");
    let status = place.json(&["status", "one", "--json"]);
    assert_eq!(status["runs"][0]["tasks"]["recovered"], 2, "{status}");
}

#[test]
fn the_steps_of_a_map_are_skipped_by_the_same_law() {
    let place = Place::new();
    let flow = r#"
flow: skips
steps:
  each:
    each: {lines: items}
    steps:
      - name: a
        when: item != 'x'
        run: [echo, "a-${item}"]
      - name: b
        shell: 'echo b >> ran; echo "b ${a.output}"'
      - name: c
        run: [echo, "c ${b.output}"]
        fallback: {value: "instead"}
      - name: d
        when: a.output == '' || c.output == 'c b a-y'
        run: [echo, "d ${c.output}"]
outputs: {each: "${each.results}"}
"#;
    std::fs::write(place.path().join("items"), "x\ny\n").unwrap();
    let (printed, said) = place.runs(flow, &["--run", "one"], 0);
    assert_eq!(printed, "[\"d instead\",\"d c b a-y\"]\n", "{said}");
    assert_eq!(std::fs::read_to_string(place.path().join("ran")).unwrap(), "b\n");
    let ended = ends(&place, "one");
    assert_eq!(ended, ["a 0 skipped", "b 0 skipped needs-skipped", "c 0 recovered needs-skipped"],);
}
