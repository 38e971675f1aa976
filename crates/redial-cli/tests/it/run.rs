//! `redial run` as scripts and people use it, apart from its processes: policies, rules, what the
//! command is told and asks for, events, flakiness, and everything that is refused.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::program::{REDIAL, command, folder, install, redial, root, stderr, stdout};

/// Runs a shell script with nothing between its attempts.
fn script(folder: &Path, flags: &[&str], script: &str) -> Output {
    let arguments = [&["run", "-d", "1ms", "--jitter", "none"], flags, &["--", "sh", "-c", script]];
    redial(folder, &arguments.concat())
}

fn events(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("events")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let folder = folder(&[]);
    let touch = ["--", "touch", "ran"];
    let output = redial(folder.path(), &[&["run"], arguments, &touch[..]].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: {word} is not in {said}");
    }
    assert!(!folder.path().join("ran").exists(), "{arguments:?} ran it");
    assert_eq!(stdout(&output), "", "{arguments:?}");
}

#[test]
fn a_success_at_once_says_nothing() {
    let folder = folder(&[]);
    let output = script(folder.path(), &[], "echo out; echo err >&2");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((stdout(&output), stderr(&output)), ("out\n", "err\n"));
}

#[test]
fn a_failure_brings_up_what_check_would_say_of_the_policy() {
    let folder = folder(&[]);
    let spins = ["run", "--with", "attempts: unlimited"];
    // Two failures, and a success that ends it.
    let command = ["sh", "-c", "test $REDIAL_ATTEMPT = 3"];
    let failing = |flags: &[&str]| {
        redial(folder.path(), &[&spins[..], flags, &["--"], &command[..]].concat())
    };
    let output = failing(&[]);
    let said = stderr(&output);
    let warnings: Vec<_> = said.lines().filter(|line| line.contains("warning[")).collect();
    assert_eq!(
        warnings,
        [
            "redial: warning[unbounded]: unlimited attempts with no limit in time never give up; \
             add within",
            "redial: warning[hot-loop]: unlimited attempts with no delay and no deadline spin; \
             have a delay, or add within",
        ],
    );
    assert!(said.starts_with(warnings[0]), "{said}");
    assert_eq!(stderr(&failing(&["-q"])), "");
    let bounded = stderr(&failing(&["--within", "1h"])).to_owned();
    assert!(!bounded.contains("warning"), "{bounded}");
    let succeeding = redial(folder.path(), &[&spins[..], &["--", "true"]].concat());
    assert_eq!(stderr(&succeeding), "");
}

#[test]
fn a_failure_says_what_happened_what_decided_how_long_and_what_is_left() {
    let folder = folder(&[]);
    let flags = ["-n", "3", "--retry-on", "exit:7", "--within", "1h"];
    let output = script(folder.path(), &flags, "exit 7");
    assert_eq!(output.status.code(), Some(7));
    let said = stderr(&output);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    for part in
        ["attempt 1/3: exit 7 after ", "; --retry-on exit:7; retrying in 1ms; 2 attempts left, "]
    {
        assert!(lines[0].contains(part), "{said}");
    }
    assert!(lines[1].contains("1 attempt left"), "{said}");
    assert!(lines[2].contains("gave up: all attempts are spent"), "{said}");
}

#[test]
fn quiet_says_nothing_and_verbose_says_more() {
    let folder = folder(&[]);
    assert_eq!(stderr(&script(folder.path(), &["-q"], "exit 7")), "");
    // But what is redial's own doing is said.
    let said = stderr(&redial(folder.path(), &["run", "-q", "--", "./nothing"])).to_owned();
    assert!(said.contains("./nothing: not found"), "{said}");
    let said =
        stderr(&script(folder.path(), &["-q", "-n", "1", "-t", "50ms"], "sleep 9")).to_owned();
    assert!(said.contains("timed out"), "{said}");
    let said = stderr(&script(folder.path(), &["-v", "--seed", "5"], "exit 0")).to_owned();
    assert!(said.contains("seed 5") && said.contains("attempt 1/3 is process"), "{said}");
}

#[test]
fn the_command_knows_which_attempt_it_is() {
    let folder = folder(&[]);
    let told =
        "echo $REDIAL_ATTEMPT/$REDIAL_ATTEMPTS ${REDIAL_LAST_EXIT-none} ${#REDIAL_RUN_ID}; exit 9";
    let output = script(folder.path(), &["-n", "2"], told);
    assert_eq!(stdout(&output), "1/2 none 26\n2/2 9 26\n");
    let endless = "echo $REDIAL_ATTEMPTS; test $REDIAL_ATTEMPT = 2";
    let output = script(folder.path(), &["-n", "unlimited"], endless);
    assert_eq!(stdout(&output), "unlimited\nunlimited\n");
    // An outer redial's words are not for an inner one's command.
    let program = REDIAL;
    let nested =
        format!("{program} run -- sh -c 'echo $REDIAL_ATTEMPT ${{REDIAL_LAST_EXIT-none}}'; exit 3");
    let output = script(folder.path(), &["-n", "2"], &nested);
    assert_eq!(stdout(&output), "1 none\n1 none\n");
}

#[test]
fn the_last_exit_of_a_signal_is_what_shells_say() {
    let folder = folder(&[]);
    let output = script(folder.path(), &["-n", "2"], "echo ${REDIAL_LAST_EXIT-none}; kill -9 $$");
    assert_eq!(stdout(&output), "none\n137\n");
    assert_eq!(output.status.code(), Some(137));
}

#[test]
fn the_command_may_ask_for_a_delay_or_for_the_end() {
    let folder = folder(&[]);
    let asks = "echo 'retry-after 40ms' > $REDIAL_CONTROL; test $REDIAL_ATTEMPT = 2";
    let started = Instant::now();
    let output = script(folder.path(), &["--stop-on", "any", "--events", "events"], asks);
    assert!(started.elapsed() >= Duration::from_millis(40));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = events(folder.path());
    let decision = of_type(&events, "decision")[0];
    assert_eq!(decision["delay_ns"], 40_000_000);
    assert_eq!(decision["delay_source"], "control");

    let output = script(folder.path(), &[], "echo stop > $REDIAL_CONTROL; exit 4");
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("attempt 1/3"), "{}", stderr(&output));
    assert!(stderr(&output).contains("REDIAL_CONTROL"), "{}", stderr(&output));

    let output = script(folder.path(), &[], "echo hold on > $REDIAL_CONTROL; exit 4");
    assert!(stderr(&output).contains("`hold on` is not known"), "{}", stderr(&output));
    assert!(stderr(&output).contains("attempt 3/3"), "{}", stderr(&output));

    // What is not known does not undo what is.
    let asks = "echo stop > $REDIAL_CONTROL; echo hold on >> $REDIAL_CONTROL; exit 4";
    let output = script(folder.path(), &[], asks);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("`hold on` is not known"), "{}", stderr(&output));
    assert!(stderr(&output).contains("attempt 1/3"), "{}", stderr(&output));

    // A success needs no wish, and the file is gone afterwards.
    let output = script(folder.path(), &[], "echo stop > $REDIAL_CONTROL; echo $REDIAL_CONTROL");
    assert_eq!(output.status.code(), Some(0));
    assert!(!Path::new(stdout(&output).trim()).exists());
}

#[test]
fn a_delay_that_the_command_prints_is_slept_exactly_and_bounded() {
    let folder = folder(&[]);
    let from = ["--delay-from", r"stderr:/retry after (\d+ ?[a-z]*)/", "--events", "events"];
    let output = script(folder.path(), &from, "echo retry after 30 ms >&2; exit 1");
    assert_eq!(output.status.code(), Some(1));
    let seen = events(folder.path());
    let decisions = of_type(&seen, "decision");
    assert_eq!(decisions.len(), 3);
    for decision in &decisions[..2] {
        assert_eq!(decision["delay_ns"], 30_000_000);
        assert_eq!(decision["delay_source"], "delay-from");
    }
    assert!(decisions[2]["delay_ns"].is_null());

    // Two minutes at most, unless set; and no longer than the deadline.
    for (flags, reason) in [
        (vec![], "more than --max-retry-after 2min"),
        (vec!["--max-retry-after", "1d", "--within", "5s"], "deadline"),
        (vec!["--max-retry-after", "1d", "--wait-budget", "5s"], "wait budget"),
    ] {
        let flags = [&from[..2], &flags].concat();
        let output = script(folder.path(), &flags, "echo retry after 121 >&2; exit 1");
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
        assert!(stderr(&output).contains("attempt 1/3"), "{}", stderr(&output));
    }
    let output = script(folder.path(), &from[..2], "echo retry after 5 parsecs >&2; exit 1");
    assert!(
        stderr(&output).contains("`5 parsecs`, which is not a duration"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_date_that_the_command_prints_is_waited_for() {
    let folder = folder(&[]);
    let from = ["--delay-from", "stderr:/^Retry-After: (.*)$/", "--events", "events"];
    let date = |from_now: i64| {
        let now = SystemTime::now();
        let age = Duration::from_secs(from_now.unsigned_abs());
        let then = if from_now < 0 { now - age } else { now + age };
        format!("printf 'Retry-After: {}\\r\\n' >&2; exit 1", httpdate::fmt_http_date(then))
    };
    // What is past is no wait: three attempts, whose delays are none.
    let output = script(folder.path(), &from, &date(-3600));
    assert!(stderr(&output).contains("retrying in 0s, as it asked"), "{}", stderr(&output));
    let seen = events(folder.path());
    let decisions = of_type(&seen, "decision");
    assert_eq!(decisions.len(), 3);
    assert_eq!(decisions[0]["delay_ns"], 0);
    assert_eq!(decisions[0]["delay_source"], "delay-from");
    // It is bounded as every other, and the deadline is nearer than an hour.
    let output = script(folder.path(), &from[..2], &date(3600));
    assert!(stderr(&output).contains("more than --max-retry-after 2min"), "{}", stderr(&output));
    let far = [&from[..2], &["--max-retry-after", "1d", "--within", "30min"]].concat();
    let output = script(folder.path(), &far, &date(3600));
    assert!(stderr(&output).contains("deadline"), "{}", stderr(&output));
    let output = script(folder.path(), &from[..2], "echo 'Retry-After: Friday' >&2; exit 1");
    let warning = "`Friday`, which is not a duration, nor an HTTP date";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
}

#[test]
fn what_a_run_sleeps_is_what_the_plan_shows() {
    let folder = folder(&[]);
    let flags = ["--seed", "42", "-n", "5", "-d", "2ms", "--jitter", "full"];
    let plan = redial(folder.path(), &[&["plan", "--json"], &flags[..]].concat());
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    let planned = plan["plans"][0]["delays"].as_array().unwrap();
    let planned: Vec<_> = planned.iter().map(|delay| delay["sample_ns"].clone()).collect();
    let run = [&["run", "--events", "events"], &flags[..], &["--", "false"]].concat();
    assert_eq!(redial(folder.path(), &run).status.code(), Some(1));
    let events = events(folder.path());
    let slept: Vec<_> =
        of_type(&events, "decision").iter().map(|event| event["delay_ns"].clone()).collect();
    assert_eq!(slept[..4], planned[..]);
    // And it took at least that long.
    let starts: Vec<_> =
        of_type(&events, "attempt.start").iter().map(|e| e["t"].as_f64().unwrap()).collect();
    let ends: Vec<_> =
        of_type(&events, "attempt.end").iter().map(|e| e["t"].as_f64().unwrap()).collect();
    for (at, delay) in planned.iter().enumerate() {
        let waited = starts[at + 1] - ends[at];
        assert!(waited >= delay.as_f64().unwrap() / 1e9, "{at}: {waited} {delay}");
    }
}

#[test]
fn the_events_are_those_of_the_contract() {
    let folder = folder(&[]);
    script(folder.path(), &["--events", "events", "--seed", "1"], "exit $((REDIAL_ATTEMPT < 2))");
    let events = events(folder.path());
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = "run.start attempt.start attempt.end decision attempt.start attempt.end run.end";
    assert_eq!(types.join(" "), expected);
    for event in &events {
        assert_eq!(event["v"], 1);
        assert_eq!(event["run"], events[0]["run"]);
    }
    let times: Vec<_> = events.iter().map(|event| event["t"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
    let [start, end] = [&events[0], &events[6]];
    assert_eq!(start["seed"], 1);
    assert_eq!(start["argv"][0], "sh");
    assert_eq!(end["outcome"], "succeeded");
    assert_eq!(
        (&end["flaky"], &end["attempts"], &end["exit"]),
        (&true.into(), &2.into(), &0.into())
    );
    let all = end["duration_ns"].as_u64().unwrap();
    assert!(end["waited_ns"].as_u64().unwrap() + end["running_ns"].as_u64().unwrap() <= all);
    assert_eq!(events[3]["rule"], Value::Null);
}

/// The page that describes the events names every field that they have.
#[test]
fn the_events_have_the_fields_that_the_document_names() {
    let page = fs::read_to_string(root().join("docs/RUNNING.md")).unwrap();
    let folder = folder(&[]);
    let flags = ["--events", "events", "--retry-on", "stderr:/x/"];
    script(folder.path(), &flags, "echo x >&2; kill -USR1 $PPID; exit 1");
    let events = events(folder.path());
    for kind in ["run.start", "attempt.start", "attempt.end", "decision", "signal", "run.end"] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{kind}` |"))).unwrap();
        let seen = of_type(&events, kind);
        assert!(!seen.is_empty(), "{kind}: {events:?}");
        for field in seen.iter().flat_map(|event| event.as_object().unwrap().keys()) {
            let common = ["v", "type", "run", "t"].contains(&field.as_str());
            assert!(common || row.contains(&format!("`{field}`")), "{kind} {field}");
        }
    }
}

#[test]
fn events_are_appended_and_go_to_standard_output_too() {
    let folder = folder(&[]);
    for _ in 0..2 {
        script(folder.path(), &["--events", "events"], "exit 0");
    }
    assert_eq!(of_type(&events(folder.path()), "run.end").len(), 2);
    let output = script(folder.path(), &["--events", "-"], "exit 0");
    assert_eq!(stdout(&output).lines().count(), 4, "{}", stdout(&output));
}

#[test]
fn an_event_log_that_cannot_be_written_harms_nothing() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = folder(&[]);
    let output = script(folder.path(), &["--events", "/dev/full"], "echo $REDIAL_ATTEMPT; exit 3");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stdout(&output), "1\n2\n3\n");
    let warnings = stderr(&output).matches("the event log /dev/full is incomplete").count();
    assert_eq!(warnings, 1, "{}", stderr(&output));
    // A file that may not grow further.
    let limited =
        format!("ulimit -f 1; {} run -d 1ms -b fixed -n 20 --events events -- false", REDIAL,);
    let output =
        Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("is incomplete"), "{}", stderr(&output));
}

#[test]
fn a_flaky_success_is_a_result_of_its_own() {
    let folder = folder(&[]);
    let flaky = "exit $((REDIAL_ATTEMPT < 2))";
    let output = script(folder.path(), &["--flaky", "pass"], flaky);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("attempt 2/3: succeeded, but flaky"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("warning"), "{}", stderr(&output));
    let output = script(folder.path(), &["--flaky", "warn"], flaky);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("warning: sh -c"), "{}", stderr(&output));
    let output = script(folder.path(), &["--flaky", "fail"], flaky);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(script(folder.path(), &["--flaky", "fail"], "exit 0").status.code(), Some(0));
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let folder = folder(&[]);
    let on_github = |flags: &[&str], text: &str| {
        let arguments = [&["run", "-d", "1ms"], flags, &["--", "sh", "-c", text]].concat();
        let mut command = command(folder.path(), &arguments);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", folder.path().join("sum"));
        command.output().unwrap()
    };
    assert_eq!(stderr(&on_github(&[], "exit 0")), "");
    assert!(!folder.path().join("sum").exists());
    let flaky = on_github(&[], "exit $((REDIAL_ATTEMPT < 2))");
    let line = stderr(&flaky).lines().find(|line| line.starts_with("::")).unwrap().to_owned();
    assert!(line.starts_with("::warning title=sh -c '"), "{line}");
    assert!(line.contains("::flaky: succeeded on attempt 2/3"), "{line}");
    let failed = stderr(&on_github(&[], "exit 5 # 100%")).to_owned();
    assert!(
        failed.contains("\n::error title=sh -c 'exit 5 # 100%25'::attempt 3/3: exit 5"),
        "{failed}"
    );
    let summary = fs::read_to_string(folder.path().join("sum")).unwrap();
    assert_eq!(summary.lines().filter(|line| !line.is_empty()).count(), 2, "{summary}");
    assert!(
        !stderr(&on_github(&["--flaky", "pass"], "exit $((REDIAL_ATTEMPT < 2))")).contains("::")
    );
}

#[test]
fn the_policy_of_a_file_brings_its_rules() {
    let folder = folder(&[]);
    let file = "policies:\n  fetch:\n    attempts: 4\n    delay: 1ms\n    timeout: 20s\n    retry_on: [network]\n";
    fs::write(folder.path().join("p.yaml"), file).unwrap();
    let run = |text: &str| {
        redial(folder.path(), &["run", "--policy", "p.yaml#fetch", "--", "sh", "-c", text])
    };
    let output = run("echo connection refused >&2; exit 1");
    assert!(stderr(&output).contains("attempt 4/4"), "{}", stderr(&output));
    let output = run("echo no such user >&2; exit 1");
    assert!(stderr(&output).contains("attempt 1/4"), "{}", stderr(&output));
    assert!(stderr(&output).contains("not retried"), "{}", stderr(&output));
}

#[test]
fn rules_decide_in_the_order_of_the_contract() {
    let folder = folder(&[]);
    let attempts = |flags: &[&str], text: &str| {
        let flags = [flags, &["--events", "events"]].concat();
        let _ = fs::remove_file(folder.path().join("events"));
        let code = script(folder.path(), &flags, text).status.code();
        let events = events(folder.path());
        (of_type(&events, "attempt.start").len(), code)
    };
    assert_eq!(attempts(&["--success-on", "exit:3"], "exit 3"), (1, Some(0)));
    assert_eq!(attempts(&["--success-on", "exit:3"], "exit 0"), (3, Some(1)));
    assert_eq!(attempts(&["--success-on", "stdout:/ready/"], "echo ready; exit 9"), (1, Some(0)));
    assert_eq!(attempts(&["--stop-on", "exit:3", "--retry-on", "exit:3"], "exit 3"), (1, Some(3)));
    assert_eq!(attempts(&["--retry-on", "exit:4"], "exit 3"), (1, Some(3)));
    assert_eq!(attempts(&["--retry-on", "signal:KILL"], "kill -9 $$"), (3, Some(137)));
    assert_eq!(attempts(&["--retry-on", "spawn"], "exit 3"), (3, Some(3)));
    assert_eq!(attempts(&["--rules", "curl", "--retry-on", "exit:3"], "exit 3"), (3, Some(3)));
    assert_eq!(attempts(&["--rules", "curl"], "exit 3"), (1, Some(3)));
}

#[test]
fn a_command_that_cannot_be_started_is_tried_again_only_on_request() {
    let folder = folder(&[]);
    for (program, code) in [("./nothing", 127), ("nothing-of-that-name", 127), ("/etc", 126)] {
        let output = redial(folder.path(), &["run", "--", program]);
        assert_eq!(output.status.code(), Some(code), "{program}");
        assert!(stderr(&output).contains("attempt 1/3"), "{}", stderr(&output));
        let again = ["run", "-d", "1ms", "--retry-on", "spawn", "--", program];
        let output = redial(folder.path(), &again);
        assert_eq!(output.status.code(), Some(code), "{program}");
        assert!(stderr(&output).contains("attempt 3/3"), "{}", stderr(&output));
    }
}

#[test]
fn a_dry_run_shows_everything_and_does_nothing() {
    let folder = folder(&[]);
    let flags =
        ["--dry-run", "-t", "3s", "--stop-on", "exit:2", "--events", "events", "--report", "r.md"];
    let output = script(folder.path(), &flags, "touch ran");
    assert_eq!(output.status.code(), Some(0));
    let shown = stdout(&output);
    for part in ["command  sh -c 'touch ran'", "timeout: 3s", "--stop-on exit:2"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(shown.ends_with("events   events\nreport   r.md\n"), "{shown}");
    let flags = ["--dry-run", "--breaker", "b", "-s", "INT", "--kill-after=1s", "--stderr", "hold"];
    let more = ["--flaky", "fail", "--exit-codes", "reason"];
    let shown = script(folder.path(), &[&flags[..], &more].concat(), "touch ran");
    let last = "breaker  b\n\
        flags    --stderr hold --signal INT --kill-after 1s --flaky fail --exit-codes reason\n";
    assert!(stdout(&shown).ends_with(last), "{}", stdout(&shown));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_policy_in_the_place_of_the_command_is_told_where_it_goes() {
    let folder = folder(&[]);
    fs::write(folder.path().join("p.yaml"), "policies: {a: 'retry: 3'}\n").unwrap();
    for (word, is_told) in [("p.yaml#a", true), ("p.yaml", true), ("absent.yaml#a", false)] {
        let output = redial(folder.path(), &["run", word, "--", "true"]);
        assert_eq!(output.status.code(), Some(127), "{word}");
        let hint = format!("; a policy is named with --policy {word};");
        assert_eq!(stderr(&output).contains(&hint), is_told, "{}", stderr(&output));
    }
}

#[test]
fn a_report_is_written_in_the_format_of_its_name() {
    let folder = folder(&[]);
    for (name, start) in [("r.json", "{"), ("r.md", "#"), ("r.xml", "<?xml")] {
        script(folder.path(), &["--report", name], "exit 3");
        let report = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(report.starts_with(start), "{name}: {report}");
        assert!(report.contains('3'), "{name}");
    }
    let both = ["--report", "a.md", "--report", "b.xml"];
    script(folder.path(), &both, "exit 3");
    assert!(folder.path().join("a.md").exists() && folder.path().join("b.xml").exists());
    // A place that cannot be written to, but looks as if it could, is found out before anything runs.
    fs::create_dir(folder.path().join("taken.md")).unwrap();
    let output = script(folder.path(), &["--report", "taken.md"], "touch ran; exit 3");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("taken.md"), "{}", stderr(&output));
    assert!(!folder.path().join("ran").exists());
}

/// A failure that opens the breaker ends the run there and then, and takes nothing from the budget.
#[test]
fn no_wait_leads_into_a_shared_breaker_that_is_open() {
    let folder = folder(&[]);
    let breaker = r#"{"redial": "breaker", "failures": 2, "recovery_seconds": 3600}"#;
    fs::write(folder.path().join("breaker"), breaker).unwrap();
    let budget = r#"{"redial": "budget", "capacity": 3, "deposit": 0, "floor_per_second": 1e-6}"#;
    fs::write(folder.path().join("budget"), budget).unwrap();
    let shared = ["--breaker", "breaker", "--budget", "budget", "--events", "events", "-n", "5"];
    let output = script(folder.path(), &shared, "exit 5");
    assert_eq!(output.status.code(), Some(5));
    let said = stderr(&output);
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("redial: attempt 2/5: exit 5 after "), "{said}");
    assert!(last.contains("gave up: the breaker is open for 1h more"), "{said}");
    let events = events(folder.path());
    let decisions = of_type(&events, "decision");
    assert_eq!(decisions.len(), 2, "{events:?}");
    assert_eq!(decisions[0]["action"], "retry");
    assert_eq!(
        (&decisions[1]["action"], &decisions[1]["reason"]),
        (&"stop".into(), &"breaker-open".into())
    );
    let budget = fs::read_to_string(folder.path().join("budget")).unwrap();
    let budget: Value = serde_json::from_str(&budget).unwrap();
    let tokens = budget["tokens"].as_f64().unwrap();
    assert!((2.0..2.1).contains(&tokens), "one retry was paid for, not two: {budget}");
}

/// The attempt after a wait that outlasts the breaker's recovery is its probe.
#[test]
fn a_wait_may_outlast_the_recovery_of_a_shared_breaker() {
    let folder = folder(&[]);
    let breaker = r#"{"redial": "breaker", "failures": 1, "recovery_seconds": 0.0001}"#;
    fs::write(folder.path().join("breaker"), breaker).unwrap();
    let flags = ["--breaker", "breaker", "-n", "3"];
    let output = script(folder.path(), &flags, "test $REDIAL_ATTEMPT -eq 3");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record = fs::read_to_string(folder.path().join("breaker")).unwrap();
    assert!(record.contains(r#""state":"closed""#), "{record}");
}

#[test]
fn what_another_attempt_would_meet_again_does_not_open_a_shared_breaker() {
    let folder = folder(&[]);
    let breaker = r#"{"redial": "breaker", "failures": 1, "recovery_seconds": 3600}"#;
    fs::write(folder.path().join("breaker"), breaker).unwrap();
    let run = |flags: &[&str], command: &[&str], code| {
        let base = ["run", "-d", "1ms", "--breaker", "breaker"];
        let output = redial(folder.path(), &[&base[..], flags, &["--"], command].concat());
        assert_eq!(output.status.code(), Some(code), "{command:?}: {}", stderr(&output));
        let record = fs::read_to_string(folder.path().join("breaker")).unwrap();
        assert!(record.contains(r#""state":"closed","failed":0"#), "{command:?}: {record}");
    };
    run(&[], &["no-such-command"], 127);
    run(&["--retry-on", "spawn"], &["no-such-command"], 127);
    run(&[], &["/dev/null"], 126);
    run(&["--stop-on", "exit:2"], &["sh", "-c", "exit 2"], 2);
    run(&["--retry-on", "exit:3"], &["sh", "-c", "exit 2"], 2);
    run(&[], &["sh", "-c", "echo stop > $REDIAL_CONTROL; exit 2"], 2);
    let last = ["-n", "1"];
    run(&last, &["no-such-command"], 127);
    run(&[&last[..], &["--stop-on", "exit:2"]].concat(), &["sh", "-c", "exit 2"], 2);
}

#[test]
fn what_is_not_ready_yet_does_not_open_a_shared_breaker() {
    let folder = folder(&[]);
    let breaker = r#"{"redial": "breaker", "failures": 1, "recovery_seconds": 3600}"#;
    fs::write(folder.path().join("breaker"), breaker).unwrap();
    let looks = ["until", "-n", "2", "-d", "1ms", "--breaker", "breaker", "--", "false"];
    assert_eq!(redial(folder.path(), &looks).status.code(), Some(1));
    let record = fs::read_to_string(folder.path().join("breaker")).unwrap();
    assert!(record.contains(r#""state":"closed","failed":0"#), "{record}");
}

#[test]
fn what_was_held_comes_out_also_where_a_timeout_kills_at_once() {
    let folder = folder(&[]);
    let hold = ["--output", "hold", "--stderr", "hold", "--kill-after", "0s", "-T", "100ms"];
    let output = script(folder.path(), &hold, "echo important; echo trouble >&2; sleep 60");
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(stdout(&output), "important\n");
    assert!(stderr(&output).starts_with("trouble\n"), "{}", stderr(&output));
}

#[test]
fn a_budget_is_shared_and_an_open_breaker_refuses() {
    let folder = folder(&[]);
    let budget =
        r#"{"redial": "budget", "capacity": 3, "deposit": 0, "floor_per_second": 0.000001}"#;
    fs::write(folder.path().join("budget"), budget).unwrap();
    let attempts = || {
        let output =
            script(folder.path(), &["--budget", "budget", "--events", "-", "-n", "3"], "exit 5");
        assert_eq!(output.status.code(), Some(5));
        stdout(&output).matches("attempt.start").count()
    };
    assert_eq!([attempts(), attempts(), attempts()], [3, 2, 1]);

    let breaker = r#"{"redial": "breaker", "failures": 2, "recovery_seconds": 3600}"#;
    fs::write(folder.path().join("breaker"), breaker).unwrap();
    let output = script(folder.path(), &["--breaker", "breaker", "-n", "5"], "exit 5");
    assert_eq!(output.status.code(), Some(5), "between attempts it is the command's own code");
    assert!(stderr(&output).contains("attempt 2/5"), "{}", stderr(&output));
    let output =
        script(folder.path(), &["--breaker", "breaker", "--events", "events"], "touch ran");
    assert_eq!(output.status.code(), Some(75));
    assert!(stderr(&output).contains("the breaker is open for "), "{}", stderr(&output));
    assert!(!folder.path().join("ran").exists());
    let events = events(folder.path());
    assert_eq!(of_type(&events, "run.end")[0]["outcome"], "refused");
    assert_eq!(of_type(&events, "decision")[0]["reason"], "breaker-open");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    refused(&["--retrys", "3"], &["--retrys", "--retries"]);
    refused(&["--with", "retry: 3, dely: 1s"], &["dely", "did you mean `delay`?"]);
    refused(&["--policy", "missing.yaml"], &["missing.yaml"]);
    refused(&["--preset", "patience"], &["patience", "contention"]);
    refused(&["--retry-on", "exti:1"], &["--retry-on", "exti:1", "did you mean `exit:1`?"]);
    refused(&["--stop-on", "stderr:/(/"], &["--stop-on", "regular expression"]);
    refused(&["--success-on", "exit:300"], &["--success-on", "300"]);
    refused(&["--delay-from", "stderr:/wait/"], &["--delay-from"]);
    refused(&["--rules", "crul"], &["crul", "did you mean `curl`?"]);
    refused(&["--rules", "./none.toml"], &["./none.toml"]);
    refused(&["--events", "no/such/folder/e"], &["--events", "no/such/folder/e"]);
    refused(&["--events", "."], &["--events"]);
    refused(&["--report", "r.pdf"], &["r.pdf", ".json"]);
    refused(&["--report", "no/such/folder/r.md"], &["no/such/folder/r.md"]);
    refused(&["--kill-after", "10"], &["--kill-after", "10s"]);
    refused(&["--with", "retry: 2", "--preset", "contention"], &["one of --with"]);
    refused(&["--kill-after", "soon"], &["--kill-after", "soon", "1m30s"]);
    refused(&["--kill-after", "-1s"], &["--kill-after", "-1s"]);
    refused(&["--max-retry-after", "1 fortnight"], &["--max-retry-after", "1 fortnight"]);
    refused(&["--flaky", "maybe"], &["maybe", "warn"]);
    refused(&["--budget", "/dev/null"], &["/dev/null"]);
    refused(&["--breaker", "no/such/folder/b"], &["no/such/folder/b"]);
    refused(&["--budget", "b", "--breaker", "b"], &["--budget", "--breaker"]);
    let folder = folder(&[]);
    let output = redial(folder.path(), &["run"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("COMMAND"), "{}", stderr(&output));
}

#[test]
fn numbers_at_their_extremes() {
    let folder = folder(&[]);
    let max = u64::MAX.to_string();
    let ok: [&[&str]; 9] = [
        &["-n", "1"],
        &["-n", "4294967295"],
        &["--seed", "0"],
        &["--seed", &max],
        &["--kill-after", "0s"],
        &["--kill-after", "99999999999999999999d"],
        &["--max-retry-after", "0s"],
        &["-t", "213503d"],
        &["--within", "18446744073s"],
    ];
    for flags in ok {
        let output = redial(folder.path(), &[&["run"], flags, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {}", stderr(&output));
    }
    for flags in [
        ["-n", "0"],
        ["-n", "4294967296"],
        ["-n", "-1"],
        ["-t", "0s"],
        ["-T", "0s"],
        ["-t", "-5s"],
        ["--seed", "18446744073709551616"],
        ["--seed", "-1"],
        ["-d", "1e400s"],
        ["--factor", "NaN"],
    ] {
        refused(&flags, &[]);
    }
}

#[test]
fn everything_after_the_command_is_its_own() {
    let folder = folder(&[]);
    let output = redial(folder.path(), &["run", "echo", "-n", "5", "--events", "-", "--", "-q"]);
    assert_eq!(stdout(&output), "5 --events - -- -q");
    let output =
        redial(folder.path(), &["run", "-q", "--", "printf", "%s|", "", "a b", "$HOME", "*"]);
    assert_eq!(stdout(&output), "|a b|$HOME|*|");
}

#[test]
fn words_that_are_not_utf8_reach_the_command() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let folder = folder(&[]);
    let word = std::ffi::OsString::from_vec(vec![b'a', 0xff, 0xfe, b'z']);
    let mut command = command(folder.path(), &["run", "--events", "events", "--", "printf", "%s"]);
    let output = command.arg(&word).output().unwrap();
    assert_eq!(output.stdout, word.as_bytes());
    assert_eq!(of_type(&events(folder.path()), "run.start").len(), 1);
}

#[test]
fn the_deadline_cuts_and_stops() {
    let folder = folder(&[]);
    let output = script(folder.path(), &["-T", "300ms", "-n", "unlimited"], "sleep 20");
    assert_eq!(output.status.code(), Some(124), "{}", stderr(&output));
    // Between attempts it is the command's own code.
    let output = redial(
        folder.path(),
        &["run", "-T", "10s", "-d", "20s", "--jitter", "none", "--", "false"],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("deadline"), "{}", stderr(&output));
}

#[test]
fn classify_says_what_run_would_do() {
    let folder = folder(&[]);
    let classified = |arguments: &[&str]| {
        let output = redial(folder.path(), &[&["classify"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output).to_owned()
    };
    assert_eq!(classified(&["--exit", "0"]), "success\n  by default: exit:0\n");
    assert!(classified(&["--exit", "1"]).starts_with("retry\n"));
    assert!(classified(&["--not-found"]).starts_with("stop\n"));
    assert!(classified(&["--not-executable"]).starts_with("stop\n"));
    assert!(
        classified(&["--timed-out", "--stop-on", "timeout"])
            .starts_with("stop\n  by --stop-on timeout")
    );
    assert!(classified(&["--signal", "sigsegv", "--retry-on", "signal:11"]).starts_with("retry\n"));
    fs::write(folder.path().join("log"), "x\nretry after 90\n").unwrap();
    let asked =
        ["--exit", "1", "--stderr", "log", "--delay-from", r"stderr:/after (\d+)/", "--json"];
    let answer: Value = serde_json::from_str(&classified(&asked)).unwrap();
    assert_eq!(answer["fate"], "retry");
    assert_eq!(answer["delay_ns"], 90_000_000_000u64);
    let too_long = [&asked[..6], &["--max-retry-after", "1min"]].concat();
    assert!(classified(&too_long).starts_with("stop\n  because it asked for 1min 30s"));
    for (arguments, word) in [
        (&["classify"][..], "--exit"),
        (&["classify", "--exit", "256"], "256"),
        (&["classify", "--signal", "BOOM"], "BOOM"),
        (&["classify", "--exit", "1", "--stderr", "missing"], "missing"),
        (&["classify", "--exit", "1", "--stderr", "-", "--stdout", "-"], "standard input"),
    ] {
        let output = redial(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}");
        assert!(stderr(&output).contains(word), "{arguments:?}: {}", stderr(&output));
    }
}

/// Started with nobody who reads what it prints, and sent a signal when it is ready: its end.
fn signalled(
    folder: &Path,
    arguments: &[&str],
    signal: &str,
    ready: impl Fn() -> bool,
) -> ExitStatus {
    let mut command = command(folder, arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !ready() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    child.wait().unwrap()
}

#[track_caller]
fn ends_unread(folder: &Path, arguments: &[&str], ready: impl Fn() -> bool) {
    let status = signalled(folder, arguments, "TERM", ready);
    assert_eq!(status.signal(), Some(15), "{arguments:?}: {status}");
}

#[test]
fn who_does_not_read_does_not_keep_redial_from_ending() {
    let folder = folder(&[]);
    let lines = || fs::read_to_string(folder.path().join("events")).unwrap_or_default();
    // What was held is coming out; half of it is no success.
    let held = ["run", "--kill-after", "300ms", "--output", "hold", "--events", "events", "--"];
    let held = [&held[..], &["head", "-c", "3000000", "/dev/zero"]].concat();
    ends_unread(folder.path(), &held, || lines().contains("attempt.end"));
    assert!(lines().contains("cancelled"), "{}", lines());
    // redial's own lines.
    let _ = fs::remove_file(folder.path().join("events"));
    let own =
        ["run", "-n", "unlimited", "-d", "0s", "-b", "fixed", "--events", "events", "--", "false"];
    ends_unread(folder.path(), &own, || lines().lines().count() > 4000);
    // Its events, on standard output.
    let to_stdout = ["run", "-q", "-n", "unlimited", "-d", "0s", "-b", "fixed", "--events", "-"];
    let count = "echo . >> count; exit 1";
    let to_stdout = [&to_stdout[..], &["--", "sh", "-c", count]].concat();
    let counted = || fs::metadata(folder.path().join("count")).map_or(0, |file| file.len());
    ends_unread(folder.path(), &to_stdout, || counted() > 2000);
}

#[test]
fn an_alarm_ends_the_command_too() {
    let folder = folder(&[]);
    let script = "echo $$ > new; mv new pid; exec sleep 9998";
    let run = ["run", "--", "sh", "-c", script];
    let status = signalled(folder.path(), &run, "ALRM", || folder.path().join("pid").exists());
    assert_eq!(status.signal(), Some(14), "{status}");
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    let alive =
        Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap();
    assert!(!alive.success(), "{pid} is alive");
}

#[test]
fn a_script_without_a_shebang_is_run_by_sh() {
    let folder = folder(&[]);
    let script = folder.path().join("greet");
    install(&script, "echo hello $1\n");
    let output = redial(folder.path(), &["run", "--", "./greet", "you"]);
    assert_eq!(stdout(&output), "hello you\n", "{}", stderr(&output));
    // A program for another machine is none.
    let other = folder.path().join("other");
    install(&other, b"\x7fELF junk\0\0");
    assert_eq!(redial(folder.path(), &["run", "--", "./other"]).status.code(), Some(126));
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let output = command(folder.path(), &["run", "--", "greet", "me"]).env("PATH", path).output();
    assert_eq!(stdout(&output.unwrap()), "hello me\n");
}

#[test]
fn every_file_has_one_purpose() {
    refused(&["--events", "a.json", "--report", "a.json"], &["--events and --report"]);
    refused(&["--events", "a", "--budget", "./a"], &["--events and --budget"]);
    refused(&["--report", "a.md", "--report", "a.md"], &["--report"]);
    // Also by names that lead to one place, where nothing is yet.
    let folder = folder(&[]);
    std::os::unix::fs::symlink("x.json", folder.path().join("y")).unwrap();
    let arguments = ["run", "--events", "y", "--report", "x.json", "--", "true"];
    assert_eq!(redial(folder.path(), &arguments).status.code(), Some(125));
}

#[test]
fn a_long_line_of_delays_takes_no_longer_than_it_should() {
    let folder = folder(&[]);
    fs::write(folder.path().join("log"), "7".repeat(60_000)).unwrap();
    let pattern = r"stderr:/(\d)(?:.*seconds)?/";
    let asked = ["classify", "--exit", "1", "--stderr", "log", "--delay-from", pattern, "--json"];
    let answer: Value = serde_json::from_slice(&redial(folder.path(), &asked).stdout).unwrap();
    assert_eq!(answer["delay_ns"], 7_000_000_000u64);
}

/// What `redial: attempt …` lines say of the times is not compared.
fn without_times(said: &str) -> String {
    let lines = said.lines().map(|line| match line.split_once(" after ") {
        Some((before, after)) => {
            let rest = after.split_once("; ").map_or("", |(_, rest)| rest);
            format!("{before}; {}\n", rest.split("; ").next().unwrap_or_default())
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn held_errors_come_out_only_if_all_attempts_fail() {
    let folder = folder(&[]);
    let says = "echo err $REDIAL_ATTEMPT >&2; test $REDIAL_ATTEMPT = 3";
    let output = script(folder.path(), &["--stderr", "hold"], says);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "err 3\n");
    let output = script(folder.path(), &["--stderr", "hold", "-n", "2"], says);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        without_times(stderr(&output)),
        "err 1\n\
         redial: attempt 1/2: exit 1; retrying in 1ms\n\
         err 2\n\
         redial: attempt 2/2: exit 1; gave up: all attempts are spent\n"
    );
    // Also where a rule stops it, or it says nothing itself, or redial says nothing.
    let stops = ["--stderr", "hold", "--stop-on", "exit:2"];
    let output = script(folder.path(), &stops, "printf unfinished >&2; exit $REDIAL_ATTEMPT");
    assert_eq!(
        without_times(stderr(&output)).replace("unfinishedredial", "unfinished\nredial"),
        "unfinished\n\
         redial: attempt 1/3: exit 1; retrying in 1ms\n\
         unfinished\n\
         redial: attempt 2/3: exit 2; not retried: --stop-on exit:2\n"
    );
    let output =
        script(folder.path(), &["--stderr", "hold", "-q"], "echo $REDIAL_ATTEMPT >&2; false");
    assert_eq!(stderr(&output), "1\n2\n3\n");
    // What could not be started is told with what was before it.
    install(&folder.path().join("once"), "#!/bin/sh\necho gone >&2; rm once; exit 1\n");
    let output = redial(folder.path(), &["run", "-d", "1ms", "--stderr", "hold", "--", "./once"]);
    assert_eq!(output.status.code(), Some(127));
    let said = stderr(&output);
    assert!(said.starts_with("gone\nredial: attempt 1/3: exit 1"), "{said}");
    assert!(said.contains("attempt 2/3: ./once: not found"), "{said}");
}

#[test]
fn held_errors_of_a_success_say_nothing_of_flakiness_unless_that_is_asked_for() {
    let folder = folder(&[]);
    let says = "echo err $REDIAL_ATTEMPT >&2; test $REDIAL_ATTEMPT = 2";
    for (flaky, code, words) in [("warn", 0, "is flaky"), ("fail", 1, "by --flaky fail")] {
        let output = script(folder.path(), &["--stderr", "hold", "--flaky", flaky], says);
        assert_eq!(output.status.code(), Some(code));
        let said = stderr(&output);
        assert!(said.starts_with("err 2\n") && said.contains(words), "{said}");
        assert!(!said.contains("err 1"), "{said}");
    }
    let held = ["run", "-d", "1ms", "--stderr", "hold", "--", "sh", "-c", says];
    let mut command = command(folder.path(), &held);
    let output = command.env("GITHUB_ACTIONS", "true").output().unwrap();
    assert_eq!(stderr(&output), "err 2\n");
}

#[test]
fn a_pattern_that_would_hold_up_the_command_is_named_once() {
    let folder = folder(&[]);
    let pattern = r"a[ab]{20}[^ab\n][ab]";
    let rule = format!("stdout:/{pattern}/");
    let flags = ["-n", "2", "--stop-on", &rule, "--stop-on", "stdout:/x/", "--events", "events"];
    let says = r#"awk 'BEGIN { srand(1); for (line = 0; line < 4000; line++) { text = ""
        for (at = 0; at < 99; at++) text = text (rand() < .5 ? "a" : "b"); print text } }'; exit 4"#;
    let output = script(folder.path(), &flags, says);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(output.stdout.len(), 2 * 4000 * 100);
    let said = stderr(&output);
    assert_eq!(
        said.matches(&format!("searching for {pattern} would hold up")).count(),
        1,
        "{said}"
    );
    let events = events(folder.path());
    for end in of_type(&events, "attempt.end") {
        assert_eq!(end["partly_watched"], serde_json::json!([pattern]));
    }
    let output = script(folder.path(), &["--stop-on", &rule, "--events", "other"], "exit 4");
    assert!(!stderr(&output).contains("hold up"));
    let text = std::fs::read_to_string(folder.path().join("other")).unwrap();
    assert!(text.contains(r#""partly_watched":null"#), "{text}");
}

#[test]
fn held_errors_are_watched_and_go_with_held_output() {
    let folder = folder(&[]);
    let flags = ["--stderr", "hold", "--output", "hold", "--stop-on", "stderr:/err 2/"];
    let says = "echo err $REDIAL_ATTEMPT >&2; echo out $REDIAL_ATTEMPT; exit 4";
    let output = script(folder.path(), &[&flags[..], &["--events", "events"]].concat(), says);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(stdout(&output), "out 2\n");
    let said = stderr(&output);
    assert!(said.starts_with("err 1\nredial: attempt 1/3"), "{said}");
    assert!(said.contains("\nerr 2\nredial: attempt 2/3: exit 4"), "{said}");
    let events = events(folder.path());
    assert_eq!(of_type(&events, "attempt.end")[0]["stderr_tail"], "err 1\n");
}

#[test]
fn held_errors_of_any_size_take_little_memory_and_a_full_disk_is_no_success() {
    let folder = folder(&[]);
    let line = "0123456789abcde\n";
    let writes = "yes 0123456789abcde | head -c 5000000 >&2
grep VmHWM /proc/$PPID/status >memory; exit 1";
    let output = script(folder.path(), &["--stderr", "hold", "-q"], writes);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output) == line.repeat(3 * 5_000_000 / line.len()), "not what was written");
    if let Ok(memory) = fs::read_to_string(folder.path().join("memory"))
        && let Some(kilobytes) = memory.split_whitespace().nth(1)
    {
        let kilobytes: u64 = kilobytes.parse().unwrap();
        assert!(kilobytes < 20_000, "{memory}");
    }
    // A folder in which nobody can make a file.
    let held = ["run", "-d", "1ms", "--stderr", "hold", "--", "sh", "-c", writes];
    let output = command(folder.path(), &held).env("TMPDIR", "/proc").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("standard error cannot be held"), "{}", stderr(&output));
}

#[test]
fn a_report_that_cannot_be_written_is_found_before_anything_runs() {
    // Nobody makes a file there, root included.
    refused(&["--report", "/proc/report.json"], &["--report: cannot write /proc/report.json: "]);
    refused(&["--report", "/proc/version.md"], &["--report: cannot write /proc/version.md: "]);
    let folder = folder(&[]);
    let output =
        |report: &str| redial(folder.path(), &["run", "--report", report, "--", "touch", "ran"]);
    fs::create_dir(folder.path().join("folder.json")).unwrap();
    std::os::unix::fs::symlink("/proc/nothing.json", folder.path().join("link.json")).unwrap();
    for report in ["folder.json", "link.json"] {
        let output = output(report);
        assert_eq!(output.status.code(), Some(125), "{report}: {}", stderr(&output));
        assert!(stderr(&output).contains("--report: cannot write"), "{}", stderr(&output));
        assert!(!folder.path().join("ran").exists(), "{report}");
    }
    // Looking leaves nothing behind, and what was there stays until the new report is.
    std::os::unix::fs::symlink("new.json", folder.path().join("to-new.json")).unwrap();
    assert_eq!(output("to-new.json").status.code(), Some(0));
    assert!(folder.path().join("to-new.json").is_symlink());
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["folder.json", "link.json", "new.json", "ran", "to-new.json"]);
}

/// A library that shows another time of day to whoever loads it before the system's.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OTHER_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec = atoll(getenv("SECONDS_SINCE_1970"));
  return result;
}
"#;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_command_runs_whatever_the_time_of_day() {
    let folder = folder(&[]);
    fs::write(folder.path().join("clock.c"), OTHER_CLOCK).unwrap();
    // What links this test compiles the library.
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", stderr(&compiled));
    for (seconds, ts) in [
        ("-315619200", "1970-01-01T00:00:00."),
        ("-9223372036854775808", "1970-01-01T00:00:00."),
        ("253402300800", "9999-12-31T23:59:59."),
        ("9223372036854775807", "9999-12-31T23:59:59."),
    ] {
        let shared = ["--budget", "budget", "--breaker", "breaker", "--report", "report.json"];
        let flags = [&["run", "-n", "2", "-d", "1ms", "--events", "events"], &shared[..]].concat();
        let output = command(folder.path(), &[&flags[..], &["--", "false"]].concat())
            .env("LD_PRELOAD", folder.path().join("clock.so"))
            .env("SECONDS_SINCE_1970", seconds)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{seconds}: {}", stderr(&output));
        let events = events(folder.path());
        let start = of_type(&events, "run.start");
        assert!(start[0]["ts"].as_str().unwrap().starts_with(ts), "{seconds}: {start:?}");
        assert_eq!(of_type(&events, "attempt.end").len(), 2, "{seconds}");
        for name in ["events", "budget", "breaker", "report.json"] {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
    }
}

/// What `redial help events` says of each type: the first column of the table under its heading.
fn fields_of_the_help() -> Vec<(String, String)> {
    let page = include_str!("../../src/help/events.md");
    let mut fields = Vec::new();
    for section in page.split("\n## ").skip(1) {
        let (kind, text) = section.split_once('\n').unwrap();
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        fields.extend(rows.map(|(field, _)| (kind.to_owned(), field.to_owned())));
    }
    fields.sort();
    fields
}

#[test]
fn the_help_has_every_field_of_every_event() {
    let folder = folder(&[]);
    script(folder.path(), &["-n", "2", "--events", "events"], "exit 7");
    // The command signals redial, which waits for it and then dies of the signal.
    let signals = "trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done";
    script(folder.path(), &["--events", "events"], signals);
    let everywhere = ["v", "run", "t", "type"];
    let mut fields: Vec<_> = events(folder.path())
        .iter()
        .flat_map(|event| {
            let kind = event["type"].as_str().unwrap().to_owned();
            let keys = event.as_object().unwrap().keys();
            let keys = keys.filter(|key| !everywhere.contains(&key.as_str()));
            keys.map(|key| (kind.clone(), key.clone())).collect::<Vec<_>>()
        })
        .collect();
    fields.sort();
    fields.dedup();
    assert_eq!(fields, fields_of_the_help());
}
