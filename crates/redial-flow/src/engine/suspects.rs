//! Values that are data and may still not do what was meant, looked at when they come: an item that begins with `-`, an output with `..` in
//! the name of a file. Each step is warned of once for each kind, and of the others at the end, by their number.

use std::collections::BTreeMap;

use super::{Engine, Observer};
use crate::flow::StepId;
use crate::machine::TaskId;
use crate::prepared::ReadyAction;
use crate::suspicion::{Suspicion, SuspicionKind, suspicions};

/// What was told of the steps, and how many tasks came after it.
#[derive(Debug, Default)]
pub(super) struct Suspects(BTreeMap<(StepId, SuspicionKind), u64>);

impl Engine {
    /// Looks at the values with which a task is about to start.
    pub(super) fn suspect(&mut self, task: TaskId, observer: &mut dyn Observer) {
        let found = self.suspicions(task);
        let is_of = |kind: SuspicionKind| move |one: &&Suspicion| one.kind == kind;
        for kind in SuspicionKind::ALL {
            let Some(one) = found.iter().find(is_of(kind)) else { continue };
            match self.suspects.0.get_mut(&(task.step, kind)) {
                Some(more) => *more += 1,
                None => {
                    self.suspects.0.insert((task.step, kind), 0);
                    let step = &self.prepared.flow.steps[task.step as usize].name;
                    let item = task.item.map(|item| format!(", item {}", u64::from(item) + 1));
                    let item = item.unwrap_or_default();
                    observer.warned(&format!("step `{step}`{item}: {one}"));
                }
            }
        }
    }

    /// Inputs are left out: they are looked at when the flow is read.
    fn suspicions(&self, task: TaskId) -> Vec<Suspicion> {
        let ready = self.prepared.step(task.step);
        let values = self.values(Some(task));
        let mut found = match &ready.action {
            ReadyAction::Run(arguments) => suspicions(arguments, &values),
            ReadyAction::Shell(line) => line.suspicions(&values),
            ReadyAction::WriteFile { path, .. } => suspicions(std::slice::from_ref(path), &values),
            ReadyAction::Each(_) | ReadyAction::Branch(_) | ReadyAction::Value(_) => Vec::new(),
        };
        found.extend(
            ready.dir.iter().flat_map(|dir| suspicions(std::slice::from_ref(dir), &values)),
        );
        found.retain(|one| one.reference != "inputs" && !one.reference.starts_with("inputs."));
        found
    }

    /// Tells how many more there were.
    pub(super) fn tell_suspects(&mut self, observer: &mut dyn Observer) {
        for ((step, kind), more) in std::mem::take(&mut self.suspects.0) {
            let step = &self.prepared.flow.steps[step as usize].name;
            let like = match kind {
                SuspicionKind::LooksLikeAnOption => "that begin with `-`",
                SuspicionKind::LeavesTheDirectory => "with `..` in them",
            };
            match more {
                0 => {}
                1 => observer.warned(&format!("step `{step}`: 1 more item has values {like}")),
                more => {
                    observer.warned(&format!("step `{step}`: {more} more items have values {like}"))
                }
            }
        }
    }
}
