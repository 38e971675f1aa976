//! Figures as the verbs draw them, with numbers of the size that they have.

use super::{
    Band, Chart, Figure, Level, Point, Scale, Series, Strip, Style, series, strip, titled,
};
use crate::chart::Table;
use crate::view::page::Page;

/// The five of the AWS study, by how much work they make of a contention of many.
const POLICIES: [(&str, f64, f64); 5] = [
    ("no backoff", 0.5, 1.0),
    ("exponential", 0.26, 2.6),
    ("equal jitter", 0.062, 0.95),
    ("full jitter", 0.045, 0.72),
    ("decorrelated", 0.05, 0.85),
];

/// Numbers that look like chance and are the same every time, from 0 to 1.
fn noise(index: usize) -> f64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1 << 24) as f64
}

fn contention(value: impl Fn(f64, (&str, f64, f64)) -> f64, error: f64) -> Vec<Series> {
    let series = POLICIES.into_iter().map(|policy| {
        let points = (1..=19).map(|count| {
            let x = f64::from(count) * 10.0;
            let y = value(x, policy);
            Point { x, y, interval: (y - y * error, y + y * error) }
        });
        Series { name: policy.0.into(), points: points.collect(), style: Style::Line }
    });
    series.collect()
}

pub(super) fn calls(scale: Scale) -> Figure {
    let series = contention(|x, (_, work, _)| x + work * x * x * (1.0 + x / 4000.0), 0.04);
    let title = "Calls until all clients are done";
    Figure::Chart(titled(title, "clients that contend", ("calls", scale), series))
}

fn probability() -> Figure {
    let commits = |x: f64, (_, work, _): (&str, f64, f64)| 1.0 / (1.0 + (x * work / 18.0).powi(3));
    let (title, y) = ("Clients that commit within a second", "share of the clients");
    let series = contention(commits, 0.03);
    let levels = vec![Level { value: 0.99, label: "asked for: 0.99".into() }];
    let chart = titled(title, "clients that contend", (y, Scale::Linear), series);
    Figure::Chart(Chart { levels, ..chart })
}

fn load(seconds: f64, strength: f64, index: usize) -> f64 {
    let outage = (10.0..20.0).contains(&seconds);
    let since = seconds - 20.0;
    let storm = if since > 0.0 { (-since / 4.0).exp() * (since * 2.5).cos().abs() } else { 0.0 };
    let retries = if outage { (seconds - 10.0) / 10.0 } else { storm };
    (180.0 + 700.0 * strength * retries) * (0.9 + 0.2 * noise(index))
}

pub(super) fn outage(steps: usize) -> Figure {
    let series = [
        ("retry: 5, delay: 1s", 1.0),
        ("retry: 5, delay: 1s, backoff: exponential, max_delay: 30s, jitter: full", 0.35),
        ("retry: 5, delay: 1s, retry_budget: 10%", 0.08),
    ];
    let series = series.into_iter().enumerate().map(|(number, (name, strength))| {
        let points = (0..=steps).map(|step| {
            let x = step as f64 * 60.0 / steps as f64;
            Point::new(x, load(x, strength, step + number * steps))
        });
        Series { name: name.into(), points: points.collect(), style: Style::Steps }
    });
    let (title, y) = ("Load through an outage of ten seconds", "requests per second");
    let levels = vec![Level { value: 300.0, label: "capacity 300/s".into() }];
    let bands = vec![Band { from: 10.0, to: 20.0, label: "outage".into() }];
    let chart = titled(title, "time, s", (y, Scale::Linear), series.collect());
    Figure::Chart(Chart { levels, bands, ..chart })
}

pub(super) fn pareto() -> Figure {
    let work = |i: u32| 1.9 + f64::from(i) * 0.25;
    let front: Vec<(f64, f64)> =
        (0..24).map(work).map(|work| (work, 600.0 + 2600.0 / (work - 1.2))).collect();
    let dots = [
        ("yours", 5.4, 2600.0),
        ("full jitter", 3.1, 2050.0),
        ("equal jitter", 3.3, 2150.0),
        ("decorrelated", 3.2, 2110.0),
        ("exponential", 7.2, 4100.0),
    ];
    let dots = dots.map(|(name, x, y)| series(name, Style::Dots, &[(x, y)]));
    let all = std::iter::once(series("best found", Style::Dots, &front)).chain(dots).collect();
    let (title, y) = ("What less work costs in time", "time until the last is done, ms");
    Figure::Chart(titled(title, "calls per client", (y, Scale::Linear), all))
}

fn arrivals(bins: usize) -> Figure {
    let row = |(name, strength): (&str, f64)| {
        let amount = |bin: usize| {
            let time = bin as f64 / bins as f64;
            let waves = (time * 40.0 * strength).sin().max(0.0).powi(4);
            let amount = 400.0 * (-time * 6.0 * (1.2 - strength)).exp() * waves * noise(bin);
            amount.round()
        };
        (name.to_owned(), (0..bins).map(amount).collect())
    };
    let rows = [("exponential", 0.9), ("equal jitter", 0.6), ("full jitter", 0.4)].map(row).into();
    Figure::Strip(Strip { bin: 3.0 / bins as f64, rows, ..strip(&[]) })
}

pub(super) fn figures() -> Vec<Figure> {
    vec![
        calls(Scale::Linear),
        calls(Scale::Logarithmic),
        probability(),
        outage(600),
        pareto(),
        arrivals(300),
        many(),
    ]
}

pub(super) fn page() -> Page {
    let row = |(name, work, time): (&str, f64, f64)| {
        let number = |value: f64| format!("{value:.1}");
        vec![name.into(), number(work * 100.0), "± 1.2".into(), number(time * 1000.0)]
    };
    let header = ["policy", "calls per client", "95 %", "time until done, ms"];
    Page {
        title: "Which jitter for 100 clients that contend?".into(),
        lead: vec![
            "Full jitter makes the fewest calls: 5.5 per client, a tenth of what no backoff makes."
                .into(),
            "Each client wants one commit; a call takes 10 ms there and back, and the one that \
             finds another's version there has to call again. Means of 100 runs."
                .into(),
        ],
        figures: figures(),
        tables: vec![
            Table::new(
                "100 clients",
                header.map(String::from).into(),
                POLICIES.into_iter().map(row).collect(),
            ),
            wide_table(),
        ],
        notes: vec!["The bars are 95 % confidence intervals of the mean.".into()],
        command: "redial simulate --clients 10..190 'retry: unlimited, delay: 5ms'".into(),
    }
}

/// Wider than a phone: three policies, with their intervals.
fn wide_table() -> Table {
    let header = (1..=3).map(|policy: u32| policy.to_string());
    let header = std::iter::once("policy".to_owned()).chain(header).collect();
    let numbers = (0..3).map(|policy| format!("{policy}.9363x ±0.0014x"));
    let row = std::iter::once("attempts per call".to_owned()).chain(numbers);
    Table::new("Three policies", header, vec![row.collect()])
}

/// More policies than there are colours, with clauses for names.
fn many() -> Figure {
    let clause =
        |index: usize| format!("retry: {index}, delay: 100ms, backoff: exponential, jitter: full");
    let curve = |index: usize| {
        let height =
            |x: f64| 10.0 + x * (1.0 + index as f64) + 5.0 * noise(index * 40 + x as usize);
        let points: Vec<(f64, f64)> = (0..30).map(f64::from).map(|x| (x, height(x))).collect();
        series(&clause(index), Style::Line, &points)
    };
    let levels = vec![
        Level { value: 100.0, label: "capacity 100/s".into() },
        Level { value: 104.0, label: "limit 104/s".into() },
    ];
    let series = (0..10).map(curve).collect();
    let chart = titled("Ten policies", "clients", ("calls", Scale::Linear), series);
    Figure::Chart(Chart { levels, ..chart })
}
