//! Pseudo-terminals, for a command whose output is watched and that should still see a terminal.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// A pseudo-terminal with the settings of `original`, but without OPOST: the original turns line feeds
/// into CR LF, and must not do so twice. The master, which is ours, and the slave, which is the
/// command's.
pub(crate) fn like(original: impl AsFd) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let ours = openpt(flags)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&*name, flags, Mode::empty())?;
    let mut settings = tcgetattr(&original)?;
    settings.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&theirs, OptionalActions::Now, &settings)?;
    resize(&ours, original);
    Ok((ours, theirs))
}

/// Makes a terminal as large as the original is now.
pub(crate) fn resize(ours: impl AsFd, original: impl AsFd) {
    if let Ok(size) = tcgetwinsize(original) {
        let _ = tcsetwinsize(ours, size);
    }
}
