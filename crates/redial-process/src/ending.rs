//! How an attempt ended, from what the system says, and as an exit code.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_policy::Ending;

use crate::signals::short_name;

/// What shells and `timeout` exit with where there is no exit code of the command.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
const TIMED_OUT: u8 = 124;

/// How a command ended that ran.
pub fn of_status(status: ExitStatus, timed_out: bool) -> Ending {
    match (timed_out, status.signal()) {
        (true, _) => Ending::TimedOut,
        (false, Some(number)) => {
            // Real-time signals have no name.
            let name = Signal::try_from(number).map_or("", short_name);
            Ending::Signal { number, name }
        }
        (false, None) => Ending::Exit(status.code().unwrap_or(1)),
    }
}

/// How a command ended that could not be started.
pub fn of_error(error: Errno) -> Ending {
    match error {
        Errno::ENOENT | Errno::ENOTDIR => Ending::NotFound,
        _ => Ending::NotExecutable,
    }
}

/// The exit code of a failure, as shells and `timeout` have it; never 0.
pub fn exit_code(ending: &Ending) -> u8 {
    match ending {
        Ending::Exit(0) => 1,
        Ending::Exit(code) => (code & 0xff) as u8,
        Ending::Signal { number, .. } => ((128 + number) & 0xff) as u8,
        Ending::TimedOut => TIMED_OUT,
        Ending::NotFound => NOT_FOUND,
        Ending::NotExecutable => NOT_EXECUTABLE,
    }
}
