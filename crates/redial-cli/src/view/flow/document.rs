//! Runs and dead letters for programs. The fields and their order are a promise: fields are only ever added.

use redial_flow::history::{Attempt, Counts, History, Reason, Spent, StepHistory, Task};
use redial_flow::record::{Action, Outcome};
use serde::Serialize;

use super::dead::Letter;
use super::words;
use crate::output;

/// A document as text, ending with a newline.
pub(crate) fn text(document: &impl Serialize) -> String {
    const DELETE: char = '\u{7f}';
    // JSON may hold DEL as it is, but anstream strips it along with the styles.
    output::json(document).replace(DELETE, "\\u007f")
}

/// The document of `redial flow status --json`.
#[derive(Serialize)]
pub(crate) struct Runs<'h> {
    pub(crate) runs: Vec<RunEntry<'h>>,
}

/// A run. Times are nanoseconds on its own clock, which goes on while nothing runs.
#[derive(Serialize)]
pub(crate) struct RunEntry<'h> {
    run: &'h str,
    flow: &'h str,
    state: &'static str,
    pid: Option<u32>,
    cancelled: bool,
    ts: Option<&'h str>,
    time_ns: u64,
    resumes: u64,
    tasks: CountEntry,
    attempts: u64,
    due_ns: Option<u64>,
    spent: SpentEntry,
    journal: JournalEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepEntry<'h>>>,
}

impl<'h> RunEntry<'h> {
    /// Without its steps.
    pub(crate) fn short(history: &'h History) -> Self {
        Self {
            run: &history.run,
            flow: &history.flow,
            state: history.state.name(),
            pid: history.state.holder().and_then(|holder| holder.pid),
            cancelled: history.is_cancelled,
            ts: history.start.as_ref().map(|start| &*start.ts),
            time_ns: history.time_ns,
            resumes: history.resumes,
            tasks: CountEntry::new(&history.counts),
            attempts: history.attempts,
            due_ns: history.due_ns,
            spent: SpentEntry::new(&history.spent, Some(words::stopped_ns(history))),
            journal: JournalEntry::new(history),
            steps: None,
        }
    }

    /// With its steps.
    pub(crate) fn whole(history: &'h History) -> Self {
        let steps = history.steps.iter().map(StepEntry::new).collect();
        Self { steps: Some(steps), ..Self::short(history) }
    }
}

#[derive(Serialize)]
struct CountEntry {
    succeeded: u64,
    flaky: u64,
    recovered: u64,
    continued: u64,
    skipped: u64,
    dead: u64,
    dropped: u64,
    waiting: u64,
    running: u64,
}

impl CountEntry {
    fn new(counts: &Counts) -> Self {
        Self {
            succeeded: counts.succeeded,
            flaky: counts.flaky,
            recovered: counts.recovered,
            continued: counts.continued,
            skipped: counts.skipped,
            dead: counts.dead,
            dropped: counts.dropped,
            waiting: counts.waiting,
            running: counts.running,
        }
    }
}

#[derive(Serialize)]
struct SpentEntry {
    running_ns: u64,
    delays_ns: u64,
    slots_ns: u64,
    /// While no process worked on the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_ns: Option<u64>,
}

impl SpentEntry {
    fn new(spent: &Spent, stopped_ns: Option<u64>) -> Self {
        let Spent { running_ns, delays_ns, slots_ns, .. } = *spent;
        Self { running_ns, delays_ns, slots_ns, stopped_ns }
    }
}

/// What is wrong with the journal.
#[derive(Serialize)]
struct JournalEntry {
    holes: u64,
    torn_bytes: u64,
    unknown_records: u64,
    impossible_records: u64,
}

impl JournalEntry {
    fn new(history: &History) -> Self {
        Self {
            holes: history.damages_count,
            torn_bytes: history.tail.map_or(0, |tail| tail.length),
            unknown_records: history.unknown,
            impossible_records: history.impossible,
        }
    }
}

#[derive(Serialize)]
struct StepEntry<'h> {
    step: &'h str,
    inside: Option<&'h str>,
    map: bool,
    items: Option<u32>,
    policy: &'h str,
    tasks: CountEntry,
    /// Of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    item_counts: Option<CountEntry>,
    attempts: u64,
    failures: u64,
    spent: SpentEntry,
    longest_ns: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    /// The arm that a branch took.
    #[serde(skip_serializing_if = "Option::is_none")]
    arm: Option<&'h str>,
}

impl<'h> StepEntry<'h> {
    fn new(step: &'h StepHistory) -> Self {
        Self {
            step: &step.name,
            inside: step.inside.as_deref(),
            map: step.is_map,
            items: step.items,
            policy: &step.policy,
            tasks: CountEntry::new(&step.counts),
            item_counts: step.is_map.then(|| CountEntry::new(&step.item_counts)),
            attempts: step.attempts,
            failures: step.failures,
            spent: SpentEntry::new(&step.spent, None),
            longest_ns: step.longest_ns,
            first_ns: step.first_ns,
            last_ns: step.last_ns,
            arm: step.arm.as_deref(),
        }
    }
}

/// The document of `redial flow report --json`.
#[derive(Serialize)]
pub(crate) struct ReportEntry<'h> {
    #[serde(flatten)]
    run: RunEntry<'h>,
    /// The commonest first, all of them.
    reasons: Vec<ReasonEntry<'h>>,
    dead: Vec<DeadEntry<'h>>,
}

impl<'h> ReportEntry<'h> {
    pub(crate) fn new(history: &'h History) -> Self {
        Self {
            run: RunEntry::whole(history),
            reasons: history.reasons.iter().map(ReasonEntry::new).collect(),
            dead: history.dead().map(|task| DeadEntry::short(history, task)).collect(),
        }
    }
}

#[derive(Serialize)]
struct ReasonEntry<'h> {
    what: &'h str,
    count: u64,
    example: Option<&'h str>,
}

impl<'h> ReasonEntry<'h> {
    fn new(reason: &'h Reason) -> Self {
        Self { what: &reason.what, count: reason.count, example: reason.example.as_deref() }
    }
}

/// The document of `redial flow dead list --json` and `show --json`.
#[derive(Serialize)]
pub(crate) struct DeadLetters<'h> {
    pub(crate) run: &'h str,
    pub(crate) dead: Vec<DeadEntry<'h>>,
}

#[derive(Serialize)]
pub(crate) struct DeadEntry<'h> {
    step: &'h str,
    item: Option<u32>,
    key: Option<&'h str>,
    generation: u32,
    attempts: u64,
    reason: Option<&'h str>,
    message: Option<&'h str>,
    died_ns: Option<u64>,
    last: Option<AttemptEntry<'h>>,
    #[serde(flatten)]
    more: Option<More<'h>>,
}

/// What `show` adds.
#[derive(Serialize)]
struct More<'h> {
    value: Option<&'h redial_flow::Value>,
    /// Whether `value` is the base64 of an item that is not UTF-8.
    value_is_base64: bool,
    output: Option<&'h str>,
    attempt_details: Vec<AttemptEntry<'h>>,
    attempts_left_out: u64,
}

impl<'h> DeadEntry<'h> {
    pub(crate) fn short(history: &'h History, task: &'h Task) -> Self {
        Self {
            step: &history.step(task).name,
            item: task.item,
            key: task.key.as_deref(),
            generation: task.generation,
            attempts: task.tries(),
            reason: task.reason.as_deref(),
            message: task.message.as_deref(),
            died_ns: task.ended_ns,
            last: task.last_ended().map(|(attempt, _)| AttemptEntry::new(attempt)),
            more: None,
        }
    }

    pub(crate) fn whole(history: &'h History, letter: &'h Letter<'h>) -> Self {
        let more = More {
            value: letter.value.as_ref(),
            value_is_base64: matches!(letter.value, Some(redial_flow::Value::Bytes(_))),
            output: letter.output.as_deref(),
            attempt_details: letter.task.attempts.iter().map(AttemptEntry::new).collect(),
            attempts_left_out: letter.task.attempts_left_out,
        };
        Self { more: Some(more), ..Self::short(history, letter.task) }
    }
}

#[derive(Serialize)]
struct AttemptEntry<'h> {
    attempt: u32,
    generation: u32,
    start_ns: u64,
    end_ns: Option<u64>,
    duration_ns: Option<u64>,
    outcome: Option<Outcome>,
    exit: Option<i32>,
    signal: Option<&'h str>,
    message: Option<&'h str>,
    stderr_tail: Option<&'h str>,
    action: Option<Action>,
    reason: Option<&'h str>,
    rule: Option<&'h str>,
    delay_ns: Option<u64>,
}

impl<'h> AttemptEntry<'h> {
    fn new(attempt: &'h Attempt) -> Self {
        let (ended, decided) = (attempt.ended.as_ref(), attempt.decided.as_ref());
        let rule = decided.and_then(|decided| decided.rule.as_deref());
        Self {
            attempt: attempt.number,
            generation: attempt.generation,
            start_ns: attempt.start_ns,
            end_ns: ended.map(|ended| ended.at_ns),
            duration_ns: ended.map(|ended| ended.duration_ns),
            outcome: ended.map(|ended| ended.outcome),
            exit: ended.and_then(|ended| ended.exit),
            signal: ended.and_then(|ended| ended.signal.as_deref()),
            message: ended.and_then(|ended| ended.message.as_deref()),
            stderr_tail: ended.and_then(|ended| ended.stderr_tail.as_deref()),
            action: decided.map(|decided| decided.action),
            reason: decided.and_then(|decided| decided.reason.as_deref()),
            rule: rule.or_else(|| ended.and_then(|ended| ended.rule.as_deref())),
            delay_ns: decided.and_then(|decided| decided.delay_ns),
        }
    }
}
