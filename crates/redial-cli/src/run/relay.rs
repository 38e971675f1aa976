//! An output stream of the command that redial stands in: it is looked at, or held back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use redial_policy::{Stream, Watch};
use rustix::event::PollFlags;
use rustix::io::Errno;

use super::store::Store;
use super::terminal;

/// What is read at once.
const CHUNK: usize = 1 << 16;
/// What a pipe takes without blocking when it says that it takes something.
const ATOMIC: usize = 4096;

/// The way of one stream through redial, for one attempt.
pub(super) struct Relay {
    stream: Stream,
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
        let original = ours(stream);
        let (from, theirs) = if rustix::termios::isatty(original) {
            let terminal = terminal::like(original)?;
            (terminal.ours, terminal.theirs)
        } else {
            super::pipe()?
        };
        rustix::io::ioctl_fionbio(&from, true)?;
        let relay = Self {
            stream,
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
            return Some((ours(self.stream), PollFlags::OUT));
        }
        match &self.source {
            Source::Command(from) => Some((from.as_fd(), PollFlags::IN)),
            Source::Store { .. } => Some((ours(self.stream), PollFlags::OUT)),
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
                let length = store.read_at(*position, &mut self.pending).unwrap_or(0);
                *position += length as u64;
                length
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
        match write_now(ours(self.stream), &self.pending[self.written..]) {
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
        self.source = Source::Over;
        self.pending.clear();
        self.written = 0;
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
        self.is_over() || (self.owed == 0 && self.written >= self.pending.len())
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
            terminal::resize(from, ours(self.stream));
        }
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "standard output",
        Stream::Stderr => "standard error",
    }
}

/// redial's own stream.
fn ours(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Stdout => rustix::stdio::stdout(),
        Stream::Stderr => rustix::stdio::stderr(),
    }
}

/// Whether nobody reads what is written to standard output.
pub(super) fn nobody_reads() -> bool {
    let mut stdout =
        [rustix::event::PollFd::from_borrowed_fd(ours(Stream::Stdout), PollFlags::OUT)];
    let polled = rustix::event::poll(&mut stdout, Some(&rustix::event::Timespec::default()));
    polled.is_ok() && stdout[0].revents().contains(PollFlags::ERR)
}

/// As much as goes without waiting, to a descriptor that says that it takes something. It is not ours
/// alone, so that it cannot be told never to wait.
fn write_now(to: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{ReadWriteFlags, pwritev2};
        const WHERE_IT_IS: u64 = u64::MAX;
        let all = [std::io::IoSlice::new(bytes)];
        match pwritev2(to, &all, WHERE_IT_IS, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::AGAIN) => {}
            written => return written,
        }
    }
    let part = if is_file(to) { bytes } else { &bytes[..bytes.len().min(ATOMIC)] };
    rustix::io::write(to, part)
}

fn is_file(fd: BorrowedFd<'_>) -> bool {
    let kind = rustix::fs::fstat(fd).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    kind == Ok(rustix::fs::FileType::RegularFile)
}
