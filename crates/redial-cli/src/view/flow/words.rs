//! What has become of a run and of its tasks, in plain words.

use std::time::Duration;

use redial_core::Stop;
use redial_flow::history::{Attempt, Counts, History, State, StepHistory, Task};
use redial_flow::record::{Action, Outcome};

use crate::duration::human;
use crate::output::count;

/// What the run is, what has become of it, and what to do next: a sentence each.
pub(crate) fn headlines(history: &History) -> Vec<String> {
    let first = format!("{}: {}.", title(history), state(history));
    [vec![first], below_title(history)].concat()
}

/// The same under a title, which says what the run is.
pub(super) fn sentences(history: &History) -> Vec<String> {
    let first = format!("{}.", capitalised(&state(history)));
    [vec![first], below_title(history), vec![spent(history)]].concat()
}

fn below_title(history: &History) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.push(format!("{}.", capitalised(&tasks(&history.counts, &history.state))));
    let stopped = |step: &StepHistory| {
        Some(format!("{} was stopped: {}.", step.name, step.stopped.as_deref()?))
    };
    sentences.extend(history.steps.iter().filter_map(stopped));
    sentences.extend(due(history));
    sentences
}

/// `nightly, a run of thumbnails`
pub(crate) fn title(history: &History) -> String {
    match history.flow.as_str() {
        "" => history.run.clone(),
        flow => format!("{}, a run of {flow}", history.run),
    }
}

fn state(history: &History) -> String {
    let (run, dead) = (&history.run, history.counts.dead);
    let time = nanos(history.time_ns);
    match history.state {
        State::Running(holder) => format!("running by {holder}, for {time} so far"),
        State::Interrupted if history.is_cancelled => {
            format!("cancelled after {time}: nothing more of it is run")
        }
        State::Interrupted if !history.has_begun() => {
            format!(
                "made and not begun, so nothing of it has run; redial flow resume {run} begins it"
            )
        }
        State::Interrupted => {
            format!("interrupted after {time}; redial flow resume {run} goes on with it")
        }
        State::Held(holder) => format!("over after {time}, and held by {holder}"),
        State::Over(Outcome::Succeeded) if dead > 0 => {
            format!("over after {time}; {} left", are(dead, "dead letter"))
        }
        State::Over(Outcome::Succeeded) => format!("succeeded in {time}"),
        State::Over(Outcome::Timeout) => format!("stopped by its deadline after {time}"),
        State::Over(Outcome::Cancelled) => format!("cancelled after {time}"),
        State::Over(_) => format!("failed after {time}"),
    }
}

fn are(number: u64, what: &str) -> String {
    format!("{} {}", many(number, what), if number == 1 { "is" } else { "are" })
}

/// `118 tasks succeeded, 3 of them after a retry; 2 are dead, 4 waiting`
pub(crate) fn tasks(counts: &Counts, state: &State) -> String {
    let mut first = format!("{} succeeded", many(counts.succeeded, "task"));
    if counts.flaky > 0 {
        let them = if counts.succeeded == 1 { "" } else { " of them" };
        let flaky =
            if counts.succeeded == 1 { String::new() } else { format!("{}{them} ", counts.flaky) };
        first += &format!(", {flaky}after a retry");
    }
    let running = match state {
        State::Running(_) => "running",
        _ => "under way when it stopped",
    };
    let others = [
        (counts.recovered, "recovered by a fallback"),
        (counts.continued, "failed and passed over"),
        (counts.skipped, "skipped"),
        (counts.dead, "dead"),
        (counts.dropped, "dropped"),
        (counts.waiting, "waiting"),
        (counts.running, running),
    ];
    let some = others.iter().filter(|(number, _)| *number > 0);
    let some: Vec<_> = some.map(|(number, words)| format!("{number} {words}")).collect();
    match some.is_empty() {
        true => first,
        false => format!("{first}; {}", some.join(", ")),
    }
}

/// When something happens next.
fn due(history: &History) -> Option<String> {
    let (State::Running(_), Some(due)) = (&history.state, history.due_ns) else { return None };
    Some(match due.saturating_sub(history.time_ns) {
        0 => "The next attempt is due.".into(),
        left => format!("The next attempt is due in {}.", nanos(left)),
    })
}

/// How long ago a run began.
pub(crate) fn age(history: &History, now: Duration) -> String {
    let start = history.start.as_ref().map(|start| Duration::from_nanos(start.wall_ns));
    start.map_or(String::new(), |start| human(whole_seconds(now.saturating_sub(start))))
}

fn whole_seconds(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_secs())
}

/// Where the time went, in a sentence.
pub(crate) fn spent(history: &History) -> String {
    let spent = &history.spent;
    let mut parts = vec![
        format!("{} running", nanos(spent.running_ns)),
        format!("{} waiting for delays", nanos(spent.delays_ns)),
        format!("{} waiting for a slot or a rate", nanos(spent.slots_ns)),
    ];
    let stopped = stopped_ns(history);
    if stopped > 0 {
        parts.push(format!("and for {} no process worked on the run", nanos(stopped)));
    }
    format!("{}: {}.", many(history.attempts, "attempt"), parts.join(", "))
}

pub(crate) fn stopped_ns(history: &History) -> u64 {
    let times = history.stopped.iter().map(|(from, to)| to.saturating_sub(*from));
    times.fold(0, u64::saturating_add)
}

/// What is wrong with the journal.
pub(crate) fn flaws(history: &History) -> Vec<String> {
    let mut flaws: Vec<String> = history.damages.iter().take(3).map(ToString::to_string).collect();
    let more = history.damages_count.saturating_sub(flaws.len() as u64);
    if more > 0 {
        flaws.push(format!("the journal has {} more", many(more, "hole")));
    }
    if history.is_damaged() {
        flaws.push(format!(
            "what is missing is not shown here; redial flow resume {} --accept-damage goes on without it, and may do again \
             what it said was done",
            history.run
        ));
    }
    if history.damages_accepted > 0 {
        flaws.push(format!(
            "the damage of the journal was accepted in {}: what is missing is not shown here",
            many(history.damages_accepted, "place")
        ));
    }
    if let Some(tail) = history.tail {
        flaws.push(match history.state {
            State::Running(_) | State::Held(_) => {
                format!("{tail} yet: they are being written, or cut off by the next resume")
            }
            _ => format!("{tail}; redial flow resume cuts them off"),
        });
    }
    if history.unknown > 0 {
        flaws.push(format!(
            "{} of kinds that this version does not know; a newer version wrote them",
            many(history.unknown, "record")
        ));
    }
    if let Some(first) = &history.impossible_first {
        flaws.push(format!(
            "{} left out that no run of this flow can have written; the first is {first}",
            many(history.impossible, "record")
        ));
    }
    flaws
}

/// What of the run is not listed.
pub(crate) fn left_out(history: &History, shown: usize) -> Option<String> {
    let kept = history.tasks.iter().filter(|task| !task.attempts.is_empty()).count();
    let hidden = (kept.saturating_sub(shown) as u64).saturating_add(history.tasks_left_out);
    (hidden > 0).then(|| {
        format!(
            "{} not drawn: those that are dead, under way or have failed come first, then the earliest",
            are(hidden, "task")
        )
    })
}

/// Why a task gave up.
pub(crate) fn why(task: &Task) -> String {
    match (task.reason.as_deref(), &task.message) {
        (Some(name), Some(message)) => format!("{}: {message}", reason(name)),
        (Some(name), None) => reason(name),
        (None, Some(message)) => message.to_string(),
        (None, None) => String::new(),
    }
}

/// A reason in words, where there are words for its name.
pub(crate) fn reason(name: &str) -> String {
    match Stop::ALL.into_iter().find(|stop| stop.name() == name) {
        Some(stop) => stop.to_string(),
        None if name == redial_flow::machine::MAY_HAVE_SUCCEEDED => {
            "it may have succeeded, and must not run twice".into()
        }
        None => name.into(),
    }
}

/// How an attempt came out.
pub(crate) fn happened(attempt: &Attempt) -> String {
    attempt.ended.as_ref().map_or("no end was written".into(), |ended| ended.what())
}

/// What was decided after it, and by which rule.
pub(crate) fn decision(attempt: &Attempt) -> String {
    let Some(decided) = &attempt.decided else { return String::new() };
    let action = match (decided.action, decided.reason.as_deref()) {
        (Action::Retry, _) => "retry".to_owned(),
        (Action::Stop, Some(name)) => format!("stop: {}", reason(name)),
        (Action::Stop, None) => "stop".to_owned(),
    };
    let rule = attempt.ended.as_ref().and_then(|ended| ended.rule.as_deref());
    match decided.rule.as_deref().or(rule) {
        Some(rule) => format!("{action} ({rule})"),
        None => action,
    }
}

pub(crate) fn nanos(nanos: u64) -> String {
    human(Duration::from_nanos(nanos))
}

/// `1 task`, `2 tasks`
pub(crate) fn many(number: u64, what: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), what)
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
