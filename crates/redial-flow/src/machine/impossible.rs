//! A record that no run can have written, and what a record is about.

use super::{Machine, TaskId};
use crate::flow::{Place, StepId};
use crate::record::Record;

/// A record that no run can have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impossible(String);

impl std::fmt::Display for Impossible {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Impossible {}

impl Machine {
    pub(super) fn step_of(&self, record: &Record) -> Result<StepId, Impossible> {
        let name = record.step.as_deref().ok_or_else(|| impossible(record, "it names no step"))?;
        let step = self.names.get(name).copied();
        step.ok_or_else(|| impossible(record, "the flow has no such step"))
    }

    pub(super) fn task_of(&self, record: &Record) -> Result<TaskId, Impossible> {
        let step = self.step_of(record)?;
        let is_inside = matches!(self.flow.steps[step as usize].place, Place::Inside(_));
        match record.item {
            Some(_) if !is_inside => Err(impossible(record, "the step is not inside a map")),
            None if is_inside => Err(impossible(record, "it names no item")),
            item => Ok(TaskId { step, item }),
        }
    }
}

pub(super) fn impossible(record: &Record, why: &str) -> Impossible {
    let event = serde_json::to_value(record.event).unwrap_or_default();
    let event = event.as_str().unwrap_or_default();
    let step = record.step.as_deref().map(|step| format!(" of `{step}`")).unwrap_or_default();
    let item = record.item.map(|item| format!(", item {item}")).unwrap_or_default();
    let attempt = record.attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    Impossible(format!("{event}{step}{item}{attempt}: {why}"))
}
