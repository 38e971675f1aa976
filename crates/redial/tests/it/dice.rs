//! Seeded random cases: policies from the public builder, and what each failure of a call means.

use std::time::Duration;

use redial::{Backoff, Policy, Verdict};
use redial_seeds::{Dice, Draw};

/// What is drawn for the tests of loops.
pub(crate) trait Calls: Draw + Sized {
    /// What a policy might really have, zero included.
    fn usual(&mut self) -> Duration {
        let unit = [1, 1_000, 1_000_000, 1_000_000_000][self.below(4) as usize];
        Duration::from_nanos(unit * self.below(100))
    }

    /// The same, or anything up to the most that there is.
    fn extreme(&mut self) -> Duration {
        match self.below(4) {
            0 => Duration::MAX,
            1 => Duration::from_nanos(self.word() >> self.below(64)),
            _ => self.usual(),
        }
    }

    fn fraction(&mut self, most: u64) -> f64 {
        self.below(most * 100 + 1) as f64 / 100.0
    }

    fn source(&mut self, duration: fn(&mut Self) -> Duration) -> Backoff {
        match self.below(6) {
            0 => Backoff::constant(duration(self)),
            1 => Backoff::linear(duration(self), duration(self)),
            2 => Backoff::exponential(duration(self)).factor(1.0 + self.fraction(3)),
            3 => Backoff::fibonacci(duration(self)),
            4 => {
                let list: Vec<_> = (0..self.below(9)).map(|_| duration(self)).collect();
                Backoff::list(&list)
            }
            _ => Backoff::decorrelated(duration(self)),
        }
    }

    fn modified(&mut self, backoff: Backoff, duration: fn(&mut Self) -> Duration) -> Backoff {
        match self.below(7) {
            0 => backoff.min(duration(self)),
            1 => backoff.max(duration(self)),
            2 => backoff.full_jitter(),
            3 => backoff.equal_jitter(),
            4 => backoff.proportional_jitter(self.fraction(1)),
            5 => backoff.additive_jitter(self.fraction(10)),
            _ => {
                let low = self.fraction(5);
                backoff.spread_jitter(low, low + 0.01 + self.fraction(4))
            }
        }
    }

    /// A policy that the builder accepts, of up to twelve attempts, without limits in time.
    fn policy(&mut self, duration: fn(&mut Self) -> Duration) -> Policy {
        loop {
            let mut backoff = self.source(duration);
            for _ in 0..self.below(4) {
                backoff = self.modified(backoff, duration);
            }
            if let Ok(policy) = backoff.try_attempts(1 + self.below(12) as u32) {
                return policy;
            }
        }
    }

    /// The same with limits in time, each in half of the cases.
    fn limited_policy(&mut self, duration: fn(&mut Self) -> Duration) -> Policy {
        let mut policy = self.policy(duration);
        if self.one_in(2) {
            policy = policy.within(duration(self));
        }
        if self.one_in(2) {
            policy = policy.wait_budget(duration(self));
        }
        policy
    }

    /// What the failures of a call mean, one after the other; mostly a retry.
    fn verdicts(&mut self) -> Vec<Verdict> {
        (0..12)
            .map(|_| match self.below(16) {
                0 => Verdict::Stop,
                1..=5 => Verdict::RetryAfter(self.usual()),
                _ => Verdict::Retry,
            })
            .collect()
    }
}

impl Calls for Dice {}
