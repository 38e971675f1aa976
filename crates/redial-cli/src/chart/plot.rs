//! A chart in a picture: two axes and what lies between them.

use super::axis::{NOTHING, axis_words, fit, ranges, scale};
use super::label::{Anchor, Area, Place, Room};
use super::look::Look;
use super::names::{NAME_GAP, names_beside};
use super::number::plain;
use super::scale::{Range, Tick};
use super::svg::{Canvas, MARGIN, Sign, Size, dashed};
use super::thin::thinned;
use super::{Band, Chart, Level, Point, Series, Style};
use crate::text::{escape, pixels};

/// Draws the chart below what is on the canvas.
pub(super) fn draw(chart: &Chart, canvas: &mut Canvas) {
    let Some(frame) = Frame::new(chart, canvas.size) else {
        return canvas.words("muted", NOTHING);
    };
    let mut plot = Plot::new(chart, frame, canvas.size);
    plot.draw();
    canvas.legend(&plot.legend);
    canvas.y += 6.0;
    canvas.words("muted", &axis_words(&chart.y));
    canvas.y += 8.0;
    canvas.append(&plot.canvas);
}

/// Where things are drawn.
pub(super) struct Frame {
    x: Range,
    y: Range,
    pub(super) area: Area,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Whether the names of lines stand beside their ends.
    pub(super) names_beside: bool,
}

impl Frame {
    fn new(chart: &Chart, size: Size) -> Option<Self> {
        const CLOSEST: f64 = 36.0;
        let (x, y) = ranges(chart)?;
        let apart = |ticks: &[Tick]| {
            let distance = |pair: &[Tick]| (pair[1].position - pair[0].position) * size.height;
            ticks.windows(2).all(|pair| distance(pair) >= CLOSEST)
        };
        let y_ticks = y.ticks(apart);
        let widest = y_ticks.iter().map(|tick| pixels(&tick.label)).fold(0.0, f64::max);
        let names = if size.beside { names_beside(chart, &x) } else { None };
        let right = names.map_or(MARGIN, |width| MARGIN + width + NAME_GAP);
        let area = Area {
            left: MARGIN + widest + 8.0,
            right: size.width - right,
            top: 0.0,
            bottom: size.height,
        };
        let x_ticks = x.ticks(|ticks| fit(ticks, area, size));
        Some(Self { x, y, area, x_ticks, y_ticks, names_beside: names.is_some() })
    }

    fn x(&self, position: f64) -> f64 {
        self.area.left + position * (self.area.right - self.area.left)
    }

    fn y(&self, position: f64) -> f64 {
        self.area.bottom - position * (self.area.bottom - self.area.top)
    }

    pub(super) fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x(self.x.position(point.x)?), self.y(self.y.position(point.y)?)))
    }
}

/// What is between the axes, as far as it is drawn.
pub(super) struct Plot<'c> {
    pub(super) chart: &'c Chart,
    pub(super) frame: Frame,
    /// What words must keep clear of.
    pub(super) room: Room,
    pub(super) canvas: Canvas,
    /// What has no words beside it.
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
        scale(&mut self.canvas, self.frame.area, &self.frame.x_ticks, &axis_words(&self.chart.x));
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
        (from < to).then(|| (self.frame.x(from), self.frame.x(to)))
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
        self.canvas.begin("series", look, &series.name);
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
        /// Finer than what is seen of a line.
        const COLUMN: f64 = 1.5;
        let places: Vec<_> = series.points.iter().map(|point| self.frame.at(point)).collect();
        let unbroken = places.split(Option::is_none);
        let runs = unbroken.map(|run| run.iter().copied().flatten().collect::<Vec<_>>());
        let runs: Vec<_> = runs.map(|run| thinned(&run, COLUMN)).collect();
        let class = if series.style == Style::Steps { "line steps" } else { "line" };
        let outline: String = runs.iter().map(|run| outline(run)).collect();
        if !outline.is_empty() {
            self.canvas.push(&dashed(&outline, class, look));
        }
        if series.style == Style::Line {
            runs.iter().for_each(|run| self.keep_clear_of(run));
        }
    }

    /// Words on a line would hide what it shows. Steps cover too much to go round them.
    fn keep_clear_of(&mut self, line: &[(f64, f64)]) {
        const APART: f64 = 6.0;
        for pair in line.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let length = (to.0 - from.0).abs().max((to.1 - from.1).abs());
            let count = libm::ceil(length / APART).max(1.0);
            for step in 0..=count as usize {
                let share = step as f64 / count;
                let place = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
                self.room.take(Area::around(place, 2.0));
            }
        }
    }

    fn errors(&mut self, series: &Series) {
        const HALF_CAP: f64 = 3.0;
        for point in series.points.iter().filter(|point| point.error > 0.0) {
            let Some((x, _)) = self.frame.at(point) else { continue };
            let Some(high) = self.frame.y.position(point.y + point.error) else { continue };
            // What reaches below a logarithmic axis reaches its lower end.
            let low = self.frame.y.position(point.y - point.error).unwrap_or(0.0);
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
            let words = escape(&words(point));
            self.canvas.push(&format!(
                r#"<path d="{outline}" class="{class}"><title>{words}</title></path>"#
            ));
        }
    }
}

/// Straight from point to point.
fn joined(places: &[(f64, f64)]) -> String {
    let line = |(index, (x, y)): (usize, &(f64, f64))| {
        format!("{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" })
    };
    places.iter().enumerate().map(line).collect()
}

/// Across until the next point, and then up or down to it. One that is alone is a dash.
fn stepped(places: &[(f64, f64)]) -> String {
    if let [(x, y)] = places {
        return format!("M{:.1} {y:.1}h6", x - 3.0);
    }
    let step = |(index, (x, y)): (usize, &(f64, f64))| {
        if index == 0 { format!("M{x:.1} {y:.1}") } else { format!("H{x:.1}V{y:.1}") }
    };
    places.iter().enumerate().map(step).collect()
}

/// The points of a series that get a mark: all where they are few, and of a long line so many that
/// it is known by them.
fn marked(series: &Series) -> impl Iterator<Item = &Point> {
    const ALL: usize = 40;
    const SOME: usize = 12;
    let sparse = series.style == Style::Line && series.points.len() > ALL;
    let every = if sparse { series.points.len().div_ceil(SOME) } else { 1 };
    series.points.iter().step_by(every)
}

/// A point in numbers.
fn words(point: &Point) -> String {
    let error = if point.error > 0.0 && point.error.is_finite() {
        format!(" ± {}", plain(point.error))
    } else {
        String::new()
    };
    format!("{}: {}{error}", plain(point.x), plain(point.y))
}
