//! Paths to values: `list.output.pictures[0].name`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write as _};
use std::ops::Range;

use serde_json::Value as Json;

use crate::argument_space::ValueError;
use crate::{Value, number};

/// What `{#}` refers to; no name in a flow file can be spelled like this.
pub const ITEM_NUMBER: &str = "#";

/// A path to a value, such as `list.output.pictures[0].name`, and where it stands.
///
/// It displays as it is written in a flow file, without the dollar and the braces. Two that display
/// alike mean the same value.
#[derive(Clone, Debug)]
pub struct Reference {
    root: String,
    path: Vec<Segment>,
    span: Range<usize>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// `.name` or `["name"]`: a field of an object.
    Field(String),
    /// `[0]`: an element of a list, counted from zero.
    Index(usize),
}

impl Reference {
    pub(crate) fn new(root: String, path: Vec<Segment>, span: Range<usize>) -> Self {
        Self { root, path, span }
    }

    /// What the path begins with: `inputs`, `item`, the name of a step, or [`ITEM_NUMBER`].
    pub fn root(&self) -> &str {
        &self.root
    }

    /// What follows the root.
    pub fn path(&self) -> &[Segment] {
        &self.path
    }

    /// Where it stands in the text of its template, in bytes, with the dollar and the braces.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Follows the path from `value`, which stands for the root and the first `known` segments.
    ///
    /// # Errors
    ///
    /// If there is no such field or element. JSON's `null` is a value.
    pub fn follow<'v>(
        &self,
        known: usize,
        value: Cow<'v, Value>,
    ) -> Result<Cow<'v, Value>, Missing> {
        let Some(rest) = self.path.get(known..).filter(|rest| !rest.is_empty()) else {
            return Ok(value);
        };
        let mut json = match &*value {
            Value::Json(json) => json,
            Value::Bytes(_) => return Err(Missing::new(known, "text that is not UTF-8", [])),
        };
        for (index, segment) in rest.iter().enumerate() {
            let next = match (segment, json) {
                (Segment::Field(name), Json::Object(fields)) => {
                    fields.get(name).filter(|_| number::of_fields(fields).is_none())
                }
                (Segment::Index(index), Json::Array(elements)) => elements.get(*index),
                _ => None,
            };
            json = next.ok_or_else(|| Missing::in_json(known + index, json))?;
        }
        Ok(Cow::Owned(Value::Json(json.clone())))
    }

    /// The path up to and with `count` segments.
    fn beginning(&self, count: usize) -> String {
        let mut text = self.root.clone();
        for segment in self.path.iter().take(count) {
            match segment {
                Segment::Index(index) => write!(text, "[{index}]"),
                Segment::Field(name) if is_name(name) => write!(text, ".{name}"),
                Segment::Field(name) => write!(text, "[{}]", Json::from(name.as_str())),
            }
            .unwrap_or_default();
        }
        text
    }
}

impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.beginning(self.path.len()))
    }
}

/// How far a path could be followed, and what was there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    found: usize,
    there: Cow<'static, str>,
    names: Vec<String>,
    /// Why it cannot be read although it is there.
    unreadable: Option<String>,
}

impl Missing {
    /// The root and `found` segments are there, and are `there` (a noun: `an object`, `a step`); the
    /// names that could come next are for the suggestion.
    pub fn new(
        found: usize,
        there: impl Into<Cow<'static, str>>,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        let (there, names) = (there.into(), names.into_iter().collect());
        Self { found, there, names, unreadable: None }
    }

    /// There is such a value, and it cannot be read, for this reason.
    pub fn unreadable(reason: String) -> Self {
        Self { unreadable: Some(reason), ..Self::new(0, "", []) }
    }

    /// Nothing is called like the root.
    pub fn root(names: impl IntoIterator<Item = String>) -> Self {
        Self::new(usize::MAX, "", names)
    }

    /// Why `reference` has no value.
    fn reason(&self, reference: &Reference) -> String {
        if self.found == usize::MAX {
            let nearest = suggestion(&reference.root, &self.names);
            return format!("nothing is called `{}`{nearest}", reference.root);
        }
        let (holder, there) = (reference.beginning(self.found), &self.there);
        match reference.path.get(self.found) {
            Some(Segment::Field(name)) => {
                let is =
                    if there == "an object" { String::new() } else { format!(" is {there} and") };
                format!("`{holder}`{is} has no `{name}`{}", suggestion(name, &self.names))
            }
            Some(Segment::Index(index)) => {
                format!("`{holder}` is {there} and has no element {index}")
            }
            None => format!("`{holder}` is {there}"),
        }
    }

    /// The same as an error of what refers to it.
    pub(crate) fn error(self, reference: &Reference) -> ValueError {
        let text = reference.to_string();
        match self.unreadable {
            Some(reason) => ValueError::Unreadable { reference: text, reason },
            None => ValueError::Missing {
                reference: text,
                span: reference.span(),
                reason: self.reason(reference),
            },
        }
    }

    fn in_json(found: usize, json: &Json) -> Self {
        match json {
            Json::Object(fields) if number::of_fields(fields).is_some() => {
                Self::new(found, "a number", [])
            }
            Json::Object(fields) => {
                Self::new(found, "an object", fields.keys().take(NAMES_MAX).cloned())
            }
            Json::Array(elements) => Self::new(found, format!("a list of {}", elements.len()), []),
            Json::Null => Self::new(found, "null", []),
            Json::Bool(_) => Self::new(found, "true or false", []),
            Json::Number(_) => Self::new(found, "a number", []),
            Json::String(_) => Self::new(found, "text", []),
        }
    }
}

/// Who knows what a reference stands for.
///
/// ```
/// # use std::borrow::Cow;
/// # use redial_flow::{Lookup, Missing, Reference, Value, Template};
/// struct Item(Value);
///
/// impl Lookup for Item {
///     fn value(&self, reference: &Reference) -> Result<Cow<'_, Value>, Missing> {
///         match reference.root() {
///             "item" => reference.follow(0, Cow::Borrowed(&self.0)),
///             _ => Err(Missing::root(["item".to_owned()])),
///         }
///     }
/// }
///
/// let item = Item(serde_json::json!({"id": 7, "tags": ["a", "b"]}).into());
/// let name = Template::parse("picture-${item.id}-${item.tags[1]}.png").unwrap();
/// assert_eq!(name.render(&item).unwrap(), b"picture-7-b.png");
///
/// let wrong = Template::parse("${item.tag}").unwrap().render(&item).unwrap_err();
/// assert_eq!(wrong.to_string(), "`item.tag` has no value: `item` has no `tag`; did you mean `tags`?");
/// ```
pub trait Lookup {
    /// The value, or how far the path went. [`Reference::follow`] does the part of it that is inside
    /// of a value.
    ///
    /// # Errors
    ///
    /// If there is no such value.
    fn value(&self, reference: &Reference) -> Result<Cow<'_, Value>, Missing>;
}

/// Values by the name of their root.
impl Lookup for BTreeMap<String, Value> {
    fn value(&self, reference: &Reference) -> Result<Cow<'_, Value>, Missing> {
        match self.get(reference.root()) {
            Some(value) => reference.follow(0, Cow::Borrowed(value)),
            None => Err(Missing::root(self.keys().take(NAMES_MAX).cloned())),
        }
    }
}

pub(crate) fn look_up<'v>(
    values: &'v dyn Lookup,
    reference: &Reference,
) -> Result<Cow<'v, Value>, ValueError> {
    values.value(reference).map_err(|missing| missing.error(reference))
}

/// A name of letters, digits, `_`, `-` and whatever is not ASCII, and where it ends.
pub(crate) fn name_at(text: &[u8], at: usize) -> Option<(String, usize)> {
    let length = text.get(at..)?.iter().take_while(|&&byte| is_name_byte(byte)).count();
    let name = std::str::from_utf8(&text[at..at + length]).ok()?;
    (length > 0).then(|| (name.to_owned(), at + length))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || !byte.is_ascii()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_name_byte)
}

/// `.field`, `[0]`, `["key"]` and `['key']`, as many as there are, and where they end.
pub(crate) fn path_at(text: &[u8], mut at: usize) -> (Vec<Segment>, usize) {
    let mut path = Vec::new();
    while let Some((segment, end)) = segment_at(text, at) {
        path.push(segment);
        at = end;
    }
    (path, at)
}

fn segment_at(text: &[u8], at: usize) -> Option<(Segment, usize)> {
    match (text.get(at)?, text.get(at + 1)?) {
        (b'.', _) => {
            let (name, end) = name_at(text, at + 1)?;
            Some((Segment::Field(name), end))
        }
        (b'[', b'0'..=b'9') => {
            let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let end = at + 1 + digits;
            let index = std::str::from_utf8(&text[at + 1..end]).ok()?.parse().ok()?;
            (text.get(end) == Some(&b']')).then_some((Segment::Index(index), end + 1))
        }
        (b'[', &quote @ (b'"' | b'\'')) => {
            let start = at + 2;
            let mut end = start;
            while *text.get(end)? != quote {
                // Only JSON's own strings have escapes.
                end += if quote == b'"' && text[end] == b'\\' { 2 } else { 1 };
            }
            let key = match quote {
                b'"' => serde_json::from_slice(&text[start - 1..=end]).ok()?,
                _ => std::str::from_utf8(&text[start..end]).ok()?.to_owned(),
            };
            (text.get(end + 1) == Some(&b']')).then_some((Segment::Field(key), end + 2))
        }
        _ => None,
    }
}

/// Of an object with more names, some are compared with a misspelt one.
const NAMES_MAX: usize = 1000;

/// `; did you mean …?`, if a name is near.
fn suggestion(word: &str, names: &[String]) -> String {
    nearest(word, names).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The name that differs in the fewest letters, if those are at most a third.
pub(crate) fn nearest<'n, S: AsRef<str>>(word: &str, names: &'n [S]) -> Option<&'n str> {
    let short = |text: &str| text.len() <= 64;
    let names = names.iter().map(AsRef::as_ref).filter(|name| short(word) && short(name));
    let (edits, name) = names
        .map(|name| (strsim::osa_distance(word, name), name))
        .min_by_key(|(edits, _)| *edits)?;
    (edits <= 1 + word.chars().count() / 3).then_some(name)
}
