//! An attempt has ended: how, what its rules make of that, and what it left behind.

use std::time::SystemTime;

use redial_policy::{Ending, Fate, Judgement, Stream};
use redial_process::{Exit, Request, ending};

use super::slot::{Ended, SlotState, Started};
use super::{Engine, Observer, Stopping, nanos};
use crate::machine::TaskId;
use crate::prepared::ReadyAction;
use crate::record::{Event, Outcome, Record, Verdict};

/// How much of the standard error of a failed attempt is kept.
const TAIL_MAX: u64 = 4 << 10;

impl Engine {
    /// Takes all that has ended.
    pub(super) fn collect(&mut self, observer: &mut dyn Observer) {
        for at in 0..self.slots.len() {
            let id = self.slots[at].id;
            loop {
                match std::mem::replace(&mut self.slots[at].state, SlotState::Idle) {
                    SlotState::Starting(started) => match self.reactor.started(id) {
                        None => {
                            self.slots[at].state = SlotState::Starting(started);
                            break;
                        }
                        Some(Ok(_)) => self.slots[at].state = SlotState::Running(started),
                        Some(Err(error)) => self.not_started(started, error),
                    },
                    SlotState::Running(started) => match self.reactor.exit(id) {
                        None => {
                            self.slots[at].state = SlotState::Running(started);
                            break;
                        }
                        Some(exit) => self.exited(at, started, exit, observer),
                    },
                    SlotState::Sweeping(ended) => match self.reactor.swept(id) {
                        None => {
                            self.slots[at].state = SlotState::Sweeping(ended);
                            break;
                        }
                        Some(survivors) => {
                            if survivors {
                                observer.warned("a process could not be ended, not even by KILL");
                            }
                            self.ended(at, *ended, observer);
                        }
                    },
                    state @ (SlotState::Idle | SlotState::Claimed) => {
                        self.slots[at].state = state;
                        break;
                    }
                }
            }
        }
    }

    fn not_started(&mut self, started: Started, error: nix::errno::Errno) {
        let Started { task, attempt, at, .. } = started;
        let now = self.now();
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(now.since(at)));
        use nix::errno::Errno;
        if matches!(error, Errno::ESRCH | Errno::EPIPE | Errno::ECONNRESET | Errno::EPROTO) {
            // The guard was killed before it could say whether the command runs: so it counts.
            record.outcome = Some(Outcome::Lost);
            record.verdict = Some(Verdict::Retry);
            record.message = ending::fault_of_the_system(error).map(Into::into);
        } else if let Some(why) = ending::fault_of_the_system(error) {
            // Not the task's fault, and not counted: it runs when the run is resumed.
            record.outcome = Some(Outcome::Cancelled);
            record.message = Some(why.into());
            self.stopping.get_or_insert_with(|| Stopping::System(why.to_owned()));
        } else {
            let ending = ending::of_error(error);
            let rules = &self.prepared.step(task.step).rules;
            let judgement = rules.judge(&ending, &mut rules.watch(), SystemTime::now());
            judged(&mut record, &ending, &judgement);
            let program = self.program_of(task).unwrap_or_default();
            record.message = Some(format!("{program}{}", error.desc()).into());
            self.last_exit.insert(task, ending::exit_code(&ending));
        }
        self.record(record);
    }

    /// The program of a task as messages name it.
    fn program_of(&self, task: TaskId) -> Option<String> {
        const SHOWN: usize = 200;
        let ReadyAction::Run(arguments) = &self.prepared.step(task.step).action else {
            return None;
        };
        let program = arguments.first()?.argument(&self.values(Some(task))).ok()?;
        let program = String::from_utf8_lossy(&program);
        Some(format!("{}: ", program.chars().take(SHOWN).collect::<String>()))
    }

    fn exited(&mut self, at: usize, started: Started, exit: Exit, observer: &mut dyn Observer) {
        let Started { task, attempt, at: began, cut_by_deadline_at, mut stdout, mut stderr } =
            started;
        let now = self.now();
        let timed_out = exit.timed_out;
        let status = exit.status.map(|status| ending::of_status(status, timed_out));
        let ending = status.unwrap_or(Ending::TimedOut);
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(now.since(began)));
        let ready = self.prepared.step(task.step);
        let mut watch = ready.rules.watch();
        for (stream, written) in [(Stream::Stdout, &mut stdout), (Stream::Stderr, &mut stderr)] {
            if ready.rules.watches(stream) {
                written.each_chunk(|chunk| watch.saw(stream, chunk));
            }
        }
        let judgement = ready.rules.judge(&ending, &mut watch, SystemTime::now());
        judged(&mut record, &ending, &judgement);
        if timed_out && cut_by_deadline_at.is_some_and(|at| at <= now) {
            record.message = Some("cut by the deadline of its policy".into());
        }
        let is_success = judgement.fate == Fate::Success && !timed_out;
        if !is_success {
            self.last_exit.insert(task, ending::exit_code(&ending));
            if self.reactor.has_forwarded_interrupt() || self.is_cut_by_flow() {
                record.outcome = Some(Outcome::Cancelled);
                record.verdict = None;
            }
        }
        let ended = Ended { task, record, stdout, stderr };
        // A success may leave its daemon; nothing else leaves anything.
        if is_success || exit.status.is_none() {
            self.reactor.disown(self.slots[at].id);
            self.ended(at, ended, observer);
        } else {
            self.reactor.begin_sweep(self.slots[at].id);
            self.slots[at].state = SlotState::Sweeping(Box::new(ended));
        }
    }

    /// An attempt is over, and so is all that it started.
    fn ended(&mut self, at: usize, ended: Ended, observer: &mut dyn Observer) {
        let Ended { task, mut record, mut stdout, mut stderr } = ended;
        // Also of a success: the next attempt in this slot is another item's, and finds the file empty.
        let (request, ignored) = match &self.slots[at].control {
            Some(control) => control.take(),
            None => (None, None),
        };
        if record.outcome == Some(Outcome::Succeeded) {
            if let Err(refusal) = self.take_output(at, task, &mut record, &mut stdout) {
                debug_assert!(
                    crate::reason::page(refusal.name).is_some(),
                    "{refusal:?} has no page"
                );
                record.outcome = Some(Outcome::Failed);
                record.verdict = Some(Verdict::Stop);
                record.rule = Some(refusal.name.into());
                record.message = Some(refusal.message.into());
            }
        } else {
            if let Some(line) = ignored {
                observer.warned(&format!("REDIAL_CONTROL: {line}"));
            }
            match request {
                Some(Request::RetryAfter(delay)) => record.delay_ns = Some(nanos(delay)),
                Some(Request::Stop) => record.verdict = Some(Verdict::Stop),
                None => {}
            }
        }
        if record.outcome != Some(Outcome::Succeeded) {
            let tail = self.masked(&stderr.tail(TAIL_MAX));
            record.stderr_tail = (!tail.is_empty()).then(|| tail.into());
        }
        if matches!(record.outcome, Some(Outcome::Succeeded)) {
            self.last_exit.remove(&task);
        }
        self.record(record.clone());
        for written in [&mut stdout, &mut stderr] {
            written.mask(self.secrets.iter().map(|(_, secret)| secret.as_str()));
        }
        observer.attempt_ended(&self.view(), task, &record, &mut stdout, &mut stderr);
        let slot = &mut self.slots[at];
        if !self.reactor.has_left_children(slot.id) && stdout.clear() && stderr.clear() {
            slot.spare = Some((stdout, stderr));
        }
    }
}

fn judged(record: &mut Record, ending: &Ending, judgement: &Judgement) {
    match ending {
        Ending::Exit(code) => record.exit = Some(*code),
        Ending::Signal { number, name } => {
            let text = if name.is_empty() { number.to_string() } else { (*name).to_owned() };
            record.signal = Some(text.into());
        }
        _ => {}
    }
    let (outcome, verdict) = match (judgement.fate, ending) {
        (Fate::Success, _) => (Outcome::Succeeded, None),
        (fate, ending) => {
            let outcome = match ending {
                Ending::Exit(_) => Outcome::Failed,
                Ending::Signal { .. } => Outcome::Signalled,
                Ending::TimedOut => Outcome::Timeout,
                Ending::Lost => Outcome::Lost,
                Ending::NotFound | Ending::NotExecutable => Outcome::SpawnError,
            };
            let verdict = if fate == Fate::Stop { Verdict::Stop } else { Verdict::Retry };
            (outcome, Some(verdict))
        }
    };
    record.outcome = Some(outcome);
    record.verdict = verdict;
    record.rule = judgement.rule.as_deref().map(Into::into);
    record.delay_ns = judgement.delay.map(nanos);
}
