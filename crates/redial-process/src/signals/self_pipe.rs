//! Other Unix systems: the self-pipe trick. Handlers do not learn who sent a signal, and a signal that was
//! ignored when this process started is not ignored any more.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use super::{Received, Sender, restore_sigchld, watched};

#[derive(Debug)]
pub(crate) struct Signals {
    delivery: RefCell<SignalDelivery<UnixStream, SignalOnly>>,
    received: RefCell<Vec<i32>>,
    /// The read end once more, to poll.
    readable: UnixStream,
    inherited: SigSet,
}

impl Signals {
    pub(crate) fn watch() -> nix::Result<Self> {
        restore_sigchld();
        let failed = |error: std::io::Error| {
            error.raw_os_error().map_or(Errno::UnknownErrno, Errno::from_raw)
        };
        let (read, write) = UnixStream::pair().map_err(failed)?;
        let readable = read.try_clone().map_err(failed)?;
        let numbers = watched().map(|signal| signal as i32);
        let delivery =
            SignalDelivery::with_pipe(read, write, SignalOnly, numbers).map_err(failed)?;
        Ok(Self {
            delivery: RefCell::new(delivery),
            received: RefCell::default(),
            readable,
            inherited: SigSet::thread_get_mask()?,
        })
    }

    pub(crate) fn next(&self) -> Option<Received> {
        let mut received = self.received.borrow_mut();
        if received.is_empty() {
            received.extend(self.delivery.borrow_mut().pending());
        }
        let signal = Signal::try_from(received.pop()?).ok()?;
        // Hardly anything but the keys of a terminal sends these.
        let from = match signal {
            Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTSTP | Signal::SIGWINCH => {
                Sender::Terminal
            }
            _ => Sender::Process,
        };
        Some(Received { signal, from })
    }

    pub(crate) fn mask_of_command(&self) -> &SigSet {
        &self.inherited
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}
