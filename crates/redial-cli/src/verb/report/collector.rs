//! Collects events into runs, in memory that does not grow with the number of attempts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use crate::events::{
    Action, AttemptEnd, Decided, DelaySource, Event, Line, Mode, Outcome, RunEnd, RunStart,
};
use crate::shell;

/// How many attempts of a run are kept at its beginning, and how many at its end.
const KEPT: usize = 50;

/// How much of the end of standard error is kept for each attempt.
const TAIL_MAX: usize = 2048;

/// Takes the events of runs, in any order and as often as they come.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// In the order of their first events.
    runs: Vec<Run>,
    places: HashMap<Arc<str>, usize>,
    commands: HashMap<String, Arc<Command>>,
    /// Interned: runs share most of their texts.
    texts: HashSet<Arc<str>>,
}

/// What was run.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) argv: Vec<String>,
    /// As it would be typed.
    pub(crate) typed: String,
}

/// What is known of a run. A log may begin after it began and end before it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) id: Arc<str>,
    pub(crate) start: Option<Start>,
    pub(crate) attempts: Attempts,
    pub(crate) end: Option<RunEnd>,
    /// The latest moment of it, in seconds after its start.
    last_seen: f64,
}

#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) ts: Box<str>,
    pub(crate) command: Arc<Command>,
    pub(crate) cwd: Arc<str>,
    pub(crate) policy: Arc<str>,
    pub(crate) seed: u64,
    pub(crate) mode: Mode,
}

/// The first and the last attempts of a run, and what those between add up to.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// By their numbers.
    listed: Vec<Attempt>,
    /// The highest number.
    last: u32,
    unlisted_running_ns: u64,
    unlisted_waited_ns: u64,
}

#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    /// None while it runs, or if its end is not in the log.
    pub(crate) ended: Option<AttemptResult>,
    pub(crate) decided: Option<Decision>,
}

#[derive(Debug)]
pub(crate) struct AttemptResult {
    pub(crate) outcome: Outcome,
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<Arc<str>>,
    pub(crate) duration_ns: u64,
    pub(crate) stderr_tail: Option<Box<str>>,
}

#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) action: Action,
    pub(crate) rule: Option<Arc<str>>,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) delay_ns: Option<u64>,
    pub(crate) delay_source: Option<DelaySource>,
}

/// How a run is counted; the totals have the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    SucceededAtOnce,
    /// A poll that succeeded after the first look.
    BecameReady,
    /// It succeeded after a failed attempt.
    Flaky,
    Failed,
    /// redial itself was signalled.
    Cancelled,
    /// Nothing ran.
    Refused,
    /// Its end is not in the log: it was killed, or still runs.
    Unfinished,
}

impl Collector {
    pub(crate) fn add(&mut self, line: &Line) {
        let place = self.place(&line.run);
        let run = &mut self.runs[place];
        run.last_seen = run.last_seen.max(line.t);
        match &line.event {
            Event::RunStart(start) => {
                let start = self.start(start);
                self.runs[place].start.get_or_insert(start);
            }
            Event::AttemptStart(start) => {
                run.attempts.numbered(start.attempt);
            }
            Event::AttemptEnd(end) => {
                let ended = self.ended(end);
                if let Some(attempt) = self.runs[place].attempts.numbered(end.attempt) {
                    attempt.ended.get_or_insert(ended);
                }
            }
            Event::Decided(decided) => {
                let decision = self.decision(decided);
                if let Some(attempt) = self.runs[place].attempts.numbered(decided.attempt) {
                    attempt.decided.get_or_insert(decision);
                }
            }
            Event::Signalled(_) => {}
            Event::RunEnd(end) => {
                run.end.get_or_insert_with(|| end.clone());
            }
        }
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    fn place(&mut self, id: &str) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let (id, place) = (Arc::<str>::from(id), self.runs.len());
        self.places.insert(Arc::clone(&id), place);
        self.runs.push(Run {
            id,
            start: None,
            attempts: Attempts::default(),
            end: None,
            last_seen: 0.0,
        });
        place
    }

    fn start(&mut self, start: &RunStart) -> Start {
        let typed = shell::command(&start.argv);
        let command = match self.commands.get(&typed) {
            Some(command) => Arc::clone(command),
            None => {
                let command = Command { argv: start.argv.clone(), typed: typed.clone() };
                Arc::clone(self.commands.entry(typed).or_insert(Arc::new(command)))
            }
        };
        Start {
            ts: start.ts.as_str().into(),
            command,
            cwd: self.shared(&start.cwd),
            policy: self.shared(&start.policy),
            seed: start.seed,
            mode: start.mode,
        }
    }

    fn ended(&mut self, end: &AttemptEnd) -> AttemptResult {
        AttemptResult {
            outcome: end.outcome,
            exit: end.exit,
            signal: end.signal.as_deref().map(|signal| self.shared(signal)),
            duration_ns: end.duration_ns,
            stderr_tail: end.stderr_tail.as_deref().map(last_bytes).map(Box::from),
        }
    }

    fn decision(&mut self, decided: &Decided) -> Decision {
        Decision {
            action: decided.action,
            rule: decided.rule.as_deref().map(|rule| self.shared(rule)),
            reason: decided.reason.as_deref().map(|reason| self.shared(reason)),
            delay_ns: decided.delay_ns,
            delay_source: decided.delay_source,
        }
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text = Arc::<str>::from(text);
        self.texts.insert(Arc::clone(&text));
        text
    }
}

impl Run {
    /// None where the log does not have its start.
    pub(crate) fn command(&self) -> Option<&Command> {
        Some(&*self.start.as_ref()?.command)
    }

    /// Whether `redial until` made it: its attempts are looks, not retries.
    pub(crate) fn is_poll(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.mode == Mode::Until)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let Some(end) = &self.end else { return Verdict::Unfinished };
        match end.outcome {
            Outcome::Succeeded if end.flaky => Verdict::Flaky,
            Outcome::Succeeded if end.attempts > 1 => Verdict::BecameReady,
            Outcome::Succeeded => Verdict::SucceededAtOnce,
            Outcome::Failed
            | Outcome::Timeout
            | Outcome::SpawnError
            | Outcome::Signalled
            | Outcome::Lost => Verdict::Failed,
            Outcome::Cancelled => Verdict::Cancelled,
            Outcome::Refused => Verdict::Refused,
        }
    }

    /// How many attempts were made.
    pub(crate) fn tries(&self) -> u32 {
        self.end.as_ref().map_or(self.attempts.last, |end| end.attempts)
    }

    pub(crate) fn waited_ns(&self) -> u64 {
        self.end.as_ref().map_or_else(|| self.attempts.waited_ns(), |end| end.waited_ns)
    }

    pub(crate) fn running_ns(&self) -> u64 {
        self.end.as_ref().map_or_else(|| self.attempts.running_ns(), |end| end.running_ns)
    }

    /// Without an end: until its last event.
    pub(crate) fn duration_ns(&self) -> u64 {
        let seen = || (self.last_seen * 1e9) as u64;
        self.end.as_ref().map_or_else(seen, |end| end.duration_ns)
    }

    /// The attempts that are not listed: those between the first and the last of a long run, and
    /// those that the log does not have.
    pub(crate) fn unlisted(&self) -> u32 {
        let listed = u32::try_from(self.attempts.listed.len()).unwrap_or(u32::MAX);
        self.tries().saturating_sub(listed)
    }
}

impl Attempts {
    pub(crate) fn listed(&self) -> &[Attempt] {
        &self.listed
    }

    /// The attempt with this number, inserted if it is new; none if it is one of those that are not
    /// listed.
    fn numbered(&mut self, number: u32) -> Option<&mut Attempt> {
        self.last = self.last.max(number);
        let mut index = match self.listed.binary_search_by_key(&number, |attempt| attempt.number) {
            Ok(known) => known,
            Err(place) => {
                // Most runs have one attempt, and there may be very many runs.
                self.listed.reserve_exact(1);
                self.listed.insert(place, Attempt { number, ended: None, decided: None });
                place
            }
        };
        if self.listed.len() > 2 * KEPT {
            self.unlist();
            match index {
                // It is one of those between, and came late or again.
                KEPT => return None,
                0..KEPT => {}
                _ => index -= 1,
            }
        }
        self.listed.get_mut(index)
    }

    /// Drops the attempt in the middle, and keeps its times.
    fn unlist(&mut self) {
        let attempt = self.listed.remove(KEPT);
        self.unlisted_running_ns = self.unlisted_running_ns.saturating_add(attempt.running_ns());
        self.unlisted_waited_ns = self.unlisted_waited_ns.saturating_add(attempt.waited_ns());
    }

    fn running_ns(&self) -> u64 {
        let listed = self.listed.iter().map(Attempt::running_ns);
        listed.fold(self.unlisted_running_ns, u64::saturating_add)
    }

    /// The wait after the last attempt was not over.
    fn waited_ns(&self) -> u64 {
        let over = self.listed.iter().filter(|attempt| attempt.number < self.last);
        over.map(Attempt::waited_ns).fold(self.unlisted_waited_ns, u64::saturating_add)
    }
}

impl Attempt {
    fn running_ns(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| ended.duration_ns)
    }

    fn waited_ns(&self) -> u64 {
        self.decided.as_ref().and_then(|decided| decided.delay_ns).unwrap_or(0)
    }
}

/// The end of the text, from the beginning of a character on.
fn last_bytes(text: &str) -> &str {
    let mut from = text.len().saturating_sub(TAIL_MAX);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
