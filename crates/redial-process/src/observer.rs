//! Who is told what happens, as it happens.

use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use redial_core::Time;
use redial_policy::Watch;

use crate::attempts::Attempt;
use crate::clock::Clock;
use crate::reactor::SlotId;
use crate::signals::Sender;
use crate::streams::Streams;

/// Is told what happens, at the moment when it does. Every method does nothing unless it is
/// implemented; `()` implements none.
pub trait Observer {
    /// This process got a signal.
    fn signalled(&mut self, _clock: &Clock, _signalled: Signalled) {}

    /// An attempt has started; without a PID where the command could not be started.
    fn attempt_started(&mut self, _clock: &Clock, _run: &Progress, _pid: Option<Pid>) {}

    /// An attempt has ended. What it left behind is ended next, unless it succeeded.
    fn attempt_ended(&mut self, _: &Clock, _run: &Progress, _attempt: &Attempt, _watch: &Watch) {}

    /// Something went wrong that does not end the run.
    fn warned(&mut self, _warning: Warning<'_>) {}

    /// The attempt failed, and another one follows after this delay.
    fn waiting(
        &mut self,
        _clock: &Clock,
        _run: &Progress,
        _attempt: &Attempt,
        _delay: Duration,
        _streams: &mut Streams,
    ) {
    }

    /// So much is left of the delay. Returns how soon to call again, for a countdown.
    fn tick(&mut self, _left: Duration) -> Option<Duration> {
        None
    }

    /// The delay is over, or was interrupted by a signal.
    fn waited(&mut self, _is_interrupted: bool) {}
}

impl Observer for () {}

/// A signal that this process got while commands ran.
#[derive(Clone, Copy, Debug)]
pub struct Signalled {
    /// Which one.
    pub signal: Signal,
    /// Who sent it.
    pub from: Sender,
    /// Whether it was forwarded to a command. A key on the terminal needs no forwarding: the terminal
    /// has signalled the whole foreground process group.
    pub forwarded: bool,
}

/// How far a run has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Where it runs.
    pub slot: SlotId,
    /// The attempts so far, with the one that runs.
    pub attempts: u32,
    /// How many of them were cut by the timeout of each.
    pub timeouts: u32,
    /// How long the attempts have taken.
    pub running: Duration,
    /// How long the delays have taken.
    pub waited: Duration,
    /// When it started.
    pub started: Time,
    /// When it has to be over.
    pub deadline: Option<Time>,
}

/// What went wrong, although the run goes on.
#[derive(Clone, Copy, Debug)]
pub enum Warning<'a> {
    /// A shared budget or breaker failed, and is not asked any more.
    Shared(&'a str),
    /// A line of the control file is not a request, or the file could not be read.
    Control(&'a str),
    /// The delay that the command printed is neither a duration nor an HTTP date.
    BadDelay(&'a str),
    /// Not even SIGKILL has ended what the command left behind.
    Survivors,
}
