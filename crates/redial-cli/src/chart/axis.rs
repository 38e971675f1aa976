//! What stands along the sides of a figure.

use super::label::{Anchor, Area, Place};
use super::scale::{Range, Tick};
use super::svg::{Canvas, MARGIN, Size};
use super::{Axis, Chart, Point, Scale, Style};
use crate::text::pixels;
use crate::visible::visible;

/// What is said of a figure without anything that can be drawn.
pub(super) const NOTHING: &str = "There is nothing to draw.";

/// What is written along an axis.
pub(super) fn axis_words(axis: &Axis) -> String {
    match axis.scale {
        Scale::Linear | Scale::Whole | Scale::Percent => axis.label.clone(),
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
