//! SVG pictures without scripts, fonts or other external resources.

mod label;
mod look;

pub(crate) use self::label::{Anchor, Area, LINE, Place, Room, spread};
#[cfg(test)]
pub(crate) use self::look::COUNT;
pub(crate) use self::look::Look;
use crate::text::{clip_to_pixels, escape, pixels, wrap_to_pixels};
use crate::visible::visible;

/// For which width it is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// In pixels, at a scale of one.
    pub(crate) width: f64,
    /// How high the part between the axes of a chart is.
    pub(crate) height: f64,
    /// Whether there is room for labels beside what is drawn.
    pub(crate) beside: bool,
    /// The CSS class of the drawing.
    class: &'static str,
    /// Whether the title is drawn.
    pub(crate) titled: bool,
}

impl Size {
    /// For a screen.
    pub(crate) const WIDE: Self =
        Self { width: 760.0, height: 300.0, beside: true, class: "wide", titled: true };

    /// For a phone.
    pub(crate) const NARROW: Self =
        Self { width: 380.0, height: 240.0, beside: false, class: "narrow", titled: true };

    /// Without a title, for a page that has one above the figure.
    pub(crate) fn untitled(self) -> Self {
        Self { titled: false, ..self }
    }

    /// Between the margins.
    pub(crate) fn inner(self) -> f64 {
        self.width - 2.0 * MARGIN
    }
}

/// A picture, to be a document of its own or a part of a page.
pub(crate) struct Drawing {
    title: String,
    description: String,
    size: Size,
    height: f64,
    body: String,
}

impl Drawing {
    /// One below the other.
    pub(crate) fn stacked(drawings: &[Self]) -> Self {
        let mut whole = Canvas::new(Size::WIDE);
        drawings.iter().for_each(|drawing| whole.insert(&drawing.body, drawing.height));
        let join =
            |part: fn(&Self) -> &str| drawings.iter().map(part).collect::<Vec<_>>().join(" ");
        Self {
            title: join(|drawing| &drawing.title),
            description: join(|drawing| &drawing.description),
            size: Size::WIDE,
            height: whole.y,
            body: whole.body,
        }
    }

    /// As a document, ending with a newline.
    pub(crate) fn alone(&self) -> String {
        self.element(&format!("<style>{STYLE}</style>\n"))
    }

    /// As a part of a page, which has the style.
    pub(crate) fn inside(&self) -> String {
        self.element("")
    }

    fn element(&self, style: &str) -> String {
        let (title, description) = (escape(&self.title), escape(&self.description));
        let Self { size: Size { width, class, .. }, height, body, .. } = self;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0}" width="{width}" height="{height:.0}" class="redial-picture {class}" role="img" aria-label="{title}">
<desc>{description}</desc>
{style}<rect width="{width}" height="{height:.0}" class="paper"/>
{body}</svg>
"#
        )
    }
}

pub(crate) const MARGIN: f64 = 20.0;

/// Colours for light and dark screens and for print. The eight of series begin with two of Okabe and Ito;
/// the others were searched for so that any two differ by a CIEDE2000 of 14 or more, also with
/// deuteranopia or protanopia.
pub(crate) const STYLE: &str = "\
.redial-picture{--ink:#1f2328;--muted:#59636e;--grid:#e3e7eb;--paper:#fff;--level:#59636e;\
--band:#f1e9e4;--limit:#cf222e;\
--colour-1:#0072b2;--colour-2:#d55e00;--colour-3:#1ca57e;--colour-4:#a8006d;--colour-5:#855346;\
--colour-6:#599aa6;--colour-7:#1f2328;--colour-8:#4a1b00;\
font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:12px}\
@media screen and (prefers-color-scheme:dark){.redial-picture{--ink:#e6edf3;--muted:#9198a1;\
--grid:#2c333b;--paper:#0d1117;--level:#9198a1;--band:#2a2320;--limit:#ff7b72;\
--colour-1:#3d9ddb;--colour-2:#f07f3c;--colour-3:#27c797;--colour-4:#c45499;--colour-5:#e3fbb4;\
--colour-6:#6ed5fd;--colour-7:#e6edf3;--colour-8:#ffde22}}\
.redial-picture text{fill:var(--ink)}\
.redial-picture .muted{fill:var(--muted);font-variant-numeric:tabular-nums}\
.redial-picture .title{font-size:16px;font-weight:600}\
.redial-picture .paper{fill:var(--paper)}\
.redial-picture .grid{stroke:var(--grid)}\
.redial-picture .axis{stroke:var(--muted)}\
.redial-picture .band{fill:var(--band)}\
.redial-picture .level{stroke:var(--level);stroke-width:1.5;stroke-dasharray:6 4}\
.redial-picture .halo{stroke:var(--paper);stroke-width:3;paint-order:stroke;stroke-linejoin:round}\
.redial-picture .line{stroke:var(--colour);stroke-width:2;fill:none;stroke-linejoin:round}\
.redial-picture .steps{stroke-width:1.5}\
.redial-picture .trials{stroke-width:1;stroke-opacity:.8}\
.redial-picture .under{fill:var(--muted);fill-opacity:0}\
.redial-picture .under:hover{fill-opacity:.15}\
.redial-picture .error{stroke:var(--colour);stroke-width:1.2;fill:none}\
.redial-picture .leader{stroke:var(--colour);fill:none}\
.redial-picture .mark{fill:var(--colour);stroke:var(--paper)}\
.redial-picture .dot{stroke:var(--colour);stroke-width:2}\
.redial-picture .heat{fill:var(--colour-1)}\
.redial-picture .frame{fill:none;stroke:var(--grid)}\
.redial-picture .heading{font-size:13px;font-weight:600}\
.redial-picture .clause{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;\
font-size:11px;fill:var(--muted)}\
.redial-picture .bar{fill:var(--colour-1);fill-opacity:.3;stroke:var(--colour-1);stroke-opacity:.55}\
.redial-picture .mean{fill:var(--colour-1)}\
.redial-picture .seed{fill:var(--colour-2);stroke:var(--paper)}\
.redial-picture .limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:4 3}\
.redial-picture .limit-name{fill:var(--limit)}\
.redial-picture .colour-1{--colour:var(--colour-1)}\
.redial-picture .colour-2{--colour:var(--colour-2)}\
.redial-picture .colour-3{--colour:var(--colour-3)}\
.redial-picture .colour-4{--colour:var(--colour-4)}\
.redial-picture .colour-5{--colour:var(--colour-5)}\
.redial-picture .colour-6{--colour:var(--colour-6)}\
.redial-picture .colour-7{--colour:var(--colour-7)}\
.redial-picture .colour-8{--colour:var(--colour-8)}";

/// The drawing so far, from the top down.
pub(crate) struct Canvas {
    pub(crate) size: Size,
    pub(crate) y: f64,
    body: String,
}

impl Canvas {
    pub(crate) fn new(size: Size) -> Self {
        Self { size, y: 0.0, body: String::new() }
    }

    /// With a title, unless the size is [untitled](Size::untitled).
    pub(crate) fn titled(size: Size, title: &str) -> Self {
        let mut canvas = Self::new(size);
        // The title of a page has a margin of its own.
        canvas.y = if size.titled { MARGIN } else { MARGIN / 4.0 };
        if size.titled {
            canvas.title(title);
        }
        canvas
    }

    pub(crate) fn finish(self, title: String, description: String) -> Drawing {
        let Self { size, y, body } = self;
        Drawing { title, description, size, height: y + MARGIN, body }
    }

    pub(crate) fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    /// Appends the elements of another canvas below.
    fn insert(&mut self, body: &str, height: f64) {
        let y = self.y;
        self.push(&format!(r#"<g transform="translate(0 {y:.1})">"#));
        self.body.push_str(body);
        self.end();
        self.y += height;
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.insert(&other.body, other.y);
    }

    pub(crate) fn text(&mut self, place: Place, class: &str, words: &str) {
        let Place { x, y, anchor } = place;
        let (anchor, words) = (anchor.name(), escape(words));
        self.push(&format!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{words}</text>"#
        ));
    }

    /// Text that is clipped to this width, with the whole text as its tooltip.
    pub(crate) fn clipped(&mut self, place: Place, class: &str, words: &str, width: f64) {
        let whole = visible(words);
        let shown = clip_to_pixels(&whole, width);
        if shown == whole {
            return self.text(place, class, words);
        }
        self.push(&format!("<g><title>{}</title>", escape(words)));
        self.text(place, class, &shown);
        self.end();
    }

    /// The same, of which the end is shown: names of files and addresses differ there.
    pub(crate) fn clipped_before(&mut self, place: Place, class: &str, words: &str, width: f64) {
        let reversed = |text: &str| text.chars().rev().collect::<String>();
        let whole = visible(words);
        let shown = reversed(&clip_to_pixels(&reversed(&whole), width));
        if shown == whole {
            return self.text(place, class, words);
        }
        self.begin("", words);
        self.text(place, class, &shown);
        self.end();
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(&format!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    pub(crate) fn path(&mut self, outline: &str, class: &str) {
        self.push(&format!(r#"<path d="{outline}" class="{class}"/>"#));
    }

    pub(crate) fn rectangle(&mut self, from: (f64, f64), size: (f64, f64), class: &str) {
        let ((x, y), (width, height)) = (from, size);
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" class="{class}"/>"#
        ));
    }

    /// A bar from a point to the right.
    pub(crate) fn bar(&mut self, (x, y): (f64, f64), width: f64) {
        const HALF: f64 = 6.0;
        let (top, height) = (y - HALF, 2.0 * HALF);
        self.push(&format!(
            r#"<rect x="{x:.1}" y="{top:.1}" width="{width:.1}" height="{height}" rx="3" class="bar"/>"#
        ));
    }

    /// Begins a group with a tooltip.
    pub(crate) fn begin(&mut self, class: &str, words: &str) {
        self.push(&format!(r#"<g class="{class}"><title>{}</title>"#, escape(words)));
    }

    /// A tooltip of several lines for an area.
    pub(crate) fn tooltip(&mut self, area: Area, lines: &[String]) {
        let Area { left, top, .. } = area;
        let (width, height) = (area.right - left, area.bottom - top);
        let lines: Vec<_> = lines.iter().map(|line| escape(line)).collect();
        self.push(&format!(
            r#"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" class="under"><title>{}</title></rect>"#,
            lines.join("\n"),
        ));
    }

    /// Ends a group.
    pub(crate) fn end(&mut self) {
        self.push("</g>");
    }

    /// A paragraph at the left edge, clipped to a few lines, with the whole text as its tooltip.
    pub(crate) fn words(&mut self, class: &str, words: &str) {
        self.push(&format!("<g><title>{}</title>", escape(words)));
        for line in few_lines(words, self.size.inner()) {
            self.text_line(class, &line);
        }
        self.end();
    }

    /// The next line at the left edge.
    pub(crate) fn text_line(&mut self, class: &str, line: &str) {
        self.y += LINE;
        self.text(Place { x: MARGIN, y: self.y - 4.0, anchor: Anchor::Start }, class, line);
    }

    fn title(&mut self, title: &str) {
        // Widths are measured in regular letters of 12 pixels; these are bold ones of 16.
        for line in few_lines(title, self.size.inner() / 1.45) {
            self.y += 20.0;
            let place = Place { x: MARGIN, y: self.y - 5.0, anchor: Anchor::Start };
            self.text(place, "title", &line);
        }
        self.y += 6.0;
    }

    /// Signs with their meaning, as many on a line as fit; a long meaning goes on below.
    pub(crate) fn legend(&mut self, entries: &[(Sign, &str)]) {
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

/// Words in at most three lines of this width.
fn few_lines(words: &str, width: f64) -> Vec<String> {
    const MOST: usize = 3;
    let mut lines = wrap_to_pixels(&visible(words), width);
    if lines.len() > MOST {
        lines.truncate(MOST);
        lines[MOST - 1] = clip_to_pixels(&format!("{} …", lines[MOST - 1]), width);
    }
    lines
}

/// The symbol of a legend entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sign {
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
    /// From the earliest moment to the latest.
    Bar,
    /// The moment on average.
    Mean,
    /// The moment with a seed.
    Seed,
    /// A part of a timeline, in this class.
    Span(&'static str),
    /// A thin line of a timeline, in this class.
    Thread(&'static str),
    /// A cross, in this class.
    Cross(&'static str),
}

impl Sign {
    /// The class of a label beside it. Over anything but a band, a label needs a halo.
    pub(crate) fn label_class(self) -> &'static str {
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
            Self::Bar => canvas.bar((x, y), Self::WIDTH),
            Self::Mean | Self::Seed => self.mark(canvas, middle),
            Self::Span(class) => canvas.rectangle((x, y - 5.0), (Self::WIDTH, 10.0), class),
            Self::Thread(class) => canvas.path(&line, class),
            Self::Cross(class) => canvas.path(&Look::of(6).mark(middle), class),
        }
    }

    /// The mark of a moment around a point.
    pub(crate) fn mark(self, canvas: &mut Canvas, place: (f64, f64)) {
        let (look, class) = if self == Self::Seed { (3, "seed") } else { (0, "mean") };
        canvas.path(&Look::of(look).mark(place), class);
    }
}

/// A line in the colour and the dashes of a series.
pub(crate) fn dashed(outline: &str, class: &str, look: Look) -> String {
    let (dashes, colour) = (look.dashes(), look.class());
    format!(r#"<path d="{outline}" class="{class} {colour}" stroke-dasharray="{dashes}"/>"#)
}
