//! What is in a picture, and where.

use super::picture::{Part, parts, picture};
use super::*;
use crate::text::pixels;
use crate::view::svg::COUNT;

/// A pixel's tenth, which is what coordinates are written in, and a little.
const NEAR: f64 = 0.11;

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < NEAR
}

/// The lines or steps of all series, in order.
fn curves<'x>(parts: &[Part<'x>]) -> Vec<Part<'x>> {
    parts.iter().filter(|part| part.is_curve()).cloned().collect()
}

/// Where the number stands beside an axis.
fn tick(parts: &[Part<'_>], label: &str) -> (f64, f64) {
    let ticks = parts.iter().filter(|part| part.is("text", "muted") && part.words() == label);
    ticks.map(Part::start).next().unwrap_or_else(|| panic!("no {label} in {parts:?}"))
}

#[test]
fn points_are_where_the_numbers_say() {
    let picture = picture(&Figure::Chart(three_lines()).svg());
    let parts = parts(&picture);
    // The numbers are centred on their place, four pixels above their baseline.
    let (bottom, top) = (tick(&parts, "20").1 - 4.0, tick(&parts, "100").1 - 4.0);
    let (left, right) = (tick(&parts, "2").0, tick(&parts, "10").0);
    for (curve, slope) in curves(&parts).iter().zip([10.0, 5.0, 1.0]) {
        let corners = curve.corners();
        assert_eq!(corners.len(), 11);
        for (index, (_, x, y)) in corners.into_iter().enumerate() {
            let count = index as f64;
            let expected_x = left + (right - left) * (count - 2.0) / 8.0;
            let expected_y = bottom + (top - bottom) * (slope * count - 20.0) / 80.0;
            assert!(near(x, expected_x) && near(y, expected_y), "{index}: {x} {y}");
        }
    }
}

/// A line under the axis would not be seen.
#[test]
fn a_line_at_zero_is_above_the_axis() {
    let points = [(0.0, 5.0), (1.0, 0.0), (2.0, 0.0)];
    for scale in [Scale::Linear, Scale::LogarithmicFromZero] {
        let chart = chart(scale, vec![series("zero", Style::Steps, &points)]);
        let picture = picture(&Figure::Chart(chart).svg());
        let parts = parts(&picture);
        let lowest = curves(&parts)[0].corners().iter().map(|corner| corner.2).fold(0.0, f64::max);
        let axis = parts.iter().find(|part| part.is("line", "axis")).unwrap().start().1;
        assert!(lowest < axis - 5.0, "{lowest}, {axis}");
    }
}

#[test]
fn a_policy_that_another_dwarfs_has_a_logarithmic_axis() {
    let scale = |greatest: [f64; 2], least: f64| {
        let line = |y| series("policy", Style::Line, &[(0.0, least), (1.0, y)]);
        let series = greatest.map(line).to_vec();
        Chart::with_fitting_scale("Calls", Axis::new("clients", Scale::Linear), "calls", series)
            .y
            .scale
    };
    assert_eq!(scale([10.0, 90.0], 1.0), Scale::Linear);
    assert_eq!(scale([10.0, 110.0], 1.0), Scale::Logarithmic);
    assert_eq!(scale([10.0, 110.0], 0.0), Scale::LogarithmicFromZero);
    assert_eq!(scale([0.0, 110.0], 0.0), Scale::Linear);
}

#[test]
fn factors_are_lengths_on_a_logarithmic_axis() {
    let points = [(0.0, 1.0), (1.0, 10.0), (2.0, 100.0), (3.0, 1000.0), (4.0, 0.0), (5.0, -1.0)];
    let chart = chart(Scale::Logarithmic, vec![series("powers", Style::Line, &points)]);
    let picture = picture(&Figure::Chart(chart).svg());
    let parts = parts(&picture);
    let heights: Vec<f64> = curves(&parts)[0].corners().iter().map(|corner| corner.2).collect();
    assert_eq!(heights.len(), 4, "zero and less have no place");
    assert!(heights.windows(3).all(|three| near(three[0] - three[1], three[1] - three[2])));
    for (label, height) in ["1", "10", "100", "1000"].into_iter().zip(heights) {
        let tick = parts.iter().rfind(|part| part.is("text", "muted") && part.words() == label);
        let at =
            parts.iter().any(|part| part.words() == label && near(part.start().1 - 4.0, height));
        assert!(tick.is_some() && at, "{label} at {height}");
    }
    assert!(parts.iter().any(|part| part.words() == "calls (logarithmic)"));
}

#[test]
fn steps_go_across_and_then_up() {
    let steps = series("load", Style::Steps, &[(0.0, 1.0), (1.0, 5.0), (2.0, 2.0)]);
    let picture = picture(&Figure::Chart(chart(Scale::Linear, vec![steps])).svg());
    let corners = curves(&parts(&picture))[0].corners();
    let commands: String = corners.iter().map(|corner| corner.0).collect();
    assert_eq!(commands, "MHVHV");
    assert!(near(corners[0].2, corners[1].2) && near(corners[1].1, corners[2].1), "{corners:?}");
}

#[test]
fn a_point_that_cannot_be_drawn_leaves_a_gap() {
    let points =
        [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 4.0), (f64::INFINITY, 5.0), (5.0, 6.0)];
    let figure = Figure::Chart(chart(Scale::Linear, vec![series("gaps", Style::Line, &points)]));
    let picture = picture(&figure.svg());
    let corners = curves(&parts(&picture))[0].corners();
    assert_eq!(corners.iter().map(|corner| corner.0).collect::<String>(), "MLMM");
    let marks = parts(&picture).iter().filter(|part| part.is("path", "mark")).count();
    assert_eq!(marks, 4, "each point that can be drawn");
}

#[test]
fn bars_of_error_are_as_long_as_the_interval() {
    let mut chart = three_lines();
    let point = &mut chart.series[0].points[5];
    point.interval = (point.y - 10.0, point.y + 10.0);
    chart.series[0].points[6].interval = (f64::NAN, f64::NAN);
    let picture = picture(&Figure::Chart(chart).svg());
    let parts = parts(&picture);
    let bars: Vec<_> = parts.iter().filter(|part| part.is("path", "error")).collect();
    assert_eq!(bars.len(), 1);
    let corners = bars[0].corners();
    let (top, bottom) = (tick(&parts, "60").1 - 4.0, tick(&parts, "40").1 - 4.0);
    assert!(near(corners[0].2, top) && near(corners[2].2, bottom), "{corners:?}");
    let said = parts
        .iter()
        .filter_map(Part::title)
        .any(|title| title == "steep: 50 [40–60] calls, at 5 clients");
    assert!(said, "the numbers are under the pointer");
}

#[test]
fn of_ten_thousand_points_those_are_drawn_that_can_be_seen() {
    let spike = (7_777.0, 5_000.0);
    let mut points: Vec<(f64, f64)> =
        (0..10_000).map(|i| (f64::from(i), 100.0 + f64::from(i * 7919 % 50))).collect();
    points[7_777] = spike;
    let figure = Figure::Chart(chart(Scale::Linear, vec![series("load", Style::Steps, &points)]));
    let svg = figure.svg();
    assert!(svg.len() < 60_000, "{}", svg.len());
    let picture = picture(&svg);
    let parts = parts(&picture);
    let highest =
        curves(&parts)[0].corners().into_iter().map(|corner| corner.2).fold(f64::MAX, f64::min);
    assert!(near(highest, tick(&parts, "5000").1 - 4.0), "the spike is still there");
}

#[test]
fn levels_and_bands_are_where_they_belong_and_are_named() {
    let mut chart = three_lines();
    chart.levels.push(Level { value: 80.0, label: "capacity <80/s>".into() });
    chart.bands.push(Band { from: 2.0, to: 4.0, label: "outage".into() });
    let picture = picture(&Figure::Chart(chart).svg());
    let parts = parts(&picture);
    let level = parts.iter().find(|part| part.is("line", "level")).unwrap();
    assert!(near(level.start().1, tick(&parts, "80").1 - 4.0));
    let band = parts.iter().find(|part| part.is("rect", "band")).unwrap();
    let (left, right) = (tick(&parts, "2").0, tick(&parts, "4").0);
    let width: f64 = band.attribute("width").parse().unwrap();
    assert!(near(band.start().0, left) && near(width, right - left));
    let (outage, _) = parts.iter().find(|part| part.words() == "outage").unwrap().start();
    assert!((left..=right).contains(&outage));
    assert!(parts.iter().any(|part| part.words() == "capacity <80/s>"));
}

#[test]
fn the_words_of_near_levels_are_on_their_own_sides() {
    let mut chart = three_lines();
    chart.levels.push(Level { value: 80.0, label: "lower".into() });
    chart.levels.push(Level { value: 83.0, label: "upper".into() });
    let picture = picture(&Figure::Chart(chart).svg());
    let parts = parts(&picture);
    let lines: Vec<f64> =
        parts.iter().filter(|part| part.is("line", "level")).map(|part| part.start().1).collect();
    let height = |words: &str| parts.iter().find(|part| part.words() == words).unwrap().start().1;
    assert!(height("upper") < lines[1] && height("lower") > lines[0], "{lines:?}");
}

#[test]
fn short_names_stand_beside_their_lines_and_long_ones_in_the_legend() {
    let short = picture(&Figure::Chart(three_lines()).svg());
    assert!(!parts(&short).iter().any(|part| part.is("g", "legend")));
    for name in ["steep", "middling", "flat"] {
        assert!(parts(&short).iter().any(|part| part.is("text", "name") && part.words() == name));
    }
    let mut chart = three_lines();
    chart.series[0].name = "retry: 5, delay: 100ms, backoff: exponential, jitter: full, ".repeat(7);
    let name = chart.series[0].name.clone();
    let long = picture(&Figure::Chart(chart).svg());
    let parts = parts(&long);
    assert_eq!(parts.iter().filter(|part| part.is("g", "legend")).count(), 3);
    let lines = parts.iter().filter(|part| part.is_text() && part.words().contains("delay: "));
    assert_eq!(lines.count(), 3, "a long name is more than a line");
    let clipped = |part: &&Part<'_>| part.is_text() && part.words().ends_with('…');
    assert_eq!(parts.iter().filter(clipped).count(), 1, "and a longer one is cut");
    assert!(parts.iter().any(|part| part.title() == Some(&name)), "the whole name is there");
}

#[test]
fn no_words_lie_on_others() {
    for figure in samples::figures() {
        let picture = picture(&figure.svg());
        let parts = parts(&picture);
        let areas: Vec<_> = parts
            .iter()
            .filter(|part| part.is_text())
            .map(|part| {
                let ((x, y), width) = (part.start(), pixels(part.words()));
                let left = match part.attribute("text-anchor") {
                    "start" => x,
                    "middle" => x - width / 2.0,
                    _ => x - width,
                };
                (part.words(), left, left + width, y)
            })
            .collect();
        for (index, one) in areas.iter().enumerate() {
            assert!(one.1 > 0.0 && one.2 < 760.0 || one.0 == figure.title(), "{one:?}");
            for other in &areas[index + 1..] {
                let apart = one.2 <= other.1 || other.2 <= one.1 || (one.3 - other.3).abs() > 13.0;
                assert!(apart, "{one:?} and {other:?} in {}", figure.title());
            }
        }
    }
}

#[test]
fn no_two_series_look_alike() {
    let line =
        |index: usize| series(&index.to_string(), Style::Line, &[(0.0, 1.0), (1.0, index as f64)]);
    let figure = Figure::Chart(chart(Scale::Linear, (0..2 * COUNT).map(line).collect()));
    let picture = picture(&figure.svg());
    let parts = parts(&picture);
    let curves = parts.iter().filter(|part| part.is_curve());
    let mut looks: Vec<(&str, &str)> =
        curves.map(|part| (part.attribute("class"), part.attribute("stroke-dasharray"))).collect();
    looks.sort_unstable();
    looks.dedup();
    assert_eq!(looks.len(), 2 * COUNT);
}

#[test]
fn cells_are_as_dark_as_the_amount_and_where_the_time_says() {
    let strip = strip(&[("fetch", &[1.0, 0.0, 100.0, 100.0, f64::NAN, -3.0, 20.0, 0.0, 0.0, 0.0])]);
    let picture = picture(&Figure::Strip(strip).svg());
    let parts = parts(&picture);
    let row = parts.iter().position(|part| part.is("g", "row")).unwrap();
    let cells: Vec<_> = parts[row..].iter().filter(|part| part.is("path", "heat")).collect();
    let (start, end) = (tick(&parts, "0").0, tick(&parts, "10").0);
    let expected = [(0.0, 1.0), (6.0, 7.0), (2.0, 4.0)];
    assert_eq!(cells.len(), expected.len());
    let mut faintest = 0.0;
    for (cell, (from, to)) in cells.iter().zip(expected) {
        let x = |time: f64| start + (end - start) * time / 10.0;
        let corners = cell.corners();
        assert!(near(corners[0].1, x(from)) && near(corners[1].1, x(to)), "{corners:?}");
        let opacity: f64 = cell.attribute("fill-opacity").parse().unwrap();
        assert!(opacity > faintest);
        faintest = opacity;
    }
    assert_eq!(faintest, 1.0);
    assert!(parts.iter().any(|part| part.words() == "100+"), "the legend says how much");
}

#[test]
fn the_pointer_tells_the_values_of_steps_and_of_cells() {
    let trials = |first: f64, second: f64| {
        let course = |value: f64| [Point::new(0.0, value), Point::new(1.0, value + 1.0)];
        [&course(first)[..], &[Point::GAP], &course(second)].concat()
    };
    let load = Series { name: "load".into(), points: trials(5.0, 7.0), style: Style::Steps };
    let figure = Figure::Chart(chart(Scale::Linear, vec![load]));
    let picture = self::picture(&figure.svg());
    let parts = parts(&picture);
    let titles: Vec<_> = parts.iter().filter(|part| part.is("rect", "under")).collect();
    let titles: Vec<_> = titles.iter().filter_map(|part| part.title()).collect();
    assert_eq!(titles, ["clients: 0–1\nload: 5–7", "clients: 1\nload: 6–8"]);
    let course = curves(&parts)[0].corners().iter().map(|corner| corner.0).collect::<String>();
    assert_eq!(course, "MHVMHV", "one line for each trial");
    let strip = Figure::Strip(strip(&[("fetch", &[1.0, 0.0, 100.0])]));
    let svg = strip.svg();
    assert!(svg.contains("fetch\ntime, s: 2–3\nat most 100 calls per second</title>"), "{svg}");
}

#[test]
fn figures_stack_in_one_picture() {
    let figures = samples::figures();
    let svg = crate::chart::svg_of(&figures);
    let picture = picture(&svg);
    let titles: Vec<_> =
        parts(&picture).into_iter().filter(|part| part.is("text", "title")).collect();
    let words: Vec<&str> = titles.iter().map(Part::words).collect();
    assert_eq!(words, figures.iter().map(Figure::title).collect::<Vec<_>>());
    assert!(titles.windows(2).all(|pair| pair[1].start().1 > pair[0].start().1 + 100.0));
    assert!(svg.contains("prefers-color-scheme:dark") && svg.ends_with("</svg>\n"));
    assert!(picture.attributes["aria-label"].contains("Load through an outage"));
}

#[test]
fn those_who_do_not_see_it_are_told() {
    let svg = Figure::Chart(three_lines()).svg();
    let picture = picture(&svg);
    let description = picture.children.iter().find(|child| child.name == "desc").unwrap();
    let expected = "calls against clients. steep: from 0 at 0 to 100 at 10, highest 100 at 10.";
    assert!(description.text.starts_with(expected), "{}", description.text);
    assert!(picture.is("role", "img") && picture.is("aria-label", "A title"));
}
