//! TOML.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{DEPTH_MAX, Field, Node, Value, malformed, too_deep};
use crate::diagnostic::{Diagnostic, Span};

pub(super) fn parse(text: &str) -> Result<Node, Diagnostic> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..text.len());
        let span = Span { start: span.start, end: span.end };
        match error.message() {
            message if message.contains("recursion") => too_deep(span),
            message => malformed(span, format!("this is not TOML: {message}")),
        }
    })?;
    Ok(Node::new(Span { start: 0, end: text.len() }, map(table.get_ref(), 1)?))
}

/// A table with its keys in the order of the text, which the parser does not keep.
fn map(table: &DeTable<'_>, depth: usize) -> Result<Value, Diagnostic> {
    let fields = table.iter().map(|(key, value)| {
        let place = Span { start: key.span().start, end: key.span().end };
        Ok(Field { key: key.get_ref().to_string(), place, value: node(value, depth + 1)? })
    });
    let mut fields = fields.collect::<Result<Vec<_>, Diagnostic>>()?;
    fields.sort_by_key(|field| field.place.start);
    Ok(Value::Map(fields))
}

fn node(spanned: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Diagnostic> {
    let place = Span { start: spanned.span().start, end: spanned.span().end };
    if depth > DEPTH_MAX {
        return Err(too_deep(place));
    }
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) if integer.radix() == 10 => {
            Value::Number(unsigned(integer.as_str()))
        }
        DeValue::Integer(integer) => {
            let number = i128::from_str_radix(integer.as_str(), integer.radix());
            Value::Number(number.map_or_else(|_| integer.to_string(), |number| number.to_string()))
        }
        DeValue::Float(float) => Value::Number(unsigned(float.as_str())),
        DeValue::Boolean(boolean) => Value::Bool(*boolean),
        DeValue::Datetime(datetime) => Value::Text(datetime.to_string()),
        DeValue::Array(array) => {
            let nodes = array.iter().map(|element| node(element, depth + 1));
            Value::List(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => map(table, depth)?,
    };
    Ok(Node::new(around(place, &value), value))
}

/// The span of a table with its contents. The parser gives the span of its header.
fn around(place: Span, value: &Value) -> Span {
    let (first, last) = match value {
        Value::List(nodes) => (nodes.first().map(|node| node.span), nodes.last()),
        Value::Map(fields) => {
            (fields.first().map(|field| field.place), fields.last().map(|field| &field.value))
        }
        _ => (None, None),
    };
    let start = first.map_or(place.start, |first| first.start.min(place.start));
    let end = last.map_or(place.end, |last| last.span.end.max(place.end));
    Span { start, end }
}

/// Without a plus sign, which a clause does not have.
fn unsigned(number: &str) -> String {
    number.trim_start_matches('+').to_owned()
}
