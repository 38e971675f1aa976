//! How a text is put together: a clause or a script, YAML, TOML or JSON.

use redial_core::clause;

use crate::document::{Notation, read};
use crate::tree::gap;
use crate::{file, foreign, retry_config, retry_policy};

/// How a text is put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// A clause, or a script with clauses in it.
    Text,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

impl Format {
    /// The format of a file, by the end of its name and, where that says nothing, by how the text
    /// begins. A clause is one in a YAML file too: its options have commas between them, which no
    /// map of YAML has.
    ///
    /// ```
    /// use redial_policy::Format;
    /// assert_eq!(Format::of("retries.yml", ""), Format::Yaml);
    /// assert_eq!(Format::of("-", "{\"maxAttempts\": 3}"), Format::Json);
    /// assert_eq!(Format::of("pipeline.cst", "retry: 3"), Format::Text);
    /// assert_eq!(Format::of("-", "retry: 3, # more than once\ndelay: 1s"), Format::Text);
    /// assert_eq!(Format::of("-", "retry: 3 # more than once\ndelay: 1s"), Format::Yaml);
    /// ```
    pub fn of(name: &str, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        match end.to_ascii_lowercase().as_str() {
            // One option alone could also be a map, of one notation or another.
            "yaml" | "yml" if is_clause(text) && has_comma(text) => Self::Text,
            "yaml" | "yml" => Self::Yaml,
            "toml" => Self::Toml,
            "json" => Self::Json,
            _ if foreign::of_text(text).is_some() => Self::Text,
            _ => guess(text),
        }
    }
}

/// Whether the text is a clause without errors.
fn is_clause(text: &str) -> bool {
    let known = first_option(text).is_some_and(|first| clause::OPTIONS.contains(&first.name));
    known && !read(text, Format::Text, Some(Notation::Clause)).has_errors()
}

/// Whether another option follows the first one as in a clause.
fn has_comma(text: &str) -> bool {
    first_option(text).is_some_and(|first| first.rest.starts_with(','))
}

fn guess(text: &str) -> Format {
    if is_clause(text) {
        return Format::Text;
    }
    let start = &text[gap(text)..];
    let first = start.lines().next().unwrap_or_default().trim_end();
    match start.chars().next() {
        None => Format::Text,
        // JSON has quotes around its keys, YAML need not.
        Some('{') if start[1..].trim_start().starts_with(is_key) => Format::Yaml,
        Some('{') => Format::Json,
        Some('[') if is_toml_header(first) => Format::Toml,
        Some('[') => Format::Json,
        _ if first.starts_with("---") || first.starts_with("- ") => Format::Yaml,
        _ => by_first_key(start, first),
    }
}

/// `[policies]`, `[[rule]]`
fn is_toml_header(line: &str) -> bool {
    let inside = line.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
    line.contains(']') && inside.starts_with(|first| is_key(first) || "\"'".contains(first))
}

/// By the sign between the first key and its value.
fn by_first_key(start: &str, first: &str) -> Format {
    let end = first.find(|character| !is_key(character)).unwrap_or(first.len());
    let (key, rest) = first.split_at(end);
    if !key.is_empty() && rest.starts_with(':') {
        let more = start[first.len()..].len() > gap(&start[first.len()..]);
        // No option of a clause has a map for its value.
        let is_map = rest[1..].trim_start().starts_with('{') && !clause::OPTIONS.contains(&key);
        let block = rest == ":" || more || is_map;
        return if block && !is_like_clause(start) { Format::Yaml } else { Format::Text };
    }
    // In a script a call follows `=`.
    match rest.trim_start().strip_prefix('=').map(str::trim_start) {
        Some(value) if value.starts_with(['"', '\'', '[', '{']) => Format::Toml,
        Some(_) if is_field(key) => Format::Toml,
        _ => Format::Text,
    }
}

/// Whether options follow one another as in a clause, separated by commas, even with errors in them: YAML
/// separates keys by newlines. A comma alone may also be in the middle of a sentence.
fn is_like_clause(text: &str) -> bool {
    let Some(First { name, value, rest }) = first_option(text) else { return false };
    let one_line = !value.contains('\n') || (value.starts_with('[') && value.ends_with(']'));
    let Some(next) = rest.strip_prefix(',').filter(|_| one_line) else { return false };
    let line = next.split(['\n', '#']).next().unwrap_or_default();
    clause::OPTIONS.contains(&name) || line.trim().is_empty() || first_option(next).is_some()
}

/// The option that a text begins with, and what follows it.
struct First<'t> {
    name: &'t str,
    value: &'t str,
    rest: &'t str,
}

fn first_option(text: &str) -> Option<First<'_>> {
    let (name, value) = clause::options(text).next()?;
    let rest = &text[value.end..];
    let rest = &rest[gap(rest)..];
    let first = First { name: name.of(text), value: value.of(text), rest };
    (name.start == gap(text)).then_some(first)
}

/// Whether a map of any notation, or a policy file, has this field.
fn is_field(name: &str) -> bool {
    file::is_extension(name)
        || [&file::FIELDS[..], &file::TOP, &retry_config::FIELDS, &retry_policy::FIELDS]
            .iter()
            .any(|names| names.contains(&name))
}

fn is_key(character: char) -> bool {
    character.is_alphanumeric() || "_-$.".contains(character)
}
