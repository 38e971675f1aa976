//! Linux: a file descriptor that gives one signal after the other, and says who sent it.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fs::{Mode, OFlags};

use super::{Received, Sender, hear_of_children, watched};

/// What the kernel writes where no process sent it: a key on the terminal did.
const SENT_BY_KERNEL: i32 = 0x80;

#[derive(Debug)]
pub(crate) struct Signals {
    queue: SignalFd,
    /// What was blocked before us: for the command.
    inherited: SigSet,
}

impl Signals {
    pub(crate) fn watch() -> nix::Result<Self> {
        hear_of_children();
        let ignored = ignored();
        // What a parent ignores for us, as nohup does, stays ignored.
        let is_ignored = |signal: Signal| ignored & (1 << (signal as i32 - 1)) != 0;
        let heard: SigSet =
            watched().filter(|signal| !is_ignored(*signal) || *signal == Signal::SIGCHLD).collect();
        let mut blocked = heard;
        // A file that may not grow is an error of writing, not the end of redial.
        blocked.add(Signal::SIGXFSZ);
        let inherited = SigSet::thread_get_mask()?;
        let queue = SignalFd::with_flags(&heard, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        blocked.thread_block()?;
        Ok(Self { queue, inherited })
    }

    pub(crate) fn next(&self) -> Option<Received> {
        loop {
            let info = self.queue.read_signal().ok()??;
            let Ok(signal) = Signal::try_from(info.ssi_signo as i32) else { continue };
            let from = match info.ssi_code {
                SENT_BY_KERNEL => Sender::Terminal,
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
        self.queue.as_fd()
    }
}

/// The signals that were ignored when redial started, one bit each.
fn ignored() -> u64 {
    // More than it has, so that one read suffices.
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
