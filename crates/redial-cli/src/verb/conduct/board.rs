//! The lines at the bottom of a terminal: how far a run has come, what runs, and what waits.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use redial_core::Time;
use redial_flow::engine::View;
use redial_flow::flow::Place;
use redial_policy::Stream;

use super::{Teller, Words};
use crate::duration::compact;
use crate::output::real_width;
use crate::text::{clip, columns};

/// How often it is drawn.
const INTERVAL: Duration = Duration::from_millis(100);
/// How many attempts and waits are shown.
const RUNNING_MAX: usize = 8;
const WAITING_MAX: usize = 3;
const BAR: usize = 20;

/// Cursor up, and ED: erase to the end of the screen.
const ERASE: &str = "\x1b[J";

pub(super) fn is_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    rustix::termios::isatty(rustix::stdio::stderr()) && !dumb
}

/// Lines that are drawn over.
pub(super) struct Board {
    is_watched: bool,
    drawn: usize,
    drawn_at: Option<Instant>,
    /// Whether standard output is seen where our lines are: on one terminal, in one file or pipe.
    is_stdout_beside: bool,
    /// What was printed last there did not end its line.
    is_inside_line: bool,
}

impl Board {
    pub(super) fn new(is_watched: bool) -> Self {
        let is_stdout_beside = redial_process::is_one_file();
        Self { is_watched, drawn: 0, drawn_at: None, is_stdout_beside, is_inside_line: false }
    }

    /// A command's output was printed, and ended so.
    pub(super) fn printed(&mut self, stream: Stream, last: Option<u8>) {
        let is_shown = match stream {
            Stream::Stdout => self.is_stdout_beside,
            Stream::Stderr => true,
        };
        if let Some(last) = last.filter(|_| is_shown) {
            self.is_inside_line = last != b'\n';
        }
    }

    /// What is ours begins on a line of its own, also where a command's last line has no newline.
    fn end_line(&mut self) -> &'static str {
        if std::mem::take(&mut self.is_inside_line) { "\n" } else { "" }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.is_watched
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_watched && self.drawn_at.is_none_or(|at| at.elapsed() >= INTERVAL)
    }

    /// When it is to be drawn again.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        self.is_watched.then(|| now.after(INTERVAL))
    }

    /// Takes the lines away, because something else is printed.
    pub(super) fn clear(&mut self) {
        if self.drawn > 0 {
            let up = self.drawn;
            write(&format!("\r\x1b[{up}A{ERASE}"));
            self.drawn = 0;
        }
        self.drawn_at = None;
    }

    /// Prints what stays.
    pub(super) fn print(&mut self, text: &str) {
        self.clear();
        let newline = self.end_line();
        write(&format!("{newline}{text}"));
    }

    pub(super) fn draw(&mut self, lines: &[String]) {
        let width = real_width();
        let up = match self.drawn {
            0 => "\r".to_owned(),
            drawn => format!("\r\x1b[{drawn}A"),
        };
        let mut text = format!("{}{up}{ERASE}", self.end_line());
        for line in lines {
            // One column is left free: terminals differ in what they do at their edge.
            text += &clip(line, width.saturating_sub(1));
            text.push('\n');
        }
        write(&text);
        (self.drawn, self.drawn_at) = (lines.len(), Some(Instant::now()));
    }

    pub(super) fn finish(&mut self) {
        self.clear();
        self.is_watched = false;
    }

    /// An error of redial follows, which is printed elsewhere.
    pub(super) fn leave(&mut self) {
        write(self.end_line());
    }
}

fn write(text: &str) {
    // Nobody may be there any more to read it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// How far a run has come: of how many items how many are over, once all are known, and the rest in words.
struct Progress {
    items: Option<(u64, u64)>,
    words: String,
}

impl Progress {
    fn new(teller: &mut Teller, run: &View<'_>) -> Self {
        let (mut finished, mut known, mut is_open) = (0, 0, false);
        for (step, id) in run.prepared.flow.steps.iter().zip(0..) {
            if let Place::Map { .. } = step.place {
                let (items, open) = run.items(id);
                finished += run.machine.counts(id).finished();
                known += items;
                is_open |= open;
            }
        }
        // Those of the processes before this one say nothing of its pace.
        let before = *teller.items_before.get_or_insert(finished);
        let (done, elapsed) = (teller.done(), teller.started.elapsed());
        let per_second = |number: u64| number as f64 / elapsed.as_secs_f64().max(0.001);
        let mut words = format!("{done} done, {} running", run.running().count());
        for (number, what) in
            [(run.machine.waiting_for_delay() as u64, "waiting"), (teller.dead, "dead")]
        {
            if number > 0 {
                words += &format!(", {number} {what}");
            }
        }
        let items = (known > 0 && !is_open).then_some((finished, known));
        let pace = per_second(finished.saturating_sub(before));
        if items.is_some() && pace > 0.0 && finished < known {
            let left = (known - finished) as f64 / pace;
            words += &format!(", {} left", compact(Duration::from_secs(left.ceil() as u64)));
        }
        if done + teller.dead > 1 {
            words += &format!(", {:.0}/s", per_second(done + teller.dead));
        }
        words += &format!(", {}", compact(Duration::from_secs(elapsed.as_secs())));
        Self { items, words }
    }
}

/// The same as one line that stays.
pub(super) fn line(teller: &mut Teller, run: &View<'_>) -> String {
    match Progress::new(teller, run) {
        Progress { items: Some((finished, known)), words } => {
            format!("{finished}/{}: {words}", Words::Items.of(known))
        }
        Progress { items: None, words } => words,
    }
}

/// What is to be seen of a run now.
pub(super) fn lines(teller: &mut Teller, run: &View<'_>) -> Vec<String> {
    let mut running: Vec<_> = run.running().collect();
    running.sort_by_key(|(_, at)| *at);
    let waits = run.machine.waits(WAITING_MAX);
    let Progress { items, words } = Progress::new(teller, run);
    let head = match items {
        Some((finished, known)) => {
            let full = (finished as f64 / known as f64 * BAR as f64).round() as usize;
            let full = full.min(BAR);
            let bar = format!("▕{}{}▏", "█".repeat(full), "░".repeat(BAR - full));
            // A flow has other tasks beside those of its items.
            let of = match teller.telling.words {
                Words::Items => known.to_string(),
                Words::Tasks => Words::Items.of(known),
            };
            format!("{bar} {finished}/{of}  {words}")
        }
        None => words,
    };
    let mut lines = vec![head];
    let room = real_width().saturating_sub(14).max(1);
    for (task, at) in running.iter().take(RUNNING_MAX) {
        let name = clip(&teller.name(run, *task), room);
        let pad = " ".repeat(room.min(40).saturating_sub(columns(&name)));
        lines.push(format!("  ▸ {name}{pad} {}", tenths(run.now.since(*at))));
    }
    if running.len() > RUNNING_MAX {
        lines.push(format!("    and {} more", running.len() - RUNNING_MAX));
    }
    for (task, due) in waits {
        let name = clip(&teller.name(run, task), room);
        let pad = " ".repeat(room.min(40).saturating_sub(columns(&name)));
        let attempt = run.machine.attempts(task) + 1;
        lines.push(format!("  · {name}{pad} attempt {attempt} in {}", tenths(due.since(run.now))));
    }
    lines
}

/// In tenths of a second: finer digits would flicker.
fn tenths(duration: Duration) -> String {
    compact(Duration::from_millis(duration.as_millis() as u64 / 100 * 100))
}
