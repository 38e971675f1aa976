//! The flags of a retry budget, which several scenarios have.

use redial_core::{Budget, BudgetBuilder};
use serde_json::{Value as Json, json};

use crate::args::SettingFlags;
use crate::output::Failure;

/// A retry budget: what each call adds, how much there is at most, and what comes with time. Unless
/// told, nothing does, so that a share of the calls is what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    share: f64,
    burst: f64,
    floor: f64,
}

impl Tokens {
    pub(super) fn new(flags: &SettingFlags) -> Result<Option<Self>, Failure> {
        let Some(share) = flags.budget else {
            needless::<()>("budget-floor", "budget", flags.budget_floor.is_some())?;
            return needless("budget-burst", "budget", flags.budget_burst.is_some());
        };
        let burst = flags.budget_burst.unwrap_or(100.0);
        let floor = flags.budget_floor.unwrap_or(0.0);
        Ok(Some(Self { share: share.0, burst, floor }))
    }

    pub(super) fn builder(self) -> BudgetBuilder {
        Budget::builder().deposit(self.share).capacity(self.burst).floor_per_second(self.floor)
    }

    pub(super) fn json(self) -> Json {
        json!({ "share": self.share, "burst": self.burst, "floor_per_second": self.floor })
    }
}

/// What is said about something that is not there. Not left to clap, which would not see that it is
/// there in a file.
pub(super) fn needless<T>(flag: &str, of: &str, is_given: bool) -> Result<Option<T>, Failure> {
    match is_given {
        true => Err(Failure::Message(format!("--{flag} needs --{of}"))),
        false => Ok(None),
    }
}
