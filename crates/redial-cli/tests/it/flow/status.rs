//! `redial flow status` and `redial flow remove`.

use std::fs;

use redial_flow::record::{Event, Outcome};

use super::{Place, failed, record, retry, run_end, run_start, start, whole};
use crate::program::{stderr, stdout};

#[test]
fn without_a_name_all_runs_are_listed_the_newest_last() {
    let place = Place::new();
    place.run("b-first", &whole());
    place.run("a-second", &[run_start(0.0, Event::RunStart), start(0.0, "list", None, 1)]);
    let text = place.works(&["status"]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("run"), "{text}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[1])[..8], ["b-first", "thumbnails", "failed", "20", "2", "1", "0", "0"]);
    assert_eq!(words(lines[2])[..3], ["a-second", "thumbnails", "interrupted"]);
    let document = place.json(&["status", "--json"]);
    assert_eq!(document["runs"][1]["run"], "a-second");
    assert_eq!(document["runs"][0]["tasks"]["dead"], 1);
    assert!(document["runs"][0].get("steps").is_none());
}

#[test]
fn one_run_is_told_with_its_steps() {
    let place = Place::new();
    place.run("nightly", &whole());
    let text = place.works(&["status", "nightly"]);
    assert!(
        text.starts_with(
            "nightly, a run of thumbnails: failed after 14s.\n\
             20 tasks succeeded, 2 of them after a retry; 1 dead.\n"
        ),
        "{text}"
    );
    let map = text.lines().find(|line| line.starts_with("pictures, 10 items")).expect(&text);
    let numbers: Vec<&str> = map.split_whitespace().skip(3).collect();
    // Ten items, though the map has two steps for each.
    assert_eq!(numbers, ["9", "1", "1", "0", "0", "0", "22"], "{text}");
    let steps = place.json(&["status", "nightly", "--json"]);
    let steps = &steps["runs"][0]["steps"];
    assert_eq!((&steps[2]["step"], &steps[2]["inside"]), (&"fetch".into(), &"pictures".into()));
    assert_eq!((&steps[1]["map"], &steps[1]["tasks"]["succeeded"]), (&true.into(), &18.into()));
    assert_eq!(
        (&steps[1]["item_counts"]["succeeded"], &steps[1]["item_counts"]["dead"]),
        (&9.into(), &1.into())
    );
    assert_eq!(steps[0]["spent"]["delays_ns"], 1_000_000_000);
}

#[test]
fn a_run_that_is_worked_on_names_its_process_and_one_that_is_not_says_how_to_go_on() {
    let place = Place::new();
    let records = [
        run_start(0.0, Event::RunStart),
        start(0.0, "list", None, 1),
        failed(1.0, "list", None, 1, 7),
        retry(1.0, "list", None, 1, 5.0),
    ];
    let run = place.run("open", &records);
    let text = place.works(&["status", "open"]).replace('\n', " ");
    let resume = "interrupted after 1s; redial flow resume open goes on with it.";
    assert!(text.contains(resume), "{text}");
    let held = run.hold().unwrap();
    let text = place.works(&["status", "open"]);
    let process = format!("running by process {}", std::process::id());
    assert!(text.contains(&process) && text.contains("1 waiting"), "{text}");
    assert!(text.contains("The next attempt is due"), "{text}");
    let document = place.json(&["status", "open", "--json"]);
    assert_eq!(document["runs"][0]["pid"], std::process::id());
    assert_eq!(document["runs"][0]["due_ns"], 6_000_000_000_u64);
    drop(held);
}

#[test]
fn what_is_wrong_with_a_journal_is_said_and_the_rest_is_shown() {
    let place = Place::new();
    let mut records = whole();
    records.insert(1, record(0.0, Event::Dead, "no\u{1b}[2Jsuch", None));
    let run = place.run("odd", &records);
    let text = fs::read_to_string(run.journal_path()).unwrap();
    let text = text.replacen("picture-4", "picture-5", 1);
    fs::write(run.journal_path(), format!("{text}{{\"v\":1")).unwrap();
    let output = place.redial(&["status", "odd"]);
    assert_eq!(output.status.code(), Some(0));
    let said = stderr(&output);
    for words in [
        "note: ",
        "is damaged at line ",
        "the last 6 bytes, from line ",
        "redial flow resume cuts them off",
        "left out that no run of this flow can have written; the first is record 2 (`dead` of ",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(stdout(&output).contains("a run of thumbnails"), "{}", stdout(&output));
    let output = place.redial(&["status", "odd", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let journal = &document["runs"][0]["journal"];
    assert_eq!((&journal["holes"], &journal["torn_bytes"]), (&1.into(), &6.into()));
}

#[test]
fn a_directory_that_is_no_run_is_left_out_and_named() {
    let place = Place::new();
    place.run("good", &whole());
    fs::create_dir(place.store().root().join("runs/empty")).unwrap();
    let odd = place.store().create(&"odd".parse().unwrap(), b"{}").unwrap();
    let output = place.redial(&["status"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("good") && !stdout(&output).contains("odd"));
    let said = stderr(&output);
    assert!(said.contains("note: empty is left out: it has no flow.json"), "{said}");
    assert!(said.contains("note: odd is left out: "), "{said}");
    place.refused(&["status", "odd"], "is no flow that this version of redial knows");
    drop(odd);
}

#[test]
fn without_runs_there_is_nothing_to_show_and_nothing_to_report() {
    let place = Place::new();
    let output = place.redial(&["status"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""));
    assert!(stderr(&output).starts_with("there is no run in .redial"), "{}", stderr(&output));
    assert_eq!(place.json(&["status", "--json"]), serde_json::json!({"runs": []}));
    place.refused(&["report"], "there is no run in .redial");
    place.refused(&["dead", "list"], "or name the store with --store");
    place.refused(&["status", "x"], "there is no run `x` in ");
    place.refused(&["status", "../x"], "`../x` cannot name a run");
    place.refused(&["remove"], "RUN");
}

#[test]
fn the_store_may_be_elsewhere() {
    let place = Place::new();
    place.run("here", &[run_start(0.0, Event::RunStart), run_end(1.0, Outcome::Succeeded)]);
    let elsewhere = Place::new();
    let store = place.store();
    let store = store.root().to_str().unwrap();
    let text = elsewhere.works(&["status", "here", "--store", store]);
    assert!(text.contains("succeeded in 1s"), "{text}");
}

#[test]
fn runs_are_removed_each_for_itself_and_not_while_they_are_held() {
    let place = Place::new();
    place.run("one", &[]);
    let two = place.run("two", &[]);
    place.run("three", &[]);
    let held = two.hold().unwrap();
    let output = place.redial(&["remove", "one", "two", "three"]);
    assert_eq!(output.status.code(), Some(75), "{}", stderr(&output));
    assert_eq!(stdout(&output), "removed one\nremoved three\n");
    let said = stderr(&output);
    assert!(said.contains("the run `two` is held by process "), "{said}");
    drop(held);
    assert_eq!(place.works(&["remove", "two"]), "removed two\n");
    place.refused(&["remove", "two"], "there is no run `two` in ");
    assert_eq!(place.store().list().unwrap(), []);
}

#[cfg(target_os = "linux")]
#[test]
fn a_step_whose_fallback_is_a_command_has_recovered_or_is_dead_and_is_one_task() {
    let place = Place::new();
    let flow = "
flow: other-ways
steps:
  bad: {run: ['false'], fallback: {run: [echo, other]}}
  good: {run: ['true'], fallback: {run: [echo, other]}}
  value: {run: ['false'], fallback: {value: 7}}
  each:
    each: {lines: items}
    steps:
      - run: [test, '${item}', '=', a]
        fallback: {run: [echo, other]}
";
    fs::write(place.path().join("items"), "a\nb\n").unwrap();
    let (_, said) = place.runs(flow, &["--run", "ways"], 0);
    assert!(said.contains("5 tasks: 2 at the first attempt, 3 recovered; "), "{said}");
    let text = place.works(&["status", "ways"]);
    assert!(text.contains("\n2 tasks succeeded; 3 recovered by a fallback.\n"), "{text}");
    let document = place.json(&["status", "ways", "--json"]);
    let run = &document["runs"][0];
    let counts = |of: &serde_json::Value| {
        ["succeeded", "recovered", "continued", "skipped"].map(|name| of["tasks"][name].as_u64())
    };
    assert_eq!(counts(run), [Some(2), Some(3), Some(0), Some(0)]);
    let step = |name: &str| {
        let steps = run["steps"].as_array().unwrap();
        steps.iter().find(|step| step["step"] == name).unwrap()
    };
    assert_eq!(counts(step("bad")), [Some(0), Some(1), Some(0), Some(0)]);
    assert_eq!(counts(step("each")), [Some(1), Some(1), Some(0), Some(0)]);
    let flow = "flow: none\nsteps:\n  bad: {run: ['false'], fallback: {run: ['false']}}\n";
    place.runs(flow, &["--run", "none"], 1);
    let text = place.works(&["status", "none"]);
    assert!(text.contains("\n0 tasks succeeded; 1 dead.\n"), "{text}");
}
