//! What is known of each item, by its fingerprint.

use std::fmt;

/// By the top bits of a fingerprint; each grows alone, so that growing needs little room.
const SEGMENTS: usize = 256;
const SEEN: u32 = 1 << 31;

/// A number for each fingerprint, in at most 19 bytes an item from a hundred thousand items on.
///
/// Open addressing: twelve bytes a place, of which at least 64 in a hundred are taken, in 256 segments that
/// grow by a quarter. The numbers are the engine's; zero is what a new item has. Beside it is a mark for
/// those that this reading of the source has come by, so that one that vanished can be told.
///
/// ```
/// let mut index = redial_flow::Index::default();
/// index.set(7, 3);
/// assert_eq!((index.get(7), index.get(8)), (Some(3), None));
/// assert!(!index.see(7) && index.see(7));
/// ```
#[derive(Clone)]
pub struct Index {
    segments: Vec<Segment>,
    length: usize,
}

#[derive(Clone, Default)]
struct Segment {
    /// Zero is a free place.
    fingerprints: Vec<u64>,
    states: Vec<u32>,
    length: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { segments: vec![Segment::default(); SEGMENTS], length: 0 }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Index {
    /// The greatest number that an item can have.
    pub const STATE_MAX: u32 = SEEN - 1;

    /// The number of a fingerprint, if it is known.
    pub fn get(&self, fingerprint: u64) -> Option<u32> {
        let fingerprint = stored(fingerprint);
        let segment = &self.segments[segment_of(fingerprint)];
        let place = segment.find(fingerprint).ok()?;
        Some(segment.states[place] & !SEEN)
    }

    /// Sets the number of a fingerprint, at most [`STATE_MAX`](Self::STATE_MAX), and makes it known.
    pub fn set(&mut self, fingerprint: u64, state: u32) {
        let entry = self.entry(fingerprint);
        *entry = (*entry & SEEN) | state.min(Self::STATE_MAX);
    }

    /// Marks a fingerprint as seen, and makes it known. Whether it was marked before.
    pub fn see(&mut self, fingerprint: u64) -> bool {
        let entry = self.entry(fingerprint);
        let before = *entry & SEEN != 0;
        *entry |= SEEN;
        before
    }

    /// Takes all marks away: the source is read from its beginning.
    pub fn start_over(&mut self) {
        for state in self.segments.iter_mut().flat_map(|segment| &mut segment.states) {
            *state &= !SEEN;
        }
    }

    /// The fingerprints and numbers of what was known and not seen, in no order.
    pub fn unseen(&self) -> impl Iterator<Item = (u64, u32)> {
        let all = self.segments.iter().flat_map(|segment| {
            segment.fingerprints.iter().copied().zip(segment.states.iter().copied())
        });
        all.filter(|(fingerprint, state)| *fingerprint != 0 && state & SEEN == 0)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many bytes of memory it has.
    pub fn bytes(&self) -> usize {
        let held = |segment: &Segment| {
            segment.fingerprints.capacity() * size_of::<u64>()
                + segment.states.capacity() * size_of::<u32>()
        };
        size_of::<Self>()
            + self.segments.capacity() * size_of::<Segment>()
            + self.segments.iter().map(held).sum::<usize>()
    }

    fn entry(&mut self, fingerprint: u64) -> &mut u32 {
        let fingerprint = stored(fingerprint);
        let segment = &mut self.segments[segment_of(fingerprint)];
        let place = match segment.find(fingerprint) {
            Ok(place) => place,
            Err(_) => {
                self.length += 1;
                segment.insert(fingerprint, 0)
            }
        };
        &mut segment.states[place]
    }
}

/// Zero means a free place, so what comes to zero is one.
fn stored(fingerprint: u64) -> u64 {
    fingerprint.max(1)
}

fn segment_of(fingerprint: u64) -> usize {
    (fingerprint >> 56) as usize % SEGMENTS
}

impl Segment {
    /// Its place, or the free one where the search ended; nothing where there is none.
    fn find(&self, fingerprint: u64) -> Result<usize, Option<usize>> {
        let size = self.fingerprints.len();
        if size == 0 {
            return Err(None);
        }
        // The bits below those of the segment, spread evenly over places of any number.
        let spread = u128::from(fingerprint << 8) * size as u128;
        let first = (spread >> 64) as usize;
        for place in (first..size).chain(0..first) {
            match self.fingerprints[place] {
                0 => return Err(Some(place)),
                found if found == fingerprint => return Ok(place),
                _ => {}
            }
        }
        Err(None)
    }

    /// Where it is now; it was not there.
    fn insert(&mut self, fingerprint: u64, state: u32) -> usize {
        // At most four fifths are taken.
        if (self.length + 1) * 5 > self.fingerprints.len() * 4 {
            let size = (self.fingerprints.len() * 5 / 4).max(8);
            let fingerprints = std::mem::replace(&mut self.fingerprints, vec![0; size]);
            let states = std::mem::replace(&mut self.states, vec![0; size]);
            for (fingerprint, state) in fingerprints.into_iter().zip(states) {
                if let (true, Err(Some(place))) = (fingerprint != 0, self.find(fingerprint)) {
                    self.fingerprints[place] = fingerprint;
                    self.states[place] = state;
                }
            }
        }
        self.length += 1;
        // A fifth is free.
        let place = self.find(fingerprint).unwrap_or_else(Option::unwrap_or_default);
        self.fingerprints[place] = fingerprint;
        self.states[place] = state;
        place
    }
}
