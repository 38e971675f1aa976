//! Runs an engine to its end, and tells of it: what `redial map` and `redial flow run` share.

mod board;
mod delivery;
mod held;

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use redial_core::{BreakerState, Time};
use redial_flow::engine::{Engine, EngineError, Finished, Observer, View, Written};
use redial_flow::flow::{Place, StepId};
use redial_flow::journal::ReadError;
use redial_flow::machine::{FAILURES_MAX, TaskId};
use redial_flow::record::{Event, Outcome, Record};
use redial_flow::store::StoreError;
use redial_policy::Diagnostic;
use redial_process::shared::Refusal;
use redial_process::{Survivors, signals};

use self::board::Board;
use self::delivery::Undelivered;
use self::held::Held;
use crate::args::{Progress, TellingFlags};
use crate::console::narrator::Level;
use crate::duration::compact;
use crate::exit_code;
use crate::output::{Failure, count};
use crate::verb::run::die;
use crate::visible::visible;

/// An output of a flow, or why it has no value.
type FlowOutput = (String, Result<redial_flow::Value, String>);

/// What is told of a run, and where what its commands write goes.
pub(crate) struct Telling {
    pub(crate) words: Words,
    pub(crate) level: Level,
    pub(crate) progress: Progress,
    /// Whether the output of what succeeded is printed.
    pub(crate) prints_output: bool,
    pub(crate) keeps_order: bool,
    pub(crate) output_dir: Option<PathBuf>,
    /// Where records are written as well.
    pub(crate) events: Option<PathBuf>,
    pub(crate) outputs: Outputs,
}

/// How the outputs of a flow are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outputs {
    Text,
    Json,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// The items of `redial map`.
    Items,
    /// The tasks of a flow.
    Tasks,
}

impl Words {
    fn of(self, number: u64) -> String {
        let what = match self {
            Self::Items => "item",
            Self::Tasks => "task",
        };
        count(usize::try_from(number).unwrap_or(usize::MAX), what)
    }
}

impl From<&TellingFlags> for Level {
    fn from(flags: &TellingFlags) -> Self {
        match (flags.quiet, flags.verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }
}

/// An error of the store. A run that another process holds has an exit code of its own.
pub(crate) fn store_failure(error: &StoreError) -> Failure {
    match error {
        StoreError::Held { .. } => {
            crate::output::print_error(&error.to_string());
            Failure::Reported(exit_code::HELD)
        }
        error => Failure::Message(error.to_string()),
    }
}

/// An error of the engine, with what to do about a journal that is damaged.
pub(crate) fn engine_failure(error: EngineError) -> Failure {
    const REMEDY: &str =
        "with --accept-damage the run goes on without it, and may do again what it said was done";
    match error {
        EngineError::Journal(ReadError::Damage(damage)) => {
            Failure::Message(format!("{damage}; {REMEDY}"))
        }
        EngineError::Impossible(_) => Failure::Message(format!("{error}; {REMEDY}")),
        EngineError::Store(error) => store_failure(&error),
        error => Failure::Message(error.to_string()),
    }
}

/// Runs an engine to its end; gives the exit code.
pub(crate) fn conduct(
    mut engine: Engine,
    mut teller: Teller,
    at_end: impl FnOnce() -> Result<(), Failure>,
) -> Result<u8, Failure> {
    let finished = engine.run(&mut teller);
    if let Ok(Finished::Deadline) = finished {
        teller.line("the time of the flow is over (within)");
    }
    teller.finish(&engine, matches!(finished, Ok(Finished::Over)));
    let failed = engine.has_failed();
    if let Some(run) = engine.kept_as() {
        match finished {
            Ok(Finished::Over) if engine.machine().has_dead_letters() => teller.line(&format!(
                "redial flow dead show {run} shows what gave up, redial flow dead retry {run} tries it again"
            )),
            Ok(Finished::Interrupted(_)) if engine.machine().is_cancelled() => {
                teller.line(&format!("cancelled: nothing more of the run {run} is run"));
            }
            Ok(Finished::Interrupted(_)) => {
                teller.line(&format!("interrupted; redial flow resume {run} goes on"));
            }
            _ => {}
        }
    }
    let undelivered = teller.undelivered.take().map(|lost| {
        let rest = match (finished.as_ref(), engine.kept_as()) {
            (Ok(Finished::Stopped), Some(run)) => {
                format!(
                    "; nothing new was started, and redial flow resume {run} goes on with the rest"
                )
            }
            (Ok(Finished::Stopped), None) => "; nothing new was started".into(),
            _ => String::new(),
        };
        (lost.is_closed_pipe(), lost.words(teller.telling.words) + &rest)
    });
    let outputs = match &finished {
        Ok(Finished::Over) => engine.flow_outputs(),
        _ => Vec::new(),
    };
    signals::release();
    drop(engine);
    at_end()?;
    match (finished, undelivered) {
        (Ok(Finished::Interrupted(signal)), lost) => {
            lost.iter().for_each(|(_, words)| teller.line(words));
            Ok(die(signal))
        }
        (Err(error), lost) => {
            lost.iter().for_each(|(_, words)| teller.line(words));
            teller.board.leave();
            Err(Failure::Message(error.to_string()))
        }
        (Ok(_), Some((true, words))) => {
            teller.line(&words);
            Ok(exit_code::CLOSED_PIPE)
        }
        (Ok(_), Some((false, words))) => {
            teller.board.leave();
            Err(Failure::Message(words))
        }
        (Ok(Finished::Deadline), None) => Ok(exit_code::DEADLINE),
        (Ok(Finished::Over), None) => {
            let lacking = teller.print_outputs(&outputs)?;
            if failed {
                lacking.iter().for_each(|words| teller.line(words));
                return Ok(exit_code::FAILURE);
            }
            lacking.into_iter().next().map_or(Ok(0), |words| Err(Failure::Message(words)))
        }
        (Ok(Finished::Stopped), None) => Ok(exit_code::FAILURE),
    }
}

/// Tells of a run while it goes on.
pub(crate) struct Teller {
    telling: Telling,
    board: Board,
    started: Instant,
    /// The items that were over when this process began.
    items_before: Option<u64>,
    /// When a line says next how far it has come.
    next_line: Option<Time>,
    at_first: u64,
    flaky: u64,
    recovered: u64,
    passed_over: u64,
    dead: u64,
    skipped: u64,
    /// Why attempts have failed, and how often.
    reasons: HashMap<String, u64>,
    /// Of tasks that have failed, how the last attempt ended.
    last: HashMap<TaskId, String>,
    /// The outputs of items that are over before an earlier one.
    held: Held,
    /// The item whose output is printed next.
    next: u32,
    is_stdout_closed: bool,
    undelivered: Option<Undelivered>,
    events: Option<Box<dyn Write>>,
    /// The steps that have a breaker, and until when it was told to be open.
    breakers: Option<Vec<(StepId, Time)>>,
}

impl Teller {
    pub(crate) fn new(telling: Telling) -> Result<Self, Failure> {
        if let Some(directory) = &telling.output_dir {
            std::fs::create_dir_all(directory).map_err(|error| {
                format!("--output-dir: cannot make {}: {error}", directory.display())
            })?;
        }
        let events: Option<Box<dyn Write>> = match &telling.events {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(Box::new(std::io::stdout())),
            Some(path) => {
                let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
                let file = file.map_err(|error| {
                    format!("--events: cannot open {}: {error}", path.display())
                })?;
                Some(Box::new(file))
            }
        };
        let is_watched = telling.level > Level::Quiet
            && match telling.progress {
                Progress::Always => true,
                Progress::Never => false,
                Progress::Auto => board::is_terminal(),
            };
        Ok(Self {
            telling,
            board: Board::new(is_watched),
            started: Instant::now(),
            items_before: None,
            next_line: None,
            at_first: 0,
            flaky: 0,
            recovered: 0,
            passed_over: 0,
            dead: 0,
            skipped: 0,
            reasons: HashMap::new(),
            last: HashMap::new(),
            held: Held::default(),
            next: 0,
            is_stdout_closed: false,
            undelivered: None,
            events,
            breakers: None,
        })
    }

    /// Prints the warnings of `redial check`.
    pub(crate) fn findings(&mut self, found: &[Diagnostic]) {
        for Diagnostic { kind, message, .. } in found {
            self.line(&format!("warning[{}]: {}", kind.name(), visible(message)));
        }
    }

    /// A run goes on.
    pub(crate) fn goes_on(&mut self, known: u64, dead: u64, succeeded: u64) {
        let words = self.telling.words;
        self.line(&format!(
            "the run goes on: {} so far, {succeeded} succeeded, {dead} to try again",
            words.of(known)
        ));
    }

    /// What the process before has left, where it was killed.
    pub(crate) fn survivors(&mut self, engine: &Engine) {
        survivors(engine).iter().for_each(|line| self.line(line));
    }

    pub(crate) fn line(&mut self, text: &str) {
        if self.telling.level > Level::Quiet {
            self.board.print(&format!("redial: {text}\n"));
        }
    }

    /// Prints what the flow has come to, as far as there is a value; gives what is to be told of the rest.
    fn print_outputs(&mut self, outputs: &[FlowOutput]) -> Result<Vec<String>, Failure> {
        let (mut there, mut lacking) = (Vec::new(), Vec::new());
        for (name, value) in outputs {
            match value {
                Ok(value) => there.push((name, value)),
                Err(why) => {
                    lacking.push(format!("no output `{}`: {}", visible(name), visible(why)));
                }
            }
        }
        if self.telling.outputs == Outputs::Json {
            let json = |value: &redial_flow::Value| match value {
                redial_flow::Value::Json(json) => json.clone(),
                redial_flow::Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
            };
            let all = there.iter().map(|(name, value)| ((*name).clone(), json(value)));
            // Not by serde_json itself: numbers stay as they were written.
            let all = redial_flow::Value::Json(serde_json::Value::Object(all.collect()));
            crate::output::print(&format!("{}\n", String::from_utf8_lossy(&all.bytes())))?;
            return Ok(lacking);
        }
        let mut stdout = std::io::stdout().lock();
        for (name, value) in &there {
            let write = |stdout: &mut dyn Write| {
                if outputs.len() > 1 {
                    write!(stdout, "{name}: ")?;
                }
                stdout.write_all(&value.bytes())?;
                stdout.write_all(b"\n")
            };
            write(&mut stdout).map_err(Failure::from)?;
        }
        stdout.flush().map_err(Failure::from)?;
        Ok(lacking)
    }

    /// What a task is called.
    fn name(&self, run: &View<'_>, task: TaskId) -> String {
        self.name_with(run, task, run.key(task))
    }

    fn name_with(&self, run: &View<'_>, task: TaskId, key: Option<&str>) -> String {
        let step = &run.prepared.flow.steps[task.step as usize].name;
        match (key, self.telling.words) {
            (Some(key), Words::Items) => visible(key),
            (Some(key), Words::Tasks) => visible(&format!("{step} {key}")),
            (None, _) => visible(step),
        }
    }

    /// Says once of each breaker that has opened why nothing starts.
    fn tell_open_breakers(&mut self, run: &View<'_>) {
        let steps = &run.prepared.flow.steps;
        let of_flow = || {
            let with_breaker = (0..).zip(steps).filter(|(_, step)| step.breaker.is_some());
            with_breaker.map(|(id, _)| (id, Time::ZERO)).collect()
        };
        let mut breakers = self.breakers.take().unwrap_or_else(of_flow);
        for (id, told) in &mut breakers {
            let step = &steps[*id as usize];
            let whole = if let Place::Inside(map) = step.place { map } else { *id };
            let state = run.machine.breaker(*id, run.now).map(|breaker| breaker.state);
            if let Some(BreakerState::Open { until }) = state
                && until > *told
                && run.machine.end(whole).is_none()
            {
                *told = until;
                let refusal = Refusal::Open(until.since(run.now));
                self.line(&format!("{}: the breaker is {refusal}", visible(&step.name)));
            }
        }
        self.breakers = Some(breakers);
    }

    /// Where nobody watches a bar, a line now and then says how far the run has come. Gives when the next is due.
    fn tell_progress(&mut self, run: &View<'_>) -> Option<Time> {
        /// Short runs have no such line.
        const INTERVAL: Duration = Duration::from_secs(30);
        if self.telling.level == Level::Quiet || self.telling.progress == Progress::Never {
            return None;
        }
        let due = *self.next_line.get_or_insert(run.now.after(INTERVAL));
        if run.now < due {
            return Some(due);
        }
        let line = board::line(self, run);
        self.line(&line);
        let next = run.now.after(INTERVAL);
        self.next_line = Some(next);
        Some(next)
    }

    /// How many tasks are over, and no dead letters.
    fn done(&self) -> u64 {
        self.at_first + self.flaky + self.recovered + self.passed_over + self.skipped
    }

    /// The one summary at the end.
    fn finish(&mut self, engine: &Engine, is_over: bool) {
        self.board.finish();
        self.print_all_held();
        let vanished = engine.vanished();
        if vanished > 0 {
            let words = self.telling.words.of(vanished);
            let are = if vanished == 1 { "is" } else { "are" };
            self.line(&format!(
                "{words} of the run {are} not in the source any more: nothing was run for what vanished"
            ));
        }
        let all = self.done() + self.dead;
        let mut parts = Vec::new();
        for (number, what) in [
            (self.at_first, "at the first attempt"),
            (self.flaky, "flaky"),
            (self.recovered, "recovered"),
            (self.passed_over, "failed and passed over"),
            (self.skipped, "skipped"),
            (self.dead, "dead"),
        ] {
            if number > 0 || what == "at the first attempt" {
                parts.push(format!("{number} {what}"));
            }
        }
        let elapsed = compact(self.started.elapsed());
        let mut text = match all {
            0 if is_over => format!("there was nothing to do; {elapsed}"),
            all => format!("{}: {}; {elapsed}", self.telling.words.of(all), parts.join(", ")),
        };
        let mut reasons: Vec<_> = self.reasons.iter().collect();
        reasons.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
        if !reasons.is_empty() {
            let shown = reasons.iter().take(3);
            let shown: Vec<_> =
                shown.map(|(reason, times)| format!("{} ({times}×)", visible(reason))).collect();
            text += &format!("; failed: {}", shown.join(", "));
        }
        self.line(&text);
    }
}

/// What was left of the process before and has been ended, in words.
pub(crate) fn survivors(engine: &Engine) -> Vec<String> {
    let Survivors { ended, left } = engine.survivors();
    let mut lines = Vec::new();
    if ended > 0 {
        let were = if ended == 1 { "was" } else { "were" };
        let processes = count(ended, "process");
        lines.push(format!("{processes} of the killed run {were} still running: ended"));
    }
    if left > 0 {
        let processes = count(left, "process");
        let what = "could not be ended, not even by KILL";
        lines.push(format!("warning: {processes} of the killed run {what}"));
    }
    lines
}

/// How an attempt ended, in words.
fn ending(record: &Record) -> String {
    let base = match (record.outcome, record.exit, &record.signal) {
        (Some(Outcome::Timeout), ..) => "timeout".to_owned(),
        (Some(Outcome::Lost), ..) if record.message.is_some() => "lost".to_owned(),
        (Some(Outcome::Lost), ..) => "lost when redial was killed".to_owned(),
        (Some(Outcome::SpawnError), ..) => "cannot be started".to_owned(),
        (_, Some(code), _) => format!("exit {code}"),
        (_, _, Some(signal)) => format!("signal {signal}"),
        _ => "failed".to_owned(),
    };
    match &record.message {
        Some(message) => format!("{base}: {message}"),
        None => base,
    }
}

impl Observer for Teller {
    fn recorded(&mut self, run: &View<'_>, record: &Record) {
        if let Some(events) = &mut self.events
            && let Ok(mut line) = serde_json::to_vec(record)
        {
            line.push(b'\n');
            if events.write_all(&line).and_then(|()| events.flush()).is_err() {
                self.events = None;
                self.line("warning: --events: cannot be written any more");
            }
        }
        let Some(task) = run.machine.task(record) else { return };
        match record.event {
            Event::AttemptEnd if record.outcome == Some(Outcome::Succeeded) => {
                match record.attempt {
                    _ if run.is_substitute(task) => self.recovered += 1,
                    Some(1) => self.at_first += 1,
                    _ => self.flaky += 1,
                }
                self.last.remove(&task);
                self.release(run, task);
            }
            Event::AttemptEnd if record.outcome != Some(Outcome::Cancelled) => {
                let how = ending(record);
                *self.reasons.entry(how.clone()).or_default() += 1;
                self.last.insert(task, how);
            }
            Event::Decision => {
                if self.telling.level == Level::Verbose
                    && let Some(delay) = record.delay_ns.filter(|_| record.due_ns.is_some())
                {
                    let name = self.name(run, task);
                    let how = self.last.get(&task).cloned().unwrap_or_default();
                    let delay = compact(Duration::from_nanos(delay));
                    let attempt = record.attempt.unwrap_or(0);
                    self.line(&format!(
                        "{name}: attempt {attempt}: {}; retrying in {delay}",
                        visible(&how)
                    ));
                }
            }
            Event::ItemsEnd if record.reason.as_deref() == Some(FAILURES_MAX) => {
                let name = self.name(run, task);
                let why = record.message.as_deref().unwrap_or("too many items are dead");
                self.line(&format!("{name}: stopped: {}", visible(why)));
            }
            Event::Dead => {
                // The map of `redial map` is no item.
                self.dead += u64::from(task.item.is_some() || self.telling.words == Words::Tasks);
                let name = self.name_with(run, task, record.key.as_deref().or(run.key(task)));
                let how = self.last.remove(&task);
                let why = match (&record.message, how, &record.reason) {
                    (Some(message), ..) => message.to_string(),
                    (None, Some(how), _) => how,
                    (None, None, Some(reason)) => reason.to_string(),
                    (None, None, None) => "failed".to_owned(),
                };
                let attempts = record.attempt.unwrap_or(0);
                let after = match attempts {
                    0 => "not started".to_owned(),
                    attempts => format!("dead after {}", count(attempts as usize, "attempt")),
                };
                if attempts == 0 {
                    *self
                        .reasons
                        .entry(record.reason.as_deref().unwrap_or("failed").into())
                        .or_default() += 1;
                }
                self.line(&format!("{name}: {after}: {}", visible(&why)));
                self.release(run, task);
            }
            Event::StepEnd => {
                match record.outcome {
                    Some(Outcome::Skipped) if run.is_substitute(task) => {}
                    Some(Outcome::Failed) if run.has_substitute(task) => {}
                    Some(Outcome::Skipped) => self.skipped += 1,
                    Some(Outcome::Recovered) => self.recovered += 1,
                    Some(Outcome::Succeeded) => {
                        self.at_first += 1;
                        if let (Some(arm), Level::Verbose) = (&record.arm, self.telling.level) {
                            let name = self.name_with(run, task, run.key(task));
                            self.line(&format!("{name}: takes {}", visible(arm)));
                        }
                    }
                    // `on_failure: continue`: a dead letter has a record of its own.
                    Some(Outcome::Failed) => self.passed_over += 1,
                    _ => self.dead += 1,
                }
                self.last.remove(&task);
                self.release(run, task);
            }
            _ => {}
        }
    }

    fn attempt_ended(
        &mut self,
        run: &View<'_>,
        task: TaskId,
        record: &Record,
        stdout: &mut Written,
        stderr: &mut Written,
    ) {
        let succeeded = record.outcome == Some(Outcome::Succeeded);
        // Of a flow, all that steps print is shown with --verbose, each under the name of its step.
        let is_told =
            succeeded && self.telling.level == Level::Verbose && self.telling.words == Words::Tasks;
        if is_told {
            let attempt = record.attempt.unwrap_or(1);
            let name = self.name(run, task);
            self.line(&format!("{name}: attempt {attempt} succeeded"));
        }
        let is_shown = match succeeded {
            true => self.telling.prints_output || is_told,
            // With --quiet, what the steps of a flow write is in its journal.
            false if self.telling.level == Level::Quiet && self.telling.words == Words::Tasks => {
                false
            }
            false => self.telling.level == Level::Verbose || run.machine.gives_up(task, run.now),
        };
        if is_shown {
            let prints_stdout = self.telling.prints_output || is_told || !succeeded;
            self.pass_on(run, task, stdout, stderr, prints_stdout);
        }
    }

    fn tick(&mut self, run: &View<'_>) -> Option<Time> {
        self.tell_open_breakers(run);
        if !self.board.is_watched() {
            return self.tell_progress(run);
        }
        if !self.board.is_due() {
            return self.board.next(run.now);
        }
        let lines = board::lines(self, run);
        self.board.draw(&lines);
        self.board.next(run.now)
    }

    fn interrupted(&mut self, run: &View<'_>, drain: Duration) {
        let running = run.running().count();
        if running > 0 && !drain.is_zero() {
            self.line(&format!(
                "nothing new starts; {} may go on for {}, a second signal ends them at once",
                count(running, "attempt"),
                compact(drain)
            ));
        }
    }

    fn wants_no_more(&self) -> bool {
        self.undelivered.is_some()
    }

    fn warned(&mut self, warning: &str) {
        self.line(&format!("warning: {}", visible(warning)));
    }
}
