//! What a command line says of how a run is run. A run remembers it, and whoever goes on with the run adds only what is to
//! differ.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use redial_flow::engine::Options;
use redial_flow::journal::Sync;
use redial_flow::store::Run;
use redial_process::signals;
use serde::{Deserialize, Serialize};

use crate::args::{EndingFlags, EngineFlags, FlowRun, MapFlags, SyncWhen};
use crate::output::Failure;
use crate::rules::duration_or;
use crate::verb::run::{GUARD, KILL_AFTER};
use crate::visible::visible;

/// How long running jobs go on after a signal to redial.
const DRAIN: Duration = Duration::from_secs(10);

/// The signal that an attempt gets first.
const SIGNAL: &str = "TERM";

/// The most jobs at once: each has a guard process and a few descriptors.
const JOBS_MAX: u32 = 1000;

/// Flags by their names, as they were written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Said {
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SyncWhen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kill_after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drain: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) keep_order: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_dir: Option<PathBuf>,
    /// What a flow file was read with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) input: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<PathBuf>,
}

impl Said {
    fn new(jobs: Option<&String>, sync: Option<SyncWhen>, ending: &EndingFlags) -> Self {
        let EndingFlags { signal, kill_after, drain } = ending.clone();
        Self { jobs: jobs.cloned(), sync, signal, kill_after, drain, ..Self::default() }
    }

    /// What the run was begun with.
    pub(crate) fn remembered(run: &Run) -> Self {
        let said = run.start().map(|start| start.said).unwrap_or_default();
        serde_json::from_value(said).unwrap_or_default()
    }

    /// This, and what the other one says where this says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            jobs: self.jobs.or(other.jobs),
            sync: self.sync.or(other.sync),
            signal: self.signal.or(other.signal),
            kill_after: self.kill_after.or(other.kill_after),
            drain: self.drain.or(other.drain),
            keep_order: self.keep_order || other.keep_order,
            output_dir: self.output_dir.or(other.output_dir),
            input: if self.input.is_empty() { other.input } else { self.input },
            items: self.items.or(other.items),
        }
    }

    /// How the engine runs it. `slots` is how many attempts at once the flow wants.
    pub(crate) fn options(&self, slots: Option<NonZeroU32>) -> Result<Options, Failure> {
        let signal = self.signal.as_deref().unwrap_or(SIGNAL);
        Ok(Options {
            slots: match (&self.jobs, slots) {
                (Some(text), _) => jobs(text)?,
                (None, Some(slots)) => slots,
                (None, None) => processors(),
            },
            sync: match self.sync {
                None | Some(SyncWhen::Always) => Sync::Always,
                Some(SyncWhen::Group) => Sync::Group,
            },
            drain: duration_or("--drain", self.drain.as_deref(), DRAIN)?,
            kill_after: duration_or("--kill-after", self.kill_after.as_deref(), KILL_AFTER)?,
            timeout_signal: signals::terminating(signal)
                .map_err(|error| Failure::Message(format!("--signal: {error}")))?,
            guard: GUARD,
            argv: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            said: serde_json::to_value(self).unwrap_or_default(),
        })
    }
}

impl From<&EngineFlags> for Said {
    fn from(flags: &EngineFlags) -> Self {
        Self::new(flags.jobs.as_ref(), flags.sync, &flags.ending)
    }
}

impl From<&FlowRun> for Said {
    fn from(flags: &FlowRun) -> Self {
        let (input, items) = (flags.source.input.clone(), flags.source.items.clone());
        Self { input, items, ..Self::from(&flags.engine) }
    }
}

impl From<&MapFlags> for Said {
    fn from(flags: &MapFlags) -> Self {
        Self {
            keep_order: flags.keep_order,
            output_dir: flags.output_dir.clone(),
            ..Self::new(flags.jobs.as_ref(), flags.keeping.sync, &flags.ending)
        }
    }
}

/// How many jobs run at once where nobody says it.
fn processors() -> NonZeroU32 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let jobs = u32::try_from(processors).unwrap_or(JOBS_MAX).clamp(1, JOBS_MAX);
    NonZeroU32::new(jobs).unwrap_or(NonZeroU32::MIN)
}

fn jobs(text: &str) -> Result<NonZeroU32, Failure> {
    let jobs = text.parse().ok().and_then(NonZeroU32::new);
    jobs.filter(|jobs| jobs.get() <= JOBS_MAX).ok_or_else(|| {
        let hint = match text {
            "none" | "full" | "equal" => "; for jitter, use --jitter",
            _ => "",
        };
        Failure::Message(format!(
            "--jobs: `{}` is not a number from 1 to {JOBS_MAX}{hint}",
            visible(text)
        ))
    })
}
