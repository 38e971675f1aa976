//! A run remembers how it was begun, and who goes on with it says only what is to differ.

use std::fs;

use super::Place;
use crate::program::{stderr, stdout};

/// Each item fails where another one runs at the same time.
const ALONE: &str = "
flow: alone
steps:
  all:
    each: {lines: items.txt}
    steps:
      - {shell: 'mkdir busy && sleep 0.2 && rmdir busy'}
";

/// Each item waits for three others.
const TOGETHER: &str = "
flow: together
steps:
  all:
    each: {lines: items.txt}
    steps:
      - {shell: 'touch \"here/$REDIAL_ITEM\"; until test \"$(ls here | wc -l)\" -ge 4; do sleep 0.05; done'}
";

/// Nothing of the run has happened but that it began.
fn forget_all(place: &Place) {
    let run = place.path().join(".redial/runs/q");
    let journal = fs::read_to_string(run.join("journal.ndjson")).unwrap();
    let first = journal.lines().next().unwrap();
    fs::write(run.join("journal.ndjson"), format!("{first}\n")).unwrap();
    fs::write(run.join("items.ndjson"), "").unwrap();
}

fn place() -> Place {
    let place = Place::new();
    fs::write(place.path().join("items.txt"), "a\nb\nc\nd\n").unwrap();
    place
}

#[test]
fn a_run_goes_on_with_as_many_jobs_as_it_was_begun_with() {
    let place = place();
    place.runs(ALONE, &["--run", "q", "-j", "1"], 0);
    forget_all(&place);
    let output = place.redial(&["resume", "q"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn dead_letters_are_retried_with_as_many_jobs_as_the_run_was_begun_with() {
    let place = place();
    fs::create_dir(place.path().join("busy")).unwrap();
    place.runs(ALONE, &["--run", "q", "-j", "1"], 1);
    fs::remove_dir(place.path().join("busy")).unwrap();
    let output = place.redial(&["dead", "retry", "q"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_flag_of_resume_is_taken_instead() {
    let place = place();
    let here = place.path().join("here");
    fs::create_dir(&here).unwrap();
    // All are here already, so that one job at a time will do.
    (1..=4).for_each(|n| fs::write(here.join(format!("x{n}")), "").unwrap());
    place.runs(TOGETHER, &["--run", "q", "-j", "1"], 0);
    forget_all(&place);
    fs::read_dir(&here).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    let output = place.redial(&["resume", "q", "-j", "4"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn the_output_of_a_map_goes_where_it_went_when_the_run_began() {
    let place = place();
    let map = ["map", "--run", "q", "--items", "items.txt", "--output-dir", "out", "--", "echo"];
    let output = crate::program::redial(place.path(), &map);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    forget_all(&place);
    fs::remove_dir_all(place.path().join("out")).unwrap();
    let output = place.redial(&["resume", "q"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), ""), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(place.path().join("out/2.out")).unwrap(), "b\n");
}

#[test]
fn everything_that_shapes_a_run_is_in_the_record_of_its_beginning() {
    let place = place();
    let flags = ["--jobs=3", "--sync=group", "--signal=INT", "--kill-after=2s", "--drain=1min"];
    place.runs("steps:\n  a: {run: ['true']}\n", &[&["--run", "q"], &flags[..]].concat(), 0);
    let journal = fs::read_to_string(place.path().join(".redial/runs/q/journal.ndjson")).unwrap();
    let said = "\"said\":{\"jobs\":\"3\",\"sync\":\"group\",\"signal\":\"INT\",\"kill_after\":\"2s\",\"drain\":\"1min\"}";
    assert!(journal.lines().next().unwrap().contains(said), "{journal}");
}
