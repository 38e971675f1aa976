//! The three streams of an attempt, as far as redial stands in them.

use std::os::fd::{BorrowedFd, OwnedFd};

use redial_policy::{Rules, Stream, Watch};
use rustix::event::PollFlags;

use super::input::Input;
use super::relay::Relay;
use super::spawn;

/// What passes through redial while an attempt runs.
pub(super) struct Streams {
    pub(super) input: Input,
    outputs: [Option<Relay>; 2],
    /// What the rules saw of it.
    pub(super) watch: Watch,
}

/// How many places there are to wait for something.
pub(super) const PLACES: usize = 3;

impl Streams {
    pub(super) fn new(input: Input, rules: &Rules) -> Self {
        Self { input, outputs: [None, None], watch: rules.watch() }
    }

    /// The streams of the next attempt.
    pub(super) fn open(
        &mut self,
        rules: &Rules,
        hold: bool,
        is_last: bool,
    ) -> rustix::io::Result<spawn::Streams> {
        self.watch = rules.watch();
        let input = self.input.open(is_last)?;
        let output = self.output(0, Stream::Stdout, rules, hold)?;
        let errors = self.output(1, Stream::Stderr, rules, false)?;
        Ok([input, output, errors])
    }

    fn output(
        &mut self,
        place: usize,
        stream: Stream,
        rules: &Rules,
        hold: bool,
    ) -> rustix::io::Result<Option<OwnedFd>> {
        self.outputs[place] = None;
        if !hold && !rules.watches(stream) {
            return Ok(None);
        }
        let (relay, theirs) = Relay::open(stream, hold)?;
        self.outputs[place] = Some(relay);
        Ok(Some(theirs))
    }

    /// What to wait for, and where it is.
    pub(super) fn wants(&self) -> [Option<(BorrowedFd<'_>, PollFlags)>; PLACES] {
        let [output, errors] = &self.outputs;
        [
            self.input.wants(),
            output.as_ref().and_then(Relay::wants),
            errors.as_ref().and_then(Relay::wants),
        ]
    }

    /// Something is there at a place.
    pub(super) fn step(&mut self, place: usize) {
        match place {
            0 => self.input.step(),
            _ => {
                if let Some(relay) = &mut self.outputs[place - 1] {
                    relay.step(&mut self.watch);
                }
            }
        }
    }

    /// The command itself is gone: it reads nothing more, and has written what it has written.
    pub(super) fn command_is_gone(&mut self) {
        self.input.close();
        self.relays().for_each(Relay::command_is_gone);
    }

    /// Whether all that the command itself wrote has gone its way.
    pub(super) fn are_paid(&self) -> bool {
        self.outputs.iter().flatten().all(Relay::is_paid)
    }

    /// Whether nothing comes any more.
    pub(super) fn are_over(&self) -> bool {
        self.outputs.iter().flatten().all(Relay::is_over)
    }

    /// No more attempts: what was held comes out.
    pub(super) fn publish(&mut self) {
        self.relays().for_each(Relay::publish);
    }

    /// Leaves what is still open to whoever holds the other end.
    pub(super) fn close(&mut self) {
        self.input.close();
        self.outputs = [None, None];
    }

    pub(super) fn resize(&self) {
        self.outputs.iter().flatten().for_each(Relay::resize);
    }

    /// What has not been taken by now is lost.
    pub(super) fn give_up(&mut self) {
        self.relays().for_each(Relay::give_up);
    }

    /// Why what the command wrote is lost, if it is.
    pub(super) fn lost(&self) -> Option<&str> {
        self.outputs.iter().flatten().find_map(Relay::lost)
    }

    fn relays(&mut self) -> impl Iterator<Item = &mut Relay> {
        self.outputs.iter_mut().flatten()
    }
}
