//! Every example of the seed document on backoff strategies, run as it stands there: real files, real commands, real
//! time. All of them run side by side, so the test takes as long as the longest, 26 s, nearly all of it asleep.
//!
//! The fourth delay of the example with base 3 is 27 s. It is decided and written down, and then the run is ended
//! instead of waited for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{self, install};

const SEED: &str = include_str!("../../../../redial-policy/tests/seeds/001.md");

/// The items of `work-items.json`: which fail, how, and how often.
const WORK_ITEMS: &str = r#"{"items": [
    {"id": "at-once"},
    {"id": "refused-twice"},
    {"id": "refused-always"},
    {"id": "disk-full"}
]}"#;

/// What stands for every command of the document: fails, and writes down that it ran.
const COMMAND: &str = r#"#!/bin/sh
name=$(basename "$0")
echo "$name" >> ran
case $name in
  # Whoever is too slow to end it while it waits ends it while it runs.
  api-request) test "$(wc -l < ran)" -le 4 || exec sleep 1000 ;;
esac
false
"#;

/// The command of the last example, which is told its item.
const PROCESS_ITEM: &str = r#"#!/bin/sh
echo "$1" >> ran
case $1 in
  at-once) ;;
  refused-twice) test "$(grep -cx refused-twice ran)" -gt 2 && exit; echo "connection refused" >&2; exit 1 ;;
  refused-always) echo "connection refused" >&2; exit 1 ;;
  disk-full) echo "no space left on device" >&2; exit 1 ;;
esac
"#;

/// The examples as they stand in the document.
fn blocks() -> Vec<&'static str> {
    let parts = SEED.split("```yaml\n").skip(1);
    parts.map(|part| part.split("```").next().unwrap()).collect()
}

/// An example while it runs.
struct Running {
    folder: TempDir,
    redial: Child,
}

impl Running {
    fn start(block: &str) -> Self {
        let folder = program::folder(&[("flow.yaml", block), ("work-items.json", WORK_ITEMS)]);
        let programs = folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        for name in [
            "flaky-command",
            "database-query",
            "network-call",
            "api-request",
            "distributed-operation",
            "custom-retry-operation",
        ] {
            install(&programs.join(name), COMMAND);
        }
        install(&programs.join("process-item"), PROCESS_ITEM);
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        // A seed whose jitter is on the short side: the last example could take 37.5 s.
        let arguments = ["flow", "run", "flow.yaml", "--run", "seed", "--seed", "3"];
        let mut command: Command = program::command(folder.path(), &arguments);
        let redial =
            command.env("PATH", path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { folder, redial }
    }

    fn journal(&self) -> Vec<Value> {
        records(self.folder.path())
    }

    /// Waits for the end; gives the exit code.
    fn code(&mut self) -> Option<i32> {
        self.redial.wait().unwrap().code()
    }

    /// The arguments of every execution, in order, as the commands themselves have written them down.
    fn ran(&self) -> Vec<String> {
        let ran = std::fs::read_to_string(self.folder.path().join("ran")).unwrap();
        ran.lines().map(str::to_owned).collect()
    }
}

/// The records of the run; a line that is being written is left for the next look.
fn records(folder: &Path) -> Vec<Value> {
    let journal = folder.join(".redial/runs/seed/journal.ndjson");
    let text = std::fs::read_to_string(journal).unwrap_or_default();
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

fn is(record: &Value, kind: &str, item: u64) -> bool {
    record["type"] == kind && record["item"].as_u64() == Some(item)
}

/// The delays that were decided for an item, in nanoseconds.
fn delays(journal: &[Value], item: u64) -> Vec<u64> {
    let decisions = journal.iter().filter(|record| is(record, "decision", item));
    decisions.filter_map(|decision| decision["delay_ns"].as_u64()).collect()
}

fn starts(journal: &[Value], item: u64) -> Vec<f64> {
    let starts = journal.iter().filter(|record| is(record, "attempt.start", item));
    starts.map(|start| start["t"].as_f64().unwrap()).collect()
}

/// Every attempt after the first started when its delay was over, and not before.
#[track_caller]
fn are_waited(journal: &[Value], item: u64) {
    let decisions = journal.iter().filter(|record| is(record, "decision", item));
    let due = decisions.filter_map(|decision| decision["due_ns"].as_u64());
    for (due, start) in due.zip(&starts(journal, item)[1..]) {
        // The journal's time has nanoseconds, and a float has about as many digits.
        assert!(*start + 1e-6 >= due as f64 / 1e9, "due {due}, started {start}");
    }
}

fn seconds(seconds: &[u64]) -> Vec<u64> {
    seconds.iter().map(|seconds| seconds * 1_000_000_000).collect()
}

#[test]
fn every_example_runs_as_the_document_says() {
    let mut running: Vec<Running> = blocks().into_iter().map(Running::start).collect();
    let stated: [(&str, usize, &[u64]); 6] = [
        ("flaky-command", 5, &[2, 2, 2, 2]),
        ("database-query", 5, &[1, 3, 5, 7]),
        ("network-call", 5, &[1, 2, 4, 8]),
        ("api-request", 4, &[1, 3, 9, 27]),
        ("distributed-operation", 6, &[1, 1, 2, 3, 5]),
        ("custom-retry-operation", 5, &[1, 3, 7, 15]),
    ];
    assert_eq!(running.len(), stated.len() + 1);

    // The wait of 27 s is not slept: it is enough that it is written down.
    while delays(&running[3].journal(), 0).len() < 4 {
        thread::sleep(Duration::from_millis(50));
    }
    let pid = i32::try_from(running[3].redial.id()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();

    for (example, (command, executions, delays_s)) in running.iter_mut().zip(stated) {
        let code = example.code();
        let journal = example.journal();
        let (mut ran, mut starts) = (example.ran(), starts(&journal, 0));
        if command == "api-request" {
            ran.truncate(executions);
            starts.truncate(executions);
        }
        assert_eq!((ran, starts.len()), (vec![command.to_owned(); executions], executions));
        assert_eq!(delays(&journal, 0), seconds(delays_s), "{command}");
        are_waited(&journal, 0);
        // What fails to the last is a dead letter, and the run says so; what was ended died of the signal.
        assert_eq!(code, Some(1).filter(|_| command != "api-request"), "{command}");
    }
    complete(&mut running[6]);
}

/// The complete example: a file of items, jitter, and `retry_on`.
fn complete(example: &mut Running) {
    assert_eq!(example.code(), Some(1));
    let mut executions = BTreeMap::new();
    for item in example.ran() {
        *executions.entry(item).or_insert(0) += 1;
    }
    // What is not retried by `retry_on` runs once.
    let expected = [("at-once", 1), ("disk-full", 1), ("refused-always", 5), ("refused-twice", 3)];
    assert_eq!(executions, expected.map(|(item, times)| (item.to_owned(), times)).into());
    let journal = example.journal();
    for (item, stated) in [(0, &[][..]), (1, &[2, 4]), (2, &[2, 4, 8, 16]), (3, &[])] {
        let delays = delays(&journal, item);
        assert_eq!(delays.len(), stated.len(), "{delays:?}");
        for (delay, stated) in delays.iter().zip(seconds(stated)) {
            let quarter = stated / 4;
            assert!((stated - quarter..=stated + quarter).contains(delay), "{delay} of {stated}");
            assert_ne!(*delay, stated, "no jitter");
        }
        are_waited(&journal, item);
    }
    let dead: Vec<_> = journal.iter().filter(|record| record["type"] == "dead").collect();
    let reasons: BTreeMap<_, _> =
        dead.iter().map(|dead| (dead["item"].as_u64().unwrap(), dead["reason"].as_str())).collect();
    let reasons: Vec<_> = reasons.into_iter().collect();
    assert_eq!(reasons, [(2, Some("attempts-spent")), (3, Some("rejected"))]);
}
