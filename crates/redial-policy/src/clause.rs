//! A clause by itself, or as a string in a file.

use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::diagnostic::{Diagnostic, Span};
use crate::document::{Entry, Notation};
use crate::draft::Draft;
use crate::fields::wrong_type;
use crate::matcher::Patterns;
use crate::place::Place;
use crate::tree::{Node, Value};

/// A clause that is a string of a tree.
pub(crate) fn read_node(
    node: &Node,
    name: String,
    text: &str,
    format: Format,
    patterns: &mut Patterns,
) -> Result<(Entry, Vec<Diagnostic>), Diagnostic> {
    let draft = draft(node, text, format)?;
    Ok(entry(&draft, name, node.span, patterns))
}

/// The draft of a clause that is a string of a tree.
pub(crate) fn draft(node: &Node, text: &str, format: Format) -> Result<Draft, Diagnostic> {
    match &node.value {
        Value::Text(clause) => {
            Ok(Draft::verbatim(clause, Place::of_string(clause, node, text, format), format))
        }
        _ => {
            Err(wrong_type("policy", node, text, "write a clause such as \"retry: 3, delay: 1s\""))
        }
    }
}

/// Reads a draft that is not in a workflow: the options of workflows are refused by name.
pub(crate) fn entry(
    draft: &Draft,
    name: String,
    span: Span,
    patterns: &mut Patterns,
) -> (Entry, Vec<Diagnostic>) {
    let mut read = draft.read(patterns);
    for written in draft.options() {
        if matches!(written.name.as_str(), "fallback" | "on_error") {
            let message = format!(
                "`{}` belongs to a call in a script or a step of a workflow, not to a policy",
                written.name
            );
            let place = written.name_place.of(0, written.name.len());
            read.diagnostics.push(Diagnostic::new(Clause::UnknownOption, place, message));
            read.policy = None;
        }
    }
    let diagnostics = std::mem::take(&mut read.diagnostics);
    let entry = Entry::new(name, Notation::Clause, span, draft.clause(), read, &diagnostics);
    (entry, diagnostics)
}
