//! A chart in a picture: two axes and what lies between them.

use super::description::of_series;
use super::names::{NAME_GAP, names_beside};
use super::thin::thinned;
use super::{Band, Chart, Level, NOTHING, Point, Series, Style, ranges};
use crate::text::{escape, pixels};
use crate::view::axis::{self, Range, Tick};
use crate::view::number::plain;
use crate::view::svg::{Anchor, Area, Canvas, Look, MARGIN, Place, Room, Sign, Size, dashed};

/// Draws the chart below what is on the canvas.
pub(super) fn draw(chart: &Chart, canvas: &mut Canvas) {
    let Some(frame) = Frame::new(chart, canvas.size) else {
        return canvas.words("muted", NOTHING);
    };
    let mut plot = Plot::new(chart, frame, canvas.size);
    plot.draw();
    canvas.legend(&plot.legend);
    canvas.y += 6.0;
    canvas.words("muted", &chart.y.words());
    canvas.y += 8.0;
    canvas.append(&plot.canvas);
}

/// Where things are drawn.
pub(super) struct Frame {
    x: Range,
    y: Range,
    pub(super) area: Area,
    /// How far above the axis the low end is drawn, because a line at zero would be hidden by the axis.
    inset: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Whether the names of lines stand beside their ends.
    pub(super) names_beside: bool,
}

impl Frame {
    fn new(chart: &Chart, size: Size) -> Option<Self> {
        const DISTANCE_MIN: f64 = 36.0;
        let (x, y) = ranges(chart)?;
        let fit = |ticks: &[Tick]| {
            let distance = |pair: &[Tick]| (pair[1].position - pair[0].position) * size.height;
            ticks.windows(2).all(|pair| distance(pair) >= DISTANCE_MIN)
        };
        let y_ticks = y.ticks(fit);
        let widest = y_ticks.iter().map(|tick| pixels(&tick.label)).fold(0.0, f64::max);
        let names = if size.beside { names_beside(chart, &x) } else { None };
        let right = names.map_or(MARGIN, |width| MARGIN + width + NAME_GAP);
        let area = Area {
            left: MARGIN + widest + 8.0,
            right: size.width - right,
            top: 0.0,
            bottom: size.height,
        };
        let x_ticks = x.ticks_in(area, size);
        let values = chart.series.iter().flat_map(|series| &series.points).map(|point| point.y);
        let is_on_axis = |value: f64| y.position(value) == Some(0.0);
        let inset = if values.into_iter().any(is_on_axis) { 7.0 } else { 0.0 };
        Some(Self { x, y, area, inset, x_ticks, y_ticks, names_beside: names.is_some() })
    }

    fn y(&self, position: f64) -> f64 {
        let low = self.area.bottom - self.inset;
        low - position * (low - self.area.top)
    }

    pub(super) fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.area.x(self.x.position(point.x)?), self.y(self.y.position(point.y)?)))
    }
}

/// What is between the axes, as far as it is drawn.
pub(super) struct Plot<'c> {
    pub(super) chart: &'c Chart,
    pub(super) frame: Frame,
    /// Where labels may be placed.
    pub(super) room: Room,
    pub(super) canvas: Canvas,
    /// What has no label beside it.
    pub(super) legend: Vec<(Sign, &'c str)>,
}

impl<'c> Plot<'c> {
    fn new(chart: &'c Chart, frame: Frame, size: Size) -> Self {
        let room = Room::new(Area { top: -12.0, right: size.width - 4.0, ..frame.area });
        Self { chart, frame, room, canvas: Canvas::new(size), legend: vec![] }
    }

    fn draw(&mut self) {
        self.bands();
        self.grid();
        self.levels();
        for (index, series) in self.chart.series.iter().enumerate() {
            self.series(series, Look::of(index));
        }
        self.names();
        self.labels();
        self.tooltips();
        let words = self.chart.x.words();
        axis::draw(&mut self.canvas, self.frame.area, &self.frame.x_ticks, &words);
    }

    fn bands(&mut self) {
        let Area { top, bottom, .. } = self.frame.area;
        for band in &self.chart.bands {
            if let Some((from, to)) = self.stretch(band) {
                self.canvas.rectangle((from, top), (to - from, bottom - top), "band");
            }
        }
    }

    pub(super) fn stretch(&self, band: &Band) -> Option<(f64, f64)> {
        let (from, to) = (band.from.min(band.to), band.from.max(band.to));
        let (from, to) = (self.frame.x.position(from)?, self.frame.x.position(to)?);
        (from < to).then(|| (self.frame.area.x(from), self.frame.area.x(to)))
    }

    fn grid(&mut self) {
        let Area { left, right, .. } = self.frame.area;
        for tick in &self.frame.y_ticks {
            let y = self.frame.y(tick.position);
            self.canvas.line((left, y), (right, y), "grid");
            let place = Place { x: left - 8.0, y: y + 4.0, anchor: Anchor::End };
            self.canvas.text(place, "muted", &tick.label);
        }
    }

    pub(super) fn height(&self, level: &Level) -> Option<f64> {
        self.frame.y.position(level.value).map(|position| self.frame.y(position))
    }

    fn levels(&mut self) {
        let Area { left, right, .. } = self.frame.area;
        for level in &self.chart.levels {
            if let Some(y) = self.height(level) {
                self.canvas.line((left, y), (right, y), "level");
            }
        }
    }

    fn series(&mut self, series: &Series, look: Look) {
        let words = of_series(self.chart, series);
        self.canvas.begin(&format!("series {}", look.class()), &words);
        match series.style {
            Style::Line => self.line(series, look, joined),
            Style::Steps => self.line(series, look, stepped),
            Style::Dots => {}
        }
        if series.style != Style::Steps {
            self.errors(series);
            self.marks(series, look);
        }
        self.canvas.end();
    }

    fn line(&mut self, series: &Series, look: Look, outline: fn(&[(f64, f64)]) -> String) {
        /// In pixels: finer than the width of a line.
        const COLUMN: f64 = 1.5;
        let class = match series.style {
            Style::Steps if series.has_trials() => "line steps trials",
            Style::Steps => "line steps",
            Style::Line | Style::Dots => "line",
        };
        let places: Vec<_> = series.points.iter().map(|point| self.frame.at(point)).collect();
        let unbroken = places.split(Option::is_none);
        let runs = unbroken.map(|run| run.iter().copied().flatten().collect::<Vec<_>>());
        let runs: Vec<_> = runs.map(|run| thinned(&run, COLUMN)).collect();
        let outline: String = runs.iter().map(|run| outline(run)).collect();
        if !outline.is_empty() {
            self.canvas.push(&dashed(&outline, class, look));
        }
        if series.style == Style::Line {
            runs.iter().for_each(|run| self.keep_clear_of(run));
        }
    }

    /// Keeps labels off a line. Steps cover too much for that.
    fn keep_clear_of(&mut self, line: &[(f64, f64)]) {
        const STEP: f64 = 6.0;
        for pair in line.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).abs().max((to.1 - from.1).abs());
            let count = libm::ceil(length / STEP).max(1.0);
            for step in 0..=count as usize {
                let share = step as f64 / count;
                let place = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
                self.room.take(Area::around(place, 2.0));
            }
        }
    }

    fn errors(&mut self, series: &Series) {
        const HALF_CAP: f64 = 3.0;
        for point in series.points.iter().filter(|point| point.has_interval()) {
            let Some((x, _)) = self.frame.at(point) else { continue };
            let Some(high) = self.frame.y.position(point.interval.1) else { continue };
            // On a logarithmic axis an interval that includes zero ends at the low end.
            let low = self.frame.y.position(point.interval.0).unwrap_or(0.0);
            let (high, low, left) = (self.frame.y(high), self.frame.y(low), x - HALF_CAP);
            let cap = 2.0 * HALF_CAP;
            self.canvas.path(
                &format!(
                    "M{left:.1} {high:.1}h{cap}M{x:.1} {high:.1}V{low:.1}M{left:.1} {low:.1}h{cap}"
                ),
                "error",
            );
        }
    }

    fn marks(&mut self, series: &Series, look: Look) {
        for point in marked(series) {
            let Some(place) = self.frame.at(point) else { continue };
            if series.style == Style::Dots {
                self.room.take(Area::around(place, 4.0));
            }
            let outline = look.mark(place);
            let class = if series.style == Style::Dots { "mark dot" } else { "mark" };
            let words = escape(&words(self.chart, series, point));
            self.canvas.push(&format!(
                r#"<path d="{outline}" class="{class}"><title>{words}</title></path>"#
            ));
        }
    }

    /// Tooltips with the values of all series of steps, which have no marks.
    fn tooltips(&mut self) {
        const STRETCHES: usize = 48;
        let is_steps = |series: &&Series| series.style == Style::Steps;
        let all: Vec<&Series> = self.chart.series.iter().filter(is_steps).collect();
        let points = all.iter().flat_map(|series| &series.points);
        let mut xs: Vec<f64> =
            points.filter(|point| self.frame.at(point).is_some()).map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let starts: Vec<f64> =
            xs.iter().copied().step_by(xs.len().div_ceil(STRETCHES).max(1)).collect();
        for (at, from) in starts.iter().enumerate() {
            let to = starts.get(at + 1).copied().unwrap_or(xs[xs.len() - 1]);
            let (Some(left), Some(right)) =
                (self.frame.x.position(*from), self.frame.x.position(to))
            else {
                continue;
            };
            let x = format!("{}: {}", self.chart.x.label, between(*from, to));
            let values = all.iter().filter_map(|series| {
                let (low, high) = series.between(*from, to)?;
                Some(format!("{}: {}", series.name, between(low, high)))
            });
            let lines: Vec<_> = std::iter::once(x).chain(values).collect();
            let area = Area {
                left: self.frame.area.x(left),
                right: self.frame.area.x(right),
                ..self.frame.area
            };
            self.canvas.tooltip(area, &lines);
        }
    }
}

impl Series {
    /// Whether it has several trials.
    fn has_trials(&self) -> bool {
        self.points.iter().any(|point| point.x.is_nan())
    }

    /// The least and the greatest of its values from here to there.
    fn between(&self, from: f64, to: f64) -> Option<(f64, f64)> {
        let is_here = |point: &&Point| (from..to).contains(&point.x) || point.x == from;
        let values = self.points.iter().filter(is_here).map(|point| point.y);
        let values = values.filter(|value| value.is_finite());
        values.fold(None, |ends, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
    }
}

/// `3–5`, or `3` where both are the same.
fn between(low: f64, high: f64) -> String {
    let (low, high) = (plain(low), plain(high));
    if low == high { low } else { format!("{low}–{high}") }
}

/// The outline of straight lines from point to point.
fn joined(places: &[(f64, f64)]) -> String {
    let line = |(index, (x, y)): (usize, &(f64, f64))| {
        format!("{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" })
    };
    places.iter().enumerate().map(line).collect()
}

/// The outline of steps. A single point is a dash.
fn stepped(places: &[(f64, f64)]) -> String {
    if let [(x, y)] = places {
        return format!("M{:.1} {y:.1}h6", x - 3.0);
    }
    let Some(&(end, _)) = places.last() else { return String::new() };
    let mut outline = joined(&places[..1]);
    let mut reached = places[0];
    for (x, y) in places {
        // A change below a third of a pixel is not seen.
        if (y - reached.1).abs() >= 0.3 {
            outline += &format!("H{x:.1}V{y:.1}");
            reached = (*x, *y);
        }
    }
    if reached.0 < end {
        outline += &format!("H{end:.1}");
    }
    outline
}

/// The points of a series that get a mark: all of a few, and some of a long line.
fn marked(series: &Series) -> impl Iterator<Item = &Point> {
    const ALL: usize = 40;
    const SOME: usize = 12;
    let sparse = series.style == Style::Line && series.points.len() > ALL;
    let every = if sparse { series.points.len().div_ceil(SOME) } else { 1 };
    series.points.iter().step_by(every)
}

/// A point in numbers: `full jitter: 50 [40–60] calls, at 5 clients`.
fn words(chart: &Chart, series: &Series, point: &Point) -> String {
    let (low, high) = point.interval;
    let interval = match point.has_interval() {
        true => format!(" [{}–{}]", plain(low), plain(high)),
        false => String::new(),
    };
    format!(
        "{}: {}{interval} {}, at {} {}",
        series.name,
        plain(point.y),
        chart.y.label,
        plain(point.x),
        chart.x.label,
    )
}
