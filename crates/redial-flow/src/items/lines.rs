//! Lines, what stands between NUL bytes, and JSON lines.

use std::io::Read;

use super::input::{Extent, Input};
use super::{Broken, Limits, Place, json_message, too_large};
use crate::{Value, number};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Nul,
    Json,
}

pub(super) struct Lines<R> {
    input: Input<R>,
    kind: Kind,
    item_max: usize,
    line: u64,
    kept: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R, kind: Kind, limits: Limits) -> Self {
        let input = Input::new(reader);
        Self { input, kind, item_max: limits.item_bytes, line: 0, kept: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Option<Result<(Place, Value), Broken>> {
        loop {
            let offset = self.input.offset;
            let delimiter = if self.kind == Kind::Nul { 0 } else { b'\n' };
            // The carriage return of a line end is not part of the item.
            let most = self.item_max.saturating_add(usize::from(self.kind != Kind::Nul));
            let extent = self.input.until(delimiter, most, &mut self.kept);
            self.line += 1;
            let place =
                if self.kind == Kind::Nul { Place::Byte(offset) } else { Place::Line(self.line) };
            let extent = match extent {
                Ok(extent) => extent?,
                Err(error) => return Some(Err(Broken::source(place, error.to_string()))),
            };
            if self.kind != Kind::Nul && self.kept.last() == Some(&b'\r') {
                self.kept.pop();
            }
            if extent == Extent::TooLarge || self.kept.len() > self.item_max {
                return Some(Err(Broken::item(place, too_large(self.item_max))));
            }
            return Some(match self.kind {
                Kind::Text if self.kept.is_empty() => continue,
                Kind::Text | Kind::Nul => {
                    Ok((place, Value::of_bytes(std::mem::take(&mut self.kept))))
                }
                Kind::Json if self.kept.trim_ascii().is_empty() => continue,
                Kind::Json => match number::read(&self.kept) {
                    Ok(json) => Ok((place, Value::Json(json))),
                    Err(error) => {
                        let message = json_message(&error);
                        let message = format!("column {}: {message}", error.column());
                        Err(Broken::item(place, message))
                    }
                },
            });
        }
    }
}
