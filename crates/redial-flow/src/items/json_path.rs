//! Paths into JSON documents: RFC 9535.

use redial_policy::Span;
use serde_json::Value as Json;

use super::BadPath;

const TEXT_MAX: usize = 1024;
/// The parser of paths calls itself for each bracket.
const BRACKETS_MAX: usize = 16;
/// The parser takes about twice as long for each filter within a filter.
const FILTERS_MAX: usize = 4;
/// A document is gone through once for each, for every value that the one before found.
const DESCENTS_MAX: usize = 3;

/// A path into a JSON document, as RFC 9535 has it, without the functions `match` and `search`: what a
/// pattern selects is a matter of `where`.
///
/// ```
/// use redial_flow::JsonPath;
/// assert!(JsonPath::parse("$.items[*]")?.is_streamed());
/// assert!(!JsonPath::parse("$.items[?@.score > 5]")?.is_streamed());
/// let wrong = JsonPath::parse("items[*]").unwrap_err();
/// assert_eq!(wrong.message, "a path begins with `$`: `$.items[*]`");
/// # Ok::<(), redial_flow::BadPath>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonPath {
    text: String,
    steps: Option<Vec<Step>>,
    path: serde_json_path::JsonPath,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(u64),
    Every,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// If it is none, is longer than 1024 bytes, or has more than 16 brackets in each other, four filters or
    /// three `..`.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let whole = Span { start: 0, end: text.len() };
        let bad = |span, message: String| Err(BadPath { span, message });
        if text.len() > TEXT_MAX {
            return bad(
                whole,
                format!("a path of {} bytes; at most {TEXT_MAX} are read", text.len()),
            );
        }
        if !text.starts_with('$') {
            let dot = if text.starts_with(['.', '[']) { "" } else { "." };
            return bad(whole, format!("a path begins with `$`: `${dot}{text}`"));
        }
        check(text)?;
        let path = match serde_json_path::JsonPath::parse(text) {
            Ok(path) => path,
            Err(error) => {
                let mut start = error.position().min(text.len());
                while !text.is_char_boundary(start) {
                    start -= 1;
                }
                let message = error.message().to_owned();
                let message = match text[start..].trim_start_matches(['?', '(', ' ', '!']) {
                    rest if rest.starts_with("match(") || rest.starts_with("search(") => {
                        "patterns belong in `where`: `item.name.matches('…')`".to_owned()
                    }
                    _ => format!("no path as RFC 9535 has it: {message}"),
                };
                return bad(Span { start, end: text.len() }, message);
            }
        };
        Ok(Self { text: text.to_owned(), steps: steps(text), path })
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a document is read as a stream, in memory that does not grow with it: if there are names,
    /// `[n]` and `[*]` alone in the path.
    pub fn is_streamed(&self) -> bool {
        self.steps.is_some()
    }

    pub(super) fn steps(&self) -> Option<&[Step]> {
        self.steps.as_deref()
    }

    /// What the path finds in a document, taken from another one of the same shape.
    pub(super) fn select(&self, document: &Json, from: &Json) -> Vec<Json> {
        let found = self.path.query_located(document);
        let pointers = found.locations().map(|place| place.to_json_pointer());
        pointers.filter_map(|pointer| from.pointer(&pointer).cloned()).collect()
    }
}

/// What would make the parser or the search run away.
fn check(text: &str) -> Result<(), BadPath> {
    let (mut quote, mut escaped) = (None, false);
    let (mut brackets, mut filters, mut descents) = (0_usize, 0, 0);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if quote.is_some() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                byte if Some(*byte) == quote => quote = None,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' | b'\'' => quote = Some(*byte),
            b'[' | b'(' => brackets += 1,
            b']' | b')' => brackets = brackets.saturating_sub(1),
            b'?' => filters += 1,
            b'.' if bytes.get(at + 1) == Some(&b'.') => descents += 1,
            _ => {}
        }
        let message = if brackets > BRACKETS_MAX {
            format!("more than {BRACKETS_MAX} brackets in each other")
        } else if filters > FILTERS_MAX {
            format!("more than {FILTERS_MAX} filters; select in `where`, too")
        } else if descents > DESCENTS_MAX {
            format!("more than {DESCENTS_MAX} `..`")
        } else {
            continue;
        };
        return Err(BadPath { span: Span { start: at, end: at + 1 }, message });
    }
    Ok(())
}

/// The steps of a path that has names, numbers and `*` alone, each in its usual spelling.
fn steps(text: &str) -> Option<Vec<Step>> {
    let mut rest = text.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[*]").or_else(|| rest.strip_prefix(".*")) {
            steps.push(Step::Every);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            let plain = |c: char| c == '_' || c.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(plain) {
                return None;
            }
            steps.push(Step::Name(name.to_owned()));
            rest = after;
        } else {
            let inner = rest.strip_prefix('[')?;
            let quote = inner.chars().next()?;
            if let '"' | '\'' = quote {
                let (name, after) = inner[1..].split_once(quote)?;
                if name.contains('\\') {
                    return None;
                }
                steps.push(Step::Name(name.to_owned()));
                rest = after.strip_prefix(']')?;
            } else {
                let (number, after) = inner.split_once(']')?;
                if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                steps.push(Step::Index(number.parse().ok()?));
                rest = after;
            }
        }
    }
    Some(steps)
}
