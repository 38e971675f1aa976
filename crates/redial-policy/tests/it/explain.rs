//! The pages of the diagnostics and the reference of the language say what is so: every block in
//! them is read, and gets the diagnostics and the delays that stand beside it.

use std::collections::BTreeSet;

use redial_core::{Forecast, Policy, Pretty, clause};
use redial_policy::Format;
use redial_policy::Kind;

const REFERENCE: &str = include_str!("../../src/reference.md");

/// A fenced block, and the lines directly after it.
#[derive(Debug)]
struct Block<'t> {
    /// The line of its fence, counted from 1.
    line: usize,
    language: &'t str,
    text: String,
    below: Vec<&'t str>,
}

impl<'t> Block<'t> {
    fn all_in(markdown: &'t str) -> Vec<Self> {
        let mut blocks = Vec::new();
        let mut lines = markdown.lines().zip(1..);
        while let Some((fence, line)) = lines.next() {
            let Some(language) = fence.strip_prefix("```") else { continue };
            let inside = lines.by_ref().map(|(text, _)| text).take_while(|text| *text != "```");
            let text = inside.fold(String::new(), |text, line| text + line + "\n");
            let after = lines.clone().map(|(text, _)| text);
            let below = after.take_while(|text| !text.is_empty()).collect();
            blocks.push(Self { line, language, text, below });
        }
        blocks
    }

    /// What stands after `label:` below the block, in words.
    fn stated(&self, label: &str) -> Option<Vec<&'t str>> {
        let after = self.below.iter().find_map(|line| line.strip_prefix(label)?.strip_prefix(':'));
        Some(after?.split([' ', ',']).filter(|word| !word.is_empty()).collect())
    }
}

/// What a text is read as.
struct Read {
    found: Vec<&'static str>,
    policy: Option<Policy>,
}

impl Read {
    fn clause(text: &str) -> Self {
        let reading = clause::read_call(text);
        let found = reading.diagnostics().iter().map(|found| found.kind().name()).collect();
        Self { found, policy: reading.policy() }
    }

    fn document(text: &str, format: Format) -> Self {
        let document = redial_policy::read(text, format, None);
        let found = document.diagnostics().iter().map(|found| found.kind.name()).collect();
        Self { found, policy: document.policies().last().and_then(|entry| entry.policy) }
    }

    /// None where the text is not to be read.
    fn of(language: &str, text: &str) -> Option<Self> {
        match language {
            // Flows and scripts are read by the tests of `redial-flow`.
            "text" | "flow" | "script" => None,
            "clause" => Some(Self::clause(text)),
            "constellation" => Some(Self::document(text, Format::Text)),
            "yaml" => Some(Self::document(text, Format::Yaml)),
            "toml" => Some(Self::document(text, Format::Toml)),
            "json" => Some(Self::document(text, Format::Json)),
            other => panic!("no notation is called {other:?}"),
        }
    }

    /// The core does not look into patterns, so the page about them takes another way.
    fn on_page(kind: Kind, block: &Block<'_>) -> Option<Self> {
        match kind {
            Kind::BadPattern => Some(Self::document(&block.text, Format::Text)),
            _ => Self::of(block.language, &block.text),
        }
    }
}

/// The part of a page under this heading, up to the next one.
fn section<'t>(page: &'t str, heading: &str) -> &'t str {
    let (_, after) = page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| {
        panic!("{heading:?} is missing in\n{page}");
    });
    after.split_once("\n#").map_or(after, |(section, _)| section)
}

fn only_block<'t>(page: &'t str, heading: &str) -> Block<'t> {
    let mut blocks = Block::all_in(section(page, heading));
    assert_eq!(blocks.len(), 1, "one block under {heading} in\n{page}");
    blocks.remove(0)
}

/// The delays as the reference writes them: one value, or the least and the greatest.
fn written(delay: Forecast) -> String {
    let (least, greatest) = (Pretty(delay.least), Pretty(delay.greatest));
    if least == greatest { greatest.to_string() } else { format!("{least}-{greatest}") }
}

/// Asserts that the policy has these delays and no others; `…` at the end stands for no end.
fn assert_delays(policy: &Policy, stated: &[&str], place: &str) {
    let (shown, goes_on) = match stated.split_last() {
        Some((&"…", shown)) => (shown, true),
        _ => (stated, false),
    };
    assert_eq!(goes_on, policy.attempts().is_none(), "{place}: only what is unlimited goes on");
    let count = if goes_on { shown.len() } else { usize::MAX };
    let delays: Vec<_> = policy.forecasts().take(count).map(written).collect();
    assert_eq!(delays, shown, "{place}");
}

#[test]
fn every_kind_has_a_page_under_its_name() {
    for kind in Kind::all() {
        let title = kind.page().lines().next();
        assert_eq!(title, Some(format!("# {}", kind.name()).as_str()));
    }
}

#[test]
fn every_page_file_belongs_to_a_kind() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/explain");
    let files = std::fs::read_dir(folder).expect("the folder of the pages");
    let files: BTreeSet<_> = files
        .map(|file| file.expect("a page").file_name().into_string().expect("a name"))
        .collect();
    let kinds = Kind::all().map(|kind| format!("{}.md", kind.name()));
    assert_eq!(files, kinds.collect());
}

#[test]
fn a_page_begins_with_how_severe_it_is() {
    for kind in Kind::all() {
        let opening = if kind.is_warning() { "A warning: " } else { "An error: " };
        let text = kind.page().lines().nth(2).unwrap_or_default();
        assert!(text.starts_with(opening), "{}: {text}", kind.name());
    }
}

#[test]
fn the_example_of_a_page_has_its_diagnostic() {
    for kind in Kind::all() {
        let example = only_block(kind.page(), "## Example");
        if let Some(read) = Read::on_page(kind, &example) {
            let also = if kind.name() == "hot-loop" { vec!["unbounded"] } else { vec![] };
            assert_eq!(read.found, [also, vec![kind.name()]].concat(), "{}", kind.page());
        }
    }
}

#[test]
fn the_fix_of_a_page_has_no_diagnostic() {
    for kind in Kind::all() {
        let fix = only_block(kind.page(), "## Fix");
        assert_ne!(fix.language, "text", "{}: a fix can be read", kind.name());
        if let Some(read) = Read::on_page(kind, &fix) {
            assert_eq!(read.found, [""; 0], "{}", kind.page());
        }
    }
}

#[test]
fn every_block_of_the_reference_has_the_diagnostics_that_it_states() {
    for block in Block::all_in(REFERENCE) {
        let Some(read) = Read::of(block.language, &block.text) else { continue };
        let stated = block.stated("Diagnostics").unwrap_or_default();
        assert_eq!(read.found, stated, "reference.md:{}\n{}", block.line, block.text);
    }
}

#[test]
fn every_block_of_the_reference_has_the_delays_that_it_states() {
    for block in Block::all_in(REFERENCE) {
        let Some(stated) = block.stated("Delays") else { continue };
        assert_ne!(block.language, "text", "reference.md:{}", block.line);
        let Some(read) = Read::of(block.language, &block.text) else { continue };
        let place = format!("reference.md:{}\n{}", block.line, block.text);
        assert_delays(&read.policy.expect("a policy"), &stated, &place);
    }
}

/// A row of a table in the reference: a clause, two spaces or more, and its delays.
#[test]
fn every_row_of_a_table_of_delays_is_true() {
    let mut rows = 0;
    for block in Block::all_in(REFERENCE).iter().filter(|block| block.language == "text") {
        for row in block.text.lines().filter(|row| row.contains("retry: ")) {
            let (clause, delays) = row.split_once("  ").expect("a clause and its delays");
            let read = Read::clause(clause);
            assert_eq!(read.found, [""; 0], "{row}");
            let stated: Vec<_> = delays.split_whitespace().collect();
            assert_delays(&read.policy.expect("a policy"), &stated, row);
            rows += 1;
        }
    }
    assert!(rows > 0, "the reference has tables of delays");
}

#[test]
fn the_presets_of_the_reference_are_the_policies_of_their_names() {
    for (heading, policy) in
        [("### default", Policy::DEFAULT), ("### contention", Policy::CONTENTION)]
    {
        let block = only_block(REFERENCE, heading);
        assert_eq!(Read::clause(&block.text).policy, Some(policy), "{heading}");
        let words: Vec<_> = block.text.split_whitespace().collect();
        assert_eq!(words.join(" "), policy.to_string(), "{heading}");
    }
}

#[test]
fn the_reference_lists_every_diagnostic_under_its_severity() {
    let listed = |heading| -> BTreeSet<_> {
        let lines = section(REFERENCE, heading).lines();
        lines.filter_map(|line| line.strip_prefix("- `")?.split('`').next()).collect()
    };
    let kinds = |warning| Kind::all().filter(move |kind| kind.is_warning() == warning);
    assert_eq!(listed("### Errors"), kinds(false).map(Kind::name).collect());
    assert_eq!(listed("### Warnings"), kinds(true).map(Kind::name).collect());
}

#[test]
fn the_reference_names_every_option() {
    for option in redial_core::clause::OPTIONS {
        let read = Read::clause(&format!("{option}: 1"));
        assert!(!read.found.contains(&"unknown-option"), "{option}");
        assert!(REFERENCE.contains(&format!("`{option}`")), "{option}");
    }
}

#[test]
fn the_reference_fits_a_terminal() {
    for (line, number) in REFERENCE.lines().zip(1..) {
        assert!(line.chars().count() <= 80, "reference.md:{number} is too wide");
    }
}
