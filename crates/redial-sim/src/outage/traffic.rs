//! When calls come, and how much work their attempts are.

use redial_core::{Random, SplitMix64};

use super::calls::words;
use crate::chance::exponential;

/// How calls arrive.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
/// use redial_sim::outage::Arrivals;
///
/// let run = Outage::new(10.0, 100.0).arrivals(Arrivals::Regular).trials(1).run(&Policy::DEFAULT)?;
/// assert_eq!(run.trials()[0].calls.during.begun, 100); // ten a second for ten seconds
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arrivals {
    /// A Poisson process: independently of one another, as calls of many users do.
    #[default]
    Poisson,
    /// At equal intervals.
    Regular,
}

/// How long the server works on a request.
///
/// ```
/// use redial_core::Policy;
/// use redial_sim::Outage;
/// use redial_sim::outage::{Arrivals, Service};
///
/// let steady = Outage::new(99.0, 100.0).arrivals(Arrivals::Regular).service(Service::Constant);
/// let results = steady.trials(1).run(&Policy::DEFAULT)?.results().unwrap();
/// assert_eq!(results.succeeded.before.unwrap().mean, 1.0); // nobody ever waits
/// # Ok::<(), redial_sim::Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// Exponentially distributed.
    #[default]
    Exponential,
    /// Always equally long.
    Constant,
}

#[derive(Clone, Debug)]
pub(super) struct Traffic {
    arrivals: Arrivals,
    service: Service,
    /// Nanoseconds from one call to the next, in the mean.
    gap: f64,
    /// Nanoseconds of work, in the mean.
    work: f64,
    last: f64,
    gaps: SplitMix64,
    sizes: u64,
}

impl Traffic {
    pub(super) fn new(arrivals: Arrivals, rate: f64, service: Service, capacity: f64) -> Self {
        let (gap, work) = (1e9 / rate, 1e9 / capacity);
        Self { arrivals, service, gap, work, last: 0.0, gaps: SplitMix64::new(0), sizes: 0 }
    }

    /// Back to the beginning, with new seeds.
    pub(super) fn clear(&mut self, seeds: &mut SplitMix64) {
        self.last = 0.0;
        (self.gaps, self.sizes) = (SplitMix64::new(seeds.word()), seeds.word());
    }

    pub(super) fn next_arrival(&mut self) -> u64 {
        self.last += match self.arrivals {
            Arrivals::Poisson => self.gap * exponential(&mut self.gaps),
            Arrivals::Regular => self.gap,
        };
        self.last as u64
    }

    /// How long an attempt keeps the server busy, at full capacity.
    pub(super) fn work(&self, call: u64, attempt: u32) -> f64 {
        match self.service {
            Service::Exponential => self.work * exponential(&mut words(self.sizes, call, attempt)),
            Service::Constant => self.work,
        }
    }
}
