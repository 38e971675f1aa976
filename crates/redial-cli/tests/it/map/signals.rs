//! What a signal to redial does: running jobs may end, nothing new starts, and what is cut is not counted.

use std::fs;

use rustix::process::Signal;

use crate::kernel::{Started, until};
use crate::map::{command, journal, of_type, tally, works};
use crate::stage::{Stage, started};

/// Waits until a signal that was sent has been taken: then redial knows of it.
#[track_caller]
fn is_taken(process: &Started) {
    let path = format!("/proc/{}/status", process.pid());
    until(crate::kernel::FOR_EVER, || {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let pending =
            status.lines().filter(|line| line.starts_with("ShdPnd") || line.starts_with("SigPnd"));
        pending.clone().all(|line| {
            line.split_whitespace().nth(1).is_some_and(|set| u64::from_str_radix(set, 16) == Ok(0))
        })
    });
}

const ITEMS: &str = "a\nb\nc\n";

fn words<'w>(script: &'w str, drain: &'w str) -> Vec<&'w str> {
    let flags =
        ["-j", "2", "-n", "2", "-d", "1ms", "--run", "r", "--items", "items", "--drain", drain];
    [&flags[..], &["--", "sh", "-c", script, "sh"]].concat()
}

#[test]
fn a_signal_lets_running_jobs_end_and_starts_nothing_new() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let stage = Stage::new();
        stage.write("items", ITEMS);
        let script = "echo $1 >bell; echo $1 >>ran; read word <gate";
        let words = words(script, "1h");
        let mut running = started(&mut command(&stage, &words));
        stage.hear().unwrap();
        stage.hear().unwrap();
        running.signal(signal);
        is_taken(&running);
        stage.open();
        stage.open();
        assert_eq!(running.end(stage.patience).unwrap().signal(), Some(signal));
        let records = journal(&stage, "r");
        assert_eq!(of_type(&records, "attempt.start").len(), 2, "{signal:?}");
        let end = records.last().unwrap();
        assert_eq!((&end["type"], &end["outcome"]), (&"run.end".into(), &"interrupted".into()));
        // What is left is done by the same command.
        stage.open();
        works(&stage, "", &words);
        assert_eq!(tally(&stage.text("ran")), [("a", 1), ("b", 1), ("c", 1)].into());
    }
}

#[test]
fn a_second_signal_ends_jobs_and_what_is_cut_is_not_counted() {
    let stage = Stage::new();
    stage.write("items", ITEMS);
    let script = "echo $1 >bell; echo $1 $REDIAL_ATTEMPT >>ran; test -e enough || exec sleep 1000";
    let words = words(script, "1h");
    for _ in 0..3 {
        let mut running = started(&mut command(&stage, &words));
        stage.hear().unwrap();
        stage.hear().unwrap();
        running.signal(Signal::TERM);
        is_taken(&running);
        // Signals that come within 100 ms are one.
        until(stage.patience, || {
            running.signal(Signal::TERM);
            !running.is_running()
        });
        assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
        stage.nothing_is_left().unwrap();
    }
    let records = journal(&stage, "r");
    let ends = of_type(&records, "attempt.end");
    assert_eq!(ends.len(), 6);
    assert!(
        ends.iter().all(|end| end["outcome"] == "cancelled" && end["attempt"] == 1),
        "{ends:?}"
    );
    stage.write("enough", "");
    works(&stage, "", &words);
    assert_eq!(tally(&stage.text("ran")), [("a 1", 4), ("b 1", 4), ("c 1", 1)].into());
}

#[test]
fn what_still_runs_when_the_drain_is_over_is_cut() {
    let stage = Stage::new();
    stage.write("items", ITEMS);
    let words = words("echo $1 >bell; setsid sleep 1000 & exec sleep 1000", "50ms");
    let mut running = started(&mut command(&stage, &words));
    stage.hear().unwrap();
    stage.hear().unwrap();
    running.signal(Signal::INT);
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::INT));
    stage.nothing_is_left().unwrap();
    let records = journal(&stage, "r");
    let ends = of_type(&records, "attempt.end");
    assert!(ends.len() == 2 && ends.iter().all(|end| end["outcome"] == "cancelled"), "{ends:?}");
}

#[test]
fn a_job_that_fails_by_itself_before_it_is_cut_has_failed() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    let words = words("echo $1 >bell; read word <gate; exit 3", "1h");
    let mut running = started(&mut command(&stage, &words));
    stage.hear().unwrap();
    running.signal(Signal::TERM);
    is_taken(&running);
    stage.open();
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
    let records = journal(&stage, "r");
    assert_eq!(of_type(&records, "attempt.end")[0]["outcome"], "failed");
    assert_eq!(of_type(&records, "decision").len(), 1);
}

#[test]
fn a_signal_while_items_are_waited_for_ends_it() {
    let stage = Stage::new();
    let mut waits = command(&stage, &["--", "echo"]);
    let (read, write) = std::io::pipe().unwrap();
    waits.stdin(read);
    let mut running = started(&mut waits);
    // It has begun to watch for signals once it sleeps in poll with a guard beside it.
    until(stage.patience, || stage.alive().len() > 1);
    running.signal(Signal::TERM);
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
    drop(write);
    stage.nothing_is_left().unwrap();
}

#[test]
fn a_run_that_is_cancelled_says_so_and_not_that_it_goes_on() {
    let stage = Stage::new();
    stage.write("items", ITEMS);
    let words = words("echo $1 >bell; exec sleep 1000", "1ms");
    let mut running = command(&stage, &words);
    running.stderr(stage.create("err"));
    let mut running = started(&mut running);
    stage.hear().unwrap();
    stage.hear().unwrap();
    let place = stage.path("");
    let cancel = crate::program::redial(&place, &["flow", "cancel", "r"]);
    assert_eq!(cancel.status.code(), Some(0), "{cancel:?}");
    assert_eq!(running.end(stage.patience).unwrap().signal(), Some(Signal::TERM));
    let said = stage.text("err");
    assert!(said.contains("redial: cancelled: nothing more of the run r is run\n"), "{said}");
    assert!(!said.contains("goes on"), "{said}");
    let records = journal(&stage, "r");
    assert_eq!(of_type(&records, "cancel").len(), 1);
    let status = crate::program::redial(&place, &["flow", "status", "r"]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("cancelled after"), "{status:?}");
}

#[test]
fn what_was_asked_of_a_process_that_was_killed_does_not_cancel_the_next_one() {
    let stage = Stage::new();
    stage.write("items", ITEMS);
    let words = words("echo $1 >bell; test -e enough || exec sleep 1000", "1ms");
    let mut running = started(&mut command(&stage, &words));
    stage.hear().unwrap();
    stage.hear().unwrap();
    // As by a `flow cancel` that was killed itself.
    stage.write(".redial/runs/r/cancel", "");
    running.signal(Signal::KILL);
    running.end(stage.patience).unwrap();
    let mut running = started(&mut command(&stage, &words));
    stage.hear().unwrap();
    stage.hear().unwrap();
    running.signal(Signal::TERM);
    running.end(stage.patience).unwrap();
    assert_eq!(of_type(&journal(&stage, "r"), "cancel").len(), 0);
    stage.write("enough", "");
    works(&stage, "", &words);
}
