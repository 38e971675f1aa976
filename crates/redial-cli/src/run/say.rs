//! What redial says about a run, on standard error: nothing as long as everything is as it should
//! be; a line for each failed attempt, and one at the end.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::countdown::Countdown;
use super::screen::Screen;
use crate::args::Progress;
use crate::visible::visible;

const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Quiet,
    Normal,
    Verbose,
}

pub(super) struct Say {
    level: Level,
    /// Signs and a countdown, for a person who watches.
    is_watched: bool,
    screen: Screen,
    countdown: Option<Countdown>,
}

/// The sign that a line begins with on a terminal.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    Failed,
    Flaky,
    Note,
}

impl Say {
    pub(super) fn new(level: Level, progress: Progress) -> Self {
        let screen = Screen::new();
        let is_watched = match progress {
            Progress::Always => true,
            Progress::Never => false,
            Progress::Auto => screen.erases(),
        };
        Self { level, is_watched, screen, countdown: None }
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.level == Level::Verbose
    }

    /// `parts` as one line: the first says what it is about.
    pub(super) fn line(&mut self, sign: Sign, attempt: &str, parts: &[String]) {
        if self.level >= Level::Normal {
            self.print(&self.drawn(sign, attempt, parts));
        }
    }

    /// What is redial's own doing: also for who wants to hear nothing else.
    pub(super) fn error(&mut self, attempt: &str, parts: &[String]) {
        self.print(&self.drawn(Sign::Failed, attempt, parts));
    }

    /// A line that is there while redial waits.
    pub(super) fn waiting(&mut self, attempt: &str, parts: &[String], delay: Duration) {
        if self.level < Level::Normal {
            return;
        }
        let line = self.drawn(Sign::Failed, attempt, parts);
        if self.is_watched && delay >= Countdown::SHORTEST && self.screen.is_ours() {
            self.countdown = Some(Countdown::new(line, delay));
        } else {
            self.print(&line);
        }
    }

    /// Draws the countdown, if there is one: how long until it is to be drawn again.
    pub(super) fn tick(&mut self, left: Duration) -> Option<Duration> {
        if !self.screen.is_ours() {
            self.waited();
        }
        let countdown = self.countdown.as_ref()?;
        countdown.draw(&mut self.screen, left);
        Some(countdown.interval())
    }

    /// The wait is over.
    pub(super) fn waited(&mut self) {
        if let Some(countdown) = self.countdown.take() {
            countdown.finish(&mut self.screen);
        }
    }

    /// Something that is wrong with redial's own affairs, and harms the command in no way.
    pub(super) fn warn(&mut self, message: &str) {
        if self.level >= Level::Normal {
            self.waited();
            self.print(&format!("{YELLOW}redial: warning:{YELLOW:#} {}", visible(message)));
        }
    }

    /// A line that is none of ours, for whoever reads standard error by machine.
    pub(super) fn raw(&mut self, line: &str) {
        // The command may have left a line unfinished, which ours would have ended.
        let start = if self.level == Level::Quiet { "\n" } else { "" };
        self.screen.plain(&format!("{start}{line}"));
    }

    /// Something for whoever asked for more.
    pub(super) fn detail(&mut self, message: &str) {
        if self.is_verbose() {
            self.print(&format!("{DIM}redial: {}{DIM:#}", visible(message)));
        }
    }

    /// What is not watched is a plain line, for logs.
    fn print(&mut self, line: &str) {
        match self.is_watched {
            true => self.screen.line(line),
            false => self.screen.plain(line),
        }
    }

    fn drawn(&self, sign: Sign, attempt: &str, parts: &[String]) -> String {
        let parts: Vec<_> = parts.iter().map(|part| visible(part)).collect();
        if !self.is_watched {
            let about =
                if attempt.is_empty() { String::new() } else { format!("attempt {attempt}: ") };
            return format!("redial: {about}{}", parts.join("; "));
        }
        let (style, sign) = match sign {
            Sign::Failed => (RED, "✗"),
            Sign::Flaky => (YELLOW, "✓"),
            Sign::Note => (DIM, "·"),
        };
        let rest = match parts.split_first() {
            Some((first, rest)) if !rest.is_empty() => {
                format!("{first}{DIM} · {}{DIM:#}", rest.join(" · "))
            }
            _ => parts.concat(),
        };
        match attempt {
            "" => format!("{style}{sign}{style:#} {rest}"),
            _ => format!("{style}{sign} {attempt}{style:#}  {rest}"),
        }
    }
}
