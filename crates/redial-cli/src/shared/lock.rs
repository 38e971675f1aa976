//! Locks on single bytes of a file. The kernel gives them back when the file is closed, and so when
//! the process dies, however it does.
//!
//! On Linux they belong to the open file, so that two openings exclude each other also within one
//! process. Elsewhere they belong to the process, and go as soon as it closes the file anywhere: it
//! may hold one lock at a time and loses nothing, for it changes nothing in between.
//!
//! The commands that redial starts have neither: the file is closed when they begin.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// A place in the file, far behind all that is written there.
#[derive(Clone, Copy)]
pub(super) struct Byte(libc::off_t);

impl Byte {
    /// Held while the record is read and changed.
    pub(super) const CHANGE: Self = Self(1 << 30);

    /// Held for as long as a probe runs. A probe of an earlier period is none of this one's, so
    /// each period has bytes of its own.
    pub(super) fn probe(period: u16, place: u32) -> Self {
        debug_assert!(place < PROBES_MAX);
        Self((1 << 30) + 1 + libc::off_t::from(period) * 1024 + place as libc::off_t)
    }
}

/// How many probes may run at once: as many as a period has bytes for, rounded for people.
pub(super) const PROBES_MAX: u32 = 1000;

/// Locks the byte, unless somebody else has.
pub(super) fn try_lock(file: &File, byte: Byte) -> io::Result<bool> {
    match set(file, &request(libc::F_WRLCK, byte)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn unlock(file: &File, byte: Byte) -> io::Result<()> {
    set(file, &request(libc::F_UNLCK, byte))?;
    Ok(())
}

/// Whether somebody else holds the byte.
pub(super) fn is_locked(file: &File, byte: Byte) -> io::Result<bool> {
    let mut answer = request(libc::F_WRLCK, byte);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut answer))?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fcntl(file, FcntlArg::F_GETLK(&mut answer))?;
    Ok(answer.l_type != libc::F_UNLCK as libc::c_short)
}

fn set(file: &File, request: &libc::flock) -> nix::Result<libc::c_int> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return fcntl(file, FcntlArg::F_OFD_SETLK(request));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return fcntl(file, FcntlArg::F_SETLK(request));
}

fn request(kind: impl Into<libc::c_int>, byte: Byte) -> libc::flock {
    libc::flock {
        l_type: kind.into() as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte.0,
        l_len: 1,
        l_pid: 0,
        #[cfg(target_os = "freebsd")]
        l_sysid: 0,
    }
}
