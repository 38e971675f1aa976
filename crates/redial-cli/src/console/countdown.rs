//! The wait before the next attempt, as it passes.

use std::time::Duration;

use super::screen::Screen;
use crate::duration::compact;

const BAR: usize = 10;

pub(crate) struct Countdown {
    /// The line before the bar, which stays when the countdown is over.
    line: String,
    delay: Duration,
}

impl Countdown {
    /// A shorter delay is over before anybody has read a countdown.
    pub(crate) const SHORTEST: Duration = Duration::from_millis(300);

    pub(crate) fn new(line: String, delay: Duration) -> Self {
        Self { line, delay }
    }

    /// How often to redraw it.
    pub(crate) fn interval(&self) -> Duration {
        (self.delay / 100).clamp(Duration::from_millis(100), Duration::from_secs(1))
    }

    pub(crate) fn draw(&self, screen: &mut Screen, left: Duration) {
        let share = left.as_secs_f64() / self.delay.as_secs_f64();
        let full = ((1.0 - share) * BAR as f64).round().clamp(0.0, BAR as f64) as usize;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
        // In tenths of a second: finer digits would flicker.
        let left = Duration::from_millis(left.as_millis().div_ceil(100) as u64 * 100);
        screen.draw(&self.line, &format!("  ▕{bar}▏ {}", compact(left)));
    }

    /// Prints the line without its bar.
    pub(crate) fn finish(self, screen: &mut Screen) {
        screen.line(&self.line);
    }
}
