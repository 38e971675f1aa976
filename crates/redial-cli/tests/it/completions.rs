//! Names of runs and keys of dead letters, completed by real shells on a terminal.

use crate::kernel::Told;
use crate::program::{REDIAL, install, is_installed, redial, stderr, stdout, with_input};
use crate::stage::Stage;
use crate::terminal::Terminal;

/// Keys with all that means something to a shell.
const KEYS: [&str; 9] = [
    "a b",
    "it's",
    "q\"x$HOME`id`\\y",
    "http://a.test/?q=1&r=2",
    "!bang",
    "w*r",
    "größe",
    "z[x];{y}&<z>",
    "plain",
];

/// A folder with a run whose items are all dead, another run, and a `redial` that says with which words it was called.
fn stage() -> Stage {
    let stage = Stage::new();
    for (run, store) in [("nightly", ".redial"), ("hourly", ".redial"), ("far", "else where")] {
        let mut map = crate::program::command(
            &stage.path(""),
            &["map", "-q", "-n", "1", "--run", run, "--store", store, "--", "false"],
        );
        let items = if run == "nightly" { KEYS.join("\n") } else { format!("{run}-1") };
        let output = with_input(&mut map, items.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = redial(&stage.path(""), &["completions", shell]);
        stage.write(&format!("redial.{shell}"), stdout(&script));
    }
    std::fs::create_dir(stage.path("bin")).unwrap();
    let said = r#"echo "$(printf '<%s>' "$@")" >bell"#;
    let program =
        format!("#!/bin/sh\ncase $1 in completions) exec '{REDIAL}' \"$@\";; esac\n{said}\n");
    install(&stage.path("bin/redial"), program);
    stage
}

/// A shell that has read its script, or none if it is not installed.
fn shell<'s>(stage: &'s Stage, name: &str) -> Told<Option<Terminal<'s>>> {
    if !is_installed(name, "--version") {
        return Ok(None);
    }
    let arguments: &[&str] = match name {
        "bash" => &["bash", "--norc", "--noprofile", "-i"],
        "zsh" => &["zsh", "-f", "-i"],
        _ => &["fish", "--no-config", "-i", "-C", "source redial.fish; echo the script is read"],
    };
    let mut terminal = Terminal::start_with(stage, arguments, |command| {
        let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let path = format!("{}:{}", stage.path("bin").display(), path.unwrap().to_str().unwrap());
        command.env("PATH", path).env("LC_ALL", "C.UTF-8").env("HOME", stage.path(""));
    });
    let sourced = match name {
        "bash" => ". ./redial.bash",
        "zsh" => "autoload -U compinit; compinit -u -D; . ./redial.zsh",
        _ => "",
    };
    if !sourced.is_empty() {
        terminal.prompted()?;
        // The line that was typed is shown as well.
        terminal.enters(&format!("{sourced}; echo the script 'is read'"));
    }
    terminal.sees("the script is read")?;
    Ok(Some(terminal))
}

/// Types a line, in which a tab asks for the rest of a word, and looks at the words that the program gets.
#[track_caller]
fn check(stage: &Stage, terminal: &mut Terminal<'_>, line: &str, words: &[&str]) -> Told<()> {
    terminal.enters(&format!("redial {line}"));
    let words: String = words.iter().map(|word| format!("<{word}>")).collect();
    stage.hear_that(&words)
}

/// What holds in every shell. A key is typed up to where it is the only one, and the shell is to write the rest.
fn completes(name: &str) -> Told<()> {
    let stage = stage();
    let Some(mut terminal) = shell(&stage, name)? else { return Ok(()) };
    for verb in ["resume", "status", "cancel", "report", "remove"] {
        check(&stage, &mut terminal, &format!("flow {verb} ni\t"), &["flow", verb, "nightly"])?;
    }
    let dead = ["flow", "dead", "show", "nightly"];
    check(&stage, &mut terminal, "flow dead show nig\tpl\t", &[&dead[..], &["plain"]].concat())?;
    let elsewhere = ["flow", "status", "--store", "else where", "far"];
    check(&stage, &mut terminal, "flow status --store 'else where' f\t", &elsewhere)?;
    check(
        &stage,
        &mut terminal,
        "flow run x --run ni\t",
        &["flow", "run", "x", "--run", "nightly"],
    )?;
    for (typed, key) in [
        ("a", "a b"),
        ("i", "it's"),
        ("q", KEYS[2]),
        ("htt", KEYS[3]),
        (r"\!", "!bang"),
        ("w", "w*r"),
        ("g", "größe"),
        ("z", "z[x];{y}&<z>"),
        ("'a", "a b"),
        ("\"a", "a b"),
        ("'q\"", KEYS[2]),
        ("'http:", KEYS[3]),
        ("job/htt", "job/http://a.test/?q=1&r=2"),
    ] {
        // In fish, `!` is a letter like any other.
        let typed = if name == "fish" { typed.trim_start_matches('\\') } else { typed };
        let words = [&["flow", "dead", "retry", "nightly"], &[key][..]].concat();
        check(&stage, &mut terminal, &format!("flow dead retry nightly {typed}\t"), &words)?;
    }
    Ok(())
}

#[test]
fn bash_completes_runs_and_keys() -> Told<()> {
    completes("bash")?;
    let stage = stage();
    let Some(mut terminal) = shell(&stage, "bash")? else { return Ok(()) };
    // Where its words end at a colon, and within double quotes.
    let words = |key| ["flow", "dead", "drop", "nightly", key];
    check(&stage, &mut terminal, "flow dead drop nightly http:\t", &words(KEYS[3]))?;
    check(&stage, &mut terminal, "flow dead drop nightly \"q\t", &words(KEYS[2]))?;
    // Without a run of that name, the key is one of the latest run.
    check(&stage, &mut terminal, "flow dead show hourly-\t", &["flow", "dead", "show", "hourly-1"])
}

#[test]
fn zsh_completes_runs_and_keys() -> Told<()> {
    completes("zsh")
}

#[test]
fn fish_completes_runs_and_keys() -> Told<()> {
    completes("fish")
}

/// What the program answers a script, without a word on standard error.
#[track_caller]
fn asked(folder: &std::path::Path, words: &[&str]) -> String {
    let output = redial(folder, &[&["completions", "zsh", "--", "redial"], words].concat());
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{words:?}");
    stdout(&output).to_owned()
}

#[test]
fn what_is_no_run_and_no_key_has_no_candidates() {
    let stage = stage();
    let folder = stage.path("");
    assert_eq!(asked(&folder, &["flow", "status", ""]), "hourly\nnightly\n");
    assert_eq!(asked(&folder, &["--color", "never", "flow", "status", "n"]), "nightly\n");
    assert_eq!(asked(&folder, &["flow", "remove", "nightly", ""]), "hourly\n");
    assert_eq!(asked(&folder, &["flow", "status", "--store=else where", ""]), "far\n");
    assert_eq!(asked(&folder, &["map", "--run", "h"]), "hourly\n");
    assert_eq!(asked(&folder, &["flow", "dead", "list", "n"]), "nightly\n");
    for words in [
        &["flow", "status", "nightly", ""][..],
        &["flow", "status", "--"],
        &["flow", "status", "--store", ""],
        &["flow", "run", ""],
        &["flow", "nonsense", ""],
        &["flow", ""],
        &["run", ""],
        &["flow", "dead", "list", "nightly", ""],
        &["flow", "dead", "show", "nightly", "--where", ""],
        &["flow", "dead", "show", "nightly", "nothing like it"],
        &["flow", "status", "--store", "nowhere", ""],
        &["flow", "dead", "show", "--store", "nowhere", "x", ""],
        &[],
    ] {
        assert_eq!(asked(&folder, words), "", "{words:?}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(asked(empty.path(), &["flow", "dead", "show", ""]), "");
    for line in [&["x"][..], &["redial flow status \"$(id)", ""], &[""], &["", ""]] {
        let output = redial(empty.path(), &[&["completions", "bash", "--"], line].concat());
        assert_eq!((output.status.code(), stdout(&output), stderr(&output)), (Some(0), "", ""));
    }
}

#[test]
fn of_very_many_dead_letters_a_thousand_are_offered() {
    use redial_flow::journal::{End, Sync};
    use redial_flow::record::{Event, Record};
    use redial_flow::store::Store;

    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path().join(".redial"));
    let run = store.create(&"large".parse().unwrap(), b"{}").unwrap();
    let held = run.hold().unwrap();
    let mut journal = held.journal(End::default(), Sync::Group).unwrap();
    let record = |event, item: u32| Record {
        step: Some("job".into()),
        item: Some(item),
        key: Some(format!("key-{item}").into()),
        stderr_tail: (event == Event::AttemptEnd).then(|| "no such host\n".repeat(20).into()),
        ..Record::new("large", Default::default(), event)
    };
    let events = [Event::AttemptStart, Event::AttemptEnd, Event::Decision, Event::Dead];
    let items = (0..10_000).collect::<Vec<_>>();
    for some in items.chunks(1000) {
        let records = some.iter().flat_map(|item| events.map(|event| record(event, *item)));
        journal.append(&records.collect::<Vec<_>>()).unwrap();
    }
    journal.append(&[record(Event::DeadRetry, 7), record(Event::DeadDrop, 70)]).unwrap();
    drop(held);
    let all = asked(folder.path(), &["flow", "dead", "show", "large", ""]);
    assert_eq!(all.lines().count(), 1000);
    let some = asked(folder.path(), &["flow", "dead", "show", "large", "key-7"]);
    assert!(some.lines().count() == 1000 && !some.lines().any(|key| key == "key-7"));
    let one = asked(folder.path(), &["flow", "dead", "show", "large", "key-9998"]);
    assert_eq!(one, "key-9998\n");
}
