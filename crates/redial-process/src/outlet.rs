//! redial's own standard output and standard error, to write to without being kept waiting.
//!
//! Whoever reads them may be slow, stopped or asleep, and signals must be heard meanwhile. They are
//! shared with others, so they cannot be told never to wait; but there is another way to the same
//! pipe or terminal that can.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use redial_policy::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

/// What most pipes and terminals take at once when they say that they take something.
const ATOMIC: usize = 4096;

/// Standard output or standard error of this process, written without blocking.
#[derive(Debug)]
pub struct Outlet {
    stream: Stream,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// A file keeps nobody waiting.
    File,
    /// A way of our own that never waits.
    Own(OwnedFd),
    /// Where there is none: a little at a time.
    Shared,
}

impl Outlet {
    /// Looks for a way to write that never blocks.
    pub fn open(stream: Stream) -> Self {
        let shared = shared(stream);
        let kind = rustix::fs::fstat(shared).map(|stat| FileType::from_raw_mode(stat.st_mode));
        let way = match kind {
            Ok(FileType::RegularFile) => Way::File,
            _ => own_way(stream).map_or(Way::Shared, Way::Own),
        };
        Self { stream, way }
    }

    /// As much as goes now: nothing is `AGAIN`, and then there is something to wait for.
    pub fn write(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        match &self.way {
            Way::File => rustix::io::write(shared(self.stream), bytes),
            Way::Own(own) => rustix::io::write(own, bytes),
            Way::Shared => write_shared(shared(self.stream), bytes),
        }
    }

    /// All of it, unless that takes longer than this: what is then missing stays so.
    pub fn write_within(&self, mut bytes: &[u8], patience: Duration) -> rustix::io::Result<()> {
        let start = Instant::now();
        while !bytes.is_empty() {
            match self.write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let left = patience.saturating_sub(start.elapsed());
                    if left.is_zero() {
                        return Err(Errno::AGAIN);
                    }
                    let left = Timespec {
                        tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                        tv_nsec: left.subsec_nanos().into(),
                    };
                    let _ = poll(&mut [PollFd::new(self, PollFlags::OUT)], Some(&left));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl AsFd for Outlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Own(own) => own.as_fd(),
            Way::File | Way::Shared => shared(self.stream),
        }
    }
}

pub(crate) fn shared(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Stdout => rustix::stdio::stdout(),
        Stream::Stderr => rustix::stdio::stderr(),
    }
}

/// Whether standard output and standard error are one file, pipe or terminal, as with `2>&1`.
pub(crate) fn is_one_file() -> bool {
    let file = |stream| rustix::fs::fstat(shared(stream)).map(|stat| (stat.st_dev, stat.st_ino));
    file(Stream::Stdout).is_ok_and(|stdout| file(Stream::Stderr) == Ok(stdout))
}

/// Linux opens a descriptor anew, as if by the name of what it is. Another user's terminal, or a
/// socket, it does not.
#[cfg(target_os = "linux")]
fn own_way(stream: Stream) -> Option<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    let path = match stream {
        Stream::Stdout => "/proc/self/fd/1",
        Stream::Stderr => "/proc/self/fd/2",
    };
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn own_way(_stream: Stream) -> Option<OwnedFd> {
    None
}

fn write_shared(to: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::{ReadWriteFlags, pwritev2};
        const WHERE_IT_IS: u64 = u64::MAX;
        let all = [std::io::IoSlice::new(bytes)];
        match pwritev2(to, &all, WHERE_IT_IS, ReadWriteFlags::NOWAIT) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            written => return written,
        }
    }
    let mut ready = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    match poll(&mut ready, Some(&Timespec::default())) {
        Ok(0) => Err(Errno::AGAIN),
        _ => rustix::io::write(to, &bytes[..bytes.len().min(ATOMIC)]),
    }
}
