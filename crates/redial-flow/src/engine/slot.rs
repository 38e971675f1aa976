//! The places in which attempts run, one at a time in each.

use std::io;

use nix::errno::Errno;
use redial_core::Time;
use redial_policy::Rules;
use redial_process::{Control, SlotId, Stdin, Streams, ending};

use super::{Engine, EngineError, Observer, Written};
use crate::machine::TaskId;
use crate::record::Record;

/// How many pairs of descriptors stay free for what is opened for a moment.
const DESCRIPTORS_FREE: usize = 8;

/// A place for one attempt at a time.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: SlotId,
    pub(super) state: SlotState,
    /// What the last attempt wrote into, where that can be used again.
    pub(super) spare: Option<(Written, Written)>,
    pub(super) control: Option<Control>,
}

#[derive(Debug)]
pub(super) enum SlotState {
    Idle,
    /// Its start is being written down.
    Claimed,
    Starting(Started),
    Running(Started),
    /// The attempt is over; what it left behind is being ended.
    Sweeping(Box<Ended>),
}

#[derive(Debug)]
pub(super) struct Started {
    pub(super) task: TaskId,
    pub(super) attempt: u32,
    pub(super) at: Time,
    /// On the clock of the reactor.
    pub(super) cut_by_deadline_at: Option<Time>,
    pub(super) stdout: Written,
    pub(super) stderr: Written,
}

#[derive(Debug)]
pub(super) struct Ended {
    pub(super) task: TaskId,
    pub(super) record: Record,
    pub(super) stdout: Written,
    pub(super) stderr: Written,
}

impl Engine {
    /// Makes the first slot: where there is none, nothing can be run.
    pub(super) fn make_first_slot(&mut self) -> Result<(), EngineError> {
        if let Some(waker) = self.sources.take_waker().map_err(no_file)? {
            self.reactor.wake_on(waker);
        }
        if !self.slots.is_empty() {
            return Ok(());
        }
        let slot = self.new_slot().map_err(|error| match error {
            NoSlot::File(error) => no_file(error),
            NoSlot::Guard(error) => {
                EngineError::System(format!("cannot start a guard for commands: {}", why(error)))
            }
        })?;
        self.slots.push(slot);
        Ok(())
    }

    /// Whether an attempt could run now.
    pub(super) fn has_free_slot(&self) -> bool {
        self.slots.len() < self.slots_max || self.idle_slot().is_some()
    }

    fn idle_slot(&self) -> Option<usize> {
        self.slots.iter().position(|slot| matches!(slot.state, SlotState::Idle))
    }

    /// A slot for an attempt. Each has a process beside it, so none is made before it is needed.
    pub(super) fn free_slot(&mut self, observer: &mut dyn Observer) -> Option<usize> {
        if let Some(idle) = self.idle_slot() {
            return Some(idle);
        }
        if self.slots.len() >= self.slots_max {
            return None;
        }
        match self.new_slot() {
            Ok(slot) => {
                self.slots.push(slot);
                Some(self.slots.len() - 1)
            }
            Err(error) => {
                let (count, wanted) = (self.slots.len(), self.slots_max);
                self.slots_max = count;
                observer.warned(&match error {
                    NoSlot::Guard(Errno::ENOSYS) => {
                        "only Linux runs more than one job at a time; one runs".to_owned()
                    }
                    NoSlot::Guard(error) => {
                        format!("{count} of {wanted} jobs run at a time: {}", why(error))
                    }
                    NoSlot::File(error) => {
                        format!("{count} of {wanted} jobs run at a time: {error}")
                    }
                });
                None
            }
        }
    }

    fn new_slot(&mut self) -> Result<Slot, NoSlot> {
        // What is opened for a moment, to start a command or to read items, needs room beside the slots.
        let _room: Vec<_> = (0..DESCRIPTORS_FREE).map_while(|_| io::pipe().ok()).collect();
        let spare = Some(Written::pair().map_err(NoSlot::File)?);
        let streams = || Streams::new(Stdin::Null, true, &Rules::default());
        let id = match self.reactor.guarded_slot(streams(), self.options.guard) {
            Err(Errno::ENOSYS) if self.slots.is_empty() => self.reactor.only_slot(streams()),
            made => made.map_err(NoSlot::Guard)?,
        };
        Ok(Slot { id, state: SlotState::Idle, spare, control: Control::create() })
    }
}

/// Why there is not another slot.
enum NoSlot {
    File(io::Error),
    Guard(Errno),
}

fn no_file(error: io::Error) -> EngineError {
    EngineError::System(format!("no file for the output of a job can be had: {error}"))
}

fn why(error: Errno) -> &'static str {
    ending::fault_of_the_system(error).unwrap_or(error.desc())
}
