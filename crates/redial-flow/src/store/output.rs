//! What commands wrote, read from its segment: as it was written, or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::{Run, StoreError, at, segment_path};
use crate::record::Place;
use crate::system;

const CHUNK: usize = 64 << 10;

impl Run {
    /// What a command wrote, as it was written: anything else is an error.
    pub fn output(&self, place: &Place) -> Result<Vec<u8>, StoreError> {
        let path = segment_path(&self.path, place.segment);
        let mut bytes = Vec::new();
        let checked = checked(&path, place, |chunk| bytes.extend_from_slice(chunk));
        checked.map(|_| bytes).map_err(|why| why.at(&path))
    }

    /// The same as a stream, of any length. It is read to its end once before this returns, to compare its length and its
    /// CRC-32 with what the journal says: what has begun to use a stream could not take that back.
    pub fn output_reader(&self, place: &Place) -> Result<OutputReader, StoreError> {
        let path = segment_path(&self.path, place.segment);
        let mut newlines = 0;
        let count = |chunk: &[u8]| {
            let here = chunk.iter().rev().take_while(|byte| **byte == b'\n').count();
            newlines = if here == chunk.len() { newlines + here as u64 } else { here as u64 };
        };
        let mut file = checked(&path, place, count).map_err(|why| why.at(&path))?;
        file.seek(SeekFrom::Start(place.offset)).map_err(at("read", &path))?;
        Ok(OutputReader { text_length: place.length - newlines, bytes: file.take(place.length) })
    }
}

/// Reads what a command wrote, after it was found to be that.
#[derive(Debug)]
pub struct OutputReader {
    bytes: io::Take<File>,
    /// How many bytes there are before the newlines at its end.
    text_length: u64,
}

impl OutputReader {
    /// Ends before the newlines at its end, as `$( )` does.
    #[must_use]
    pub fn without_last_newlines(mut self) -> Self {
        self.bytes.set_limit(self.text_length);
        self
    }
}

impl Read for OutputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

/// Why an output cannot be read.
enum Unread {
    /// It is not what was written.
    Damaged(String),
    /// The system says no.
    System(io::Error),
}

impl Unread {
    fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Damaged(flaw) => StoreError::DamagedOutput { path: path.into(), flaw },
            Self::System(error) => at("read", path)(error),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Hands an output on chunk by chunk; an error if it was not what was written there.
fn checked(path: &Path, place: &Place, mut take: impl FnMut(&[u8])) -> Result<File, Unread> {
    let opened = system::open(path, OpenOptions::new().read(true));
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Unread::Damaged("it is gone".into()),
        _ => Unread::System(error),
    })?;
    let length = file.metadata()?.len();
    if place.offset.checked_add(place.length).is_none_or(|end| end > length) {
        return Err(Unread::Damaged(format!("it has {length} bytes, too few for {place}")));
    }
    file.seek(SeekFrom::Start(place.offset))?;
    let (mut left, mut hasher) = (place.length, crc32fast::Hasher::new());
    let mut buffer = vec![0; CHUNK.min(usize::try_from(left).unwrap_or(CHUNK))];
    while left > 0 {
        let most = buffer.len().min(usize::try_from(left).unwrap_or(CHUNK));
        let count = match file.read(&mut buffer[..most]) {
            // Somebody has cut it since.
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&buffer[..count]);
        take(&buffer[..count]);
        left -= count as u64;
    }
    match left == 0 && hasher.finalize() == place.crc {
        true => Ok(file),
        false => Err(Unread::Damaged(format!("{place} are not what was written there"))),
    }
}
