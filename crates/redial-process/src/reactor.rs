//! The one place that waits: for the end of a command, a signal, output, a deadline. It never polls
//! for a change; `poll(2)` wakes it.

mod interrupt;
mod slot;

use std::ffi::{CStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use redial_core::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, wait};

use self::interrupt::Interrupt;
use self::slot::{Now, Phase, Slot};
use crate::clock::Clock;
use crate::command::{self, Command, Stdio};
use crate::guard::Guard;
use crate::observer::Observer;
use crate::signals::{Sender, Signals};
use crate::streams::{PLACES, Streams};
use crate::times::Times;
use crate::tree::Tree;

/// How a command that takes too long is ended.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The signal that it gets first.
    pub timeout_signal: Signal,
    /// How long after that it gets SIGKILL.
    pub kill_after: Duration,
}

impl Default for Options {
    /// SIGTERM, and SIGKILL five seconds later.
    fn default() -> Self {
        Self { timeout_signal: Signal::SIGTERM, kill_after: Duration::from_secs(5) }
    }
}

/// One of the places in which commands run, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(usize);

/// How a command came to its end.
#[derive(Debug)]
pub struct Exit {
    /// None where it has not ended: it belongs to another user, or sleeps uninterruptibly.
    pub status: Option<ExitStatus>,
    /// It was ended by [`Reactor::time_out_at`].
    pub timed_out: bool,
    /// The signals by which it was ended then.
    pub sent: Vec<Signal>,
}

/// One thread, any number of commands. See the [crate documentation](crate).
#[derive(Debug)]
pub struct Reactor {
    /// Time as the run counts it.
    pub clock: Clock,
    signals: Signals,
    /// Without a terminal each command gets a process group of its own.
    own_group: bool,
    options: Options,
    slots: Vec<Slot>,
    /// How often this process was stopped.
    stops: u32,
    interrupt: Option<Interrupt>,
}

impl Reactor {
    /// Watches for signals from now on; without slots.
    ///
    /// # Errors
    /// Where the system has no descriptor left for them.
    pub fn new(clock: Clock, options: Options) -> nix::Result<Self> {
        Ok(Self {
            clock,
            signals: Signals::watch()?,
            own_group: !has_terminal(),
            options,
            slots: Vec::new(),
            stops: 0,
            interrupt: None,
        })
    }

    /// A slot whose commands are children of this process. This process becomes the subreaper of
    /// their descendants, which cannot be told apart: so it is the only slot there may be.
    ///
    /// # Panics
    /// If there is another slot.
    pub fn only_slot(&mut self, streams: Streams) -> SlotId {
        assert!(self.slots.is_empty(), "the only slot has no other beside it");
        self.slots.push(Slot::new(streams, Tree::of_this_process(), None));
        SlotId(0)
    }

    /// A slot whose commands are children of a [guard](crate::guard), which is the subreaper of their
    /// descendants. The guard is this program, started again with this argument: the first thing that
    /// `main` does is to look for it.
    ///
    /// ```no_run
    /// const GUARD: &std::ffi::CStr = c"--guard-of-commands";
    ///
    /// # #[cfg(target_os = "linux")]
    /// fn main() {
    ///     if redial_process::guard::is_asked_for(GUARD, std::env::args_os()) {
    ///         return redial_process::guard::serve();
    ///     }
    ///     // … `reactor.guarded_slot(streams, GUARD)`
    /// }
    /// # #[cfg(not(target_os = "linux"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// Where the guard cannot be started; ENOSYS elsewhere than on Linux.
    pub fn guarded_slot(
        &mut self,
        streams: Streams,
        argument: &'static CStr,
    ) -> nix::Result<SlotId> {
        let guard = Guard::spawn(argument, self.signals.mask_of_command())?;
        self.slots.push(Slot::new(streams, Tree::below(guard.pid()), Some(guard)));
        Ok(SlotId(self.slots.len() - 1))
    }

    /// The streams of a slot. Assign others for another command.
    pub fn streams(&mut self, slot: SlotId) -> &mut Streams {
        &mut self.slots[slot.0].streams
    }

    pub(crate) fn clock_and_streams(&mut self, slot: SlotId) -> (&Clock, &mut Streams) {
        (&self.clock, &mut self.slots[slot.0].streams)
    }

    /// The signal that asks this process to end, if one has come.
    pub fn interrupted_by(&self) -> Option<Signal> {
        self.interrupt.map(|interrupt| interrupt.received.signal)
    }

    /// Whether that was a key on the terminal.
    pub fn interrupted_by_key(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.received.from == Sender::Terminal)
    }

    /// The CPU time of all commands of a slot that have ended, and of their descendants.
    pub fn times(&self, slot: SlotId) -> Times {
        let guard = self.slots[slot.0].guard.as_ref();
        guard.map_or_else(Times::of_children, Guard::times)
    }

    /// Prepares for something else to be run, now that a run is over: an earlier interrupt no longer
    /// counts, a timeout sends SIGTERM, and what commands have left running may go on.
    pub fn reset(&mut self) {
        self.reap(false);
        self.interrupt = None;
        self.options.timeout_signal = Signal::SIGTERM;
        for slot in &mut self.slots {
            slot.tree.disown();
            slot.guard.iter_mut().for_each(Guard::disown);
        }
    }

    /// What the command of a slot has left running may go on running, also when this process has
    /// ended.
    pub fn disown(&mut self, slot: SlotId) {
        self.slots[slot.0].guard.iter_mut().for_each(Guard::disown);
    }

    /// Starts a command; [`started`](Self::started) tells what became of it.
    ///
    /// A guard that has been [told](Self::disown) to leave a daemon alone is replaced first.
    pub fn start(
        &mut self,
        slot: SlotId,
        command: &Command,
        variables: &[(&str, OsString)],
        stdio: Stdio,
    ) {
        let (mask, own_group) = (self.signals.mask_of_command(), self.own_group);
        let slot = &mut self.slots[slot.0];
        slot.timeout_at = None;
        let Some(guard) = &mut slot.guard else {
            let group = own_group.then_some(command::OWN_GROUP);
            return slot.has_started(command.start(variables, &stdio, group, mask), own_group);
        };
        let requested = guard.start(command, variables, &stdio, own_group, mask);
        slot.tree.set_parent(guard.pid());
        match requested {
            Ok(()) => slot.phase = Phase::Starting,
            Err(error) => slot.has_started(Err(error), own_group),
        }
    }

    /// The process of the command that was started last, or why there is none: once. A guard takes a
    /// while to answer.
    pub fn started(&mut self, slot: SlotId) -> Option<Result<Pid, Errno>> {
        self.slots[slot.0].started.take()
    }

    /// The command that was started last in this slot is ended at this time, if it still runs.
    pub fn time_out_at(&mut self, slot: SlotId, at: Option<Time>) {
        self.slots[slot.0].timeout_at = at;
    }

    /// How the command of a slot ended, once it has, and what it wrote has been read.
    pub fn exit(&mut self, slot: SlotId) -> Option<Exit> {
        let slot = &mut self.slots[slot.0];
        match std::mem::replace(&mut slot.phase, Phase::Idle) {
            Phase::Draining(draining) if draining.is_over => Some(draining.exit),
            phase => {
                slot.phase = phase;
                None
            }
        }
    }

    /// Begins to end what the command of a slot left behind.
    pub fn begin_sweep(&mut self, slot: SlotId) {
        let now = self.now();
        self.slots[slot.0].begin_sweep(&now);
    }

    /// Whether anything is left of what was swept, once that is over.
    pub fn swept(&mut self, slot: SlotId) -> Option<bool> {
        let slot = &mut self.slots[slot.0];
        let Phase::Sweeping(sweeping) = slot.phase else { return None };
        sweeping.is_over.then(|| {
            slot.phase = Phase::Idle;
            sweeping.survivors
        })
    }

    /// Waits once, until something has happened in a slot or to this process, at most until this
    /// time; not at all where [`exit`](Self::exit) or [`swept`](Self::swept) has something to tell.
    pub fn turn(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        let wake = self.advance();
        if !self.slots.iter().any(Slot::is_over) {
            self.wait(earlier(wake, until), observer);
        }
    }

    /// Waits until the command that was started in a slot is gone and what it wrote has been read.
    ///
    /// # Errors
    /// Why the command could not be started.
    pub fn wait_for_exit(
        &mut self,
        slot: SlotId,
        observer: &mut dyn Observer,
    ) -> Result<Exit, Errno> {
        loop {
            self.started(slot).transpose()?;
            match self.exit(slot) {
                Some(exit) => return Ok(exit),
                None => self.turn(None, observer),
            }
        }
    }

    /// Ends what the command of a slot left behind. Whether any of it is left all the same.
    pub fn sweep(&mut self, slot: SlotId, observer: &mut dyn Observer) -> bool {
        self.begin_sweep(slot);
        loop {
            match self.swept(slot) {
                Some(survivors) => return survivors,
                None => self.turn(None, observer),
            }
        }
    }

    /// Writes the output that was held in a slot, and waits until that is done, or until it is too
    /// late: some time after `deadline`, or after a signal that asks this process to end.
    pub fn publish(&mut self, slot: SlotId, deadline: Option<Time>, observer: &mut dyn Observer) {
        let now = self.now();
        self.slots[slot.0].begin_publish(deadline, &now);
        loop {
            let wake = self.advance();
            if matches!(self.slots[slot.0].phase, Phase::Idle) {
                return;
            }
            self.wait(wake, observer);
        }
    }

    fn now(&self) -> Now {
        Now { time: self.clock.now(), options: self.options, interrupt: self.interrupt }
    }

    /// Does in every slot what is due by now. When something is due next.
    fn advance(&mut self) -> Option<Time> {
        let now = self.now();
        if self.slots.iter().any(|slot| slot.counts_children(now.time)) {
            self.reap(true);
        }
        let dues = self.slots.iter_mut().map(|slot| slot.advance(&now));
        dues.fold(None, earlier)
    }

    /// One wait for whatever comes first.
    fn wait(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        enum Ready {
            Guard(usize),
            Stream(usize, usize),
        }
        let mut ready = Vec::new();
        let signalled = {
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            let mut purposes = Vec::with_capacity(PLACES);
            for (at, slot) in self.slots.iter().enumerate() {
                if let Some(socket) = slot.guard.as_ref().and_then(Guard::socket) {
                    fds.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
                    purposes.push(Ready::Guard(at));
                }
                if matches!(slot.phase, Phase::Idle) {
                    continue;
                }
                for (place, want) in slot.streams.wants().into_iter().enumerate() {
                    if let Some((fd, flags)) = want {
                        fds.push(PollFd::from_borrowed_fd(fd, flags));
                        purposes.push(Ready::Stream(at, place));
                    }
                }
            }
            let timeout = until.map(|until| timespec(until.since(self.clock.now())));
            // EINTR is a signal that came in between; the next wait has it.
            let _ = poll(&mut fds, timeout.as_ref());
            for (fd, purpose) in fds[1..].iter().zip(purposes) {
                if !fd.revents().is_empty() {
                    ready.push(purpose);
                }
            }
            !fds[0].revents().is_empty()
        };
        for purpose in ready {
            match purpose {
                Ready::Guard(at) => self.hear_guard(at, true),
                Ready::Stream(at, place) => self.slots[at].streams.step(place),
            }
        }
        if signalled {
            self.hear_signals(observer);
        }
    }

    /// Waits for every process that has ended, also for orphans that this process has inherited as
    /// their subreaper; stops with a command that has stopped, if it may.
    fn reap(&mut self, may_stop: bool) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            let pid = Pid::from_raw(pid.as_raw_nonzero().get());
            let own = self.slots.iter().position(|slot| slot.command == Some(pid));
            if let Some(at) = own {
                self.changed(at, ExitStatus::from_raw(status.as_raw()), may_stop);
            }
        }
        for at in 0..self.slots.len() {
            self.hear_guard(at, may_stop);
        }
    }

    fn hear_guard(&mut self, at: usize, may_stop: bool) {
        let was_starting = matches!(self.slots[at].phase, Phase::Starting);
        while let Some(status) = self.slots[at].hear_guard(self.own_group) {
            self.changed(at, status, may_stop);
        }
        // An interrupt that came while the command was being started has not reached it yet.
        if let Some(interrupt) = self.interrupt
            && was_starting
            && self.slots[at].command.is_some()
        {
            interrupt.pass_on(&mut self.slots[at], self.own_group);
        }
    }

    /// The command of a slot has ended, or was stopped.
    fn changed(&mut self, at: usize, status: ExitStatus, may_stop: bool) {
        let slot = &mut self.slots[at];
        if status.stopped_signal().is_none() {
            slot.status = Some(status);
            slot.tree.command_ended();
        } else if may_stop && !self.own_group && slot.timeout_at.is_none() {
            // A command that stops gives the terminal back; so do we. A command with a timeout is not
            // waited for beyond it, stopped or not.
            self.stop();
        }
    }
}

/// Whether there is a terminal whose keys send signals to our process group. Commands stay in that
/// group then: they may read from the terminal, and Ctrl-C and Ctrl-Z reach them as ever.
fn has_terminal() -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

fn earlier(one: Option<Time>, other: Option<Time>) -> Option<Time> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
