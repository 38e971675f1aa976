//! Figures in, pictures and text out.

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

fn series(name: &str, style: Style, points: &[(f64, f64)]) -> Series {
    let points = points.iter().map(|(x, y)| Point::new(*x, *y)).collect();
    Series { name: name.into(), points, style }
}

fn chart(scale: Scale, series: Vec<Series>) -> Chart {
    titled("A title", "clients", ("calls", scale), series)
}

fn titled(title: &str, x: &str, (y, scale): (&str, Scale), series: Vec<Series>) -> Chart {
    Chart::new(title, Axis::new(x, Scale::Linear), Axis::new(y, scale), series)
}

fn strip(rows: &[(&str, &[f64])]) -> Strip {
    Strip {
        title: "Arrivals".into(),
        x: Axis::new("time, s", Scale::Linear),
        start: 0.0,
        bin: 1.0,
        rows: rows.iter().map(|(name, amounts)| ((*name).into(), amounts.to_vec())).collect(),
        unit: "calls per second".into(),
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
