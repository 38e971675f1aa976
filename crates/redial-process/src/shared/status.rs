//! What is in a shared file, for whoever wants to see it or to begin anew.

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

#[derive(Clone, Copy)]
enum Kind {
    Budget,
    Breaker,
}

impl Status {
    /// What the file holds; and whether another process has kept its lock, so that this may be about
    /// to change.
    ///
    /// # Errors
    /// Where it cannot be read, or holds something else.
    pub fn of(path: &Path) -> Result<(Self, bool), String> {
        let looked = look(path).and_then(|(kind, look)| {
            let status = match kind {
                Kind::Budget => Self::Budget(BudgetStatus::of(&look, wall_clock)?),
                Kind::Breaker => Self::Breaker(BreakerStatus::of(&look, wall_clock)?),
            };
            Ok((status, look.is_locked))
        });
        looked.map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Fills a budget or closes a breaker: how it was, and how it is. The settings stay.
    ///
    /// # Errors
    /// Where it cannot be changed, or holds something else.
    pub fn reset(path: &Path) -> Result<[Self; 2], String> {
        let (kind, _) = look(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(match kind {
            Kind::Budget => BudgetStatus::reset(path, wall_clock)?.map(Self::Budget),
            Kind::Breaker => BreakerStatus::reset(path, wall_clock)?.map(Self::Breaker),
        })
    }
}

fn look(path: &Path) -> Result<(Kind, Look), String> {
    let look = record::look(path)?;
    let kind = match record::kind(&look.bytes)?.as_str() {
        "budget" => Kind::Budget,
        "breaker" => Kind::Breaker,
        other => {
            return Err(format!("it holds \"redial\": {other:?}, which is no budget or breaker"));
        }
    };
    Ok((kind, look))
}
