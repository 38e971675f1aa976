//! Reads event logs line by line; lines that are no events are counted and skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use redial_flow::journal;
use redial_flow::record::{self, Record};
use serde::Deserialize;

use super::collector::Collector;
use super::journal::Journal;
use crate::events::{Line, VERSION};
use crate::output::{Failure, count, print_note};
use crate::visible::visible;

/// No event is longer than this.
const LINE_MAX: usize = 4 << 20;

/// The events that this version knows. Later versions may add others, which are skipped silently.
const TYPES: [&str; 6] =
    ["run.start", "attempt.start", "attempt.end", "decision", "signal", "run.end"];

/// Reads a file, or standard input for `-`, and says what of it could not be read.
pub(super) fn read(name: &str, collector: &mut Collector) -> Result<(), Failure> {
    let log = match name {
        "-" => read_lines(io::stdin().lock(), collector),
        name => File::open(name)
            .and_then(|file| read_lines(BufReader::with_capacity(1 << 16, file), collector)),
    };
    let name = if name == "-" { "standard input" } else { name };
    let log = log.map_err(|error| format!("cannot read {name}: {error}"))?;
    if log.events == 0 {
        return Err(Failure::Message(log.nothing(name)));
    }
    for note in log.notes(name) {
        print_note(&format!("{}\n", visible(&note)));
    }
    Ok(())
}

/// What was found in a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    events: usize,
    unreadable: usize,
    /// The number of the first line that could not be read.
    first_unreadable: Option<usize>,
    other_version: usize,
}

impl Log {
    fn notes(&self, name: &str) -> Vec<String> {
        let mut notes = Vec::new();
        match (self.unreadable, self.first_unreadable) {
            (1, Some(line)) => {
                notes.push(format!("1 line of {name} could not be read: line {line}"));
            }
            (lines, Some(first)) => notes.push(format!(
                "{lines} lines of {name} could not be read, the first is line {first}"
            )),
            (_, None) => {}
        }
        if self.other_version > 0 {
            let lines = count(self.other_version, "line");
            notes.push(format!("{lines} of {name} left out: not of version {VERSION}"));
        }
        notes
    }

    fn nothing(&self, name: &str) -> String {
        let notes = self.notes(name);
        let why = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        format!("there is no event in {name}{why}; `redial run --events FILE` writes them")
    }
}

fn read_lines(mut reader: impl BufRead, collector: &mut Collector) -> io::Result<Log> {
    let mut log = Log::default();
    let mut journal = Journal::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if reader.by_ref().take(LINE_MAX as u64 + 1).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let content = if bytes.len() > LINE_MAX && bytes.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
            Content::Unreadable
        } else {
            Content::of(&bytes)
        };
        match content {
            Content::Event(line) => {
                collector.add(&line);
                log.events += 1;
            }
            Content::Record(record) => {
                journal.events(&record).iter().for_each(|line| collector.add(line));
                log.events += 1;
            }
            Content::Nothing => {}
            Content::OtherVersion => log.other_version += 1,
            Content::Unreadable => {
                log.unreadable += 1;
                log.first_unreadable.get_or_insert(number);
            }
        }
    }
    Ok(log)
}

/// What a line holds.
enum Content {
    Event(Box<Line>),
    /// A record of the journal of a flow.
    Record(Box<Record>),
    /// A blank line, or an event of a later version.
    Nothing,
    OtherVersion,
    Unreadable,
}

impl Content {
    fn of(bytes: &[u8]) -> Self {
        // A byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return Self::Nothing;
        }
        if is_of_a_journal(bytes) {
            return Self::of_journal(bytes);
        }
        if has_step(bytes) {
            return Self::of_record(bytes);
        }
        match serde_json::from_slice::<Line>(bytes) {
            Ok(line) if line.v == VERSION => Self::Event(Box::new(line)),
            Ok(_) => Self::OtherVersion,
            Err(_) => match serde_json::from_slice::<Record>(bytes) {
                Ok(record) if is_of_a_flow(&record) => Self::Record(Box::new(record)),
                _ => Self::of_unknown(bytes),
            },
        }
    }

    /// A line whose checksum is wrong is not believed.
    fn of_journal(bytes: &[u8]) -> Self {
        match journal::number(bytes) {
            Some(_) => Self::of_record(bytes),
            None => Self::Unreadable,
        }
    }

    fn of_record(bytes: &[u8]) -> Self {
        /// What the lines of every version have.
        #[derive(Deserialize)]
        struct Head {
            #[serde(rename = "type")]
            kind: serde_json::Value,
        }
        match serde_json::from_slice::<Record>(bytes) {
            Ok(record) if record.v == record::VERSION => Self::Record(Box::new(record)),
            Ok(_) => Self::OtherVersion,
            // Kinds that later versions add are skipped silently.
            Err(_) => match serde_json::from_slice::<Head>(bytes) {
                Ok(head) if record::Event::deserialize(&head.kind).is_err() => Self::Nothing,
                _ => Self::Unreadable,
            },
        }
    }

    fn of_unknown(bytes: &[u8]) -> Self {
        /// What the lines of every version have.
        #[derive(Deserialize)]
        struct Head {
            v: u64,
            #[serde(rename = "type")]
            kind: String,
        }
        match serde_json::from_slice::<Head>(bytes) {
            Ok(head) if head.v != u64::from(VERSION) => Self::OtherVersion,
            Ok(head) if !TYPES.contains(&head.kind.as_str()) => Self::Nothing,
            _ => Self::Unreadable,
        }
    }
}

/// Whether a line ends as those of a journal do: with a checksum.
fn is_of_a_journal(line: &[u8]) -> bool {
    const END: usize = r#","crc":"00000000"}"#.len();
    let line = line.trim_ascii_end();
    let end = line.len().checked_sub(END).map(|from| &line[from..]);
    end.is_some_and(|end| end.starts_with(br#","crc":""#))
}

/// Whether a line of `--events` is about a task: those of `map` and `flow` are records of a journal, without its numbers and
/// checksums, and those of `run` have no `step`.
fn has_step(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        step: Option<serde::de::IgnoredAny>,
    }
    const KEY: &[u8] = b"\"step\":";
    line.windows(KEY.len()).any(|window| window == KEY)
        && serde_json::from_slice::<Head>(line).is_ok_and(|head| head.step.is_some())
}

/// Whether a record without a step is one of a flow: how a run of it began, or how it ended.
fn is_of_a_flow(record: &Record) -> bool {
    let is_about_the_run = match record.event {
        record::Event::RunStart | record::Event::RunResume => record.start.is_some(),
        record::Event::RunEnd => record.outcome.is_some(),
        event => event == record::Event::Cancel,
    };
    record.v == record::VERSION && is_about_the_run
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"v":1,"run":"r","t":0,"type":"run.start","ts":"","argv":["x"],"cwd":"/","pid":1,"policy":"","attempts":"unlimited","timeout_ns":null,"seed":0,"rules":[]}"#;

    fn log(bytes: impl AsRef<[u8]>) -> Log {
        read_lines(bytes.as_ref(), &mut Collector::default()).unwrap()
    }

    fn unreadable(lines: usize, first: usize) -> Log {
        Log { events: 2, unreadable: lines, first_unreadable: Some(first), ..Log::default() }
    }

    #[test]
    fn a_line_that_is_no_event_is_counted_and_the_rest_is_read() {
        let known = r#"{"v":1,"run":"r","t":0,"type":"run.end"}"#;
        let surrogate = START.replace("[\"x\"]", r#"["\ud800"]"#);
        for broken in ["no JSON", "{}", "[]", "7", "\0", &START[..40], known, &surrogate] {
            assert_eq!(log(format!("{START}\n{broken}\n{START}\n")), unreadable(1, 2), "{broken}");
            assert_eq!(log(format!("{START}\n{START}\n{broken}")), unreadable(1, 3), "{broken}");
        }
        let torn = format!("{START}\n{}{START}\n\n{}\n{START}", &START[..40], &START[1..]);
        assert_eq!(log(torn), unreadable(2, 2));
        assert_eq!(
            log([START.as_bytes(), b"\n\xff\xfe\n", START.as_bytes()].concat()),
            unreadable(1, 2)
        );
    }

    #[test]
    fn what_later_versions_add_is_no_mistake() {
        let more = START.replace("{\"v\"", r#"{"new":{"a":[1,null]},"v""#);
        let new = START.replace("run.start", "item.start");
        let text = format!("\u{feff}{START}\r\n\r\n  \n{more}\n{new}\n");
        assert_eq!(log(text), Log { events: 2, ..Log::default() });
        for version in ["0", "2", "4294967296"] {
            let other = START.replace("\"v\":1", &format!("\"v\":{version}"));
            let found = log(format!("{START}\n{other}\n{}", other.replace("run.start", "new")));
            assert_eq!(found, Log { events: 1, other_version: 2, ..Log::default() });
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out() {
        let padded = |length: usize| format!("{START}{}", " ".repeat(length - START.len()));
        let (fits, long) = (padded(LINE_MAX), padded(LINE_MAX + 1));
        assert_eq!(log(format!("{fits}\n{fits}")), Log { events: 2, ..Log::default() });
        assert_eq!(log(format!("{START}\n{long}\n{START}\n")), unreadable(1, 2));
        assert_eq!(log(format!("{START}\n{START}\n{long}{long}")), unreadable(1, 3));
    }

    #[test]
    fn the_types_are_those_of_the_events() {
        for kind in TYPES {
            let line = format!(r#"{{"v":1,"run":"r","t":0,"type":"{kind}"}}"#);
            let error = serde_json::from_str::<Line>(&line).unwrap_err().to_string();
            assert!(error.contains("missing field"), "{kind}: {error}");
        }
        let error =
            serde_json::from_str::<Line>(r#"{"v":1,"run":"r","t":0,"type":"?"}"#).unwrap_err();
        assert_eq!(error.to_string().matches('`').count(), 2 * (TYPES.len() + 1), "{error}");
    }
}
