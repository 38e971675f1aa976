//! The settings of a retry budget and of a circuit breaker, under the names that `redial shared create` and the library have
//! for them.

use std::time::Duration;

use redial_core::{Breaker, BreakerBuilder, Budget, BudgetBuilder};
use serde::{Deserialize, Serialize};

/// The settings of a retry budget, which the tasks of a step share; what is left out is as by default.
///
/// ```
/// use redial_flow::flow::BudgetSettings;
/// let settings = BudgetSettings { capacity: 20.0, floor_per_second: 0.0, ..BudgetSettings::default() };
/// assert!(settings.builder().is_ok());
/// let wedged = BudgetSettings { deposit: 0.0, ..settings };
/// assert_eq!(
///     wedged.builder().unwrap_err(),
///     "budget: with no deposit and no floor an empty budget never refills",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetSettings {
    /// How many tokens there are at most, and at first.
    pub capacity: f64,
    /// How many each task brings with its first attempt.
    pub deposit: f64,
    /// How many each retry takes.
    pub cost: f64,
    /// How many come with each second, whatever the tasks do.
    pub floor_per_second: f64,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self { capacity: 100.0, deposit: 0.2, cost: 1.0, floor_per_second: 10.0 }
    }
}

impl BudgetSettings {
    /// The same for the core.
    ///
    /// # Errors
    /// A setting that is out of range, or settings with which an empty budget stays empty.
    pub fn builder(&self) -> Result<BudgetBuilder, String> {
        let builder = Budget::builder()
            .capacity(self.capacity)
            .deposit(self.deposit)
            .cost(self.cost)
            .floor_per_second(self.floor_per_second);
        builder.try_build().map(|_| builder).map_err(|invalid| invalid.to_string())
    }
}

/// The settings of a circuit breaker, which the tasks of a step share; what is left out is as by default.
///
/// ```
/// use redial_flow::flow::BreakerSettings;
/// let settings = BreakerSettings { failures: 3, ..BreakerSettings::default() };
/// assert!(settings.builder().is_ok());
/// let never = BreakerSettings { probes: 0, ..settings };
/// assert_eq!(never.builder().unwrap_err(), "breaker probes: 0 is not allowed; use 1 or more");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BreakerSettings {
    /// How many failed attempts in a row open it.
    pub failures: u32,
    /// How long it stays open.
    pub recovery: Duration,
    /// How many attempts then have to succeed to close it, as probes.
    pub probes: u32,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, recovery: Duration::from_secs(30), probes: 1 }
    }
}

impl BreakerSettings {
    /// The longest recovery, four years, as in a shared file. The core can count a little longer.
    pub const RECOVERY_MAX: Duration = Duration::from_secs(4 * 366 * 24 * 60 * 60);

    /// The same for the core.
    ///
    /// # Errors
    /// A setting that is out of range.
    pub fn builder(&self) -> Result<BreakerBuilder, String> {
        if self.recovery > Self::RECOVERY_MAX {
            return Err("breaker recovery: it is out of range; use four years at most".to_owned());
        }
        let builder =
            Breaker::builder().failures(self.failures).recovery(self.recovery).probes(self.probes);
        builder.try_build().map(|_| builder).map_err(|invalid| invalid.to_string())
    }
}

#[test]
fn the_defaults_are_those_of_the_core() {
    assert_eq!(BudgetSettings::default().builder(), Ok(Budget::builder()));
    assert_eq!(BreakerSettings::default().builder(), Ok(Breaker::builder()));
}
