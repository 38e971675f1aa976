//! A plan as a picture: a row for each attempt, on one axis of time.

use std::time::Duration;

use super::picture::{Chart, Picture, Window};
use super::{Planned, View};
use crate::duration::human;
use crate::text::{clip, escape, pixels, wrap_clause, wrap_to_pixels};
use crate::view::axis::{self, Axis, Range, Tick};
use crate::view::svg::{Anchor, Area, Canvas, Drawing, LINE, MARGIN, Place, Sign, Size};

/// The plans as one SVG document, ending with a newline.
pub(crate) fn svg(plans: &[Planned]) -> String {
    drawing(&View::all(plans), &Picture::new(plans), Size::WIDE).alone()
}

/// The plans in one picture.
pub(super) fn drawing(views: &[View<'_>], picture: &Picture, size: Size) -> Drawing {
    let mut canvas = Canvas::titled(size, TITLE);
    if let (true, [view]) = (size.titled, views) {
        view.headings(&mut canvas, view.planned.shown_name());
    }
    let plot = picture.axis.map(|axis| Plot::new(axis, picture.last_attempt(), size));
    for (index, (view, chart)) in views.iter().zip(&picture.charts).enumerate() {
        if views.len() > 1 {
            view.headings(&mut canvas, Some(view.planned.title(index)));
        }
        match &plot {
            Some(plot) => plot.chart(chart, &mut canvas),
            None => canvas.words("muted", &view.words),
        }
    }
    if let Some(plot) = &plot {
        plot.scale(&mut canvas);
        canvas.y += LINE;
        canvas.legend(&signs(picture));
    }
    let described: Vec<&str> = views.iter().map(|view| view.words.as_str()).collect();
    canvas.finish(label(views), described.join(" "))
}

pub(super) const TITLE: &str = "When each attempt can start";

/// What the picture shows, for those who do not see it.
fn label(views: &[View<'_>]) -> String {
    match views {
        [view] => match view.planned.shown_name() {
            Some(name) => format!("When each attempt of {name} can start"),
            None => TITLE.into(),
        },
        views => format!("{TITLE}, for {} policies", views.len()),
    }
}

fn signs(picture: &Picture) -> Vec<(Sign, &'static str)> {
    let range = picture.has_ranges().then_some((Sign::Bar, "earliest to latest start"));
    let seed = picture.is_seeded().then_some((Sign::Seed, "with this seed"));
    range.into_iter().chain([(Sign::Mean, "on average")]).chain(seed).collect()
}

impl View<'_> {
    /// The name and the clause of the policy.
    fn headings(&self, canvas: &mut Canvas, name: Option<String>) {
        /// Letters that are bold and of 13 pixels, and those of the clause.
        const BOLDER: f64 = 1.2;
        const LETTER: f64 = 6.7;
        canvas.y += 6.0;
        let width = canvas.size.inner();
        for line in name.iter().flat_map(|name| wrap_to_pixels(name, width / BOLDER)) {
            canvas.text_line("heading", &line);
        }
        let letters = (width / LETTER) as usize;
        for line in wrap_clause(&self.planned.clause(), letters) {
            canvas.text_line("clause", &line);
        }
        canvas.y += 6.0;
    }
}

/// Where things are drawn.
struct Plot {
    axis: Range,
    left: f64,
    right: f64,
    ticks: Vec<Tick>,
    /// Whether there is room for words beside what is drawn.
    beside: bool,
}

impl Plot {
    const ROW: f64 = 24.0;

    fn new(axis: Range, last_attempt: u64, size: Size) -> Self {
        let beside = size.beside;
        let room = if beside { 150.0 } else { 28.0 };
        let left = MARGIN + 12.0 + pixels(&name(last_attempt, beside));
        let area = Area { left, right: size.width - room, top: 0.0, bottom: 0.0 };
        Self { axis, left, right: area.right, ticks: axis.ticks_in(area, size), beside }
    }

    fn area(&self, top: f64, bottom: f64) -> Area {
        Area { left: self.left, right: self.right, top, bottom }
    }

    fn x(&self, moment: u64) -> f64 {
        self.area(0.0, 0.0).x(self.axis.moment(moment))
    }

    fn chart(&self, chart: &Chart, canvas: &mut Canvas) {
        for limit in &chart.limits {
            canvas.y += LINE;
            // To the side of the line where there is room for it.
            let (anchor, aside) = match self.axis.moment(limit.at) > 0.5 {
                true => (Anchor::End, 4.0),
                false => (Anchor::Start, -4.0),
            };
            let place = Place { x: self.x(limit.at) + aside, y: canvas.y - 5.0, anchor };
            canvas.text(place, "limit-name", &limit.label);
        }
        let (top, bottom) = (canvas.y, canvas.y + Self::ROW * chart.windows.len() as f64);
        for tick in &self.ticks {
            let x = self.area(top, bottom).x(tick.position);
            canvas.line((x, top), (x, bottom), "grid");
        }
        for limit in &chart.limits {
            let x = self.x(limit.at);
            canvas.line((x, top), (x, bottom), "limit");
        }
        for window in &chart.windows {
            self.window(window, canvas);
            canvas.y += Self::ROW;
        }
        chart.notes.iter().for_each(|note| canvas.words("muted", note));
    }

    fn window(&self, window: &Window, canvas: &mut Canvas) {
        let middle = canvas.y + Self::ROW / 2.0;
        let place = Place { x: self.left - 12.0, y: middle + 4.0, anchor: Anchor::End };
        canvas.text(place, "", &name(window.attempt, self.beside));
        if self.beside {
            let place = Place { x: self.right + 14.0, y: middle + 4.0, anchor: Anchor::Start };
            canvas.text(place, "muted", &clip(&span(window), 24));
        }
        canvas.push(&format!("<g><title>{}</title>", escape(&sentence(window))));
        if window.is_range() {
            let (from, to) = (self.x(window.earliest), self.x(window.latest));
            canvas.bar((from, middle), to - from);
        }
        if let Some(mean) = window.mean {
            Sign::Mean.mark(canvas, (self.x(mean), middle));
        }
        if let Some(sample) = window.sample.filter(|_| window.is_range()) {
            Sign::Seed.mark(canvas, (self.x(sample), middle));
        }
        canvas.end();
    }

    fn scale(&self, canvas: &mut Canvas) {
        let label = "time since the first attempt started".into();
        let words = Axis { label, scale: self.axis.scale() }.words();
        let bottom = canvas.y + 8.0;
        axis::draw(canvas, self.area(bottom, bottom), &self.ticks, &words);
    }
}

/// An attempt beside its row.
fn name(attempt: u64, beside: bool) -> String {
    if beside { format!("attempt {attempt}") } else { attempt.to_string() }
}

fn duration(nanos: u64) -> String {
    human(Duration::from_nanos(nanos))
}

fn span(window: &Window) -> String {
    let (earliest, latest) = (duration(window.earliest), duration(window.latest));
    if earliest == latest { latest } else { format!("{earliest} – {latest}") }
}

fn sentence(window: &Window) -> String {
    let mean = window.mean.filter(|_| window.is_range());
    let mean = mean.map_or(String::new(), |mean| format!(", {} on average", duration(mean)));
    let sample = window.sample.filter(|_| window.is_range());
    let sample = sample.map_or(String::new(), |at| format!("; {} with this seed", duration(at)));
    format!("Attempt {} starts after {}{mean}{sample}", window.attempt, span(window))
}
