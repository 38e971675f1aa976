//! `redial until`: to wait is no failure, and few words are said of it.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::kernel::{self, Told};
use crate::program::REDIAL;
use crate::stage::{Stage, of_kind};
use crate::terminal::{CTRL_C, Terminal};

/// `redial until` with these flags, separated by blanks, on a script for `sh`.
fn until(flags: &str, script: &str) -> Vec<String> {
    let program = REDIAL;
    let line = [program, "until"].into_iter().chain(flags.split_whitespace());
    line.chain(["--", "sh", "-c", script]).map(str::to_owned).collect()
}

/// The lines that redial said.
fn said(stage: &Stage) -> Vec<String> {
    let text = stage.text("err");
    text.lines().filter(|line| line.starts_with("redial: ")).map(str::to_owned).collect()
}

#[test]
fn a_poll_says_that_it_waits_and_that_it_is_ready_and_little_in_between() -> Told<()> {
    let stage = Stage::new();
    assert_eq!(stage.run(&until("-d 1ms", "test $REDIAL_ATTEMPT = 60"))?.code(), 0);
    let said = said(&stage);
    let first = &said[0];
    assert!(first.starts_with("redial: not yet: exit 1 after "), "{first}");
    assert!(first.ends_with("; no deadline (see --within); looking again in 1ms"), "{first}");
    let last = said.last().unwrap();
    assert!(last.starts_with("redial: ready after ") && last.ends_with(", 60 looks"), "{last}");
    // Two; on a machine on which it takes very long, a few more.
    assert!(said.len() < 8, "{said:#?}");
    assert!(!stage.text("err").contains("flaky"), "{said:#?}");
    Ok(())
}

#[test]
fn who_is_ready_at_once_has_nothing_to_say() -> Told<()> {
    let stage = Stage::new();
    assert_eq!(stage.run(&until("", "echo here; echo there >&2"))?.code(), 0);
    assert_eq!((stage.text("out"), stage.text("err")), ("here\n".into(), "there\n".into()));
    Ok(())
}

#[test]
fn only_what_the_last_look_prints_comes_out() -> Told<()> {
    for (flags, code) in [("-d 1ms", 0), ("-d 1ms -n 3", 4)] {
        let stage = Stage::new();
        let script = format!(
            "echo out $REDIAL_ATTEMPT; echo err $REDIAL_ATTEMPT >&2; test $REDIAL_ATTEMPT = 3 || exit 4; exit {code}"
        );
        assert_eq!(stage.run(&until(flags, &script))?.code(), code);
        assert_eq!(stage.text("out"), "out 3\n", "{flags}");
        let errors = stage.text("err");
        assert!(errors.contains("err 3\n"), "{flags}: {errors}");
        assert!(!errors.contains("err 1") && !errors.contains("err 2"), "{flags}: {errors}");
    }
    let stage = Stage::new();
    let script = "echo out $REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 3";
    assert_eq!(stage.run(&until("-d 1ms --output stream --stderr stream", script))?.code(), 0);
    assert_eq!(stage.text("out"), "out 1\nout 2\nout 3\n");
    Ok(())
}

#[test]
fn the_exit_codes_are_those_of_run() -> Told<()> {
    for (flags, script, code, reason) in [
        ("-d 1ms -n 2", "exit 7", 7, "gave up: all looks are spent"),
        // Another look would be too late, and nothing is waited for.
        ("-d 1h -T 30min", "exit 7", 7, "gave up: no look could start before the deadline"),
        ("-d 1h -T 30min --exit-codes reason", "exit 7", 82, "exit 82"),
        ("-T 100ms", "sleep 60", 124, "; gave up: the deadline cut this look"),
        ("-t 100ms -n 1", "sleep 60", 124, "gave up: all looks are spent"),
        ("--stop-on exit:2", "exit 2", 2, "no other look: --stop-on exit:2"),
        ("--success-on stdout:/ready/ -n 1", "echo waiting", 1, "but no --success-on matches"),
        ("-n 1", "kill -KILL $$", 137, "killed by KILL"),
    ] {
        let stage = Stage::new();
        assert_eq!(stage.run(&until(flags, script))?.code(), code, "{flags}");
        let said = said(&stage);
        let last = said.last().unwrap();
        assert!(last.starts_with("redial: not ready"), "{flags}: {last}");
        assert!(last.contains(reason), "{flags}: {last}");
    }
    Ok(())
}

#[test]
fn a_command_that_cannot_be_started_is_not_waited_for() -> Told<()> {
    let stage = Stage::new();
    let line = [REDIAL, "until", "--events", "events", "--", "./nothing"];
    assert_eq!(stage.run(&line)?.code(), 127);
    let events = stage.events()?;
    assert_eq!(of_kind(&events, "run.end")[0]["attempts"], 1);
    assert!(said(&stage)[0].starts_with("redial: not ready: ./nothing: not found; "));
    Ok(())
}

#[test]
fn a_poll_is_not_flaky_in_its_events_and_reports() -> Told<()> {
    let stage = Stage::new();
    let script = "test $REDIAL_ATTEMPT = 4";
    assert_eq!(stage.run(&until("-d 1ms --events events", script))?.code(), 0);
    let events = stage.events()?;
    assert_eq!(of_kind(&events, "run.start")[0]["mode"], "until");
    let end = of_kind(&events, "run.end")[0];
    assert_eq!((&end["attempts"], &end["flaky"]), (&4.into(), &false.into()));
    let report = |arguments: &[&str]| {
        let mut redial = Command::new(REDIAL);
        let output = redial.arg("report").args(arguments).arg(stage.path("events")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&report(&["--format", "json"])).unwrap();
    let totals = &json["totals"];
    assert_eq!(
        (&totals["became_ready"], &totals["flaky"], &totals["succeeded_at_once"]),
        (&1.into(), &0.into(), &0.into())
    );
    assert_eq!(totals["flake_rate"], 0.0);
    assert_eq!(json["commands"][0]["runs"][0]["verdict"], "became_ready");
    assert_eq!(json["most_retried"], Value::Array(vec![]));
    assert!(report(&[]).contains("\nReady at look 4, after "), "{}", report(&[]));
    assert!(!report(&["--format", "junit"]).contains("flaky"));
    Ok(())
}

#[test]
fn a_run_says_that_it_is_one() -> Told<()> {
    let stage = Stage::new();
    stage.run(&crate::tool::redial("--events events", "exit 0"))?;
    assert_eq!(of_kind(&stage.events()?, "run.start")[0]["mode"], "run");
    Ok(())
}

#[test]
fn only_who_asks_for_more_hears_of_every_look() -> Told<()> {
    for (flags, looks) in [("-q", 0), ("", 1), ("-v", 4)] {
        let stage = Stage::new();
        let line = until(&format!("-d 1ms {flags}"), "test $REDIAL_ATTEMPT = 5");
        assert_eq!(stage.run(&line)?.code(), 0);
        let said = said(&stage);
        let found = said.iter().filter(|line| line.starts_with("redial: not yet")).count();
        assert!(found == looks || (flags.is_empty() && found < 4), "{flags}: {said:#?}");
    }
    Ok(())
}

#[test]
fn warnings_about_endless_waits_are_not_for_a_poll_and_one_about_spinning_is() -> Told<()> {
    for (clause, warns) in [
        ("attempts: unlimited, delay: 1ms", None),
        ("attempts: 5000, delay: 1ms", None),
        ("attempts: unlimited", Some("warning[hot-loop]")),
    ] {
        let stage = Stage::new();
        let program = REDIAL;
        let script = "test $REDIAL_ATTEMPT = 2";
        let line = [program, "until", "--with", clause, "--", "sh", "-c", script];
        assert_eq!(stage.run(&line)?.code(), 0);
        let text = stage.text("err");
        let found = text.lines().find_map(|line| line.strip_prefix("redial: "));
        match warns {
            None => assert!(!text.contains("warning"), "{clause}: {text}"),
            Some(warning) => assert!(found.unwrap().starts_with(warning), "{clause}: {text}"),
        }
    }
    Ok(())
}

#[test]
fn a_signal_lets_out_what_the_last_look_printed() -> Told<()> {
    let stage = Stage::new();
    let mut poll = stage.start(&until("-d 1h", "echo no route >&2; exit 1"));
    assert!(kernel::until(stage.patience, || !said(&stage).is_empty()), "{}", stage.scene());
    poll.signal(Signal::TERM);
    assert_eq!(poll.end(stage.patience)?.signal(), Some(Signal::TERM));
    let errors = stage.text("err");
    assert!(
        errors.contains("no route\n") && errors.ends_with("redial: ended by TERM\n"),
        "{errors}"
    );
    stage.nothing_is_left()
}

/// On a terminal there is one line that is drawn over; in the end there is what was printed, and that it is ready.
#[test]
fn a_terminal_has_one_line_for_all_looks() -> Told<()> {
    let stage = Stage::new();
    let script = "read word <gate; echo saw $REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 4";
    let mut terminal = Terminal::start(&stage, &until("-d 300ms", script));
    stage.open();
    terminal.sees("· not yet")?;
    // That nothing ends it is said where 80 columns do not cut it.
    terminal.sees("no deadline (see --within)")?;
    stage.open();
    terminal.sees(", 2 looks")?;
    // Before the third look is over, that of the second one is all that there is.
    let screen = terminal.screen();
    assert_eq!(screen.lines().count(), 1, "{screen}");
    stage.open();
    terminal.sees(", 3 looks")?;
    stage.open();
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let screen = terminal.screen();
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines.len(), 2, "{screen}");
    assert_eq!(lines[0], "saw 4", "{screen}");
    assert!(lines[1].starts_with("✓ ready after ") && lines[1].ends_with(", 4 looks"), "{screen}");
    Ok(())
}

#[test]
fn looks_that_follow_each_other_closely_have_one_line_too() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &until("-d 1ms", "test $REDIAL_ATTEMPT = 40"));
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let screen = terminal.screen();
    assert_eq!(screen.lines().count(), 1, "{screen}");
    assert!(screen.starts_with("✓ ready after "), "{screen}");
    Ok(())
}

#[test]
fn what_a_poll_streams_is_not_mixed_with_its_line() -> Told<()> {
    let stage = Stage::new();
    let script = "echo saw $REDIAL_ATTEMPT; test $REDIAL_ATTEMPT = 3";
    let mut terminal = Terminal::start(&stage, &until("-d 300ms --output stream", script));
    assert_eq!(terminal.end()?.code(), 0);
    terminal.drained();
    let screen = terminal.screen();
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines[..3], ["saw 1", "saw 2", "saw 3"], "{screen}");
    assert!(lines.len() == 4 && lines[3].starts_with("✓ ready after "), "{screen}");
    Ok(())
}

#[test]
fn a_key_that_ends_a_poll_leaves_its_last_line() -> Told<()> {
    let stage = Stage::new();
    let mut terminal = Terminal::start(&stage, &until("-d 1h", "echo why >&2; exit 6"));
    terminal.sees("no deadline (see --within)")?;
    terminal.types(CTRL_C);
    assert_eq!(terminal.end()?.signal(), Some(Signal::INT));
    terminal.drained();
    let screen = terminal.screen();
    assert!(screen.contains("· not yet  exit 6 after ") && screen.contains("why"), "{screen}");
    Ok(())
}

#[test]
fn flaky_is_not_a_word_for_a_poll() -> Told<()> {
    let stage = Stage::new();
    assert_eq!(stage.run(&until("--flaky fail", "echo . >>attempts"))?.code(), 125);
    assert_eq!(stage.attempts(), 0);
    let said = stage.text("err");
    assert!(said.starts_with("error: --flaky: ") && said.ends_with("; drop --flaky\n"), "{said}");
    Ok(())
}
