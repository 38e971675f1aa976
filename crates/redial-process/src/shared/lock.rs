//! Locks on single bytes of a file (`fcntl`). The kernel releases them when the file is closed, and so
//! when the process dies. Commands do not inherit them: the file is opened with `O_CLOEXEC`.
//!
//! On Linux these are open file description locks (`F_OFD_SETLK`). Elsewhere a lock belongs to the
//! process, and is released as soon as that closes any descriptor of the file. That is enough for a
//! process which has one permit at a time: between the start of a probe and its report it does not
//! open the file.

use std::fs::File;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// The offset of a byte to lock, far beyond the record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Byte(libc::off_t);

impl Byte {
    /// Locked while the record is read and changed.
    pub(super) const CHANGE: Self = Self(1 << 30);

    /// Locked for as long as a probe runs. Each period has bytes of its own, because a probe of an
    /// earlier period does not count in this one.
    pub(super) fn probe(period: u16, number: u32) -> Self {
        debug_assert!(number < PROBES_MAX);
        Self((1 << 30) + 1 + libc::off_t::from(period) * 1024 + number as libc::off_t)
    }
}

/// How many probes may run at once: a round number below the 1024 bytes of a period.
pub(super) const PROBES_MAX: u32 = 1000;

/// Locks the byte exclusively. Returns whether it could.
pub(super) fn try_lock(file: &File, byte: Byte) -> Result<bool, String> {
    try_lock_as(libc::F_WRLCK, file, byte)
}

/// Locks the byte together with other readers. Returns whether it could. Needs no permission to write.
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

/// Closing the file unlocks the byte too, so that an error does not matter.
pub(super) fn unlock(file: &File, byte: Byte) {
    let _ = set(file, &request(libc::F_UNLCK, byte));
}

/// Whether another process has locked the byte.
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
