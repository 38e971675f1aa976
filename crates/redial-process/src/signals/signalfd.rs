//! Linux: `signalfd(2)`, which also says who sent a signal.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{Mode, OFlags};

use super::{Received, Sender, restore_sigchld, watched};

/// `SI_KERNEL`: no process sent it, but a key on the terminal.
const SI_KERNEL: i32 = 0x80;

#[derive(Debug)]
pub(crate) struct Signals {
    signalfd: SignalFd,
    /// The signal mask of this process when it started, which commands get.
    inherited: SigSet,
}

impl Signals {
    pub(crate) fn watch() -> nix::Result<Self> {
        restore_sigchld();
        let ignored = ignored();
        // What was ignored when this process started, as by nohup, stays ignored.
        let is_ignored = |signal: Signal| ignored & (1 << (signal as i32 - 1)) != 0;
        let read: SigSet =
            watched().filter(|signal| !is_ignored(*signal) || *signal == Signal::SIGCHLD).collect();
        let mut blocked = read;
        // Beyond RLIMIT_FSIZE, write fails with EFBIG then, and does not kill this process.
        blocked.add(Signal::SIGXFSZ);
        let inherited = SigSet::thread_get_mask()?;
        let signalfd = SignalFd::with_flags(&read, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        blocked.thread_block()?;
        Ok(Self { signalfd, inherited })
    }

    pub(crate) fn next(&self) -> Option<Received> {
        loop {
            let info = self.signalfd.read_signal().ok()??;
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            let from = match info.ssi_code {
                SI_KERNEL => Sender::Terminal,
                _ => Sender::Process,
            };
            return Some(Received { signal, from });
        }
    }

    pub(crate) fn mask_of_command(&self) -> &SigSet {
        &self.inherited
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signalfd.as_fd()
    }
}

/// The signals that were ignored when this process started, one bit each.
fn ignored() -> u64 {
    // Larger than the file, so that one read suffices.
    let mut status = [0; 4096];
    let read =
        rustix::fs::open(c"/proc/self/status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|file| rustix::io::read(file, &mut status));
    let mut lines = status[..read.unwrap_or(0)].split(|byte| *byte == b'\n');
    let bits = lines.find_map(|line| line.strip_prefix(b"SigIgn:\t"));
    bits.and_then(|bits| std::str::from_utf8(bits).ok())
        .and_then(|bits| u64::from_str_radix(bits, 16).ok())
        .unwrap_or(0)
}
