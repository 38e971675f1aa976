//! How jobs are run: how many at once and how often, how often again, and what becomes of what they write.

use std::collections::BTreeMap;
use std::sync::Arc;

use redial_flow::definition::Definition;
use redial_flow::machine::{Machine, TaskId};
use redial_flow::prepared::Prepared;
use rustix::process::Signal;
use serde_json::Value;

use crate::clock::on_clock;
use crate::kernel::{Process, send, until};
use crate::map::{command, ends_with, journal, map, of_type, tally, works};
use crate::program::{REDIAL, parsed, stderr};
use crate::stage::{Stage, started};

fn numbers(count: usize) -> String {
    (1..=count).map(|number| format!("{number}\n")).collect()
}

#[test]
fn so_many_jobs_run_at_once_and_not_more() {
    let stage = Stage::new();
    stage.write("items", numbers(5));
    let script = "echo ready >bell; read word <gate";
    let words = ["-j", "2", "--run", "r", "--items", "items", "--", "sh", "-c", script, "sh"];
    let mut running = started(&mut command(&stage, &words));
    // Two say so before one is let go.
    for _ in 0..2 {
        stage.hear_that("ready").unwrap();
    }
    for _ in 0..3 {
        stage.open();
        stage.hear_that("ready").unwrap();
    }
    for _ in 0..2 {
        stage.open();
    }
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
    let (mut now, mut most) = (0, 0);
    for record in journal(&stage, "r") {
        match record["type"].as_str() {
            Some("attempt.start") => now += 1,
            Some("attempt.end") => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    assert_eq!(most, 2);
}

/// The first item is slow, and all the others have to wait for it with what they wrote.
#[cfg(target_os = "linux")]
#[test]
fn output_that_waits_for_its_turn_is_not_kept_in_memory() {
    let stage = Stage::new();
    stage.write("items", numbers(101));
    let script = r#"case $1 in
        1) echo ready >bell; read word <gate
           redial=$(awk '/^PPid/ { print $2 }' /proc/$PPID/status)
           awk '/^VmHWM/ { print $2 }' /proc/$redial/status >peak;;
        101) echo last >bell;;
        *) head -c 1000000 /dev/zero;;
    esac"#;
    let flags = ["-j", "2", "--keep-order", "--items", "items", "--", "sh", "-c", script, "sh"];
    let mut command = command(&stage, &flags);
    command.stdout(stage.create("out"));
    let mut running = started(&mut command);
    stage.hear_that("ready").unwrap();
    stage.hear_that("last").unwrap();
    stage.open();
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
    let kilobytes: u64 = stage.text("peak").trim().parse().unwrap();
    assert!(kilobytes < 64_000, "{kilobytes}");
    assert_eq!(std::fs::metadata(stage.path("out")).unwrap().len(), 99_000_000);
}

/// Each job has a guard process for its parent, a child of redial.
#[cfg(target_os = "linux")]
#[test]
fn more_jobs_than_items_start_no_more_processes() {
    let stage = Stage::new();
    let script = r#"redial=$(awk '/^PPid/ { print $2 }' /proc/$PPID/status)
        cat /proc/[0-9]*/status 2>/dev/null | grep -c "^PPid:[[:space:]]*$redial$""#;
    for (items, guards) in [(1, "1\n"), (3, "3\n")] {
        // The last one looks.
        let script = format!("echo ready >bell; read word <gate; {script} >counted");
        stage.write("items", numbers(items));
        let words = ["-j", "100", "--items", "items", "--", "sh", "-c", &script, "sh"];
        let mut running = started(&mut command(&stage, &words));
        (0..items).for_each(|_| stage.hear_that("ready").unwrap());
        (0..items).for_each(|_| stage.open());
        assert_eq!(running.end(stage.patience).unwrap().code(), 0);
        assert_eq!(stage.text("counted"), guards);
    }
}

#[test]
fn no_window_has_more_starts_than_the_rate_says() {
    let stage = Stage::new();
    let script = "test $((REDIAL_ITEM % 3)) != 0 || test $REDIAL_ATTEMPT = 2";
    let flags = ["-j", "8", "--rate", "5/100ms", "-n", "2", "-d", "1ms", "--run", "r"];
    works(&stage, numbers(12), &[&flags[..], &["--", "sh", "-c", script, "sh"]].concat());
    let records = journal(&stage, "r");
    let starts: Vec<f64> = of_type(&records, "attempt.start")
        .iter()
        .map(|start| start["t"].as_f64().unwrap())
        .collect();
    assert_eq!(starts.len(), 16, "12 items, 4 of them twice");
    for (at, start) in starts.iter().enumerate() {
        let window = starts[at..].iter().filter(|other| *other - start < 0.1 - 1e-8).count();
        assert!(window <= 5, "{window} starts within 100 ms from {start}: {starts:?}");
    }
}

#[test]
fn beyond_so_many_failures_nothing_new_starts() {
    for (bound, started) in [("2", 3), ("0", 1), ("10%", 10), ("100%", 15)] {
        let stage = Stage::new();
        let flags = ["-j", "1", "-n", "1", "--failures-max", bound, "-q"];
        let script = "echo . >>attempts; exit 1";
        let words = [&flags[..], &["--", "sh", "-c", script, "sh"]].concat();
        ends_with(1, &stage, numbers(15), &words);
        assert_eq!(stage.attempts(), started, "--failures-max {bound}");
    }
}

#[test]
fn what_a_job_writes_stays_together() {
    let stage = Stage::new();
    let script = "for n in 1 2 3 4 5 6 7 8; do echo $1; echo e$1 >&2; done";
    let words = ["-j", "4", "--", "sh", "-c", script, "sh"];
    let output = map(&stage, numbers(12), &words);
    for text in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("redial")).collect();
        assert_eq!(lines.len(), 12 * 8);
        assert!(lines.chunks(8).all(|eight| eight.iter().all(|line| *line == eight[0])), "{text}");
    }
}

#[test]
fn with_keep_order_items_are_printed_in_their_order() {
    let stage = Stage::new();
    stage.write("items", "first\nsecond\nthird\n");
    let script = "echo $1 >bell; test $1 != first || read word <gate; echo $1";
    let words = ["-j", "3", "--keep-order", "--items", "items", "--", "sh", "-c", script, "sh"];
    let mut running = command(&stage, &words);
    running.stdout(stage.create("out"));
    let mut running = started(&mut running);
    for _ in 0..3 {
        stage.hear().unwrap();
    }
    stage.open();
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
    assert_eq!(stage.text("out"), "first\nsecond\nthird\n");
}

#[test]
fn with_an_output_directory_each_item_has_its_files() {
    let stage = Stage::new();
    let script = "echo out $1; echo err $1 >&2; test $REDIAL_ATTEMPT = 2";
    let flags = ["--output-dir", "to/here", "-n", "2", "-d", "1ms"];
    let printed =
        works(&stage, "a\n../b\n", &[&flags[..], &["--", "sh", "-c", script, "sh"]].concat());
    assert_eq!(printed, "");
    assert_eq!(
        (stage.text("to/here/1.out"), stage.text("to/here/1.err")),
        ("out a\n".into(), "err a\n".into())
    );
    assert_eq!(stage.text("to/here/2.out"), "out ../b\n");
}

#[test]
fn failures_that_a_retry_mended_are_shown_only_to_who_asks() {
    let stage = Stage::new();
    let script = "echo oops$REDIAL_ATTEMPT >&2; echo out; test $REDIAL_ATTEMPT = 2";
    let job = ["-n", "2", "-d", "1ms", "--", "sh", "-c", script, "sh"];
    let [normal, verbose, quiet] = [&[][..], &["-v"], &["-q"]].map(|level| {
        let output = map(&stage, "a\n", &[level, &job].concat());
        assert_eq!((output.status.code(), &*output.stdout == b"out\n"), (Some(0), level != ["-v"]));
        stderr(&output).to_owned()
    });
    assert!(!normal.contains("oops1") && normal.contains("oops2\n"), "{normal}");
    assert!(normal.contains("1 item: 0 at the first attempt, 1 flaky"), "{normal}");
    assert!(verbose.contains("oops1") && verbose.contains("a: attempt 1: exit 1; retrying in"));
    assert_eq!(quiet, "oops2\n");
}

#[test]
fn where_nobody_watches_a_line_every_30_s_says_how_far_it_has_come() {
    // Time passes only as the first item says.
    let run = |flags: &[&str], passes: &str| {
        let stage = Stage::new();
        stage.write("items", "a\nb\n");
        stage.write("job", format!("test $1 != a || truncate -s +{passes} clock"));
        let words = [&[REDIAL, "map", "-j", "1", "--items", "items"], flags, &["--", "sh", "job"]];
        assert_eq!(stage.run(&on_clock(&stage, &words.concat())).unwrap().code(), 0);
        stage.text("err")
    };
    let said = run(&[], "31000");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    let line = lines[0].strip_suffix(" done, 1 running, 31s");
    assert!(matches!(line, Some("redial: 0" | "redial: 1")), "{said}");
    for (flags, passes) in [(&[][..], "29000"), (&["--progress", "never"], "31000")] {
        let said = run(flags, passes);
        assert_eq!(said.lines().count(), 1, "{flags:?}: {said}");
    }
    assert_eq!(run(&["-q"], "31000"), "");
}

#[test]
fn what_is_said_begins_on_a_line_of_its_own() {
    let stage = Stage::new();
    // Standard error alone, and both in one file.
    let output =
        map(&stage, "a\n", &["-n", "1", "--", "sh", "-c", "printf '<script>' >&2; exit 1", "sh"]);
    assert!(stderr(&output).starts_with("<script>\nredial: a: dead after 1 attempt"), "{output:?}");
    let line = format!("echo a | {REDIAL} map -- printf %s >log 2>&1");
    let mut shell = std::process::Command::new("sh");
    stage.at_home(shell.args(["-c", &line]));
    assert!(shell.status().unwrap().success());
    assert!(stage.text("log").starts_with("a\nredial: 1 item: "), "{}", stage.text("log"));
    // What is not ours stays as it is: the output of items is data.
    assert_eq!(works(&stage, "a\nb\n", &["--keep-order", "--", "printf", "%s"]), "ab");
}

#[test]
fn the_exit_code_says_how_it_came_out() {
    let stage = Stage::new();
    for (command, code, said) in [
        (&["true"][..], 0, "2 items: 2 at the first attempt"),
        (&["sh", "-c", "test $1 = a", "sh"], 1, "b: dead after 1 attempt: exit 1"),
        (&["sh", "-c", "kill -9 $$", "sh"], 1, "signal KILL"),
        (&["no-such-program"], 125, "there is no program `no-such-program` on the PATH"),
        (&["/"], 1, "cannot be started"),
    ] {
        let words = [&["-n", "1", "--"][..], command].concat();
        let text = ends_with(code, &stage, "a\nb\n", &words);
        assert!(text.contains(said), "{command:?}: {text}");
    }
}

#[test]
fn a_job_is_told_its_attempt_its_key_and_how_the_last_one_ended() {
    let stage = Stage::new();
    let script = "env | grep ^REDIAL_ | grep -v 'CONTROL\\|BEHAV\\|_ID=.*/' | sort; exit $((3 - REDIAL_ATTEMPT))";
    let flags = ["-n", "3", "-d", "1ms", "-v", "--run", "night"];
    let printed = works(&stage, "x\n", &[&flags[..], &["--", "sh", "-c", script, "sh"]].concat());
    let told = |attempt: usize, last: &str| {
        format!(
            "REDIAL_ATTEMPT={attempt}\nREDIAL_ATTEMPTS=3\nREDIAL_ITEM=1\nREDIAL_KEY=night/job/x\n{last}\
             REDIAL_RUN_ID=night\nREDIAL_STEP=job\n"
        )
    };
    let expected =
        told(1, "") + &told(2, "REDIAL_LAST_EXIT=2\n") + &told(3, "REDIAL_LAST_EXIT=1\n");
    assert_eq!(printed, expected);
}

#[test]
fn rules_say_which_failures_are_worth_another_attempt() {
    for (flags, code, attempts) in [
        (&["--stop-on", "exit:7"][..], 7, 1),
        (&["--retry-on", "exit:7"], 7, 3),
        (&["--retry-on", "exit:7"], 8, 1),
        (&["--success-on", "exit:7"], 7, 1),
        (&["--rules", "curl"], 6, 3),
        (&["--rules", "curl"], 3, 1),
        (&["--stop-on", "stderr:/broken/"], 7, 1),
    ] {
        let stage = Stage::new();
        let script = format!("echo . >>attempts; echo broken >&2; exit {code}");
        let job = ["-n", "3", "-d", "1ms", "-q", "--", "sh", "-c", &script, "sh"];
        let output = map(&stage, "a\n", &[flags, &job].concat());
        assert_eq!(stage.attempts(), attempts, "{flags:?} {code}: {}", stderr(&output));
        assert_eq!(output.status.success(), flags[0] == "--success-on");
    }
}

#[test]
fn a_job_may_say_when_it_wants_to_be_tried_again_or_that_it_does_not() {
    let stage = Stage::new();
    let script = r#"case $1$REDIAL_ATTEMPT in
        later1) echo retry-after 20ms >"$REDIAL_CONTROL";;
        later2) exit 0;;
        never1) echo stop >"$REDIAL_CONTROL";;
    esac; exit 1"#;
    let words = ["-n", "3", "-d", "1h", "--run", "r", "--", "sh", "-c", script, "sh"];
    ends_with(1, &stage, "later\nnever\n", &words);
    let records = journal(&stage, "r");
    let delays: Vec<_> =
        of_type(&records, "decision").iter().map(|record| record["delay_ns"].as_u64()).collect();
    assert!(delays.contains(&Some(20_000_000)) && delays.contains(&None), "{delays:?}");
    assert_eq!(of_type(&records, "attempt.start").len(), 3);
}

#[test]
fn what_one_job_asked_for_is_not_taken_for_the_wish_of_another() {
    let stage = Stage::new();
    let script = r#"case $1 in
        asks) echo stop >"$REDIAL_CONTROL"; exit 0;;
        fails) echo . >>attempts; exit 1;;
    esac"#;
    let words = ["-j", "1", "-n", "3", "-d", "1ms", "--", "sh", "-c", script, "sh"];
    ends_with(1, &stage, "asks\nfails\n", &words);
    assert_eq!(stage.attempts(), 3);
}

#[test]
fn without_a_name_each_run_has_keys_of_its_own() {
    let stage = Stage::new();
    let job = ["-n", "2", "-d", "1ms", "-v", "--", "sh", "-c"];
    let script = "echo $REDIAL_KEY; test $REDIAL_ATTEMPT = 2";
    let [first, second] =
        [(); 2].map(|()| works(&stage, "a\n", &[&job[..], &[script, "sh"]].concat()));
    for text in [&first, &second] {
        let keys = tally(text);
        assert!(keys.len() == 1 && keys.values().all(|times| *times == 2), "{text}");
    }
    assert_ne!(first, second);
}

#[test]
fn the_delays_are_those_of_plan_with_the_seed_of_the_task() {
    let stage = Stage::new();
    let policy = ["-n", "5", "-d", "2ms", "-b", "exponential", "--jitter", "full"];
    let words = [&policy[..], &["--seed", "42", "--run", "r", "-j", "3", "--", "false"]].concat();
    ends_with(1, &stage, "a\nb\nc\n", &words);
    let definition: Definition =
        serde_json::from_slice(&stage.bytes(".redial/runs/r/flow.json")).unwrap();
    let machine = Machine::new(Arc::clone(&Prepared::new(definition).unwrap().flow), "r", 42);
    let mut waited: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for record in of_type(&journal(&stage, "r"), "decision") {
        waited
            .entry(record["item"].as_u64().unwrap())
            .or_default()
            .extend(record["delay_ns"].as_u64());
    }
    for item in 0..3_u32 {
        let seed = machine.seed(TaskId { step: 1, item: Some(item) }).to_string();
        let mut plan = std::process::Command::new(REDIAL);
        plan.arg("plan").args(policy).args(["--seed", &seed, "--json"]);
        let plan = parsed(&plan.output().unwrap());
        let planned: Vec<u64> = plan["plans"][0]["delays"]
            .as_array()
            .unwrap()
            .iter()
            .map(|delay| delay["sample_ns"].as_u64().unwrap())
            .collect();
        assert_eq!(waited[&u64::from(item)], planned, "item {item}, seed {seed}");
    }
}

#[test]
fn a_wait_holds_no_job() {
    let stage = Stage::new();
    stage.write("items", "waits\na\nb\n");
    let script = "echo $1$REDIAL_ATTEMPT >bell; test $1 != waits";
    let flags =
        ["-j", "1", "-n", "2", "-d", "1h", "--max-delay", "none", "--jitter", "none", "--run", "r"];
    let words = [&flags[..], &["--items", "items", "--", "sh", "-c", script, "sh"]].concat();
    let mut running = started(&mut command(&stage, &words));
    for line in ["waits1", "a1", "b1"] {
        stage.hear_that(line).unwrap();
    }
    let ended = |records: &[Value]| of_type(records, "attempt.end").len();
    until(stage.patience, || ended(&journal(&stage, "r")) == 3);
    running.signal(Signal::TERM);
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
    let records = journal(&stage, "r");
    let [decision] = of_type(&records, "decision")[..] else { panic!("{records:?}") };
    assert_eq!(decision["delay_ns"], 3_600_000_000_000_u64);
}

#[test]
fn a_job_that_is_cut_by_its_timeout_leaves_no_process() {
    let stage = Stage::new();
    let script = "trap '' TERM; setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; \
                  echo . >>attempts; sleep 1000";
    let flags = ["-t", "100ms", "--kill-after", "20ms", "-n", "2", "-d", "1ms", "-j", "2"];
    let words = [&flags[..], &["--run", "r", "--", "sh", "-c", script, "sh"]].concat();
    let said = ends_with(1, &stage, "a\nb\n", &words);
    assert!(said.contains("timeout"), "{said}");
    stage.nothing_is_left().unwrap();
    let records = journal(&stage, "r");
    let ends = of_type(&records, "attempt.end");
    assert_eq!(ends.len(), 4);
    assert!(ends.iter().all(|end| end["outcome"] == "timeout"), "{ends:?}");
}

#[test]
fn jobs_have_no_standard_input_and_take_none_of_the_items() {
    let stage = Stage::new();
    let printed = works(&stage, numbers(5), &["-j", "1", "--", "sh", "-c", "cat; echo $1", "sh"]);
    assert_eq!(tally(&printed).len(), 5, "{printed}");
}

#[test]
fn a_guard_that_is_killed_costs_an_attempt_and_nothing_else() {
    let stage = Stage::new();
    stage.write("items", "a\nb\n");
    let script = "echo $REDIAL_ATTEMPT $$ >bell; test $REDIAL_ATTEMPT = 2 || exec sleep 1000";
    let flags = ["-j", "1", "-n", "2", "-d", "1ms", "--run", "r", "--items", "items"];
    let words = [&flags[..], &["--", "sh", "-c", script, "sh"]].concat();
    let mut running = started(&mut command(&stage, &words));
    for _ in 0..4 {
        let line = stage.hear().unwrap();
        if let Some(job) = line.strip_prefix("1 ") {
            let guard = Process::of(job.parse().unwrap()).unwrap().parent;
            send(guard, Signal::KILL);
        }
    }
    assert_eq!(running.end(stage.patience).unwrap().code(), 0);
    // Counted, whether or not it had been told by then that the command runs.
    let records = journal(&stage, "r");
    let ends: Vec<_> = of_type(&records, "attempt.end").iter().map(|end| &end["attempt"]).collect();
    assert_eq!((ends.len(), ends.iter().filter(|attempt| ***attempt == 2).count()), (4, 2));
}

#[test]
fn the_last_item_does_not_wait_for_a_place_in_the_rate_that_nobody_needs() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    works(&stage, "a\n", &["--rate", "1/1h", "--", "true"]);
    works(&stage, "", &["--rate", "1/1h", "--items", "items", "--run", "r", "--", "true"]);
}
