//! An output stream of the command that redial stands in: it is looked at, or held back.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use redial_policy::{Stream, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::outlet::{Outlet, shared};
use super::store::Store;
use super::streams::Sink;
use super::terminal;

/// What is read at once.
const CHUNK: usize = 1 << 16;

/// More than a pseudo-terminal has room for. FIONREAD tells of one line discipline's buffer, and not of
/// what is on its way there, so how much the command has left is not known.
const ROOM: u64 = 1 << 17;

/// The way of one stream through redial, for one attempt.
#[derive(Debug)]
pub(crate) struct Relay {
    stream: Stream,
    outlet: Outlet,
    source: Source,
    /// Where the bytes are kept until the last attempt is known, if they are held.
    held: Option<Store>,
    /// What was read and not yet written.
    pending: Vec<u8>,
    written: usize,
    /// What must still be read although the command is gone: at most, where nobody knows.
    owed: u64,
    /// Why what the command wrote is lost.
    lost: Option<String>,
}

#[derive(Debug)]
enum Source {
    Command(OwnedFd),
    /// What was held comes out, one store after the other.
    Held {
        stores: VecDeque<Store>,
        position: u64,
    },
    Over,
}

impl Relay {
    /// The relay, and what the command gets as its stream.
    pub(crate) fn open(stream: Stream, sink: Sink) -> rustix::io::Result<(Self, OwnedFd)> {
        let original = shared(stream);
        let (from, theirs) = if sink != Sink::Keep && rustix::termios::isatty(original) {
            let terminal = terminal::like(original)?;
            (terminal.ours, terminal.theirs)
        } else {
            crate::pipe()?
        };
        rustix::io::ioctl_fionbio(&from, true)?;
        let mut relay = Self::without_command(stream);
        relay.source = Source::Command(from);
        relay.held = (sink != Sink::Pass).then(Store::default);
        Ok((relay, theirs))
    }

    /// A relay for what was held before, where no command runs any more.
    pub(crate) fn without_command(stream: Stream) -> Self {
        Self {
            stream,
            outlet: Outlet::open(stream),
            source: Source::Over,
            held: None,
            pending: Vec::new(),
            written: 0,
            owed: 0,
            lost: None,
        }
    }

    /// What to wait for, unless nothing comes any more.
    pub(crate) fn wants(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        if self.written < self.pending.len() {
            return Some((self.outlet.as_fd(), PollFlags::OUT));
        }
        match &self.source {
            Source::Command(from) => Some((from.as_fd(), PollFlags::IN)),
            Source::Held { .. } => Some((self.outlet.as_fd(), PollFlags::OUT)),
            Source::Over => None,
        }
    }

    /// What was waited for is there: one step.
    pub(crate) fn step(&mut self, watch: &mut Watch) {
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
                            "{} cannot be held: {error}; {folder} is where it goes",
                            name(self.stream)
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
    pub(crate) fn give_up(&mut self) {
        if !self.is_paid() {
            self.end();
            self.lost = Some(format!("nobody has read {} in time", name(self.stream)));
        }
    }

    /// Why what the command wrote is lost, if it is.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// The command is gone. What it has written is there to be read; what its children write from
    /// now on need not be waited for.
    pub(crate) fn command_is_gone(&mut self) {
        if let Source::Command(from) = &self.source {
            self.owed = match rustix::termios::isatty(from) {
                true => ROOM,
                false => rustix::io::ioctl_fionread(from).unwrap_or(0),
            };
        }
    }

    /// Whether all that the command itself wrote has gone its way.
    pub(crate) fn is_paid(&self) -> bool {
        let nothing_is_owed = match &self.source {
            Source::Command(from) => self.owed == 0 || !is_readable(from),
            Source::Held { .. } => false,
            Source::Over => true,
        };
        nothing_is_owed && self.written >= self.pending.len()
    }

    /// Whether nothing comes any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.source, Source::Over) && self.written >= self.pending.len()
    }

    /// There is no other attempt: what was held comes out, after what was held `before` it, and what
    /// children of the command may still write is theirs.
    pub(crate) fn publish(&mut self, before: Vec<Store>) {
        let mut stores = VecDeque::from(before);
        stores.extend(self.held.take());
        self.source = match stores.is_empty() {
            true => Source::Over,
            false => Source::Held { stores, position: 0 },
        };
    }

    /// What was held, if it is.
    pub(crate) fn into_held(self) -> Option<Store> {
        self.held
    }

    /// The terminal has another size.
    pub(crate) fn resize(&self) {
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
pub fn nobody_reads() -> bool {
    polled(shared(Stream::Stdout), PollFlags::OUT).contains(PollFlags::ERR)
}

/// Whether there is something to read, or the end of it.
fn is_readable(from: impl AsFd) -> bool {
    !polled(from.as_fd(), PollFlags::IN).is_empty()
}

/// What there is now of what is asked for.
fn polled(descriptor: BorrowedFd<'_>, flags: PollFlags) -> PollFlags {
    let mut one = [PollFd::from_borrowed_fd(descriptor, flags)];
    let polled = poll(&mut one, Some(&Timespec::default()));
    polled.map_or(PollFlags::empty(), |_| one[0].revents())
}
