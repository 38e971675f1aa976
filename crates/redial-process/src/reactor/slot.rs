//! A slot, where commands run one after the other, and the phases of each.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redial_core::Time;

use super::interrupt::Interrupt;
use super::{Exit, Options, earlier};
use crate::guard::{Guard, Report};
use crate::streams::Streams;
use crate::tree::Tree;

/// How long to wait for output of the command's children once the command itself has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// How long EOF may take where no child is left that holds the stream open. Output on a
/// pseudo-terminal passes through a kernel worker thread, which a busy machine delays.
const EOF_MAX: Duration = Duration::from_secs(10);
/// By then a process that was being forked has called `exec`, and can be sent a signal.
const EXEC_MAX: Duration = Duration::from_millis(100);
/// How long a process may take to disappear after SIGKILL.
const KILL_MAX: Duration = Duration::from_secs(10);
/// How long the reader of held output gets at least, however short [`Options::kill_after`] is.
const PUBLISH_MIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) streams: Streams,
    pub(super) tree: Tree,
    pub(super) guard: Option<Guard>,
    /// The command, until it has been reaped.
    pub(super) command: Option<Pid>,
    /// The result of the last start, until it is taken.
    pub(super) started: Option<Result<Pid, Errno>>,
    pub(super) status: Option<ExitStatus>,
    /// When the command is ended, if it still runs.
    pub(super) timeout_at: Option<Time>,
    /// The signal by which the processes of this attempt are asked to end.
    end_signal: Signal,
    pub(super) phase: Phase,
}

#[derive(Debug)]
pub(super) enum Phase {
    Idle,
    /// The guard was asked to start the command.
    Starting,
    /// The command runs.
    Running(Running),
    /// The command has ended; what it and its children wrote is still read.
    Draining(Draining),
    /// What the command left behind is ended.
    Sweeping(Sweeping),
    /// Held output is written.
    Publishing {
        until: Option<Time>,
    },
}

#[derive(Debug, Default)]
pub(super) struct Running {
    timed_out: bool,
    sent: Vec<Signal>,
    killed_at: Option<Time>,
    kill_at: Option<Time>,
}

#[derive(Debug)]
pub(super) struct Draining {
    pub(super) exit: Exit,
    drained_at: Time,
    eof_max: Time,
    /// When to give up on a command that has timed out.
    until: Option<Time>,
    pub(super) is_over: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sweeping {
    kill_at: Time,
    ask_again_at: Time,
    pub(super) survivors: bool,
    pub(super) is_over: bool,
}

/// What phases depend on.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) time: Time,
    pub(super) options: Options,
    pub(super) interrupt: Option<Interrupt>,
}

impl Now {
    fn kills_at_once(&self) -> bool {
        self.interrupt.is_some_and(|interrupt| interrupt.is_repeated)
    }
}

impl Slot {
    pub(super) fn new(streams: Streams, tree: Tree, guard: Option<Guard>) -> Self {
        Self {
            streams,
            tree,
            guard,
            command: None,
            started: None,
            status: None,
            timeout_at: None,
            end_signal: Signal::SIGTERM,
            phase: Phase::Idle,
        }
    }

    /// Takes the result of a start.
    pub(super) fn has_started(&mut self, started: Result<Pid, Errno>, own_group: bool) {
        self.phase = match started {
            Ok(pid) => {
                self.tree.command_started(pid, own_group);
                (self.command, self.status) = (Some(pid), None);
                self.end_signal = Signal::SIGTERM;
                Phase::Running(Running::default())
            }
            Err(_) => Phase::Idle,
        };
        self.started = Some(started);
    }

    pub(super) fn begin_sweep(&mut self, now: &Now) {
        // Only a subreaper, on Linux, learns when the last descendant is gone.
        let grace = if cfg!(target_os = "linux") { now.options.kill_after } else { Duration::ZERO };
        self.phase = Phase::Sweeping(Sweeping {
            kill_at: now.time.after(grace),
            ask_again_at: now.time.after(EXEC_MAX),
            survivors: false,
            is_over: false,
        });
    }

    pub(super) fn begin_publish(&mut self, deadline: Option<Time>, now: &Now) {
        let grace = now.options.kill_after.max(PUBLISH_MIN);
        self.streams.publish();
        self.phase = Phase::Publishing { until: deadline.map(|at| at.max(now.time).after(grace)) };
    }

    /// A phase is over, and its result has not been taken yet.
    pub(super) fn is_over(&self) -> bool {
        match &self.phase {
            Phase::Draining(draining) => draining.is_over,
            Phase::Sweeping(sweeping) => sweeping.is_over,
            _ => false,
        }
    }

    /// Whether the next step depends on whether children are left.
    pub(super) fn counts_children(&self, now: Time) -> bool {
        match &self.phase {
            Phase::Draining(draining) => draining.drained_at <= now,
            Phase::Sweeping(_) => true,
            _ => false,
        }
    }

    /// Does what is due by now. Returns when something is due next.
    pub(super) fn advance(&mut self, now: &Now) -> Option<Time> {
        match self.phase {
            Phase::Idle | Phase::Starting => None,
            Phase::Running(_) => self.advance_running(now),
            Phase::Draining(_) => self.advance_draining(now),
            Phase::Sweeping(_) => self.advance_sweeping(now),
            Phase::Publishing { until } => self.advance_publishing(until, now),
        }
    }

    fn advance_running(&mut self, now: &Now) -> Option<Time> {
        let Now { time, options, interrupt } = *now;
        let Self { streams, tree, command, status, timeout_at, end_signal, phase, .. } = self;
        let Phase::Running(running) = phase else { return None };
        let timeout_at = timeout_at.filter(|_| !running.timed_out && interrupt.is_none());
        if status.is_none() && timeout_at.is_some_and(|at| at <= time) {
            running.timed_out = true;
            let signal = options.timeout_signal;
            let grace = if signal == Signal::SIGKILL { Duration::ZERO } else { options.kill_after };
            running.kill_at = Some(time.after(grace));
            *end_signal = signal;
            tree.ask_group(signal);
            running.sent.push(signal);
        }
        if let Some(interrupt) = interrupt {
            running.kill_at = running.kill_at.or(Some(interrupt.kill_at(&options)));
        }
        let kills = now.kills_at_once() || running.kill_at.is_some_and(|at| at <= time);
        if status.is_none() && kills && running.killed_at.is_none() {
            running.killed_at = Some(time);
            tree.signal(Signal::SIGKILL);
            if running.timed_out && !running.sent.contains(&Signal::SIGKILL) {
                running.sent.push(Signal::SIGKILL);
            }
        }
        let gone_by = running.killed_at.map(|at| at.after(KILL_MAX));
        if status.is_none() && gone_by.is_none_or(|at| time < at) {
            let timeout_at = timeout_at.filter(|_| !running.timed_out);
            return earlier(timeout_at, gone_by.or(running.kill_at));
        }
        *command = None;
        streams.command_ended();
        let drained_at = time.after(DRAIN);
        let Running { timed_out, sent, .. } = std::mem::take(running);
        *phase = Phase::Draining(Draining {
            exit: Exit { status: *status, timed_out, sent },
            drained_at,
            eof_max: time.after(EOF_MAX),
            until: timed_out.then(|| time.after(options.kill_after).max(drained_at)),
            is_over: false,
        });
        self.advance_draining(now)
    }

    fn advance_draining(&mut self, now: &Now) -> Option<Time> {
        let Self { streams, phase, tree, guard, .. } = self;
        let Phase::Draining(draining) = phase else { return None };
        let Draining { drained_at, eof_max, until, .. } = *draining;
        let is_drained = drained_at <= now.time;
        draining.is_over = streams.are_over() || (is_drained && now.interrupt.is_some());
        if !draining.is_over && is_drained && streams.are_delivered() {
            // A surviving child may hold the stream open for ever, so that EOF never comes.
            let is_held_open = !cfg!(target_os = "linux") || anybody_left(guard, tree);
            draining.is_over = eof_max <= now.time || is_held_open;
        }
        if !draining.is_over && until.is_some_and(|until| until <= now.time) {
            streams.give_up();
            draining.is_over = true;
        }
        match (draining.is_over, is_drained) {
            (true, _) => None,
            (false, false) => Some(drained_at),
            (false, true) => earlier(until, Some(eof_max).filter(|at| now.time < *at)),
        }
    }

    fn advance_sweeping(&mut self, now: &Now) -> Option<Time> {
        let Phase::Sweeping(sweeping) = &mut self.phase else { return None };
        if !anybody_left(&self.guard, &self.tree) {
            sweeping.is_over = true;
            return None;
        }
        if !now.kills_at_once() && now.time < sweeping.kill_at {
            self.tree.ask_others(self.end_signal);
            let again = Some(sweeping.ask_again_at).filter(|at| now.time < *at);
            return earlier(again, Some(sweeping.kill_at));
        }
        self.tree.signal(Signal::SIGKILL);
        let gone_by = sweeping.kill_at.after(KILL_MAX);
        if gone_by <= now.time || !cfg!(target_os = "linux") {
            sweeping.survivors = cfg!(target_os = "linux");
            sweeping.is_over = true;
        }
        Some(gone_by)
    }

    fn advance_publishing(&mut self, until: Option<Time>, now: &Now) -> Option<Time> {
        let until = earlier(now.interrupt.map(|one| one.kill_at(&now.options)), until);
        if !self.streams.are_over() && !now.kills_at_once() {
            if until.is_none_or(|until| now.time < until) {
                return until;
            }
            self.streams.give_up();
        }
        self.phase = Phase::Idle;
        None
    }

    /// Reads what the guard has reported. Returns the status of its command, where that has changed.
    pub(super) fn read_guard(&mut self, own_group: bool) -> Option<ExitStatus> {
        while let Some(report) = self.guard.as_mut()?.next() {
            match report {
                Report::Started(started) => self.has_started(started, own_group),
                Report::Ran(pid, status) => {
                    self.has_started(Ok(pid), own_group);
                    return Some(status);
                }
                Report::Changed(pid, status) if self.command == Some(pid) => return Some(status),
                Report::Changed(..) => {}
                Report::Gone if matches!(self.phase, Phase::Starting) => {
                    self.has_started(Err(Errno::ESRCH), own_group);
                }
                // The guard was killed, so the command's status will never come. The next command must
                // not run beside it.
                Report::Gone if self.command.is_some() && self.status.is_none() => {
                    self.tree.kill_command();
                    return Some(ExitStatus::from_raw(Signal::SIGKILL as i32));
                }
                Report::Gone => {}
            }
        }
        None
    }

    /// Forwards a signal: one of a key to the processes outside of the terminal's foreground group,
    /// another to the process group of the command.
    pub(super) fn forward(&self, signal: Signal, by_key: bool) {
        match by_key {
            true => self.tree.signal_others(signal),
            false => self.tree.signal_group(signal),
        }
    }

    pub(super) fn signal_command(&self, signal: Signal) {
        if let Some(command) = self.command {
            let _ = kill(command, signal);
        }
    }
}

/// Whether anything that the command started is left.
fn anybody_left(guard: &Option<Guard>, tree: &Tree) -> bool {
    match guard {
        Some(guard) => guard.has_children(),
        None => tree.has_processes(),
    }
}
