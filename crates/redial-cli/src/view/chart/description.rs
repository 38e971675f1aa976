//! A figure in words, for screen readers.

use super::{Chart, Figure, Series, Strip};
use crate::view::number::plain;

pub(super) fn description(figure: &Figure) -> String {
    match figure {
        Figure::Chart(chart) => of_chart(chart),
        Figure::Strip(strip) => of_strip(strip),
    }
}

fn of_chart(chart: &Chart) -> String {
    let mut sentences = vec![format!("{} against {}.", chart.y.label, chart.x.label)];
    sentences.extend(chart.series.iter().map(|series| of_series(chart, series)));
    let levels = chart.levels.iter().filter(|level| chart.y.can_show(level.value));
    sentences.extend(levels.map(|level| format!("{} at {}.", level.label, plain(level.value))));
    let bands = chart.bands.iter().filter(|band| chart.x.can_show(band.from));
    let bands = bands.filter(|band| chart.x.can_show(band.to));
    sentences
        .extend(bands.map(|band| {
            format!("{} from {} to {}.", band.label, plain(band.from), plain(band.to))
        }));
    sentences.join(" ")
}

pub(super) fn of_series(chart: &Chart, series: &Series) -> String {
    let points = &series.points;
    let shown: Vec<_> = points
        .iter()
        .filter(|point| chart.x.can_show(point.x) && chart.y.can_show(point.y))
        .collect();
    let highest = shown.iter().max_by(|one, other| one.y.total_cmp(&other.y));
    match (&shown[..], highest) {
        ([only], _) => format!("{}: {} at {}.", series.name, plain(only.y), plain(only.x)),
        ([first, .., last], Some(highest)) => format!(
            "{}: from {} at {} to {} at {}, highest {} at {}.",
            series.name,
            plain(first.y),
            plain(first.x),
            plain(last.y),
            plain(last.x),
            plain(highest.y),
            plain(highest.x),
        ),
        _ => format!("{}: nothing to draw.", series.name),
    }
}

fn of_strip(strip: &Strip) -> String {
    let of_row = |(name, amounts): &(String, Vec<f64>)| of_row(strip, name, amounts);
    strip.rows.iter().map(of_row).collect::<Vec<_>>().join(" ")
}

pub(super) fn of_row(strip: &Strip, name: &str, amounts: &[f64]) -> String {
    let highest = amounts.iter().copied().filter(|amount| amount.is_finite());
    let highest = plain(highest.fold(0.0, f64::max));
    format!("{name}: at most {highest} {}.", strip.unit)
}
