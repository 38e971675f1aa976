//! The tables of a run.

use std::cmp::Reverse;
use std::time::Duration;

use redial_flow::history::{History, StepHistory, Task};

use super::words::{self, many, nanos};
use crate::view::report::plain;
use crate::view::table::{Kind, Row, Table};

/// How many reasons and steps are named.
const REASONS: usize = 3;
const STEPS: usize = 5;

/// Runs, the newest last.
pub(super) fn runs(histories: &[History], now: Duration) -> Table {
    let columns = vec![
        name("run"),
        words_column("flow"),
        words_column("state"),
        number("succeeded"),
        number("flaky"),
        number("dead"),
        number("waiting"),
        number("running"),
        number("age"),
    ];
    let row = |history: &History| {
        let counts = &history.counts;
        let mut cells = vec![history.run.clone(), history.flow.clone()];
        cells.push(history.state.name().into());
        let numbers = [counts.succeeded, counts.flaky, counts.dead, counts.waiting, counts.running];
        cells.extend(numbers.iter().map(u64::to_string));
        cells.push(words::age(history, now));
        Row::from(cells)
    };
    Table::of("", columns, histories.iter().map(row).collect())
}

/// Steps in the order of the flow. Those inside a map are indented below it; of the map itself, items are counted.
pub(super) fn steps(history: &History) -> Table {
    let columns = vec![
        name("step"),
        number("succeeded"),
        number("flaky"),
        number("dead"),
        number("other"),
        number("waiting"),
        number("running"),
        number("attempts"),
    ];
    let row = |step: &StepHistory| {
        let counts = if step.is_map { &step.item_counts } else { &step.counts };
        let others = counts.recovered + counts.continued + counts.skipped + counts.dropped;
        let numbers = [
            counts.succeeded,
            counts.flaky,
            counts.dead,
            others,
            counts.waiting,
            counts.running,
            step.attempts,
        ];
        Row::from([vec![step_name(step)], numbers.iter().map(u64::to_string).collect()].concat())
    };
    Table::of("", columns, history.steps.iter().map(row).collect())
}

fn step_name(step: &StepHistory) -> String {
    let indent = if step.inside.is_some() { "  " } else { "" };
    let items = step.items.map(|items| format!(", {}", many(items.into(), "item")));
    let map = if step.is_map { items.unwrap_or(", a map".into()) } else { String::new() };
    let arm = step.arm.as_ref().map(|arm| format!(", took {arm}")).unwrap_or_default();
    format!("{indent}{}{map}{arm}", step.name)
}

/// What made attempts fail most often.
pub(super) fn reasons(history: &History) -> Table {
    let columns = vec![
        words_column("what happened"),
        number("times"),
        ("its standard error, for example".into(), Kind::Clause),
    ];
    let row = |reason: &redial_flow::history::Reason| {
        let example = plain(reason.example.as_deref().unwrap_or_default());
        Row::from(vec![words::reason(&reason.what), reason.count.to_string(), example])
    };
    let rows = history.reasons.iter().take(REASONS).map(row).collect();
    let mut table = Table::of("Why attempts failed", columns, rows);
    let rest: u64 = history.reasons.iter().skip(REASONS).map(|reason| reason.count).sum();
    table.rest = (rest > 0).then(|| format!("and {rest} more for other reasons"));
    table
}

/// The steps in which most time was spent running.
pub(super) fn slowest(history: &History) -> Table {
    let columns = vec![
        name("step"),
        number("running"),
        number("delays"),
        number("slots"),
        number("longest attempt"),
        number("attempts"),
        number("failures"),
    ];
    let mut steps: Vec<&StepHistory> =
        history.steps.iter().filter(|step| !step.is_map && step.attempts > 0).collect();
    steps.sort_by_key(|step| Reverse(step.spent.running_ns));
    let row = |step: &&StepHistory| {
        Row::from(vec![
            step.name.clone(),
            nanos(step.spent.running_ns),
            nanos(step.spent.delays_ns),
            nanos(step.spent.slots_ns),
            nanos(step.longest_ns),
            step.attempts.to_string(),
            step.failures.to_string(),
        ])
    };
    let mut table =
        Table::of("Where the time went", columns, steps.iter().take(STEPS).map(row).collect());
    let rest = steps.len().saturating_sub(STEPS);
    table.rest = (rest > 0).then(|| format!("and {} that took less", many(rest as u64, "step")));
    table
}

/// Dead letters, at most so many.
pub(super) fn dead(history: &History, tasks: &[&Task], most: usize) -> Table {
    let columns = vec![
        name("key"),
        words_column("step"),
        number("attempts"),
        words_column("last attempt"),
        words_column("gave up because"),
    ];
    let row = |task: &&Task| {
        let last = task.last_ended().map(|(attempt, _)| words::happened(attempt));
        Row::from(vec![
            history.name(task),
            history.step(task).name.clone(),
            task.tries().to_string(),
            last.unwrap_or_default(),
            words::why(task),
        ])
    };
    let mut table = Table::of("Dead letters", columns, tasks.iter().take(most).map(row).collect());
    let rest = tasks.len().saturating_sub(most);
    table.rest =
        (rest > 0).then(|| format!("and {rest} more; redial flow dead list {}", history.run));
    table
}

/// The attempts of a task, one row each.
pub(super) fn attempts(task: &Task) -> Table {
    let columns = vec![
        number("attempt"),
        words_column("what happened"),
        number("started"),
        number("took"),
        words_column("decision"),
        number("wait"),
    ];
    let mut rows = Vec::new();
    for (place, attempt) in task.attempts.iter().enumerate() {
        if task.attempts_left_out > 0 && place == task.attempts.len() / 2 {
            let left_out = format!("{} left out", many(task.attempts_left_out, "attempt"));
            rows.push(Row::from(["…", &left_out, "", "", "", ""].map(String::from).to_vec()));
        }
        let of =
            if attempt.generation > 0 { format!(".{}", attempt.generation) } else { String::new() };
        let took = attempt.ended.as_ref().map(|ended| nanos(ended.duration_ns));
        let wait = attempt.decided.as_ref().and_then(|decided| decided.delay_ns).map(nanos);
        rows.push(Row::from(vec![
            format!("{}{of}", attempt.number),
            words::happened(attempt),
            nanos(attempt.start_ns),
            took.unwrap_or_default(),
            words::decision(attempt),
            wait.unwrap_or_default(),
        ]));
    }
    Table::of("", columns, rows)
}

fn name(heading: &str) -> (String, Kind) {
    (heading.into(), Kind::Name)
}

fn words_column(heading: &str) -> (String, Kind) {
    (heading.into(), Kind::Words)
}

fn number(heading: &str) -> (String, Kind) {
    (heading.into(), Kind::Number)
}
