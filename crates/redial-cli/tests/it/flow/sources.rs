//! Sources that cannot be read to their ends.

use super::Place;
use crate::program::{stderr, stdout};

const FLOW: &str = r#"
flow: broken
steps:
  m:
    each: {file: items.json, json_path: "$.items[*]"}
    steps:
      - shell: 'echo "${item}" >> ran; test ${item} != 2 || test -e mended'
  join:
    needs: m
    run: [echo, "${m.succeeded} of ${m.total}"]
outputs: {join: "${join.output}"}
"#;

#[test]
fn a_map_whose_source_breaks_is_a_dead_letter_and_its_retry_reads_the_source_again() {
    let place = Place::new();
    let items = place.path().join("items.json");
    std::fs::write(&items, r#"{"items": [1, 2, 3"#).unwrap();
    let (_, said) = place.runs(FLOW, &["--run", "t", "-j", "1"], 1);
    assert!(said.contains("m: not started: "), "{said}");
    let listed = place.works(&["dead", "list", "t"]);
    let words = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("m m 0 bad-source: "), "{listed}");
    let report = place.works(&["report", "t"]);
    assert!(report.contains("bad-source"), "{report}");
    let status = place.json(&["status", "t", "--json"]);
    assert_eq!(status["runs"][0]["tasks"]["dead"], 2, "{status}");

    // As long as it is broken, it is a dead letter again, and nothing runs twice.
    let output = place.redial(&["dead", "retry", "t", "m"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let ran = || std::fs::read_to_string(place.path().join("ran")).unwrap();
    assert_eq!(ran(), "1\n2\n3\n");
    let status = place.json(&["status", "t", "--json"]);
    assert_eq!(status["runs"][0]["tasks"]["dead"], 2, "{status}");

    std::fs::write(&items, r#"{"items": [1, 2, 3, 4]}"#).unwrap();
    std::fs::write(place.path().join("mended"), "").unwrap();
    let output = place.redial(&["dead", "retry", "t"]);
    assert_eq!(stdout(&output), "4 of 4\n", "{}", stderr(&output));
    let mut lines: Vec<_> = ran().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["1", "2", "2", "3", "4"]);
    let status = place.json(&["status", "t", "--json"]);
    assert_eq!(status["runs"][0]["state"], "succeeded", "{status}");
    assert_eq!(status["runs"][0]["tasks"]["dead"], 0, "{status}");
    assert_eq!(status["runs"][0]["tasks"]["waiting"], 0, "{status}");
}

#[test]
fn items_that_are_none_are_told_anew_with_the_map() {
    let place = Place::new();
    let flow = r#"
flow: broken
steps:
  m:
    each: {file: items.json, json_path: "$[*]"}
    key: id
    steps:
      - run: [test, -n, "${item.id}"]
"#;
    let items = place.path().join("items.json");
    std::fs::write(&items, r#"[{"id": 1}, {}, {"id": 3}, {"#).unwrap();
    place.runs(flow, &["--run", "t"], 1);
    let dead = |status: &serde_json::Value| status["runs"][0]["tasks"]["dead"].as_u64();
    assert_eq!(dead(&place.json(&["status", "t", "--json"])), Some(2));
    let output = place.redial(&["dead", "retry", "t"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(dead(&place.json(&["status", "t", "--json"])), Some(2));
    std::fs::write(&items, r#"[{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]"#).unwrap();
    let output = place.redial(&["dead", "retry", "t"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_run_of_map_whose_source_breaks_is_mended_by_the_same_command() {
    let place = Place::new();
    let map = |code: i32| {
        let arguments =
            ["map", "--run", "q", "--items", "i.json", "--json-path", "$[*]", "--", "true"];
        let output = crate::program::redial(place.path(), &arguments);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        stderr(&output).to_owned()
    };
    std::fs::write(place.path().join("i.json"), "[1, 2").unwrap();
    let said = map(1);
    assert!(said.contains("2 items: 2 at the first attempt"), "{said}");
    assert!(place.works(&["dead", "list", "q"]).contains("bad-source"));
    std::fs::write(place.path().join("i.json"), "[1, 2, 3]").unwrap();
    map(0);
    let status = place.json(&["status", "q", "--json"]);
    assert_eq!(status["runs"][0]["state"], "succeeded", "{status}");
    assert_eq!(status["runs"][0]["tasks"]["dead"], 0, "{status}");
}
