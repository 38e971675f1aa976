//! The events of a run, for the log and for reports.

use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use redial_policy::{Ending, Fate, Judgement, Stream};

use super::{Course, End, attempts_of};
use crate::events::{
    Action, AttemptEnd, AttemptStart, Decided, DelaySource, Event, Outcome, RunEnd, RunStart,
};
use crate::output::replace_file;
use crate::report;
use crate::run::ending;
use crate::run::signals::short_name;

impl Course<'_> {
    pub(super) fn note_run(&mut self) {
        let job = self.job;
        self.supervisor.log.event(&self.supervisor.clock, || {
            let cwd = std::env::current_dir().unwrap_or_default();
            Event::RunStart(RunStart {
                ts: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
                argv: job.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                cwd: cwd.to_string_lossy().into_owned(),
                pid: std::process::id(),
                policy: job.clause.clone(),
                attempts: attempts_of(&job.policy),
                timeout_ns: job.timeout.map(nanos),
                seed: job.seed,
                rules: job.rules.describe(),
            })
        });
    }

    pub(super) fn note_start(&mut self, pid: Option<u32>) {
        let (attempt, of) = (self.attempts, attempts_of(&self.job.policy));
        self.supervisor.log.event(&self.supervisor.clock, || {
            Event::AttemptStart(AttemptStart { attempt, of, pid })
        });
    }

    pub(super) fn note_end(
        &mut self,
        ending: &Ending,
        judgement: &Judgement,
        took: Duration,
        before: Option<Times>,
    ) {
        let Some(before) = before else { return };
        let after = times_of_children();
        let cancelled = self.supervisor.ended_by().is_some();
        let job = self.job;
        let tail =
            job.rules.watches(Stream::Stderr).then(|| self.streams.watch.tail(Stream::Stderr));
        let attempt = self.attempts;
        self.supervisor.log.event(&self.supervisor.clock, || {
            let (exit, signal) = match ending {
                Ending::Exit(code) => (Some(*code), None),
                Ending::Signal { number, name } => {
                    let name =
                        if name.is_empty() { number.to_string() } else { (*name).to_owned() };
                    (None, Some(name))
                }
                _ => (None, None),
            };
            Event::AttemptEnd(AttemptEnd {
                attempt,
                outcome: match judgement.fate {
                    _ if cancelled => Outcome::Cancelled,
                    Fate::Success => Outcome::Succeeded,
                    _ => ending::outcome(ending),
                },
                exit,
                signal,
                duration_ns: nanos(took),
                user_ns: nanos(after.user.saturating_sub(before.user)),
                system_ns: nanos(after.system.saturating_sub(before.system)),
                stderr_tail: tail,
            })
        });
        self.tell_trouble();
    }

    pub(super) fn decided(
        &mut self,
        action: Action,
        rule: Option<String>,
        reason: Option<&str>,
        delay: Option<(Duration, DelaySource)>,
    ) {
        let attempt = self.attempts;
        self.supervisor.log.event(&self.supervisor.clock, || {
            Event::Decided(Decided {
                attempt,
                action,
                rule,
                reason: reason.map(str::to_owned),
                delay_ns: delay.map(|(delay, _)| nanos(delay)),
                delay_source: delay.map(|(_, source)| source),
            })
        });
    }

    pub(super) fn ended(&mut self, outcome: Outcome, reason: Option<&str>, end: End) {
        let (attempts, waited, running) = (self.attempts, self.waited, self.running);
        let all = self.supervisor.clock.now().since(self.call.started());
        let (exit, signal) = match end {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(short_name(signal).to_owned())),
        };
        self.supervisor.log.event(&self.supervisor.clock, || {
            Event::RunEnd(RunEnd {
                outcome,
                reason: reason.map(str::to_owned),
                attempts,
                flaky: outcome == Outcome::Succeeded && attempts > 1,
                exit,
                signal,
                waited_ns: nanos(waited),
                running_ns: nanos(running),
                duration_ns: nanos(all),
            })
        });
        self.tell_trouble();
    }

    /// Writes the reports of the run. One that cannot be written harms nobody.
    pub(in crate::run) fn report(&mut self, reports: &[(&Path, report::Format)]) {
        let Some(collector) = self.supervisor.log.collector.take() else { return };
        for (path, format) in reports {
            let text = report::write(&collector.summary(), *format);
            if let Err(error) = replace_file(path, &text) {
                let reason = std::io::Error::from(error.kind());
                self.say.warn(&format!("cannot write the report {}: {reason}", path.display()));
            }
        }
    }

    pub(super) fn tell_trouble(&mut self) {
        if let Some(trouble) = self.supervisor.log.trouble() {
            self.say.warn(&trouble);
        }
    }
}

/// What all children so far have taken of the processors.
pub(super) struct Times {
    user: Duration,
    system: Duration,
}

pub(super) fn times_of_children() -> Times {
    let time = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    match getrusage(UsageWho::RUSAGE_CHILDREN) {
        Ok(usage) => Times { user: time(usage.user_time()), system: time(usage.system_time()) },
        Err(_) => Times { user: Duration::ZERO, system: Duration::ZERO },
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}
