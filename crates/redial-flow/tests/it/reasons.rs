//! The pages of reasons say what is so.

use redial_flow::notation::read;
use redial_flow::reason;
use redial_policy::Format;

/// The block under a heading.
fn block<'p>(page: &'p str, heading: &str) -> (&'p str, &'p str) {
    let (_, after) = page.split_once(&format!("\n{heading}\n\n```")).expect(heading);
    let (language, after) = after.split_once('\n').expect("a line");
    (language, after.split_once("```").expect("a fence that closes").0)
}

#[test]
fn a_page_has_its_name_what_happened_an_example_and_the_remedy() {
    for name in reason::names() {
        let page = reason::page(name).unwrap();
        assert!(page.starts_with(&format!("# {name}\n\nA reason to give up: ")), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        // Nothing is wrong with the texts: it is the values that come.
        for heading in ["## Example", "## Remedy"] {
            if let ("flow", text) = block(page, heading) {
                let found = read(text, Format::Yaml).diagnostics;
                assert!(found.is_empty(), "{name}: {heading}: {found:?}");
            }
        }
    }
}

#[test]
fn every_file_belongs_to_a_reason() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/reason");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut names: Vec<_> = reason::names().map(|name| format!("{name}.md")).collect();
    names.sort();
    assert_eq!(files, names);
}

#[test]
fn whatever_may_stand_in_a_dead_letter_has_a_page() {
    for stop in redial_core::Stop::ALL {
        assert!(reason::page(stop.name()).is_some(), "{}", stop.name());
    }
    use redial_flow::machine::{BAD_VALUE, FAILURES_MAX, NEEDS_SKIPPED};
    for name in [BAD_VALUE, FAILURES_MAX, NEEDS_SKIPPED] {
        assert!(reason::page(name).is_some(), "{name}");
    }
}

#[test]
fn the_reasons_of_values_and_of_what_must_not_run_twice_are_among_them() {
    for name in ["value-missing", "value-has-nul", "value-too-large"] {
        assert!(reason::page(name).is_some(), "{name}");
    }
    assert!(reason::page(redial_flow::machine::MAY_HAVE_SUCCEEDED).is_some());
}
