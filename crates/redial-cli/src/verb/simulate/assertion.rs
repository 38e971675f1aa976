//! What must hold of each policy: `peak < 1.5x`, `recovers < 30s`, `committed >= 99%`.

use std::cmp::Reverse;

use super::measure::{Measure, Measured, Unit, Value};
use super::value;

/// An assertion about a measure of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Assertion {
    text: String,
    measure: Measure,
    comparison: Comparison,
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }
}

const SIGNS: [(&str, Comparison); 6] = [
    ("≤", Comparison::AtMost),
    ("≥", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

/// Other names of measures: `recovers` is a share, or with a duration the time that it takes.
const SYNONYMS: [(&str, &str); 1] = [("recovers", "recovery")];

/// An assertion, and whether it holds.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) text: String,
    pub(crate) holds: bool,
    /// The index of the measured policy and crowd that decides it.
    pub(crate) worst: Option<usize>,
    pub(crate) words: String,
    /// Whether the limit is outside the confidence interval. `None` where there is no interval.
    pub(crate) is_sure: Option<bool>,
}

impl Assertion {
    pub(crate) fn read_all(texts: &[String], measures: &[Measure]) -> Result<Vec<Self>, String> {
        texts.iter().map(|text| Self::read(text, measures)).collect()
    }

    /// Reads an assertion about one of these measures.
    fn read(text: &str, measures: &[Measure]) -> Result<Self, String> {
        let wrong = |why: String| format!("--assert '{text}': {why}");
        let found = SIGNS.iter().filter_map(|(sign, comparison)| {
            text.find(sign).map(|at| (at, sign.len(), *comparison))
        });
        // The first sign that stands there, and the longest of those.
        let Some((at, length, comparison)) =
            found.min_by_key(|(at, length, _)| (*at, Reverse(*length)))
        else {
            return Err(wrong(
                "this compares nothing with <, <=, > or >=; write it as in 'peak < 1.5x'".into(),
            ));
        };
        let (name, limit) = (text[..at].trim(), text[at + length..].trim());
        let (limit, units) = limit_of(limit).map_err(wrong)?;
        let names: Vec<_> = measures.iter().map(|measure| measure.name()).collect();
        let is_named = |measure: &Measure| {
            let synonyms =
                SYNONYMS.iter().filter(|(said, _)| *said == name).map(|(_, meant)| *meant);
            synonyms.chain([name]).any(|name| [measure.name(), measure.key].contains(&name))
        };
        if !measures.iter().any(is_named) {
            let names = names.join(", ");
            return Err(wrong(format!("there is no `{name}` here; there are {names}")));
        }
        let fits = |measure: &Measure| is_named(measure) && units.contains(&measure.unit);
        let Some(&measure) = measures.iter().find(|measure| fits(measure)) else {
            let unit =
                measures.iter().find(|measure| is_named(measure)).map(|measure| measure.unit);
            let example = unit.map_or("", example);
            return Err(wrong(format!("{name} is compared with something such as {example}")));
        };
        let limit = if measure.unit == Unit::Milliseconds { limit * 1000.0 } else { limit };
        Ok(Self { text: text.trim().into(), measure, comparison, limit })
    }

    /// Whether it holds for one policy, or for all, with every crowd. It does not where a value is
    /// missing.
    pub(crate) fn check(&self, all: &[Measured], policy: Option<usize>) -> Checked {
        let is_checked = |one: &Measured| policy.is_none_or(|policy| one.policy == policy);
        let values: Vec<_> = all
            .iter()
            .enumerate()
            .filter(|(_, one)| is_checked(one))
            .map(|(at, one)| (at, one.value(self.measure.key)))
            .collect();
        let missing = values.iter().find(|(_, value)| value.is_none());
        let excess = |value: Option<Value>| value.map_or(f64::INFINITY, |value| self.excess(value));
        let worst = missing.or_else(|| {
            values.iter().max_by(|(_, one), (_, other)| excess(*one).total_cmp(&excess(*other)))
        });
        let value = worst.and_then(|(_, value)| *value);
        // What was the same in every trial needs no interval.
        let is_beyond =
            |(low, high): (f64, f64)| low == high || self.limit < low || high < self.limit;
        Checked {
            text: self.text.clone(),
            holds: value.is_some_and(|value| self.comparison.holds(value.number(), self.limit)),
            worst: worst.map(|(at, _)| *at),
            words: value.map_or("there is no result".into(), |one| one.words(self.measure.unit)),
            is_sure: value.and_then(Value::interval).map(is_beyond),
        }
    }

    /// How far in the wrong direction.
    fn excess(&self, value: Value) -> f64 {
        match self.comparison {
            Comparison::Below | Comparison::AtMost => value.number(),
            Comparison::Above | Comparison::AtLeast => -value.number(),
        }
    }
}

/// The number, and the units that it fits. Durations are in seconds, shares from 0 to 1.
fn limit_of(text: &str) -> Result<(f64, &'static [Unit]), String> {
    use Unit::{Count, Milliseconds, PerSecond, Seconds, Share, Times};
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let limit = if let Some(percent) = text.strip_suffix('%') {
        number(percent).map(|percent| (percent / 100.0, &[Share][..]))
    } else if let Some(times) = text.strip_suffix(['x', '×']) {
        number(times).map(|times| (times, &[Times][..]))
    } else if let Some(rate) = text.strip_suffix("/s") {
        number(rate).map(|rate| (rate, &[PerSecond][..]))
    } else if let Some(plain) = number(text) {
        Some((plain, &[Count, Times, PerSecond][..]))
    } else {
        value::duration(text)
            .ok()
            .map(|duration| (duration.as_secs_f64(), &[Seconds, Milliseconds][..]))
    };
    limit.ok_or_else(|| format!("`{text}` is no limit; use one such as 1.5x, 30s, 99% or 1000"))
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "1000",
        Unit::Milliseconds | Unit::Seconds => "30s",
        Unit::PerSecond => "500/s",
        Unit::Times => "1.5x",
        Unit::Share | Unit::Points => "99%",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURES: [Measure; 4] = [
        Measure::new("recovers", Unit::Share),
        Measure::new("recovery_s", Unit::Seconds),
        Measure::new("peak", Unit::Times),
        Measure::new("time_ms", Unit::Milliseconds),
    ];

    fn measured(rows: &[[f64; 4]]) -> Vec<Measured> {
        let value = |mean: f64| match mean.is_finite() {
            true => Value::Estimate(redial_sim::Estimate::exact(mean)),
            false => Value::Never,
        };
        let measured = |row: &[f64; 4]| Measured {
            policy: 0,
            short: "1".into(),
            clients: None,
            trials: 1,
            values: Ok(MEASURES.into_iter().zip(row.map(value)).collect()),
            against_first: Vec::new(),
        };
        rows.iter().map(measured).collect()
    }

    fn holds(text: &str, rows: &[[f64; 4]]) -> bool {
        Assertion::read(text, &MEASURES).expect(text).check(&measured(rows), None).holds
    }

    #[test]
    fn each_policy_must_hold() {
        let rows = [[1.0, 12.0, 1.2, 900.0], [1.0, 40.0, 1.6, 1100.0]];
        assert!(holds("peak < 1.7x", &rows));
        assert!(!holds("peak < 1.5x", &rows));
        assert!(holds("peak<=1.6", &rows));
        assert!(holds("peak > 1.1", &rows));
        assert!(!holds("peak >= 1.3x", &rows));
        assert!(holds("time < 1.2s", &rows));
        assert!(!holds("time < 1000ms", &rows));
    }

    #[test]
    fn to_recover_is_a_time_or_a_share() {
        let never = [[0.0, f64::INFINITY, 2.0, 1.0]];
        assert!(!holds("recovers < 30s", &never));
        assert!(holds("recovers < 50%", &never));
        assert!(holds("recovers < 30s", &[[1.0, 29.0, 1.0, 1.0]]));
        assert!(holds("recovery < 1min", &[[1.0, 29.0, 1.0, 1.0]]));
    }

    #[test]
    fn nothing_holds_of_what_was_not_measured() {
        let assertion = Assertion::read("peak < 9x", &MEASURES).expect("an assertion");
        let cut = Measured {
            policy: 0,
            short: "1".into(),
            clients: None,
            trials: 0,
            values: Err("cut".into()),
            against_first: Vec::new(),
        };
        assert!(!assertion.check(&[cut], None).holds);
        assert!(!assertion.check(&[], None).holds);
    }

    #[test]
    fn what_does_not_parse_says_what_would() {
        for (text, part) in [
            ("", "'peak < 1.5x'"),
            ("peak", "compares nothing"),
            ("peak = 3", "compares nothing"),
            ("speed < 3", "there are recovers, recovery, peak, time"),
            ("peak < 30s", "1.5x"),
            ("time < 5", "30s"),
            ("recovers < 30", "99%"),
            ("recovers > 0.5", "99%"),
            ("peak < many", "`many` is no limit"),
            ("peak < NaN", "no limit"),
            ("< 5", "there is no ``"),
            ("peak < > 5", "no limit"),
        ] {
            let error = Assertion::read(text, &MEASURES).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }
}
