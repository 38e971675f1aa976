//! Runs whose files are damaged: it is said what to do, and nothing is believed that was not written.

use std::fs;
use std::process::Output;

use super::Place;
use crate::program::{self, stderr, with_input};

const FLOW: &str = "
flow: files
steps:
  first: {run: ['true']}
  each:
    each: {lines: items}
    steps: [{run: [test, '${item}', '=', a]}]
";

/// A run with a dead letter, `b`.
fn place() -> Place {
    let place = Place::new();
    fs::write(place.path().join("items"), "a\nb\n").unwrap();
    place.runs(FLOW, &["--run", "files"], 1);
    place
}

/// Flips a bit of what stands in the middle of a file.
fn flip(place: &Place, run: &str, file: &str, part: &str) {
    let path = place.path().join(format!(".redial/runs/{run}/{file}"));
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(part.len()).position(|window| window == part.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[track_caller]
fn refused(output: &Output, words: &[&str]) {
    assert_eq!(output.status.code(), Some(125), "{}", stderr(output));
    for words in words {
        assert!(stderr(output).contains(words), "{words}: {}", stderr(output));
    }
}

#[test]
fn a_damaged_journal_is_refused_by_all_that_go_on_with_it_unless_damage_is_accepted() {
    let place = place();
    flip(&place, "files", "journal.ndjson", "attempt.end");
    let remedy = ["is damaged at line ", "with --accept-damage the run goes on without it"];
    for verb in [
        &["resume", "files"][..],
        &["run", "flow.yaml", "--run", "files"],
        &["dead", "retry", "files"],
        &["dead", "drop", "files", "--all"],
        &["cancel", "files"],
    ] {
        refused(&place.redial(verb), &remedy);
    }
    for verb in [
        &["resume", "files"][..],
        &["run", "flow.yaml", "--run", "files"],
        &["dead", "retry", "files"],
        &["dead", "drop", "files", "--all"],
        &["cancel", "files"],
    ] {
        let output = place.redial(&[verb, &["--accept-damage"]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{verb:?}: {}", stderr(&output));
    }
}

#[test]
fn who_looks_at_a_damaged_journal_is_told_how_to_go_on() {
    let place = place();
    flip(&place, "files", "journal.ndjson", "attempt.end");
    for verb in [
        &["status", "files"][..],
        &["status"],
        &["report", "files"],
        &["dead", "list", "files"],
        &["dead", "show", "files"],
    ] {
        let output = place.redial(verb);
        assert_eq!(output.status.code(), Some(0), "{verb:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("is damaged at line "), "{verb:?}: {said}");
        let remedy = "redial flow resume files --accept-damage goes on without it";
        assert!(said.contains(remedy), "{verb:?}: {said}");
    }
}

#[test]
fn redial_map_goes_on_with_a_damaged_journal_if_asked_to() {
    let place = Place::new();
    let map = |more: &[&str]| {
        let words = [&["map", "-n", "1", "--run", "m"], more, &["--", "test", "b", "="]].concat();
        with_input(&mut program::command(place.path(), &words), b"a\nb\n")
    };
    assert_eq!(map(&[]).status.code(), Some(1));
    flip(&place, "m", "journal.ndjson", "attempt.end");
    refused(&map(&[]), &["is damaged at line ", "with --accept-damage the run goes on without it"]);
    let output = map(&["--accept-damage"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
}

#[test]
fn damaged_items_are_refused_and_no_flag_helps() {
    let place = place();
    flip(&place, "files", "items.ndjson", "value");
    for flags in [&[][..], &["--accept-damage"]] {
        let output = place.redial(&[&["dead", "retry", "files"], flags].concat());
        refused(
            &output,
            &["items.ndjson is damaged at line 1", "bring the file back, or remove the run"],
        );
    }
}

#[test]
fn a_bit_that_flipped_in_the_pinned_flow_is_not_believed() {
    let place = place();
    // It is JSON still, and a flow: `test` has become `uest`.
    flip(&place, "files", "flow.json", "test");
    let words =
        ["flow.json is not what the run was begun with", "bring it back, or remove the run"];
    for verb in [
        &["resume", "files"][..],
        &["dead", "retry", "files"],
        &["dead", "list", "files"],
        &["status", "files"],
        &["report", "files"],
        &["run", "flow.yaml", "--run", "files"],
    ] {
        refused(&place.redial(verb), &words);
    }
    let output = place.redial(&["status"]);
    assert!(stderr(&output).contains("note: files is left out: "), "{}", stderr(&output));
    assert_eq!(place.redial(&["remove", "files"]).status.code(), Some(0));
}

#[test]
fn a_run_that_was_begun_without_a_checksum_is_taken_as_it_is() {
    let place = Place::new();
    place.run("old", &super::whole());
    flip(&place, "old", "flow.json", "thumbnails");
    assert!(place.works(&["status", "old"]).contains("a run of uhumbnails"));
}

/// Three sizes of output and all who may read them, once `go` is there.
const READERS: &str = r#"
flow: readers
steps:
  large: {run: [seq, "300000"]}
  middle: {run: [seq, "10000"]}
  wait: {run: [test, -e, go]}
  stream: {needs: wait, run: [cksum], stdin: "${large.output}"}
  items:
    needs: wait
    each: ${large.output}
    max_items: 2
    steps: [{run: [echo, "${item}"]}]
  value: {needs: wait, run: [echo, "${middle.output}"]}
  stdin: {needs: wait, run: [cksum], stdin: "${middle.output}"}
  lines:
    needs: wait
    each: ${middle.output}
    max_items: 2
    steps: [{run: [echo, "${item}"]}]
  when: {needs: wait, when: 'middle.output.size() > 3', run: ['true']}
  other: {needs: wait, run: ['true']}
"#;

#[test]
fn an_output_that_is_not_what_was_written_is_told_and_never_believed() {
    const LARGE: usize = 1_988_895;
    let cut = |bytes: &mut Vec<u8>, length: usize| bytes.truncate(length);
    let flip = |bytes: &mut Vec<u8>, at: usize| bytes[at] ^= 1;
    let (all, of_large, of_middle) = (
        &["stream", "items", "value", "stdin", "lines", "when"][..],
        &["stream", "items"][..],
        &["value", "stdin", "lines", "when"][..],
    );
    type Harm<'h> = (&'h dyn Fn(&mut Vec<u8>, usize), usize, &'h [&'h str]);
    let harms: [Harm<'_>; 6] = [
        (&flip, 0, of_large),
        // A newline becomes another letter, or another letter a newline.
        (&flip, 1, of_large),
        (&flip, LARGE - 1, of_large),
        (&flip, LARGE + 7, of_middle),
        (&cut, LARGE + 100, of_middle),
        (&cut, 1_500_000, all),
    ];
    for (harm, at, dead) in harms {
        let place = Place::new();
        place.runs(READERS, &["--run", "s", "-j", "1"], 1);
        let path = place.path().join(".redial/runs/s/out/0.seg");
        let mut bytes = fs::read(&path).unwrap();
        let whole = bytes.clone();
        harm(&mut bytes, at);
        fs::write(&path, &bytes).unwrap();
        fs::write(place.path().join("go"), "").unwrap();
        let output = place.redial(&["dead", "retry", "s"]);
        assert_eq!(output.status.code(), Some(1), "{at}: {}", stderr(&output));
        let letters = place.json(&["dead", "list", "s", "--json"]);
        let letters = letters["dead"].as_array().unwrap().clone();
        let mut names: Vec<&str> =
            letters.iter().map(|one| one["step"].as_str().unwrap()).collect();
        names.sort_by_key(|name| all.iter().position(|step| step == name));
        assert_eq!(names, dead, "{at}");
        for letter in &letters {
            let message = letter["message"].as_str().unwrap();
            for words in ["out/0.seg is damaged: ", "bring the file back, or remove the run"] {
                assert!(message.contains(words), "{at}: {message}");
            }
        }
        // Once the file is back, what is dead is tried again.
        fs::write(&path, &whole).unwrap();
        let output = place.redial(&["dead", "retry", "s"]);
        assert_eq!(output.status.code(), Some(0), "{at}: {}", stderr(&output));
    }
}

#[test]
fn damage_that_was_accepted_is_not_asked_about_again_and_other_damage_is() {
    let place = place();
    flip(&place, "files", "journal.ndjson", "attempt.end");
    let refusal = ["is damaged at line ", "with --accept-damage the run goes on without it"];
    refused(&place.redial(&["resume", "files"]), &refusal);
    let resumes = |flags: &[&str]| {
        let output = place.redial(&[&["resume", "files"], flags].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    };
    resumes(&["--accept-damage"]);
    for _ in 0..2 {
        resumes(&[]);
    }
    let output = place.redial(&["status", "files"]);
    let accepted = "the damage of the journal was accepted in 1 place";
    assert!(stderr(&output).contains(accepted), "{}", stderr(&output));
    assert!(!stderr(&output).contains("--accept-damage"), "{}", stderr(&output));
    // Other damage, before and after what was accepted.
    for part in ["run.start", "run.resume"] {
        flip(&place, "files", "journal.ndjson", part);
        refused(&place.redial(&["resume", "files"]), &refusal);
        resumes(&["--accept-damage"]);
        resumes(&[]);
    }
}
