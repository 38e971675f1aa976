//! The delays of another system, where a clause cannot say them: a table of ranges in the unit that the system
//! keeps.
//!
//! The numbers of a table come out of the system's own arithmetic, floats included, and are integers from then on. Only
//! operations that IEEE 754 rounds in one way are used for that (no `powf`, no `ln`), so that they are the same bits on
//! every target.

use std::sync::Arc;
use std::time::Duration;

use redial_core::{Forecast, Policy, Random, Schedule};

use super::System;
use super::arithmetic::curve;

/// How many delays of a law are worked out. What has not settled by then stays as it is.
pub(super) const DELAYS_MAX: usize = 4096;

/// One delay before chance has decided, in nanoseconds: uniform among the whole numbers of a range, then cut down to a whole
/// number of units, then capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub(super) least: u64,
    pub(super) greatest: u64,
    pub(super) unit: u64,
    pub(super) cap: u64,
    /// Not zero: the delay is what the curve of this height rises between the draw before and this one, *n* of which is `least`.
    pub(super) height: u64,
}

impl Draw {
    /// No chance.
    pub(super) const fn exactly(nanos: u64) -> Self {
        Self::between(nanos, nanos)
    }

    /// Both ends included.
    pub(super) const fn between(least: u64, greatest: u64) -> Self {
        let greatest = if greatest < least { least } else { greatest };
        Self { least, greatest, unit: 1, cap: u64::MAX, height: 0 }
    }

    /// Delay `n` along a curve that begins at zero, see [`curve`](super::arithmetic::curve); in ticks of 100 ns.
    pub(super) fn curve(n: u32, height: u64) -> Self {
        /// From here on no height is so small that the delay ends before time does.
        const SATURATED: u32 = 64;
        Self { height, ..Self::exactly(n.min(SATURATED).into()).cut_to(100) }
    }

    /// What the curve rises between two draws, of which `before` was in the delay before.
    fn risen(&self, before: f64, now: f64) -> u64 {
        let n = self.least as f64;
        let from = if self.least == 0 { 0.0 } else { curve(n - 1.0 + before) };
        let rise = (curve(n + now) - from) * (self.height as f64 / 1.4);
        // A cast of a float saturates.
        self.value(rise as u64)
    }

    /// The mean over a grid of draws.
    fn mean_rise(&self) -> u64 {
        const GRID: u32 = 64;
        let middle = |at: u32| (f64::from(at) + 0.5) / f64::from(GRID);
        let pairs = (0..GRID).flat_map(|before| (0..GRID).map(move |now| (before, now)));
        let sum: u128 =
            pairs.map(|(before, now)| u128::from(self.risen(middle(before), middle(now)))).sum();
        u64::try_from(sum / u128::from(GRID * GRID)).unwrap_or(u64::MAX)
    }

    /// One of the whole numbers of units from `least` to `greatest`, each as likely as the others.
    pub(super) const fn whole(least: u64, greatest: u64, unit: u64) -> Self {
        let end = greatest.saturating_add(1).saturating_mul(unit);
        Self::between(least.saturating_mul(unit), end.saturating_sub(1)).cut_to(unit)
    }

    /// What is drawn is cut down to a whole number of these.
    pub(super) const fn cut_to(self, unit: u64) -> Self {
        Self { unit: if unit == 0 { 1 } else { unit }, ..self }
    }

    /// What is drawn is at most this: the mass beyond it piles up there.
    pub(super) const fn capped(self, cap: u64) -> Self {
        Self { cap, ..self }
    }

    const fn value(&self, drawn: u64) -> u64 {
        let cut = drawn - drawn % self.unit;
        if cut < self.cap { cut } else { self.cap }
    }

    /// The delay that a word chooses; `before` is what this left there for the delay before.
    fn advance(&self, before: &mut u64, word: u64) -> u64 {
        let share = |word: u64| (word >> 11) as f64 / (1u64 << 53) as f64;
        match self.height {
            0 => {
                *before = self.pick(word);
                *before
            }
            _ => self.risen(share(std::mem::replace(before, word)), share(word)),
        }
    }

    fn pick(&self, word: u64) -> u64 {
        let width = u128::from(self.greatest - self.least) + 1;
        let above = (u128::from(word) * width) >> 64;
        self.value(self.least + u64::try_from(above).unwrap_or(u64::MAX))
    }

    /// The sum of all that can be drawn below `end`, from zero on.
    fn sum_below(&self, end: u64) -> u128 {
        let (unit, end) = (u128::from(self.unit), u128::from(end));
        let (cells, rest) = (end / unit, end % unit);
        let triangle = if cells == 0 { 0 } else { cells * (cells - 1) / 2 };
        (unit * unit).saturating_mul(triangle).saturating_add(rest * unit * cells)
    }

    fn mean(&self) -> u64 {
        if self.least == self.greatest {
            return self.value(self.least);
        }
        let count = u128::from(self.greatest - self.least) + 1;
        let end = self.greatest.saturating_add(1);
        // From here on every value is the cap.
        let capped = self.cap.div_ceil(self.unit).saturating_mul(self.unit).clamp(self.least, end);
        let below = self.sum_below(capped) - self.sum_below(self.least);
        let above = u128::from(end - capped).saturating_mul(u128::from(self.cap));
        u64::try_from(below.saturating_add(above) / count).unwrap_or(u64::MAX)
    }

    pub(super) fn forecast(&self) -> Forecast {
        if self.height > 0 {
            let nanos = [self.risen(1.0, 0.0), self.mean_rise(), self.risen(0.0, 1.0)];
            let [least, mean, greatest] = nanos.map(Duration::from_nanos);
            return Forecast { least, mean, greatest };
        }
        let [least, mean, greatest] =
            [self.value(self.least), self.mean(), self.value(self.greatest)];
        let [least, mean, greatest] = [least, mean, greatest].map(Duration::from_nanos);
        Forecast { least, mean, greatest }
    }
}

/// A table of delays, as a source of the engine's: the last one repeats. Or none: then it is the source of a policy of
/// ours, which is never asked, so that a program can hold both in one place.
///
/// ```
/// use redial_policy::{Format, read};
///
/// let text = "retry_policy: {retry_on: 5xx, num_retries: 3}";
/// let document = read(text, Format::Yaml, None);
/// let law = document.policies().next().unwrap().law.clone().unwrap();
/// // Envoy draws whole milliseconds: 0 to 24, 0 to 49, 0 to 99.
/// let greatest: Vec<_> = law.policy().delays(|| u64::MAX).map(|delay| delay.as_millis()).collect();
/// assert_eq!(greatest, [24, 49, 99]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draws(Option<Arc<[Draw]>>);

impl Draws {
    /// A policy of ours, in the type of those that have a law.
    pub fn of(policy: Policy) -> Policy<Self> {
        policy.retyped(Self(None))
    }

    fn table(&self) -> &[Draw] {
        self.0.as_deref().unwrap_or_default()
    }

    fn at(&self, n: u32) -> Draw {
        let last = self.table().len().saturating_sub(1);
        let at = usize::try_from(n).unwrap_or(usize::MAX).min(last);
        self.table().get(at).copied().unwrap_or(Draw::exactly(0))
    }
}

impl Schedule for Draws {
    /// One word for each delay, also where there is nothing to choose.
    fn delay(&self, n: u32, previous: Duration, random: &mut impl Random) -> Duration {
        let mut previous = u64::try_from(previous.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.advance(n, &mut previous, random))
    }

    /// Where a delay depends on the draw before, that is what a call remembers, and what is written down of it.
    fn advance(&self, n: u32, previous: &mut u64, random: &mut impl Random) -> u64 {
        self.at(n).advance(previous, random.word())
    }
}

/// The delays of another system that no clause says exactly: a policy of the engine's with a source of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Law(Arc<Parts>);

#[derive(Debug, PartialEq)]
struct Parts {
    draws: Draws,
    policy: Policy<Draws>,
    nearest: Policy,
    system: &'static System,
    name: String,
}

impl Law {
    pub(super) fn new(
        draws: &[Draw],
        nearest: Policy,
        system: &'static System,
        name: String,
    ) -> Option<Self> {
        let draws = Draws(Some(draws.into()));
        let backoff = redial_core::Backoff::new(draws.clone());
        let policy = match nearest.attempts() {
            Some(attempts) => backoff.try_attempts(attempts).ok()?,
            None => backoff.try_unlimited().ok()?,
        };
        let policy = match nearest.get_within() {
            Some(within) => policy.within(within),
            None => policy,
        };
        Some(Self(Arc::new(Parts { draws, policy, nearest, system, name })))
    }

    /// The policy, for the engine.
    pub fn policy(&self) -> &Policy<Draws> {
        &self.0.policy
    }

    /// The policy of our own that comes nearest.
    pub fn nearest(&self) -> Policy {
        self.0.nearest
    }

    /// The system whose law it is.
    pub fn system(&self) -> &'static System {
        self.0.system
    }

    /// Where it was found.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The same, found in a place of this name.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        let Parts { draws, policy, nearest, system, .. } = &*self.0;
        let (draws, policy, name) = (draws.clone(), policy.clone(), name.into());
        Self(Arc::new(Parts { draws, policy, nearest: *nearest, system, name }))
    }

    pub(super) fn draws(&self) -> &[Draw] {
        self.0.draws.table()
    }

    /// What delay `n` can be.
    pub fn forecast(&self, n: u32) -> Forecast {
        self.0.draws.at(n).forecast()
    }

    pub(crate) fn forecasts(&self) -> impl Iterator<Item = Forecast> {
        let count = self.0.policy.attempts().map_or(u32::MAX, |attempts| attempts - 1);
        (0..count).map(|n| self.forecast(n))
    }

    /// The sum of the first `count` delays.
    pub(crate) fn total_of(&self, count: u32) -> Forecast {
        let retries = self.0.policy.attempts().map_or(u32::MAX, |attempts| attempts - 1);
        let count = count.min(retries);
        let table = u32::try_from(self.draws().len()).unwrap_or(u32::MAX);
        let zero = Duration::ZERO;
        let mut sum = Forecast { least: zero, mean: zero, greatest: zero };
        let mut add = |delay: Forecast, times: u32| {
            let more = |one: Duration| {
                let nanos = one.as_nanos().saturating_mul(u128::from(times));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            };
            sum.least = sum.least.saturating_add(more(delay.least));
            sum.mean = sum.mean.saturating_add(more(delay.mean));
            sum.greatest = sum.greatest.saturating_add(more(delay.greatest));
        };
        (0..count.min(table)).for_each(|n| add(self.forecast(n), 1));
        if count > table {
            add(self.forecast(table), count - table);
        }
        sum
    }

    /// How many delays some call could get to sleep; none where there is no end to them.
    pub(crate) fn reachable(&self) -> Option<u32> {
        /// More than this is as good as endless.
        const LOOKED_AT: u32 = 1 << 20;
        let retries = self.0.policy.attempts().map(|attempts| attempts - 1);
        let Some(within) = self.0.policy.get_within() else { return retries };
        let mut sum = Duration::ZERO;
        for n in 0..retries.unwrap_or(LOOKED_AT).min(LOOKED_AT) {
            sum = sum.saturating_add(self.forecast(n).least);
            if sum >= within {
                return Some(n);
            }
        }
        retries
    }
}

impl std::fmt::Display for Law {
    /// Dialect and name: no clause says what it does.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.name.as_str() {
            "" => f.write_str(self.0.system.title()),
            name => write!(f, "{} {name}", self.0.system.title()),
        }
    }
}
