//! A description as Rust and as text, spelt otherwise than the crate spells it: durations are
//! compounds, such as `1m30s`, and fractions have all their digits.

use core::time::Duration;

use redial_core::{Backoff, Invalid, Policy};

use super::{BILLION, Modifier, Source, Timing};

impl Timing {
    /// By the builder. Fractions go through floats, which hold them up to some 4 million.
    pub(crate) fn build(&self) -> Result<Policy, Invalid> {
        let backoff =
            self.modifiers.iter().fold(self.source.build(), |backoff, modifier| match *modifier {
                Modifier::Min(m) => backoff.min(nanos(m)),
                Modifier::Max(m) => backoff.max(nanos(m)),
                Modifier::Full => backoff.full_jitter(),
                Modifier::Equal => backoff.equal_jitter(),
                Modifier::Proportional(f) => backoff.proportional_jitter(float(f)),
                Modifier::Spread(low, high) => backoff.spread_jitter(float(low), float(high)),
                Modifier::Additive(f) => backoff.additive_jitter(float(f)),
            });
        let mut policy = match self.attempts {
            Some(attempts) => backoff.try_attempts(attempts)?,
            None => backoff.try_unlimited()?,
        };
        if let Some(within) = self.within {
            policy = policy.within(nanos(within));
        }
        if let Some(wait_budget) = self.wait_budget {
            policy = policy.wait_budget(nanos(wait_budget));
        }
        Ok(policy)
    }

    /// As a clause that lifts the default cap where there is no other.
    pub(crate) fn clause(&self) -> String {
        let mut options = self.settings();
        options.push("max_delay: none".to_owned());
        options.extend(self.modifiers.iter().map(written));
        options.join(", ")
    }

    /// As a clause that leaves the default cap where it is.
    pub(crate) fn clause_by_default(&self) -> String {
        let modifiers = self.modifiers.iter().map(written);
        self.settings().into_iter().chain(modifiers).collect::<Vec<_>>().join(", ")
    }

    /// Every option whose place does not matter.
    pub(crate) fn settings(&self) -> Vec<String> {
        let count = self.attempts.map_or("unlimited".to_owned(), |count| count.to_string());
        let mut options = vec![format!("attempts: {count}")];
        options.extend(self.source.settings());
        options.extend(self.within.map(|within| format!("within: {}", duration(within))));
        options.extend(self.wait_budget.map(|most| format!("wait_budget: {}", duration(most))));
        options
    }
}

impl Source {
    fn build(&self) -> Backoff {
        match self {
            Self::Constant(delay) => Backoff::constant(nanos(*delay)),
            Self::Linear { initial, increment } => {
                Backoff::linear(nanos(*initial), nanos(*increment))
            }
            Self::Exponential { initial, factor } => {
                Backoff::exponential(nanos(*initial)).factor(float(*factor))
            }
            Self::Fibonacci(initial) => Backoff::fibonacci(nanos(*initial)),
            Self::List(delays) => {
                Backoff::list(&delays.iter().map(|delay| nanos(*delay)).collect::<Vec<_>>())
            }
            Self::Decorrelated(base) => Backoff::decorrelated(nanos(*base)),
        }
    }

    fn settings(&self) -> Vec<String> {
        let (delay, others) = match self {
            Self::Constant(delay) => (*delay, vec!["backoff: fixed".to_owned()]),
            Self::Linear { initial, increment } => {
                let increment = format!("increment: {}", duration(*increment));
                (*initial, vec!["backoff: linear".to_owned(), increment])
            }
            Self::Exponential { initial, factor } => {
                let factor = format!("factor: {}", decimal(*factor));
                (*initial, vec!["backoff: exponential".to_owned(), factor])
            }
            Self::Fibonacci(initial) => (*initial, vec!["backoff: fibonacci".to_owned()]),
            Self::Decorrelated(base) => (*base, vec!["backoff: decorrelated".to_owned()]),
            Self::List(delays) => {
                let delays: Vec<_> = delays.iter().map(|delay| duration(*delay)).collect();
                return vec![format!("backoff: [{}]", delays.join(", "))];
            }
        };
        [vec![format!("delay: {}", duration(delay))], others].concat()
    }
}

pub(crate) fn written(modifier: &Modifier) -> String {
    match *modifier {
        Modifier::Min(m) => format!("min_delay: {}", duration(m)),
        Modifier::Max(m) => format!("max_delay: {}", duration(m)),
        Modifier::Full => "jitter: full".to_owned(),
        Modifier::Equal => "jitter: equal".to_owned(),
        Modifier::Proportional(f) => format!("jitter: {}", percentage(f)),
        Modifier::Spread(low, high) => format!("jitter: [{}, {}]", decimal(low), decimal(high)),
        Modifier::Additive(f) => format!("jitter: +{}", percentage(f)),
    }
}

pub(crate) fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn float(billionths: u64) -> f64 {
    billionths as f64 / BILLION as f64
}

fn decimal(billionths: u64) -> String {
    format!("{}.{:09}", billionths / BILLION, billionths % BILLION)
}

fn percentage(billionths: u64) -> String {
    const POINT: u64 = BILLION / 100;
    format!("{}.{:07}%", billionths / POINT, billionths % POINT)
}

/// From the largest unit to the smallest, each with what it can hold.
pub(crate) fn duration(nanos: u64) -> String {
    const UNITS: [(u64, &str); 7] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let mut text = String::new();
    let mut rest = nanos;
    for (unit, name) in UNITS {
        if rest >= unit {
            text += &format!("{}{name}", rest / unit);
            rest %= unit;
        }
    }
    if text.is_empty() { "0ns".to_owned() } else { text }
}
