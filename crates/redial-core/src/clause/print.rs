//! A policy prints itself as the clause that would make it.

use core::fmt;

use super::check::default_cap;
use crate::decimal::Decimal;
use crate::modifier::Modifier;
use crate::policy::Policy;
use crate::source::Kind;
use crate::text::Text;

/// The clause that parses to an equal policy.
impl fmt::Display for Policy {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts() {
            Some(attempts) => write!(f, "attempts: {attempts}")?,
            None => f.write_str("attempts: unlimited")?,
        }
        source(self, f)?;
        if caps_by_default(self) {
            f.write_str(", max_delay: none")?;
        }
        for modifier in self.backoff().shape().chain().iter() {
            option(f, name(&modifier), value(&modifier))?;
        }
        for (name, limit) in
            [("within", self.get_within()), ("wait_budget", self.get_wait_budget())]
        {
            if let Some(limit) = limit {
                option(f, name, Text::new().duration(crate::time::nanos(limit)))?;
            }
        }
        Ok(())
    }
}

#[inline]
fn option(f: &mut fmt::Formatter<'_>, name: &str, value: Text<64>) -> fmt::Result {
    write!(f, ", {name}: {}", value.as_str())
}

#[inline]
fn duration(f: &mut fmt::Formatter<'_>, name: &str, nanos: u64) -> fmt::Result {
    option(f, name, Text::new().duration(nanos))
}

#[inline]
fn source(policy: &Policy, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match policy.backoff().shape().kind() {
        // A policy of our own sources has no other schedule.
        Kind::Constant(0) | Kind::Own | Kind::Mistaken(_) => Ok(()),
        Kind::Constant(delay) => duration(f, "delay", delay),
        Kind::Linear { initial, increment } => {
            duration(f, "delay", initial)?;
            f.write_str(", backoff: linear")?;
            if increment == initial { Ok(()) } else { duration(f, "increment", increment) }
        }
        Kind::Exponential { initial, factor } => {
            duration(f, "delay", initial)?;
            f.write_str(", backoff: exponential")?;
            if factor == Decimal::TWO {
                Ok(())
            } else {
                option(f, "factor", Text::new().decimal(factor))
            }
        }
        Kind::Fibonacci { initial } => {
            duration(f, "delay", initial)?;
            f.write_str(", backoff: fibonacci")
        }
        Kind::List { .. } => list(policy.backoff().shape().entries(), f),
        Kind::Decorrelated { base, .. } => {
            duration(f, "delay", base)?;
            f.write_str(", backoff: decorrelated")
        }
    }
}

#[inline]
fn list(delays: &[u64], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(", backoff: [")?;
    for (i, delay) in delays.iter().enumerate() {
        let separator = if i == 0 { "" } else { ", " };
        write!(f, "{separator}{}", Text::<32>::new().duration(*delay).as_str())?;
    }
    f.write_str("]")
}

/// Whether the clause would add a cap that this policy does not have.
#[inline]
fn caps_by_default(policy: &Policy) -> bool {
    if policy.backoff().shape().chain().first_max().is_some() {
        return false;
    }
    match policy.backoff().shape().kind() {
        Kind::Constant(_) | Kind::List { .. } => false,
        Kind::Decorrelated { base, .. } => {
            policy.backoff().shape().source_cap() != default_cap(base)
        }
        _ => true,
    }
}

#[inline]
fn name(modifier: &Modifier) -> &'static str {
    match modifier {
        Modifier::Min(_) => "min_delay",
        Modifier::Max(_) => "max_delay",
        _ => "jitter",
    }
}

#[inline]
fn value(modifier: &Modifier) -> Text<64> {
    let text = Text::new();
    let bracketed =
        |low: Decimal, high: Decimal| text.str("[").decimal(low).str(", ").decimal(high).str("]");
    match *modifier {
        Modifier::Min(nanos) | Modifier::Max(nanos) => text.duration(nanos),
        Modifier::Full => text.str("full"),
        Modifier::Equal => text.str("equal"),
        Modifier::Proportional(fraction) => text.percent(fraction),
        Modifier::Additive(fraction) => text.str("+").percent(fraction),
        Modifier::Spread(low, high) => bracketed(low, high),
    }
}
