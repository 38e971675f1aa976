//! How an attempt ended: in words, as an exit code, and as an event.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_policy::Ending;
use redial_process::signals::short_name;

use crate::events::Outcome;
use crate::exit_code;

/// From what the system tells.
pub(super) fn of_status(status: ExitStatus, timed_out: bool) -> Ending {
    match (timed_out, status.signal()) {
        (true, _) => Ending::TimedOut,
        (false, Some(number)) => Ending::Signal { number, name: signal_name(number) },
        (false, None) => Ending::Exit(status.code().unwrap_or(1)),
    }
}

/// From why it could not be started.
pub(super) fn of_error(error: Errno) -> Ending {
    match error {
        Errno::ENOENT | Errno::ENOTDIR => Ending::NotFound,
        _ => Ending::NotExecutable,
    }
}

/// `SEGV`; nothing for the signals that have only a number.
fn signal_name(number: i32) -> &'static str {
    Signal::try_from(number).map_or("", short_name)
}

/// What scripts get, as shells and `timeout` give it. A failure is never 0.
pub(super) fn code(ending: &Ending) -> u8 {
    match ending {
        Ending::Exit(0) => exit_code::FAILURE,
        Ending::Exit(code) => (code & 0xff) as u8,
        Ending::Signal { number, .. } => ((exit_code::SIGNALLED + number) & 0xff) as u8,
        Ending::TimedOut => exit_code::TIMED_OUT,
        Ending::NotFound => exit_code::NOT_FOUND,
        Ending::NotExecutable => exit_code::NOT_EXECUTABLE,
    }
}

pub(super) fn outcome(ending: &Ending) -> Outcome {
    match ending {
        Ending::Exit(_) => Outcome::Failed,
        Ending::Signal { .. } => Outcome::Signalled,
        Ending::TimedOut => Outcome::Timeout,
        Ending::NotFound | Ending::NotExecutable => Outcome::SpawnError,
    }
}

/// In words: `exit 28`, `killed by SEGV`.
pub(super) struct Words<'e>(pub(super) &'e Ending);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ending::Exit(code) => write!(f, "exit {code}"),
            Ending::Signal { number, name: "" } => write!(f, "killed by signal {number}"),
            Ending::Signal { name, .. } => write!(f, "killed by {name}"),
            Ending::TimedOut => f.write_str("timed out"),
            Ending::NotFound => f.write_str("not found"),
            Ending::NotExecutable => f.write_str("cannot be executed"),
        }
    }
}
