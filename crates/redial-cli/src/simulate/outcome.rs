//! What policies came to: numbers with names, the same for tables, programs and assertions.

use std::time::Duration;

use redial_sim::Estimate;
use serde_json::{Map, json};

use super::study::Compared;
use crate::chart::{Table, number};
use crate::duration::human;

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Milliseconds,
    Seconds,
    PerSecond,
    /// A multiple of something.
    Times,
    /// A part of a whole, from 0 to 1.
    Share,
}

/// A quantity of a scenario: its key in JSON, and what it is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    pub(crate) key: &'static str,
    pub(crate) unit: Unit,
}

impl Measure {
    pub(crate) const fn new(key: &'static str, unit: Unit) -> Self {
        Self { key, unit }
    }

    /// Its name where the unit is said otherwise.
    pub(crate) fn name(self) -> &'static str {
        self.key.strip_suffix("_ms").or_else(|| self.key.strip_suffix("_s")).unwrap_or(self.key)
    }
}

/// What a quantity came to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// A mean over trials.
    Estimate(Estimate),
    /// A number that is not a mean.
    Number(f64),
    /// Something that did not happen in every trial: beyond all bounds.
    Never,
    /// What there is none of: how long calls took that nobody made.
    Missing,
}

impl From<Option<Estimate>> for Value {
    fn from(estimate: Option<Estimate>) -> Self {
        estimate.map_or(Self::Missing, Self::Estimate)
    }
}

impl Value {
    /// For comparisons.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Estimate(estimate) => estimate.mean,
            Self::Number(number) => number,
            Self::Never => f64::INFINITY,
            Self::Missing => f64::NAN,
        }
    }

    fn json(self) -> serde_json::Value {
        match self {
            // What is not finite is null.
            Self::Estimate(Estimate { mean, ci95 }) => json!({ "mean": mean, "ci95": ci95 }),
            Self::Number(number) => json!(number),
            Self::Never | Self::Missing => serde_json::Value::Null,
        }
    }

    /// Whether it has a mean and an interval, or would have.
    fn is_estimate(self) -> bool {
        !matches!(self, Self::Number(_))
    }

    /// For people.
    pub(crate) fn words(self, unit: Unit) -> String {
        match self {
            Self::Estimate(Estimate { mean, ci95 }) => amount(mean, ci95, unit),
            Self::Number(number) => amount(number, 0.0, unit),
            Self::Never => "never".into(),
            Self::Missing => "–".into(),
        }
    }
}

/// What one policy came to, with as many clients as these.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Its place among the policies.
    pub(crate) policy: usize,
    /// Where the scenario is tried with several crowds.
    pub(crate) clients: Option<u32>,
    pub(crate) trials: u32,
    /// In the order of the scenario's measures; or why there are none.
    pub(crate) values: Result<Vec<Value>, String>,
    /// What the policy changes against the first one, trial by trial on the same random numbers, by
    /// the keys of the measures. The first has none, and neither has what cannot be compared.
    pub(crate) against_first: Vec<(&'static str, Estimate)>,
}

impl Outcome {
    /// The fields and their order are a promise.
    pub(crate) fn json(&self, policy: &Compared, measures: &[Measure]) -> serde_json::Value {
        let mut object = Map::new();
        if let Some(name) = &policy.name {
            object.insert("name".into(), json!(name));
        }
        object.insert("policy".into(), json!(policy.clause));
        if let Some(clients) = self.clients {
            object.insert("clients".into(), json!(clients));
        }
        object.insert("trials".into(), json!(self.trials));
        match &self.values {
            Ok(values) => object.extend(
                measures
                    .iter()
                    .zip(values)
                    .map(|(measure, value)| (measure.key.into(), value.json())),
            ),
            Err(cut) => drop(object.insert("cut".into(), json!(cut))),
        }
        if !self.against_first.is_empty() {
            let change = |(key, estimate): &(&str, Estimate)| {
                ((*key).into(), Value::Estimate(*estimate).json())
            };
            let changes: Map<_, _> = self.against_first.iter().map(change).collect();
            object.insert("against_first".into(), changes.into());
        }
        serde_json::Value::Object(object)
    }
}

/// A column for each policy, and a row for each of the measures at these places, by these names.
pub(crate) fn table(
    caption: String,
    outcomes: &[Outcome],
    measures: &[Measure],
    shown: &[(usize, &str)],
) -> Table {
    let cell = |outcome: &Outcome, measure: usize| match &outcome.values {
        Ok(values) => values[measure].words(measures[measure].unit),
        Err(_) => "cut".into(),
    };
    let row = |(measure, name): &(usize, &str)| {
        let cells = outcomes.iter().map(|outcome| cell(outcome, *measure));
        std::iter::once((*name).to_owned()).chain(cells).collect()
    };
    let numbers = outcomes.iter().map(|outcome| (outcome.policy + 1).to_string());
    Table {
        caption,
        header: std::iter::once("policy".to_owned()).chain(numbers).collect(),
        rows: shown.iter().map(row).collect(),
    }
}

/// As many seconds as these are said in days and years: no one knows megaseconds.
const LONG: f64 = 1e6;

/// What the policies after the first change, or nothing where there are none.
pub(crate) fn changes(
    outcomes: &[Outcome],
    measures: &[Measure],
    shown: &[(usize, &str)],
) -> Option<Table> {
    let compared: Vec<_> = outcomes.iter().filter(|one| !one.against_first.is_empty()).collect();
    let row = |(key, _): &(&'static str, Estimate)| {
        let place = measures.iter().position(|measure| measure.key == *key)?;
        let measure = measures[place];
        let (_, name) = shown.iter().find(|(shown, _)| *shown == place)?;
        let cell = |outcome: &&Outcome| {
            let change = outcome.against_first.iter().find(|(other, _)| other == key);
            change.map_or_else(|| "–".into(), |(_, change)| difference(*change, measure.unit))
        };
        let cells = compared.iter().map(cell);
        Some(std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    let numbers = compared.iter().map(|outcome| (outcome.policy + 1).to_string());
    Some(Table {
        caption: "Against policy 1, trial by trial on the same random numbers".into(),
        header: std::iter::once("policy".to_owned()).chain(numbers).collect(),
        rows: compared.first()?.against_first.iter().filter_map(row).collect(),
    })
}

/// A change that may be none says so.
fn difference(Estimate { mean, ci95 }: Estimate, unit: Unit) -> String {
    if mean.abs() <= ci95 {
        return "no difference".into();
    }
    let sign = if mean > 0.0 { "+" } else { "−" };
    format!("{sign}{}", amount(mean.abs(), ci95, unit))
}

/// A result for a spreadsheet: as in JSON, but what has no mean has an empty one, so that columns do
/// not depend on what came out.
pub(crate) fn spread(
    mut result: serde_json::Value,
    values: &[Value],
    measures: &[Measure],
) -> serde_json::Value {
    for (value, measure) in values.iter().zip(measures) {
        if value.is_estimate() && result[measure.key].is_null() {
            result[measure.key] = json!({ "mean": null, "ci95": null });
        }
    }
    result
}

/// An amount as people say it, and how sure that is: `796 ±1.2`, `4.86s ±0.05s`, `12.5% ±0.4%`.
pub(crate) fn amount(mean: f64, error: f64, unit: Unit) -> String {
    let (scale, sign) = match unit {
        Unit::Count => (1.0, ""),
        Unit::Milliseconds if mean < 1000.0 => (1.0, "ms"),
        Unit::Milliseconds => (0.001, "s"),
        Unit::Seconds if mean < 1.0 => (1000.0, "ms"),
        Unit::Seconds => (1.0, "s"),
        Unit::PerSecond => (1.0, "/s"),
        Unit::Times => (1.0, "x"),
        Unit::Share => (100.0, "%"),
    };
    if !mean.is_finite() {
        return "–".into();
    }
    let (mean, error) = (mean * scale, error * scale);
    if sign == "s" && mean >= LONG {
        return human(Duration::try_from_secs_f64(mean).unwrap_or(Duration::MAX));
    }
    if !(error > 0.0 && error.is_finite()) {
        return format!("{}{sign}", number::plain(mean));
    }
    // To the second digit of what is not sure, as far as that is of any use.
    let digit = (error / 10.0).max(mean.abs() / 1e4);
    format!("{}{sign} ±{}{sign}", number::rounded(mean, digit), number::rounded(error, digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_as_many_digits_as_are_sure() {
        let words = |mean, error, unit| amount(mean, error, unit).replace('\u{2009}', " ");
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

    #[test]
    fn a_change_that_may_be_none_says_so() {
        let words = |mean, ci95| difference(Estimate { mean, ci95 }, Unit::Count);
        assert_eq!(words(-20.0, 1.0), "−20.0 ±1.0");
        assert_eq!(words(20.0, 1.0), "+20.0 ±1.0");
        assert_eq!(words(0.5, 1.0), "no difference");
        assert_eq!(words(0.0, 0.0), "no difference");
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let one = Outcome {
            policy: 0,
            clients: Some(5),
            trials: 1,
            against_first: vec![("calls", Estimate { mean: -2.0, ci95: 0.5 })],
            values: Ok(vec![
                Value::Estimate(Estimate { mean: 5.0, ci95: f64::INFINITY }),
                Value::Never,
                Value::Number(0.5),
            ]),
        };
        let policy = Compared { name: None, clause: "attempts: 1".into() };
        let measures = [
            Measure::new("calls", Unit::Count),
            Measure::new("recovery_s", Unit::Seconds),
            Measure::new("all_committed", Unit::Share),
        ];
        assert_eq!(
            one.json(&policy, &measures).to_string(),
            r#"{"policy":"attempts: 1","clients":5,"trials":1,"calls":{"mean":5.0,"ci95":null},"recovery_s":null,"all_committed":0.5,"against_first":{"calls":{"mean":-2.0,"ci95":0.5}}}"#,
        );
    }
}
