//! The wait before the next attempt, as it passes.

use std::time::Duration;

use crate::duration::compact;
use crate::output::print_note;

const BAR: usize = 10;

pub(super) struct Countdown {
    /// What stands before the bar, and stays.
    line: String,
    delay: Duration,
}

impl Countdown {
    /// What is over before anybody has read it needs no countdown.
    pub(super) const SHORTEST: Duration = Duration::from_millis(300);

    pub(super) fn new(line: String, delay: Duration) -> Self {
        Self { line, delay }
    }

    /// Often enough to be seen moving, and no more.
    pub(super) fn interval(&self) -> Duration {
        (self.delay / 100).clamp(Duration::from_millis(100), Duration::from_secs(1))
    }

    pub(super) fn draw(&mut self, left: Duration) {
        let share = left.as_secs_f64() / self.delay.as_secs_f64().max(1e-9);
        let full = ((1.0 - share) * BAR as f64).round().clamp(0.0, BAR as f64) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        // Tenths: what changes faster than it is drawn only flickers.
        let left = Duration::from_millis(left.as_millis().div_ceil(100) as u64 * 100);
        let tail = format!("  ▕{bar}▏ {}", compact(left));
        let room = columns().saturating_sub(tail.chars().count() + 1);
        print_note(&format!("\r{}{tail}\x1b[K", cut(&self.line, room)));
    }

    /// The line without its bar, for good.
    pub(super) fn finish(self) {
        print_note(&format!("\r{}\x1b[K\n", self.line));
    }
}

fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    size.map_or(0, |size| usize::from(size.ws_col)).max(if size.is_ok() { 20 } else { 80 })
}

/// The line as far as there is room: one that is broken in two cannot be drawn over. Styles take no
/// room.
fn cut(line: &str, room: usize) -> String {
    let mut cut = String::new();
    let mut width = 0;
    let mut styled = false;
    for character in line.chars() {
        match character {
            '\x1b' => styled = true,
            'm' if styled => styled = false,
            _ if styled => {}
            _ if width == room => continue,
            _ => width += 1,
        }
        if styled || character == 'm' || width <= room {
            cut.push(character);
        }
    }
    cut
}
