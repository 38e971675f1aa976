//! The attempts of a run: attempt after attempt, until one succeeds or the engine says stop.

mod events;
mod hook;
mod run_end;

use std::ffi::OsString;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_core::{Call, Decision, Gate, Limits, Policy, SplitMix64, Stop, Time, Verdict};
use redial_policy::{Diagnostic, Ending, Entry, Fate, Judgement, Rules};
use redial_process::shared::SharedGate;
use redial_process::signals::short_name;
use redial_process::{
    Command, Control, Guard, Reactor, Sink, Sinks, SlotId, Stdin, Streams, Wish, nobody_reads,
};

use self::run_end::Reason;
use super::ending::{self, Words};
use super::log::Log;
use super::shell_words;
use crate::args;
use crate::console::narrator::Narrator;
use crate::duration::{compact, human};
use crate::events::{Action, Attempts, DelaySource, Mode, RunEnd, Unlimited};
use crate::output::count;
use crate::policies::is_policy_file;
use crate::text::clip;

/// What is to be run, and how.
pub(super) struct Job<'a> {
    pub(super) mode: Mode,
    pub(super) words: &'a [OsString],
    pub(super) policy: Policy,
    /// What was read of the policy beside its timing: the timeout of each attempt, its own words.
    pub(super) entry: Entry,
    /// The variable of the environment that the policy comes from, where it does.
    pub(super) from: Option<&'static str>,
    /// What there is to say about the policy.
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) rules: Rules,
    /// `rules git, from REDIAL_RULES`, where the environment names sets.
    pub(super) rules_from: Option<String>,
    pub(super) limits: Limits<'static>,
    pub(super) seed: u64,
    pub(super) stdin: Stdin,
    pub(super) sinks: Sinks,
    pub(super) flaky: Option<args::Flaky>,
    pub(super) exit_codes: args::ExitCodes,
    /// The line of shell that is run when the run is over.
    pub(super) on_end: Option<OsString>,
    pub(super) run: String,
}

/// The variables by which redial talks to the command and to the hook. Those of an outer redial are not
/// for them.
const OWN_VARIABLES: [&str; 12] = [
    "REDIAL_ATTEMPT",
    "REDIAL_ATTEMPTS",
    "REDIAL_LAST_EXIT",
    "REDIAL_RUN_ID",
    "REDIAL_CONTROL",
    "REDIAL_COMMAND",
    "REDIAL_OUTCOME",
    "REDIAL_REASON",
    "REDIAL_EXIT",
    "REDIAL_ATTEMPTS_MADE",
    "REDIAL_ELAPSED",
    "REDIAL_WAITED",
];

impl Job<'_> {
    /// Whether standard error comes out only once it is known what became of the attempt.
    fn holds_errors(&self) -> bool {
        self.sinks.stderr == Sink::Hold
    }

    /// The words as a shell would take them.
    fn command(&self) -> String {
        shell_words(self.words)
    }

    fn clause(&self) -> String {
        self.entry.canonical().unwrap_or_else(|| self.entry.clause.clone())
    }
}

/// How redial ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    Code(u8),
    Signal(Signal),
}

pub(super) struct RetryLoop<'j> {
    job: &'j Job<'j>,
    reactor: Reactor,
    /// Where the command runs.
    slot: SlotId,
    log: Log,
    narrator: Narrator,
    command: Command,
    control: Option<Control>,
    call: Call<Policy>,
    random: SplitMix64,
    attempts: u32,
    last: Option<Ending>,
    running: Duration,
    waited: Duration,
    /// How many attempts were cut by the timeout of each.
    cut: u32,
    /// Why the command could not be started the last time.
    spawn_error: Option<Errno>,
    /// How the run ended, once it has.
    over: Option<RunEnd>,
    /// It was said that a pattern is looked for in a part of the output alone.
    told_strained: bool,
    /// The budget and the breaker that other processes use too.
    shared: SharedGate,
}

/// One attempt, over.
struct Attempt {
    ending: Ending,
    judgement: Judgement,
    took: Duration,
    /// What the timeout or the deadline sent it.
    sent: Vec<Signal>,
    /// It runs still.
    survives: bool,
    /// The deadline cut it, not the timeout of each attempt.
    is_cut_by_deadline: bool,
}

impl<'j> RetryLoop<'j> {
    pub(super) fn new(
        job: &'j Job<'j>,
        mut reactor: Reactor,
        guard: Option<Guard>,
        log: Log,
        narrator: Narrator,
        shared: SharedGate,
    ) -> Self {
        let only_once = job.policy.attempts() == Some(1);
        let streams = Streams::new(job.stdin, only_once, &job.rules);
        let slot = match guard {
            Some(guard) => reactor.guarded_slot(streams, guard),
            None => reactor.only_slot(streams),
        };
        Self {
            command: Command::new(job.words, &OWN_VARIABLES),
            control: Control::create(),
            slot,
            call: Call::new(job.policy, Time::ZERO),
            random: SplitMix64::new(job.seed),
            attempts: 0,
            last: None,
            running: Duration::ZERO,
            waited: Duration::ZERO,
            cut: 0,
            spawn_error: None,
            over: None,
            told_strained: false,
            shared,
            job,
            reactor,
            log,
            narrator,
        }
    }

    fn streams(&mut self) -> &mut Streams {
        self.reactor.streams(self.slot)
    }

    /// Runs it to its end.
    pub(super) fn run(&mut self) -> End {
        self.begin();
        loop {
            if let Some(signal) = self.reactor.interrupted_by() {
                return self.cancelled(signal);
            }
            let now = self.reactor.clock.now();
            if let Err(stop) = self.call.admit(&mut self.shared, now) {
                return self.refused(stop);
            }
            self.tell_trouble();
            let attempt = match self.attempt() {
                Ok(attempt) => attempt,
                Err(trouble) => return self.cannot_go_on("no-streams", trouble),
            };
            if let Some(signal) = self.reactor.interrupted_by() {
                return self.cancelled(signal);
            }
            if attempt.ending != Ending::TimedOut
                && let Some(end) = self.output_lost()
            {
                return end;
            }
            if attempt.judgement.fate == Fate::Success {
                self.shared.succeeded();
                return self.succeeded();
            }
            // A policy whose first attempt succeeds has done no harm, whatever there is to say of it.
            if self.last.is_none() {
                self.narrator.findings(&self.job.warnings);
            }
            self.last = Some(attempt.ending);
            if attempt.survives {
                self.shared.failed(self.reactor.clock.now());
                return self.gave_up(&attempt, &Reason::Survives, None);
            }
            if let Some(end) = self.failed(attempt) {
                return end;
            }
        }
    }

    fn begin(&mut self) {
        let job = self.job;
        self.call.start_at(self.reactor.clock.now());
        self.note_run();
        self.shared.deposit();
        if self.narrator.is_verbose() {
            let from = job.from.map(|variable| format!(", from {variable}")).unwrap_or_default();
            self.narrator.detail(|| format!("{} under {}{from}", job.command(), job.clause()));
            if let Some(rules) = &job.rules_from {
                self.narrator.detail(|| rules.clone());
            }
            self.narrator.detail(|| format!("run {}, seed {}", job.run, job.seed));
        }
    }

    /// One attempt, from its start to the end of everything that a failure would leave behind.
    fn attempt(&mut self) -> Result<Attempt, String> {
        self.attempts = self.attempts.saturating_add(1);
        let job = self.job;
        let is_last = job.policy.attempts() == Some(self.attempts);
        let opened = self.streams().open(&job.rules, job.sinks, is_last);
        let ends = opened.map_err(|reason| {
            format!("cannot make the streams of attempt {}: {reason}", self.attempts)
        })?;
        let started = self.reactor.clock.now();
        let times = self.log.is_on().then(|| self.reactor.times());
        let variables = self.variables();
        let spawned = self.reactor.start(self.slot, &self.command, &variables, &ends);
        // Close our copies of the pipe ends, or we never see EOF.
        drop(ends);
        self.note_start(spawned.ok().map(|pid| pid.as_raw().unsigned_abs()));
        let (mut survives, mut is_cut_by_deadline) = (false, false);
        let mut sent = Vec::new();
        let ending = match spawned {
            Ok(pid) => {
                let (noun, of) = (self.noun(), self.narrator.is_verbose().then(|| self.of()));
                let of = of.unwrap_or_default();
                self.narrator.detail(|| format!("{noun} {of} is process {pid}"));
                let timeout = job.entry.timeout.map(|timeout| started.after(timeout));
                let deadline = self.call.deadline(&job.limits);
                let cut_at = [timeout, deadline].into_iter().flatten().min();
                self.reactor.cut_at(self.slot, cut_at);
                let ended = self.reactor.attend(self.slot, &mut self.log);
                let is_cut_by_timeout = timeout.is_some() && cut_at == timeout;
                self.cut += u32::from(ended.timed_out && is_cut_by_timeout);
                is_cut_by_deadline = ended.timed_out && !is_cut_by_timeout;
                survives = ended.status.is_none();
                sent = ended.sent;
                match ended.status {
                    Some(status) => ending::of_status(status, ended.timed_out),
                    None => Ending::TimedOut,
                }
            }
            Err(error) => {
                self.streams().close();
                self.spawn_error = Some(error);
                ending::of_error(error)
            }
        };
        let took = self.reactor.clock.now().since(started);
        self.running += took;
        let judgement = job.rules.judge(&ending, &mut self.streams().watch, SystemTime::now());
        self.note_end(&ending, &sent, &judgement, took, times);
        let may_leave = judgement.fate == Fate::Success
            && ending != Ending::TimedOut
            && self.reactor.interrupted_by().is_none();
        if !may_leave && !survives && self.reactor.sweep(self.slot, &mut self.log) {
            self.narrator.warn("a process that the command left behind could not be killed");
        }
        Ok(Attempt { ending, judgement, took, sent, survives, is_cut_by_deadline })
    }

    /// What the command is told.
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![
            ("REDIAL_ATTEMPT", self.attempts.to_string().into()),
            ("REDIAL_ATTEMPTS", attempts_of(&self.job.policy).to_string().into()),
            ("REDIAL_RUN_ID", self.job.run.clone().into()),
        ];
        if let Some(last) = &self.last {
            variables.push(("REDIAL_LAST_EXIT", ending::code(last).to_string().into()));
        }
        if let Some(control) = &self.control {
            variables.push(("REDIAL_CONTROL", control.path().into()));
        }
        variables
    }

    /// What becomes of a failure: a wait, after which this comes back with nothing; or the end.
    fn failed(&mut self, attempt: Attempt) -> Option<End> {
        let (verdict, rule, source) = self.verdict(&attempt.judgement);
        let spawned = !matches!(attempt.ending, Ending::NotFound | Ending::NotExecutable);
        if !spawned || verdict == Verdict::Stop || self.job.mode == Mode::Until {
            // A typing mistake, what a rule calls final, or that something is not ready yet says
            // nothing of the service that the breaker stands for; also not on the last attempt,
            // where the engine asks for no verdict.
            self.shared.release();
        }
        let lost = self.lost();
        let verdict = if lost.is_some() { Verdict::Stop } else { verdict };
        let (job, now) = (self.job, self.reactor.clock.now());
        let Self { call, shared, random, .. } = self;
        let decision = call.failed_past(&job.limits, shared, || now, || verdict, random);
        let delay = match decision {
            Decision::Wait(delay) => delay,
            Decision::Stop(stop) => {
                self.shared.release();
                let reason = match lost {
                    Some(lost) if stop == Stop::Rejected => lost,
                    _ => Reason::Stopped(stop),
                };
                return Some(self.gave_up(&attempt, &reason, rule));
            }
        };
        self.decided(Action::Retry, rule.clone(), None, Some((delay, source)));
        self.streams().close();
        self.wait(&attempt, rule, delay, source);
        if self.reactor.interrupted_by().is_some() {
            self.shared.refund();
            self.tell_trouble();
        }
        None
    }

    /// Why another attempt could not have what this one had.
    fn lost(&mut self) -> Option<Reason> {
        let input = self.streams().input_lost().map(|why| Reason::InputLost(why.to_owned()));
        input.or_else(|| nobody_reads().then_some(Reason::NobodyReads))
    }

    /// What the rules and the command itself say of a failure.
    fn verdict(&mut self, judgement: &Judgement) -> (Verdict, Option<String>, DelaySource) {
        let wish = self.control.as_ref().map_or(Ok(None), Control::take);
        match wish {
            Ok(Some(Wish::Stop)) => {
                let rule = "the command wrote `stop` to REDIAL_CONTROL".to_owned();
                return (Verdict::Stop, Some(rule), DelaySource::Control);
            }
            Ok(Some(Wish::RetryAfter(delay))) => {
                let rule = format!("the command asked for {} in REDIAL_CONTROL", human(delay));
                return (Verdict::RetryAfter(delay), Some(rule), DelaySource::Control);
            }
            Ok(None) => {}
            Err(reason) => self.narrator.warn(&format!("REDIAL_CONTROL: {reason}")),
        }
        if let Some(found) = &judgement.bad_delay {
            let found = clip(found, 60);
            self.narrator.warn(&format!(
                "the command asks to wait `{found}`, which is not a duration, nor an HTTP date"
            ));
        }
        let verdict = match (judgement.fate, judgement.delay) {
            (Fate::Stop, _) => Verdict::Stop,
            (_, Some(delay)) => {
                return (
                    Verdict::RetryAfter(delay),
                    judgement.rule.clone(),
                    DelaySource::DelayFrom,
                );
            }
            _ => Verdict::Retry,
        };
        (verdict, judgement.rule.clone(), DelaySource::Backoff)
    }

    fn wait(
        &mut self,
        attempt: &Attempt,
        rule: Option<String>,
        delay: Duration,
        source: DelaySource,
    ) {
        let mut parts = vec![self.what_happened(attempt)];
        // Before the pace: a line that is drawn over is cut at the edge of the terminal.
        parts.extend(self.has_no_end().then(|| "no deadline (see --within)".to_owned()));
        parts.extend(rule);
        let asked = match source {
            DelaySource::Backoff => "",
            DelaySource::DelayFrom | DelaySource::Control => ", as it asked",
        };
        let again = match self.job.mode {
            Mode::Run => "retrying",
            Mode::Until => "looking again",
        };
        parts.push(format!("{again} in {}{asked}", human(delay)));
        parts.extend(self.what_is_left());
        match self.job.mode {
            Mode::Run => {
                let before = self.narrator.take_held();
                self.narrator.waiting(&self.about(), &parts, delay);
                if self.job.sinks.backlog {
                    let after = self.narrator.take_held();
                    self.streams().keep_errors(&before, &after);
                }
            }
            Mode::Until => {
                self.narrator.not_yet(&self.so_far("not yet"), &parts, delay, self.elapsed())
            }
        }
        self.tell_trouble();
        let from = self.reactor.clock.now();
        let until = from.after(delay);
        // Once at least, so that a signal is seen also where there is no delay.
        loop {
            let left = until.since(self.reactor.clock.now());
            let turn = self.narrator.tick(left).map_or(left, |tick| tick.min(left));
            self.reactor.wait(self.reactor.clock.now().after(turn), &mut self.log);
            if self.reactor.clock.now() >= until || self.reactor.interrupted_by().is_some() {
                break;
            }
        }
        self.waited += self.reactor.clock.now().since(from);
        let is_held = self.job.sinks.stdout == Sink::Hold && self.job.holds_errors();
        match self.job.mode {
            Mode::Until if self.reactor.interrupted_by().is_some() => self.narrator.waited(),
            // Nothing comes in between until the next look is over: the line stays for so long.
            Mode::Until if is_held => {}
            Mode::Until => self.narrator.clear(),
            Mode::Run => self.narrator.waited(),
        }
    }

    /// `exit 28 after 2.1s`
    fn what_happened(&self, attempt: &Attempt) -> String {
        let words = Words(&attempt.ending);
        match attempt.ending {
            Ending::NotFound | Ending::NotExecutable => {
                let program = self.job.words[0].to_string_lossy();
                // What a shell would make sense of.
                let is_script = program.contains([' ', '&', '|', ';', '<', '>', '$', '=', '*']);
                let hint = match &*program {
                    _ if is_script => "; to run a line of shell: sh -c '…'".to_owned(),
                    file if is_policy_file(file) => {
                        format!("; a policy is named with --policy {file}")
                    }
                    _ => String::new(),
                };
                let reason = match (attempt.ending, self.spawn_error) {
                    (Ending::NotExecutable, Some(error)) => format!(" ({})", error.desc()),
                    _ => String::new(),
                };
                format!("{program}: {words}{reason}{hint}")
            }
            Ending::Exit(0) => {
                format!("exit 0 after {}, but no --success-on matches", compact(attempt.took))
            }
            _ => {
                let sent: Vec<_> = attempt.sent.iter().copied().map(short_name).collect();
                // TERM alone is what everybody expects of a timeout.
                let sent = match sent.as_slice() {
                    [] | ["TERM"] => String::new(),
                    sent => format!(" ({})", sent.join(", then ")),
                };
                format!("{words} after {}{sent}", compact(attempt.took))
            }
        }
    }

    fn what_is_left(&self) -> Option<String> {
        let attempts = self.job.policy.attempts().map(|all| {
            let left = all.saturating_sub(self.attempts) as usize;
            format!("{} left", count(left, self.noun()))
        });
        let now = self.reactor.clock.now();
        let deadline = self.call.deadline(&self.job.limits);
        let time = deadline.map(|at| format!("{} until the deadline", compact(at.since(now))));
        match (attempts, time) {
            (Some(attempts), Some(time)) => Some(format!("{attempts}, {time}")),
            (attempts, time) => attempts.or(time),
        }
    }

    /// Whether to say, at the first look, that nothing ends the poll but success.
    fn has_no_end(&self) -> bool {
        let Job { mode, policy, limits, .. } = self.job;
        let is_bounded = policy.attempts().is_some()
            || policy.wait_limit().is_some()
            || self.call.deadline(limits).is_some();
        *mode == Mode::Until && self.attempts == 1 && !is_bounded
    }

    /// `8.3s in all, 2.5s of it waiting`
    fn in_all(&self) -> String {
        format!("{} in all, {} of it waiting", compact(self.elapsed()), compact(self.waited))
    }

    fn elapsed(&self) -> Duration {
        self.reactor.clock.now().since(self.call.started())
    }

    /// `3/5`
    fn of(&self) -> String {
        match self.job.policy.attempts() {
            Some(all) => format!("{}/{all}", self.attempts),
            None => format!("{}/∞", self.attempts),
        }
    }

    /// What a line is about: `attempt 3/5`, `not ready after 8.3s, 9 looks`.
    fn about(&self) -> String {
        match self.job.mode {
            Mode::Run => format!("attempt {}", self.of()),
            Mode::Until => self.so_far("not ready"),
        }
    }

    /// `not yet`, and from the second look on `not yet after 8.3s, 9 looks`.
    fn so_far(&self, what: &str) -> String {
        match self.attempts {
            0 | 1 => what.to_owned(),
            looks => format!("{what} after {}, {looks} looks", compact(self.elapsed())),
        }
    }

    /// What an attempt is called.
    fn noun(&self) -> &'static str {
        self.job.mode.noun()
    }
}

fn attempts_of(policy: &Policy) -> Attempts {
    policy.attempts().map_or(Attempts::Unlimited(Unlimited::Unlimited), Attempts::Limited)
}
