//! The values of a JSON document that a path selects.
//!
//! A path of names, `[n]` and `[*]` is followed while the document is read, and only the selected
//! value is kept. Any other path needs the whole document.

use std::io::{self, Read};
use std::vec;

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::input::{Extent, Input};
use super::json_path::{JsonPath, Step};
use super::{Broken, Limits, Place, json_message, too_large};
use crate::{Value, number};

/// How many brackets are passed; a value of more than 128 levels is an error of its own.
const DEPTH_MAX: usize = 1 << 20;
/// The longest name of a field, and the longest number, in bytes.
const WORD_MAX: usize = 64 * 1024;

pub(super) struct Document<R> {
    limits: Limits,
    state: State<R>,
}

enum State<R> {
    New(R, Option<JsonPath>),
    Stream(Stream<R>),
    Selected(vec::IntoIter<Json>, u64),
}

impl<R: Read> Document<R> {
    pub(super) fn new(reader: R, path: Option<JsonPath>, limits: Limits) -> Self {
        Self { limits, state: State::New(reader, path) }
    }

    pub(super) fn next(&mut self) -> Option<Result<(Place, Value), Broken>> {
        match &mut self.state {
            State::Stream(stream) => stream.next(),
            State::Selected(nodes, number) => {
                let node = nodes.next()?;
                *number += 1;
                let place = Place::Nth(*number);
                if length(&node) > self.limits.item_bytes {
                    return Some(Err(Broken::item(place, too_large(self.limits.item_bytes))));
                }
                Some(Ok((place, Value::Json(node))))
            }
            State::New(..) => {
                if let Err(broken) = self.begin() {
                    self.state = State::Selected(Vec::new().into_iter(), 0);
                    return Some(Err(broken));
                }
                self.next()
            }
        }
    }

    fn begin(&mut self) -> Result<(), Broken> {
        let empty = State::Selected(Vec::new().into_iter(), 0);
        let State::New(reader, path) = std::mem::replace(&mut self.state, empty) else {
            return Ok(());
        };
        let mut input = Input::new(reader);
        let steps = match &path {
            // Each item of a list, or the document itself.
            None => {
                white_space(&mut input).map_err(|error| unreadable(&input, &error))?;
                let first = input.peek().map_err(|error| unreadable(&input, &error))?;
                if first.is_none() {
                    return Ok(());
                }
                Some(if first == Some(b'[') { vec![Step::Every] } else { Vec::new() })
            }
            Some(path) => path.steps().map(<[Step]>::to_vec),
        };
        self.state = match (steps, path) {
            (Some(steps), _) => State::Stream(Stream::new(input, steps, self.limits.item_bytes)),
            (None, path) => {
                let nodes = whole(input, path.as_ref(), self.limits.document_bytes)?;
                State::Selected(nodes.into_iter(), 0)
            }
        };
        Ok(())
    }
}

fn unreadable<R>(input: &Input<R>, error: &io::Error) -> Broken {
    Broken::source(Place::Byte(input.offset), error.to_string())
}

fn whole<R: Read>(
    mut input: Input<R>,
    path: Option<&JsonPath>,
    most: usize,
) -> Result<Vec<Json>, Broken> {
    let mut bytes = Vec::new();
    loop {
        let read = input.buffer().map(|buffer| {
            bytes.extend_from_slice(buffer);
            buffer.len()
        });
        let count = read.map_err(|error| unreadable(&input, &error))?;
        if count == 0 {
            break;
        }
        input.consume(count);
        if bytes.len() > most {
            let message = format!(
                "the document has more than {most} bytes, and this path needs all of it at once; one of \
                 names, [n] and [*] alone does not"
            );
            return Err(Broken::source(Place::Byte(0), message));
        }
    }
    let json: Json = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("column {}: {}", error.column(), json_message(&error));
        Broken::source(Place::Line(error.line() as u64), message)
    })?;
    // The path compares numbers, and what it selects has them as they are written.
    let written = number::read_long(&bytes);
    drop(bytes);
    let from = written.as_ref().unwrap_or(&json);
    Ok(path.map_or_else(Vec::new, |path| path.select(&json, from)))
}

/// How long the value is as text.
fn length(json: &Json) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Writing to a counter does not fail.
    let _ = serde_json::to_writer(&mut count, json);
    count.0
}

struct Stream<R> {
    input: Input<R>,
    steps: Vec<Step>,
    item_max: usize,
    /// One for each list or object on the way to the selected values.
    frames: Vec<Frame>,
    begun: bool,
    over: bool,
}

struct Frame {
    object: bool,
    /// How many items or fields were begun.
    count: u64,
    /// Whether the one that a name or number selects was there.
    taken: bool,
}

/// What stops a document from being read further.
enum Halt {
    Io(io::Error),
    Bad(String),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn halt<T>(message: impl Into<String>) -> Result<T, Halt> {
    Err(Halt::Bad(message.into()))
}

fn white_space<R: Read>(input: &mut Input<R>) -> io::Result<()> {
    loop {
        let buffer = input.buffer()?;
        let blank = buffer.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let (blank, all) = (blank.count(), buffer.len());
        input.consume(blank);
        if blank < all || all == 0 {
            return Ok(());
        }
    }
}

impl<R: Read> Stream<R> {
    fn new(input: Input<R>, steps: Vec<Step>, item_max: usize) -> Self {
        Self { input, steps, item_max, frames: Vec::new(), begun: false, over: false }
    }

    fn next(&mut self) -> Option<Result<(Place, Value), Broken>> {
        if self.over {
            return None;
        }
        match self.advance() {
            Ok(found) => found,
            Err(stop) => {
                self.over = true;
                let message = match stop {
                    Halt::Io(error) => error.to_string(),
                    Halt::Bad(message) => message,
                };
                Some(Err(Broken::source(Place::Byte(self.input.offset), message)))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<Result<(Place, Value), Broken>>, Halt> {
        if !self.begun {
            self.begun = true;
            white_space(&mut self.input)?;
            if let Some(found) = self.arrive(0)? {
                return Ok(Some(found));
            }
        }
        loop {
            white_space(&mut self.input)?;
            let level = self.frames.len();
            let Some(frame) = self.frames.last_mut() else {
                self.over = true;
                return match self.input.peek()? {
                    None => Ok(None),
                    Some(_) => halt("there is more after the end of the document"),
                };
            };
            let close = if frame.object { b'}' } else { b']' };
            match self.input.peek()? {
                Some(byte) if byte == close => {
                    self.input.consume(1);
                    self.frames.pop();
                    continue;
                }
                Some(b',') if frame.count > 0 => {
                    self.input.consume(1);
                    white_space(&mut self.input)?;
                }
                Some(_) if frame.count == 0 => {}
                found => return unexpected(found, &[b',', close]),
            }
            let index = frame.count;
            frame.count += 1;
            let name = if frame.object { Some(self.name()?) } else { None };
            let chosen = match (self.steps.get(level - 1), &name) {
                (Some(Step::Every), _) => true,
                (Some(Step::Name(wanted)), Some(name)) => wanted == name,
                (Some(Step::Index(wanted)), None) => *wanted == index,
                _ => false,
            };
            if !chosen {
                self.value(None)?;
                continue;
            }
            let every = matches!(self.steps.get(level - 1), Some(Step::Every));
            if let Some(frame) = self.frames.last_mut().filter(|_| !every) {
                if frame.taken {
                    let name = name.unwrap_or_default();
                    return halt(format!("the field `{}` is there twice", name.escape_debug()));
                }
                frame.taken = true;
            }
            if let Some(found) = self.arrive(level)? {
                return Ok(Some(found));
            }
        }
    }

    /// At a value that the first `level` steps led to.
    fn arrive(&mut self, level: usize) -> Result<Option<Result<(Place, Value), Broken>>, Halt> {
        let Some(step) = self.steps.get(level) else {
            let place = Place::Byte(self.input.offset);
            let mut kept = Vec::new();
            let extent = self.value(Some(&mut kept))?;
            if extent == Extent::TooLarge {
                return Ok(Some(Err(Broken::item(place, too_large(self.item_max)))));
            }
            return Ok(Some(match number::read(&kept) {
                Ok(json) => Ok((place, Value::Json(json))),
                Err(error) => Err(Broken::item(place, json_message(&error))),
            }));
        };
        let object = match (self.input.peek()?, step) {
            (Some(b'{'), Step::Name(_) | Step::Every) => true,
            (Some(b'['), Step::Index(_) | Step::Every) => false,
            // Nothing is selected in it.
            _ => {
                self.value(None)?;
                return Ok(None);
            }
        };
        self.input.consume(1);
        self.frames.push(Frame { object, count: 0, taken: false });
        Ok(None)
    }

    /// The name of a field and its colon.
    fn name(&mut self) -> Result<String, Halt> {
        let mut word = Vec::new();
        let mut keep = Keep::upto(&mut word, WORD_MAX);
        match self.input.peek()? {
            Some(b'"') => self.string(&mut keep)?,
            found => return unexpected(found, b"\""),
        }
        if keep.extent() == Extent::TooLarge {
            return halt(format!("the name of a field has more than {WORD_MAX} bytes"));
        }
        let name = match serde_json::from_slice(&word) {
            Ok(name) => name,
            Err(error) => return halt(json_message(&error)),
        };
        white_space(&mut self.input)?;
        match self.input.peek()? {
            Some(b':') => self.input.consume(1),
            found => return unexpected(found, b":"),
        }
        white_space(&mut self.input)?;
        Ok(name)
    }

    /// Passes one value, and keeps its text if asked to. Brackets, commas, colons and words are checked.
    fn value(&mut self, kept: Option<&mut Vec<u8>>) -> Result<Extent, Halt> {
        let mut nothing = Vec::new();
        let mut keep = match kept {
            Some(kept) => Keep::upto(kept, self.item_max),
            None => Keep::upto(&mut nothing, 0),
        };
        // What is open: true for an object.
        let mut open: Vec<bool> = Vec::new();
        loop {
            // At a value.
            match self.input.peek()? {
                Some(byte @ (b'{' | b'[')) => {
                    if open.len() == DEPTH_MAX {
                        return halt(format!("more than {DEPTH_MAX} levels of brackets"));
                    }
                    keep.push(&[byte]);
                    self.input.consume(1);
                    white_space(&mut self.input)?;
                    let close = if byte == b'{' { b'}' } else { b']' };
                    if self.input.peek()? == Some(close) {
                        keep.push(&[close]);
                        self.input.consume(1);
                    } else {
                        open.push(byte == b'{');
                        if byte == b'{' {
                            self.key(&mut keep)?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string(&mut keep)?,
                Some(b'-' | b'0'..=b'9' | b'a'..=b'z') => self.word(&mut keep)?,
                found => return unexpected(found, b"{[\""),
            }
            // After a value.
            loop {
                let Some(object) = open.last().copied() else {
                    return Ok(keep.extent());
                };
                white_space(&mut self.input)?;
                let close = if object { b'}' } else { b']' };
                match self.input.peek()? {
                    Some(byte) if byte == close => {
                        keep.push(&[byte]);
                        self.input.consume(1);
                        open.pop();
                    }
                    Some(b',') => {
                        keep.push(b",");
                        self.input.consume(1);
                        white_space(&mut self.input)?;
                        if object {
                            self.key(&mut keep)?;
                        }
                        break;
                    }
                    found => return unexpected(found, &[b',', close]),
                }
            }
        }
    }

    fn key(&mut self, keep: &mut Keep<'_>) -> Result<(), Halt> {
        match self.input.peek()? {
            Some(b'"') => self.string(keep)?,
            found => return unexpected(found, b"\""),
        }
        white_space(&mut self.input)?;
        match self.input.peek()? {
            Some(b':') => self.input.consume(1),
            found => return unexpected(found, b":"),
        }
        keep.push(b":");
        white_space(&mut self.input)?;
        Ok(())
    }

    /// From its first quote to its last.
    fn string(&mut self, keep: &mut Keep<'_>) -> Result<(), Halt> {
        keep.push(b"\"");
        self.input.consume(1);
        loop {
            let buffer = self.input.buffer()?;
            let at = memchr::memchr2(b'"', b'\\', buffer);
            let found = at.map(|at| buffer[at]);
            let count = at.map_or(buffer.len(), |at| at + 1);
            keep.push(&buffer[..count]);
            self.input.consume(count);
            match found {
                Some(b'"') => return Ok(()),
                Some(_) => match self.input.peek()? {
                    Some(byte) => {
                        keep.push(&[byte]);
                        self.input.consume(1);
                    }
                    None => return halt("the document ends within text"),
                },
                None if count == 0 => return halt("the document ends within text"),
                None => {}
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self, keep: &mut Keep<'_>) -> Result<(), Halt> {
        let mut word = Vec::new();
        while let Some(byte) = self.input.peek()? {
            if !matches!(byte, b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') {
                break;
            }
            if word.len() == WORD_MAX {
                return halt(format!("a number of more than {WORD_MAX} digits"));
            }
            word.push(byte);
            self.input.consume(1);
        }
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(&word) {
            let shown: String = String::from_utf8_lossy(&word).chars().take(40).collect();
            return halt(format!("`{shown}`: {}", json_message(&error)));
        }
        keep.push(&word);
        Ok(())
    }
}

fn unexpected<T>(found: Option<u8>, wanted: &[u8]) -> Result<T, Halt> {
    let wanted: Vec<String> =
        wanted.iter().map(|byte| format!("`{}`", char::from(*byte))).collect();
    let wanted = wanted.join(" or ");
    match found {
        Some(byte) => halt(format!("`{}` where {wanted} is expected", byte.escape_ascii())),
        None => halt(format!("the document ends where {wanted} is expected")),
    }
}

/// The text of a value as far as it is wanted.
struct Keep<'k> {
    kept: &'k mut Vec<u8>,
    most: usize,
    whole: bool,
}

impl<'k> Keep<'k> {
    fn upto(kept: &'k mut Vec<u8>, most: usize) -> Self {
        Self { kept, most, whole: true }
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.whole && self.kept.len() + bytes.len() <= self.most {
            self.kept.extend_from_slice(bytes);
        } else {
            self.whole = false;
        }
    }

    fn extent(&self) -> Extent {
        if self.whole { Extent::Whole } else { Extent::TooLarge }
    }
}
