//! An output stream of a command that passes through this process: it is watched, held or kept.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use redial_policy::{Stream, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::output::{Output, inherited};
use super::store::Store;
use super::streams::Sink;
use super::{CHUNK, terminal};

/// More than a pseudo-terminal buffers. FIONREAD counts only what the line discipline has buffered, and not
/// what is on its way there, so the exact number of unread bytes is unknown.
const TERMINAL_MAX: u64 = 1 << 17;

/// One output stream of one attempt.
#[derive(Debug)]
pub(crate) struct Relay {
    stream: Stream,
    output: Output,
    source: Source,
    /// What the command wrote, where that is held or kept.
    held: Option<Store>,
    /// What was read and not yet written.
    pending: Vec<u8>,
    /// How much of what the command wrote before it ended is still unread, at most.
    unread: u64,
    /// Why what the command wrote is lost.
    lost: Option<String>,
}

#[derive(Debug)]
enum Source {
    Command(OwnedFd),
    /// Held output, one store after the other.
    Held {
        stores: VecDeque<Store>,
        position: u64,
    },
    Ended,
}

impl Relay {
    /// The relay, and the end that the command gets.
    pub(crate) fn open(stream: Stream, sink: Sink) -> std::io::Result<(Self, OwnedFd)> {
        let original = inherited(stream);
        let (from, theirs) = match sink != Sink::Keep && rustix::termios::isatty(original) {
            true => terminal::like(original)?,
            false => crate::pipe()?,
        };
        rustix::io::ioctl_fionbio(&from, true)?;
        let mut relay = Self::without_command(stream);
        relay.source = Source::Command(from);
        relay.held = (sink != Sink::Pass).then(Store::default);
        Ok((relay, theirs))
    }

    /// A relay for held output alone.
    pub(crate) fn without_command(stream: Stream) -> Self {
        Self {
            stream,
            output: Output::open(stream),
            source: Source::Ended,
            held: None,
            pending: Vec::new(),
            unread: 0,
            lost: None,
        }
    }

    /// The descriptor to poll, and for what.
    pub(crate) fn interest(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        match &self.source {
            _ if !self.pending.is_empty() => Some((self.output.as_fd(), PollFlags::OUT)),
            Source::Command(from) => Some((from.as_fd(), PollFlags::IN)),
            Source::Held { .. } => Some((self.output.as_fd(), PollFlags::OUT)),
            Source::Ended => None,
        }
    }

    /// The descriptor is ready: one read, or one write.
    pub(crate) fn step(&mut self, watch: &mut Watch) {
        if !self.pending.is_empty() {
            return self.write();
        }
        self.pending.resize(CHUNK, 0);
        let read = match &mut self.source {
            Source::Command(from) => match rustix::io::read(from, &mut self.pending) {
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.pending.clear();
                    return;
                }
                // EIO is the EOF of a pseudo-terminal.
                Err(_) => 0,
                Ok(length) => length,
            },
            Source::Held { stores, position } => loop {
                let Some(store) = stores.front() else { break 0 };
                match store.read_at(*position, &mut self.pending) {
                    Ok(0) => {
                        stores.pop_front();
                        *position = 0;
                    }
                    Ok(length) => {
                        *position += length as u64;
                        break length;
                    }
                    Err(error) => {
                        self.lost = Some(format!("what was held cannot be read again: {error}"));
                        break 0;
                    }
                }
            },
            Source::Ended => 0,
        };
        self.pending.truncate(read);
        if read == 0 {
            self.source = Source::Ended;
            return;
        }
        if let Source::Command(_) = self.source {
            self.unread = self.unread.saturating_sub(read as u64);
            watch.saw(self.stream, &self.pending);
            if let Some(held) = &mut self.held {
                match held.append(&self.pending) {
                    Ok(()) => self.pending.clear(),
                    Err(error) => {
                        let folder = std::env::temp_dir();
                        let folder = folder.display();
                        self.end();
                        self.lost = Some(format!(
                            "{} cannot be held in {folder}: {error}; TMPDIR names another folder",
                            name(self.stream)
                        ));
                    }
                }
                return;
            }
        }
        self.write();
    }

    /// Writes as much as does not block.
    fn write(&mut self) {
        match self.output.write(&self.pending) {
            Ok(length) => drop(self.pending.drain(..length)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.fail(error),
        }
    }

    /// Our output cannot be written. Closes our end of the command's stream, so that its next write fails
    /// with EPIPE too.
    fn fail(&mut self, error: Errno) {
        self.end();
        // EPIPE is no error: the reader, such as `head`, has closed its end.
        if error != Errno::PIPE {
            let error = std::io::Error::from(error);
            self.lost = Some(format!("cannot write to {}: {error}", name(self.stream)));
        }
    }

    fn end(&mut self) {
        self.held = None;
        self.source = Source::Ended;
        self.pending.clear();
    }

    /// Drops what the reader, who was too slow, has not read.
    pub(crate) fn give_up(&mut self) {
        if !self.is_delivered() {
            self.end();
            self.lost = Some(format!("nobody has read {} in time", name(self.stream)));
        }
    }

    /// Why output of the command is lost, if some is.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// The command has ended. What it has written can be read; what its children still write need not
    /// be waited for.
    pub(crate) fn command_ended(&mut self) {
        if let Source::Command(from) = &self.source {
            self.unread = match rustix::termios::isatty(from) {
                true => TERMINAL_MAX,
                false => rustix::io::ioctl_fionread(from).unwrap_or(0),
            };
        }
    }

    /// Whether all that the command itself wrote has been written or stored.
    pub(crate) fn is_delivered(&self) -> bool {
        let is_read = match &self.source {
            Source::Command(from) => self.unread == 0 || !is_readable(from),
            Source::Held { .. } => false,
            Source::Ended => true,
        };
        is_read && self.pending.is_empty()
    }

    /// Whether the stream has come to EOF and all of it is written.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.source, Source::Ended) && self.pending.is_empty()
    }

    /// Begins to write what was held, after the stores in `before`. What children of the command still
    /// write is lost.
    pub(crate) fn publish(&mut self, before: Vec<Store>) {
        let mut stores = VecDeque::from(before);
        stores.extend(self.held.take());
        self.source = match stores.is_empty() {
            true => Source::Ended,
            false => Source::Held { stores, position: 0 },
        };
    }

    /// What was held or kept.
    pub(crate) fn into_held(self) -> Option<Store> {
        self.held
    }

    /// Gives the pseudo-terminal the size of the terminal.
    pub(crate) fn resize(&self) {
        if let Source::Command(from) = &self.source {
            terminal::resize(from, inherited(self.stream));
        }
    }
}

fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "standard output",
        Stream::Stderr => "standard error",
    }
}

/// Whether standard output is a pipe or a socket whose other end is closed.
pub(crate) fn is_stdout_closed() -> bool {
    polled(inherited(Stream::Stdout), PollFlags::OUT).contains(PollFlags::ERR)
}

/// Whether there is something to read, or EOF.
fn is_readable(from: impl AsFd) -> bool {
    !polled(from.as_fd(), PollFlags::IN).is_empty()
}

/// Which of these events are there now.
fn polled(descriptor: BorrowedFd<'_>, flags: PollFlags) -> PollFlags {
    let mut one = [PollFd::from_borrowed_fd(descriptor, flags)];
    let polled = poll(&mut one, Some(&Timespec::default()));
    polled.map_or(PollFlags::empty(), |_| one[0].revents())
}
