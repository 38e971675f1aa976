//! Reports in every format: events in, text out.

use std::collections::BTreeMap;
use std::path::Path;

use redial_seeds::Draw;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::program::{command, with_input};
use crate::xml::{Element, parsed};

const SECOND: u64 = 1_000_000_000;

/// Text that does something wherever it is not kept from it.
const HOSTILE: &str = "a\nb\r]]>|`*_<b onclick='x'>&amp;\"\u{1b}[31mred\u{9b}1m\u{0}\u{7f}\u{202e}\u{fffe}``` @all #1 $x$ \\|";

/// What `redial report` makes of these events.
fn report_at(columns: usize, format: &str, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut command = command(Path::new("."), &["report", "--format", format, "-"]);
    let output = with_input(command.env("COLUMNS", columns.to_string()), text.as_bytes());
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}

fn report(format: &str, lines: &[Value]) -> String {
    report_at(100, format, lines)
}

fn document(lines: &[Value]) -> Value {
    serde_json::from_str(&report("json", lines)).unwrap()
}

fn line(run: &str, t: f64, event: Value) -> Value {
    let mut line = json!({"v": 1, "run": run, "t": t});
    line.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    line
}

/// The events of a run whose attempts take a second each, and whose waits half of one.
fn events(run: &str, argv: &[&str], outcomes: &[&str]) -> Vec<Value> {
    let mut lines = vec![line(run, 0.0, started(argv))];
    let mut t = 0.0;
    for (attempt, outcome) in (1..).zip(outcomes.iter().copied()) {
        lines.push(line(run, t, attempted(attempt)));
        t += 1.0;
        lines.push(line(run, t, ended(attempt, outcome, "no route\n")));
        if outcome != SUCCEEDED {
            let stops = attempt as usize == outcomes.len();
            lines.push(line(run, t, decided(attempt, stops, None)));
            t += if stops { 0.0 } else { 0.5 };
        }
    }
    let outcome = outcomes.last().copied().unwrap_or("refused");
    lines.push(line(run, t, finished(outcome, outcomes.len() as u64)));
    lines
}

fn started(argv: &[&str]) -> Value {
    json!({"type": "run.start", "ts": "2026-11-15T19:57:01.123456Z", "argv": argv, "cwd": "/w",
           "pid": 4242, "policy": "attempts: 5, delay: 500ms", "attempts": 5, "timeout_ns": null,
           "seed": 7, "rules": [], "mode": "run"})
}

fn attempted(attempt: u32) -> Value {
    json!({"type": "attempt.start", "attempt": attempt, "of": 5, "pid": 7})
}

fn ended(attempt: u32, outcome: &str, stderr: &str) -> Value {
    let failed = outcome != SUCCEEDED;
    let exit = [SUCCEEDED, FAILED].contains(&outcome).then_some(i32::from(failed));
    json!({"type": "attempt.end", "attempt": attempt, "outcome": outcome, "exit": exit,
           "signal": (outcome == "signalled").then_some("SEGV"), "sent": null,
           "duration_ns": SECOND, "user_ns": 0, "system_ns": 0,
           "stderr_tail": failed.then_some(stderr), "partly_watched": null})
}

fn decided(attempt: u32, stops: bool, rule: Option<&str>) -> Value {
    json!({"type": "decision", "attempt": attempt, "action": if stops { "stop" } else { "retry" },
           "rule": rule, "reason": stops.then_some("attempts-spent"),
           "delay_ns": (!stops).then_some(SECOND / 2),
           "delay_source": (!stops).then_some("backoff")})
}

fn finished(outcome: &str, attempts: u64) -> Value {
    let (running, waited) = (attempts * SECOND, attempts.saturating_sub(1) * SECOND / 2);
    let succeeded = outcome == SUCCEEDED;
    json!({"type": "run.end", "outcome": outcome,
           "reason": (!succeeded).then_some("attempts-spent"), "attempts": attempts,
           "flaky": succeeded && attempts > 1, "exit": u8::from(!succeeded), "signal": null,
           "waited_ns": waited, "running_ns": running, "duration_ns": running + waited})
}

const SUCCEEDED: &str = "succeeded";
const FAILED: &str = "failed";

/// Three commands: one flaky, one that fails, and one that was killed.
fn mixed() -> Vec<Value> {
    let killed = events("r4", &["sleep", "9"], &[FAILED, FAILED, SUCCEEDED]);
    [
        events("r1", &["make", "test"], &[FAILED, FAILED, SUCCEEDED]),
        events("r2", &["make", "test"], &[SUCCEEDED]),
        events("r3", &["curl", "https://a.b/?c=d&e"], &[FAILED, "timeout"]),
        killed[..5].to_vec(),
    ]
    .concat()
}

#[test]
fn every_end_of_a_run_has_its_place() {
    let ends: [(&[&str], &str); 8] = [
        (&[SUCCEEDED], "succeeded_at_once"),
        (&[FAILED, SUCCEEDED], "flaky"),
        (&[FAILED], "failed"),
        (&["timeout"], "failed"),
        (&["spawn_error"], "failed"),
        (&[FAILED, "signalled"], "failed"),
        (&["cancelled"], "cancelled"),
        (&[], "refused"),
    ];
    for (outcomes, verdict) in ends {
        let document = document(&events("r", &["x"], outcomes));
        assert_eq!(document["totals"][verdict], 1, "{outcomes:?}");
        assert_eq!(document["commands"][0]["runs"][0]["verdict"], verdict, "{outcomes:?}");
        assert_eq!(document["totals"]["attempts"], outcomes.len(), "{outcomes:?}");
    }
}

#[test]
fn the_flake_rate_is_of_the_runs_that_came_to_a_result() {
    let (ok, failed, cancelled): (&[&str], &[&str], &[&str]) =
        (&[SUCCEEDED], &[FAILED], &["cancelled"]);
    let many = vec![ok; 2999];
    let cases: [(usize, &[&[&str]], Option<&str>, Option<f64>); 8] = [
        (0, &[cancelled, &[]], None, None),
        (0, &[failed], Some("0 %"), Some(0.0)),
        (1, &[], Some("100 %"), Some(1.0)),
        (1, &[ok, &[FAILED, FAILED]], Some("33.3 %"), Some(1.0 / 3.0)),
        (2, &[ok], Some("66.7 %"), Some(2.0 / 3.0)),
        (1, &[failed, cancelled, &[]], Some("50 %"), Some(0.5)),
        (1, &many, Some("<0.1 %"), Some(1.0 / 3000.0)),
        (2999, &[ok], Some(">99.9 %"), Some(2999.0 / 3000.0)),
    ];
    for (flaky, others, words, rate) in cases {
        let flaky: &[&[&str]] = &vec![&[FAILED, SUCCEEDED][..]; flaky];
        let all = flaky.iter().chain(others).enumerate();
        let lines: Vec<_> =
            all.flat_map(|(n, outcomes)| events(&format!("r{n}"), &["x"], outcomes)).collect();
        let found = document(&lines)["totals"]["flake_rate"].as_f64();
        assert_eq!(found.is_some(), rate.is_some());
        assert!(found.zip(rate).is_none_or(|(found, rate)| (found - rate).abs() < 1e-12));
        // One run is described by its attempts, several by a table.
        if flaky.len() + others.len() > 1 {
            let table = report("table", &lines);
            let row = table.lines().find(|line| line.starts_with("x ")).unwrap();
            assert!(row.contains(&format!("  {}  ", words.unwrap_or("–"))), "{row}");
        }
    }
}

#[test]
fn a_run_without_an_end_is_unfinished_and_only_waits_that_were_over_count() {
    let all = events("r", &["x"], &[FAILED, FAILED, SUCCEEDED]);
    // start, (start end decision)…: the second wait had begun when it was killed.
    let document = document(&all[..7]);
    let run = &document["commands"][0]["runs"][0];
    assert_eq!(run["verdict"], "unfinished");
    assert_eq!(run["outcome"], Value::Null);
    assert_eq!(run["attempts"], 2);
    assert_eq!(run["waited_ns"], SECOND / 2);
    assert_eq!(run["running_ns"], 2 * SECOND);
    assert_eq!(run["duration_ns"], 5 * SECOND / 2);
    assert_eq!(document["totals"]["flake_rate"], Value::Null);
}

#[test]
fn a_run_whose_start_is_not_in_the_log_is_of_an_unknown_command() {
    let lines = &events("r", &["x"], &[FAILED, FAILED, SUCCEEDED])[4..];
    let document = document(lines);
    assert_eq!(document["commands"][0]["command"], Value::Null);
    let run = &document["commands"][0]["runs"][0];
    assert_eq!((&run["verdict"], &run["attempts"]), (&"flaky".into(), &3.into()));
    assert_eq!(run["attempts_not_listed"], 1);
    for text in [report("table", lines), report("md", lines), junit(lines)] {
        assert!(text.contains("(unknown command)"), "{text}");
    }
}

#[test]
fn the_attempts_of_an_endless_run_are_counted_and_the_first_and_last_kept() {
    const MANY: u32 = 10_000;
    let long = "é".repeat(2_000) + "the end";
    let failed = |attempt: u32| {
        let long = if attempt == 1 { &long } else { "no route" };
        [ended(attempt, FAILED, long), decided(attempt, false, None)].map(|e| line("r", 0.0, e))
    };
    let mut lines = vec![line("r", 0.0, started(&["x"]))];
    lines.extend((1..=MANY).flat_map(failed));
    let before = document(&lines);
    let again = [1, 60, MANY / 2, MANY].into_iter().flat_map(failed);
    lines.extend(again);
    assert_eq!(document(&lines), before);
    let run = &before["commands"][0]["runs"][0];
    let details = run["attempt_details"].as_array().unwrap();
    let numbers: Vec<_> = details.iter().map(|one| one["attempt"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=50).chain(9951..=10_000).collect::<Vec<_>>());
    assert_eq!(run["attempts_not_listed"], MANY - 100);
    assert_eq!(run["attempts"], MANY);
    assert_eq!(run["running_ns"], u64::from(MANY) * SECOND);
    assert_eq!(run["waited_ns"], u64::from(MANY - 1) * SECOND / 2);
    let tail = details[0]["stderr_tail"].as_str().unwrap();
    assert!(tail.len() <= 2048 && tail.ends_with("éthe end"), "{}", tail.len());
    let shown = report("md", &lines);
    assert!(shown.contains("| … | 9900 attempts not listed |"), "{shown}");
    assert!(junit(&lines).contains("9900 attempts not listed"));
}

#[test]
fn an_attempt_that_is_not_listed_is_not_taken_for_its_neighbour() {
    let start = |attempt| line("r", 0.0, attempted(attempt));
    let mut lines: Vec<_> = (1..=50).chain(60..=109).map(start).collect();
    lines.push(line("r", 0.0, ended(55, FAILED, "")));
    let run = &document(&lines)["commands"][0]["runs"][0];
    for attempt in run["attempt_details"].as_array().unwrap() {
        assert_eq!(attempt["outcome"], Value::Null, "{attempt}");
    }
}

/// Every run of a document, by its id.
fn runs(document: &Value) -> BTreeMap<String, Value> {
    let commands = document["commands"].as_array().unwrap().iter();
    let runs = commands.flat_map(|command| command["runs"].as_array().unwrap());
    runs.map(|run| (run["run"].as_str().unwrap().to_owned(), run.clone())).collect()
}

#[test]
fn the_order_of_lines_and_their_repetition_do_not_matter() {
    redial_seeds::each_case(100, |dice| {
        let mut below = |bound: usize| dice.below(bound);
        let mut lines = Vec::new();
        for run in 0..1 + below(8) {
            let outcomes: Vec<_> = (0..below(70)).map(|_| FAILED).chain([SUCCEEDED]).collect();
            let mut events = events(&format!("r{run}"), &["x", &below(3).to_string()], &outcomes);
            // Some were killed, and some began before the log.
            events.truncate(if below(3) == 0 { 1 + below(events.len()) } else { events.len() });
            lines.extend(events.split_off(below(2)));
        }
        // A log without any event is refused.
        if lines.is_empty() {
            return;
        }
        let expected = document(&lines);
        let mut mixed = lines.clone();
        for _ in 0..below(10) {
            mixed.push(lines[below(lines.len())].clone());
        }
        for index in (1..mixed.len()).rev() {
            mixed.swap(index, below(index + 1));
        }
        let found = document(&mixed);
        assert_eq!(found["totals"], expected["totals"]);
        assert_eq!(runs(&found), runs(&expected));
    });
}

#[test]
fn the_terminal_has_totals_then_commands_then_the_runs_to_look_at() {
    assert_eq!(
        report_at(120, "table", &mixed()),
        "\
4 runs of 3 commands: 1 succeeded at once, 1 was flaky, 1 failed, 1 was unfinished.
Flake rate 33.3 %: of 3 runs with a result, 1 succeeded only after a retry.
8 attempts in all: 7s of running and 2s of waiting.

command                    runs  at once  flaky  failed  unfinished  flake rate  attempts  waited  slowest
make test                     2        1      1       0           0        50 %         4      1s       4s
curl 'https://a.b/?c=d&e'     1        0      0       1           0         0 %         2   500ms     2.5s
sleep 9                       1        0      0       0           1           –         2   500ms     1.5s

Slowest runs
took  attempts  waited  result      run  command
  4s         3      1s  flaky       r1   make test
2.5s         2   500ms  failed      r3   curl 'https://a.b/?c=d&e'
1.5s         2   500ms  unfinished  r4   sleep 9
  1s         1      0s  succeeded   r2   make test

Most retried
took  attempts  waited  result      run  command
  4s         3      1s  flaky       r1   make test
2.5s         2   500ms  failed      r3   curl 'https://a.b/?c=d&e'
1.5s         2   500ms  unfinished  r4   sleep 9
"
    );
}

#[test]
fn the_markdown_of_one_run_shows_its_attempts() {
    let mut lines = events("r", &["make", "a|b"], &[FAILED, FAILED, SUCCEEDED]);
    lines[3] = line("r", 1.0, decided(1, false, Some("retry-on stderr:/a|b/")));
    lines[5] = line("r", 2.5, ended(2, "signalled", "```\n<b>\n"));
    assert_eq!(
        report("md", &lines),
        "\
### <code>make 'a&#124;b'</code>

Flaky: succeeded only at attempt 3, after 4s, 1s of it waiting.

| attempt | what happened | duration | decision | wait |
| ---: | --- | ---: | --- | ---: |
| 1 | exit 1 | 1s | retry (retry-on stderr:/a&#124;b/) | 500ms |
| 2 | signal SEGV | 1s | retry | 500ms |
| 3 | succeeded | 1s |  |  |

The end of the standard error of attempt 2:

````text
```
<b>
````
"
    );
}

/// A change of this text is a change of what programs rely on: fields may be added, and no more.
#[test]
fn the_json_has_the_fields_that_were_promised() {
    let found = report("json", &events("r", &["make", "a b"], &[FAILED, SUCCEEDED]));
    let totals = r#"{"runs":1,"succeeded_at_once":0,"became_ready":0,"flaky":1,"failed":0,"cancelled":0,"refused":0,"unfinished":0,"flake_rate":1.0,"attempts":2,"waited_ns":500000000,"running_ns":2000000000,"slowest_ns":2500000000}"#;
    let named = r#"{"run":"r","command":"make 'a b'","verdict":"flaky","attempts":2,"waited_ns":500000000,"duration_ns":2500000000}"#;
    let first = r#"{"attempt":1,"outcome":"failed","exit":1,"signal":null,"duration_ns":1000000000,"stderr_tail":"no route\n","action":"retry","rule":null,"reason":null,"delay_ns":500000000,"delay_source":"backoff"}"#;
    let second = r#"{"attempt":2,"outcome":"succeeded","exit":0,"signal":null,"duration_ns":1000000000,"stderr_tail":null,"action":null,"rule":null,"reason":null,"delay_ns":null,"delay_source":null}"#;
    let run = format!(
        r#"{{"run":"r","ts":"2026-11-15T19:57:01.123456Z","cwd":"/w","policy":"attempts: 5, delay: 500ms","seed":7,"verdict":"flaky","outcome":"succeeded","reason":null,"exit":0,"signal":null,"attempts":2,"waited_ns":500000000,"running_ns":2000000000,"duration_ns":2500000000,"attempt_details":[{first},{second}],"attempts_not_listed":0}}"#
    );
    let expected = format!(
        r#"{{"v":1,"totals":{totals},"commands":[{{"command":"make 'a b'","argv":["make","a b"],"totals":{totals},"runs":[{run}]}}],"slowest":[{named}],"most_retried":[{named}]}}"#
    );
    assert_eq!(without_space_between(&found), expected);
}

/// Pretty JSON in one line; no text of the test above has two spaces or a space after a colon
/// that is behind a quote.
fn without_space_between(json: &str) -> String {
    json.lines().map(str::trim_start).collect::<String>().replace("\": ", "\":")
}

#[test]
fn every_field_of_the_json_is_in_the_documentation() {
    let page = include_str!("../../../../../docs/REPORTS.md");
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                found.push(name.clone());
                names(value, found);
            }),
            Value::Array(values) => values.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(&document(&mixed()), &mut found);
    assert!(found.len() > 50);
    for name in found {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn junit_has_the_reruns_of_surefire() {
    let lines = [mixed(), events("r5", &["make", "test"], &[])].concat();
    let suites = parsed(&junit(&lines));
    let suite = |name: &str| suites.children.iter().find(|suite| suite.is("name", name)).unwrap();
    let elements = |case: &Element| -> Vec<String> {
        case.children.iter().map(|child| child.name.clone()).collect()
    };
    assert_eq!(suites.attributes["tests"], "5");
    let make = suite("make test");
    assert_eq!((&*make.attributes["tests"], &*make.attributes["errors"]), ("3", "1"));
    let names: Vec<_> = make.children.iter().map(|case| &*case.attributes["name"]).collect();
    assert_eq!(names, ["make test", "make test (run 2)", "make test (run 3)"]);
    assert_eq!(elements(&make.children[0]), ["flakyFailure", "flakyFailure", "system-out"]);
    assert_eq!(elements(&make.children[1]), ["system-out"]);
    assert_eq!(elements(&make.children[2]), ["error", "system-out"]);
    assert_eq!(make.children[0].attributes["time"], "4.000");
    let curl = suite("curl 'https://a.b/?c=d&e'");
    assert_eq!(curl.attributes["failures"], "1");
    assert_eq!(elements(&curl.children[0]), ["failure", "rerunFailure", "system-out"]);
    assert!(curl.children[0].children[0].text.contains("all attempts are spent"));
    assert!(curl.children[0].children[0].text.contains("no route"));
    assert!(curl.children[0].children[1].is("type", "timeout"));
    assert_eq!(elements(&suite("sleep 9").children[0]), ["error", "rerunError", "system-out"]);
}

/// Runs whose every text is hostile.
fn hostile() -> Vec<Value> {
    let runs = [("1", [FAILED, SUCCEEDED]), ("2", [FAILED, FAILED])].map(|(run, outcomes)| {
        let mut lines = events(&format!("{HOSTILE}{run}"), &[HOSTILE, "", HOSTILE], &outcomes);
        for line in &mut lines {
            let fields: &[&str] = match line["type"].as_str().unwrap() {
                "run.start" => &["ts", "cwd", "policy"],
                "attempt.end" if line["outcome"] == FAILED => &["stderr_tail", "signal"],
                "decision" => &["rule", "reason"],
                "run.end" => &["reason"],
                _ => &[],
            };
            fields.iter().for_each(|field| line[*field] = HOSTILE.into());
        }
        lines
    });
    runs.concat()
}

#[test]
fn hostile_text_stays_text_in_a_terminal() {
    for lines in [hostile(), mixed()] {
        for width in [40, 80, 100, 160] {
            let text = report_at(width, "table", &lines);
            for line in text.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
            let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!text.contains(steers), "{text:?}");
        }
    }
}

#[test]
fn hostile_text_stays_text_in_markdown() {
    let text = report("md", &hostile());
    let without_code = text.replace("<code>", "").replace("</code>", "");
    assert!(!without_code.contains(['<', '>', '`', '*', '_', '@', '\\', '$']), "{without_code}");
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let bars: Vec<_> = rows.map(|line| line.matches('|').count()).collect();
    assert_eq!(bars.iter().filter(|bars| **bars == 10).count(), 3, "{text}");
    assert_eq!(bars.iter().filter(|bars| **bars == 7).count(), 8, "{text}");
    assert_eq!(bars.len(), 11, "{text}");
    // A tail is fenced by more backticks than it has.
    let start = line("r", 0.0, started(&["x"]));
    let tail = |stderr| report("md", &[start.clone(), line("r", 1.0, ended(1, FAILED, stderr))]);
    assert!(tail(HOSTILE).contains("\n````text\na\nb\n]]>|`"), "{}", tail(HOSTILE));
    assert!(!tail(" \n").contains("```"));
}

#[test]
fn hostile_text_stays_text_in_xml() {
    let suites = parsed(&junit(&hostile()));
    let case = &suites.children[0].children[0];
    let tail = &case.children[0].children[1].text;
    assert!(tail.starts_with("a\nb\n]]>|`*_<b onclick='x'>&amp;\"red"), "{tail}");
    assert!(case.attributes["name"].starts_with(r"$'a\nb\r]]>|`*_<b onclick=\'x\'>&amp;"));
}

#[test]
fn hostile_text_is_whole_in_json() {
    let document = document(&hostile());
    assert_eq!(document["commands"][0]["argv"], json!([HOSTILE, "", HOSTILE]));
    let attempt = &document["commands"][0]["runs"][0]["attempt_details"][0];
    assert_eq!(attempt["stderr_tail"], HOSTILE);
}

#[test]
fn a_command_of_a_megabyte_is_whole_in_json_and_cut_elsewhere() {
    let long = "x y".repeat(350_000);
    let mut lines = events("r1", &["echo", &long], &[FAILED, SUCCEEDED]);
    lines.extend(events("r2", &["echo", &long], &[FAILED]));
    for lines in [&lines[..], &lines[..7]] {
        assert_eq!(document(lines)["commands"][0]["argv"][1], long);
        junit(lines);
        for format in ["table", "md", "junit"] {
            let text = report(format, lines);
            assert!(text.len() < 10_000 && text.contains('…'), "{format}: {}", text.len());
        }
    }
}

#[test]
fn more_commands_than_anybody_reads_are_counted() {
    let run = |n: usize| events(&format!("r{n}"), &["x", &n.to_string()], &[SUCCEEDED]);
    let lines: Vec<_> = (0..60).flat_map(run).collect();
    for format in ["table", "md"] {
        let text = report(format, &lines);
        assert!(text.contains("… and 10 more commands; JSON has them all"), "{text}");
    }
    assert_eq!(document(&lines)["commands"].as_array().unwrap().len(), 60);
}

#[test]
fn numbers_that_nobody_meant_do_no_harm() {
    let mut lines = Vec::new();
    for (run, t) in [("a", f64::MAX), ("b", -1.0), ("c", f64::MIN_POSITIVE)] {
        for attempt in [0, 1, u32::MAX] {
            let mut end = ended(attempt, FAILED, "");
            end["duration_ns"] = u64::MAX.into();
            lines.push(line(run, t, end));
            let mut decided = decided(attempt, false, None);
            decided["delay_ns"] = u64::MAX.into();
            lines.push(line(run, t, decided));
        }
        let mut end = finished(SUCCEEDED, 1);
        end["attempts"] = u32::MAX.into();
        (end["duration_ns"], end["waited_ns"]) = (u64::MAX.into(), u64::MAX.into());
        lines.push(line(&format!("{run} ended"), t, end));
    }
    let signal = json!({"type": "signal", "signal": "INT", "from": "terminal", "forwarded": true});
    lines.push(line("a", 0.0, signal));
    for lines in [&lines[..], &lines[..6]] {
        junit(lines);
        for format in ["table", "md", "json"] {
            report(format, lines);
        }
    }
}

/// The JUnit report, once it has been read by a parser and found to be as its schemas want it.
fn junit(lines: &[Value]) -> String {
    let text = report("junit", lines);
    check(&parsed(&text));
    text
}

/// What the schemas of Surefire and of Jenkins both allow: elements in this order, with these
/// attributes, the ones before the bar being required.
fn check(element: &Element) {
    let (attributes, children): (&str, &[&str]) = match element.name.as_str() {
        "testsuites" => ("| name time tests failures errors", &["testsuite"]),
        "testsuite" => ("name tests failures errors skipped | time", &["testcase"]),
        "testcase" => (
            "name time | classname",
            &[
                "failure",
                "rerunFailure",
                "flakyFailure",
                "skipped",
                "error",
                "rerunError",
                "flakyError",
                "system-out",
                "system-err",
            ],
        ),
        "failure" | "error" => ("type | message", &[]),
        "rerunFailure" | "flakyFailure" | "rerunError" | "flakyError" => {
            assert_eq!(element.children[0].name, "stackTrace");
            ("type | message", &["stackTrace", "system-out", "system-err"])
        }
        "stackTrace" | "system-out" | "system-err" => ("|", &[]),
        other => panic!("there is no element {other}"),
    };
    let (required, optional) = attributes.split_once('|').unwrap();
    let has = |words: &str, name: &str| words.split_whitespace().any(|word| word == name);
    for name in required.split_whitespace() {
        assert!(element.attributes.contains_key(name), "{} has no {name}", element.name);
    }
    for (name, value) in &element.attributes {
        assert!(has(required, name) || has(optional, name), "{} has {name}", element.name);
        if name == "time" {
            let (whole, fraction) = value.split_once('.').unwrap();
            assert!(fraction.len() == 3 && (whole.to_owned() + fraction).parse::<u64>().is_ok());
        }
    }
    let place = |child: &Element| {
        let known = children.iter().position(|name| *name == child.name);
        known.unwrap_or_else(|| panic!("{} in {}", child.name, element.name))
    };
    assert!(element.children.iter().map(place).is_sorted(), "{element:?}");
    if !children.is_empty() {
        assert_eq!(element.text.trim(), "", "{}", element.name);
    }
    element.children.iter().for_each(check);
}
