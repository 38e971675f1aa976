//! The same command again: what succeeded never runs again, what failed is tried anew, what is new runs, and what
//! the source does not have any more does not.

use redial_flow::store::Store;
use rustix::process::Signal;
use serde_json::Value;

use crate::kernel::until;
use crate::map::{command, ends_with, journal, map, of_type, tally, works};
use crate::program::{self, stderr};
use crate::stage::{Stage, started};

/// A job that writes down its item, and fails for the items that the file `bad` names.
const JOB: [&str; 5] = ["--", "sh", "-c", "echo \"$1\" >>ran; ! grep -qxF -e \"$1\" bad", "sh"];

#[track_caller]
fn again(stage: &Stage, items: &str, flags: &[&str], code: i32) -> String {
    let always = ["-n", "1", "--run", "r", "-j", "3"];
    ends_with(code, stage, items, &[&always[..], flags, &JOB].concat())
}

#[test]
fn what_succeeded_never_runs_again_and_what_failed_is_tried_anew() {
    let stage = Stage::new();
    stage.write("bad", "b\nd\n");
    again(&stage, "a\nb\nc\nd\n", &[], 1);
    let said = again(&stage, "a\nb\nc\nd\n", &[], 1);
    assert!(said.contains("4 items so far, 2 succeeded, 2 to try again"), "{said}");
    stage.write("bad", "");
    again(&stage, "a\nb\nc\nd\n", &[], 0);
    assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 3), ("c", 1), ("d", 3)].into());
    again(&stage, "a\nb\nc\nd\n", &[], 0);
    assert_eq!(stage.text("ran").lines().count(), 8);
}

#[test]
fn what_is_new_runs_wherever_it_was_inserted() {
    let stage = Stage::new();
    stage.write("bad", "");
    again(&stage, "a\nb\nb\n", &[], 0);
    again(&stage, "new\na\nb\nnew\nb\nb\n", &[], 0);
    assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 3), ("new", 2)].into());
}

#[test]
fn what_vanished_is_told_and_not_run() {
    let stage = Stage::new();
    stage.write("bad", "b\n");
    again(&stage, "a\nb\nc\n", &[], 1);
    let said = again(&stage, "a\nc\n", &[], 1);
    assert!(said.contains("1 item of the run is not in the source any more"), "{said}");
    assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 1), ("c", 1)].into());
    // It has not been forgotten, should it come back.
    stage.write("bad", "");
    again(&stage, "a\nb\nc\n", &[], 0);
    assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 2), ("c", 1)].into());
}

#[test]
fn what_was_never_started_and_vanished_is_a_dead_letter() {
    let stage = Stage::new();
    stage.write("bad", "a\n");
    let bound = ["--failures-max", "0", "-j", "1"];
    let always = ["-n", "1", "--run", "r", "--items", "items"];
    let words = [&always[..], &bound, &JOB].concat();
    stage.write("items", "a\nb\nc\n");
    ends_with(1, &stage, "", &words);
    stage.write("items", "b\n");
    stage.write("bad", "");
    let said = ends_with(1, &stage, "", &words);
    assert!(said.contains("c: not started: it is not in the source any more"), "{said}");
    assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 1)].into());
    let dead = journal(&stage, "r");
    assert_eq!(of_type(&dead, "dead").last().unwrap()["reason"], "vanished");
    stage.write("items", "c\nb\na\n");
    ends_with(0, &stage, "", &words);
    assert_eq!(tally(&stage.text("ran")), [("a", 2), ("b", 1), ("c", 1)].into());
}

#[test]
fn failures_of_before_are_not_held_against_it() {
    let stage = Stage::new();
    stage.write("bad", "a\nb\n");
    let flags = ["-n", "1", "--run", "r", "-j", "1", "--failures-max", "1"];
    let words = [&flags[..], &JOB].concat();
    ends_with(1, &stage, "a\nb\nc\n", &words);
    stage.write("bad", "");
    ends_with(0, &stage, "a\nb\nc\n", &words);
    assert_eq!(tally(&stage.text("ran")), [("a", 2), ("b", 2), ("c", 1)].into());
}

#[test]
fn what_was_no_item_is_told_anew_and_is_never_run() {
    let stage = Stage::new();
    let flags =
        ["--format", "jsonl", "--key", "id", "--run", "r", "--keep-order", "--", "echo", "{}"];
    let bad = "{\"id\":1}\n{\"id\":1,\"b\":2}\n{oops\n";
    assert_eq!(map(&stage, bad, &flags).stdout, b"{\"id\":1}\n");
    for _ in 0..2 {
        let output = map(&stage, bad, &flags);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
        assert!(
            stderr(&output).contains("2 items: 0 at the first attempt, 2 dead"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(works(&stage, "{\"id\":1}\n{\"id\":2}\n", &flags), "{\"id\":2}\n");
}

#[test]
fn a_value_that_cannot_be_passed_is_a_dead_letter_each_time() {
    let stage = Stage::new();
    let items = ["a", &"x".repeat(200_000), "b"].join("\n");
    let flags = ["--run", "r", "--keep-order", "--", "sh", "-c", "echo ${#1}", "sh", "{}"];
    for printed in ["1\n1\n", "", ""] {
        let output = map(&stage, &items, &flags);
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), printed.as_bytes()));
    }
    let records = journal(&stage, "r");
    let dead = of_type(&records, "dead");
    assert!(dead.len() == 3 && dead.iter().all(|dead| dead["reason"] == "value-too-large"));
}

#[test]
fn a_row_whose_key_stayed_is_tried_with_what_it_says_now() {
    let stage = Stage::new();
    let flags = ["--format", "csv", "--key", "id", "--run", "r", "-n", "1", "-q", "--"];
    let words = [&flags[..], &["sh", "-c", "echo $1; test $1 = good", "sh", "{v}"]].concat();
    assert_eq!(map(&stage, "id,v\n1,bad\n2,good\n", &words).status.code(), Some(1));
    assert_eq!(works(&stage, "id,v\n1,good\n2,other\n", &words), "good\n");
}

#[test]
fn another_command_policy_or_source_is_refused() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    works(&stage, "a\n", &["--run", "r", "--", "echo"]);
    for words in [
        &["--run", "r", "--", "echo", "more"][..],
        &["--run", "r", "-n", "7", "--", "echo"],
        &["--run", "r", "--items", "items", "--", "echo"],
        &["--run", "r", "--format", "jsonl", "--", "echo"],
        &["--run", "r", "--stop-on", "exit:1", "--", "echo"],
    ] {
        let said = ends_with(125, &stage, "a\nb\n", words);
        assert!(said.contains("another command, policy or source"), "{words:?}: {said}");
    }
    // How many at once and what is said of it are no part of what is run.
    assert_eq!(works(&stage, "a\nb\n", &["--run", "r", "-j", "7", "-v", "--", "echo"]), "b\n");
}

#[test]
fn a_command_that_is_wrong_makes_no_run() {
    let stage = Stage::new();
    ends_with(125, &stage, "a\n", &["--run", "r", "--where", "item.(", "--", "echo"]);
    assert!(!stage.has(".redial/runs/r"));
    works(&stage, "a\n", &["--run", "r", "--where", "item != 'b'", "--", "echo"]);
}

#[test]
fn one_process_at_a_time_has_a_run() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    let words = [
        "--run",
        "r",
        "--items",
        "items",
        "--",
        "sh",
        "-c",
        "echo in >bell; read word <gate",
        "sh",
    ];
    let mut first = started(&mut command(&stage, &words));
    stage.hear_that("in").unwrap();
    let said = ends_with(75, &stage, "", &words);
    assert!(said.contains(&format!("held by process {}", first.pid())), "{said}");
    stage.open();
    assert_eq!(first.end(stage.patience).unwrap().code(), 0);
    assert_eq!(of_type(&journal(&stage, "r"), "attempt.start").len(), 1);
}

#[test]
fn items_of_standard_input_may_be_given_again_in_any_number() {
    let stage = Stage::new();
    let items: String = (0..700).map(|number| format!("{number}\n")).collect();
    let flags = ["--run", "r", "--sync", "group", "--where", "item != '3'", "--", "echo"];
    // More than the thread that reads them hands over at once.
    works(&stage, &items, &flags);
    assert_eq!(works(&stage, &items, &flags), "");
    assert_eq!(works(&stage, format!("{items}new\n"), &flags), "new\n");
}

#[test]
fn what_is_printed_in_order_is_printed_in_a_run_that_goes_on() {
    let stage = Stage::new();
    let flags = ["--run", "r", "--keep-order", "--", "echo"];
    works(&stage, "a\nb\n", &flags);
    assert_eq!(works(&stage, "a\nb\nc\nd\n", &flags), "c\nd\n");
}

#[test]
fn what_was_held_back_is_printed_when_it_is_interrupted() {
    let stage = Stage::new();
    stage.write("items", "first\nsecond\n");
    let script = "echo $1; echo $1 >bell; test $1 != first || exec sleep 1000";
    let flags =
        ["--run", "r", "--keep-order", "-j", "2", "--drain", "0s", "--items", "items", "--"];
    let mut interrupted = command(&stage, &[&flags[..], &["sh", "-c", script, "sh"]].concat());
    interrupted.stdout(stage.create("out"));
    let mut running = started(&mut interrupted);
    stage.hear().unwrap();
    stage.hear().unwrap();
    let has_succeeded = |record: &Value| record["outcome"] == "succeeded";
    until(stage.patience, || journal(&stage, "r").iter().any(has_succeeded));
    running.signal(Signal::TERM);
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
    assert_eq!(stage.text("out"), "second\n");
}

#[test]
fn a_run_whose_process_died_before_its_first_record_begins_with_the_seed_that_is_given() {
    let stage = Stage::new();
    let words = ["--run", "r", "--seed", "5", "--", "echo"];
    works(&stage, "a\n", &words);
    let flow = stage.bytes(".redial/runs/r/flow.json");
    let store = Store::at(stage.path("other"));
    store.create(&"r".parse().unwrap(), &flow).unwrap();
    assert_eq!(works(&stage, "a\n", &[&["--store", "other"], &words[..]].concat()), "a\n");
    let journal = stage.text("other/runs/r/journal.ndjson");
    assert!(
        journal.contains("\"type\":\"run.start\"") && journal.contains("\"seed\":5,"),
        "{journal}"
    );
}

#[test]
fn the_seed_of_a_run_is_the_one_that_it_began_with() {
    let stage = Stage::new();
    let policy = ["-n", "3", "-d", "1ms", "--jitter", "full", "--run", "r"];
    for seed in ["5", "6"] {
        ends_with(1, &stage, "a\n", &[&policy[..], &["--seed", seed, "--", "false"]].concat());
    }
    let records = journal(&stage, "r");
    let delays: Vec<_> =
        of_type(&records, "decision").iter().map(|record| record["delay_ns"].clone()).collect();
    assert_eq!(delays.len(), 6);
    assert_eq!(delays[..3], delays[3..]);
}

#[test]
fn resumed_or_retried_by_flow_its_items_print_as_they_do_in_map() {
    let stage = Stage::new();
    stage.write("items", "a\nb\n");
    let script = "echo out $1; echo err $1 >&2; test $1 = a -o -e mended";
    let words = ["-n", "1", "--run", "r", "--items", "items", "--", "sh", "-c", script, "sh"];
    assert_eq!(map(&stage, "", &words).status.code(), Some(1));
    stage.write("mended", "");
    let output = program::redial(stage.path("").as_path(), &["flow", "dead", "retry", "r"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(output.stdout, b"out b\n", "{said}");
    assert!(said.contains("err b\n") && said.contains("redial: 1 item: 1 at the"), "{said}");
}

#[test]
fn what_an_interrupted_map_has_left_prints_when_flow_resume_runs_it() {
    let stage = Stage::new();
    stage.write("items", "a\nb\nc\n");
    let script = "echo out $1; test $1 != a -o -e go || { echo in >bell; exec sleep 1000; }";
    let flags = ["-j", "1", "-d", "1ms", "--run", "r", "--items", "items"];
    let words = [&flags[..], &["--", "sh", "-c", script, "sh"]].concat();
    let mut running = started(&mut command(&stage, &words));
    stage.hear_that("in").unwrap();
    running.signal(Signal::KILL);
    running.end(stage.patience).unwrap();
    stage.write("go", "");
    let output = program::redial(stage.path("").as_path(), &["flow", "resume", "r", "-j", "1"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["out a", "out b", "out c"], "{said}");
}
