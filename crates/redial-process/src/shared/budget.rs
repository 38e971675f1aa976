//! A retry budget in a file.

use std::path::Path;
use std::time::Duration;

use redial_core::{Budget, BudgetBuilder, BudgetSnapshot, Time};
use serde::{Deserialize, Serialize};

use super::record::{self, LOCK_TIMEOUT, Look, Record, SharedFile, VERSION};
use super::{Clock, seconds, time, wall_clock};

/// The settings, then the state. In a file that a person writes, all fields but `redial` may be missing.
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
    /// How many there are now, with those of the floor.
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
        // In this copy, a withdrawal adds the tokens of the floor.
        if budget.withdraw(now) {
            budget.refund();
        }
        let BudgetRecord { capacity, deposit, cost, floor_per_second, .. } = *record;
        let tokens = budget.tokens();
        let missing = (capacity - tokens).max(0.0);
        // The cast saturates.
        let full_in_ns = (missing == 0.0 || floor_per_second > 0.0)
            .then(|| if missing == 0.0 { 0 } else { (missing / floor_per_second * 1e9) as u64 });
        Ok(Self { capacity, deposit, cost, floor_per_second, tokens, full_in_ns })
    }

    /// Fills the budget. Returns its status before and after.
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

/// A retry budget that is shared by all processes which name its file.
#[derive(Debug)]
pub struct SharedBudget(SharedFile);

impl SharedBudget {
    /// Creates a full budget, in a new file or an empty one.
    ///
    /// # Errors
    /// Where the file is not empty or cannot be written, or a setting is out of range.
    pub fn create(path: &Path, settings: &BudgetSettings) -> Result<(), String> {
        let mut record = BudgetRecord::default();
        record.capacity = settings.capacity.unwrap_or(record.capacity);
        record.deposit = settings.deposit.unwrap_or(record.deposit);
        record.cost = settings.cost.unwrap_or(record.cost);
        record.floor_per_second = settings.floor_per_second.unwrap_or(record.floor_per_second);
        let full = record.resume(Time::ZERO)?;
        record.keep(full.snapshot());
        record::create(path, &record)
    }

    /// The budget in this file, which is created if it does not exist.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn open(path: &Path) -> Result<Self, String> {
        Self::open_within(path, wall_clock, LOCK_TIMEOUT)
    }

    pub(super) fn open_within(path: &Path, clock: Clock, lock: Duration) -> Result<Self, String> {
        SharedFile::open(path, clock, lock, |file| Self(file).change(|_, _| ())).map(Self)
    }

    /// Adds the deposit of a run that starts.
    pub(crate) fn deposit(&self) -> Result<(), String> {
        self.change(|budget, _| budget.deposit())
    }

    /// Takes the cost of one retry, before its wait. Returns whether there were enough tokens.
    pub(crate) fn withdraw(&self) -> Result<bool, String> {
        self.change(Budget::withdraw)
    }

    /// Gives back the cost of a retry that did not happen.
    pub(crate) fn refund(&self) -> Result<(), String> {
        self.change(|budget, _| budget.refund())
    }

    fn change<T>(&self, step: impl FnOnce(&Budget, Time) -> T) -> Result<T, String> {
        let changed = self.0.change(|record: &mut BudgetRecord, _, now| {
            let budget = record.resume(now)?;
            let result = step(&budget, now);
            record.keep(budget.snapshot());
            Ok(result)
        });
        changed.map(|(result, _)| result)
    }
}

#[test]
fn the_defaults_are_those_of_the_core() {
    assert_eq!(BudgetRecord::default().settings(), Budget::builder());
}
