//! Which numbers an axis shows, where on it they are, and which of them are written beside it.

use super::number::rounded;
use super::{Axis, Scale};

/// Beyond these there is no telling numbers apart.
const GREATEST: f64 = 1e300;
const LEAST: f64 = 1e-300;

/// The numbers from one end of an axis to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A number written beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where it is, from 0 at the low end to 1 at the high one.
    pub(super) position: f64,
    /// The number in words.
    pub(super) label: String,
}

impl Range {
    /// From the least to the greatest of these values; none where no value has a place on it.
    pub(super) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        let values = values.filter(|value| has_place(scale, *value));
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends?;
        Some(match scale {
            Scale::Linear | Scale::Whole => Self { scale, ..Self::linear(low, high) },
            Scale::Percent => Self { scale, low: low.min(0.0), high: high.max(100.0) },
            Scale::Logarithmic => Self::logarithmic(low, high),
        })
    }

    /// From one number to a greater one; none where they are not.
    pub(super) fn between(scale: Scale, low: f64, high: f64) -> Option<Self> {
        let both = has_place(scale, low) && has_place(scale, high);
        let apart = high - low > high.abs().max(low.abs()).max(LEAST) * 1e-9;
        (both && apart).then_some(Self { scale, low, high })
    }

    fn linear(low: f64, high: f64) -> Self {
        let shown = |end: f64| if end.abs() < LEAST { 0.0 } else { end };
        let (low, high) = (shown(low), shown(high));
        let apart = high - low > high.abs().max(low.abs()) * 1e-9;
        let (low, high) = match (low, high) {
            (0.0, 0.0) => (0.0, 1.0),
            (low, high) if !apart => (low.min(0.0), high.max(0.0)),
            // Lengths compare only where they begin at zero, unless that takes half of the room.
            (low, high) if low > 0.0 && low <= high / 2.0 => (0.0, high),
            (low, high) if high < 0.0 && high >= low / 2.0 => (low, 0.0),
            ends => ends,
        };
        Self { scale: Scale::Linear, low, high }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let apart = high > low * (1.0 + 1e-9);
        let (low, high) = if apart { (low, high) } else { (low / 10.0, high * 10.0) };
        Self { scale: Scale::Logarithmic, low, high }
    }

    /// With its ends moved outwards to round numbers.
    pub(super) fn rounded(self) -> Self {
        let (low, high) = match self.scale {
            Scale::Linear | Scale::Whole | Scale::Percent => {
                let step = round_below((self.high - self.low) / 8.0);
                (floor(self.low / step) * step, ceil(self.high / step) * step)
            }
            Scale::Logarithmic => {
                let below = round_below(self.high);
                // Just above a round number there is nothing left to round.
                let exact = self.high <= below * (1.0 + 1e-9);
                let above = if exact { below } else { next_round(below) };
                (round_below(self.low), above)
            }
        };
        Self { low, high, ..self }
    }

    /// Where a number is, from 0 at the low end to 1 at the high one; beyond them, at the end. None
    /// where it has no place on such an axis.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        has_place(self.scale, value).then(|| self.fraction(value).clamp(0.0, 1.0))
    }

    fn fraction(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Whole | Scale::Percent => {
                (value - self.low) / (self.high - self.low)
            }
            Scale::Logarithmic => {
                let low = libm::log(self.low);
                (libm::log(value) - low) / (libm::log(self.high) - low)
            }
        }
    }

    /// The most ticks that fit, at round numbers.
    pub(super) fn ticks(&self, fits: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        let several = |ticks: &Vec<Tick>| ticks.len() > 1 && fits(ticks);
        self.choices().into_iter().find(several).unwrap_or_default()
    }

    /// Ticks at all round numbers, and then fewer and fewer of them.
    fn choices(&self) -> Vec<Vec<Tick>> {
        let mut choices = match self.scale {
            Scale::Linear | Scale::Whole | Scale::Percent => vec![],
            Scale::Logarithmic => self.powers(),
        };
        choices.extend(self.steps().into_iter().map(|step| self.multiples(step)));
        choices
    }

    fn steps(&self) -> Vec<f64> {
        let width = exponent(self.high - self.low);
        let decades = (width - 2..=width + 1).map(|power| 10f64.powi(power));
        let steps = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|count| count * decade));
        let is_whole = |step: &f64| self.scale != Scale::Whole || *step >= 1.0;
        steps.filter(|step| (self.high - self.low) / step <= 40.0).filter(is_whole).collect()
    }

    fn multiples(&self, step: f64) -> Vec<Tick> {
        let (first, last) = (ceil(self.low / step), floor(self.high / step));
        let count = (last - first).clamp(0.0, 40.0) as usize + 1;
        let values = (0..count).map(|index| (first + index as f64) * step);
        values.map(|value| self.tick(value, step)).collect()
    }

    fn powers(&self) -> Vec<Vec<Tick>> {
        let decades = exponent(self.low)..=exponent(self.high);
        let on_axis = |value: &f64| (self.low * 0.999..=self.high * 1.001).contains(value);
        let ticks = |every: usize, counts: &[f64]| {
            let powers = decades.clone().filter(|power| power.rem_euclid(every as i32) == 0);
            let values = powers.flat_map(|power| {
                let decade = 10f64.powi(power);
                counts.iter().map(move |count| count * decade)
            });
            values.filter(on_axis).map(|value| self.tick(value, value)).collect()
        };
        let fewer = [1, 2, 3, 5, 10, 20, 50, 100].map(|every| ticks(every, &[1.0]));
        [ticks(1, &[1.0, 2.0, 5.0])].into_iter().chain(fewer).collect()
    }

    fn tick(&self, value: f64, distance: f64) -> Tick {
        let position = self.fraction(value).clamp(0.0, 1.0);
        Tick { position, label: rounded(value, distance) }
    }
}

impl Axis {
    /// Whether a number has a place on it.
    pub(super) fn can_show(&self, value: f64) -> bool {
        has_place(self.scale, value)
    }
}

fn has_place(scale: Scale, value: f64) -> bool {
    let least = match scale {
        Scale::Linear | Scale::Whole | Scale::Percent => -GREATEST,
        Scale::Logarithmic => LEAST,
    };
    (least..=GREATEST).contains(&value)
}

/// The power of ten that a number above zero begins with.
pub(super) fn exponent(value: f64) -> i32 {
    // A hair more, so that 1000 is not taken for 999.999….
    libm::floor(libm::log10(value) + 1e-9) as i32
}

/// The greatest of 1, 2, 5, 10, 20, … that is not above a number.
pub(super) fn round_below(value: f64) -> f64 {
    let decade = 10f64.powi(exponent(value));
    let counts = [5.0, 2.0].into_iter().find(|count| count * decade <= value * (1.0 + 1e-9));
    counts.unwrap_or(1.0) * decade
}

/// The one after it.
fn next_round(round: f64) -> f64 {
    let decade = 10f64.powi(exponent(round));
    let counts = [2.0, 5.0].into_iter().find(|count| count * decade > round * (1.0 + 1e-9));
    counts.unwrap_or(10.0) * decade
}

/// Without being led astray by the last bit: 0.3 / 0.1 is 3.
fn floor(value: f64) -> f64 {
    libm::floor(value + 1e-9)
}

fn ceil(value: f64) -> f64 {
    libm::ceil(value - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers beside an axis of these values that has room for so many.
    fn ticks(scale: Scale, values: &[f64], room: usize) -> String {
        let range = Range::around(scale, values.iter().copied()).unwrap().rounded();
        let ticks = range.ticks(|ticks| ticks.len() <= room);
        ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_beside_an_axis_are_round() {
        let linear: [(&[f64], &str); 7] = [
            (&[0.0, 100.0], "0 20 40 60 80 100"),
            (&[3.0, 97.0], "0 20 40 60 80 100"),
            (&[0.0, 1.0], "0 0.2 0.4 0.6 0.8 1.0"),
            (&[-1.0, 1.0], "−1.0 −0.5 0 0.5 1.0"),
            (&[1000.0, 1010.0], "1000 1002 1004 1006 1008 1010"),
            (&[5.0], "0 1 2 3 4 5"),
            (&[0.0], "0 0.2 0.4 0.6 0.8 1.0"),
        ];
        for (values, expected) in linear {
            assert_eq!(ticks(Scale::Linear, values, 6), expected, "{values:?}");
        }
        let logarithmic: [(&[f64], &str); 5] = [
            (&[1.0, 100.0], "1 2 5 10 20 50 100"),
            (&[1.0, 1000.0], "1 10 100 1000"),
            (&[3.0, 40.0, -1.0, 0.0], "2 5 10 20 50"),
            (&[1e-300, 1e300], "10⁻³⁰⁰ 10⁻²⁰⁰ 10⁻¹⁰⁰ 1 10¹⁰⁰ 10²⁰⁰ 10³⁰⁰"),
            (&[70.0], "5 10 20 50 100 200 500 1000"),
        ];
        for (values, expected) in logarithmic {
            assert_eq!(ticks(Scale::Logarithmic, values, 8), expected, "{values:?}");
        }
    }

    #[test]
    fn what_is_counted_has_no_halves_and_shares_go_from_none_to_all() {
        assert_eq!(ticks(Scale::Whole, &[0.0, 3.0], 9), "0 1 2 3");
        assert_eq!(ticks(Scale::Whole, &[10.0, 190.0], 5), "0 50 100 150 200");
        assert_eq!(ticks(Scale::Percent, &[97.0, 99.5], 6), "0 20 40 60 80 100");
        assert_eq!(ticks(Scale::Percent, &[0.0], 6), "0 20 40 60 80 100");
    }

    #[test]
    fn an_axis_begins_at_zero_unless_that_takes_half_of_it() {
        let low = |values: [f64; 2]| Range::around(Scale::Linear, values.into_iter()).unwrap().low;
        assert_eq!(low([1.0, 10.0]), 0.0);
        assert_eq!(low([9.0, 10.0]), 9.0);
        assert_eq!(low([-1.0, 10.0]), -1.0);
    }

    #[test]
    fn what_has_no_place_on_an_axis_has_no_position() {
        let range = Range::around(Scale::Logarithmic, [1.0, 100.0].into_iter()).unwrap();
        assert_eq!(range.position(10.0), Some(0.5));
        assert_eq!(range.position(1000.0), Some(1.0));
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(range.position(value), None, "{value}");
        }
        assert_eq!(Range::around(Scale::Linear, [f64::NAN].into_iter()), None);
    }
}
