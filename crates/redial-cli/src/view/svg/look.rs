//! How series are told apart: by colour, and without it by their marks and dashes.

use anstyle::AnsiColor;

/// How one of several series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    colour: usize,
    /// Moves on when the colours come again, so that no two of the first 64 are alike.
    form: usize,
    index: usize,
}

/// How many colours and how many forms there are.
pub(crate) const COUNT: usize = 8;

impl Look {
    pub(crate) fn of(index: usize) -> Self {
        let form = (index + index / COUNT) % COUNT;
        Self { colour: index % COUNT, form, index }
    }

    /// The class that gives a part of a picture its colour.
    pub(crate) fn class(self) -> String {
        format!("colour-{}", self.colour + 1)
    }

    /// How the line is broken, as `stroke-dasharray` has it.
    pub(crate) fn dashes(self) -> &'static str {
        const DASHES: [&str; COUNT] =
            ["none", "7 3", "2 3", "9 3 2 3", "13 4", "5 2 2 2 2 2", "4 4", "1 4"];
        DASHES[self.form]
    }

    /// The outline of the mark at a point.
    pub(crate) fn mark(self, (x, y): (f64, f64)) -> String {
        let outline = match self.form {
            // A disc, a square, a triangle, a diamond.
            0 => "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
            1 => "m-3.6-3.6h7.2v7.2h-7.2z",
            2 => "m0-4.8l4.6 8.2h-9.2z",
            3 => "m0-5.2l4.6 5.2l-4.6 5.2l-4.6-5.2z",
            // A triangle on its head, a plus, a cross, an hourglass.
            4 => "m0 4.8l4.6-8.2h-9.2z",
            5 => "m-1.4-4.8h2.8v3.4h3.4v2.8h-3.4v3.4h-2.8v-3.4h-3.4v-2.8h3.4z",
            6 => {
                "m-4.4-2.4l2-2l2.4 2.4l2.4-2.4l2 2l-2.4 2.4l2.4 2.4l-2 2l-2.4-2.4l-2.4 2.4l-2-2l2.4-2.4z"
            }
            _ => "m-4.4-4.4h8.8l-8.8 8.8h8.8z",
        };
        format!("M{x:.1} {y:.1}{outline}")
    }

    /// The colour in a terminal.
    pub(crate) fn ink(self) -> anstyle::Style {
        const INKS: [AnsiColor; COUNT] = [
            AnsiColor::Cyan,
            AnsiColor::Yellow,
            AnsiColor::Green,
            AnsiColor::Magenta,
            AnsiColor::Blue,
            AnsiColor::Red,
            AnsiColor::White,
            AnsiColor::BrightYellow,
        ];
        INKS[self.colour].on_default()
    }

    /// The mark in a terminal: `A` to `Z`, `a` to `z`, and then a star for all.
    pub(crate) fn letter(self) -> char {
        ('A'..='Z').chain('a'..='z').nth(self.index).unwrap_or('*')
    }
}
