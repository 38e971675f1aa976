//! A strip in a picture: a row of cells for each policy, on one time axis.

use super::description::of_row;
use super::heat::{Cells, Shades};
use super::{NOTHING, Strip};
use crate::text::pixels;
use crate::view::axis;
use crate::view::number::plain;
use crate::view::svg::{Anchor, Area, Canvas, LINE, MARGIN, Place};
use crate::visible::visible;

/// Draws the strip below what is on the canvas.
pub(super) fn draw(strip: &Strip, canvas: &mut Canvas) {
    /// In pixels. Narrower cells are noise.
    const CELL: f64 = 2.0;
    let names = room_for_names(strip, canvas);
    let left = MARGIN + names.map_or(0.0, |room| room + 10.0);
    let right = canvas.size.width - MARGIN;
    let Some(cells) = Cells::new(strip, ((right - left) / CELL) as usize) else {
        return canvas.words("muted", NOTHING);
    };
    let rows = Rows { cells, shades: Shades::of(strip), left, right, beside: names.is_some() };
    rows.legend(strip, canvas);
    for (name, amounts) in &strip.rows {
        rows.row(strip, name, amounts, canvas);
    }
    let area = Area { left, right, top: canvas.y, bottom: canvas.y };
    let ticks = rows.cells.range.ticks_in(area, canvas.size);
    axis::draw(canvas, area, &ticks, &strip.x.label);
}

/// How wide the names are, if they are short enough to stand beside the rows.
fn room_for_names(strip: &Strip, canvas: &Canvas) -> Option<f64> {
    const WIDEST: f64 = 170.0;
    let widest = strip.rows.iter().map(|(name, _)| pixels(&visible(name))).fold(0.0, f64::max);
    (canvas.size.beside && widest <= WIDEST).then_some(widest)
}

struct Rows {
    cells: Cells,
    shades: Shades,
    left: f64,
    right: f64,
    /// Whether the names stand beside the rows, and not above them.
    beside: bool,
}

impl Rows {
    const HEIGHT: f64 = 24.0;
    const GAP: f64 = 8.0;

    fn legend(&self, strip: &Strip, canvas: &mut Canvas) {
        const SIGN: f64 = 14.0;
        canvas.words("muted", &self.cells.words(strip));
        canvas.y += 4.0;
        let mut x = MARGIN;
        for (index, words) in self.shades.words().iter().enumerate() {
            let width = SIGN + 6.0 + pixels(words);
            if x + width > canvas.size.width - MARGIN {
                x = MARGIN;
                canvas.y += LINE + 3.0;
            }
            let y = canvas.y;
            let square = format!("M{x:.1} {y:.1}h{SIGN}v{SIGN}h-{SIGN}z");
            self.shaded(index + 1, &square, canvas);
            let place = Place { x: x + SIGN + 6.0, y: y + 11.0, anchor: Anchor::Start };
            canvas.text(place, "muted", words);
            x += width + 12.0;
        }
        canvas.y += SIGN + 2.0 * Self::GAP;
    }

    fn row(&self, strip: &Strip, name: &str, amounts: &[f64], canvas: &mut Canvas) {
        if !self.beside {
            canvas.words("name", name);
        }
        let top = canvas.y;
        canvas.begin("row", &of_row(strip, name, amounts));
        if self.beside {
            let y = top + Self::HEIGHT / 2.0 + 4.0;
            let place = Place { x: self.left - 10.0, y, anchor: Anchor::End };
            canvas.text(place, "name", name);
        }
        self.cells(amounts, canvas);
        let size = (self.right - self.left, Self::HEIGHT);
        canvas.rectangle((self.left, top), size, "frame");
        self.tooltips(strip, name, amounts, canvas);
        canvas.end();
        canvas.y += Self::HEIGHT + Self::GAP;
    }

    /// All cells of one shade are one path; neighbours are one rectangle of it.
    fn cells(&self, amounts: &[f64], canvas: &mut Canvas) {
        let shades: Vec<usize> =
            self.cells.of(amounts).map(|amount| self.shades.of_amount(amount)).collect();
        let mut outlines = vec![String::new(); self.shades.bounds.len() + 1];
        let mut first = 0;
        for run in shades.chunk_by(|one, other| one == other) {
            outlines[run[0]].push_str(&self.outline(first, run.len(), canvas.y));
            first += run.len();
        }
        for (shade, outline) in outlines.iter().enumerate().skip(1) {
            self.shaded(shade, outline, canvas);
        }
    }

    /// The amounts of each stretch of a row.
    fn tooltips(&self, strip: &Strip, name: &str, amounts: &[f64], canvas: &mut Canvas) {
        const STRETCHES: usize = 48;
        let cells: Vec<f64> = self.cells.of(amounts).collect();
        let length = self.cells.count.div_ceil(STRETCHES);
        let width = (self.right - self.left) / self.cells.count as f64;
        for (at, some) in cells.chunks(length).enumerate() {
            let (first, last) = (at * length, at * length + some.len());
            let time =
                |cell: usize| plain(strip.start + strip.bin * (cell * self.cells.merged) as f64);
            let most = plain(some.iter().copied().fold(0.0, f64::max));
            let x = |cell: usize| self.left + cell as f64 * width;
            let (top, bottom) = (canvas.y, canvas.y + Self::HEIGHT);
            let area = Area { left: x(first), right: x(last), top, bottom };
            let time = format!("{}: {}–{}", strip.x.label, time(first), time(last));
            let most = format!("at most {most} {}", strip.unit);
            canvas.tooltip(area, &[name.to_owned(), time, most]);
        }
    }

    fn outline(&self, first: usize, count: usize, top: f64) -> String {
        let width = (self.right - self.left) / self.cells.count as f64;
        let (left, right) = (first as f64 * width, (first + count) as f64 * width);
        let (left, right, height) = (self.left + left, self.left + right, Self::HEIGHT);
        format!("M{left:.1} {top:.1}H{right:.1}v{height}H{left:.1}z")
    }

    fn shaded(&self, shade: usize, outline: &str, canvas: &mut Canvas) {
        const FAINTEST: f64 = 0.12;
        let opacity = FAINTEST + (1.0 - FAINTEST) * shade as f64 / self.shades.bounds.len() as f64;
        if !outline.is_empty() {
            canvas.push(&format!(
                r#"<path d="{outline}" class="heat" fill-opacity="{opacity:.2}"/>"#
            ));
        }
    }
}
