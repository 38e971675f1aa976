//! The progress bar of a long run; and Ctrl-C, which ends it with the results so far.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use redial_sim::Watch;
#[cfg(unix)]
use signal_hook::consts::SIGINT;

use crate::args::Progress;
use crate::duration::compact;
use crate::output::width;

/// All runs of this program are watched by this.
pub(crate) static WATCH: Watch = Watch::new();

const TICK: Duration = Duration::from_millis(100);

/// A shorter run has no bar.
const BAR_AFTER: Duration = Duration::from_millis(500);

/// Does work that takes so many trials: its result, and whether Ctrl-C ended it.
pub(crate) fn watched<T>(
    trials: u64,
    progress: Option<Progress>,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    let interrupted = Arc::new(AtomicBool::new(false));
    listen(&interrupted);
    let is_drawn = match progress {
        Some(Progress::Always) => true,
        Some(Progress::Never) => false,
        Some(Progress::Auto) | None => std::io::stderr().is_terminal(),
    };
    let (done, is_done) = channel();
    let result = std::thread::scope(|scope| {
        let interrupted = &interrupted;
        let watcher = move || watch(trials, is_drawn, interrupted, &is_done);
        // Without a thread for it there is no bar.
        let _ = std::thread::Builder::new().spawn_scoped(scope, watcher);
        let result = work();
        drop(done);
        result
    });
    (result, interrupted.load(Ordering::Relaxed))
}

/// The first SIGINT sets the flag, the second one ends redial at once.
#[cfg(unix)]
fn listen(interrupted: &Arc<AtomicBool>) {
    let _ = signal_hook::flag::register_conditional_default(SIGINT, interrupted.clone());
    let _ = signal_hook::flag::register(SIGINT, interrupted.clone());
}

#[cfg(not(unix))]
fn listen(_: &Arc<AtomicBool>) {}

/// Ends redial by SIGINT, as if it had not been caught.
#[cfg(unix)]
pub(crate) fn die_of_interrupt() {
    let _ = signal_hook::low_level::emulate_default_handler(SIGINT);
}

#[cfg(not(unix))]
pub(crate) fn die_of_interrupt() {}

fn watch(trials: u64, is_drawn: bool, interrupted: &AtomicBool, is_done: &Receiver<()>) {
    let start = Instant::now();
    let mut is_visible = false;
    while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if interrupted.load(Ordering::Relaxed) {
            WATCH.stop();
        }
        if is_drawn && start.elapsed() >= BAR_AFTER {
            is_visible = true;
            let line = bar(WATCH.trials(), trials, start.elapsed(), width());
            let _ = write!(std::io::stderr(), "\r{line}\x1b[K");
        }
    }
    if is_visible {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}

/// `▓▓▓▓░░░░  43% · 1200 of 2800 trials · 12s left`
fn bar(done: u64, all: u64, elapsed: Duration, width: usize) -> String {
    const CELLS: usize = 20;
    let share = (done as f64 / all.max(1) as f64).clamp(0.0, 1.0);
    let full = (share * CELLS as f64) as usize;
    let bar = format!("{}{}", "▓".repeat(full), "░".repeat(CELLS - full));
    let left = match share {
        // Too early to tell.
        0.0 => String::new(),
        share => {
            let left = elapsed.as_secs_f64() * (1.0 - share) / share;
            let left = Duration::try_from_secs_f64(left.ceil()).unwrap_or(Duration::MAX);
            format!(" · {} left", compact(left))
        }
    };
    let percent = (share * 100.0) as u32;
    crate::text::clip(&format!("{bar} {percent:3}% · {done} of {all} trials{left}"), width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_much_is_left() {
        let ten = Duration::from_secs(10);
        assert_eq!(bar(0, 100, ten, 100), "░░░░░░░░░░░░░░░░░░░░   0% · 0 of 100 trials");
        assert_eq!(
            bar(25, 100, ten, 100),
            "▓▓▓▓▓░░░░░░░░░░░░░░░  25% · 25 of 100 trials · 30s left",
        );
        assert!(bar(100, 100, ten, 100).starts_with("▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓ 100%"));
        assert_eq!(crate::text::columns(&bar(1, u64::MAX, ten, 40)), 39);
        // More than was foreseen, or nothing at all.
        assert!(bar(7, 0, ten, 100).contains("100%"));
    }
}
