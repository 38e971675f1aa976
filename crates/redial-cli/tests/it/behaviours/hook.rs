//! What `--on-end` runs: once, however the run ended, and never for ever.

use std::time::Duration;

use rustix::process::Signal;

use crate::clock::{on_clock, pass};
use crate::kernel::{Told, until};
use crate::stage::Stage;
use crate::terminal::{CTRL_C, Terminal};
use crate::tool::redial_on;

/// Writes down what it is told.
const TELLS: &str = "echo $REDIAL_OUTCOME:$REDIAL_REASON:$REDIAL_EXIT:$REDIAL_ATTEMPTS_MADE >>told";

/// `redial run` with a hook.
fn hooked(flags: &str, hook: &str, script: &str) -> Vec<String> {
    let mut line = redial_on(flags, &["sh", "-c", script]);
    let command = line.iter().position(|word| word == "--").unwrap();
    line.splice(command..command, ["--on-end".to_owned(), hook.to_owned()]);
    line
}

#[test]
fn a_hook_is_told_how_the_run_ended() -> Told<()> {
    for (flags, script, told, code) in [
        ("-n 3", "true", "succeeded::0:1", 0),
        ("-n 3 -d 1ms", "test $REDIAL_ATTEMPT = 2", "succeeded::0:2", 0),
        ("-n 2 -d 1ms --flaky fail", "test $REDIAL_ATTEMPT = 2", "succeeded::1:2", 1),
        ("-n 2 -d 1ms", "exit 7", "failed:attempts-spent:7:2", 7),
        ("-n 2 -d 1ms --stop-on exit:7", "exit 7", "failed:rejected:7:1", 7),
        ("-n 2 -d 1ms --exit-codes reason", "exit 7", "failed:attempts-spent:80:2", 80),
        ("-n 1 -t 200ms", "sleep 9998", "timeout:attempts-spent:124:1", 124),
        ("-n 1", "kill -KILL $$", "signalled:attempts-spent:137:1", 137),
    ] {
        let stage = Stage::new();
        let ended = stage.run(&hooked(flags, TELLS, script))?;
        assert_eq!(ended.code(), code, "{flags} {script}: {}", stage.scene());
        assert_eq!(stage.text("told"), format!("{told}\n"), "{flags} {script}");
    }
    let stage = Stage::new();
    let mut line = hooked("", TELLS, "");
    line.truncate(line.len() - 3);
    line.push("./nothing".to_owned());
    assert_eq!(stage.run(&line)?.code(), 127);
    assert_eq!(stage.text("told"), "spawn_error:rejected:127:1\n");
    Ok(())
}

#[test]
fn a_hook_is_told_what_was_run_and_how_long_it_took() -> Told<()> {
    let stage = Stage::new();
    let hook = "echo \"$REDIAL_COMMAND\" $REDIAL_ELAPSED $REDIAL_WAITED $REDIAL_RUN_ID
echo ${REDIAL_ATTEMPT-none} $(cat | wc -c); echo wrong >&2";
    stage.run(&hooked("-q -n 2 -d 30ms --events events", hook, "exit 1"))?;
    assert_eq!(stage.text("out"), "", "standard output is the command's");
    let said = stage.text("err");
    let lines: Vec<_> = said.lines().collect();
    let [first, "none 0", "wrong"] = lines[..] else { panic!("{said}") };
    let words: Vec<_> = first.rsplitn(4, ' ').collect();
    let [run, waited, elapsed, command] = words[..] else { panic!("{said}") };
    assert_eq!(command, "sh -c 'exit 1'");
    let [waited, elapsed] = [waited, elapsed].map(|time| time.parse::<f64>().unwrap());
    assert!(0.03 <= waited && waited <= elapsed, "{said}");
    let events = stage.events()?;
    assert_eq!(events[0]["run"], run);
    assert_eq!(events.last().unwrap()["type"], "run.end");
    Ok(())
}

#[test]
fn a_hook_that_fails_is_a_warning_and_no_more() -> Told<()> {
    for script in ["exit 0", "exit 7"] {
        let stage = Stage::new();
        let code = stage.run(&hooked("-n 1", "exit 3", script))?.code();
        assert_eq!(format!("exit {code}"), script);
        let said = stage.text("err");
        assert!(said.contains("redial: warning: --on-end: exit 3 after "), "{said}");
    }
    Ok(())
}

#[test]
fn a_hook_comes_after_reports_and_leaves_the_daemon_of_a_success_alone() -> Told<()> {
    let stage = Stage::new();
    let script = "setsid sleep 9998 & echo $! >daemon";
    let hook = "test -s report.json && kill -0 $(cat daemon) && echo both >told; kill -9 $$";
    let line = hooked("--report report.json", hook, script);
    assert_eq!(stage.run(&line)?.code(), 0, "{}", stage.scene());
    assert_eq!(stage.text("told"), "both\n", "{}", stage.scene());
    assert!(stage.text("err").contains("--on-end: killed by KILL"), "{}", stage.scene());
    assert_eq!(stage.alive().len(), 1, "{}", stage.scene());
    Ok(())
}

#[test]
fn a_signal_to_redial_is_told_to_the_hook_and_then_ends_redial() -> Told<()> {
    for (signal, told) in
        [(Signal::TERM, "cancelled:signal:143:1"), (Signal::INT, "cancelled:signal:130:1")]
    {
        let stage = Stage::new();
        let script = "echo ready >bell; exec sleep 9998";
        let mut started = stage.start(&hooked("-n 3", TELLS, script));
        stage.hear_that("ready")?;
        started.signal(signal);
        assert_eq!(started.end(stage.patience)?.signal(), Some(signal), "{}", stage.scene());
        assert_eq!(stage.text("told"), format!("{told}\n"));
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_signal_ends_the_hook() -> Told<()> {
    // The run had ended well; but whoever signals redial wants it to end, and the script that called it.
    for script in ["true", "echo run >bell; exec sleep 9998"] {
        let stage = Stage::new();
        let hook = "echo hook >bell; sleep 9998 & sleep 9998";
        let mut started = stage.start(&hooked("-n 1", hook, script));
        if script != "true" {
            stage.hear_that("run")?;
            started.signal(Signal::TERM);
        }
        stage.hear_that("hook")?;
        started.signal(Signal::TERM);
        assert_eq!(started.end(stage.patience)?.signal(), Some(Signal::TERM), "{}", stage.scene());
        stage.nothing_is_left()?;
    }
    let stage = Stage::new();
    let mut terminal =
        Terminal::start(&stage, &hooked("-n 1", "echo hook >bell; sleep 9998", "true"));
    stage.hear_that("hook")?;
    terminal.types(CTRL_C);
    assert_eq!(terminal.end()?.signal(), Some(Signal::INT), "{}", stage.scene());
    stage.nothing_is_left()
}

#[test]
fn a_hook_that_hangs_is_ended() -> Told<()> {
    let stage = Stage::new();
    let hook = "echo hook >bell; setsid sleep 9998 & sleep 9998";
    let mut started = stage.start(&on_clock(&stage, &hooked("-n 1", hook, "true")));
    stage.hear_that("hook")?;
    pass(&stage, Duration::from_secs(60));
    // Any signal lets it look at the clock. From the timeout on little time may pass: a busy machine takes a while to
    // end what gets SIGKILL, and ten seconds later redial calls it unkillable.
    assert!(until(stage.patience, || {
        pass(&stage, Duration::from_millis(1));
        started.signal(Signal::WINCH);
        !started.is_running()
    }));
    assert_eq!(started.end(stage.patience)?.code(), 0, "{}", stage.scene());
    assert!(stage.text("err").contains("--on-end: timed out after"), "{}", stage.scene());
    stage.nothing_is_left()
}
