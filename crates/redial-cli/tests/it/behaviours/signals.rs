//! Signals that are sent to redial, and those that it was told to ignore.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::fourteen::LONG;
use crate::clock::{on_clock, pass};
use crate::kernel::{Process, Told, send, until};
use crate::stage::{Stage, kinds, of_kind};
use crate::tool::{quoted, redial, redial_on};

const ENDING: [(Signal, &str); 4] =
    [(Signal::TERM, "TERM"), (Signal::INT, "INT"), (Signal::HUP, "HUP"), (Signal::QUIT, "QUIT")];

/// A child that says when a signal comes, and goes on.
const DEAF: &str = "echo . >>attempts
trap 'echo signalled >bell' TERM INT
echo ready >bell
while :; do sleep 0.1; done";

/// Long enough to see that nothing happens.
const A_WHILE: Duration = Duration::from_millis(300);

#[test]
fn a_signal_ends_the_command_and_then_redial_by_the_same() -> Told<()> {
    for (signal, name) in ENDING {
        let stage = Stage::new();
        let script = format!("echo . >>attempts; echo ready >bell; exec {LONG}");
        let mut started = stage.start(&redial("-n 3 -d 1ms --events events", &script));
        stage.hear_that("ready")?;
        started.signal(signal);
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.signal(), Some(signal), "{name}: {ended:?}; {}", stage.scene());
        stage.nothing_is_left()?;
        assert_eq!(stage.attempts(), 1, "{name}");

        let events = stage.events()?;
        let names = ["run.start", "attempt.start", "signal", "attempt.end", "run.end"];
        assert_eq!(kinds(&events), names, "{name}");
        assert_eq!(events[2]["signal"], name);
        assert_eq!(events[2]["from"], "process", "{name}");
        assert_eq!(events[2]["forwarded"], true, "{name}");
        assert_eq!(events[3]["outcome"], "cancelled", "{name}");
        assert_eq!(events[3]["signal"], name);
        assert_eq!(events[4]["outcome"], "cancelled", "{name}");
        assert_eq!(events[4]["signal"], name);
        assert_eq!(events[4]["attempts"], 1, "{name}");
    }
    Ok(())
}

#[test]
fn a_signal_during_the_delay_ends_it_at_once() -> Told<()> {
    for (signal, name) in ENDING {
        let stage = Stage::new();
        let line = redial("-n 3 -d 1h --events events", "echo . >>attempts; exit 1");
        let mut started = stage.start(&line);
        assert!(until(stage.patience, || stage.text("events").contains("\"decision\"")));
        started.signal(signal);
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.signal(), Some(signal), "{name}: {ended:?}; {}", stage.scene());
        assert_eq!(stage.attempts(), 1, "{name}");

        let events = stage.events()?;
        let names = ["run.start", "attempt.start", "attempt.end", "decision", "signal", "run.end"];
        assert_eq!(kinds(&events), names, "{name}");
        assert_eq!(events[3]["action"], "retry");
        assert_eq!(events[4]["signal"], name);
        assert_eq!(events[4]["forwarded"], false, "{name}: there is no command");
    }
    Ok(())
}

#[test]
fn a_command_that_cleans_up_after_term_is_waited_for_whatever_it_exits_with() -> Told<()> {
    let stage = Stage::new();
    let script = "echo . >>attempts
trap 'echo cleaning >bell; read word <gate; echo cleaned >cleaned; exit 0' TERM
echo ready >bell
while :; do sleep 0.1; done";
    let mut started = stage.start(&redial("-n 3 -d 1ms --kill-after 1h", script));
    stage.hear_that("ready")?;
    started.signal(Signal::TERM);
    stage.hear_that("cleaning")?;
    assert!(!started.ends(A_WHILE), "the command is still cleaning up");
    stage.open();
    let ended = started.end(stage.patience)?;
    assert_eq!(ended.signal(), Some(Signal::TERM), "{ended:?}");
    assert!(stage.has("cleaned"));
    assert_eq!(stage.attempts(), 1);
    stage.nothing_is_left()
}

#[test]
fn a_second_term_kills_at_once() -> Told<()> {
    for second in [Signal::TERM, Signal::INT] {
        let stage = Stage::new();
        let mut started = stage.start(&redial("-n 3 -d 1ms --kill-after 1h", DEAF));
        stage.hear_that("ready")?;
        started.signal(Signal::TERM);
        stage.hear_that("signalled")?;
        assert!(!started.ends(A_WHILE), "the command has its time to clean up");
        started.signal(second);
        let ended = started.end(stage.patience)?;
        assert!([Some(Signal::TERM), Some(second)].contains(&ended.signal()), "{ended:?}");
        assert_eq!(stage.attempts(), 1);
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_command_that_ignores_term_is_killed_after_the_grace() -> Told<()> {
    let stage = Stage::new();
    let grace = Duration::from_millis(200);
    let line = redial("-n 3 -d 0s --kill-after 200ms", DEAF);
    let mut started = stage.start(&on_clock(&stage, &line));
    stage.hear_that("ready")?;
    started.signal(Signal::TERM);
    stage.hear_that("signalled")?;
    pass(&stage, grace - Duration::from_millis(1));
    assert!(!started.ends(A_WHILE), "the command has its time to clean up");
    pass(&stage, Duration::from_millis(1));
    let ended = started.end(stage.patience)?;
    assert_eq!(ended.signal(), Some(Signal::TERM), "{ended:?}");
    stage.nothing_is_left()
}

#[test]
fn term_ends_grandchildren_too() -> Told<()> {
    for start in
        ["sleep 9998 & wait", "setsid sleep 9998 & wait", "(setsid sleep 9998 &) ; sleep 9998"]
    {
        let stage = Stage::new();
        let script = format!("echo ready >bell; {start}");
        let mut started = stage.start(&redial("-n 3 -d 1ms", &script));
        stage.hear_that("ready")?;
        assert!(until(stage.patience, || {
            stage.alive().iter().any(|one| one.command == "sleep 9998")
        }));
        started.signal(Signal::TERM);
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.signal(), Some(Signal::TERM), "{start}: {ended:?}");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_signal_that_is_the_users_own_goes_to_the_command_and_the_run_goes_on() -> Told<()> {
    let stage = Stage::new();
    let script = "echo . >>attempts
trap 'echo usr1 >bell' USR1
trap 'echo usr2 >bell; exit 0' USR2
echo ready >bell
while :; do sleep 0.1; done";
    let mut started = stage.start(&redial("-n 3 -d 1ms --events events", script));
    stage.hear_that("ready")?;
    started.signal(Signal::USR1);
    stage.hear_that("usr1")?;
    started.signal(Signal::USR2);
    stage.hear_that("usr2")?;
    assert_eq!(started.end(stage.patience)?.code(), 0, "{}", stage.scene());
    assert_eq!(stage.attempts(), 1);
    let events = stage.events()?;
    let signals: Vec<_> = of_kind(&events, "signal").iter().map(|one| &one["signal"]).collect();
    assert_eq!(signals, ["USR1", "USR2"]);
    stage.nothing_is_left()
}

#[test]
fn whenever_term_comes_nothing_is_left() -> Told<()> {
    for wait in 0..40 {
        let stage = Stage::new();
        let script = "setsid sleep 9998 & test $((REDIAL_ATTEMPT % 3)) = 0 && sleep 0.01; exit 1";
        // Nobody here needs to be killed: one that is started in between is told like the others.
        let mut started = stage.start(&redial("-n 1000000 -d 1ms --kill-after 1h", script));
        // From before it has looked at its arguments to after some attempts.
        thread::sleep(Duration::from_millis(2 * wait));
        started.signal(Signal::TERM);
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.signal(), Some(Signal::TERM), "after {wait}: {}", stage.scene());
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn many_signals_at_once_are_as_one_or_two() -> Told<()> {
    let stage = Stage::new();
    let script = format!("echo ready >bell; setsid {LONG} & exec {LONG}");
    let mut started = stage.start(&redial("-n 3 -d 1ms", &script));
    stage.hear_that("ready")?;
    for _ in 0..50 {
        started.signal(Signal::TERM);
        started.signal(Signal::INT);
        started.signal(Signal::HUP);
    }
    let ended = started.end(stage.patience)?;
    assert!(ended.signal().is_some(), "{ended:?}");
    stage.nothing_is_left()
}

#[test]
fn hup_that_was_ignored_stays_ignored() -> Told<()> {
    let stage = Stage::new();
    let script = "echo ready >bell; read word <gate";
    let line = [words("env --ignore-signal=HUP"), redial("-n 3 -d 1ms", script)].concat();
    let mut started = stage.start(&line);
    stage.hear_that("ready")?;
    started.signal(Signal::HUP);
    assert!(!started.ends(A_WHILE), "as under nohup");
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn the_command_has_the_signals_that_it_would_have_without_redial() -> Told<()> {
    for environment in [
        "env",
        "env --ignore-signal=HUP,INT,QUIT,TERM",
        "env --ignore-signal=USR1,TSTP,TTIN,TTOU,WINCH",
        "env --block-signal=TERM,USR1,CHLD,WINCH,CONT",
        "env --default-signal",
    ] {
        same_signals(environment)?;
    }
    Ok(())
}

/// Below a parent that ignores them: redial needs CHLD itself, and Rust gives PIPE up.
#[test]
fn pipe_and_chld_have_their_defaults_in_the_command() -> Told<()> {
    let stage = Stage::new();
    let grep = ["grep", "^SigIgn", "/proc/self/status"];
    stage.run(&redial_on("", &grep))?;
    let without = stage.text("out");
    let environment = words("env --ignore-signal=PIPE,CHLD");
    stage.run(&[environment, redial_on("", &grep)].concat())?;
    assert_eq!(stage.text("out"), without);
    Ok(())
}

#[track_caller]
fn same_signals(environment: &str) -> Told<()> {
    let grep = ["grep", "-e", "^Sig[PBIC]", "-e", "^Shd", "/proc/self/status"];
    let stage = Stage::new();
    let line = [words(environment), grep.map(str::to_owned).to_vec()].concat();
    stage.run(&line)?;
    let without = masks(&stage);
    assert_eq!(without.len(), 5, "{}", stage.scene());
    for flags in ["", "-t 1h", "--stop-on stdout:/never/", "--events events -T 1h"] {
        let line = [words(environment), redial_on(flags, &grep)].concat();
        stage.run(&line)?;
        assert_eq!(masks(&stage), without, "{environment} {flags}: {}", stage.scene());
    }
    Ok(())
}

/// What `grep` has printed, without the two signals that glibc has for itself and ignores in what it spawns.
fn masks(stage: &Stage) -> Vec<(String, u64)> {
    let out = stage.text("out");
    let masks = out.lines().filter_map(|line| line.split_once(":\t"));
    let number = |mask| u64::from_str_radix(mask, 16).unwrap() & !(0b11 << 31);
    masks.map(|(name, mask)| (name.to_owned(), number(mask))).collect()
}

#[test]
fn stop_and_continue_reach_the_command() -> Told<()> {
    let stage = Stage::new();
    // A job: a group that has nobody who could let it go on is not stopped.
    let line = quoted(&redial("-n 3 -d 1ms", "echo $PPID >bell; echo $$ >bell; read word <gate"));
    // bash may come back when the job stops, with 148.
    let waits = "while wait -f $!; code=$?; test $code = 148; do :; done; exit $code";
    let mut started = stage.start(&["bash", "-c", &format!("set -m; {line} & {waits}")]);
    let [redial, child] = [stage.hear()?, stage.hear()?].map(|pid| pid.parse().unwrap());
    let stopped = |pid| Process::of(pid).is_some_and(|one| one.state == 'T');
    let waiting = |pid| Process::of(pid).is_some_and(|one| one.state == 'S');
    // Twice: what a first stop changes, a second must not find changed.
    for _ in 0..2 {
        send(redial, Signal::TSTP);
        assert!(until(stage.patience, || stopped(redial)), "redial: {}", stage.scene());
        assert!(until(stage.patience, || stopped(child)), "the command: {}", stage.scene());
        send(redial, Signal::CONT);
        // Going on, and done with it.
        assert!(until(stage.patience, || waiting(redial)), "redial: {}", stage.scene());
        assert!(until(stage.patience, || waiting(child)), "the command: {}", stage.scene());
    }
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 0, "{}", stage.scene());
    Ok(())
}

#[test]
fn a_signal_to_redial_is_not_one_to_who_called_it() -> Told<()> {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let stage = Stage::new();
        let line = quoted(&redial("-n 3 -d 1ms", &format!("echo $PPID >bell; exec {LONG}")));
        let script = format!("{LONG} & {line}; echo $? >bell; read word <gate");
        let mut started = stage.start(&["sh", "-c", &script]);
        send(stage.hear()?.parse().unwrap(), signal);
        stage.hear_that(&(128 + signal.as_raw()).to_string())?;
        let left: Vec<_> = stage.alive().into_iter().map(|one| one.command).collect();
        assert_eq!(left.len(), 2, "the script and what it had started before: {left:?}");
        stage.open();
        assert_eq!(started.end(stage.patience)?.code(), 0);
    }
    Ok(())
}

#[test]
fn redial_works_where_chld_is_ignored_or_everything_is_blocked() -> Told<()> {
    for environment in ["env --ignore-signal=CHLD", "env --block-signal", "env --ignore-signal"] {
        let stage = Stage::new();
        let line = redial("-n 2 -d 1ms", "echo . >>attempts; exit 7");
        let ended = stage.run(&[words(environment), line].concat())?;
        assert_eq!(ended.code(), 7, "{environment}: {}", stage.scene());
        assert_eq!(stage.attempts(), 2, "{environment}");
        let line = redial("-n 1 -t 200ms --kill-after 200ms", "setsid sleep 9998 & sleep 9998");
        let ended = stage.run(&[words(environment), line].concat())?;
        assert_eq!(ended.code(), 124, "{environment}: {}", stage.scene());
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn redial_in_redial() -> Told<()> {
    let stage = Stage::new();
    let inner = |script: &str| redial("-n 2 -d 1ms --kill-after 1h", script);
    let outer = |line: &[String]| {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        redial_on("-n 2 -d 1ms --kill-after 1h", &line)
    };
    assert_eq!(stage.run(&outer(&inner("echo . >>attempts; exit 7")))?.code(), 7);
    assert_eq!(stage.attempts(), 4);

    // One that cleans up has the time for it, and is told once: many a program takes the second time for an order.
    let script = "trap 'echo told >>told' TERM
echo ready >bell
while ! test -e told; do sleep 0.1; done
echo cleaning >bell; until read word <gate; do :; done; echo cleaned >cleaned; exit 0";
    for _ in 0..5 {
        let stage = Stage::new();
        let mut started = stage.start(&outer(&inner(script)));
        stage.hear_that("ready")?;
        started.signal(Signal::TERM);
        stage.hear_that("cleaning")?;
        assert!(!started.ends(A_WHILE), "the command is still cleaning up: {}", stage.scene());
        stage.open();
        let ended = started.end(stage.patience)?;
        assert_eq!(ended.signal(), Some(Signal::TERM), "{ended:?}");
        assert!(stage.has("cleaned"));
        assert_eq!(stage.text("told"), "told\n", "once");
        stage.nothing_is_left()?;
    }
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
