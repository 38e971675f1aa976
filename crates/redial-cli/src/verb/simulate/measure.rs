//! What is measured: numbers with names, the same in tables, JSON, CSV and assertions.

use std::time::Duration;

use redial_sim::{Estimate, Share};
use serde_json::{Map, json};

use super::candidate::Candidate;
use crate::duration::human;
use crate::view::number;
use crate::view::table::Table;

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Milliseconds,
    Seconds,
    PerSecond,
    /// A multiple of something.
    Times,
    /// From 0 to 1, printed in percent.
    Share,
    /// The difference of two shares, in percentage points.
    Points,
}

/// A quantity of a scenario: its key in JSON, its unit, and its title in tables, if they show it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) key: &'static str,
    pub(crate) unit: Unit,
    pub(crate) title: Option<&'static str>,
}

impl Measure {
    #[cfg(test)]
    pub(crate) const fn new(key: &'static str, unit: Unit) -> Self {
        Self { key, unit, title: None }
    }

    /// Its name in assertions: the key without its unit.
    pub(crate) fn name(self) -> &'static str {
        self.key.strip_suffix("_ms").or_else(|| self.key.strip_suffix("_s")).unwrap_or(self.key)
    }
}

/// The value of a measure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// A mean over trials.
    Estimate(Estimate),
    /// A share of the trials.
    Share(Share),
    /// A number without an interval.
    Number(f64),
    /// The time until something that did not happen in every trial: infinite in assertions. The mean
    /// is over the trials in which it did.
    Sometimes(Estimate),
    /// The time until something that happened in no trial.
    Never,
    /// There is no value, such as the duration of calls where there were none.
    Missing,
}

impl From<Estimate> for Value {
    fn from(estimate: Estimate) -> Self {
        Self::Estimate(estimate)
    }
}

impl From<Option<Estimate>> for Value {
    fn from(estimate: Option<Estimate>) -> Self {
        estimate.map_or(Self::Missing, Self::Estimate)
    }
}

impl Value {
    /// The number that assertions compare.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.mean,
            Self::Share(share) => share.mean,
            Self::Number(number) => number,
            Self::Sometimes(_) | Self::Never => f64::INFINITY,
            Self::Missing => f64::NAN,
        }
    }

    /// The 95 % confidence interval, infinite where there are too few trials for one.
    pub(crate) fn interval(self) -> Option<(f64, f64)> {
        match self {
            Self::Estimate(Estimate { low, high, .. }) | Self::Share(Share { low, high, .. }) => {
                Some((low, high))
            }
            Self::Number(_) | Self::Sometimes(_) | Self::Never | Self::Missing => None,
        }
    }

    /// Whether there are too few trials for an interval.
    pub(crate) fn lacks_interval(self) -> bool {
        let of = |estimate: Estimate| estimate.mean.is_finite() && !estimate.has_interval();
        matches!(self, Self::Estimate(estimate) | Self::Sometimes(estimate) if of(estimate))
    }

    /// The JSON fields of this value. What is not finite is null.
    fn fields(self, key: &str) -> Vec<(String, serde_json::Value)> {
        let value = match self {
            Self::Estimate(Estimate { mean, ci95, low, high }) => {
                json!({ "mean": mean, "ci95": ci95, "low": low, "high": high })
            }
            Self::Share(Share { mean, low, high }) => {
                return vec![
                    (key.into(), json!(mean)),
                    (format!("{key}_low"), json!(low)),
                    (format!("{key}_high"), json!(high)),
                ];
            }
            Self::Number(number) => json!(number),
            Self::Sometimes(_) | Self::Never | Self::Missing => serde_json::Value::Null,
        };
        vec![(key.into(), value)]
    }

    /// The value with its interval: `796 ±1.2`.
    pub(crate) fn words(self, unit: Unit) -> String {
        match self {
            Self::Estimate(estimate) => estimated(estimate, unit),
            Self::Share(Share { mean, low, high }) => {
                estimated(Estimate { mean, ci95: 0.0, low, high }, unit)
            }
            Self::Number(number) => amount(number, unit),
            Self::Sometimes(estimate) => format!("if so, {}", estimated(estimate, unit)),
            Self::Never => "not seen".into(),
            Self::Missing => "–".into(),
        }
    }
}

/// What was measured of one policy with one crowd.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The policy's index.
    pub(crate) policy: usize,
    /// Its name, or its number where it has none.
    pub(crate) short: String,
    /// Where the scenario is tried with several crowds.
    pub(crate) clients: Option<u32>,
    pub(crate) trials: u32,
    /// The values, or which bound cut the trials.
    pub(crate) values: Result<Vec<(Measure, Value)>, String>,
    /// The differences from the first policy, trial by trial on common random numbers. Empty for the
    /// first policy, and where trials were cut.
    pub(crate) against_first: Vec<(Measure, Estimate)>,
}

impl Measured {
    fn find(&self, key: &str) -> Option<&(Measure, Value)> {
        self.values.as_ref().ok()?.iter().find(|(measure, _)| measure.key == key)
    }

    /// The value of the measure with this key, unless trials were cut.
    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        self.find(key).map(|(_, value)| *value)
    }

    /// That value in words.
    pub(crate) fn words(&self, key: &str) -> String {
        self.find(key).map_or("cut".into(), |(measure, value)| value.words(measure.unit))
    }

    /// The fields and their order are a promise.
    pub(crate) fn json(&self, policy: &Candidate) -> serde_json::Value {
        let fields = [
            policy.name.as_ref().map(|name| ("name", json!(name))),
            Some(("policy", json!(policy.clause))),
            policy.from.map(|variable| ("from", json!(variable))),
            self.clients.map(|clients| ("clients", json!(clients))),
            Some(("trials", json!(self.trials))),
            self.values.as_ref().err().map(|cut| ("cut", json!(cut))),
        ];
        let fields = fields.into_iter().flatten().map(|(key, value)| (key.to_owned(), value));
        let mut object: Map<_, _> = fields.collect();
        let values = self.values.iter().flatten();
        object.extend(values.flat_map(|(measure, value)| value.fields(measure.key)));
        let changes = self.against_first.iter();
        let changes = changes.map(|(measure, change)| (measure.key, Value::Estimate(*change)));
        let changes: Map<_, _> = changes.flat_map(|(key, change)| change.fields(key)).collect();
        if !changes.is_empty() {
            object.insert("against_first".into(), changes.into());
        }
        object.into()
    }
}

/// A column for each policy, and a row for each of the measures that have a title.
pub(crate) fn table(caption: String, measured: &[Measured], measures: &[Measure]) -> Table {
    let row = |measure: &Measure| {
        let cells = measured.iter().map(|one| one.words(measure.key));
        Some(std::iter::once(measure.title?.to_owned()).chain(cells).collect())
    };
    let names = measured.iter().map(|one| one.short.clone());
    let header = std::iter::once("policy".to_owned()).chain(names).collect();
    Table::new(caption, header, measures.iter().filter_map(row).collect())
}

/// From so many seconds on, a duration is printed in days and years.
const LONG: f64 = 1e6;

/// The differences from the first policy, of the measures that have a title. `None` where there is
/// nothing to compare.
pub(crate) fn changes(measured: &[Measured], measures: &[Measure]) -> Option<Table> {
    let compared: Vec<_> = measured.iter().filter(|one| !one.against_first.is_empty()).collect();
    let row = |(Measure { key, unit, title }, _): &(Measure, Estimate)| {
        let title = title.filter(|_| measures.iter().any(|measure| measure.key == *key))?;
        let cell = |one: &&Measured| {
            let change = one.against_first.iter().find(|(other, _)| other.key == *key);
            change.map_or_else(|| "–".into(), |(_, change)| difference(*change, *unit))
        };
        Some(std::iter::once(title.to_owned()).chain(compared.iter().map(cell)).collect())
    };
    let names = compared.iter().map(|one| one.short.clone());
    let first = &measured.first()?.short;
    Some(Table::new(
        format!("Against policy {first}, trial by trial on the same random numbers"),
        std::iter::once("policy".to_owned()).chain(names).collect(),
        compared.first()?.against_first.iter().filter_map(row).collect(),
    ))
}

/// A difference with its interval, also where the interval contains zero: `−0.18 ±0.29 points`.
fn difference(change: Estimate, unit: Unit) -> String {
    let unit = if unit == Unit::Share { Unit::Points } else { unit };
    let Estimate { mean, low, high, .. } = change;
    let words = match mean {
        0.0 => "none seen".into(),
        _ => format!("{}{}", sign(mean), amount(mean.abs(), unit)),
    };
    if !change.has_interval() {
        return format!("{words} ±?");
    }
    if mean == 0.0 && low == high {
        return words;
    }
    if mean == 0.0 && (low + high).abs() < 1e-9 {
        return format!("none seen [±{} points]", percent(high));
    }
    // `±` widens the shorter side. It must not move the interval over zero, or beyond all shares.
    let is_same = |error: &f64| (mean.abs() > *error) == (low > 0.0 || high < 0.0);
    let is_possible = |error: &f64| unit != Unit::Points || mean.abs() + *error <= 1.0;
    match even(mean, low, high).filter(is_same).filter(is_possible) {
        Some(error) => format!("{}{}", sign(mean), with_error(mean.abs(), error, unit)),
        None => {
            let (scale, unit) = scale(mean, unit);
            let digit = digit(scale * mean, scale * (high - low) / 2.0);
            let signed = |value: f64| {
                format!("{}{}", sign(value), number::rounded(scale * value.abs(), digit))
            };
            format!("{}{unit} [{} to {}]", signed(mean), signed(low), signed(high))
        }
    }
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "+" }
}

/// A result for CSV: as in JSON, but a missing estimate has four empty fields, so that the columns do
/// not depend on the values.
pub(crate) fn for_csv(
    mut result: serde_json::Value,
    values: &[(Measure, Value)],
) -> serde_json::Value {
    for (measure, value) in values {
        let is_estimate = !matches!(value, Value::Number(_) | Value::Share(_));
        if is_estimate && result[measure.key].is_null() {
            result[measure.key] = json!({ "mean": null, "ci95": null, "low": null, "high": null });
        }
    }
    result
}

/// A mean or a share with its interval: `796 ±1.2`, `15% [5–36%]`, `100% [>84%]`, and `50% ±?` where
/// there are too few trials for one.
fn estimated(estimate: Estimate, unit: Unit) -> String {
    let Estimate { mean, low, high, .. } = estimate;
    if !mean.is_finite() || low == high {
        return amount(mean, unit);
    }
    if !estimate.has_interval() {
        return format!("{} ±?", amount(mean, unit));
    }
    // No measure is below zero.
    let low = low.max(0.0);
    if unit == Unit::Share && mean <= 0.0 {
        return format!("0% [<{}%]", percent(high));
    }
    if unit == Unit::Share && mean >= 1.0 {
        // Enough digits to differ from 100 %.
        return format!("100% [>{}%]", number::rounded(100.0 * low, 10.0 * (1.0 - low)));
    }
    let is_possible = |error: &f64| {
        mean - error >= 0.0 && (unit != Unit::Share || mean > 1.0 || mean + error <= 1.0)
    };
    match even(mean, low, high).filter(is_possible) {
        Some(error) => with_error(mean, error, unit),
        None => {
            let (scale, unit) = scale(mean, unit);
            if unit == "s" && scale * mean >= LONG {
                return long(scale * mean);
            }
            let digit = digit(scale * mean, scale * (high - low) / 2.0);
            let number = |value: f64| number::rounded(scale * value, digit);
            format!("{}{unit} [{}–{}{unit}]", number(mean), number(low), number(high))
        }
    }
}

/// A share in percent, to two digits.
fn percent(share: f64) -> String {
    number::rounded(100.0 * share, 10.0 * share)
}

/// The longer side of an interval whose sides differ by a factor of two at most: it is printed as `±`.
fn even(mean: f64, low: f64, high: f64) -> Option<f64> {
    let (below, above) = (mean - low, high - mean);
    let (less, more) = (below.min(above), below.max(above));
    (2.0 * less >= more).then_some(more)
}

/// The value of the last digit that is printed: two digits of the error, and five of the mean at most.
fn digit(mean: f64, error: f64) -> f64 {
    (error / 10.0).max(mean.abs() / 1e4)
}

/// What a value is multiplied by to be printed, and the sign of its unit.
fn scale(mean: f64, unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Count => (1.0, ""),
        Unit::Milliseconds if mean.abs() < 1000.0 => (1.0, "ms"),
        Unit::Milliseconds => (0.001, "s"),
        Unit::Seconds if mean.abs() < 1.0 => (1000.0, "ms"),
        Unit::Seconds => (1.0, "s"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Times => (1.0, "x"),
        Unit::Share => (100.0, "%"),
        Unit::Points => (100.0, " points"),
    }
}

fn long(seconds: f64) -> String {
    human(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// A value with its unit.
pub(crate) fn amount(value: f64, unit: Unit) -> String {
    with_error(value, 0.0, unit)
}

/// A value with its unit and its error, if it has one: `796 ±1.2`, `4.86s ±0.05s`, `12.5% ±0.4%`.
fn with_error(mean: f64, error: f64, unit: Unit) -> String {
    if !mean.is_finite() {
        return "–".into();
    }
    let (scale, sign) = scale(mean, unit);
    let (mean, error) = (mean * scale, error * scale);
    if sign == "s" && mean >= LONG {
        return long(mean);
    }
    if !(error > 0.0 && error.is_finite()) {
        return format!("{}{sign}", number::plain(mean));
    }
    let digit = digit(mean, error);
    let (mean, error) = (number::rounded(mean, digit), number::rounded(error, digit));
    match unit {
        // `points` is a word, and stands once.
        Unit::Points => format!("{mean} ±{error}{sign}"),
        _ => format!("{mean}{sign} ±{error}{sign}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_as_many_digits_as_are_sure() {
        let words = |mean, error, unit| with_error(mean, error, unit).replace('\u{2009}', " ");
        assert_eq!(words(796.123, 1.23, Unit::Count), "796.1 ±1.2");
        assert_eq!(words(63_261.0, 314.0, Unit::Milliseconds), "63.26s ±0.31s");
        assert_eq!(words(433.5, 7.7, Unit::Milliseconds), "433.5ms ±7.7ms");
        assert_eq!(words(0.125, 0.004, Unit::Share), "12.50% ±0.40%");
        assert_eq!(words(1.0, 0.0, Unit::Share), "100%");
        assert_eq!(words(64.0, 0.0, Unit::Times), "64x");
        assert_eq!(words(559.4, f64::INFINITY, Unit::PerSecond), "559/s");
        assert_eq!(words(846_842_017_000.0, 9.0, Unit::Milliseconds), "26.8 years");
        assert_eq!(words(f64::NAN, 0.0, Unit::Count), "–");
    }

    fn estimate(mean: f64, low: f64, high: f64) -> Estimate {
        Estimate { mean, ci95: (high - low) / 2.0, low, high }
    }

    #[test]
    fn a_change_is_said_with_its_interval_also_where_it_may_be_none() {
        let words = |mean, low, high, unit| difference(estimate(mean, low, high), unit);
        assert_eq!(words(-20.0, -21.0, -19.0, Unit::Count), "−20.0 ±1.0");
        assert_eq!(words(20.0, 19.0, 21.0, Unit::Count), "+20.0 ±1.0");
        assert_eq!(words(-0.0018, -0.0047, 0.0011, Unit::Share), "−0.18 ±0.29 points");
        assert_eq!(words(0.15, 0.01, 0.32, Unit::Share), "+15 points [+1 to +32]");
        assert_eq!(words(0.05, -0.02, 0.36, Unit::Share), "+5 points [−2 to +36]");
        assert_eq!(words(0.0, 0.0, 0.0, Unit::Count), "none seen");
        assert_eq!(words(0.0, -0.161, 0.161, Unit::Share), "none seen [±16 points]");
        assert_eq!(words(-0.6, -0.95, -0.1, Unit::Share), "−60 points [−95 to −10]");
        assert_eq!(words(0.0, f64::NEG_INFINITY, f64::INFINITY, Unit::Share), "none seen ±?");
        assert_eq!(words(3.0, f64::NEG_INFINITY, f64::INFINITY, Unit::Times), "+3x ±?");
    }

    #[test]
    fn an_interval_is_said_as_it_is_and_its_lack_too() {
        let words = |mean, low, high, unit| estimated(estimate(mean, low, high), unit);
        assert_eq!(words(0.15, 0.052, 0.360, Unit::Share), "15% [5–36%]");
        assert_eq!(words(0.5, 0.48, 0.525, Unit::Share), "50.0% ±2.5%");
        assert_eq!(words(1.0, 0.8389, 1.0, Unit::Share), "100% [>84%]");
        assert_eq!(words(1.0, 0.999_980_8, 1.0, Unit::Share), "100% [>99.9981%]");
        assert_eq!(words(0.0, 0.0, 0.161, Unit::Share), "0% [<16%]");
        assert_eq!(words(0.333, 0.061, 0.792, Unit::Share), "33% [6–79%]");
        assert_eq!(words(0.5, f64::NEG_INFINITY, f64::INFINITY, Unit::Share), "50% ±?");
        assert_eq!(words(12.0, -30.0, 54.0, Unit::Seconds), "12s [0–54s]");
        assert_eq!(words(64.0, 64.0, 64.0, Unit::Times), "64x");
        assert_eq!(
            Value::Sometimes(estimate(35.0, 31.0, 39.0)).words(Unit::Seconds),
            "if so, 35.0s ±4.0s"
        );
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let [calls, recovery, all] = [
            Measure::new("calls", Unit::Count),
            Measure::new("recovery_s", Unit::Seconds),
            Measure::new("all_committed", Unit::Share),
        ];
        let one = Measured {
            policy: 0,
            short: "1".into(),
            clients: Some(5),
            trials: 1,
            against_first: vec![(calls, estimate(-2.0, -2.5, -1.5))],
            values: Ok(vec![
                (calls, Value::Estimate(Estimate::of([5.0]))),
                (recovery, Value::Never),
                (all, Value::Share(Share::of(1, 4))),
            ]),
        };
        let policy = Candidate::new(None, redial_core::policy!("attempts: 1"), None);
        assert_eq!(
            one.json(&policy).to_string(),
            r#"{"policy":"attempts: 1","clients":5,"trials":1,"calls":{"mean":5.0,"ci95":null,"low":null,"high":null},"recovery_s":null,"all_committed":0.25,"all_committed_low":0.04558726080970055,"all_committed_high":0.6993581574175981,"against_first":{"calls":{"mean":-2.0,"ci95":0.5,"low":-2.5,"high":-1.5}}}"#,
        );
    }
}
