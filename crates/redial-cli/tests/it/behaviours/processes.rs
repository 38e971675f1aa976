//! What an attempt leaves behind, and what it is given.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::fourteen::{LONG, first_process, namespace};
use crate::clock::{PASSING, on_clock};
use crate::kernel::{Process, Told, send, until};
use crate::stage::{Stage, of_kind, started};
use crate::tool::{quoted, redial, redial_on};

/// Ways to have a process that is not one's child.
const BACKGROUND: [&str; 4] = [
    "sleep 9998 &",
    "setsid sleep 9998 &",
    "(sleep 9998 &);",
    "(setsid sh -c '(setsid sleep 9998 &)' &);",
];

#[test]
fn a_failed_attempt_leaves_nothing_and_its_successor_finds_nothing() -> Told<()> {
    for background in BACKGROUND {
        let stage = Stage::new();
        let script = format!("{background} sleep 0.05; echo $REDIAL_ATTEMPT >bell; exit 3");
        let mut started = stage.start(&redial("-n 3 -d 300ms --events events", &script));
        for attempt in ["1", "2", "3"] {
            stage.hear_that(attempt)?;
            // During the delay redial itself is all there is.
            assert!(
                until(stage.patience, || stage.alive().len() <= 1),
                "{background}: {:?}",
                stage.alive()
            );
        }
        assert_eq!(started.end(stage.patience)?.code(), 3, "{background}");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_command_that_succeeds_may_leave_its_daemon() -> Told<()> {
    let rows = BACKGROUND.map(|background| (background, "")).into_iter();
    // A guard kills all that it started when redial is gone, but for this.
    for (background, flag) in rows.chain([(BACKGROUND[0], "--guard"), (BACKGROUND[3], "--guard")]) {
        let stage = Stage::new();
        let script = format!("{background} echo there; exit 0");
        let ended = stage.run(&redial(&format!("-n 3 -d 1ms {flag}"), &script))?;
        assert_eq!(ended.code(), 0, "{background} {flag}: {}", stage.scene());
        let there = || stage.alive().iter().any(|one| one.command == LONG);
        assert!(until(stage.patience, there), "{background}: {}", stage.scene());
        assert_eq!(stage.text("out"), "there\n");
    }
    Ok(())
}

#[test]
fn with_a_guard_not_even_a_kill_of_redial_leaves_anything() -> Told<()> {
    for background in BACKGROUND {
        let stage = Stage::new();
        let script = format!("{background} echo there >bell; sleep 9998");
        let mut started = stage.start(&redial("-n 3 --guard", &script));
        stage.hear_that("there")?;
        started.signal(Signal::KILL);
        started.end(stage.patience)?;
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_guard_changes_nothing_else() -> Told<()> {
    let stage = Stage::new();
    let ended = stage.run(&redial("-n 3 -d 1ms --guard --output hold", "cat; exit 3"))?;
    assert_eq!(ended.code(), 3, "{}", stage.scene());
    let stage = Stage::new();
    let script = "echo attempt $REDIAL_ATTEMPT; test $REDIAL_ATTEMPT -eq 2";
    let ended = stage.run(&redial("-n 3 -d 1ms --guard", script))?;
    assert_eq!(ended.code(), 0, "{}", stage.scene());
    assert_eq!(stage.text("out"), "attempt 1\nattempt 2\n");
    stage.nothing_is_left()
}

#[test]
fn a_daemon_keeps_no_watched_stream_open() -> Told<()> {
    let rows = [
        ("-n 1 --stop-on stdout:/never/", 0),
        ("-n 1 --stop-on stderr:/never/", 0),
        ("-n 1 --output hold", 0),
        ("-n 3 -d 1ms --stop-on stdout:/never/", 3),
        ("-n 3 -d 1ms --stop-on stdout:/never/ --output hold", 3),
    ];
    for (flags, code) in rows {
        let stage = Stage::new();
        let script = format!("setsid {LONG} & echo there; echo there >&2; exit {code}");
        let mut command = stage.command(&redial(flags, &script));
        // A pipe, whose other end a daemon keeps open too.
        let (mut reader, writer) = std::io::pipe().unwrap();
        command.stdout(writer);
        let mut started = started(&mut command);
        drop(command);
        // Who waits for the stream's end waits for the daemon's, for hours.
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.code(), code, "{flags}: {}", stage.scene());
        let mut out = [0; 100];
        let length = std::io::Read::read(&mut reader, &mut out).unwrap();
        assert!(out[..length].starts_with(b"there\n"), "{flags}");
        assert!(stage.text("err").contains("there\n"), "{flags}");
    }
    Ok(())
}

#[test]
fn a_timeout_leaves_nothing_however_it_was_started() -> Told<()> {
    for background in BACKGROUND {
        let stage = Stage::new();
        let script = format!("echo . >>attempts; {background} truncate -s +300 clock; sleep 9997");
        let ended = stage.run(&on_clock(&stage, &redial("-n 2 -d 0s -t 300ms", &script)))?;
        assert_eq!(ended.code(), 124, "{background}: {}", stage.scene());
        assert_eq!(stage.attempts(), 2, "{background}");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_timeout_ends_a_tree_that_ignores_term() -> Told<()> {
    let stage = Stage::new();
    let script =
        format!("trap '' TERM; setsid sleep 9998 & (setsid sleep 9998 &); sleep 9998 & {PASSING}");
    let line = redial("-n 2 -d 0s -t 200ms --kill-after 200ms --events events", &script);
    let ended = stage.run(&on_clock(&stage, &line))?;
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    stage.nothing_is_left()?;
    let events = stage.events()?;
    for end in of_kind(&events, "attempt.end") {
        assert_eq!(end["outcome"], "timeout");
        assert!(end["duration_ns"].as_u64() >= Some(400_000_000), "each has its grace: {end}");
    }
    Ok(())
}

#[test]
fn a_timeout_does_not_wait_for_the_grace_if_all_are_gone() -> Told<()> {
    let stage = Stage::new();
    let script = "setsid sleep 9998 & sleep 9998 & wait";
    let ended = stage.run(&redial("-n 1 -t 200ms --kill-after 1h", script))?;
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    stage.nothing_is_left()
}

#[test]
fn what_is_started_while_the_others_are_told_to_end_is_told_too() -> Told<()> {
    let stage = Stage::new();
    let script = "trap 'setsid sleep 9998 & exit 0' TERM; echo ready >bell
truncate -s 200 clock; while :; do sleep 0.1; done";
    let ended = stage.run(&on_clock(&stage, &redial("-n 1 -t 200ms --kill-after 1h", script)))?;
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    stage.hear_that("ready")?;

    let mut started = stage.start(&redial("-n 3 -d 1ms --kill-after 1h", script));
    stage.hear_that("ready")?;
    started.signal(Signal::TERM);
    let ended = started.end(stage.patience)?;
    assert_eq!(ended.signal(), Some(Signal::TERM), "{ended:?}");
    stage.nothing_is_left()
}

#[test]
fn a_command_has_its_grace_to_clean_up_after_a_timeout() -> Told<()> {
    let stage = Stage::new();
    let script = "trap 'sleep 0.2; echo cleaned >cleaned; exit 0' TERM
truncate -s 200 clock; while :; do sleep 0.1; done";
    let ended = stage.run(&on_clock(&stage, &redial("-n 1 -t 200ms --kill-after 1h", script)))?;
    assert_eq!(ended.code(), 124, "it was cut, whatever it says: {}", stage.scene());
    assert!(stage.has("cleaned"));
    stage.nothing_is_left()
}

#[test]
fn a_timeout_sends_the_signal_that_was_asked_for() -> Told<()> {
    for (signal, name) in [("INT", "INT"), ("sigusr1", "USR1"), ("3", "QUIT")] {
        for limit in ["-t", "-T"] {
            let stage = Stage::new();
            let script = format!(
                "trap 'echo {name} >>told; exit 0' {name}; trap 'echo TERM >>told' TERM
truncate -s 300 clock; while :; do sleep 0.1; done"
            );
            let flags = format!("-n 1 {limit} 300ms -s {signal} --kill-after 1h --events events");
            let ended = stage.run(&on_clock(&stage, &redial(&flags, &script)))?;
            assert_eq!(ended.code(), 124, "{signal}: {}", stage.scene());
            assert_eq!(stage.text("told"), format!("{name}\n"), "{signal}: {}", stage.scene());
            let said = stage.text("err");
            assert!(said.contains(&format!("300ms ({name})")), "{said}");
            let events = stage.events()?;
            assert_eq!(of_kind(&events, "attempt.end")[0]["sent"], serde_json::json!([name]));
            stage.nothing_is_left()?;
        }
    }
    Ok(())
}

#[test]
fn a_timeout_that_is_not_heard_kills_in_the_end_whatever_its_signal() -> Told<()> {
    let stage = Stage::new();
    let script = &format!("trap '' INT TERM; setsid sleep 9998 & {PASSING}");
    let line = redial("-n 1 -t 200ms -s INT --kill-after 200ms --events events", script);
    assert_eq!(stage.run(&on_clock(&stage, &line))?.code(), 124, "{}", stage.scene());
    assert!(stage.text("err").contains("(INT, then KILL)"), "{}", stage.scene());
    let events = stage.events()?;
    let sent = &of_kind(&events, "attempt.end")[0]["sent"];
    assert_eq!(*sent, serde_json::json!(["INT", "KILL"]));
    stage.nothing_is_left()?;
    // KILL itself is not waited for.
    let flags = "-n 1 -t 200ms -s KILL --kill-after 1h";
    assert_eq!(stage.run(&redial(flags, script))?.code(), 124, "{}", stage.scene());
    stage.nothing_is_left()
}

#[test]
fn a_signal_to_redial_is_passed_on_as_it_is_whatever_a_timeout_sends() -> Told<()> {
    let stage = Stage::new();
    let script = "trap 'echo TERM >>told; exit 0' TERM; trap 'echo INT >>told' INT
echo ready >bell; while :; do sleep 0.1; done";
    let mut started = stage.start(&redial("-n 1 -t 1h -s INT", script));
    stage.hear_that("ready")?;
    started.signal(Signal::TERM);
    assert_eq!(started.end(stage.patience)?.signal(), Some(Signal::TERM));
    assert_eq!(stage.text("told"), "TERM\n");
    stage.nothing_is_left()
}

#[test]
fn a_timeout_ends_a_command_that_is_stopped() -> Told<()> {
    let stage = Stage::new();
    let ended = stage.run(&redial("-n 1 -t 200ms --kill-after 1h", "kill -STOP $$"))?;
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    // It was told to go on, or it would not have heard of its end.
    stage.nothing_is_left()
}

#[test]
fn a_timeout_catches_what_runs_away() -> Told<()> {
    let stage = Stage::new();
    // Each has a successor in a session of its own, and is gone: as long as the folder is there.
    stage.write("rabbit", "test -e go || exit\ntruncate -s +10 clock\nsetsid sh rabbit &\n");
    stage.write("go", "");
    let script = "echo . >>attempts; sh rabbit; sleep 9997";
    let line = redial("-n 2 -d 0s -t 300ms --kill-after 300ms", script);
    let ended = stage.run(&on_clock(&stage, &line))?;
    let left = stage.alive();
    std::fs::remove_file(stage.path("go")).unwrap();
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(stage.attempts(), 2);
    Ok(())
}

#[test]
fn what_the_caller_had_before_is_left_alone() -> Told<()> {
    // A process of the same group, and one that is redial's own child, from before the shell became redial.
    for (before, flags, code) in [
        ("", "-n 2 -d 1ms", 3),
        ("exec", "-n 2 -d 1ms", 3),
        ("", "-n 1 -t 200ms", 124),
        ("exec", "-n 1 -t 200ms", 124),
    ] {
        let stage = Stage::new();
        let script =
            if code == 3 { "setsid sleep 9997 & exit 3" } else { "setsid sleep 9997 & sleep 9997" };
        let line = quoted(&redial(flags, script));
        let ended = stage.run(&["sh", "-c", &format!("{LONG} & {before} {line}")])?;
        assert_eq!(ended.code(), code, "{before} {flags}: {}", stage.scene());
        let only = || matches!(&stage.alive()[..], [one] if one.command == LONG);
        assert!(until(stage.patience, only), "{before} {flags}: {}", stage.scene());
    }
    Ok(())
}

#[test]
fn a_child_from_before_that_ends_is_not_taken_for_the_command() -> Told<()> {
    let stage = Stage::new();
    let line = quoted(&redial("-n 1", "echo ready >bell; read word <gate; exit 5"));
    let script = format!("sh -c 'read word <early; exit 7' & exec {line}");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        stage.path("early"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let mut started = stage.start(&["sh", "-c", &script]);
    stage.hear_that("ready")?;
    stage.write("early", "go\n");
    assert!(!started.ends(Duration::from_millis(200)), "{}", stage.scene());
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 5);
    Ok(())
}

fn has_zombies(parent: u32) -> bool {
    Process::all().any(|one| one.parent == parent && one.state == 'Z')
}

#[test]
fn no_zombies_after_many_attempts() -> Told<()> {
    let stage = Stage::new();
    let script = "test $REDIAL_ATTEMPT = 40 || { (true &); true & exit 1; }
echo ready >bell; read word <gate";
    let mut started = stage.start(&redial("-n 40 -d 1ms", script));
    stage.hear_that("ready")?;
    assert!(until(stage.patience, || !has_zombies(started.pid())));
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn no_zombies_while_one_command_leaves_orphan_after_orphan() -> Told<()> {
    let stage = Stage::new();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (true &); done; echo ready >bell; read word <gate";
    let mut started = stage.start(&redial("-n 1", script));
    stage.hear_that("ready")?;
    assert!(until(stage.patience, || !has_zombies(started.pid())));
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn as_pid_1_the_delay_ends_and_nothing_else_runs() -> Told<()> {
    let Some(unshare) = namespace_or_say() else { return Ok(()) };
    let stage = Stage::new();
    let line = redial("-n 3 -d 1h --events events", "(sleep 9998 &); exit 1");
    let mut started = stage.start(&[unshare, line].concat());
    assert!(until(stage.patience, || stage.text("events").contains("\"decision\"")));
    let first = first_process(&started).unwrap();
    assert!(until(stage.patience, || stage.alive().iter().all(|one| one.command != LONG)));
    send(first, Signal::TERM);
    assert_eq!(started.end(stage.patience)?.code(), 143, "{}", stage.scene());
    stage.nothing_is_left()
}

#[test]
fn as_pid_1_the_commands_code_and_the_timeout_come_out() -> Told<()> {
    let Some(unshare) = namespace_or_say() else { return Ok(()) };
    for (flags, script, code) in [
        ("-n 2 -d 1ms", "exit 7", 7),
        ("-n 2 -d 1ms", "kill -KILL $$", 137),
        ("-n 2 -d 1ms -t 200ms", "setsid sleep 9998 & sleep 9998", 124),
        ("-n 2 -d 1ms", "test $REDIAL_ATTEMPT = 2", 0),
    ] {
        let stage = Stage::new();
        let ended = stage.run(&[unshare.clone(), redial(flags, script)].concat())?;
        assert_eq!(ended.code(), code, "{flags} {script}: {}", stage.scene());
        stage.nothing_is_left()?;
    }
    Ok(())
}

fn namespace_or_say() -> Option<Vec<String>> {
    match namespace() {
        Ok(unshare) => Some(unshare.clone()),
        #[expect(clippy::print_stderr, reason = "a test that did not look says so")]
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

#[test]
fn the_command_has_no_descriptor_that_it_would_not_have_without_redial() -> Told<()> {
    let stage = Stage::new();
    let list = "ls -l /proc/self/fd | sed 's/.* \\([0-9]* -> \\)/\\1/; /total/d; /proc/d'";
    stage.write("seven", "");
    // 7 is one that the caller has given: it is passed on.
    let given = |line: &[String]| {
        let line = format!("exec {} 7<seven </dev/null >out 2>err", quoted(line));
        ["bash".to_owned(), "-c".to_owned(), line]
    };
    let listed = |line: &[String]| -> Told<String> {
        let ended = stage.run(&given(line))?;
        assert_eq!(ended.code(), 0, "{}", stage.scene());
        let out = stage.text("out");
        let numbers: Vec<&str> = out.lines().map(|line| line.split(' ').next().unwrap()).collect();
        Ok(numbers.join(" "))
    };
    let without = listed(&["sh", "-c", list].map(str::to_owned))?;
    assert!(without.ends_with('7'), "{without}");
    for flags in [
        "-n 1",
        "-n 1 -t 1h -T 1h --events events",
        "-n 1 --stop-on stdout:/never/ --stop-on stderr:/never/",
        "-n 1 --output hold",
    ] {
        assert_eq!(listed(&redial(flags, list))?, without, "{flags}: {}", stage.text("out"));
    }
    // On a later attempt either.
    let later = format!("test $REDIAL_ATTEMPT = 3 || exit 1; {list}");
    let flags = "-n 3 -d 1ms --events events --stop-on stdout:/never/ --output hold";
    assert_eq!(listed(&redial(flags, &later))?, without, "{}", stage.text("out"));
    Ok(())
}

#[test]
fn the_command_has_the_limits_and_the_rest_that_it_would_have_without_redial() -> Told<()> {
    let stage = Stage::new();
    let show = "cat /proc/self/limits /proc/self/oom_score_adj; umask; nice; pwd; env | sort |
grep -v -e ^_= -e ^REDIAL_ -e ^PWD= -e ^OLDPWD= -e ^SHLVL=
grep -e ^Umask -e ^NoNewPrivs -e ^Seccomp: -e ^Cap -e ^Uid -e ^Groups /proc/self/status";
    assert_eq!(stage.run(&["sh", "-c", show])?.code(), 0);
    let without = stage.text("out");
    for flags in ["-n 1", "-n 1 -t 1h --stop-on stdout:/never/ --events events --output hold"] {
        assert_eq!(stage.run(&redial(flags, show))?.code(), 0, "{}", stage.scene());
        assert_eq!(stage.text("out"), without, "{flags}");
    }
    Ok(())
}

#[test]
fn a_timeout_works_where_proc_is_another_namespaces() -> Told<()> {
    let Some(mut unshare) = namespace_or_say() else { return Ok(()) };
    unshare.retain(|word| word != "--mount-proc");
    // Its numbers are not the ones that processes have here.
    let stage = Stage::new();
    let script = "echo . >>attempts; truncate -s +200 clock; exec sleep 9998";
    let line = on_clock(&stage, &redial("-n 2 -d 0s -t 200ms --kill-after 200ms", script));
    let ended = stage.run(&[unshare, line].concat())?;
    assert_eq!(ended.code(), 124, "{}", stage.scene());
    assert_eq!(stage.attempts(), 2);
    stage.nothing_is_left()
}

#[test]
fn redial_keeps_no_descriptor_from_one_attempt_to_the_next() -> Told<()> {
    let stage = Stage::new();
    let script = "ls /proc/$PPID/fd | wc -l >>counts; test $REDIAL_ATTEMPT = 20";
    for flags in ["", "--events events --stop-on stdout:/never/ --stop-on stderr:/never/"] {
        let mut command = stage.command(&redial(&format!("-n 20 -d 1ms {flags}"), script));
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdin(reader);
        drop(writer);
        stage.create("counts");
        assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
        let counts = stage.text("counts");
        let counts: Vec<u32> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
        assert_eq!(counts.len(), 20, "{flags}");
        // The ends that are the command's may not be closed yet.
        assert!(counts[19] <= counts[1] + 6, "{flags}: {counts:?}");
    }
    Ok(())
}

#[test]
fn arguments_come_as_they_are() -> Told<()> {
    let stage = Stage::new();
    let odd: [&[u8]; 8] =
        [b"", b" ", b"a b", b"'\"$HOME`id`\\", b"line\nline", b"\xff\xfe", b"--help", b"-n"];
    let mut command = stage.command(&redial_on("-n 1", &["printf", "%s\\0"]));
    command.args(odd.map(OsStr::from_bytes));
    assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
    let expected: Vec<u8> = odd.iter().flat_map(|one| [one, &b"\0"[..]].concat()).collect();
    assert_eq!(stage.bytes("out"), expected);
    Ok(())
}

#[test]
fn the_command_is_told_which_attempt_it_is() -> Told<()> {
    let stage = Stage::new();
    let script = "echo $REDIAL_ATTEMPT $REDIAL_ATTEMPTS ${REDIAL_LAST_EXIT-none}
echo $REDIAL_RUN_ID >>runs
test $REDIAL_ATTEMPT = 3 || exit $((REDIAL_ATTEMPT + 10))";
    let ended = stage.run(&redial("-n 4 -d 1ms --events events", script))?;
    assert_eq!(ended.code(), 0, "{}", stage.scene());
    let out = stage.text("out");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("1 4"), "{out}");
    assert_eq!(lines[1..], ["2 4 11", "3 4 12"]);
    let run = stage.events()?[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(stage.text("runs"), format!("{run}\n").repeat(3));
    Ok(())
}

#[test]
fn the_command_may_say_when_and_whether() -> Told<()> {
    let stage = Stage::new();
    let script = "echo . >>attempts
case $REDIAL_ATTEMPT in
1) echo retry-after 20ms >\"$REDIAL_CONTROL\";;
2) echo stop >\"$REDIAL_CONTROL\";;
esac
exit 9";
    let ended = stage.run(&redial("-n 5 -d 1h --events events", script))?;
    assert_eq!(ended.code(), 9, "{}", stage.scene());
    assert_eq!(stage.attempts(), 2);
    let events = stage.events()?;
    let decisions = of_kind(&events, "decision");
    assert_eq!(decisions[0]["delay_source"], "control");
    assert_eq!(decisions[0]["delay_ns"], 20_000_000);
    assert_eq!(decisions[1]["action"], "stop");
    Ok(())
}

#[test]
fn redial_sleeps_while_it_waits() -> Told<()> {
    let stage = Stage::new();
    // A run of nothing but waiting: for the command with a timeout and a watched stream, and for the delay.
    let flags = "-n 2 -d 500ms -t 1h -T 1h --stop-on stdout:/never/";
    let script = "sleep 0.5; cat /proc/$PPID/status >status; test $REDIAL_ATTEMPT = 2";
    let began = Instant::now();
    assert_eq!(stage.run(&redial(flags, script))?.code(), 0, "{}", stage.scene());
    assert!(began.elapsed() >= Duration::from_millis(1500));
    let status = stage.text("status");
    let switches = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
    let switches: u32 = switches.unwrap().rsplit('\t').next().unwrap().parse().unwrap();
    // Once a wait, and some for files: who polls every 10 ms has 150.
    assert!(switches < 60, "{switches} times awake in 1.5 s");
    Ok(())
}

#[test]
fn closed_streams_are_none_of_redials_business() -> Told<()> {
    let stage = Stage::new();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        for flags in ["-n 2 -d 1ms", "-n 2 -d 1ms --stop-on stdout:/never/ --events events"] {
            let line = quoted(&redial(flags, "test $REDIAL_ATTEMPT = 2"));
            let ended = stage.run(&["sh", "-c", &format!("rm -f events; {line} {closed}")])?;
            assert_eq!(ended.code(), 0, "{flags} {closed}: {}", stage.scene());
            stage.events()?;
        }
    }
    Ok(())
}
