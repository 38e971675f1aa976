//! What happened, in plain words.

use std::time::Duration;

use redial_core::Stop;

use super::collector::{Attempt, Command, Run, Verdict};
use super::summary::{Summary, Sums};
use crate::duration::human;
use crate::events::{Action, DelaySource, Outcome};
use crate::output::count;

pub(super) const UNKNOWN_COMMAND: &str = "(unknown command)";

/// The command of a run, or of several.
pub(super) fn name(command: Option<&Command>) -> String {
    command.map_or(UNKNOWN_COMMAND, |command| &command.typed).to_owned()
}

/// The totals, a sentence each.
pub(super) fn totals(summary: &Summary<'_>) -> Vec<String> {
    if let Some(run) = summary.only_run() {
        return vec![one_run(run)];
    }
    let sums = &summary.totals;
    let commands = count(summary.commands.len(), "command");
    let mut sentences =
        vec![format!("{} of {commands}: {}.", number(sums.runs, "run"), ends(sums))];
    sentences.extend(rate_words(sums));
    sentences.push(format!(
        "{} in all: {} of running and {} of waiting.",
        number(sums.attempts, "attempt"),
        nanos(sums.running_ns),
        nanos(sums.waited_ns),
    ));
    sentences
}

/// `8 succeeded at once, 2 were flaky, 1 failed`
fn ends(sums: &Sums) -> String {
    let were = |number| if number == 1 { "was" } else { "were" };
    let all = [
        (sums.succeeded_at_once, "succeeded at once".to_owned()),
        (sums.became_ready, "became ready".to_owned()),
        (sums.flaky, format!("{} flaky", were(sums.flaky))),
        (sums.failed, "failed".to_owned()),
        (sums.cancelled, format!("{} cancelled", were(sums.cancelled))),
        (sums.refused, format!("{} refused", were(sums.refused))),
        (sums.unfinished, format!("{} unfinished", were(sums.unfinished))),
    ];
    let some = all.iter().filter(|(number, _)| *number > 0);
    some.map(|(number, end)| format!("{number} {end}")).collect::<Vec<_>>().join(", ")
}

fn rate_words(sums: &Sums) -> Option<String> {
    let only_retried = match sums.flaky {
        0 => "none succeeded only after a retry".to_owned(),
        flaky => format!("{flaky} succeeded only after a retry"),
    };
    let with_a_result = number(sums.finished(), "run");
    Some(format!("Flake rate {}: of {with_a_result} with a result, {only_retried}.", rate(sums)?))
}

/// `18.2 %`. Rounding never gives 0 % or 100 % unless it is exactly that.
pub(super) fn rate(sums: &Sums) -> Option<String> {
    let (flaky, all) = (u128::from(sums.flaky), u128::from(sums.finished()));
    let tenths = (flaky * 1000 + all / 2).checked_div(all)?;
    Some(match tenths {
        0 if flaky > 0 => "<0.1 %".into(),
        1000 if flaky < all => ">99.9 %".into(),
        tenths if tenths % 10 == 0 => format!("{} %", tenths / 10),
        tenths => format!("{}.{} %", tenths / 10, tenths % 10),
    })
}

pub(super) fn one_run(run: &Run) -> String {
    let tries = number(run.tries().into(), if run.is_poll() { "look" } else { "attempt" });
    let time = match run.waited_ns() {
        0 => nanos(run.duration_ns()),
        waited => format!("{}, {} of it waiting", nanos(run.duration_ns()), nanos(waited)),
    };
    match run.verdict() {
        Verdict::SucceededAtOnce => format!("Succeeded at once, in {time}."),
        Verdict::BecameReady => format!("Ready at look {}, after {time}.", run.tries()),
        Verdict::Flaky => {
            format!("Flaky: succeeded only at attempt {}, after {time}.", run.tries())
        }
        Verdict::Failed => match why(run) {
            Some(why) => format!("Failed after {tries} in {time}: {why}."),
            None => format!("Failed after {tries} in {time}."),
        },
        Verdict::Cancelled => {
            let signal = run.end.as_ref().and_then(|end| end.signal.as_deref());
            let by = signal.map_or("a signal".into(), |signal| format!("signal {signal}"));
            format!("Cancelled by {by}, after {tries} in {time}.")
        }
        Verdict::Refused => match why(run) {
            Some(why) => format!("Refused, nothing was run: {why}."),
            None => "Refused, nothing was run.".into(),
        },
        Verdict::Unfinished => format!("Unfinished: the log ends after {tries} in {time}."),
    }
}

/// Why a run stopped without success.
pub(super) fn why(run: &Run) -> Option<String> {
    run.end.as_ref()?.reason.as_deref().map(reason)
}

/// A reason in words, where the core has words for its name.
fn reason(name: &str) -> String {
    match Stop::ALL.into_iter().find(|stop| stop.name() == name) {
        Some(stop) => stop.to_string(),
        None => name.to_owned(),
    }
}

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::SucceededAtOnce => "succeeded",
        Verdict::BecameReady => "ready",
        Verdict::Flaky => "flaky",
        Verdict::Failed => "failed",
        Verdict::Cancelled => "cancelled",
        Verdict::Refused => "refused",
        Verdict::Unfinished => "unfinished",
    }
}

/// How an attempt came out.
pub(super) fn happened(attempt: &Attempt) -> String {
    let Some(ended) = &attempt.ended else { return "no end was written".into() };
    match (ended.outcome, ended.exit, &ended.signal) {
        (Outcome::Succeeded, None | Some(0), _) => "succeeded".into(),
        (Outcome::Succeeded, Some(exit), _) => format!("succeeded with exit {exit}"),
        (Outcome::Timeout, ..) => "timed out".into(),
        (Outcome::SpawnError, ..) => "could not be started".into(),
        (Outcome::Cancelled, ..) => "cancelled".into(),
        (Outcome::Refused, ..) => "refused".into(),
        (Outcome::Lost, ..) => "lost".into(),
        (Outcome::Failed | Outcome::Signalled, _, Some(signal)) => format!("signal {signal}"),
        (Outcome::Failed | Outcome::Signalled, Some(exit), None) => format!("exit {exit}"),
        (Outcome::Failed, None, None) => "failed".into(),
        (Outcome::Signalled, None, None) => "died of a signal".into(),
    }
}

/// What became of a failure, and by which rule.
pub(super) fn decision(attempt: &Attempt) -> String {
    let Some(decided) = &attempt.decided else { return String::new() };
    let action = match decided.action {
        Action::Retry => "retry".to_owned(),
        Action::Stop => match decided.reason.as_deref() {
            Some(name) => format!("stop: {}", reason(name)),
            None => "stop".to_owned(),
        },
    };
    match &decided.rule {
        Some(rule) => format!("{action} ({rule})"),
        None => action,
    }
}

/// How long it waited then, and where the delay came from if not from the policy.
pub(super) fn wait(attempt: &Attempt) -> String {
    let Some(decided) = &attempt.decided else { return String::new() };
    let Some(delay) = decided.delay_ns else { return String::new() };
    let asked = match decided.delay_source {
        None | Some(DelaySource::Backoff) => "",
        Some(DelaySource::DelayFrom) => " (from its output)",
        Some(DelaySource::Control) => " (as it asked)",
    };
    format!("{}{asked}", nanos(delay))
}

pub(super) fn nanos(nanos: u64) -> String {
    human(Duration::from_nanos(nanos))
}

/// `1 run`, `2 runs`
pub(super) fn number(number: u64, what: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), what)
}
