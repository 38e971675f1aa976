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

/// What asks redial to end, and is passed on as it is.
const FATAL: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// What ends redial as well, by a clock or a limit that it has got from somebody. To the command it
/// is a TERM.
const ALARMS: &[Signal] = &[
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGXCPU,
    Signal::SIGIO,
    #[cfg(target_os = "linux")]
    Signal::SIGPWR,
    #[cfg(target_os = "linux")]
    Signal::SIGSTKFLT,
];

/// What else redial does not leave to the system's default.
const OTHERS: [Signal; 6] = [
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGWINCH,
    Signal::SIGCHLD,
];

fn watched() -> impl Iterator<Item = Signal> {
    FATAL.into_iter().chain(ALARMS.iter().copied()).chain(OTHERS)
}

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
        FATAL.contains(&self.signal) || self.is_alarm()
    }

    /// Whether it says nothing to the command.
    pub(super) fn is_alarm(&self) -> bool {
        ALARMS.contains(&self.signal)
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

/// From here on signals do to redial what they do by default: there is no command any more.
pub(super) fn release() {
    let mut all = SigSet::empty();
    watched().for_each(|signal| all.add(signal));
    let _ = all.thread_unblock();
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
