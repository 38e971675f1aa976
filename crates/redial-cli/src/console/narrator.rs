//! What redial says about a run, on standard error: nothing as long as everything is as it should
//! be; a line for each failed attempt, and one at the end.

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

/// How much to say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Quiet,
    Normal,
    Verbose,
}

pub(crate) struct Narrator {
    level: Level,
    /// Signs and a countdown, for a person who watches.
    is_watched: bool,
    screen: Screen,
    countdown: Option<Countdown>,
    /// What was said and not shown, where lines about failed attempts are held.
    held: Option<String>,
    silence: Silence,
}

/// How long a poll has to last before it says once more that it waits.
#[derive(Default)]
struct Silence(Duration);

impl Silence {
    /// The shortest in a log.
    const LEAST: Duration = Duration::from_secs(10);
    /// How often a line is drawn anew whose looks follow each other closely.
    const REDRAWN: Duration = Duration::from_millis(100);

    /// Whether to say it in a log: at the first look, and then whenever the poll has lasted twice as
    /// long as the last time. A line for every look would fill the log of a CI job.
    fn ends_in_log(&mut self, elapsed: Duration) -> bool {
        self.ends(elapsed, elapsed.saturating_mul(2).max(Self::LEAST))
    }

    fn ends_on_screen(&mut self, elapsed: Duration) -> bool {
        self.ends(elapsed, elapsed.saturating_add(Self::REDRAWN))
    }

    fn ends(&mut self, elapsed: Duration, next: Duration) -> bool {
        let ends = elapsed >= self.0;
        if ends {
            self.0 = next;
        }
        ends
    }
}

/// The sign that a line begins with on a terminal.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    Failed,
    Flaky,
    Ready,
    Note,
}

impl Narrator {
    // Inlined, as what else `run` needs of this folder where all goes well: called, it would be a page to
    // read for itself.
    #[inline(always)]
    pub(crate) fn new(level: Level, progress: Progress, hold: bool) -> Self {
        let screen = Screen::new();
        let is_watched = match progress {
            Progress::Always => true,
            Progress::Never => false,
            Progress::Auto => screen.erases(),
        };
        let (held, silence) = (hold.then(String::new), Silence::default());
        Self { level, is_watched, screen, countdown: None, held, silence }
    }

    /// What was said since the last time, where it is held.
    pub(crate) fn take_held(&mut self) -> String {
        self.held.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// From now on nothing is held; what was, is given back. The run is over.
    #[inline(always)]
    pub(crate) fn release(&mut self) -> String {
        self.clear();
        self.held.take().unwrap_or_default()
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.level == Level::Verbose
    }

    /// `parts` as one line, after what it is `about`.
    pub(crate) fn line(&mut self, sign: Sign, about: &str, parts: &[String]) {
        if self.level >= Level::Normal {
            self.print(&self.drawn(sign, about, parts));
        }
    }

    /// What is redial's own doing: also for who wants to hear nothing else.
    pub(crate) fn error(&mut self, about: &str, parts: &[String]) {
        self.print(&self.drawn(Sign::Failed, about, parts));
    }

    /// A line that is there while redial waits.
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

    /// A look that did not succeed: `elapsed` is since the start of the poll. On a terminal the line is
    /// drawn over by the next one.
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
                if self.silence.ends_on_screen(elapsed) {
                    self.screen.draw(&line, "");
                }
            }
            Level::Normal => {
                if self.silence.ends_in_log(elapsed) {
                    self.print(&line);
                }
            }
        }
    }

    /// Takes the line away that is drawn over.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.countdown = None;
        self.screen.erase();
    }

    /// Whether a line may be drawn over.
    fn is_live(&self) -> bool {
        self.is_watched && self.screen.is_ours()
    }

    /// Draws the countdown, if there is one: how long until it is to be drawn again.
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

    /// Something that is wrong with redial's own affairs, and harms the command in no way.
    pub(crate) fn warn(&mut self, message: &str) {
        if self.level >= Level::Normal {
            self.waited();
            self.show(&format!("{YELLOW}redial: warning:{YELLOW:#} {}", visible(message)));
        }
    }

    /// What `redial check` would say about the policy, a line each.
    pub(crate) fn findings(&mut self, found: &[Diagnostic]) {
        for Diagnostic { kind, message, .. } in found {
            if self.level >= Level::Normal {
                let (name, message) = (kind.name(), visible(message));
                self.print(&format!("{YELLOW}redial: warning[{name}]:{YELLOW:#} {message}"));
            }
        }
    }

    /// A line that is none of ours, for whoever reads standard error by machine.
    pub(crate) fn raw(&mut self, line: &str) {
        // The command may have left a line unfinished, which ours would have ended.
        let start = if self.level == Level::Quiet { "\n" } else { "" };
        self.screen.plain(&format!("{start}{line}"));
    }

    /// Something for whoever asked for more.
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

    /// What is not watched is a plain line, for logs.
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
        let mut silence = Silence::default();
        let said: Vec<_> =
            (0..3600).filter(|second| silence.ends_in_log(Duration::from_secs(*second))).collect();
        assert_eq!(said, [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560]);
        assert!(silence.ends_in_log(Duration::MAX), "however long it lasts");
        assert!(silence.ends_in_log(Duration::MAX));
    }
}
