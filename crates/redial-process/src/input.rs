//! Standard input, which is the same for every attempt.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::fs::{FileType, SeekFrom};
use rustix::io::Errno;

use super::CHUNK;
use super::store::Store;

/// Where commands get their standard input from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// A terminal is inherited, a file is rewound, and a pipe is replayed for each attempt.
    #[default]
    Auto,
    /// Inherited: the next attempt gets what the last one left.
    Inherit,
    /// `/dev/null`.
    Null,
}

/// Where an attempt gets its standard input from.
#[derive(Debug)]
pub(crate) enum Input {
    /// The standard input of this process.
    Inherited,
    /// `/dev/null`.
    Null,
    /// A file, from this offset each time.
    Rewound(u64),
    /// A pipe, whose bytes are kept for the next attempt.
    Replayed(Replay),
}

/// A pipe, read by this process and written to a pipe of each attempt.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    kept: Store,
    /// Standard input has come to EOF.
    ended: bool,
    /// No attempt follows: what this one reads need not be kept.
    is_last: bool,
    /// Why input could not be kept. No attempt can follow then.
    lost: Option<String>,
    feed: Option<Feed>,
}

/// The pipe of the attempt that runs.
#[derive(Debug)]
struct Feed {
    to: OwnedFd,
    /// How much of the input has been written to it or is in `pending`.
    position: u64,
    /// What was read and is not written yet.
    pending: Vec<u8>,
}

impl Input {
    /// Chosen by what standard input is, and whether there may be a second attempt.
    pub(crate) fn of(wanted: Stdin, only_once: bool) -> Self {
        let stdin = rustix::stdio::stdin();
        match wanted {
            Stdin::Null => return Self::Null,
            Stdin::Auto if !only_once && is_readable(stdin) => {}
            Stdin::Auto | Stdin::Inherit => return Self::Inherited,
        }
        match rustix::fs::fstat(stdin).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => {
                rustix::fs::seek(stdin, SeekFrom::Current(0)).map_or(Self::Inherited, Self::Rewound)
            }
            Ok(FileType::Fifo | FileType::Socket) => Self::Replayed(Replay::default()),
            _ => Self::Inherited,
        }
    }

    /// The standard input of the next attempt; none where it inherits ours.
    pub(crate) fn open(&mut self, is_last: bool) -> std::io::Result<Option<OwnedFd>> {
        match self {
            Self::Inherited => Ok(None),
            Self::Null => File::open("/dev/null").map(|null| Some(null.into())),
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

    /// Why the next attempt would not get the same input.
    pub(crate) fn lost(&self) -> Option<&str> {
        match self {
            Self::Replayed(replay) => replay.lost.as_deref(),
            _ => None,
        }
    }

    /// The descriptor to poll, and for what.
    pub(crate) fn interest(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let Self::Replayed(replay) = self else { return None };
        let feed = replay.feed.as_ref()?;
        if feed.pending.is_empty() && feed.position >= replay.kept.length() {
            return Some((rustix::stdio::stdin(), PollFlags::IN));
        }
        Some((feed.to.as_fd(), PollFlags::OUT))
    }

    /// The descriptor is ready: one read, or one write.
    pub(crate) fn step(&mut self) {
        if let Self::Replayed(replay) = self {
            replay.step();
        }
    }
}

/// Standard input may be open for writing alone.
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
                    // An error, such as a connection reset, counts as EOF.
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
        self.write();
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.is_last || self.lost.is_some() {
            return;
        }
        if let Err(error) = self.kept.append(bytes) {
            self.lost = Some(error.to_string());
            // A part of the input is of no use. Dropping it frees the disk.
            self.kept = Store::default();
        }
    }

    /// Writes what is pending, as far as the pipe takes it.
    fn write(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        if !feed.pending.is_empty() {
            match rustix::io::write(&feed.to, &feed.pending) {
                Ok(length) => drop(feed.pending.drain(..length)),
                Err(Errno::AGAIN | Errno::INTR) => return,
                // EPIPE: the command does not read all of its input.
                Err(_) => {
                    self.feed = None;
                    return;
                }
            }
        }
        let is_written = feed.pending.is_empty() && feed.position >= self.kept.length();
        if is_written && self.ended {
            // Closes the pipe: EOF for the command.
            self.feed = None;
        }
    }
}
