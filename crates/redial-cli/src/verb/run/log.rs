//! Events: written to the event log as they happen, and collected for the report at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use redial_policy::Stream;
use redial_process::{Clock, Output};

use crate::environment::NamedFile;
use crate::events::{Event, Line, VERSION};
use crate::verb::report::Collector;

pub(super) struct Log {
    run: String,
    sink: Option<Sink>,
    pub(super) collector: Option<Collector>,
}

/// How long to wait for a reader of standard output that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_millis(100);

struct Sink {
    name: String,
    to: Destination,
    /// Whether the last line was written in part.
    torn: bool,
    /// Why a line is missing.
    error: Option<String>,
    is_reported: bool,
}

enum Destination {
    Stdout(Output),
    File(File),
}

impl Log {
    /// A log to a file, or to standard output for `-`, and a collector for a report.
    pub(super) fn open(
        run: &str,
        events: Option<&NamedFile>,
        collector: Option<Collector>,
    ) -> Result<Self, String> {
        let sink = events.map(Sink::open).transpose()?;
        Ok(Self { run: run.to_owned(), sink, collector })
    }

    /// Whether events are written or collected.
    pub(super) fn is_on(&self) -> bool {
        self.sink.is_some() || self.collector.is_some()
    }

    pub(super) fn event(&mut self, clock: &Clock, event: impl FnOnce() -> Event) {
        if !self.is_on() {
            return;
        }
        let t = clock.elapsed().as_secs_f64();
        let line = Line { v: VERSION, run: self.run.clone(), t, event: event() };
        if let Some(sink) = &mut self.sink {
            sink.line(&line);
        }
        if let Some(collector) = &mut self.collector {
            collector.add(&line);
        }
    }

    /// Writes and collects nothing more.
    pub(super) fn close(&mut self) {
        (self.sink, self.collector) = (None, None);
    }

    /// Why the log is incomplete, if it is. Reported once.
    pub(super) fn error(&mut self) -> Option<String> {
        let sink = self.sink.as_mut().filter(|sink| !sink.is_reported)?;
        let error = sink.error.take()?;
        sink.is_reported = true;
        Some(format!("the event log {} is incomplete: {error}", sink.name))
    }
}

impl Sink {
    fn open(NamedFile { by, path }: &NamedFile) -> Result<Self, String> {
        let name = path.display().to_string();
        let to = match path.to_str() {
            Some("-") => Destination::Stdout(Output::open(Stream::Stdout)),
            _ => Destination::File(
                open(path).map_err(|reason| format!("{by}: cannot write to {name}: {reason}"))?,
            ),
        };
        Ok(Self { name, to, torn: false, error: None, is_reported: false })
    }

    /// One write a line, so that a KILL of redial leaves whole lines.
    fn line(&mut self, line: &Line) {
        let mut bytes = Vec::with_capacity(256);
        if self.torn {
            bytes.push(b'\n');
        }
        if let Err(error) = serde_json::to_writer(&mut bytes, line) {
            self.error = Some(error.to_string());
            return;
        }
        bytes.push(b'\n');
        let written = match &mut self.to {
            Destination::Stdout(output) => {
                let is_stuck = self.error.is_some() || self.is_reported;
                let timeout = if is_stuck { Duration::ZERO } else { WRITE_TIMEOUT };
                output.write_within(&bytes, timeout).map(|()| bytes.len()).map_err(io::Error::from)
            }
            Destination::File(file) => file.write(&bytes),
        };
        match written {
            Ok(length) if length == bytes.len() => self.torn = false,
            Ok(length) => {
                self.torn |= length > 0;
                self.error = Some("a line was cut short".to_owned());
            }
            Err(error) => {
                // A part of the line may have been written before the timeout.
                self.torn |= matches!(self.to, Destination::Stdout(_));
                self.error = Some(error.to_string());
            }
        }
    }
}

/// Without blocking: a FIFO without a reader is refused, and one whose reader is too slow loses lines.
fn open(path: &Path) -> Result<File, String> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let is_pipe = || path.metadata().is_ok_and(|file| file.file_type().is_fifo());
    options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() && is_pipe() => {
            "nobody reads from this pipe; start its reader first".to_owned()
        }
        _ => error.to_string(),
    })
}
