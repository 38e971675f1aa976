//! `redial map` as people and scripts use it: real processes, files, signals and terminals.

mod again;
mod bad_input;
mod crashes;
mod disks;
mod items;
mod jobs;
mod screen;
mod signals;
mod values;

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};

use redial_flow::journal::Reading;
use serde_json::Value;

use crate::program::{DEFAULTS, REDIAL, stderr, stdout, with_input};
use crate::stage::Stage;

/// `redial map` in the folder of a test.
fn command(stage: &Stage, words: &[&str]) -> Command {
    let mut command = Command::new(REDIAL);
    command.arg("map").args(words).stdin(Stdio::null());
    stage.at_home(&mut command);
    for name in DEFAULTS.into_iter().chain(["REDIAL_ATTEMPT"]) {
        command.env_remove(name);
    }
    command
}

/// Runs it with these items on standard input.
fn map(stage: &Stage, items: impl AsRef<[u8]>, words: &[&str]) -> Output {
    with_input(&mut command(stage, words), items.as_ref())
}

/// The same, which has to succeed; gives what it printed.
#[track_caller]
fn works(stage: &Stage, items: impl AsRef<[u8]>, words: &[&str]) -> String {
    let output = map(stage, items, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
    stdout(&output).to_owned()
}

/// The same, which has to end with this code; gives what it said.
#[track_caller]
fn ends_with(code: i32, stage: &Stage, items: impl AsRef<[u8]>, words: &[&str]) -> String {
    let output = map(stage, items, words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

/// The records of a run, all of which are as they were written; a torn tail is none.
#[track_caller]
fn journal(stage: &Stage, run: &str) -> Vec<Value> {
    let path = stage.path(&format!(".redial/runs/{run}/journal.ndjson"));
    let records = Reading::<Value>::open(path).unwrap();
    records.map(|entry| entry.unwrap_or_else(|damage| panic!("{damage}")).record).collect()
}

/// The records of one type.
fn of_type<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

/// How often a word stands on a line of its own in a file.
fn tally(text: &str) -> BTreeMap<&str, usize> {
    let mut tally = BTreeMap::new();
    for line in text.lines() {
        *tally.entry(line).or_default() += 1;
    }
    tally
}
