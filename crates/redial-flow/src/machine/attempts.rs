//! The attempts of a task: one starts, one ends, and what follows is decided by its policy.

use std::time::Duration;

use redial_core::{Call, Decision, SplitMix64, Stop, Time};

use super::shared::{Asked, Report};
use super::task::{Phase, Queued, Task};
use super::{End, Impossible, Machine, TaskId, impossible};
use crate::flow::OnFailure;
use crate::record::{Action, Event, Outcome, Record, Verdict};

/// Why an attempt that [may have succeeded](Outcome::may_have_succeeded) is a dead letter where it must not run twice.
pub const MAY_HAVE_SUCCEEDED: &str = "may-have-succeeded";

impl Machine {
    pub(super) fn attempt_started(
        &mut self,
        record: &Record,
        time: Time,
    ) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        self.meet(record, id)?;
        let task = self.tasks.entry(id).or_insert_with(|| Task::new(0));
        if task.phase != Phase::Queued {
            return Err(impossible(record, "the task is not waiting for an attempt"));
        }
        if record.attempt != Some(task.attempts + 1) {
            return Err(impossible(
                record,
                &format!("{} attempts were counted before", task.attempts),
            ));
        }
        if task.attempts == 0 {
            task.started = time;
        }
        task.attempts += 1;
        task.phase = Phase::Running;
        let is_first = !std::mem::replace(&mut task.has_deposited, true);
        let permits = self.shared(id.step).map(|shared| {
            let shared = shared?;
            if is_first {
                shared.deposit();
            }
            shared.admit(time)
        });
        if let Some(task) = self.tasks.get_mut(&id) {
            task.permits = permits;
        }
        self.running += 1;
        for step in self.sharing(id.step) {
            let state = &mut self.steps[step as usize];
            state.running += 1;
            if let Some(pacer) = &mut state.pacer {
                pacer.take(time);
            }
        }
        Ok(())
    }

    pub(super) fn attempt_ended(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        let task = self.tasks.get_mut(&id).filter(|task| task.phase == Phase::Running);
        let Some(task) = task.filter(|task| record.attempt == Some(task.attempts)) else {
            return Err(impossible(record, "no such attempt is running"));
        };
        let is_idempotent = self.flow.steps[id.step as usize].is_idempotent;
        let outcome = record.outcome.ok_or_else(|| impossible(record, "it has no outcome"))?;
        let mut succeeded = false;
        let permits = std::mem::take(&mut task.permits);
        match outcome {
            Outcome::Succeeded => succeeded = true,
            _ if !is_idempotent && outcome.may_have_succeeded() => {
                task.phase = Phase::GivenUp(outcome, MAY_HAVE_SUCCEEDED.into());
                self.unsettled.push_back(id);
            }
            Outcome::Cancelled => {
                task.attempts -= 1;
                task.phase = Phase::Queued;
            }
            _ => {
                let delay = record.delay_ns.map(Duration::from_nanos);
                task.phase = Phase::Failed(record.verdict.unwrap_or(Verdict::Retry), delay);
                self.unsettled.push_back(id);
            }
        }
        let report = Report::of(outcome, record.verdict);
        for (shared, period) in self.shared(id.step).into_iter().zip(permits) {
            if let Some(shared) = shared {
                shared.report(period, report, time);
            }
        }
        self.running -= 1;
        for step in self.sharing(id.step) {
            self.steps[step as usize].running -= 1;
        }
        self.time = time;
        if succeeded {
            self.finish(id, End::Succeeded);
        } else if outcome == Outcome::Cancelled && is_idempotent {
            self.requeue(id, time);
        }
        Ok(())
    }

    pub(super) fn decided(&mut self, record: &Record, time: Time) -> Result<(), Impossible> {
        let id = self.task_of(record)?;
        let task = self.tasks.get_mut(&id).filter(|task| matches!(task.phase, Phase::Failed(..)));
        let Some(task) = task else {
            return Err(impossible(record, "the task has no failure to decide about"));
        };
        if let Some(call) = record.call {
            task.call = call.into();
        }
        self.unsettled.retain(|unsettled| *unsettled != id);
        match record.action {
            Some(Action::Retry) => {
                task.phase = Phase::Queued;
                // Waited is what the policy says, whatever a damaged or hostile record says.
                let delay = Duration::from_nanos(record.delay_ns.unwrap_or(0));
                let due = record.due_ns.map_or(time, Time::from_nanos).min(time.after(delay));
                self.requeue(id, due);
                let shared = self.shared(id.step).into_iter().flatten();
                shared.for_each(|shared| shared.withdraw(time));
            }
            _ => {
                task.phase =
                    Phase::GivenUp(Outcome::Failed, record.reason.clone().unwrap_or_default());
                self.unsettled.push_front(id);
            }
        }
        Ok(())
    }

    /// What follows a failure, or an end that is not written down yet.
    pub(super) fn settle(&self, id: TaskId, now: Time) -> Record {
        let step = &self.flow.steps[id.step as usize];
        let task = &self.tasks[&id];
        if let Phase::GivenUp(outcome, reason) = &task.phase {
            return self.gave_up(id, now, *outcome, reason);
        }
        let now = now.max(self.time);
        let (verdict, dictated) = match &task.phase {
            Phase::Failed(verdict, delay) => (*verdict, *delay),
            _ => (Verdict::Stop, None),
        };
        let verdict = match (verdict, dictated) {
            (Verdict::Stop, _) => redial_core::Verdict::Stop,
            (Verdict::Retry, Some(delay)) => redial_core::Verdict::RetryAfter(delay),
            (Verdict::Retry, None) => redial_core::Verdict::Retry,
        };
        let seed = self.seed(id);
        let snapshot = redial_core::CallSnapshot {
            elapsed_nanos: nanos(now.since(task.started)),
            ..task.call
        };
        let mut random = SplitMix64::resume(seed, snapshot.words_drawn);
        // A policy that has become shorter since is over as soon as it would be.
        let resumed = Call::resume(&step.policy, snapshot, now);
        let (decision, call) = match resumed {
            Ok(mut call) => {
                let mut gate = Asked(self.shared(id.step));
                let decision =
                    call.failed_past(&step.limits, &mut gate, || now, || verdict, &mut random);
                (decision, call.snapshot(now, random.words_since(seed)))
            }
            Err(_) => (Decision::Stop(Stop::AttemptsSpent), snapshot),
        };
        let mut record = Record {
            attempt: Some(task.attempts),
            call: Some(call.into()),
            ..self.record(now, Event::Decision, id)
        };
        match decision {
            Decision::Wait(delay) => {
                record.action = Some(Action::Retry);
                record.delay_ns = Some(nanos(delay));
                record.due_ns = Some(now.after(delay).as_nanos());
            }
            Decision::Stop(stop) => {
                record.action = Some(Action::Stop);
                record.reason = Some(stop.name().into());
            }
        }
        record
    }

    /// The end of a task after which nothing follows.
    pub(super) fn gave_up(&self, id: TaskId, now: Time, outcome: Outcome, reason: &str) -> Record {
        let (event, outcome) = match (outcome, self.flow.steps[id.step as usize].on_failure) {
            (Outcome::Failed | Outcome::Skipped, OnFailure::Fallback) => {
                (Event::StepEnd, Some(Outcome::Recovered))
            }
            (Outcome::Failed, OnFailure::Continue) => (Event::StepEnd, Some(Outcome::Failed)),
            // The command that is its fallback runs where it has failed.
            (Outcome::Skipped, _) if self.has_substitute(id.step) => {
                (Event::StepEnd, Some(Outcome::Failed))
            }
            (Outcome::Skipped, _) => (Event::StepEnd, Some(Outcome::Skipped)),
            // What may have succeeded is a dead letter, whatever becomes of a failure.
            _ => (Event::Dead, None),
        };
        Record {
            outcome,
            reason: Some(reason.into()),
            attempt: Some(self.attempts(id)).filter(|attempts| *attempts > 0),
            ..self.record(now, event, id)
        }
    }

    /// Why a task that waits for its next attempt will never make it, if the earliest start is at or after its deadline: an attempt
    /// that is cut as it starts would be one for nothing, and as the probe of a breaker it would open it again.
    pub(super) fn never_starts(
        &self,
        queued: &Queued,
        start_at: Option<Time>,
        now: Time,
    ) -> Option<Stop> {
        let deadline = self.deadline(queued.task)?;
        let is_late = |at: Time| at >= deadline;
        if !is_late(start_at.unwrap_or(now)) {
            return None;
        }
        let from = queued.due.max(now);
        let mut breakers = self.shared(queued.task.step).into_iter().flatten();
        match breakers.any(|shared| !is_late(from) && shared.admits_at(from).is_some_and(is_late)) {
            true => Some(Stop::BreakerOpen),
            false => Some(Stop::Deadline),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
