//! The cells of a strip and how dark they are.

use super::{Scale, Strip};
use crate::view::axis::{Range, exponent, round_below};
use crate::view::number::plain;

/// The bounds between shades: round numbers, each about twice the one before, or more where the range is
/// wide.
pub(super) struct Shades {
    pub(super) bounds: Vec<f64>,
    /// Whether there are amounts below the first of them.
    open: bool,
}

impl Shades {
    /// As many as the eye tells apart, and as there are blocks in a terminal.
    pub(super) const MOST: usize = 8;

    pub(super) fn of(strip: &Strip) -> Self {
        let amounts = || strip.rows.iter().flat_map(|(_, amounts)| amounts).copied();
        let amounts = || amounts().filter(|amount| is_something(*amount));
        let greatest = amounts().fold(0.0, f64::max);
        let least = amounts().fold(greatest, f64::min);
        if greatest == 0.0 {
            return Self { bounds: vec![], open: false };
        }
        let further = |bound: &f64| (*bound > least).then(|| round_before(*bound));
        let downwards = || std::iter::successors(Some(round_below(greatest)), further);
        let every = downwards().count().div_ceil(Self::MOST);
        let mut bounds: Vec<f64> = downwards().step_by(every).collect();
        bounds.reverse();
        Self { open: bounds.first().is_some_and(|first| least < *first), bounds }
    }

    /// The legend of each shade.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            self.bounds.iter().map(|bound| format!("{}+", plain(*bound))).collect();
        if let (true, [_, second, ..]) = (self.open, &self.bounds[..]) {
            words[0] = format!("<{}", plain(*second));
        }
        words
    }

    /// The shade of an amount, from 0 for none.
    pub(super) fn of_amount(&self, amount: f64) -> usize {
        if !is_something(amount) {
            return 0;
        }
        self.bounds.iter().filter(|bound| amount >= **bound).count().max(1)
    }
}

fn is_something(amount: f64) -> bool {
    (1e-300..=1e300).contains(&amount)
}

/// The greatest of 1, 2, 5, 10, … below one of them.
fn round_before(round: f64) -> f64 {
    let decade = 10f64.powi(exponent(round));
    let counts = [2.0, 1.0].into_iter().find(|count| count * decade * 1.5 < round);
    counts.unwrap_or(0.5) * decade
}

/// The rows of a strip with their cells merged until they fit.
pub(super) struct Cells {
    /// How many of the strip's cells are merged into one.
    pub(super) merged: usize,
    /// How many there are in a row.
    pub(super) count: usize,
    /// The time from end to end.
    pub(super) range: Range,
}

impl Cells {
    /// None where there is nothing to draw.
    pub(super) fn new(strip: &Strip, most: usize) -> Option<Self> {
        let bins =
            strip.rows.iter().map(|(_, amounts)| amounts.len()).max().filter(|bins| *bins > 0)?;
        let merged = bins.div_ceil(most.max(1));
        let count = bins.div_ceil(merged);
        let end = strip.start + strip.bin * (merged * count) as f64;
        let range = Range::between(Scale::Linear, strip.start, end)?;
        Some(Self { merged, count, range })
    }

    /// The greatest amount of the cells that are merged, so that a short peak is not lost.
    pub(super) fn of<'a>(&self, amounts: &'a [f64]) -> impl Iterator<Item = f64> + use<'a> {
        let drawable = |amount: &f64| if is_something(*amount) { *amount } else { 0.0 };
        amounts.chunks(self.merged).map(move |some| some.iter().map(drawable).fold(0.0, f64::max))
    }

    /// The unit, and the length of a cell where cells were merged.
    pub(super) fn words(&self, strip: &Strip) -> String {
        match self.merged {
            1 => strip.unit.clone(),
            merged => {
                let seconds = plain(strip.bin * merged as f64);
                format!("{} (the most of every {seconds} s)", strip.unit)
            }
        }
    }
}
