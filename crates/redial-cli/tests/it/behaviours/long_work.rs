//! Work that takes long: how far it is, and Ctrl-C, which ends it with what is known by then.

use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::kernel::{Started, Told, until};
use crate::program::REDIAL;
use crate::stage::Stage;
use crate::terminal::{CTRL_C, Terminal};

const FULL_JITTER: &str =
    "attempts: unlimited, delay: 10ms, backoff: exponential, max_delay: 2s, jitter: full";

/// A minute or more in trials of microseconds.
const MANY_TRIALS: &[&str] =
    &["simulate", "contention", "--clients", "20", "--trials", "1000000", "--with", FULL_JITTER];

/// A minute or more in its first trial.
const ONE_TRIAL: &[&str] = &["simulate", "layers", "--depth", "64", "--calls", "1"];

/// A minute or more for a search.
const SEARCH: &[&str] =
    &["tune", "contention", "--clients", "190", "--effort", "thorough", "--threads", "1"];

/// Longer than it takes until there is a bar.
const A_SECOND: Duration = Duration::from_secs(1);

fn redial<'l>(line: &[&'l str], more: &[&'l str]) -> Vec<&'l str> {
    [&[REDIAL], line, more].concat()
}

/// It runs, and shows how far it is.
#[track_caller]
fn started(stage: &Stage, line: &[&str], more: &[&str]) -> Started {
    let line = redial(line, &[&["--progress", "always"], more].concat());
    let started = stage.start(&line);
    assert!(until(stage.patience, || stage.text("err").contains("trials")), "{}", stage.scene());
    started
}

#[track_caller]
fn dies_of_interrupt(stage: &Stage, started: &mut Started) -> Told<()> {
    let ended = started.end(stage.patience)?;
    assert_eq!(ended.signal(), Some(Signal::INT), "{ended:?}; {}", stage.scene());
    assert!(!stage.text("err").contains("panicked"), "{}", stage.scene());
    Ok(())
}

#[test]
fn ctrl_c_prints_what_is_known_and_ends_redial_by_it() -> Told<()> {
    let stage = Stage::new();
    let mut started = started(&stage, MANY_TRIALS, &[]);
    started.signal(Signal::INT);
    dies_of_interrupt(&stage, &mut started)?;
    let text = stage.text("out");
    assert!(text.starts_with("20 clients need "), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("Stopped by Ctrl-C after "), "{last}");
    assert!(last.ends_with(" trials: this is what is known."), "{last}");
    Ok(())
}

#[test]
fn what_is_known_is_known_to_programs_too() -> Told<()> {
    let stage = Stage::new();
    let mut started = started(&stage, MANY_TRIALS, &["--json", "--html", "page.html"]);
    started.signal(Signal::INT);
    dies_of_interrupt(&stage, &mut started)?;
    let found: Value =
        serde_json::from_str(&stage.text("out")).map_err(|error| error.to_string())?;
    let result = &found["results"][0];
    let trials = result["trials"].as_u64().unwrap();
    assert!((1..1_000_000).contains(&trials), "{result}");
    assert!((99.0..101.0).contains(&result["calls"]["mean"].as_f64().unwrap()), "{result}");
    assert!(stage.text("page.html").contains("Stopped by Ctrl-C"));
    Ok(())
}

#[test]
fn before_the_first_trial_has_ended_there_is_nothing_to_know() -> Told<()> {
    for more in [&[][..], &["--json"], &["--svg", "picture.svg"], &["--assert", "worst > 0"]] {
        let stage = Stage::new();
        let mut started = started(&stage, ONE_TRIAL, more);
        started.signal(Signal::INT);
        dies_of_interrupt(&stage, &mut started)?;
        let said = stage.text("out") + &stage.text("err");
        let nothing = match more.first() {
            Some(&"--json") => "\"cut\": \"trial 1 of 20 was cut because it was stopped\"",
            Some(&"--svg") => "there is nothing to draw",
            Some(&"--assert") => "does not hold: worst > 0 (there is no result)",
            _ => "No policy came to an end.",
        };
        assert!(said.contains(nothing), "{more:?}: {said}");
        assert!(!stage.has("picture.svg"));
    }
    Ok(())
}

#[test]
fn a_search_tells_the_best_that_it_knows() -> Told<()> {
    for form in ["text", "json"] {
        let stage = Stage::new();
        let more: &[&str] = if form == "json" { &["--json"] } else { &[] };
        let mut started = started(&stage, SEARCH, more);
        assert!(until(stage.patience, || percent(&stage.text("err")) >= 15), "{}", stage.scene());
        started.signal(Signal::INT);
        dies_of_interrupt(&stage, &mut started)?;
        let text = stage.text("out");
        if form == "json" {
            let found: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            assert_eq!(found["complete"], false);
            assert!(found["tried"].as_u64() > Some(0), "{text}");
            assert_ne!(found["winner"]["policy"], found["yours"]["policy"]);
        } else {
            assert!(text.starts_with("Best of "), "{text}");
            assert!(text.contains("Stopped by Ctrl-C: this is the best that is known."), "{text}");
            // Which has not been measured again.
            assert!(!text.contains("Against yours") && !text.contains("Numbers above"), "{text}");
        }
    }
    Ok(())
}

/// How far the last bar says that it is.
fn percent(bars: &str) -> u32 {
    let before = bars.rsplit_once("% · ").map_or("", |(before, _)| before);
    before.rsplit([' ', '░', '▓']).next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn a_search_that_has_tried_nothing_yet_says_so() -> Told<()> {
    let stage = Stage::new();
    let mut started = started(&stage, SEARCH, &[]);
    started.signal(Signal::INT);
    dies_of_interrupt(&stage, &mut started)?;
    let text = stage.text("out");
    assert!(text.starts_with("No policy was tried before it was stopped.\n"), "{text}");
    assert!(text.contains("Stopped by Ctrl-C: this is the best that is known."), "{text}");
    assert!(!text.contains("Numbers above"), "{text}");
    Ok(())
}

#[test]
fn a_second_ctrl_c_ends_redial_at_once() -> Told<()> {
    let stage = Stage::new();
    let mut command = stage.command(&redial(MANY_TRIALS, &["--progress", "always"]));
    // Where nobody reads and there is no room: not even a redial that prints what is known by the first one outlives the
    // second.
    let (_reader, writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while (&writer).write(&[b'.'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    command.stdout(writer);
    let mut started = crate::stage::started(&mut command);
    assert!(until(stage.patience, || stage.text("err").contains("trials")), "{}", stage.scene());
    // Signals that are not yet delivered are one signal.
    while started.is_running() {
        started.signal(Signal::INT);
        sleep(Duration::from_millis(2));
    }
    dies_of_interrupt(&stage, &mut started)
}

#[test]
fn on_a_terminal_there_is_a_bar_until_the_end() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &redial(MANY_TRIALS, &["--json"]));
    // So that all of it stays on the screen.
    terminal.resize(100, 100);
    terminal.sees(" of 1000000 trials")?;
    terminal.sees(" left")?;
    terminal.types(CTRL_C);
    let ended = terminal.end()?;
    terminal.drained();
    assert_eq!(ended.signal(), Some(Signal::INT), "{ended:?}");
    let screen = terminal.screen();
    assert!(screen.contains("\"results\": ["), "{screen}");
    assert!(!screen.contains('▓') && !screen.contains('░'), "{screen}");
    Ok(())
}

#[test]
fn a_bar_is_gone_when_all_is_done() -> Told<()> {
    let stage = Stage::new();
    // Some seconds, and so longer than it takes until there is a bar.
    let line = ["simulate", "outage", "--rate", "280", "--capacity", "300", "--threads", "1"];
    let mut terminal = Terminal::start(&stage, &redial(&line, &["--json"]));
    terminal.sees(" of 20 trials")?;
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let bytes = String::from_utf8(terminal.bytes()).unwrap();
    let (bars, results) = bytes.split_once("\r\u{1b}[K{").unwrap();
    assert!(bars.contains('░') && !results.contains('░'), "{bytes}");
    Ok(())
}

#[test]
fn there_is_no_bar_where_nobody_looks() -> Told<()> {
    let never = ["--progress", "never"];
    for (more, is_on_a_terminal) in [(&[][..], false), (&never, false), (&never, true)] {
        let stage = Stage::new();
        let line = redial(MANY_TRIALS, &[&["--json"], more].concat());
        if is_on_a_terminal {
            let mut terminal = Terminal::start(&stage, &line);
            sleep(A_SECOND);
            terminal.types(CTRL_C);
            assert_eq!(terminal.end()?.signal(), Some(Signal::INT));
            terminal.drained();
            let bytes = String::from_utf8(terminal.bytes()).unwrap();
            assert!(!bytes.contains('░'), "{bytes}");
        } else {
            let mut started = stage.start(&line);
            sleep(A_SECOND);
            started.signal(Signal::INT);
            dies_of_interrupt(&stage, &mut started)?;
            assert_eq!(stage.text("err"), "", "{more:?}");
        }
    }
    Ok(())
}

#[test]
fn ctrl_c_stops_a_script_that_simulates() -> Told<()> {
    let stage = Stage::new();
    let line = crate::tool::quoted(&redial(MANY_TRIALS, &[]));
    let mut terminal = Terminal::script(&stage, "bash", &line);
    terminal.sees(" of 1000000 trials")?;
    terminal.types(CTRL_C);
    terminal.end()?;
    terminal.drained();
    assert!(!stage.has("code"), "the script went on: {}", stage.text("code"));
    assert!(terminal.screen().contains("Stopped by Ctrl-C after "), "{}", terminal.screen());
    Ok(())
}
