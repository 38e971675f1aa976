//! As `retryPolicy`: whole milliseconds, three strategies, one kind of jitter, and a cap after it.

use std::time::Duration;

use redial_core::Pretty;

use super::Losses;
use super::parts::{Link, Parts, Source};
use super::retry_config::{attempts, out_of_reach, said};
use super::write::Tree;
use crate::document::Entry;

pub(super) fn tree(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) -> Tree {
    let attempts = attempts(parts, losses);
    let (strategy, delay) = strategy(parts, losses);
    let base = milliseconds(delay, "delay", losses);
    let jitter = jitter(parts, losses);
    let max = cap(parts, entry, losses);
    limits(parts, entry, losses);
    Tree::map([
        ("maxAttempts", Tree::bare(attempts)),
        ("backoffStrategy", Tree::text(strategy)),
        ("baseDelayMs", Tree::bare(base)),
        ("maxDelayMs", Tree::bare(max)),
        ("jitter", Tree::bare(jitter)),
    ])
}

fn strategy(parts: &Parts, losses: &mut Losses<'_>) -> (&'static str, Duration) {
    const ONLY: &str = "there are FIXED, LINEAR and EXPONENTIAL by 2 there";
    match &parts.source {
        Source::Fixed(delay) => ("FIXED", *delay),
        Source::Linear { delay, increment } => {
            if increment != delay {
                let what = format!("increment: {}", Pretty(*increment));
                let became = format!("an increment of {}", Pretty(*delay));
                losses.add(what, "LINEAR adds the base delay there", became);
            }
            ("LINEAR", *delay)
        }
        Source::Exponential { delay, factor } => {
            if factor != "2" {
                losses.add(format!("factor: {factor}"), ONLY, "a factor of 2");
            }
            ("EXPONENTIAL", *delay)
        }
        Source::Fibonacci(delay) => {
            losses.add("backoff: fibonacci", ONLY, "EXPONENTIAL");
            ("EXPONENTIAL", *delay)
        }
        Source::Decorrelated(delay) => {
            losses.add("backoff: decorrelated", ONLY, "EXPONENTIAL, which grows as fast");
            ("EXPONENTIAL", *delay)
        }
        Source::List(delays) => {
            let longest = delays.iter().max().copied().unwrap_or_default();
            let became = format!("FIXED with the longest of them, {}", Pretty(longest));
            losses.add("a list of delays", ONLY, became);
            ("FIXED", longest)
        }
    }
}

/// Whole milliseconds, rounded up: a wait that is too short is the worse mistake.
fn milliseconds(duration: Duration, what: &str, losses: &mut Losses<'_>) -> u64 {
    let rounded = u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    if Duration::from_millis(rounded) != duration {
        let became = format!("{rounded} ms");
        losses.add(
            format!("{what}: {}", Pretty(duration)),
            "there are whole milliseconds there",
            became,
        );
    }
    rounded
}

/// Whether there is jitter.
fn jitter(parts: &Parts, losses: &mut Losses<'_>) -> bool {
    let mut jitters = false;
    let mut capped = false;
    for link in &parts.chain {
        match link {
            Link::Max(_) if !capped => capped = true,
            Link::Min(_) | Link::Max(_) => {
                losses.add(said(link), "there is one bound there, maxDelayMs", "nothing");
            }
            _ if jitters => losses.add(said(link), "there is one jitter there", "nothing"),
            _ => {
                let same = matches!(link, Link::Spread(low, high) if low == "0.5" && high == "1.5");
                if !same {
                    let why = "jitter is a factor from 0.5 to 1.5 there";
                    losses.add(said(link), why, "jitter: true");
                }
                if capped {
                    let why = "the jitter comes before the cap there";
                    losses.add("max_delay before jitter", why, "jitter before maxDelayMs");
                }
                jitters = true;
            }
        }
    }
    jitters
}

fn cap(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) -> u64 {
    match parts.cap() {
        Some(cap) => milliseconds(cap, "max_delay", losses),
        None => {
            let cap = out_of_reach(parts, entry).max(Duration::from_secs(300));
            // 64 bits of nanoseconds.
            let most = u64::MAX.div_ceil(1_000_000);
            let cap =
                u64::try_from(cap.as_millis().saturating_add(1)).unwrap_or(u64::MAX).min(most);
            let became = format!("maxDelayMs: {cap}, which no delay reaches");
            losses.add("no cap", "there is always one there, 300 s if nothing is said", became);
            cap
        }
    }
}

fn limits(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) {
    let limits =
        [("within", parts.within), ("wait_budget", parts.wait_budget), ("timeout", entry.timeout)];
    for (name, limit) in limits {
        if let Some(limit) = limit {
            losses.add(
                format!("{name}: {}", Pretty(limit)),
                "there is no such limit there",
                "nothing",
            );
        }
    }
    for (name, matchers) in [("retry_on", &entry.retry_on), ("stop_on", &entry.stop_on)] {
        if !matchers.is_empty() {
            let what = format!("{name}: {}", crate::matcher::list(matchers));
            losses.add(what, "every error is retried there", "nothing");
        }
    }
}
