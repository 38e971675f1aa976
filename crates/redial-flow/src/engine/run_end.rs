//! Nothing more is done: why, and what the run has come to.

use redial_core::Time;

use super::slot::SlotState;
use super::{Engine, EngineError, Finished, Observer, Stopping};
use crate::Value;
use crate::flow::Place;
use crate::machine::End;
use crate::record::{Event, Outcome, Record};

impl Engine {
    pub(super) fn look_for_reasons_to_stop(&mut self) {
        if let Some(signal) = self.reactor.interrupted_by() {
            self.stopping = Some(Stopping::Interrupted(signal));
        } else if self.stopping.is_none() && self.deadline().is_some_and(|at| at <= self.now()) {
            self.stopping = Some(Stopping::Deadline);
            let now = self.reactor.clock.now();
            for slot in &self.slots {
                if matches!(slot.state, SlotState::Starting(_) | SlotState::Running(_)) {
                    self.reactor.time_out_at(slot.id, Some(now));
                }
            }
        }
    }

    pub(super) fn is_cut_by_flow(&self) -> bool {
        matches!(self.stopping, Some(Stopping::Deadline))
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.prepared.definition.within.map(|within| Time::ZERO.after(within))
    }

    pub(super) fn finish(&mut self, observer: &mut dyn Observer) -> Result<Finished, EngineError> {
        self.tell_suspects(observer);
        let finished = match self.stopping.take() {
            None => Ok(Finished::Over),
            Some(Stopping::Interrupted(signal)) => Ok(Finished::Interrupted(signal)),
            Some(Stopping::Deadline) => Ok(Finished::Deadline),
            // The last of what there was to do, all the same.
            Some(Stopping::Observer) if self.machine.is_over() => Ok(Finished::Over),
            Some(Stopping::Observer) => Ok(Finished::Stopped),
            Some(Stopping::System(why)) => Err(EngineError::System(why)),
            Some(Stopping::Write(error)) => {
                // Perhaps there is room by now for what has ended since.
                let _ = self.flush(observer);
                return Err(EngineError::Write(error));
            }
        };
        if let (Ok(Finished::Interrupted(_)), Some(journal)) = (&finished, &self.journal)
            && journal.held.is_asked_to_cancel()
        {
            self.record(Record::new(&self.run, self.now(), Event::Cancel));
        }
        let mut record = Record::new(&self.run, self.now(), Event::RunEnd);
        record.outcome = Some(match &finished {
            Ok(Finished::Over) if self.has_failed() => Outcome::Failed,
            Ok(Finished::Over) => Outcome::Succeeded,
            Ok(Finished::Deadline) => Outcome::Timeout,
            Ok(Finished::Interrupted(_) | Finished::Stopped) | Err(_) => Outcome::Interrupted,
        });
        if let Ok(Finished::Interrupted(signal)) = &finished {
            record.signal = Some(redial_process::signals::short_name(*signal).into());
        }
        self.batch.push(record);
        self.flush(observer)?;
        finished
    }

    /// Whether dead letters are left, or a step has failed.
    pub fn has_failed(&self) -> bool {
        if self.machine.is_cancelled() {
            return true;
        }
        self.prepared.flow.steps.iter().zip(0..).any(|(step, id)| {
            let failed = matches!(self.machine.end(id), Some(End::Dead | End::Blocked));
            let dead = match step.place {
                Place::Map { .. } => self.machine.counts(id).dead > 0,
                _ => false,
            };
            failed || dead
        })
    }

    /// The outputs of the flow, by their names, in its order; of one that has no value, why.
    pub fn flow_outputs(&self) -> Vec<(String, Result<Value, String>)> {
        let values = self.values(None);
        let output = |(name, template): &(String, crate::Template)| {
            let value = match values.lacking(template) {
                Some(why) => Err(why),
                None => template.value(&values).map_err(|error| error.to_string()),
            };
            (name.clone(), value)
        };
        self.prepared.outputs.iter().map(output).collect()
    }
}
