//! A retry budget in a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redial_core::{Budget, BudgetBuilder, BudgetSnapshot, Time};
use serde::{Deserialize, Serialize};

use super::record::{self, IMPATIENCE, PATIENCE, Record, VERSION};
use super::{Clock, seconds, time, wall_clock};

/// The settings, then what there is. A person may leave out any of them but the kind.
#[derive(Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct BudgetRecord {
    redial: String,
    v: u32,
    capacity: f64,
    deposit: f64,
    cost: f64,
    floor_per_second: f64,
    tokens: f64,
    /// Seconds since 1970.
    paid_until: f64,
}

impl Default for BudgetRecord {
    fn default() -> Self {
        Self {
            redial: Self::KIND.to_owned(),
            v: VERSION,
            capacity: 100.0,
            deposit: 0.2,
            cost: 1.0,
            floor_per_second: 10.0,
            // As many as it can hold.
            tokens: f64::INFINITY,
            paid_until: 0.0,
        }
    }
}

impl Record for BudgetRecord {
    const KIND: &'static str = "budget";
}

impl BudgetRecord {
    const fn settings(&self) -> BudgetBuilder {
        Budget::builder()
            .capacity(self.capacity)
            .deposit(self.deposit)
            .cost(self.cost)
            .floor_per_second(self.floor_per_second)
    }

    fn resume(&self, now: Time) -> Result<Budget, String> {
        let snapshot = BudgetSnapshot { tokens: self.tokens, paid_until: time(self.paid_until) };
        self.settings().resume(snapshot, now).map_err(|invalid| invalid.to_string())
    }

    fn keep(&mut self, snapshot: BudgetSnapshot) {
        self.tokens = snapshot.tokens;
        self.paid_until = seconds(snapshot.paid_until);
    }
}

/// A retry budget that all processes share which name its file.
#[derive(Debug)]
pub(crate) struct SharedBudget {
    path: PathBuf,
    clock: Clock,
}

impl SharedBudget {
    /// The budget in this file, which is made if there is none; or what is wrong with it.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        Self::open_at(path, wall_clock)
    }

    pub(super) fn open_at(path: &Path, clock: Clock) -> Result<Self, String> {
        let budget = Self { path: path.to_owned(), clock };
        budget.change(PATIENCE, |_, _| ())?;
        Ok(budget)
    }

    /// A run starts: its share goes in.
    pub(crate) fn deposit(&self) -> Result<(), String> {
        self.change(IMPATIENCE, |budget, _| budget.deposit())
    }

    /// Takes the cost of one retry, before its wait, if it is there.
    pub(crate) fn withdraw(&self) -> Result<bool, String> {
        self.change(IMPATIENCE, Budget::withdraw)
    }

    /// Gives the cost of one retry back: it was paid for, and did not happen.
    pub(crate) fn refund(&self) -> Result<(), String> {
        self.change(IMPATIENCE, |budget, _| budget.refund())
    }

    fn change<T>(
        &self,
        patience: Duration,
        step: impl FnOnce(&Budget, Time) -> T,
    ) -> Result<T, String> {
        let (result, _) = record::change(&self.path, patience, |record: &mut BudgetRecord, _| {
            let now = (self.clock)();
            let budget = record.resume(now)?;
            let result = step(&budget, now);
            record.keep(budget.snapshot());
            Ok(result)
        })?;
        Ok(result)
    }
}

#[test]
fn the_defaults_are_those_of_the_core() {
    assert_eq!(BudgetRecord::default().settings(), Budget::builder());
}
