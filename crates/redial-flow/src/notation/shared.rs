//! What the tasks of a step share: a retry budget and a circuit breaker, also as workflow files write the latter.

use std::num::NonZeroU32;
use std::time::Duration;

use redial_core::Budget;
use redial_core::clause::Kind as Clause;
use redial_policy::FlowKind;
use redial_policy::notation::{Field, Node, Value as Tree};

use super::reader::Reader;
use crate::definition::{BreakerSettings, BudgetSettings};

const OF_BUDGET: [&str; 4] = ["capacity", "deposit", "cost", "floor_per_second"];
const OF_BREAKER: [&str; 3] = ["failures", "recovery", "probes"];
const OF_CIRCUIT_BREAKER: [&str; 4] =
    ["failure_threshold", "success_threshold", "timeout", "half_open_requests"];

/// The most that the core counts.
const PROBES_MAX: u32 = 16_777_215;

impl<'n> Reader<'_, 'n, '_> {
    /// `true`, or its settings.
    pub(super) fn budget(&mut self, field: &'n Field) -> Option<BudgetSettings> {
        const ADVICE: &str = "use true, or settings such as {capacity: 20, deposit: 0.1}";
        let elsewhere = [
            ("burst", "capacity"),
            ("tokens", "capacity"),
            ("floor", "floor_per_second"),
            ("per_second", "floor_per_second"),
        ];
        let before = self.found.len();
        let mut settings = BudgetSettings::default();
        for one in self.settings_of(field, "a budget", &OF_BUDGET, &elsewhere, ADVICE)? {
            let amount = self.amount(one);
            let setting = match one.key.as_str() {
                "capacity" => &mut settings.capacity,
                "deposit" => &mut settings.deposit,
                "cost" => &mut settings.cost,
                _ => &mut settings.floor_per_second,
            };
            *setting = amount.unwrap_or(*setting);
        }
        let BudgetSettings { capacity, cost, .. } = settings;
        let wedged = match settings.builder() {
            Ok(_) => None,
            Err(_) if cost > capacity => Some(format!(
                "budget: a retry costs {cost}, more than the capacity of {capacity}; raise `capacity` or lower `cost`"
            )),
            Err(message) => Some(format!("{message}; raise `deposit` or `floor_per_second`")),
        };
        // What is wrong with one of them is told already.
        if let Some(message) = wedged.filter(|_| self.found.len() == before) {
            self.tell(Clause::WrongType, field.value.span, message);
        }
        (self.found.len() == before).then_some(settings)
    }

    /// `true`, or its settings.
    pub(super) fn breaker(&mut self, field: &'n Field) -> Option<BreakerSettings> {
        const ADVICE: &str = "use true, or settings such as {failures: 5, recovery: 30s}";
        let elsewhere = [
            ("failure_threshold", "failures"),
            ("threshold", "failures"),
            ("timeout", "recovery"),
            ("reset_timeout", "recovery"),
            ("success_threshold", "probes"),
        ];
        let before = self.found.len();
        let BreakerSettings { mut failures, mut recovery, mut probes } = BreakerSettings::default();
        for one in self.settings_of(field, "a breaker", &OF_BREAKER, &elsewhere, ADVICE)? {
            match one.key.as_str() {
                "failures" => failures = self.count(one).map_or(failures, NonZeroU32::get),
                "recovery" => {
                    let read = self.duration(one).and_then(|read| self.recovery(one, read));
                    recovery = read.unwrap_or(recovery);
                }
                _ => probes = self.probes(one).unwrap_or(probes),
            }
        }
        let settings = BreakerSettings { failures, recovery, probes };
        (self.found.len() == before).then_some(settings)
    }

    /// The `circuit_breaker` of an `error_policy`, with the defaults of where it comes from: 5 failures, 30 s, 3 successes.
    pub(super) fn circuit_breaker(&mut self, field: &'n Field) -> Option<BreakerSettings> {
        const ADVICE: &str = "use settings such as {failure_threshold: 5, timeout: 30s}";
        const SUCCESSES: u32 = 3;
        let BreakerSettings { mut failures, mut recovery, .. } = BreakerSettings::default();
        let (mut probes, mut requests, mut told) = (SUCCESSES, SUCCESSES, None);
        let before = self.found.len();
        if let Tree::Bool(_) = field.value.value {
            self.wrong(&field.key, &field.value, ADVICE);
            return None;
        }
        let names = &OF_CIRCUIT_BREAKER;
        for one in self.settings_of(field, "circuit_breaker", names, &[], ADVICE)? {
            match one.key.as_str() {
                "failure_threshold" => failures = self.count(one).map_or(failures, NonZeroU32::get),
                "success_threshold" => {
                    probes = self.probes(one).unwrap_or(probes);
                    told = told.or(Some(one));
                }
                "timeout" => {
                    let read = self.seconds_or_parts(one).and_then(|read| self.recovery(one, read));
                    recovery = read.unwrap_or(recovery);
                }
                _ => {
                    requests = self.probes(one).unwrap_or(requests);
                    told = Some(one);
                }
            }
        }
        // What is wrong with one of them is told already.
        if self.found.len() > before {
            return None;
        }
        if let Some(told) = told.filter(|_| requests != probes) {
            let message = format!(
                "`{}`: as many attempts are let through here as have to succeed, and these are {requests} and {}; \
                 write the same number as `half_open_requests` and `success_threshold`",
                told.key, probes
            );
            self.tell(FlowKind::NotSupported, told.place, message);
            return None;
        }
        Some(BreakerSettings { failures, recovery, probes })
    }

    /// The fields of a map of settings; none of them for `true`.
    fn settings_of(
        &mut self,
        field: &'n Field,
        what: &str,
        names: &[&str],
        elsewhere: &[(&str, &'static str)],
        advice: &str,
    ) -> Option<Vec<&'n Field>> {
        match &field.value.value {
            Tree::Bool(true) => Some(Vec::new()),
            Tree::Map(_) => Some(self.fields(&field.value, what, names, elsewhere, &[])),
            _ => {
                self.wrong(&field.key, &field.value, advice);
                None
            }
        }
    }

    /// A number of tokens.
    fn amount(&mut self, field: &'n Field) -> Option<f64> {
        let amount = match &field.value.value {
            Tree::Number(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        // Every amount that the core can count is a deposit that it takes.
        let amount = amount.filter(|amount| Budget::builder().deposit(*amount).try_build().is_ok());
        if amount.is_none() {
            let advice = "use a number of tokens, 0 or more and below a billion";
            self.wrong(&field.key, &field.value, advice);
        }
        amount
    }

    fn probes(&mut self, field: &'n Field) -> Option<u32> {
        let probes = self.count(field)?.get();
        if probes > PROBES_MAX {
            self.wrong(&field.key, &field.value, "use 16777215 at most");
            return None;
        }
        Some(probes)
    }

    fn recovery(&mut self, field: &'n Field, recovery: Duration) -> Option<Duration> {
        if recovery > BreakerSettings::RECOVERY_MAX {
            self.wrong(&field.key, &field.value, "use four years at most");
            return None;
        }
        Some(recovery)
    }

    /// Seconds, a duration, or `{secs, nanos}`.
    fn seconds_or_parts(&mut self, field: &'n Field) -> Option<Duration> {
        let Node { value: Tree::Map(_), .. } = &field.value else { return self.seconds(field) };
        let mut duration = Duration::ZERO;
        for part in self.fields(&field.value, &field.key, &["secs", "nanos"], &[], &[]) {
            let whole: u64 = self.whole(part, "use a whole number from 0 on")?;
            duration = duration.saturating_add(match part.key.as_str() {
                "secs" => Duration::from_secs(whole),
                _ => Duration::from_nanos(whole),
            });
        }
        Some(duration)
    }
}
