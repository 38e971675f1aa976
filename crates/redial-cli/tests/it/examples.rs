//! Every policy that a page, a reference or a help text shows is read the same way from a flag, from
//! a file and from standard input, comments and line breaks included: with the same meaning, or with
//! the same findings at the same places.
//!
//! The examples are taken from the texts as they are: a new one needs nothing here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use redial_core::clause;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{command, root, with_input};

fn redial(arguments: &[&str], input: &str) -> Output {
    with_input(&mut command(Path::new("."), arguments), input.as_bytes())
}

fn printed(arguments: &[&str], input: &str) -> String {
    String::from_utf8(redial(arguments, input).stdout).unwrap()
}

/// What a text is told of by `check`: how many policies there are, and each finding with its place.
fn checked(arguments: &[&str], input: &str) -> Vec<(Value, Vec<Value>)> {
    let all = [&["check", "--format", "json"], arguments].concat();
    let answer: Value = serde_json::from_str(&printed(&all, input)).unwrap();
    let report = |report: &Value| {
        (report["policies"].clone(), report["diagnostics"].as_array().unwrap().clone())
    };
    answer["files"].as_array().unwrap().iter().map(report).collect()
}

/// Every page of the repository, and what `--help` says of every verb.
fn texts() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    pages(&root(), &mut texts);
    let help = printed(&["--help"], "");
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs.take_while(|line| !line.is_empty());
    for verb in verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
        if !verb.is_empty() {
            texts.push((format!("{verb} --help"), printed(&[verb, "--help"], "")));
        }
    }
    texts.push(("--help".to_owned(), help));
    texts
}

fn pages(folder: &Path, texts: &mut Vec<(String, String)>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            pages(&path, texts);
        } else if name.ends_with(".md") {
            texts.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The blocks between fences, by their languages.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
            blocks.push((language, inside.fold(String::new(), |text, line| text + line + "\n")));
        }
    }
    blocks
}

/// What is between two quotes of one kind in a line and begins as a clause does.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let pieces = |line| ['\'', '"', '`'].into_iter().flat_map(move |quote| str::split(line, quote));
    text.lines().flat_map(pieces).filter(|piece| {
        let known = |name: &str| clause::counterpart(name) == Some(name);
        piece.split_once(": ").is_some_and(|(name, value)| known(name) && !value.is_empty())
    })
}

/// Each clause that a text shows, and where.
fn clauses() -> BTreeMap<String, String> {
    let mut clauses = BTreeMap::new();
    for (place, text) in texts() {
        for (_, block) in blocks(&text).iter().filter(|(language, _)| *language == "clause") {
            clauses.insert(block.clone(), place.clone());
        }
        clauses.extend(quoted(&text).map(|clause| (clause.to_owned(), place.clone())));
    }
    clauses
}

/// The texts as files, in this order.
fn files<'t>(texts: impl Iterator<Item = (&'t str, String)>) -> (TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let write = |(at, (text, end)): (usize, (&str, String))| {
        let path = folder.path().join(format!("{at}{end}"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let paths = texts.enumerate().map(write).collect();
    (folder, paths)
}

/// As the help prints a block, and as somebody copies it.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[test]
fn a_clause_of_any_text_is_told_the_same_of_from_a_flag_a_file_and_standard_input() {
    let clauses = clauses();
    assert!(clauses.len() > 150, "{} clauses", clauses.len());
    let (_folder, paths) = files(clauses.keys().map(|clause| (clause.as_str(), String::new())));
    let of_files = checked(&paths.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let flags: Vec<_> = clauses.keys().flat_map(|clause| ["--with", clause]).collect();
    let of_flags = checked(&flags, "");
    for (((clause, place), file), flag) in clauses.iter().zip(of_files).zip(of_flags) {
        assert_eq!(file, flag, "{place}\n{clause}");
        let input = checked(&["-"], clause);
        assert_eq!(input[0], flag, "{place}\n{clause}");
        let names = |(_, found): &(Value, Vec<Value>)| -> Vec<Value> {
            found.iter().map(|found| found["message"].clone()).collect()
        };
        let copied = checked(&["-"], &indented(clause));
        assert_eq!(names(&copied[0]), names(&flag), "{place}\n{}", indented(clause));
    }
}

#[test]
fn a_clause_of_any_text_means_the_same_from_a_flag_a_file_and_standard_input() {
    let clauses = clauses();
    let (_folder, paths) = files(clauses.keys().map(|clause| (clause.as_str(), String::new())));
    let mut read = 0;
    for (clause, path) in clauses.keys().zip(&paths) {
        let flag = printed(&["plan", "--json", "--with", clause], "");
        assert_eq!(printed(&["plan", "--json", "--policy", path], ""), flag, "{clause}");
        assert_eq!(printed(&["plan", "--json", "--policy", "-"], clause), flag, "{clause}");
        read += usize::from(!flag.is_empty());
    }
    assert!(read * 2 > clauses.len(), "{read} of {} are policies", clauses.len());
}

/// A file of policies, of rules, a workflow or a script need not say by its name what it is.
#[test]
fn a_file_of_any_text_is_read_the_same_whatever_its_name_is() {
    let mut examples = BTreeMap::new();
    for (place, text) in texts() {
        for (language, block) in blocks(&text) {
            // What is a comment alone holds no policy.
            if block.lines().all(|line| line.is_empty() || line.starts_with('#')) {
                continue;
            }
            let end = match language {
                "yaml" | "toml" | "json" => format!(".{language}"),
                "constellation" => ".cst".to_owned(),
                _ => continue,
            };
            examples.insert((block, end), place.clone());
        }
    }
    assert!(examples.len() > 30, "{} examples", examples.len());
    let (_named, named) = files(examples.keys().map(|(text, end)| (text.as_str(), end.clone())));
    let (_plain, plain) = files(examples.keys().map(|(text, _)| (text.as_str(), String::new())));
    let checked_files =
        |paths: &[String]| checked(&paths.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let found = checked_files(&named).into_iter().zip(checked_files(&plain));
    for (((text, end), place), (named, plain)) in examples.iter().zip(found) {
        assert_eq!(named, plain, "{place}: {end}\n{text}");
        assert_eq!(checked(&["-"], text)[0], plain, "{place}\n{text}");
        let copied = checked(&["-"], &indented(text));
        assert_eq!(copied[0].0, plain.0, "{place}\n{}", indented(text));
        assert_eq!(copied[0].1.len(), plain.1.len(), "{place}\n{}", indented(text));
    }
}
