//! The range of an axis, the positions of numbers on it and its ticks; and the horizontal axis itself, in
//! a picture and in a terminal.

use std::time::Duration;

use super::duration::human;
use super::number::rounded;
use super::svg::{Anchor, Area, Canvas, MARGIN, Place, Size};
use super::text::{centred, pixels};
use crate::visible::visible;

/// How the numbers of an axis lie along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal lengths are equal differences.
    Linear,
    /// Linear, with ticks at whole numbers only.
    Whole,
    /// Linear, always from 0 to 100.
    Percent,
    /// Equal lengths are equal factors. Only for numbers above zero.
    Logarithmic,
    /// Logarithmic, with zero at the low end.
    LogarithmicFromZero,
    /// Linear, in nanoseconds from zero on.
    Time,
    /// Linear up to `near`, which is close to the low end, and logarithmic from there on.
    FarTime { near: u64 },
}

/// What is measured along one side of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What it is, with its unit: `time until the last is done, ms`.
    pub(crate) label: String,
    /// How the numbers lie along it.
    pub(crate) scale: Scale,
}

impl Axis {
    pub(crate) fn new(label: impl Into<String>, scale: Scale) -> Self {
        Self { label: label.into(), scale }
    }

    /// Whether a number has a place on it.
    pub(crate) fn can_show(&self, value: f64) -> bool {
        has_place(self.scale, value)
    }

    /// What is written along it.
    pub(crate) fn words(&self) -> String {
        match self.scale {
            Scale::Logarithmic | Scale::LogarithmicFromZero | Scale::FarTime { .. } => {
                format!("{} (logarithmic)", self.label)
            }
            _ => self.label.clone(),
        }
    }
}

/// Numbers beyond these are not drawn.
const GREATEST: f64 = 1e300;
const LEAST: f64 = 1e-300;

/// The numbers from one end of an axis to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
}

/// A number written beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Where it is, from 0 at the low end to 1 at the high one.
    pub(crate) position: f64,
    /// The number in words.
    pub(crate) label: String,
}

impl Range {
    /// From the least to the greatest of these values; none where no value has a place on it.
    pub(crate) fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Option<Self> {
        // Zero is at the low end, below the logarithmic part.
        let is_end = |value: &f64| scale != Scale::LogarithmicFromZero || *value >= LEAST;
        let values = values.filter(|value| has_place(scale, *value)).filter(is_end);
        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        let (low, high) = ends?;
        Some(match scale {
            Scale::Linear | Scale::Whole => Self { scale, ..Self::linear(low, high) },
            Scale::Percent => Self { scale, low: low.min(0.0), high: high.max(100.0) },
            Scale::Logarithmic | Scale::LogarithmicFromZero => {
                Self { scale, ..Self::logarithmic(low, high) }
            }
            Scale::Time | Scale::FarTime { .. } => Self { scale, low: 0.0, high },
        })
    }

    /// From one number to a greater one; none where `high` is not greater.
    pub(crate) fn between(scale: Scale, low: f64, high: f64) -> Option<Self> {
        let both = has_place(scale, low) && has_place(scale, high);
        let differ = high - low > high.abs().max(low.abs()).max(LEAST) * 1e-9;
        (both && differ).then_some(Self { scale, low, high })
    }

    /// From zero to `end`; logarithmic where the `first` moment would be indistinguishable from zero on a
    /// linear axis. All in nanoseconds.
    pub(crate) fn of_time(first: u64, end: u64) -> Self {
        const FAR: u64 = 1000;
        let scale = match end / FAR {
            far if far >= first => {
                let near = powers().rfind(|power| *power <= first);
                Scale::FarTime { near: near.unwrap_or(1) }
            }
            _ => Scale::Time,
        };
        Self { scale, low: 0.0, high: end as f64 }
    }

    pub(crate) fn scale(&self) -> Scale {
        self.scale
    }

    fn linear(low: f64, high: f64) -> Self {
        let shown = |end: f64| if end.abs() < LEAST { 0.0 } else { end };
        let (low, high) = (shown(low), shown(high));
        let differ = high - low > high.abs().max(low.abs()) * 1e-9;
        let (low, high) = match (low, high) {
            (0.0, 0.0) => (0.0, 1.0),
            (low, high) if !differ => (low.min(0.0), high.max(0.0)),
            // Starts at zero, so that lengths can be compared, unless that takes half of the room.
            (low, high) if low > 0.0 && low <= high / 2.0 => (0.0, high),
            (low, high) if high < 0.0 && high >= low / 2.0 => (low, 0.0),
            ends => ends,
        };
        Self { scale: Scale::Linear, low, high }
    }

    fn logarithmic(low: f64, high: f64) -> Self {
        let differ = high > low * (1.0 + 1e-9);
        let (low, high) = if differ { (low, high) } else { (low / 10.0, high * 10.0) };
        Self { scale: Scale::Logarithmic, low, high }
    }

    /// With its ends moved outwards to round numbers.
    pub(crate) fn rounded(self) -> Self {
        let (low, high) = match self.scale {
            Scale::Time | Scale::FarTime { .. } => (self.low, self.high),
            Scale::Linear | Scale::Whole | Scale::Percent => {
                let step = round_below((self.high - self.low) / 8.0);
                (floor(self.low / step) * step, ceil(self.high / step) * step)
            }
            Scale::Logarithmic | Scale::LogarithmicFromZero => {
                let below = round_below(self.high);
                // A tolerance, so that a round number stays what it is.
                let exact = self.high <= below * (1.0 + 1e-9);
                let above = if exact { below } else { next_round(below) };
                (round_below(self.low), above)
            }
        };
        Self { low, high, ..self }
    }

    /// The position of a number, from 0 at the low end to 1 at the high one, clamped. None where the scale
    /// cannot show it.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        has_place(self.scale, value).then(|| self.fraction(value).clamp(0.0, 1.0))
    }

    /// The position of a moment on a time axis.
    pub(crate) fn moment(&self, nanos: u64) -> f64 {
        self.position(nanos as f64).unwrap_or(0.0)
    }

    /// Linear from zero to `near` in the first 6 % of the axis, and logarithmic from there on.
    fn beyond(&self, near: f64, value: f64) -> f64 {
        const NEAR: f64 = 0.06;
        if value <= near {
            return NEAR * value / near;
        }
        NEAR + (1.0 - NEAR) * libm::log(value / near) / libm::log(self.high / near)
    }

    fn fraction(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Whole | Scale::Percent | Scale::Time => {
                (value - self.low) / (self.high - self.low)
            }
            Scale::FarTime { near } => self.beyond(near as f64, value),
            Scale::LogarithmicFromZero => self.beyond(self.low, value),
            Scale::Logarithmic => {
                let low = libm::log(self.low);
                (libm::log(value) - low) / (libm::log(self.high) - low)
            }
        }
    }

    /// The most ticks that fit, at round numbers.
    pub(crate) fn ticks(&self, fits: impl Fn(&[Tick]) -> bool) -> Vec<Tick> {
        let several = |ticks: &Vec<Tick>| ticks.len() > 1 && fits(ticks);
        self.choices().into_iter().find(several).unwrap_or_default()
    }

    /// Sets of ticks to try: at all round numbers, and then at fewer and fewer of them.
    fn choices(&self) -> Vec<Vec<Tick>> {
        let mut choices = match self.scale {
            Scale::Linear | Scale::Whole | Scale::Percent => vec![],
            Scale::Logarithmic => self.powers(),
            Scale::LogarithmicFromZero => {
                // The lowest power may be too close to zero.
                let with_zero = |ticks: Vec<Tick>| {
                    [0, 1].map(|skipped| {
                        let ticks = ticks.iter().skip(skipped).cloned();
                        std::iter::once(self.tick(0.0, 1.0)).chain(ticks).collect()
                    })
                };
                return self.powers().into_iter().flat_map(with_zero).collect();
            }
            Scale::Time => return self.even_moments(),
            Scale::FarTime { near } => return self.far_moments(near),
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

    /// Moments at equal intervals, the shortest interval first.
    fn even_moments(&self) -> Vec<Vec<Tick>> {
        const MOST: u64 = 40;
        let end = self.high as u64;
        let steps = steps().filter(|step| end / step <= MOST);
        steps.map(|step| self.moments((0..=end / step).map(|i| i * step))).collect()
    }

    /// Zero and the round moments from this one on, and then fewer and fewer of them.
    fn far_moments(&self, near: u64) -> Vec<Vec<Tick>> {
        let on_axis = |at: &u64| (near..=self.high as u64).contains(at);
        let powers: Vec<u64> = powers().filter(on_axis).collect();
        // The label of the first one may overlap that of zero.
        let choices = (1..=powers.len()).flat_map(|step| [(step, 0), (step, 1)]);
        let thinned = |(step, skipped)| {
            self.moments([0].into_iter().chain(powers.iter().copied().skip(skipped).step_by(step)))
        };
        choices.map(thinned).collect()
    }

    fn moments(&self, moments: impl Iterator<Item = u64>) -> Vec<Tick> {
        let tick =
            |at: u64| Tick { position: self.moment(at), label: human(Duration::from_nanos(at)) };
        moments.map(tick).collect()
    }

    fn tick(&self, value: f64, distance: f64) -> Tick {
        let position = self.fraction(value).clamp(0.0, 1.0);
        Tick { position, label: rounded(value, distance) }
    }
}

fn has_place(scale: Scale, value: f64) -> bool {
    let least = match scale {
        Scale::Linear | Scale::Whole | Scale::Percent => -GREATEST,
        Scale::Logarithmic => LEAST,
        Scale::LogarithmicFromZero | Scale::Time | Scale::FarTime { .. } => 0.0,
    };
    (least..=GREATEST).contains(&value)
}

/// The exponent of a number above zero, to the base ten.
pub(crate) fn exponent(value: f64) -> i32 {
    // With a tolerance: log10(1000) may be 2.999….
    libm::floor(libm::log10(value) + 1e-9) as i32
}

/// The greatest of 1, 2, 5, 10, 20, … that is not above a number.
pub(crate) fn round_below(value: f64) -> f64 {
    let decade = 10f64.powi(exponent(value));
    let counts = [5.0, 2.0].into_iter().find(|count| count * decade <= value * (1.0 + 1e-9));
    counts.unwrap_or(1.0) * decade
}

/// The next of 1, 2, 5, 10, 20, …
fn next_round(round: f64) -> f64 {
    let decade = 10f64.powi(exponent(round));
    let counts = [2.0, 5.0].into_iter().find(|count| count * decade > round * (1.0 + 1e-9));
    counts.unwrap_or(10.0) * decade
}

/// With a tolerance for rounding errors: 0.3 / 0.1 is 3.
fn floor(value: f64) -> f64 {
    libm::floor(value + 1e-9)
}

fn ceil(value: f64) -> f64 {
    libm::ceil(value - 1e-9)
}

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 8766 * HOUR;

/// Round intervals between ticks, the shortest first.
fn steps() -> impl Iterator<Item = u64> {
    let decades = (0..9).map(|power| 10u64.pow(power));
    let small = decades.flat_map(|decade| [1, 2, 5].map(|count| count * decade));
    let large = [
        (SECOND, [1, 2, 5, 10, 15, 30]),
        (MINUTE, [1, 2, 5, 10, 15, 30]),
        (HOUR, [1, 2, 3, 6, 12, 24]),
        (DAY, [2, 5, 10, 20, 50, 100]),
        (YEAR, [1, 2, 5, 10, 20, 50]),
        (YEAR, [100, 200, 300, 400, 500, 584]),
    ];
    small.chain(large.into_iter().flat_map(|(unit, counts)| counts.map(|count| count * unit)))
}

/// Round moments, each about ten times the one before.
fn powers() -> impl DoubleEndedIterator<Item = u64> {
    let decades = (0..=10).map(|power| 10u64.pow(power));
    let later = [MINUTE, 10 * MINUTE, HOUR, DAY, 10 * DAY, YEAR, 10 * YEAR, 100 * YEAR];
    decades.chain(later)
}

/// The horizontal axis in a picture.
impl Range {
    /// The ticks whose labels fit under it, inside of the picture and with gaps between them.
    pub(crate) fn ticks_in(&self, area: Area, size: Size) -> Vec<Tick> {
        const GAP: f64 = 28.0;
        let half = |tick: &Tick| pixels(&tick.label) / 2.0;
        let x = |tick: &Tick| area.x(tick.position);
        let inside = |tick: &Tick| x(tick) - half(tick) > 0.0 && x(tick) + half(tick) < size.width;
        let has_gap =
            |pair: &[Tick]| x(&pair[1]) - x(&pair[0]) > half(&pair[0]) + half(&pair[1]) + GAP;
        self.ticks(|ticks| ticks.iter().all(inside) && ticks.windows(2).all(has_gap))
    }
}

/// Draws the axis at the lower end of an area, with its ticks and its label.
pub(crate) fn draw(canvas: &mut Canvas, area: Area, ticks: &[Tick], words: &str) {
    let Area { left, right, bottom, .. } = area;
    canvas.line((left, bottom), (right, bottom), "axis");
    for tick in ticks {
        let x = area.x(tick.position);
        canvas.line((x, bottom), (x, bottom + 5.0), "axis");
        let place = Place { x, y: bottom + 19.0, anchor: Anchor::Middle };
        canvas.text(place, "muted", &tick.label);
    }
    let size = canvas.size;
    let half = pixels(&visible(words)).min(size.inner()) / 2.0;
    let middle = ((left + right) / 2.0).clamp(MARGIN + half, size.width - MARGIN - half);
    let place = Place { x: middle, y: bottom + 38.0, anchor: Anchor::Middle };
    canvas.clipped(place, "muted", words, size.inner());
    canvas.y = bottom + 42.0;
}

/// The horizontal axis in so many columns of a terminal: the line with this character at each tick, and
/// the labels below it.
pub(crate) fn lines(range: &Range, columns: usize, sign: char) -> [String; 2] {
    let column = |tick: &Tick| libm::round(tick.position * (columns - 1) as f64) as usize;
    let labels = |ticks: &[Tick]| {
        centred(ticks.iter().map(|tick| (column(tick), tick.label.as_str())), columns)
    };
    let ticks = range.ticks(|ticks| labels(ticks).is_some());
    let mut line = vec!['─'; columns];
    for tick in &ticks {
        line[column(tick)] = sign;
    }
    [line.into_iter().collect(), labels(&ticks).unwrap_or_default()]
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
        let from_zero: [(&[f64], &str); 2] = [
            (&[0.0, 1.0, 1000.0], "0 1 10 100 1000"),
            (&[0.0, 30.0, 400.0], "0 20 50 100 200 500"),
        ];
        for (values, expected) in from_zero {
            assert_eq!(ticks(Scale::LogarithmicFromZero, values, 8), expected, "{values:?}");
        }
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
        let from_zero = Range::around(Scale::LogarithmicFromZero, [0.0, 1.0, 100.0].into_iter());
        let position = |value| from_zero.unwrap().position(value).unwrap();
        assert_eq!(position(0.0), 0.0);
        assert!(0.0 < position(0.1) && position(0.1) < position(1.0) && position(100.0) > 0.999);
        assert_eq!(Range::around(Scale::Linear, [f64::NAN].into_iter()), None);
    }
}
