//! Locks on single bytes of a file. The kernel gives them back when the file is closed, and so when
//! the process dies, however it does. The commands that redial starts do not get them: the file is
//! closed when they begin.
//!
//! On Linux a lock belongs to one opening of the file. Elsewhere it belongs to the process, and is
//! gone as soon as that closes any opening of the file. That is enough for a process which has one
//! permit at a time: between the start of a probe and its report it does not open the file.

use std::fs::File;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// A place in the file, far behind all that is written there.
#[derive(Clone, Copy, Debug)]
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
pub(super) fn try_lock(file: &File, byte: Byte) -> Result<bool, String> {
    try_lock_as(libc::F_WRLCK, file, byte)
}

/// Locks the byte together with whoever else only reads, unless somebody changes the file. This
/// needs no leave to write.
pub(super) fn try_lock_to_read(file: &File, byte: Byte) -> Result<bool, String> {
    try_lock_as(libc::F_RDLCK, file, byte)
}

fn try_lock_as(kind: impl Into<libc::c_int>, file: &File, byte: Byte) -> Result<bool, String> {
    match set(file, &request(kind, byte)) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR) => Ok(false),
        Err(error) => Err(cannot_lock(error)),
    }
}

/// What cannot be unlocked is so when the file is closed.
pub(super) fn unlock(file: &File, byte: Byte) {
    let _ = set(file, &request(libc::F_UNLCK, byte));
}

/// Whether somebody else holds the byte.
pub(super) fn is_locked(file: &File, byte: Byte) -> Result<bool, String> {
    let mut answer = request(libc::F_WRLCK, byte);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut answer));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let asked = fcntl(file, FcntlArg::F_GETLK(&mut answer));
    asked.map_err(cannot_lock)?;
    Ok(answer.l_type != libc::F_UNLCK as libc::c_short)
}

fn cannot_lock(error: Errno) -> String {
    format!("cannot be locked: {}", error.desc())
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
