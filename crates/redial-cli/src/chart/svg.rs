//! Figures as pictures that stand by themselves: no script, no font, nothing from anywhere else.

use super::Figure;
use super::description::description;
use super::label::{Anchor, LINE, Place};
use super::look::Look;
use super::{plot, strip};
use crate::text::{clip_to_pixels, escape, pixels, wrap_to_pixels};
use crate::visible::visible;

/// All figures in one picture, one below the other, ending with a newline.
pub(crate) fn svg_of(figures: &[Figure]) -> String {
    let drawings: Vec<Drawing> = figures.iter().map(|figure| drawing(figure, Size::WIDE)).collect();
    let mut whole = Canvas::new(Size::WIDE);
    for drawing in &drawings {
        whole.insert(&drawing.body, drawing.height);
    }
    let join = |parts: Vec<&str>| parts.join(" ");
    Drawing {
        title: join(drawings.iter().map(|drawing| drawing.title.as_str()).collect()),
        description: join(drawings.iter().map(|drawing| drawing.description.as_str()).collect()),
        height: whole.y,
        body: whole.body,
    }
    .element(Size::WIDE, &format!("<style>{STYLE}</style>\n"))
}

/// One figure at one size.
pub(super) fn drawing(figure: &Figure, size: Size) -> Drawing {
    let mut canvas = Canvas::new(size);
    // A page's own words have room below them already.
    canvas.y = if size.titled { MARGIN } else { MARGIN / 4.0 };
    if size.titled {
        canvas.title(figure.title());
    }
    match figure {
        Figure::Chart(chart) => plot::draw(chart, &mut canvas),
        Figure::Strip(strip) => strip::draw(strip, &mut canvas),
    }
    Drawing {
        title: figure.title().to_owned(),
        description: description(figure),
        height: canvas.y + MARGIN,
        body: canvas.body,
    }
}

/// For which width it is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// In pixels, at a scale of one.
    pub(super) width: f64,
    /// How high the part between the axes of a chart is.
    pub(super) height: f64,
    /// Whether there is room for words beside what is drawn.
    pub(super) beside: bool,
    /// What to call the drawing where there are several.
    class: &'static str,
    /// Whether it says itself what it is about.
    titled: bool,
}

impl Size {
    /// For a screen.
    pub(super) const WIDE: Self =
        Self { width: 760.0, height: 300.0, beside: true, class: "wide", titled: true };

    /// For a phone.
    pub(super) const NARROW: Self =
        Self { width: 380.0, height: 240.0, beside: false, class: "narrow", titled: true };

    /// Under a page's own words for the figure.
    pub(super) fn untitled(self) -> Self {
        Self { titled: false, ..self }
    }

    /// Between the margins.
    pub(super) fn inner(self) -> f64 {
        self.width - 2.0 * MARGIN
    }
}

/// A picture before anybody knows where it will stand.
pub(super) struct Drawing {
    title: String,
    description: String,
    height: f64,
    body: String,
}

impl Drawing {
    /// The picture as one SVG element, with this in front of what is drawn.
    pub(super) fn element(&self, size: Size, head: &str) -> String {
        let (title, description) = (escape(&self.title), escape(&self.description));
        let Self { height, body, .. } = self;
        let Size { width, class, .. } = size;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0}" width="{width}" height="{height:.0}" class="redial-chart {class}" role="img" aria-label="{title}">
<desc>{description}</desc>
{head}<rect width="{width}" height="{height:.0}" class="paper"/>
{body}</svg>
"#
        )
    }
}

pub(super) const MARGIN: f64 = 20.0;

/// Its own colours, so that it can be read in the light and in the dark, wherever it is shown, and on
/// paper. The eight are those of Okabe and Ito, which the colour-blind tell apart, made darker or
/// lighter until each stands out from what is behind it.
pub(super) const STYLE: &str = "\
.redial-chart{--ink:#1f2328;--muted:#59636e;--grid:#e3e7eb;--paper:#fff;--level:#59636e;\
--band:#f1e9e4;\
--colour-1:#0072b2;--colour-2:#d55e00;--colour-3:#008a63;--colour-4:#b4558f;--colour-5:#b97f00;\
--colour-6:#3a94c9;--colour-7:#1f2328;--colour-8:#857a00;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:12px}\
@media screen and (prefers-color-scheme:dark){.redial-chart{--ink:#e6edf3;--muted:#9198a1;\
--grid:#2c333b;--paper:#0d1117;--level:#9198a1;--band:#2a2320;\
--colour-1:#3d9ddb;--colour-2:#f07f3c;--colour-3:#2fbf94;--colour-4:#e39ac6;--colour-5:#e0a526;\
--colour-6:#9ad4f7;--colour-7:#e6edf3;--colour-8:#f0e442}}\
.redial-chart text{fill:var(--ink)}\
.redial-chart .muted{fill:var(--muted);font-variant-numeric:tabular-nums}\
.redial-chart .title{font-size:16px;font-weight:600}\
.redial-chart .paper{fill:var(--paper)}\
.redial-chart .grid{stroke:var(--grid)}\
.redial-chart .axis{stroke:var(--muted)}\
.redial-chart .band{fill:var(--band)}\
.redial-chart .level{stroke:var(--level);stroke-width:1.5;stroke-dasharray:6 4}\
.redial-chart .halo{stroke:var(--paper);stroke-width:3;paint-order:stroke;stroke-linejoin:round}\
.redial-chart .line{stroke:var(--colour);stroke-width:2;fill:none;stroke-linejoin:round}\
.redial-chart .steps{stroke-width:1.5}\
.redial-chart .error{stroke:var(--colour);stroke-width:1.2;fill:none}\
.redial-chart .leader{stroke:var(--colour);fill:none}\
.redial-chart .mark{fill:var(--colour);stroke:var(--paper)}\
.redial-chart .dot{stroke:var(--colour);stroke-width:2}\
.redial-chart .heat{fill:var(--colour-1)}\
.redial-chart .frame{fill:none;stroke:var(--grid)}\
.redial-chart .colour-1{--colour:var(--colour-1)}\
.redial-chart .colour-2{--colour:var(--colour-2)}\
.redial-chart .colour-3{--colour:var(--colour-3)}\
.redial-chart .colour-4{--colour:var(--colour-4)}\
.redial-chart .colour-5{--colour:var(--colour-5)}\
.redial-chart .colour-6{--colour:var(--colour-6)}\
.redial-chart .colour-7{--colour:var(--colour-7)}\
.redial-chart .colour-8{--colour:var(--colour-8)}";

/// The drawing so far, from the top down.
pub(super) struct Canvas {
    pub(super) size: Size,
    pub(super) y: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(size: Size) -> Self {
        Self { size, y: 0.0, body: String::new() }
    }

    pub(super) fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// What another canvas holds, below what is here.
    fn insert(&mut self, body: &str, height: f64) {
        let y = self.y;
        self.push(&format!(r#"<g transform="translate(0 {y:.1})">"#));
        self.body.push_str(body);
        self.end();
        self.y += height;
    }

    pub(super) fn append(&mut self, other: &Self) {
        self.insert(&other.body, other.y);
    }

    pub(super) fn text(&mut self, place: Place, class: &str, words: &str) {
        let Place { x, y, anchor } = place;
        let (anchor, words) = (anchor.name(), escape(words));
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{words}</text>"#
        ));
    }

    /// Words that are cut to this width, and found whole under the pointer.
    pub(super) fn clipped(&mut self, place: Place, class: &str, words: &str, width: f64) {
        let whole = visible(words);
        let shown = clip_to_pixels(&whole, width);
        if shown == whole {
            return self.text(place, class, words);
        }
        self.push(&format!("<g><title>{}</title>", escape(words)));
        self.text(place, class, &shown);
        self.end();
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(&format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    pub(super) fn path(&mut self, outline: &str, class: &str) {
        self.push(&format!(r#"<path d="{outline}" class="{class}"/>"#));
    }

    pub(super) fn rectangle(&mut self, from: (f64, f64), size: (f64, f64), class: &str) {
        let ((x, y), (width, height)) = (from, size);
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" class="{class}"/>"#
        ));
    }

    /// Begins what belongs to a series, with its whole name under the pointer.
    pub(super) fn begin(&mut self, class: &str, look: Look, name: &str) {
        let (colour, name) = (look.class(), escape(name));
        self.push(&format!(r#"<g class="{class} {colour}"><title>{name}</title>"#));
    }

    /// Ends a group.
    pub(super) fn end(&mut self) {
        self.push("</g>");
    }

    /// Words at the left edge, found whole under the pointer.
    pub(super) fn words(&mut self, class: &str, words: &str) {
        self.push(&format!("<g><title>{}</title>", escape(words)));
        for line in few_lines(words, self.size.inner()) {
            self.y += LINE;
            let place = Place { x: MARGIN, y: self.y - 4.0, anchor: Anchor::Start };
            self.text(place, class, &line);
        }
        self.end();
    }

    fn title(&mut self, title: &str) {
        // Bold letters of sixteen pixels are wider than those that are measured.
        for line in few_lines(title, self.size.inner() / 1.45) {
            self.y += 20.0;
            let place = Place { x: MARGIN, y: self.y - 5.0, anchor: Anchor::Start };
            self.text(place, "title", &line);
        }
        self.y += 6.0;
    }

    /// Signs with their meaning, as many on a line as fit; a long meaning goes on below.
    pub(super) fn legend(&mut self, entries: &[(Sign, &str)]) {
        const GAP: f64 = 18.0;
        let right = self.size.width - MARGIN;
        let mut x = right;
        for (sign, words) in entries {
            let lines = few_lines(words, right - MARGIN - Sign::ROOM);
            let width = Sign::ROOM + lines.iter().map(|line| pixels(line)).fold(0.0, f64::max);
            if x + width > right {
                x = MARGIN;
                self.y += LINE + 3.0;
            }
            self.entry(*sign, words, &lines, x);
            self.y += LINE * (lines.len() - 1) as f64;
            x = if lines.len() > 1 { right } else { x + width + GAP };
        }
    }

    fn entry(&mut self, sign: Sign, words: &str, lines: &[String], x: f64) {
        self.push(&format!(r#"<g class="legend"><title>{}</title>"#, escape(words)));
        sign.draw(self, (x, self.y - 9.0));
        for (index, line) in lines.iter().enumerate() {
            let y = self.y - 5.0 + index as f64 * LINE;
            self.text(Place { x: x + Sign::ROOM, y, anchor: Anchor::Start }, "", line);
        }
        self.end();
    }
}

/// Words in lines of this width, and no more lines than anybody reads in a picture.
fn few_lines(words: &str, width: f64) -> Vec<String> {
    const MOST: usize = 3;
    let mut lines = wrap_to_pixels(&visible(words), width);
    if lines.len() > MOST {
        lines.truncate(MOST);
        lines[MOST - 1] = clip_to_pixels(&format!("{} …", lines[MOST - 1]), width);
    }
    lines
}

/// What stands in a legend for what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sign {
    /// A line with marks.
    Line(Look),
    /// A line without.
    Steps(Look),
    /// A mark.
    Dot(Look),
    /// The dashed line of a level.
    Level,
    /// The shade of a band.
    Band,
}

impl Sign {
    /// How words beside it are set off from what is behind them: a band is quiet enough.
    pub(super) fn label_class(self) -> &'static str {
        if self == Self::Band { "label" } else { "label halo" }
    }

    const WIDTH: f64 = 28.0;
    /// With some room after it.
    const ROOM: f64 = 34.0;

    fn draw(self, canvas: &mut Canvas, (x, y): (f64, f64)) {
        let line = format!("M{x:.1} {y:.1}h{}", Self::WIDTH);
        let middle = (x + Self::WIDTH / 2.0, y);
        match self {
            Self::Line(look) => {
                canvas.push(&dashed(&line, "line", look));
                canvas.path(&look.mark(middle), &format!("mark {}", look.class()));
            }
            Self::Steps(look) => canvas.push(&dashed(&line, "line", look)),
            Self::Dot(look) => canvas.path(&look.mark(middle), &format!("mark {}", look.class())),
            Self::Level => canvas.path(&line, "level"),
            Self::Band => canvas.rectangle((x, y - 6.0), (Self::WIDTH, 12.0), "band"),
        }
    }
}

/// A line in the colour and the dashes of a series.
pub(super) fn dashed(outline: &str, class: &str, look: Look) -> String {
    let (dashes, colour) = (look.dashes(), look.class());
    format!(r#"<path d="{outline}" class="{class} {colour}" stroke-dasharray="{dashes}"/>"#)
}
