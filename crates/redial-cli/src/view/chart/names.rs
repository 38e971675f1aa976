//! The labels in a chart: beside what they name where there is room, else in its legend.

use super::plot::Plot;
use super::{Band, Chart, Level, Series, Style};
use crate::text::{clip_to_pixels, pixels};
use crate::view::axis::Range;
use crate::view::svg::{Anchor, Area, LINE, Look, Place, Sign, spread};
use crate::visible::visible;

/// Between a line's end and its name.
pub(super) const NAME_GAP: f64 = 18.0;

/// How wide the names of the lines are, if all lines end at the right and have short names.
pub(super) fn names_beside(chart: &Chart, x: &Range) -> Option<f64> {
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

impl<'c> Plot<'c> {
    /// The names of the series: beside what they name where there is room, else in the legend.
    pub(super) fn names(&mut self) {
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

    /// Places the name of a single dot beside it. Returns whether there was room.
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

    /// The labels of levels and bands, which come last because they have the most places to go.
    pub(super) fn labels(&mut self) {
        let levels = self.chart.levels.iter();
        let levels: Vec<_> =
            levels.filter_map(|level| Some((level, self.height(level)?))).collect();
        let Area { left, right, .. } = self.frame.area;
        for (_, y) in &levels {
            // A label beyond another level would be taken for the label of that one.
            self.room.take(Area { left, right, top: y - 1.0, bottom: y + 1.0 });
        }
        for (level, y) in levels {
            self.label_of_level(level, y);
        }
        for band in &self.chart.bands {
            self.label_of_band(band);
        }
    }

    fn label_of_level(&mut self, level: &'c Level, y: f64) {
        let Area { left, right, .. } = self.frame.area;
        let at = |x, y, anchor| Place { x, y, anchor };
        let places = [y - 5.0, y + 14.0].into_iter().flat_map(|y| {
            [
                at(right - 4.0, y, Anchor::End),
                at(left + 4.0, y, Anchor::Start),
                at((left + right) / 2.0, y, Anchor::Middle),
            ]
        });
        self.label(Sign::Level, &level.label, places);
    }

    fn label_of_band(&mut self, band: &'c Band) {
        let Some((from, to)) = self.stretch(band) else { return };
        let Area { left, right, top, .. } = self.frame.area;
        let half = pixels(&visible(&band.label)).min(right - left) / 2.0;
        let x = ((from + to) / 2.0).max(left + half).min(right - half);
        let rows = [0.0, 1.0, 2.0].map(|row| top + 14.0 + row * LINE);
        self.label(Sign::Band, &band.label, rows.map(|y| Place { x, y, anchor: Anchor::Middle }));
    }

    fn label(&mut self, sign: Sign, label: &'c str, places: impl IntoIterator<Item = Place>) {
        let width = self.frame.area.right - self.frame.area.left - 8.0;
        let shown = clip_to_pixels(&visible(label), width);
        match self.room.place(&shown, places) {
            Some(place) => self.canvas.clipped(place, sign.label_class(), label, width),
            None => self.legend.push((sign, label)),
        }
    }
}
