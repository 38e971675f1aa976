//! What an item is known by.

use std::error::Error;
use std::fmt;
use std::hash::Hasher;

use serde_json::Value as Json;
use siphasher::sip::SipHasher24;

use super::field::FieldPath;
use super::index::Index;
use crate::{Value, number};

/// What makes an item the same one when the source is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyBy {
    /// Its content, and how often that occurred before it: an item that is inserted renames no other.
    #[default]
    Content,
    /// A field, whose value no two items have.
    Field(FieldPath),
}

/// What an item is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// For the engine: see [`Keys`].
    pub fingerprint: u64,
    /// For people and `REDIAL_KEY`: at most 80 characters, none of them a control character, and no other item's.
    ///
    /// It is the text of the field or of the item, if that has at most 64 bytes and neither `#` nor `~`; else as much
    /// as can be shown, `~` and the fingerprint of the content as 16 digits. The second item of the same content has `#2` after it.
    pub text: String,
}

/// Why an item has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadKey {
    /// The field is not there, or null.
    Missing(String),
    /// It is neither text, nor a number, nor true or false, or it is empty.
    Unfit(String),
    /// Another item has it: the field and the key.
    Duplicate(String, String),
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(field) => {
                write!(f, "the item has no `{field}`, which is its key; name a field that all have")
            }
            Self::Unfit(field) => {
                write!(
                    f,
                    "the key `{field}` is empty, a list or an object; a key is text or a number"
                )
            }
            Self::Duplicate(field, key) => {
                write!(
                    f,
                    "`{key}` is the key (`{field}`) of an item before; a key is of one item alone"
                )
            }
        }
    }
}

impl Error for BadKey {}

/// Gives items their keys, and has the [`Index`] of those that are known.
///
/// A fingerprint is the SipHash-2-4 (64 bits, under the run's seed) of the content: the same on every
/// machine and in every version, and not to be foreseen by who writes the items. That two of a million
/// items have the same one has a probability of 2.7 · 10⁻⁸; they would then be told apart by their order, or
/// the second be refused as a duplicate key. The order of an object's fields and the blanks between
/// them are not part of its content.
///
/// ```
/// use redial_flow::{KeyBy, Keys, Value};
///
/// let mut keys = Keys::new(KeyBy::Content, 42);
/// let line = |text: &str| Value::Json(text.into());
/// assert_eq!(keys.key(&line("a.png"))?.text, "a.png");
/// assert_eq!(keys.key(&line("b.png"))?.text, "b.png");
/// assert_eq!(keys.key(&line("a.png"))?.text, "a.png#2");
/// # Ok::<(), redial_flow::BadKey>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keys {
    by: KeyBy,
    seed: u64,
    index: Index,
    /// How often a content occurred that did so more than [`PROBES`] times.
    repeats: Index,
}

/// So many occurrences are found by looking for each; a count for every content that occurs twice would need
/// as much room as the index itself.
const PROBES: u32 = 16;

impl Keys {
    /// For a run with this seed.
    pub fn new(by: KeyBy, seed: u64) -> Self {
        Self { by, seed, index: Index::default(), repeats: Index::default() }
    }

    /// What is known of the items.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// What is known of the items, to change it. Marks of what was seen belong to [`key`](Self::key).
    pub fn index_mut(&mut self) -> &mut Index {
        &mut self.index
    }

    /// The source is read from its beginning; what is known of items stays.
    pub fn start_over(&mut self) {
        self.index.start_over();
        self.repeats = Index::default();
    }

    /// How many bytes of memory it has.
    pub fn bytes(&self) -> usize {
        self.index.bytes() + self.repeats.bytes()
    }

    /// The key of the next item.
    ///
    /// # Errors
    ///
    /// If the field is missing, is no text or number, or is another item's, too.
    pub fn key(&mut self, item: &Value) -> Result<Key, BadKey> {
        match &self.by {
            KeyBy::Field(field) => {
                let name = || field.text().to_owned();
                let text = match (field.of(item), item) {
                    (Some(Json::String(text)), _) => text.clone().into_bytes(),
                    (Some(json), _) if json.is_boolean() || number::of(json).is_some() => {
                        number::text(json).into_bytes()
                    }
                    (None, Value::Bytes(bytes)) if field.is_whole() => bytes.clone(),
                    (None | Some(Json::Null), _) => return Err(BadKey::Missing(name())),
                    (Some(_), _) => return Err(BadKey::Unfit(name())),
                };
                if text.is_empty() {
                    return Err(BadKey::Unfit(name()));
                }
                let fingerprint = self.hash(|hasher| hasher.write(&text));
                let text = printable(&text, fingerprint);
                if self.index.see(fingerprint) {
                    return Err(BadKey::Duplicate(name(), text));
                }
                Ok(Key { fingerprint, text })
            }
            KeyBy::Content => {
                let content = self.hash(|hasher| write(hasher, item));
                let shown = match item {
                    Value::Json(Json::String(text)) => printable(text.as_bytes(), content),
                    Value::Json(json @ (Json::Array(_) | Json::Object(_)))
                        if number::of(json).is_none() =>
                    {
                        format!("~{content:016x}")
                    }
                    Value::Json(json) => printable(number::text(json).as_bytes(), content),
                    Value::Bytes(bytes) => printable(bytes, content),
                };
                let (fingerprint, before) = self.occurrence(content);
                let text = match before {
                    0 => shown,
                    before => format!("{shown}#{}", u64::from(before) + 1),
                };
                Ok(Key { fingerprint, text })
            }
        }
    }

    /// The fingerprint of the next occurrence of a content, and how many there were before.
    fn occurrence(&mut self, content: u64) -> (u64, u32) {
        let seed = self.seed;
        let nth = |before: u32| match before {
            0 => content,
            _ => hash(seed, |hasher| {
                hasher.write(b"occurrence");
                hasher.write(&content.to_le_bytes());
                hasher.write(&before.to_le_bytes());
            }),
        };
        let mut before = self.repeats.get(content).unwrap_or(0);
        while self.index.see(nth(before)) {
            before += 1;
        }
        if before >= PROBES {
            self.repeats.set(content, before + 1);
        }
        (nth(before), before)
    }

    fn hash(&self, write: impl FnOnce(&mut SipHasher24)) -> u64 {
        hash(self.seed, write)
    }
}

pub(super) fn hash(seed: u64, write: impl FnOnce(&mut SipHasher24)) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(seed, u64::from_le_bytes(*b"redial01"));
    write(&mut hasher);
    hasher.finish()
}

/// Each value with its kind and its length before it, so that no two are written alike; the fields of an
/// object in the order of their names.
pub(super) fn write(hasher: &mut SipHasher24, item: &Value) {
    match item {
        Value::Bytes(bytes) => sized(hasher, b'b', bytes),
        Value::Json(json) => write_json(hasher, json),
    }
}

pub(super) fn write_json(hasher: &mut SipHasher24, json: &Json) {
    match json {
        Json::Null => hasher.write(b"n"),
        Json::Bool(false) => hasher.write(b"f"),
        Json::Bool(true) => hasher.write(b"t"),
        Json::String(text) => sized(hasher, b's', text.as_bytes()),
        Json::Array(list) => {
            hasher.write(b"l");
            hasher.write(&(list.len() as u64).to_le_bytes());
            for json in list {
                write_json(hasher, json);
            }
        }
        Json::Number(number) => sized(hasher, b'd', number.to_string().as_bytes()),
        Json::Object(fields) => {
            if let Some(number) = number::of_fields(fields) {
                return sized(hasher, b'd', number.as_bytes());
            }
            hasher.write(b"o");
            hasher.write(&(fields.len() as u64).to_le_bytes());
            let mut fields: Vec<(&String, &Json)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (name, json) in fields {
                sized(hasher, b'k', name.as_bytes());
                write_json(hasher, json);
            }
        }
    }
}

fn sized(hasher: &mut SipHasher24, kind: u8, bytes: &[u8]) {
    hasher.write(&[kind]);
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}

/// As it is, or what can be shown of it and the fingerprint.
fn printable(bytes: &[u8], fingerprint: u64) -> String {
    // Control characters, and those that turn the direction of writing.
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let reserved = |c: char| matches!(c, '#' | '~');
    if let Ok(text) = std::str::from_utf8(bytes) {
        let plain = !text.is_empty() && text.len() <= 64 && text.trim() == text;
        if plain && !text.contains(|c| hidden(c) || reserved(c)) {
            return text.to_owned();
        }
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(256)]);
    let shown = text.trim().chars().take(40);
    let shown = shown.map(|c| if hidden(c) || reserved(c) { '_' } else { c });
    format!("{}~{fingerprint:016x}", shown.collect::<String>())
}
