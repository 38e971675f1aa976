//! What stops the engine itself.

use std::fmt;
use std::io;

use crate::journal::ReadError;
use crate::machine::Impossible;
use crate::prepared::BadDefinition;
use crate::store::StoreError;

/// What stops the engine itself.
#[derive(Debug)]
pub enum EngineError {
    /// What is run cannot be run.
    Definition(BadDefinition),
    /// The store says no.
    Store(StoreError),
    /// The journal cannot be read.
    Journal(ReadError),
    /// The journal has a record that no run can have written.
    Impossible(Impossible),
    /// What happened cannot be written down.
    Write(io::Error),
    /// No process, pipe or file can be had.
    System(String),
    /// The steps of the run are functions of a program.
    Program {
        /// The run.
        run: String,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(error) => write!(f, "the flow cannot be run: {error}"),
            Self::Store(error) => error.fmt(f),
            Self::Journal(error) => error.fmt(f),
            Self::Impossible(error) => {
                write!(f, "the journal has a record that no run writes: {error}")
            }
            Self::Write(error) => write!(
                f,
                "{error}; nothing more is started, because it could not be written down: make room, \
                 and resume the run"
            ),
            Self::System(error) => f.write_str(error),
            Self::Program { run } => write!(
                f,
                "the steps of the run `{run}` are functions of a Rust program, which alone can run them; start that \
                 program, and it goes on with the run"
            ),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
