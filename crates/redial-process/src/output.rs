//! Standard output and standard error of this process, written without blocking.
//!
//! Their reader may be slow or stopped, and signals must be heard meanwhile. `O_NONBLOCK` belongs to
//! the open file description, which other processes share, so it cannot be set on the inherited
//! descriptor. On Linux the same pipe or terminal is opened again through `/proc/self/fd`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use redial_policy::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::reactor::timespec;

/// PIPE_BUF: what a pipe takes without blocking when `poll` says that it is writable.
const PIPE_BUF: usize = 4096;

/// Standard output or standard error of this process, written without blocking.
#[derive(Debug)]
pub struct Output {
    stream: Stream,
    descriptor: Descriptor,
}

#[derive(Debug)]
enum Descriptor {
    /// The inherited one, of a regular file, which never blocks.
    File,
    /// Opened again, with `O_NONBLOCK`.
    Reopened(OwnedFd),
    /// The inherited one, which is written to a little at a time.
    Inherited,
}

impl Output {
    /// Opens the stream again, where that is possible and needed.
    pub fn open(stream: Stream) -> Self {
        let kind =
            rustix::fs::fstat(inherited(stream)).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let descriptor = match kind {
            Ok(FileType::RegularFile) => Descriptor::File,
            _ => reopened(stream).map_or(Descriptor::Inherited, Descriptor::Reopened),
        };
        Self { stream, descriptor }
    }

    /// Writes as much as does not block; EAGAIN where even one byte would.
    ///
    /// # Errors
    /// What `write` says.
    pub fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        match &self.descriptor {
            Descriptor::File => rustix::io::write(inherited(self.stream), bytes),
            Descriptor::Reopened(own) => rustix::io::write(own, bytes),
            Descriptor::Inherited => write_inherited(inherited(self.stream), bytes),
        }
    }

    /// Writes all of it, or what can be written within this time.
    ///
    /// # Errors
    /// EAGAIN where the time was too short, or what `write` says.
    pub fn write_within(&self, mut bytes: &[u8], timeout: Duration) -> rustix::io::Result<()> {
        let start = Instant::now();
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = timeout.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Err(Errno::AGAIN);
                    }
                    let _ = poll(&mut [PollFd::new(self, PollFlags::OUT)], Some(&timespec(left)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.descriptor {
            Descriptor::Reopened(own) => own.as_fd(),
            Descriptor::File | Descriptor::Inherited => inherited(self.stream),
        }
    }
}

pub(crate) fn inherited(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Stdout => rustix::stdio::stdout(),
        Stream::Stderr => rustix::stdio::stderr(),
    }
}

/// Whether standard output and standard error are one file, pipe or terminal, as with `2>&1`.
pub fn is_one_file() -> bool {
    let file = |stream| rustix::fs::fstat(inherited(stream)).map(|stat| (stat.st_dev, stat.st_ino));
    file(Stream::Stdout).is_ok_and(|stdout| file(Stream::Stderr) == Ok(stdout))
}

/// The stream, opened again with `O_NONBLOCK`. Linux refuses that for sockets and for another user's
/// terminal.
#[cfg(target_os = "linux")]
fn reopened(stream: Stream) -> Option<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    let path = match stream {
        Stream::Stdout => "/proc/self/fd/1",
        Stream::Stderr => "/proc/self/fd/2",
    };
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn reopened(_stream: Stream) -> Option<OwnedFd> {
    None
}

fn write_inherited(to: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{ReadWriteFlags, pwritev2};
        const CURRENT_OFFSET: u64 = u64::MAX;
        let all = [std::io::IoSlice::new(bytes)];
        match pwritev2(to, &all, CURRENT_OFFSET, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            written => return written,
        }
    }
    let mut ready = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    match poll(&mut ready, Some(&Timespec::default())) {
        Ok(0) => Err(Errno::AGAIN),
        _ => rustix::io::write(to, &bytes[..bytes.len().min(PIPE_BUF)]),
    }
}
