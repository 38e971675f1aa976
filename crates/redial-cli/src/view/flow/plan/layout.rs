//! Where the boxes of a picture stand: what needs something is below it, and arrows lead down.

use std::collections::{BTreeMap, BTreeSet};

use redial_flow::outlook::StepOutlook;

use super::Planned;

/// How many boxes are drawn: beyond that nobody looks, and `--json` has them all.
const DRAWN: usize = 200;

/// A box: a step that stands by itself, or a map with its inner steps.
pub(super) struct Block<'p> {
    pub(super) one: &'p StepOutlook,
    pub(super) inner: &'p [StepOutlook],
    /// What it needs, without what those need already.
    pub(super) needs: Vec<usize>,
    /// The row that it stands in.
    pub(super) row: usize,
}

pub(super) struct Layout<'p> {
    pub(super) blocks: Vec<Block<'p>>,
    /// From the top down, each from left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// How many boxes there is no room for.
    pub(super) left_out: usize,
}

impl<'p> Layout<'p> {
    /// With at most so many boxes side by side.
    pub(super) fn new(planned: &Planned<'p>, across: usize) -> Self {
        let mut all: Vec<_> = planned.blocks().collect();
        all.sort_by_key(|(one, _)| one.level);
        let left_out = all.len().saturating_sub(DRAWN);
        all.truncate(DRAWN);
        let places: BTreeMap<&str, usize> =
            all.iter().enumerate().map(|(at, (one, _))| (one.step.name.as_str(), at)).collect();
        // What comes before each: the levels see to it that those are known by then.
        let mut earlier: Vec<BTreeSet<usize>> = Vec::new();
        let mut blocks: Vec<Block<'p>> = Vec::new();
        for (one, inner) in all {
            let steps = std::iter::once(one).chain(inner);
            let needs = steps.flat_map(|step| &step.step.needs);
            let needs = needs.filter_map(|need| places.get(need.step.as_str()).copied());
            // A definition that was changed by hand may have a circle.
            let needs: BTreeSet<usize> = needs.filter(|need| *need < blocks.len()).collect();
            let through: BTreeSet<usize> =
                needs.iter().flat_map(|need| earlier[*need].iter().copied()).collect();
            earlier.push(through.union(&needs).copied().collect());
            let needs = needs.difference(&through).copied().collect();
            blocks.push(Block { one, inner, needs, row: 0 });
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        let mut level = None;
        for (at, block) in blocks.iter_mut().enumerate() {
            let is_full = rows.last().is_none_or(|row| row.len() >= across);
            if is_full || level != Some(block.one.level) {
                rows.push(Vec::new());
                level = Some(block.one.level);
            }
            block.row = rows.len() - 1;
            rows[block.row].push(at);
        }
        Self { blocks, rows, left_out }
    }

    /// The arrows that lead to the next row.
    pub(super) fn short(&self) -> Vec<(usize, usize)> {
        self.arrows().filter(|(from, to)| self.is_short(*from, *to)).collect()
    }

    /// The others: those from one box share a lane beside the boxes, and lanes at the same height differ.
    pub(super) fn long(&self) -> Vec<Trunk> {
        let mut trunks: Vec<Trunk> = Vec::new();
        // Until which row each lane is taken.
        let mut lanes: Vec<usize> = Vec::new();
        for from in 0..self.blocks.len() {
            let to = self.arrows().filter(|(one, to)| *one == from && !self.is_short(from, *to));
            let to: Vec<usize> = to.map(|(_, to)| to).collect();
            let Some(last) = to.iter().map(|to| self.blocks[*to].row).max() else { continue };
            let first = self.blocks[from].row;
            let lane = lanes.iter().position(|taken| *taken <= first).unwrap_or(lanes.len());
            match lanes.get_mut(lane) {
                Some(taken) => *taken = last,
                None => lanes.push(last),
            }
            trunks.push(Trunk { from, to, lane });
        }
        trunks
    }

    fn arrows(&self) -> impl Iterator<Item = (usize, usize)> {
        let blocks = self.blocks.iter().enumerate();
        blocks.flat_map(|(to, block)| block.needs.iter().map(move |from| (*from, to)))
    }

    fn is_short(&self, from: usize, to: usize) -> bool {
        self.blocks[from].row + 1 == self.blocks[to].row
    }
}

/// Arrows from one box to boxes further down, past others.
pub(super) struct Trunk {
    pub(super) from: usize,
    pub(super) to: Vec<usize>,
    pub(super) lane: usize,
}
