//! A run that goes on under another flow: a run of its own, which takes over from the one before what has succeeded and would
//! come to the same.
//!
//! What is taken over is its records, as they are, and what they refer to. So the new run is what it would be if it had been
//! killed after them: it is resumed like any other, on the same clock, with the same seed.

mod unchanged;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;

use self::unchanged::Unchanged;
use super::{EngineError, sources};
use crate::definition::{Action, Definition, Step};
use crate::journal::{End as JournalEnd, Sync, Writer};
use crate::machine::{End, Machine};
use crate::prepared::Prepared;
use crate::record::{Event, Outcome, Record};
use crate::store::{Run, RunName, Store, StoreError};

/// How many records are written at once.
const BATCH: usize = 1000;

/// What another run takes over.
#[derive(Debug)]
pub struct Takeover {
    from: Run,
    kept: Kept,
    tasks: u64,
    again: Vec<String>,
    twice: Vec<String>,
    is_over: bool,
}

/// How the new run begins.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// Its flow, as it is pinned.
    pub flow: Vec<u8>,
    /// What is run, as it was called.
    pub argv: Vec<String>,
    /// What the command line says of how it is run.
    pub said: serde_json::Value,
}

/// Which records are kept.
#[derive(Debug, Default)]
struct Kept {
    /// Steps by themselves, and maps with all that is in them.
    whole: HashSet<String>,
    maps: Vec<Map>,
    /// The map of an inner step, and its place among those inside.
    inner: HashMap<String, (usize, u32)>,
}

/// A map whose items are taken over.
#[derive(Debug)]
struct Map {
    name: String,
    /// Its source is what it was, and so are its items.
    is_kept: bool,
    /// So many of its inner steps are as they were.
    unchanged: u32,
    /// How many of them are done, for each item.
    done: Vec<u32>,
    /// Items that went on without something: what follows that is done again.
    stuck: BTreeSet<u32>,
}

impl Takeover {
    /// Reads a run, and decides what of it holds in this flow. The run has to be held.
    ///
    /// # Errors
    /// Where the run cannot be read, or has what no run writes.
    pub fn new(from: &Run, now: &Definition) -> Result<Self, EngineError> {
        let pinned = from.flow()?;
        let before: Definition = serde_json::from_slice(&pinned).map_err(|error| {
            EngineError::System(format!("{}: flow.json: {error}", from.path().display()))
        })?;
        if before.program {
            return Err(EngineError::Program { run: from.name().to_string() });
        }
        let prepared = Prepared::new(before).map_err(EngineError::Definition)?;
        let mut machine = Machine::new(prepared.flow.clone(), from.name().as_str(), 0);
        let mut kept = Kept::of(&prepared.definition, now);
        for entry in from.read_journal::<Record>().map_err(EngineError::Journal)? {
            let record = entry.map_err(EngineError::Journal)?.record;
            machine.apply(&record).map_err(EngineError::Impossible)?;
            kept.note(&record);
        }
        kept.settle(&prepared, now, &machine);
        let mut takeover = Self {
            from: from.clone(),
            kept,
            tasks: 0,
            again: Vec::new(),
            twice: Vec::new(),
            is_over: machine.is_over(),
        };
        takeover.look_again(&prepared.definition, now, &machine)?;
        Ok(takeover)
    }

    /// How many tasks have succeeded and do not run again.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    /// The steps that have succeeded and run again: they have changed, or what they need has.
    pub fn again(&self) -> &[String] {
        &self.again
    }

    /// Those of the steps that must not run twice (`idempotent: false`) which may have succeeded and would run again.
    pub fn twice(&self) -> &[String] {
        &self.twice
    }

    /// Whether nothing more is done in the run that is taken over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Makes the new run, which is there in whole or not at all.
    ///
    /// # Errors
    /// Where there is a run of that name, or it cannot be written.
    pub fn make(
        &self,
        store: &Store,
        name: &RunName,
        beginning: &Beginning,
    ) -> Result<Run, StoreError> {
        store.create_with(name, &beginning.flow, |run| self.fill(run, beginning))
    }

    fn fill(&self, run: &Run, beginning: &Beginning) -> io::Result<()> {
        let segments = match fs::read_dir(self.from.out_path()) {
            // Who reads an output that is gone is told so.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            segments => Some(segments?),
        };
        for segment in segments.into_iter().flatten() {
            let segment = segment?;
            let copy = run.out_path().join(segment.file_name());
            fs::copy(segment.path(), &copy)?;
            File::open(copy)?.sync_all()?;
        }
        let keeps = |step: &str| self.kept.has_items_of(step);
        sources::copy(&self.from.items_path(), &run.items_path(), &keeps)?;
        let end = JournalEnd::default();
        let mut writer = Writer::<Record>::open(run.journal_path(), end, Sync::Always)?;
        let mut batch = Vec::with_capacity(BATCH);
        let other = |error: crate::journal::ReadError| io::Error::other(error.to_string());
        for entry in self.from.read_journal::<Record>().map_err(other)? {
            let mut record = entry.map_err(other)?.record;
            if !self.kept.holds(&record) {
                continue;
            }
            record.run = run.name().as_str().into();
            if let (Event::RunStart, Some(start)) = (record.event, &mut record.start) {
                start.flow_crc = Some(crc32fast::hash(&beginning.flow));
                (start.argv, start.said) = (beginning.argv.clone(), beginning.said.clone());
            }
            batch.push(record);
            if batch.len() == BATCH {
                writer.append(&batch)?;
                batch.clear();
            }
        }
        writer.append(&batch)
    }

    /// Reads the journal once more: what is kept has to be what a run of the new flow can have written.
    fn look_again(
        &mut self,
        before: &Definition,
        now: &Definition,
        old: &Machine,
    ) -> Result<(), EngineError> {
        let prepared = Prepared::new(now.clone()).map_err(EngineError::Definition)?;
        let mut machine = Machine::new(prepared.flow, self.from.name().as_str(), 0);
        let (mut again, mut twice) = (BTreeSet::new(), BTreeSet::new());
        for entry in self.from.read_journal::<Record>().map_err(EngineError::Journal)? {
            let record = entry.map_err(EngineError::Journal)?.record;
            let has_succeeded =
                record.event == Event::AttemptEnd && record.outcome == Some(Outcome::Succeeded);
            if self.kept.holds(&record) {
                machine.apply(&record).map_err(EngineError::Impossible)?;
                self.tasks += u64::from(has_succeeded);
                continue;
            }
            let Some(step) = &record.step else { continue };
            if has_succeeded {
                again.insert(step.to_string());
            }
            let may_have = record.outcome.is_some_and(Outcome::may_have_succeeded);
            if has_succeeded || record.event == Event::AttemptEnd && may_have {
                twice.insert(step.to_string());
            }
        }
        let flow = old.flow();
        twice.extend(
            old.open_attempts().iter().map(|task| flow.steps[task.step as usize].name.clone()),
        );
        let is_there = |name: &String| now.steps.iter().any(|step| step.name == *name);
        let is_once = |name: &String| {
            let mut steps = before.steps.iter().chain(&now.steps);
            steps.any(|step| step.name == *name && !step.idempotent)
        };
        self.again = again.into_iter().filter(is_there).collect();
        self.twice = twice.into_iter().filter(|name| is_there(name) && is_once(name)).collect();
        Ok(())
    }
}

impl Kept {
    /// What may be kept, as far as the flows say.
    fn of(before: &Definition, now: &Definition) -> Self {
        let unchanged = Unchanged::new(before, now);
        let mut kept = Self::default();
        for step in before.steps.iter().filter(|step| step.inside.is_none()) {
            if !unchanged.holds(step) {
                continue;
            }
            kept.whole.insert(step.name.clone());
            if let Action::Each(_) = step.action {
                let map = kept.maps.len();
                let inside = inside(before, &step.name).zip(inside(now, &step.name));
                let same = inside
                    .take_while(|(before, now)| before.name == now.name && unchanged.holds(before));
                let places = same.zip(0..);
                kept.inner
                    .extend(places.map(|((step, _), place)| (step.name.clone(), (map, place))));
                let count = kept.inner.values().filter(|(of, _)| *of == map).count() as u32;
                let name = step.name.clone();
                let (is_kept, done, stuck) = (true, Vec::new(), BTreeSet::new());
                kept.maps.push(Map { name, is_kept, unchanged: count, done, stuck });
            }
        }
        kept
    }

    /// What a record says of how far an item has come.
    fn note(&mut self, record: &Record) {
        let place = record.step.as_deref().and_then(|step| self.inner.get(step));
        let (Some((map, place)), Some(item)) = (place, record.item) else { return };
        let map = &mut self.maps[*map];
        match (record.event, record.outcome) {
            (Event::AttemptEnd, Some(Outcome::Succeeded))
            | (Event::StepEnd, Some(Outcome::Succeeded | Outcome::Skipped))
                if !map.stuck.contains(&item) =>
            {
                let length = map.done.len().max(item as usize + 1);
                map.done.resize(length, 0);
                map.done[item as usize] = place + 1;
            }
            (Event::StepEnd, Some(Outcome::Recovered | Outcome::Failed)) => {
                map.stuck.insert(item);
            }
            _ => {}
        }
    }

    /// What is kept, as what the run has come to says: a step only with all that it needs.
    fn settle(&mut self, prepared: &Prepared, now: &Definition, machine: &Machine) {
        let before = &prepared.definition;
        let steps: HashMap<&str, &Step> =
            before.steps.iter().map(|step| (step.name.as_str(), step)).collect();
        let ended = |name: &str| prepared.named(name).and_then(|id| machine.end(id));
        self.whole.retain(|name| matches!(ended(name), Some(End::Succeeded | End::Skipped)));
        loop {
            let size = self.size();
            let whole = self.whole.clone();
            let has_needs = |step: &Step| {
                let is_inside =
                    |name: &str| steps.get(name).is_some_and(|step| step.inside.is_some());
                let mut needs = step.needs.iter().map(|need| &need.step);
                needs.all(|name| is_inside(name) || whole.contains(name))
            };
            for map in &mut self.maps {
                map.is_kept &= steps.get(map.name.as_str()).is_some_and(|step| has_needs(step));
                let inner = inside(before, &map.name).take(map.unchanged as usize);
                let same = inner.take_while(|step| map.is_kept && has_needs(step)).count();
                map.unchanged = same as u32;
                let counts = prepared.named(&map.name).map(|id| machine.counts(id));
                let is_done = counts.is_some_and(|counts| counts.known == counts.succeeded);
                let counts = [before, now].map(|flow| inside(flow, &map.name).count());
                let is_whole = is_done && map.stuck.is_empty() && counts == [same; 2];
                if !is_whole && ended(&map.name) != Some(End::Skipped) {
                    self.whole.remove(&map.name);
                }
            }
            self.whole.retain(|name| steps.get(name.as_str()).is_some_and(|step| has_needs(step)));
            if size == self.size() {
                return;
            }
        }
    }

    /// It only ever gets less.
    fn size(&self) -> (usize, usize, u32) {
        let kept = self.maps.iter().filter(|map| map.is_kept).count();
        (self.whole.len(), kept, self.maps.iter().map(|map| map.unchanged).sum())
    }

    /// The map whose items are kept, of this name.
    fn has_items_of(&self, name: &str) -> bool {
        self.maps.iter().any(|map| map.is_kept && map.name == name)
    }

    /// Whether the new run has this record.
    fn holds(&self, record: &Record) -> bool {
        let Some(step) = record.step.as_deref() else { return record.event != Event::Cancel };
        if let (Some((map, place)), Some(item)) = (self.inner.get(step), record.item) {
            let map = &self.maps[*map];
            let done = map.done.get(item as usize).copied().unwrap_or(0);
            return *place < done.min(map.unchanged);
        }
        let is_whole = self.whole.contains(step);
        let is_read = record.event == Event::ItemsEnd && record.reason.is_none();
        is_whole || is_read && self.has_items_of(step)
    }
}

/// The steps that are done for each item of a map.
fn inside<'d>(flow: &'d Definition, map: &'d str) -> impl Iterator<Item = &'d Step> {
    flow.steps.iter().filter(move |step| step.inside.as_deref() == Some(map))
}
