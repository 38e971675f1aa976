//! What attempts wrote, passed on in one piece: to standard output and standard error, in the order of the items, or into
//! the files of `--output-dir`. What cannot be written is never lost in silence: nothing new starts, and it is told
//! whose output it was.

use std::io::{self, Write};
use std::path::Path;

use redial_flow::engine::{View, Written};
use redial_flow::flow::Place;
use redial_flow::machine::TaskId;
use redial_policy::Stream;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::held::Waiting;
use super::{Teller, Words};

/// How many of those whose output is lost are named.
const NAMED_MAX: usize = 5;

/// Output that could not be written.
#[derive(Debug)]
pub(super) struct Undelivered {
    /// What `write` said first, and of which file.
    why: Why,
    /// Whose it was: how many, and what the first are called.
    tasks: u64,
    names: Vec<String>,
}

#[derive(Debug)]
enum Why {
    /// EPIPE: the reader, such as `head`, has read enough.
    NobodyReads,
    Error(String),
}

impl Undelivered {
    /// What is told of it: why, and whose output is lost.
    pub(super) fn words(&self, words: Words) -> String {
        let why = match &self.why {
            Why::NobodyReads => "nobody reads standard output any more",
            Why::Error(error) => error,
        };
        let mut names = self.names.join(", ");
        if self.tasks > self.names.len() as u64 {
            names += " …";
        }
        format!("{why}; what {} printed is lost: {names}", words.of(self.tasks))
    }

    pub(super) fn is_closed_pipe(&self) -> bool {
        matches!(self.why, Why::NobodyReads)
    }
}

impl Teller {
    /// Passes on what a task wrote.
    pub(super) fn pass_on(
        &mut self,
        run: &View<'_>,
        task: TaskId,
        stdout: &Written,
        stderr: &Written,
        prints_stdout: bool,
    ) {
        if let (Some(directory), Some(item)) = (self.telling.output_dir.clone(), task.item) {
            let name = self.name(run, task);
            return self.write_files(&directory, item, &name, [stdout, stderr]);
        }
        if self.telling.keeps_order
            && let Some(item) = task.item
        {
            self.print_held(run, item);
            if item != self.next {
                let name = self.name(run, task);
                return self.hold(item, &name, [stdout, stderr]);
            }
        }
        if stdout.length() == 0 && stderr.length() == 0 {
            return;
        }
        self.board.clear();
        if prints_stdout && self.telling.words == Words::Tasks {
            // Standard output is for the outputs of the flow.
            let _ = stdout.copy_to(&mut io::stderr().lock());
            self.board.printed(Stream::Stderr, stdout.last());
        } else if prints_stdout && stdout.length() > 0 {
            let name = self.name(run, task);
            self.print(&name, |output| stdout.copy_to(output));
            self.board.printed(Stream::Stdout, stdout.last());
        }
        let _ = stderr.copy_to(&mut io::stderr().lock());
        self.board.printed(Stream::Stderr, stderr.last());
    }

    /// Writes `NUMBER.out` and `NUMBER.err` of an item.
    fn write_files(&mut self, directory: &Path, item: u32, name: &str, streams: [&Written; 2]) {
        let number = u64::from(item) + 1;
        for (ending, written) in ["out", "err"].into_iter().zip(streams) {
            let path = directory.join(format!("{number}.{ending}"));
            let file = std::fs::File::create(&path);
            if let Err(error) = file.and_then(|mut file| written.copy_to(&mut file)) {
                let why = format!("cannot write {}: {error}", path.display());
                return self.lose(Why::Error(why), name);
            }
        }
    }

    /// Holds back what an item wrote, until those before it are over.
    fn hold(&mut self, item: u32, name: &str, streams: [&Written; 2]) {
        if let Err(error) = self.held.hold(item, name, streams) {
            let why = format!("cannot hold output back for --keep-order: {error}");
            self.lose(Why::Error(why), name);
        }
    }

    /// Writes to standard output what a task printed. After an error nothing more is tried: what a reader gets has no
    /// hole in its middle.
    fn print(&mut self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.is_stdout_closed {
            return self.lose(Why::NobodyReads, name);
        }
        if let Err(error) = write(&mut Stdout) {
            self.is_stdout_closed = true;
            let why = match error.kind() {
                io::ErrorKind::BrokenPipe => Why::NobodyReads,
                _ => Why::Error(format!("cannot write to standard output: {error}")),
            };
            self.lose(why, name);
        }
    }

    /// The output of a task is lost; the first reason is the one that counts.
    fn lose(&mut self, why: Why, name: &str) {
        let lost = self.undelivered.get_or_insert_with(|| Undelivered {
            why,
            tasks: 0,
            names: Vec::new(),
        });
        lost.tasks += 1;
        if lost.names.len() < NAMED_MAX {
            lost.names.push(name.to_owned());
        }
    }

    /// An item is over: what was held back until then may be printed now.
    pub(super) fn release(&mut self, run: &View<'_>, task: TaskId) {
        if self.telling.keeps_order && task.item.is_some() {
            self.print_held(run, u32::MAX);
        }
    }

    /// Prints what was held back of the items up to this one, as far as all before them are over.
    fn print_held(&mut self, run: &View<'_>, end: u32) {
        let map = |place: &Place| matches!(place, Place::Map { .. });
        let Some(map) = run.prepared.flow.steps.iter().position(|step| map(&step.place)) else {
            return;
        };
        let is_over =
            |item| run.machine.item(map as u32, item).is_some_and(|state| state.is_finished());
        while self.next < end && is_over(self.next) {
            if let Some(waiting) = self.held.remove(self.next) {
                self.print_waiting(&waiting);
            }
            self.next += 1;
        }
    }

    /// Prints what is still held back, at the end.
    pub(super) fn print_all_held(&mut self) {
        while let Some(waiting) = self.held.remove_first() {
            self.print_waiting(&waiting);
        }
    }

    fn print_waiting(&mut self, waiting: &Waiting) {
        const STDOUT: usize = 0;
        const STDERR: usize = 1;
        self.board.clear();
        let held = std::mem::take(&mut self.held);
        if let Some(last) = held.last(waiting, STDOUT) {
            self.print(&waiting.name, |output| held.copy(waiting, STDOUT, output));
            self.board.printed(Stream::Stdout, Some(last));
        }
        let _ = held.copy(waiting, STDERR, &mut io::stderr().lock());
        self.board.printed(Stream::Stderr, held.last(waiting, STDERR));
        self.held = held;
        self.held.tidy();
    }
}

/// Standard output without the buffer of the standard library: what could not be written must not be tried again at
/// the exit.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let stdout = rustix::stdio::stdout();
        loop {
            match rustix::io::write(stdout, bytes) {
                Err(Errno::INTR) => {}
                // Somebody else has set O_NONBLOCK on the file description.
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::from_borrowed_fd(stdout, PollFlags::OUT)], None);
                }
                written => return written.map_err(io::Error::from),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
