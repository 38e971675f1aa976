//! How a run ends, and what is said of it.

use nix::sys::signal::Signal;
use redial_core::Stop;
use redial_policy::Ending;

use super::{Attempt, Course, End};
use crate::args;
use crate::duration::human;
use crate::events::{Action, Outcome};
use crate::output::REFUSED;
use crate::run::ending;
use crate::run::github::{self, Severity};
use crate::run::say::Sign;
use crate::run::signals::short_name;
use crate::shared::Refusal;

/// The exit code of a run that a breaker refused.
const REFUSED_BY_BREAKER: u8 = 75;
/// The exit code of a flaky success where that is a failure.
const FLAKY: u8 = 1;

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

impl Course<'_> {
    pub(super) fn succeeded(&mut self) -> End {
        self.publish();
        if let Some(signal) = self.supervisor.ended_by() {
            return self.cancelled(signal);
        }
        if let Some(end) = self.output_lost() {
            return end;
        }
        let flaky = self.attempts > 1;
        let as_failure = flaky && self.job.flaky == Some(args::Flaky::Fail);
        let end = End::Code(if as_failure { FLAKY } else { 0 });
        self.ended(Outcome::Succeeded, None, end);
        if flaky {
            let in_all = self.in_all();
            let mut parts = vec![format!("succeeded, but flaky: {in_all}")];
            if as_failure {
                parts.push("a failure by --flaky fail: exit 1".to_owned());
            }
            match as_failure {
                true => self.say.error(&self.of(), &parts),
                false => self.say.line(Sign::Flaky, &self.of(), &parts),
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
                self.say.warn(&format!("{} is {message}", self.job.command));
            }
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
        self.publish();
        if let Some(signal) = self.supervisor.ended_by() {
            return self.cancelled(signal);
        }
        if let Some(trouble) = self.streams.lost().map(str::to_owned) {
            self.say.warn(&trouble);
        }
        let code = ending::code(&attempt.ending);
        let mut parts = vec![self.what_happened(attempt)];
        parts.push(match (reason, rule) {
            (Reason::Stopped(Stop::Rejected), Some(rule)) => format!("not retried: {rule}"),
            (Reason::Stopped(Stop::Rejected), None) => "not retried".to_owned(),
            (Reason::Stopped(Stop::RetryAfterTooLong), _) => {
                let most = human(self.job.limits.retry_after_max());
                format!("gave up: it asked for a wait of more than --max-retry-after {most}")
            }
            (Reason::Stopped(stop), _) => format!("gave up: {stop}"),
            (Reason::InputLost(why), _) => {
                format!("gave up: standard input could not be kept for another attempt: {why}")
            }
            (Reason::NobodyReads, _) => "gave up: nobody reads standard output".to_owned(),
            (Reason::Survives, _) => {
                "gave up: it cannot be killed; is it another user's?".to_owned()
            }
        });
        if self.attempts > 1 {
            parts.push(self.in_all());
        }
        if attempt.ending != Ending::Exit(code.into()) {
            parts.push(format!("exit {code}"));
        }
        let outcome = ending::outcome(&attempt.ending);
        self.ended(outcome, Some(reason.name()), End::Code(code));
        match attempt.ending {
            Ending::Exit(_) | Ending::Signal { .. } => {
                self.say.line(Sign::Failed, &self.of(), &parts);
            }
            _ => self.say.error(&self.of(), &parts),
        }
        if self.cut == self.attempts
            && self.cut > 1
            && let Some(timeout) = self.job.timeout
        {
            let timeout = human(timeout);
            let hint = format!(
                "all {} attempts were cut at {timeout}: is --timeout {timeout} too short?",
                self.cut
            );
            self.say.line(Sign::Note, "", &[hint]);
        }
        if github::is_here() {
            self.tell_github(
                Severity::Error,
                &format!("attempt {}: {}", self.of(), parts.join("; ")),
            );
        }
        End::Code(code)
    }

    /// The end of a run whose command wrote what nobody got, if it is one: whatever the command says
    /// of itself, that is no success.
    pub(super) fn output_lost(&mut self) -> Option<End> {
        let trouble = self.streams.lost()?.to_owned();
        Some(self.cannot_go_on("output-lost", trouble))
    }

    /// The end of a run that redial itself cannot go on with.
    pub(super) fn cannot_go_on(&mut self, reason: &str, trouble: String) -> End {
        self.decided(Action::Stop, None, Some(reason), None);
        let end = End::Code(REFUSED);
        self.ended(Outcome::Failed, Some(reason), end);
        let parts = [trouble, format!("exit {REFUSED}")];
        self.say.error(&self.of(), &parts);
        if github::is_here() {
            self.tell_github(Severity::Error, &parts.join("; "));
        }
        end
    }

    pub(super) fn refused(&mut self, refusal: Refusal) -> End {
        let reason = Stop::BreakerOpen;
        self.decided(Action::Stop, None, Some(reason.name()), None);
        self.publish();
        let (outcome, code) = match &self.last {
            Some(last) => (ending::outcome(last), ending::code(last)),
            None => (Outcome::Refused, REFUSED_BY_BREAKER),
        };
        self.ended(outcome, Some(reason.name()), End::Code(code));
        let mut parts = vec![format!("the breaker is {refusal}")];
        if self.last.is_none() {
            parts.push("nothing was run".to_owned());
        }
        parts.push(format!("exit {code}"));
        self.say.error("", &parts);
        if github::is_here() {
            self.tell_github(Severity::Error, &parts.join("; "));
        }
        End::Code(code)
    }

    pub(super) fn cancelled(&mut self, signal: Signal) -> End {
        self.publish();
        self.ended(Outcome::Cancelled, Some("signal"), End::Signal(signal));
        // Whoever pressed a key knows.
        if !self.supervisor.ended_by_key() {
            self.say.line(Sign::Note, "", &[format!("ended by {}", short_name(signal))]);
        }
        End::Signal(signal)
    }

    /// Lets out what was held.
    pub(super) fn publish(&mut self) {
        let deadline = self.call.deadline(&self.job.limits);
        self.supervisor.publish(&mut self.streams, deadline);
    }

    fn tell_github(&mut self, severity: Severity, message: &str) {
        self.say.raw(&github::annotation(severity, &self.job.command, message));
        if let Err(trouble) = github::summarise(severity, &self.job.command, message) {
            self.say.warn(&trouble);
        }
    }
}
