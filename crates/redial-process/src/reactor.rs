//! The one place that waits: for the end of a command, a signal, output, a deadline. It never polls
//! for a change; `poll(2)` wakes it.

mod interrupt;
mod slot;

use std::ffi::{CStr, OsString};
use std::os::fd::OwnedFd;
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
use crate::streams::{STREAMS, Streams};
use crate::times::Times;
use crate::tree::Tree;

/// How a command that takes too long is ended.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The signal that it gets first.
    pub timeout_signal: Signal,
    /// How long after that it gets SIGKILL.
    pub kill_after: Duration,
    /// How long commands go on after a signal that asks this process to end, before they get it, too. A
    /// second signal ends that time.
    pub drain: Duration,
    /// Whether commands stay in the foreground process group of the terminal, if there is one: they may
    /// read from it then, and its keys signal them. Each has a group of its own otherwise.
    pub share_terminal: bool,
}

impl Default for Options {
    /// SIGTERM, and SIGKILL five seconds later; a signal is forwarded at once.
    fn default() -> Self {
        Self {
            timeout_signal: Signal::SIGTERM,
            kill_after: Duration::from_secs(5),
            drain: Duration::ZERO,
            share_terminal: true,
        }
    }
}

/// One of the places in which commands run, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(usize);

/// How a command ended.
#[derive(Debug)]
pub struct Exit {
    /// None where it survived SIGKILL: it belongs to another user, or sleeps uninterruptibly.
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
    /// A descriptor of the caller's whose readiness ends a wait.
    waker: Option<OwnedFd>,
}

impl Reactor {
    /// A reactor without slots. Blocks the signals that it watches for.
    ///
    /// # Errors
    /// Where no descriptor is left for the signals.
    pub fn new(clock: Clock, options: Options) -> nix::Result<Self> {
        Ok(Self {
            clock,
            signals: Signals::watch()?,
            own_group: !(options.share_terminal && has_terminal()),
            options,
            slots: Vec::new(),
            stops: 0,
            interrupt: None,
            waker: None,
        })
    }

    /// A slot whose commands are children of this process, which becomes the subreaper of their
    /// descendants. It must be the only slot: a subreaper cannot tell whose descendant an orphan is.
    ///
    /// # Panics
    /// If there is another slot.
    pub fn only_slot(&mut self, streams: Streams) -> SlotId {
        assert!(self.slots.is_empty(), "the only slot has no other beside it");
        self.slots.push(Slot::new(streams, Tree::of_this_process(), None));
        SlotId(0)
    }

    /// A slot whose commands are children of a [guard](crate::guard), which is the subreaper of their
    /// descendants. The guard is this program, started again with this argument: `main` has to check for
    /// it before anything else.
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

    /// Ends a [`turn`](Self::turn) when this can be read: another thread has something for the caller. What
    /// is read from it is lost; an `eventfd` or a pipe, both non-blocking, will do.
    pub fn wake_on(&mut self, waker: OwnedFd) {
        self.waker = Some(waker);
    }

    /// The streams of a slot. Assign new ones for another command.
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

    /// Whether that was sent by a key on the terminal.
    pub fn interrupted_by_key(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.received.from == Sender::Terminal)
    }

    /// Whether commands have got that signal by now: see [`Options::drain`].
    pub fn has_forwarded_interrupt(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.is_forwarded())
    }

    /// Whether the last command of a guarded slot has left anything running.
    pub fn has_left_children(&self, slot: SlotId) -> bool {
        self.slots[slot.0].guard.as_ref().is_some_and(Guard::has_children)
    }

    /// The CPU time of all commands of a slot that have ended, and of their descendants.
    pub fn times(&self, slot: SlotId) -> Times {
        let guard = self.slots[slot.0].guard.as_ref();
        guard.map_or_else(Times::of_children, Guard::times)
    }

    /// Prepares for another command after a run: forgets an interrupt, goes back to SIGTERM for
    /// timeouts, and lets what commands have left running go on.
    pub fn reset(&mut self) {
        self.reap(false);
        self.interrupt = None;
        self.options.timeout_signal = Signal::SIGTERM;
        for slot in &mut self.slots {
            slot.tree.disown();
            slot.guard.iter_mut().for_each(Guard::disown);
        }
    }

    /// Lets what the command of a slot has left running go on, also after this process has ended.
    pub fn disown(&mut self, slot: SlotId) {
        self.slots[slot.0].guard.iter_mut().for_each(Guard::disown);
    }

    /// Starts a command; [`started`](Self::started) has the result.
    ///
    /// A guard that has been [disowned](Self::disown) together with a daemon is replaced first.
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

    /// The PID of the command that was started last, or why it could not be started. Returned once; a
    /// guard takes a while to answer.
    pub fn started(&mut self, slot: SlotId) -> Option<Result<Pid, Errno>> {
        self.slots[slot.0].started.take()
    }

    /// When to end the command that was started last in this slot, if it still runs.
    pub fn time_out_at(&mut self, slot: SlotId, at: Option<Time>) {
        self.slots[slot.0].timeout_at = at;
    }

    /// How the command of a slot ended, once it has ended and its output has been read.
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

    /// Begins to end the descendants that the command of a slot left behind.
    pub fn begin_sweep(&mut self, slot: SlotId) {
        let now = self.now();
        self.slots[slot.0].begin_sweep(&now);
    }

    /// Whether any descendant survived, once the sweep is over.
    pub fn swept(&mut self, slot: SlotId) -> Option<bool> {
        let slot = &mut self.slots[slot.0];
        let Phase::Sweeping(sweeping) = slot.phase else { return None };
        sweeping.is_over.then(|| {
            slot.phase = Phase::Idle;
            sweeping.survivors
        })
    }

    /// Waits once: until something has happened in a slot or to this process, or until this time.
    /// Returns at once where [`exit`](Self::exit) or [`swept`](Self::swept) has a result.
    pub fn turn(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        let wake = self.advance();
        // A start that failed at once wakes nobody.
        let has_failed = |slot: &Slot| matches!(slot.started, Some(Err(_)));
        if !self.slots.iter().any(|slot| slot.is_over() || has_failed(slot)) {
            self.wait(earlier(wake, until), observer);
        }
    }

    /// Waits until the command that was started in a slot has ended and its output has been read.
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

    /// Ends the descendants that the command of a slot left behind. Returns whether any survived.
    pub fn sweep(&mut self, slot: SlotId, observer: &mut dyn Observer) -> bool {
        self.begin_sweep(slot);
        loop {
            match self.swept(slot) {
                Some(survivors) => return survivors,
                None => self.turn(None, observer),
            }
        }
    }

    /// Writes the held output of a slot. Gives up some time after `deadline`, or after a signal that
    /// asks this process to end.
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

    /// Does in every slot what is due by now. Returns when something is due next.
    fn advance(&mut self) -> Option<Time> {
        let now = self.now();
        if self.slots.iter().any(|slot| slot.counts_children(now.time)) {
            self.reap(true);
        }
        let dues = self.slots.iter_mut().map(|slot| slot.advance(&now));
        let due = dues.fold(None, earlier);
        earlier(due, self.forward_when_drained(now.time))
    }

    /// One `poll(2)` over signals, guards and streams.
    fn wait(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        enum Ready {
            Waker,
            Guard(usize),
            Stream(usize, usize),
        }
        let mut ready = Vec::new();
        let signalled = {
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            let mut sources = Vec::with_capacity(STREAMS);
            if let Some(waker) = &self.waker {
                fds.push(PollFd::new(waker, PollFlags::IN));
                sources.push(Ready::Waker);
            }
            for (at, slot) in self.slots.iter().enumerate() {
                if let Some(socket) = slot.guard.as_ref().and_then(Guard::socket) {
                    fds.push(PollFd::from_borrowed_fd(socket, PollFlags::IN));
                    sources.push(Ready::Guard(at));
                }
                if matches!(slot.phase, Phase::Idle) {
                    continue;
                }
                for (stream, interest) in slot.streams.interests().into_iter().enumerate() {
                    if let Some((fd, flags)) = interest {
                        fds.push(PollFd::from_borrowed_fd(fd, flags));
                        sources.push(Ready::Stream(at, stream));
                    }
                }
            }
            let timeout = until.map(|until| timespec(until.since(self.clock.now())));
            // After EINTR the next wait sees the signal.
            let _ = poll(&mut fds, timeout.as_ref());
            for (fd, source) in fds[1..].iter().zip(sources) {
                if !fd.revents().is_empty() {
                    ready.push(source);
                }
            }
            !fds[0].revents().is_empty()
        };
        for source in ready {
            match source {
                Ready::Waker => self.clear_waker(),
                Ready::Guard(at) => self.read_guard(at, true),
                Ready::Stream(at, stream) => self.slots[at].streams.step(stream),
            }
        }
        if signalled {
            self.handle_signals(observer);
        }
    }

    fn clear_waker(&mut self) {
        let mut bytes = [0; 64];
        // At EOF nobody is there any more to wake us.
        let read = self.waker.as_ref().map(|waker| rustix::io::read(waker, &mut bytes));
        if matches!(read, Some(Ok(0))) {
            self.waker = None;
        }
    }

    /// Reaps every child that has ended, and orphans that this process got as their subreaper. If
    /// `may_stop`, stops this process where a command has stopped.
    fn reap(&mut self, may_stop: bool) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            let pid = Pid::from_raw(pid.as_raw_nonzero().get());
            let own = self.slots.iter().position(|slot| slot.command == Some(pid));
            if let Some(at) = own {
                self.changed(at, ExitStatus::from_raw(status.as_raw()), may_stop);
            }
        }
        for at in 0..self.slots.len() {
            self.read_guard(at, may_stop);
        }
    }

    fn read_guard(&mut self, at: usize, may_stop: bool) {
        let was_starting = matches!(self.slots[at].phase, Phase::Starting);
        while let Some(status) = self.slots[at].read_guard(self.own_group) {
            self.changed(at, status, may_stop);
        }
        // An interrupt that came while the command was being started has not reached it yet.
        if let Some(interrupt) = self.interrupt
            && interrupt.is_forwarded()
            && was_starting
            && self.slots[at].command.is_some()
        {
            interrupt.forward(&mut self.slots[at], self.own_group);
        }
    }

    /// The command of a slot has ended, or was stopped.
    fn changed(&mut self, at: usize, status: ExitStatus, may_stop: bool) {
        let slot = &mut self.slots[at];
        if status.stopped_signal().is_none() {
            slot.status = Some(status);
            slot.tree.command_ended();
        } else if may_stop && !self.own_group && slot.timeout_at.is_none() {
            // A command that stops gives the terminal back to the shell; so do we. Not where it has a
            // timeout, which counts also while it is stopped.
            self.stop();
        }
    }
}

/// Whether there is a controlling terminal. Commands stay in our process group then, so that they may
/// read from it and its keys (Ctrl-C, Ctrl-Z) signal them.
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
