//! `redial report` on the journal of a flow.

use std::fs;

use redial_flow::record::{Event, Outcome, Record};
use serde_json::Value;

use super::{Place, end, failed, record, run_start, start, whole};
use crate::program::{redial, stderr, stdout};

/// The report of a journal for programs, and what was said besides.
fn report(place: &Place, run: &str) -> (Value, String) {
    report_of(place, &format!(".redial/runs/{run}/journal.ndjson"))
}

fn report_of(place: &Place, file: &str) -> (Value, String) {
    let output = redial(place.path(), &["report", "--format", "json", file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (serde_json::from_str(stdout(&output)).unwrap(), stderr(&output).to_owned())
}

#[test]
fn each_task_counts_as_a_run_and_its_step_as_the_command() {
    let place = Place::new();
    place.run("nightly", &whole());
    let (report, said) = report(&place, "nightly");
    assert_eq!(said, "");
    let totals = &report["totals"];
    let number = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!((number("runs"), number("attempts")), (21, 25));
    assert_eq!((number("succeeded_at_once"), number("flaky")), (18, 2));
    assert_eq!((number("failed"), number("unfinished")), (1, 0));
    assert_eq!(number("waited_ns"), 4_000_000_000 - 1_000_000_000);
    let commands = report["commands"].as_array().unwrap();
    let mut names: Vec<_> = commands.iter().map(|command| command["command"].as_str()).collect();
    names.sort();
    assert_eq!(names, [Some("fetch"), Some("index"), Some("list"), Some("resize")]);
    let fetch = commands.iter().find(|command| command["command"] == "fetch").unwrap();
    let dead = fetch["runs"].as_array().unwrap();
    let dead = dead.iter().find(|run| run["verdict"] == "failed").unwrap();
    assert_eq!(
        (&dead["run"], &dead["reason"]),
        (&"nightly/fetch/3".into(), &"attempts-spent".into())
    );
    assert_eq!(dead["attempt_details"][1]["outcome"], "timeout");
}

#[test]
fn cancelled_attempts_are_not_counted_and_what_is_open_is_unfinished() {
    let place = Place::new();
    let large = record(2.0, Event::Dead, "fetch", Some(0));
    place.run(
        "open",
        &[
            run_start(0.0, Event::RunStart),
            start(0.0, "list", None, 1),
            end(1.0, "list", None, 1, Outcome::Cancelled),
            run_start(1.0, Event::RunResume),
            start(1.0, "list", None, 1),
            end(2.0, "list", None, 1, Outcome::Succeeded),
            Record { reason: Some("value-too-large".into()), ..large },
            start(2.0, "fetch", Some(1), 1),
            failed(3.0, "fetch", Some(1), 1, 7),
        ],
    );
    let (report, _) = report(&place, "open");
    let number = |name: &str| report["totals"][name].as_u64().unwrap();
    assert_eq!((number("succeeded_at_once"), number("flaky")), (1, 0));
    assert_eq!((number("refused"), number("unfinished"), number("attempts")), (1, 1, 2));
}

#[test]
fn a_line_that_is_not_as_it_was_written_is_not_believed() {
    let place = Place::new();
    let run = place.run("nightly", &whole());
    let text = fs::read_to_string(run.journal_path()).unwrap();
    let text = text.replacen("\"exit\":7", "\"exit\":8", 1);
    fs::write(run.journal_path(), format!("{text}{{\"v\":1")).unwrap();
    let (report, said) = report(&place, "nightly");
    assert!(said.contains("2 lines of ") && said.contains("the first is line 3"), "{said}");
    assert_eq!(report["totals"]["runs"], 21);
}

/// The report without the names of runs, which have their times in them.
fn nameless(report: &Value) -> String {
    let mut report = report.clone();
    for command in report["commands"].as_array_mut().unwrap() {
        for run in command["runs"].as_array_mut().unwrap() {
            run["run"] = Value::Null;
        }
    }
    report.to_string()
}

#[test]
fn an_event_log_of_a_flow_or_a_map_is_read_as_its_journal_is() {
    let place = Place::new();
    let flow = "
steps:
  flaky: {shell: 'test $REDIAL_ATTEMPT = 2', policy: 'attempts: 2, delay: 1ms'}
  gone: {run: ['false'], policy: 'attempts: 2, delay: 1ms'}
";
    place.runs(flow, &["--run", "r", "--events", "log"], 1);
    let of_journal = report(&place, "r");
    let of_log = report_of(&place, "log");
    assert_eq!(of_log.1, "");
    assert_eq!(of_log.0["totals"], of_journal.0["totals"]);
    assert_eq!(nameless(&of_log.0), nameless(&of_journal.0));
    let number = |name: &str| of_log.0["totals"][name].as_u64().unwrap();
    assert_eq!(
        (number("runs"), number("flaky"), number("failed"), number("attempts")),
        (2, 1, 1, 4)
    );
}

#[test]
fn an_event_log_begins_with_how_the_run_began() {
    let place = Place::new();
    for flags in [&[][..], &["--run", "r"]] {
        let _ = fs::remove_file(place.path().join("log"));
        let line = [&["map", "--events", "log", "-q"], flags, &["--", "true"]].concat();
        let output = crate::program::with_input(
            &mut crate::program::command(place.path(), &line),
            b"a\nb\n",
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = fs::read_to_string(place.path().join("log")).unwrap();
        let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["type"], "run.start");
        assert_eq!(first["start"]["argv"][1], "map");
        let (report, said) = report_of(&place, "log");
        assert_eq!((said.as_str(), &report["totals"]["succeeded_at_once"]), ("", &2.into()));
    }
}
