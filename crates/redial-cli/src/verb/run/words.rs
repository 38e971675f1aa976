//! A run in words, for people.

use std::time::Duration;

use redial_core::Time;
use redial_policy::Ending;
use redial_process::signals::short_name;
use redial_process::{Attempt, Progress, Request};

use super::reporter::Job;
use crate::duration::{compact, human};
use crate::events::Mode;
use crate::output::count;
use crate::policies::is_policy_file;

/// How far a run has come by now.
pub(super) struct Words<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) run: &'a Progress,
    pub(super) now: Time,
}

impl Words<'_> {
    /// What a line is about: `attempt 3/5`, `not ready after 8.3s, 9 looks`.
    pub(super) fn about(&self) -> String {
        match self.job.mode {
            Mode::Run => format!("attempt {}", self.of()),
            Mode::Until => self.so_far("not ready"),
        }
    }

    /// `3/5`
    pub(super) fn of(&self) -> String {
        match self.job.task.policy.attempts() {
            Some(all) => format!("{}/{all}", self.run.attempts),
            None => format!("{}/∞", self.run.attempts),
        }
    }

    /// `not yet`, and from the second look on `not yet after 8.3s, 9 looks`.
    pub(super) fn so_far(&self, what: &str) -> String {
        match self.run.attempts {
            0 | 1 => what.to_owned(),
            looks => format!("{what} after {}, {looks} looks", compact(self.elapsed())),
        }
    }

    /// `8.3s in all, 2.5s of it waiting`
    pub(super) fn in_all(&self) -> String {
        format!("{} in all, {} of it waiting", compact(self.elapsed()), compact(self.run.waited))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.now.since(self.run.started)
    }

    /// `2 attempts left, 41s until the deadline`
    pub(super) fn what_is_left(&self) -> Option<String> {
        let attempts = self.job.task.policy.attempts().map(|all| {
            let left = all.saturating_sub(self.run.attempts) as usize;
            format!("{} left", count(left, self.job.mode.noun()))
        });
        let left = self.run.deadline.map(|at| compact(at.since(self.now)));
        let time = left.map(|left| format!("{left} until the deadline"));
        match (attempts, time) {
            (Some(attempts), Some(time)) => Some(format!("{attempts}, {time}")),
            (attempts, time) => attempts.or(time),
        }
    }

    /// A remark at the first look of a poll that only success ends.
    pub(super) fn no_deadline(&self) -> Option<String> {
        let Job { mode, task, .. } = self.job;
        let is_bounded = task.policy.attempts().is_some()
            || task.policy.get_wait_budget().is_some()
            || self.run.deadline.is_some();
        let is_said = *mode == Mode::Until && self.run.attempts == 1 && !is_bounded;
        is_said.then(|| "no deadline (see --within)".to_owned())
    }

    /// `exit 28 after 2.1s`
    pub(super) fn what_happened(&self, attempt: &Attempt) -> String {
        let ending = ending(&attempt.ending);
        match attempt.ending {
            Ending::NotFound | Ending::NotExecutable => {
                let program = self.job.words[0].to_string_lossy();
                let reason = match (attempt.ending, attempt.spawn_error) {
                    (Ending::NotExecutable, Some(error)) => format!(" ({})", error.desc()),
                    _ => String::new(),
                };
                format!("{program}: {ending}{reason}{}", hint(&program))
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
                format!("{ending} after {}{sent}", compact(attempt.took))
            }
        }
    }
}

/// `exit 28`, `killed by SEGV`
pub(super) fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exit(code) => format!("exit {code}"),
        Ending::Signal { number, name: "" } => format!("killed by signal {number}"),
        Ending::Signal { name, .. } => format!("killed by {name}"),
        Ending::TimedOut => "timed out".to_owned(),
        Ending::Lost => "lost".to_owned(),
        Ending::NotFound => "not found".to_owned(),
        Ending::NotExecutable => "cannot be executed".to_owned(),
    }
}

/// What decided about a failure: a rule, or the command itself.
pub(super) fn rule(attempt: &Attempt) -> Option<String> {
    match attempt.request {
        Some(Request::Stop) => Some("the command wrote `stop` to REDIAL_CONTROL".to_owned()),
        Some(Request::RetryAfter(delay)) => {
            Some(format!("the command asked for {} in REDIAL_CONTROL", human(delay)))
        }
        None => attempt.judgement.rule.clone(),
    }
}

/// A hint where the program that cannot be started looks like something else.
fn hint(program: &str) -> String {
    if program.contains([' ', '&', '|', ';', '<', '>', '$', '=', '*']) {
        "; to run a line of shell: sh -c '…'".to_owned()
    } else if is_policy_file(program) {
        format!("; a policy is named with --policy {program}")
    } else {
        String::new()
    }
}
