//! The items of maps: read from where they come, frozen in `items.ndjson`, and kept in memory while they are under way.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::values::Values;
use super::{EngineError, ITEM_BYTES_MAX};
use crate::definition::OutputKind;
use crate::flow::{Place, StepId};
use crate::items::{BadItem, Format, Item, Items, Keys, Place as ItemPlace};
use crate::journal::{End, ReadError, Reading, Sync, Writer};
use crate::machine::{ItemState, Machine, Supply, TaskId};
use crate::prepared::{Prepared, ReadyAction, ReadyEach, ReadyOrigin};
use crate::store::Held;
use crate::{Value, number};

/// How much is read ahead, so that one sync of the items is for many of them.
const AHEAD_ITEMS: usize = 256;
const AHEAD_BYTES: usize = 1 << 20;

/// What [`Sources::next`] has found.
pub(super) enum Admitted {
    /// An item, by its number.
    Item(u32),
    /// One that was dead when the source began to be read again.
    Dead(u32),
    /// An item that is none: the stable name of why, and why.
    Bad(u32, &'static str, String),
    /// The source cannot be read further.
    Broken(String),
    /// The thread that reads has none yet.
    Later,
    /// There are no more.
    End,
}

/// A source, opened.
pub(super) enum Live {
    Direct(Box<dyn Iterator<Item = Result<Item, BadItem>>>),
    /// Read by a thread, because it may keep its reader waiting.
    Thread(Receiver<Result<Item, BadItem>>),
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Live")
    }
}

/// The line of an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Frozen {
    step: Box<str>,
    item: u32,
    key: Box<str>,
    fingerprint: Box<str>,
    #[serde(default, with = "number::written", skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_base64: Option<Box<str>>,
    /// Why it is no item, by a stable name and in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<Refused>,
}

type Refused = (Box<str>, Box<str>);

/// Takes over the items of some maps into the list of another run.
pub(super) fn copy(from: &Path, to: &Path, keeps: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let other = |error: ReadError| io::Error::other(error.to_string());
    let mut items = Writer::<Frozen>::open(to, End::default(), Sync::Always)?;
    let mut batch = Vec::new();
    for frozen in Reading::<Frozen>::open(from).map_err(other)? {
        let frozen = frozen.map_err(other)?.record;
        if keeps(&frozen.step) {
            batch.push(frozen);
        }
        if batch.len() == AHEAD_ITEMS {
            items.append(&batch)?;
            batch.clear();
        }
    }
    items.append(&batch)
}

/// The same without what it holds.
#[derive(Deserialize)]
struct Head {
    step: Box<str>,
    item: u32,
    fingerprint: Box<str>,
    #[serde(default)]
    refused: Option<serde::de::IgnoredAny>,
}

#[derive(Debug)]
pub(super) struct Sources {
    maps: HashMap<StepId, Map>,
    store: Option<Store>,
    waker: Option<(OwnedFd, OwnedFd)>,
}

#[derive(Debug)]
struct Store {
    items: Writer<Frozen>,
    pending: Vec<Frozen>,
    path: std::path::PathBuf,
}

#[derive(Debug)]
struct Map {
    name: Box<str>,
    keys: Keys,
    live: Option<Live>,
    /// The source has come to its end.
    is_over: bool,
    /// Its items are those that are frozen: what was standard input cannot be read again.
    is_closed: bool,
    /// It is read once more, to find what is new.
    is_again: bool,
    frozen: Option<Reading<Frozen>>,
    has_frozen: bool,
    /// Read, and not asked for yet.
    ahead: VecDeque<Ahead>,
    next: u32,
    active: HashMap<u32, Active>,
    bytes: usize,
    /// Those that are none: they have a number, and nothing that they could be known by.
    refused: BTreeSet<u32>,
    /// When it is read again, those that are not finished, and whether they are dead: the source has to have
    /// them still.
    wanted: BTreeMap<u32, bool>,
}

#[derive(Debug)]
enum Ahead {
    Item(u32),
    Dead(u32),
    Bad(u32, &'static str, String),
    Broken(String),
}

#[derive(Debug)]
struct Active {
    key: Box<str>,
    value: Value,
    refused: Option<Refused>,
    bytes: usize,
}

impl Sources {
    /// The sources of a flow, none of which is opened yet. Where there is a run, what was frozen of it is known.
    pub(super) fn new(
        prepared: &Prepared,
        held: Option<&Held>,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let mut maps = HashMap::new();
        for (step, id) in prepared.flow.steps.iter().zip(0..) {
            let ReadyAction::Each(each) = &prepared.step(id).action else { continue };
            maps.insert(id, Map::new(&step.name, each, seed));
        }
        let store = held.filter(|_| !maps.is_empty()).map(|held| {
            let path = held.items_path();
            let mut reading = Reading::<Head>::open(&path).map_err(EngineError::Journal)?;
            for head in reading.by_ref() {
                let head = head.map_err(|error| match error {
                    // What an item is stands nowhere else, so there is no going on without it.
                    ReadError::Damage(damage) => EngineError::System(format!(
                        "{damage}; bring the file back, or remove the run"
                    )),
                    error => EngineError::Journal(error),
                });
                let head = head?.record;
                let map = maps.values_mut().find(|map| map.name == head.step);
                let Some(map) = map else { continue };
                match u64::from_str_radix(&head.fingerprint, 16) {
                    _ if head.refused.is_some() => {
                        map.refused.insert(head.item);
                    }
                    Ok(fingerprint) => map.know(fingerprint, head.item),
                    Err(_) => {}
                }
                map.next = map.next.max(head.item + 1);
                map.has_frozen = true;
            }
            let end = reading.end().unwrap_or_default();
            let items = Writer::open(&path, end, Sync::Always).map_err(EngineError::Write)?;
            Ok::<_, EngineError>(Store { items, pending: Vec::new(), path })
        });
        let store = store.transpose()?;
        Ok(Self { maps, store, waker: None })
    }

    /// The descriptor that a thread makes readable when it has an item; none where nothing is read.
    pub(super) fn take_waker(&mut self) -> io::Result<Option<OwnedFd>> {
        if self.maps.is_empty() {
            return Ok(None);
        }
        let (ours, theirs) = io::pipe()?;
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        for end in [&ours, &theirs] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        let copy = ours.try_clone()?;
        self.waker = Some((copy, theirs));
        Ok(Some(ours))
    }

    /// All sources are read from their beginnings. An item that is not finished is run only if it is still
    /// there, so what is frozen is not read.
    pub(super) fn read_again(&mut self, machine: &Machine) {
        for (id, map) in &mut self.maps {
            (map.live, map.frozen, map.is_over, map.is_again) = (None, None, false, true);
            (map.is_closed, map.has_frozen) = (false, false);
            map.keys.start_over();
            let wanted = |item: u32| match machine.item(*id, item) {
                Some(ItemState::Dead) => Some((item, true)),
                Some(state) if state.is_finished() => None,
                _ => Some((item, false)),
            };
            let refused = &map.refused;
            let known = (0..map.next).filter(|item| !refused.contains(item));
            map.wanted = known.filter_map(wanted).collect();
        }
    }

    /// The maps, in the order of the flow.
    pub(super) fn maps(&self) -> BTreeSet<StepId> {
        self.maps.keys().copied().collect()
    }

    /// What was no item when it was read: it is told anew when the source is read again.
    pub(super) fn refused(&self, map: StepId) -> Vec<u32> {
        self.maps.get(&map).map_or(Vec::new(), |map| map.refused.iter().copied().collect())
    }

    /// How many items of a map were not run of which the run knows `known`, and whether these are all. The rest of the source is read
    /// for that, if nothing has to be waited for, and is not kept.
    pub(super) fn left(&mut self, map: StepId, known: u32) -> (u64, bool) {
        const COUNTED_MAX: u64 = 1_000_000;
        let Some(map) = self.maps.get_mut(&map) else { return (0, true) };
        let mut left = u64::from(map.next.saturating_sub(known));
        let mut live = map.live.take();
        while left < COUNTED_MAX {
            let item = match &mut live {
                Some(Live::Direct(items)) => items.next(),
                // How much of a pipe has come by now is chance.
                Some(Live::Thread(_)) => return (0, false),
                None => return (left, map.is_over || map.is_closed),
            };
            let Some(item) = item else { return (left, true) };
            left += u64::from(map.is_to_run(item));
        }
        (left, false)
    }

    /// Once a source was read again to its end, the items that it does not have any more, and for which
    /// nothing was done yet, with what they are called.
    pub(super) fn take_vanished(
        &mut self,
        id: StepId,
        machine: &Machine,
    ) -> BTreeMap<u32, Option<Box<str>>> {
        let Some(map) = self.maps.get_mut(&id) else { return BTreeMap::new() };
        let is_new =
            |item: &u32| machine.item(id, *item).is_none_or(|state| state == ItemState::New);
        let vanished = std::mem::take(&mut map.wanted).into_keys().filter(is_new);
        let mut vanished: BTreeMap<_, _> = vanished.map(|item| (item, None)).collect();
        let frozen = self.store.as_ref().filter(|_| !vanished.is_empty());
        let frozen = frozen.and_then(|store| Reading::<Frozen>::open(&store.path).ok());
        for frozen in frozen.into_iter().flatten().filter_map(Result::ok) {
            if let Some(key) = vanished.get_mut(&frozen.record.item)
                && frozen.record.step == map.name
            {
                *key = Some(frozen.record.key);
            }
        }
        vanished
    }

    /// Of a source that was read again, how many items it does not have any more.
    pub(super) fn vanished(&self) -> u64 {
        let again = self.maps.values().filter(|map| map.is_again && map.is_over);
        again.map(|map| map.keys.index().unseen().count() as u64).sum()
    }

    pub(super) fn count(&self, map: StepId) -> u32 {
        self.maps.get(&map).map_or(0, |map| map.next)
    }

    pub(super) fn item(&self, machine: &Machine, task: TaskId) -> Option<&Value> {
        self.active(machine, task).map(|active| &active.value)
    }

    pub(super) fn key(&self, machine: &Machine, task: TaskId) -> Option<&str> {
        self.active(machine, task).map(|active| &*active.key)
    }

    /// Why it is no item.
    pub(super) fn refusal(&self, machine: &Machine, task: TaskId) -> Option<&Refused> {
        self.active(machine, task).and_then(|active| active.refused.as_ref())
    }

    fn active(&self, machine: &Machine, task: TaskId) -> Option<&Active> {
        let Place::Inside(map) = machine.flow().steps[task.step as usize].place else {
            return None;
        };
        self.maps.get(&map)?.active.get(&task.item?)
    }

    /// Whether a map has another item, or has come to its end.
    pub(super) fn supply(&mut self, id: StepId) -> Supply {
        let Some(map) = self.maps.get_mut(&id) else { return Supply::End };
        if map.bytes > ITEM_BYTES_MAX && !map.active.is_empty() {
            return Supply::Later;
        }
        if map.has_frozen || map.live.is_none() && !map.is_over && !map.is_closed {
            return Supply::Item;
        }
        // One that is known already is no news, and the thread wakes nobody twice for what it has sent.
        if map.ahead.is_empty() && !map.is_over && !map.is_closed {
            map.read_ahead(&mut self.store);
        }
        match map.ahead.front() {
            Some(Ahead::Broken(_)) => Supply::End,
            Some(_) => Supply::Item,
            None if map.is_over || map.is_closed => Supply::End,
            None => Supply::Later,
        }
    }

    /// Opens the source of a map.
    pub(super) fn open(
        &self,
        map: StepId,
        prepared: &Prepared,
        values: &Values<'_>,
    ) -> Result<Live, String> {
        let ReadyAction::Each(each) = &prepared.step(map).action else {
            return Err("it is no map".into());
        };
        let selection = each.selection.clone();
        let select = |reader: Box<dyn Read + Send>, format: Format| {
            Live::Direct(Box::new(selection.clone().of(Items::new(reader, format))))
        };
        match &each.origin {
            ReadyOrigin::File(path) => {
                let path = path.argument(values).map_err(|error| error.to_string())?;
                let path = std::path::PathBuf::from(
                    <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(path),
                );
                let file = File::open(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                let metadata = file.metadata();
                if metadata.as_ref().is_ok_and(|file| file.is_dir()) {
                    return Err(format!("{} is a directory; name a file", path.display()));
                }
                match metadata.is_ok_and(|file| file.is_file()) {
                    true => Ok(select(Box::new(file), each.format.clone())),
                    // A pipe may keep its reader waiting.
                    false => Ok(self.in_thread(each, Box::new(file))),
                }
            }
            ReadyOrigin::Stdin => Ok(self.in_thread(each, Box::new(io::stdin()))),
            ReadyOrigin::Value(template) => {
                let stream = values.stream(template).map_err(|error| error.to_string())?;
                if let Some((reader, kind)) = stream {
                    let format = match kind {
                        OutputKind::Json => Format::Json(None),
                        _ => Format::Lines,
                    };
                    return Ok(select(Box::new(reader), format));
                }
                let value = template.value(values).map_err(|error| error.to_string())?;
                of_value(value, &each.selection)
            }
            ReadyOrigin::Once(json) => {
                of_value(Value::Json(Json::Array(vec![json.clone()])), &each.selection)
            }
        }
    }

    fn in_thread(&self, each: &ReadyEach, reader: Box<dyn Read + Send>) -> Live {
        let (send, receive) = sync_channel(AHEAD_ITEMS);
        let (selection, format) = (each.selection.clone(), each.format.clone());
        let waker = self.waker.as_ref().and_then(|(_, waker)| waker.try_clone().ok());
        std::thread::spawn(move || {
            let wake = || {
                // A full pipe wakes the reader as well.
                let _ = waker.as_ref().map(|waker| rustix::io::write(waker, &[0]));
            };
            for item in selection.of(Items::new(reader, format)) {
                if send.send(item).is_err() {
                    return;
                }
                wake();
            }
            drop(send);
            wake();
        });
        Live::Thread(receive)
    }

    pub(super) fn opened(&mut self, map: StepId, live: Live) {
        if let Some(map) = self.maps.get_mut(&map) {
            // It is read from its beginning: what is frozen is met again, and not for a second time.
            map.keys.start_over();
            map.live = Some(live);
        }
    }

    /// The next item of a map.
    pub(super) fn next(&mut self, id: StepId, machine: &Machine) -> io::Result<Admitted> {
        let Some(map) = self.maps.get_mut(&id) else { return Ok(Admitted::End) };
        loop {
            match map.ahead.pop_front() {
                Some(Ahead::Item(item)) => return Ok(Admitted::Item(item)),
                Some(Ahead::Dead(item)) => return Ok(Admitted::Dead(item)),
                Some(Ahead::Bad(item, name, message)) => {
                    return Ok(Admitted::Bad(item, name, message));
                }
                Some(Ahead::Broken(message)) => return Ok(Admitted::Broken(message)),
                None => {}
            }
            if map.has_frozen
                && let Some(store) = &self.store
            {
                if let Some(item) = map.thaw(id, store, machine)? {
                    return Ok(Admitted::Item(item));
                }
                continue;
            }
            if map.is_over || map.is_closed {
                return Ok(Admitted::End);
            }
            if map.live.is_none() {
                // The engine opens it, and asks again.
                return Ok(Admitted::End);
            }
            map.read_ahead(&mut self.store);
            if map.ahead.is_empty() && !map.is_over {
                return Ok(Admitted::Later);
            }
        }
    }

    /// Whether the frozen items of a map have been read, and its source has to be opened for more.
    pub(super) fn wants_opening(&self, id: StepId) -> bool {
        self.maps.get(&id).is_some_and(|map| {
            map.live.is_none()
                && !map.has_frozen
                && !map.is_over
                && !map.is_closed
                && map.ahead.is_empty()
        })
    }

    /// What was standard input of another process has no further items.
    pub(super) fn close_stdin(&mut self, prepared: &Prepared) {
        for (id, map) in &mut self.maps {
            if let ReadyAction::Each(each) = &prepared.step(*id).action
                && matches!(each.origin, ReadyOrigin::Stdin)
            {
                map.is_closed = true;
            }
        }
    }

    /// Makes sure that the item of a task is in memory: of one that is revived, it is read again.
    pub(super) fn ensure(&mut self, machine: &Machine, task: TaskId) -> io::Result<()> {
        let Place::Inside(id) = machine.flow().steps[task.step as usize].place else {
            return Ok(());
        };
        let (Some(map), Some(item), Some(store)) = (self.maps.get_mut(&id), task.item, &self.store)
        else {
            return Ok(());
        };
        if map.active.contains_key(&item) {
            return Ok(());
        }
        let reading = Reading::<Frozen>::open(&store.path).map_err(io::Error::other)?;
        for frozen in reading {
            let frozen = frozen.map_err(io::Error::other)?.record;
            if frozen.step == map.name
                && machine.item(id, frozen.item) == Some(ItemState::Active)
                && !map.active.contains_key(&frozen.item)
            {
                map.hold(frozen);
            }
        }
        Ok(())
    }

    /// An item is over: nobody needs it any more.
    pub(super) fn forget(&mut self, map: StepId, item: u32) {
        if let Some(map) = self.maps.get_mut(&map)
            && let Some(active) = map.active.remove(&item)
        {
            map.bytes -= active.bytes;
        }
    }

    /// Makes durable what was read since: before anything is written down that refers to it.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let Some(store) = self.store.as_mut().filter(|store| !store.pending.is_empty()) else {
            return Ok(());
        };
        store.items.append(&store.pending)?;
        store.pending.clear();
        Ok(())
    }
}

impl Map {
    fn new(name: &str, each: &ReadyEach, seed: u64) -> Self {
        Self {
            name: name.into(),
            keys: Keys::new(each.key.clone(), seed),
            live: None,
            is_over: false,
            is_closed: false,
            is_again: false,
            frozen: None,
            has_frozen: false,
            ahead: VecDeque::new(),
            next: 0,
            active: HashMap::new(),
            bytes: 0,
            refused: BTreeSet::new(),
            wanted: BTreeMap::new(),
        }
    }

    fn know(&mut self, fingerprint: u64, item: u32) {
        let index = self.keys.index_mut();
        index.set(fingerprint, item.saturating_add(1));
        index.see(fingerprint);
    }

    fn hold(&mut self, frozen: Frozen) {
        let value = match (frozen.value, frozen.value_base64) {
            (Some(json), _) => Value::Json(json),
            (None, Some(base64)) => {
                Value::of_bytes(BASE64_STANDARD.decode(&*base64).unwrap_or_default())
            }
            (None, None) => Value::Json(Json::Null),
        };
        self.insert(frozen.item, frozen.key, value, frozen.refused);
    }

    fn insert(&mut self, item: u32, key: Box<str>, value: Value, refused: Option<Refused>) {
        let bytes = value.bytes().len() + key.len() + size_of::<Active>();
        self.bytes += bytes;
        let before = self.active.insert(item, Active { key, value, refused, bytes });
        self.bytes -= before.map_or(0, |before| before.bytes);
    }

    /// The next item of those that were frozen; none where all have been read.
    fn thaw(&mut self, id: StepId, store: &Store, machine: &Machine) -> io::Result<Option<u32>> {
        let reading = match &mut self.frozen {
            Some(reading) => reading,
            none => none.insert(Reading::open(&store.path).map_err(io::Error::other)?),
        };
        for frozen in reading.by_ref() {
            let frozen = frozen.map_err(io::Error::other)?.record;
            if frozen.step != self.name {
                continue;
            }
            let item = frozen.item;
            let is_finished = machine.item(id, item).is_some_and(ItemState::is_finished);
            if !is_finished && !self.active.contains_key(&item) {
                self.hold(frozen);
            }
            return Ok(Some(item));
        }
        (self.frozen, self.has_frozen) = (None, false);
        Ok(None)
    }

    fn read_ahead(&mut self, store: &mut Option<Store>) {
        let mut bytes = self.bytes;
        let most = if store.is_some() { AHEAD_ITEMS } else { 1 };
        let most_bytes = bytes + AHEAD_BYTES;
        while self.ahead.len() < most && bytes < most_bytes {
            let item = match &mut self.live {
                Some(Live::Direct(items)) => items.next(),
                Some(Live::Thread(items)) => match items.try_recv() {
                    Ok(item) => Some(item),
                    Err(TryRecvError::Empty) => return,
                    Err(TryRecvError::Disconnected) => None,
                },
                None => None,
            };
            let Some(item) = item else {
                self.is_over = true;
                return;
            };
            self.take(item, store);
            bytes = self.bytes;
        }
    }

    /// Takes an item of the source: gives it its number and its key, and freezes it.
    fn take(&mut self, item: Result<Item, BadItem>, store: &mut Option<Store>) {
        let item = match item {
            Ok(item) => item,
            Err(bad) if bad.last => {
                self.is_over = true;
                return self.ahead.push_back(Ahead::Broken(format!("{}: {bad}", self.name)));
            }
            Err(bad) => return self.refuse("bad-item", bad.to_string(), store),
        };
        let key = match self.keys.key(&item.value) {
            Ok(key) => key,
            Err(bad) => {
                let message = format!("{}: {bad}", item.place);
                return self.refuse("bad-key", message, store);
            }
        };
        // Zero is what an item has that is new.
        if let Some(known @ 1..) = self.keys.index().get(key.fingerprint) {
            let number = known - 1;
            let Some(is_dead) = self.wanted.remove(&number) else { return };
            self.insert(number, key.text.into(), item.value, None);
            let again = if is_dead { Ahead::Dead } else { Ahead::Item };
            return self.ahead.push_back(again(number));
        }
        let Some(number) = self.number() else { return };
        self.keys.index_mut().set(key.fingerprint, number.saturating_add(1));
        if let Some(store) = store {
            store.pending.push(Frozen::new(
                &self.name,
                number,
                &key.text,
                key.fingerprint,
                &item.value,
            ));
        }
        self.insert(number, key.text.into(), item.value, None);
        self.ahead.push_back(Ahead::Item(number));
    }

    /// Whether an item of the source is one that the run has not finished.
    fn is_to_run(&mut self, item: Result<Item, BadItem>) -> bool {
        let key = item.ok().and_then(|item| self.keys.key(&item.value).ok());
        match key.and_then(|key| self.keys.index().get(key.fingerprint)) {
            Some(known @ 1..) => self.wanted.contains_key(&(known - 1)),
            _ => true,
        }
    }

    /// An item that is none has a number, too, so that it can be a dead letter.
    fn refuse(&mut self, name: &'static str, message: String, store: &mut Option<Store>) {
        let Some(number) = self.number() else { return };
        let key = format!("{}", u64::from(number) + 1);
        let value = Value::Json(Json::Null);
        let refused: Option<Refused> = Some((name.into(), message.as_str().into()));
        if let Some(store) = store {
            let frozen = Frozen::new(&self.name, number, &key, 0, &value);
            store.pending.push(Frozen { refused: refused.clone(), ..frozen });
        }
        self.insert(number, key.into(), value, refused);
        self.ahead.push_back(Ahead::Bad(number, name, message));
    }

    fn number(&mut self) -> Option<u32> {
        let number = self.next;
        match number.checked_add(1).filter(|next| *next < crate::items::Index::STATE_MAX) {
            Some(next) => {
                self.next = next;
                Some(number)
            }
            None => {
                let message = format!("{}: a map has at most 2^31 items", self.name);
                (self.is_over, self.live) = (true, None);
                self.ahead.push_back(Ahead::Broken(message));
                None
            }
        }
    }
}

impl Frozen {
    fn new(step: &str, item: u32, key: &str, fingerprint: u64, value: &Value) -> Self {
        let (value, value_base64) = match value {
            Value::Json(json) => (Some(json.clone()), None),
            Value::Bytes(bytes) => (None, Some(BASE64_STANDARD.encode(bytes).into())),
        };
        let fingerprint = format!("{fingerprint:016x}").into();
        let (step, key, refused) = (step.into(), key.into(), None);
        Self { step, item, key, fingerprint, value, value_base64, refused }
    }
}

/// The items of a value: the elements of a list, or the lines of a text.
fn of_value(value: Value, selection: &crate::items::Selection) -> Result<Live, String> {
    let item = |(at, json): (usize, Json)| {
        let number = at as u64 + 1;
        Ok(Item { number, place: ItemPlace::Nth(number), value: Value::Json(json) })
    };
    match value {
        Value::Json(Json::Array(list)) => {
            let items: Vec<_> = list.into_iter().enumerate().map(item).collect();
            Ok(Live::Direct(Box::new(selection.clone().of(items.into_iter()))))
        }
        Value::Json(Json::String(text)) => {
            let reader = io::Cursor::new(text.into_bytes());
            Ok(Live::Direct(Box::new(selection.clone().of(Items::new(reader, Format::Lines)))))
        }
        Value::Bytes(bytes) => {
            let reader = io::Cursor::new(bytes);
            Ok(Live::Direct(Box::new(selection.clone().of(Items::new(reader, Format::Lines)))))
        }
        Value::Json(other) => {
            let kind = match other {
                Json::Null => "null",
                Json::Bool(_) => "true or false",
                Json::Number(_) => "a number",
                Json::Object(fields) if number::of_fields(&fields).is_some() => "a number",
                _ => "an object",
            };
            Err(format!("its items would be those of {kind}; give a list, or text with lines"))
        }
    }
}
