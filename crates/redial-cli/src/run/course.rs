//! The course of a run: attempt after attempt, until one succeeds or the engine says stop.

mod end;
mod events;

use std::ffi::OsString;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_core::{Call, Decision, Limits, Policy, SplitMix64, Stop, Time, Verdict};
use redial_policy::{Ending, Fate, Judgement, Rules};

use self::end::Reason;
use self::events::times_of_children;
use super::control::{Control, Wish};
use super::ending::{self, Words};
use super::input::Input;
use super::relay;
use super::say::Say;
use super::spawn::Command;
use super::streams::Streams;
use super::supervisor::Supervisor;
use crate::args;
use crate::duration::{compact, human};
use crate::events::{Action, Attempts, DelaySource, Unlimited};
use crate::shared::{Admission, Refusal, SharedBreaker, SharedBudget, SharedPermit};
use crate::text::clip;

/// What is to be run, and how.
pub(super) struct Job<'a> {
    pub(super) words: &'a [OsString],
    /// The words as a shell would take them.
    pub(super) command: String,
    pub(super) policy: Policy,
    pub(super) clause: String,
    pub(super) timeout: Option<Duration>,
    pub(super) rules: Rules,
    pub(super) limits: Limits<'static>,
    pub(super) seed: u64,
    pub(super) stdin: args::Stdin,
    pub(super) hold: bool,
    pub(super) flaky: Option<args::Flaky>,
    pub(super) run: String,
    pub(super) budget: Option<SharedBudget>,
    pub(super) breaker: Option<SharedBreaker>,
}

/// How redial ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    Code(u8),
    Signal(Signal),
}

pub(super) struct Course<'j> {
    job: &'j Job<'j>,
    supervisor: Supervisor,
    say: Say,
    command: Command,
    control: Option<Control>,
    streams: Streams,
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
    /// A shared file gave trouble, and is not asked again.
    no_budget: bool,
    no_breaker: bool,
}

/// One attempt, over.
struct Attempt {
    ending: Ending,
    judgement: Judgement,
    took: Duration,
    /// It runs still.
    survives: bool,
}

impl<'j> Course<'j> {
    pub(super) fn new(job: &'j Job<'j>, supervisor: Supervisor, say: Say) -> Self {
        let only_once = job.policy.attempts() == Some(1);
        Self {
            command: Command::new(job.words),
            control: Control::create(),
            streams: Streams::new(Input::of(job.stdin, only_once), &job.rules),
            call: Call::new(job.policy, Time::ZERO),
            random: SplitMix64::new(job.seed),
            attempts: 0,
            last: None,
            running: Duration::ZERO,
            waited: Duration::ZERO,
            cut: 0,
            spawn_error: None,
            no_budget: false,
            no_breaker: false,
            job,
            supervisor,
            say,
        }
    }

    /// Runs it to its end.
    pub(super) fn run(&mut self) -> End {
        self.begin();
        loop {
            if let Some(signal) = self.supervisor.ended_by() {
                return self.cancelled(signal);
            }
            let permit = match self.admitted() {
                Ok(permit) => permit,
                Err(refusal) => return self.refused(refusal),
            };
            let attempt = match self.attempt() {
                Ok(attempt) => attempt,
                Err(trouble) => return self.cannot_go_on("no-streams", trouble),
            };
            if let Some(signal) = self.supervisor.ended_by() {
                return self.cancelled(signal);
            }
            if attempt.ending != Ending::TimedOut
                && let Some(end) = self.output_lost()
            {
                return end;
            }
            self.report_to(permit, attempt.judgement.fate == Fate::Success);
            if attempt.judgement.fate == Fate::Success {
                return self.succeeded();
            }
            self.last = Some(attempt.ending);
            if attempt.survives {
                return self.gave_up(&attempt, &Reason::Survives, None);
            }
            if let Some(end) = self.failed(attempt) {
                return end;
            }
        }
    }

    fn begin(&mut self) {
        let job = self.job;
        self.call.start_at(self.supervisor.clock.now());
        self.note_run();
        if let Some(budget) = &job.budget
            && let Err(trouble) = budget.deposit()
        {
            self.no_budget = true;
            self.say.warn(&trouble);
        }
        if self.say.is_verbose() {
            self.say.detail(&format!("{} under {}", job.command, job.clause));
            self.say.detail(&format!("run {}, seed {}", job.run, job.seed));
        }
    }

    /// Leave of the breaker to run, where there is one. One that cannot be asked gives it.
    fn admitted(&mut self) -> Result<Option<SharedPermit>, Refusal> {
        let Some(breaker) = self.job.breaker.as_ref().filter(|_| !self.no_breaker) else {
            return Ok(None);
        };
        match breaker.admit() {
            Ok(Admission::Permit(permit)) => Ok(Some(permit)),
            Ok(Admission::Refused(refusal)) => Err(refusal),
            Err(trouble) => {
                self.no_breaker = true;
                self.say.warn(&trouble);
                Ok(None)
            }
        }
    }

    fn report_to(&mut self, permit: Option<SharedPermit>, success: bool) {
        let reported = permit.map_or(Ok(()), |permit| match success {
            true => permit.succeeded(),
            false => permit.failed(),
        });
        if let Err(trouble) = reported {
            self.say.warn(&trouble);
        }
    }

    /// One attempt, from its start to the end of everything that a failure would leave behind.
    fn attempt(&mut self) -> Result<Attempt, String> {
        self.attempts = self.attempts.saturating_add(1);
        let job = self.job;
        let is_last = job.policy.attempts() == Some(self.attempts);
        let cannot = |error| {
            let reason = std::io::Error::from(error);
            format!("cannot make the streams of attempt {}: {reason}", self.attempts)
        };
        let streams = self.streams.open(&job.rules, job.hold, is_last).map_err(cannot)?;
        let started = self.supervisor.clock.now();
        let times = self.supervisor.log.is_on().then(times_of_children);
        let spawned = self.supervisor.start(&self.command, &self.variables(), &streams);
        // The command has its ends now; while we had them too, nothing would ever be at its end.
        drop(streams);
        self.note_start(spawned.ok().map(|pid| pid.as_raw().unsigned_abs()));
        let mut survives = false;
        let ending = match spawned {
            Ok(pid) => {
                self.say.detail(&format!("attempt {} is process {pid}", self.of()));
                let timeout = job.timeout.map(|timeout| started.after(timeout));
                let deadline = self.call.deadline(&job.limits);
                let cut_at = [timeout, deadline].into_iter().flatten().min();
                let ended = self.supervisor.attend(&mut self.streams, cut_at);
                self.cut += u32::from(ended.timed_out && timeout.is_some() && cut_at == timeout);
                survives = ended.status.is_none();
                match ended.status {
                    Some(status) => ending::of_status(status, ended.timed_out),
                    None => Ending::TimedOut,
                }
            }
            Err(error) => {
                self.streams.close();
                self.spawn_error = Some(error);
                ending::of_error(error)
            }
        };
        let took = self.supervisor.clock.now().since(started);
        self.running += took;
        let judgement =
            job.rules.judge(&ending, &mut self.streams.watch, std::time::SystemTime::now());
        self.note_end(&ending, &judgement, took, times);
        let may_leave = judgement.fate == Fate::Success
            && ending != Ending::TimedOut
            && self.supervisor.ended_by().is_none();
        if !may_leave && !survives && self.supervisor.sweep(&mut self.streams) {
            self.say.warn("a process that the command left behind could not be killed");
        }
        Ok(Attempt { ending, judgement, took, survives })
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
        let now = self.supervisor.clock.now();
        let decision =
            self.call.failed_under(&self.job.limits, || now, || verdict, &mut self.random);
        let delay = match decision {
            Decision::Stop(stop) => {
                return Some(self.gave_up(&attempt, &Reason::Stopped(stop), rule));
            }
            Decision::Wait(delay) => delay,
        };
        if let Some(trouble) = self.streams.input.lost().map(str::to_owned) {
            return Some(self.gave_up(&attempt, &Reason::InputLost(trouble), rule));
        }
        if relay::nobody_reads() {
            return Some(self.gave_up(&attempt, &Reason::NobodyReads, rule));
        }
        if !self.paid() {
            return Some(self.gave_up(&attempt, &Reason::Stopped(Stop::Budget), rule));
        }
        self.decided(Action::Retry, rule.clone(), None, Some((delay, source)));
        self.streams.close();
        self.wait(&attempt, rule, delay, source);
        if self.supervisor.ended_by().is_some()
            && !self.no_budget
            && let Some(budget) = &self.job.budget
            && let Err(trouble) = budget.refund()
        {
            self.say.warn(&trouble);
        }
        None
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
            Err(reason) => self.say.warn(&format!("REDIAL_CONTROL: {reason}")),
        }
        if let Some(found) = &judgement.bad_delay {
            let found = clip(found, 60);
            self.say.warn(&format!("--delay-from found `{found}`, which is not a duration"));
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

    /// Whether the shared budget pays for a retry. One that cannot be asked pays.
    fn paid(&mut self) -> bool {
        let Some(budget) = self.job.budget.as_ref().filter(|_| !self.no_budget) else {
            return true;
        };
        budget.withdraw().unwrap_or_else(|trouble| {
            self.no_budget = true;
            self.say.warn(&trouble);
            true
        })
    }

    fn wait(
        &mut self,
        attempt: &Attempt,
        rule: Option<String>,
        delay: Duration,
        source: DelaySource,
    ) {
        let mut parts = vec![self.what_happened(attempt)];
        parts.extend(rule);
        let asked = match source {
            DelaySource::Backoff => "",
            DelaySource::DelayFrom | DelaySource::Control => ", as it asked",
        };
        parts.push(format!("retrying in {}{asked}", human(delay)));
        parts.extend(self.what_is_left());
        self.say.waiting(&self.of(), &parts, delay);
        self.tell_trouble();
        let from = self.supervisor.clock.now();
        let until = from.after(delay);
        // Once at least, so that a signal is seen also where there is no delay.
        loop {
            let left = until.since(self.supervisor.clock.now());
            let turn = self.say.tick(left).map_or(left, |tick| tick.min(left));
            self.supervisor.wait(self.supervisor.clock.now().after(turn));
            if self.supervisor.clock.now() >= until || self.supervisor.ended_by().is_some() {
                break;
            }
        }
        self.waited += self.supervisor.clock.now().since(from);
        self.say.waited();
    }

    /// `exit 28 after 2.1s`
    fn what_happened(&self, attempt: &Attempt) -> String {
        let words = Words(&attempt.ending);
        match attempt.ending {
            Ending::NotFound | Ending::NotExecutable => {
                let program = self.job.words[0].to_string_lossy();
                // What a shell would make sense of.
                let is_script = program.contains([' ', '&', '|', ';', '<', '>', '$', '=', '*']);
                let hint = if is_script { "; to run a line of shell: sh -c '…'" } else { "" };
                let reason = match (attempt.ending, self.spawn_error) {
                    (Ending::NotExecutable, Some(error)) => format!(" ({})", error.desc()),
                    _ => String::new(),
                };
                format!("{program}: {words}{reason}{hint}")
            }
            Ending::Exit(0) => {
                format!("exit 0 after {}, but no --success-on matches", compact(attempt.took))
            }
            _ => format!("{words} after {}", compact(attempt.took)),
        }
    }

    fn what_is_left(&self) -> Option<String> {
        let attempts =
            self.job.policy.attempts().map(|all| match all.saturating_sub(self.attempts) {
                1 => "1 attempt left".to_owned(),
                left => format!("{left} attempts left"),
            });
        let now = self.supervisor.clock.now();
        let deadline = self.call.deadline(&self.job.limits);
        let time = deadline.map(|at| format!("{} until the deadline", compact(at.since(now))));
        match (attempts, time) {
            (Some(attempts), Some(time)) => Some(format!("{attempts}, {time}")),
            (attempts, time) => attempts.or(time),
        }
    }

    /// `8.3s in all, 2.5s of it waiting`
    fn in_all(&self) -> String {
        let all = self.supervisor.clock.now().since(self.call.started());
        format!("{} in all, {} of it waiting", compact(all), compact(self.waited))
    }

    /// `3/5`
    fn of(&self) -> String {
        match self.job.policy.attempts() {
            Some(all) => format!("{}/{all}", self.attempts),
            None => format!("{}/∞", self.attempts),
        }
    }
}

fn attempts_of(policy: &Policy) -> Attempts {
    policy.attempts().map_or(Attempts::Unlimited(Unlimited::Unlimited), Attempts::Limited)
}
