//! Without subreapers there are no guards: an orphan becomes a child of init.

use std::convert::Infallible;
use std::ffi::{CStr, OsString};
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::sys::signal::SigSet;
use nix::unistd::Pid;

use crate::command::{Command, Stdio};
use crate::times::Times;

#[derive(Debug)]
pub(crate) struct Guard(Infallible);

#[expect(dead_code, reason = "there is no guard that could report")]
pub(crate) enum Report {
    Started(Result<Pid, Errno>),
    Changed(Pid, ExitStatus),
    Ran(Pid, ExitStatus),
    Gone,
}

impl Guard {
    pub(crate) fn spawn(_: &'static CStr, _: &SigSet) -> nix::Result<Self> {
        Err(Errno::ENOSYS)
    }

    pub(crate) fn pid(&self) -> Pid {
        match self.0 {}
    }

    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self.0 {}
    }

    pub(crate) fn has_children(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn times(&self) -> Times {
        match self.0 {}
    }

    pub(crate) fn disown(&mut self) {
        match self.0 {}
    }

    pub(crate) fn start(
        &mut self,
        _: &Command,
        _: &[(&str, OsString)],
        _: &Stdio,
        _: bool,
        _: &SigSet,
    ) -> nix::Result<()> {
        match self.0 {}
    }

    pub(crate) fn next(&mut self) -> Option<Report> {
        match self.0 {}
    }
}
