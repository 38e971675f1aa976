//! Waits, in one thread and in one place, for whatever comes: the end of a command, a signal, output,
//! a deadline. It never polls for a change; `poll(2)` wakes it.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redial_core::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, wait};

use crate::clock::Clock;
use crate::command::{self, Command};
use crate::guard::{Guard, Report};
use crate::signals::{Received, Sender, Signals, take_default_action};
use crate::streams::{PLACES, Streams};
use crate::times::Times;
use crate::tree::Tree;

/// How long what the command's children may still write is waited for, once the command is gone.
const DRAIN: Duration = Duration::from_millis(100);
/// How long the EOF of a stream may take where no child is left that could hold it open. What is
/// written to a pseudo-terminal passes through a worker of the kernel's, which a busy machine delays.
const EOF_MAX: Duration = Duration::from_secs(10);
/// How long a command may clean up after a key on the terminal. A second press cuts it short.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// Signals that come together are one request: the terminal's and the shell's when a window closes.
const SAME_REQUEST: Duration = Duration::from_millis(100);
/// How long whoever reads held output is given at least, whatever [`Options::kill_after`] says.
const DELIVERY_MIN: Duration = Duration::from_secs(1);
/// After so long, a process that was just being started has called `exec` and can be asked to end.
const SETTLED: Duration = Duration::from_millis(100);
/// How long a process may take to disappear after SIGKILL.
const KILLED: Duration = Duration::from_secs(10);

/// How a command that takes too long is ended.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The signal that it gets first.
    pub cut_by: Signal,
    /// How long after that it gets SIGKILL.
    pub kill_after: Duration,
}

impl Default for Options {
    /// SIGTERM, and SIGKILL five seconds later.
    fn default() -> Self {
        Self { cut_by: Signal::SIGTERM, kill_after: Duration::from_secs(5) }
    }
}

/// One of the places in which commands run, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(usize);

/// A signal that this process got while commands ran.
#[derive(Clone, Copy, Debug)]
pub struct Signalled {
    /// Which one.
    pub signal: Signal,
    /// Who sent it.
    pub from: Sender,
    /// Whether it was passed on to a command. What a key on the terminal sends, the terminal itself
    /// has sent to the whole process group.
    pub forwarded: bool,
}

/// How a command came to its end.
#[derive(Debug)]
pub struct Exit {
    /// None where it has not ended: it belongs to another user, or sleeps uninterruptibly.
    pub status: Option<ExitStatus>,
    /// It was cut, by [`Reactor::start`]'s `cut_at`.
    pub timed_out: bool,
    /// The signals with which it was cut.
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

/// Who is told what happens, at the moment when it does. `()` is nobody.
pub trait Observer {
    /// A signal came.
    fn signalled(&mut self, clock: &Clock, signalled: Signalled);
}

impl Observer for () {
    fn signalled(&mut self, _: &Clock, _: Signalled) {}
}

/// A signal that asks this process, and so all its commands, to end.
#[derive(Clone, Copy, Debug)]
struct Interrupt {
    signal: Signal,
    from: Sender,
    at: Time,
    /// It came again.
    insists: bool,
}

#[derive(Debug)]
struct Slot {
    streams: Streams,
    tree: Tree,
    guard: Option<Guard>,
    /// The command, until it has been waited for.
    command: Option<Pid>,
    status: Option<ExitStatus>,
    /// The command is cut at some time.
    is_timed: bool,
    /// The signal by which the processes of this attempt are asked to end.
    asks_by: Signal,
    phase: Phase,
}

/// What a slot is about.
#[derive(Debug)]
enum Phase {
    Idle,
    /// The command runs.
    Running(Running),
    /// The command is gone; what it and its children wrote is still read.
    Draining(Draining),
    /// What the command left behind is ended.
    Sweeping {
        kill_at: Time,
        settled: Time,
        survivors: bool,
        over: bool,
    },
    /// Held output comes out.
    Publishing {
        late: Option<Time>,
    },
}

#[derive(Debug)]
struct Running {
    cut_at: Option<Time>,
    timed_out: bool,
    sent: Vec<Signal>,
    killed: Option<Time>,
    kill_at: Option<Time>,
}

#[derive(Debug)]
struct Draining {
    /// Taken by whoever asks how the command ended.
    exit: Exit,
    drained: Time,
    eof_max: Time,
    patience: Option<Time>,
    over: bool,
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
        self.add(streams, Tree::of_this_process(), None)
    }

    /// A slot whose commands are children of a [`Guard`], which is the subreaper of their descendants.
    pub fn guarded_slot(&mut self, streams: Streams, guard: Guard) -> SlotId {
        let tree = Tree::below(guard.pid());
        self.add(streams, tree, Some(guard))
    }

    fn add(&mut self, streams: Streams, tree: Tree, guard: Option<Guard>) -> SlotId {
        self.slots.push(Slot {
            streams,
            tree,
            guard,
            command: None,
            status: None,
            is_timed: false,
            asks_by: Signal::SIGTERM,
            phase: Phase::Idle,
        });
        SlotId(self.slots.len() - 1)
    }

    /// The streams of a slot.
    pub fn streams(&mut self, slot: SlotId) -> &mut Streams {
        &mut self.slots[slot.0].streams
    }

    /// The signal that ends the run, if one has come.
    pub fn interrupted_by(&self) -> Option<Signal> {
        self.interrupt.map(|interrupt| interrupt.signal)
    }

    /// Whether that was a key on the terminal.
    pub fn interrupted_by_key(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.from == Sender::Terminal)
    }

    /// What all commands that have ended, and their descendants, have taken of the processors.
    pub fn times(&self) -> Times {
        let own = Times::of_children();
        let guards = self.slots.iter().filter_map(|slot| slot.guard.as_ref()).map(Guard::times);
        guards.fold(own, |all, one| Times {
            user: all.user + one.user,
            system: all.system + one.system,
        })
    }

    /// The run is over, and something else is to be run: an earlier interrupt no longer counts,
    /// commands are cut by SIGTERM, and what they have left running is not ours any more.
    pub fn begin_anew(&mut self) {
        self.reap(false);
        self.interrupt = None;
        self.options.cut_by = Signal::SIGTERM;
        self.slots.iter_mut().for_each(|slot| slot.tree.disown());
    }

    /// Starts a command. Close your copies of the ends in `streams` afterwards, or its streams never
    /// come to EOF.
    ///
    /// # Errors
    /// What `posix_spawn` says.
    pub fn start(
        &mut self,
        slot: SlotId,
        command: &Command,
        variables: &[(&str, OsString)],
        streams: &command::Streams,
    ) -> Result<Pid, Errno> {
        let mask = self.signals.mask_of_command();
        let slot = &mut self.slots[slot.0];
        let pid = match &mut slot.guard {
            Some(guard) => guard.start(command, variables, streams, self.own_group)?,
            None => command.start(variables, streams, self.own_group, mask)?,
        };
        slot.tree.command_started(pid, self.own_group);
        (slot.command, slot.status) = (Some(pid), None);
        slot.asks_by = Signal::SIGTERM;
        slot.is_timed = false;
        slot.phase = Phase::Running(Running {
            cut_at: None,
            timed_out: false,
            sent: Vec::new(),
            killed: None,
            kill_at: None,
        });
        Ok(pid)
    }

    /// The command of this slot is cut at this time.
    pub fn cut_at(&mut self, slot: SlotId, at: Option<Time>) {
        let slot = &mut self.slots[slot.0];
        if let Phase::Running(running) = &mut slot.phase {
            running.cut_at = at;
            slot.is_timed = at.is_some();
        }
    }

    /// How the command of a slot ended, once it has, and what it wrote has been read.
    pub fn exit(&mut self, slot: SlotId) -> Option<Exit> {
        let slot = &mut self.slots[slot.0];
        match std::mem::replace(&mut slot.phase, Phase::Idle) {
            Phase::Draining(draining) if draining.over => Some(draining.exit),
            phase => {
                slot.phase = phase;
                None
            }
        }
    }

    /// Waits until something has happened in a slot or to this process, at most until this time.
    pub fn turn(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        let wake = self.advance();
        if !self.slots.iter().any(Slot::is_over) {
            self.wait_for(earlier(wake, until), observer);
            self.advance();
        }
    }

    /// Until the command of a slot is gone and what it wrote has been read.
    pub fn attend(&mut self, slot: SlotId, observer: &mut dyn Observer) -> Exit {
        loop {
            let wake = self.advance();
            if let Some(exit) = self.exit(slot) {
                return exit;
            }
            self.wait_for(wake, observer);
        }
    }

    /// Ends what the command of a slot left behind. Whether any of it is left after all.
    pub fn sweep(&mut self, slot: SlotId, observer: &mut dyn Observer) -> bool {
        self.begin_sweep(slot);
        loop {
            let wake = self.advance();
            if let Some(survivors) = self.swept(slot) {
                return survivors;
            }
            self.wait_for(wake, observer);
        }
    }

    /// Begins to end what the command of a slot left behind.
    pub fn begin_sweep(&mut self, slot: SlotId) {
        let now = self.clock.now();
        // Where nobody tells us when they have gone, they go now.
        let grace =
            if cfg!(target_os = "linux") { self.options.kill_after } else { Duration::ZERO };
        let (kill_at, settled) = (now.after(grace), now.after(SETTLED));
        self.slots[slot.0].phase =
            Phase::Sweeping { kill_at, settled, survivors: false, over: false };
    }

    /// Whether anything is left of what was swept, once that is over.
    pub fn swept(&mut self, slot: SlotId) -> Option<bool> {
        let slot = &mut self.slots[slot.0];
        match slot.phase {
            Phase::Sweeping { survivors, over: true, .. } => {
                slot.phase = Phase::Idle;
                Some(survivors)
            }
            _ => None,
        }
    }

    /// Until what was held in a slot has come out, or it is too late: for the run, or for whoever
    /// asked this process to end.
    pub fn publish(&mut self, slot: SlotId, deadline: Option<Time>, observer: &mut dyn Observer) {
        let grace = self.options.kill_after.max(DELIVERY_MIN);
        let late = deadline.map(|at| at.max(self.clock.now()).after(grace));
        let one = &mut self.slots[slot.0];
        one.streams.publish();
        one.phase = Phase::Publishing { late };
        loop {
            let wake = self.advance();
            if matches!(self.slots[slot.0].phase, Phase::Idle) {
                return;
            }
            self.wait_for(wake, observer);
        }
    }

    /// Waits for a time or for a signal, and may come back in between.
    pub fn wait(&mut self, until: Time, observer: &mut dyn Observer) {
        self.wait_for(Some(until), observer);
    }

    /// Does in every slot what is due by now. When something is due next.
    fn advance(&mut self) -> Option<Time> {
        let mut wake = None;
        for at in 0..self.slots.len() {
            wake = earlier(wake, self.advance_slot(at));
        }
        wake
    }

    fn advance_slot(&mut self, at: usize) -> Option<Time> {
        match &self.slots[at].phase {
            Phase::Idle => None,
            Phase::Running(_) => self.advance_running(at),
            Phase::Draining(_) => self.advance_draining(at),
            Phase::Sweeping { .. } => self.advance_sweeping(at),
            Phase::Publishing { .. } => self.advance_publishing(at),
        }
    }

    fn advance_running(&mut self, at: usize) -> Option<Time> {
        let now = self.clock.now();
        let (options, interrupt) = (self.options, self.interrupt);
        let Slot { streams, tree, command, status, asks_by, phase, .. } = &mut self.slots[at];
        let Phase::Running(running) = phase else { return None };
        let cut_at = running.cut_at.filter(|_| !running.timed_out && interrupt.is_none());
        if status.is_none() && cut_at.is_some_and(|at| at <= now) {
            running.timed_out = true;
            let grace = match options.cut_by {
                Signal::SIGKILL => Duration::ZERO,
                _ => options.kill_after,
            };
            running.kill_at = Some(now.after(grace));
            *asks_by = options.cut_by;
            tree.ask_group(options.cut_by);
            running.sent.push(options.cut_by);
        }
        if let Some(interrupt) = interrupt {
            let grace = patience(&options, interrupt);
            running.kill_at = running.kill_at.or(Some(interrupt.at.after(grace)));
        }
        let insists = interrupt.is_some_and(|interrupt| interrupt.insists);
        let kills = insists || running.kill_at.is_some_and(|at| at <= now);
        if status.is_none() && kills && running.killed.is_none() {
            running.killed = Some(now);
            tree.signal(Signal::SIGKILL);
            if running.timed_out && !running.sent.contains(&Signal::SIGKILL) {
                running.sent.push(Signal::SIGKILL);
            }
        }
        let lost_at = running.killed.map(|at| at.after(KILLED));
        let is_lost = lost_at.is_some_and(|at| at <= now);
        if status.is_none() && !is_lost {
            let cut_at = running.cut_at.filter(|_| !running.timed_out && interrupt.is_none());
            return earlier(cut_at, lost_at.or(running.kill_at));
        }
        *command = None;
        streams.command_is_gone();
        let drained = now.after(DRAIN);
        // A command that was late already is not waited for without end.
        let patience = running.timed_out.then(|| now.after(options.kill_after).max(drained));
        let sent = std::mem::take(&mut running.sent);
        let exit = Exit { status: *status, timed_out: running.timed_out, sent };
        let eof_max = now.after(EOF_MAX);
        *phase = Phase::Draining(Draining { exit, drained, eof_max, patience, over: false });
        self.advance_draining(at)
    }

    fn advance_draining(&mut self, at: usize) -> Option<Time> {
        let now = self.clock.now();
        let is_interrupted = self.interrupt.is_some();
        let Phase::Draining(Draining { drained, eof_max, patience, .. }) = self.slots[at].phase
        else {
            return None;
        };
        let is_late = drained <= now;
        let streams = &mut self.slots[at].streams;
        let mut over = streams.are_over() || (is_late && is_interrupted);
        if !over && is_late && streams.are_paid() {
            over = eof_max <= now || self.may_be_held_open(at);
        }
        if !over && patience.is_some_and(|until| until <= now) {
            self.slots[at].streams.give_up();
            over = true;
        }
        if let Phase::Draining(draining) = &mut self.slots[at].phase {
            draining.over = over;
        }
        match (over, is_late) {
            (true, _) => None,
            (false, false) => Some(drained),
            (false, true) => earlier(patience, Some(eof_max).filter(|at| now < *at)),
        }
    }

    /// Whether something that the command started may still hold its streams open.
    fn may_be_held_open(&mut self, at: usize) -> bool {
        self.reap(true);
        !cfg!(target_os = "linux") || self.slots[at].is_left()
    }

    fn advance_sweeping(&mut self, at: usize) -> Option<Time> {
        self.reap(true);
        let now = self.clock.now();
        let insists = self.insists();
        let slot = &mut self.slots[at];
        let is_left = slot.is_left();
        let Phase::Sweeping { kill_at, settled, survivors, over } = &mut slot.phase else {
            return None;
        };
        if !is_left {
            *over = true;
            return None;
        }
        let kills = insists || *kill_at <= now;
        if !kills {
            slot.tree.ask_others(slot.asks_by);
            return Some(if now < *settled { (*settled).min(*kill_at) } else { *kill_at });
        }
        slot.tree.signal(Signal::SIGKILL);
        let gone_at = kill_at.after(KILLED);
        if gone_at <= now || !cfg!(target_os = "linux") {
            (*survivors, *over) = (cfg!(target_os = "linux"), true);
        }
        Some(gone_at)
    }

    fn advance_publishing(&mut self, at: usize) -> Option<Time> {
        let interrupted = self.interrupt.map(|one| one.at.after(patience(&self.options, one)));
        let (insists, now) = (self.insists(), self.clock.now());
        let slot = &mut self.slots[at];
        let Phase::Publishing { late } = slot.phase else { return None };
        let until = earlier(interrupted, late);
        let over = slot.streams.are_over() || insists;
        if !over && until.is_some_and(|until| until <= now) {
            slot.streams.give_up();
        } else if !over {
            return until;
        }
        slot.phase = Phase::Idle;
        None
    }

    /// One wait for whatever comes first.
    fn wait_for(&mut self, until: Option<Time>, observer: &mut dyn Observer) {
        /// What a descriptor is for.
        enum For {
            Guard(usize),
            Stream(usize, usize),
        }
        let mut ready = Vec::new();
        let signalled = {
            let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
            let mut purposes = Vec::with_capacity(PLACES);
            for (at, slot) in self.slots.iter().enumerate() {
                if let Some(guard) = &slot.guard {
                    fds.push(PollFd::from_borrowed_fd(guard.as_fd(), PollFlags::IN));
                    purposes.push(For::Guard(at));
                }
                if matches!(slot.phase, Phase::Idle) {
                    continue;
                }
                for (place, want) in slot.streams.wants().into_iter().enumerate() {
                    if let Some((fd, flags)) = want {
                        fds.push(PollFd::from_borrowed_fd(fd, flags));
                        purposes.push(For::Stream(at, place));
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
                For::Guard(at) => self.hear_guard(at, true),
                For::Stream(at, place) => self.slots[at].streams.step(place),
            }
        }
        if signalled {
            self.hear_signals(observer);
        }
    }

    fn hear_signals(&mut self, observer: &mut dyn Observer) {
        let received = self.received();
        self.heed(received, observer);
    }

    fn heed(&mut self, mut received: Vec<Received>, observer: &mut dyn Observer) {
        let mut late = Vec::new();
        if goes_on(&received) {
            let everybody: Vec<_> = self.slots.iter().map(|slot| slot.tree.everybody()).collect();
            // Walking /proc took a while: a key may have stopped them again.
            received.extend(self.received());
            if goes_on(&received) {
                everybody.into_iter().for_each(|all| all.send(Signal::SIGCONT));
            }
        }
        let stops = self.stops;
        for (at, one) in received.iter().enumerate() {
            // Who is to go on by now, or has stopped and gone on, need not stop.
            let is_over = goes_on(&received[at..]) || self.stops > stops;
            match one.signal {
                Signal::SIGTSTP if is_over => {}
                Signal::SIGTSTP => {
                    self.receive(one, observer);
                    // The kernel does not stop a process whose process group is orphaned, and nobody
                    // would continue it: without a SIGCONT by now, we were not stopped.
                    let since = self.received();
                    if !goes_on(&since) {
                        self.slots.iter().for_each(|slot| slot.tree.signal(Signal::SIGCONT));
                    }
                    late.extend(since);
                }
                Signal::SIGCHLD => self.reap(!is_over),
                _ => self.receive(one, observer),
            }
        }
        if !late.is_empty() {
            self.heed(late, observer);
        }
    }

    fn received(&self) -> Vec<Received> {
        std::iter::from_fn(|| self.signals.next()).collect()
    }

    fn receive(&mut self, received: &Received, observer: &mut dyn Observer) {
        let Received { signal, from } = *received;
        // What a key on the terminal sends, the terminal has sent to the whole group.
        let by_key = !self.own_group && received.is_key();
        match signal {
            Signal::SIGWINCH => {
                for slot in self.slots.iter().filter(|slot| !matches!(slot.phase, Phase::Idle)) {
                    slot.streams.resize();
                    // It may have asked for the size before that was right.
                    slot.signal_command(Signal::SIGWINCH);
                }
                return;
            }
            Signal::SIGTSTP => {
                self.slots.iter().for_each(|slot| slot.pass_on(Signal::SIGTSTP, by_key));
                return self.stop();
            }
            // Most programs die of these; only the command itself is meant.
            Signal::SIGUSR1 | Signal::SIGUSR2 => {
                self.slots.iter().for_each(|slot| slot.signal_command(signal));
            }
            _ if received.is_fatal() => {
                let now = self.clock.now();
                match &mut self.interrupt {
                    Some(interrupt) => interrupt.insists |= interrupt.at.after(SAME_REQUEST) <= now,
                    interrupt => {
                        *interrupt = Some(Interrupt { signal, from, at: now, insists: false });
                        let asks = signal == Signal::SIGTERM || received.is_alarm();
                        for slot in self.slots.iter_mut().filter(|slot| slot.command.is_some()) {
                            if asks {
                                slot.tree.ask_group(Signal::SIGTERM);
                            } else {
                                slot.pass_on(signal, by_key);
                                slot.pass_on(Signal::SIGCONT, by_key);
                            }
                        }
                    }
                }
            }
            _ => return,
        }
        let forwarded = !by_key && self.slots.iter().any(|slot| slot.command.is_some());
        observer.signalled(&self.clock, Signalled { signal, from, forwarded });
    }

    fn insists(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.insists)
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

    /// What the guard of a slot has to tell of its command.
    fn hear_guard(&mut self, at: usize, may_stop: bool) {
        while let Some(report) = self.slots[at].guard.as_mut().and_then(Guard::next) {
            match report {
                Report::Changed(pid, status) if self.slots[at].command == Some(pid) => {
                    self.changed(at, status, may_stop);
                }
                Report::Changed(..) => {}
                // The guard was killed: nobody can say what became of the command.
                Report::Gone => {
                    let slot = &mut self.slots[at];
                    if slot.command.is_some() {
                        slot.status =
                            slot.status.or(Some(ExitStatus::from_raw(Signal::SIGKILL as i32)));
                    }
                }
            }
        }
    }

    /// The command of a slot has ended, or was stopped.
    fn changed(&mut self, at: usize, status: ExitStatus, may_stop: bool) {
        let slot = &mut self.slots[at];
        if status.stopped_signal().is_none() {
            slot.status = Some(status);
            slot.tree.command_is_gone();
        } else if may_stop && !self.own_group && !slot.is_timed {
            // A command that stops gives the terminal back; so do we. One that is timed is waited
            // for no longer than that.
            self.stop();
        }
    }

    /// Stops this process until it gets SIGCONT. Time stands still meanwhile.
    fn stop(&mut self) {
        self.stops += 1;
        self.clock.pause(|| take_default_action(Signal::SIGTSTP));
    }
}

impl Slot {
    /// Something has come to its end here, and nobody has asked for it yet.
    fn is_over(&self) -> bool {
        match &self.phase {
            Phase::Draining(draining) => draining.over,
            Phase::Sweeping { over, .. } => *over,
            _ => false,
        }
    }

    /// Whether anything that the command started is left.
    fn is_left(&self) -> bool {
        match &self.guard {
            Some(guard) => guard.has_children(),
            None => self.tree.is_left(),
        }
    }

    /// To those that a key on the terminal has not reached; or to those that it would.
    fn pass_on(&self, signal: Signal, by_key: bool) {
        match by_key {
            true => self.tree.signal_others(signal),
            false => self.tree.signal_group(signal),
        }
    }

    fn signal_command(&self, signal: Signal) {
        if let Some(command) = self.command {
            let _ = kill(command, signal);
        }
    }
}

/// How long commands have to end after an interrupt.
fn patience(options: &Options, interrupt: Interrupt) -> Duration {
    match interrupt.from {
        Sender::Terminal => options.kill_after.max(CLEAN_UP),
        Sender::Process => options.kill_after,
    }
}

/// Whether the last of these signals says to go on, and not to stop.
fn goes_on(received: &[Received]) -> bool {
    let mut signals = received.iter().rev().map(|one| one.signal);
    signals.find(|one| matches!(one, Signal::SIGCONT | Signal::SIGTSTP)) == Some(Signal::SIGCONT)
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

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
