//! A run without processes: what attempts come to is a function of the task and the number of the attempt, time passes
//! when there is nothing else to do, and the records are a list.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use redial_core::{Policy, Time};
use redial_flow::flow::{FailuresMax, Flow, Need, NeedKind, Place, Step, StepId};
use redial_flow::machine::{Machine, Next, Supply, TaskId};
use redial_flow::record::{Event, Outcome, Record, Start, Verdict};

pub(crate) const SEED: u64 = 7;

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    Well,
    Badly,
    /// By a failure that no rule retries.
    ForGood,
    /// With this outcome, which is worth another attempt.
    With(Outcome),
    /// With a delay of its own, in milliseconds.
    Asking(u64),
    /// It is a branch, which takes this arm or none.
    Taking(Option<StepId>),
}

/// What attempts come to, how long each takes, and how many items there are.
pub(crate) struct World<'w> {
    pub(crate) flow: Arc<Flow>,
    pub(crate) slots: u32,
    pub(crate) items: u32,
    pub(crate) ends: &'w dyn Fn(TaskId, u32) -> Ends,
    /// Each attempt that really ran, also where its end was lost.
    pub(crate) ran: BTreeMap<TaskId, Vec<u32>>,
    /// Whether the machine is made anew from the records after each of them, while attempts go on.
    pub(crate) replays: bool,
    /// Why the sources of maps cannot be read beyond their items.
    pub(crate) breaks: Option<&'static str>,
}

const ATTEMPT: Duration = Duration::from_millis(10);

impl<'w> World<'w> {
    pub(crate) fn new(flow: Flow, ends: &'w dyn Fn(TaskId, u32) -> Ends) -> Self {
        let ran = BTreeMap::new();
        Self { flow: Arc::new(flow), slots: 2, items: 0, ends, ran, replays: false, breaks: None }
    }

    pub(crate) fn machine(&self) -> Machine {
        Machine::new(Arc::clone(&self.flow), "run", SEED)
    }

    /// Runs to the end, or until so many records are written: then the process is killed.
    pub(crate) fn run(
        &mut self,
        machine: &mut Machine,
        records: &mut Vec<Record>,
        kill_after: usize,
    ) -> bool {
        let mut now = machine.time();
        let mut read = 0;
        let mut running: Vec<(Time, TaskId, u32)> = Vec::new();
        loop {
            if records.len() >= kill_after {
                return false;
            }
            if self.replays {
                *machine = self.replayed(records);
                let maps = (0..).zip(&self.flow.steps);
                for (map, _) in maps.filter(|(_, step)| matches!(step.place, Place::Map { .. })) {
                    (0..read).for_each(|item| machine.admit(map, item));
                }
            }
            let has_slot = (running.len() as u32) < self.slots;
            let supply = if read < self.items { Supply::Item } else { Supply::End };
            // What is finished or under way is passed over, as in a list of items that is read again.
            match machine.next(now, has_slot, &mut |_| supply) {
                Next::Write(record) => note(machine, records, *record),
                Next::Read(map) if read < self.items => {
                    machine.admit(map, read);
                    read += 1;
                }
                Next::Read(map) => {
                    let record =
                        machine.record(now, Event::ItemsEnd, TaskId { step: map, item: None });
                    let (reason, message) = (self.breaks.map(|_| "bad-source".into()), self.breaks);
                    let message = message.map(Into::into);
                    let record = Record { items: Some(read), reason, message, ..record };
                    note(machine, records, record);
                }
                Next::Start(task) => {
                    if is_branch(machine.flow(), task.step)
                        && let Ends::Taking(arm) = (self.ends)(task, 1)
                    {
                        let record = machine.branch_end(now, task, arm);
                        note(machine, records, record);
                        continue;
                    }
                    let record = machine.attempt_start(now, task);
                    let attempt = record.attempt.unwrap();
                    note(machine, records, record);
                    if records.len() < kill_after {
                        self.ran.entry(task).or_default().push(attempt);
                        running.push((now.after(ATTEMPT), task, attempt));
                    }
                }
                Next::Wait(until) => {
                    running.sort();
                    let first = running.first().map(|(at, ..)| *at);
                    let next = [until, first].into_iter().flatten().min();
                    now = next.expect("there is something to wait for").max(now);
                    if first == Some(now) {
                        let (_, task, attempt) = running.remove(0);
                        let record = self.end(machine, now, task, attempt);
                        note(machine, records, record);
                    }
                }
                Next::Over => return true,
            }
        }
    }

    /// The machine that the records make.
    pub(crate) fn replayed(&self, records: &[Record]) -> Machine {
        let mut machine = self.machine();
        for record in records {
            machine.apply(record).unwrap();
        }
        machine
    }

    fn end(&self, machine: &Machine, now: Time, task: TaskId, attempt: u32) -> Record {
        let mut record =
            Record { attempt: Some(attempt), ..machine.record(now, Event::AttemptEnd, task) };
        let (outcome, verdict) = match (self.ends)(task, attempt) {
            Ends::Well => (Outcome::Succeeded, None),
            Ends::Badly => (Outcome::Failed, Some(Verdict::Retry)),
            Ends::ForGood => (Outcome::Failed, Some(Verdict::Stop)),
            Ends::With(outcome) => (outcome, Some(Verdict::Retry)),
            Ends::Asking(millis) => {
                record.delay_ns = Some(millis * 1_000_000);
                (Outcome::Failed, Some(Verdict::Retry))
            }
            Ends::Taking(_) => unreachable!("a branch has no attempts"),
        };
        (record.outcome, record.verdict) = (Some(outcome), verdict);
        record
    }

    /// Another process goes on from what is written down, after this long.
    pub(crate) fn resume(&self, records: &mut Vec<Record>, after: Duration) -> Machine {
        let mut machine = self.replayed(records);
        let now = machine.time().after(after);
        let start = Start {
            ts: "".into(),
            wall_ns: 0,
            boot_id: "".into(),
            boot_ns: 0,
            pid: 1,
            seed: SEED,
            argv: Vec::new(),
            cwd: String::new(),
            said: serde_json::Value::Null,
            flow_crc: None,
        };
        let resumed =
            Record { start: Some(Box::new(start)), ..Record::new("run", now, Event::RunResume) };
        note(&mut machine, records, resumed);
        for task in machine.open_attempts() {
            let lost = Record {
                attempt: Some(machine.attempts(task)),
                outcome: Some(Outcome::Lost),
                verdict: Some(Verdict::Retry),
                ..machine.record(now, Event::AttemptEnd, task)
            };
            note(&mut machine, records, lost);
        }
        machine
    }
}

fn note(machine: &mut Machine, records: &mut Vec<Record>, record: Record) {
    machine.apply(&record).unwrap_or_else(|error| panic!("{error}: {record:?}"));
    records.push(record);
}

/// A step with a policy.
pub(crate) fn step(name: &str, policy: Policy) -> Step {
    Step { policy: policy.into(), ..Step::new(name) }
}

pub(crate) fn needs(step: Step, other: u32, kind: NeedKind) -> Step {
    let mut step = step;
    step.needs.push(Need { step: other, kind });
    step
}

/// A map over items whose inner steps follow it.
pub(crate) fn map(name: &str, at: u32, inner: u32, failures_max: Option<FailuresMax>) -> Step {
    let place = Place::Map { first: at + 1, last: at + inner, failures_max };
    Step { place, ..Step::new(name) }
}

pub(crate) fn inside(map: u32, step: Step) -> Step {
    let on_failure = match step.on_failure {
        redial_flow::flow::OnFailure::Stop => redial_flow::flow::OnFailure::DeadLetter,
        other => other,
    };
    Step { place: Place::Inside(map), on_failure, ..step }
}

pub(crate) fn slots(count: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(count)
}

/// Whether other steps are its arms.
fn is_branch(flow: &Flow, branch: StepId) -> bool {
    let mut needs = flow.steps.iter().flat_map(|step| &step.needs);
    needs.any(|need| need.step == branch && need.kind == NeedKind::Taken)
}
