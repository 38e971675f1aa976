//! A grid of characters, each of which has two by four dots to draw with.

use anstyle::Style;

/// What is drawn, cell by cell.
pub(super) struct Grid {
    pub(super) columns: usize,
    pub(super) rows: usize,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    /// One bit for each dot, as Unicode numbers them.
    dots: u8,
    /// What stands in front of the dots.
    front: Option<char>,
    style: Style,
}

/// The bits of the dots of a cell, from the top down.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

impl Grid {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, cells: vec![Cell::default(); columns * rows] }
    }

    /// The dot at these positions, from 0 at the left and at the bottom to 1.
    pub(super) fn dot_at(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let (right, bottom) = (self.columns * 2 - 1, self.rows * 4 - 1);
        let dot = |position: f64, last: usize| libm::round(position * last as f64) as usize;
        (dot(x, right), dot(1.0 - y, bottom))
    }

    /// The cell, by column and row, at these positions.
    pub(super) fn cell_at(&self, position: (f64, f64)) -> (usize, usize) {
        let (x, y) = self.dot_at(position);
        (x / 2, y / 4)
    }

    fn cell(&mut self, (column, row): (usize, usize)) -> &mut Cell {
        &mut self.cells[row * self.columns + column]
    }

    fn dot(&mut self, (x, y): (usize, usize), style: Style) {
        let cell = self.cell((x / 2, y / 4));
        cell.dots |= BITS[y % 4][x % 2];
        cell.style = style;
    }

    /// A straight line of dots.
    pub(super) fn line(&mut self, from: (usize, usize), to: (usize, usize), style: Style) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1));
        let between = |from: usize, to: usize, step: usize| {
            let share = if steps == 0 { 0.0 } else { step as f64 / steps as f64 };
            libm::round(from as f64 + (to as f64 - from as f64) * share) as usize
        };
        for step in 0..=steps {
            self.dot((between(from.0, to.0, step), between(from.1, to.1, step)), style);
        }
    }

    /// Whether nothing is in a cell.
    pub(super) fn is_empty(&self, (column, row): (usize, usize)) -> bool {
        let cell = &self.cells[row * self.columns + column];
        cell.dots == 0 && cell.front.is_none()
    }

    /// Whether no character is in front of the dots of a cell.
    pub(super) fn is_free(&self, (column, row): (usize, usize)) -> bool {
        column < self.columns && self.cells[row * self.columns + column].front.is_none()
    }

    /// Puts a character in front of the dots.
    pub(super) fn put(&mut self, place: (usize, usize), front: char, style: Style) {
        let cell = self.cell(place);
        (cell.front, cell.style) = (Some(front), style);
    }

    /// The characters of a row.
    pub(super) fn row(&self, row: usize) -> Vec<(char, Style)> {
        let shown = |cell: &Cell| (cell.front.unwrap_or(braille(cell.dots)), cell.style);
        self.cells[row * self.columns..][..self.columns].iter().map(shown).collect()
    }
}

fn braille(dots: u8) -> char {
    match dots {
        0 => ' ',
        dots => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
    }
}
