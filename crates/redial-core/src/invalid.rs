//! A caller's mistake, with the values in it.

use core::fmt;

use crate::modifier::CHAIN_MAX;
use crate::source::LIST_MAX;
use crate::text::Text;

/// A setting that a policy, a budget or a breaker cannot have, or a state that a call cannot be in. Its text names the option, the
/// value and what is allowed.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Backoff;
///
/// let invalid = Backoff::exponential(Duration::from_secs(1)).factor(0.5).try_attempts(3);
/// assert_eq!(
///     invalid.unwrap_err().to_string(),
///     "factor: 0.5 is below 1; a factor is at least 1 and below 1000000000",
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Invalid(pub(crate) Mistake);

/// The name of an option, in one word: a backoff carries its mistake with it, and is copied.
type Name = &'static &'static str;

/// Floats are kept as their bits, so that an error can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    not(target_has_atomic = "64"),
    expect(dead_code, reason = "budgets and breakers are absent on this target")
)]
pub(crate) enum Mistake {
    ZeroAttempts,
    Factor(u64),
    FactorWithoutExponential(u64),
    Proportional(u64),
    Additive(u64),
    Spread(u64, u64),
    MinAboveMax(u64, u64),
    ChainTooLong,
    ListTooLong(usize),
    Amount(Name, u64),
    NeverRefills,
    CostAboveCapacity,
    Zero(Name),
    Probes(u32),
    CallIsOver(u64, u64),
    WaitedPastBudget(u64, u64),
    BeforeFirstFailure(Name, u64),
    BeforeOrigin(u64, u64),
    EndlessFirst,
    LimitedFirst(Name, u64),
    Percentile(u8),
}

impl Invalid {
    #[inline]
    pub(crate) const fn text(&self) -> Text<192> {
        let text = Text::new();
        match self.0 {
            Mistake::ZeroAttempts => {
                text.str("attempts: 0 attempts would never run the operation; use 1 or more")
            }
            Mistake::Factor(bits) => {
                let value = f64::from_bits(bits);
                let text = text.str("factor: ").float(value);
                let text = if value < 1.0 {
                    text.str(" is below 1")
                } else {
                    text.str(" is out of range")
                };
                text.str("; a factor is at least 1 and below 1000000000")
            }
            Mistake::FactorWithoutExponential(bits) => text
                .str("factor: ")
                .float(f64::from_bits(bits))
                .str(" has no effect here; only an exponential backoff has a factor"),
            Mistake::Proportional(bits) => text
                .str("proportional jitter: ")
                .float(f64::from_bits(bits))
                .str(" is out of range; use 0 to 1 (0.25 is plus or minus 25%)"),
            Mistake::Additive(bits) => text
                .str("additive jitter: ")
                .float(f64::from_bits(bits))
                .str(" is out of range; use 0 to 10 (0.5 adds up to 50%)"),
            Mistake::Spread(low, high) => text
                .str("spread jitter: [")
                .float(f64::from_bits(low))
                .str(", ")
                .float(f64::from_bits(high))
                .str(") is out of range; use two numbers from 0 to 10, the lower first"),
            Mistake::MinAboveMax(min, max) => text
                .str("min: ")
                .duration(min)
                .str(" is above max: ")
                .duration(max)
                .str("; lower the one or raise the other"),
            Mistake::ChainTooLong => text
                .str("modifiers: a backoff takes at most ")
                .number(CHAIN_MAX as u128)
                .str(" of min, max and jitter"),
            Mistake::ListTooLong(length) => text
                .str("list: ")
                .number(length as u128)
                .str(" delays are too many; a list holds at most ")
                .number(LIST_MAX as u128)
                .str(", and Backoff::from_fn takes any number"),
            Mistake::Amount(option, bits) => text
                .str(option)
                .str(": ")
                .float(f64::from_bits(bits))
                .str(" is out of range; use 0 or more, below 1000000000"),
            Mistake::NeverRefills => {
                text.str("budget: with no deposit and no floor an empty budget never refills")
            }
            Mistake::CostAboveCapacity => {
                text.str("budget: a retry that costs more than the capacity could never be paid")
            }
            Mistake::Probes(probes) => text
                .str("breaker probes: ")
                .number(probes as u128)
                .str(" are too many; use at most 16777215"),
            Mistake::CallIsOver(failures, attempts) => text
                .str("failures: after ")
                .number(failures as u128)
                .str(" of them a call of ")
                .number(attempts as u128)
                .str(" attempts is over, and cannot be resumed"),
            Mistake::WaitedPastBudget(waited, budget) => text
                .str("waited_nanos: ")
                .duration(waited)
                .str(" is above the wait budget of ")
                .duration(budget)
                .str("; is this another policy's call?"),
            Mistake::BeforeFirstFailure(name, value) => text
                .str(name)
                .str(": ")
                .number(value as u128)
                .str(" before the first failure; a call that has not failed has 0 there"),
            Mistake::BeforeOrigin(elapsed, now) => text
                .str("elapsed_nanos: ")
                .duration(elapsed)
                .str(" ago is before the clock's origin, now is ")
                .duration(now)
                .str("; count the time from an earlier origin"),
            Mistake::EndlessFirst => text.str(
                "then: the first policy has unlimited attempts and would never come to its end; give it a number",
            ),
            Mistake::LimitedFirst(option, value) => text
                .str("then: ")
                .str(option)
                .str(" ")
                .duration(value)
                .str(" of the first policy would end both; say it of the second, or of the whole"),
            Mistake::Percentile(percent) => text
                .str("percentile: ")
                .number(percent as u128)
                .str(" is out of range; use 1 to 99"),
            Mistake::Zero(option) => text.str(option).str(": 0 is not allowed; use 1 or more"),
        }
    }

    /// Fails the build where a constant is being evaluated, with the message; panics elsewhere.
    #[track_caller]
    #[inline]
    pub(crate) const fn refuse(&self) -> ! {
        panic!("{}", self.text().as_str())
    }
}

impl fmt::Display for Invalid {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text().as_str())
    }
}

impl fmt::Debug for Invalid {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid({:?})", self.text().as_str())
    }
}

impl core::error::Error for Invalid {}
