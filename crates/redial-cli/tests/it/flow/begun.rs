//! Runs whose process was killed after it had made their directory, and before it had written down that they began.

use std::fs;

use super::Place;
use crate::program::stderr;

const FLOW: &str = "
flow: hello
steps:
  greet: {run: [echo, hello]}
outputs: {text: '${greet.output}'}
";

/// A run `q` whose journal has so many bytes of its first record, or all but its newline.
fn made(bytes: usize) -> Place {
    let place = Place::new();
    place.runs(FLOW, &["--run", "q"], 0);
    let journal = place.path().join(".redial/runs/q/journal.ndjson");
    let whole = fs::read(&journal).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    fs::write(journal, &whole[..first.min(bytes)]).unwrap();
    place
}

#[test]
fn a_run_that_was_made_and_not_begun_begins_with_whoever_comes_next() {
    for bytes in [0, 1, 100, usize::MAX] {
        for verb in [&["run", "flow.yaml", "--run", "q"][..], &["resume", "q"]] {
            let place = made(bytes);
            let status = place.redial(&["status", "q"]);
            let status = crate::program::stdout(&status).replace('\n', " ");
            let expected = "q, a run of hello: made and not begun, so nothing of it has run; redial flow resume q begins it.";
            assert!(status.contains(expected), "{status}");
            let output = place.redial(verb);
            assert_eq!(output.status.code(), Some(0), "{bytes}, {verb:?}: {}", stderr(&output));
            assert_eq!(crate::program::stdout(&output), "hello\n");
            assert!(stderr(&output).contains("it begins now"), "{}", stderr(&output));
            // From then on it is a run like any other.
            assert!(place.works(&["status", "q"]).contains("q, a run of hello: succeeded in"));
            let again = place.redial(verb);
            assert!(stderr(&again).contains("there was nothing to do"), "{}", stderr(&again));
        }
    }
}

#[test]
fn a_run_that_was_made_and_not_begun_can_be_cancelled() {
    let place = made(0);
    assert_eq!(place.redial(&["cancel", "q"]).status.code(), Some(0));
    assert!(place.works(&["status", "q"]).contains("cancelled after"));
    place.refused(&["resume", "q"], "the run `q` is cancelled");
}

/// Such as a secret that is not there: the next one begins with the same name, and nobody is told of this one.
#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let place = Place::new();
    let flow = |file: &str| {
        format!(
            "secrets: {{TOKEN: {{file: {file}}}}}\nsteps:\n  a: {{run: ['true'], secrets: [TOKEN]}}\n"
        )
    };
    let (_, said) = place.runs(&flow("no-such-file"), &["--run", "q"], 125);
    assert!(said.starts_with("error: secret `TOKEN`: no-such-file: "), "{said}");
    let status = place.redial(&["status"]);
    assert_eq!(crate::program::stdout(&status), "");
    assert!(stderr(&status).contains("there is no run"), "{}", stderr(&status));
    fs::write(place.path().join("token"), "t0ken").unwrap();
    place.runs(&flow("token"), &["--run", "q"], 0);
}
