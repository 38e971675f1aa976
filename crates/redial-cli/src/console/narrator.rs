//! What redial prints about a run, on standard error: nothing if the first attempt succeeds; otherwise a
//! line for each failed attempt, and one at the end.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use redial_policy::Diagnostic;

use super::countdown::Countdown;
use super::screen::{Screen, shown};
use crate::args::Progress;
use crate::visible::visible;

const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// How much to print.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Quiet,
    Normal,
    Verbose,
}

pub(crate) struct Narrator {
    level: Level,
    /// Whether to draw symbols and a countdown, for a person who watches.
    is_watched: bool,
    screen: Screen,
    countdown: Option<Countdown>,
    /// The lines since the last failed attempt, where they are held back.
    held: Option<String>,
    next_line: NextLine,
}

/// When a poll prints its next line, as a time since its start.
#[derive(Default)]
struct NextLine(Duration);

impl NextLine {
    /// The shortest interval in a log.
    const LOG_MIN: Duration = Duration::from_secs(10);
    /// The shortest interval on a terminal.
    const SCREEN_MIN: Duration = Duration::from_millis(100);

    /// Whether a line is due in a log: at the first look, and then whenever the time has doubled. A line
    /// for every look would fill the log of a CI job.
    fn is_due_in_log(&mut self, elapsed: Duration) -> bool {
        self.is_due(elapsed, elapsed.saturating_mul(2).max(Self::LOG_MIN))
    }

    fn is_due_on_screen(&mut self, elapsed: Duration) -> bool {
        self.is_due(elapsed, elapsed.saturating_add(Self::SCREEN_MIN))
    }

    fn is_due(&mut self, elapsed: Duration, next: Duration) -> bool {
        let is_due = elapsed >= self.0;
        if is_due {
            self.0 = next;
        }
        is_due
    }
}

/// The symbol that a line begins with on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    Failed,
    Flaky,
    Ready,
    Note,
}

impl Narrator {
    // Inlined, as all of this folder that `run` needs for a success: a call would be one more page to load.
    #[inline(always)]
    pub(crate) fn new(level: Level, progress: Progress, hold: bool) -> Self {
        let screen = Screen::new();
        let is_watched = match progress {
            Progress::Always => true,
            Progress::Never => false,
            Progress::Auto => screen.erases(),
        };
        let (held, next_line) = (hold.then(String::new), NextLine::default());
        Self { level, is_watched, screen, countdown: None, held, next_line }
    }

    /// The lines that were held back since the last call.
    pub(crate) fn take_held(&mut self) -> String {
        self.held.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Stops holding lines back, because the run is over. Returns those that were.
    #[inline(always)]
    pub(crate) fn release(&mut self) -> String {
        self.clear();
        self.held.take().unwrap_or_default()
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.level == Level::Verbose
    }

    /// Prints a line: what it is `about`, and its `parts`.
    pub(crate) fn line(&mut self, sign: Sign, about: &str, parts: &[String]) {
        if self.level >= Level::Normal {
            self.print(&self.drawn(sign, about, parts));
        }
    }

    /// Prints a line about what redial itself does, also with `--quiet`.
    pub(crate) fn error(&mut self, about: &str, parts: &[String]) {
        self.print(&self.drawn(Sign::Failed, about, parts));
    }

    /// Prints a line about a delay, with a countdown on a terminal.
    pub(crate) fn waiting(&mut self, about: &str, parts: &[String], delay: Duration) {
        if self.level < Level::Normal {
            return;
        }
        let line = self.drawn(Sign::Failed, about, parts);
        let is_shown = self.is_watched && self.held.is_none();
        if is_shown && delay >= Countdown::SHORTEST && self.screen.is_ours() {
            self.countdown = Some(Countdown::new(line, delay));
        } else {
            self.print(&line);
        }
    }

    /// Prints a line about a look that did not succeed, `elapsed` after the start of the poll. On a
    /// terminal the next one overwrites it.
    pub(crate) fn not_yet(
        &mut self,
        about: &str,
        parts: &[String],
        delay: Duration,
        elapsed: Duration,
    ) {
        let line = self.drawn(Sign::Note, about, parts);
        match self.level {
            Level::Quiet => {}
            Level::Verbose => self.print(&line),
            Level::Normal if self.is_live() && delay >= Countdown::SHORTEST => {
                self.countdown = Some(Countdown::new(line, delay));
            }
            Level::Normal if self.is_live() => {
                if self.next_line.is_due_on_screen(elapsed) {
                    self.screen.draw(&line, "");
                }
            }
            Level::Normal => {
                if self.next_line.is_due_in_log(elapsed) {
                    self.print(&line);
                }
            }
        }
    }

    /// Erases the line that would be overwritten.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.countdown = None;
        self.screen.erase();
    }

    /// Whether a line may be overwritten by the next one.
    fn is_live(&self) -> bool {
        self.is_watched && self.screen.is_ours()
    }

    /// Draws the countdown, if there is one. Returns when to draw it again.
    pub(crate) fn tick(&mut self, left: Duration) -> Option<Duration> {
        if !self.screen.is_ours() {
            self.waited();
        }
        let countdown = self.countdown.as_ref()?;
        countdown.draw(&mut self.screen, left);
        Some(countdown.interval())
    }

    /// The wait is over.
    pub(crate) fn waited(&mut self) {
        if let Some(countdown) = self.countdown.take() {
            countdown.finish(&mut self.screen);
        }
    }

    /// Prints a warning about redial itself, such as a log that cannot be written.
    pub(crate) fn warn(&mut self, message: &str) {
        if self.level >= Level::Normal {
            self.waited();
            self.show(&format!("{YELLOW}redial: warning:{YELLOW:#} {}", visible(message)));
        }
    }

    /// Prints the warnings of `redial check` about the policy.
    pub(crate) fn findings(&mut self, found: &[Diagnostic]) {
        for Diagnostic { kind, message, .. } in found {
            if self.level >= Level::Normal {
                let (name, message) = (kind.name(), visible(message));
                self.print(&format!("{YELLOW}redial: warning[{name}]:{YELLOW:#} {message}"));
            }
        }
    }

    /// Prints a line for a machine that reads standard error.
    pub(crate) fn raw(&mut self, line: &str) {
        // The command may have left its last line without a newline, and printed lines have ended it.
        let start = if self.level == Level::Quiet { "\n" } else { "" };
        self.screen.plain(&format!("{start}{line}"));
    }

    /// Prints a line with `--verbose`.
    #[inline(always)]
    pub(crate) fn detail(&mut self, message: impl FnOnce() -> String) {
        if self.is_verbose() {
            self.print(&format!("{DIM}redial: {}{DIM:#}", visible(&message())));
        }
    }

    fn print(&mut self, line: &str) {
        match &mut self.held {
            Some(held) => *held += &format!("{}\n", shown(line)),
            None => self.show(line),
        }
    }

    /// On a terminal a line may overwrite another; in a log it is a plain line.
    fn show(&mut self, line: &str) {
        match self.is_watched {
            true => self.screen.line(line),
            false => self.screen.plain(line),
        }
    }

    fn drawn(&self, sign: Sign, about: &str, parts: &[String]) -> String {
        let parts: Vec<_> = parts.iter().map(|part| visible(part)).collect();
        if !self.is_watched {
            let about = if about.is_empty() { String::new() } else { format!("{about}: ") };
            return format!("redial: {about}{}", parts.join("; "));
        }
        let (style, sign) = match sign {
            Sign::Failed => (RED, "✗"),
            Sign::Flaky => (YELLOW, "✓"),
            Sign::Ready => (GREEN, "✓"),
            Sign::Note => (DIM, "·"),
        };
        let rest = match parts.split_first() {
            Some((first, rest)) if !rest.is_empty() => {
                format!("{first}{DIM} · {}{DIM:#}", rest.join(" · "))
            }
            _ => parts.concat(),
        };
        match about.strip_prefix("attempt ").unwrap_or(about) {
            "" => format!("{style}{sign}{style:#} {rest}"),
            about => format!("{style}{sign} {about}{style:#}  {rest}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_of_an_hour_has_ten_lines_in_a_log() {
        let mut next = NextLine::default();
        let printed: Vec<_> =
            (0..3600).filter(|second| next.is_due_in_log(Duration::from_secs(*second))).collect();
        assert_eq!(printed, [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]);
        assert!(next.is_due_in_log(Duration::MAX), "however long it lasts");
        assert!(next.is_due_in_log(Duration::MAX));
    }
}
