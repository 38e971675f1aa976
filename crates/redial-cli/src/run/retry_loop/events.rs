//! The events of a run, for the log and for reports.

use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use redial_policy::{Ending, Fate, Judgement, Stream};

use super::{End, RetryLoop, attempts_of};
use redial_process::Times;
use redial_process::signals::short_name;

use crate::events::{
    Action, AttemptEnd, AttemptStart, Decided, DelaySource, Event, Outcome, RunEnd, RunStart,
};
use crate::output::replace_file;
use crate::run::ending;
use crate::run::stamp;
use crate::text::clip;
use crate::verb::report;

impl RetryLoop<'_> {
    pub(super) fn note_run(&mut self) {
        let job = self.job;
        self.log.event(&self.reactor.clock, || {
            let cwd = std::env::current_dir().unwrap_or_default();
            Event::RunStart(RunStart {
                ts: stamp::rfc3339(SystemTime::now()),
                argv: job.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                cwd: cwd.to_string_lossy().into_owned(),
                pid: std::process::id(),
                policy: job.clause(),
                attempts: attempts_of(&job.policy),
                timeout_ns: job.entry.timeout.map(nanos),
                seed: job.seed,
                rules: job.rules.describe(),
                mode: job.mode,
            })
        });
    }

    pub(super) fn note_start(&mut self, pid: Option<u32>) {
        let (attempt, of) = (self.attempts, attempts_of(&self.job.policy));
        self.log
            .event(&self.reactor.clock, || Event::AttemptStart(AttemptStart { attempt, of, pid }));
    }

    pub(super) fn note_end(
        &mut self,
        ending: &Ending,
        sent: &[Signal],
        judgement: &Judgement,
        took: Duration,
        before: Option<Times>,
    ) {
        let partly_watched: Vec<_> =
            self.reactor.streams(self.slot).watch.strained().map(str::to_owned).collect();
        self.tell_strained(&partly_watched);
        let Some(before) = before else { return };
        let times = self.reactor.times().since(before);
        let cancelled = self.reactor.interrupted_by().is_some();
        let job = self.job;
        let tail =
            job.rules.watches(Stream::Stderr).then(|| self.streams().watch.tail(Stream::Stderr));
        let attempt = self.attempts;
        self.log.event(&self.reactor.clock, || {
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
                sent: (!sent.is_empty())
                    .then(|| sent.iter().map(|one| short_name(*one).to_owned()).collect()),
                duration_ns: nanos(took),
                user_ns: nanos(times.user),
                system_ns: nanos(times.system),
                stderr_tail: tail,
                partly_watched: (!partly_watched.is_empty()).then_some(partly_watched),
            })
        });
        self.tell_trouble();
    }

    /// Says once which patterns may have missed something.
    fn tell_strained(&mut self, patterns: &[String]) {
        if patterns.is_empty() || std::mem::replace(&mut self.told_strained, true) {
            return;
        }
        let patterns: Vec<_> = patterns.iter().map(|pattern| clip(pattern, 60)).collect();
        self.narrator.warn(&format!(
            "looking for {} would hold up the command; it was looked for in the beginning of the \
             output and in its last 4 KiB; a simpler pattern is looked for everywhere",
            patterns.join(" and "),
        ));
    }

    pub(super) fn decided(
        &mut self,
        action: Action,
        rule: Option<String>,
        reason: Option<&str>,
        delay: Option<(Duration, DelaySource)>,
    ) {
        let attempt = self.attempts;
        self.log.event(&self.reactor.clock, || {
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
        let all = self.elapsed();
        let (exit, signal) = match end {
            End::Code(code) => (Some(code), None),
            End::Signal(signal) => (None, Some(short_name(signal).to_owned())),
        };
        let over = RunEnd {
            outcome,
            reason: reason.map(str::to_owned),
            attempts,
            flaky: outcome == Outcome::Succeeded && self.is_flaky(),
            exit,
            signal,
            waited_ns: nanos(waited),
            running_ns: nanos(running),
            duration_ns: nanos(all),
        };
        self.log.event(&self.reactor.clock, || Event::RunEnd(over.clone()));
        self.over = Some(over);
        self.tell_trouble();
    }

    /// Writes the reports of the run. One that cannot be written harms nobody.
    pub(in crate::run) fn report(&mut self, reports: &[(&Path, report::Format)]) {
        let Some(collector) = self.log.collector.take() else { return };
        for (path, format) in reports {
            let text = report::write(&collector.summary(), *format);
            if let Err(error) = replace_file(path, &text) {
                let reason = std::io::Error::from(error.kind());
                self.narrator
                    .warn(&format!("cannot write the report {}: {reason}", path.display()));
            }
        }
    }

    pub(super) fn tell_trouble(&mut self) {
        let troubles = self.log.trouble().into_iter().chain(self.shared.troubles());
        for trouble in troubles {
            self.narrator.warn(&trouble);
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}
