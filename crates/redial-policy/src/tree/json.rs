//! JSON, strictly: no comments, no trailing commas.

use jsonc_parser::ast::{ObjectPropName, Value as Json};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseErrorKind;
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
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
        let span = span(error.range());
        match error.kind() {
            ParseErrorKind::NestingDepthExceeded => too_deep(span),
            kind => malformed(span, format!("this is not JSON: {kind}")),
        }
    })?;
    match parsed.value {
        Some(value) => node(&value, 1),
        None => Ok(Node::new(Span { start: 0, end: text.len() }, Value::Null)),
    }
}

fn node(json: &Json<'_>, depth: usize) -> Result<Node, Diagnostic> {
    let place = span(json.range());
    if depth > DEPTH_MAX {
        return Err(too_deep(place));
    }
    let value = match json {
        Json::NullKeyword(_) => Value::Null,
        Json::BooleanLit(literal) => Value::Bool(literal.value),
        Json::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        Json::StringLit(literal) => Value::Text(literal.value.clone().into_owned()),
        Json::Array(array) => {
            let nodes = array.elements.iter().map(|element| node(element, depth + 1));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let fields = object.properties.iter().map(|property| {
                let (key, place) = match &property.name {
                    ObjectPropName::String(name) => (name.value.clone().into_owned(), name.range),
                    ObjectPropName::Word(word) => (word.value.to_owned(), word.range),
                };
                let value = node(&property.value, depth + 1)?;
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
