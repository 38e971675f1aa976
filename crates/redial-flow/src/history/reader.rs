//! Adds the records of a journal up, one by one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::task::{Attempt, Decided, Ended, Output, Task, TaskState};
use super::{
    Counts, DAMAGES_MAX, History, REASONS_MAX, Reason, Spent, State, StepHistory, TAILS_MAX,
    TASKS_MAX,
};
use crate::definition::{Action as StepAction, Definition, Fallback, NeedKind};
use crate::flow::{self, Need};
use crate::journal::{Damage, Tail};
use crate::machine::WINDOW;
use crate::prepared::substitute_name;
use crate::program;
use crate::record::{Action, Event, Outcome, Record, Start};
use crate::store::Holder;

/// How much of the standard error of one attempt is kept.
const TAIL_MAX: usize = 16 << 10;

/// How long a line of an example may be.
const EXAMPLE_MAX: usize = 200;

type Id = (u32, Option<u32>);

/// See the [module](self).
#[derive(Default)]
pub(super) struct Reader {
    /// Steps are known from their first records on.
    is_program: bool,
    names: HashMap<Box<str>, u32>,
    steps: Vec<Step>,
    /// Those that are under way, have failed, or are no items.
    tasks: HashMap<Id, Task>,
    /// Those that succeeded at once.
    once: Vec<Task>,
    /// How many items are kept that failed and came to a good end.
    mended: usize,
    left_out: u64,
    reasons: HashMap<String, (u64, Option<String>)>,
    tails_bytes: usize,
    tails_left_out: u64,
    time_ns: u64,
    start: Option<Start>,
    anchor: Option<(u64, u64)>,
    resumes: u64,
    stopped: Vec<(u64, u64)>,
    /// The sums of the times before, for [`Reader::stopped_between`].
    stopped_sums: Vec<u64>,
    end: Option<Option<Outcome>>,
    is_cancelled: bool,
    damages: Vec<Damage>,
    damages_count: u64,
    damages_accepted: u64,
    /// Whether there is any record, whatever is wrong with it.
    pub(super) has_records: bool,
    unknown: u64,
    impossible: u64,
    impossible_first: Option<String>,
}

#[derive(Default)]
struct Step {
    history: StepHistory,
    map: Option<u32>,
    /// The inner step that follows it, in a map.
    next: Option<u32>,
    needs: Vec<Need>,
    /// The step that runs in its place when it has failed.
    substitute: Option<u32>,
    /// The step in whose place it runs.
    instead_of: Option<u32>,
    /// Of each item; of a step by itself, the first alone.
    states: Vec<TaskState>,
}

impl Step {
    /// Its tasks as those of a run or of a map are counted: a step and the command that is its fallback are one task. It is
    /// recovered if the command succeeded, which is counted with the step; else it is what has become of the command, unless
    /// that was not needed.
    fn whole_tasks(&self, counts: Counts) -> Counts {
        let continued = if self.substitute.is_some() { 0 } else { counts.continued };
        match self.instead_of {
            Some(_) => Counts { succeeded: 0, flaky: 0, skipped: 0, continued, ..counts },
            None => Counts { continued, ..counts },
        }
    }
}

/// What is wrong with a record.
type Refused = &'static str;

impl Reader {
    pub(super) fn new(definition: &Definition) -> Self {
        let all = definition.expanded_steps();
        let names: HashMap<Box<str>, u32> =
            all.iter().zip(0..).map(|(step, id)| (step.name.as_str().into(), id)).collect();
        let id = |name: &str| names.get(name).copied();
        let mut steps: Vec<Step> = Vec::with_capacity(all.len());
        for step in &all {
            let history = StepHistory {
                name: step.name.clone(),
                inside: step.inside.clone(),
                is_map: matches!(step.action, StepAction::Each(_)),
                policy: step.policy.clone(),
                ..StepHistory::default()
            };
            let map = step.inside.as_deref().and_then(id);
            let need = |need: &crate::definition::Need| {
                Some(Need { step: id(&need.step)?, kind: need.kind })
            };
            let needs = step.needs.iter().filter_map(need).collect();
            steps.push(Step { history, map, needs, ..Step::default() });
        }
        for (step, at) in all.iter().zip(0_u32..) {
            let is_command = matches!(step.fallback, Some(Fallback::Step(_)));
            let substitute = is_command.then(|| id(&substitute_name(&step.name))).flatten();
            if let Some(substitute) = substitute {
                steps[at as usize].substitute = Some(substitute);
                steps[substitute as usize].instead_of = Some(at);
            }
        }
        link(&mut steps);
        Self { is_program: definition.program, names, steps, ..Self::default() }
    }

    pub(super) fn damage(&mut self, damage: Damage) {
        self.damages_count += 1;
        if self.damages.len() < DAMAGES_MAX {
            self.damages.push(damage);
        }
    }

    pub(super) fn accepted_damage(&mut self) {
        self.damages_accepted += 1;
    }

    pub(super) fn unknown(&mut self) {
        self.unknown += 1;
    }

    pub(super) fn add(&mut self, n: u64, record: &Record) {
        let before = self.time_ns;
        self.time_ns = record.time().as_nanos().max(before);
        if let Err(why) = self.apply(n, record, before) {
            self.impossible += 1;
            self.impossible_first.get_or_insert_with(|| refusal(n, record, why));
        }
    }

    fn apply(&mut self, n: u64, record: &Record, before: u64) -> Result<(), Refused> {
        if let Some(start) = &record.start {
            self.anchor = Some((self.time_ns, start.wall_ns));
        }
        if self.is_program {
            self.learn(record);
        }
        match record.event {
            Event::RunStart => {
                if self.start.is_none() {
                    self.start = record.start.as_deref().cloned();
                }
            }
            Event::RunResume => {
                self.resumes += 1;
                self.end = None;
                self.stop_between(before, self.time_ns);
            }
            Event::RunEnd => self.end = Some(record.outcome),
            Event::Cancel => self.is_cancelled = true,
            Event::ItemsEnd => {
                let map = self.step_of(record)?;
                let history = &mut self.steps[map as usize].history;
                history.items = record.items.or(history.items);
                let is_stopped = record.reason.as_deref() == Some(crate::machine::FAILURES_MAX);
                history.stopped = record.message.as_deref().filter(|_| is_stopped).map(Into::into);
            }
            Event::AttemptStart => self.attempt_start(self.id_of(n, record)?, record)?,
            Event::AttemptEnd => self.attempt_end(self.id_of(n, record)?, record)?,
            Event::Decision => self.decision(self.id_of(n, record)?, record)?,
            Event::StepEnd => {
                let id = self.id_of(n, record)?;
                let state = match record.outcome {
                    Some(Outcome::Skipped) => TaskState::Skipped,
                    Some(Outcome::Recovered) => TaskState::Recovered,
                    Some(Outcome::Failed) => TaskState::Continued,
                    Some(Outcome::Succeeded) if record.arm.is_some() => {
                        return self.take(id, record);
                    }
                    Some(Outcome::Succeeded) => TaskState::Succeeded,
                    _ => return Err("it has no such outcome"),
                };
                self.end_without_success(id, record, state);
            }
            Event::Dead => {
                let id = self.id_of(n, record)?;
                self.end_without_success(id, record, TaskState::Dead);
            }
            Event::DeadRetry => {
                let id = self.id_of(n, record)?;
                self.revive(id, record)?;
                self.goes_on(id);
            }
            Event::DeadDrop => {
                let id = self.id_of(n, record)?;
                self.dead_task(id)?;
                self.set(id, TaskState::Dropped);
                self.goes_on(id);
            }
        }
        Ok(())
    }

    /// A step of a program is heard of for the first time.
    fn learn(&mut self, record: &Record) {
        let Some(name) = record.step.as_deref().filter(|name| !self.names.contains_key(*name))
        else {
            return;
        };
        let map = record.item.and_then(|_| program::map_of(name));
        let history = StepHistory {
            name: name.into(),
            inside: map.map(str::to_owned),
            is_map: record.event == Event::ItemsEnd,
            policy: record.policy.as_deref().unwrap_or_default().into(),
            ..StepHistory::default()
        };
        let map = map.and_then(|map| self.names.get(map).copied());
        self.names.insert(name.into(), self.steps.len() as u32);
        self.steps.push(Step { history, map, ..Step::default() });
    }

    fn step_of(&self, record: &Record) -> Result<u32, Refused> {
        let name = record.step.as_deref().ok_or("it names no step")?;
        self.names.get(name).copied().ok_or("the flow has no such step")
    }

    fn id_of(&self, n: u64, record: &Record) -> Result<Id, Refused> {
        let step = self.step_of(record)?;
        let is_inside = self.steps[step as usize].history.inside.is_some();
        match record.item {
            Some(_) if !is_inside => Err("the step is not inside a map"),
            None if is_inside => Err("it names no item"),
            // Each item before it has a record, or is in the window.
            Some(item) if u64::from(item) > n.saturating_add(u64::from(WINDOW)) => {
                Err("there cannot be as many items by then")
            }
            item => Ok((step, item)),
        }
    }

    fn attempt_start(&mut self, id: Id, record: &Record) -> Result<(), Refused> {
        let number = record.attempt.ok_or("it has no number")?;
        let (now, state) = (self.time_ns, self.state(id));
        let known = self.tasks.get(&id);
        let generation = known.map_or(0, |task| task.generation);
        let is_next = known
            .and_then(|task| task.attempts.last())
            .is_none_or(|last| (last.generation, last.number) < (record.generation, number))
            // One that was cancelled is not counted, and its number comes again.
            || state == TaskState::Waiting;
        let is_open = matches!(state, TaskState::New | TaskState::Waiting | TaskState::Running);
        if !(is_open || record.generation > generation) || !is_next {
            return Err("the task is not waiting for an attempt");
        }
        let spent = self.waited(id, now);
        let (step, item) = id;
        let task = self.tasks.entry(id).or_insert_with(|| Task { step, item, ..Task::default() });
        note(task, record);
        (task.due_ns, task.ready_ns, task.ended_ns) = (None, None, None);
        let generation = record.generation;
        task.push(Attempt { number, generation, start_ns: now, ended: None, decided: None });
        self.spend(id, spent);
        self.steps[step as usize].history.attempts += 1;
        self.set(id, TaskState::Running);
        Ok(())
    }

    /// How a task spent its time between its last attempt and one that starts now.
    fn waited(&self, id: Id, now: u64) -> Spent {
        let mut spent = Spent::default();
        let task = self.tasks.get(&id);
        let decided = task.and_then(|task| task.attempts.last()?.decided.as_ref());
        let ready = match task.and_then(|task| task.due_ns) {
            Some(due) => {
                let from = decided.map_or(due, |decided| decided.at_ns);
                spent.delays_ns = due.min(now).saturating_sub(from);
                Some(due)
            }
            None => task.and_then(|task| task.ready_ns).or_else(|| self.ready(id)),
        };
        if let Some(ready) = ready.filter(|ready| *ready < now) {
            let stopped = self.stopped_between(ready, now);
            spent.slots_ns = (now - ready).saturating_sub(stopped);
        }
        spent
    }

    /// Since when a step by itself could have been started: since what it needs was over.
    fn ready(&self, (step, item): Id) -> Option<u64> {
        let needs = match item {
            Some(_) => return None,
            None => &self.steps[step as usize].needs,
        };
        let last = |need: &Need| self.steps[need.step as usize].history.last_ns;
        Some(needs.iter().filter_map(last).max().unwrap_or(0))
    }

    fn attempt_end(&mut self, id: Id, record: &Record) -> Result<(), Refused> {
        let outcome = record.outcome.ok_or("it has no outcome")?;
        let last_seen = self.stopped.last().map(|(from, _)| *from);
        let now = match outcome {
            // Written by the process that found it; it ended with the one before.
            Outcome::Lost => last_seen.unwrap_or(self.time_ns),
            _ => self.time_ns,
        };
        let keeps = outcome != Outcome::Succeeded;
        let output = Output::of(record).filter(|_| keeps);
        let tail = record.stderr_tail.as_deref().filter(|_| keeps);
        let task = self.tasks.get(&id);
        let attempt =
            task.and_then(|task| task.attempts.last()).filter(|last| last.ended.is_none());
        let Some(attempt) = attempt.filter(|attempt| record.attempt == Some(attempt.number)) else {
            return Err("no such attempt is running");
        };
        let at_ns = now.max(attempt.start_ns);
        let duration_ns = record.duration_ns.unwrap_or(at_ns - attempt.start_ns);
        let (stderr_tail, output) = self.keep(tail, output);
        let ended = Ended {
            at_ns,
            outcome,
            exit: record.exit,
            signal: record.signal.clone(),
            duration_ns,
            stderr_tail,
            output,
            rule: record.rule.clone(),
            message: record.message.clone(),
        };
        let is_failure = !matches!(outcome, Outcome::Succeeded | Outcome::Cancelled);
        if is_failure {
            self.count_reason(ended.what(), record.stderr_tail.as_deref());
        }
        let Some(task) = self.tasks.get_mut(&id) else { return Ok(()) };
        note(task, record);
        task.has_failed |= is_failure;
        let has_failed = task.has_failed;
        if let Some(open) = task.open() {
            open.ended = Some(ended);
        }
        let step = &mut self.steps[id.0 as usize].history;
        step.failures += u64::from(is_failure);
        step.longest_ns = step.longest_ns.max(duration_ns);
        self.spend(id, Spent { running_ns: duration_ns, ..Spent::default() });
        match outcome {
            Outcome::Succeeded if has_failed => self.finish_task(id, TaskState::Flaky),
            Outcome::Succeeded => self.finish_task(id, TaskState::Succeeded),
            Outcome::Cancelled => {
                let step = &mut self.steps[id.0 as usize].history;
                step.attempts = step.attempts.saturating_sub(1);
                self.wait(id, self.time_ns, None);
            }
            _ => self.set(id, TaskState::Running),
        }
        Ok(())
    }

    /// What of a standard error and an output there is room for.
    fn keep(
        &mut self,
        tail: Option<&str>,
        output: Option<Output>,
    ) -> (Option<Box<str>>, Option<Output>) {
        let tail = tail.map(|tail| last_bytes(tail, TAIL_MAX));
        let bytes = tail.map_or(0, str::len) + output.as_ref().map_or(0, Output::kept);
        if bytes > 0 && self.tails_bytes + bytes > TAILS_MAX {
            self.tails_left_out += 1;
            return (None, None);
        }
        self.tails_bytes += bytes;
        (tail.map(Box::from), output)
    }

    fn count_reason(&mut self, what: String, stderr: Option<&str>) {
        let is_full = self.reasons.len() >= REASONS_MAX;
        match self.reasons.entry(what) {
            Entry::Occupied(mut known) => known.get_mut().0 += 1,
            Entry::Vacant(_) if is_full => {
                self.reasons.entry("other".into()).or_default().0 += 1;
            }
            Entry::Vacant(new) => {
                new.insert((1, stderr.and_then(example)));
            }
        }
    }

    fn decision(&mut self, id: Id, record: &Record) -> Result<(), Refused> {
        let (now, action) = (self.time_ns, record.action.unwrap_or(Action::Stop));
        let delay_ns = record.delay_ns;
        // As the machine takes it, whatever a damaged or hostile record says.
        let latest = now.saturating_add(delay_ns.unwrap_or(0));
        let due_ns =
            (action == Action::Retry).then(|| record.due_ns.map_or(latest, |due| due.min(latest)));
        let task = self.tasks.get_mut(&id).filter(|task| task.state == TaskState::Running);
        let attempt = task.and_then(|task| task.attempts.last_mut());
        let Some(attempt) = attempt.filter(|last| last.ended.is_some() && last.decided.is_none())
        else {
            return Err("the task has no failure to decide about");
        };
        let (reason, rule) = (record.reason.clone(), record.rule.clone());
        attempt.decided = Some(Decided { at_ns: now, action, delay_ns, due_ns, reason, rule });
        match due_ns {
            Some(due) => self.wait(id, due, Some(due)),
            None => self.set(id, TaskState::Running),
        }
        Ok(())
    }

    fn wait(&mut self, id: Id, ready: u64, due: Option<u64>) {
        if let Some(task) = self.tasks.get_mut(&id) {
            (task.ready_ns, task.due_ns) = (Some(ready), due);
        }
        self.set(id, TaskState::Waiting);
    }

    fn end_without_success(&mut self, id: Id, record: &Record, state: TaskState) {
        let (step, item) = id;
        let task = self.tasks.entry(id).or_insert_with(|| Task { step, item, ..Task::default() });
        note(task, record);
        (task.reason, task.message) = (record.reason.clone(), record.message.clone());
        (task.due_ns, task.ready_ns) = (None, None);
        // What names the output of a skipped step has not failed.
        let is_failure = !matches!(state, TaskState::Skipped | TaskState::Succeeded)
            && record.reason.as_deref() != Some(crate::machine::NEEDS_SKIPPED);
        if task.attempts.is_empty() && is_failure {
            let what = record.reason.as_deref().unwrap_or("failed").to_owned();
            self.count_reason(what, record.message.as_deref());
        }
        self.finish_task(id, state);
    }

    /// A branch takes an arm. The others are skipped without a record.
    fn take(&mut self, id: Id, record: &Record) -> Result<(), Refused> {
        let (branch, item) = id;
        let arm = record.arm.as_deref().and_then(|arm| self.names.get(arm).copied());
        let taken = Need { step: branch, kind: NeedKind::Taken };
        let arm = arm.filter(|arm| self.steps[*arm as usize].needs.contains(&taken));
        let arm = arm.ok_or("it has no such arm")?;
        if item.is_none() {
            let name = self.steps[arm as usize].history.name.clone();
            self.steps[branch as usize].history.arm = Some(name);
        }
        self.finish_before(id, TaskState::Succeeded, Some(arm));
        Ok(())
    }

    /// A map that was stopped may go on: if it does not, that has a record of its own.
    fn goes_on(&mut self, (step, _): Id) {
        if let Some(map) = self.steps[step as usize].map {
            self.steps[map as usize].history.stopped = None;
        }
    }

    fn revive(&mut self, id: Id, record: &Record) -> Result<(), Refused> {
        self.dead_task(id)?;
        (self.is_cancelled, self.end) = (false, None);
        // A map has no attempts: its source is read again, and only what is wrong with it has a record.
        if self.steps[id.0 as usize].history.is_map {
            self.tasks.remove(&id);
            self.set(id, TaskState::New);
            return Ok(());
        }
        let now = self.time_ns;
        if let Some(task) = self.tasks.get_mut(&id) {
            note(task, record);
            (task.reason, task.message, task.ended_ns) = (None, None, None);
        }
        self.wait(id, now, None);
        Ok(())
    }

    fn dead_task(&self, id: Id) -> Result<(), Refused> {
        match self.state(id) {
            TaskState::Dead => Ok(()),
            _ => Err("it is not a dead letter"),
        }
    }

    /// A task is over. What came to a good end is kept for timelines alone.
    fn finish_task(&mut self, id: Id, state: TaskState) {
        let next = self.steps[id.0 as usize].next.filter(|_| state != TaskState::Dead);
        self.finish_before(id, state, next);
    }

    fn finish_before(&mut self, id: Id, state: TaskState, next: Option<u32>) {
        self.set(id, state);
        if let Some(original) = self.steps[id.0 as usize].instead_of
            && matches!(state, TaskState::Succeeded | TaskState::Flaky)
        {
            self.set((original, id.1), TaskState::Recovered);
        }
        let item = id.1;
        if let (Some(next), Some(item)) = (next, item) {
            self.follow((next, Some(item)), id);
        }
        let Some(task) = self.tasks.get_mut(&id) else { return };
        task.ended_ns = Some(self.time_ns);
        let has_failed = task.has_failed;
        if item.is_none() || state == TaskState::Dead {
            return;
        }
        if has_failed && self.mended < TASKS_MAX {
            self.mended += 1;
            return;
        }
        // What was not run at all has no place on a timeline.
        let Some(task) = self.tasks.remove(&id).filter(|task| !task.attempts.is_empty()) else {
            return;
        };
        match !has_failed && self.once.len() < TASKS_MAX {
            true => self.once.push(task),
            false => self.left_out += 1,
        }
    }

    /// The next step of the same item waits from now on.
    fn follow(&mut self, next: Id, before: Id) {
        if self.state(next) != TaskState::New {
            return;
        }
        let key = self.tasks.get(&before).and_then(|task| task.key.clone());
        let ready_ns = Some(self.time_ns);
        let task = Task { step: next.0, item: next.1, key, ready_ns, ..Task::default() };
        self.tasks.insert(next, task);
        self.set(next, TaskState::Waiting);
    }

    fn state(&self, (step, item): Id) -> TaskState {
        let states = &self.steps[step as usize].states;
        states.get(item.unwrap_or(0) as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, id: Id, state: TaskState) {
        let (now, (step, item)) = (self.time_ns, id);
        let step = &mut self.steps[step as usize];
        let place = item.unwrap_or(0) as usize;
        if step.states.len() <= place {
            step.states.resize(place + 1, TaskState::New);
        }
        let before = std::mem::replace(&mut step.states[place], state);
        step.history.counts.change(before, state);
        let map = step.map;
        for step in [Some(id.0), map].into_iter().flatten() {
            let history = &mut self.steps[step as usize].history;
            history.first_ns.get_or_insert(now);
            history.last_ns = Some(now);
        }
        if let Some(task) = self.tasks.get_mut(&id) {
            task.state = state;
        }
    }

    fn spend(&mut self, id: Id, spent: Spent) {
        self.steps[id.0 as usize].history.spent.add(spent);
        if let Some(task) = self.tasks.get_mut(&id) {
            task.spent.add(spent);
        }
    }

    fn stop_between(&mut self, from: u64, to: u64) {
        let before = self.stopped_before(from);
        self.stopped.push((from, to));
        self.stopped_sums.push(before);
    }

    /// How long no process worked on the run, up to a time.
    fn stopped_before(&self, time: u64) -> u64 {
        let at = self.stopped.partition_point(|(from, _)| *from < time);
        let Some(last) = at.checked_sub(1) else { return 0 };
        let (from, to) = self.stopped[last];
        self.stopped_sums[last] + to.min(time).saturating_sub(from)
    }

    fn stopped_between(&self, from: u64, to: u64) -> u64 {
        self.stopped_before(to).saturating_sub(self.stopped_before(from))
    }

    pub(super) fn finish(
        mut self,
        run: &str,
        flow: &str,
        holder: Option<Holder>,
        tail: Option<Tail>,
    ) -> History {
        self.wait_until_now();
        let mut steps: Vec<StepHistory> =
            self.steps.iter_mut().map(|step| std::mem::take(&mut step.history)).collect();
        let (mut counts, mut spent, mut attempts) = (Counts::default(), Spent::default(), 0);
        for (step, read) in steps.iter().zip(&self.steps) {
            counts.add(read.whole_tasks(step.counts));
            spent.add(step.spent);
            attempts += step.attempts;
        }
        for (at, step) in steps.iter_mut().enumerate().filter(|(_, step)| step.is_map) {
            step.item_counts = self.items(at as u32);
            step.item_counts.add(step.counts);
        }
        for (at, map) in
            self.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.map?)))
        {
            let mut inner = steps[at].clone();
            inner.counts = self.steps[at].whole_tasks(inner.counts);
            if at != map as usize {
                steps[map as usize].include(&inner);
            }
        }
        let mut tasks: Vec<Task> = self.tasks.into_values().chain(self.once).collect();
        tasks.sort_by_key(|task| (task.first_ns(), task.step, task.item));
        let due_ns = tasks.iter().filter_map(|task| task.due_ns).min();
        let ended = self.end.filter(|outcome| *outcome != Some(Outcome::Interrupted));
        let by_counts = if counts.dead > 0 { Outcome::Failed } else { Outcome::Succeeded };
        let state = match (ended, holder) {
            (None, Some(holder)) => State::Running(holder),
            (None, None) => State::Interrupted,
            (Some(_), Some(holder)) => State::Held(holder),
            (Some(outcome), None) => State::Over(outcome.unwrap_or(by_counts)),
        };
        let mut reasons: Vec<Reason> = self
            .reasons
            .into_iter()
            .map(|(what, (count, example))| Reason { what, count, example })
            .collect();
        reasons.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.what.cmp(&other.what))
        });
        History {
            run: run.into(),
            flow: flow.into(),
            state,
            is_cancelled: self.is_cancelled,
            start: self.start,
            resumes: self.resumes,
            time_ns: self.time_ns,
            anchor: self.anchor,
            stopped: self.stopped,
            steps,
            counts,
            attempts,
            spent,
            due_ns,
            reasons,
            tasks,
            tasks_left_out: self.left_out,
            tails_left_out: self.tails_left_out,
            damages: self.damages,
            damages_count: self.damages_count,
            damages_accepted: self.damages_accepted,
            has_records: self.has_records,
            tail,
            unknown: self.unknown,
            impossible: self.impossible,
            impossible_first: self.impossible_first,
        }
    }

    /// The items of a map, by what has become of all their steps.
    fn items(&self, map: u32) -> Counts {
        let inner: Vec<&Step> = self.steps.iter().filter(|step| step.map == Some(map)).collect();
        let known = inner.iter().map(|step| step.states.len()).max().unwrap_or(0);
        let mut counts = Counts::default();
        for item in 0..known {
            let states = inner.iter().filter_map(|step| step.states.get(item).copied());
            counts.change(TaskState::New, states.fold(TaskState::New, of_item));
        }
        counts
    }

    /// Adds what tasks that still wait have waited so far.
    fn wait_until_now(&mut self) {
        let waiting = self.tasks.values().filter(|task| task.state == TaskState::Waiting);
        let waiting: Vec<Id> = waiting.map(|task| (task.step, task.item)).collect();
        for id in waiting {
            let spent = self.waited(id, self.time_ns);
            self.spend(id, spent);
        }
    }
}

/// What has become of an item, by one of its steps more. What it failed at and passed over, or skipped, does not keep it from its end.
fn of_item(item: TaskState, step: TaskState) -> TaskState {
    let rank = |state: &TaskState| match state {
        TaskState::New => 0,
        TaskState::Succeeded | TaskState::Continued | TaskState::Skipped => 1,
        TaskState::Flaky => 2,
        TaskState::Recovered => 3,
        TaskState::Waiting => 4,
        TaskState::Running => 5,
        TaskState::Dropped => 6,
        TaskState::Dead => 7,
    };
    let further = if rank(&step) > rank(&item) { step } else { item };
    match further {
        TaskState::Continued | TaskState::Skipped => TaskState::Succeeded,
        state => state,
    }
}

impl Counts {
    fn change(&mut self, before: TaskState, after: TaskState) {
        for (state, is_more) in [(before, false), (after, true)] {
            let [count, flaky] = match state {
                TaskState::New => [None, None],
                TaskState::Running => [Some(&mut self.running), None],
                TaskState::Waiting => [Some(&mut self.waiting), None],
                TaskState::Succeeded => [Some(&mut self.succeeded), None],
                TaskState::Flaky => [Some(&mut self.succeeded), Some(&mut self.flaky)],
                TaskState::Recovered => [Some(&mut self.recovered), None],
                TaskState::Continued => [Some(&mut self.continued), None],
                TaskState::Skipped => [Some(&mut self.skipped), None],
                TaskState::Dead => [Some(&mut self.dead), None],
                TaskState::Dropped => [Some(&mut self.dropped), None],
            };
            for count in [count, flaky].into_iter().flatten() {
                *count = if is_more { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.succeeded += other.succeeded;
        self.flaky += other.flaky;
        self.recovered += other.recovered;
        self.continued += other.continued;
        self.skipped += other.skipped;
        self.dead += other.dead;
        self.dropped += other.dropped;
        self.waiting += other.waiting;
        self.running += other.running;
    }
}

impl StepHistory {
    /// Adds an inner step to its map.
    fn include(&mut self, inner: &Self) {
        self.counts.add(inner.counts);
        self.attempts += inner.attempts;
        self.failures += inner.failures;
        self.spent.add(inner.spent);
        self.longest_ns = self.longest_ns.max(inner.longest_ns);
        self.first_ns = [self.first_ns, inner.first_ns].into_iter().flatten().min();
        self.last_ns = self.last_ns.max(inner.last_ns);
    }
}

/// Sets which inner step follows which.
fn link(steps: &mut [Step]) {
    let last_of = |map: u32| steps.iter().rposition(|step| step.map == Some(map));
    let next = |(step, at): (&Step, u32)| {
        let map = step.map?;
        let inner = |other: u32| {
            let needs = &steps[other as usize].needs;
            needs.iter().find(|need| steps[need.step as usize].map == Some(map)).copied()
        };
        flow::after(at, last_of(map)? as u32, inner)
    };
    let next: Vec<Option<u32>> = steps.iter().zip(0..).map(next).collect();
    steps.iter_mut().zip(next).for_each(|(step, next)| step.next = next);
}

/// What every record may say of a task.
fn note(task: &mut Task, record: &Record) {
    if task.key.is_none() {
        task.key.clone_from(&record.key);
    }
    task.generation = task.generation.max(record.generation);
}

fn refusal(n: u64, record: &Record, why: &str) -> String {
    let event = serde_json::to_value(record.event).unwrap_or_default();
    let event = event.as_str().unwrap_or_default();
    let step = record.step.as_deref().unwrap_or_default();
    let step: String = step.chars().take(40).collect();
    format!("record {n} (`{event}` of `{}`): {why}", step.escape_debug())
}

/// The last line that says something.
fn example(printed: &str) -> Option<String> {
    let line = printed.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(EXAMPLE_MAX).collect())
}

/// The end of the text, from the beginning of a character on.
fn last_bytes(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
