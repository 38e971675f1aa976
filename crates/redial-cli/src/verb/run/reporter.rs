//! Reports a run while it goes on: lines for people, events for the log.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use redial_policy::{Diagnostic, Ending, Entry, Fate, Stream, Watch};
use redial_process::signals::{self, short_name};
use redial_process::{
    Attempt, Clock, Observer, Progress, Request, Sink, Streams, Task, VARIABLES, Warning,
};

use super::log::Log;
use super::stamp;
use super::words::{Words, rule};
use crate::args;
use crate::console::narrator::Narrator;
use crate::duration::{human, nanos};
use crate::events::{
    Action, AttemptEnd, AttemptStart, Attempts, Decided, DelaySource, Event, Mode, Outcome, RunEnd,
    RunStart, Sender, Signalled,
};
use crate::output::replace_file;
use crate::shell;
use crate::text::clip;
use crate::verb::report;

/// What is to be run, and how.
pub(super) struct Job<'a> {
    pub(super) mode: Mode,
    pub(super) words: &'a [OsString],
    pub(super) task: Task,
    /// The policy as it was read, with what is not its timing.
    pub(super) entry: Entry,
    /// The environment variable that the policy comes from, if it does.
    pub(super) from: Option<&'static str>,
    /// The warnings of `redial check` about the policy.
    pub(super) warnings: Vec<Diagnostic>,
    /// `rules git, from REDIAL_RULES`, where the environment names sets.
    pub(super) rules_from: Option<String>,
    pub(super) flaky: Option<args::Flaky>,
    pub(super) exit_codes: args::ExitCodes,
    /// The line of shell that is run when the run is over.
    pub(super) on_end: Option<OsString>,
    pub(super) run: String,
}

/// The variables of the command and of the hook. Those of an outer redial do not reach them.
pub(super) fn own_variables() -> Vec<&'static str> {
    let mut all = VARIABLES.to_vec();
    all.extend([
        "REDIAL_RUN_ID",
        "REDIAL_COMMAND",
        "REDIAL_OUTCOME",
        "REDIAL_REASON",
        "REDIAL_EXIT",
        "REDIAL_ATTEMPTS_MADE",
        "REDIAL_ELAPSED",
        "REDIAL_WAITED",
    ]);
    all
}

impl Job<'_> {
    /// Whether standard error is held until the attempt is judged.
    pub(super) fn holds_errors(&self) -> bool {
        self.task.sinks.stderr == Sink::Hold
    }

    /// The words as a shell would take them.
    pub(super) fn command(&self) -> String {
        shell::command(self.words)
    }

    fn clause(&self) -> String {
        self.entry.said()
    }

    fn attempts(&self) -> Attempts {
        self.task.policy.attempts().into()
    }
}

/// How redial ends.
#[derive(Clone, Copy)]
pub(super) enum Exit {
    Code(u8),
    Signal(Signal),
}

pub(super) struct Reporter<'j> {
    pub(super) job: &'j Job<'j>,
    pub(super) log: Log,
    pub(super) narrator: Narrator,
    /// Whether the warnings about the policy have been printed.
    has_warned: bool,
    /// Whether it has been printed that a pattern is searched for in a part of the output only.
    has_told_partly_watched: bool,
    /// The end of the run, once it is over.
    pub(super) over: Option<RunEnd>,
}

impl<'j> Reporter<'j> {
    pub(super) fn new(job: &'j Job<'j>, log: Log, narrator: Narrator) -> Self {
        Self { job, log, narrator, has_warned: false, has_told_partly_watched: false, over: None }
    }

    pub(super) fn begin(&mut self, clock: &Clock) {
        let job = self.job;
        self.log.event(clock, || {
            let cwd = std::env::current_dir().unwrap_or_default();
            Event::RunStart(RunStart {
                ts: stamp::rfc3339(SystemTime::now()),
                argv: job.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
                cwd: cwd.to_string_lossy().into_owned(),
                pid: std::process::id(),
                policy: job.clause(),
                attempts: job.attempts(),
                timeout_ns: job.task.timeout.map(nanos),
                seed: job.task.seed,
                rules: job.task.rules.describe(),
                mode: job.mode,
            })
        });
        if self.narrator.is_verbose() {
            let from = job.from.map(|variable| format!(", from {variable}")).unwrap_or_default();
            self.narrator.detail(|| format!("{} under {}{from}", job.command(), job.clause()));
            if let Some(rules) = &job.rules_from {
                self.narrator.detail(|| rules.clone());
            }
            self.narrator.detail(|| format!("run {}, seed {}", job.run, job.task.seed));
        }
    }

    /// Prints the warnings about the policy, once. Not where the first attempt succeeds.
    pub(super) fn show_findings(&mut self) {
        if !std::mem::replace(&mut self.has_warned, true) {
            self.narrator.findings(&self.job.warnings);
        }
    }

    pub(super) fn decided(
        &mut self,
        clock: &Clock,
        attempt: u32,
        action: Action,
        rule: Option<String>,
        reason: Option<&str>,
        delay: Option<(Duration, DelaySource)>,
    ) {
        self.log.event(clock, || {
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

    pub(super) fn ended(
        &mut self,
        clock: &Clock,
        run: &Progress,
        outcome: Outcome,
        reason: Option<&str>,
        exit: Exit,
    ) {
        let (code, signal) = match exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(short_name(signal).to_owned())),
        };
        let over = RunEnd {
            outcome,
            reason: reason.map(str::to_owned),
            attempts: run.attempts,
            flaky: outcome == Outcome::Succeeded && self.is_flaky(run),
            exit: code,
            signal,
            waited_ns: nanos(run.waited),
            running_ns: nanos(run.running),
            duration_ns: nanos(clock.now().since(run.started)),
        };
        self.log.event(clock, || Event::RunEnd(over.clone()));
        self.over = Some(over);
        self.warn_of_log();
    }

    /// Whether a success now is flaky: it took several attempts, and is not a poll.
    pub(super) fn is_flaky(&self, run: &Progress) -> bool {
        run.attempts > 1 && self.job.mode == Mode::Run
    }

    /// Writes the reports of the run. An error is only warned of.
    pub(super) fn write_reports(&mut self, reports: &[(&Path, report::Format)]) {
        let Some(collector) = self.log.collector.take() else { return };
        for (path, format) in reports {
            let text = report::write(&collector.summary(), *format);
            if let Err(error) = replace_file(path, &text) {
                self.narrator.warn(&format!("cannot write the report {}: {error}", path.display()));
            }
        }
    }

    fn warn_of_log(&mut self) {
        if let Some(error) = self.log.error() {
            self.narrator.warn(&error);
        }
    }

    /// Warns once of patterns that may have missed a match.
    fn tell_partly_watched(&mut self, patterns: &[String]) {
        if patterns.is_empty() || std::mem::replace(&mut self.has_told_partly_watched, true) {
            return;
        }
        let patterns: Vec<_> = patterns.iter().map(|pattern| clip(pattern, 60)).collect();
        self.narrator.warn(&format!(
            "searching for {} would hold up the command; it was searched for at the beginning of the \
             output and in its last 4 KiB; a simpler pattern is searched for everywhere",
            patterns.join(" and "),
        ));
    }
}

impl Observer for Reporter<'_> {
    fn signalled(&mut self, clock: &Clock, signalled: redial_process::Signalled) {
        self.log.event(clock, || {
            Event::Signalled(Signalled {
                signal: short_name(signalled.signal).to_owned(),
                from: match signalled.from {
                    signals::Sender::Terminal => Sender::Terminal,
                    signals::Sender::Process => Sender::Process,
                },
                forwarded: signalled.forwarded,
            })
        });
    }

    fn attempt_started(&mut self, clock: &Clock, run: &Progress, pid: Option<Pid>) {
        let (job, attempt, of) = (self.job, run.attempts, self.job.attempts());
        let number = pid.map(|pid| pid.as_raw().unsigned_abs());
        self.log.event(clock, || Event::AttemptStart(AttemptStart { attempt, of, pid: number }));
        if let Some(pid) = pid {
            self.narrator.detail(|| {
                let words = Words { job, run, now: clock.now() };
                format!("{} {} is process {pid}", job.mode.noun(), words.of())
            });
        }
    }

    fn attempt_ended(&mut self, clock: &Clock, run: &Progress, attempt: &Attempt, watch: &Watch) {
        let partly_watched: Vec<_> = watch.partly_watched().map(str::to_owned).collect();
        self.tell_partly_watched(&partly_watched);
        let Some(times) = attempt.times else { return };
        let watches_stderr = self.job.task.rules.watches(Stream::Stderr);
        self.log.event(clock, || {
            let (exit, signal) = match attempt.ending {
                Ending::Exit(code) => (Some(code), None),
                Ending::Signal { number, name: "" } => (None, Some(number.to_string())),
                Ending::Signal { name, .. } => (None, Some(name.to_owned())),
                _ => (None, None),
            };
            let sent: Vec<_> = attempt.sent.iter().map(|one| short_name(*one).to_owned()).collect();
            Event::AttemptEnd(AttemptEnd {
                attempt: run.attempts,
                outcome: match attempt.judgement.fate {
                    _ if attempt.is_interrupted => Outcome::Cancelled,
                    Fate::Success => Outcome::Succeeded,
                    _ => outcome(&attempt.ending),
                },
                exit,
                signal,
                sent: (!sent.is_empty()).then_some(sent),
                duration_ns: nanos(attempt.took),
                user_ns: nanos(times.user),
                system_ns: nanos(times.system),
                stderr_tail: watches_stderr.then(|| watch.tail(Stream::Stderr)),
                partly_watched: (!partly_watched.is_empty()).then_some(partly_watched),
            })
        });
        self.warn_of_log();
    }

    fn warned(&mut self, warning: Warning<'_>) {
        let message = match warning {
            Warning::Shared(error) => error.to_owned(),
            Warning::Control(error) => format!("REDIAL_CONTROL: {error}"),
            Warning::BadDelay(found) => format!(
                "the command asks to wait `{}`, which is not a duration, nor an HTTP date",
                clip(found, 60)
            ),
            Warning::Survivors => {
                "a process that the command left behind could not be killed".to_owned()
            }
        };
        self.narrator.warn(&message);
    }

    fn waiting(
        &mut self,
        clock: &Clock,
        run: &Progress,
        attempt: &Attempt,
        delay: Duration,
        streams: &mut Streams,
    ) {
        let job = self.job;
        let source = match attempt {
            Attempt { request: Some(Request::RetryAfter(_)), .. } => DelaySource::Control,
            Attempt { judgement, .. } if judgement.delay.is_some() => DelaySource::DelayFrom,
            _ => DelaySource::Backoff,
        };
        self.show_findings();
        let delayed = Some((delay, source));
        self.decided(clock, run.attempts, Action::Retry, rule(attempt), None, delayed);
        let words = Words { job, run, now: clock.now() };
        let mut parts = vec![words.what_happened(attempt)];
        // Before the delay, because the line may be cut at the edge of the terminal.
        parts.extend(words.no_deadline());
        parts.extend(rule(attempt));
        let again = match job.mode {
            Mode::Run => "retrying",
            Mode::Until => "looking again",
        };
        let asked = if source == DelaySource::Backoff { "" } else { ", as it asked" };
        parts.push(format!("{again} in {}{asked}", human(delay)));
        parts.extend(words.what_is_left());
        match job.mode {
            Mode::Run => {
                let before = self.narrator.take_held();
                self.narrator.waiting(&words.about(), &parts, delay);
                if job.task.sinks.backlog {
                    let after = self.narrator.take_held();
                    streams.keep_errors(&before, &after);
                }
            }
            Mode::Until => {
                self.narrator.not_yet(&words.so_far("not yet"), &parts, delay, words.elapsed());
            }
        }
        self.warn_of_log();
    }

    fn tick(&mut self, left: Duration) -> Option<Duration> {
        self.narrator.tick(left)
    }

    fn waited(&mut self, is_interrupted: bool) {
        let is_held = self.job.task.sinks.stdout == Sink::Hold && self.job.holds_errors();
        match self.job.mode {
            Mode::Until if is_interrupted => self.narrator.waited(),
            // The next look prints nothing before it is over, so that the line can stay until then.
            Mode::Until if is_held => {}
            Mode::Until => self.narrator.clear(),
            Mode::Run => self.narrator.waited(),
        }
    }
}

/// What a failure is called in the log.
pub(super) fn outcome(ending: &Ending) -> Outcome {
    match ending {
        Ending::Exit(_) => Outcome::Failed,
        Ending::Signal { .. } => Outcome::Signalled,
        Ending::TimedOut => Outcome::Timeout,
        Ending::Lost => Outcome::Lost,
        Ending::NotFound | Ending::NotExecutable => Outcome::SpawnError,
    }
}
