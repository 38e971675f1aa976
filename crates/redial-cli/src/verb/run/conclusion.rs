//! The end of a run: its message and its exit code.

use nix::sys::signal::Signal;
use redial_core::Stop;
use redial_policy::Ending;
use redial_process::signals::short_name;
use redial_process::{Attempt, AttemptLoop, End, Reactor, Reason, ending};

use super::reporter::{Exit, Job, Reporter, outcome};
use super::words::{Words, rule};
use crate::args;
use crate::console::github::{self, Severity};
use crate::console::narrator::Sign;
use crate::duration::human;
use crate::events::{Action, Mode, Outcome};
use crate::exit_code;
use crate::output::count;

pub(super) struct Conclusion<'c, 'j> {
    pub(super) job: &'j Job<'j>,
    pub(super) reporter: &'c mut Reporter<'j>,
    pub(super) reactor: &'c mut Reactor,
    pub(super) attempts: &'c AttemptLoop<'j>,
}

impl Conclusion<'_, '_> {
    pub(super) fn of(&mut self, end: End) -> Exit {
        let reason = end.reason();
        match &end {
            End::Succeeded => return self.succeeded(),
            End::Interrupted(signal) => return self.interrupted(*signal),
            // No rule is the reason that the process does not end.
            End::GaveUp(_, Reason::Unkillable) => self.stopped(None, reason),
            End::GaveUp(attempt, _) => self.stopped(rule(attempt), reason),
            _ => self.stopped(None, reason),
        }
        let name = reason.unwrap_or_default();
        match end {
            End::GaveUp(attempt, reason) => self.gave_up(&attempt, &reason, name),
            End::Refused(stop) => self.refused(stop),
            End::OutputLost(error) => self.cannot_go_on(name, error),
            End::NoStreams(error) => {
                self.cannot_go_on(name, format!("cannot open a pipe for the command: {error}"))
            }
            End::NoProcess(error) => {
                self.cannot_go_on(name, format!("cannot start the command: {error}"))
            }
            End::Succeeded | End::Interrupted(_) => Exit::Code(0),
        }
    }

    fn succeeded(&mut self) -> Exit {
        // The lines about earlier failures are not printed then.
        self.reporter.narrator.release();
        self.publish();
        if let Some(signal) = self.reactor.interrupted_by() {
            return self.interrupted(signal);
        }
        if let Some(error) = self.output_lost() {
            let reason = "output-lost";
            self.stopped(None, Some(reason));
            return self.cannot_go_on(reason, error);
        }
        if self.job.mode == Mode::Until {
            return self.ready();
        }
        let flaky = self.reporter.is_flaky(self.attempts.progress());
        let is_failure = flaky && self.job.flaky == Some(args::Flaky::Fail);
        let code = match self.job.exit_codes {
            _ if !is_failure => 0,
            args::ExitCodes::Command => exit_code::FAILURE,
            args::ExitCodes::Reason => exit_code::FLAKY,
        };
        self.ended(Outcome::Succeeded, None, Exit::Code(code));
        let is_told = !self.job.holds_errors()
            || matches!(self.job.flaky, Some(args::Flaky::Warn | args::Flaky::Fail));
        if flaky && is_told {
            self.tell_flaky(is_failure.then_some(code));
        }
        Exit::Code(code)
    }

    /// Prints that a success was flaky, and the exit code where that is a failure.
    fn tell_flaky(&mut self, failure: Option<u8>) {
        let words = self.words();
        let (about, in_all) = (words.about(), words.in_all());
        let message = format!("flaky: succeeded on attempt {}, {in_all}", words.of());
        let mut parts = vec![format!("succeeded, but flaky: {in_all}")];
        let narrator = &mut self.reporter.narrator;
        match failure {
            Some(code) => {
                parts.push(format!("a failure by --flaky fail: exit {code}"));
                narrator.error(&about, &parts);
            }
            None => narrator.line(Sign::Flaky, &about, &parts),
        }
        let on_github = github::is_here();
        let warns = self.job.flaky.map_or(on_github, |flaky| flaky != args::Flaky::Pass);
        if warns && on_github {
            let severity = failure.map_or(Severity::Warning, |_| Severity::Error);
            self.tell_github(severity, &message);
        } else if warns {
            narrator.warn(&format!("{} is {message}", self.job.command()));
        }
    }

    /// The success of a poll.
    fn ready(&mut self) -> Exit {
        self.ended(Outcome::Succeeded, None, Exit::Code(0));
        if self.attempts.progress().attempts > 1 {
            let ready = self.words().so_far("ready");
            self.reporter.narrator.line(Sign::Ready, "", &[ready]);
        }
        Exit::Code(0)
    }

    fn gave_up(&mut self, attempt: &Attempt, reason: &Reason, name: &str) -> Exit {
        self.reporter.show_findings();
        self.publish_all();
        if let Some(signal) = self.reactor.interrupted_by() {
            return self.interrupted(signal);
        }
        if let Some(error) = self.output_lost() {
            self.reporter.narrator.warn(&error);
        }
        let code = code(self.job.exit_codes, &attempt.ending, name);
        let words = self.words();
        let mut parts = vec![words.what_happened(attempt), self.why(attempt, reason)];
        if words.run.attempts > 1 && self.job.mode == Mode::Run {
            parts.push(words.in_all());
        }
        if attempt.ending != Ending::Exit(code.into()) {
            parts.push(format!("exit {code}"));
        }
        self.ended(outcome(&attempt.ending), Some(name), Exit::Code(code));
        let about = self.words().about();
        let narrator = &mut self.reporter.narrator;
        match attempt.ending {
            Ending::Exit(_) | Ending::Signal { .. } => narrator.line(Sign::Failed, &about, &parts),
            _ => narrator.error(&about, &parts),
        }
        self.hint_at_timeout();
        self.tell_github(Severity::Error, &format!("{about}: {}", parts.join("; ")));
        Exit::Code(code)
    }

    /// Why no other attempt follows.
    fn why(&self, attempt: &Attempt, reason: &Reason) -> String {
        let noun = self.job.mode.noun();
        match reason {
            Reason::Stopped(Stop::Rejected) => {
                let not_again = match self.job.mode {
                    Mode::Run => "not retried",
                    Mode::Until => "no other look",
                };
                rule(attempt).map_or(not_again.to_owned(), |rule| format!("{not_again}: {rule}"))
            }
            Reason::Stopped(Stop::RetryAfterTooLong) => {
                let most = human(self.job.task.limits.get_max_retry_after());
                format!("gave up: it asked for a wait of more than --max-retry-after {most}")
            }
            Reason::Stopped(Stop::BreakerOpen) => {
                format!("gave up: the breaker is {}", self.attempts.gate().refusal())
            }
            Reason::Stopped(Stop::Deadline) if attempt.is_cut_by_deadline => {
                format!("gave up: the deadline cut this {noun}")
            }
            Reason::Stopped(stop) => {
                format!("gave up: {}", stop.to_string().replace("attempt", noun))
            }
            Reason::InputLost(why) => {
                format!("gave up: standard input could not be kept for another attempt: {why}")
            }
            Reason::OutputClosed => "gave up: nobody reads standard output".to_owned(),
            Reason::Unkillable => "gave up: it cannot be killed; is it another user's?".to_owned(),
        }
    }

    /// Prints a hint where every attempt timed out: the timeout may be too short.
    fn hint_at_timeout(&mut self) {
        let run = self.attempts.progress();
        if run.timeouts == run.attempts
            && run.timeouts > 1
            && let Some(timeout) = self.job.task.timeout
        {
            let (timeout, cut) =
                (human(timeout), count(run.timeouts as usize, self.job.mode.noun()));
            let hint =
                format!("all {cut} were cut at {timeout}: is --timeout {timeout} too short?");
            self.reporter.narrator.line(Sign::Note, "", &[hint]);
        }
    }

    /// The end of a run after an error of redial itself.
    fn cannot_go_on(&mut self, reason: &str, error: String) -> Exit {
        if self.job.holds_errors() {
            self.publish_all();
        }
        self.ended(Outcome::Failed, Some(reason), Exit::Code(exit_code::ERROR));
        let parts = [error, format!("exit {}", exit_code::ERROR)];
        let about = self.words().about();
        self.reporter.narrator.error(&about, &parts);
        self.tell_github(Severity::Error, &parts.join("; "));
        Exit::Code(exit_code::ERROR)
    }

    /// The end of a run whose next attempt the breaker did not admit.
    fn refused(&mut self, stop: Stop) -> Exit {
        self.publish_all();
        let (outcome, code) = match self.attempts.last() {
            Some(last) => (outcome(&last), code(self.job.exit_codes, &last, stop.name())),
            None => (Outcome::Refused, exit_code::BREAKER_OPEN),
        };
        self.ended(outcome, Some(stop.name()), Exit::Code(code));
        let mut parts = vec![format!("the breaker is {}", self.attempts.gate().refusal())];
        if outcome == Outcome::Refused {
            parts.push("nothing was run".to_owned());
        }
        parts.push(format!("exit {code}"));
        self.reporter.narrator.error("", &parts);
        self.tell_github(Severity::Error, &parts.join("; "));
        Exit::Code(code)
    }

    fn interrupted(&mut self, signal: Signal) -> Exit {
        self.reporter.narrator.waited();
        self.publish_all();
        self.ended(Outcome::Cancelled, Some("signal"), Exit::Signal(signal));
        // After Ctrl-C the reason is known.
        if !self.reactor.interrupted_by_key() {
            let line = format!("ended by {}", short_name(signal));
            self.reporter.narrator.line(Sign::Note, "", &[line]);
        }
        Exit::Signal(signal)
    }

    fn words(&self) -> Words<'_> {
        Words { job: self.job, run: self.attempts.progress(), now: self.reactor.clock.now() }
    }

    fn stopped(&mut self, rule: Option<String>, reason: Option<&str>) {
        let attempts = self.attempts.progress().attempts;
        self.reporter.decided(&self.reactor.clock, attempts, Action::Stop, rule, reason, None);
    }

    fn ended(&mut self, outcome: Outcome, reason: Option<&str>, exit: Exit) {
        let run = self.attempts.progress();
        self.reporter.ended(&self.reactor.clock, run, outcome, reason, exit);
    }

    fn output_lost(&mut self) -> Option<String> {
        let slot = self.attempts.progress().slot;
        self.reactor.streams(slot).output_lost().map(str::to_owned)
    }

    /// Writes what was held, also of the attempts before the last one, because there was no success.
    fn publish_all(&mut self) {
        let printed = self.reporter.narrator.release();
        let slot = self.attempts.progress().slot;
        if let Some(error) = self.reactor.streams(slot).recall_errors(&printed) {
            self.reporter.narrator.warn(&error);
        }
        self.publish();
    }

    /// Writes what was held of the last attempt.
    fn publish(&mut self) {
        let run = self.attempts.progress();
        self.reactor.publish(run.slot, run.deadline, self.reporter);
    }

    /// An annotation and a line of the summary, where redial runs in a GitHub workflow.
    fn tell_github(&mut self, severity: Severity, message: &str) {
        if !github::is_here() {
            return;
        }
        let (command, narrator) = (self.job.command(), &mut self.reporter.narrator);
        narrator.raw(&github::annotation(severity, &command, message));
        if let Err(error) = github::summarise(severity, &command, message) {
            narrator.warn(&error);
        }
    }
}

/// The exit code of a failure.
fn code(exit_codes: args::ExitCodes, ending: &Ending, reason: &str) -> u8 {
    let of_reason = match (exit_codes, ending) {
        (args::ExitCodes::Command, _) => None,
        // Shells have exit codes of their own for these.
        (args::ExitCodes::Reason, Ending::NotFound | Ending::NotExecutable) => None,
        (args::ExitCodes::Reason, _) => exit_code::of_reason(reason),
    };
    of_reason.unwrap_or_else(|| ending::exit_code(ending))
}
