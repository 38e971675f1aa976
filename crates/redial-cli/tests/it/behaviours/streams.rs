//! What goes through redial comes out as it went in.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::termios::Action;

use crate::kernel::{Process, Told, until};
use crate::stage::{Stage, started};
use crate::terminal::Terminal;
use crate::tool::{quoted, redial, redial_on};

const MIB: usize = 1 << 20;

/// Bytes without a pattern, the same each time.
fn noise(length: usize, mut state: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Not `assert_eq`: it would print them.
#[track_caller]
fn same(got: &[u8], expected: &[u8], what: &str) {
    let differ = got.iter().zip(expected).position(|(one, other)| one != other);
    assert!(
        differ.is_none() && got.len() == expected.len(),
        "{what}: {} bytes of {}, differ at {differ:?}",
        got.len(),
        expected.len()
    );
}

/// Runs a line with this on a pipe for its standard input.
fn fed(stage: &Stage, line: &[String], input: Vec<u8>) -> Told<i32> {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = stage.command(line);
    command.stdin(reader);
    // Who has enough stops reading.
    let feeder = thread::spawn(move || drop(writer.write_all(&input)));
    let code = stage.finish(command)?.code();
    feeder.join().unwrap();
    Ok(code)
}

#[test]
fn watched_streams_are_the_same_to_the_byte() -> Told<()> {
    let stage = Stage::new();
    // A build for debugging looks for patterns a hundred times slower.
    let length = if cfg!(debug_assertions) { MIB / 2 } else { 10 * MIB };
    let (out, err) = (noise(length, 1), noise(length, 2));
    stage.write("blob.out", &out);
    stage.write("blob.err", &err);
    for flags in [
        "-n 1 --stop-on stdout:/never/ --stop-on stderr:/never/",
        "-n 1 --stop-on stdout:/never/",
        "-n 1 --output hold",
        "-n 1",
    ] {
        let line = redial(flags, "cat blob.err >&2 & cat blob.out; wait");
        assert_eq!(stage.run(&line)?.code(), 0, "{flags}");
        same(&stage.bytes("out"), &out, flags);
        same(&stage.bytes("err"), &err, flags);
    }
    Ok(())
}

#[test]
fn a_slow_reader_of_a_watched_stream_loses_nothing() -> Told<()> {
    let stage = Stage::new();
    let out = noise(MIB / 2, 3);
    stage.write("blob", &out);
    let line = redial("-n 1 --stop-on stdout:/never/", "cat blob");
    let mut command = stage.command(&line);
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut started = started(&mut command);
    drop(command);
    // The command is done long before its output is read.
    assert!(!started.ends(Duration::from_millis(400)));
    let mut got = Vec::new();
    reader.read_to_end(&mut got).unwrap();
    same(&got, &out, "read late");
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn a_watched_stream_is_live() -> Told<()> {
    let stage = Stage::new();
    let line = redial("-n 1 --stop-on stdout:/never/", "printf half; read word <gate; echo way");
    let mut command = stage.command(&line);
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdout(writer);
    let mut started = started(&mut command);
    drop(command);
    let mut half = [0; 4];
    assert!(crate::kernel::readable(&reader, stage.patience), "{}", stage.scene());
    reader.read_exact(&mut half).unwrap();
    assert_eq!(&half, b"half");
    stage.open();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "way\n");
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn held_output_is_the_last_attempts_once() -> Told<()> {
    let stage = Stage::new();
    let out = noise(5 * MIB, 4);
    stage.write("blob", &out);
    let script = "test $REDIAL_ATTEMPT = 3 || { head -c 2000000 blob; exit 1; }; cat blob";
    assert_eq!(stage.run(&redial("-n 3 -d 1ms --output hold", script))?.code(), 0);
    same(&stage.bytes("out"), &out, "hold");
    // Also if the last is no success.
    let script = "echo $REDIAL_ATTEMPT; exit 5";
    assert_eq!(stage.run(&redial("-n 3 -d 1ms --output hold", script))?.code(), 5);
    assert_eq!(stage.text("out"), "3\n");
    Ok(())
}

#[test]
fn held_output_and_replayed_input_are_not_held_in_memory() -> Told<()> {
    let stage = Stage::new();
    let input = noise(24 * MIB, 5);
    let script = "cat; test $REDIAL_ATTEMPT = 2 && grep VmHWM /proc/$PPID/status >memory";
    let line = redial("-n 2 -d 1ms --output hold", script);
    assert_eq!(fed(&stage, &line, input.clone())?, 0, "{}", stage.text("err"));
    same(&stage.bytes("out"), &input, "hold");
    let memory = stage.text("memory");
    let kilobytes: u32 = memory.split_whitespace().nth(1).unwrap().parse().unwrap();
    // A build for debugging is itself some of it.
    assert!(kilobytes < 20_000, "{memory}");
    Ok(())
}

#[test]
fn standard_input_from_a_pipe_is_replayed() -> Told<()> {
    for length in [0, 1, 3000, MIB - 1, MIB, MIB + 1, 3 * MIB + 17] {
        let stage = Stage::new();
        let input = noise(length, 6);
        let script = "cat >seen.$REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 3";
        let code = fed(&stage, &redial("-n 3 -d 1ms", script), input.clone())?;
        assert_eq!(code, 0, "{length}: {}", stage.scene());
        for attempt in ["1", "2", "3"] {
            let what = format!("attempt {attempt} of {length}");
            same(&stage.bytes(&format!("seen.{attempt}")), &input, &what);
        }
    }
    Ok(())
}

#[test]
fn what_an_attempt_did_not_read_the_next_one_may() -> Told<()> {
    let stage = Stage::new();
    let input = noise(3 * MIB, 7);
    let script = "case $REDIAL_ATTEMPT in
1) exit 1;;
2) head -c 1000 >seen.2; exit 1;;
3) head -c 2000000 >seen.3; exit 1;;
4) cat >seen.4;;
esac";
    let code = fed(&stage, &redial("-n 4 -d 1ms", script), input.clone())?;
    assert_eq!(code, 0, "{}", stage.scene());
    same(&stage.bytes("seen.2"), &input[..1000], "a little");
    same(&stage.bytes("seen.3"), &input[..2_000_000], "much");
    same(&stage.bytes("seen.4"), &input, "all");
    Ok(())
}

#[test]
fn a_pipe_is_live_and_need_not_end() -> Told<()> {
    let stage = Stage::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let script = "read word; echo $word >bell; read word; echo $word >bell";
    let mut command = stage.command(&redial("-n 2 -d 1ms", script));
    command.stdin(reader);
    let mut started = started(&mut command);
    drop(command);
    writer.write_all(b"one\n").unwrap();
    stage.hear_that("one")?;
    writer.write_all(b"two\n").unwrap();
    stage.hear_that("two")?;
    // The writer is still there.
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn a_pipe_that_nobody_reads_or_writes_keeps_nobody_waiting() -> Told<()> {
    let stage = Stage::new();
    let (reader, _writer) = std::io::pipe().unwrap();
    let mut command = stage.command(&redial("-n 3 -d 1ms", "test $REDIAL_ATTEMPT = 3"));
    command.stdin(reader);
    assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
    Ok(())
}

#[test]
fn a_thousand_commands_that_stop_reading() -> Told<()> {
    let stage = Stage::new();
    let line = quoted(&redial_on("-n 3 -d 1ms", &["head", "-n", "1"]));
    let times =
        format!("i=0; while test $i -lt 500; do yes | {line} || echo exit $?; i=$((i+1)); done");
    let script = format!("({times}) >out.2 & {times}; wait");
    assert_eq!(stage.run(&["sh", "-c", &script])?.code(), 0);
    let out = stage.text("out") + &stage.text("out.2");
    assert!(out == "y\n".repeat(1000), "{}", out.replace("y\n", ""));
    assert_eq!(stage.text("err"), "");
    Ok(())
}

#[test]
fn standard_input_from_a_file_is_rewound_to_where_it_was() -> Told<()> {
    for start in [0, 100_000] {
        let stage = Stage::new();
        let input = noise(MIB, 8);
        stage.write("input", &input);
        let mut file = File::open(stage.path("input")).unwrap();
        file.seek(SeekFrom::Start(start)).unwrap();
        let script = "cat >seen.$REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 3";
        let mut command = stage.command(&redial("-n 3 -d 1ms", script));
        command.stdin(file);
        assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
        for attempt in ["1", "2", "3"] {
            let seen = stage.bytes(&format!("seen.{attempt}"));
            same(&seen, &input[start as usize..], &format!("attempt {attempt} from {start}"));
        }
    }
    Ok(())
}

#[test]
fn a_file_is_the_commands_own() -> Told<()> {
    let stage = Stage::new();
    stage.write("input", "one\ntwo\nthree\n");
    // What the command has not read, the caller's next command reads, as without redial.
    let line = quoted(&redial("-n 2 -d 1ms", "read word; test $REDIAL_ATTEMPT = 2"));
    let ended = stage.run(&["sh", "-c", &format!("{{ {line}; cat; }} <input")])?;
    assert_eq!(ended.code(), 0, "{}", stage.scene());
    assert_eq!(stage.text("out"), "two\nthree\n");
    Ok(())
}

#[test]
fn each_attempt_reads_on_from_the_terminal() -> Told<()> {
    let stage = Stage::new();
    let script = "test -t 0 || exit 9; echo ready >bell; read word; echo $word >bell
test $REDIAL_ATTEMPT = 2";
    let mut terminal = Terminal::start(&stage, &redial("-n 3 -d 1ms", script));
    for word in ["one", "two"] {
        stage.hear_that("ready")?;
        terminal.types(&format!("{word}\n"));
        stage.hear_that(word)?;
    }
    assert_eq!(terminal.end()?.code(), 0);
    Ok(())
}

/// What comes to a terminal from a command, with and without redial before it.
fn shown(stage: &Stage, line: &[String]) -> Told<Vec<u8>> {
    let mut terminal = Terminal::start(stage, line);
    let ended = terminal.end()?;
    assert_eq!(ended.code(), 0, "{line:?}: {:?}", terminal.screen());
    terminal.drained();
    Ok(terminal.bytes())
}

#[test]
fn a_terminal_is_one_for_the_command_and_what_it_shows_is_unchanged() -> Told<()> {
    let stage = Stage::new();
    let script = r"test -t 1 && test -t 2 && test -t 0 || { echo no terminal; exit 9; }
printf '\033[31mred\033[0m \033[1;42mbold\033[m\r\n\ttab\n'
printf 'half a line'; printf '\r\033[Kanother\n'
printf '\377\376\200 not text\n'
seq 1 20000
stty size <&1
echo end";
    let without = shown(&stage, &["sh", "-c", script].map(str::to_owned))?;
    assert!(without.windows(7).any(|part| part == b"20000\r\n"));
    for flags in [
        "-n 1",
        "-n 1 --stop-on stdout:/never/",
        "-n 1 --stop-on stderr:/never/",
        "-n 1 --stop-on stdout:/never/ --stop-on stderr:/never/ -t 1h",
    ] {
        same(&shown(&stage, &redial(flags, script))?, &without, flags);
        // The other stream: both at once may overtake each other on their ways.
        let other = format!("{{ {script}\n}} >&2");
        same(&shown(&stage, &redial(flags, &other))?, &without, flags);
    }
    Ok(())
}

#[test]
fn a_terminal_that_is_stopped_for_long_loses_nothing_of_a_watched_stream() -> Told<()> {
    let stage = Stage::new();
    // More than a line discipline holds, and not more than the command can write before anybody reads.
    let script = "echo $$ >bell; read word <gate; exec seq 1 2400";
    let line = redial("-n 1 --stop-on stdout:/never/", script);
    let mut terminal = Terminal::start(&stage, &line);
    let command = stage.hear()?.parse().unwrap();
    terminal.flow(Action::OOff);
    stage.open();
    assert!(until(stage.patience, || Process::of(command).is_none()), "{}", stage.scene());
    // Longer than what the command's children may still write is waited for.
    assert!(!terminal.leader.ends(Duration::from_millis(300)), "nobody has seen it yet");
    terminal.flow(Action::OOn);
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let all: String = (1..=2400).map(|number| format!("{number}\r\n")).collect();
    same(&terminal.bytes(), all.as_bytes(), "stopped");
    Ok(())
}

#[test]
fn a_terminals_size_is_passed_on_and_so_is_a_change() -> Told<()> {
    for flags in ["-n 1", "-n 1 --stop-on stdout:/never/"] {
        let stage = Stage::new();
        let script = r#"exec 3<&1; trap 'now=$(stty size <&3); echo $now >bell; test "$now" != "41 132" || exit 0' WINCH
stty size <&1 >bell
while :; do sleep 0.1; done"#;
        let mut terminal = Terminal::start(&stage, &redial(flags, script));
        stage.hear_that("30 100")?;
        terminal.resize(41, 132);
        // The command hears of it from the terminal too, and may look before redial has passed it on: then it hears of it
        // once more.
        while stage.hear()? != "41 132" {}
        assert_eq!(terminal.end()?.code(), 0, "{flags}");
    }
    Ok(())
}

#[test]
fn a_terminal_is_left_as_it_was() -> Told<()> {
    for flags in ["-n 2 -d 20ms", "-n 2 -d 20ms --stop-on stdout:/never/"] {
        let stage = Stage::new();
        let line = quoted(&redial(flags, "exit 3"));
        let script = format!("stty -a >before; {line}; stty -a >after");
        let mut terminal = Terminal::start(&stage, &["sh", "-c", &script]);
        terminal.end()?;
        assert!(stage.text("before").contains("speed"), "{}", stage.text("before"));
        assert_eq!(stage.text("after"), stage.text("before"), "{flags}");
    }
    Ok(())
}

#[test]
fn a_terminals_screen_is_readable_after_a_countdown() -> Told<()> {
    let stage = Stage::new();
    let script = "echo out $REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 3";
    let mut terminal = Terminal::start(&stage, &redial("-n 3 -d 250ms", script));
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let screen = terminal.screen();
    for attempt in ["out 1", "out 2", "out 3"] {
        // Each on a line of its own, with nothing of a countdown before or after it.
        assert!(screen.lines().any(|line| line.trim_end() == attempt), "{screen}");
    }
    Ok(())
}

#[test]
fn a_reader_that_has_enough_ends_the_command() -> Told<()> {
    for flags in ["-n 3 -d 1ms", "-n 3 -d 1ms --stop-on stdout:/never/"] {
        let stage = Stage::new();
        let line = quoted(&redial_on(flags, &["yes"]));
        let script = format!("{line} | head -n 1");
        assert_eq!(stage.run(&["sh", "-c", &script])?.code(), 0, "{flags}");
        assert_eq!(stage.text("out"), "y\n", "{flags}");
        stage.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_held_output_that_nobody_reads_is_no_crash() -> Told<()> {
    let stage = Stage::new();
    let line = redial("-n 1 --output hold", "echo out");
    let mut command = stage.command(&line);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdout(writer);
    let ended = stage.finish(command)?;
    // As of a command that writes there itself.
    assert!(ended.status.signal() == Some(13) || ended.code() != 101, "{ended:?}");
    assert!(!stage.text("err").contains("panicked"), "{}", stage.scene());
    Ok(())
}

#[test]
fn no_more_is_taken_from_a_pipe_than_the_command_reads() -> Told<()> {
    let stage = Stage::new();
    let (reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut command = stage.command(&redial("-n 1", "echo ready >bell; read word <gate"));
    command.stdin(reader);
    let mut started = started(&mut command);
    drop(command);
    stage.hear_that("ready")?;
    // Until nobody takes anything for a while.
    let mut taken = 0;
    let mut quiet = Instant::now();
    while quiet.elapsed() < Duration::from_millis(300) {
        match (&writer).write(&[b'y'; 4096]) {
            Ok(length) => (taken, quiet) = (taken + length, Instant::now()),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
        assert!(taken < 2 * MIB, "it takes whatever there is");
    }
    stage.open();
    assert_eq!(started.end(stage.patience)?.code(), 0);
    Ok(())
}

#[test]
fn other_kinds_of_standard_input_are_the_commands() -> Told<()> {
    let stage = Stage::new();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let script = "read word; echo $word >bell; test $REDIAL_ATTEMPT = 2";
    let mut command = stage.command(&redial("-n 2 -d 1ms", script));
    command.stdin(std::os::fd::OwnedFd::from(theirs));
    let mut started = started(&mut command);
    drop(command);
    (&ours).write_all(b"one\ntwo\n").unwrap();
    stage.hear_that("one")?;
    // Read on, or read anew: either way the command has a line, and ends.
    stage.hear()?;
    assert_eq!(started.end(stage.patience)?.code(), 0);

    let mut command = stage.command(&redial("-n 1", "test -d /proc/self/fd/0"));
    command.stdin(File::open("/").unwrap());
    assert_eq!(stage.finish(command)?.code(), 0, "{}", stage.scene());
    Ok(())
}

#[test]
fn output_that_is_lost_is_no_success() -> Told<()> {
    for flags in ["--stop-on stdout:/never/", "--output hold"] {
        let stage = Stage::new();
        let mut command = stage.command(&redial(&format!("-n 2 -d 1ms {flags}"), "echo out"));
        // Where there is never room: the command itself would have failed to write there.
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let ended = stage.finish(command)?;
        assert!(stage.text("err").contains("No space left"), "{flags}: {}", stage.scene());
        assert_ne!(ended.code(), 0, "{flags}: {}", stage.scene());
    }
    Ok(())
}

#[test]
fn output_that_cannot_be_held_is_no_success() -> Told<()> {
    let stage = Stage::new();
    stage.write("blob", noise(3 * MIB, 9));
    let mut command = stage.command(&redial("-n 2 -d 1ms --output hold", "cat blob; true"));
    command.env("TMPDIR", "/no/such/folder");
    let ended = stage.finish(command)?;
    let whole = stage.bytes("out") == stage.bytes("blob");
    assert!(whole || ended.code() != 0, "a part of it, and exit 0: {}", stage.text("err"));
    Ok(())
}

#[test]
fn a_signal_lets_out_the_errors_that_were_held() -> Told<()> {
    for wait in ["sleep 9998", "exit 1"] {
        let stage = Stage::new();
        let script = format!(
            "echo err $REDIAL_ATTEMPT >&2; test $REDIAL_ATTEMPT = 2 || exit 1
echo ready >bell; {wait}"
        );
        let flags = "--stderr hold --delay-from stdout:/(.+)/ --max-retry-after 1h";
        let script = format!("test $REDIAL_ATTEMPT = 1 && echo 1ms || echo 600s; {script}");
        let mut started = stage.start(&redial(&format!("{flags} --events events -n 3"), &script));
        stage.hear_that("ready")?;
        if wait == "exit 1" {
            let waits = || stage.text("events").matches("decision").count() == 2;
            assert!(until(stage.patience, waits), "{}", stage.scene());
        }
        assert_eq!(stage.text("err"), "", "held so far");
        started.signal(Signal::TERM);
        assert_eq!(started.end(stage.patience)?.signal(), Some(Signal::TERM));
        let said = stage.text("err");
        let places = ["err 1\n", "redial: attempt 1/3", "err 2\n", "redial: ended by TERM"]
            .map(|part| said.find(part));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    }
    Ok(())
}

#[test]
fn held_errors_are_a_terminals_where_they_were_one() -> Told<()> {
    for (attempts, shows) in [(3, "tty 2"), (1, "tty 1")] {
        let stage = Stage::new();
        let script = "test -t 2 && echo tty $REDIAL_ATTEMPT >&2; test $REDIAL_ATTEMPT = 2";
        let flags = format!("-n {attempts} -d 400ms --stderr hold");
        let mut terminal = Terminal::start(&stage, &redial(&flags, script));
        terminal.end()?;
        terminal.drained();
        let screen = terminal.screen();
        assert!(screen.contains(shows), "{screen}");
        match attempts {
            3 => assert_eq!(screen.trim(), "tty 2", "no word of redial's, no countdown"),
            _ => assert!(screen.contains("gave up"), "{screen}"),
        }
    }
    Ok(())
}
