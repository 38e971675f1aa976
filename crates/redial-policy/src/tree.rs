//! YAML, TOML and JSON as one tree whose every node knows its place in the text.
//!
//! The parsers are well-known crates. What is added here are bounds for hostile files: on nesting, and
//! on what aliases expand to.

mod json;
mod toml;
mod yaml;

use redial_core::clause::Kind as Clause;

use crate::Format;
use crate::diagnostic::{Diagnostic, Kind, Span};

/// How deep a file may be nested. A workflow of steps in maps in steps needs a dozen.
pub(crate) const DEPTH_MAX: usize = 64;

/// How many nodes the aliases of a file may expand to in all. It grows with the file, so that a few lines
/// cannot fill the memory.
pub(crate) const fn aliased_max(text: &str) -> usize {
    10_000 + 2 * text.len()
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// What a value is. Numbers stay text: they become exact decimals, never floats.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text. A key may be there twice.
    Map(Vec<Field>),
}

/// A key of a map and its value.
#[derive(Clone, Debug)]
pub struct Field {
    /// The key.
    pub key: String,
    /// Where the key is.
    pub place: Span,
    /// The value.
    pub value: Node,
}

/// A tag of YAML.
pub(crate) struct Tag<'t> {
    /// As it is written.
    pub(crate) name: &'t str,
    /// With the blanks after it.
    pub(crate) span: Span,
}

impl Node {
    pub(crate) fn new(span: Span, value: Value) -> Self {
        Self { span, value }
    }

    /// The type of the value, for a message: `a list`.
    pub fn article(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// The tag of YAML that is written before the value, with its `!`: `!exponential {base: 3}` is
    /// kept as `{exponential: {base: 3}}`, where the key is at the place of the tag.
    pub(crate) fn tag<'t>(&self, text: &'t str) -> Option<Tag<'t>> {
        let [Field { place, value, .. }] = self.fields() else { return None };
        let name = Some(place.of(text)).filter(|name| name.starts_with('!'))?;
        let between = text.get(place.end..value.span.start)?;
        let blanks = between.len() - between.trim_start_matches([' ', '\t']).len();
        let span = Span { start: place.start, end: place.end + blanks };
        // The tag of a key, as in `!!str name: 1`, does not belong to the value.
        (!between.contains(':')).then_some(Tag { name, span })
    }

    /// The fields of a map, none of another value.
    pub fn fields(&self) -> &[Field] {
        match &self.value {
            Value::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Whether it is a map with this key.
    pub fn has(&self, key: &str) -> bool {
        self.fields().iter().any(|field| field.key == key)
    }
}

/// The documents of a text: one, or as many as a YAML stream has.
pub(crate) fn parse(text: &str, format: Format) -> Result<Vec<Node>, Diagnostic> {
    match format {
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text).map(|node| vec![node]),
        Format::Json => json::parse(text).map(|node| vec![node]),
        Format::Text => Ok(Vec::new()),
    }
}

/// How long the white space and the comments at the start of a text are.
pub(crate) fn gap(text: &str) -> usize {
    let mut rest = text.trim_start();
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, next)| next.trim_start());
    }
    text.len() - rest.len()
}

fn malformed(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(Clause::Syntax, span, message)
}

fn too_deep(span: Span) -> Diagnostic {
    let message = format!("this is nested deeper than {DEPTH_MAX} levels");
    Diagnostic::new(Kind::TooLarge, span, message)
}
