//! What `redial flow plan` shows: the steps of a flow, their delays, and how long it takes at most.
//!
//! Every renderer reads the same numbers, those of [`Outlook`], and none of them computes one.

use redial_flow::outlook::{Outlook, StepOutlook};
use redial_flow::prepared::Prepared;
use redial_policy::Diagnostic;

mod html;
mod json;
mod layout;
mod svg;
mod tables;
mod terminal;
mod words;

pub(crate) use html::html;
pub(crate) use json::json;
pub(crate) use svg::svg;
pub(crate) use terminal::terminal;

/// A flow to show.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'p> {
    pub(crate) prepared: &'p Prepared,
    pub(crate) outlook: &'p Outlook,
    pub(crate) warnings: &'p [Diagnostic],
}

impl<'p> Planned<'p> {
    fn name(&self) -> &'p str {
        &self.prepared.definition.name
    }

    /// The steps that stand by themselves and the maps, each with its inner steps.
    fn blocks(&self) -> impl Iterator<Item = (&'p StepOutlook, &'p [StepOutlook])> {
        let steps = &self.outlook.steps[..];
        steps.iter().enumerate().filter(|(_, one)| one.step.inside.is_none()).map(|(at, one)| {
            let rest = &steps[at + 1..];
            let is_inner =
                |inner: &&StepOutlook| inner.step.inside.as_deref() == Some(&*one.step.name);
            (one, &rest[..rest.iter().take_while(is_inner).count()])
        })
    }
}
