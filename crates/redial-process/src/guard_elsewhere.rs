//! Where there is no subreaper there are no guards: nobody could tell whose an orphan is.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::unistd::Pid;

use crate::command::{self, Command};
use crate::times::Times;

/// A guard, of which there is none on this system.
#[derive(Debug)]
pub struct Guard {
    never: std::convert::Infallible,
    socket: OwnedFd,
}

#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "there is no guard here that could report")]
pub(crate) enum Report {
    Changed(Pid, ExitStatus),
    Gone,
}

impl Guard {
    /// There are no guards on this system.
    ///
    /// # Errors
    /// Always: ENOSYS.
    pub fn start_as(_argument: &std::ffi::CStr) -> nix::Result<Self> {
        Err(Errno::ENOSYS)
    }

    pub(crate) fn pid(&self) -> Pid {
        match self.never {}
    }

    pub(crate) fn has_children(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn times(&self) -> Times {
        match self.never {}
    }

    pub(crate) fn start(
        &mut self,
        _: &Command,
        _: &[(&str, OsString)],
        _: &command::Streams,
        _: bool,
    ) -> Result<Pid, Errno> {
        match self.never {}
    }

    pub(crate) fn next(&mut self) -> Option<Report> {
        match self.never {}
    }
}

impl AsFd for Guard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
