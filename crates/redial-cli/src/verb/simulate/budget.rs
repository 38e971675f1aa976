//! The flags of a retry budget, which several scenarios have.

use clap::Args;
use redial_core::{Budget, BudgetBuilder};
use serde_json::{Value as Json, json};

use super::value::{self, Share};
use crate::output::Failure;

/// A token bucket for retries. Unlike the library's default it has no floor unless told, so that a
/// share of the calls is just that.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct BudgetFlags {
    /// a retry budget, as a share of the calls, such as 10%
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    budget: Option<Share>,
    /// how many retries a full budget holds [default: 100]
    #[arg(long, value_name = "N", value_parser = value::number)]
    budget_burst: Option<f64>,
    /// how many retries a second the budget allows on top of the share [default: 0]
    #[arg(long, value_name = "N", value_parser = value::number)]
    budget_floor: Option<f64>,
}

impl BudgetFlags {
    /// Refuses a burst or a floor without a budget.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.budget.is_some() {
            return Ok(());
        }
        needs("budget-floor", "budget", self.budget_floor.is_some())?;
        needs("budget-burst", "budget", self.budget_burst.is_some())
    }

    pub(super) fn builder(&self) -> Option<BudgetBuilder> {
        let (share, burst, floor) = self.settings()?;
        Some(Budget::builder().deposit(share).capacity(burst).floor_per_second(floor))
    }

    pub(super) fn json(&self) -> Option<Json> {
        let (share, burst, floor) = self.settings()?;
        Some(json!({ "share": share, "burst": burst, "floor_per_second": floor }))
    }

    fn settings(&self) -> Option<(f64, f64, f64)> {
        let (burst, floor) = (self.budget_burst.unwrap_or(100.0), self.budget_floor.unwrap_or(0.0));
        self.budget.map(|share| (share.0, burst, floor))
    }
}

/// Refuses a flag that has no effect without another. clap cannot: that one may be in a file.
pub(super) fn needs(flag: &str, other: &str, is_given: bool) -> Result<(), Failure> {
    match is_given {
        true => Err(Failure::Message(format!("--{flag} needs --{other}"))),
        false => Ok(()),
    }
}
