//! What can go wrong: with a step, and with a run.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::journal::ReadError;
use crate::store::{InvalidName, StoreError};

/// A step that has given up: what [`Run::step`](super::Run::step) gives then, in this process and in any that goes on with
/// the run. It waits in the journal until somebody retries or drops it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The step, with the number of its call where that is not the first: `charge#2`.
    pub step: String,
    /// The item of a map: its place in the list of items.
    pub item: Option<u32>,
    /// What the item is called.
    pub key: Option<String>,
    /// How many attempts were made since it was last taken up.
    pub attempts: u32,
    /// Why no other follows, by a stable name: `attempts`, `rejected`, `deadline`, `may-have-succeeded`.
    pub reason: String,
    /// What the last attempt said; nothing where the process that made it was killed.
    pub error: Option<String>,
}

impl DeadLetter {
    /// Whether an attempt was cut of which it is not known how it came out, and which must not be made twice.
    pub fn may_have_succeeded(&self) -> bool {
        self.reason == crate::machine::MAY_HAVE_SUCCEEDED
    }
}

impl DeadLetter {
    /// An item that was not started, because too many others are dead letters.
    pub(super) fn not_started(step: String, item: u32, key: &str) -> Self {
        let (reason, key) = (crate::machine::FAILURES_MAX.to_owned(), Some(key.to_owned()));
        Self { step, item: Some(item), key, attempts: 0, reason, error: None }
    }
}

impl fmt::Display for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step `{}`", self.step)?;
        match (&self.key, self.item) {
            (Some(key), _) => write!(f, ", item {key}")?,
            (None, Some(item)) => write!(f, ", item {item}")?,
            (None, None) => {}
        }
        let s = if self.attempts == 1 { "" } else { "s" };
        write!(f, " gave up after {} attempt{s} ({})", self.attempts, self.reason)?;
        match &self.error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DeadLetter {}

/// Why a run gives no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError<E> {
    /// What the function gave. The run can be taken up again: what succeeded in it is not done twice.
    Failed(E),
    /// The run was stopped. The function did not come to its end, and was not told.
    Stopped(Stopped),
}

impl<E> From<Stopped> for RunError<E> {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Stopped(stopped) => stopped.fmt(f),
        }
    }
}

impl<E: fmt::Display + fmt::Debug> std::error::Error for RunError<E> {}

/// Why a run was stopped, or could not begin.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// No run has such a name.
    Name(InvalidName),
    /// The store cannot be used, or another process has the run.
    Store(Arc<StoreError>),
    /// The journal cannot be read.
    Journal(Arc<ReadError>),
    /// What happened cannot be written down, so nothing more is done.
    Write(Arc<io::Error>),
    /// The code takes another way than the journal.
    ChangedCode {
        /// The run.
        run: String,
        /// The step.
        step: String,
        /// What is not as it was.
        why: String,
    },
    /// The run was begun with another input.
    OtherInput {
        /// The run.
        run: String,
    },
    /// A value that cannot be kept as JSON.
    Value {
        /// What has it: `the input`, `the result`, or a step.
        of: String,
        /// Why not.
        why: String,
    },
    /// No step can be called so.
    StepName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A budget or a breaker of a step that cannot be so.
    Setting {
        /// The step.
        step: String,
        /// What is wrong with it.
        why: String,
    },
    /// A flow that cannot be run.
    Flow {
        /// Its name.
        flow: String,
        /// All that is wrong with it.
        mistakes: Vec<String>,
    },
    /// The store was shut down; the next process goes on.
    ShutDown,
    /// Somebody cancelled the run.
    Cancelled {
        /// The run.
        run: String,
    },
}

impl Stopped {
    /// Whether another process, or another task of this one, has the run.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Store(error) if matches!(**error, StoreError::Held { .. }))
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Self {
        Self::Journal(Arc::new(error))
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Write(error) => write!(
                f,
                "{error}; nothing more is started, because it could not be written down: make room, and run it again"
            ),
            Self::ChangedCode { run, step, why } => write!(
                f,
                "changed-code: step `{step}` of the run `{run}`: {why}; go back to the code that began the run, or \
                 remove the run"
            ),
            Self::OtherInput { run } => write!(
                f,
                "the run `{run}` was begun with another input; use that one, or another name for the run"
            ),
            Self::Value { of, why } => {
                write!(
                    f,
                    "{of} cannot be kept as JSON: {why}; use a type that comes back as it was"
                )
            }
            Self::StepName { name, why } => {
                write!(f, "`{}` cannot name a step: {why}", name.escape_debug())
            }
            Self::Setting { step, why } => write!(f, "step `{step}`: {why}"),
            Self::Flow { flow, mistakes } => {
                write!(f, "the flow `{flow}` cannot be run: {}", mistakes.join("; "))
            }
            Self::ShutDown => {
                f.write_str("the store was shut down; the run goes on when it is opened next")
            }
            Self::Cancelled { run } => {
                write!(f, "the run `{run}` was cancelled; remove it to begin it anew")
            }
        }
    }
}

impl std::error::Error for Stopped {}
