//! Jobs on a terminal: Ctrl-C and Ctrl-Z, from a shell that reads commands and inside scripts.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::fourteen::LONG;
use crate::clock::{on_clock, pass};
use crate::kernel::{Told, until};
use crate::stage::Stage;
use crate::terminal::{CTRL_BACKSLASH, CTRL_C, CTRL_Z, Terminal};
use crate::tool::{quoted, redial, redial_on};

/// A script that says it is there, and sleeps.
fn sleeps() -> String {
    format!("echo . >>attempts; echo ready >bell; exec {LONG}")
}

/// A script that says it is there, and waits for the test.
const WAITS: &str = "echo . >>attempts; echo ready >bell; read word <gate";

/// Long enough to see that nothing happens.
const A_WHILE: Duration = Duration::from_millis(300);

/// Whether all processes but the shell's own are stopped, of which there have to be so many.
fn all_stopped(stage: &Stage, shell: u32, count: usize) -> bool {
    until(stage.patience, || {
        let others: Vec<_> = stage.alive().into_iter().filter(|one| one.pid != shell).collect();
        others.len() >= count && others.iter().all(|one| one.state == 'T')
    })
}

#[test]
fn ctrl_c_comes_back_to_the_shell_with_130() -> Told<()> {
    for flags in ["", "--stop-on stdout:/never/", "--stop-on stderr:/never/ --output hold"] {
        let stage = Stage::new();
        let mut terminal = Terminal::shell(&stage)?;
        let flags = format!("-n 3 -d 1ms --events events {flags}");
        terminal.enters(&quoted(&redial(&flags, &sleeps())));
        stage.hear_that("ready")?;
        terminal.types(CTRL_C);
        terminal.prompted()?;
        terminal.enters("echo $? >bell");
        stage.hear_that("130")?;
        assert_eq!(stage.attempts(), 1, "{flags}");
        let events = stage.events()?;
        let signal = events.iter().find(|event| event["type"] == "signal").expect("a signal");
        assert_eq!(signal["signal"], "INT", "{flags}");
        assert_eq!(signal["from"], "terminal", "{flags}");
        assert_eq!(signal["forwarded"], false, "{flags}: the terminal has sent it to the command");
    }
    Ok(())
}

#[test]
fn ctrl_c_reaches_the_command_once() -> Told<()> {
    let stage = Stage::new();
    let script = "trap 'echo int >>ints' INT
trap 'echo usr1 >bell; exit 0' USR1
echo $$ >bell
while :; do sleep 0.1; done";
    let mut terminal = Terminal::start(&stage, &redial("-n 1 --kill-after 1h", script));
    let child = stage.hear()?.parse().unwrap();
    terminal.types(CTRL_C);
    assert!(until(stage.patience, || stage.has("ints")));
    // A second one would be there by the time that a later signal is.
    thread::sleep(Duration::from_millis(200));
    crate::kernel::send(child, Signal::USR1);
    stage.hear_that("usr1")?;
    terminal.end()?;
    assert_eq!(stage.text("ints"), "int\n");
    Ok(())
}

#[test]
fn a_second_ctrl_c_kills_at_once() -> Told<()> {
    let stage = Stage::new();
    let script = "echo . >>attempts
trap 'echo int >bell' INT
echo ready >bell
while :; do sleep 0.1; done";
    let mut terminal = Terminal::start(&stage, &redial("-n 3 -d 1ms --kill-after 1h", script));
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    stage.hear_that("int")?;
    assert!(!terminal.leader.ends(A_WHILE), "the command cleans up");
    terminal.types(CTRL_C);
    let ended = terminal.end()?;
    assert_eq!(ended.signal(), Some(Signal::INT));
    assert_eq!(stage.attempts(), 1);
    stage.nothing_is_left()
}

#[test]
fn ctrl_backslash_ends_both_by_quit() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &redial("-n 3 -d 1ms", &sleeps()));
    stage.hear_that("ready")?;
    terminal.types(CTRL_BACKSLASH);
    assert_eq!(terminal.end()?.signal(), Some(Signal::QUIT));
    assert_eq!(stage.attempts(), 1);
    stage.nothing_is_left()
}

#[test]
fn ctrl_c_during_the_delay_ends_it_at_once() -> Told<()> {
    let stage = Stage::new();
    let line = redial("-n 3 -d 1h --events events", "echo . >>attempts; exit 1");
    let mut terminal = Terminal::start(&stage, &line);
    assert!(until(stage.patience, || stage.text("events").contains("\"decision\"")));
    terminal.types(CTRL_C);
    let ended = terminal.end()?;
    assert_eq!(ended.signal(), Some(Signal::INT), "{ended:?}");
    assert_eq!(stage.attempts(), 1);
    stage.nothing_is_left()
}

#[test]
fn ctrl_c_stops_a_loop_in_either_shell() -> Told<()> {
    for shell in ["bash", "sh"] {
        let stage = Stage::new();
        let line = quoted(&redial("-n 3 -d 1ms", &sleeps()));
        let line = format!("for time in 1 2 3; do {line}; done");
        let mut terminal = Terminal::script(&stage, shell, &line);
        stage.hear_that("ready")?;
        terminal.types(CTRL_C);
        let ended = terminal.end()?;
        assert_eq!(ended.code(), 130, "{shell}: {ended:?}");
        assert_eq!(stage.attempts(), 1, "{shell}");
        assert!(!stage.has("code"), "{shell}: the script went on");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_closed_terminal_ends_both() -> Told<()> {
    let stage = Stage::new();
    // Closing a terminal tells the leader of its session, and nobody else.
    let script = "echo . >>attempts
trap 'echo told >told; exit 1' HUP
echo ready >bell
while :; do sleep 0.1; done";
    let terminal = Terminal::start(&stage, &redial("-n 3 -d 1ms --kill-after 1h", script));
    stage.hear_that("ready")?;
    let mut leader = terminal.close();
    let ended = leader.end(stage.patience)?;
    assert_eq!(ended.signal(), Some(Signal::HUP), "{ended:?}");
    assert!(stage.has("told"), "the command was killed without a word");
    assert_eq!(stage.attempts(), 1);
    stage.nothing_is_left()
}

#[test]
fn ctrl_c_reaches_a_command_that_has_left_the_group() -> Told<()> {
    // `timeout` puts itself into a group of its own, which is not in front.
    for command in [["timeout", "3600", "sleep", "9998"], ["setsid", "--wait", "sleep", "9998"]] {
        let stage = Stage::new();
        let line = quoted(&redial_on("-n 3 -d 1ms --kill-after 1h", &command));
        let mut terminal = Terminal::script(&stage, "bash", &line);
        let there = || stage.alive().iter().any(|one| one.command == LONG);
        assert!(until(stage.patience, there), "{:?}", stage.alive());
        terminal.types(CTRL_C);
        let ended = terminal.end()?;
        assert_eq!(ended.signal(), Some(Signal::INT), "{command:?}: {ended:?}");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_signal_to_redial_on_a_terminal_is_not_one_to_the_script() -> Told<()> {
    for signal in [Signal::TERM, Signal::HUP] {
        let stage = Stage::new();
        let line = quoted(&redial("-n 3 -d 1ms", &format!("echo $PPID >bell; exec {LONG}")));
        let script = format!("{LONG} &\n{line}\necho $? >bell\nread word <gate");
        let mut terminal = Terminal::script(&stage, "bash", &script);
        crate::kernel::send(stage.hear()?.parse().unwrap(), signal);
        stage.hear_that(&(128 + signal.as_raw()).to_string())?;
        let left: Vec<_> = stage.alive().into_iter().map(|one| one.command).collect();
        assert_eq!(left, ["bash script", LONG], "the script and what it had started before");
        stage.open();
        terminal.end()?;
    }
    Ok(())
}

#[test]
fn ctrl_c_with_redial_in_redial() -> Told<()> {
    let stage = Stage::new();
    let script = "echo . >>attempts
trap 'echo told >>told' INT
echo ready >bell
while ! test -e told; do sleep 0.1; done
echo cleaning >bell; read word <gate; echo cleaned >cleaned; exit 3";
    let inner = redial("-n 2 -d 1ms --kill-after 1h", script);
    let inner: Vec<&str> = inner.iter().map(String::as_str).collect();
    let line = quoted(&redial_on("-n 2 -d 1ms --kill-after 1h", &inner));
    let mut terminal = Terminal::script(&stage, "bash", &line);
    stage.hear_that("ready")?;
    terminal.types(CTRL_C);
    stage.hear_that("cleaning")?;
    assert!(!terminal.leader.ends(A_WHILE), "it is cleaning up");
    stage.open();
    assert_eq!(terminal.end()?.signal(), Some(Signal::INT));
    assert!(stage.has("cleaned"));
    assert_eq!(stage.text("told"), "told\n", "once");
    assert_eq!(stage.attempts(), 1);
    Ok(())
}

#[test]
fn ctrl_z_stops_both_and_fg_goes_on() -> Told<()> {
    for flags in ["-n 3 -d 1ms", "-n 3 -d 1ms --stop-on stdout:/never/"] {
        let stage = Stage::new();
        let mut terminal = Terminal::shell(&stage)?;
        let shell = terminal.leader.pid();
        terminal.enters(&quoted(&redial(flags, WAITS)));
        stage.hear_that("ready")?;
        // Twice: what a first stop changes, a second must not find changed.
        for _ in 0..2 {
            terminal.types(CTRL_Z);
            terminal.sees("Stopped")?;
            terminal.prompted()?;
            assert!(all_stopped(&stage, shell, 2), "{flags}: {:?}", stage.alive());
            terminal.enters("fg");
            terminal.sees("run")?;
            // Going on, and done with it.
            assert!(until(stage.patience, || stage.alive().iter().all(|one| one.state == 'S')));
        }
        stage.open();
        terminal.prompted()?;
        terminal.enters("echo $? >bell");
        stage.hear_that("0")?;
        assert_eq!(stage.attempts(), 1, "{flags}");
    }
    Ok(())
}

#[test]
fn ctrl_z_and_bg_goes_on_in_the_background() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let shell = terminal.leader.pid();
    terminal.enters(&quoted(&redial("-n 3 -d 1ms", WAITS)));
    stage.hear_that("ready")?;
    terminal.types(CTRL_Z);
    terminal.sees("Stopped")?;
    terminal.prompted()?;
    assert!(all_stopped(&stage, shell, 2), "{:?}", stage.alive());
    terminal.enters("bg");
    terminal.prompted()?;
    stage.open();
    terminal.enters("wait %1; echo $? >bell");
    stage.hear_that("0")?;
    Ok(())
}

#[test]
fn ctrl_z_stops_a_script_and_fg_goes_on() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let shell = terminal.leader.pid();
    let line = quoted(&redial("-n 3 -d 1ms", WAITS));
    stage.write("script", format!("{line}\necho went on $? >bell\n"));
    terminal.enters("bash script");
    stage.hear_that("ready")?;
    terminal.types(CTRL_Z);
    terminal.sees("Stopped")?;
    terminal.prompted()?;
    assert!(all_stopped(&stage, shell, 3), "{:?}", stage.alive());
    terminal.enters("fg");
    terminal.sees("bash script")?;
    stage.open();
    stage.hear_that("went on 0")?;
    assert_eq!(stage.attempts(), 1);
    Ok(())
}

#[test]
fn a_timeout_does_not_run_while_stopped() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let shell = terminal.leader.pid();
    terminal.enters(&quoted(&on_clock(&stage, &redial("-n 1 -t 200ms", WAITS))));
    stage.hear_that("ready")?;
    terminal.types(CTRL_Z);
    terminal.sees("Stopped")?;
    assert!(all_stopped(&stage, shell, 2), "{:?}", stage.alive());
    pass(&stage, Duration::from_millis(300));
    terminal.enters("fg");
    terminal.sees("run")?;
    assert_eq!(stage.hears(A_WHILE), None, "it has time");
    stage.open();
    terminal.prompted()?;
    terminal.enters("echo $? >bell");
    stage.hear_that("0")
}

#[test]
fn a_delay_does_not_run_while_stopped() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let shell = terminal.leader.pid();
    let script = "echo $REDIAL_ATTEMPT >bell; test $REDIAL_ATTEMPT = 2";
    let line = redial("-n 2 -d 200ms --events events", script);
    terminal.enters(&quoted(&on_clock(&stage, &line)));
    stage.hear_that("1")?;
    assert!(until(stage.patience, || stage.text("events").contains("\"decision\"")));
    terminal.types(CTRL_Z);
    terminal.sees("Stopped")?;
    assert!(all_stopped(&stage, shell, 1), "{:?}", stage.alive());
    pass(&stage, Duration::from_millis(300));
    terminal.enters("fg");
    assert_eq!(stage.hears(A_WHILE), None, "the rest of the delay");
    pass(&stage, Duration::from_millis(200));
    stage.hear_that("2")
}

#[test]
fn a_job_from_the_background_is_one_like_any_other() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let line = quoted(&redial("-n 3 -d 1ms", &sleeps()));
    terminal.enters(&format!("{line} &"));
    stage.hear_that("ready")?;
    terminal.prompted()?;
    terminal.enters("fg");
    // The shell gives the terminal away a little after it has named the job.
    assert!(until(stage.patience, || terminal.in_front() != terminal.leader.pid()));
    terminal.types(CTRL_C);
    terminal.prompted()?;
    terminal.enters("echo $? >bell");
    stage.hear_that("130")?;
    assert!(until(stage.patience, || stage.alive().len() == 1), "{:?}", stage.alive());
    assert_eq!(stage.attempts(), 1);
    Ok(())
}

#[test]
fn a_job_from_the_background_may_read_once_it_is_in_front() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let line = quoted(&redial("-n 1", "read word; echo got $word >bell"));
    // Reading stops the whole group, one process after the other. A shell sends SIGCONT to a job only if it knows that it
    // has stopped (waitpid with WUNTRACED); this one says so as soon as it does. Without that the test was red now and then:
    // a race of the test, which typed `fg` before the shell knew, and not of redial.
    terminal.enters(&format!("set -b; {line} &"));
    terminal.sees("Stopped")?;
    terminal.enters("fg");
    terminal.types("hello\n");
    stage.hear_that("got hello")
}

#[test]
fn a_timeout_on_a_terminal_ends_the_command_and_nobody_else() -> Told<()> {
    let stage = Stage::new();
    let line = quoted(&redial("-n 2 -d 1ms -t 250ms", "sleep 9997 & setsid sleep 9997 & wait"));
    // What is left in front when a session ends is told to end: the script stays until it has been looked at.
    let script = format!("{LONG} &\n{line}\necho $? >bell\nread word <gate");
    let mut terminal = Terminal::script(&stage, "bash", &script);
    stage.hear_that("124")?;
    let left: Vec<_> = stage.alive().into_iter().map(|one| one.command).collect();
    assert_eq!(left, ["bash script", LONG], "the script and what it had started before");
    stage.open();
    terminal.end()?;
    Ok(())
}

#[test]
fn a_shell_inside_has_its_own_jobs() -> Told<()> {
    for flags in ["-n 2 -d 1ms", "-n 2 -d 1ms --stop-on stdout:/never/ -t 1h"] {
        let stage = Stage::new();
        let mut terminal = Terminal::shell(&stage)?;
        let bash = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
        terminal.enters(&format!("PS1='inside> ' {}", quoted(&redial_on(flags, &bash))));
        terminal.sees("inside> ")?;
        terminal.enters(&format!("echo ready >bell; {LONG}"));
        stage.hear_that("ready")?;
        let there = || stage.alive().iter().any(|one| one.command == LONG);
        assert!(until(stage.patience, there), "{flags}: {:?}", stage.alive());
        // For the job in the shell inside, and for nobody else.
        terminal.types(CTRL_C);
        terminal.sees("inside> ")?;
        terminal.enters("echo $? >bell");
        stage.hear_that("130")?;
        terminal.enters("exit 0");
        terminal.prompted()?;
        terminal.enters("echo $? outside >bell");
        stage.hear_that("0 outside")?;
    }
    Ok(())
}

#[test]
fn a_command_that_stops_itself_stops_the_job() -> Told<()> {
    // Its whole group, as an editor does, or itself alone.
    for stop in ["kill -TSTP 0", "kill -TSTP $$", "kill -STOP $$"] {
        let stage = Stage::new();
        let mut terminal = Terminal::shell(&stage)?;
        let script = format!("echo ready >bell; {stop}; echo again >bell; read word <gate");
        terminal.enters(&quoted(&redial("-n 3 -d 1ms", &script)));
        stage.hear_that("ready")?;
        terminal.sees("Stopped").map_err(|error| format!("{stop}: {error}"))?;
        terminal.prompted()?;
        terminal.enters("fg");
        stage.hear_that("again")?;
        stage.open();
        terminal.prompted()?;
        terminal.enters("echo $? >bell");
        stage.hear_that("0")?;
    }
    Ok(())
}

#[test]
fn no_countdown_runs_over_the_line_of_somebody_else() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::shell(&stage)?;
    let script = "echo $REDIAL_ATTEMPT >bell; test $REDIAL_ATTEMPT = 2";
    let line = quoted(&redial("-n 2 -d 700ms", script));
    stage.write("go", format!("{line}\n"));
    terminal.enters("sh go &");
    stage.hear_that("1")?;
    stage.hear_that("2")?;
    terminal.enters("wait; echo over >bell");
    stage.hear_that("over")?;
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains("retrying"), "{bytes:?}");
    assert!(!bytes.contains('▕'), "in the background one line is enough: {bytes:?}");
    Ok(())
}

#[test]
fn a_countdown_leaves_nothing_on_a_narrow_screen() -> Told<()> {
    for columns in [40, 20, 12] {
        let stage = Stage::new();
        let mut terminal = Terminal::shell(&stage)?;
        terminal.resize(30, columns);
        let script = "echo $REDIAL_ATTEMPT >bell; test $REDIAL_ATTEMPT = 2";
        stage.write("go", format!("{}\n", quoted(&redial("-n 2 -d 500ms", script))));
        terminal.enters("sh go");
        stage.hear_that("1")?;
        stage.hear_that("2")?;
        terminal.prompted()?;
        let screen = terminal.screen();
        assert!(!screen.contains('▕'), "{columns} columns:\n{screen}");
    }
    Ok(())
}
