//! Waits for whatever comes: the end of the command, a signal, output, a deadline. It never looks
//! whether something has happened; it is told.

use std::ffi::OsString;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use redial_core::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{WaitOptions, WaitStatus, wait};

use super::clock::Clock;
use super::log::Log;
use super::signals::{Received, Signals, short_name, suffer};
use super::spawn::{self, Command};
use super::streams::{PLACES, Streams};
use super::tree::Tree;
use crate::events::{Event, Sender, Signalled};

/// How long what the command's children may still write is waited for, once the command is gone.
const DRAIN: Duration = Duration::from_millis(100);
/// How long the command may clean up after a key on the terminal. A second press is the way to cut
/// it short.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// Signals that come together are one wish: the terminal's and the shell's when a window closes.
const SAME_WISH: Duration = Duration::from_millis(100);
/// After so long, a process that was just being started is one that can be asked to end.
const SETTLED: Duration = Duration::from_millis(100);
/// How long a process that was killed may take to go.
const KILLED: Duration = Duration::from_secs(10);

pub(super) struct Supervisor {
    pub(super) clock: Clock,
    pub(super) log: Log,
    signals: Signals,
    tree: Tree,
    /// Without a terminal the command gets a process group of its own.
    own_group: bool,
    kill_after: Duration,
    command: Option<Pid>,
    status: Option<WaitStatus>,
    /// The command is cut at some time.
    is_timed: bool,
    /// How often redial was stopped.
    stops: u32,
    ended_by: Option<Ended>,
}

/// A signal has ended the run.
#[derive(Clone, Copy)]
struct Ended {
    signal: Signal,
    from: Sender,
    at: Time,
    /// It came again.
    insists: bool,
}

/// How the command came to its end.
pub(super) struct Ending {
    /// None where it has not: it is not ours to kill, or does not hear of anything.
    pub(super) status: Option<WaitStatus>,
    pub(super) timed_out: bool,
}

impl Supervisor {
    pub(super) fn new(clock: Clock, log: Log, kill_after: Duration) -> nix::Result<Self> {
        Ok(Self {
            clock,
            log,
            signals: Signals::watch()?,
            tree: Tree::adopt(),
            own_group: !has_terminal(),
            kill_after,
            command: None,
            status: None,
            is_timed: false,
            stops: 0,
            ended_by: None,
        })
    }

    /// The signal that ends the run, if one has come.
    pub(super) fn ended_by(&self) -> Option<Signal> {
        self.ended_by.map(|ended| ended.signal)
    }

    /// Whether that was a key on the terminal.
    pub(super) fn ended_by_key(&self) -> bool {
        self.ended_by.is_some_and(|ended| ended.from == Sender::Terminal)
    }

    pub(super) fn start(
        &mut self,
        command: &Command,
        variables: &[(&str, OsString)],
        streams: &spawn::Streams,
    ) -> Result<Pid, Errno> {
        let mask = self.signals.mask_of_command();
        let pid = command.start(variables, streams, self.own_group, mask)?;
        self.tree.plant(pid, self.own_group);
        (self.command, self.status) = (Some(pid), None);
        Ok(pid)
    }

    /// Until the command is gone and what it wrote has gone its way. It is made to go at `cut_at`,
    /// and when redial itself is.
    pub(super) fn attend(&mut self, streams: &mut Streams, cut_at: Option<Time>) -> Ending {
        self.is_timed = cut_at.is_some();
        let mut timed_out = false;
        let mut killed: Option<Time> = None;
        let mut kill_at = None;
        let status = loop {
            if self.status.is_some() {
                break self.status;
            }
            let now = self.clock.now();
            if !timed_out && self.ended_by.is_none() && cut_at.is_some_and(|at| at <= now) {
                timed_out = true;
                kill_at = Some(now.after(self.kill_after));
                self.tree.ask_group();
            }
            if let Some(ended) = self.ended_by {
                kill_at = kill_at.or(Some(ended.at.after(self.patience(ended))));
            }
            let kills = self.insists() || kill_at.is_some_and(|at| at <= now);
            if kills && killed.is_none() {
                killed = Some(now);
                self.tree.signal(Signal::SIGKILL);
            }
            let lost_at = killed.map(|at| at.after(KILLED));
            if lost_at.is_some_and(|at| at <= now) {
                break None;
            }
            let cut_at = cut_at.filter(|_| !timed_out && self.ended_by.is_none());
            self.turn(Some(streams), earlier(cut_at, lost_at.or(kill_at)));
        };
        self.command = None;
        streams.command_is_gone();
        let gone = self.clock.now();
        let drained = gone.after(DRAIN);
        // What is late already is not waited for without end.
        let patience = timed_out.then(|| gone.after(self.kill_after).max(drained));
        while !streams.are_over() {
            let now = self.clock.now();
            let late = drained <= now;
            if late && (streams.are_paid() || self.ended_by.is_some()) {
                break;
            }
            if patience.is_some_and(|until| until <= now) {
                streams.give_up();
                break;
            }
            self.turn(Some(streams), if late { patience } else { Some(drained) });
        }
        Ending { status, timed_out }
    }

    /// Ends what the command left behind. Whether any of it is left after all.
    pub(super) fn sweep(&mut self, streams: &mut Streams) -> bool {
        self.reap(true);
        if !self.tree.is_left() {
            return false;
        }
        let now = self.clock.now();
        let mut kill_at = now.after(self.kill_after);
        let settled = now.after(SETTLED);
        // Where nobody tells us when they have gone, they go now.
        if !cfg!(target_os = "linux") {
            kill_at = now;
        }
        while self.tree.is_left() {
            let now = self.clock.now();
            let kills = self.insists() || kill_at <= now;
            if !kills {
                self.tree.ask_others();
            } else {
                self.tree.signal(Signal::SIGKILL);
                if kill_at.after(KILLED) <= now || !cfg!(target_os = "linux") {
                    return cfg!(target_os = "linux");
                }
            }
            let until = match kills {
                true => kill_at.after(KILLED),
                false if now < settled => settled.min(kill_at),
                false => kill_at,
            };
            self.turn(Some(streams), Some(until));
            self.reap(true);
        }
        false
    }

    /// Until what was held has come out, or it is too late: for the run, or for whoever asked us to
    /// end.
    pub(super) fn publish(&mut self, streams: &mut Streams, deadline: Option<Time>) {
        streams.publish();
        let late = deadline.map(|at| at.max(self.clock.now()).after(self.kill_after));
        while !streams.are_over() && !self.insists() {
            let ended = self.ended_by.map(|ended| ended.at.after(self.patience(ended)));
            let until = earlier(ended, late);
            if until.is_some_and(|until| until <= self.clock.now()) {
                streams.give_up();
                break;
            }
            self.turn(Some(streams), until);
        }
    }

    /// Waits for a time or for a signal that ends the run, and comes back in between.
    pub(super) fn wait(&mut self, until: Time) {
        self.turn(None, Some(until));
    }

    /// One wait for whatever comes first.
    fn turn(&mut self, mut streams: Option<&mut Streams>, until: Option<Time>) {
        let mut ready = [false; PLACES];
        let signalled = {
            let wants = streams.as_deref().map(Streams::wants).unwrap_or_default();
            let mut fds = Vec::with_capacity(1 + PLACES);
            let mut places = Vec::with_capacity(PLACES);
            fds.push(PollFd::new(&self.signals, PollFlags::IN));
            for (place, want) in wants.into_iter().enumerate() {
                if let Some((fd, flags)) = want {
                    fds.push(PollFd::from_borrowed_fd(fd, flags));
                    places.push(place);
                }
            }
            let timeout = until.map(|until| timespec(until.since(self.clock.now())));
            // An error is a signal that came in between; the next turn has it.
            let _ = poll(&mut fds, timeout.as_ref());
            for (fd, place) in fds[1..].iter().zip(places) {
                ready[place] = !fd.revents().is_empty();
            }
            !fds[0].revents().is_empty()
        };
        if let Some(streams) = streams.as_deref_mut() {
            for (place, _) in ready.iter().enumerate().filter(|(_, ready)| **ready) {
                streams.step(place);
            }
        }
        if signalled {
            let mut received = self.received();
            if goes_on(&received) {
                let everybody = self.tree.everybody();
                // Looking for them took a while: a key may have stopped them again.
                received.extend(self.received());
                if goes_on(&received) {
                    everybody.send(Signal::SIGCONT);
                }
            }
            let stops = self.stops;
            for (at, one) in received.iter().enumerate() {
                // Who is to go on by now, or has stopped and gone on, need not stop.
                let is_over = goes_on(&received[at..]) || self.stops > stops;
                match one.signal {
                    Signal::SIGTSTP if is_over => {}
                    Signal::SIGCHLD => self.reap(!is_over),
                    _ => self.receive(one, streams.as_deref()),
                }
            }
        }
    }

    fn received(&self) -> Vec<Received> {
        std::iter::from_fn(|| self.signals.next()).collect()
    }

    fn receive(&mut self, received: &Received, streams: Option<&Streams>) {
        // What a key on the terminal sends, the terminal has sent to the whole group.
        let by_key = !self.own_group && received.is_key();
        let forwarded = !by_key;
        match received.signal {
            Signal::SIGWINCH => {
                if let Some(streams) = streams {
                    streams.resize();
                    // It may have looked before the size was right.
                    self.signal_command(Signal::SIGWINCH);
                }
                return;
            }
            Signal::SIGTSTP => {
                self.pass_on(Signal::SIGTSTP, by_key);
                return self.stop();
            }
            // Most programs die of these; only the command itself is meant.
            signal @ (Signal::SIGUSR1 | Signal::SIGUSR2) => self.signal_command(signal),
            signal if received.is_fatal() => {
                let now = self.clock.now();
                match &mut self.ended_by {
                    Some(ended) => ended.insists |= ended.at.after(SAME_WISH) <= now,
                    ended => {
                        *ended =
                            Some(Ended { signal, from: received.from, at: now, insists: false });
                        match self.command {
                            None => {}
                            Some(_) if signal == Signal::SIGTERM || received.is_alarm() => {
                                self.tree.ask_group();
                            }
                            Some(_) => {
                                self.pass_on(signal, by_key);
                                self.pass_on(Signal::SIGCONT, by_key);
                            }
                        }
                    }
                }
            }
            _ => return,
        }
        self.log.event(&self.clock, || {
            Event::Signalled(Signalled {
                signal: short_name(received.signal).to_owned(),
                from: received.from,
                forwarded: forwarded && self.command.is_some(),
            })
        });
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

    fn insists(&self) -> bool {
        self.ended_by.is_some_and(|ended| ended.insists)
    }

    fn patience(&self, ended: Ended) -> Duration {
        match ended.from {
            Sender::Terminal => self.kill_after.max(CLEAN_UP),
            Sender::Process => self.kill_after,
        }
    }

    /// Buries every process that is gone, also those that were left to us; stops with a command that
    /// has stopped, if it may.
    fn reap(&mut self, may_stop: bool) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            if self.command != Some(Pid::from_raw(pid.as_raw_nonzero().get())) {
                continue;
            }
            if !status.stopped() {
                self.status = Some(status);
                self.tree.root_is_gone();
            } else if may_stop && !self.own_group && !self.is_timed {
                // A command that stops gives the terminal back; so do we. One that is timed is
                // waited for no longer than that.
                self.stop();
            }
        }
    }

    /// Stops redial until it is told to go on. Time stands still meanwhile.
    fn stop(&mut self) {
        self.stops += 1;
        self.clock.pause(|| suffer(Signal::SIGTSTP));
    }
}

/// Whether the last word was to go on, and not to stop.
fn goes_on(received: &[Received]) -> bool {
    let mut words = received.iter().rev().map(|one| one.signal);
    words.find(|word| matches!(word, Signal::SIGCONT | Signal::SIGTSTP)) == Some(Signal::SIGCONT)
}

/// Whether there is a terminal whose keys send signals to our process group. The command stays in
/// that group then: it may read from the terminal, and Ctrl-C and Ctrl-Z reach it as ever.
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
