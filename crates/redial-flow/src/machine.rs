//! The machine that says what comes next. It does no I/O, and has neither a clock nor chance: records are
//! applied to it, and it answers what to do.
//!
//! Whoever drives it writes down every record before it acts on it. So what a run has come to is what its
//! records say: a crash can be tried after each of them, and a run is replayed by applying them again.

mod maps;
mod rate;
mod shared;
mod skipped;
mod task;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

use redial_core::{BreakerSnapshot, BudgetSnapshot, Call, Decision, SplitMix64, Stop, Time};

pub use self::maps::{BAD_SOURCE, FAILURES_MAX};
use self::rate::Pacer;
use self::shared::{Asked, Report, Shared};
pub use self::skipped::NEEDS_SKIPPED;
use self::skipped::NotRun;
use self::task::{Phase, Queued, Task};
use crate::flow::{self, Flow, NeedKind, OnFailure, Place, Step, StepId};
use crate::record::{Action, Event, Outcome, Record, Verdict};

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

/// How a step came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It succeeded; a map, if it is within its bound of dead items.
    Succeeded,
    /// Its fallback took its place.
    Recovered,
    /// It was not run, because its condition did not hold, or because it needs what was not run.
    Skipped,
    /// It failed, and what needs it runs all the same.
    Continued,
    /// It gave up, and is a dead letter.
    Dead,
    /// It did not run, because something that it needs failed.
    Blocked,
}

impl End {
    /// Whether what needs the step has to do without it.
    fn is_failure(self) -> bool {
        matches!(self, Self::Dead | Self::Blocked)
    }
}

/// What has become of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ItemState {
    /// It is known, and nothing was done for it yet.
    New,
    /// A task of it is under way.
    Active,
    /// All its steps have succeeded.
    Succeeded,
    /// All its steps are over, and for one of them its fallback took its place.
    Recovered,
    /// A step of it has given up.
    Dead,
    /// It was dead, and is not wanted any more.
    Dropped,
}

impl ItemState {
    /// Whether nothing more is to be done for it.
    pub fn is_finished(self) -> bool {
        !matches!(self, Self::New | Self::Active)
    }
}

/// The items of a map, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Known so far.
    pub known: u64,
    /// Under way.
    pub active: u64,
    /// All steps have succeeded.
    pub succeeded: u64,
    /// Succeeded by a fallback.
    pub recovered: u64,
    /// Given up.
    pub dead: u64,
    /// Dropped.
    pub dropped: u64,
}

impl Counts {
    /// Those for which nothing more is to be done.
    pub fn finished(&self) -> u64 {
        self.succeeded + self.recovered + self.dead + self.dropped
    }
}

/// A record that no run can have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible(String);

impl std::fmt::Display for Impossible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Impossible {}

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

/// What has become of a step.
#[derive(Debug, Default)]
struct State {
    end: Option<End>,
    /// What it needs is there.
    is_open: bool,
    generation: u32,
    /// It was a dead letter, and is not wanted any more.
    is_dropped: bool,
    queue: BinaryHeap<Reverse<Queued>>,
    running: u32,
    pacer: Option<Pacer>,
    shared: Shared,
    map: Map,
}

/// What has become of the items of a map.
#[derive(Debug, Default)]
struct Map {
    items: Vec<ItemState>,
    counts: Counts,
    /// How many were admitted, or passed over because they were finished, since this process reads them.
    admitted: u32,
    /// How many there are, once that is known.
    length: Option<u32>,
    /// Why the source could not be read to its end.
    broken: Option<Box<str>>,
    /// Nothing more of it starts, because too many of its items are dead.
    is_stopped: bool,
    /// Dead letters from before the source was read again: they are not held against it.
    forgiven: u64,
}

impl Map {
    /// Whether there may be one that this process has not read yet.
    fn has_more(&self) -> bool {
        self.length.is_none_or(|length| self.admitted < length)
    }
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

    /// The flow that it runs.
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// The time of the last record.
    pub fn time(&self) -> Time {
        self.time
    }

    /// How a step ended, once it has.
    pub fn end(&self, step: StepId) -> Option<End> {
        self.steps[step as usize].end
    }

    /// The items of a map, counted.
    pub fn counts(&self, map: StepId) -> Counts {
        self.steps[map as usize].map.counts
    }

    /// How many items a map has, once its source has come to its end.
    pub fn length(&self, map: StepId) -> Option<u32> {
        self.steps[map as usize].map.length
    }

    /// What has become of an item.
    pub fn item(&self, map: StepId, item: u32) -> Option<ItemState> {
        self.steps[map as usize].map.items.get(item as usize).copied()
    }

    /// What the budget of a step holds, as far as its records say; the floor since the last retry is not in it.
    pub fn budget(&self, step: StepId) -> Option<BudgetSnapshot> {
        self.steps[step as usize].shared.budget()
    }

    /// The state of a step's breaker.
    pub fn breaker(&self, step: StepId, now: Time) -> Option<BreakerSnapshot> {
        self.steps[step as usize].shared.breaker(now)
    }

    /// How many attempts are running.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// How many tasks wait for their next attempt.
    pub fn waiting(&self) -> usize {
        self.tasks.len() - self.running as usize
    }

    /// How many tasks wait for the delay before their next attempt.
    pub fn waiting_for_delay(&self) -> usize {
        self.tasks.values().filter(|task| task.phase == Phase::Queued && task.attempts > 0).count()
    }

    /// The tasks whose next attempt is due first, of those that have failed before, and when that is.
    pub fn waits(&self, most: usize) -> Vec<(TaskId, Time)> {
        let is_waiting = |(id, task): (&TaskId, &Task)| {
            (task.phase == Phase::Queued && task.attempts > 0).then_some((*id, task.due))
        };
        let mut waits: Vec<_> = self.tasks.iter().filter_map(is_waiting).collect();
        waits.sort_by_key(|(id, due)| (*due, *id));
        waits.truncate(most);
        waits
    }

    /// Whether no attempt follows the failure of a task that is still to be decided.
    pub fn gives_up(&self, task: TaskId, now: Time) -> bool {
        match self.tasks.get(&task).map(|task| &task.phase) {
            Some(Phase::Failed(..)) => self.settle(task, now).action == Some(Action::Stop),
            Some(Phase::GivenUp(..)) => true,
            _ => false,
        }
    }

    /// How many attempts of a task have been counted.
    pub fn attempts(&self, task: TaskId) -> u32 {
        self.tasks.get(&task).map_or(0, |task| task.attempts)
    }

    /// How often a task has been taken up anew from the dead letters.
    pub fn generation(&self, task: TaskId) -> u32 {
        self.tasks
            .get(&task)
            .map_or(self.steps[task.step as usize].generation, |task| task.generation)
    }

    /// When the first attempt of a task started.
    pub fn started(&self, task: TaskId) -> Option<Time> {
        self.tasks.get(&task).filter(|task| task.attempts > 0).map(|task| task.started)
    }

    /// When a task has to be over, by its policy and its limits. It counts from the first attempt.
    pub fn deadline(&self, task: TaskId) -> Option<Time> {
        let step = &self.flow.steps[task.step as usize];
        let started = self.started(task)?;
        Call::new(&step.policy, started).deadline(&step.limits)
    }

    /// The attempts that were started and have not ended: after a crash, they are lost.
    pub fn open_attempts(&self) -> Vec<TaskId> {
        let mut open: Vec<_> =
            self.tasks.iter().filter(|(_, task)| task.is_running()).map(|(id, _)| *id).collect();
        open.sort_unstable();
        open
    }

    /// The task that a record is about.
    pub fn task(&self, record: &Record) -> Option<TaskId> {
        self.task_of(record).ok()
    }

    /// The seed of a task: `redial plan --seed` with it shows its delays.
    pub fn seed(&self, task: TaskId) -> u64 {
        task::seed(self.seed, &self.flow.steps[task.step as usize].name, task.item)
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

    /// The sources of maps are read once more: there may be items after the last one that is known.
    pub fn expect_more_items(&mut self) {
        for (state, step) in self.steps.iter_mut().zip(&self.flow.steps) {
            if matches!(step.place, Place::Map { .. }) {
                (state.map.length, state.map.admitted) = (None, 0);
                (state.map.broken, state.map.is_stopped) = (None, false);
                state.map.forgiven = state.map.counts.dead;
                (state.end, state.is_open) = (None, true);
            }
        }
    }

    /// The source of a map has come to its end, for this process: all that it has was admitted.
    pub fn all_admitted(&mut self, map: StepId) {
        self.steps[map as usize].map.admitted = u32::MAX;
    }

    /// Whether a step of an item that is under way has failed, and the item went on without it.
    pub fn has_continued(&self, task: TaskId) -> bool {
        self.continued.contains(&task)
    }

    /// The arm that a branch has taken.
    pub fn taken(&self, branch: TaskId) -> Option<StepId> {
        self.taken.get(&branch).copied()
    }

    /// An item of a map has been read, and is written down in the list of items at this place. A process
    /// that goes on with a run reads the list from its beginning: what is under way or finished is left as
    /// it is.
    pub fn admit(&mut self, map: StepId, item: u32) {
        let Place::Map { first, .. } = self.flow.steps[map as usize].place else { return };
        self.know(map, item);
        self.steps[map as usize].map.admitted = item + 1;
        if self.steps[map as usize].map.items[item as usize] == ItemState::New {
            self.enter(map, item);
            self.enqueue(TaskId { step: first, item: Some(item) }, self.time);
        }
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
                    Some(Outcome::Succeeded) if record.arm.is_some() => End::Succeeded,
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

    fn attempt_started(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        self.meet(record, id)?;
        let task = self.tasks.entry(id).or_insert_with(|| Task::new(0));
        if task.phase != Phase::Queued {
            return Err(impossible(record, "the task is not waiting for an attempt"));
        }
        if record.attempt != Some(task.attempts + 1) {
            return Err(impossible(
                record,
                &format!("{} attempts were counted before", task.attempts),
            ));
        }
        if task.attempts == 0 {
            task.started = time;
        }
        task.attempts += 1;
        task.phase = Phase::Running;
        let is_first = !std::mem::replace(&mut task.has_deposited, true);
        let permits = self.shared(id.step).map(|shared| {
            let shared = shared?;
            if is_first {
                shared.deposit();
            }
            shared.admit(time)
        });
        if let Some(task) = self.tasks.get_mut(&id) {
            task.permits = permits;
        }
        self.running += 1;
        for step in self.with_map(id.step) {
            let state = &mut self.steps[step as usize];
            state.running += 1;
            if let Some(pacer) = &mut state.pacer {
                pacer.take(time);
            }
        }
        Ok(())
    }

    /// A record tells of an item. In a run that is replayed, that may be the first that is heard of it: items
    /// are not written down when they are read.
    fn meet(&mut self, record: &Record, id: TaskId) -> Result<(), Impossible> {
        let (Some(item), Place::Inside(map)) = (id.item, &self.flow.steps[id.step as usize].place)
        else {
            return Ok(());
        };
        let map = *map;
        if self.tasks.contains_key(&id) {
            return Ok(());
        }
        let Place::Map { first, .. } = self.flow.steps[map as usize].place else { return Ok(()) };
        let is_new = self.item(map, item).is_none_or(|state| state == ItemState::New);
        if !is_new || id.step != first {
            return Err(impossible(record, "the item is finished, or at another step"));
        }
        self.know(map, item);
        self.enter(map, item);
        Ok(())
    }

    /// A task is over, and its last attempt, if it had one, has not succeeded.
    fn over_without_success(
        &mut self,
        record: &Record,
        time: Time,
        end: End,
    ) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        if self.tasks.get(&id).is_some_and(Task::is_running) {
            return Err(impossible(record, "an attempt is running"));
        }
        let is_alone = self.flow.steps[id.step as usize].place == Place::Alone;
        if is_alone && !self.tasks.contains_key(&id) {
            return Err(impossible(record, "it is over, or was not to be done yet"));
        }
        let arm = record.arm.as_deref().map(|arm| self.arm(id.step, arm));
        let arm = arm.transpose().map_err(|why| impossible(record, why))?;
        self.meet(record, id)?;
        if self.tasks.get(&id).is_some_and(Task::has_paid) {
            self.shared(id.step).into_iter().flatten().for_each(Shared::refund);
        }
        match arm {
            Some(arm) => self.taken.insert(id, arm),
            None => self.taken.remove(&id),
        };
        self.time = time;
        self.finish(id, end);
        Ok(())
    }

    /// The arm of a branch that has this name.
    fn arm(&self, branch: StepId, name: &str) -> Result<StepId, &'static str> {
        let arm = self.names.get(name).copied().filter(|arm| self.branch_of(*arm) == Some(branch));
        arm.ok_or("it has no such arm")
    }

    /// The branch that a step is an arm of.
    fn branch_of(&self, step: StepId) -> Option<StepId> {
        let needs = &self.flow.steps[step as usize].needs;
        needs.iter().find(|need| need.kind == NeedKind::Taken).map(|need| need.step)
    }

    fn attempt_ended(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        let task = self.tasks.get_mut(&id).filter(|task| task.phase == Phase::Running);
        let Some(task) = task.filter(|task| record.attempt == Some(task.attempts)) else {
            return Err(impossible(record, "no such attempt is running"));
        };
        let is_idempotent = self.flow.steps[id.step as usize].is_idempotent;
        let outcome = record.outcome.ok_or_else(|| impossible(record, "it has no outcome"))?;
        let mut succeeded = false;
        let permits = std::mem::take(&mut task.permits);
        match outcome {
            Outcome::Succeeded => succeeded = true,
            _ if !is_idempotent && outcome.may_have_succeeded() => {
                task.phase = Phase::GivenUp(outcome, MAY_HAVE_SUCCEEDED.into());
                self.unsettled.push_back(id);
            }
            Outcome::Cancelled => {
                task.attempts -= 1;
                task.phase = Phase::Queued;
            }
            _ => {
                let delay = record.delay_ns.map(std::time::Duration::from_nanos);
                task.phase = Phase::Failed(record.verdict.unwrap_or(Verdict::Retry), delay);
                self.unsettled.push_back(id);
            }
        }
        let report = Report::of(outcome, record.verdict);
        for (shared, period) in self.shared(id.step).into_iter().zip(permits) {
            if let Some(shared) = shared {
                shared.report(period, report, time);
            }
        }
        self.running -= 1;
        for step in self.with_map(id.step) {
            self.steps[step as usize].running -= 1;
        }
        self.time = time;
        if succeeded {
            self.finish(id, End::Succeeded);
        } else if outcome == Outcome::Cancelled && is_idempotent {
            self.requeue(id, time);
        }
        Ok(())
    }

    fn decided(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        let task = self.tasks.get_mut(&id).filter(|task| matches!(task.phase, Phase::Failed(..)));
        let Some(task) = task else {
            return Err(impossible(record, "the task has no failure to decide about"));
        };
        if let Some(call) = record.call {
            task.call = call.into();
        }
        self.unsettled.retain(|unsettled| *unsettled != id);
        match record.action {
            Some(Action::Retry) => {
                task.phase = Phase::Queued;
                // Waited is what the policy says, whatever a damaged or hostile record says.
                let delay = std::time::Duration::from_nanos(record.delay_ns.unwrap_or(0));
                let due = record.due_ns.map_or(time, Time::from_nanos).min(time.after(delay));
                self.requeue(id, due);
                let shared = self.shared(id.step).into_iter().flatten();
                shared.for_each(|shared| shared.withdraw(time));
            }
            _ => {
                task.phase =
                    Phase::GivenUp(Outcome::Failed, record.reason.clone().unwrap_or_default());
                self.unsettled.push_front(id);
            }
        }
        Ok(())
    }

    fn revive(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        self.time = time;
        self.is_cancelled = false;
        let top = match self.flow.steps[id.step as usize].place {
            Place::Inside(_) => {
                let (map, item) = self.dead_item(record)?;
                self.no_longer_dead(map, item, ItemState::New);
                // Before the map is no longer over: what needs it runs again only if it was.
                self.reopen(map);
                self.enter(map, item);
                map
            }
            _ if self.steps[id.step as usize].end == Some(End::Dead)
                && !self.steps[id.step as usize].is_dropped =>
            {
                self.reopen(id.step);
                id.step
            }
            _ => return Err(impossible(record, "it is not a dead letter")),
        };
        self.steps[top as usize].is_open = true;
        // A map itself has no attempts: its source is read again.
        if let Place::Map { .. } = self.flow.steps[id.step as usize].place {
            let map = &mut self.steps[id.step as usize].map;
            (map.length, map.admitted, map.broken) = (None, 0, None);
            return Ok(());
        }
        self.tasks.insert(id, Task::new(record.generation));
        self.steps[id.step as usize].generation =
            self.steps[id.step as usize].generation.max(record.generation);
        self.requeue(id, time);
        Ok(())
    }

    fn drop_dead(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        if let Place::Inside(_) = self.flow.steps[id.step as usize].place {
            let (map, item) = self.dead_item(record)?;
            self.time = time;
            self.no_longer_dead(map, item, ItemState::Dropped);
            self.steps[map as usize].map.counts.dropped += 1;
            self.go_on_within_bound(map);
            return Ok(());
        }
        // It stays failed, and what needs it does not run: only nobody is to look after it any more.
        let state = &mut self.steps[id.step as usize];
        if state.end != Some(End::Dead) || state.is_dropped {
            return Err(impossible(record, "it is not a dead letter"));
        }
        state.is_dropped = true;
        Ok(())
    }

    /// A step is to be done again, and so is all that needs it.
    fn reopen(&mut self, step: StepId) {
        let mut steps = vec![step];
        while let Some(step) = steps.pop() {
            let state = &mut self.steps[step as usize];
            if state.end.take().is_none() {
                continue;
            }
            (state.is_open, state.is_dropped) = (false, false);
            state.generation += 1;
            self.taken.remove(&TaskId { step, item: None });
            let needs = |other: &Step| other.needs.iter().any(|need| need.step == step);
            let dependents = self.flow.steps.iter().zip(0..).filter(|(other, _)| needs(other));
            steps.extend(dependents.map(|(_, id)| id));
        }
    }

    fn no_longer_dead(&mut self, map: StepId, item: u32, state: ItemState) {
        let map = &mut self.steps[map as usize].map;
        map.items[item as usize] = state;
        map.counts.dead -= 1;
        map.forgiven = map.forgiven.saturating_sub(1);
    }

    fn dead_item(&self, record: &Record) -> Result<(StepId, u32), Impossible> {
        let id = self.task_of(record)?;
        let Place::Inside(map) = self.flow.steps[id.step as usize].place else {
            return Err(impossible(record, "it is not in a map"));
        };
        match id.item.filter(|item| self.item(map, *item) == Some(ItemState::Dead)) {
            Some(item) => Ok((map, item)),
            None => Err(impossible(record, "it is not a dead letter")),
        }
    }

    /// What follows a failure, or an end that is not written down yet.
    fn settle(&self, id: TaskId, now: Time) -> Record {
        let step = &self.flow.steps[id.step as usize];
        let task = &self.tasks[&id];
        if let Phase::GivenUp(outcome, reason) = &task.phase {
            return self.gave_up(id, now, *outcome, reason);
        }
        let now = now.max(self.time);
        let (verdict, dictated) = match &task.phase {
            Phase::Failed(verdict, delay) => (*verdict, *delay),
            _ => (Verdict::Stop, None),
        };
        let verdict = match (verdict, dictated) {
            (Verdict::Stop, _) => redial_core::Verdict::Stop,
            (Verdict::Retry, Some(delay)) => redial_core::Verdict::RetryAfter(delay),
            (Verdict::Retry, None) => redial_core::Verdict::Retry,
        };
        let seed = self.seed(id);
        let snapshot = redial_core::CallSnapshot {
            elapsed_nanos: nanos(now.since(task.started)),
            ..task.call
        };
        let mut random = SplitMix64::resume(seed, snapshot.words_drawn);
        // A policy that has become shorter since is over as soon as it would be.
        let resumed = Call::resume(&step.policy, snapshot, now);
        let (decision, call) = match resumed {
            Ok(mut call) => {
                let mut gate = Asked(self.shared(id.step));
                let decision =
                    call.failed_past(&step.limits, &mut gate, || now, || verdict, &mut random);
                (decision, call.snapshot(now, random.words_since(seed)))
            }
            Err(_) => (Decision::Stop(Stop::AttemptsSpent), snapshot),
        };
        let mut record = Record {
            attempt: Some(task.attempts),
            call: Some(call.into()),
            ..self.record(now, Event::Decision, id)
        };
        match decision {
            Decision::Wait(delay) => {
                record.action = Some(Action::Retry);
                record.delay_ns = Some(nanos(delay));
                record.due_ns = Some(now.after(delay).as_nanos());
            }
            Decision::Stop(stop) => {
                record.action = Some(Action::Stop);
                record.reason = Some(stop.name().into());
            }
        }
        record
    }

    /// The end of a task after which nothing follows.
    fn gave_up(&self, id: TaskId, now: Time, outcome: Outcome, reason: &str) -> Record {
        let (event, outcome) = match (outcome, self.flow.steps[id.step as usize].on_failure) {
            (Outcome::Failed | Outcome::Skipped, OnFailure::Fallback) => {
                (Event::StepEnd, Some(Outcome::Recovered))
            }
            (Outcome::Failed, OnFailure::Continue) => (Event::StepEnd, Some(Outcome::Failed)),
            // The command that is its fallback runs where it has failed.
            (Outcome::Skipped, _) if self.has_substitute(id.step) => {
                (Event::StepEnd, Some(Outcome::Failed))
            }
            (Outcome::Skipped, _) => (Event::StepEnd, Some(Outcome::Skipped)),
            // What may have succeeded is a dead letter, whatever becomes of a failure.
            _ => (Event::Dead, None),
        };
        Record {
            outcome,
            reason: Some(reason.into()),
            attempt: Some(self.attempts(id)).filter(|attempts| *attempts > 0),
            ..self.record(now, event, id)
        }
    }

    /// Why a task that waits for its next attempt will never make it, if the earliest start is at or after its deadline: an attempt
    /// that is cut as it starts would be one for nothing, and as the probe of a breaker it would open it again.
    fn never_starts(&self, queued: &Queued, start_at: Option<Time>, now: Time) -> Option<Stop> {
        let deadline = self.deadline(queued.task)?;
        let is_late = |at: Time| at >= deadline;
        if !is_late(start_at.unwrap_or(now)) {
            return None;
        }
        let from = queued.due.max(now);
        let mut breakers = self.shared(queued.task.step).into_iter().flatten();
        match breakers.any(|shared| !is_late(from) && shared.admits_at(from).is_some_and(is_late)) {
            true => Some(Stop::BreakerOpen),
            false => Some(Stop::Deadline),
        }
    }

    /// A task is over.
    fn finish(&mut self, id: TaskId, end: End) {
        self.tasks.remove(&id);
        self.unsettled.retain(|unsettled| *unsettled != id);
        let (Some(item), Place::Inside(map)) = (id.item, &self.flow.steps[id.step as usize].place)
        else {
            let end = match (end, self.flow.steps[id.step as usize].on_failure) {
                (End::Dead, _) => End::Dead,
                (end, _) => end,
            };
            self.steps[id.step as usize].end = Some(end);
            self.open();
            return;
        };
        let map = *map;
        let Place::Map { first, last, .. } = self.flow.steps[map as usize].place else { return };
        let state = &mut self.steps[map as usize].map;
        let place = item as usize;
        if end == End::Recovered {
            state.items[place] = ItemState::Recovered;
        }
        match end {
            End::Continued => self.continued.insert(id),
            End::Skipped => self.skipped.insert(id),
            _ => false,
        };
        let inner = |step: StepId| {
            let needs = &self.flow.steps[step as usize].needs;
            needs.iter().find(|need| (first..=last).contains(&need.step)).copied()
        };
        let next = self.taken(id).or_else(|| flow::after(id.step, last, inner));
        if let Some(step) = next.filter(|_| end != End::Dead) {
            self.enqueue(TaskId { step, item: Some(item) }, self.time);
            return;
        }
        self.steps[map as usize].map.counts.active -= 1;
        // A dead letter that is retried goes on with them.
        for step in (first..=last).filter(|_| end != End::Dead) {
            let task = TaskId { step, item: Some(item) };
            self.continued.remove(&task);
            self.skipped.remove(&task);
            self.taken.remove(&task);
        }
        let state = &mut self.steps[map as usize].map;
        let (finished, count) = match (end, state.items[place]) {
            (End::Dead, _) => (ItemState::Dead, &mut state.counts.dead),
            (_, ItemState::Recovered) => (ItemState::Recovered, &mut state.counts.recovered),
            _ => (ItemState::Succeeded, &mut state.counts.succeeded),
        };
        *count += 1;
        state.items[place] = finished;
        self.close(map);
    }

    /// Opens the steps that have what they need, and ends those that will never have it.
    fn open(&mut self) {
        loop {
            let mut has_changed = false;
            for id in 0..self.steps.len() as StepId {
                let state = &self.steps[id as usize];
                if state.is_open
                    || state.end.is_some()
                    || matches!(self.flow.steps[id as usize].place, Place::Inside(_))
                {
                    continue;
                }
                let Some(is_ready) = self.readiness(id) else { continue };
                has_changed = true;
                match is_ready {
                    Ok(()) => {
                        self.steps[id as usize].is_open = true;
                        match self.flow.steps[id as usize].place {
                            Place::Map { .. } => self.close(id),
                            _ => self.enqueue(TaskId { step: id, item: None }, self.time),
                        }
                    }
                    Err(NotRun::RefersToSkipped) => self.skip(id),
                    Err(NotRun::NotTaken) => self.steps[id as usize].end = Some(End::Skipped),
                    Err(NotRun::Blocked) => self.steps[id as usize].end = Some(End::Blocked),
                }
            }
            if !has_changed {
                return;
            }
        }
    }

    /// Whether a step may start, or why it never may; none where that is not known yet.
    fn readiness(&self, id: StepId) -> Option<Result<(), NotRun>> {
        // What an arm needs counts only where it is taken.
        if let Some(branch) = self.branch_of(id) {
            let taken = self.taken(TaskId { step: branch, item: None });
            if !self.steps[branch as usize].end?.is_failure() && taken != Some(id) {
                return Some(Err(NotRun::NotTaken));
            }
        }
        let mut ready = Some(Ok(()));
        for need in &self.flow.steps[id as usize].needs {
            let dead = self.steps[need.step as usize].map.counts.dead;
            match (self.steps[need.step as usize].end, need.kind) {
                (Some(end), _) if end.is_failure() => return Some(Err(NotRun::Blocked)),
                (Some(End::Succeeded), NeedKind::All) if dead > 0 => {
                    return Some(Err(NotRun::Blocked));
                }
                (Some(_), NeedKind::Output)
                    if self.was_skipped(TaskId { step: need.step, item: None }) =>
                {
                    ready = ready.and(Some(Err(NotRun::RefersToSkipped)))
                }
                (Some(_), _) => {}
                (None, _) => ready = None,
            }
        }
        ready
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        let is_idle = self.running == 0;
        is_idle
            && (self.is_cancelled
                || self.steps.iter().zip(&self.flow.steps).all(|(state, step)| {
                    state.end.is_some() || matches!(step.place, Place::Inside(_))
                }))
    }

    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// The maps of which another item may be read, each with its first step: those whose items have a higher
    /// priority than this.
    fn readable(&self, above: Option<i32>) -> Vec<(StepId, StepId)> {
        let is_above = |first: StepId| {
            let priority = self.flow.steps[first as usize].priority;
            above.is_none_or(|above| priority > above)
        };
        let has_more = |(map, first): &(StepId, StepId)| {
            let state = &self.steps[*map as usize];
            is_above(*first)
                && state.is_open
                && state.end.is_none()
                && state.map.has_more()
                && !self.has_too_many_dead(*map)
                && state.map.counts.active < u64::from(WINDOW)
        };
        self.maps.iter().copied().filter(has_more).collect()
    }

    /// From when on a step, and the map around it, have a slot, a place in their rate and a breaker that
    /// admits an attempt; none where only the end of an attempt makes a difference.
    fn start_at(&self, step: StepId, from: Time) -> Option<Time> {
        let mut at = from;
        for step in self.with_map(step) {
            let state = &self.steps[step as usize];
            if self.flow.steps[step as usize]
                .slots
                .is_some_and(|slots| state.running >= slots.get())
            {
                return None;
            }
            at = at.max(state.pacer.as_ref().map_or(at, |pacer| pacer.free_at()));
        }
        for shared in self.shared(step).into_iter().flatten() {
            at = shared.admits_at(at)?;
        }
        Some(at)
    }

    /// The budget and the breaker of a step, and those of the map that it is in.
    fn shared(&self, step: StepId) -> [Option<&Shared>; 2] {
        let of = |step: StepId| &self.steps[step as usize].shared;
        let map = match self.flow.steps[step as usize] {
            Step { place: Place::Inside(map), is_substitute: false, .. } => Some(of(map)),
            _ => None,
        };
        [Some(of(step)), map]
    }

    /// A step, and the map that it is in.
    fn with_map(&self, step: StepId) -> impl Iterator<Item = StepId> + use<> {
        let map = match self.flow.steps[step as usize].place {
            Place::Inside(map) => Some(map),
            _ => None,
        };
        std::iter::once(step).chain(map)
    }

    fn know(&mut self, map: StepId, item: u32) {
        let map = &mut self.steps[map as usize].map;
        let length = item as usize + 1;
        if map.items.len() < length {
            map.items.resize(length, ItemState::New);
            if map.length.is_some_and(|known| (known as usize) < length) {
                map.length = None;
            }
            map.counts.known = length as u64;
        }
    }

    fn enter(&mut self, map: StepId, item: u32) {
        let state = &mut self.steps[map as usize];
        // An item may come after the map was over: its source is read once more.
        (state.end, state.is_open, state.map.is_stopped) = (None, true, false);
        state.map.items[item as usize] = ItemState::Active;
        state.map.counts.active += 1;
    }

    fn enqueue(&mut self, id: TaskId, due: Time) {
        let generation = self.steps[id.step as usize].generation;
        self.tasks
            .entry(id)
            .or_insert_with(|| Task::new(if id.item.is_none() { generation } else { 0 }));
        self.requeue(id, due);
    }

    fn requeue(&mut self, task: TaskId, due: Time) {
        self.sequence += 1;
        let priority = Reverse(self.flow.steps[task.step as usize].priority);
        let queued = Queued { due, priority, sequence: self.sequence, task };
        if let Some(task) = self.tasks.get_mut(&task) {
            task.queued = self.sequence;
            task.due = due;
        }
        self.steps[task.step as usize].queue.push(Reverse(queued));
        self.queued.insert(task.step);
    }

    /// What is first in the queue of a step. Entries of tasks that have left it meanwhile are dropped.
    fn head(&mut self, step: StepId) -> Option<Queued> {
        let queue = &mut self.steps[step as usize].queue;
        while let Some(Reverse(head)) = queue.peek() {
            let task = self.tasks.get(&head.task);
            if task.is_some_and(|task| task.phase == Phase::Queued && task.queued == head.sequence)
            {
                return Some(*head);
            }
            queue.pop();
        }
        self.queued.remove(&step);
        None
    }

    fn step_of(&self, record: &Record) -> Result<StepId, Impossible> {
        let name = record.step.as_deref().ok_or_else(|| impossible(record, "it names no step"))?;
        let step = self.names.get(name).copied();
        step.ok_or_else(|| impossible(record, "the flow has no such step"))
    }

    fn task_of(&self, record: &Record) -> Result<TaskId, Impossible> {
        let step = self.step_of(record)?;
        let is_inside = matches!(self.flow.steps[step as usize].place, Place::Inside(_));
        match record.item {
            Some(_) if !is_inside => Err(impossible(record, "the step is not inside a map")),
            None if is_inside => Err(impossible(record, "it names no item")),
            item => Ok(TaskId { step, item }),
        }
    }
}

/// Why an attempt that [may have succeeded](Outcome::may_have_succeeded) is a dead letter where it must not run twice.
pub const MAY_HAVE_SUCCEEDED: &str = "may-have-succeeded";

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    [one, other].into_iter().flatten().min()
}

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn impossible(record: &Record, why: &str) -> Impossible {
    let event = serde_json::to_value(record.event).unwrap_or_default();
    let event = event.as_str().unwrap_or_default();
    let step = record.step.as_deref().map(|step| format!(" of `{step}`")).unwrap_or_default();
    let item = record.item.map(|item| format!(", item {item}")).unwrap_or_default();
    let attempt = record.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    Impossible(format!("{event}{step}{item}{attempt}: {why}"))
}
