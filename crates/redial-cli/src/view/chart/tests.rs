//! Figures in, pictures and text out.

#[cfg(target_os = "linux")]
mod browser;
mod colours;
mod drawing;
mod extremes;
mod picture;
mod samples;
mod text;

use super::{Axis, Band, Chart, Figure, Level, Point, Scale, Series, Strip, Style, svg_of};

impl Figure {
    /// The figure alone in a picture.
    fn svg(&self) -> String {
        svg_of(std::slice::from_ref(self))
    }
}

fn axis(label: &str, scale: Scale) -> Axis {
    Axis { label: label.into(), scale }
}

fn point((x, y): (f64, f64)) -> Point {
    Point::new(x, y)
}

fn series(name: &str, style: Style, points: &[(f64, f64)]) -> Series {
    let points = points.iter().copied().map(point).collect();
    Series { name: name.into(), points, style }
}

fn chart(scale: Scale, series: Vec<Series>) -> Chart {
    Chart {
        title: "A title".into(),
        x: axis("clients", Scale::Linear),
        y: axis("calls", scale),
        series,
        levels: vec![],
        bands: vec![],
    }
}

/// Three straight lines that share no point but one.
fn three_lines() -> Chart {
    let line = |name, slope: f64| {
        let points: Vec<(f64, f64)> = (0..=10).map(f64::from).map(|x| (x, slope * x)).collect();
        series(name, Style::Line, &points)
    };
    chart(Scale::Linear, vec![line("steep", 10.0), line("middling", 5.0), line("flat", 1.0)])
}

/// Every character that does harm somewhere, and every kind of script.
const HOSTILE: &str = "a\u{1b}[2J\u{202e}<script>alert(\"1\")</script>]]>&'\0\n\t\u{ffff} \
                       إعادة المحاولة 再試行 🔁👩‍👩‍👧 delay: 100ms, backoff: exponential, max_delay: 30s, \
                       jitter: full, within: 1min, retry_budget: 10%";
