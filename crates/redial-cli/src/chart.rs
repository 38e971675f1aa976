//! Figures of numbers: curves, steps and dots between two axes, and strips of amounts over time.
//!
//! A figure is said once and drawn three ways: for a page, as a picture by itself, and in a
//! terminal. What cannot be drawn, such as an infinite value, is left out of all of them.

mod axis;
mod blocks;
mod braille;
mod description;
mod heat;
mod label;
mod look;
mod names;
pub(crate) mod number;
mod page;
mod plot;
mod scale;
mod strip;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod thin;

pub(crate) use page::{Page, Table};
pub(crate) use svg::svg_of;

/// How the numbers of an axis lie along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Equal lengths are equal differences.
    Linear,
    /// The same, of what is counted: there is nothing to write between 1 and 2.
    Whole,
    /// The same, from 0 to 100, whatever part of it is used.
    Percent,
    /// Equal lengths are equal factors. Only numbers above zero have a place on it.
    Logarithmic,
}

/// What is measured along one side of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// What it is, with its unit: `time until the last is done, ms`.
    pub label: String,
    /// How the numbers lie along it.
    pub scale: Scale,
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Where it was taken.
    pub x: f64,
    /// What came out.
    pub y: f64,
    /// Half the width of the 95 % confidence interval of `y`; 0 for none.
    pub error: f64,
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
    /// What to call them; of any length, and it may hold anything.
    pub name: String,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
    /// How they are drawn.
    pub style: Style,
}

/// A line across the chart, such as a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Where on the vertical axis.
    pub value: f64,
    /// What it is.
    pub label: String,
}

/// A shaded stretch of the horizontal axis, such as an outage.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is.
    pub label: String,
}

/// Series between two axes.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What it shows.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom up.
    pub y: Axis,
    /// Any number of them; beyond eight, colours come again with other marks.
    pub series: Vec<Series>,
    /// Lines across.
    pub levels: Vec<Level>,
    /// Shaded stretches.
    pub bands: Vec<Band>,
}

/// Amounts over time, a row for each policy; the darker a cell, the more.
#[derive(Clone, Debug)]
pub(crate) struct Strip {
    /// What it shows.
    pub title: String,
    /// The time. A strip is always drawn evenly.
    pub x: Axis,
    /// Where the first cell begins.
    pub start: f64,
    /// How long each cell is.
    pub bin: f64,
    /// Names and amounts.
    pub rows: Vec<(String, Vec<f64>)>,
    /// What is counted in a cell: `requests`.
    pub unit: String,
}

/// Something to look at.
#[derive(Clone, Debug)]
pub(crate) enum Figure {
    /// Series between two axes.
    Chart(Chart),
    /// Amounts over time.
    Strip(Strip),
}

impl Figure {
    /// What it shows.
    fn title(&self) -> &str {
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
