//! Figures of numbers: curves, steps and dots between two axes, and strips of amounts over time.
//!
//! A figure is drawn in three ways: on a page, as a picture by itself, and in a terminal. What cannot
//! be drawn, such as an infinite value, is left out of all of them.

mod blocks;
mod braille;
mod description;
mod heat;
mod names;
mod plot;
mod strip;
mod terminal;
#[cfg(test)]
mod tests;
mod thin;

use redial_sim::Estimate;

use super::axis::Range;
pub(crate) use super::axis::{Axis, Scale};
use super::svg::{Canvas, Drawing, Size};
pub(crate) use super::table::Table;

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    /// The 95 % confidence interval of `y`, from the lower end to the upper; both `y` for none.
    pub interval: (f64, f64),
}

impl Point {
    /// One without an interval.
    pub(crate) const fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: (y, y) }
    }

    /// One with the confidence interval of an estimate.
    pub(crate) const fn of(x: f64, estimate: &Estimate) -> Self {
        Self { x, y: estimate.mean, interval: (estimate.low, estimate.high) }
    }

    /// Between two trials of one series, which no line joins.
    const GAP: Self = Self::new(f64::NAN, f64::NAN);

    /// Whether there is an interval to be drawn.
    fn has_interval(&self) -> bool {
        let (low, high) = self.interval;
        low < high && low.is_finite() && high.is_finite()
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Joined by straight lines.
    Line,
    /// Each value holds until the next point.
    Steps,
    /// Each by itself.
    Dots,
}

/// Measurements that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Of any length, and with any characters.
    pub name: String,
    /// In the order in which they are joined; [`Point::GAP`] is between two trials.
    pub points: Vec<Point>,
    pub style: Style,
}

impl Series {
    /// A thin line for each trial. The mean of trials would look like none of them.
    pub(crate) fn of_trials(name: String, trials: impl Iterator<Item = Vec<Point>>) -> Self {
        let trials: Vec<_> = trials.collect();
        Self { name, points: trials.join(&Point::GAP), style: Style::Steps }
    }

    /// The greatest of its values; 0 where there is none above.
    fn greatest(&self) -> f64 {
        let values = self.points.iter().map(|point| point.y);
        values.filter(|value| value.is_finite()).fold(0.0, f64::max)
    }
}

/// A line across the chart, such as a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub value: f64,
    pub label: String,
}

/// A shaded stretch of the horizontal axis, such as an outage.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
}

/// Series between two axes.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// Beyond eight, colours come again with other marks.
    pub series: Vec<Series>,
    pub levels: Vec<Level>,
    pub bands: Vec<Band>,
}

impl Chart {
    pub(crate) fn new(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { title: title.into(), x, y, series, levels: Vec::new(), bands: Vec::new() }
    }

    /// A chart whose vertical axis is logarithmic where the series differ much.
    pub(crate) fn with_fitting_scale(
        title: impl Into<String>,
        x: Axis,
        label: impl Into<String>,
        series: Vec<Series>,
    ) -> Self {
        let is_zero = |series: &Series| series.points.iter().any(|point| point.y == 0.0);
        let scale = match fitting_scale(series.iter().map(Series::greatest)) {
            Scale::Logarithmic if series.iter().any(is_zero) => Scale::LogarithmicFromZero,
            scale => scale,
        };
        Self::new(title, x, Axis::new(label, scale), series)
    }

    /// With its values, which are shares, in percent.
    pub(crate) fn in_percent(mut self) -> Self {
        self.y.scale = Scale::Percent;
        for point in self.series.iter_mut().flat_map(|series| &mut series.points) {
            let (low, high) = point.interval;
            (point.y, point.interval) = (100.0 * point.y, (100.0 * low, 100.0 * high));
        }
        self
    }
}

/// A logarithmic scale where the greatest value is more than ten times the least one above zero.
pub(crate) fn fitting_scale(values: impl Iterator<Item = f64>) -> Scale {
    const MANY: f64 = 10.0;
    let ends = values
        .filter(|value| *value > 0.0 && value.is_finite())
        .fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    if ends.1 > MANY * ends.0 { Scale::Logarithmic } else { Scale::Linear }
}

/// Amounts over time, a row for each policy; the darker a cell, the more.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    pub title: String,
    /// The time; its scale is always linear.
    pub x: Axis,
    /// Where the first cell begins, in seconds.
    pub start: f64,
    /// How long each cell is, in seconds.
    pub bin: f64,
    /// Names and amounts.
    pub rows: Vec<(String, Vec<f64>)>,
    /// What is counted in a cell: `requests`.
    pub unit: String,
}

/// A chart or a strip.
#[derive(Clone, Debug)]
pub(crate) enum Figure {
    Chart(Chart),
    Strip(Strip),
}

impl Figure {
    pub(super) fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Strip(strip) => &strip.title,
        }
    }

    /// Text with styles, no line of it wider than `width` columns (40 or more), ending with a
    /// newline.
    pub(crate) fn terminal(&self, width: usize) -> String {
        match self {
            Self::Chart(chart) => terminal::chart(chart, width),
            Self::Strip(strip) => blocks::strip(strip, width),
        }
    }
}

/// The text of a figure without anything that can be drawn.
const NOTHING: &str = "There is nothing to draw.";

/// The numbers along both sides of a chart; none where nothing can be drawn.
fn ranges(chart: &Chart) -> Option<(Range, Range)> {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let on_both = |point: &&Point| chart.x.can_show(point.x) && chart.y.can_show(point.y);
    let x = Range::around(chart.x.scale, points().filter(on_both).map(|point| point.x))?;
    let ends =
        points().filter(on_both).flat_map(|point| [point.y, point.interval.0, point.interval.1]);
    let levels = chart.levels.iter().map(|level| level.value);
    let y = Range::around(chart.y.scale, ends.chain(levels))?;
    // A margin, so that no dot is at the edge.
    let has_dots = chart.series.iter().any(|series| series.style == Style::Dots);
    Some((if has_dots { x.rounded() } else { x }, y.rounded()))
}

/// All figures in one picture, one below the other, ending with a newline.
pub(crate) fn svg_of(figures: &[Figure]) -> String {
    let drawings = figures.iter().map(|figure| drawing(figure, Size::WIDE)).collect::<Vec<_>>();
    Drawing::stacked(&drawings).alone()
}

/// One figure at one size.
pub(super) fn drawing(figure: &Figure, size: Size) -> Drawing {
    let mut canvas = Canvas::titled(size, figure.title());
    match figure {
        Figure::Chart(chart) => plot::draw(chart, &mut canvas),
        Figure::Strip(strip) => strip::draw(strip, &mut canvas),
    }
    canvas.finish(figure.title().to_owned(), description::description(figure))
}
