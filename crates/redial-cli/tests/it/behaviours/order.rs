//! What a command writes to two streams that end in one place comes there in the order in which it was written.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::Stdio;

use crate::kernel::Told;
use crate::program::REDIAL;
use crate::stage::{Stage, started};
use crate::terminal::Terminal;
use crate::tool::redial;

const LINES: usize = 1000;

/// Writes a line to one stream and then one to the other, `LINES` times.
const ALTERNATING: &str =
    "i=0; while [ $i -lt 1000 ]; do echo out $i; echo err $i >&2; i=$((i + 1)); done";

/// Watched by a rule that does not care for the stream, held by a poll, and left alone.
fn lines() -> Vec<Vec<String>> {
    let program = REDIAL;
    let poll =
        [program, "until", "--success-on", "output:/err 999/", "--", "sh", "-c", ALTERNATING];
    vec![
        redial("-n 1 --stop-on output:/never/", ALTERNATING),
        poll.map(str::to_owned).to_vec(),
        redial("-n 1", ALTERNATING),
    ]
}

fn alternating() -> String {
    (0..LINES).map(|at| format!("out {at}\nerr {at}\n")).collect()
}

/// Not `assert_eq`, which would print two thousand lines.
#[track_caller]
fn in_order(found: &str, what: &str) {
    let expected = alternating();
    let wrong = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(found == expected, "{what}: {} bytes; first (found, expected): {wrong:?}", found.len());
}

#[test]
fn two_streams_into_one_file_keep_their_order() -> Told<()> {
    for line in lines() {
        let stage = Stage::new();
        let file = stage.create("both");
        let mut command = stage.command(&line);
        command.stdout(file.try_clone().unwrap()).stderr(file);
        assert_eq!(stage.finish(command)?.code(), 0, "{line:?}");
        in_order(&stage.text("both"), &format!("{line:?}"));
    }
    Ok(())
}

#[test]
fn a_file_that_is_opened_twice_to_append_is_one() -> Told<()> {
    for line in lines() {
        let stage = Stage::new();
        let open =
            || OpenOptions::new().append(true).create(true).open(stage.path("both")).unwrap();
        let mut command = stage.command(&line);
        command.stdout(open()).stderr(open());
        assert_eq!(stage.finish(command)?.code(), 0, "{line:?}");
        in_order(&stage.text("both"), &format!("{line:?}"));
    }
    Ok(())
}

#[test]
fn two_streams_into_one_pipe_keep_their_order() -> Told<()> {
    for line in lines() {
        let stage = Stage::new();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = stage.command(&line);
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let mut running = started(&mut command);
        drop(command);
        let mut found = String::new();
        reader.read_to_string(&mut found).unwrap();
        assert_eq!(running.end(stage.patience)?.code(), 0, "{line:?}");
        in_order(&found, &format!("{line:?}"));
    }
    Ok(())
}

#[test]
fn two_streams_onto_one_terminal_keep_their_order_and_stay_terminals() -> Told<()> {
    for mut line in lines() {
        let stage = Stage::new();
        let script = line.pop().unwrap();
        line.push(format!("test -t 1 && test -t 2 || exit 9; {script}"));
        let mut terminal = Terminal::start(&stage, &line);
        assert_eq!(terminal.end()?.code(), 0, "{line:?}");
        terminal.drained();
        let found = String::from_utf8(terminal.bytes()).unwrap().replace("\r\n", "\n");
        in_order(&found, &format!("{line:?}"));
    }
    Ok(())
}

#[test]
fn a_rule_about_either_stream_sees_both_where_they_are_one() -> Told<()> {
    for (word, stops) in [("out 7", true), ("err 7", true), ("out 1000", false)] {
        let stage = Stage::new();
        let script = format!("{ALTERNATING}; echo . >>attempts; exit 3");
        let flags =
            format!("-n 2 -q --events events --stop-on output:/^{}$/", word.replace(' ', "."));
        let file = stage.create("both");
        let mut command = stage.command(&redial(&flags, &script));
        command.stdout(file.try_clone().unwrap()).stderr(file);
        assert_eq!(stage.finish(command)?.code(), 3, "{word}");
        assert_eq!(stage.attempts(), if stops { 1 } else { 2 }, "{word}");
        let events = stage.events()?;
        let end = events.iter().find(|event| event["type"] == "attempt.end").unwrap();
        let tail = end["stderr_tail"].as_str().unwrap();
        assert!(tail.ends_with("out 999\nerr 999\n"), "{tail}");
    }
    Ok(())
}

/// Two pipes, because one would not say which stream it was: nothing is lost, and each stream is in order.
#[test]
fn a_rule_about_one_stream_still_tells_them_apart() -> Told<()> {
    let condition = "stdout:/out 999/ & !stdout:/err/ & stderr:/err 999/ & !stderr:/out/";
    let stage = Stage::new();
    let program = REDIAL;
    let line =
        [program, "run", "-n", "1", "--success-on", condition, "--", "sh", "-c", ALTERNATING];
    let file = stage.create("both");
    let mut command = stage.command(&line);
    command.stdout(file.try_clone().unwrap()).stderr(file);
    assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
    let both = stage.text("both");
    for stream in ["out", "err"] {
        let found = both.lines().filter(|line| line.starts_with(stream));
        assert!(found.eq((0..LINES).map(|at| format!("{stream} {at}"))), "{stream}");
    }
    Ok(())
}

#[test]
fn two_files_stay_two() -> Told<()> {
    for line in lines() {
        let stage = Stage::new();
        assert_eq!(stage.run(&line)?.code(), 0, "{line:?}");
        for stream in ["out", "err"] {
            let expected: String = (0..LINES).map(|at| format!("{stream} {at}\n")).collect();
            assert!(stage.text(stream) == expected, "{stream} of {line:?}");
        }
    }
    Ok(())
}

/// What is held of failed attempts is their standard error alone, also where both go to one file.
#[test]
fn the_output_of_failed_attempts_is_not_kept_with_their_errors() -> Told<()> {
    let stage = Stage::new();
    let script = "echo out $REDIAL_ATTEMPT; echo err $REDIAL_ATTEMPT >&2; exit 3";
    let file = stage.create("both");
    let mut command = stage.command(&redial("-n 3 -d 1ms --output hold --stderr hold", script));
    command.stdout(file.try_clone().unwrap()).stderr(file).stdin(Stdio::null());
    assert_eq!(stage.finish(command)?.code(), 3);
    let both = stage.text("both");
    let count = |text: &str| both.lines().filter(|line| *line == text).count();
    let kept = ["out 1", "out 2", "out 3", "err 1", "err 2", "err 3"].map(count);
    assert_eq!(kept, [0, 0, 1, 1, 1, 1], "{both}");
    Ok(())
}

/// A closed stream is no file at all.
#[test]
fn a_closed_stream_is_not_one_with_the_other() -> Told<()> {
    let stage = Stage::new();
    let line = crate::tool::quoted(&redial("-n 1 --stop-on output:/never/", "echo out"));
    let mut command = stage.command(&["sh", "-c", &format!("{line} 2>&-")]);
    command.stdin(File::open("/dev/null").unwrap());
    assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
    assert_eq!(stage.text("out"), "out\n");
    Ok(())
}
