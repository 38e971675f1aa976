//! Rows of a table whose first row names the columns.

use std::io::{self, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use serde_json::{Map, Value as Json};

use super::input::Input;
use super::{Broken, Limits, Place, too_large};
use crate::Value;

/// More columns than any table has; what has more is one row too large.
const COLUMNS_MAX: usize = 16_384;

pub(super) struct Table<R> {
    input: Input<R>,
    reader: Reader,
    item_max: usize,
    line: u64,
    header: Option<Vec<String>>,
    row: Vec<u8>,
    ends: Vec<usize>,
}

struct Row {
    /// Where it begins.
    line: u64,
    bytes: usize,
    columns: usize,
    whole: bool,
}

impl<R: Read> Table<R> {
    pub(super) fn new(reader: R, delimiter: u8, limits: Limits) -> Self {
        let mut parser = ReaderBuilder::new().delimiter(delimiter).build();
        // It would skip a byte order mark, too, after ours and only where that comes in one piece: not
        // after a first read, of an empty line.
        parser.read_record(b"\n", &mut [0], &mut [0]);
        Self {
            input: Input::new(reader),
            reader: parser,
            item_max: limits.item_bytes,
            line: 1,
            header: None,
            row: vec![0; 1024.min(limits.item_bytes.max(1))],
            ends: vec![0; 64],
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<(Place, Value), Broken>> {
        if self.header.is_none() {
            let row = match self.record() {
                Ok(row) => row?,
                Err(error) => return Some(Err(self.unreadable(&error))),
            };
            match self.columns(&row) {
                Ok(header) => self.header = Some(header),
                Err(message) => return Some(Err(Broken::source(Place::Line(row.line), message))),
            }
        }
        let row = match self.record() {
            Ok(row) => row?,
            Err(error) => return Some(Err(self.unreadable(&error))),
        };
        let place = Place::Line(row.line);
        Some(match self.item(&row) {
            Ok(value) => Ok((place, value)),
            Err(message) => Err(Broken::item(place, message)),
        })
    }

    fn unreadable(&self, error: &io::Error) -> Broken {
        Broken::source(Place::Line(self.line), error.to_string())
    }

    fn columns(&self, row: &Row) -> Result<Vec<String>, String> {
        if !row.whole {
            return Err(format!(
                "the row with the names of the columns: {}",
                too_large(self.item_max)
            ));
        }
        let mut names: Vec<String> = Vec::new();
        for (at, field) in self.fields(row).enumerate() {
            let Ok(name) = std::str::from_utf8(field) else {
                return Err(format!("the name of column {} is not UTF-8", at + 1));
            };
            if names.iter().any(|other| other == name) {
                return Err(format!(
                    "two columns are called `{}`; the first row has the names of the columns",
                    name.escape_debug()
                ));
            }
            names.push(name.to_owned());
        }
        Ok(names)
    }

    fn item(&self, row: &Row) -> Result<Value, String> {
        if !row.whole {
            return Err(format!("{}; is a quote not closed?", too_large(self.item_max)));
        }
        let header = self.header.as_deref().unwrap_or_default();
        if row.columns != header.len() {
            return Err(format!(
                "{} field{} where the first row has {}",
                row.columns,
                if row.columns == 1 { "" } else { "s" },
                header.len()
            ));
        }
        let mut fields = Map::new();
        for (name, field) in header.iter().zip(self.fields(row)) {
            let Ok(text) = std::str::from_utf8(field) else {
                return Err(format!("column `{}` is not UTF-8", name.escape_debug()));
            };
            fields.insert(name.clone(), Json::String(text.to_owned()));
        }
        Ok(Value::Json(Json::Object(fields)))
    }

    fn fields(&self, row: &Row) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends[..row.columns].iter().map(move |end| {
            let field = self.row[..row.bytes].get(start..*end).unwrap_or_default();
            start = *end;
            field
        })
    }

    /// The next row that is not empty.
    fn record(&mut self) -> io::Result<Option<Row>> {
        // The rest of a line end, and empty lines: the row begins after them.
        while let Some(byte @ (b'\n' | b'\r')) = self.input.peek()? {
            self.line += u64::from(byte == b'\n');
            self.input.consume(1);
        }
        let mut row = Row { line: self.line, bytes: 0, columns: 0, whole: true };
        // Where what is too large goes.
        let (mut lost, mut lost_ends) = ([0; 1024], [0; 64]);
        loop {
            let buffer = self.input.buffer()?;
            let (output, ends) = if row.whole {
                (&mut self.row[row.bytes..], &mut self.ends[row.columns..])
            } else {
                (&mut lost[..], &mut lost_ends[..])
            };
            let (result, read, written, ended) = self.reader.read_record(buffer, output, ends);
            self.line += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
            self.input.consume(read);
            if row.whole {
                row.bytes += written;
                row.columns += ended;
            }
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if row.whole => {
                    row.whole = grown(&mut self.row, self.item_max);
                }
                ReadRecordResult::OutputEndsFull if row.whole => {
                    row.whole = grown(&mut self.ends, COLUMNS_MAX);
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record => return Ok(Some(row)),
                ReadRecordResult::End => return Ok(None),
            }
        }
    }
}

/// Twice the room, up to `most`; false where there is no more to have.
fn grown<T: Clone + Default>(room: &mut Vec<T>, most: usize) -> bool {
    let length = room.len().saturating_mul(2).min(most);
    let more = length > room.len();
    room.resize(length.max(room.len()), T::default());
    more
}
