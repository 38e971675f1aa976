//! A chart in a picture: two axes and what lies between them.

use super::label::{Anchor, Area, LINE, Place, Room, spread};
use super::look::Look;
use super::number::plain;
use super::scale::{Range, Tick};
use super::svg::{Canvas, MARGIN, Sign, Size, dashed};
use super::thin::thinned;
use super::{Axis, Band, Chart, Level, Point, Scale, Series, Style};
use crate::text::{clip_to_pixels, escape, pixels};
use crate::visible::visible;

/// What is said of a chart without a single point that can be drawn.
pub(super) const NOTHING: &str = "There is nothing to draw.";

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

/// What is written along an axis.
pub(super) fn axis_words(axis: &Axis) -> String {
    match axis.scale {
        Scale::Linear => axis.label.clone(),
        Scale::Logarithmic => format!("{} (logarithmic)", axis.label),
    }
}

/// The numbers along both sides of a chart; none where nothing can be drawn.
pub(super) fn ranges(chart: &Chart) -> Option<(Range, Range)> {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let on_both = |point: &&Point| chart.x.can_show(point.x) && chart.y.can_show(point.y);
    let x = Range::around(chart.x.scale, points().filter(on_both).map(|point| point.x))?;
    let ends = points()
        .filter(on_both)
        .flat_map(|point| [point.y, point.y - point.error, point.y + point.error]);
    let levels = chart.levels.iter().map(|level| level.value);
    let y = Range::around(chart.y.scale, ends.chain(levels))?;
    // Dots at the very edge would look as if there were more behind it.
    let has_dots = chart.series.iter().any(|series| series.style == Style::Dots);
    Some((if has_dots { x.rounded() } else { x }, y.rounded()))
}

/// Where things are drawn.
struct Frame {
    x: Range,
    y: Range,
    area: Area,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Whether the names of lines stand beside their ends.
    names_beside: bool,
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

    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x(self.x.position(point.x)?), self.y(self.y.position(point.y)?)))
    }
}

/// Between a line's end and its name.
const NAME_GAP: f64 = 18.0;

/// How wide the names of the lines are, if all lines end at the right and have short names.
fn names_beside(chart: &Chart, x: &Range) -> Option<f64> {
    const WIDEST: f64 = 170.0;
    const MOST: usize = 12;
    let lines: Vec<&Series> =
        chart.series.iter().filter(|series| series.style == Style::Line).collect();
    let at_the_end = |series: &&Series| {
        let last = series.points.last().and_then(|point| x.position(point.x));
        let shown = series.points.last().is_some_and(|point| chart.y.can_show(point.y));
        shown && last.is_some_and(|position| position > 0.98)
    };
    let widest = lines.iter().map(|series| pixels(&visible(&series.name))).fold(0.0, f64::max);
    let beside = !lines.is_empty() && lines.len() <= MOST && widest <= WIDEST;
    (beside && lines.iter().all(at_the_end)).then_some(widest)
}

/// Whether the numbers under the horizontal axis are apart and inside of the picture.
pub(super) fn fit(ticks: &[Tick], area: Area, size: Size) -> bool {
    let half = |tick: &Tick| pixels(&tick.label) / 2.0;
    let x = |tick: &Tick| area.left + tick.position * (area.right - area.left);
    let inside = |tick: &Tick| x(tick) - half(tick) > 0.0 && x(tick) + half(tick) < size.width;
    ticks.iter().all(inside)
        && ticks.windows(2).all(|pair| {
            let room = x(&pair[1]) - x(&pair[0]);
            room > half(&pair[0]) + half(&pair[1]) + 28.0
        })
}

struct Plot<'c> {
    chart: &'c Chart,
    frame: Frame,
    /// What words must keep clear of.
    room: Room,
    canvas: Canvas,
    /// What has no words beside it.
    legend: Vec<(Sign, &'c str)>,
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

    fn stretch(&self, band: &Band) -> Option<(f64, f64)> {
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

    fn height(&self, level: &Level) -> Option<f64> {
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

    /// The names of the series: beside what they name where there is room, else in the legend.
    fn names(&mut self) {
        if self.frame.names_beside {
            self.names_of_lines();
        }
        for (index, series) in self.chart.series.iter().enumerate() {
            let look = Look::of(index);
            match series.style {
                Style::Line if self.frame.names_beside => {}
                Style::Line => self.legend.push((Sign::Line(look), &series.name)),
                Style::Steps => self.legend.push((Sign::Steps(look), &series.name)),
                Style::Dots if self.name_of_dot(series) => {}
                Style::Dots => self.legend.push((Sign::Dot(look), &series.name)),
            }
        }
    }

    fn names_of_lines(&mut self) {
        let ends: Vec<_> = self
            .chart
            .series
            .iter()
            .enumerate()
            .filter_map(|(index, series)| {
                let last = series.points.last().filter(|_| series.style == Style::Line)?;
                Some((index, series, self.frame.at(last)?))
            })
            .collect();
        let wanted: Vec<f64> = ends.iter().map(|(.., end)| end.1).collect();
        let Area { top, right, bottom, .. } = self.frame.area;
        let heights = spread(&wanted, top, bottom);
        for ((index, series, (x, y)), height) in ends.into_iter().zip(heights) {
            let leader =
                format!("M{:.1} {y:.1}L{:.1} {height:.1}", x + 5.0, right + NAME_GAP - 4.0);
            self.canvas.path(&leader, &format!("leader {}", Look::of(index).class()));
            let place = Place { x: right + NAME_GAP, y: height + 4.0, anchor: Anchor::Start };
            self.canvas.text(place, "name", &series.name);
            let width = pixels(&visible(&series.name));
            self.room.take(Area {
                left: right,
                right: right + NAME_GAP + width,
                top: height - LINE / 2.0,
                bottom: height + LINE / 2.0,
            });
        }
    }

    /// Whether the name of a dot that is alone found a place around it.
    fn name_of_dot(&mut self, series: &Series) -> bool {
        const WIDEST: f64 = 220.0;
        let [point] = &series.points[..] else { return false };
        let Some((x, y)) = self.frame.at(point) else { return false };
        let name = visible(&series.name);
        if pixels(&name) > WIDEST {
            return false;
        }
        let at = |x, y, anchor| Place { x, y, anchor };
        let around = [
            at(x + 9.0, y + 4.0, Anchor::Start),
            at(x - 9.0, y + 4.0, Anchor::End),
            at(x, y - 9.0, Anchor::Middle),
            at(x, y + 19.0, Anchor::Middle),
            at(x + 6.0, y - 7.0, Anchor::Start),
            at(x + 6.0, y + 16.0, Anchor::Start),
            at(x - 6.0, y - 7.0, Anchor::End),
            at(x - 6.0, y + 16.0, Anchor::End),
        ];
        let place = self.room.place(&name, around);
        if let Some(place) = place {
            self.canvas.text(place, "name halo", &name);
        }
        place.is_some()
    }

    /// The words of levels and bands, which come last: they have the most places to choose from.
    fn labels(&mut self) {
        let Area { left, right, top, .. } = self.frame.area;
        let room = right - left - 8.0;
        for level in &self.chart.levels {
            let Some(y) = self.height(level) else { continue };
            let at = |x, y, anchor| Place { x, y, anchor };
            let middle = (left + right) / 2.0;
            let places = [y - 5.0, y + 14.0].into_iter().flat_map(|y| {
                [
                    at(right - 4.0, y, Anchor::End),
                    at(left + 4.0, y, Anchor::Start),
                    at(middle, y, Anchor::Middle),
                ]
            });
            self.label(Sign::Level, &level.label, room, places);
        }
        for band in &self.chart.bands {
            let Some((from, to)) = self.stretch(band) else { continue };
            let half = pixels(&visible(&band.label)).min(room) / 2.0;
            let x = ((from + to) / 2.0).clamp(left + half, (right - half).max(left + half));
            let rows = [0.0, 1.0, 2.0].map(|row| top + 14.0 + row * LINE);
            let places = rows.map(|y| Place { x, y, anchor: Anchor::Middle });
            self.label(Sign::Band, &band.label, room, places);
        }
    }

    fn label(
        &mut self,
        sign: Sign,
        label: &'c str,
        width: f64,
        places: impl IntoIterator<Item = Place>,
    ) {
        let shown = clip_to_pixels(&visible(label), width);
        match self.room.place(&shown, places) {
            Some(place) => self.canvas.clipped(place, sign.label_class(), label, width),
            None => self.legend.push((sign, label)),
        }
    }
}

/// The horizontal axis at the lower end of an area, with its numbers and its words.
pub(super) fn scale(canvas: &mut Canvas, area: Area, ticks: &[Tick], words: &str) {
    let Area { left, right, bottom, .. } = area;
    canvas.line((left, bottom), (right, bottom), "axis");
    for tick in ticks {
        let x = left + tick.position * (right - left);
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

/// Straight from point to point.
fn joined(places: &[(f64, f64)]) -> String {
    let line = |(index, (x, y)): (usize, &(f64, f64))| {
        format!("{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" })
    };
    places.iter().enumerate().map(line).collect()
}

/// Across until the next point, and then up or down to it.
fn stepped(places: &[(f64, f64)]) -> String {
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
