//! What must hold of each policy: `peak < 1.5x`, `recovers < 30s`, `committed >= 99%`.

use std::cmp::Reverse;

use super::outcome::{Measure, Outcome, Unit, Value};
use super::value;

/// An assertion that a scenario can answer.
#[derive(Clone, Debug)]
pub(crate) struct Assertion {
    text: String,
    /// What it is about.
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

/// The longer signs first, for the shorter ones begin them.
const SIGNS: [(&str, Comparison); 6] = [
    ("≤", Comparison::AtMost),
    ("≥", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

/// What people call things otherwise than JSON does.
const SYNONYMS: [(&str, &str); 1] = [("recovers", "recovery")];

/// Whether it holds, and what it was compared with.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) holds: bool,
    /// The outcome that is closest to breaking it, or farthest beyond.
    pub(crate) worst: Option<usize>,
    pub(crate) words: String,
    /// Whether the limit is beyond the interval of what was measured; nothing where that is no
    /// mean and no share.
    pub(crate) is_sure: Option<bool>,
}

impl Assertion {
    /// Reads one of a scenario with these measures.
    pub(crate) fn read(text: &str, measures: &[Measure]) -> Result<Self, String> {
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

    /// Whether it holds for one of the policies.
    pub(crate) fn answer_of(&self, outcomes: &[Outcome], policy: usize) -> Answer {
        let places: Vec<_> =
            (0..outcomes.len()).filter(|place| outcomes[*place].policy == policy).collect();
        let its: Vec<_> = places.iter().map(|place| outcomes[*place].clone()).collect();
        let answer = self.answer(&its);
        let worst = answer.worst.and_then(|worst| places.get(worst).copied());
        Answer { worst, ..answer }
    }

    /// Whether it holds for all of these. Where there is no number, nothing holds.
    pub(crate) fn answer(&self, outcomes: &[Outcome]) -> Answer {
        let value = |outcome: &Outcome| outcome.value(self.measure.key);
        let Some(missing) = outcomes.iter().position(|outcome| value(outcome).is_none()) else {
            let worst = outcomes.iter().enumerate().filter_map(|(at, one)| Some((at, value(one)?)));
            let worst = worst
                .max_by(|(_, one), (_, other)| self.excess(*one).total_cmp(&self.excess(*other)));
            return self.said(worst);
        };
        let words = "there is no result".into();
        Answer { text: self.text.clone(), holds: false, worst: Some(missing), words, is_sure: None }
    }

    fn said(&self, worst: Option<(usize, Value)>) -> Answer {
        let Some((at, value)) = worst else {
            let words = "there is no result".into();
            return Answer {
                text: self.text.clone(),
                holds: false,
                worst: None,
                words,
                is_sure: None,
            };
        };
        let holds = match self.comparison {
            Comparison::Below => value.number() < self.limit,
            Comparison::AtMost => value.number() <= self.limit,
            Comparison::Above => value.number() > self.limit,
            Comparison::AtLeast => value.number() >= self.limit,
        };
        let is_beyond = |(low, high): (f64, f64)| self.limit < low || high < self.limit;
        // What was the same in every trial is compared as it is.
        let is_exact = |(low, high): (f64, f64)| low == high;
        let is_sure = value.interval().map(|ends| is_exact(ends) || is_beyond(ends));
        let words = value.words(self.measure.unit);
        Answer { text: self.text.clone(), holds, worst: Some(at), words, is_sure }
    }

    /// How far in the wrong direction.
    fn excess(&self, value: Value) -> f64 {
        match self.comparison {
            Comparison::Below | Comparison::AtMost => value.number(),
            Comparison::Above | Comparison::AtLeast => -value.number(),
        }
    }
}

/// The number, and the units that it may be of: seconds for durations, a part for shares.
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

    fn outcomes(rows: &[[f64; 4]]) -> Vec<Outcome> {
        let value = |mean: f64| match mean.is_finite() {
            true => Value::Estimate(redial_sim::Estimate::exact(mean)),
            false => Value::Never,
        };
        let outcome = |row: &[f64; 4]| Outcome {
            policy: 0,
            short: "1".into(),
            clients: None,
            trials: 1,
            values: Ok(MEASURES.into_iter().zip(row.map(value)).collect()),
            against_first: Vec::new(),
        };
        rows.iter().map(outcome).collect()
    }

    fn holds(text: &str, rows: &[[f64; 4]]) -> bool {
        Assertion::read(text, &MEASURES).expect(text).answer(&outcomes(rows)).holds
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
        let cut = Outcome {
            policy: 0,
            short: "1".into(),
            clients: None,
            trials: 0,
            values: Err("cut".into()),
            against_first: Vec::new(),
        };
        assert!(!assertion.answer(&[cut]).holds);
        assert!(!assertion.answer(&[]).holds);
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
