//! The journal of a run: a file of JSON lines that is only appended to, each with its number and a checksum.
//!
//! A line is the JSON object of a record with two last fields, and `jq` reads it as it is:
//!
//! ```json
//! {"v":1,"type":"attempt.start","step":"fetch","attempt":2,"n":17,"crc":"8e4a1cd3"}
//! ```
//!
//! `n` counts from 1. `crc` is the CRC-32 (as in zip and gzip) of all bytes of the line before `,"crc"`. A record is in the
//! journal once its newline is.
//!
//! A [`Writer`] appends and a [`Reading`] reads. Between them stands what can happen to a file:
//!
//! - A process is killed, or the power is cut, while it writes. The file then has a *torn tail*: bytes after which no whole
//!   line comes. Nobody was told that they had been written. They are reported ([`End::tail`]) and cut off when the journal is
//!   opened to be written again.
//! - Something else damages it: a bit flips, a block is lost, doubled or exchanged, somebody edits it. A line whose checksum is
//!   wrong, or whose number is not the next one, and a whole line after it, are [`Damage`]: an error that says what is missing. To
//!   accept damage is to go on reading after that error.
//!
//! What cannot be told from a torn tail: damage to the very last lines, and a file that somebody cut at the end of a line. And
//! what cannot be told from damage: a power cut that left a later page of the last batch on the disk and not an earlier one,
//! as some file systems may; it is reported as damage, although nobody was told that the batch had been written.
//!
//! The file is not filled with zeros ahead of the writer, which would save a part of each `fdatasync`: what reads JSON lines
//! could not read it, and zeros would have to be told from damage.
//!
//! ```
//! use redial_flow::journal::{Reading, Sync, Writer, End};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Started {
//!     step: String,
//! }
//!
//! # let directory = tempfile::tempdir()?;
//! let path = directory.path().join("journal.ndjson");
//! let mut journal = Writer::open(&path, End::default(), Sync::Always)?;
//! journal.append(&[Started { step: "fetch".into() }, Started { step: "index".into() }])?;
//! assert!(std::fs::read_to_string(&path)?.starts_with(r#"{"step":"fetch","n":1,"crc":""#));
//!
//! // Another process goes on where this one stopped.
//! let mut reading = Reading::<Started>::open(&path)?;
//! let steps: Result<Vec<_>, _> = reading.by_ref().map(|entry| Ok(entry?.record.step)).collect();
//! assert_eq!(steps.map_err(|error: redial_flow::journal::ReadError| error.to_string())?, ["fetch", "index"]);
//! let end = reading.end().ok_or("it was read to its end")?;
//! let mut journal = Writer::open(&path, end, Sync::Always)?;
//! journal.append(&[Started { step: "mail".into() }])?;
//! assert_eq!(journal.next(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::append::AppendFile;
use crate::system;

/// The longest line, and so the most memory that a reader needs: 16 MiB.
pub const LINE_MAX: usize = 16 << 20;

/// What a power cut may take of what was acknowledged with [`Sync::Group`].
pub const GROUP: Duration = Duration::from_millis(50);

const CRC: &[u8] = br#","crc":""#;
const CRC_DIGITS: usize = 8;
const CLOSE: &[u8] = br#""}"#;

/// When what was appended is made to survive a power cut. A KILL of the process loses nothing either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Before [`Writer::append`] returns.
    #[default]
    Always,
    /// Later, so that many appends share one `fdatasync`: a power cut loses the appends of at most [`GROUP`]. An append that
    /// comes later than that after the first of the group syncs by itself; when none comes, the caller calls
    /// [`Writer::sync`] by [`Writer::due`].
    Group,
}

/// Where a journal ends: what [`Reading::end`] found, and where a [`Writer`] goes on. That of a new one is the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The length of the file up to the end of its last whole line.
    pub offset: u64,
    /// The number of the next record.
    pub next: u64,
    /// What comes after that.
    pub tail: Option<Tail>,
}

impl Default for End {
    fn default() -> Self {
        Self { offset: 0, next: 1, tail: None }
    }
}

/// Bytes after the last whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The line in which they begin, from 1.
    pub line: u64,
    /// Where they begin.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, offset, length } = self;
        write!(
            f,
            "the last {length} bytes, from line {line} (byte {offset}), are not whole records"
        )
    }
}

/// Appends records to a journal.
///
/// An error leaves everything that was acknowledged before as it was; [`AppendFile`] says what becomes of the file, and after
/// which errors nothing more is written.
#[derive(Debug)]
pub struct Writer<T> {
    file: AppendFile,
    next: u64,
    sync: Sync,
    group: Duration,
    due: Option<Instant>,
    buffer: Vec<u8>,
    record: PhantomData<fn(&T)>,
}

impl<T: Serialize> Writer<T> {
    /// Opens a journal, or makes one, to go on at `end`; what comes after it in the file is cut off.
    ///
    /// What is there is synced, so that nobody acts on what a power cut could still take back.
    pub fn open(path: impl Into<PathBuf>, end: End, sync: Sync) -> io::Result<Self> {
        let mut file = AppendFile::open(path)?;
        file.cut(end.offset)?;
        file.sync()?;
        let (next, group, due, buffer) = (end.next.max(1), GROUP, None, Vec::new());
        Ok(Self { file, next, sync, group, due, buffer, record: PhantomData })
    }

    /// The number that the next record gets.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Appends all of the records or none, with one `write`. When it returns, a KILL cannot take them back; a power cut cannot
    /// either, as [`Sync`] says.
    ///
    /// A record is an object of JSON without fields `n` and `crc` of its own.
    pub fn append(&mut self, records: &[T]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.append_unsynced(records)?;
        let sync_now = match self.sync {
            Sync::Always => true,
            Sync::Group => {
                let now = Instant::now();
                now >= *self.due.get_or_insert_with(|| now + self.group)
            }
        };
        if sync_now { self.sync() } else { Ok(()) }
    }

    /// The same for a caller that looks after [`sync`](Self::sync) by itself.
    pub(crate) fn append_unsynced(&mut self, records: &[T]) -> io::Result<()> {
        self.buffer.clear();
        let mut next = self.next;
        for record in records {
            encode(&mut self.buffer, record, next)?;
            next = next.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
        }
        self.file.append(&self.buffer)?;
        // One record of many megabytes does not keep them for ever.
        self.buffer.shrink_to(1 << 20);
        self.next = next;
        Ok(())
    }

    /// When [`sync`](Self::sync) has to be called, if nothing is appended before.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns once everything that was appended survives a power cut.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.due = None;
        Ok(())
    }
}

fn encode(buffer: &mut Vec<u8>, record: &impl Serialize, n: u64) -> io::Result<()> {
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let begin = buffer.len();
    if let Err(error) = serde_json::to_writer(&mut *buffer, record) {
        return refuse(format!("record {n} cannot be written as JSON: {error}"));
    }
    let [b'{', fields @ .., b'}'] = &buffer[begin..] else {
        return refuse(format!("record {n} is not an object of JSON"));
    };
    let comma = if fields.is_empty() { "" } else { "," };
    // Only JSON that was not made here can have one.
    if fields.contains(&b'\n') {
        return refuse(format!("record {n} has a newline between its fields"));
    }
    buffer.pop();
    write!(buffer, "{comma}\"n\":{n}")?;
    let crc = crc32fast::hash(&buffer[begin..]);
    buffer.extend_from_slice(CRC);
    write!(buffer, "{crc:08x}")?;
    buffer.extend_from_slice(CLOSE);
    buffer.push(b'\n');
    let length = buffer.len() - begin;
    match length > LINE_MAX {
        true => {
            refuse(format!("record {n} would have {length} bytes; at most {LINE_MAX} are read"))
        }
        false => Ok(()),
    }
}

/// The number of a line, newline included, if the line is as it was written.
pub fn number(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\n")?.strip_suffix(CLOSE)?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(CRC_DIGITS)?)?;
    let line = line.strip_suffix(CRC)?;
    let crc = digits.iter().try_fold(0, |crc: u32, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(crc << 4 | u32::from(digit))
    })?;
    if crc32fast::hash(line) != crc {
        return None;
    }
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (line, digits) = line.split_at(line.len() - digits);
    if !matches!(line.strip_suffix(br#""n":"#)?, [b'{', .., b','] | b"{") {
        return None;
    }
    // The last number has none after it.
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|n| *n < u64::MAX)
}

/// A record as it stands in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// Its number, from 1.
    pub n: u64,
    /// Where its line begins.
    pub offset: u64,
    /// What was written.
    pub record: T,
}

/// Reads a journal record by record; it needs as much memory as the longest line.
///
/// An item is a record, in the order of their numbers, or an error. After [`ReadError::Damage`] the next item is the record
/// that follows the damage: who goes on accepts it. `collect::<Result<Vec<_>, _>>()` and `?` refuse it.
///
/// A journal that somebody is writing to can be read: up to where it ended when it was opened.
#[derive(Debug)]
pub struct Reading<T, R = io::Take<std::fs::File>> {
    source: BufReader<R>,
    path: Option<PathBuf>,
    /// The line that was read last, with its newline.
    line: Vec<u8>,
    /// Lines and bytes read so far, that one included.
    lines: u64,
    bytes: u64,
    /// Up to the end of the last line that is as it was written.
    whole: (u64, u64),
    next: u64,
    /// What cannot be believed since the last record.
    gap: Option<Gap>,
    /// The number of the line, if its damage was told first.
    held_back: Option<u64>,
    is_over: bool,
    end: Option<End>,
    record: PhantomData<fn() -> T>,
}

#[derive(Debug)]
struct Gap {
    line: u64,
    offset: u64,
    /// Lines that are as they were written, but come too late.
    repeated: u64,
}

impl<T: DeserializeOwned> Reading<T> {
    /// Opens the journal at `path`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let path = path.into();
        let opened = system::open(&path, OpenOptions::new().read(true))
            .and_then(|file| Ok(file.metadata()?.len()).map(|length| file.take(length)));
        match opened {
            Ok(file) => Ok(Self { path: Some(path), ..Self::of(file) }),
            Err(error) => Err(ReadError::Io { path: Some(path), error }),
        }
    }
}

impl<T: DeserializeOwned, R: Read> Reading<T, R> {
    /// Reads a journal from anywhere, such as `&[u8]`.
    pub fn of(source: R) -> Self {
        Self {
            source: BufReader::with_capacity(1 << 17, source),
            path: None,
            line: Vec::new(),
            lines: 0,
            bytes: 0,
            whole: (0, 0),
            next: 1,
            gap: None,
            held_back: None,
            is_over: false,
            end: None,
            record: PhantomData,
        }
    }

    /// Where the journal ends, once it was read to its end.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// Reads the next line, and gives its length; of one that is too long, the beginning.
    fn read_line(&mut self) -> io::Result<u64> {
        self.line.clear();
        self.line.shrink_to(1 << 20);
        let mut source = self.source.by_ref().take(LINE_MAX as u64);
        let mut length = source.read_until(b'\n', &mut self.line)? as u64;
        if length == LINE_MAX as u64 && self.line.last() != Some(&b'\n') {
            length += self.source.skip_until(b'\n')? as u64;
        }
        Ok(length)
    }

    fn decode(&self, n: u64) -> Result<Entry<T>, ReadError> {
        let offset = self.bytes - self.line.len() as u64;
        // Looked at once, instead of string by string.
        let decoded = match std::str::from_utf8(&self.line) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(&self.line),
        };
        match decoded {
            Ok(record) => Ok(Entry { n, offset, record }),
            Err(error) => Err(ReadError::Unknown(Box::new(Unknown {
                path: self.path.clone(),
                line: self.lines,
                offset,
                header: serde_json::from_slice(&self.line).unwrap_or_default(),
                error,
            }))),
        }
    }

    fn damage(&self, gap: Gap, end: u64, found: Option<u64>) -> ReadError {
        let Gap { line, offset, repeated } = gap;
        let (length, expected, path) = (end - offset, self.next, self.path.clone());
        ReadError::Damage(Damage { path, line, offset, length, repeated, expected, found })
    }
}

impl<T: DeserializeOwned, R: Read> Iterator for Reading<T, R> {
    type Item = Result<Entry<T>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(n) = self.held_back.take() {
            return Some(self.decode(n));
        }
        while !self.is_over {
            let (line, offset) = (self.lines + 1, self.bytes);
            match self.read_line() {
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(ReadError::Io { path: self.path.clone(), error }));
                }
                Ok(0) => {
                    self.is_over = true;
                    let (line, offset) = self.whole;
                    let length = self.bytes - offset;
                    let tail = (length > 0).then_some(Tail { line: line + 1, offset, length });
                    self.end = Some(End { offset, next: self.next, tail });
                    let gap = self.gap.take().filter(|gap| gap.repeated > 0)?;
                    return Some(Err(self.damage(gap, self.whole.1, None)));
                }
                Ok(length) => (self.lines, self.bytes) = (line, offset + length),
            }
            let n = number(&self.line);
            if n.is_some() {
                self.whole = (self.lines, self.bytes);
            }
            match n.filter(|n| *n >= self.next) {
                Some(n) => {
                    let mut gap = self.gap.take();
                    if n > self.next {
                        gap.get_or_insert(Gap { line, offset, repeated: 0 });
                    }
                    let damage = gap.map(|gap| self.damage(gap, offset, Some(n)));
                    self.next = n + 1;
                    return Some(match damage {
                        Some(damage) => {
                            self.held_back = Some(n);
                            Err(damage)
                        }
                        None => self.decode(n),
                    });
                }
                None => {
                    let gap = self.gap.get_or_insert(Gap { line, offset, repeated: 0 });
                    gap.repeated += u64::from(n.is_some());
                }
            }
        }
        None
    }
}

/// Why a journal cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    Io {
        /// Which.
        path: Option<PathBuf>,
        /// What the system said.
        error: io::Error,
    },
    /// Records are missing or stand where they should not. The next item is the record after that.
    Damage(Damage),
    /// A record is as it was written, and this version does not know what it means.
    Unknown(Box<Unknown>),
}

/// A hole in a journal: lines that are not as they were written, or not in their place, and then one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The journal.
    pub path: Option<PathBuf>,
    /// The first line that is wrong, from 1.
    pub line: u64,
    /// Where it begins.
    pub offset: u64,
    /// How many bytes are not believed; none, if lines are gone.
    pub length: u64,
    /// How many lines among them are whole, but come after later ones: they were doubled or exchanged.
    pub repeated: u64,
    /// The number of the record that should have come.
    pub expected: u64,
    /// The number of the one that came; `None` if the journal ends.
    pub found: Option<u64>,
}

impl Damage {
    /// The numbers of the records that are not where they should be.
    pub fn missing(&self) -> Range<u64> {
        self.expected..self.found.unwrap_or(self.expected)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, offset, length, repeated, .. } = self;
        write!(f, "{} is damaged at line {line} (byte {offset}): ", name(path))?;
        let missing = self.missing();
        match missing.end - missing.start {
            0 => f.write_str("no record is missing")?,
            1 => write!(f, "record {} is missing", missing.start)?,
            _ => write!(f, "records {} to {} are missing", missing.start, missing.end - 1)?,
        }
        match repeated {
            0 => {}
            1 => f.write_str("; a line stands after later ones")?,
            _ => write!(f, "; {repeated} lines stand after later ones")?,
        }
        match length {
            0 => Ok(()),
            _ => write!(f, "; {length} bytes are left out"),
        }
    }
}

/// A record of a kind that this version does not have. Fields are added in any version; kinds, in new ones.
#[derive(Debug)]
pub struct Unknown {
    /// The journal.
    pub path: Option<PathBuf>,
    /// Its line, from 1.
    pub line: u64,
    /// Where that begins.
    pub offset: u64,
    header: Header,
    /// What is wrong with it.
    pub error: serde_json::Error,
}

#[derive(Debug, Default, Deserialize)]
struct Header {
    v: Option<serde_json::Value>,
    r#type: Option<String>,
}

impl Unknown {
    /// The version that the record says it is of: its field `v`.
    pub fn version(&self) -> Option<&serde_json::Value> {
        self.header.v.as_ref()
    }

    /// Its field `type`.
    pub fn kind(&self) -> Option<&str> {
        self.header.r#type.as_deref()
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, offset, error, .. } = self;
        write!(f, "{}, line {line} (byte {offset}): a record", name(path))?;
        if let Some(kind) = self.kind() {
            write!(f, " `{}`", kind.escape_debug())?;
        }
        if let Some(version) = self.version() {
            write!(f, " of version {version}")?;
        }
        write!(f, " that this version of redial does not know ({error}); ")?;
        f.write_str("use the version that wrote it, or a newer one")
    }
}

fn name(path: &Option<PathBuf>) -> std::path::Display<'_> {
    path.as_deref().unwrap_or(Path::new("the journal")).display()
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "{} cannot be read: {error}", name(path)),
            Self::Damage(damage) => damage.fmt(f),
            Self::Unknown(unknown) => unknown.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            Self::Damage(_) => None,
            Self::Unknown(unknown) => Some(&unknown.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_later_than_the_group_syncs_by_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.ndjson");
        let mut writer = Writer::open(path, End::default(), Sync::Group).unwrap();
        writer.group = Duration::from_secs(3600);
        writer.append(&[serde_json::json!({})]).unwrap();
        let due = writer.due().unwrap();
        writer.append(&[serde_json::json!({})]).unwrap();
        assert_eq!(writer.due(), Some(due), "the group's first append counts");
        assert!(!writer.file.is_synced());
        writer.due = Some(Instant::now());
        writer.append(&[serde_json::json!({})]).unwrap();
        assert_eq!(writer.due(), None);
        assert!(writer.file.is_synced());
    }
}
