//! Section 2 of the contract, written a second time: slowly, in exact arithmetic, and without a
//! line of the crate. It describes a policy in its own words, works out the delays from a sequence
//! of random words, and renders the same description as Rust and as a clause.

mod natural;
pub(crate) mod power;
pub(crate) mod render;

pub(crate) const BILLION: u64 = 1_000_000_000;
pub(crate) const SECOND: u64 = BILLION;
pub(crate) const MILLI: u64 = 1_000_000;

/// Timing alone. Times are nanoseconds, fractions are billionths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    pub(crate) source: Source,
    pub(crate) modifiers: Vec<Modifier>,
    pub(crate) attempts: Option<u32>,
    pub(crate) within: Option<u64>,
    pub(crate) wait_budget: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Constant(u64),
    Linear { initial: u64, increment: u64 },
    Exponential { initial: u64, factor: u64 },
    Fibonacci(u64),
    List(Vec<u64>),
    Decorrelated(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Modifier {
    Min(u64),
    Max(u64),
    Full,
    Equal,
    Proportional(u64),
    Spread(u64, u64),
    Additive(u64),
}

impl Modifier {
    pub(crate) fn is_jitter(&self) -> bool {
        !matches!(self, Self::Min(_) | Self::Max(_))
    }

    /// The ends of the range that a delay of `g` becomes.
    pub(crate) fn range(&self, g: u64) -> (u64, u64) {
        let share = |f: u64| u128::from(f) * u128::from(g) / u128::from(BILLION);
        let wide = u128::from(g);
        let (low, high) = match *self {
            Self::Min(m) => (wide.max(m.into()), wide.max(m.into())),
            Self::Max(m) => (wide.min(m.into()), wide.min(m.into())),
            Self::Full => (0, wide),
            Self::Equal => (wide / 2, wide),
            Self::Proportional(f) => (wide - share(f), wide + share(f)),
            Self::Spread(low, high) => {
                // The greatest whole number below high · g, where there is one.
                let product = u128::from(high) * wide;
                let below = product.saturating_sub(1) / u128::from(BILLION);
                (share(low), below.max(share(low)))
            }
            Self::Additive(f) => (wide, wide + share(f)),
        };
        (saturated(low), saturated(high))
    }

    fn apply(&self, g: u64, words: &mut impl FnMut() -> u64) -> u64 {
        let (low, high) = self.range(g);
        if self.is_jitter() { picked(low, high, words()) } else { low }
    }
}

impl Timing {
    pub(crate) fn new(source: Source, modifiers: &[Modifier], attempts: u32) -> Self {
        Self {
            source,
            modifiers: modifiers.to_vec(),
            attempts: Some(attempts),
            within: None,
            wait_budget: None,
        }
    }

    /// The delays in order, as many as are asked for, whatever the attempts are.
    pub(crate) fn delays(&self, count: usize, mut words: impl FnMut() -> u64) -> Vec<u64> {
        let mut walk = Walk::of(self, count);
        (0..count).map(|n| walk.delay(n, &mut words)).collect()
    }

    pub(crate) fn first_max(&self) -> Option<u64> {
        self.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Max(max) => Some(*max),
            _ => None,
        })
    }

    pub(crate) fn jitters(&self) -> usize {
        self.modifiers.iter().filter(|modifier| modifier.is_jitter()).count()
    }

    /// Whether a `min` stands above a `max` with no jitter between them.
    pub(crate) fn contradicts_itself(&self) -> bool {
        self.modifiers.split(Modifier::is_jitter).any(|bounds| {
            let highest_min = bounds.iter().filter_map(|bound| match bound {
                Modifier::Min(min) => Some(*min),
                _ => None,
            });
            let lowest_max = bounds.iter().filter_map(|bound| match bound {
                Modifier::Max(max) => Some(*max),
                _ => None,
            });
            highest_min.max().unwrap_or(0) > lowest_max.min().unwrap_or(u64::MAX)
        })
    }

    /// What the clause means where it neither writes a `max_delay` nor lifts the default: the cap
    /// of 30 s before all modifiers, never below the delay, nor below a floor that comes first.
    pub(crate) fn with_default_cap(&self) -> Self {
        let delay = match self.source {
            Source::Constant(_) | Source::List(_) => return self.clone(),
            Source::Linear { initial, .. } | Source::Exponential { initial, .. } => initial,
            Source::Fibonacci(initial) | Source::Decorrelated(initial) => initial,
        };
        if self.first_max().is_some() {
            return self.clone();
        }
        let floor = self.modifiers.iter().take_while(|modifier| !modifier.is_jitter());
        let floor = floor.map(|bound| bound.range(0).0).max().unwrap_or(0);
        let cap = Modifier::Max(delay.max(30 * SECOND).max(floor));
        let modifiers = [cap].into_iter().chain(self.modifiers.iter().copied()).collect();
        Self { modifiers, ..self.clone() }
    }
}

/// One call's way along its delays.
pub(crate) struct Walk<'t> {
    timing: &'t Timing,
    /// Worked out beforehand, for sources that draw no word.
    formula: Vec<u64>,
    /// What a decorrelated source gave last.
    previous: Option<u64>,
}

impl<'t> Walk<'t> {
    /// For delays below `count`.
    pub(crate) fn of(timing: &'t Timing, count: usize) -> Self {
        Self { timing, formula: formula(timing, count), previous: None }
    }

    pub(crate) fn delay(&mut self, n: usize, words: &mut impl FnMut() -> u64) -> u64 {
        let given = match self.timing.source {
            Source::Decorrelated(base) => {
                let cap = self.timing.first_max().unwrap_or(u64::MAX);
                let high = self.previous.unwrap_or(base).saturating_mul(3).max(base);
                let given = picked(base, high, words()).min(cap);
                self.previous = Some(given);
                given
            }
            _ => self.formula[n],
        };
        self.timing.modifiers.iter().fold(given, |g, modifier| modifier.apply(g, words))
    }
}

/// The first `count` values of a source that draws no word.
pub(crate) fn formula(timing: &Timing, count: usize) -> Vec<u64> {
    match &timing.source {
        Source::Constant(delay) => vec![*delay; count],
        Source::Linear { initial, increment } => (0..count as u128)
            .map(|n| saturated(u128::from(*initial) + n * u128::from(*increment)))
            .collect(),
        Source::Exponential { initial, factor } => {
            power::powers(*initial, *factor).take(count).collect()
        }
        Source::Fibonacci(initial) => {
            let mut pair = (u128::from(*initial), u128::from(*initial));
            let mut values = Vec::new();
            for _ in 0..count {
                values.push(saturated(pair.0));
                // Saturated, the numbers may stop growing: no later one is any smaller.
                pair = (pair.1, (pair.0 + pair.1).min(1 << 100));
            }
            values
        }
        Source::List(delays) => {
            let tail = timing.first_max().or(delays.last().copied()).unwrap_or(0);
            (0..count).map(|n| delays.get(n).copied().unwrap_or(tail)).collect()
        }
        Source::Decorrelated(_) => Vec::new(),
    }
}

/// *lo* + ⌊*w* · (*hi* − *lo* + 1) / 2⁶⁴⌋
pub(crate) fn picked(low: u64, high: u64, word: u64) -> u64 {
    let points = u128::from(high - low) + 1;
    low + ((u128::from(word) * points) >> 64) as u64
}

pub(crate) fn saturated(wide: u128) -> u64 {
    u64::try_from(wide).unwrap_or(u64::MAX)
}
