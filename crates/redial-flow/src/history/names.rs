//! What dead letters are called, for the completions of shells: in the time that a key takes.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};

use memchr::memmem::Finder;
use serde::Deserialize;

use crate::journal::{LINE_MAX, number};
use crate::record::Event;
use crate::store::Run;
use crate::system;

/// How many dead letters are looked at: beyond it, memory would not be bounded.
const KNOWN_MAX: usize = 100_000;

/// What a record of a dead letter has to say here.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type")]
    event: Event,
    step: Box<str>,
    item: Option<u32>,
    key: Option<Box<str>>,
}

/// The names of dead letters that begin with `prefix`, at most `most` of them, as
/// [`named`](super::History::named) reads them: a key, the place of an item, the name of a step; `STEP/KEY` where two
/// have the same name, or where the prefix has a step.
///
/// Only the records of dead letters are parsed, and what is damaged is passed over.
///
/// # Errors
/// If the journal cannot be read.
pub fn dead_names(run: &Run, prefix: &str, most: usize) -> io::Result<Vec<String>> {
    let file = system::open(&run.journal_path(), OpenOptions::new().read(true))?;
    let mut journal = BufReader::with_capacity(1 << 17, file);
    let of_dead_letter = Finder::new(br#""type":"dead"#);
    // By step and item, in the order in which they gave up.
    let mut places: HashMap<(Box<str>, Option<u32>), usize> = HashMap::new();
    let mut names: BTreeMap<usize, Named> = BTreeMap::new();
    let mut line = Vec::new();
    let mut at = 0;
    loop {
        line.clear();
        if journal.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        // Nearly all lines are of attempts, and are not parsed.
        if of_dead_letter.find(&line).is_none() || number(&line).is_none() {
            continue;
        }
        let Ok(record) = serde_json::from_slice::<Line>(&line) else { continue };
        let place = (record.step.clone(), record.item);
        if let Some(before) = places.remove(&place) {
            names.remove(&before);
        }
        let Some(name) = Named::of(record, prefix).filter(|_| names.len() < KNOWN_MAX) else {
            continue;
        };
        places.insert(place, at);
        names.insert(at, name);
        at += 1;
    }
    let mut times: HashMap<&str, u32> = HashMap::new();
    for named in names.values() {
        *times.entry(&named.name).or_default() += 1;
    }
    let word = |named: &Named| match times[&*named.name] == 1 && named.name.starts_with(prefix) {
        true => named.name.to_string(),
        false => format!("{}/{}", named.step, named.name),
    };
    // What two have in common may be another name than the one that was typed.
    let words = names.values().map(word).filter(|word| word.starts_with(prefix));
    Ok(words.take(most).collect())
}

struct Named {
    step: Box<str>,
    name: Box<str>,
}

impl Named {
    /// A dead letter that the prefix may mean; none of what is no dead letter any more.
    fn of(record: Line, prefix: &str) -> Option<Self> {
        let Line { event: Event::Dead, step, item, key } = record else { return None };
        let place = item.map(|item| item.to_string().into());
        let name = key.or(place).unwrap_or_else(|| step.clone());
        let within = prefix.strip_prefix(&*step).and_then(|rest| rest.strip_prefix('/'));
        let is_meant = name.starts_with(prefix)
            || within.is_some_and(|within| item.is_some() && name.starts_with(within));
        is_meant.then_some(Self { step, name })
    }
}
