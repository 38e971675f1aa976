//! The signals that this process gets while commands run, and which of them are forwarded.

use std::time::Duration;

use nix::sys::signal::Signal;
use redial_core::Time;

use super::slot::{Phase, Slot};
use super::{Options, Reactor};
use crate::observer::{Observer, Signalled};
use crate::signals::{Received, Sender, take_default_action};

/// How long a command may clean up after Ctrl-C. A second one kills it at once.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// Signals that come within this time are one request. When a window closes, the terminal and the shell
/// both send SIGHUP.
const SAME_REQUEST: Duration = Duration::from_millis(100);

/// A signal that asks this process, and so all its commands, to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupt {
    pub(super) received: Received,
    at: Time,
    pub(super) is_repeated: bool,
    /// Commands have got it.
    is_forwarded: bool,
}

impl Interrupt {
    /// When commands that have not ended by themselves get SIGKILL.
    pub(super) fn kill_at(&self, options: &Options) -> Time {
        self.at.after(options.drain).after(match self.received.from {
            Sender::Terminal => options.kill_after.max(CLEAN_UP),
            Sender::Process => options.kill_after,
        })
    }

    pub(super) fn is_forwarded(&self) -> bool {
        self.is_forwarded
    }

    /// When commands get the signal.
    fn forward_at(&self, options: &Options) -> Time {
        if self.is_repeated { self.at } else { self.at.after(options.drain) }
    }

    /// Forwards the signal to the command of a slot.
    pub(super) fn forward(&self, slot: &mut Slot, own_group: bool) {
        let Received { signal, .. } = self.received;
        if signal == Signal::SIGTERM || self.received.is_alarm() {
            slot.tree.ask_group(Signal::SIGTERM);
        } else {
            let by_key = !own_group && self.received.is_key();
            slot.forward(signal, by_key);
            slot.forward(Signal::SIGCONT, by_key);
        }
    }
}

impl Reactor {
    pub(super) fn handle_signals(&mut self, observer: &mut dyn Observer) {
        let mut received = self.received();
        while !received.is_empty() {
            received = self.handle(received, observer);
        }
    }

    /// Returns the signals that have come in the meantime.
    fn handle(
        &mut self,
        mut received: Vec<Received>,
        observer: &mut dyn Observer,
    ) -> Vec<Received> {
        let mut late = Vec::new();
        if ends_with_cont(&received) {
            let processes: Vec<_> = self.slots.iter().map(|slot| slot.tree.processes()).collect();
            // Walking /proc took a while, in which Ctrl-Z may have stopped them again.
            received.extend(self.received());
            if ends_with_cont(&received) {
                for (slot, processes) in self.slots.iter().zip(&processes) {
                    slot.tree.signal_these(processes, Signal::SIGCONT);
                }
            }
        }
        let stops = self.stops;
        for (at, one) in received.iter().enumerate() {
            // A later SIGCONT, or one that has ended another stop, ends this stop too.
            let is_over = ends_with_cont(&received[at..]) || self.stops > stops;
            match one.signal {
                Signal::SIGTSTP if is_over => {}
                Signal::SIGTSTP => {
                    self.receive(one, observer);
                    // The kernel does not stop a process of an orphaned process group. Without a SIGCONT
                    // by now we were not stopped, and nobody would continue the commands.
                    let since = self.received();
                    if !ends_with_cont(&since) {
                        self.slots.iter().for_each(|slot| slot.tree.signal(Signal::SIGCONT));
                    }
                    late.extend(since);
                }
                Signal::SIGCHLD => self.reap(!is_over),
                _ => self.receive(one, observer),
            }
        }
        late
    }

    fn received(&self) -> Vec<Received> {
        std::iter::from_fn(|| self.signals.next()).collect()
    }

    fn receive(&mut self, received: &Received, observer: &mut dyn Observer) {
        let Received { signal, from } = *received;
        // The terminal has sent the signal of a key to the whole foreground process group.
        let by_key = !self.own_group && received.is_key();
        match signal {
            Signal::SIGWINCH => {
                for slot in self.slots.iter().filter(|slot| !matches!(slot.phase, Phase::Idle)) {
                    slot.streams.resize();
                    // The kernel's own SIGWINCH may have come before the pseudo-terminal was resized.
                    slot.signal_command(Signal::SIGWINCH);
                }
                return;
            }
            Signal::SIGTSTP => {
                self.slots.iter().for_each(|slot| slot.forward(Signal::SIGTSTP, by_key));
                return self.stop();
            }
            // Most programs die of these, so only the command itself gets them.
            Signal::SIGUSR1 | Signal::SIGUSR2 => {
                self.slots.iter().for_each(|slot| slot.signal_command(signal));
            }
            _ if received.is_fatal() => self.interrupt_by(*received),
            _ => return,
        }
        let forwarded = !by_key && self.slots.iter().any(|slot| slot.command.is_some());
        observer.signalled(&self.clock, Signalled { signal, from, forwarded });
    }

    fn interrupt_by(&mut self, received: Received) {
        let now = self.clock.now();
        if let Some(interrupt) = &mut self.interrupt {
            interrupt.is_repeated |= interrupt.at.after(SAME_REQUEST) <= now;
            return;
        }
        let interrupt = Interrupt { received, at: now, is_repeated: false, is_forwarded: false };
        self.interrupt = Some(interrupt);
        self.forward_when_drained(now);
    }

    /// Forwards the interrupt once commands have had their time to end by themselves. Returns when that is,
    /// if it is still to come.
    pub(super) fn forward_when_drained(&mut self, now: Time) -> Option<Time> {
        let options = &self.options;
        let interrupt = self.interrupt.as_mut().filter(|interrupt| !interrupt.is_forwarded)?;
        let at = interrupt.forward_at(options);
        if now < at {
            return Some(at);
        }
        interrupt.is_forwarded = true;
        let interrupt = *interrupt;
        for slot in self.slots.iter_mut().filter(|slot| slot.command.is_some()) {
            interrupt.forward(slot, self.own_group);
        }
        None
    }

    /// Stops this process, and its clock, until SIGCONT.
    pub(super) fn stop(&mut self) {
        self.stops += 1;
        self.clock.pause(|| take_default_action(Signal::SIGTSTP));
    }
}

/// Whether the last SIGTSTP or SIGCONT among these is a SIGCONT.
fn ends_with_cont(received: &[Received]) -> bool {
    let mut signals = received.iter().rev().map(|one| one.signal);
    signals.find(|one| matches!(one, Signal::SIGCONT | Signal::SIGTSTP)) == Some(Signal::SIGCONT)
}
