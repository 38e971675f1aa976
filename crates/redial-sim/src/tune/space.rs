//! The policies that a search looks among, and how it walks there.

use std::ops::RangeInclusive;
use std::time::Duration;

use redial_core::{Backoff, Policy, SplitMix64};

use crate::chance::unit;
use crate::elementary::{exp, ln};

/// Where a policy is in the space: each coordinate from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    family: f64,
    delay: f64,
    factor: f64,
    cap: f64,
    jitter: f64,
    attempts: f64,
}

#[derive(Clone, Copy)]
enum Family {
    Constant,
    Linear,
    Exponential,
    Decorrelated,
}

/// Exponential three times: it has one more parameter to search, the factor.
const FAMILIES: [Family; 6] = [
    Family::Constant,
    Family::Linear,
    Family::Exponential,
    Family::Exponential,
    Family::Exponential,
    Family::Decorrelated,
];

#[derive(Clone, Copy)]
enum Jitter {
    None,
    Proportional(f64),
    Equal,
    Full,
}

/// From the least to the most, so that neighbouring points are alike. Full jitter three times: it
/// is what helps most where clients contend.
const JITTERS: [Jitter; 7] = [
    Jitter::None,
    Jitter::Proportional(0.25),
    Jitter::Proportional(0.5),
    Jitter::Equal,
    Jitter::Full,
    Jitter::Full,
    Jitter::Full,
];

const FACTORS: RangeInclusive<f64> = 1.1..=4.0;

/// The policies to look among.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// The shortest and the longest delay, in nanoseconds.
    shortest: f64,
    longest: f64,
    /// `None` where nobody ever gives up.
    attempts: Option<RangeInclusive<u32>>,
    /// Whose limits in time they all have.
    yours: Policy,
}

impl Space {
    /// Delays from a tenth of the latency to four times what a crowd takes one by one.
    pub(super) fn new(
        latency: Duration,
        clients: u32,
        attempts: Option<RangeInclusive<u32>>,
        yours: Policy,
    ) -> Self {
        let latency = latency.as_nanos() as f64;
        let longest = latency * 4.0 * f64::from(clients.max(50));
        Self { shortest: latency / 10.0, longest, attempts, yours }
    }

    /// The policy at a point, in numbers that somebody would write: what is printed is what was
    /// measured.
    pub(super) fn policy(&self, point: &Point) -> Policy {
        let nanos = between(self.shortest, self.longest, point.delay);
        let (delay, cap) = (rounded(nanos), rounded(between(nanos, self.longest, point.cap)));
        let factor = between(*FACTORS.start(), *FACTORS.end(), point.factor);
        let backoff = match choice(&FAMILIES, point.family) {
            Family::Constant => Backoff::constant(delay),
            // A backoff that grows by less than a quarter is easier to read as a constant one.
            Family::Linear | Family::Exponential if cap < delay + delay / 4 => {
                Backoff::constant(delay)
            }
            Family::Linear => Backoff::linear(delay, delay).max(cap),
            Family::Exponential => {
                Backoff::exponential(delay).factor((factor * 10.0).round() / 10.0).max(cap)
            }
            // It is random by itself.
            Family::Decorrelated => {
                return self.limited(Backoff::decorrelated(delay).max(cap), point);
            }
        };
        let backoff = match choice(&JITTERS, point.jitter) {
            Jitter::None => backoff,
            Jitter::Proportional(fraction) => backoff.proportional_jitter(fraction),
            Jitter::Equal => backoff.equal_jitter(),
            Jitter::Full => backoff.full_jitter(),
        };
        self.limited(backoff, point)
    }

    fn limited(&self, backoff: Backoff, point: &Point) -> Policy {
        let mut policy = match &self.attempts {
            None => backoff.unlimited(),
            Some(attempts) => {
                let choices = f64::from(attempts.end() - attempts.start()) + 1.0;
                let more = (point.attempts * choices).min(choices - 1.0) as u32;
                backoff.attempts(attempts.start() + more)
            }
        };
        if let Some(limit) = self.yours.get_within() {
            policy = policy.within(limit);
        }
        if let Some(limit) = self.yours.get_wait_budget() {
            policy = policy.wait_budget(limit);
        }
        policy
    }
}

impl Point {
    /// A low-discrepancy sequence in six dimensions: Roberts's R sequence (2018), the additive
    /// recurrence with the powers of 1/x, x⁷ = x + 1, from a random start.
    pub(super) fn scattered(random: &mut SplitMix64) -> impl Iterator<Item = Self> + use<> {
        const RATIO: f64 = 1.112_775_684_278_705_5;
        let mut place = Self::from_fn(|_| unit(random));
        std::iter::repeat_with(move || {
            let mut step = 1.0;
            place = place.map(|coordinate| {
                step /= RATIO;
                (coordinate + step) % 1.0
            });
            place
        })
    }

    /// A point nearby: in each coordinate, at most `reach` away.
    pub(super) fn near(self, reach: f64, random: &mut SplitMix64) -> Self {
        self.map(|coordinate| {
            let moved = coordinate + reach * (2.0 * unit(random) - 1.0);
            // Reflected at the edges of the space.
            1.0 - (1.0 - moved.abs()).abs()
        })
    }

    fn from_fn(mut coordinate: impl FnMut(f64) -> f64) -> Self {
        Self { family: 0.0, delay: 0.0, factor: 0.0, cap: 0.0, jitter: 0.0, attempts: 0.0 }
            .map(&mut coordinate)
    }

    /// In the order of the fields.
    fn map(self, mut change: impl FnMut(f64) -> f64) -> Self {
        Self {
            family: change(self.family),
            delay: change(self.delay),
            factor: change(self.factor),
            cap: change(self.cap),
            jitter: change(self.jitter),
            attempts: change(self.attempts),
        }
    }
}

fn choice<T: Copy>(choices: &[T], coordinate: f64) -> T {
    let index = (coordinate * choices.len() as f64) as usize;
    choices[index.min(choices.len() - 1)]
}

/// From `low` to `high`, equal steps of the coordinate being equal factors.
pub(super) fn between(low: f64, high: f64, coordinate: f64) -> f64 {
    high * exp((coordinate - 1.0) * ln(high / low))
}

/// To two digits, and never to nothing.
fn rounded(nanos: f64) -> Duration {
    let nanos = nanos.max(1.0);
    let mut place = 1.0;
    while nanos / place >= 99.5 {
        place *= 10.0;
    }
    Duration::from_nanos(((nanos / place).round() * place) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_digits() {
        for (nanos, expected) in [
            (7.4, 7),
            (44_400_000.0, 44_000_000),
            (1.261e9, 1_300_000_000),
            (9.96e8, 1_000_000_000),
        ] {
            assert_eq!(rounded(nanos), Duration::from_nanos(expected));
        }
        assert_eq!(rounded(1e300), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn every_policy_of_the_space_is_its_clause() {
        let latency = Duration::from_millis(10);
        for attempts in [None, Some(2..=20)] {
            let space = Space::new(latency, 190, attempts, Policy::CONTENTION);
            for point in Point::scattered(&mut SplitMix64::new(5)).take(2000) {
                let policy = space.policy(&point);
                assert_eq!(policy.to_string().parse(), Ok(policy), "{policy}");
            }
        }
    }

    #[test]
    fn scattered_points_fall_into_every_part() {
        let mut random = SplitMix64::new(3);
        let mut seen = [[false; 20]; 6];
        for Point { family, delay, factor, cap, jitter, attempts } in
            Point::scattered(&mut random).take(100)
        {
            let coordinates = [family, delay, factor, cap, jitter, attempts];
            for (seen, coordinate) in seen.iter_mut().zip(coordinates) {
                seen[(coordinate * 20.0) as usize] = true;
            }
        }
        assert_eq!(seen, [[true; 20]; 6]);
    }

    #[test]
    fn no_step_leaves_the_space() {
        let mut random = SplitMix64::new(7);
        let mut point = Point::from_fn(|_| 0.5);
        for _ in 0..1000 {
            point = point.near(0.9, &mut random);
            point.map(|coordinate| {
                assert!((0.0..=1.0).contains(&coordinate), "{coordinate}");
                coordinate
            });
        }
    }
}
