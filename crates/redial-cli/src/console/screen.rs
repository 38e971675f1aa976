//! Standard error as a place where a line can be drawn over.

use std::time::Duration;

use redial_policy::Stream;

use crate::text::{clip, columns};
use redial_process::Output;

/// What to do without: most terminals are wider.
const USUAL: usize = 80;

/// Less than this of a line says nothing.
const LEAST: usize = 12;

/// How long a line may take. Whoever does not read it does not keep us from anything else.
const PATIENCE: Duration = Duration::from_secs(1);

/// Erases from the cursor to the end of the screen. Nothing is below our line, except the rest of
/// it where a window became narrower and the terminal broke the line anew.
const ERASE: &str = "\x1b[J";

/// What is too long is cut at the edge, and not broken: the window may become narrower between the
/// look at its width and the drawing.
const CUT: &str = "\x1b[?7l";
const BREAK: &str = "\x1b[?7h";

pub(crate) struct Screen {
    output: Option<Output>,
    /// A line got stuck: the next ones are not waited for.
    stuck: bool,
    /// It is a terminal that knows how to erase.
    erases: bool,
    /// How many columns the line takes that stands there to be drawn over.
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

    /// Whether nobody else has the terminal: what is drawn over in the background may be the line
    /// that somebody types.
    pub(crate) fn is_ours(&self) -> bool {
        let front = rustix::termios::tcgetpgrp(rustix::stdio::stderr());
        !self.erases || front.is_ok_and(|front| front == rustix::process::getpgrp())
    }

    /// A line for good, on a row of its own also where the command has left one unfinished.
    pub(crate) fn line(&mut self, text: &str) {
        let start = self.row();
        let text = match self.erases {
            true => format!("{ERASE}{}", shown(text)),
            false => format!("{}{}", shown(text), self.spaces_after(columns(&plain(text)))),
        };
        self.drawn = 0;
        self.write(&format!("{start}{text}\n"));
    }

    /// A line that another one will take the place of: cut to fit, because one that is broken in two
    /// cannot be drawn over. `tail` is left out where there is hardly room for anything else.
    pub(crate) fn draw(&mut self, text: &str, tail: &str) {
        let room = width() - 1;
        let tail = if columns(tail) + LEAST <= room { tail } else { "" };
        let room = room - columns(tail);
        let plain = plain(text);
        let fits = columns(&plain) <= room;
        let text = if fits { shown(text) } else { clip(&plain, room) };
        let start = self.row();
        let now = columns(&plain).min(room) + columns(tail);
        let line = match self.erases {
            // The cursor goes back to the start: when the terminal breaks the line anew, that is
            // where its first row is, whatever became of the end.
            true => format!("{start}{CUT}{text}{tail}{BREAK}{ERASE}\r"),
            false => format!("{start}{text}{tail}{}", self.spaces_after(now)),
        };
        self.drawn = now.max(1);
        self.write(&line);
    }

    /// Takes the line away that stands there to be drawn over.
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

    /// A line for a log.
    pub(crate) fn plain(&mut self, text: &str) {
        self.write(&format!("{}\n", shown(text)));
    }

    /// In one write. Where that fails there is nobody left to tell.
    fn write(&mut self, text: &str) {
        let output = self.output.get_or_insert_with(|| Output::open(Stream::Stderr));
        let patience = if self.stuck { Duration::ZERO } else { PATIENCE };
        self.stuck = output.write_within(text.as_bytes(), patience).is_err();
    }

    /// To the start of the line that is drawn over, or of a new one: as many spaces as a row has end
    /// where they began only if the row was empty.
    fn row(&self) -> String {
        match self.drawn {
            0 if self.erases => format!("{}\r", " ".repeat(width())),
            0 => String::new(),
            _ => "\r".to_owned(),
        }
    }

    /// What takes away the rest of a longer line where nothing can be erased.
    fn spaces_after(&self, now: usize) -> String {
        " ".repeat(self.drawn.saturating_sub(now))
    }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    match size.map_or(0, |size| usize::from(size.ws_col)) {
        0 => USUAL,
        columns => columns,
    }
}

/// With its styles, or without them where nobody wants any.
pub(crate) fn shown(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => plain(text),
        _ => text.to_owned(),
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
