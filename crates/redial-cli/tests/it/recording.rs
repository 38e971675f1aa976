//! What somebody sees who sits before `redial run`, on a real terminal; and the recording of it in the documents.
//!
//! To record it anew: `TRYCMD=overwrite cargo test -p redial-cli --test it recording`.

mod picture;
mod reflow;
mod screens;

use std::process::Command;
use std::time::Duration;

use self::screens::{Countdown, Frame, Recorder, Run};
use crate::clock::{on_clock, pass};
use crate::kernel::{FOR_EVER, Process, until};
use crate::program::{REDIAL, install, root};
use crate::stage::Stage;
use crate::terminal::Terminal;
use rustix::process::Signal;

/// Fails twice, as networks do.
const FETCH: &str = "#!/bin/sh
sleep \"${PAUSE:-0}\"
if [ \"$REDIAL_ATTEMPT\" = 3 ]; then echo 'fetch: 2319 rows'; exit; fi
echo 'fetch: connection reset by peer' >&2
exit 7
";

/// The command of the recording.
const SHOWN: &str = "run -n 4 -d 700ms --jitter none -- ./fetch";
/// A shorter one: one wait, and it gives up.
const GIVES_UP: &str = "run -n 2 -d 600ms --jitter none -- ./fetch";

/// A wait that is just long enough for a countdown.
const SHORT: &str = "run -n 2 -d 300ms --jitter none -- ./fetch";

/// How much time passes with each drawing: half of what passes between two, because one that is seen may be older than
/// the clock is.
const A_LITTLE: Duration = Duration::from_millis(50);

/// A folder with the command in it.
fn stage() -> Stage {
    let stage = Stage::new();
    install(&stage.path("fetch"), FETCH);
    stage
}

/// `redial` with these arguments, on a terminal that is that wide.
fn start<'s>(
    stage: &'s Stage,
    columns: u16,
    arguments: &str,
    change: impl FnOnce(&mut Command),
) -> Terminal<'s> {
    start_line(stage, &line(columns, arguments), change)
}

/// The same, on a clock for which whoever watches lets time pass, drawing by drawing.
fn start_on_clock<'s>(
    stage: &'s Stage,
    columns: u16,
    arguments: &str,
    change: impl FnOnce(&mut Command),
) -> Terminal<'s> {
    start_line(stage, &on_clock(stage, &line(columns, arguments)), change)
}

fn line(columns: u16, arguments: &str) -> [String; 3] {
    let script = format!("stty cols {columns} && exec \"$REDIAL\" {arguments}");
    ["sh".to_owned(), "-c".to_owned(), script]
}

fn start_line<'s>(
    stage: &'s Stage,
    line: &[String],
    change: impl FnOnce(&mut Command),
) -> Terminal<'s> {
    Terminal::start_with(stage, line, |command| change(command.env("REDIAL", REDIAL)))
}

/// All that it shows.
fn record(columns: u16, arguments: &str, change: impl FnOnce(&mut Command)) -> Recorder {
    let stage = stage();
    let mut terminal = start_on_clock(&stage, columns, arguments, change);
    let mut recorder = Recorder::new(columns);
    recorder.watch(&mut terminal, || pass(&stage, A_LITTLE));
    recorder
}

/// The lines on the screen at the end, and every byte that came to the terminal.
fn shown(terminal: &mut Terminal<'_>) -> (Vec<String>, String) {
    let mut recorder = Recorder::new(120);
    recorder.watch(terminal, || {});
    (recorder.last().lines(), String::from_utf8(terminal.bytes()).unwrap())
}

fn unchanged(_: &mut Command) {}

/// Times, and what else differs from run to run.
fn normalised(text: &str) -> String {
    let mut normal = String::new();
    for (at, word) in text.split(' ').enumerate() {
        let (word, after) = word.split_at(word.trim_end_matches([',', ';']).len());
        let number = word.trim_end_matches(char::is_alphabetic);
        let is_time = ["ns", "µs", "ms", "s", "min"].contains(&&word[number.len()..])
            && number.parse::<f64>().is_ok();
        let space = if at == 0 { "" } else { " " };
        normal += &format!("{space}{}{after}", if is_time { "#" } else { word });
    }
    normal
}

fn normalised_lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| normalised(line)).collect()
}

/// The countdowns of a recording, one list for each wait, of what is different from the one before.
fn countdowns(frames: &[Frame]) -> Vec<Vec<Countdown>> {
    let mut waits: Vec<Vec<Countdown>> = Vec::new();
    let mut waiting = false;
    for frame in frames {
        let countdown = frame.countdown();
        if let Some(countdown) = &countdown {
            if !waiting {
                waits.push(Vec::new());
            }
            let wait = waits.last_mut().unwrap();
            if wait.last() != Some(countdown) {
                wait.push(countdown.clone());
            }
        }
        waiting = countdown.is_some();
    }
    waits
}

/// It stays on its row, below which nothing is; the time gets less and the bar longer.
#[track_caller]
fn assert_counts_down(wait: &[Countdown], at_least: usize) {
    assert!(wait.len() >= at_least, "it hardly moves: {wait:#?}");
    for pair in wait.windows(2) {
        let [before, after] = pair else { unreachable!() };
        assert_eq!(before.row, after.row, "{wait:#?}");
        assert!(after.left <= before.left && after.full >= before.full, "{wait:#?}");
    }
    let (first, last) = (wait.first().unwrap(), wait.last().unwrap());
    assert!(last.left < first.left && last.full > first.full, "{wait:#?}");
}

/// No row goes on in the next one, and the countdown is the last of them.
#[track_caller]
fn assert_never_breaks(frames: &[Frame]) {
    for frame in frames {
        if let Some(countdown) = frame.countdown() {
            assert!(frame.wrapped.is_empty(), "{:#?}", frame.lines());
            assert_eq!(countdown.row + 1, frame.rows.len(), "{:#?}", frame.lines());
        }
    }
}

#[track_caller]
fn assert_no_bar(lines: &[String]) {
    assert!(!lines.iter().any(|line| line.contains(['▕', '█', '░', '▏'])), "{lines:#?}");
}

const PLAIN: [&str; 4] = [
    "fetch: connection reset by peer",
    "redial: attempt 1/2: exit 7 after #; retrying in #; 1 attempt left",
    "fetch: connection reset by peer",
    "redial: attempt 2/2: exit 7 after #; gave up: all attempts are spent; # in all, # of it waiting",
];

const SIGNS: [&str; 4] = [
    "fetch: connection reset by peer",
    "✗ 1/2  exit 7 after # · retrying in # · 1 attempt left",
    "fetch: connection reset by peer",
    "✗ 2/2  exit 7 after # · gave up: all attempts are spent · # in all, # of it waiting",
];

#[test]
fn the_recording_is_what_a_terminal_shows() {
    let stage = stage();
    let mut recorder = Recorder::new(100);
    recorder.show(format!("\x1b[32m$\x1b[m redial {SHOWN}\r\n").as_bytes());
    let pauses = |command: &mut Command| {
        command.env("PAUSE", "0.3");
    };
    // What is kept has the times that anybody would see.
    let mut terminal = match is_kept() {
        true => start(&stage, 100, SHOWN, pauses),
        false => start_on_clock(&stage, 100, SHOWN, pauses),
    };
    recorder.begin();
    recorder.watch(&mut terminal, || {
        if !is_kept() {
            pass(&stage, A_LITTLE)
        }
    });
    let ended = recorder.last();

    let lines = normalised_lines(&ended.lines());
    let expected = [
        "$ redial run -n 4 -d # --jitter none -- ./fetch",
        "fetch: connection reset by peer",
        "✗ 1/4  exit 7 after # · retrying in # · 3 attempts left",
        "fetch: connection reset by peer",
        "✗ 2/4  exit 7 after # · retrying in # · 2 attempts left",
        "fetch: 2319 rows",
        "✓ 3/4  succeeded, but flaky: # in all, # of it waiting",
    ];
    assert_eq!(lines, expected);
    assert_no_bar(&ended.lines());
    assert_eq!(ended.cursor, (expected.len() as u16, 0), "at the start of a new line");

    let waits = countdowns(&recorder.frames);
    assert_eq!(waits.iter().map(|wait| wait[0].row).collect::<Vec<_>>(), [2, 4]);
    for (wait, at_least) in waits.iter().zip([4, 8]) {
        assert_counts_down(wait, at_least);
        let all = format!("{} attempts left", if wait[0].row == 2 { 3 } else { 2 });
        assert!(wait.iter().all(|one| one.about.ends_with(&all)), "there is room: {wait:#?}");
    }
    assert_never_breaks(&recorder.frames);

    recorder.show(b"\x1b[32m$\x1b[m ");
    recorder.keep(recorder.now());
    compare(&recorder.frames);
}

fn is_kept() -> bool {
    std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite")
}

/// The kept picture and this recording show the same, but for the times.
fn compare(frames: &[Frame]) {
    let path = root().join("docs/pictures/run.svg");
    let drawn = picture::draw(frames, "redial run", &description(frames));
    assert!(drawn.len() < 60_000, "{} bytes", drawn.len());
    if is_kept() {
        assert!(frames.len() <= 40, "{} frames", frames.len());
        std::fs::write(&path, &drawn).unwrap();
    }
    let still = frames.iter().filter(|frame| frame.countdown().is_none());
    let recorded = steps(still.map(|frame| frame.rows.clone()));
    assert_eq!(steps(picture::read(&drawn)), recorded, "what is drawn can be read again");
    let kept = std::fs::read_to_string(path).unwrap();
    let kept_steps = steps(picture::read(&kept));
    assert_eq!(kept_steps, recorded, "the picture is out of date: see the top of this file");
    assert_well_formed(&kept);
    assert_begins_with_its_end(&kept);
}

/// Where nothing moves yet, the picture shows the run and not an empty prompt: it is so far into its
/// time that the last screen has begun.
fn assert_begins_with_its_end(picture: &str) {
    let (_, rest) = picture.split_once(".f,.typed{animation:").unwrap();
    let (animation, _) = rest.split_once('}').unwrap();
    let mut numbers = animation.split([' ', 's', '-']).filter_map(|word| word.parse::<f64>().ok());
    let (all, begun) = (numbers.next().unwrap(), numbers.next().unwrap_or(0.0));
    let last = picture.lines().filter_map(|line| {
        let (_, keys) = line.split_once("100%{visibility:visible}")?;
        let (before, _) =
            line[..line.len() - keys.len()].rsplit_once("%{visibility:visible}100%")?;
        before.rsplit(['}', '{']).next()?.parse::<f64>().ok()
    });
    let last = last.fold(0.0, f64::max);
    assert!(last > 50.0 && begun / all * 100.0 > last, "{begun} of {all} s, {last} %");
}

fn description(frames: &[Frame]) -> String {
    let lines = frames.last().unwrap().lines();
    let (_, lines) = lines.split_last().unwrap();
    format!("A terminal, while redial counts down to each retry. At the end: {}", lines.join(" / "))
}

/// The screens between the countdowns, each that is another than the one before.
fn steps(screens: impl IntoIterator<Item = Vec<Vec<Run>>>) -> Vec<Vec<Vec<Run>>> {
    let mut steps = Vec::new();
    for mut screen in screens {
        for run in screen.iter_mut().flatten() {
            run.text = normalised(&run.text);
        }
        if steps.last() != Some(&screen) {
            steps.push(screen);
        }
    }
    steps
}

fn assert_well_formed(picture: &str) {
    let mut reader = quick_xml::Reader::from_str(picture);
    while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
    for foreign in ["<script", "href", "url(http", "@import", "@font-face", "/tmp", "/root"] {
        assert!(!picture.contains(foreign), "{foreign}");
    }
}

#[test]
fn a_narrow_terminal_never_breaks_the_countdown() {
    let recorder = record(40, GIVES_UP, unchanged);
    let waits = countdowns(&recorder.frames);
    assert_eq!(waits.len(), 1, "{waits:#?}");
    assert_counts_down(&waits[0], 4);
    assert_never_breaks(&recorder.frames);
    let ended = recorder.last();
    assert_no_bar(&ended.lines());
    assert_eq!(usize::from(ended.cursor.0), ended.rows.len());
    assert_eq!(ended.cursor.1, 0);
}

/// A terminal whose window changes during the countdown. Redial is stopped meanwhile, so that nothing is drawn for the old
/// size that comes after the new one; `meanwhile` is told what has come until then.
fn resized<'s>(
    stage: &'s Stage,
    from: u16,
    to: u16,
    meanwhile: impl FnOnce(&Terminal<'_>),
) -> Terminal<'s> {
    let mut terminal = start_on_clock(stage, from, GIVES_UP, unchanged);
    terminal.sees("▕").unwrap();
    pass(stage, Duration::from_millis(120));
    terminal.sees("▕██").unwrap();
    terminal.leader.signal(Signal::STOP);
    let pid = terminal.leader.pid();
    assert!(until(FOR_EVER, || Process::of(pid).unwrap().state == 'T'));
    std::thread::sleep(Duration::from_millis(20));
    meanwhile(&terminal);
    terminal.resize(screens::ROWS, to);
    terminal.leader.signal(Signal::CONT);
    terminal
}

fn recorded_resize(from: u16, to: u16) -> Recorder {
    let stage = stage();
    let mut recorder = Recorder::new(from);
    let mut terminal = resized(&stage, from, to, |terminal| {
        recorder.take(terminal);
        recorder.resize(to);
    });
    recorder.watch(&mut terminal, || pass(&stage, A_LITTLE));
    recorder
}

#[test]
fn a_terminal_that_breaks_its_lines_anew_keeps_nothing_of_the_countdown() {
    for (from, to) in [(100, 44), (100, 21), (44, 100)] {
        let stage = stage();
        let mut screen = reflow::Reflowing::new(from.into());
        let mut seen = 0;
        let mut terminal = resized(&stage, from, to, |terminal| {
            let bytes = terminal.bytes();
            screen.process(&bytes);
            seen = bytes.len();
            screen.resize(to.into());
        });
        Recorder::new(to).watch(&mut terminal, || pass(&stage, A_LITTLE));
        let bytes = terminal.bytes();
        let rest = String::from_utf8(bytes[seen..].to_vec()).unwrap();
        for drawn in rest.split_inclusive('\r') {
            screen.process(drawn.as_bytes());
            let bars = screen.lines().iter().filter(|line| line.contains('▕')).count();
            assert!(bars <= 1, "{from} to {to}: {:#?}", screen.lines());
        }
        assert_eq!(normalised_lines(&screen.lines()), SIGNS, "{from} to {to}");
    }
}

#[test]
fn a_terminal_that_gets_narrower_keeps_its_countdown_on_one_row() {
    let recorder = recorded_resize(100, 44);
    // For a moment, until it is drawn again, the bar may be beyond the edge.
    let wait = countdowns(&recorder.frames).concat();
    assert_counts_down(&wait, 4);
    assert_eq!(wait[0].row, 1);
    assert_never_breaks(&recorder.frames);
    assert_no_bar(&recorder.last().lines());
}

#[test]
fn a_terminal_that_gets_wider_shows_more_of_the_line() {
    let recorder = recorded_resize(44, 100);
    let waits = countdowns(&recorder.frames);
    assert_counts_down(&waits[0], 4);
    assert!(!waits[0][0].about.ends_with("1 attempt left"));
    assert!(waits[0].last().unwrap().about.ends_with("1 attempt left"));
    assert_eq!(normalised_lines(&recorder.last().lines()), SIGNS);
}

#[test]
fn a_dumb_terminal_and_one_without_progress_get_plain_lines() {
    let stages: [_; 3] = std::array::from_fn(|_| stage());
    let never = SHORT.replace("run", "run --progress never");
    let terminals = [("dumb", SHORT), ("", SHORT), ("xterm", &never)].into_iter().zip(&stages);
    let terminals: Vec<_> = terminals
        .map(|((term, arguments), stage)| {
            start(stage, 120, arguments, |command| {
                command.env("TERM", term);
            })
        })
        .collect();
    for mut terminal in terminals {
        let (lines, bytes) = shown(&mut terminal);
        assert_eq!(normalised_lines(&lines), PLAIN);
        assert!(!bytes.contains('\x1b') && !bytes.replace("\r\n", "").contains('\r'), "{bytes:?}");
    }
}

#[test]
fn without_colour_there_is_a_countdown_and_nothing_of_it_is_left() {
    let recorder = record(100, GIVES_UP, |command| {
        command.env("NO_COLOR", "1");
    });
    assert_counts_down(&countdowns(&recorder.frames)[0], 4);
    assert_never_breaks(&recorder.frames);
    let rows = recorder.frames.iter().flat_map(|frame| &frame.rows).flatten();
    assert!(rows.clone().all(|run| run.style == screens::Style::default()), "{rows:#?}");
    assert_eq!(normalised_lines(&recorder.last().lines()), SIGNS);
}

#[test]
fn progress_always_draws_on_a_dumb_terminal_and_leaves_nothing_of_it() {
    let recorder = record(100, &GIVES_UP.replace("run", "run --progress always"), |command| {
        command.env("TERM", "dumb");
    });
    assert_counts_down(&countdowns(&recorder.frames)[0], 4);
    assert_eq!(normalised_lines(&recorder.last().lines()), SIGNS);
}

#[test]
fn a_quiet_run_says_nothing() {
    let stage = stage();
    let mut terminal = start(&stage, 120, &SHORT.replace("run", "run -q"), unchanged);
    let (lines, bytes) = shown(&mut terminal);
    assert_eq!(lines, [PLAIN[0]; 2]);
    assert!(!bytes.contains('\x1b'), "{bytes:?}");
}

#[test]
fn errors_that_go_to_a_file_are_plain_lines() {
    let stage = stage();
    let mut terminal = start(&stage, 100, &format!("{SHORT} 2>errors"), unchanged);
    terminal.end().unwrap();
    terminal.drained();
    assert_eq!(terminal.bytes(), b"", "nothing of it is on the terminal");
    let errors = stage.text("errors");
    let lines: Vec<_> = errors.lines().map(normalised).collect();
    assert_eq!(lines, PLAIN);
    assert!(!errors.contains(['\x1b', '\r']), "{errors:?}");
}

/// Whoever asks for it gets the countdown in a file too, without colours; whoever replays it sees what a terminal did.
#[test]
fn progress_always_draws_into_a_file() {
    let stage = stage();
    let arguments = GIVES_UP.replace("run", "run --progress always");
    let line = format!("{arguments} 2>errors");
    let mut terminal = start_on_clock(&stage, 100, &line, unchanged);
    let mut drawn = 0;
    assert!(until(FOR_EVER, || {
        let now = stage.bytes("errors").len();
        if now > drawn {
            pass(&stage, A_LITTLE);
            drawn = now;
        }
        !terminal.leader.is_running()
    }));
    terminal.end().unwrap();
    let errors = stage.text("errors");
    let mut recorder = Recorder::new(100);
    recorder.show(errors.replace('\n', "\r\n").as_bytes());
    assert_counts_down(&countdowns(&recorder.frames)[0], 4);
    assert_eq!(normalised_lines(&recorder.last().lines()), SIGNS);
}

#[test]
fn wide_characters_never_break_the_countdown() {
    let name = "./ダウンロードするプログラムの名前はとても長い";
    let arguments = format!("run -n 2 -d 400ms --jitter none --retry-on spawn -- {name}");
    let recorder = record(60, &arguments, unchanged);
    assert_counts_down(&countdowns(&recorder.frames).concat(), 2);
    assert_never_breaks(&recorder.frames);
    assert_no_bar(&recorder.last().lines());
}

#[test]
fn where_there_is_no_room_for_a_bar_nothing_of_one_is_left() {
    let lines = record(16, SHORT, unchanged).last().lines();
    assert_no_bar(&lines);
}

#[test]
fn a_terminal_of_no_known_size_shows_what_happened() {
    let stage = stage();
    let mut terminal = start(&stage, 0, SHORT, unchanged);
    let mut recorder = Recorder::new(80);
    recorder.watch(&mut terminal, || {});
    let wait = &countdowns(&recorder.frames)[0];
    assert!(wait[0].about.starts_with("✗ 1/2  exit 7 after"), "{wait:#?}");
}

#[test]
fn what_the_command_wrote_last_stays_also_where_it_ended_no_line() {
    let arguments = "run -n 2 -d 300ms --jitter none -- sh -c 'printf half; exit 1'";
    let lines = normalised_lines(&record(100, arguments, unchanged).last().lines());
    assert_eq!(lines.iter().filter(|line| line.starts_with("half")).count(), 2, "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("✗ 2/2")), "{lines:#?}");
}
