//! As a constant in Rust.

use std::fmt::Write;
use std::time::Duration;

use redial_core::clause;

use super::Losses;
use super::parts::{Link, Parts, Source};
use crate::document::Entry;

pub(super) fn text(parts: &Parts, entry: &Entry, losses: &mut Losses<'_>) -> String {
    for (name, matchers) in [("retry_on", &entry.retry_on), ("stop_on", &entry.stop_on)] {
        if !matchers.is_empty() {
            let what = format!("{name}: {}", crate::matcher::list(matchers));
            let why = "which errors are retried is for the call to say: .when(…) or .classify(…)";
            losses.add(what, why, "nothing: every error is retried");
        }
    }
    let chained = chain(parts);
    let imports = if chained.is_some() { "Backoff, Policy" } else { "Policy, policy" };
    let timed = chained.as_ref().is_some_and(|chain| chain.contains("Duration::"));
    let mut text = String::new();
    if timed || entry.timeout.is_some() {
        text += "use std::time::Duration;\n\n";
    }
    let policy = chained.or_else(|| macro_call(entry)).unwrap_or_default();
    let _ = write!(text, "use redial::{{{imports}}};\n\nconst POLICY: Policy = {policy};\n");
    if let Some(timeout) = entry.timeout {
        let _ = write!(
            text,
            "\n/// For the call: `retry(&POLICY, …).timeout(TIMEOUT)`.\n\
             const TIMEOUT: Duration = {};\n",
            duration(timeout),
        );
    }
    text
}

/// The chain of methods, where all of its numbers are exact as floats.
fn chain(parts: &Parts) -> Option<String> {
    let mut chain = source(parts)?;
    for link in &parts.chain {
        chain += "\n    ";
        chain += &match link {
            Link::Min(min) => format!(".min({})", duration(*min)),
            Link::Max(max) => format!(".max({})", duration(*max)),
            Link::Full => ".full_jitter()".to_owned(),
            Link::Equal => ".equal_jitter()".to_owned(),
            Link::Proportional(percent) => format!(".proportional_jitter({})", fraction(percent)?),
            Link::Additive(percent) => format!(".additive_jitter({})", fraction(percent)?),
            Link::Spread(low, high) => format!(".spread_jitter({}, {})", float(low)?, float(high)?),
        };
    }
    chain += &match parts.attempts {
        Some(attempts) => format!("\n    .attempts({attempts})"),
        None => "\n    .unlimited()".to_owned(),
    };
    for (name, limit) in [("within", parts.within), ("wait_budget", parts.wait_budget)] {
        if let Some(limit) = limit {
            chain += &format!("\n    .{name}({})", duration(limit));
        }
    }
    Some(chain)
}

fn source(parts: &Parts) -> Option<String> {
    Some(match &parts.source {
        Source::Fixed(delay) if delay.is_zero() => "Backoff::none()".to_owned(),
        Source::Fixed(delay) => format!("Backoff::constant({})", duration(*delay)),
        Source::Linear { delay, increment } => {
            format!("Backoff::linear({}, {})", duration(*delay), duration(*increment))
        }
        Source::Exponential { delay, factor } if factor == "2" => {
            format!("Backoff::exponential({})", duration(*delay))
        }
        Source::Exponential { delay, factor } => {
            format!("Backoff::exponential({})\n    .factor({})", duration(*delay), float(factor)?)
        }
        Source::Fibonacci(delay) => format!("Backoff::fibonacci({})", duration(*delay)),
        Source::List(delays) => {
            let delays: Vec<_> = delays.iter().map(|delay| duration(*delay)).collect();
            format!("Backoff::list(&[{}])", delays.join(", "))
        }
        // The chain cannot express the default cap of the clause.
        Source::Decorrelated(_) if parts.cap().is_none() && !parts.uncapped => return None,
        Source::Decorrelated(delay) => format!("Backoff::decorrelated({})", duration(*delay)),
    })
}

/// `policy!` with the clause, in which the warnings that it has are allowed.
fn macro_call(entry: &Entry) -> Option<String> {
    let clause = entry.policy?.to_string();
    let reading = clause::read(&clause);
    let mut warnings: Vec<_> =
        reading.diagnostics().iter().map(|found| found.kind().name().replace('-', "_")).collect();
    warnings.dedup();
    let allowed = match warnings.as_slice() {
        [] => String::new(),
        warnings => format!("allow({}), ", warnings.join(", ")),
    };
    Some(format!("policy!({allowed}\"{clause}\")"))
}

/// In the largest unit that is exact.
fn duration(duration: Duration) -> String {
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    match nanos {
        0 => "Duration::ZERO".to_owned(),
        whole if whole % 1_000_000_000 == 0 => {
            format!("Duration::from_secs({})", grouped(whole / 1_000_000_000))
        }
        whole if whole % 1_000_000 == 0 => {
            format!("Duration::from_millis({})", grouped(whole / 1_000_000))
        }
        whole if whole % 1_000 == 0 => format!("Duration::from_micros({})", grouped(whole / 1_000)),
        whole => format!("Duration::from_nanos({})", grouped(whole)),
    }
}

/// `60_000`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

/// A decimal as a float, where it has no more digits than a float keeps.
fn float(decimal: &str) -> Option<String> {
    let digits = decimal.bytes().filter(u8::is_ascii_digit).count();
    let point = if decimal.contains('.') { "" } else { ".0" };
    (digits <= 15).then(|| format!("{decimal}{point}"))
}

/// A percentage as a fraction.
fn fraction(percent: &str) -> Option<String> {
    float(&super::retry_config::hundredth(percent))
}
