//! The log of events: whole lines, as it happens, whatever happens.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::fourteen::LONG;
use crate::kernel::{Told, until};
use crate::stage::{Stage, kinds, of_kind};
use crate::tool::redial;

#[test]
fn a_run_of_two_attempts_is_seven_events() -> Told<()> {
    let stage = Stage::new();
    let line = redial("-n 3 -d 30ms --events events", "test $REDIAL_ATTEMPT = 2 || exit 7");
    assert_eq!(stage.run(&line)?.code(), 0, "{}", stage.scene());
    let events = stage.events()?;
    assert_eq!(
        kinds(&events),
        [
            "run.start",
            "attempt.start",
            "attempt.end",
            "decision",
            "attempt.start",
            "attempt.end",
            "run.end"
        ]
    );
    assert_eq!(events[1]["attempt"], 1);
    assert_eq!(events[1]["of"], 3);
    assert!(events[1]["pid"].as_u64().is_some_and(|pid| pid > 1));
    assert_eq!(events[2]["attempt"], 1);
    assert_eq!(events[2]["outcome"], "failed");
    assert_eq!(events[2]["exit"], 7);
    assert_eq!(events[2]["signal"], Value::Null);
    assert!(events[2]["duration_ns"].is_u64());
    assert_eq!(events[3]["attempt"], 1);
    assert_eq!(events[3]["action"], "retry");
    assert_eq!(events[3]["delay_ns"], 30_000_000);
    assert_eq!(events[3]["delay_source"], "backoff");
    assert_eq!(events[4]["attempt"], 2);
    assert_eq!(events[5]["outcome"], "succeeded");
    assert_eq!(events[5]["exit"], 0);
    let end = &events[6];
    assert_eq!(end["outcome"], "succeeded");
    assert_eq!(end["attempts"], 2);
    assert_eq!(end["flaky"], true);
    assert_eq!(end["exit"], 0);
    let [waited, running, duration] =
        ["waited_ns", "running_ns", "duration_ns"].map(|name| end[name].as_u64().unwrap());
    assert!(waited >= 30_000_000, "{end}");
    assert!(waited + running <= duration, "{end}");
    Ok(())
}

#[test]
fn the_pid_is_the_commands() -> Told<()> {
    let stage = Stage::new();
    stage.run(&redial("-n 2 -d 1ms --events events", "echo $$ >>pids; exit 1"))?;
    let events = stage.events()?;
    let starts = of_kind(&events, "attempt.start");
    let pids: String = starts.iter().map(|event| format!("{}\n", event["pid"])).collect();
    assert_eq!(pids, stage.text("pids"));
    Ok(())
}

#[test]
fn every_end_has_its_name() -> Told<()> {
    let endings = [
        ("-n 2 -d 1ms", "exit 7", "failed", "attempts-spent", 7),
        ("-n 2 -d 1ms", "kill -KILL $$", "signalled", "attempts-spent", 137),
        ("-n 2 -d 1ms -t 150ms", "sleep 9998", "timeout", "attempts-spent", 124),
        ("-n 2 -d 1ms --stop-on exit:7", "exit 7", "failed", "rejected", 7),
        ("-n 2 -d 2h -T 1h", "exit 7", "failed", "deadline", 7),
    ];
    for (flags, script, outcome, reason, code) in endings {
        let stage = Stage::new();
        let ended = stage.run(&redial(&format!("{flags} --events events"), script))?;
        assert_eq!(ended.code(), code, "{flags} {script}: {}", stage.scene());
        let events = stage.events()?;
        for end in of_kind(&events, "attempt.end") {
            assert_eq!(end["outcome"], outcome, "{flags} {script}");
        }
        let stop = of_kind(&events, "decision").pop().unwrap();
        assert_eq!(stop["action"], "stop", "{flags} {script}: {stop}");
        assert_eq!(stop["reason"], reason, "{flags} {script}: {stop}");
        let end = events.last().unwrap();
        assert_eq!(end["type"], "run.end", "{flags} {script}");
        assert_eq!(end["reason"], reason, "{flags} {script}: {end}");
        assert_eq!(end["exit"], code, "{flags} {script}: {end}");
        assert_eq!(end["flaky"], false, "{flags} {script}: {end}");
    }
    Ok(())
}

#[test]
fn an_event_is_there_as_it_happens() -> Told<()> {
    let stage = Stage::new();
    let script = "tail -n 1 events >seen; echo ready >bell; read word <gate; exit 1";
    let mut started = stage.start(&redial("-n 2 -d 1h --events events", script));
    stage.hear_that("ready")?;
    // It may be started a little before it is written that it is.
    assert!(until(stage.patience, || stage.text("events").contains("attempt.start")));
    stage.open();
    assert!(until(stage.patience, || stage.text("events").contains("decision")));
    assert!(started.is_running());
    started.signal(Signal::TERM);
    started.end(stage.patience)?;
    Ok(())
}

#[test]
fn killed_redial_leaves_whole_lines() -> Told<()> {
    for wait in 1..12 {
        let stage = Stage::new();
        let mut started = stage.start(&redial("-n 1000000 -d 0s --events events", "exit 1"));
        assert!(until(stage.patience, || stage.has("events")));
        thread::sleep(Duration::from_millis(7 * wait));
        let some = || wait < 11 || stage.text("events").lines().count() > 4;
        assert!(until(stage.patience, some), "{}", stage.scene());
        started.signal(Signal::KILL);
        started.end(stage.patience)?;
        stage.events()?;
    }
    Ok(())
}

#[test]
fn killed_redial_has_written_what_was_before() -> Told<()> {
    let stage = Stage::new();
    let script = format!("echo ready >bell; exec {LONG}");
    let mut started = stage.start(&redial("-n 3 --events events", &script));
    stage.hear_that("ready")?;
    assert!(until(stage.patience, || stage.text("events").contains("attempt.start")));
    started.signal(Signal::KILL);
    started.end(stage.patience)?;
    assert_eq!(kinds(&stage.events()?), ["run.start", "attempt.start"]);
    Ok(())
}

#[test]
fn events_may_go_to_standard_output_or_a_pipe() -> Told<()> {
    let stage = Stage::new();
    stage.run(&redial("-n 2 -d 1ms --events -", "exit 1"))?;
    stage.write("events", stage.text("out"));
    assert_eq!(stage.events()?.len(), 8, "{}", stage.text("out"));
    stage.run(&redial("-n 1 --events /dev/stderr -q", "true"))?;
    stage.write("events", stage.text("err"));
    assert_eq!(stage.events()?.len(), 4, "{}", stage.text("err"));
    Ok(())
}
