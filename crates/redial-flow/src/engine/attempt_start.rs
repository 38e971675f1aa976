//! What is written down is started.

use redial_core::Time;
use redial_policy::Rules;
use redial_process::Sinks;

use super::launch::Launch;
use super::slot::{SlotState, Started};
use super::{Engine, Stopping, Written, nanos};
use crate::machine::TaskId;
use crate::record::{Event, Outcome, Verdict};

impl Engine {
    /// Starts what is written down.
    pub(super) fn start_all(&mut self) {
        for (slot, task, launch) in std::mem::take(&mut self.starts) {
            self.start(slot, task, *launch);
        }
    }

    pub(super) fn start(&mut self, at: usize, task: TaskId, launch: Launch) {
        let attempt = self.machine.attempts(task);
        let now = self.now();
        let outcome = match launch {
            Launch::Command(launched) if launched.missing_directory().is_some() => {
                let directory = launched.missing_directory().unwrap_or_default();
                let message = format!("there is no directory {}", directory.display());
                Err((Outcome::SpawnError, message))
            }
            Launch::Command(mut launched) => {
                let files = self.slots[at].spare.take().map_or_else(Written::pair, Ok);
                let streams = self.reactor.streams(self.slots[at].id);
                // The reactor's own streams have nothing to do: the command has files.
                let inherited = streams.open(&Rules::default(), Sinks::default(), true);
                let stdio = files.and_then(|(stdout, stderr)| {
                    let stdio = launched.stdio(inherited?, &stdout, &stderr)?;
                    Ok((stdout, stderr, stdio))
                });
                match stdio {
                    Ok((stdout, stderr, stdio)) => {
                        let slot = &mut self.slots[at];
                        let variables = launched.variables(slot.control.as_ref());
                        self.reactor.start(slot.id, &launched.command, &variables, stdio);
                        let deadline = self.machine.deadline(task);
                        let timeout = launched.timeout.map(|timeout| now.after(timeout));
                        let cut_at = [timeout, deadline].into_iter().flatten().min();
                        let on_reactor = cut_at.map(|at| Time::ZERO.after(at.since(self.origin)));
                        self.reactor.time_out_at(slot.id, on_reactor);
                        let cut_by_deadline_at =
                            deadline.filter(|at| timeout.is_none_or(|timeout| *at < timeout));
                        slot.state = SlotState::Starting(Started {
                            task,
                            attempt,
                            at: now,
                            cut_by_deadline_at,
                            stdout,
                            stderr,
                        });
                        return;
                    }
                    Err(error) => {
                        // Nothing was started, and that is not the task's fault.
                        let why = format!("no file for the output of a job can be had: {error}");
                        self.slots[at].state = SlotState::Idle;
                        let mut record = self.machine.record(now, Event::AttemptEnd, task);
                        record.attempt = Some(attempt);
                        record.outcome = Some(Outcome::Cancelled);
                        record.message = Some(why.as_str().into());
                        self.record(record);
                        self.stopping.get_or_insert(Stopping::System(why));
                        return;
                    }
                }
            }
            Launch::WriteFile { path, content } => {
                std::fs::write(&path, content).map_err(|error| {
                    (Outcome::Failed, format!("cannot write {}: {error}", path.display()))
                })
            }
        };
        self.slots[at].state = SlotState::Idle;
        let mut record = self.machine.record(now, Event::AttemptEnd, task);
        record.attempt = Some(attempt);
        record.duration_ns = Some(nanos(self.now().since(now)));
        record.outcome =
            Some(outcome.as_ref().map_or_else(|(outcome, _)| *outcome, |()| Outcome::Succeeded));
        record.verdict = outcome.is_err().then_some(Verdict::Retry);
        record.message = outcome.err().map(|(_, message)| message.into());
        self.record(record);
    }
}
