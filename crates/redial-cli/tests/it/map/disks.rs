//! A disk that is full, one that cannot be written to, and too few descriptors: what cannot be written down is not
//! done.

use std::process::Command;

use crate::kernel::Told;
use crate::map::{journal, of_type, tally};
use crate::program::{REDIAL, stderr};
use crate::stage::Stage;

const ITEMS: usize = 60;

/// A job with a long name, so that a small disk is full after a few.
fn line(store: &str) -> String {
    format!(
        "{REDIAL} map --run r --store {store} -j2 -n 3 -d 1ms --items items -- sh -c 'echo $1 >>ran' sh {{}} 2>>err"
    )
}

fn stage() -> Stage {
    let stage = Stage::new();
    let item = |number| format!("{number}-{}\n", "x".repeat(40));
    stage.write("items", (0..ITEMS).map(item).collect::<String>());
    stage
}

fn shell(stage: &Stage, script: &str) -> std::process::Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]);
    stage.at_home(&mut shell);
    shell.output().unwrap()
}

/// After making room, all is done, and nothing twice that was written down.
#[track_caller]
fn check(stage: &Stage) {
    let said = stage.text("err");
    assert!(
        said.contains("nothing more is started, because it could not be written down"),
        "{said}"
    );
    let ran = stage.text("ran");
    let ran = tally(&ran);
    assert_eq!(ran.len(), ITEMS, "{said}");
    // What was running when the disk was full may have ended without a record of it, and is lost: at most one for
    // each of both jobs.
    assert!(ran.values().sum::<usize>() <= ITEMS + 2, "{ran:?}");
}

#[test]
fn a_limit_on_the_size_of_files_stops_new_starts_and_the_run_goes_on_later() -> Told<()> {
    let stage = stage();
    // In blocks of 512 bytes: too few for the items, so nothing runs at all.
    let output = shell(&stage, &format!("ulimit -f 8; {}", line(".redial")));
    assert_eq!(output.status.code(), Some(125), "{} {}", stderr(&output), stage.text("err"));
    assert!(!stage.has("ran"));
    // Room for the items, and for some of the journal.
    let output = shell(&stage, &format!("ulimit -f 26; {}", line(".redial")));
    assert_eq!(output.status.code(), Some(125), "{} {}", stderr(&output), stage.text("err"));
    let before = stage.text("ran").lines().count();
    assert!(before < ITEMS, "it stopped");
    // Nothing ran that was not written down.
    assert!(before <= of_type(&journal(&stage, "r"), "attempt.start").len());
    stage.nothing_is_left()?;
    let output = shell(&stage, &line(".redial"));
    assert_eq!(output.status.code(), Some(0), "{}", stage.text("err"));
    check(&stage);
    Ok(())
}

/// Whether this process may mount something, in a namespace of its own.
fn can_mount(stage: &Stage) -> bool {
    let can = shell(stage, "mkdir -p disk && unshare -m mount -t tmpfs none disk").status.success();
    if !can {
        #[expect(clippy::print_stderr, reason = "a test that did not look says so")]
        {
            eprintln!("no file system can be mounted: left out");
        }
    }
    can
}

#[test]
fn a_full_disk_stops_new_starts_and_the_run_goes_on_when_there_is_room() -> Told<()> {
    let stage = stage();
    if !can_mount(&stage) {
        return Ok(());
    }
    let script = format!(
        "mount -t tmpfs -o size=32k none disk; {line}; echo $? >code; wc -l <ran >before
         mount -o remount,size=10m disk; {line}; echo $? >>code",
        line = line("disk")
    );
    stage.write("script", script);
    shell(&stage, "unshare -m sh script");
    assert_eq!(stage.text("code"), "125\n0\n", "{}", stage.text("err"));
    assert!(stage.text("before").trim().parse::<usize>().unwrap() < ITEMS);
    check(&stage);
    stage.nothing_is_left()
}

#[test]
fn a_disk_that_is_read_only_is_told_and_nothing_runs() -> Told<()> {
    let stage = stage();
    if !can_mount(&stage) {
        return Ok(());
    }
    let script = format!(
        "mount -t tmpfs none disk; mount -o remount,ro disk; {line}; echo $? >code
         mount -o remount,rw disk; {line}; echo $? >>code; wc -l <ran >before
         echo more >>items; mount -o remount,ro disk; {line}; echo $? >>code
         mount -o remount,rw disk; {line}; echo $? >>code",
        line = line("disk")
    );
    stage.write("script", script);
    shell(&stage, "unshare -m sh script");
    assert_eq!(stage.text("code"), "125\n0\n125\n0\n", "{}", stage.text("err"));
    assert_eq!(stage.text("before").trim(), ITEMS.to_string());
    let said = stage.text("err");
    assert_eq!(said.matches("Read-only file system").count(), 2, "{said}");
    assert_eq!(stage.text("ran").lines().count(), ITEMS + 1);
    Ok(())
}

#[test]
fn a_disk_that_fills_up_with_output_is_the_failure_of_the_job() -> Told<()> {
    let stage = stage();
    if !can_mount(&stage) {
        return Ok(());
    }
    let job = "head -c 1000000 /dev/zero || { echo full >>full; exit 1; }";
    let script = format!(
        "mount -t tmpfs -o size=100k none disk; echo a | TMPDIR=$PWD/disk {REDIAL} map -n 2 -d 1ms -- sh -c '{job}' sh >out 2>err; echo $? >code"
    );
    stage.write("script", script);
    shell(&stage, "unshare -m sh script");
    assert_eq!((stage.text("code"), stage.text("full")), ("1\n".into(), "full\nfull\n".into()));
    Ok(())
}

/// As many items as their numbers, each of which says so in `ran` and prints itself.
fn printing(flags: &str) -> String {
    format!("{REDIAL} map -j1 {flags} -- sh -c 'echo $1 >>ran; echo out $1' sh {{}}")
}

#[test]
fn what_standard_output_does_not_take_stops_new_starts_and_is_told() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    for flags in ["", "--keep-order", "-q", "--run r"] {
        let stage = Stage::new();
        let output = shell(&stage, &format!("seq 5 | {} >/dev/full", printing(flags)));
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(125), "{flags}: {said}");
        assert!(
            said.contains("error: cannot write to standard output: No space left on device"),
            "{flags}: {said}"
        );
        assert!(said.contains("what 1 item printed is lost: 1; nothing new was started"), "{said}");
        assert_eq!(stage.text("ran"), "1\n", "{flags}: {said}");
    }
}

#[test]
fn a_run_whose_output_had_no_room_goes_on_with_the_rest() {
    let stage = Stage::new();
    stage.write("items", "1\n2\n3\n");
    let line = printing("--run r --items items");
    let output = shell(&stage, &format!("{line} >/dev/full"));
    assert!(stderr(&output).contains("redial flow resume r goes on with the rest"));
    let records = journal(&stage, "r");
    assert_eq!(records.last().unwrap()["outcome"], "interrupted");
    let output = shell(&stage, &line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    // What has succeeded does not run again, and its output was told to be lost.
    assert_eq!(stage.text("ran"), "1\n2\n3\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out 2\nout 3\n");
}

#[test]
fn a_closed_pipe_stops_new_starts() {
    for flags in ["", "--keep-order", "--run r"] {
        let stage = Stage::new();
        // The reader is gone before the second item begins, and the third is never started.
        let job = "case $1 in 2) until test -e closed; do sleep 0.01; done;; esac; echo $1 >>ran; echo out $1";
        let script = format!(
            "{{ seq 9 | {REDIAL} map -j1 {flags} -- sh -c '{job}' sh {{}}; echo $? >code; }} 2>err | {{ head -n 1 >first; exec <&-; touch closed; }}"
        );
        shell(&stage, &script);
        let said = stage.text("err");
        assert_eq!(stage.text("first"), "out 1\n", "{said}");
        assert_eq!(stage.text("ran"), "1\n2\n", "{flags}: {said}");
        // 128 + SIGPIPE, as of a command that dies of it.
        assert_eq!(stage.text("code"), "141\n", "{flags}: {said}");
        assert!(
            said.contains("nobody reads standard output any more; what 1 item printed is lost: 2")
        );
        assert_eq!(said.contains("redial flow resume r goes on"), flags == "--run r", "{said}");
    }
}

#[test]
fn an_output_directory_without_room_stops_new_starts_and_is_told() -> Told<()> {
    let stage = stage();
    if !can_mount(&stage) {
        return Ok(());
    }
    let job = "echo $1 >>ran; head -c 6000 /dev/zero";
    let script = format!(
        "mount -t tmpfs -o size=16k none disk
         seq 9 | {REDIAL} map -j1 --output-dir disk/to -- sh -c '{job}' sh {{}} 2>err; echo $? >code"
    );
    stage.write("script", script);
    shell(&stage, "unshare -m sh script");
    let said = stage.text("err");
    assert_eq!(stage.text("code"), "125\n", "{said}");
    assert!(
        said.contains("error: cannot write disk/to/") && said.contains("printed is lost"),
        "{said}"
    );
    assert!(stage.text("ran").lines().count() < 9, "{said}");
    Ok(())
}

#[test]
fn with_few_descriptors_fewer_jobs_run_at_once_and_with_too_few_none() {
    let stage = stage();
    for (limit, code) in [(20, 125), (44, 0), (64, 0), (128, 0)] {
        let _ = std::fs::remove_file(stage.path("ran"));
        let job = "sh -c 'echo $1 >>ran' sh";
        let map = format!("ulimit -n {limit}; {REDIAL} map -j 100 --items items -- {job} 2>err");
        let output = shell(&stage, &map);
        let said = stage.text("err");
        assert_eq!(output.status.code(), Some(code), "{limit}: {said}");
        let ran = stage.text("ran").lines().count();
        match code {
            0 => assert!(
                said.contains("of 100 jobs run at a time") && ran == ITEMS,
                "{limit}: {said}"
            ),
            _ => assert!(said.contains("open files") && ran == 0, "{limit}: {said}"),
        }
    }
}
