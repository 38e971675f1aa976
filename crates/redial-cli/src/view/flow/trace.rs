//! The timeline as trace events, which Perfetto and `chrome://tracing` open: the JSON array format of
//! *Trace Event Format* (Google, 2016), with complete (`X`), instant (`i`) and metadata (`M`) events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use redial_flow::history::{Attempt, History, TASKS_MAX, Task, TaskState};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::words::{self, nanos};
use crate::visible::visible;

/// One process, the run; its first track is the run itself, and then one for each slot.
const PROCESS: u32 = 1;
const RUN: u32 = 0;

/// The trace as JSON, ending with a newline.
pub(crate) fn trace(history: &History) -> String {
    let tasks = history.timeline(TASKS_MAX);
    let mut attempts: Vec<_> = tasks
        .iter()
        .flat_map(|task| task.attempts.iter().map(move |attempt| (*task, attempt)))
        .collect();
    attempts.sort_by_key(|(_, attempt)| attempt.start_ns);
    let mut slots = Slots::default();
    let mut events = Vec::with_capacity(attempts.len() + 16);
    for (task, attempt) in attempts {
        let slot = slots.take(attempt.start_ns, attempt.end_ns(history.time_ns));
        events.push(complete(history, task, attempt, slot));
        let is_last = task.attempts.last().is_some_and(|last| std::ptr::eq(last, attempt));
        if is_last && task.state == TaskState::Dead {
            events.push(dead(history, task, slot));
        }
    }
    // What gave up without an attempt had no slot; it stands on the track of the run.
    let never_started = history.dead().filter(|task| task.attempts.is_empty());
    events.extend(never_started.map(|task| dead(history, task, RUN)));
    let mut all = names(history, slots.count);
    all.extend(stops(history));
    all.append(&mut events);
    let document = Document {
        display_time_unit: "ms",
        other_data: json!({
            "run": history.run, "flow": history.flow,
            "left_out": words::left_out(history, tasks.len()),
        }),
        trace_events: all,
    };
    let text = serde_json::to_string(&document);
    text.expect("numbers and text under names that are text are always JSON") + "\n"
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    display_time_unit: &'static str,
    other_data: Json,
    trace_events: Vec<Json>,
}

/// Which attempts shared a slot is not written down, so each takes the first that is free.
#[derive(Default)]
struct Slots {
    count: u32,
    free: BinaryHeap<Reverse<u32>>,
    /// When a slot will be free.
    taken: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Slots {
    fn take(&mut self, from: u64, to: u64) -> u32 {
        while let Some(Reverse((until, slot))) = self.taken.peek().copied()
            && until <= from
        {
            self.taken.pop();
            self.free.push(Reverse(slot));
        }
        let slot = self.free.pop().map_or_else(
            || {
                self.count += 1;
                self.count
            },
            |Reverse(slot)| slot,
        );
        self.taken.push(Reverse((to, slot)));
        slot
    }
}

/// Microseconds, as the format has them.
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

fn names(history: &History, slots: u32) -> Vec<Json> {
    let name = |kind: &str, track: u32, name: String| json!({"ph": "M", "name": kind, "pid": PROCESS, "tid": track, "args": {"name": name}});
    let mut names = vec![name("process_name", RUN, visible(&words::title(history)))];
    names.push(name("thread_name", RUN, "run".into()));
    names.extend((1..=slots).map(|slot| name("thread_name", slot, format!("slot {slot}"))));
    names
}

/// When no process worked on the run.
fn stops(history: &History) -> Vec<Json> {
    let stop = |(from, to): &(u64, u64)| {
        json!({
            "ph": "X", "name": "no process", "cat": "run", "pid": PROCESS, "tid": RUN,
            "ts": micros(*from), "dur": micros(to.saturating_sub(*from)),
        })
    };
    history.stopped.iter().map(stop).collect()
}

fn complete(history: &History, task: &Task, attempt: &Attempt, slot: u32) -> Json {
    let ended = attempt.ended.as_ref();
    let wait = attempt.decided.as_ref().and_then(|decided| decided.delay_ns);
    let end = attempt.end_ns(history.time_ns);
    json!({
        "ph": "X", "name": visible(&name(history, task)), "cat": visible(&history.step(task).name),
        "pid": PROCESS, "tid": slot,
        "ts": micros(attempt.start_ns), "dur": micros(end - attempt.start_ns),
        "args": {
            "step": visible(&history.step(task).name), "item": task.item,
            "key": task.key.as_deref().map(visible),
            "attempt": attempt.number, "generation": attempt.generation,
            "outcome": ended.map_or("running".into(), |ended| visible(&ended.what())),
            "decision": visible(&words::decision(attempt)), "wait": wait.map(nanos),
        },
    })
}

fn dead(history: &History, task: &Task, slot: u32) -> Json {
    let at = task.ended_ns.unwrap_or(history.time_ns);
    json!({
        "ph": "i", "s": "t", "name": visible(&format!("{} gave up", name(history, task))),
        "cat": "dead", "pid": PROCESS, "tid": slot, "ts": micros(at),
        "args": {"reason": visible(&words::why(task))},
    })
}

fn name(history: &History, task: &Task) -> String {
    match task.item {
        Some(_) => format!("{} {}", history.step(task).name, history.name(task)),
        None => history.name(task),
    }
}
