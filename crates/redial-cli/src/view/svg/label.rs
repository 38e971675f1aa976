//! Placing labels in a picture without overlaps.

use crate::text::pixels;

/// From the top of one line of words to the top of the next.
pub(crate) const LINE: f64 = 16.0;

/// Which point of a text its place is: `text-anchor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

impl Anchor {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// The place of a text, on its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) anchor: Anchor,
}

impl Place {
    fn of(self, words: &str) -> Area {
        let width = pixels(words);
        let left = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width / 2.0,
            Anchor::End => self.x - width,
        };
        Area { left, right: left + width, top: self.y - 11.0, bottom: self.y + 4.0 }
    }
}

/// A part of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn around((x, y): (f64, f64), distance: f64) -> Self {
        Self { left: x - distance, right: x + distance, top: y - distance, bottom: y + distance }
    }

    /// The x coordinate of a position from 0 at the left to 1 at the right.
    pub(crate) fn x(&self, position: f64) -> f64 {
        self.left + position * (self.right - self.left)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn contains(&self, other: &Self) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }
}

/// An area, and the parts of it that are occupied.
pub(crate) struct Room {
    whole: Area,
    taken: Vec<Area>,
}

impl Room {
    pub(crate) fn new(whole: Area) -> Self {
        Self { whole, taken: vec![] }
    }

    pub(crate) fn take(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// The first of these places at which the label overlaps nothing. It is occupied then.
    pub(crate) fn place(
        &mut self,
        words: &str,
        places: impl IntoIterator<Item = Place>,
    ) -> Option<Place> {
        let is_free = |place: &Place| {
            let area = place.of(words);
            self.whole.contains(&area) && !self.taken.iter().any(|taken| taken.overlaps(&area))
        };
        let place = places.into_iter().find(is_free)?;
        self.take(place.of(words));
        Some(place)
    }
}

/// Heights near the wanted ones, at least a line from each other and between `top` and `bottom`.
pub(crate) fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut heights = wanted.to_vec();
    let mut least = top;
    for &index in &order {
        heights[index] = heights[index].max(least);
        least = heights[index] + LINE;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        heights[index] = heights[index].min(most);
        most = heights[index] - LINE;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_kept_apart_and_inside() {
        assert_eq!(spread(&[50.0, 100.0], 0.0, 200.0), [50.0, 100.0]);
        assert_eq!(spread(&[50.0, 50.0, 49.0], 0.0, 200.0), [65.0, 81.0, 49.0]);
        assert_eq!(spread(&[200.0, 199.0], 0.0, 200.0), [200.0, 184.0]);
        assert_eq!(spread(&[], 0.0, 200.0), [0.0; 0]);
    }

    #[test]
    fn words_go_where_no_other_words_are() {
        let mut room = Room::new(Area { left: 0.0, right: 100.0, top: 0.0, bottom: 100.0 });
        let at = |x, y| Place { x, y, anchor: Anchor::Start };
        assert_eq!(room.place("words", [at(80.0, 50.0), at(20.0, 50.0)]), Some(at(20.0, 50.0)));
        assert_eq!(room.place("more", [at(30.0, 55.0), at(30.0, 70.0)]), Some(at(30.0, 70.0)));
        assert_eq!(room.place("none", [at(30.0, 55.0), at(0.0, 5.0)]), None);
    }
}
