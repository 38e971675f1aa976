//! A flow as a picture: a box for each step, and arrows to what needs it.

use redial_flow::outlook::{ItemCount, StepOutlook};

use super::layout::{Block, Layout, Trunk};
use super::terminal::one_line;
use super::{Planned, words};
use crate::duration::human;
use crate::output::count;
use crate::text::{clip, clip_to_pixels};
use crate::view::svg::{Anchor, Canvas, Drawing, LINE, Look, MARGIN, Place, Size};
use crate::visible::visible;

pub(super) const TITLE: &str = "What needs what";

/// The style of what only this picture has.
const STYLE: &str = "\
.redial-picture .box{fill:var(--paper);stroke:var(--muted)}\
.redial-picture .inner{fill:var(--paper);stroke:var(--grid)}\
.redial-picture .map{stroke-dasharray:5 3}\
.redial-picture .arrow{fill:none;stroke:var(--muted);stroke-width:1.3}\
.redial-picture .tip{fill:var(--muted)}";

/// The flow as one SVG document, ending with a newline.
pub(crate) fn svg(planned: &Planned<'_>) -> String {
    drawing(planned, Size::WIDE).alone()
}

/// The flow in one picture.
pub(super) fn drawing(planned: &Planned<'_>, size: Size) -> Drawing {
    let title = if size.titled { visible(planned.name()) } else { TITLE.to_owned() };
    let mut canvas = Canvas::titled(size, &title);
    canvas.push(&format!("<style>{STYLE}</style>"));
    let layout = Layout::new(planned, if size.beside { 3 } else { 1 });
    Plot::new(&layout, &canvas).draw(&layout, &mut canvas);
    if layout.left_out > 0 {
        canvas.words("muted", &format!("… and {}", count(layout.left_out, "more step")));
    }
    let worst = words::worst(planned);
    if size.titled {
        canvas.y += LINE / 2.0;
        worst.iter().for_each(|sentence| canvas.words("", sentence));
    }
    canvas.finish(format!("{TITLE} in {}", planned.name()), worst.join(" "))
}

/// Where boxes and arrows are.
struct Plot {
    trunks: Vec<Trunk>,
    /// Left, top, height of each box.
    boxes: Vec<(f64, f64, f64)>,
    /// Top and bottom of each row.
    rows: Vec<(f64, f64)>,
    width: f64,
    bottom: f64,
}

/// Between two boxes side by side.
const APART: f64 = 22.0;
/// Between two lanes.
const LANE: f64 = 9.0;
/// More lanes than this are drawn over one another.
const LANES: usize = 10;
const PADDING: f64 = 12.0;
/// A letter of a command.
const LETTER: f64 = 6.7;
/// Letters that are bold and of 13 pixels.
const BOLDER: f64 = 1.2;
/// How many inner steps a map shows.
const INNER: usize = 12;
const INNER_HEIGHT: f64 = 3.0 * LINE + 10.0;

impl Plot {
    fn new(layout: &Layout<'_>, canvas: &Canvas) -> Self {
        let trunks = layout.long();
        let lanes = trunks.iter().map(|trunk| trunk.lane + 1).max().unwrap_or(0).min(LANES);
        let gutter = if lanes == 0 { 0.0 } else { lanes as f64 * LANE + 6.0 };
        let room = canvas.size.inner() - gutter;
        let across = layout.rows.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
        let width = ((room - (across - 1.0) * APART) / across).min(380.0);
        let mut plot = Self {
            boxes: vec![(0.0, 0.0, 0.0); layout.blocks.len()],
            rows: Vec::new(),
            width,
            bottom: canvas.y + 6.0,
            trunks,
        };
        for row in &layout.rows {
            let index = plot.rows.len();
            let above = if index == 0 { 0.0 } else { 34.0 + plot.crossing(layout, index) };
            let top = plot.bottom + above;
            let taken = row.len() as f64 * width + (row.len() as f64 - 1.0) * APART;
            let mut left = MARGIN + gutter + (room - taken) / 2.0;
            let mut bottom = top;
            for at in row {
                let height = height(&layout.blocks[*at]);
                plot.boxes[*at] = (left, top, height);
                left += width + APART;
                bottom = f64::max(bottom, top + height);
            }
            plot.rows.push((top, bottom));
            plot.bottom = bottom;
        }
        plot
    }

    /// The room for lines that go across between a row and the one above it.
    fn crossing(&self, layout: &Layout<'_>, row: usize) -> f64 {
        let lanes = |holds: &dyn Fn(&Trunk) -> bool| {
            let lanes = self.trunks.iter().filter(|trunk| holds(trunk)).map(|trunk| trunk.lane + 1);
            lanes.max().unwrap_or(0).min(LANES)
        };
        let leave = lanes(&|trunk| layout.blocks[trunk.from].row + 1 == row);
        let enter = lanes(&|trunk| trunk.to.iter().any(|to| layout.blocks[*to].row == row));
        (leave + enter) as f64 * 4.0
    }

    fn draw(&self, layout: &Layout<'_>, canvas: &mut Canvas) {
        for (from, to) in layout.short() {
            let (start, end) = (self.below(from, 0.0), self.above(to));
            let middle = (start.1 + end.1) / 2.0;
            canvas.path(
                &format!(
                    "M{:.1} {:.1}C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}",
                    start.0,
                    start.1,
                    start.0,
                    end.0,
                    end.0,
                    end.1 - 5.0
                ),
                "arrow",
            );
            tip(canvas, end);
        }
        for trunk in &self.trunks {
            self.trunk(trunk, layout, canvas);
        }
        for (at, block) in layout.blocks.iter().enumerate() {
            self.block(block, self.boxes[at], canvas);
        }
        canvas.y = self.bottom;
    }

    fn trunk(&self, trunk: &Trunk, layout: &Layout<'_>, canvas: &mut Canvas) {
        let lane = trunk.lane % LANES;
        let x = MARGIN + lane as f64 * LANE + 2.0;
        // Beside the arrows that come in, so that none seems to go on.
        let start = self.below(trunk.from, 14.0);
        let (_, bottom) = self.rows[layout.blocks[trunk.from].row];
        let out = bottom + 8.0 + lane as f64 * 4.0;
        for to in &trunk.to {
            let (target, _) = self.above(*to);
            let target = target - 14.0;
            let (top, _) = self.rows[layout.blocks[*to].row];
            let into = top - 13.0 - lane as f64 * 4.0;
            canvas.path(
                &format!(
                    "M{:.1} {:.1}V{out:.1}H{x:.1}V{into:.1}H{target:.1}V{:.1}",
                    start.0,
                    start.1,
                    top - 5.0
                ),
                "arrow",
            );
            tip(canvas, (target, top));
        }
    }

    /// The middle of the lower edge of a box.
    fn below(&self, at: usize, aside: f64) -> (f64, f64) {
        let (left, top, height) = self.boxes[at];
        (left + self.width / 2.0 + aside, top + height)
    }

    /// The middle of its upper edge.
    fn above(&self, at: usize) -> (f64, f64) {
        let (left, top, _) = self.boxes[at];
        (left + self.width / 2.0, top)
    }

    fn block(&self, block: &Block<'_>, (left, top, height): (f64, f64, f64), canvas: &mut Canvas) {
        let is_map = !block.inner.is_empty();
        canvas.begin("", &sentence(block.one));
        let class = if is_map { "box map" } else { "box" };
        rounded(canvas, (left, top), (self.width, height), class);
        let mut y = top + 4.0;
        Text { left, width: self.width }.step(block.one, is_map, &mut y, canvas);
        canvas.end();
        for one in block.inner.iter().take(INNER) {
            y += 6.0;
            let (left, width) = (left + PADDING, self.width - 2.0 * PADDING);
            canvas.begin("", &sentence(one));
            rounded(canvas, (left, y), (width, INNER_HEIGHT), "inner");
            let mut inside = y + 2.0;
            Text { left, width }.step(one, false, &mut inside, canvas);
            canvas.end();
            y += INNER_HEIGHT;
        }
        if let Some(more @ 1..) = block.inner.len().checked_sub(INNER) {
            Text { left, width: self.width }.line(
                "muted",
                &format!("… and {more} more"),
                &mut y,
                canvas,
            );
        }
    }
}

/// How high the box of a step is.
fn height(block: &Block<'_>) -> f64 {
    let lines = if block.inner.is_empty() { 3.0 } else { 4.0 };
    let inner = block.inner.len().min(INNER) as f64 * (INNER_HEIGHT + 6.0);
    let more = if block.inner.len() > INNER { LINE } else { 0.0 };
    let end = if block.inner.is_empty() { 0.0 } else { 6.0 };
    lines * LINE + 14.0 + inner + more + end
}

/// The lines in a box.
struct Text {
    left: f64,
    width: f64,
}

impl Text {
    fn step(&self, one: &StepOutlook, is_map: bool, y: &mut f64, canvas: &mut Canvas) {
        *y += LINE;
        let look = Look::of(if is_map { 3 } else { 0 });
        canvas.path(&look.mark((self.left + PADDING + 2.0, *y - 4.0)), "mean");
        let name =
            clip_to_pixels(&visible(&one.step.name), (self.width - 2.0 * PADDING - 14.0) / BOLDER);
        let place = Place { x: self.left + PADDING + 12.0, y: *y, anchor: Anchor::Start };
        canvas.text(place, "heading", &name);
        let letters = ((self.width - 2.0 * PADDING) / LETTER) as usize;
        let (field, text) = words::does(&one.step);
        let text = format!("{field} {}", one_line(&text));
        self.line("clause", &clip(&text, letters), y, canvas);
        if is_map {
            self.line("muted", &words::bounds(one).unwrap_or_default(), y, canvas);
        }
        let (class, words) = ending(one, is_map);
        self.line(class, &words, y, canvas);
    }

    fn line(&self, class: &str, words: &str, y: &mut f64, canvas: &mut Canvas) {
        *y += LINE;
        let place = Place { x: self.left + PADDING, y: *y, anchor: Anchor::Start };
        canvas.text(place, class, &clip_to_pixels(&visible(words), self.width - 2.0 * PADDING));
    }
}

/// How often it is tried, and for how long at most.
fn ending(one: &StepOutlook, is_map: bool) -> (&'static str, String) {
    let time = if one.step.inside.is_some() || is_map { one.task_time } else { one.time };
    let (class, time) = match time {
        Some(time) => ("muted", format!("at most {}", human(time))),
        None => ("limit-name", "no bound".to_owned()),
    };
    match (one.plan.policy().attempts(), one.time) {
        (_, Some(all)) if is_map && one.items != Some(ItemCount::Unknown) => {
            (class, format!("{time} an item, {} in all", human(all)))
        }
        _ if is_map => (class, format!("{time} an item")),
        _ if !words::is_attempted(&one.step) => {
            (class, words::condition(&one.step).unwrap_or_default())
        }
        // Of an arm, where it is taken says more than how often it is tried.
        (_, time) if one.step.branch().is_some() => {
            let arm = one_line(&words::condition(&one.step).unwrap_or_default());
            (class, if time.is_none() { format!("no bound, {arm}") } else { arm })
        }
        (Some(attempts), _) => (class, format!("{}, {time}", count(attempts as usize, "attempt"))),
        (None, _) => (class, format!("attempts without end, {time}")),
    }
}

/// What a box says, as its tooltip.
fn sentence(one: &StepOutlook) -> String {
    let (field, text) = words::does(&one.step);
    let needs = words::needs(&one.step.needs).map(|needs| format!("; needs {needs}"));
    let clause = match words::is_attempted(&one.step) {
        true => format!("; {}", words::clause(&one.plan)),
        false => String::new(),
    };
    format!("{}: {field} {}{clause}{}", one.step.name, one_line(&text), needs.unwrap_or_default())
}

fn rounded(canvas: &mut Canvas, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
    canvas.push(&format!(
        r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="6" class="{class}"/>"#
    ));
}

fn tip(canvas: &mut Canvas, (x, y): (f64, f64)) {
    canvas.path(&format!("M{x:.1} {y:.1}l-4.5-7h9z"), "tip");
}
