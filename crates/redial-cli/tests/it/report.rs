//! `redial report` as scripts and people use it: real logs, real files, exit codes.

mod formats;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::program::{command, folder, stderr, stdout, with_input};

fn redial(folder: &Path, arguments: &[&str]) -> Output {
    fed(folder, arguments, b"")
}

fn fed(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    with_input(&mut command(folder, &[&["report"], arguments].concat()), input)
}

#[track_caller]
fn succeeded(output: &Output) -> &str {
    assert_eq!((output.status.code(), stderr(output)), (Some(0), ""));
    stdout(output)
}

fn line(run: &str, kind: &str, fields: Value) -> String {
    let mut line = json!({"v": 1, "run": run, "t": 0.5, "type": kind});
    line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    format!("{line}\n")
}

/// The lines of a run whose attempts exited with these codes.
fn lines(run: &str, argv: &[&str], exits: &[i32]) -> Vec<String> {
    let mut lines = vec![line(
        run,
        "run.start",
        json!({"ts": "2026-11-15T19:57:01.123456Z", "argv": argv, "cwd": "/w", "pid": 7, "policy": "attempts: 5",
               "attempts": 5, "timeout_ns": null, "seed": 42, "rules": ["exit:0"]}),
    )];
    for (attempt, exit) in (1..).zip(exits) {
        let outcome = if *exit == 0 { "succeeded" } else { "failed" };
        lines.push(line(run, "attempt.start", json!({"attempt": attempt, "of": 5, "pid": 8})));
        lines.push(line(
            run,
            "attempt.end",
            json!({"attempt": attempt, "outcome": outcome, "exit": exit, "signal": null, "duration_ns": 1_000_000_000,
                   "user_ns": 1, "system_ns": 1, "stderr_tail": "\u{1b}[31m]]><&\u{0}\u{1b}[0m\n"}),
        ));
        if *exit != 0 {
            lines.push(line(
                run,
                "decision",
                json!({"attempt": attempt, "action": "retry", "rule": null, "reason": null,
                       "delay_ns": 500_000_000, "delay_source": "delay-from"}),
            ));
        }
    }
    let (attempts, succeeded) = (exits.len(), exits.last() == Some(&0));
    lines.push(line(
        run,
        "run.end",
        json!({"outcome": if succeeded { "succeeded" } else { "failed" }, "reason": null, "attempts": attempts,
               "flaky": succeeded && attempts > 1, "exit": exits.last(), "signal": null,
               "waited_ns": 500_000_000 * (attempts - 1), "running_ns": 1_000_000_000 * attempts,
               "duration_ns": 1_500_000_000 * attempts - 500_000_000}),
    ));
    lines
}

/// A flaky run, one that succeeded and one that was killed, line by line in turns.
fn interleaved() -> String {
    let mut killed = lines("killed", &["sleep", "9"], &[1, 1]);
    killed.truncate(4);
    let runs = [
        lines("flaky", &["make", "a test|\u{7f}"], &[2, 2, 0]),
        lines("clean", &["make", "a test|\u{7f}"], &[0]),
        killed,
    ];
    let longest = runs.iter().map(Vec::len).max().unwrap();
    let turns = (0..longest).flat_map(|turn| runs.iter().filter_map(move |run| run.get(turn)));
    turns.cloned().collect()
}

#[test]
fn a_log_of_interleaved_runs_is_reported_in_every_format() {
    let folder = folder(&[("events.ndjson", &interleaved())]);
    let report = |format: &str| {
        let output = redial(folder.path(), &["--format", format, "events.ndjson"]);
        succeeded(&output).to_owned()
    };
    let table = report("table");
    assert!(table.starts_with(
        "3 runs of 2 commands: 1 succeeded at once, 1 was flaky, 1 was unfinished.\n\
         Flake rate 50 %: of 2 runs with a result, 1 succeeded only after a retry.\n\
         5 attempts in all: 5s of running and 1s of waiting.\n"
    ));
    assert_eq!(succeeded(&redial(folder.path(), &["events.ndjson"])), table);
    assert!(report("md").contains(
        "| <code>make &#36;'a test&#124;&#92;177'</code> | 2 | 1 | 1 | 0 | 0 | 50 % | 4 |"
    ));
    let document: Value = serde_json::from_str(&report("json")).unwrap();
    assert_eq!(document["totals"]["unfinished"], 1);
    assert_eq!(document["commands"][0]["argv"], json!(["make", "a test|\u{7f}"]));
    let flaky = &document["commands"][0]["runs"][0];
    assert_eq!(
        (&flaky["run"], &flaky["duration_ns"]),
        (&json!("flaky"), &json!(4_000_000_000_u64))
    );
    assert_eq!(flaky["attempt_details"][0]["stderr_tail"], "\u{1b}[31m]]><&\u{0}\u{1b}[0m\n");
    let xml = report("junit");
    assert_eq!(count_of_elements(&xml, "testsuite"), 2);
    assert_eq!(count_of_elements(&xml, "testcase"), 3);
    assert_eq!(count_of_elements(&xml, "flakyFailure"), 2);
    assert_eq!(count_of_elements(&xml, "error"), 1);
}

/// Read by a parser, which refuses what is no XML.
fn count_of_elements(xml: &str, name: &str) -> usize {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut count = 0;
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) | Event::Empty(start) => {
                start.attributes().for_each(|attribute| drop(attribute.unwrap()));
                count += usize::from(start.name().as_ref() == name);
            }
            Event::Eof => return count,
            _ => {}
        }
    }
}

#[test]
fn a_run_may_go_on_in_another_file_and_come_twice() {
    let run = lines("r", &["x"], &[1, 0]);
    let (first, second) = (run[..3].concat(), run[3..].concat());
    let folder = folder(&[("1", &first), ("2", &second), ("all", &run.concat())]);
    let report = |files: &[&str], input: &str| {
        let arguments = [&["--format", "json"], files].concat();
        let output = fed(folder.path(), &arguments, input.as_bytes());
        succeeded(&output).to_owned()
    };
    let all = report(&["all"], "");
    assert!(all.contains("\"verdict\": \"flaky\""));
    for files in [&["1", "2"][..], &["2", "1"], &["all", "all"], &["1", "all"], &["all", "2"]] {
        assert_eq!(report(files, ""), all, "{files:?}");
    }
    assert_eq!(report(&["-"], &run.concat()), all);
    assert_eq!(report(&["1", "-"], &second), all);
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_is_reported() {
    let run = lines("r", &["x"], &[1, 0]);
    let torn = format!("{}{}no JSON\n{}{{\"v\":1,\"ru", run[..2].concat(), "\n", run[2..].concat());
    let other = run.concat().replace("\"v\":1", "\"v\":2");
    let folder =
        folder(&[("a.ndjson", &torn), ("b.ndjson", &(other.clone() + &run[0])), ("c", &other)]);
    let output = redial(folder.path(), &["a.ndjson", "b.ndjson"]);
    assert_eq!(output.status.code(), Some(0));
    let lines = run.len();
    assert_eq!(
        stderr(&output),
        format!(
            "2 lines of a.ndjson could not be read, the first is line 4\n\
             {lines} lines of b.ndjson left out: not of version 1\n"
        )
    );
    assert!(stdout(&output).contains("Flaky: succeeded only at attempt 2"), "{}", stdout(&output));
    let output = redial(folder.path(), &["a.ndjson", "c"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(
        stderr(&output).contains("there is no event in c (7 lines of c left out"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_without_events_and_one_that_is_not_there_are_errors_that_name_it() {
    let run = lines("r", &["x"], &[0]).concat();
    let folder = folder(&[("good", &run), ("empty", ""), ("text", "hello\n")]);
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (file, words) in [
        ("absent", "cannot read absent: "),
        ("folder", "cannot read folder: "),
        ("empty", "there is no event in empty; "),
        ("text", "there is no event in text (1 line of text could not be read: line 1); "),
        ("-", "there is no event in standard input; "),
    ] {
        let output = redial(folder.path(), &["good", file]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(125), ""), "{file}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    let output = redial(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("EVENTS"), "{}", stderr(&output));
}

#[test]
fn a_report_goes_to_the_file_whose_ending_says_what_it_is() {
    let folder = folder(&[("log", &interleaved())]);
    let written = |arguments: &[&str], file: &str| {
        let output = redial(folder.path(), &[arguments, &["--output", file, "log"]].concat());
        assert_eq!(succeeded(&output), "");
        fs::read_to_string(folder.path().join(file)).unwrap()
    };
    assert!(written(&[], "r.json").starts_with("{\n  \"v\": 1,"));
    assert!(written(&[], "r.md").starts_with("### Retries\n"));
    assert!(written(&[], "r.xml").starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"));
    assert!(written(&[], "r.txt").starts_with("3 runs of 2 commands"));
    assert!(!written(&["--color", "always"], "r").contains('\u{1b}'));
    assert!(written(&["--format", "md"], "r.xml").starts_with("### Retries\n"));
    let output = redial(folder.path(), &["--output", "absent/r.md", "log"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("cannot write absent/r.md"), "{}", stderr(&output));
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut log = lines("r", &["x"], &[0]);
    log.insert(1, "x".repeat(20 << 20) + "\n");
    let folder = folder(&[("log", &log.concat())]);
    let output = redial(folder.path(), &["log"]);
    assert_eq!(stderr(&output), "1 line of log could not be read: line 2\n");
    assert!(stdout(&output).contains("Succeeded at once"), "{}", stdout(&output));
}
