//! The bytes of a source, through a buffer of fixed size.

use std::io::{ErrorKind, Read, Result};

const BUFFER: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) struct Input<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    begun: bool,
    /// Of the next byte; a byte order mark counts.
    pub(super) offset: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; BUFFER];
        Self { reader, buffer, start: 0, end: 0, begun: false, offset: 0 }
    }

    /// What has been read and not been consumed; nothing at the end.
    pub(super) fn buffer(&mut self) -> Result<&[u8]> {
        if !self.begun {
            self.begun = true;
            // No longer than they could be a mark: the first line of a slow source is not held back.
            loop {
                let found = &self.buffer[..self.end];
                if found.len() >= BYTE_ORDER_MARK.len() || !BYTE_ORDER_MARK.starts_with(found) {
                    break;
                }
                let count = self.read_at(self.end)?;
                self.end += count;
                if count == 0 {
                    break;
                }
            }
            if self.buffer[..self.end].starts_with(BYTE_ORDER_MARK) {
                self.consume(BYTE_ORDER_MARK.len());
            }
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            self.end = self.read_at(0)?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn read_at(&mut self, at: usize) -> Result<usize> {
        loop {
            match self.reader.read(&mut self.buffer[at..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A reader that claims more than it was given room for is not believed.
                read => return read.map(|count| count.min(self.buffer.len() - at)),
            }
        }
    }

    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        Ok(self.buffer()?.first().copied())
    }

    /// Up to the delimiter, which is consumed and not kept. Of what is longer than `most`, nothing more
    /// is kept; `None` at the end.
    pub(super) fn until(
        &mut self,
        delimiter: u8,
        most: usize,
        kept: &mut Vec<u8>,
    ) -> Result<Option<Extent>> {
        kept.clear();
        let (mut any, mut whole) = (false, true);
        loop {
            let buffer = self.buffer()?;
            if buffer.is_empty() {
                return Ok(any.then_some(if whole { Extent::Whole } else { Extent::TooLarge }));
            }
            any = true;
            let at = memchr::memchr(delimiter, buffer);
            let part = &buffer[..at.unwrap_or(buffer.len())];
            if whole && kept.len() + part.len() <= most {
                kept.extend_from_slice(part);
            } else {
                whole = false;
            }
            let count = part.len() + usize::from(at.is_some());
            self.consume(count);
            if at.is_some() {
                return Ok(Some(if whole { Extent::Whole } else { Extent::TooLarge }));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    TooLarge,
}
