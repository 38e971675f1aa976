//! A retry budget in a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use redial_core::{Budget, BudgetBuilder, BudgetSnapshot, Time};
use serde::{Deserialize, Serialize};

use super::record::{self, LOCK_PATIENCE, Look, PATIENCE, Record, VERSION};
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

/// A budget as it is now, under the names that it has in its file.
#[derive(Debug, Serialize)]
pub struct BudgetStatus {
    /// How many tokens there are at most.
    pub capacity: f64,
    /// How many each run brings.
    pub deposit: f64,
    /// How many each retry takes.
    pub cost: f64,
    /// How many come with each second.
    pub floor_per_second: f64,
    /// How many there are, with what the floor owes.
    pub tokens: f64,
    /// How long the floor alone takes to fill it; none where there is no floor.
    pub full_in_ns: Option<u64>,
}

impl BudgetStatus {
    pub(super) fn of(look: &Look, clock: Clock) -> Result<Self, String> {
        Self::at(&record::parse(&look.bytes)?, clock())
    }

    fn at(record: &BudgetRecord, now: Time) -> Result<Self, String> {
        let budget = record.resume(now)?;
        // This is our own copy, and asking it for a retry makes it pay the floor out.
        if budget.withdraw(now) {
            budget.refund();
        }
        let BudgetRecord { capacity, deposit, cost, floor_per_second, .. } = *record;
        let tokens = budget.tokens();
        let missing = (capacity - tokens).max(0.0);
        // A float becomes the nearest whole number there is, the largest for what is above it.
        let full_in_ns = (missing == 0.0 || floor_per_second > 0.0)
            .then(|| if missing == 0.0 { 0 } else { (missing / floor_per_second * 1e9) as u64 });
        Ok(Self { capacity, deposit, cost, floor_per_second, tokens, full_in_ns })
    }

    /// Fills the budget: how it was, and how it is.
    pub(super) fn reset(path: &Path, clock: Clock) -> Result<[Self; 2], String> {
        record::change_existing(path, |record: &mut BudgetRecord, _| {
            let now = clock();
            let before = Self::at(record, now)?;
            record.keep(BudgetSnapshot { tokens: record.capacity, paid_until: now });
            Ok([before, Self::at(record, now)?])
        })
    }
}

/// The settings of a new budget; the defaults for what is not set.
#[derive(Clone, Copy, Debug, Default)]
pub struct BudgetSettings {
    /// How many tokens there are at most, and at first: 100.
    pub capacity: Option<f64>,
    /// How many each run brings: 0.2.
    pub deposit: Option<f64>,
    /// How many each retry takes: 1.
    pub cost: Option<f64>,
    /// How many come with each second, whatever the runs do: 10.
    pub floor_per_second: Option<f64>,
}

/// A retry budget that all processes share which name its file.
#[derive(Debug)]
pub struct SharedBudget {
    path: PathBuf,
    clock: Clock,
}

impl SharedBudget {
    /// Makes a budget, full, where no file is or an empty one.
    ///
    /// # Errors
    /// Where there is a file already, it cannot be written, or a setting makes no sense.
    pub fn create(path: &Path, settings: &BudgetSettings) -> Result<(), String> {
        let mut record = BudgetRecord::default();
        for (setting, wanted) in [
            (&mut record.capacity, settings.capacity),
            (&mut record.deposit, settings.deposit),
            (&mut record.cost, settings.cost),
            (&mut record.floor_per_second, settings.floor_per_second),
        ] {
            *setting = wanted.unwrap_or(*setting);
        }
        let full = record.resume(Time::ZERO)?;
        record.keep(full.snapshot());
        record::create(path, &record)
    }

    /// The budget in this file, which is made if there is none.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        Self::open_at(path, wall_clock)
    }

    pub(super) fn open_at(path: &Path, clock: Clock) -> Result<Self, String> {
        let budget = Self { path: path.to_owned(), clock };
        budget.change(PATIENCE, |_, _| ())?;
        Ok(budget)
    }

    /// A run starts: its share goes in.
    pub(crate) fn deposit(&self) -> Result<(), String> {
        self.change(LOCK_PATIENCE, |budget, _| budget.deposit())
    }

    /// Takes the cost of one retry, before its wait, if it is there.
    pub(crate) fn withdraw(&self) -> Result<bool, String> {
        self.change(LOCK_PATIENCE, Budget::withdraw)
    }

    /// Gives the cost of one retry back: it was paid for, and did not happen.
    pub(crate) fn refund(&self) -> Result<(), String> {
        self.change(LOCK_PATIENCE, |budget, _| budget.refund())
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
