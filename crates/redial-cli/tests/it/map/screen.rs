//! What is to be seen on a terminal while it goes on, and what is left of it.

use rustix::process::Signal;

use crate::kernel::{Told, until};
use crate::program::REDIAL;
use crate::stage::Stage;
use crate::terminal::{CTRL_C, Terminal};

/// `redial map` on a terminal of so many columns. Without `noflsh` a Ctrl-C throws away what was written and not read yet.
fn line(columns: usize, arguments: &str) -> [String; 3] {
    let script = format!("stty cols {columns} noflsh && exec {REDIAL} map {arguments}");
    ["sh".to_owned(), "-c".to_owned(), script]
}

#[test]
fn the_bar_shows_what_runs_and_is_gone_at_the_end() -> Told<()> {
    let stage = Stage::new();
    stage.write("items", "a\nb\nc\nd\n");
    stage.write("job", "echo out $1; test $1 != d || { read word <gate; exit 1; }");
    let mut terminal = Terminal::start(&stage, &line(100, "-j 2 -n 1 --items items -- sh job"));
    terminal.sees("3/4")?;
    let screen = terminal.screen();
    assert!(screen.contains("3 done, 1 running") && screen.contains("▸ d"), "{screen}");
    for item in ["a", "b", "c"] {
        assert!(screen.lines().any(|line| line == format!("out {item}")), "{screen}");
    }
    stage.open();
    assert_eq!(terminal.end()?.code(), 1);
    terminal.drained();
    let screen = terminal.screen();
    let lines: Vec<&str> = screen.lines().collect();
    let mut outs: Vec<&str> = lines[..4].to_vec();
    outs.sort_unstable();
    assert_eq!(outs, ["out a", "out b", "out c", "out d"], "{screen}");
    assert_eq!(lines[4], "redial: d: dead after 1 attempt: exit 1");
    assert!(lines[5].starts_with("redial: 4 items: 3 at the first attempt, 1 dead; "), "{screen}");
    assert!(lines.len() == 6 && !screen.contains(['▸', '█', '░']), "{screen}");
    Ok(())
}

#[test]
fn who_types_items_is_told_so() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &line(100, "--progress never -- echo got"));
    terminal.sees("items are read from this terminal, one on each line; Ctrl-D ends them")?;
    terminal.types("a\n");
    terminal.sees("got a")?;
    terminal.types("\x04");
    assert_eq!(terminal.end()?.code(), 0);
    Ok(())
}

#[test]
fn a_wait_is_counted_down() -> Told<()> {
    let stage = Stage::new();
    stage.write("items", "slow\n");
    let flags = "-n 2 -d 1h --jitter none --max-delay none --items items -- false";
    let mut terminal = Terminal::start(&stage, &line(100, flags));
    terminal.sees("· slow")?;
    terminal.sees("attempt 2 in ")?;
    assert!(terminal.screen().contains("0 done, 0 running, 1 waiting"), "{}", terminal.screen());
    terminal.types(CTRL_C);
    assert_eq!(terminal.end()?.signal(), Some(Signal::INT));
    terminal.drained();
    assert!(!terminal.screen().contains("· slow"), "{}", terminal.screen());
    Ok(())
}

#[test]
fn a_narrow_window_has_no_line_that_wraps() -> Told<()> {
    let stage = Stage::new();
    let long = "漢字".repeat(30);
    stage.write("items", format!("{long}\n{}\n", "w".repeat(60)));
    stage.write("job", "echo in >bell; read word <gate");
    let mut terminal = Terminal::start(&stage, &line(20, "-j 2 --items items -- sh job"));
    terminal.resize(30, 20);
    stage.hear()?;
    stage.hear()?;
    // Drawn several times: were a line to wrap, what is above it would stay.
    for _ in 0..4 {
        terminal.sees("▸")?;
        terminal.sees("▸")?;
    }
    let screen = terminal.screen();
    assert_eq!(screen.matches('▸').count(), 2, "{screen}");
    assert_eq!(screen.trim_end().lines().count(), 3, "{screen}");
    stage.open();
    stage.open();
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    assert!(!terminal.screen().contains('▸'), "{}", terminal.screen());
    Ok(())
}

#[test]
fn a_line_without_an_end_is_not_drawn_over() -> Told<()> {
    let stage = Stage::new();
    stage.write("items", "a\nb\n");
    stage.write("job", "printf 'no newline %s' $1; test $1 != b || read word <gate");
    let mut terminal = Terminal::start(&stage, &line(100, "-j 2 --items items -- sh job"));
    terminal.sees("no newline a")?;
    for _ in 0..3 {
        terminal.sees("▸ b")?;
    }
    let screen = terminal.screen();
    assert!(screen.contains("no newline a"), "{screen}");
    stage.open();
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let screen = terminal.screen();
    assert!(screen.contains("no newline a") && screen.contains("no newline b"), "{screen}");
    Ok(())
}

#[test]
fn ctrl_c_ends_it_once_its_jobs_have() -> Told<()> {
    let stage = Stage::new();
    stage.write("items", "a\nb\n");
    stage.write("job", "echo in >bell; exec sleep 1000");
    let mut terminal = Terminal::start(&stage, &line(100, "-j 1 --items items -- sh job"));
    stage.hear_that("in")?;
    // The jobs do not get it: they have sessions of their own. Keys within 100 ms are one request.
    until(stage.patience, || {
        terminal.types(CTRL_C);
        !terminal.leader.is_running()
    });
    assert_eq!(terminal.end()?.signal(), Some(Signal::INT));
    terminal.drained();
    stage.nothing_is_left()?;
    assert!(!terminal.screen().contains('▸'), "{}", terminal.screen());
    Ok(())
}

#[test]
fn the_bar_of_a_flow_counts_the_items_of_its_maps_and_not_their_steps() -> Told<()> {
    let stage = Stage::new();
    stage.write(
        "flow.yaml",
        "steps:\n  first: {run: [\"true\"]}\n  m:\n    each: {lines: items}\n    slots: 2\n    steps:\n      - {run: [\"true\"]}\n      - {shell: 'test \"${item}\" != c || read word <gate'}\n",
    );
    stage.write("items", "a\nb\nc\n");
    let script = format!("stty cols 100 && exec {REDIAL} flow run flow.yaml --run r");
    let mut terminal = Terminal::start(&stage, &["sh", "-c", &script]);
    terminal.sees("2/3 items")?;
    let screen = terminal.screen();
    // Six tasks are done: one of its own, two of each of the first two items, and the first of the third.
    assert!(screen.contains("6 done, 1 running"), "{screen}");
    assert!(screen.contains("░▏ 2/3 items"), "{screen}");
    stage.open();
    assert_eq!(terminal.end()?.code(), 0);
    Ok(())
}

#[test]
fn the_bar_of_a_run_that_goes_on_counts_what_was_done_before() -> Told<()> {
    let stage = Stage::new();
    stage.write("items", "a\nb\nc\nd\n");
    stage.write(
        "job",
        "case $1 in c|d) test -e go || exit 1;; esac; test $1 != d || read word <gate",
    );
    let flags = "-j 2 -n 1 --run r --items items -- sh job";
    let mut terminal = Terminal::start(&stage, &line(100, flags));
    assert_eq!(terminal.end()?.code(), 1);
    stage.write("go", "");
    let mut terminal = Terminal::start(&stage, &line(100, flags));
    terminal.sees("3/4")?;
    stage.open();
    assert_eq!(terminal.end()?.code(), 0);
    Ok(())
}
