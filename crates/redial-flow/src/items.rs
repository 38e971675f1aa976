//! The items of a map: read one by one from any source, selected, and known by keys.
//!
//! ```
//! use redial_flow::{Format, Items, KeyBy, Keys, Place};
//!
//! let mut keys = Keys::new(KeyBy::Content, 1);
//! for item in Items::new("a.png\nb.png\n".as_bytes(), Format::Lines) {
//!     let item = item?;
//!     let key = keys.key(&item.value)?;
//!     assert_eq!(key.text.as_bytes(), &*item.value.bytes());
//!     assert_eq!(item.place, Place::Line(item.number));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Memory
//!
//! An item has at most 1 MiB, and one that is larger is passed over without being kept. A source needs a buffer
//! of 64 KiB and the item it is at, however large it is. The one exception is a JSON document with a
//! path that has more than names, `[n]` and `[*]`: it is read whole, up to 64 MiB. [`Limits`] has both numbers.
//!
//! # What is an item
//!
//! | format | an item | an error of one item alone | an error that ends the source |
//! |---|---|---|---|
//! | [`Lines`](Format::Lines) | a line, without its `\n` or `\r\n`; the last needs none; empty lines are none | too large | the source cannot be read |
//! | [`Nul`](Format::Nul) | what stands before a NUL byte, or after the last one, as it is; may be empty | too large | the same |
//! | [`JsonLines`](Format::JsonLines) | the JSON value of a line; lines with blanks alone are none | no JSON, too large, deeper than 128 levels | the same |
//! | [`Json`](Format::Json) | what a path selects; without a path each item of a list, or the document | too large, too deep, an escape that is none | also: the document is no JSON, or a name on the path is there twice |
//! | [`Csv`](Format::Csv) | a row as an object of text, by the names of the first row | more or fewer fields than the first row, not UTF-8, too large | also: two columns of one name |
//!
//! - A line is a line: quotes and blanks in it mean nothing. As with `xargs`, an empty line is no item, and what is empty between
//!   NUL bytes is one.
//! - A byte order mark at the beginning is skipped.
//! - A line that is not UTF-8 is [`Value::Bytes`](crate::Value).
//! - A number of JSON with more than 64 bits is read as the nearest fraction of 64 bits; a key that long is better text.
//! - A quote of CSV that is never closed takes the rest of the source: an item that is too large, or has too few fields.

use std::error::Error;
use std::fmt;
use std::io::Read;

use redial_policy::Span;

use crate::Value;

mod csv;
mod field;
mod index;
mod input;
mod json;
mod json_path;
mod key;
mod lines;
mod selection;

pub use field::FieldPath;
pub use index::Index;
pub use json_path::JsonPath;
pub use key::{BadKey, Key, KeyBy, Keys};
pub use selection::{Selected, Selection, SortBy};

/// How a source is read.
#[derive(Clone, Debug)]
pub enum Format {
    /// Lines.
    Lines,
    /// NUL bytes between the items.
    Nul,
    /// A JSON value on each line.
    JsonLines,
    /// One JSON document, and which of its values.
    Json(Option<JsonPath>),
    /// Rows, the first of which names the columns.
    Csv {
        /// Between two fields: a comma, a tab.
        delimiter: u8,
    },
}

/// How much is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of an item: 1 MiB.
    pub item_bytes: usize,
    /// The most bytes of a JSON document that has to be read whole: 64 MiB.
    pub document_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { item_bytes: 1 << 20, document_bytes: 64 << 20 }
    }
}

/// Where in its source an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The line on which it begins; the first is 1.
    Line(u64),
    /// The byte at which it begins; the first is 0.
    Byte(u64),
    /// The how-manieth that a path selected; the first is 1.
    Nth(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Nth(number) => write!(f, "selected value {number}"),
        }
    }
}

/// One item of a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The first is 1; those that are wrong are counted, too.
    pub number: u64,
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// An item that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadItem {
    /// As [`Item::number`].
    pub number: u64,
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// Whether nothing comes after it, because the source cannot be read further.
    pub last: bool,
}

impl fmt::Display for BadItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl Error for BadItem {}

/// What is wrong with a path, or with what is sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPath {
    /// Which bytes of the text.
    pub span: Span,
    /// What is wrong, and what to write.
    pub message: String,
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl Error for BadPath {}

/// The items of a source, one by one.
///
/// After a [`BadItem`] whose `last` is false, the next item comes.
pub struct Items<R> {
    source: Source<R>,
    number: u64,
    over: bool,
}

enum Source<R> {
    Lines(lines::Lines<R>),
    Document(Box<json::Document<R>>),
    Table(Box<csv::Table<R>>),
}

impl<R> fmt::Debug for Items<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<R: Read> Items<R> {
    /// Reads items from a file, standard input or the output of a command.
    pub fn new(reader: R, format: Format) -> Self {
        Self::with_limits(reader, format, Limits::default())
    }

    /// Reads items of other sizes.
    pub fn with_limits(reader: R, format: Format, limits: Limits) -> Self {
        let lines = |reader, kind| Source::Lines(lines::Lines::new(reader, kind, limits));
        let source = match format {
            Format::Lines => lines(reader, lines::Kind::Text),
            Format::Nul => lines(reader, lines::Kind::Nul),
            Format::JsonLines => lines(reader, lines::Kind::Json),
            Format::Json(path) => {
                Source::Document(Box::new(json::Document::new(reader, path, limits)))
            }
            Format::Csv { delimiter } => {
                Source::Table(Box::new(csv::Table::new(reader, delimiter, limits)))
            }
        };
        Self { source, number: 0, over: false }
    }
}

impl<R: Read> Iterator for Items<R> {
    type Item = Result<Item, BadItem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let found = match &mut self.source {
            Source::Lines(lines) => lines.next(),
            Source::Document(document) => document.next(),
            Source::Table(table) => table.next(),
        };
        let Some(found) = found else {
            // A terminal could be read again after its end.
            self.over = true;
            return None;
        };
        self.number += 1;
        let number = self.number;
        Some(match found {
            Ok((place, value)) => Ok(Item { number, place, value }),
            Err(Broken { place, message, last }) => {
                self.over = last;
                Err(BadItem { number, place, message, last })
            }
        })
    }
}

/// What is wrong, before it has a number.
struct Broken {
    place: Place,
    message: String,
    last: bool,
}

impl Broken {
    fn item(place: Place, message: String) -> Self {
        Self { place, message, last: false }
    }

    fn source(place: Place, message: String) -> Self {
        Self { place, message, last: true }
    }
}

fn too_large(most: usize) -> String {
    format!(
        "an item of more than {most} bytes; put it into a file, and make the file's name the item"
    )
}

/// Without the place, which is within the item and not within the source.
fn json_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    format!("no JSON: {text}")
}
