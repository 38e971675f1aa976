//! A policy tells its own future without sleeping: each delay's least, mean and greatest value.
//!
//! Least and greatest are exact. The mean is exact, rounded down, where at most one word is drawn;
//! otherwise it is integrated numerically, to well within one percent. Floats are used for that
//! estimate and nowhere else: no delay is computed from them.

use core::time::Duration;

use crate::backoff::Backoff;
use crate::decimal::saturate;
use crate::modifier::Modifier;
use crate::policy::{NO_LIMIT, Policy};
use crate::source::Kind;

/// What a delay can be, before chance has decided.
///
/// ```
/// use core::time::Duration;
/// use redial_core::Policy;
///
/// let second = Policy::DEFAULT.forecast(1);
/// assert_eq!(second.least, Duration::ZERO);
/// assert_eq!(second.mean, Duration::from_secs(1));
/// assert_eq!(second.greatest, Duration::from_secs(2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forecast {
    /// With every word at its lowest.
    pub least: Duration,
    /// On average, rounded down.
    pub mean: Duration,
    /// With every word at its highest.
    pub greatest: Duration,
}

impl Policy {
    /// What delay `n` can be, counted from 0: the wait after attempt `n + 1` failed.
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::DEFAULT.forecast(100).greatest.as_secs(), 30); // the cap
    /// ```
    #[inline]
    pub fn forecast(&self, n: u32) -> Forecast {
        let mut mix = Mix::new(self);
        for _ in 0..n.min(Mix::STEADY) {
            mix.advance(self);
        }
        self.forecast_from(n, &mix)
    }

    /// The forecasts of all delays of this policy, in order; endless where attempts are unlimited.
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// const POLICY: Policy = policy!("retry: 3, delay: 1s, backoff: linear, jitter: equal");
    /// let means: Vec<_> = POLICY.forecasts().map(|delay| delay.mean.as_millis()).collect();
    /// assert_eq!(means, [750, 1500, 2250]);
    /// ```
    #[inline]
    pub fn forecasts(&self) -> Forecasts<'_> {
        Forecasts { policy: self, n: 0, mix: Mix::new(self), last: None }
    }

    /// The sum of all delays of this policy, or `None` where attempts are unlimited. Limits in
    /// time are left out.
    ///
    /// Exact for the first 4096 delays, or 256 where several jitters make each of them costly;
    /// beyond them the sum is taken in blocks, to within one part in a thousand.
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// const POLICY: Policy =
    ///     policy!("attempts: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full");
    /// let total = POLICY.total().unwrap();
    /// assert_eq!(total.least.as_millis(), 0);
    /// assert_eq!(total.mean.as_millis(), 7500);
    /// assert_eq!(total.greatest.as_millis(), 15_000);
    /// ```
    #[inline]
    pub fn total(&self) -> Option<Forecast> {
        Some(self.total_of(self.attempts()? - 1))
    }

    /// The sum of the first `count` delays, or of all where there are fewer: see
    /// [`total`](Self::total).
    ///
    /// ```
    /// use redial_core::Policy;
    /// assert_eq!(Policy::DEFAULT.total_of(1).greatest.as_secs(), 1);
    /// ```
    #[inline]
    pub fn total_of(&self, count: u32) -> Forecast {
        let jitters = self.backoff().shape().chain().iter().filter(Modifier::is_jitter);
        let costly = jitters.count() > 1;
        let (exact, blocks) = if costly { (256, 16) } else { (4096, 64) };
        let count = count.min(u32::try_from(self.retries()).unwrap_or(u32::MAX));
        let mut sum = Sum::default();
        for delay in self.forecasts().take(count.min(exact) as usize) {
            sum.add(delay, delay, 1);
        }
        let mut n = exact;
        let mut last: Option<(u64, Forecast)> = None;
        while n < count {
            // By now a source with chance in it has settled.
            let settled = matches!(self.backoff().shape().kind(), Kind::Decorrelated { .. });
            let block = if settled { count - n } else { (n / blocks).min(count - n) };
            let first = last.filter(|(base, _)| *base == self.base(n));
            let first = first.map_or_else(|| self.forecast(n), |(_, forecast)| forecast);
            let end = n + (block - 1);
            let same = !settled && self.base(end) == self.base(n);
            let greatest = if same { first } else { self.forecast(end) };
            sum.add(first, greatest, block);
            last = Some((self.base(end), greatest)).filter(|_| !settled);
            n += block;
        }
        sum.forecast()
    }

    /// How many delays some call could get to sleep, where attempts take no time and chance is
    /// kind: fewer than the retries where `within` or the wait budget stops every call before.
    /// `None` where there is no end to them.
    ///
    /// ```
    /// use redial_core::{Policy, policy};
    /// const POLICY: Policy =
    ///     policy!(allow(attempts_past_deadline), "retry: 9, delay: 1s, within: 5s");
    /// assert_eq!(POLICY.reachable(), Some(4)); // a wait that ends at the deadline is not slept
    /// ```
    #[inline]
    pub const fn reachable(&self) -> Option<u32> {
        let (within, budget) = (self.within_nanos(), self.wait_budget_nanos());
        match within_reach(self.backoff(), self.retries(), within, budget) {
            reached if reached >= u32::MAX as u64 => None,
            reached => Some(reached as u32),
        }
    }

    /// What the first jitter makes delay `n` of: the source after the bounds before it. Where it is
    /// the same for two delays of a source without chance, so is everything else.
    #[inline]
    fn base(&self, n: u32) -> u64 {
        let bounds = self.backoff().shape().chain().iter().take_while(|bound| !bound.is_jitter());
        bounds.fold(self.backoff().shape().at(n as u64), |g, bound| bound.range(g).0)
    }

    #[inline]
    fn forecast_from(&self, n: u32, mix: &Mix) -> Forecast {
        let (modifiers, length) = self.backoff().shape().chain().unpacked();
        let chain = &modifiers[..length];
        let (lowest, highest) = match self.backoff().shape().kind() {
            Kind::Decorrelated { .. } => (self.backoff().shape().at(n as u64), mix.greatest),
            _ => (self.backoff().shape().at(n as u64), self.backoff().shape().at(n as u64)),
        };
        let least = chain.iter().fold(lowest, |g, modifier| modifier.range(g).0);
        let greatest = chain.iter().fold(highest, |g, modifier| modifier.range(g).1);
        let mean = match self.backoff().shape().kind() {
            Kind::Decorrelated { .. } => mix.mean(chain),
            _ => mean(chain, lowest),
        };
        Forecast {
            least: Duration::from_nanos(least),
            mean: Duration::from_nanos(mean.clamp(least, greatest)),
            greatest: Duration::from_nanos(greatest),
        }
    }
}

/// How many of `retries` delays come before the least waits use up a limit.
#[inline]
pub(crate) const fn within_reach(
    backoff: &Backoff,
    retries: u64,
    within: u64,
    wait_budget: u64,
) -> u64 {
    /// Past these, delays are taken to stay as they are, so that a count of millions costs nothing.
    const LOOKED_AT: u64 = 256;
    // A deadline stops at the very moment, a wait budget may be spent to the end.
    let spent = match wait_budget.checked_add(1) {
        Some(spent) if spent < within => spent,
        _ if within < NO_LIMIT => within,
        _ => return retries,
    };
    let mut sum = 0u64;
    let mut least = 0;
    let mut n = 0;
    while n < retries && n < LOOKED_AT {
        least = least_delay(backoff, n as u32);
        sum = sum.saturating_add(least);
        if sum >= spent {
            return n;
        }
        n += 1;
    }
    if n == retries || least == 0 {
        return retries;
    }
    let further = (spent - sum).div_ceil(least) - 1;
    if further < retries - n { n + further } else { retries }
}

#[inline]
const fn least_delay(backoff: &Backoff, n: u32) -> u64 {
    let mut delay = backoff.shape().at(n as u64);
    let modifiers = backoff.shape().chain();
    let mut i = 0;
    while i < modifiers.len() {
        delay = modifiers.get(i).range(delay).0;
        i += 1;
    }
    delay
}

/// The forecasts of a policy's delays: see [`Policy::forecasts`].
///
/// ```
/// use redial_core::Policy;
/// assert_eq!(Policy::CONTENTION.forecasts().count(), 6);
/// ```
#[derive(Clone, Debug)]
#[must_use = "an iterator does nothing until it is asked"]
pub struct Forecasts<'p> {
    policy: &'p Policy,
    n: u32,
    mix: Mix,
    /// The base of the last delay and what came of it.
    last: Option<(u64, Forecast)>,
}

impl Iterator for Forecasts<'_> {
    type Item = Forecast;

    #[inline]
    fn next(&mut self) -> Option<Forecast> {
        if u64::from(self.n) >= self.policy.retries() {
            return None;
        }
        let base = self.policy.base(self.n);
        let chance = matches!(self.policy.backoff().shape().kind(), Kind::Decorrelated { .. });
        let settled = !chance || self.n > Mix::STEADY;
        let forecast = match self.last {
            Some((last, forecast)) if last == base && settled => forecast,
            _ => self.policy.forecast_from(self.n, &self.mix),
        };
        self.last = Some((base, forecast));
        if self.n < Mix::STEADY {
            self.mix.advance(self.policy);
        }
        self.n = self.n.saturating_add(1);
        Some(forecast)
    }
}

#[derive(Default)]
struct Sum {
    least: u128,
    mean: u128,
    greatest: u128,
}

impl Sum {
    /// A block of `count` delays that grow evenly from `first` to `last`.
    #[inline]
    fn add(&mut self, first: Forecast, last: Forecast, count: u32) {
        let even = |first: Duration, last: Duration| {
            (first.as_nanos() + last.as_nanos()) * u128::from(count) / 2
        };
        self.least += even(first.least, last.least);
        self.mean += even(first.mean, last.mean);
        self.greatest += even(first.greatest, last.greatest);
    }

    #[inline]
    fn forecast(&self) -> Forecast {
        let duration = |nanos| Duration::from_nanos(saturate(nanos));
        Forecast {
            least: duration(self.least),
            mean: duration(self.mean),
            greatest: duration(self.greatest),
        }
    }
}

/// The mean of what `chain` makes of a delay of `g`, rounded down.
#[inline]
fn mean(chain: &[Modifier], g: u64) -> u64 {
    match chain {
        [] => g,
        [bound, rest @ ..] if !bound.is_jitter() => mean(rest, bound.range(g).0),
        [jitter, rest @ ..] if jitters(rest) == 0 => {
            let (low, high) = jitter.range(g);
            bounded_mean(low, high, rest)
        }
        [jitter, rest @ ..] => {
            let (low, high) = jitter.range(g);
            Cloud::uniform(low, high).mean(rest) as u64
        }
    }
}

#[inline]
fn jitters(chain: &[Modifier]) -> usize {
    chain.iter().filter(|modifier| modifier.is_jitter()).count()
}

/// The mean of a uniform draw from [`low`, `high`] after `bounds`, in whole numbers.
///
/// Any sequence of bounds is one clamp: to where it takes the lowest and the highest delay.
#[inline]
fn bounded_mean(low: u64, high: u64, bounds: &[Modifier]) -> u64 {
    let clamp = |g: u64| bounds.iter().fold(g, |g, bound| bound.range(g).0);
    let (floor, ceiling) = (clamp(0), clamp(u64::MAX));
    if low == high || ceiling <= low || floor >= high {
        return low.clamp(floor, ceiling);
    }
    if high >= 1 << 62 {
        // The sums below would not fit; 62 bits are 146 years.
        return uniform_mean(low, high, floor, ceiling) as u64;
    }
    let (from, to) = (low.clamp(floor, ceiling), high.clamp(floor, ceiling));
    let wide = |number: u64| u128::from(number);
    let below = wide(from) * wide(from.saturating_sub(low));
    let above = wide(to) * wide(high.saturating_sub(to));
    let points = wide(high - low) + 1;
    // What is left of the draw lies evenly between the two clamped ends.
    let between = points - wide(from.saturating_sub(low)) - wide(high.saturating_sub(to));
    saturate((below + above + (wide(from) + wide(to)) * between / 2) / points)
}

/// The same in floats, for draws so far apart that whole numbers do not fit.
#[inline]
fn uniform_mean(low: u64, high: u64, floor: u64, ceiling: u64) -> f64 {
    let (from, to) = (low.clamp(floor, ceiling) as f64, high.clamp(floor, ceiling) as f64);
    let (low, high) = (low as f64, high as f64);
    let (below, above) = ((from - low).max(0.0), (high - to).max(0.0));
    (from * below + to * above + (from + to) / 2.0 * (high - low - below - above)) / (high - low)
}

/// A distribution as equally likely values, in order.
#[derive(Clone, Debug)]
struct Cloud {
    values: [f64; Self::SIZE],
}

impl Cloud {
    const SIZE: usize = 256;

    /// How many points a value is drawn out to by a jitter.
    const POINTS: usize = 16;

    #[inline]
    fn uniform(low: u64, high: u64) -> Self {
        let step = (high - low) as f64 / Self::SIZE as f64;
        let mut values = [0.0; Self::SIZE];
        for (i, value) in values.iter_mut().enumerate() {
            *value = low as f64 + step * (i as f64 + 0.5);
        }
        Self { values }
    }

    /// The mean of what `chain` makes of it.
    #[inline]
    fn mean(mut self, chain: &[Modifier]) -> f64 {
        let mut rest = chain;
        while let ([modifier, after @ ..], true) = (rest, jitters(rest) > 1) {
            self.apply(modifier);
            rest = after;
        }
        // The last jitter and the bounds around it have a mean in closed form.
        let mean =
            |value: &f64| if rest.is_empty() { *value } else { mean(rest, whole(*value)) as f64 };
        self.values.iter().map(mean).sum::<f64>() / Self::SIZE as f64
    }

    /// Every value becomes a few points of the range that the modifier makes of it; of all the
    /// points in order, neighbours are taken together again.
    #[inline]
    fn apply(&mut self, modifier: &Modifier) {
        let mut points = [0.0; Self::SIZE * Self::POINTS];
        let mut offset = 0.5;
        for (value, points) in self.values.iter().zip(points.chunks_mut(Self::POINTS)) {
            let (low, high) = modifier.range(whole(*value));
            let step = (high - low) as f64 / Self::POINTS as f64;
            for (i, point) in points.iter_mut().enumerate() {
                *point = low as f64 + step * (i as f64 + offset);
            }
            // By the golden section, so that the points of neighbours do not line up.
            offset += 0.618_033_988_75;
            if offset >= 1.0 {
                offset -= 1.0;
            }
        }
        points.sort_unstable_by(f64::total_cmp);
        for (value, points) in self.values.iter_mut().zip(points.chunks(Self::POINTS)) {
            *value = points.iter().sum::<f64>() / Self::POINTS as f64;
        }
    }
}

/// The nearest number of nanoseconds.
#[inline]
fn whole(value: f64) -> u64 {
    (value + 0.5) as u64
}

/// How the decorrelated source's delay is distributed: equally likely values, in order. Other
/// sources do not touch it.
#[derive(Clone, Debug)]
struct Mix {
    values: [f64; Cloud::SIZE],
    greatest: u64,
}

impl Mix {
    const SIZE: usize = Cloud::SIZE;

    /// By then the distribution has settled: from one nanosecond to 584 years the middle of it
    /// takes some 450 steps.
    const STEADY: u32 = 1024;

    #[inline]
    fn new(policy: &Policy) -> Self {
        let mut mix = Self { values: [0.0; Self::SIZE], greatest: 0 };
        if let Kind::Decorrelated { base, .. } = policy.backoff().shape().kind() {
            mix.values = [base as f64; Self::SIZE];
            mix.greatest = base;
            mix.advance(policy);
        }
        mix
    }

    /// From each value to a uniform draw from [base, 3 · value], at most the cap.
    ///
    /// The share of draws below *y* is a sum of straight lines, one for each value, that end where
    /// *y* = 3 · value. So its inverse is walked in one pass, and each new value is the middle of
    /// a slice of it, which keeps the mean.
    #[inline]
    fn advance(&mut self, policy: &Policy) {
        let Kind::Decorrelated { base, .. } = policy.backoff().shape().kind() else { return };
        let cap = policy.backoff().shape().source_cap();
        self.greatest = self.greatest.max(base).saturating_mul(3).min(cap);
        let (base, cap) = (base as f64, (cap as f64).min(u64::MAX as f64));
        let width = |value: f64| (3.0 * value.max(base) - base).max(1.0);
        // The steepness of the lines that have not ended yet.
        let mut steepness: f64 = self.values.iter().map(|value| 1.0 / width(*value)).sum();
        let mut ended = 0;
        let mut edge = base;
        let mut next = [0.0; Self::SIZE];
        for (slice, value) in next.iter_mut().enumerate() {
            let share = (slice + 1) as f64;
            while ended < Self::SIZE - 1 {
                let end = base + width(self.values[ended]);
                if ended as f64 + (end - base) * steepness > share {
                    break;
                }
                steepness -= 1.0 / width(self.values[ended]);
                ended += 1;
            }
            let last = base + width(self.values[Self::SIZE - 1]);
            let upper = (base + (share - ended as f64) / steepness).clamp(edge, last);
            *value = ((edge.min(cap) + upper.min(cap)) / 2.0).max(base.min(cap));
            edge = upper;
        }
        // The slices at the upper end are wide, and their middle is not quite their mean. What the
        // mean must be is known, so the values are stretched to it.
        let expected: f64 = self.values.iter().map(|value| below(base, width(*value), cap)).sum();
        let stretch = expected / next.iter().sum::<f64>().max(1.0);
        self.values = next.map(|value| (value * stretch).min(cap));
    }

    #[inline]
    fn mean(&self, chain: &[Modifier]) -> u64 {
        let mean = Cloud { values: self.values }.mean(chain);
        // A sum that should be whole may have come out a hair below it.
        (mean * (1.0 + 1e-12) + 1e-6) as u64
    }
}

/// The mean of a uniform draw from [`base`, `base` + `width`], at most `cap`.
#[inline]
fn below(base: f64, width: f64, cap: f64) -> f64 {
    let room = cap - base;
    if room <= 0.0 {
        cap
    } else if width <= room {
        base + width / 2.0
    } else {
        base + room - room * room / (2.0 * width)
    }
}
