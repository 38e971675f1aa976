//! What is read of a text, as text.

use redial_policy::{Document, Entry, Format, read};

/// One line for each policy, its clause or that it is refused, and one for each finding, with the
/// piece of the text that it points at.
pub(crate) fn shown(text: &str, document: &Document) -> String {
    let mut lines = Vec::new();
    for entry in document.policies() {
        let clause = entry.canonical().unwrap_or_else(|| "refused".to_owned());
        lines.push(format!("{}: {clause}", entry.name));
    }
    for found in document.diagnostics() {
        let severity = if found.is_warning() { "warning" } else { "error" };
        let (name, at) = (found.kind.name(), found.span.of(text));
        lines.push(format!("{severity}[{name}] at {at:?}: {}", found.message));
        lines.extend(found.note.iter().map(|note| format!("note: {note}")));
    }
    lines.join("\n")
}

/// The same lines, without what they are indented by.
pub(crate) fn unindented(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Asserts what is read of a text.
#[track_caller]
pub(crate) fn check(format: Format, text: &str, expected: &str) {
    let document = read(text, format, None);
    let shown = shown(text, &document);
    assert_eq!(unindented(&shown), unindented(expected), "\n--- of\n{text}\n--- shown\n{shown}\n");
}

/// The only policy of a text that has nothing else to say.
#[track_caller]
pub(crate) fn only(format: Format, text: &str) -> Entry {
    let document = read(text, format, None);
    assert_eq!(document.diagnostics(), [], "of\n{text}");
    let entries: Vec<_> = document.policies().cloned().collect();
    assert_eq!(entries.len(), 1, "policies in\n{text}");
    entries[0].clone()
}
