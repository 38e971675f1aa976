//! A strip made of characters: the more, the higher the block.

use anstyle::{AnsiColor, Style as Ink};

use super::heat::{Cells, Shades};
use super::terminal::{WIDTH_LEAST, heading, line, scale};
use super::{NOTHING, Strip};
use crate::text::{clip, columns, pad_right};
use crate::text::{legend, styled};
use crate::visible::visible;

const HEAT: Ink = AnsiColor::Cyan.on_default();

const BLOCKS: [char; Shades::MOST + 1] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A strip as text.
pub(super) fn strip(strip: &Strip, width: usize) -> String {
    let width = width.max(WIDTH_LEAST);
    let gutter = room_for_names(strip, width);
    let heading = heading(&strip.title, width);
    let room = width - gutter - " ││".chars().count();
    let Some(cells) = Cells::new(strip, room) else {
        return [heading, line(NOTHING, width)].concat();
    };
    let shades = Shades::of(strip);
    // Few cells are wide ones.
    let wide = room / cells.count;
    let row = |(name, amounts): &(String, Vec<f64>)| {
        let name = pad_right(&clip(&visible(name), gutter), gutter);
        let blocks = cells.of(amounts).map(|amount| block(shades.of_amount(amount), &shades));
        let blocks: String = blocks.flat_map(|block| std::iter::repeat_n(block, wide)).collect();
        let blocks = pad_right(&blocks, cells.count * wide);
        format!("{name} │{}│\n", styled(HEAT, &blocks))
    };
    [
        heading,
        line(&cells.words(strip), width),
        strip.rows.iter().map(row).collect(),
        scale(&cells.range, cells.count * wide, gutter + 1, &strip.x.label),
        meaning(&shades, width),
    ]
    .concat()
}

fn room_for_names(strip: &Strip, width: usize) -> usize {
    const WIDEST: usize = 28;
    let widest = strip.rows.iter().map(|(name, _)| columns(&visible(name))).max();
    widest.unwrap_or(0).min(WIDEST).min(width / 3)
}

/// Where there are few shades, the highest is still a full block.
fn block(shade: usize, shades: &Shades) -> char {
    BLOCKS[(shade * Shades::MOST).div_ceil(shades.bounds.len().max(1)).min(Shades::MOST)]
}

fn meaning(shades: &Shades, width: usize) -> String {
    let words = shades.words().into_iter().enumerate();
    let entries: Vec<(Ink, String, String)> =
        words.map(|(index, words)| (HEAT, block(index + 1, shades).to_string(), words)).collect();
    legend(&entries, width)
}
