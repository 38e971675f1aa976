//! `redial shared` as people and scripts use it: the files that runs share, seen, reset and made.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::program::{command, folder, redial, stderr, stdout};

/// What works, and what it prints.
#[track_caller]
fn works(folder: &Path, arguments: &[&str]) -> String {
    let output = redial(folder, arguments);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{arguments:?}");
    stdout(&output).to_owned()
}

#[track_caller]
fn refused(folder: &Path, arguments: &[&str], words: &str) {
    let output = redial(folder, arguments);
    assert_eq!(output.status.code(), Some(125), "{arguments:?}: {}", stderr(&output));
    assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{arguments:?}");
}

/// The one file, for programs.
#[track_caller]
fn json(folder: &Path, file: &str) -> Value {
    let text = works(folder, &["shared", "show", "--json", file]);
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown["shared"].as_array().unwrap().len(), 1, "{text}");
    shown["shared"][0].clone()
}

#[test]
fn a_budget_is_made_spent_shown_and_filled() {
    let folder = folder(&[]);
    let folder = folder.path();
    let settings = ["--capacity", "4", "--deposit", "0.5", "--floor-per-second", "0"];
    let made = works(folder, &[&["shared", "create", "budget", "b"], &settings[..]].concat());
    assert_eq!(
        made,
        "b: budget, 4 of 4 tokens, enough for 4 retries\n  \
         a run brings 0.5, a retry costs 1, none come every second\n"
    );
    let code = redial(folder, &["run", "-q", "-d", "1ms", "--budget", "b", "--", "false"]);
    assert_eq!(code.status.code(), Some(1));
    let text = works(folder, &["shared", "show", "b"]);
    assert!(
        text.starts_with(
            "b: budget, 2 of 4 tokens, enough for 2 retries; full again after 4 runs without a retry\n"
        ),
        "{text}"
    );
    let text = works(folder, &["shared", "reset", "b"]);
    assert_eq!(text, "b: budget, filled: 2 tokens before, 4 now\n");
    assert_eq!(works(folder, &["shared", "show", "b"]), made, "the settings are kept");
    let shown = json(folder, "b");
    let expected = serde_json::json!({
        "file": "b", "kind": "budget", "capacity": 4.0, "deposit": 0.5, "cost": 1.0,
        "floor_per_second": 0.0, "tokens": 4.0, "full_in_ns": 0, "locked": false,
    });
    assert_eq!(shown, expected);
}

#[test]
fn a_breaker_is_made_opened_shown_and_closed() {
    let folder = folder(&[]);
    let folder = folder.path();
    let settings = ["--failures", "2", "--recovery", "1h", "--probes", "3"];
    let made = works(folder, &[&["shared", "create", "breaker", "b"], &settings[..]].concat());
    assert_eq!(
        made,
        "b: breaker, closed\n  2 failed attempts in a row open it for 1h; then 3 probes decide\n"
    );
    let run = |command: &str| {
        redial(folder, &["run", "-q", "-n", "1", "--breaker", "b", "--", command]).status.code()
    };
    assert_eq!(run("false"), Some(1));
    let text = works(folder, &["shared", "show", "b"]);
    assert!(text.contains("breaker, closed, after 1 of 2 failed attempts in a row\n"), "{text}");
    assert_eq!((run("false"), run("true")), (Some(1), Some(75)));
    let text = works(folder, &["shared", "show", "b"]);
    assert!(text.starts_with("b: breaker, open for "), "{text}");
    let shown = json(folder, "b");
    assert_eq!((&shown["state"], &shown["failed"]), (&"open".into(), &0.into()));
    let left = shown["open_for_ns"].as_u64().unwrap();
    assert!(left > 0 && left <= 3_600_000_000_000, "{left}");
    let text = works(folder, &["shared", "reset", "b"]);
    assert!(text.starts_with("b: breaker, closed; before: open for "), "{text}");
    assert_eq!(run("true"), Some(0));
    let expected = serde_json::json!({
        "file": "b", "kind": "breaker", "failures": 2, "recovery_seconds": 3600.0, "probes": 3,
        "state": "closed", "failed": 0, "open_for_ns": null, "succeeded": 0, "running": 0,
        "locked": false,
    });
    assert_eq!(json(folder, "b"), expected);
}

/// A run that has begun, and ends when it is told how.
struct Running {
    child: Child,
}

impl Running {
    fn start(folder: &Path) -> Self {
        let script = "echo ready; read code; exit $code";
        let flags = ["run", "-q", "-n", "1", "--stdin", "inherit", "--breaker", "b", "--"];
        let mut command = command(folder, &[&flags[..], &["sh", "-c", script]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { child }
    }

    fn end(mut self, code: u8) -> Option<i32> {
        writeln!(self.child.stdin.take().unwrap(), "{code}").unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn who_runs_while_a_breaker_is_reset_goes_on_unharmed() {
    let folder = folder(&[]);
    let folder = folder.path();
    let half_open = r#"{"redial":"breaker","failures":1,"state":"half-open"}"#;
    fs::write(folder.join("b"), half_open).unwrap();
    let text = works(folder, &["shared", "show", "b"]);
    assert!(text.contains("half open; the next attempt is a probe\n"), "{text}");
    let probe = Running::start(folder);
    let text = works(folder, &["shared", "show", "b"]);
    assert!(text.contains("half open; a probe is running\n"), "{text}");
    assert_eq!(json(folder, "b")["running"], 1);
    works(folder, &["shared", "reset", "b"]);
    // Others are admitted at once; what the probe finds is of an earlier time.
    let other = Running::start(folder);
    assert_eq!(probe.end(7), Some(7));
    assert_eq!(json(folder, "b")["state"], "closed");
    assert_eq!(other.end(0), Some(0));
    assert_eq!(
        (&json(folder, "b")["state"], &json(folder, "b")["failed"]),
        (&"closed".into(), &0.into())
    );
}

#[test]
fn who_looks_makes_nothing_and_changes_nothing() {
    let folder = folder(&[]);
    let folder = folder.path();
    for verb in ["show", "reset"] {
        refused(folder, &["shared", verb, "absent"], "error: ");
        refused(folder, &["shared", verb, "absent"], "absent: there is no such file\n");
    }
    assert!(!folder.join("absent").exists());
    // Also not the spaces and the defaults that a run would fill in.
    let text = r#"{"redial": "budget", "capacity": 7}"#;
    fs::write(folder.join("b"), text).unwrap();
    let before = fs::metadata(folder.join("b")).unwrap().modified().unwrap();
    fs::set_permissions(folder.join("b"), std::os::unix::fs::PermissionsExt::from_mode(0o444))
        .unwrap();
    assert_eq!(json(folder, "b")["capacity"], 7.0);
    assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), text);
    assert_eq!(fs::metadata(folder.join("b")).unwrap().modified().unwrap(), before);
}

#[test]
fn what_is_no_shared_file_is_refused_and_left_alone_and_the_others_have_their_turn() {
    let folder = folder(&[]);
    let folder = folder.path();
    for (text, words) in [
        ("", "f: it is empty; "),
        ("\0\0\0", "f: it is empty; "),
        ("hello", "f: it is no budget or breaker of redial: expected value at line 1 column 1"),
        ("{}", "f: it is no budget or breaker of redial: missing field `redial`"),
        (r#"{"redial":"policy"}"#, r#"f: it holds "redial": "policy", which is no budget or "#),
        (r#"{"redial":"budget","v":2}"#, "f: it is of version 2, and this redial reads version 1"),
        (r#"{"redial":"budget","cost":101}"#, "f: budget: a retry that costs more than the "),
        (r#"{"redial":"budget","capcity":1}"#, "f: unknown field `capcity`"),
        (r#"{"redial":"breaker","failures":0}"#, "f: breaker failures: 0 is not allowed; "),
        (r#"{"redial":"breaker","recovery_seconds":1e9}"#, "f: recovery_seconds: 1000000000 is "),
    ] {
        fs::write(folder.join("f"), text).unwrap();
        refused(folder, &["shared", "show", "f"], words);
        refused(folder, &["shared", "reset", "f"], words);
        assert_eq!(fs::read_to_string(folder.join("f")).unwrap(), text);
    }
    refused(folder, &["shared", "show", "."], "it is a directory; name a file in it");
    refused(folder, &["shared", "show", "/dev/null"], "it is a pipe or a device");
    refused(folder, &["shared", "show"], "FILE");
    works(folder, &["shared", "create", "budget", "b"]);
    works(folder, &["shared", "create", "breaker", "c"]);
    let output = redial(folder, &["shared", "show", "--json", "b", "f", "absent", "c"]);
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(stderr(&output).matches("error: ").count(), 2, "{}", stderr(&output));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let kinds: Vec<_> =
        shown["shared"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["budget", "breaker"]);
}

#[test]
fn a_file_that_is_there_is_not_made_again() {
    let folder = folder(&[]);
    let folder = folder.path();
    works(folder, &["shared", "create", "budget", "b", "--capacity", "5"]);
    for kind in ["budget", "breaker"] {
        refused(folder, &["shared", "create", kind, "b"], "b: it is there already; redial shared ");
    }
    assert_eq!(json(folder, "b")["capacity"], 5.0);
    // One that was only made readable for all is.
    fs::write(folder.join("empty"), "").unwrap();
    works(folder, &["shared", "create", "breaker", "empty"]);
    refused(folder, &["shared", "create", "budget", "absent/b"], "make its directory first");
}

#[test]
fn every_setting_at_its_ends() {
    let folder = folder(&[]);
    let folder = folder.path();
    for (kind, flag, bad, words) in [
        ("budget", "--capacity", "-1", "budget capacity: -1 is out of range"),
        ("budget", "--capacity", "NaN", "budget capacity: NaN is out of range"),
        ("budget", "--capacity", "inf", "budget capacity: infinity is out of range"),
        ("budget", "--capacity", "1000000000", "budget capacity: 1000000000 is out of range"),
        ("budget", "--capacity", "0", "budget: a retry that costs more than the capacity"),
        ("budget", "--capacity", "1e-10", "is out of range"),
        ("budget", "--capacity", "many", "--capacity"),
        ("budget", "--deposit", "-0.1", "budget deposit: -0.1 is out of range"),
        ("budget", "--cost", "101", "budget: a retry that costs more than the capacity"),
        ("budget", "--cost", "-1", "budget cost: -1 is out of range"),
        ("budget", "--floor-per-second", "-1", "budget floor per second: -1 is out of range"),
        ("breaker", "--failures", "0", "breaker failures: 0 is not allowed"),
        ("breaker", "--failures", "-1", "--failures"),
        ("breaker", "--failures", "4294967296", "--failures"),
        ("breaker", "--failures", "2.5", "--failures"),
        ("breaker", "--probes", "0", "breaker probes: 0 is not allowed"),
        ("breaker", "--probes", "1001", "probes: 1001 are too many; use at most 1000"),
        ("breaker", "--recovery", "5", "--recovery: `5` is not a duration"),
        ("breaker", "--recovery", "-5s", "--recovery: `-5s` is not a duration"),
        ("breaker", "--recovery", "5000d", "recovery_seconds: 432000000 is out of range"),
        ("breaker", "--recovery", "999999999.59d", "is out of range"),
    ] {
        refused(folder, &["shared", "create", kind, "f", flag, bad], words);
        assert!(!folder.join("f").exists(), "{flag} {bad}");
    }
    let nothing = ["--deposit", "0", "--floor-per-second", "0"];
    let create = ["shared", "create", "budget", "f"];
    refused(folder, &[&create[..], &nothing].concat(), "an empty budget never refills");
    for (at, (kind, flag, good)) in [
        ("budget", "--capacity", "999999999.5"),
        ("budget", "--capacity", "1"),
        ("budget", "--deposit", "0"),
        ("budget", "--deposit", "0.000000001"),
        ("budget", "--cost", "0"),
        ("budget", "--cost", "0.000000001"),
        ("budget", "--floor-per-second", "0"),
        ("budget", "--floor-per-second", "0.000000001"),
        ("budget", "--floor-per-second", "999999999.5"),
        ("breaker", "--failures", "1"),
        ("breaker", "--failures", "4294967295"),
        ("breaker", "--probes", "1000"),
        ("breaker", "--recovery", "0s"),
        ("breaker", "--recovery", "1ns"),
        ("breaker", "--recovery", "4d"),
        ("breaker", "--recovery", "1460d"),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("good{at}");
        works(folder, &["shared", "create", kind, &file, flag, good]);
        // What was made can be used, shown and reset.
        let used = redial(folder, &["run", "-q", &format!("--{kind}"), &file, "--", "true"]);
        assert_eq!((used.status.code(), stderr(&used)), (Some(0), ""), "{flag} {good}");
        works(folder, &["shared", "show", &file]);
        works(folder, &["shared", "reset", &file]);
    }
}

#[test]
fn who_looks_does_not_wait_for_ever_for_a_lock() {
    let folder = folder(&[]);
    let folder = folder.path();
    works(folder, &["shared", "create", "breaker", "b"]);
    // As a process that was stopped in the middle of a change.
    let file = fs::OpenOptions::new().write(true).open(folder.join("b")).unwrap();
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let output = redial(folder, &["shared", "show", "--json", "b"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("note: b: another process has held its lock for 1 s"));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let shown = &shown["shared"][0];
    assert_eq!((&shown["state"], &shown["locked"]), (&"closed".into(), &true.into()));
    drop(file);
    assert_eq!(json(folder, "b")["locked"], false);
}

#[test]
fn the_help_of_each_part_is_there() {
    let folder = folder(&[]);
    for words in [
        &["help", "shared"][..],
        &["shared", "--help"],
        &["help", "shared", "show"],
        &["help", "shared", "create"],
        &["help", "shared", "create", "budget"],
        &["help", "shared", "create", "breaker"],
        &["shared", "create", "budget", "--help"],
        &["man", "shared"],
    ] {
        assert!(!works(folder.path(), words).is_empty(), "{words:?}");
    }
    refused(folder.path(), &["help", "shared", "delete"], "there are show, reset, create");
    refused(folder.path(), &["help", "shared", "create", "queue"], "there are budget, breaker");
    refused(folder.path(), &["help", "shared", "show", "all"], "it has no subcommands");
    refused(folder.path(), &["help", "plan", "all"], "there is no help about plan all");
    for shell in ["bash", "zsh"] {
        let script = works(folder.path(), &["completions", shell]);
        assert!(script.contains("floor-per-second"), "{shell}");
    }
}
