//! The types of values: what a step promises to print, and what a script computes with.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::number;

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// Text.
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Boolean,
    /// A value, or none: null.
    Optional(Box<Self>),
    /// Any number of values.
    List(Box<Self>),
    /// Values by their names.
    Record(Vec<(String, Self)>),
}

impl Type {
    /// Whether a value is of this type. Fields that a record does not name may be there; those that it names are there, be
    /// it with null.
    ///
    /// # Errors
    /// What is wrong, to follow "its output": `is 7, and not a String`.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        self.find(value, &mut String::new())
    }

    fn find(&self, value: &Json, path: &mut String) -> Result<(), String> {
        let length = path.len();
        let found = match (self, value) {
            (Self::String, Json::String(_)) | (Self::Boolean, Json::Bool(_)) => return Ok(()),
            (Self::Float, value) if is_number(value) => return Ok(()),
            (Self::Int, value) if is_whole(value) => return Ok(()),
            (Self::Optional(_), Json::Null) => return Ok(()),
            (Self::Optional(some), value) => return some.find(value, path),
            (Self::List(of), Json::Array(values)) => {
                for (place, value) in values.iter().enumerate() {
                    path.push_str(&format!("[{place}]"));
                    of.find(value, path)?;
                    path.truncate(length);
                }
                return Ok(());
            }
            (Self::Record(fields), Json::Object(values)) if number::of_fields(values).is_none() => {
                for (name, of) in fields {
                    path.push_str(&format!(".{name}"));
                    match values.get(name) {
                        Some(value) => of.find(value, path)?,
                        None => return Err(format!("has no `{}`, of type {of}", &path[1..])),
                    }
                    path.truncate(length);
                }
                return Ok(());
            }
            (_, value) => excerpt(value),
        };
        match path.strip_prefix('.').unwrap_or(path) {
            "" => Err(format!("is {found}, and not of type {self}")),
            path => Err(format!("has {found} at `{path}`, and not a value of type {self}")),
        }
    }
}

/// The first characters of it.
fn excerpt(value: &Json) -> String {
    const LENGTH: usize = 40;
    let text = number::text(value);
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn is_number(value: &Json) -> bool {
    match value {
        Json::Number(_) => true,
        Json::Object(fields) => number::of_fields(fields).is_some(),
        _ => false,
    }
}

/// Whether 64 bits with a sign hold it: more than these a script does not compute with.
fn is_whole(value: &Json) -> bool {
    value.as_i64().is_some()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => f.write_str("String"),
            Self::Int => f.write_str("Int"),
            Self::Float => f.write_str("Float"),
            Self::Boolean => f.write_str("Boolean"),
            Self::Optional(some) => write!(f, "Optional<{some}>"),
            Self::List(of) => write!(f, "List<{of}>"),
            Self::Record(fields) if fields.is_empty() => f.write_str("{}"),
            Self::Record(fields) => {
                for (at, (name, of)) in fields.iter().enumerate() {
                    let before = if at == 0 { "{ " } else { ", " };
                    write!(f, "{before}{name}: {of}")?;
                }
                f.write_str(" }")
            }
        }
    }
}
