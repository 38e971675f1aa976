//! Runs and their directories, with real processes, kills and disks.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use redial_core::Random;
use redial_flow::journal::{End, Reading, Sync};
use redial_flow::record::Place;
use redial_flow::store::{Held, Run, RunName, Segment, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::child;

const FLOW: &[u8] = br#"{"flow":"test"}"#;

fn name(text: &str) -> RunName {
    text.parse().unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::at(directory.path().join(".redial"));
    (directory, store)
}

fn names(store: &Store) -> Vec<String> {
    let list = store.list().unwrap();
    list.into_iter().map(|listed| listed.name.into_string().unwrap()).collect()
}

/// What stands in the directory of runs, hidden or not.
fn entries(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.root().join("runs")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_is_made_found_listed_and_removed() {
    let (_directory, store) = store();
    assert_eq!(store.list().unwrap(), []);
    let run = store.create(&name("a"), FLOW).unwrap();
    assert_eq!(store.open(&name("a")).unwrap(), run);
    assert_eq!(run.flow().unwrap(), FLOW);
    assert_eq!(run.name().as_str(), "a");
    assert!(run.path().ends_with(".redial/runs/a"));
    let mut journal = run.read_journal::<serde_json::Value>().unwrap();
    assert!(journal.next().is_none());
    assert_eq!(journal.end(), Some(End::default()));
    store.remove(&name("a")).unwrap();
    assert_eq!(entries(&store), [".gitignore"]);
    let error = store.open(&name("a")).unwrap_err();
    assert!(error.to_string().starts_with("there is no run `a` in "), "{error}");
    assert!(matches!(store.remove(&name("a")), Err(StoreError::NotFound { .. })));
    assert!(matches!(run.hold(), Err(StoreError::NotFound { .. })));
}

#[test]
fn runs_are_listed_by_the_time_they_were_made() {
    let (_directory, store) = store();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_772_621);
    for (at, text) in ["c", "a", "b", "d"].into_iter().enumerate() {
        let run = store.create(&name(text), FLOW).unwrap();
        let flow = File::options().write(true).open(run.path().join("flow.json")).unwrap();
        flow.set_modified(time + Duration::from_secs(at as u64)).unwrap();
    }
    assert_eq!(names(&store), ["c", "a", "b", "d"]);
    assert!(store.list().unwrap().iter().all(|listed| listed.flaw.is_none()));
    assert_eq!(store.list().unwrap()[0].made, Some(time));
}

#[test]
fn a_name_is_plain() {
    for text in ["a", "7", "_", "A-b_c.d", "01KA4Z9Q3W7X8Y6V5T4S3R2Q1P", &"x".repeat(100)] {
        assert_eq!(text.parse::<RunName>().unwrap().as_str(), text);
    }
    let long = "x".repeat(300);
    for (text, reason) in [
        ("", "`` cannot name a run: it is empty"),
        (".", "it begins with `.`"),
        ("..", "it begins with `.`"),
        (".hidden", "it begins with `.`"),
        ("../x", "`../x` cannot name a run: it begins with `.`"),
        ("-rf", "it begins with `-`"),
        ("a/b", "it has `/` in it"),
        ("/etc", "it has `/` in it"),
        ("a\\b", "it has `\\\\` in it"),
        ("a b", "it has ` ` in it"),
        ("a\nb", "`a\\nb` cannot name a run: it has `\\n` in it"),
        ("a\0", "it has `\\0` in it"),
        ("$HOME", "it has `$` in it"),
        ("größe", "it has `ö` in it"),
        ("a:b", "it has `:` in it"),
        ("a.", "it ends with `.`"),
        ("a-", "it ends with `-`"),
        (&long, "xxx…` cannot name a run: it has 300 bytes, and 100 are the most"),
    ] {
        let error = text.parse::<RunName>().unwrap_err().to_string();
        assert!(error.contains(reason), "{error} has not {reason}");
        assert!(error.ends_with("as in nightly-2026.11"), "{error}");
    }
}

#[test]
fn a_generated_name_sorts_by_time_at_any_time() {
    let after = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
    let times = [before, after(1), after(1_794_772_621_000), after(1 << 47), after(u64::MAX)];
    let names = times.map(|time| RunName::generated(time, u128::MAX).to_string());
    assert!(names.is_sorted(), "{names:?}");
    assert_eq!(names[0], "0000000000ZZZZZZZZZZZZZZZZ");
    assert_eq!(names[4], "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
    assert!(names.iter().all(|text| text.parse::<RunName>().is_ok()));
    assert_ne!(RunName::generated(after(1), 1), RunName::generated(after(1), 2));
}

#[test]
fn of_many_who_make_the_same_run_one_does() {
    let (_directory, store) = store();
    let made = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| store.create(&name("a"), FLOW))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    for error in made.iter().filter_map(|made| made.as_ref().err()) {
        assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        assert!(error.to_string().starts_with("there is a run `a` already"), "{error}");
    }
    assert_eq!(entries(&store), [".gitignore", "a"]);
}

#[cfg(unix)]
#[test]
fn what_a_run_holds_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    let held = run.hold().unwrap();
    held.segment(3).unwrap().append(b"private").unwrap();
    let mode =
        |path: &str| fs::metadata(run.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    for file in ["flow.json", "items.ndjson", "journal.ndjson", "lock", "out/3.seg"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    assert_eq!(fs::read(store.root().join("runs/.gitignore")).unwrap(), b"*\n");
}

#[cfg(unix)]
#[test]
fn what_is_no_run_is_listed_as_such_and_can_be_removed() {
    use std::os::unix::fs::symlink;
    let (directory, store) = store();
    for text in ["whole", "headless", "odd"] {
        store.create(&name(text), FLOW).unwrap();
    }
    let runs = store.root().join("runs");
    fs::remove_file(runs.join("headless/flow.json")).unwrap();
    fs::remove_file(runs.join("odd/journal.ndjson")).unwrap();
    fs::create_dir(runs.join("odd/journal.ndjson")).unwrap();
    fs::write(runs.join("file"), "").unwrap();
    fs::create_dir(runs.join("not a name")).unwrap();
    let precious = directory.path().join("precious");
    fs::create_dir(&precious).unwrap();
    for file in ["flow.json", "items.ndjson", "journal.ndjson"] {
        fs::write(precious.join(file), "{}").unwrap();
    }
    symlink(&precious, runs.join("link")).unwrap();
    symlink("nowhere", runs.join("dangling")).unwrap();
    let flaws: Vec<_> =
        store.list().unwrap().into_iter().filter_map(|l| Some((l.name, l.flaw?))).collect();
    let mut flaws: Vec<_> =
        flaws.iter().map(|(name, flaw)| (name.to_str().unwrap(), &**flaw)).collect();
    flaws.sort();
    assert_eq!(
        flaws,
        [
            ("dangling", "it is a symbolic link, which is not followed"),
            ("file", "it is not a directory"),
            ("headless", "it has no flow.json"),
            ("link", "it is a symbolic link, which is not followed"),
            ("not a name", "it has no flow.json"),
            ("odd", "its journal.ndjson is not a regular file"),
        ]
    );
    for (text, flaw) in flaws.iter().filter(|(text, _)| *text != "not a name") {
        let error = store.open(&name(text)).unwrap_err().to_string();
        assert!(
            error.ends_with(&format!("{text} is no run: {flaw}; it can be removed")),
            "{error}"
        );
        assert!(matches!(store.create(&name(text), FLOW), Err(StoreError::Exists { .. })));
        store.remove(&name(text)).unwrap();
    }
    assert_eq!(entries(&store), [".gitignore", "not a name", "whole"]);
    assert_eq!(fs::read_dir(precious).unwrap().count(), 3);
}

#[test]
fn where_a_store_cannot_be_the_error_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    for root in [file.clone(), file.join("below")] {
        let store = Store::at(&root);
        let error = store.create(&name("a"), FLOW).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot make {}/runs: ", root.display())), "{error}");
        assert!(matches!(store.open(&name("a")), Err(StoreError::NotFound { .. })));
        let error = store.list().unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read {}/runs: ", root.display())), "{error}");
    }
}

#[test]
fn what_interrupted_processes_left_is_swept() {
    let (_directory, store) = store();
    store.create(&name("a"), FLOW).unwrap();
    let runs = store.root().join("runs");
    let leave = || {
        for left in [".gone-1", ".new-old", ".new-now", ".new-used"] {
            fs::create_dir_all(runs.join(left)).unwrap();
            fs::write(runs.join(left).join("flow.json"), "").unwrap();
        }
        // Somebody is making it, and takes a long time.
        let lock = File::create(runs.join(".new-used/lock")).unwrap();
        lock.lock().unwrap();
        let (hour, now) = (Duration::from_secs(3600), SystemTime::now());
        // However long this takes.
        for (name, time) in
            [(".new-old", now - hour), (".new-used", now - hour), (".new-now", now + hour)]
        {
            File::open(runs.join(name)).unwrap().set_modified(time).unwrap();
        }
        lock
    };
    let lock = leave();
    assert_eq!(names(&store), ["a"]);
    store.create(&name("b"), FLOW).unwrap();
    assert_eq!(entries(&store), [".gitignore", ".new-now", ".new-used", "a", "b"]);
    // Not by dropping it: a process that another test is starting may have a copy of the descriptor until it execs.
    lock.unlock().unwrap();
    store.create(&name("b"), FLOW).unwrap_err();
    assert_eq!(entries(&store), [".gitignore", ".new-now", "a", "b"]);
    let _lock = leave();
    store.remove(&name("b")).unwrap();
    assert_eq!(entries(&store), [".gitignore", ".new-now", ".new-used", "a"]);
}

#[test]
fn a_run_that_is_held_is_neither_held_again_nor_removed() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    assert_eq!(run.holder().unwrap(), None);
    let held = run.hold().unwrap();
    let pid = std::process::id();
    assert_eq!(run.holder().unwrap().unwrap().pid, Some(pid));
    let text = format!("the run `a` is held by process {pid}; wait for it, or cancel it");
    assert_eq!(run.hold().unwrap_err().to_string(), text);
    assert_eq!(store.remove(&name("a")).unwrap_err().to_string(), text);
    // As on a disk that had no room for it.
    fs::write(run.path().join("lock"), "").unwrap();
    let text = "the run `a` is held by another process; wait for it, or cancel it";
    assert_eq!(run.hold().unwrap_err().to_string(), text);
    // Who reads needs no lock.
    assert!(run.read_journal::<serde_json::Value>().unwrap().next().is_none());
    drop(held);
    assert_eq!(run.holder().unwrap(), None);
    drop(run.hold().unwrap());
    store.remove(&name("a")).unwrap();
}

/// A command that is being started has all files of its parent, until it is the command.
#[test]
fn a_run_that_is_let_go_is_free_while_commands_are_started() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    std::thread::scope(|scope| {
        let commands = scope.spawn(|| {
            for _ in 0..100 {
                assert!(Command::new("true").status().unwrap().success());
            }
        });
        while !commands.is_finished() {
            drop(run.hold().unwrap());
            assert_eq!(run.holder().unwrap(), None);
        }
    });
}

pub(crate) fn hold_until_killed(path: &Path) {
    let _held = Store::at(path).open(&name("a")).unwrap().hold().unwrap();
    acknowledge(0);
    // Until the test ends, however it does.
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}

#[test]
fn a_kill_frees_the_run() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    let mut child = child::command(&["env"], "hold", store.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.by_ref().map(Result::unwrap).find_map(|line| acknowledged(&line)).unwrap();
    match run.hold() {
        Err(StoreError::Held { holder, .. }) => assert_eq!(holder.pid, Some(child.id())),
        other => panic!("{other:?}"),
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run.holder().unwrap(), None);
    run.hold().unwrap();
}

#[test]
fn an_output_is_read_as_it_was_written_or_not_at_all() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    let held = run.hold().unwrap();
    let outputs: Vec<Vec<u8>> = vec![b"one".into(), vec![], vec![0xff; 100_000], b"last\n".into()];
    let mut segment = held.segment(7).unwrap();
    let mut places: Vec<_> =
        outputs[..3].iter().map(|output| segment.append(output).unwrap()).collect();
    drop(segment);
    // A part of an output, from a process that was killed.
    let path = run.path().join("out/7.seg");
    File::options().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
    places.push(held.segment(7).unwrap().append(&outputs[3]).unwrap());
    assert_eq!(places[3].offset, 100_007);
    let text = serde_json::to_string(&places[0]).unwrap();
    assert_eq!(text, r#"{"segment":7,"offset":0,"length":3,"crc":2053932785}"#);
    assert_eq!(serde_json::from_str::<Place>(&text).unwrap(), places[0]);
    for (place, output) in places.iter().zip(&outputs) {
        assert_eq!(&run.output(place).unwrap(), output);
        let mut streamed = Vec::new();
        run.output_reader(place).unwrap().read_to_end(&mut streamed).unwrap();
        assert_eq!(&streamed, output);
    }
    let mut bytes = fs::read(&path).unwrap();
    bytes[1] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = run.output(&places[0]).unwrap_err().to_string();
    let damaged = "7.seg is damaged: the 3 bytes from byte 0 are not what was written there; bring the file \
                   back, or remove the run";
    assert!(error.ends_with(damaged), "{error}");
    assert_eq!(run.output_reader(&places[0]).unwrap_err().to_string(), error);
    for (offset, length) in [(0, u64::MAX), (u64::MAX, 1), (u64::MAX, u64::MAX), (100_013, 0)] {
        let error = run.output(&Place { offset, length, ..places[0] }).unwrap_err().to_string();
        assert!(error.contains("it has 100012 bytes, too few for"), "{error}");
    }
    let error = run.output(&Place { segment: u32::MAX, ..places[0] }).unwrap_err().to_string();
    assert!(error.contains("out/4294967295.seg is damaged: it is gone; bring the file"), "{error}");
}

#[test]
fn a_stream_of_text_ends_before_the_newlines_at_its_end() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    let mut segment = run.hold().unwrap().segment(0).unwrap();
    let long = "x".repeat(1 << 16);
    for (text, newlines) in [
        ("", 0),
        ("a", 0),
        ("a\n", 1),
        ("\n\n\n", 3),
        ("a\n\nb\n\n", 2),
        // The newlines begin before, at and after the end of what is read at once.
        (&format!("{}{}", &long[1..], "\n\n"), 2),
        (&format!("{long}{}", "\n".repeat(1 << 17)), 1 << 17),
        (&format!("{long}\nx"), 0),
    ] {
        let place = segment.append(text.as_bytes()).unwrap();
        let mut read = String::new();
        let reader = run.output_reader(&place).unwrap();
        reader.without_last_newlines().read_to_string(&mut read).unwrap();
        assert!(read == text[..text.len() - newlines], "{} bytes", text.len());
    }
}

#[test]
fn a_run_that_is_removed_under_its_holder_stops_it() {
    let (_directory, store) = store();
    let run = store.create(&name("a"), FLOW).unwrap();
    let held = run.hold().unwrap();
    let mut journal = held.journal(End::default(), Sync::Always).unwrap();
    let mut segment = held.segment(0).unwrap();
    fs::remove_dir_all(store.root()).unwrap();
    let error = journal.append(&[record(1, None)]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(segment.append(b"x").is_err());
    assert!(held.segment(1).is_err());
}

// A record and an output that say which they are, so that any mix-up is seen.

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    i: u64,
    text: String,
    out: Option<Place>,
}

fn record(i: u64, out: Option<Place>) -> Record {
    Record { i, text: "x".repeat((i * 37 % 500) as usize), out }
}

fn output(i: u64) -> Vec<u8> {
    vec![i as u8; (i * 101 % 9000) as usize]
}

fn acknowledge(n: u64) {
    // One write, past the buffer of the test's own output.
    io::stdout().write_all(format!("\nack {n}\n").as_bytes()).unwrap();
    io::stdout().flush().unwrap();
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("ack ").map(|n| n.parse().unwrap())
}

/// Reads the run, and sees that it is what was written: the records from 1 on, those after `seen` with their outputs.
fn verify(run: &Run, seen: u64) -> End {
    let mut reading = run.read_journal::<Record>().unwrap();
    for (entry, i) in reading.by_ref().zip(1..) {
        let entry = entry.unwrap();
        assert_eq!(entry.n, i);
        assert_eq!(entry.record, record(i, entry.record.out));
        if let Some(place) = entry.record.out.filter(|_| i > seen) {
            assert_eq!(run.output(&place).unwrap(), output(i));
        }
    }
    reading.end().unwrap()
}

/// Appends records from `next` on, every third with an output, and gives the number after them.
fn append(
    journal: &mut redial_flow::journal::Writer<Record>,
    segment: &mut Segment,
    count: u64,
) -> io::Result<u64> {
    let next = journal.next();
    let mut records = Vec::new();
    for i in next..next + count {
        let place = (i % 3 == 0).then(|| segment.append(&output(i))).transpose()?;
        records.push(record(i, place));
    }
    segment.sync()?;
    journal.append(&records)?;
    Ok(next + count)
}

pub(crate) fn append_until_killed(path: &Path) {
    let held = Store::at(path).open(&name("a")).unwrap().hold().unwrap();
    let end = verify(&held, u64::MAX);
    let sync = if end.next.is_multiple_of(2) { Sync::Always } else { Sync::Group };
    let mut journal = held.journal(end, sync).unwrap();
    let mut segment = held.segment((end.next % 3) as u32).unwrap();
    let mut random = redial_seeds::random(end.next);
    loop {
        let next = append(&mut journal, &mut segment, 1 + random.word() % 20).unwrap();
        acknowledge(next - 1);
    }
}

/// A run that is killed fifty times and goes on each time.
#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_acknowledged() {
    redial_seeds::each_seed(1, |mut random| {
        let (_directory, store) = store();
        let run = store.create(&name("a"), FLOW).unwrap();
        let mut total = 0;
        for _ in 0..50 {
            let mut child = child::command(&["env"], "append", store.root())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap())
                .lines()
                .filter_map(|line| acknowledged(&line.unwrap()));
            let wanted = 1 + random.word() % 20;
            let before = (0..wanted).map(|_| lines.next().unwrap()).last().unwrap();
            child.kill().unwrap();
            let last = lines.last().unwrap_or(before);
            child.wait().unwrap();
            let end = verify(&run, total);
            assert!(end.next > last, "{} of {last} records are there", end.next - 1);
            assert!(last > total, "{last} after {total}");
            total = last;
        }
    });
}

/// A disk of 512 KiB of its own, which goes with the process.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_and_a_read_only_one_keep_what_was_acknowledged() {
    let mount = "mount -t tmpfs -o size=512k none \"$0\" && exec \"$@\"";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let wrapper = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, path];
    if child::can(&[&wrapper[..], &["true"]].concat()) {
        child::run(&wrapper, "full-disk", directory.path());
    }
}

fn append_until_it_fails(held: &Held, end: End) -> (u64, io::Error) {
    let mut journal = held.journal(end, Sync::Always).unwrap();
    let mut segment = held.segment(0).unwrap();
    let error = loop {
        if let Err(error) = append(&mut journal, &mut segment, 7) {
            break error;
        }
    };
    let next = journal.next();
    // Whatever failed is taken back, and the next failure is the same.
    let again = append(&mut journal, &mut segment, 7).unwrap_err();
    assert_eq!(again.kind(), error.kind());
    let end = verify(held, 0);
    assert_eq!((end.next, end.tail), (next, None));
    (next, error)
}

pub(crate) fn fill_the_disk(path: &Path) {
    let store = Store::at(path.join(".redial"));
    let run = store.create(&name("a"), FLOW).unwrap();
    let filler = path.join("filler");
    fs::write(&filler, vec![1; 200_000]).unwrap();
    let held = run.hold().unwrap();
    let (next, error) = append_until_it_fails(&held, End::default());
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(
        error.to_string().ends_with("cannot be written: No space left on device (os error 28)"),
        "{error}"
    );
    drop(held);

    // A run exists or it does not, also where there is no room for one.
    fs::write(path.join("rest"), vec![1; 512 << 10]).unwrap_err();
    let error = store.create(&name("b"), FLOW).unwrap_err().to_string();
    assert!(error.contains("No space left on device"), "{error}");
    assert_eq!(entries(&store), [".gitignore", "a"]);
    let held = run.hold().unwrap();

    fs::remove_file(filler).unwrap();
    let (later, _) = append_until_it_fails(&held, verify(&run, 0));
    assert!(later > next, "{later} after {next}");
    drop(held);

    // Now it can only be read.
    let remount = Command::new("mount").args(["-o", "remount,ro"]).arg(path).status();
    assert!(remount.unwrap().success());
    assert_eq!(store.open(&name("a")).unwrap(), run);
    assert_eq!(verify(&run, 0).next, later);
    assert_eq!(names(&store), ["a"]);
    assert_eq!(run.holder().unwrap(), None);
    let errors = [
        run.hold().unwrap_err(),
        store.remove(&name("a")).unwrap_err(),
        store.create(&name("c"), FLOW).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("Read-only file system"), "{error}");
    }
}

/// Without that, SIGXFSZ would end the process.
#[cfg(unix)]
#[test]
fn the_limit_on_the_size_of_files_is_an_error_and_no_death() {
    let (_directory, store) = store();
    child::run(&["sh", "-c", "ulimit -f 64 && exec \"$@\"", "sh"], "limit", store.root());
}

pub(crate) fn reach_the_limit(path: &Path) {
    let run = Store::at(path).create(&name("a"), FLOW).unwrap();
    let held = run.hold().unwrap();
    let (next, error) = append_until_it_fails(&held, End::default());
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(error.to_string().ends_with("(`ulimit -f`)"), "{error}");
    assert!(next > 7);
    let mut reading = Reading::<Record>::open(run.journal_path()).unwrap();
    assert_eq!(reading.by_ref().filter(Result::is_ok).count() as u64, next - 1);
}
