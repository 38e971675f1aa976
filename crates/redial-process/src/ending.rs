//! How an attempt ended, from what the system says, and as an exit code.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use redial_policy::Ending;

use crate::signals::short_name;

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

/// Why a command could not be started, and the remedy, where that is not the command's own fault: a
/// resource limit, or a guard that is gone.
pub fn fault_of_the_system(error: Errno) -> Option<&'static str> {
    match error {
        Errno::EAGAIN => Some(
            "too many processes (EAGAIN); raise ulimit -u, or the limit on PIDs of the container",
        ),
        Errno::EMFILE => Some("too many open files (EMFILE); raise ulimit -n"),
        Errno::ENFILE => Some("too many open files in the whole system (ENFILE)"),
        Errno::EFBIG => Some(
            "the limit on the size of files (EFBIG, ulimit -f) is below the command's arguments and variables",
        ),
        Errno::ENOMEM => Some("out of memory (ENOMEM)"),
        Errno::ESRCH | Errno::EPIPE | Errno::ECONNRESET | Errno::EPROTO => {
            Some("the guard process is gone")
        }
        _ => None,
    }
}

#[test]
fn limits_and_a_lost_guard_are_no_fault_of_the_command() {
    for (error, told) in [
        (Errno::EAGAIN, "ulimit -u"),
        (Errno::EMFILE, "ulimit -n"),
        (Errno::ENFILE, "open files"),
        (Errno::ENOMEM, "memory"),
        (Errno::ESRCH, "the guard process is gone"),
    ] {
        assert!(fault_of_the_system(error).unwrap().contains(told), "{error}");
    }
    for error in [Errno::ENOENT, Errno::EACCES, Errno::ENOEXEC, Errno::E2BIG, Errno::ETXTBSY] {
        assert_eq!(fault_of_the_system(error), None, "{error}");
    }
}

/// The exit code of a failure, as shells and `timeout` have it; never 0.
pub fn exit_code(ending: &Ending) -> u8 {
    match ending {
        Ending::Exit(0) => 1,
        Ending::Exit(code) => (code & 0xff) as u8,
        Ending::Signal { number, .. } => ((128 + number) & 0xff) as u8,
        Ending::TimedOut => 124,
        // As a command that was killed: redial's own KILL took it.
        Ending::Lost => 137,
        Ending::NotFound => 127,
        Ending::NotExecutable => 126,
    }
}
