//! The run of a Rust program, as its journal has it: steps that are known by the records of them alone.
//!
//! A program's steps are functions, and which of them it calls is for its code to say. So each call is a flow of one step for
//! the [machine](crate::machine), and a run's journal is the records of all of them. What is read here is what a program needs
//! to go on: the result of each step that succeeded, and the records of each that did not.
//!
//! Whoever has no such program can look at the run ([`history`](crate::history)), and [revive] or [drop](fn@drop) its dead letters: that
//! is written down, and the program acts on it when it next opens the run.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::time::Duration;

use redial_core::Time;
use serde_json::Value as Json;

use crate::definition::Definition;
use crate::journal::{self, ReadError, Sync};
use crate::record::{Event, Outcome, Record, Start};
use crate::run_clock;
use crate::store::{Held, Run, StoreError};

/// What the tasks of a map are called: the map's name and this.
const ITEM: &str = ".1";

/// The step that is done for each item of a map.
#[cfg(feature = "steps")]
pub(crate) fn item_step(map: &str) -> String {
    format!("{map}{ITEM}")
}

/// The map whose items a step is done for.
pub(crate) fn map_of(step: &str) -> Option<&str> {
    step.strip_suffix(ITEM)
}

/// What a journal says of one call of a step, or of a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Called {
    /// The number of its first record.
    first: u64,
    /// Those that the machine is to see again; none of a step that succeeded.
    pub(crate) records: Vec<Record>,
    /// What it gave, once it succeeded; of a map, nothing.
    pub(crate) result: Option<Json>,
    /// Whether it is a map.
    pub(crate) is_map: bool,
    /// The generation that it is in.
    pub(crate) generation: u32,
    /// It ran after a dead letter that was revived since, and so is to run again: it counts as not called.
    pub(crate) is_undone: bool,
}

/// What a journal says of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replay {
    /// How it began, or was taken up last, and when that was on its own clock.
    pub(crate) start: Option<(Box<Start>, Time)>,
    /// The time of its last record.
    pub(crate) time: Time,
    pub(crate) called: HashMap<Box<str>, Called>,
    /// What the function gave, where it has come to its end.
    pub(crate) result: Option<Json>,
    pub(crate) is_cancelled: bool,
    /// The dead letters, in the order in which they died, with the number of the record that says so.
    dead: Vec<(u64, Record)>,
    /// The texts of the errors of their last attempts.
    errors: HashMap<(Box<str>, Option<u32>), Box<str>>,
}

impl Replay {
    /// Adds the record of this number.
    pub(crate) fn add(&mut self, n: u64, record: Record) {
        self.time = self.time.max(record.time());
        match record.event {
            Event::RunStart | Event::RunResume => {
                let time = self.time;
                self.start = record.start.map(|start| (start, time)).or(self.start.take());
                self.result = None;
            }
            Event::RunEnd => {
                let has_succeeded = record.outcome == Some(Outcome::Succeeded);
                self.result = has_succeeded.then(|| record.output.unwrap_or_default());
            }
            Event::Cancel => self.is_cancelled = true,
            _ => self.add_of_step(n, record),
        }
    }

    fn add_of_step(&mut self, n: u64, record: Record) {
        let Some(step) = record.step.clone() else { return };
        let id = (step, record.item);
        let (step, item) = &id;
        let is_of =
            |dead: &(u64, Record)| dead.1.step.as_deref() == Some(&**step) && dead.1.item == *item;
        match record.event {
            Event::Dead => self.dead.push((n, record.clone())),
            Event::DeadDrop => self.dead.retain(|dead| !is_of(dead)),
            Event::DeadRetry => {
                let died = self.dead.iter().rfind(|dead| is_of(dead)).map(|(n, _)| *n);
                self.dead.retain(|dead| !is_of(dead));
                (self.result, self.is_cancelled) = (None, false);
                if let Some(died) = died {
                    self.undo_after(died);
                }
            }
            _ => {}
        }
        if let Some(error) = record.stderr_tail.clone() {
            self.errors.insert(id.clone(), error);
        }
        let is_map = record.event == Event::ItemsEnd || record.item.is_some();
        let name = record.item.and_then(|_| map_of(&id.0)).unwrap_or(&id.0);
        let called = self.called.entry(name.into()).or_insert_with(|| Called {
            first: n,
            is_map,
            ..Called::default()
        });
        if called.is_undone {
            *called =
                Called { first: n, is_map, generation: record.generation, ..Called::default() };
        }
        let has_succeeded =
            record.event == Event::AttemptEnd && record.outcome == Some(Outcome::Succeeded);
        if has_succeeded && !called.is_map {
            (called.result, called.generation) =
                (Some(record.output.unwrap_or_default()), record.generation);
            called.records = Vec::new();
        } else {
            called.records.push(record);
        }
    }

    /// What succeeded after a death may have been given what followed from it, and is undone with it. A map is not: its items
    /// are known by what they are.
    fn undo_after(&mut self, died: u64) {
        for called in self.called.values_mut() {
            if called.first > died && called.result.is_some() {
                let generation = called.generation + 1;
                *called = Called {
                    first: called.first,
                    generation,
                    is_undone: true,
                    ..Called::default()
                };
            }
        }
    }

    /// The steps that a revival of a dead letter undoes.
    fn undone_with(&self, died: u64) -> impl Iterator<Item = &str> {
        let follows = move |called: &&Called| called.first > died && called.result.is_some();
        self.called.iter().filter(move |(_, called)| follows(called)).map(|(name, _)| &**name)
    }

    /// The time now on the clock of the run, which has gone on by so much since it was taken up last.
    pub(crate) fn now(&self, since: impl Fn(&Start) -> Duration) -> Time {
        let start = self.start.as_ref();
        start.map_or(self.time, |(start, at)| at.after(since(start)).max(self.time))
    }

    /// The record that revives a dead letter, or drops it; none where there is no such one.
    pub(crate) fn record_of_dead(
        &self,
        run: &str,
        now: Time,
        event: Event,
        (step, item): (&str, Option<u32>),
    ) -> Option<Record> {
        let is_it = |dead: &Record| dead.step.as_deref() == Some(step) && dead.item == item;
        let (_, dead) = self.dead.iter().rfind(|(_, dead)| is_it(dead))?;
        let generation = dead.generation + u32::from(event == Event::DeadRetry);
        let record = Record::new(run, now.max(self.time), event);
        Some(Record { step: dead.step.clone(), item, key: dead.key.clone(), generation, ..record })
    }
}

#[cfg(feature = "steps")]
impl Replay {
    /// The dead letters: step, item, the record and the text of the last error.
    pub(crate) fn dead(&self) -> impl Iterator<Item = (&Record, Option<&str>)> {
        self.dead.iter().map(|(_, record)| (record, self.error_of(record)))
    }

    fn error_of(&self, record: &Record) -> Option<&str> {
        let id = (record.step.clone()?, record.item);
        self.errors.get(&id).map(|error| &**error)
    }

    /// The seed of the run.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.start.as_ref().map(|(start, _)| start.seed)
    }
}

/// Why nothing can be written down about a dead letter of a program's run.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProgramError {
    /// The journal cannot be read.
    Journal(ReadError),
    /// There is no such dead letter.
    NotDead {
        /// Its step.
        step: String,
        /// Its item, by its place in the list of items.
        item: Option<u32>,
    },
    /// It cannot be written down.
    Write(io::Error),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Journal(error) => error.fmt(f),
            Self::NotDead { step, item: None } => {
                write!(f, "`{step}` is no dead letter; list those that there are")
            }
            Self::NotDead { step, item: Some(item) } => {
                write!(f, "item {item} of `{step}` is no dead letter; list those that there are")
            }
            Self::Write(error) => write!(f, "{error}; make room, and try again"),
        }
    }
}

impl std::error::Error for ProgramError {}

/// Whether the steps of a run are functions of a Rust program.
///
/// # Errors
/// Where what it pinned cannot be read.
pub fn is_program(run: &Run) -> Result<bool, StoreError> {
    let pinned = run.flow()?;
    Ok(serde_json::from_slice(&pinned).is_ok_and(|pinned: Definition| pinned.program))
}

/// Writes down that nothing more of the run is wanted: the program refuses to go on with it.
///
/// # Errors
/// Where the journal cannot be read or written.
pub fn cancel(held: &Held) -> Result<(), ProgramError> {
    let (replay, end) = read(held).map_err(ProgramError::Journal)?;
    let record = Record::new(held.name().as_str(), replay.now(run_clock::since), Event::Cancel);
    let mut journal = held.journal(end, Sync::Always).map_err(ProgramError::Write)?;
    journal.append(&[record]).map_err(ProgramError::Write)
}

/// Writes down that dead letters are to be tried anew, each a step and an item; the program does so when it next opens the
/// run. Gives the names of the steps that then run again with them, because they ran after one of them had given up.
///
/// # Errors
/// Where the journal cannot be read or written, or there is no such dead letter; then nothing is written.
pub fn revive(held: &Held, tasks: &[(String, Option<u32>)]) -> Result<Vec<String>, ProgramError> {
    write_of_dead(held, tasks, Event::DeadRetry)
}

/// Writes down that dead letters are not wanted any more. The steps stay failed.
///
/// # Errors
/// As [`revive`].
pub fn drop(held: &Held, tasks: &[(String, Option<u32>)]) -> Result<(), ProgramError> {
    write_of_dead(held, tasks, Event::DeadDrop).map(std::mem::drop)
}

fn write_of_dead(
    held: &Held,
    tasks: &[(String, Option<u32>)],
    event: Event,
) -> Result<Vec<String>, ProgramError> {
    let (replay, end) = read(held).map_err(ProgramError::Journal)?;
    let now = replay.now(run_clock::since);
    let mut records = Vec::new();
    let mut undone = Vec::new();
    for (step, item) in tasks {
        let not_dead = || ProgramError::NotDead { step: step.clone(), item: *item };
        let record = replay.record_of_dead(held.name().as_str(), now, event, (step, *item));
        records.push(record.ok_or_else(not_dead)?);
        let died = replay.dead.iter().rfind(|(_, dead)| dead.step.as_deref() == Some(step));
        undone
            .extend(died.into_iter().flat_map(|(n, _)| replay.undone_with(*n)).map(str::to_owned));
    }
    undone.sort_unstable();
    undone.dedup();
    let mut journal = held.journal(end, Sync::Always).map_err(ProgramError::Write)?;
    journal.append(&records).map_err(ProgramError::Write)?;
    Ok(undone)
}

/// Reads the journal of a run, and where it ends.
pub(crate) fn read(run: &Run) -> Result<(Replay, journal::End), ReadError> {
    let mut replay = Replay::default();
    let mut reading = run.read_journal::<Record>()?;
    for entry in reading.by_ref() {
        let entry = entry?;
        replay.add(entry.n, entry.record);
    }
    Ok((replay, reading.end().unwrap_or_default()))
}
