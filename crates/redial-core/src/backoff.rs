//! A delay is a source, then modifiers in order.

use core::fmt;
use core::time::Duration;

use crate::decimal::Decimal;
use crate::invalid::{Invalid, Mistake};
use crate::modifier::Modifier;
use crate::policy::{Policy, UNLIMITED};
use crate::random::Random;
use crate::schedule::{FromFn, Schedule};
use crate::shape::{Ready, Shape};
use crate::source::{Kind, LIST_MAX, Source, decorrelated};
use crate::time::nanos;

/// How long to wait: a source of delays, and modifiers in the order in which they are chained.
///
/// A backoff is a value. Every method is `const`, nothing allocates, and no arithmetic overflows:
/// what does not fit in 64 bits of nanoseconds saturates, and a cap still caps it.
///
/// | source | delay *n* (from 0) |
/// |---|---|
/// | [`constant`](Self::constant) *c* | *c* |
/// | [`linear`](Self::linear) *initial*, *increment* | *initial* + *n* · *increment* |
/// | [`exponential`](Self::exponential) *initial*, [`factor`](Self::factor) | *initial* · *factor*ⁿ |
/// | [`fibonacci`](Self::fibonacci) *initial* | *initial* · F(*n*+1) |
/// | [`list`](Self::list) *d₀ d₁ …* | *dₙ* |
/// | [`decorrelated`](Self::decorrelated) *base* | uniform in [*base*, 3 · previous] |
/// | [`new`](Self::new), [`from_fn`](Self::from_fn) | your own |
///
/// | modifier | of a delay *g* |
/// |---|---|
/// | [`min`](Self::min) *m* / [`max`](Self::max) *m* | max(*m*, *g*) / min(*m*, *g*) |
/// | [`full_jitter`](Self::full_jitter) | uniform in [0, *g*] |
/// | [`equal_jitter`](Self::equal_jitter) | uniform in [⌊*g*/2⌋, *g*] |
/// | [`proportional_jitter`](Self::proportional_jitter) *f* | uniform in *g* ± ⌊*f·g*⌋ |
/// | [`spread_jitter`](Self::spread_jitter) *lo*, *hi* | uniform in [⌊*lo·g*⌋, ⌈*hi·g*⌉ − 1] |
/// | [`additive_jitter`](Self::additive_jitter) *f* | uniform in [*g*, *g* + ⌊*f·g*⌋] |
///
/// The order is yours, and it matters:
///
/// ```
/// use core::time::Duration;
/// use redial_core::{Backoff, Policy};
///
/// const SECOND: Duration = Duration::from_secs(1);
///
/// // Spread over 0 to 5 s.
/// const SPREAD: Policy = Backoff::constant(SECOND.saturating_mul(8))
///     .max(SECOND.saturating_mul(5)).full_jitter().attempts(2);
/// // Drawn from 0 to 8 s, then cut: three in eight wait exactly 5 s, together.
/// const PILED: Policy = Backoff::constant(SECOND.saturating_mul(8))
///     .full_jitter().max(SECOND.saturating_mul(5)).attempts(2);
///
/// let word = || u64::MAX / 4 * 3;
/// assert_eq!(SPREAD.delays(word).next().unwrap().as_millis(), 3750);
/// assert_eq!(PILED.delays(word).next().unwrap().as_millis(), 5000);
/// ```
///
/// # Mistakes
///
/// A value that is out of range is remembered, and the method that ends the chain speaks of it:
/// [`attempts`](Self::attempts) refuses to compile in a `const`, [`try_attempts`](Self::try_attempts)
/// returns an [`Invalid`]. No other method can fail.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a backoff does nothing until `.attempts(…)` makes it a policy"]
pub struct Backoff<S = Source> {
    source: S,
    shape: Shape,
}

impl Backoff {
    pub(crate) fn retyped<S>(self, source: S) -> Backoff<S> {
        Backoff { source, shape: self.shape }
    }

    /// The same `delay` every time.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::constant(Duration::from_secs(1)).attempts(3);
    /// assert_eq!(policy.to_string(), "attempts: 3, delay: 1s");
    /// ```
    #[inline]
    pub const fn constant(delay: Duration) -> Self {
        Self::from_kind(Kind::Constant(nanos(delay)))
    }

    /// No delay at all. The async loop still yields to the runtime between attempts.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::none().attempts(3);
    /// assert!(policy.delays(|| 0).all(|delay| delay.is_zero()));
    /// ```
    pub const fn none() -> Self {
        Self::constant(Duration::ZERO)
    }

    /// `initial` + *n* · `increment`.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::linear(Duration::from_secs(1), Duration::from_secs(2)).attempts(4);
    /// let seconds: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_secs()).collect();
    /// assert_eq!(seconds, [1, 3, 5]);
    /// ```
    #[inline]
    pub const fn linear(initial: Duration, increment: Duration) -> Self {
        let (initial, increment) = (nanos(initial), nanos(increment));
        Self::from_kind(Kind::Linear { initial, increment })
    }

    /// `initial` · 2ⁿ; another [`factor`](Self::factor) may follow.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::exponential(Duration::from_millis(100)).attempts(4);
    /// let millis: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(millis, [100, 200, 400]);
    /// ```
    #[inline]
    pub const fn exponential(initial: Duration) -> Self {
        Self::from_kind(Kind::Exponential { initial: nanos(initial), factor: Decimal::TWO })
    }

    /// The factor of an exponential backoff, at least 1 and below one billion. It is taken as the
    /// nearest decimal of nine digits, so `1.1` means 1.1 exactly.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::exponential(Duration::from_millis(100)).factor(1.5).attempts(6);
    /// let micros: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_micros()).collect();
    /// assert_eq!(micros, [100_000, 150_000, 225_000, 337_500, 506_250]);
    /// ```
    pub const fn factor(self, factor: f64) -> Self {
        match Decimal::from_float(factor) {
            Some(decimal) => self.with_factor(decimal, factor),
            None => self.or_invalid(Mistake::Factor(factor.to_bits())),
        }
    }

    const fn with_factor(self, decimal: Decimal, written: f64) -> Self {
        let in_range = Decimal::ONE.at_most(decimal);
        match self.shape.kind() {
            _ if !in_range => self.or_invalid(Mistake::Factor(written.to_bits())),
            Kind::Exponential { initial, .. } => {
                let mut backoff = self;
                backoff.shape.set_kind(Kind::Exponential { initial, factor: decimal });
                backoff
            }
            _ => self.or_invalid(Mistake::FactorWithoutExponential(written.to_bits())),
        }
    }

    /// `initial` · 1, 1, 2, 3, 5, 8, …
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::fibonacci(Duration::from_secs(1)).attempts(7);
    /// let seconds: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_secs()).collect();
    /// assert_eq!(seconds, [1, 1, 2, 3, 5, 8]);
    /// ```
    #[inline]
    pub const fn fibonacci(initial: Duration) -> Self {
        Self::from_kind(Kind::Fibonacci { initial: nanos(initial) })
    }

    /// These delays, at most 32 of them. Past the end the delay is the first [`max`](Self::max)
    /// that is chained, or the last entry where there is none; an empty list without a `max` is no
    /// delay.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// const SECOND: Duration = Duration::from_secs(1);
    /// let list = Backoff::list(&[SECOND, SECOND * 3, SECOND * 7]);
    /// let seconds = |backoff: Backoff| -> Vec<u64> {
    ///     backoff.attempts(6).delays(|| 0).map(|delay| delay.as_secs()).collect()
    /// };
    /// assert_eq!(seconds(list), [1, 3, 7, 7, 7]);
    /// assert_eq!(seconds(list.max(SECOND * 60)), [1, 3, 7, 60, 60]);
    /// ```
    pub const fn list(delays: &[Duration]) -> Self {
        let mut entries = [0; LIST_MAX];
        let mut length = 0;
        while length < delays.len() && length < LIST_MAX {
            entries[length] = nanos(delays[length]);
            length += 1;
        }
        let list = Self::from_list(entries, length);
        if delays.len() > LIST_MAX {
            list.or_invalid(Mistake::ListTooLong(delays.len()))
        } else {
            list
        }
    }

    /// A uniform draw from [`base`, 3 · the previous delay]; `base` stands for the previous delay
    /// at first. The first [`max`](Self::max) that is chained is also the cap that the next draw
    /// starts from.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::decorrelated(Duration::from_secs(1))
    ///     .max(Duration::from_secs(10))
    ///     .attempts(5);
    /// let greatest: Vec<_> = policy.delays(|| u64::MAX).map(|delay| delay.as_secs()).collect();
    /// assert_eq!(greatest, [3, 9, 10, 10]);
    /// ```
    pub const fn decorrelated(base: Duration) -> Self {
        Self::decorrelated_below(nanos(base), u64::MAX)
    }

    pub(crate) const fn decorrelated_below(base: u64, cap: u64) -> Self {
        Self::from_kind(Kind::Decorrelated { base, unwritten_cap: cap })
    }

    #[inline]
    pub(crate) const fn from_kind(kind: Kind) -> Self {
        Self { source: Source::BUILT_IN, shape: Shape::new(kind) }
    }

    pub(crate) const fn from_list(delays: [u64; LIST_MAX], length: usize) -> Self {
        let shape = Shape::from_list(Kind::List { length }, delays);
        Self { source: Source::BUILT_IN, shape }
    }
}

impl<F: Fn(u32) -> Duration> Backoff<FromFn<F>> {
    /// A schedule of your own, as a function of *n*, counted from 0.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// const STEPS: [u64; 3] = [1, 10, 60];
    /// let policy = Backoff::from_fn(|n| Duration::from_secs(STEPS[n.min(2) as usize]))
    ///     .full_jitter()
    ///     .attempts(9);
    /// let greatest: Vec<_> = policy.delays(|| u64::MAX).map(|delay| delay.as_secs()).collect();
    /// assert_eq!(greatest, [1, 10, 60, 60, 60, 60, 60, 60]);
    /// ```
    pub const fn from_fn(delay: F) -> Self {
        Self::new(FromFn(delay))
    }
}

impl<S> Backoff<S> {
    /// A schedule of your own; see [`Schedule`].
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::{Backoff, Random, Schedule};
    /// struct Dice;
    /// impl Schedule for Dice {
    ///     fn delay(&self, _: u32, _: Duration, random: &mut impl Random) -> Duration {
    ///         Duration::from_secs(random.word() % 6 + 1)
    ///     }
    /// }
    /// let policy = Backoff::new(Dice).max(Duration::from_secs(4)).attempts(20);
    /// assert!(policy.delays(|| 5).all(|delay| delay == Duration::from_secs(4)));
    /// ```
    pub const fn new(source: S) -> Self {
        Self { source, shape: Shape::new(Kind::Own) }
    }

    /// At least `min`, from here on in the chain.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// const MS: Duration = Duration::from_millis(1);
    /// let policy = Backoff::exponential(MS).min(MS * 2).attempts(5);
    /// let millis: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(millis, [2, 2, 4, 8]);
    /// ```
    #[inline]
    pub const fn min(self, min: Duration) -> Self {
        self.with(Modifier::Min(nanos(min)))
    }

    /// At most `max`, from here on in the chain. The source goes on advancing behind it.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// const MS: Duration = Duration::from_millis(1);
    /// let policy = Backoff::exponential(MS).max(MS * 5).attempts(5);
    /// let millis: Vec<_> = policy.delays(|| 0).map(|delay| delay.as_millis()).collect();
    /// assert_eq!(millis, [1, 2, 4, 5]);
    /// ```
    #[inline]
    pub const fn max(self, max: Duration) -> Self {
        self.with(Modifier::Max(nanos(max)))
    }

    /// Anywhere from nothing to the whole delay. The usual choice: it spreads a crowd best.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::{Backoff, SplitMix64};
    /// let policy = Backoff::constant(Duration::from_millis(100)).full_jitter().attempts(3);
    /// let nanos: Vec<_> = policy.delays(SplitMix64::new(42)).map(|d| d.as_nanos()).collect();
    /// assert_eq!(nanos, [74_156_488, 15_991_039]);
    /// ```
    #[inline]
    pub const fn full_jitter(self) -> Self {
        self.with(Modifier::Full)
    }

    /// From half the delay to all of it.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::{Backoff, SplitMix64};
    /// let policy = Backoff::constant(Duration::from_millis(100)).equal_jitter().attempts(3);
    /// let nanos: Vec<_> = policy.delays(SplitMix64::new(42)).map(|d| d.as_nanos()).collect();
    /// assert_eq!(nanos, [87_078_244, 57_995_519]);
    /// ```
    #[inline]
    pub const fn equal_jitter(self) -> Self {
        self.with(Modifier::Equal)
    }

    /// The delay plus or minus `fraction` of it, 0 to 1. Keeps the mean.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::constant(Duration::from_secs(4)).proportional_jitter(0.25).attempts(2);
    /// assert_eq!(policy.delays(|| 0).next(), Some(Duration::from_secs(3)));
    /// assert_eq!(policy.delays(|| u64::MAX).next(), Some(Duration::from_secs(5)));
    /// ```
    pub const fn proportional_jitter(self, fraction: f64) -> Self {
        match Decimal::from_float(fraction) {
            Some(f) if f.at_most(Decimal::ONE) => self.with(Modifier::Proportional(f)),
            _ => self.or_invalid(Mistake::Proportional(fraction.to_bits())),
        }
    }

    /// The delay times a number from [`low`, `high`), both from 0 to 10.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::constant(Duration::from_secs(2)).spread_jitter(0.5, 1.5).attempts(2);
    /// assert_eq!(policy.delays(|| 0).next(), Some(Duration::from_secs(1)));
    /// assert!(policy.delays(|| u64::MAX).next() < Some(Duration::from_secs(3)));
    /// ```
    pub const fn spread_jitter(self, low: f64, high: f64) -> Self {
        match (Decimal::from_float(low), Decimal::from_float(high)) {
            (Some(from), Some(to))
                if from.billionths() < to.billionths() && to.at_most(Decimal::TEN) =>
            {
                self.with(Modifier::Spread(from, to))
            }
            _ => self.or_invalid(Mistake::Spread(low.to_bits(), high.to_bits())),
        }
    }

    /// The delay and up to `fraction` of it on top, 0 to 10.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let policy = Backoff::constant(Duration::from_secs(2)).additive_jitter(0.5).attempts(2);
    /// assert_eq!(policy.delays(|| 0).next(), Some(Duration::from_secs(2)));
    /// assert_eq!(policy.delays(|| u64::MAX).next(), Some(Duration::from_secs(3)));
    /// ```
    pub const fn additive_jitter(self, fraction: f64) -> Self {
        match Decimal::from_float(fraction) {
            Some(f) if f.at_most(Decimal::TEN) => self.with(Modifier::Additive(f)),
            _ => self.or_invalid(Mistake::Additive(fraction.to_bits())),
        }
    }

    /// A policy of at most `attempts` executions, the first one included.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::{Backoff, Policy};
    /// const FETCH: Policy = Backoff::exponential(Duration::from_millis(100))
    ///     .max(Duration::from_secs(10))
    ///     .full_jitter()
    ///     .attempts(5);
    /// assert_eq!(FETCH.attempts(), Some(5));
    /// ```
    ///
    /// # Panics
    ///
    /// Where `attempts` is 0 or a setting before it is out of range. In a `const` or `static` that
    /// is a compile error with the same words; for values that are known only at run time there is
    /// [`try_attempts`](Self::try_attempts).
    ///
    /// ```compile_fail
    /// # use core::time::Duration; use redial_core::{Backoff, Policy};
    /// const BAD: Policy = Backoff::exponential(Duration::from_secs(1)).factor(0.5).attempts(3);
    /// ```
    #[track_caller]
    #[inline]
    pub const fn attempts(self, attempts: u32) -> Policy<S> {
        if let Some(invalid) = self.shape.invalid() {
            invalid.refuse();
        }
        if attempts == 0 {
            Invalid(Mistake::ZeroAttempts).refuse();
        }
        Policy::from_retries(self, attempts as u64 - 1)
    }

    /// A policy that tries until something else stops it: the classifier, a deadline, a budget.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::{Backoff, Policy};
    /// const RECONNECT: Policy = Backoff::exponential(Duration::from_millis(100))
    ///     .max(Duration::from_secs(30))
    ///     .full_jitter()
    ///     .unlimited();
    /// assert_eq!(RECONNECT.attempts(), None);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`attempts`](Self::attempts).
    #[track_caller]
    #[inline]
    pub const fn unlimited(self) -> Policy<S> {
        if let Some(invalid) = self.shape.invalid() {
            invalid.refuse();
        }
        Policy::from_retries(self, UNLIMITED)
    }

    /// [`attempts`](Self::attempts) for values that are known only at run time.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let backoff = Backoff::constant(Duration::from_secs(1));
    /// assert!(backoff.try_attempts(1).is_ok());
    /// assert_eq!(
    ///     backoff.try_attempts(0).unwrap_err().to_string(),
    ///     "attempts: 0 attempts would never run the operation; use 1 or more",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// The first setting of the chain that is out of range.
    #[inline]
    pub fn try_attempts(self, attempts: u32) -> Result<Policy<S>, Invalid> {
        match (self.shape.invalid(), attempts.checked_sub(1)) {
            (Some(invalid), _) => Err(invalid),
            (None, None) => Err(Invalid(Mistake::ZeroAttempts)),
            (None, Some(retries)) => Ok(Policy::from_retries(self, retries.into())),
        }
    }

    /// [`unlimited`](Self::unlimited) for values that are known only at run time.
    ///
    /// ```
    /// # use core::time::Duration; use redial_core::Backoff;
    /// let backoff = Backoff::constant(Duration::from_secs(1));
    /// assert!(backoff.try_unlimited().is_ok());
    /// assert!(backoff.additive_jitter(f64::NAN).try_unlimited().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The first setting of the chain that is out of range.
    #[inline]
    pub fn try_unlimited(self) -> Result<Policy<S>, Invalid> {
        match self.shape.invalid() {
            Some(invalid) => Err(invalid),
            None => Ok(Policy::from_retries(self, UNLIMITED)),
        }
    }

    #[inline(always)]
    pub(crate) const fn with(self, modifier: Modifier) -> Self {
        let mut backoff = self;
        backoff.push(modifier);
        backoff
    }

    #[inline(always)]
    pub(crate) const fn push(&mut self, modifier: Modifier) {
        self.shape.push(modifier);
    }

    const fn or_invalid(self, mistake: Mistake) -> Self {
        let mut backoff = self;
        backoff.shape.refuse(mistake);
        backoff
    }

    /// Works out what so many retries will look up.
    #[inline]
    pub(crate) const fn ready(&mut self, retries: u64) -> Ready {
        self.shape.ready(retries)
    }

    #[inline]
    pub(crate) const fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl<S: Schedule> Backoff<S> {
    /// Delay `n`, in nanoseconds; `previous` is what the source gave last, and becomes what it
    /// gives now.
    ///
    /// Most delays are looked up, by [`Policy`].
    #[inline]
    pub(crate) fn next(&self, n: u64, previous: &mut u64, random: &mut impl Random) -> u64 {
        let given = match self.shape.kind() {
            Kind::Own => {
                self.source.advance(u32::try_from(n).unwrap_or(u32::MAX), previous, random)
            }
            Kind::Decorrelated { base, .. } => {
                *previous = decorrelated(base, self.shape.source_cap(), *previous, random.word());
                *previous
            }
            _ => {
                *previous = self.shape.at(n);
                *previous
            }
        };
        let modifiers = self.shape.chain().iter();
        modifiers.fold(given, |delay, modifier| modifier.apply(delay, random))
    }
}

impl<S: fmt::Debug> fmt::Debug for Backoff<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut backoff = f.debug_struct("Backoff");
        match self.shape.kind() {
            Kind::Own => backoff.field("source", &self.source),
            Kind::List { .. } => backoff.field("source", &List(self.shape.entries())),
            kind => backoff.field("source", &kind),
        };
        backoff.field("modifiers", self.shape.chain()).finish()
    }
}

/// A list as it is debugged.
#[derive(Debug)]
struct List<'a>(#[expect(dead_code, reason = "it is there to be shown")] &'a [u64]);
