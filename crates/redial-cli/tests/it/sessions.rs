//! Every session that a document shows is run in a real shell, and goes as the document says; only
//! times may differ. To write down how it goes now:
//! `TRYCMD=overwrite cargo test -p redial-cli --test it sessions`.

use std::path::Path;
use std::process::Command;

use crate::program::{path_with_redial, root};

const FENCE: &str = "```shell-session\n";

#[test]
fn the_sessions_go_as_the_documents_say() {
    let overwrite = std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite");
    let topics = ["budget", "breaker", "events", "exit-codes", "environment"];
    let topics = topics.map(|topic| format!("crates/redial-cli/src/help/{topic}.md"));
    let documents =
        ["README.md", "docs/RUNNING.md", "docs/MAP.md", "docs/FLOWS.md", "docs/SCRIPTS.md"]
            .map(str::to_owned);
    for document in documents.into_iter().chain(topics) {
        let path = root().join(&document);
        let text = std::fs::read_to_string(&path).unwrap();
        // As in the repository, where whatever a session writes goes nowhere.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root().join("docs"), folder.path().join("docs")).unwrap();
        let mut new = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(FENCE) {
            let (session, after) = after.split_once("```").expect("a fence that closes");
            let now =
                commands(session).map(|command| played(command, folder.path())).collect::<String>();
            if !overwrite {
                assert_eq!(
                    timeless(session),
                    timeless(&now),
                    "{document}: see the top of this file"
                );
            }
            new += &format!("{before}{FENCE}{now}```");
            rest = after;
        }
        new += rest;
        if overwrite && timeless(&new) != timeless(&text) {
            std::fs::write(path, new).unwrap();
        }
    }
}

/// A table of other tools cannot be made where they are not; but it must be there.
#[test]
fn the_behaviours_of_other_tools_are_shown() {
    let page = std::fs::read_to_string(root().join("docs/RUNNING.md")).unwrap();
    let (_, table) = page.split_once("as `scripts/behaviours` prints them").unwrap();
    let rows =
        table.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    assert!(rows.take(14).filter(|row| row.contains('✓')).count() == 14, "{table}");
}

fn commands(session: &str) -> impl Iterator<Item = &str> {
    session.lines().filter_map(|line| line.strip_prefix("$ "))
}

/// The command, and what it prints to a terminal that has no colours.
fn played(command: &str, folder: &Path) -> String {
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder)
        .env("PATH", path_with_redial())
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env_remove("GITHUB_ACTIONS")
        .output()
        .unwrap();
    format!("$ {command}\n{}", String::from_utf8(output.stdout).unwrap())
}

/// The text with `…` for every duration, and one space where columns are as wide as those are.
pub(crate) fn timeless(text: &str) -> String {
    let mut timeless = String::new();
    for line in text.split_inclusive('\n') {
        match line.strip_prefix("$ ") {
            Some(_) => timeless += line,
            None => {
                let words: Vec<_> =
                    without_times(line).split_whitespace().map(str::to_owned).collect();
                timeless += &format!("{}\n", words.join(" "));
            }
        }
    }
    timeless
}

fn without_times(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(from.len());
        let (number, after) = from.split_at(end);
        let unit = ["ns", "µs", "ms", "s", "min"].into_iter().find(|unit| {
            after.strip_prefix(unit).is_some_and(|next| !next.starts_with(char::is_alphabetic))
        });
        out += before;
        match unit {
            Some(unit) => {
                out.push('…');
                rest = &after[unit.len()..];
            }
            None => {
                out += number;
                rest = after;
            }
        }
    }
    out + rest
}
