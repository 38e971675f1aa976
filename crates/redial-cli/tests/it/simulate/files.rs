//! A scenario in a file.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{folder, in_folder, parsed, redial, refused_in, stderr, stdout};

const STORM: &str = r#"
scenario = "outage"
rate = 50            # calls per second
capacity = 60.5
refuse = true
after = "20s"
trials = 2
with = ["retry: 1, delay: 0s", "attempts: 1"]
"#;

/// What a run in a folder finds.
#[track_caller]
fn found(folder: &Path, line: &str) -> Value {
    let output = in_folder(folder, &format!("{line} --json"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    parsed(&output)
}

fn policies(found: &Value) -> Vec<&str> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|result| result["policy"].as_str().unwrap()).collect()
}

#[test]
fn a_file_is_the_flags_written_down() {
    let folder = folder(&[("storm.toml", STORM)]);
    let by_file = in_folder(folder.path(), "simulate storm.toml --json");
    let by_flags = redial(
        "simulate outage --rate 50 --capacity 60.5 --refuse --after 20s --trials 2 \
         --with 'retry: 1, delay: 0s' --with 'attempts: 1' --json",
    );
    assert_eq!(by_flags.status.code(), Some(0), "{}", stderr(&by_flags));
    assert_eq!(stdout(&by_file), stdout(&by_flags), "{}", stderr(&by_file));
}

#[test]
fn all_that_is_printed_can_be_asked_for_in_it() {
    let more =
        format!("{STORM}json = true\nhtml = \"storm.html\"\nassert = \"amplification < 3x\"\n");
    let folder = folder(&[("storm.toml", &more)]);
    let output = in_folder(folder.path(), "simulate ./storm.toml");
    assert_eq!(parsed(&output)["assertions"][0]["holds"], true);
    assert!(fs::read_to_string(folder.path().join("storm.html")).unwrap().contains("storm.toml"));
}

#[test]
fn the_command_line_is_over_the_file() {
    let folder = folder(&[("storm.toml", STORM)]);
    let storm = found(folder.path(), "simulate storm.toml --rate 30 --trials 3 --down 5s --seed 4");
    let scenario = &storm["scenario"];
    assert_eq!(scenario["rate"], 30.0);
    assert_eq!(scenario["capacity"], 60.5);
    assert_eq!(scenario["refuses"], true);
    assert_eq!(scenario["down_s"], 5.0);
    assert_eq!(scenario["seed"], 4);
    assert_eq!(storm["results"][0]["trials"], 3);
    assert_eq!(policies(&storm), ["attempts: 2", "attempts: 1"]);
}

#[test]
fn what_a_flag_of_the_command_line_needs_may_be_in_the_file() {
    let text = format!("{STORM}budget = \"10%\"\nbreaker = 5\n");
    let folder = folder(&[("storm.toml", &text)]);
    let line = "simulate storm.toml --budget-burst 7 --breaker-recovery 3s";
    let scenario = &found(folder.path(), line)["scenario"];
    assert_eq!(scenario["budget"], json!({ "share": 0.1, "burst": 7.0, "floor_per_second": 0.0 }));
    assert_eq!(scenario["breaker"], json!({ "failures": 5, "recovery_s": 3.0 }));
}

#[test]
fn policies_of_the_command_line_replace_those_of_the_file() {
    let retries = "policies:\n  fetch: 'retry: 2, delay: 1s'\n  push: 'retry: 4'\n";
    let folder = folder(&[("storm.toml", STORM), ("retries.yaml", retries)]);
    let of = |line: &str| {
        let found = found(folder.path(), &format!("simulate storm.toml {line}"));
        policies(&found).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("--with 'attempts: 3'"), ["attempts: 3"]);
    assert_eq!(of("--policy retries.yaml#fetch"), ["attempts: 3, delay: 1s"]);
    assert_eq!(of("--preset default --with 'attempts: 7'")[1], "attempts: 7");
    // An option is laid over each of them.
    assert_eq!(of("-d 2s"), ["attempts: 2, delay: 2s", "attempts: 1, delay: 2s"]);
}

#[test]
fn attempts_in_other_words_replace_those_of_the_file() {
    let text = "scenario = \"layers\"\ntrials = 2\ncalls = 5\nattempts = 4\n";
    let folder = folder(&[("layers.toml", text)]);
    let amplification = |line: &str| {
        let found = found(folder.path(), &format!("simulate layers.toml {line}"));
        found["results"][0]["amplification"]["mean"].as_f64().unwrap()
    };
    assert_eq!(amplification(""), 64.0);
    assert_eq!(amplification("--retries 1"), 8.0);
    assert_eq!(amplification("-n 3"), 27.0);
}

#[test]
fn crowds_are_a_list_or_a_text() {
    for crowds in ["[5, 3]", "\"3,5\"", "[\"3..4:2\", 5]", "[3, \"5\"]"] {
        let text = format!("scenario = \"contention\"\ntrials = 2\nclients = {crowds}\n");
        let folder = folder(&[("crowds.toml", &text)]);
        let clients = &found(folder.path(), "simulate crowds.toml")["scenario"]["clients"];
        let expected = if crowds.contains("..") { json!([3, 4, 5]) } else { json!([3, 5]) };
        assert_eq!(*clients, expected, "{crowds}");
    }
}

#[test]
fn a_policy_is_looked_for_beside_the_file() {
    let retries = "policies:\n  fetch: 'retry: 2, delay: 1s'\n  push: 'retry: 4'\n";
    let text = "scenario = \"layers\"\ncalls = 5\ntrials = 2\npolicy = \"retries.yaml#fetch\"\n";
    let folder = folder(&[]);
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("layers.toml"), text).unwrap();
    fs::write(inner.join("retries.yaml"), retries).unwrap();
    let expected = ["attempts: 3, delay: 1s"];
    assert_eq!(policies(&found(folder.path(), "simulate inner/layers.toml")), expected);
    assert_eq!(policies(&found(&inner, "simulate layers.toml")), expected);
    // What the command line names is where the command line is.
    let line = "simulate inner/layers.toml --policy retries.yaml#fetch";
    refused_in(folder.path(), line, "retries.yaml");
}

#[test]
fn policies_keep_the_order_of_the_text() {
    let text = "scenario = \"layers\"\ncalls = 5\ntrials = 2\n\
                with = [\"attempts: 2\", \"attempts: 1\"]\npreset = \"default\"\n";
    let folder = folder(&[("layers.toml", text)]);
    let found = found(folder.path(), "simulate layers.toml");
    assert_eq!(policies(&found)[..2], ["attempts: 2", "attempts: 1"]);
}

#[test]
fn a_file_that_is_wrong_says_where_and_what_would_be_right() {
    let storm = |line: &str| format!("scenario = \"outage\"\nrate = 50\n{line}\n");
    for (text, because) in [
        (storm("capcity = 60"), "x.toml: there is no setting `capcity`; did you mean `capacity`?"),
        (storm("capacity = = 60"), "x.toml:3: this is not TOML: "),
        (storm("capacity = 60\ncapacity = 61"), "x.toml:4: this is not TOML: "),
        ("rate = 50\n".into(), "x.toml: there is no `scenario = \"outage\"` in it"),
        ("".into(), "x.toml: there is no `scenario = \"outage\"` in it"),
        ("scenario = \"storm\"\n".into(), "there is no scenario `storm`; there are contention"),
        ("scenario = 5\n".into(), "x.toml:1: scenario is the name of one, such as \"outage\""),
        ("scenario = [\"wave\", \"layers\"]\n".into(), "x.toml:1: scenario is the name of one"),
        ("scenario = \"x.toml\"\n".into(), "there is no scenario `x.toml`"),
        (storm("depth = 3"), "--depth is no setting of outage, which has --rate, --capacity"),
        (storm("capacity = \"many\""), "x.toml: invalid value 'many' for '--capacity <N>'"),
        (storm("capacity = nan"), "x.toml: invalid value 'nan' for '--capacity <N>'"),
        (storm("capacity = true"), "x.toml: a value is required for '--capacity <N>'"),
        (storm("capacity = [50, 60]"), "'--capacity <N>' cannot be used multiple times"),
        (storm("capacity = { of = 3 }"), "x.toml:3: capacity takes a text, a number"),
        (storm("with = [true]"), "x.toml:3: with takes a text, a number"),
        (storm("with = [[\"attempts: 2\"]]"), "x.toml:3: with takes a text, a number"),
        (storm("[capacity]\nof = 3"), "x.toml:3: capacity takes a text, a number"),
        (storm("capacity = 2026-01-01"), "x.toml:3: capacity takes a text, a number"),
        // Not 10.
        (storm("capacity = 0x10"), "x.toml: invalid value '0x10' for '--capacity <N>'"),
        (storm("refuse = 5"), "x.toml: unexpected value '5' for '--refuse'"),
        (storm("down = 10"), "x.toml: invalid value '10' for '--down <DURATION>'"),
        (storm("with = 5"), "error"),
        (storm("help = true"), "x.toml: there is no setting `help`"),
        (storm(""), "outage needs --capacity"),
    ] {
        let folder = folder(&[("x.toml", &text)]);
        refused_in(folder.path(), "simulate x.toml", because);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = folder(&[]);
    refused_in(folder.path(), "simulate absent.toml", "absent.toml");
    refused_in(folder.path(), "simulate absent", "there is no scenario `absent`");
    refused_in(folder.path(), "simulate .", ".");
    refused_in(folder.path(), "simulate ./absent", "./absent");
}

#[test]
fn a_file_that_is_wrong_is_wrong_whatever_replaces_it() {
    let folder = folder(&[("x.toml", "scenario = \"layers\"\ndepth = { of = 3 }\n")]);
    refused_in(folder.path(), "simulate x.toml --depth 2", "x.toml:2: depth takes a text");
}

#[test]
fn a_search_is_written_down_in_the_same_way() {
    let text = "scenario = \"contention\"\nclients = \"3,5\"\neffort = \"quick\"\nattempts = 9\n";
    let folder = folder(&[("crowd.toml", text)]);
    let crowd = found(folder.path(), "tune crowd.toml --seed 3");
    assert_eq!(crowd["scenario"]["clients"], json!([3, 5]));
    assert_eq!(crowd["scenario"]["seed"], 3);
    assert!(crowd["yours"]["policy"].as_str().unwrap().starts_with("attempts: 9,"), "{crowd:#}");
    let storm = super::folder(&[("storm.toml", STORM)]);
    refused_in(storm.path(), "tune storm.toml", "tune searches for contention alone");
}
