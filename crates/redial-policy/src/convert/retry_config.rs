//! As `retry_config`, which always has a cap, and one kind of jitter after it.

use std::time::Duration;

use redial_core::Pretty;

use super::Losses;
use super::file::rules;
use super::parts::{Link, Parts, Source};
use super::write::Tree;
use crate::document::Entry;

pub(super) fn tree(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) -> Tree {
    let mut fields = vec![("attempts", Tree::bare(attempts(parts, losses)))];
    fields.extend(source(parts, losses));
    fields.push(("max_delay", text(cap(parts, entry, losses))));
    if let Some(factor) = jitter(parts, losses) {
        fields.push(("jitter", Tree::bare(true)));
        fields.push(("jitter_factor", Tree::bare(factor)));
    }
    if let Some(budget) = parts.wait_budget {
        fields.push(("retry_budget", text(budget)));
    }
    if !entry.retry_on.is_empty() {
        fields.push(("retry_on", rules(&entry.retry_on)));
    }
    limits(parts, entry, losses);
    Tree::map(fields)
}

fn text(duration: Duration) -> Tree {
    Tree::text(Pretty(duration).to_string())
}

/// The attempts; the greatest number where they are unlimited.
pub(super) fn attempts(parts: &Parts, losses: &mut Losses<'_>) -> u32 {
    parts.attempts.unwrap_or_else(|| {
        losses.add("attempts: unlimited", "attempts are a number there", format!("{}", u32::MAX));
        u32::MAX
    })
}

fn limits(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) {
    if let Some(within) = parts.within {
        losses.add(format!("within: {}", Pretty(within)), "there is no deadline there", "nothing");
    }
    if let Some(timeout) = entry.timeout {
        let why = "a timeout belongs to the step there";
        losses.add(format!("timeout: {}", Pretty(timeout)), why, "nothing");
    }
    if !entry.stop_on.is_empty() {
        let what = format!("stop_on: {}", crate::matcher::list(&entry.stop_on));
        losses.add(what, "there is only retry_on there", "nothing");
    }
}

fn source(parts: &Parts, losses: &mut Losses<'_>) -> Vec<(&'static str, Tree)> {
    let (delay, backoff) = match &parts.source {
        Source::Fixed(delay) => (Some(*delay), Tree::text("fixed")),
        Source::Linear { delay, increment } => {
            let settings = Tree::map([("increment", text(*increment))]);
            (Some(*delay), Tree::map([("linear", settings)]))
        }
        Source::Exponential { delay, factor } => (Some(*delay), exponential(factor)),
        Source::Fibonacci(delay) => (Some(*delay), Tree::text("fibonacci")),
        Source::List(delays) => {
            let delays = Tree::List(delays.iter().map(|delay| text(*delay)).collect());
            (None, Tree::map([("custom", Tree::map([("delays", delays)]))]))
        }
        Source::Decorrelated(delay) => {
            let why = "there is no decorrelated backoff there";
            losses.add("backoff: decorrelated", why, "exponential by 2, which grows as fast");
            (Some(*delay), exponential("2"))
        }
    };
    let delay = delay.map(|delay| ("initial_delay", text(delay)));
    delay.into_iter().chain([("backoff", backoff)]).collect()
}

fn exponential(factor: &str) -> Tree {
    let base = if factor.contains('.') { factor.to_owned() } else { format!("{factor}.0") };
    Tree::map([("exponential", Tree::map([("base", Tree::Bare(base))]))])
}

/// The cap, or one that no delay reaches.
fn cap(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) -> Duration {
    match parts.cap() {
        Some(cap) => cap,
        None => {
            let cap = out_of_reach(parts, entry);
            let became = format!("max_delay: {}, which no delay reaches", Pretty(cap));
            losses.add("no cap", "there is always one there, 30s if nothing is said", became);
            cap
        }
    }
}

/// A cap above the longest delay, and at least the default.
pub(super) fn out_of_reach(parts: &Parts, entry: &Entry) -> Duration {
    const LOOKED_AT: usize = 4096;
    let Some(policy) = entry.policy else { return Duration::MAX };
    let all = parts.attempts.is_some_and(|attempts| attempts as usize <= LOOKED_AT);
    let longest = policy.delays(|| u64::MAX).take(LOOKED_AT).max();
    match longest {
        Some(longest) if all => longest.max(Duration::from_secs(30)),
        None => Duration::from_secs(30),
        _ => Duration::MAX,
    }
}

/// The `jitter_factor`.
fn jitter(parts: &Parts, losses: &mut Losses<'_>) -> Option<String> {
    let mut capped = false;
    let mut fraction = None;
    for link in &parts.chain {
        match link {
            Link::Max(_) if !capped => {
                capped = true;
                if fraction.is_some() {
                    let why = "the cap comes before the jitter there";
                    losses.add("max_delay after jitter", why, "max_delay before jitter");
                }
            }
            Link::Min(_) | Link::Max(_) => losses.add(
                said(link),
                "there is one bound there, max_delay before the jitter",
                "nothing",
            ),
            Link::Proportional(percent) if fraction.is_none() => {
                fraction = Some(hundredth(percent))
            }
            _ if fraction.is_some() => {
                losses.add(said(link), "there is one jitter there", "nothing")
            }
            _ => {
                let nearest = nearest(link);
                let became = format!("jitter_factor: {nearest}");
                losses.add(said(link), "jitter is more or less of the delay there", became);
                fraction = Some(nearest);
            }
        }
    }
    fraction
}

/// A link as the clause writes it.
pub(super) fn said(link: &Link) -> String {
    match link {
        Link::Min(min) => format!("min_delay: {}", Pretty(*min)),
        Link::Max(max) => format!("max_delay: {}", Pretty(*max)),
        Link::Full => "jitter: full".to_owned(),
        Link::Equal => "jitter: equal".to_owned(),
        Link::Proportional(percent) => format!("jitter: {percent}%"),
        Link::Additive(percent) => format!("jitter: +{percent}%"),
        Link::Spread(low, high) => format!("jitter: [{low}, {high}]"),
    }
}

/// The proportional jitter that spreads delays about as far.
fn nearest(link: &Link) -> String {
    match link {
        Link::Full => "1.0".to_owned(),
        _ => "0.5".to_owned(),
    }
}

/// A percentage as a fraction, digit by digit: `12.5` is `0.125`.
pub(super) fn hundredth(percent: &str) -> String {
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, ""));
    let digits = format!("{whole:0>3}{fraction}");
    let (whole, fraction) = digits.split_at(digits.len() - fraction.len() - 2);
    let fraction = fraction.trim_end_matches('0');
    format!("{whole}.{}", if fraction.is_empty() { "0" } else { fraction })
}
