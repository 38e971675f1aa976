//! A real program, killed at seeded random moments of its life.
//!
//! 20 kills; `REDIAL_KILLS=200` makes it as many as it says.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redial_core::{Backoff, Policy, Random, SplitMix64};
use redial_flow::record::{Event, Outcome, Record};
use redial_flow::steps::{DeadLetter, Run, Store};

use crate::child;

/// As many attempts as kills that one step may meet.
const STEP: Policy = Backoff::constant(Duration::from_millis(1)).attempts(50);

/// One write each, so that a KILL leaves whole lines.
fn note(ledger: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(ledger)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// An operation that leaves a trace, and takes a while.
async fn work(ledger: PathBuf, name: String) -> std::io::Result<u64> {
    note(&ledger, &format!("start {name}"))?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    note(&ledger, &format!("end {name}"))?;
    Ok(name.bytes().map(u64::from).sum())
}

/// Ten steps, among them a loop and two that are awaited together, a sleep, and a map.
async fn ten_steps(run: Run, ledger: PathBuf) -> Result<u64, DeadLetter> {
    let mut sum = run.random() % 1000;
    let step = |name: String| work(ledger.clone(), name);
    for letter in 'a'..='e' {
        let name = letter.to_string();
        sum += run.step(&name, &STEP, || step(name.clone())).await?;
    }
    for turn in 0..3 {
        sum += run.step("turn", &STEP, || step(format!("turn{turn}"))).await?;
    }
    let (left, right) = tokio::join!(
        run.step("left", &STEP, || step("left".into())).into_future(),
        run.step("right", &STEP, || step("right".into())).into_future(),
    );
    sum += left? + right?;
    run.sleep(Duration::from_millis(5)).await;
    for item in run.map("map", &STEP, 0..8, |item| step(format!("item{item}"))).await {
        sum += item?;
    }
    Ok(sum)
}

/// The program that is killed. What it comes to is in the file `sum`.
pub(crate) fn work_until_killed(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let store = Store::open(path.join("store")).unwrap();
    let sum = runtime.block_on(store.run("killed", ten_steps, path.join("ledger")).into_future());
    std::fs::write(path.join("sum"), sum.unwrap().to_string()).unwrap();
}

fn records(store: &Path) -> Vec<Record> {
    let store = redial_flow::store::Store::at(store);
    let Ok(run) = store.open(&"killed".parse().unwrap()) else { return Vec::new() };
    run.read_journal::<Record>().unwrap().map(|entry| entry.unwrap().record).collect()
}

#[test]
fn a_program_that_is_killed_at_random_moments_comes_to_the_same() {
    let kills =
        std::env::var("REDIAL_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let seed = std::env::var("REDIAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(13);
    let mut random = SplitMix64::new(seed);
    let mut killed = 0;
    let mut rounds = 0;
    while killed < kills {
        rounds += 1;
        assert!(rounds < 20 * kills, "the program is hardly ever killed before it ends");
        let directory = tempfile::tempdir().unwrap();
        let (store, ledger) = (directory.path().join("store"), directory.path().join("ledger"));
        let program = || child::command::<&str>(&[], "killed-steps", directory.path());
        loop {
            let mut child = program().stdout(Stdio::null()).spawn().unwrap();
            // The test waits for real time, because what it tries is a KILL at a real moment.
            std::thread::sleep(Duration::from_micros(random.word() % 60_000));
            drop(child.kill());
            if child.wait().unwrap().success() {
                break;
            }
            killed += 1;
        }
        let sum = std::fs::read_to_string(directory.path().join("sum")).unwrap();
        // The same name again gives the result it had.
        child::run::<&str>(&[], "killed-steps", directory.path());
        assert_eq!(
            std::fs::read_to_string(directory.path().join("sum")).unwrap(),
            sum,
            "seed {seed}"
        );
        check(&store, &ledger, &sum, seed);
    }
}

fn check(store: &Path, ledger: &Path, sum: &str, seed: u64) {
    let records = records(store);
    let run_seed = records[0].start.as_ref().unwrap().seed;
    let names = ["a", "b", "c", "d", "e", "turn0", "turn1", "turn2", "left", "right"];
    let items = (0..8).map(|item| format!("item{item}"));
    let all: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(items).collect();
    let expected: u64 = all.iter().flat_map(|name| name.bytes()).map(u64::from).sum();
    let expected = expected + SplitMix64::new(!run_seed).word() % 1000;
    assert_eq!(sum.trim(), expected.to_string(), "the sum of an undisturbed run, seed {seed}");

    let mut written: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in std::fs::read_to_string(ledger).unwrap().lines() {
        let (what, name) = line.split_once(' ').unwrap();
        let counts = written.entry(name.into()).or_default();
        match what {
            "start" => counts.0 += 1,
            _ => counts.1 += 1,
        }
    }
    let mut starts: BTreeMap<String, u32> = BTreeMap::new();
    let mut succeeded: BTreeMap<String, u32> = BTreeMap::new();
    for record in &records {
        let Some(step) = record.step.as_deref() else { continue };
        let name = match (step, record.key.as_deref()) {
            ("turn", _) => "turn0".to_owned(),
            ("turn#2", _) => "turn1".to_owned(),
            ("turn#3", _) => "turn2".to_owned(),
            ("map.1", Some(item)) => format!("item{item}"),
            _ => step.to_owned(),
        };
        match (record.event, record.outcome) {
            (Event::AttemptStart, _) => *starts.entry(name).or_default() += 1,
            (Event::AttemptEnd, Some(Outcome::Succeeded)) => {
                *succeeded.entry(name).or_default() += 1
            }
            _ => {}
        }
    }
    for name in all {
        let (began, _) = written[&name];
        assert!(
            began <= starts[&name],
            "{name} was begun {began} times, and {} are written down",
            starts[&name]
        );
        assert!(starts[&name] <= 50, "{name}");
        assert_eq!(succeeded[&name], 1, "{name} succeeded once, seed {seed}");
    }
}
