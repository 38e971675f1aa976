//! The signals that this process gets, as a descriptor to poll.

use nix::sys::signal::{SigHandler, SigSet, Signal, raise, signal};

#[cfg(not(target_os = "linux"))]
mod self_pipe;
#[cfg(target_os = "linux")]
mod signalfd;

#[cfg(not(target_os = "linux"))]
pub(crate) use self_pipe::Signals;
#[cfg(target_os = "linux")]
pub(crate) use signalfd::Signals;

/// Signals that ask this process to end, and are forwarded.
const FATAL: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Signals of timers, resource limits and watchdogs, which end this process too. The command gets
/// SIGTERM for them.
const ALARMS: &[Signal] = &[
    Signal::SIGALRM,
    Signal::SIGVTALRM,
    Signal::SIGPROF,
    Signal::SIGXCPU,
    Signal::SIGIO,
    // systemd's watchdog sends it. Blocking it does no harm: abort() unblocks it first.
    Signal::SIGABRT,
    #[cfg(target_os = "linux")]
    Signal::SIGPWR,
    #[cfg(target_os = "linux")]
    Signal::SIGSTKFLT,
];

/// The other signals that are handled here.
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

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, for a key on the terminal or because the terminal was closed.
    Terminal,
    /// Another process.
    Process,
}

/// A signal, and who sent it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    pub(crate) from: Sender,
}

impl Received {
    /// Whether a key on the terminal sent it, and so to the whole foreground process group. SIGHUP of a
    /// closed terminal goes to the session leader alone.
    pub(crate) fn is_key(&self) -> bool {
        self.from == Sender::Terminal && self.signal != Signal::SIGHUP
    }

    /// Whether it asks this process to end.
    pub(crate) fn is_fatal(&self) -> bool {
        FATAL.contains(&self.signal) || self.is_alarm()
    }

    /// Whether it is a timer's, a limit's or a watchdog's of this process.
    pub(crate) fn is_alarm(&self) -> bool {
        ALARMS.contains(&self.signal)
    }
}

/// `SEGV`, for what the system calls `SIGSEGV`.
pub fn short_name(signal: Signal) -> &'static str {
    let name = signal.as_str();
    name.strip_prefix("SIG").unwrap_or(name)
}

/// The signal with this name (`INT`, `SIGINT`, `int`) or number, if it terminates a command: its default
/// action is neither to stop the process nor to be ignored.
pub fn terminating(text: &str) -> Result<Signal, String> {
    let ends = |signal: &Signal| {
        use Signal::{SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
        let stops = [SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU];
        let is_ignored = [SIGCHLD, SIGCONT, SIGURG, SIGWINCH];
        !stops.contains(signal) && !is_ignored.contains(signal) && short_name(*signal) != "INFO"
    };
    let name = text.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let is_meant =
        |signal: &Signal| short_name(*signal) == name || (*signal as i32).to_string() == name;
    let known = Signal::iterator().find(is_meant);
    known.filter(ends).ok_or_else(|| {
        let what = match known {
            Some(known) => format!("{} does not end a command", short_name(known)),
            None => format!("`{text}` is not a signal"),
        };
        let good: Vec<_> = Signal::iterator().filter(ends).map(short_name).collect();
        format!("{what}; use one of {}", good.join(", "))
    })
}

/// Restores the default action of SIGCHLD. A process that ignores it, which is inherited, cannot wait for
/// its children.
#[expect(unsafe_code, reason = "the standard library has no way to set a signal's default")]
fn restore_sigchld() {
    // SAFETY: SIG_DFL installs no handler, so no code can run at a wrong moment.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) };
}

/// Unblocks the signals, now that there is no command any more.
pub fn release() {
    let _ = watched().collect::<SigSet>().thread_unblock();
}

/// Takes the default action of a signal: stops this process, or ends it.
pub fn take_default_action(signal: Signal) {
    let only = SigSet::from(signal);
    let _ = raise(signal);
    let _ = only.thread_unblock();
    // Still there: a stop is over, or this is PID 1, which no signal ends.
    let _ = only.thread_block();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_a_name_with_or_without_sig_and_a_number() {
        for text in ["INT", "int", "SIGINT", "SigInt", "2"] {
            assert_eq!(terminating(text), Ok(Signal::SIGINT), "{text}");
        }
        assert_eq!(terminating("KILL"), Ok(Signal::SIGKILL));
        assert_eq!(terminating("USR1"), Ok(Signal::SIGUSR1));
    }

    #[test]
    fn what_ends_no_command_is_refused_with_what_does() {
        for (text, what) in [
            ("INTR", "`INTR` is not a signal"),
            ("", "`` is not a signal"),
            ("SIG", "`SIG` is not a signal"),
            ("0", "`0` is not a signal"),
            ("-9", "`-9` is not a signal"),
            ("99", "`99` is not a signal"),
            ("STOP", "STOP does not end a command"),
            ("SIGTSTP", "TSTP does not end a command"),
            ("CONT", "CONT does not end a command"),
            ("winch", "WINCH does not end a command"),
        ] {
            let refused = terminating(text).unwrap_err();
            let (said, good) = refused.split_once("; use one of ").unwrap();
            assert_eq!(said, what);
            let good: Vec<_> = good.split(", ").collect();
            assert!(
                ["HUP", "INT", "QUIT", "USR1", "TERM", "KILL"].iter().all(|one| good.contains(one))
            );
            assert!(good.iter().all(|one| terminating(one).is_ok()), "{good:?}");
        }
    }
}
