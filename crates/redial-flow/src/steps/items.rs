//! The items of a map: what they are known by, and frozen as they were when the map began.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use siphasher::sip128::SipHasher13;

use super::error::Stopped;
use super::log::{File, Log, lock};
use super::run::Inner;
use super::store::apart;
use crate::journal::{Reading, Sync, Writer};
use crate::number;
use crate::store::StoreError;

/// A line of `items.ndjson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    /// The map.
    step: Box<str>,
    /// Its place in the list of items.
    item: u32,
    /// What it is called.
    pub(super) key: Box<str>,
    #[serde(with = "number::written")]
    value: Option<Json>,
}

/// The items of a map as they are frozen. Each is known by its text where that is a short one, else by a hash of its JSON; and by how
/// often that occurred before.
pub(super) fn known<I: Serialize>(items: &[I], map: &str) -> Result<Vec<Item>, Stopped> {
    let mut seen = HashMap::<String, u32>::new();
    let known = items.iter().zip(0..).map(|(value, item)| {
        let value = serde_json::to_value(value)?;
        let key = key(&value);
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        let key = if *count == 1 { key } else { format!("{key}#{count}") };
        Ok(Item { step: map.into(), item, key: key.into(), value: Some(value) })
    });
    known.collect::<Result<_, serde_json::Error>>().map_err(|error| Stopped::Value {
        of: format!("an item of `{map}`"),
        why: error.to_string(),
    })
}

fn key(value: &Json) -> String {
    const TEXT_MAX: usize = 60;
    let json = value.to_string();
    let plain = json.trim_matches('"');
    let is_plain = plain.len() <= TEXT_MAX && !plain.contains(['{', '[', '\\', '"', '#', '/']);
    match is_plain {
        true => plain.to_owned(),
        false => format!("{:032x}", SipHasher13::new().hash(json.as_bytes()).as_u128()),
    }
}

impl Inner {
    /// Writes the items of a map down before anything is done with them; or finds that they are those that were written down
    /// before. `begun`: how many items it has by the journal, if that knows of the map. Where it does not, a KILL may have left
    /// a part of them.
    pub(super) async fn freeze(
        &self,
        map: &str,
        items: &[Item],
        begun: Option<u32>,
    ) -> Result<(), Stopped> {
        let Some(log) = self.log() else { return std::future::pending().await };
        let frozen = match &*log {
            Log::Memory(memory) => {
                let mut kept = lock(&memory.items);
                let is_of_map = |item: &&Item| *item.step == *map;
                let frozen: Vec<_> = kept.iter().filter(is_of_map).cloned().collect();
                kept.extend_from_slice(missing(&frozen, items, begun));
                Ok(frozen)
            }
            Log::File(file) => {
                let (file, map, items) = (Arc::clone(file), map.to_owned(), items.to_vec());
                let frozen = apart(move || file.freeze(&map, &items, begun)).await;
                let gone = || std::io::Error::other("there can be no thread that writes items");
                frozen.unwrap_or_else(|| Err(Stopped::Write(Arc::new(gone()))))
            }
        }?;
        let why = match (begun, difference(&frozen, items, begun)) {
            (_, Some(why)) => why,
            (Some(_), None) if frozen.len() < items.len() => {
                let flaw = format!("items.ndjson does not have all items of `{map}`");
                return Err(StoreError::Damaged { path: (&*self.name).into(), flaw }.into());
            }
            _ => return Ok(()),
        };
        Err(Stopped::ChangedCode { run: self.name.to_string(), step: map.to_owned(), why })
    }
}

impl File {
    /// What is frozen of a map, to which it adds what is missing. Maps that run at the same time take turns.
    fn freeze(&self, map: &str, items: &[Item], begun: Option<u32>) -> Result<Vec<Item>, Stopped> {
        let path = lock(&self.items);
        let mut reading = Reading::<Item>::open(&*path)?;
        let mut frozen = Vec::new();
        for item in reading.by_ref() {
            let item = item?.record;
            if *item.step == *map {
                frozen.push(item);
            }
        }
        let missing = missing(&frozen, items, begun);
        if !missing.is_empty() {
            let end = reading.end().unwrap_or_default();
            let write = || Writer::open(&*path, end, Sync::Always)?.append(missing);
            write().map_err(|error| Stopped::Write(Arc::new(error)))?;
        }
        Ok(frozen)
    }
}

/// Those of the items that are still to be written down: none, where the map has begun, or they are others.
fn missing<'i>(frozen: &[Item], items: &'i [Item], begun: Option<u32>) -> &'i [Item] {
    match difference(frozen, items, begun).is_none() && begun.is_none() {
        true => items.get(frozen.len()..).unwrap_or_default(),
        false => &[],
    }
}

/// Why items are not those that were frozen.
fn difference(frozen: &[Item], items: &[Item], begun: Option<u32>) -> Option<String> {
    if let Some((was, now)) = frozen.iter().zip(items).find(|(was, now)| was != now) {
        return Some(format!("its item {} was {}, and now is {}", now.item, was.key, now.key));
    }
    let had = begun.map_or(frozen.len(), |begun| begun as usize);
    let is_other = had > items.len() || begun.is_some() && had < items.len();
    is_other.then(|| format!("it had {had} items, and now has {}", items.len()))
}
