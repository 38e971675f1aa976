//! The three streams of an attempt, as far as they pass through this process.

use std::os::fd::{BorrowedFd, OwnedFd};

use redial_policy::{Rules, Stream, Watch};
use rustix::event::PollFlags;

use super::backlog::Backlog;
use super::input::{Input, Stdin};
use super::output;
use super::relay::Relay;
use super::store::Store;
use crate::command::Stdio;

/// Where an output stream of a command goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sink {
    /// To the same stream of this process, which the command inherits unless a rule watches it.
    #[default]
    Pass,
    /// To the same stream of this process, once no other attempt follows.
    Hold,
    /// To the caller, who takes it by [`Streams::take_kept`].
    Keep,
}

/// Where the output of commands goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sinks {
    /// Standard output.
    pub stdout: Sink,
    /// Standard error.
    pub stderr: Sink,
    /// Whether to keep the standard error of every failed attempt until the run gives up, and not that
    /// of the last attempt alone.
    pub backlog: bool,
}

/// The streams of the attempts of one command.
#[derive(Debug)]
pub struct Streams {
    input: Input,
    outputs: [Option<Relay>; 2],
    /// The standard error of the last attempt, where that is held.
    held_errors: Option<Store>,
    /// The standard error of the attempts before it.
    backlog: Backlog,
    /// What is written before the standard error of the last attempt.
    recalled: Vec<Store>,
    /// What the rules saw of the output.
    pub watch: Watch,
}

/// How many streams there are to poll.
pub(crate) const STREAMS: usize = 3;

impl Streams {
    /// The streams of a command that these rules judge. With `only_once` no input is kept for a second
    /// attempt.
    pub fn new(stdin: Stdin, only_once: bool, rules: &Rules) -> Self {
        Self {
            input: Input::of(stdin, only_once),
            outputs: [None, None],
            held_errors: None,
            backlog: Backlog::default(),
            recalled: Vec::new(),
            watch: rules.watch(),
        }
    }

    /// The command's ends of the streams of the next attempt, for [`Reactor::start`](crate::Reactor::start).
    ///
    /// # Errors
    /// Where no pipe or pseudo-terminal can be had.
    pub fn open(&mut self, rules: &Rules, sinks: Sinks, is_last: bool) -> std::io::Result<Stdio> {
        self.watch = rules.watch();
        self.held_errors = None;
        let input = self.input.open(is_last)?;
        if share_one_pipe(rules, sinks) {
            let (relay, theirs) = Relay::open(Stream::Stderr, sinks.stderr)?;
            self.outputs = [None, Some(relay)];
            return Ok([input, Some(theirs.try_clone()?), Some(theirs)]);
        }
        let output = self.output(0, Stream::Stdout, rules, sinks.stdout)?;
        let errors = self.output(1, Stream::Stderr, rules, sinks.stderr)?;
        Ok([input, output, errors])
    }

    fn output(
        &mut self,
        place: usize,
        stream: Stream,
        rules: &Rules,
        sink: Sink,
    ) -> std::io::Result<Option<OwnedFd>> {
        self.outputs[place] = None;
        if sink == Sink::Pass && !rules.watches(stream) {
            return Ok(None);
        }
        let (relay, theirs) = Relay::open(stream, sink)?;
        self.outputs[place] = Some(relay);
        Ok(Some(theirs))
    }

    /// The descriptor to poll of each stream, and for what.
    pub(crate) fn interests(&self) -> [Option<(BorrowedFd<'_>, PollFlags)>; STREAMS] {
        let [output, errors] = &self.outputs;
        [
            self.input.interest(),
            output.as_ref().and_then(Relay::interest),
            errors.as_ref().and_then(Relay::interest),
        ]
    }

    /// The descriptor of this stream is ready.
    pub(crate) fn step(&mut self, stream: usize) {
        match stream {
            0 => self.input.step(),
            _ => {
                if let Some(relay) = &mut self.outputs[stream - 1] {
                    relay.step(&mut self.watch);
                }
            }
        }
    }

    /// The command itself has ended: it reads nothing more, and has written all of its output.
    pub(crate) fn command_ended(&mut self) {
        self.input.close();
        self.relays().for_each(Relay::command_ended);
    }

    /// Whether all that the command itself wrote has been written or stored.
    pub(crate) fn are_delivered(&self) -> bool {
        self.outputs.iter().flatten().all(Relay::is_delivered)
    }

    /// Whether all of them have come to EOF and are written.
    pub(crate) fn are_over(&self) -> bool {
        self.outputs.iter().flatten().all(Relay::is_over)
    }

    /// Why the next attempt would not get the standard input that this one got, if so.
    pub fn input_lost(&self) -> Option<&str> {
        self.input.lost()
    }

    /// What the last command wrote to a stream whose sink is [`Sink::Keep`].
    pub fn take_kept(&mut self, stream: Stream) -> Option<Store> {
        let place = usize::from(stream == Stream::Stderr);
        self.outputs[place].take().and_then(Relay::into_held)
    }

    /// Adds the standard error of a failed attempt to the backlog, between two texts of the caller's.
    pub fn keep_errors(&mut self, before: &str, after: &str) {
        let wrote = self.held_errors.take();
        self.backlog.keep(before, wrote.as_ref(), after);
    }

    /// Prepares the backlog to be written, with the lines that the caller has `printed` since after it.
    /// Returns why some of it is lost, if it is.
    pub fn recall_errors(&mut self, printed: &str) -> Option<String> {
        let (backlog, lost) = self.backlog.take();
        self.recalled = backlog;
        let mut last = Store::default();
        let kept = last.append(printed.as_bytes());
        self.recalled.push(last);
        self.recalled.extend(self.held_errors.take());
        self.recalled.retain(|store| store.length() > 0);
        if !self.recalled.is_empty() {
            self.outputs[1].get_or_insert_with(|| Relay::without_command(Stream::Stderr));
        }
        lost.or_else(|| kept.err().map(|error| error.to_string()))
    }

    /// Begins to write what was held, because no attempt follows.
    pub(crate) fn publish(&mut self) {
        let [output, errors] = &mut self.outputs;
        if let Some(output) = output {
            output.publish(Vec::new());
        }
        if let Some(errors) = errors {
            errors.publish(std::mem::take(&mut self.recalled));
        }
    }

    /// Closes our ends, also where a child of the command still has the other end open.
    pub fn close(&mut self) {
        self.input.close();
        let [_, errors] = std::mem::take(&mut self.outputs);
        self.held_errors = errors.and_then(Relay::into_held).or(self.held_errors.take());
    }

    pub(crate) fn resize(&self) {
        self.outputs.iter().flatten().for_each(Relay::resize);
    }

    /// Drops what the reader has not read by now.
    pub(crate) fn give_up(&mut self) {
        self.relays().for_each(Relay::give_up);
    }

    /// Why output of the command is lost, if some is.
    pub fn output_lost(&self) -> Option<&str> {
        self.outputs.iter().flatten().find_map(Relay::lost)
    }

    fn relays(&mut self) -> impl Iterator<Item = &mut Relay> {
        self.outputs.iter_mut().flatten()
    }
}

/// Whether the command gets one pipe, or one pseudo-terminal, for both output streams. Where both go to
/// one file, as with `2>&1`, two pipes would lose the order of what it writes. All of it counts as
/// standard error then.
fn share_one_pipe(rules: &Rules, sinks: Sinks) -> bool {
    let are_treated_alike = match (sinks.stdout, sinks.stderr) {
        (Sink::Pass, Sink::Pass) => rules.watches(Stream::Stdout) && rules.watches(Stream::Stderr),
        // The backlog is of standard error alone.
        (Sink::Hold, Sink::Hold) => !sinks.backlog,
        _ => false,
    };
    are_treated_alike && !rules.distinguish_streams() && output::is_one_file()
}
