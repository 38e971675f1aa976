//! Standard error as a terminal, on which a line can be overwritten.

use std::time::Duration;

use redial_policy::Stream;

use crate::text::{clip, columns};
use redial_process::Output;

/// The width of a terminal that does not tell its own.
const DEFAULT_WIDTH: usize = 80;

/// How many columns of a line have to be left beside its tail.
const TEXT_MIN: usize = 12;

/// How long to wait for a reader of standard error that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// ED: erases from the cursor to the end of the screen. Nothing is below our line, except the rest of
/// it where a window became narrower and the terminal wrapped the line again.
const ERASE: &str = "\x1b[J";

/// DECAWM off and on: a line that is too long is cut at the edge and not wrapped. The window may become
/// narrower after its width was read.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

pub(crate) struct Screen {
    output: Option<Output>,
    /// Whether the last write timed out. The next one does not wait then.
    stuck: bool,
    /// Whether it is a terminal that understands escape sequences.
    erases: bool,
    /// How many columns the line takes that is to be overwritten.
    drawn: usize,
}

impl Screen {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let erases = rustix::termios::isatty(rustix::stdio::stderr()) && !dumb;
        Self { output: None, stuck: false, erases, drawn: 0 }
    }

    pub(crate) fn erases(&self) -> bool {
        self.erases
    }

    /// Whether we are in the foreground process group. In the background we could overwrite a line that
    /// somebody types.
    pub(crate) fn is_ours(&self) -> bool {
        let front = rustix::termios::tcgetpgrp(rustix::stdio::stderr());
        !self.erases || front.is_ok_and(|front| front == rustix::process::getpgrp())
    }

    /// Prints a line that stays, on a row of its own even where the command has left a line unfinished.
    pub(crate) fn line(&mut self, text: &str) {
        let start = self.row();
        let text = match self.erases {
            true => format!("{ERASE}{}", shown(text)),
            false => format!("{}{}", shown(text), self.spaces_after(columns(&plain(text)))),
        };
        self.drawn = 0;
        self.write(&format!("{start}{text}\n"));
    }

    /// Prints a line that the next one overwrites: cut to fit, because a wrapped line cannot be
    /// overwritten. `tail` is left out where it would leave too little of the text.
    pub(crate) fn draw(&mut self, text: &str, tail: &str) {
        let room = width() - 1;
        let tail = if columns(tail) + TEXT_MIN <= room { tail } else { "" };
        let room = room - columns(tail);
        let plain = plain(text);
        let fits = columns(&plain) <= room;
        let text = if fits { shown(text) } else { clip(&plain, room) };
        let start = self.row();
        let now = columns(&plain).min(room) + columns(tail);
        let line = match self.erases {
            // The cursor goes back to the start: when the terminal wraps the line again, it stays on the
            // first row of it.
            true => format!("{start}{NO_WRAP}{text}{tail}{WRAP}{ERASE}\r"),
            false => format!("{start}{text}{tail}{}", self.spaces_after(now)),
        };
        self.drawn = now.max(1);
        self.write(&line);
    }

    /// Erases the line that is to be overwritten.
    #[inline(always)]
    pub(crate) fn erase(&mut self) {
        if self.drawn > 0 {
            self.erase_drawn();
        }
    }

    fn erase_drawn(&mut self) {
        let blank = match self.erases {
            true => ERASE.to_owned(),
            false => format!("{}\r", self.spaces_after(0)),
        };
        self.drawn = 0;
        self.write(&format!("\r{blank}"));
    }

    /// Prints a line for a log.
    pub(crate) fn plain(&mut self, text: &str) {
        self.write(&format!("{}\n", shown(text)));
    }

    /// In one write. An error of standard error cannot be reported anywhere.
    fn write(&mut self, text: &str) {
        let output = self.output.get_or_insert_with(|| Output::open(Stream::Stderr));
        let timeout = if self.stuck { Duration::ZERO } else { WRITE_TIMEOUT };
        self.stuck = output.write_within(text.as_bytes(), timeout).is_err();
    }

    /// Moves to the start of the line that is overwritten, or of an empty one: after as many spaces as a
    /// row has columns and a carriage return the cursor is on the same row only if that was empty.
    fn row(&self) -> String {
        match self.drawn {
            0 if self.erases => format!("{}\r", " ".repeat(width())),
            0 => String::new(),
            _ => "\r".to_owned(),
        }
    }

    /// Spaces over the rest of a longer line, where it cannot be erased.
    fn spaces_after(&self, now: usize) -> String {
        " ".repeat(self.drawn.saturating_sub(now))
    }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    match size.map_or(0, |size| usize::from(size.ws_col)) {
        0 => DEFAULT_WIDTH,
        columns => columns,
    }
}

/// With its styles, unless `--color` or NO_COLOR turns them off.
pub(crate) fn shown(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => plain(text),
        _ => text.to_owned(),
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
