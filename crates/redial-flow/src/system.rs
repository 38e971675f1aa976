//! What files need of the system beyond the standard library.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Opens a regular file; one that is made is for its owner's eyes alone.
///
/// A repository from elsewhere may have anything where a run's files are: links to other places are not followed, and a pipe
/// does not keep us waiting.
pub(crate) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| {
        match path.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
            true => io::Error::new(error.kind(), "it is a symbolic link, which is not followed"),
            false => error,
        }
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// A name in a directory survives a power cut once the directory is synced.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match File::open(path)?.sync_all() {
        // Some network file systems have no such thing.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// The limit on the size of a file. Who writes beyond it is ended by SIGXFSZ.
pub(crate) fn file_size_max() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    #[cfg(not(unix))]
    None
}

/// Whether no directory has the file any more.
pub(crate) fn is_removed(file: &Metadata) -> bool {
    #[cfg(unix)]
    return file.nlink() == 0;
    #[cfg(not(unix))]
    {
        let _ = file;
        false
    }
}

/// Opens the file for as long as nobody else has it open this way; `None` if somebody has.
#[cfg(unix)]
pub(crate) fn open_alone(path: &Path) -> io::Result<Option<File>> {
    let file = open(path, OpenOptions::new().read(true).write(true).create(true))?;
    Ok(lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?.then_some(file))
}

/// Whether somebody has the file open alone.
#[cfg(unix)]
pub(crate) fn is_open_alone(path: &Path) -> io::Result<bool> {
    let file = open(path, OpenOptions::new().read(true))?;
    Ok(!lock(&file, rustix::fs::FlockOperation::NonBlockingLockShared)?)
}

/// The lock is the open file's, and so ends with the process, whatever ended it.
#[cfg(unix)]
fn lock(file: &File, operation: rustix::fs::FlockOperation) -> io::Result<bool> {
    match rustix::io::retry_on_intr(|| rustix::fs::flock(file, operation)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lets others have the file.
#[cfg(unix)]
pub(crate) fn unlock(file: &File) {
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

/// Whether the open file is the one that is there now.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (file, there) = (file.metadata()?, path.symlink_metadata()?);
    Ok((file.dev(), file.ino()) == (there.dev(), there.ino()))
}

#[cfg(windows)]
pub(crate) fn open_alone(path: &Path) -> io::Result<Option<File>> {
    alone(OpenOptions::new().read(true).write(true).create(true), path)
}

#[cfg(windows)]
pub(crate) fn is_open_alone(path: &Path) -> io::Result<bool> {
    Ok(alone(OpenOptions::new().write(true), path)?.is_none())
}

#[cfg(windows)]
fn alone(options: &mut OpenOptions, path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    const ERROR_SHARING_VIOLATION: i32 = 32;
    match open(path, options.share_mode(FILE_SHARE_READ)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}

/// It is closed next.
#[cfg(windows)]
pub(crate) fn unlock(_: &File) {}

/// A file that is open cannot be replaced there.
#[cfg(windows)]
pub(crate) fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
