//! The values of a scenario's flags.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::duration;

/// The values of a flag: the name, the value and the help of each.
pub(crate) type Choices<T> = &'static [(&'static str, T, &'static str)];

/// A parser of one of these values.
pub(crate) fn choice<T: Copy + Send + Sync>(all: Choices<T>) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(move |name| {
        let choice = all.iter().find(|(other, ..)| *other == name);
        choice.map(|(_, value, _)| *value).ok_or("this is not one of the values")
    })
}

/// The name of a value.
pub(crate) fn name<T: PartialEq>(all: Choices<T>, value: T) -> Option<&'static str> {
    all.iter().find(|(_, other, _)| *other == value).map(|(name, ..)| *name)
}

/// From 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

/// How many clients, one number or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clients(pub(crate) Vec<u32>);

/// More rows than anybody reads.
const CROWDS_MAX: usize = 200;

/// A range without a step has at most this many values.
const POINTS: u32 = 20;

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    duration::read(text).ok_or_else(|| format!("this is not a duration; {}", duration::EXPECTED))
}

/// A finite number. Its bounds are checked by the simulator.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "this is not a number; use one such as 300 or 0.5".into())
}

/// `10%` or `0.1`.
pub(crate) fn share(text: &str) -> Result<Share, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().map(|number| number / whole).ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.map(Share).ok_or_else(|| "this is not a share; use one from 0% to 100%".into())
}

/// `100`, `5,10,20`, `10..190`, or `10..190:30` with a step.
pub(crate) fn clients(text: &str) -> Result<Clients, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            Some((from, rest)) => all.extend(range(from, rest)?),
            None => all.push(whole(part)?),
        }
        if all.len() > CROWDS_MAX {
            return Err(format!("these are more than {CROWDS_MAX} crowds; use a larger step"));
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(Clients(all))
}

fn range(from: &str, rest: &str) -> Result<impl Iterator<Item = u32>, String> {
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(whole(step)?)),
        None => (rest, None),
    };
    let (from, to) = (whole(from)?, whole(to.strip_prefix('=').unwrap_or(to))?);
    if from > to {
        return Err(format!("{from} is above {to}; write it as {to}..{from}"));
    }
    let step = step.unwrap_or_else(|| readable_step(to - from));
    if step == 0 {
        return Err("a step of 0 goes nowhere; use 1 or more".into());
    }
    // The range includes its end, whatever the step. One crowd too many is enough for an error.
    let last = (!(to - from).is_multiple_of(step)).then_some(to);
    Ok((from..=to).step_by(step as usize).take(CROWDS_MAX + 1).chain(last))
}

/// The smallest of 1, 2, 5, 10, 20, 50 … that leaves few enough values.
fn readable_step(span: u32) -> u32 {
    let enough = |step: &u32| span / step < POINTS;
    let steps = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u32.pow(power)));
    steps.into_iter().find(enough).unwrap_or(1_000_000_000)
}

fn whole(text: &str) -> Result<u32, String> {
    let text = text.trim();
    text.parse().map_err(|_| {
        format!("`{text}` is not a number of clients; use one such as 100, 5,10,20 or 10..190")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_a_number_a_list_or_a_range() {
        let of = |text| clients(text).map(|Clients(all)| all);
        assert_eq!(of("100"), Ok(vec![100]));
        assert_eq!(of("20, 5,10,5"), Ok(vec![5, 10, 20]));
        assert_eq!(of("10..190"), Ok((1..=19).map(|ten| 10 * ten).collect()));
        assert_eq!(of("2..10"), Ok((2..=10).collect()));
        assert_eq!(of("1..100:40"), Ok(vec![1, 41, 81, 100]));
        assert_eq!(of("7..7"), Ok(vec![7]));
        assert_eq!(of("1..4294967295").map(|all| all.len()), Ok(10));
        assert_eq!(of("1..3,50"), Ok(vec![1, 2, 3, 50]));
    }

    #[test]
    fn what_is_no_number_of_clients_is_told_so() {
        for text in ["", "x", "-1", "1.5", "4294967296", "..5", "5..", "9..5", "1..9:0", "1..9:x"] {
            assert!(clients(text).is_err(), "{text}");
        }
        assert!(clients("1..100000:1").unwrap_err().contains("200"));
    }

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!(share("10%"), Ok(Share(0.1)));
        assert_eq!(share("0.25"), Ok(Share(0.25)));
        assert_eq!(share("100 %"), Ok(Share(1.0)));
        for text in ["", "%", "-1%", "101%", "2", "NaN", "inf", "ten"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_finite_and_durations_have_units() {
        assert_eq!(number("280"), Ok(280.0));
        for text in ["", "NaN", "inf", "1e999", "x"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        for text in ["", "10", "-1s", "1 fortnight"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
