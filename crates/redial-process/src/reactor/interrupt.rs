//! The signals that this process gets while commands run: passed on, obeyed, or both.

use std::time::Duration;

use nix::sys::signal::Signal;
use redial_core::Time;

use super::slot::{Phase, Slot};
use super::{Options, Reactor};
use crate::observer::{Observer, Signalled};
use crate::signals::{Received, Sender, take_default_action};

/// How long a command may clean up after a key on the terminal. A second press cuts it short.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// Signals that come together are one request: the terminal's and the shell's when a window closes.
const SAME_REQUEST: Duration = Duration::from_millis(100);

/// A signal that asks this process, and so all its commands, to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interrupt {
    pub(super) received: Received,
    at: Time,
    pub(super) is_repeated: bool,
}

impl Interrupt {
    /// When commands that have not ended by themselves get SIGKILL.
    pub(super) fn kill_at(&self, options: &Options) -> Time {
        self.at.after(match self.received.from {
            Sender::Terminal => options.kill_after.max(CLEAN_UP),
            Sender::Process => options.kill_after,
        })
    }

    /// Tells the command of a slot.
    pub(super) fn pass_on(&self, slot: &mut Slot, own_group: bool) {
        let Received { signal, .. } = self.received;
        if signal == Signal::SIGTERM || self.received.is_alarm() {
            slot.tree.ask_group(Signal::SIGTERM);
        } else {
            let by_key = !own_group && self.received.is_key();
            slot.pass_on(signal, by_key);
            slot.pass_on(Signal::SIGCONT, by_key);
        }
    }
}

impl Reactor {
    pub(super) fn hear_signals(&mut self, observer: &mut dyn Observer) {
        let mut received = self.received();
        while !received.is_empty() {
            received = self.obey(received, observer);
        }
    }

    /// Signals that came meanwhile.
    fn obey(&mut self, mut received: Vec<Received>, observer: &mut dyn Observer) -> Vec<Received> {
        let mut late = Vec::new();
        if ends_with_cont(&received) {
            let processes: Vec<_> = self.slots.iter().map(|slot| slot.tree.processes()).collect();
            // Walking /proc took a while: a key may have stopped them again.
            received.extend(self.received());
            if ends_with_cont(&received) {
                for (slot, processes) in self.slots.iter().zip(&processes) {
                    slot.tree.signal_these(processes, Signal::SIGCONT);
                }
            }
        }
        let stops = self.stops;
        for (at, one) in received.iter().enumerate() {
            // A SIGCONT that came since, or that has ended another stop, ends this one too.
            let is_over = ends_with_cont(&received[at..]) || self.stops > stops;
            match one.signal {
                Signal::SIGTSTP if is_over => {}
                Signal::SIGTSTP => {
                    self.receive(one, observer);
                    // The kernel does not stop a process whose process group is orphaned, and nobody
                    // would continue it: without a SIGCONT by now, we were not stopped.
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
        // What a key on the terminal sends, the terminal has sent to the whole group.
        let by_key = !self.own_group && received.is_key();
        match signal {
            Signal::SIGWINCH => {
                for slot in self.slots.iter().filter(|slot| !matches!(slot.phase, Phase::Idle)) {
                    slot.streams.resize();
                    // It may have asked for the size before the pseudo-terminal had the new one.
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
        let interrupt = Interrupt { received, at: now, is_repeated: false };
        self.interrupt = Some(interrupt);
        for slot in self.slots.iter_mut().filter(|slot| slot.command.is_some()) {
            interrupt.pass_on(slot, self.own_group);
        }
    }

    /// Stops this process until it gets SIGCONT. Time stands still meanwhile.
    pub(super) fn stop(&mut self) {
        self.stops += 1;
        self.clock.pause(|| take_default_action(Signal::SIGTSTP));
    }
}

/// Whether the last of these that stops or continues is SIGCONT.
fn ends_with_cont(received: &[Received]) -> bool {
    let mut signals = received.iter().rev().map(|one| one.signal);
    signals.find(|one| matches!(one, Signal::SIGCONT | Signal::SIGTSTP)) == Some(Signal::SIGCONT)
}
