//! The field of an item that `key`, `distinct` and `sort_by` name.

use redial_policy::Span;
use serde_json::Value as Json;

use super::BadPath;
use crate::Value;

/// Names with dots between them, `[n]` for the item of a list, `['a.b']` for a name with a dot; `item.`
/// may stand before it, and `item` alone is the item itself.
///
/// ```
/// use redial_flow::{FieldPath, Value};
/// let field = FieldPath::parse("item.location.lines[0]")?;
/// let item = Value::Json(serde_json::json!({"location": {"lines": [12]}}));
/// assert_eq!(field.of(&item), Some(&serde_json::json!(12)));
/// # Ok::<(), redial_flow::BadPath>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Name(String),
    Index(usize),
}

impl FieldPath {
    /// Reads a path.
    ///
    /// # Errors
    ///
    /// If a name is missing or a bracket is not closed.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let bad = |start: usize, message: &str| {
            Err(BadPath { span: Span { start, end: text.len() }, message: message.to_owned() })
        };
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            if let Some(inner) = rest.strip_prefix('[') {
                let Some((index, after)) = (match inner.chars().next() {
                    Some(quote @ ('"' | '\'')) => {
                        inner[1..].split_once(quote).and_then(|(name, after)| {
                            Some((Part::Name(name.to_owned()), after.strip_prefix(']')?))
                        })
                    }
                    _ => inner.split_once(']').and_then(|(number, after)| {
                        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
                        Some((Part::Index(number.parse().ok().filter(|_| digits)?), after))
                    }),
                }) else {
                    return bad(at, "brackets hold a number or a name in quotes: `[0]`, `['a.b']`");
                };
                parts.push(index);
                rest = after;
                continue;
            }
            let named = if at == 0 { Some(rest) } else { rest.strip_prefix('.') };
            let Some(named) = named else {
                return bad(at, "a dot is missing between two names");
            };
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, after) = named.split_at(end);
            if name.is_empty() || name.trim() != name {
                return bad(at, "the name of a field is missing, or has blanks around it");
            }
            parts.push(Part::Name(name.to_owned()));
            rest = after;
        }
        match parts.first() {
            None => return bad(0, "the name of a field is missing"),
            Some(Part::Name(name)) if name == "item" => drop(parts.remove(0)),
            Some(_) => {}
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is the item itself.
    pub(super) fn is_whole(&self) -> bool {
        self.parts.is_empty()
    }

    /// The field of an item, if it is there.
    pub fn of<'i>(&self, item: &'i Value) -> Option<&'i Json> {
        let Value::Json(json) = item else { return None };
        self.parts.iter().try_fold(json, |json, part| match part {
            Part::Name(name) => json.get(name),
            Part::Index(index) => json.get(index),
        })
    }
}
