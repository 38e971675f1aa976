//! What redial exits with, and by.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::clock::on_clock;
use crate::kernel::Told;
use crate::program::{REDIAL, install};
use crate::stage::{Stage, kinds, of_kind};
use crate::tool::{redial, redial_on};

/// A command that has been there, and then takes too long.
const LATE: &str = "truncate -s +1000 clock; sleep 9998";

#[track_caller]
fn exits(flags: &str, script: &str, code: i32, attempts: usize) -> Told<()> {
    let stage = Stage::new();
    let script = format!("echo . >>attempts; {script}");
    // Whoever is cut says when: no attempt is so slow that it comes to nothing before.
    let line = redial(flags, &script);
    let line = if script.contains("clock") { on_clock(&stage, &line) } else { line };
    let ended = stage.run(&line)?;
    assert_eq!(ended.status.code(), Some(code), "{flags} {script}: {}", stage.scene());
    assert_eq!(stage.attempts(), attempts, "{flags} {script}: {}", stage.scene());
    stage.nothing_is_left()
}

#[test]
fn the_commands_own_code_comes_out() -> Told<()> {
    exits("-n 2 -d 1ms", "exit 0", 0, 1)?;
    for code in [1, 2, 7, 64, 75, 99, 124, 125, 126, 127, 128, 130, 137, 143, 254, 255] {
        exits("-n 2 -d 1ms", &format!("exit {code}"), code, 2)?;
    }
    exits("-n 3 -d 1ms", "test $REDIAL_ATTEMPT = 3", 0, 3)?;
    // The last one's, not the first's.
    exits("-n 3 -d 1ms", "exit $((REDIAL_ATTEMPT + 20))", 23, 3)
}

#[test]
fn a_command_that_dies_of_a_signal_is_128_and_the_signal() -> Told<()> {
    let signals =
        [("INT", 2), ("TERM", 15), ("KILL", 9), ("HUP", 1), ("QUIT", 3), ("SEGV", 11), ("34", 34)];
    for (name, number) in signals {
        // Its own death is a failure like another; redial was not signalled.
        exits("-n 2 -d 1ms", &format!("kill -{name} $$"), 128 + number, 2)?;
    }
    exits("-n 3 -d 1ms --stop-on signal:SEGV", "kill -SEGV $$", 139, 1)
}

#[test]
fn a_command_that_cannot_be_started_is_126_or_127_and_not_tried_again() -> Told<()> {
    let stage = Stage::new();
    stage.write("plain", "#!/bin/sh\n");
    fs::set_permissions(stage.path("plain"), fs::Permissions::from_mode(0o644)).unwrap();
    for (command, code) in [
        ("./plain", 126),
        ("/", 126),
        ("no-such-command-9731", 127),
        ("./no-such-command", 127),
        ("/no/such/command", 127),
    ] {
        for flags in
            ["-n 3 -d 1ms --events events", "-n 3 -d 1ms --retry-on exit:7 --events events"]
        {
            let _ = fs::remove_file(stage.path("events"));
            let ended = stage.run(&redial_on(flags, &[command]))?;
            assert_eq!(ended.status.code(), Some(code), "{command}: {}", stage.scene());
            assert!(stage.text("err").contains(command), "{command}: {}", stage.scene());
            let events = stage.events()?;
            let ends = of_kind(&events, "attempt.end");
            assert_eq!(ends.len(), 1, "{command} {flags}: {events:?}");
            assert_eq!(ends[0]["outcome"], "spawn_error", "{command}");
        }
        let _ = fs::remove_file(stage.path("events"));
        let flags = "-n 3 -d 1ms --retry-on spawn --events events";
        let ended = stage.run(&redial_on(flags, &[command]))?;
        assert_eq!(ended.status.code(), Some(code), "{command}: {}", stage.scene());
        assert_eq!(of_kind(&stage.events()?, "attempt.end").len(), 3, "{command}");
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_open_files_is_redials_own_trouble_and_not_the_commands() -> Told<()> {
    let stage = Stage::new();
    let mut told = String::new();
    for files in 4..16 {
        let line = redial_on("-n 2 -d 1ms --guard", &["true"]);
        let mut limited = vec!["sh".into(), "-c".into()];
        limited.extend([format!("ulimit -n {files} && exec \"$@\""), "sh".into()]);
        limited.extend(line);
        let code = stage.run(&limited)?.code();
        assert!(matches!(code, 0 | 125), "{files}: {code}; {}", stage.scene());
        told += &stage.text("err");
    }
    // With as many as redial itself needs, and fewer than its guard does.
    let expected =
        "attempt 1/2: cannot start the command: too many open files (EMFILE); raise ulimit -n";
    assert!(told.contains(expected), "{told}");
    Ok(())
}

#[test]
fn a_command_that_comes_to_be_there_is_found() -> Told<()> {
    let stage = Stage::new();
    let mut started =
        stage.start(&redial_on("-n 1000 -d 20ms --retry-on spawn --events events", &["./later"]));
    assert!(crate::kernel::until(stage.patience, || stage.text("events").contains("decision")));
    install(&stage.path("new"), "#!/bin/sh\necho there\n");
    fs::rename(stage.path("new"), stage.path("later")).unwrap();
    assert_eq!(started.end(stage.patience)?.code(), 0, "{}", stage.scene());
    assert_eq!(stage.text("out"), "there\n");
    Ok(())
}

#[test]
fn the_timeout_and_the_deadline_are_124() -> Told<()> {
    exits("-n 2 -d 0s -t 200ms", LATE, 124, 2)?;
    exits("-n 2 -d 0s -T 300ms", LATE, 124, 1)?;
    // The deadline cuts the second attempt.
    exits("-n 9 -d 0s -T 500ms", &format!("test $REDIAL_ATTEMPT = 1 && exit 4; {LATE}"), 124, 2)?;
    // A timeout that a success follows is none.
    exits("-n 2 -d 0s -t 500ms", &format!("test $REDIAL_ATTEMPT = 2 && exit 0; {LATE}"), 0, 2)?;
    // An exit after a timeout is the last attempt's.
    exits("-n 2 -d 0s -t 500ms", &format!("test $REDIAL_ATTEMPT = 2 && exit 6; {LATE}"), 6, 2)
}

#[test]
fn a_limit_between_attempts_leaves_the_commands_code_and_is_not_slept_for() -> Told<()> {
    let stage = Stage::new();
    let line = redial("-n 9 -d 2h -T 1h --events events", "exit 4");
    let ended = stage.run(&line)?;
    assert_eq!(ended.code(), 4, "{}", stage.scene());
    let events = stage.events()?;
    let names = ["run.start", "attempt.start", "attempt.end", "decision", "run.end"];
    assert_eq!(kinds(&events), names);
    assert_eq!(events[3]["action"], "stop");
    assert_eq!(events[3]["reason"], "deadline");
    exits("-n 9 -d 20s --wait-budget 10s", "exit 4", 4, 1)
}

#[test]
fn rules_decide_what_success_is_and_what_is_tried_again() -> Told<()> {
    exits("-n 2 -d 1ms --success-on exit:3", "exit 3", 0, 1)?;
    // Not a success, though it exits with 0.
    exits("-n 2 -d 1ms --success-on exit:3", "exit 0", 1, 2)?;
    exits("-n 3 -d 1ms --stop-on exit:7", "exit 7", 7, 1)?;
    exits("-n 3 -d 1ms --retry-on exit:7", "exit 8", 8, 1)?;
    exits("-n 3 -d 1ms --retry-on exit:7", "exit 7", 7, 3)?;
    exits("-n 3 -d 0s --retry-on timeout -t 150ms", LATE, 124, 3)?;
    exits("-n 3 -d 0s --stop-on timeout -t 150ms", LATE, 124, 1)?;
    exits("-n 3 -d 1ms --stop-on stderr:/fatal/", "echo fatal >&2; exit 5", 5, 1)?;
    exits("-n 3 -d 1ms --stop-on stdout:/fatal/", "echo fatal >&2; exit 5", 5, 3)
}

#[test]
fn every_reason_has_a_code_of_its_own_where_that_is_asked_for() -> Told<()> {
    let reason = |flags: &str, script: &str, code, attempts| {
        exits(&format!("--exit-codes reason {flags}"), script, code, attempts)
    };
    reason("-n 2 -d 1ms", "exit 7", 80, 2)?;
    reason("-n 2 -d 1ms", "kill -KILL $$", 80, 2)?;
    reason("-n 2 -d 0s -t 150ms", LATE, 80, 2)?;
    reason("-n 2 -d 1ms --success-on exit:3", "exit 0", 80, 2)?;
    reason("-n 2 -d 1ms --stop-on exit:7", "exit 7", 81, 1)?;
    reason("-n 2 -d 0s --stop-on timeout -t 150ms", LATE, 81, 1)?;
    reason("-n 9 -d 2h -T 1h", "exit 7", 82, 1)?;
    reason("-n 9 -d 0s -T 300ms", LATE, 82, 1)?;
    reason("-n 9 -d 20s --wait-budget 10s", "exit 7", 83, 1)?;
    reason("-n 9 -d 1ms --delay-from stdout:/([0-9]+s)/", "echo 500s; exit 7", 84, 1)?;
    reason("-n 2 -d 1ms --flaky fail", "test $REDIAL_ATTEMPT = 2", 90, 2)?;
    // What is no failure, and what has a code that everybody knows, keeps it.
    reason("-n 2 -d 1ms", "test $REDIAL_ATTEMPT = 2", 0, 2)?;
    let stage = Stage::new();
    for (command, code) in [("./no-such-command", 127), ("/", 126)] {
        let ended = stage.run(&redial_on("--exit-codes reason", &[command]))?;
        assert_eq!(ended.status.code(), Some(code), "{command}: {}", stage.scene());
    }
    Ok(())
}

#[test]
fn an_empty_budget_and_an_open_breaker_have_codes_of_their_own_too() -> Told<()> {
    let stage = Stage::new();
    let empty = r#"{"redial": "budget", "capacity": 1, "deposit": 0.001, "floor_per_second": 0}"#;
    stage.write("budget", empty);
    let flags = "--exit-codes reason -n 3 -d 1ms --events events --budget budget";
    let ended = stage.run(&redial(flags, "exit 7"))?;
    assert_eq!(ended.status.code(), Some(85), "{}", stage.scene());
    let end = stage.events()?.pop().unwrap();
    assert_eq!((&end["reason"], &end["exit"]), (&"budget".into(), &85.into()), "{end}");

    stage.write("breaker", r#"{"redial": "breaker", "failures": 1, "recovery_seconds": 600}"#);
    let flags = "--exit-codes reason -n 3 -d 1ms --breaker breaker";
    let ended = stage.run(&redial(flags, "exit 7"))?;
    assert_eq!(ended.status.code(), Some(86), "{}", stage.scene());
    // Nothing was run: that is still another thing.
    let ended = stage.run(&redial(flags, "exit 7"))?;
    assert_eq!(ended.status.code(), Some(75), "{}", stage.scene());
    Ok(())
}

#[test]
fn bad_usage_is_125_and_nothing_runs() -> Told<()> {
    for line in [
        "",
        "-n 3",
        "-n 0 -- touch ran",
        "--no-such-flag -- touch ran",
        "-t soon -- touch ran",
        "--stop-on stdout:/(/ -- touch ran",
        "--stop-on exot:3 -- touch ran",
        "--events /no/such/folder/events -- touch ran",
        "--events / -- touch ran",
        "--policy no-such-file -- touch ran",
        "--kill-after -1s -- touch ran",
        "--output backwards -- touch ran",
        "--exit-codes backwards -- touch ran",
        "--signal STOP -- touch ran",
        "--signal 0 -- touch ran",
        "-s INTR -- touch ran",
    ] {
        let stage = Stage::new();
        let line = format!("{} run {line}", REDIAL);
        let words: Vec<&str> = line.split_whitespace().collect();
        let ended = stage.run(&words)?;
        assert_eq!(ended.status.code(), Some(125), "{line}: {}", stage.scene());
        assert!(!stage.text("err").is_empty(), "{line}");
        assert_eq!(stage.text("out"), "", "{line}");
        assert!(!stage.has("ran"), "{line}");
    }
    Ok(())
}

#[test]
fn nothing_is_said_when_the_first_attempt_succeeds() -> Told<()> {
    let stage = Stage::new();
    for flags in ["", "-n 5 -t 1h -T 1h --stop-on stdout:/never/ --events events"] {
        assert_eq!(stage.run(&redial(flags, "echo out; echo err >&2"))?.code(), 0);
        assert_eq!(stage.text("out"), "out\n", "{flags}");
        assert_eq!(stage.text("err"), "err\n", "{flags}");
    }
    Ok(())
}

#[test]
fn one_line_is_said_for_each_failure_and_none_with_q() -> Told<()> {
    let stage = Stage::new();
    stage.run(&redial("-n 3 -d 1ms", "echo out; exit 7"))?;
    assert_eq!(stage.text("out"), "out\nout\nout\n", "what redial says is no output");
    let said = stage.text("err");
    assert!(said.lines().count() >= 3, "{said}");
    assert!(!said.contains('\x1b') && !said.contains('\r'), "{said:?}");
    stage.run(&redial("-q -n 3 -d 1ms", "exit 7"))?;
    assert_eq!(stage.text("err"), "");
    Ok(())
}
