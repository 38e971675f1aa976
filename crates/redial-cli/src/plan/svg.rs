//! A plan as a picture that stands by itself: no script, no font, nothing from anywhere else.

use std::fmt::Write;
use std::time::Duration;

use super::picture::{Axis, Chart, Picture, Tick, Window};
use super::{Planned, View};
use crate::duration::human;
use crate::text::{clip, columns, escape, pixels, wrap, wrap_clause};

/// The plans as one SVG document, ending with a newline.
pub(crate) fn svg(plans: &[Planned]) -> String {
    drawing(&View::all(plans), &Picture::new(plans), Size::WIDE)
}

/// For which width it is drawn.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// In pixels, at a scale of one.
    width: usize,
    /// Room at the left for the names of the attempts.
    left: usize,
    /// Room at the right for the windows in numbers.
    right: usize,
    /// The word before the number of an attempt.
    attempt: &'static str,
    /// What to call the drawing where there are several.
    class: &'static str,
    /// Whether it says itself what it is about.
    titled: bool,
}

impl Size {
    /// For a screen.
    pub(super) const WIDE: Self =
        Self { width: 760, left: 92, right: 150, attempt: "attempt ", class: "wide", titled: true };

    /// For a phone.
    pub(super) const NARROW: Self =
        Self { width: 380, left: 44, right: 28, attempt: "", class: "narrow", titled: true };

    /// Under a page's own words for the one policy that is drawn.
    pub(super) fn untitled(self) -> Self {
        Self { titled: false, ..self }
    }

    /// With the names of the attempts as long as they get.
    fn with_room_for(self, last_attempt: u64) -> Self {
        // Digits are wider than most letters.
        let name = columns(&format!("{}{last_attempt}", self.attempt)) * 7;
        Self { left: self.left.max(MARGIN + 12 + name), ..self }
    }

    fn has_numbers(self) -> bool {
        self.right > 100
    }
}

/// The plans as one SVG element.
pub(super) fn drawing(views: &[View<'_>], picture: &Picture, size: Size) -> String {
    let size = size.with_room_for(picture.last_attempt());
    let mut canvas = Canvas { size, axis: picture.axis, y: MARGIN, body: String::new() };
    canvas.title(views);
    for (index, (view, chart)) in views.iter().zip(&picture.charts).enumerate() {
        canvas.chart(view, chart, (views.len() > 1).then_some(index));
    }
    if picture.axis.is_some() {
        canvas.scale();
        canvas.legend(picture);
    }
    canvas.finish(views)
}

const MARGIN: usize = 20;
const ROW: usize = 24;
const TEXT_LINE: usize = 17;

/// Its own colours, so that it can be read in the light and in the dark, wherever it is shown.
const STYLE: &str = "\
.redial-plan{--ink:#1f2328;--muted:#59636e;--grid:#e3e7eb;--paper:#fff;--bar:#0969da;\
--sample:#bc4c00;--limit:#cf222e;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:12px}\
@media screen and (prefers-color-scheme:dark){.redial-plan{--ink:#e6edf3;--muted:#9198a1;--grid:#2c333b;\
--paper:#0d1117;--bar:#58a6ff;--sample:#f0883e;--limit:#ff7b72}}\
.redial-plan text{fill:var(--ink)}\
.redial-plan .muted{fill:var(--muted)}\
.redial-plan .title{font-size:16px;font-weight:600}\
.redial-plan .name{font-size:13px;font-weight:600}\
.redial-plan .clause{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:11px;\
fill:var(--muted)}\
.redial-plan .paper{fill:var(--paper)}\
.redial-plan .grid{stroke:var(--grid)}\
.redial-plan .axis{stroke:var(--muted)}\
.redial-plan .bar{fill:var(--bar);fill-opacity:.3;stroke:var(--bar);stroke-opacity:.55}\
.redial-plan .mean{fill:var(--bar)}\
.redial-plan .sample{fill:var(--sample);stroke:var(--paper)}\
.redial-plan .limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:4 3}\
.redial-plan .limit-name{fill:var(--limit)}";

/// The drawing so far, from the top down.
struct Canvas {
    size: Size,
    axis: Option<Axis>,
    y: usize,
    body: String,
}

impl Canvas {
    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, words: &str) {
        let words = escape(words);
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{words}</text>"#
        ));
    }

    /// Lines of text at the left edge, one below the other.
    fn lines(&mut self, class: &str, per_character: f64, words: &str) {
        for line in wrap(words, self.characters(per_character)) {
            self.text_line(class, &line);
        }
    }

    fn clause(&mut self, planned: &Planned) {
        for line in wrap_clause(&planned.clause(), self.characters(6.7)) {
            self.text_line("clause", &line);
        }
    }

    /// How many characters of this width a line has.
    fn characters(&self, width: f64) -> usize {
        ((self.size.width - 2 * MARGIN) as f64 / width) as usize
    }

    fn text_line(&mut self, class: &str, line: &str) {
        self.y += TEXT_LINE;
        self.text((MARGIN as f64, self.y as f64 - 4.0), "start", class, line);
    }

    fn title(&mut self, views: &[View<'_>]) {
        self.y += 4;
        self.lines("title", 9.0, "When each attempt can start");
        self.y += 8;
        if let (true, [View { planned, .. }]) = (self.size.titled, views) {
            if let Some(name) = planned.shown_name() {
                self.lines("name", 7.5, &name);
            }
            self.clause(planned);
            self.y += 8;
        }
    }

    fn chart(&mut self, view: &View<'_>, chart: &Chart, number: Option<usize>) {
        if let Some(index) = number {
            self.y += 10;
            self.lines("name", 7.5, &view.planned.title(index));
            self.clause(view.planned);
            self.y += 4;
        }
        let Some(axis) = self.axis else {
            self.lines("muted", 6.4, &view.words);
            return;
        };
        self.limit_names(chart, axis);
        let bottom = self.y + ROW * chart.windows.len();
        self.grid(bottom);
        self.limits(chart, axis, bottom);
        for window in &chart.windows {
            self.window(window, axis);
            self.y += ROW;
        }
        for note in &chart.notes {
            self.lines("muted", 6.4, note);
        }
    }

    fn x(&self, position: f64) -> f64 {
        let (left, right) = (self.size.left, self.size.width - self.size.right);
        left as f64 + position * (right - left) as f64
    }

    fn at(&self, axis: Axis, moment: u64) -> f64 {
        self.x(axis.position(moment))
    }

    fn ticks(&self) -> Vec<Tick> {
        let fits = |ticks: &[Tick]| {
            ticks.windows(2).all(|pair| {
                let room = self.x(pair[1].position) - self.x(pair[0].position);
                room > (pixels(&pair[0].label) + pixels(&pair[1].label)) / 2.0 + 14.0
            })
        };
        self.axis.map(|axis| axis.ticks(fits)).unwrap_or_default()
    }

    fn grid(&mut self, bottom: usize) {
        let top = self.y;
        for tick in self.ticks() {
            let x = self.x(tick.position);
            self.push(&format!(
                r#"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" class="grid"/>"#
            ));
        }
    }

    fn limit_names(&mut self, chart: &Chart, axis: Axis) {
        for limit in &chart.limits {
            self.y += TEXT_LINE;
            let x = self.at(axis, limit.at);
            // To the side of the line where there is room for it.
            let (anchor, x) =
                if axis.position(limit.at) > 0.5 { ("end", x + 4.0) } else { ("start", x - 4.0) };
            self.text((x, self.y as f64 - 5.0), anchor, "limit-name", &limit.label);
        }
    }

    fn limits(&mut self, chart: &Chart, axis: Axis, bottom: usize) {
        let top = self.y;
        for limit in &chart.limits {
            let x = self.at(axis, limit.at);
            self.push(&format!(
                r#"<line x1="{x:.1}" y1="{top}" x2="{x:.1}" y2="{bottom}" class="limit"/>"#
            ));
        }
    }

    fn window(&mut self, window: &Window, axis: Axis) {
        let middle = self.y as f64 + ROW as f64 / 2.0;
        let label = format!("{}{}", self.size.attempt, window.attempt);
        let label_x = self.size.left as f64 - 12.0;
        self.text((label_x, middle + 4.0), "end", "", &label);
        if self.size.has_numbers() {
            let x = (self.size.width - self.size.right) as f64 + 14.0;
            self.text((x, middle + 4.0), "start", "muted", &clip(&span(window), 24));
        }
        let _ = writeln!(self.body, "<g><title>{}</title>", escape(&sentence(window)));
        self.bar(window, axis, middle);
        if let Some(mean) = window.mean {
            let x = self.at(axis, mean);
            self.push(&format!(r#"<circle cx="{x:.1}" cy="{middle:.1}" r="4.5" class="mean"/>"#));
        }
        if let Some(sample) = window.sample.filter(|_| window.is_range()) {
            let x = self.at(axis, sample);
            self.diamond(x, middle);
        }
        self.push("</g>");
    }

    fn bar(&mut self, window: &Window, axis: Axis, middle: f64) {
        let (from, to) = (self.at(axis, window.earliest), self.at(axis, window.latest));
        if window.is_range() {
            let (top, width) = (middle - 6.0, to - from);
            self.push(&format!(
                r#"<rect x="{from:.1}" y="{top:.1}" width="{width:.1}" height="12" rx="3" class="bar"/>"#
            ));
        }
    }

    fn diamond(&mut self, x: f64, y: f64) {
        self.push(&format!(
            r#"<path d="M{x:.1} {:.1}l5.5 6l-5.5 6l-5.5 -6z" class="sample"/>"#,
            y - 6.0
        ));
    }

    fn scale(&mut self) {
        self.y += 8;
        let (y, left, right) = (self.y, self.x(0.0), self.x(1.0));
        self.push(&format!(
            r#"<line x1="{left:.1}" y1="{y}" x2="{right:.1}" y2="{y}" class="axis"/>"#
        ));
        for tick in self.ticks() {
            let (x, end) = (self.x(tick.position), y + 5);
            self.push(&format!(
                r#"<line x1="{x:.1}" y1="{y}" x2="{x:.1}" y2="{end}" class="axis"/>"#
            ));
            self.text((x, y as f64 + 19.0), "middle", "muted", &tick.label);
        }
        let logarithmic = self.axis.is_some_and(|axis| axis.is_logarithmic());
        let kind = if logarithmic { " (logarithmic)" } else { "" };
        let words = format!("time since the first attempt started{kind}");
        self.text((self.x(0.5), y as f64 + 38.0), "middle", "muted", &words);
        self.y += 48;
    }

    fn legend(&mut self, picture: &Picture) {
        let mut entries: Vec<(fn(&mut Self, f64, f64), &str)> = Vec::new();
        if picture.has_ranges() {
            entries.push((Self::bar_sign, "earliest to latest start"));
        }
        entries.push((Self::mean_sign, "on average"));
        if picture.is_seeded() {
            entries.push((Self::diamond, "with this seed"));
        }
        let left = self.size.left.min(60) as f64;
        let mut x = left;
        self.y += 16;
        for (sign, words) in entries {
            let width = 50.0 + pixels(words);
            if x + width > (self.size.width - MARGIN) as f64 {
                x = left;
                self.y += 20;
            }
            let y = self.y as f64;
            sign(self, x + 11.0, y - 4.0);
            self.text((x + 28.0, y), "start", "muted", words);
            x += width;
        }
    }

    fn bar_sign(&mut self, x: f64, y: f64) {
        let (left, top) = (x - 11.0, y - 5.0);
        self.push(&format!(
            r#"<rect x="{left:.1}" y="{top:.1}" width="22" height="10" rx="3" class="bar"/>"#
        ));
    }

    fn mean_sign(&mut self, x: f64, y: f64) {
        self.push(&format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="4.5" class="mean"/>"#));
    }

    fn finish(self, views: &[View<'_>]) -> String {
        let (width, height) = (self.size.width, self.y + MARGIN);
        let class = self.size.class;
        let label = escape(&label(views));
        let described: Vec<&str> = views.iter().map(|view| view.words.as_str()).collect();
        let description = escape(&described.join(" "));
        let body = self.body;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" class="redial-plan {class}" role="img" aria-label="{label}">
<desc>{description}</desc>
<style>{STYLE}</style>
<rect width="{width}" height="{height}" class="paper"/>
{body}</svg>
"#
        )
    }
}

/// What the picture shows, for those who do not see it.
fn label(views: &[View<'_>]) -> String {
    match views {
        [view] => match view.planned.shown_name() {
            Some(name) => format!("When each attempt of {name} can start"),
            None => "When each attempt can start".into(),
        },
        views => format!("When each attempt can start, for {} policies", views.len()),
    }
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
