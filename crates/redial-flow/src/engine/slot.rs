//! The places in which attempts run, one at a time in each.

use std::io;

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
    pub(super) fn make_slots(&mut self, observer: &mut dyn Observer) -> Result<(), EngineError> {
        let no_file = |error: io::Error| {
            EngineError::System(format!("no file for the output of a job can be had: {error}"))
        };
        if let Some(waker) = self.sources.take_waker().map_err(no_file)? {
            self.reactor.wake_on(waker);
        }
        // What is opened for a moment, to start a command or to read items, needs room beside the slots.
        let room: Vec<_> = (0..DESCRIPTORS_FREE).map_while(|_| io::pipe().ok()).collect();
        let wanted = self.options.slots.get() as usize;
        while self.slots.len() < wanted {
            let spare = match Written::pair() {
                Ok(pair) => Some(pair),
                Err(error) if self.slots.is_empty() => return Err(no_file(error)),
                Err(error) => {
                    self.fewer_slots(wanted, &error.to_string(), observer);
                    break;
                }
            };
            let streams = Streams::new(Stdin::Null, true, &Rules::default());
            match self.reactor.guarded_slot(streams, self.options.guard) {
                Ok(id) => self.slots.push(Slot {
                    id,
                    state: SlotState::Idle,
                    spare,
                    control: Control::create(),
                }),
                Err(nix::errno::Errno::ENOSYS) if self.slots.is_empty() => {
                    let streams = Streams::new(Stdin::Null, true, &Rules::default());
                    let id = self.reactor.only_slot(streams);
                    let (state, control) = (SlotState::Idle, Control::create());
                    self.slots.push(Slot { id, state, spare, control });
                    if wanted > 1 {
                        observer.warned("only Linux runs more than one job at a time; one runs");
                    }
                    break;
                }
                Err(error) if self.slots.is_empty() => {
                    let why = ending::fault_of_the_system(error).unwrap_or(error.desc());
                    let message = format!("cannot start a guard for commands: {why}");
                    return Err(EngineError::System(message));
                }
                Err(error) => {
                    let why = ending::fault_of_the_system(error).unwrap_or(error.desc());
                    self.fewer_slots(wanted, why, observer);
                    break;
                }
            }
        }
        drop(room);
        Ok(())
    }

    fn fewer_slots(&self, wanted: usize, why: &str, observer: &mut dyn Observer) {
        let count = self.slots.len();
        observer.warned(&format!("{count} of {wanted} jobs run at a time: {why}"));
    }
}
