//! How a run ends, and what is said of it.

use nix::sys::signal::Signal;
use redial_core::Stop;
use redial_policy::Ending;

use super::{Attempt, End, RetryLoop};
use crate::args;
use crate::console::github::{self, Severity};
use crate::console::narrator::Sign;
use crate::duration::human;
use crate::events::{Action, Mode, Outcome};
use crate::exit_code;
use crate::output::count;
use crate::run::ending;
use redial_process::signals::short_name;

/// What a run exits with that was not successful.
fn code(exit_codes: args::ExitCodes, ending: &Ending, reason: &str) -> u8 {
    let of_reason = match (exit_codes, ending) {
        (args::ExitCodes::Command, _) => None,
        // That nothing could be started is a reason of its own, and shells have codes for it.
        (args::ExitCodes::Reason, Ending::NotFound | Ending::NotExecutable) => None,
        (args::ExitCodes::Reason, _) => exit_code::of_reason(reason),
    };
    of_reason.unwrap_or_else(|| ending::code(ending))
}

/// Why a run stops without success.
pub(super) enum Reason {
    /// The engine says so.
    Stopped(Stop),
    /// What the command reads could not be kept for another attempt.
    InputLost(String),
    /// What it writes goes nowhere, and would again.
    NobodyReads,
    /// It does not end, whatever is done.
    Survives,
}

impl Reason {
    fn name(&self) -> &'static str {
        match self {
            Self::Stopped(stop) => stop.name(),
            Self::InputLost(_) => "input-lost",
            Self::NobodyReads => "output-lost",
            Self::Survives => "survives",
        }
    }
}

impl RetryLoop<'_> {
    pub(super) fn succeeded(&mut self) -> End {
        // What was said of the failures before is not needed any more.
        self.narrator.release();
        self.publish();
        if let Some(signal) = self.reactor.interrupted_by() {
            return self.cancelled(signal);
        }
        if let Some(end) = self.output_lost() {
            return end;
        }
        if self.job.mode == Mode::Until {
            return self.ready();
        }
        let flaky = self.is_flaky();
        let is_told = !self.job.holds_errors()
            || matches!(self.job.flaky, Some(args::Flaky::Warn | args::Flaky::Fail));
        let as_failure = flaky && self.job.flaky == Some(args::Flaky::Fail);
        let code = match self.job.exit_codes {
            _ if !as_failure => 0,
            args::ExitCodes::Command => exit_code::FAILURE,
            args::ExitCodes::Reason => exit_code::FLAKY,
        };
        let end = End::Code(code);
        self.ended(Outcome::Succeeded, None, end);
        if flaky && is_told {
            let in_all = self.in_all();
            let mut parts = vec![format!("succeeded, but flaky: {in_all}")];
            if as_failure {
                parts.push(format!("a failure by --flaky fail: exit {code}"));
            }
            match as_failure {
                true => self.narrator.error(&self.about(), &parts),
                false => self.narrator.line(Sign::Flaky, &self.about(), &parts),
            }
            let on_github = github::is_here();
            let warns = match self.job.flaky {
                None => on_github,
                Some(flaky) => flaky != args::Flaky::Pass,
            };
            let severity = if as_failure { Severity::Error } else { Severity::Warning };
            let message = format!("flaky: succeeded on attempt {}, {in_all}", self.of());
            if warns && on_github {
                self.tell_github(severity, &message);
            } else if warns {
                self.narrator.warn(&format!("{} is {message}", self.job.command()));
            }
        }
        end
    }

    /// Whether a success now is flaky: it is not the first attempt, and nobody meant to wait.
    pub(super) fn is_flaky(&self) -> bool {
        self.attempts > 1 && self.job.mode == Mode::Run
    }

    /// The success of a poll.
    fn ready(&mut self) -> End {
        let end = End::Code(0);
        self.ended(Outcome::Succeeded, None, end);
        if self.attempts > 1 {
            self.narrator.line(Sign::Ready, "", &[self.so_far("ready")]);
        }
        end
    }

    pub(super) fn gave_up(
        &mut self,
        attempt: &Attempt,
        reason: &Reason,
        rule: Option<String>,
    ) -> End {
        self.decided(Action::Stop, rule.clone(), Some(reason.name()), None);
        self.publish_all();
        if let Some(signal) = self.reactor.interrupted_by() {
            return self.cancelled(signal);
        }
        if let Some(trouble) = self.streams().lost().map(str::to_owned) {
            self.narrator.warn(&trouble);
        }
        let code = code(self.job.exit_codes, &attempt.ending, reason.name());
        let mut parts = vec![self.what_happened(attempt)];
        parts.push(match (reason, rule) {
            (Reason::Stopped(Stop::Rejected), rule) => {
                let not_again = match self.job.mode {
                    Mode::Run => "not retried",
                    Mode::Until => "no other look",
                };
                rule.map_or(not_again.to_owned(), |rule| format!("{not_again}: {rule}"))
            }
            (Reason::Stopped(Stop::RetryAfterTooLong), _) => {
                let most = human(self.job.limits.retry_after_max());
                format!("gave up: it asked for a wait of more than --max-retry-after {most}")
            }
            (Reason::Stopped(Stop::BreakerOpen), _) => {
                format!("gave up: the breaker is {}", self.shared.refusal())
            }
            (Reason::Stopped(Stop::Deadline), _) if attempt.is_cut_by_deadline => {
                format!("gave up: the deadline cut this {}", self.noun())
            }
            (Reason::Stopped(stop), _) => {
                format!("gave up: {}", stop.to_string().replace("attempt", self.noun()))
            }
            (Reason::InputLost(why), _) => {
                format!("gave up: standard input could not be kept for another attempt: {why}")
            }
            (Reason::NobodyReads, _) => "gave up: nobody reads standard output".to_owned(),
            (Reason::Survives, _) => {
                "gave up: it cannot be killed; is it another user's?".to_owned()
            }
        });
        if self.attempts > 1 && self.job.mode == Mode::Run {
            parts.push(self.in_all());
        }
        if attempt.ending != Ending::Exit(code.into()) {
            parts.push(format!("exit {code}"));
        }
        let outcome = ending::outcome(&attempt.ending);
        self.ended(outcome, Some(reason.name()), End::Code(code));
        match attempt.ending {
            Ending::Exit(_) | Ending::Signal { .. } => {
                self.narrator.line(Sign::Failed, &self.about(), &parts);
            }
            _ => self.narrator.error(&self.about(), &parts),
        }
        if self.cut == self.attempts
            && self.cut > 1
            && let Some(timeout) = self.job.entry.timeout
        {
            let timeout = human(timeout);
            let hint = format!(
                "all {} were cut at {timeout}: is --timeout {timeout} too short?",
                count(self.cut as usize, self.noun())
            );
            self.narrator.line(Sign::Note, "", &[hint]);
        }
        if github::is_here() {
            self.tell_github(Severity::Error, &format!("{}: {}", self.about(), parts.join("; ")));
        }
        End::Code(code)
    }

    /// The end of a run whose command wrote what nobody got, if it is one: whatever the command says
    /// of itself, that is no success.
    pub(super) fn output_lost(&mut self) -> Option<End> {
        let trouble = self.streams().lost()?.to_owned();
        Some(self.cannot_go_on("output-lost", trouble))
    }

    /// The end of a run that redial itself cannot go on with.
    pub(super) fn cannot_go_on(&mut self, reason: &str, trouble: String) -> End {
        self.decided(Action::Stop, None, Some(reason), None);
        if self.job.holds_errors() {
            self.publish_all();
        }
        let end = End::Code(exit_code::ERROR);
        self.ended(Outcome::Failed, Some(reason), end);
        let parts = [trouble, format!("exit {}", exit_code::ERROR)];
        self.narrator.error(&self.about(), &parts);
        if github::is_here() {
            self.tell_github(Severity::Error, &parts.join("; "));
        }
        end
    }

    /// The end of a run that was not admitted to its next attempt.
    pub(super) fn refused(&mut self, reason: Stop) -> End {
        self.decided(Action::Stop, None, Some(reason.name()), None);
        self.publish_all();
        let (outcome, code) = match &self.last {
            Some(last) => (ending::outcome(last), code(self.job.exit_codes, last, reason.name())),
            None => (Outcome::Refused, exit_code::BREAKER_OPEN),
        };
        self.ended(outcome, Some(reason.name()), End::Code(code));
        let mut parts = vec![format!("the breaker is {}", self.shared.refusal())];
        if self.last.is_none() {
            parts.push("nothing was run".to_owned());
        }
        parts.push(format!("exit {code}"));
        self.narrator.error("", &parts);
        if github::is_here() {
            self.tell_github(Severity::Error, &parts.join("; "));
        }
        End::Code(code)
    }

    pub(super) fn cancelled(&mut self, signal: Signal) -> End {
        self.narrator.waited();
        self.publish_all();
        self.ended(Outcome::Cancelled, Some("signal"), End::Signal(signal));
        // Whoever pressed a key knows.
        if !self.reactor.interrupted_by_key() {
            self.narrator.line(Sign::Note, "", &[format!("ended by {}", short_name(signal))]);
        }
        End::Signal(signal)
    }

    /// Lets out what was held, also of the attempts before the last one: there was no success, and
    /// somebody will want to know why.
    fn publish_all(&mut self) {
        let said = self.narrator.release();
        if let Some(trouble) = self.streams().recall_errors(&said) {
            self.narrator.warn(&trouble);
        }
        self.publish();
    }

    /// Lets out what was held of the last attempt.
    fn publish(&mut self) {
        let deadline = self.call.deadline(&self.job.limits);
        self.reactor.publish(self.slot, deadline, &mut self.log);
    }

    fn tell_github(&mut self, severity: Severity, message: &str) {
        self.narrator.raw(&github::annotation(severity, &self.job.command(), message));
        if let Err(trouble) = github::summarise(severity, &self.job.command(), message) {
            self.narrator.warn(&trouble);
        }
    }
}
