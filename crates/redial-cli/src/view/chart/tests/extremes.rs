//! Numbers that cannot be drawn and names that nobody should have.

use super::picture::{Part, parts, picture};
use super::*;
use crate::chart::Table;
use crate::text::columns;
use crate::view::page::Page;
use crate::visible::visible;

const NUMBERS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1e9,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Drawn in every way, and found to be words and numbers.
fn check(figure: &Figure) {
    let svg = figure.svg();
    let picture = picture(&svg);
    for part in parts(&picture).iter().filter(|part| part.is_text()) {
        let (x, y) = part.start();
        let height: f64 = picture.attributes["height"].parse().unwrap();
        assert!((0.0..=760.0).contains(&x) && (0.0..=height).contains(&y), "{part:?}");
    }
    for part in parts(&picture).iter().filter(|part| part.is_curve()) {
        assert!(part.corners().iter().all(|corner| (0.0..=760.0).contains(&corner.1)), "{svg}");
    }
    let html = page(figure).html();
    let text = figure.terminal(60);
    for drawn in [&svg, &html, &text] {
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
    for width in [40, 60, 100] {
        fits(figure, width);
    }
}

fn fits(figure: &Figure, width: usize) {
    let text = anstream::adapter::strip_str(&figure.terminal(width)).to_string();
    for line in text.lines() {
        assert!(columns(line) <= width, "{} > {width}: {line}", columns(line));
    }
}

fn page(figure: &Figure) -> Page {
    Page {
        title: HOSTILE.into(),
        lead: vec![HOSTILE.into()],
        figures: vec![figure.clone()],
        tables: vec![Table::new(
            HOSTILE,
            vec![HOSTILE.into(), "calls".into()],
            vec![vec![HOSTILE.into(), HOSTILE.into()], vec![]],
        )],
        notes: vec![HOSTILE.into()],
        command: HOSTILE.into(),
    }
}

#[test]
fn any_two_numbers_are_drawn_or_left_out() {
    for scale in [Scale::Linear, Scale::Logarithmic] {
        for x in NUMBERS {
            for y in NUMBERS {
                let style = [Style::Line, Style::Steps, Style::Dots][(x.to_bits() % 3) as usize];
                let mut chart = chart(scale, vec![series("numbers", style, &[(x, y), (y, x)])]);
                chart.x.scale = scale;
                chart.series[0].points[0].interval = (y - y.abs(), y + y.abs());
                chart.levels.push(Level { value: x, label: "level".into() });
                chart.bands.push(Band { from: x, to: y, label: "band".into() });
                check(&Figure::Chart(chart));
            }
        }
    }
}

#[test]
fn all_numbers_at_once_and_none_at_all() {
    let all: Vec<(f64, f64)> = NUMBERS.into_iter().zip(NUMBERS.into_iter().rev()).collect();
    for scale in [Scale::Linear, Scale::Logarithmic] {
        for style in [Style::Line, Style::Steps, Style::Dots] {
            check(&Figure::Chart(chart(scale, vec![series("all", style, &all)])));
            check(&Figure::Chart(chart(scale, vec![series("none", style, &[])])));
            check(&Figure::Chart(chart(scale, vec![series("equal", style, &[(3.0, 7.0); 5])])));
        }
        check(&Figure::Chart(chart(scale, vec![])));
    }
    let nothing = Figure::Chart(chart(Scale::Linear, vec![series("none", Style::Line, &[])]));
    assert!(nothing.svg().contains("There is nothing to draw."));
    assert!(nothing.terminal(80).contains("There is nothing to draw."));
}

#[test]
fn strips_of_any_numbers_are_drawn_or_left_out() {
    for start in NUMBERS {
        for bin in NUMBERS {
            let rows: [(&str, &[f64]); 2] = [("all", &NUMBERS), ("none", &[])];
            check(&Figure::Strip(Strip { start, bin, ..strip(&rows) }));
        }
    }
}

/// Figures in which every word is hostile.
pub(super) fn hostile() -> Vec<Figure> {
    let mut lines = three_lines();
    lines.title = HOSTILE.into();
    lines.x.label = HOSTILE.into();
    lines.y.label = HOSTILE.into();
    lines.levels.push(Level { value: 50.0, label: HOSTILE.into() });
    lines.bands.push(Band { from: 2.0, to: 4.0, label: HOSTILE.into() });
    lines.series.iter_mut().for_each(|series| series.name = HOSTILE.into());
    lines.series.push(series(HOSTILE, Style::Dots, &[(5.0, 5.0)]));
    let mut strip = strip(&[(HOSTILE, &[1.0, 2.0]), ("short", &[3.0])]);
    strip.title = HOSTILE.into();
    strip.x.label = HOSTILE.into();
    strip.unit = HOSTILE.into();
    vec![Figure::Chart(lines), Figure::Strip(strip)]
}

#[test]
fn hostile_names_stay_text() {
    for figure in hostile() {
        check(&figure);
        let svg = figure.svg();
        for text in [&svg, &page(&figure).html()] {
            assert!(!text.contains("<script") && !text.contains("]]>"), "{text}");
            assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{ffff}'));
        }
        let picture = picture(&svg);
        let whole = visible(HOSTILE);
        assert!(parts(&picture).iter().filter_map(Part::title).any(|title| title == whole));
        let text = figure.terminal(80);
        assert!(!text.contains("\u{1b}[2J") && !text.contains('\u{202e}'), "{text}");
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for figure in samples::figures().into_iter().chain(hostile()) {
        (40..=160).step_by(7).for_each(|width| fits(&figure, width));
        // Narrower than what is promised: as good as it gets.
        figure.terminal(0);
    }
}
