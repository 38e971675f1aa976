//! The machine that says what comes next. It does no I/O, and has neither a clock nor chance: records are
//! applied to it, and it answers what to do.
//!
//! Whoever drives it writes down every record before it acts on it. So what a run has come to is what its
//! records say: a crash can be tried after each of them, and a run is replayed by applying them again.

mod attempts;
mod dead;
mod ends;
mod impossible;
mod items;
mod maps;
mod queue;
mod rate;
mod shared;
mod skipped;
mod state;
mod task;
mod view;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use redial_core::Time;
use serde_json::Value as Json;

pub use self::attempts::MAY_HAVE_SUCCEEDED;
pub use self::impossible::Impossible;
use self::impossible::impossible;
pub use self::maps::{BAD_SOURCE, FAILURES_MAX};
use self::rate::Pacer;
use self::shared::Shared;
pub use self::skipped::{BAD_VALUE, NEEDS_SKIPPED};
pub use self::state::{Counts, End, ItemState};
use self::state::{Map, State};
use self::task::{Queued, Task};
use crate::flow::{Flow, Place, Step, StepId};
use crate::record::{Event, Outcome, Record};

/// How many items of a map are under way at most: running, waiting for an attempt, or undecided. Beyond it
/// no new one is read, so that a source of any length takes bounded memory.
pub const WINDOW: u32 = 10_000;

/// A step in a run; in a map, one for each item and inner step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    /// The step.
    pub step: StepId,
    /// The item, by its place in the list of items.
    pub item: Option<u32>,
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Write this record down, and apply it.
    Write(Box<Record>),
    /// Start an attempt of this task: write down `attempt.start`, or why there is no attempt.
    Start(TaskId),
    /// Read the next item of this map, and [admit](Machine::admit) it; or write down `items.end`.
    Read(StepId),
    /// Nothing, before an attempt ends or this time comes.
    Wait(Option<Time>),
    /// Nothing at all.
    Over,
}

/// What the source of a map has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// Another item.
    Item,
    /// None: it has come to its end.
    End,
    /// That is not known yet.
    Later,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Machine {
    flow: Arc<Flow>,
    run: Box<str>,
    seed: u64,
    names: HashMap<Box<str>, StepId>,
    /// The maps, and the first step of each; the highest priority first.
    maps: Vec<(StepId, StepId)>,
    steps: Vec<State>,
    tasks: HashMap<TaskId, Task>,
    /// Tasks whose failure is still to be decided, or whose end is still to be written down.
    unsettled: VecDeque<TaskId>,
    /// Maps that may have come to a bad end, which is still to be written down.
    ending: BTreeSet<StepId>,
    /// Steps whose queues are not empty.
    queued: BTreeSet<StepId>,
    /// The time of the last record.
    time: Time,
    sequence: u64,
    running: u32,
    is_cancelled: bool,
    /// Steps of items that have failed, where the item goes on; of an item, until it is over and not dead.
    continued: BTreeSet<TaskId>,
    /// The same of steps that were skipped.
    skipped: BTreeSet<TaskId>,
    /// The arms that branches have taken; of an item, until it is over and not dead.
    taken: HashMap<TaskId, StepId>,
}

impl Machine {
    /// A run of which nothing has happened yet.
    pub fn new(flow: Arc<Flow>, run: &str, seed: u64) -> Self {
        let names = flow.steps.iter().zip(0..).map(|(step, id)| (step.name.as_str().into(), id));
        let names = names.collect();
        let state = |step: &Step| State {
            pacer: step.rate.map(Pacer::new),
            shared: Shared::new(step),
            ..State::default()
        };
        let steps = flow.steps.iter().map(state).collect();
        let first = |(step, id): (&Step, StepId)| match step.place {
            Place::Map { first, .. } => Some((id, first)),
            _ => None,
        };
        let mut maps: Vec<_> = flow.steps.iter().zip(0..).filter_map(first).collect();
        maps.sort_by_key(|(_, first)| Reverse(flow.steps[*first as usize].priority));
        let mut machine = Self {
            flow,
            run: run.into(),
            seed,
            names,
            maps,
            steps,
            tasks: HashMap::new(),
            unsettled: VecDeque::new(),
            ending: BTreeSet::new(),
            queued: BTreeSet::new(),
            time: Time::ZERO,
            sequence: 0,
            running: 0,
            is_cancelled: false,
            continued: BTreeSet::new(),
            skipped: BTreeSet::new(),
            taken: HashMap::new(),
        };
        machine.open();
        machine
    }

    /// A step that nothing has happened to yet is one that was done before, in an earlier generation, and is done anew.
    pub fn set_generation(&mut self, step: StepId, generation: u32) {
        self.steps[step as usize].generation = generation;
        if let Some(task) = self.tasks.get_mut(&TaskId { step, item: None }) {
            task.generation = generation;
        }
    }

    /// A record of this run about a task.
    pub fn record(&self, now: Time, event: Event, task: TaskId) -> Record {
        let mut record = Record::new(&self.run, now.max(self.time), event);
        record.step = Some(self.flow.steps[task.step as usize].name.as_str().into());
        record.item = task.item;
        record.generation = self.generation(task);
        record
    }

    /// The record of an attempt that starts now.
    pub fn attempt_start(&self, now: Time, task: TaskId) -> Record {
        let attempt = self.attempts(task) + 1;
        Record { attempt: Some(attempt), ..self.record(now, Event::AttemptStart, task) }
    }

    /// The record of a branch that takes this arm, or none.
    pub fn branch_end(&self, now: Time, branch: TaskId, arm: Option<StepId>) -> Record {
        let name = |arm: StepId| self.flow.steps[arm as usize].name.as_str().into();
        let outcome = arm.map_or(Outcome::Skipped, |_| Outcome::Succeeded);
        let record = self.record(now, Event::StepEnd, branch);
        Record { outcome: Some(outcome), arm: arm.map(name), ..record }
    }

    /// The record of a step whose value is computed.
    pub fn value_end(&self, now: Time, task: TaskId, value: Json) -> Record {
        let record = self.record(now, Event::StepEnd, task);
        Record { outcome: Some(Outcome::Succeeded), output: Some(value), ..record }
    }

    /// What to do next. `has_slot` says whether another attempt could be started; `supply`, whether a map
    /// has another item: it is asked only where one could be started, now or when its rate allows it.
    pub fn next(
        &mut self,
        now: Time,
        has_slot: bool,
        supply: &mut dyn FnMut(StepId) -> Supply,
    ) -> Next {
        if let Some(task) = self.unsettled.front() {
            return Next::Write(Box::new(self.settle(*task, now)));
        }
        if let Some(record) = self.bad_end(now) {
            return Next::Write(Box::new(record));
        }
        if self.is_over() {
            return Next::Over;
        }
        if !has_slot || self.is_cancelled {
            // Only the end of an attempt makes a difference.
            return Next::Wait(None);
        }
        let mut wake = None;
        let mut best: Option<Queued> = None;
        for step in self.queued.iter().copied().collect::<Vec<_>>() {
            let Some(queued) = self.head(step) else { continue };
            let at = self.start_at(step, queued.due.max(now));
            if let Some(stop) = self.never_starts(&queued, at, now) {
                let record = self.gave_up(queued.task, now, Outcome::Failed, stop.name());
                return Next::Write(Box::new(record));
            }
            match at {
                Some(at) if at <= now => {
                    if best.as_ref().is_none_or(|first| queued.rank() < first.rank()) {
                        best = Some(queued);
                    }
                }
                at => wake = earlier(wake, at),
            }
        }
        // An item that is still to be read starts before what is ready and has a lower priority.
        for (map, first) in self.readable(best.map(|queued| queued.priority.0)) {
            let Some(at) = self.start_at(first, now) else { continue };
            match supply(map) {
                Supply::Later => {}
                // That there is no other item needs no place in the rate.
                Supply::End => return Next::Read(map),
                Supply::Item if at <= now => return Next::Read(map),
                Supply::Item => wake = earlier(wake, Some(at)),
            }
        }
        match best {
            Some(queued) => Next::Start(queued.task),
            None => Next::Wait(wake),
        }
    }

    /// Applies what was written down.
    ///
    /// # Errors
    /// Where no run can have written it. What was applied before stays as it was.
    pub fn apply(&mut self, record: &Record) -> Result<(), Impossible> {
        let time = record.time().max(self.time);
        match record.event {
            Event::RunStart | Event::RunResume => {
                if let Some(start) = &record.start {
                    self.seed = start.seed;
                }
            }
            Event::RunEnd => {}
            Event::Cancel => self.is_cancelled = true,
            Event::ItemsEnd => self.items_ended(record, time)?,
            Event::AttemptStart => self.attempt_started(record, time)?,
            Event::AttemptEnd => self.attempt_ended(record, time)?,
            Event::Decision => self.decided(record, time)?,
            Event::StepEnd => {
                let end = match record.outcome {
                    Some(Outcome::Succeeded) => End::Succeeded,
                    Some(Outcome::Skipped) => End::Skipped,
                    Some(Outcome::Recovered) => End::Recovered,
                    Some(Outcome::Failed) => End::Continued,
                    _ => return Err(impossible(record, "it has no such outcome")),
                };
                self.over_without_success(record, time, end)?;
            }
            Event::Dead => self.over_without_success(record, time, End::Dead)?,
            Event::DeadRetry => self.revive(record, time)?,
            Event::DeadDrop => self.drop_dead(record, time)?,
        }
        self.time = time;
        Ok(())
    }
}

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    [one, other].into_iter().flatten().min()
}
