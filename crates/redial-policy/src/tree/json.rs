//! JSON, strictly: no comments, no trailing commas.

use jsonc_parser::ast::{ObjectPropName, Value as Json};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{DEPTH_MAX, Field, Node, Value, malformed, too_deep};
use crate::diagnostic::{Diagnostic, Span};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Node, Diagnostic> {
    // A byte order mark becomes spaces of the same length, so that offsets stay the same.
    let text = &text.replacen('\u{feff}', "   ", usize::from(text.starts_with('\u{feff}')));
    check_depth(text)?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
        malformed(span(error.range()), format!("this is not JSON: {}", error.kind()))
    })?;
    match parsed.value {
        Some(value) => node(&value),
        None => Ok(Node::new(Span { start: 0, end: text.len() }, Value::Null)),
    }
}

/// The parser is recursive: too deep a nesting would overflow the stack.
fn check_depth(text: &str) -> Result<(), Diagnostic> {
    let mut depth = 0;
    let mut quoted = false;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => quoted = !quoted,
            b'\\' if quoted => drop(bytes.next()),
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth -= 1,
            _ => {}
        }
        if depth > DEPTH_MAX as isize {
            return Err(too_deep(Span { start: at, end: at + 1 }));
        }
    }
    Ok(())
}

fn node(json: &Json<'_>) -> Result<Node, Diagnostic> {
    let place = span(json.range());
    let value = match json {
        Json::NullKeyword(_) => Value::Null,
        Json::BooleanLit(literal) => Value::Bool(literal.value),
        Json::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        Json::StringLit(literal) => Value::Text(literal.value.clone().into_owned()),
        Json::Array(array) => {
            let nodes = array.elements.iter().map(|element| node(element));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let fields = object.properties.iter().map(|property| {
                let (key, place) = match &property.name {
                    ObjectPropName::String(name) => (name.value.clone().into_owned(), name.range),
                    ObjectPropName::Word(word) => (word.value.to_owned(), word.range),
                };
                let value = node(&property.value)?;
                Ok(Field { key, place: span(place), value })
            });
            Value::Map(fields.collect::<Result<_, Diagnostic>>()?)
        }
    };
    Ok(Node::new(place, value))
}

fn span(range: Range) -> Span {
    Span { start: range.start, end: range.end }
}
