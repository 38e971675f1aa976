//! The fields of a map: duplicates, unknown names and typos, and a value as a piece of a clause.

use std::collections::HashSet;

use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::diagnostic::{Diagnostic, Span};
use crate::draft::Written;
use crate::names::Synonym;
use crate::place::Place;
use crate::tree::{Field, Node, Tag, Value};

/// After how many findings no more names are suggested: comparing them is the most of the work.
const SUGGESTED_MAX: usize = 1000;

/// The known fields, the first of each name. Duplicate and unknown ones are reported.
pub(crate) fn known<'n>(
    node: &'n Node,
    what: &str,
    names: &[&str],
    synonyms: impl Fn(&str) -> Option<Synonym>,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<&'n Field> {
    known_besides(|_| false, node, what, names, synonyms, text, diagnostics)
}

/// The same, but fields for which `others` is true are ignored.
pub(crate) fn known_besides<'n>(
    others: impl Fn(&str) -> bool,
    node: &'n Node,
    what: &str,
    names: &[&str],
    synonyms: impl Fn(&str) -> Option<Synonym>,
    text: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<&'n Field> {
    if let Some(tag) = node.tag(text).filter(|tag| !names.contains(&&tag.name[1..])) {
        diagnostics.push(tagged(what, &tag));
        return Vec::new();
    }
    let mut fields: Vec<&Field> = Vec::new();
    let mut renamed = HashSet::new();
    for field in node.fields().iter().filter(|field| !others(&field.key)) {
        if !names.contains(&field.key.as_str()) {
            if diagnostics.len() >= SUGGESTED_MAX {
                let message = format!("`{}` is not a field of {what}", excerpt(&field.key));
                diagnostics.push(Diagnostic::new(Clause::UnknownOption, field.place, message));
                continue;
            }
            let mut found = unknown(field, what, names, synonyms(&field.key), text);
            // No two fields can be renamed to the same name.
            found.fix = found.fix.filter(|fix| {
                renamed.insert(fix.replacement.clone()) && !node.has(&fix.replacement)
            });
            diagnostics.push(found);
        } else if fields.iter().any(|known| known.key == field.key) {
            let message = format!("`{}` is there already; write it once", field.key);
            diagnostics.push(Diagnostic::new(Clause::DuplicateOption, field.place, message));
        } else {
            fields.push(field);
        }
    }
    fields
}

fn unknown(
    field: &Field,
    what: &str,
    names: &[&str],
    synonym: Option<Synonym>,
    text: &str,
) -> Diagnostic {
    let key = &field.key;
    match synonym.map(|synonym| synonym.field).or_else(|| nearest(key, names)) {
        Some(meant) => {
            let message = format!("`{key}` is not a field of {what}; did you mean `{meant}`?");
            let place = inside_quotes(field.place, text);
            // From retries to attempts the number would have to change too.
            let counts = meant.contains("ttempts") && key.to_lowercase().contains("retr");
            let safe = (synonym.is_some_and(|synonym| synonym.safe) && !counts)
                || is_typo(key, meant, names);
            Diagnostic::new(Clause::UnknownOption, field.place, message).fix(place, meant, safe)
        }
        None => {
            let are = if names.len() == 1 { "is" } else { "are" };
            let message = format!(
                "`{}` is not a field of {what}; there {are} {}",
                excerpt(key),
                listed(names)
            );
            Diagnostic::new(Clause::UnknownOption, field.place, message)
        }
    }
}

/// `a, b and c`
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A string without its quotes.
pub(crate) fn inside_quotes(span: Span, text: &str) -> Span {
    match span.of(text).as_bytes() {
        [first @ (b'"' | b'\''), .., last] if first == last => {
            Span { start: span.start + 1, end: span.end - 1 }
        }
        // The tag of YAML.
        [b'!', ..] => Span { start: span.start + 1, end: span.end },
        _ => span,
    }
}

/// An unknown tag of YAML before a value. The fix is not safe: the value without the tag may not be what
/// was meant.
pub(crate) fn tagged(what: &str, tag: &Tag<'_>) -> Diagnostic {
    let name = excerpt(tag.name);
    let message =
        format!("{what}: `{name}` is a tag of YAML, which means nothing here; leave it out");
    let place = Span { start: tag.span.start, end: tag.span.start + tag.name.len() };
    Diagnostic::new(Clause::WrongType, place, message).fix(tag.span, "", false)
}

/// A value of another kind than the field takes.
pub(crate) fn wrong_type(field: &str, node: &Node, text: &str, advice: &str) -> Diagnostic {
    if let Some(tag) = node.tag(text) {
        return tagged(field, &tag);
    }
    let message = match &node.value {
        Value::List(_) | Value::Map(_) | Value::Null => {
            format!("{field}: this is {}; {advice}", node.article())
        }
        _ => format!("{field}: `{}`; {advice}", excerpt(node.span.of(text))),
    };
    Diagnostic::new(Clause::WrongType, node.span, message)
}

/// The first 40 characters of a text.
pub(crate) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters.by_ref().take(40).collect();
    if characters.next().is_some() { start + "…" } else { start }
}

/// A scalar as it is written in a clause.
pub(crate) fn scalar(node: &Node, text: &str, format: Format) -> Option<(String, Place)> {
    match &node.value {
        Value::Text(value) | Value::Number(value) => {
            Some((value.clone(), Place::of_string(value, node, text, format)))
        }
        Value::Bool(value) => Some((value.to_string(), Place::Whole(node.span))),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

/// Whether a value is one value in a clause too: nothing in it ends the value, opens a bracket or a
/// string, or starts a comment.
pub(crate) fn is_plain(value: &str) -> bool {
    !trimmed(value).is_empty()
        && !value.contains([',', '#', '[', ']', '{', '}', '(', ')', '"', '\'', ':', '\n', '\r'])
}

/// The same for a list in brackets.
pub(crate) fn is_plain_list(value: &str) -> bool {
    let inside = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| trimmed(inside).is_empty() || inside.split(',').all(is_plain))
}

/// A field whose value is one word or number.
pub(crate) fn plain(field: &Field, name: &str, value: String, place: Place) -> Written {
    Written {
        name: name.to_owned(),
        name_place: Place::Whole(field.place),
        value: trimmed(&value).to_owned(),
        value_place: place.from(value.len() - value.trim_start_matches(SPACE).len()),
    }
}

/// The white space of a clause.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Without the white space around it. Other characters that look like white space are reported by the
/// parser of the clause.
pub(crate) fn trimmed(value: &str) -> &str {
    value.trim_matches(SPACE)
}

/// Whether `word` is `meant` with a typo, and could not be another of the names: one letter changed,
/// swapped, added or left out, or two in a long word. Anything further away is a guess.
pub(crate) fn is_typo(word: &str, meant: &str, names: &[&str]) -> bool {
    let (word, plain_meant) = (spelled(word), spelled(meant));
    let edits = strsim::osa_distance(&word, &plain_meant);
    let begins = |count| word.chars().take(count).eq(plain_meant.chars().take(count));
    let near = edits <= 1 || (edits == 2 && word.len() >= 7 && begins(2));
    let another =
        |name: &&&str| **name != meant && strsim::osa_distance(&word, &spelled(name)) <= edits;
    near && word.len() > 2 && names.iter().filter(another).count() == 0
}

fn spelled(text: &str) -> String {
    text.to_lowercase().replace(['_', '-', ' '], "")
}

/// The name that differs in the fewest letters, if those are at most a third.
pub fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let word = spelled(word);
    let most = match word.chars().count() {
        length @ ..=64 => 1 + length / 3,
        _ => return None,
    };
    let close = names.iter().map(|name| (strsim::osa_distance(&word, &spelled(name)), *name));
    close.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, name)| name)
}
