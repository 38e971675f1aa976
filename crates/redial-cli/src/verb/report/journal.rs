//! The journal of a flow, or its event log, as events of runs: each task is a run, and its step the command.

use std::collections::HashMap;

use redial_flow::record::{self, Record};

use crate::events::{
    Action, AttemptEnd, AttemptStart, Attempts, Decided, Event, Line, Mode, Outcome, RunEnd,
    RunStart, VERSION,
};

/// Takes the records of journals, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Journal {
    starts: HashMap<Box<str>, record::Start>,
    tasks: HashMap<Key, Task>,
}

type Key = (Box<str>, Box<str>, Option<u32>);

/// A task that is under way.
#[derive(Debug)]
struct Task {
    id: String,
    started: f64,
    attempts: u32,
    running_ns: u64,
    waited_ns: u64,
    /// When the attempt that runs began.
    attempt_started: f64,
}

impl Journal {
    /// The events that a record stands for: none, where it is not about an attempt or an end.
    pub(super) fn events(&mut self, record: &Record) -> Vec<Line> {
        // The event log of a run that was resumed has no other start.
        if let Some(start) = &record.start {
            self.starts.entry(record.run.clone()).or_insert_with(|| (**start).clone());
        }
        let Some(step) = &record.step else { return Vec::new() };
        let key = (record.run.clone(), step.clone(), record.item);
        match record.event {
            record::Event::AttemptStart => self.attempt_start(key, record),
            record::Event::AttemptEnd => self.attempt_end(&key, record),
            record::Event::Decision => self.decision(&key, record),
            record::Event::Dead => self.give_up(key, record),
            // What was skipped has no attempts, and neither has a branch that took an arm.
            record::Event::StepEnd
                if !matches!(
                    record.outcome,
                    Some(record::Outcome::Skipped | record::Outcome::Succeeded)
                ) =>
            {
                self.give_up(key, record)
            }
            _ => Vec::new(),
        }
    }

    /// Begins the task, unless it is under way.
    fn begin(&mut self, key: &Key, record: &Record) -> Vec<Line> {
        if self.tasks.contains_key(key) {
            return Vec::new();
        }
        let (run, step, item) = key;
        let item = item.map(|item| format!("/{item}")).unwrap_or_default();
        let generation = match record.generation {
            0 => String::new(),
            generation => format!("#{generation}"),
        };
        let task = Task {
            id: format!("{run}/{step}{item}{generation}"),
            started: record.t,
            attempts: 0,
            running_ns: 0,
            waited_ns: 0,
            attempt_started: record.t,
        };
        let start = self.starts.get(run);
        let begun = RunStart {
            ts: start.map_or(String::new(), |start| start.ts.to_string()),
            argv: vec![step.to_string()],
            cwd: start.map_or(String::new(), |start| start.cwd.clone()),
            pid: start.map_or(0, |start| start.pid),
            // They stand in the flow, not in its journal.
            policy: String::new(),
            attempts: Attempts::from(None),
            timeout_ns: None,
            seed: start.map_or(0, |start| start.seed),
            rules: Vec::new(),
            mode: Mode::Run,
        };
        let line = task.line(record, Event::RunStart(begun));
        self.tasks.insert(key.clone(), task);
        vec![line]
    }

    fn attempt_start(&mut self, key: Key, record: &Record) -> Vec<Line> {
        let mut lines = self.begin(&key, record);
        let Some((task, attempt)) = self.tasks.get_mut(&key).zip(record.attempt) else {
            return lines;
        };
        (task.attempts, task.attempt_started) = (attempt, record.t);
        let start = AttemptStart { attempt, of: Attempts::from(None), pid: None };
        lines.push(task.line(record, Event::AttemptStart(start)));
        lines
    }

    fn attempt_end(&mut self, key: &Key, record: &Record) -> Vec<Line> {
        let Some((task, attempt)) = self.tasks.get_mut(key).zip(record.attempt) else {
            return Vec::new();
        };
        let Some(outcome) = record.outcome.and_then(outcome) else { return Vec::new() };
        let since = ((record.t - task.attempt_started).max(0.0) * 1e9) as u64;
        let duration_ns = record.duration_ns.unwrap_or(since);
        task.running_ns = task.running_ns.saturating_add(duration_ns);
        let end = AttemptEnd {
            attempt,
            outcome,
            exit: record.exit,
            signal: record.signal.as_deref().map(str::to_owned),
            sent: None,
            duration_ns,
            user_ns: 0,
            system_ns: 0,
            stderr_tail: record.stderr_tail.as_deref().map(str::to_owned),
            partly_watched: None,
        };
        let mut lines = vec![task.line(record, Event::AttemptEnd(end))];
        if outcome == Outcome::Succeeded {
            lines.extend(self.end(key, record, Outcome::Succeeded));
        }
        lines
    }

    fn decision(&mut self, key: &Key, record: &Record) -> Vec<Line> {
        let Some((task, attempt)) = self.tasks.get_mut(key).zip(record.attempt) else {
            return Vec::new();
        };
        let action = match record.action {
            Some(record::Action::Retry) => Action::Retry,
            _ => Action::Stop,
        };
        if action == Action::Retry {
            task.waited_ns = task.waited_ns.saturating_add(record.delay_ns.unwrap_or(0));
        }
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let (rule, reason) = (text(&record.rule), text(&record.reason));
        let (delay_ns, delay_source) = (record.delay_ns, None);
        let decided = Decided { attempt, action, rule, reason, delay_ns, delay_source };
        vec![task.line(record, Event::Decided(decided))]
    }

    fn give_up(&mut self, key: Key, record: &Record) -> Vec<Line> {
        let mut lines = self.begin(&key, record);
        let has_run = self.tasks.get(&key).is_some_and(|task| task.attempts > 0);
        let outcome = if has_run { Outcome::Failed } else { Outcome::Refused };
        lines.extend(self.end(&key, record, outcome));
        lines
    }

    fn end(&mut self, key: &Key, record: &Record, outcome: Outcome) -> Option<Line> {
        let task = self.tasks.remove(key)?;
        let end = RunEnd {
            outcome,
            reason: record.reason.as_deref().map(str::to_owned),
            attempts: task.attempts,
            flaky: outcome == Outcome::Succeeded && task.attempts > 1,
            exit: None,
            signal: None,
            waited_ns: task.waited_ns,
            running_ns: task.running_ns,
            duration_ns: ((record.t - task.started).max(0.0) * 1e9) as u64,
        };
        Some(task.line(record, Event::RunEnd(end)))
    }
}

impl Task {
    /// An event on the task's own clock.
    fn line(&self, record: &Record, event: Event) -> Line {
        let t = (record.t - self.started).max(0.0);
        Line { v: VERSION, run: self.id.clone(), t, event }
    }
}

/// What a cancelled attempt came to is not counted: its number comes again.
fn outcome(outcome: record::Outcome) -> Option<Outcome> {
    Some(match outcome {
        record::Outcome::Succeeded => Outcome::Succeeded,
        record::Outcome::Timeout => Outcome::Timeout,
        record::Outcome::SpawnError => Outcome::SpawnError,
        record::Outcome::Signalled => Outcome::Signalled,
        record::Outcome::Lost => Outcome::Lost,
        record::Outcome::Cancelled => return None,
        _ => Outcome::Failed,
    })
}
