//! The policies that are simulated.

use std::time::Duration;

use clap::ArgMatches;
use redial_core::Pretty;
use redial_policy::Timing;

use crate::args::PolicyFlags;
use crate::output::Failure;
use crate::policies::{SelectedPolicy, selected};
use crate::visible::visible;

/// A policy to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) name: Option<String>,
    /// Whether another policy has the same name, as when two files are compared.
    has_namesake: bool,
    pub(crate) clause: String,
    /// The environment variable that it comes from, if it does.
    pub(crate) from: Option<&'static str>,
    pub(crate) timing: Timing,
    /// The timeout of an attempt, where the policy has one.
    pub(crate) timeout: Option<Duration>,
}

impl Candidate {
    pub(crate) fn new(
        name: Option<String>,
        timing: impl Into<Timing>,
        timeout: Option<Duration>,
    ) -> Self {
        let timing = timing.into();
        let timeout_option = timeout.map(|timeout| format!(", timeout: {}", Pretty(timeout)));
        let clause = format!("{timing}{}", timeout_option.unwrap_or_default());
        Self { name, has_namesake: false, clause, from: None, timing, timeout }
    }

    /// Those that flags or the environment name, or the default policy.
    pub(crate) fn all(
        flags: &PolicyFlags,
        matches: Option<&ArgMatches>,
    ) -> Result<Vec<Self>, Failure> {
        let candidate = |one: SelectedPolicy| Self {
            from: one.from,
            ..Self::new(one.name.clone(), one.timing(), one.entry.timeout)
        };
        let mut all: Vec<_> = selected(flags, matches, false)?.into_iter().map(candidate).collect();
        let names: Vec<_> = all.iter().map(|one| one.name.clone()).collect();
        for one in &mut all {
            one.has_namesake = names.iter().filter(|name| **name == one.name).count() > 1;
        }
        Ok(all)
    }

    /// What follows the word "policy" in a sentence: its name, or its number where it has none, or
    /// both where another has the same name.
    pub(crate) fn short(&self, index: usize) -> String {
        match &self.name {
            Some(name) if !self.has_namesake => visible(name),
            Some(_) => self.label(index),
            None => (index + 1).to_string(),
        }
    }

    /// What it is called in a legend: its number, and its name or its clause.
    pub(crate) fn label(&self, index: usize) -> String {
        let name = self.name.as_deref().map_or_else(|| self.clause.clone(), visible);
        format!("{} {name}", index + 1)
    }
}
