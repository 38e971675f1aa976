//! Standard input, for every attempt the same.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;

use super::store::Store;

/// What a pipe holds on most systems: more is not read ahead.
const CHUNK: usize = 1 << 16;

/// Where commands have their standard input from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// A terminal as it is, a file rewound to where it was, a pipe replayed for each attempt.
    #[default]
    Auto,
    /// Inherited: the next attempt gets what the last one left.
    Inherit,
    /// `/dev/null`.
    Null,
}

/// Where an attempt has its standard input from.
#[derive(Debug)]
pub(crate) enum Input {
    /// Ours, as it is: a terminal, a device, or whatever was asked to be.
    Inherited,
    /// Nothing.
    Null,
    /// A file, from the same place each time.
    Rewound(u64),
    /// A pipe, which gives its bytes once: they are kept for the next attempt.
    Replayed(Replay),
}

/// A pipe of ours between redial's standard input and the command's.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    kept: Store,
    /// Everything has been read from standard input.
    ended: bool,
    /// No attempt comes after this one: what it has read is not needed again.
    is_last: bool,
    /// Why what was read could not be kept. No attempt can follow then.
    lost: Option<String>,
    feed: Option<Feed>,
}

/// The way to the attempt that runs.
#[derive(Debug)]
struct Feed {
    to: OwnedFd,
    /// What it has been given of what is kept.
    position: u64,
    /// What was read and is still to be given.
    pending: Vec<u8>,
}

impl Input {
    /// What standard input is, and what that means for a run of more than one attempt.
    pub(crate) fn of(wanted: Stdin, only_once: bool) -> Self {
        let stdin = rustix::stdio::stdin();
        let kind = rustix::fs::fstat(stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
        match (wanted, kind) {
            (Stdin::Null, _) => Self::Null,
            (Stdin::Inherit, _) => Self::Inherited,
            (Stdin::Auto, _) if only_once || !is_readable(stdin) => Self::Inherited,
            (Stdin::Auto, Ok(FileType::RegularFile)) => {
                match rustix::fs::seek(stdin, SeekFrom::Current(0)) {
                    Ok(position) => Self::Rewound(position),
                    Err(_) => Self::Inherited,
                }
            }
            (Stdin::Auto, Ok(FileType::Fifo | FileType::Socket)) => {
                Self::Replayed(Replay::default())
            }
            (Stdin::Auto, _) => Self::Inherited,
        }
    }

    /// What the next attempt gets as its standard input; ours where that is nothing.
    pub(crate) fn open(&mut self, is_last: bool) -> rustix::io::Result<Option<OwnedFd>> {
        match self {
            Self::Inherited => Ok(None),
            Self::Null => {
                let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
                rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty()).map(Some)
            }
            Self::Rewound(position) => {
                rustix::fs::seek(rustix::stdio::stdin(), SeekFrom::Start(*position))?;
                Ok(None)
            }
            Self::Replayed(replay) => {
                let (theirs, ours) = crate::pipe()?;
                rustix::io::ioctl_fionbio(&ours, true)?;
                replay.is_last = is_last;
                replay.feed = Some(Feed { to: ours, position: 0, pending: Vec::new() });
                Ok(Some(theirs))
            }
        }
    }

    /// The attempt is over.
    pub(crate) fn close(&mut self) {
        if let Self::Replayed(replay) = self {
            replay.feed = None;
        }
    }

    /// Why the next attempt would not get what this one got.
    pub(crate) fn lost(&self) -> Option<&str> {
        match self {
            Self::Replayed(replay) => replay.lost.as_deref(),
            _ => None,
        }
    }

    /// What to wait for.
    pub(crate) fn wants(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let Self::Replayed(replay) = self else { return None };
        let feed = replay.feed.as_ref()?;
        if feed.pending.is_empty() && feed.position >= replay.kept.length() {
            return Some((rustix::stdio::stdin(), PollFlags::IN));
        }
        Some((feed.to.as_fd(), PollFlags::OUT))
    }

    /// What was waited for is there: one step.
    pub(crate) fn step(&mut self) {
        if let Self::Replayed(replay) = self {
            replay.step();
        }
    }
}

/// Somebody may have given us something to write to.
fn is_readable(stdin: BorrowedFd<'_>) -> bool {
    use rustix::fs::{OFlags, fcntl_getfl};
    fcntl_getfl(stdin).is_ok_and(|flags| flags & OFlags::RWMODE != OFlags::WRONLY)
}

impl Replay {
    fn step(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        if feed.pending.is_empty() {
            let mut chunk = vec![0; CHUNK];
            let read = if feed.position < self.kept.length() {
                self.kept.read_at(feed.position, &mut chunk).map_err(|error| error.to_string())
            } else {
                let read = match rustix::io::read(rustix::stdio::stdin(), &mut chunk) {
                    Err(Errno::INTR | Errno::AGAIN) => return,
                    // Whoever wrote to it is gone: that is an end too.
                    Err(_) => 0,
                    Ok(length) => length,
                };
                self.ended |= read == 0;
                self.keep(&chunk[..read]);
                Ok(read)
            };
            let Some(feed) = &mut self.feed else { return };
            match read {
                Ok(length) => {
                    chunk.truncate(length);
                    feed.position += length as u64;
                    feed.pending = chunk;
                }
                Err(reason) => {
                    self.lost.get_or_insert(reason);
                    self.feed = None;
                    return;
                }
            }
        }
        self.give();
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_last || self.lost.is_some() {
            return;
        }
        if let Err(error) = self.kept.append(bytes) {
            self.lost = Some(error.to_string());
            // Half of it is of no use to anybody, and the disk is.
            self.kept = Store::default();
        }
    }

    /// Gives what is pending, as far as the command takes it.
    fn give(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        if !feed.pending.is_empty() {
            match rustix::io::write(&feed.to, &feed.pending) {
                Ok(length) => drop(feed.pending.drain(..length)),
                Err(Errno::AGAIN | Errno::INTR) => return,
                // The command reads no more of it. That is its right.
                Err(_) => {
                    self.feed = None;
                    return;
                }
            }
        }
        let given = feed.pending.is_empty() && feed.position >= self.kept.length();
        if given && self.ended {
            self.feed = None;
        }
    }
}
