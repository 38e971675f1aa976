//! The signals that redial gets, as something to wait for beside everything else.

use nix::sys::signal::{SigHandler, SigSet, Signal, raise, signal};

use crate::events::Sender;

#[cfg(not(target_os = "linux"))]
mod pipe;
#[cfg(target_os = "linux")]
mod queue;

#[cfg(not(target_os = "linux"))]
pub(super) use pipe::Signals;
#[cfg(target_os = "linux")]
pub(super) use queue::Signals;

/// What redial does not leave to the system's default. The first four end the run.
const WATCHED: [Signal; 10] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGWINCH,
    Signal::SIGCHLD,
];

/// A signal that came, and from where.
pub(super) struct Received {
    pub(super) signal: Signal,
    pub(super) from: Sender,
}

impl Received {
    /// Whether a key on the terminal sent it. That a terminal is closed, only the leader of its
    /// session hears.
    pub(super) fn is_key(&self) -> bool {
        self.from == Sender::Terminal && self.signal != Signal::SIGHUP
    }

    /// Whether it asks redial to end.
    pub(super) fn is_fatal(&self) -> bool {
        WATCHED[..4].contains(&self.signal)
    }
}

/// `SEGV`, for what the system calls `SIGSEGV`.
pub(super) fn short_name(signal: Signal) -> &'static str {
    let name = signal.as_str();
    name.strip_prefix("SIG").unwrap_or(name)
}

/// The end of a command tells how it ended only to whoever does not ignore it; a parent may have
/// left that to us.
#[expect(unsafe_code, reason = "the standard library has no way to set a signal's default")]
fn hear_of_children() {
    // SAFETY: the default is no handler, so there is no code that could run at a wrong moment.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
}

/// Does to redial what the signal does by default: stops it, or ends it.
pub(super) fn suffer(signal: Signal) {
    let mut only = SigSet::empty();
    only.add(signal);
    let _ = raise(signal);
    let _ = only.thread_unblock();
    // Still there: it was a stop that is over, or redial is the first process, which nothing ends.
    let _ = only.thread_block();
}
