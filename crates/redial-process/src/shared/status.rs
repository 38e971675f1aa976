//! What is in a shared file, to show and to reset it.

use std::path::Path;

use serde::Serialize;

use super::breaker::BreakerStatus;
use super::budget::BudgetStatus;
use super::record::{self, Look};
use super::wall_clock;

/// What a shared file holds, as it is now.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Status {
    /// A retry budget.
    Budget(BudgetStatus),
    /// A circuit breaker.
    Breaker(BreakerStatus),
}

impl Status {
    /// What the file holds; and whether another process has not released its lock, so that this may be
    /// about to change.
    ///
    /// # Errors
    /// Where it cannot be read, or holds something else.
    pub fn of(path: &Path) -> Result<(Self, bool), String> {
        let looked = look(path).and_then(|(is_budget, look)| {
            let status = match is_budget {
                true => Self::Budget(BudgetStatus::of(&look, wall_clock)?),
                false => Self::Breaker(BreakerStatus::of(&look, wall_clock)?),
            };
            Ok((status, look.is_locked))
        });
        looked.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Fills a budget or closes a breaker. Returns its status before and after. The settings stay.
    ///
    /// # Errors
    /// Where it cannot be changed, or holds something else.
    pub fn reset(path: &Path) -> Result<[Self; 2], String> {
        let (is_budget, _) = look(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(match is_budget {
            true => BudgetStatus::reset(path, wall_clock)?.map(Self::Budget),
            false => BreakerStatus::reset(path, wall_clock)?.map(Self::Breaker),
        })
    }
}

/// Whether the file is a budget, and not a breaker; and its contents.
fn look(path: &Path) -> Result<(bool, Look), String> {
    let look = record::look(path)?;
    match record::kind(&look.bytes)?.as_str() {
        "budget" => Ok((true, look)),
        "breaker" => Ok((false, look)),
        other => Err(format!("it holds \"redial\": {other:?}, which is no budget or breaker")),
    }
}
