//! The real program, killed at any moment: what was acknowledged stays, no attempt runs twice, and the end is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use redial_core::{Random, SplitMix64};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use crate::kernel::{Process, Started, send, until};
use crate::map::{command, ends_with, journal, map, of_type, works};
use crate::program::stderr;
use crate::stage::{Stage, started};

const ITEMS: u64 = 40;
/// Enough for every attempt that kills can cost, and for the failures of the jobs themselves.
const ATTEMPTS: u64 = 60;
/// Every fifth item fails twice, by itself; every eighth leaves something behind in a session of its own.
const SCRIPT: &str = r#"echo "$REDIAL_KEY $REDIAL_ATTEMPT" >>ran
test $((REDIAL_ITEM % 8)) != 0 || setsid sleep 1000 &
test $((REDIAL_ITEM % 5)) != 0 || test -e "failed.$1.2" || {
    if test -e "failed.$1.1"; then : >"failed.$1.2"; else : >"failed.$1.1"; fi
    exit 1
}
: >>"done.$1"
test $((REDIAL_ITEM % 8)) != 0 || { kill $!; wait; }
exit 0"#;

fn words(run: &str) -> Vec<&str> {
    let flags = ["--run", run, "-j", "3", "-n", "60", "-d", "1ms", "--items", "items", "-q"];
    [&flags[..], &["--", "sh", "-c", SCRIPT, "sh"]].concat()
}

/// A journal as far as it is written, also in the middle of a line.
fn records(stage: &Stage, run: &str) -> Vec<Value> {
    match stage.has(&format!(".redial/runs/{run}/journal.ndjson")) {
        true => journal(stage, run),
        false => Vec::new(),
    }
}

fn succeeded(records: &[Value]) -> BTreeSet<u64> {
    let ends = of_type(records, "attempt.end").into_iter();
    let ends = ends.filter(|end| end["outcome"] == "succeeded");
    ends.map(|end| end["item"].as_u64().unwrap()).collect()
}

/// `REDIAL_SEED=<seed>` makes the same choices; `REDIAL_CRASHES=<count>` makes more of them.
fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// The seed of this test, which the harness prints if it fails.
fn seed() -> u64 {
    let seed = from_environment("REDIAL_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    #[expect(clippy::print_stdout, reason = "a randomised test prints its seed")]
    {
        println!("REDIAL_SEED={seed}");
    }
    seed
}

#[test]
fn a_kill_at_any_moment_loses_nothing_and_repeats_nothing() {
    let (seed, kills) = (seed(), from_environment("REDIAL_CRASHES").unwrap_or(20));
    let mut random = SplitMix64::new(seed);
    let mut killed = 0;
    while killed < kills {
        let stage = Stage::new();
        stage.write("items", (1..=ITEMS).map(|item| format!("i{item}\n")).collect::<String>());
        killed += disturbed(&stage, &mut random, (kills - killed).min(12), seed);
    }
}

/// Runs to the end, killed up to so many times on the way; says how many times it was.
fn disturbed(stage: &Stage, random: &mut SplitMix64, kills: u64, seed: u64) -> u64 {
    let words = words("r");
    // What each kill found: who had succeeded, and how much had run.
    let mut found: Vec<(BTreeSet<u64>, usize)> = Vec::new();
    loop {
        let mut running = started(&mut grouped(stage, &words));
        let before = stage.bytes(".redial/runs/r/journal.ndjson").len() as u64;
        if (found.len() as u64) < kills {
            // Somewhere in the next tenth of the journal, or before it has begun; and then a little later.
            let target = before + random.word() % 2500;
            let later = Duration::from_micros(random.word() % 4000);
            let whole_group = random.word().is_multiple_of(2);
            until(stage.patience, || {
                stage.bytes(".redial/runs/r/journal.ndjson").len() as u64 >= target
                    || !running.is_running()
            });
            std::thread::sleep(later);
            match whole_group {
                true => {
                    let group = Pid::from_raw(running.pid() as i32).unwrap();
                    let _ = kill_process_group(group, Signal::KILL);
                }
                false => running.signal(Signal::KILL),
            }
        }
        let ended = running.end(stage.patience).unwrap();
        stage.nothing_is_left().unwrap();
        if ended.signal() != Some(Signal::KILL) {
            assert_eq!(ended.code(), 0, "seed {seed}: {}", stage.text("err"));
            break;
        }
        let ran = stage.text("ran").lines().count();
        found.push((succeeded(&records(stage, "r")), ran));
    }
    check(stage, &found, seed);
    found.len() as u64
}

/// The program as the leader of a process group.
fn grouped(stage: &Stage, words: &[&str]) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = command(stage, words);
    command.process_group(0).stdout(stage.create("out")).stderr(stage.create("err"));
    command
}

fn check(stage: &Stage, found: &[(BTreeSet<u64>, usize)], seed: u64) {
    let all = records(stage, "r");
    let seed = format!("REDIAL_SEED={seed}, {} kills", found.len());
    // The result is that of a run which nobody disturbed.
    let (items, done) = (0..ITEMS, (1..=ITEMS).all(|item| stage.has(&format!("done.i{item}"))));
    assert_eq!((succeeded(&all), done), (items.collect(), true), "{seed}");
    assert_eq!(of_type(&all, "dead").len(), 0, "{seed}");
    // Attempts are counted without a gap, and not beyond the policy.
    let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
    for start in of_type(&all, "attempt.start") {
        let count = counted.entry(start["item"].as_u64().unwrap()).or_default();
        *count += 1;
        assert_eq!(start["attempt"], *count, "{seed}");
        assert!(*count <= ATTEMPTS, "{seed}");
    }
    // No attempt runs twice, none that was not counted, and nothing after its success.
    let ran = stage.text("ran");
    let mut once = BTreeSet::new();
    for (at, line) in ran.lines().enumerate() {
        assert!(once.insert(line), "{seed}: {line} ran twice");
        let (key, attempt) = line.split_once(' ').unwrap();
        let item = key.strip_prefix("r/job/i").unwrap().parse::<u64>().unwrap() - 1;
        assert!(attempt.parse::<u64>().unwrap() <= counted[&item], "{seed}: {line} is not counted");
        for (succeeded, before) in found {
            assert!(at < *before || !succeeded.contains(&item), "{seed}: {line} after its success");
        }
    }
    // What was lost is told, and nothing else was.
    let outcomes: BTreeSet<_> = of_type(&all, "attempt.end")
        .iter()
        .map(|end| end["outcome"].as_str().unwrap().to_owned())
        .collect();
    let known = ["failed", "lost", "succeeded"].map(str::to_owned);
    assert!(outcomes.is_subset(&known.into()), "{seed}: {outcomes:?}");
}

#[test]
fn what_was_running_is_lost_and_with_one_attempt_it_is_a_dead_letter() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    let script = "echo in >bell; test -e go || exec sleep 1000";
    let words = ["--run", "r", "-n", "1", "--items", "items", "--", "sh", "-c", script, "sh"];
    let mut running = started(&mut command(&stage, &words));
    stage.hear_that("in").unwrap();
    running.signal(Signal::KILL);
    running.end(stage.patience).unwrap();
    stage.nothing_is_left().unwrap();
    stage.write("go", "");
    let said = ends_with(1, &stage, "", &words);
    assert!(said.contains("a: dead after 1 attempt: lost when redial was killed"), "{said}");
    // Given once more, it is tried with a fresh policy.
    works(&stage, "", &words);
    let records = journal(&stage, "r");
    let ends: Vec<_> = of_type(&records, "attempt.end").iter().map(|end| &end["outcome"]).collect();
    assert_eq!(ends, ["lost", "succeeded"]);
}

#[test]
fn a_wait_goes_on_after_a_kill_and_is_not_begun_anew() {
    let stage = Stage::new();
    stage.write("items", "a\n");
    let flags = [
        "--run",
        "r",
        "-n",
        "2",
        "-d",
        "1h",
        "--max-delay",
        "none",
        "--jitter",
        "none",
        "--items",
        "items",
    ];
    let words = [&flags[..], &["--", "false"]].concat();
    for _ in 0..3 {
        // Counted before it starts: it may have written its first record by the time that we look.
        let before = records(&stage, "r").len();
        let mut running = started(&mut command(&stage, &words));
        // It waits, and has written down that it goes on.
        until(stage.patience, || {
            let records = records(&stage, "r");
            records.len() > before && !of_type(&records, "decision").is_empty()
        });
        running.signal(Signal::KILL);
        running.end(stage.patience).unwrap();
    }
    let records = journal(&stage, "r");
    let (starts, decisions) = (of_type(&records, "attempt.start"), of_type(&records, "decision"));
    assert_eq!((starts.len(), decisions.len()), (1, 1));
    let due = decisions[0]["due_ns"].as_u64().unwrap() as f64 / 1e9;
    assert!((due - decisions[0]["t"].as_f64().unwrap() - 3600.0).abs() < 1e-6);
}

/// Kills a redial in such a way that what it runs survives: its guards are gone before they could see its end.
fn kill_with_guards(stage: &Stage, running: &mut Started) {
    running.signal(Signal::STOP);
    until(stage.patience, || Process::of(running.pid()).is_some_and(|one| one.state == 'T'));
    let guards = stage.alive().into_iter().filter(|one| one.parent == running.pid());
    let guards: Vec<_> = guards.filter(|one| one.command.starts_with("redial-guard")).collect();
    assert!(!guards.is_empty(), "{}", stage.scene());
    guards.iter().for_each(|guard| send(guard.pid, Signal::KILL));
    running.signal(Signal::KILL);
    running.end(stage.patience).unwrap();
}

#[test]
fn what_survived_a_kill_is_ended_before_the_run_goes_on_and_nothing_else_is() {
    let stage = Stage::new();
    // The first job succeeds, and leaves a daemon on purpose; the second one hangs, with a child in another session.
    let script = r#"case $1 in
        1*) setsid sleep $1 & ;;
        *) test -e go || { setsid sleep $1 & echo in >bell; exec sleep $1; } ;;
    esac"#;
    let job = ["-j", "1", "-n", "2", "-d", "1ms", "--", "sh", "-c", script, "sh"];
    let words =
        |store, items| [&["--run", "r", "--store", store, "--items", items], &job[..]].concat();
    stage.write("ours", "1001\n2001\n");
    stage.write("theirs", "1002\n2002\n");
    let mut ours = started(&mut command(&stage, &words("ours.d", "ours")));
    stage.hear_that("in").unwrap();
    // Another run of the same name, in another store, goes on.
    let theirs = started(&mut command(&stage, &words("theirs.d", "theirs")));
    stage.hear_that("in").unwrap();
    let mut other = Command::new("sleep");
    stage.at_home(other.arg("3001").env("REDIAL_RUN_ID", "r").env("REDIAL_KEY", "r/job/2001"));
    let _other = started(&mut other);
    let sleeping = || {
        let sleeps = stage
            .alive()
            .into_iter()
            .filter_map(|one| Some(one.command.strip_prefix("sleep ")?.to_owned()));
        let mut sleeps: Vec<_> = sleeps.collect();
        sleeps.sort();
        sleeps
    };
    let all = ["1001", "1002", "2001", "2001", "2002", "2002", "3001"];
    until(stage.patience, || sleeping() == all);
    kill_with_guards(&stage, &mut ours);
    assert_eq!(sleeping(), all);
    // A copy of a run is not that run: what runs is none of its business.
    let copied =
        Command::new("cp").args(["-a", "ours.d", "copy.d"]).current_dir(stage.path("")).status();
    assert!(copied.unwrap().success());
    stage.write("go", "");
    let said = stderr(&map(&stage, "", &words("copy.d", "ours"))).to_owned();
    assert!(!said.contains("still running"), "{said}");
    assert_eq!(sleeping(), all);
    let output = map(&stage, "", &words("ours.d", "ours"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = "2 processes of the killed run were still running: ended";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    assert_eq!(sleeping(), ["1001", "1002", "2002", "2002", "3001"]);
    drop(theirs);
}

/// The journal of a run that is over, and has attempts to spare.
fn small_run(stage: &Stage) -> Vec<u8> {
    stage.write("items", "a\nb\nc\n");
    let script = "echo $1 $REDIAL_ATTEMPT >>ran; test $1 != b || test $REDIAL_ATTEMPT != 1";
    stage.write("job", script);
    works(stage, "", &small_words());
    stage.bytes(".redial/runs/r/journal.ndjson")
}

fn small_words() -> [&'static str; 14] {
    ["--run", "r", "-n", "9", "-d", "1ms", "--items", "items", "-q", "-j2", "--", "sh", "job", "{}"]
}

#[test]
fn a_journal_that_is_cut_anywhere_goes_on() {
    let stage = Stage::new();
    let whole = small_run(&stage);
    let seed = seed();
    let mut random = SplitMix64::new(seed);
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let cuts = [0]
        .into_iter()
        .chain(ends)
        .chain((0..10).map(|_| (random.word() % whole.len() as u64) as usize));
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in cuts.collect::<Vec<_>>() {
        stage.write(".redial/runs/r/journal.ndjson", &whole[..cut]);
        if cut < first {
            // There were items, so there was a journal: nobody can have been killed before it.
            let said = ends_with(125, &stage, "", &small_words());
            assert!(said.contains("the journal has no record"), "{said}");
            continue;
        }
        works(&stage, "", &small_words());
        let records = journal(&stage, "r");
        assert_eq!(succeeded(&records).len(), 3, "REDIAL_SEED={seed}, cut at {cut}");
        let mut counts = BTreeMap::new();
        for start in of_type(&records, "attempt.start") {
            let count: &mut u64 = counts.entry(start["item"].to_string()).or_default();
            *count += 1;
            assert_eq!(start["attempt"], *count, "REDIAL_SEED={seed}, cut at {cut}");
        }
    }
}

#[test]
fn a_flipped_bit_is_told_and_nothing_runs() {
    let stage = Stage::new();
    small_run(&stage);
    let ran = stage.text("ran");
    let seed = seed();
    let mut random = SplitMix64::new(seed);
    for file in ["journal.ndjson", "items.ndjson"] {
        let path = format!(".redial/runs/r/{file}");
        let whole = stage.bytes(&path);
        // What is after the last newline but one cannot be told from a torn tail.
        let told = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
        for _ in 0..12 {
            let mut flipped = whole.clone();
            let at = (random.word() % told as u64) as usize;
            flipped[at] ^= 1 << (random.word() % 8);
            stage.write(&path, &flipped);
            let said = ends_with(125, &stage, "", &small_words());
            assert!(said.contains(file), "REDIAL_SEED={seed}, byte {at} of {file}: {said}");
            assert_eq!(stage.bytes(&path), flipped, "it is left as it was");
        }
        stage.write(&path, &whole);
    }
    let mut flow = stage.bytes(".redial/runs/r/flow.json");
    flow[10] ^= 1;
    stage.write(".redial/runs/r/flow.json", &flow);
    ends_with(125, &stage, "", &small_words());
    assert_eq!(stage.text("ran"), ran);
}
