//! A chart of braille characters, with letters on the curves that tell them apart. There is no room for
//! error bars.

use anstyle::{AnsiColor, Style as Ink};

use super::braille::Grid;
use super::{Band, Chart, Level, NOTHING, Point, Series, Style, ranges};
use crate::text::{BOLD, DIM, clip, columns, legend, pad_left, paragraph, runs, styled};
use crate::view::axis::{self, Range, Tick};
use crate::view::svg::Look;
use crate::visible::visible;

/// Charts are not drawn narrower than this.
pub(super) const WIDTH_LEAST: usize = 40;

/// How many lines are between the axes.
const ROWS: usize = 16;

const LEVEL: Ink = AnsiColor::Red.on_default();

/// A chart as text.
pub(super) fn chart(chart: &Chart, width: usize) -> String {
    let width = width.max(WIDTH_LEAST);
    let Some((x, y)) = ranges(chart) else {
        return [heading(&chart.title, width), line(NOTHING, width)].concat();
    };
    let ticks = y.ticks(have_gaps);
    let gutter = ticks.iter().map(|tick| columns(&tick.label)).max().unwrap_or(0) + 1;
    let grid = Grid::new(width - gutter - 1, ROWS);
    let mut plot = Plot { chart, x, y, grid, legend: vec![] };
    plot.draw();
    [
        heading(&chart.title, width),
        line(&chart.y.words(), width),
        plot.bands(gutter),
        plot.rows(&ticks, gutter),
        scale(&plot.x, plot.grid.columns, gutter, &chart.x.words()),
        legend(&plot.legend, width),
    ]
    .concat()
}

/// What a figure shows.
pub(super) fn heading(title: &str, width: usize) -> String {
    paragraph(BOLD, &visible(title), width)
}

/// A dimmed line.
pub(super) fn line(words: &str, width: usize) -> String {
    styled(DIM, clip(&visible(words), width).trim_end()) + "\n"
}

/// The horizontal axis with its numbers and its words.
pub(super) fn scale(range: &Range, columns_of_axis: usize, gutter: usize, words: &str) -> String {
    let [line, numbers] = axis::lines(range, columns_of_axis, '┬');
    let words = clip(&visible(words), gutter + 1 + columns_of_axis);
    let words = pad_left(&words, (gutter + 1 + columns_of_axis + columns(&words)) / 2);
    let lines = [format!("{:gutter$}└{line}", ""), format!("{:gutter$} {numbers}", ""), words];
    lines.iter().map(|line| styled(DIM, line.trim_end()) + "\n").collect()
}

/// Whether there are lines between the labels of the vertical axis.
fn have_gaps(ticks: &[Tick]) -> bool {
    ticks.windows(2).all(|pair| row_of(pair[0].position) >= row_of(pair[1].position) + 3)
}

fn row_of(position: f64) -> usize {
    Grid::new(1, ROWS).cell_at((0.0, position)).1
}

struct Plot<'c> {
    chart: &'c Chart,
    x: Range,
    y: Range,
    grid: Grid,
    legend: Vec<(Ink, String, String)>,
}

impl Plot<'_> {
    fn draw(&mut self) {
        for (index, series) in self.chart.series.iter().enumerate() {
            self.curve(series, Look::of(index));
        }
        for (index, series) in self.chart.series.iter().enumerate() {
            let look = Look::of(index);
            match series.style {
                Style::Dots => self.letters_of_dots(series, look),
                Style::Line | Style::Steps => self.letters_of_curve(series, look, 5 * index),
            }
            self.legend.push((look.ink(), look.letter().into(), visible(&series.name)));
        }
        for level in &self.chart.levels {
            self.level(level);
        }
        for band in &self.chart.bands {
            self.edges(band);
        }
    }

    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x.position(point.x)?, self.y.position(point.y)?))
    }

    fn curve(&mut self, series: &Series, look: Look) {
        let mut last = None;
        for point in &series.points {
            let dot = self.at(point).map(|position| self.grid.dot_at(position));
            match (last, dot, series.style) {
                (Some(from), Some(to), Style::Line) => self.grid.line(from, to, look.ink()),
                (Some(from), Some(to), Style::Steps) => {
                    let corner = (to.0, from.1);
                    self.grid.line(from, corner, look.ink());
                    self.grid.line(corner, to, look.ink());
                }
                _ => {}
            }
            last = dot;
        }
    }

    /// Letters along a curve, at intervals, and in other columns for each curve.
    fn letters_of_curve(&mut self, series: &Series, look: Look, first: usize) {
        const INTERVAL: usize = 12;
        let mut next = None;
        let first = first % INTERVAL;
        for point in &series.points {
            let Some(position) = self.at(point) else { continue };
            let place = self.grid.cell_at(position);
            if place.0 >= next.unwrap_or(first) && self.grid.is_free(place) {
                self.grid.put(place, look.letter(), look.ink().bold());
                next = Some(place.0 + INTERVAL);
            }
        }
        if next.is_none() {
            self.letters_of_dots(series, look);
        }
    }

    /// A letter at each dot, or right beside it where there is one already.
    fn letters_of_dots(&mut self, series: &Series, look: Look) {
        for point in &series.points {
            let Some(position) = self.at(point) else { continue };
            let (column, row) = self.grid.cell_at(position);
            let places = [column, column + 1, column.saturating_sub(1)].map(|column| (column, row));
            let place = places.into_iter().find(|place| self.grid.is_free(*place));
            if let Some(place) = place {
                self.grid.put(place, look.letter(), look.ink().bold());
            }
        }
    }

    /// A dashed line behind all curves, with its label where that hides nothing.
    fn level(&mut self, level: &Level) {
        let Some(position) = self.y.position(level.value) else { return };
        let row = row_of(position);
        let label = visible(&level.label);
        let start =
            self.gap(row, columns(&label) + 2).filter(|_| columns(&label) == label.chars().count());
        for column in 0..self.grid.columns {
            if self.grid.is_empty((column, row)) {
                self.grid.put((column, row), '╌', LEVEL);
            }
        }
        match start {
            Some(start) => {
                for (index, c) in format!(" {label} ").chars().enumerate() {
                    self.grid.put((start + index, row), c, LEVEL);
                }
            }
            None => self.legend.push((LEVEL, "╌╌".into(), label)),
        }
    }

    /// The rightmost column from which so many cells of a row are empty.
    fn gap(&self, row: usize, length: usize) -> Option<usize> {
        let last = self.grid.columns.checked_sub(length)?;
        let empty =
            |start: &usize| (*start..start + length).all(|at| self.grid.is_empty((at, row)));
        (0..=last).rev().find(empty)
    }

    fn stretch(&self, band: &Band) -> Option<(usize, usize)> {
        let (from, to) = (band.from.min(band.to), band.from.max(band.to));
        let column = |x| self.x.position(x).map(|x| self.grid.cell_at((x, 0.0)).0);
        Some((column(from)?, column(to)?))
    }

    /// Where a band begins and ends.
    fn edges(&mut self, band: &Band) {
        let Some((from, to)) = self.stretch(band) else { return };
        for row in 0..self.grid.rows {
            for place in [(from, row), (to, row)] {
                if self.grid.is_empty(place) {
                    self.grid.put(place, '┊', DIM);
                }
            }
        }
    }

    /// A line above the chart for each band: `├─ outage ─┤`.
    fn bands(&self, gutter: usize) -> String {
        let bands = self.chart.bands.iter();
        let lines = bands.filter_map(|band| Some((band, self.stretch(band)?)));
        let line = |(band, stretch): (&Band, _)| {
            let bracket = bracket(&visible(&band.label), stretch, self.grid.columns);
            let start = gutter + 1;
            styled(DIM, &format!("{:start$}{bracket}", "")) + "\n"
        };
        lines.map(line).collect()
    }

    fn rows(&self, ticks: &[Tick], gutter: usize) -> String {
        let row = |row: usize| {
            let tick = ticks.iter().find(|tick| row_of(tick.position) == row);
            let label = tick.map_or("", |tick| &tick.label);
            let edge = if tick.is_some() { '┤' } else { '│' };
            let label = styled(DIM, &format!("{} {edge}", pad_left(label, gutter - 1)));
            format!("{label}{}\n", runs(&self.grid.row(row)))
        };
        (0..self.grid.rows).map(row).collect()
    }
}

/// A bracket with a label in it, after it or before it, wherever there is room.
fn bracket(words: &str, (from, to): (usize, usize), width: usize) -> String {
    let inner = (to - from).saturating_sub(1);
    let rooms = [inner.saturating_sub(2), (width - to).saturating_sub(2), from.saturating_sub(1)];
    let fits = rooms.iter().position(|room| columns(words) <= *room);
    let widest = (0..rooms.len()).max_by_key(|index| rooms[*index]).unwrap_or(0);
    let place = fits.unwrap_or(widest);
    let words = clip(words, rooms[place]);
    let bar = if from == to { "│".into() } else { format!("├{}┤", "─".repeat(inner)) };
    match place {
        0 => {
            let rest = inner - columns(&words) - 2;
            let (left, right) = ("─".repeat(rest / 2), "─".repeat(rest - rest / 2));
            format!("{:from$}├{left} {words} {right}┤", "")
        }
        1 => format!("{:from$}{bar} {words}", ""),
        _ => format!("{} {bar}", pad_left(&words, from - 1)),
    }
}
