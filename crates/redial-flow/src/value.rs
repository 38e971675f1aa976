//! The values that go from step to step.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::number;

/// A value: JSON, or bytes that are not UTF-8 and so cannot be a string of JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text is a string. A number that 64 bits do not hold as it is written is one in [`bytes`](Self::bytes) and in
    /// expressions, and an object of a kind of its own in here.
    Json(Json),
    /// Never UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    /// A line of input, or what a command wrote.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Json(Json::String(text)),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }

    /// As an argument, a variable or a file holds it: text as it is, null as nothing, and all else as
    /// compact JSON.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes(bytes) => Cow::Borrowed(bytes),
            Self::Json(Json::String(text)) => Cow::Borrowed(text.as_bytes()),
            Self::Json(Json::Null) => Cow::Borrowed(&[]),
            Self::Json(json) => Cow::Owned(number::text(json).into_bytes()),
        }
    }
}

/// As JSON, with numbers as they were written; of bytes, their base64.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => number::serialize(json, to),
            Self::Bytes(bytes) => BASE64_STANDARD.encode(bytes).serialize(to),
        }
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Self::Json(json)
    }
}
