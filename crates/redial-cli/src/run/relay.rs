//! An output stream of the command that redial stands in: it is looked at, or held back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use redial_policy::{Stream, Watch};
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::outlet::{Outlet, shared};
use super::store::Store;
use super::terminal;

/// What is read at once.
const CHUNK: usize = 1 << 16;

/// The way of one stream through redial, for one attempt.
pub(super) struct Relay {
    stream: Stream,
    outlet: Outlet,
    source: Source,
    /// Where the bytes are kept until the last attempt is known, if they are held.
    held: Option<Store>,
    /// What was read and not yet written.
    pending: Vec<u8>,
    written: usize,
    /// What must still be read although the command is gone.
    owed: u64,
    /// Why what the command wrote is lost.
    lost: Option<String>,
}

enum Source {
    Command(OwnedFd),
    /// What was held comes out.
    Store {
        store: Store,
        position: u64,
    },
    Over,
}

impl Relay {
    /// The relay, and what the command gets as its stream.
    pub(super) fn open(stream: Stream, hold: bool) -> rustix::io::Result<(Self, OwnedFd)> {
        let original = shared(stream);
        let (from, theirs) = if rustix::termios::isatty(original) {
            let terminal = terminal::like(original)?;
            (terminal.ours, terminal.theirs)
        } else {
            super::pipe()?
        };
        rustix::io::ioctl_fionbio(&from, true)?;
        let relay = Self {
            stream,
            outlet: Outlet::open(stream),
            source: Source::Command(from),
            held: hold.then(Store::default),
            pending: Vec::new(),
            written: 0,
            owed: 0,
            lost: None,
        };
        Ok((relay, theirs))
    }

    /// What to wait for, unless nothing comes any more.
    pub(super) fn wants(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        if self.written < self.pending.len() {
            return Some((self.outlet.as_fd(), PollFlags::OUT));
        }
        match &self.source {
            Source::Command(from) => Some((from.as_fd(), PollFlags::IN)),
            Source::Store { .. } => Some((self.outlet.as_fd(), PollFlags::OUT)),
            Source::Over => None,
        }
    }

    /// What was waited for is there: one step.
    pub(super) fn step(&mut self, watch: &mut Watch) {
        if self.written < self.pending.len() {
            self.write();
            return;
        }
        self.pending.resize(CHUNK, 0);
        self.written = 0;
        let read = match &mut self.source {
            Source::Command(from) => match rustix::io::read(from, &mut self.pending) {
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.pending.clear();
                    return;
                }
                // The other end of a terminal is closed.
                Err(_) => 0,
                Ok(length) => length,
            },
            Source::Store { store, position } => {
                match store.read_at(*position, &mut self.pending) {
                    Ok(length) => {
                        *position += length as u64;
                        length
                    }
                    Err(error) => {
                        self.lost = Some(format!("what was held cannot be read again: {error}"));
                        0
                    }
                }
            }
            Source::Over => 0,
        };
        self.pending.truncate(read);
        if read == 0 {
            self.source = Source::Over;
            return;
        }
        if let Source::Command(_) = self.source {
            self.owed = self.owed.saturating_sub(read as u64);
            watch.saw(self.stream, &self.pending);
            if let Some(held) = &mut self.held {
                match held.append(&self.pending) {
                    Ok(()) => self.pending.clear(),
                    Err(error) => {
                        let folder = std::env::temp_dir();
                        let folder = folder.display();
                        self.end();
                        self.lost = Some(format!(
                            "standard output cannot be held: {error}; {folder} is where it goes"
                        ));
                    }
                }
                return;
            }
        }
        self.write();
    }

    /// Writes what does not block, now that something does not.
    fn write(&mut self) {
        match self.outlet.write(&self.pending[self.written..]) {
            Ok(length) => self.written += length,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Nobody takes the output: the command learns of it as it would without us.
    fn fail(&mut self, error: Errno) {
        self.end();
        // That nobody reads any more is no trouble of ours.
        if error != Errno::PIPE {
            let error = std::io::Error::from(error);
            self.lost = Some(format!("cannot write to {}: {error}", name(self.stream)));
        }
    }

    fn end(&mut self) {
        self.held = None;
        self.source = Source::Over;
        self.pending.clear();
        self.written = 0;
    }

    /// Nobody has taken it in time.
    pub(super) fn give_up(&mut self) {
        if !self.is_paid() {
            self.end();
            self.lost = Some(format!("nobody has read {} in time", name(self.stream)));
        }
    }

    /// Why what the command wrote is lost, if it is.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// The command is gone. What it has written is there to be read; what its children write from
    /// now on need not be waited for.
    pub(super) fn command_is_gone(&mut self) {
        if let Source::Command(from) = &self.source {
            self.owed = rustix::io::ioctl_fionread(from).unwrap_or(0);
        }
    }

    /// Whether all that the command itself wrote has gone its way.
    pub(super) fn is_paid(&self) -> bool {
        let held = matches!(self.source, Source::Store { .. });
        self.is_over() || (self.owed == 0 && !held && self.written >= self.pending.len())
    }

    /// Whether nothing comes any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.source, Source::Over) && self.written >= self.pending.len()
    }

    /// There is no other attempt: what was held comes out, and what children of the command may
    /// still write is theirs.
    pub(super) fn publish(&mut self) {
        self.source = match self.held.take() {
            Some(store) => Source::Store { store, position: 0 },
            None => Source::Over,
        };
    }

    /// The terminal has another size.
    pub(super) fn resize(&self) {
        if let Source::Command(from) = &self.source {
            terminal::resize(from, shared(self.stream));
        }
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "standard output",
        Stream::Stderr => "standard error",
    }
}

/// Whether nobody reads what is written to standard output.
pub(super) fn nobody_reads() -> bool {
    let mut stdout =
        [rustix::event::PollFd::from_borrowed_fd(shared(Stream::Stdout), PollFlags::OUT)];
    let polled = rustix::event::poll(&mut stdout, Some(&rustix::event::Timespec::default()));
    polled.is_ok() && stdout[0].revents().contains(PollFlags::ERR)
}
