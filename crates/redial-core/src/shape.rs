//! All of a backoff but a schedule of one's own: the formula, the modifiers, and the delays that
//! are worked out when the policy is made, so that the loop looks them up.

use core::hash::{Hash, Hasher};

use crate::invalid::{Invalid, Mistake};
use crate::modifier::{Chain, Modifier};
use crate::source::{Kind, LIST_MAX, Series};

/// How many delays can be looked up.
const READY: usize = LIST_MAX;

/// The last entry is what the delays settle at.
const LAST: u64 = READY as u64 - 1;

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    kind: Kind,
    chain: Chain,
    /// What holds a decorrelated source back where there is no `max`.
    unwritten_cap: u64,
    /// The entries of a list. For a formula, once [`ready`](Self::ready): its first delays behind
    /// the `max`es that the chain begins with.
    delays: [u64; READY],
    /// How many delays of a formula can be looked up, from the first one on.
    known: u64,
    /// From which one on every delay of a formula is the last entry.
    settled: u64,
    /// The least of the `max`es that the chain begins with, or the end of time.
    cap: u64,
    then: Then,
    invalid: Option<Invalid>,
}

/// What follows these `max`es. Full jitter is what nearly everybody writes.
#[derive(Clone, Copy)]
enum Then {
    Nothing,
    FullJitter,
    More,
}

/// How many retries take which short way, from the first one on.
pub(crate) struct Ready {
    /// No delay and no word, ever.
    pub(crate) instant: u64,
    /// A delay that is looked up and fully jittered.
    pub(crate) jittered: u64,
    /// And from which one on it is so again, because it has settled.
    pub(crate) jittered_from: u64,
}

impl Shape {
    #[inline]
    pub(crate) const fn new(kind: Kind) -> Self {
        Self::from_list(kind, [0; READY])
    }

    #[inline]
    pub(crate) const fn from_list(kind: Kind, delays: [u64; LIST_MAX]) -> Self {
        Self {
            kind,
            chain: Chain::EMPTY,
            unwritten_cap: u64::MAX,
            delays,
            known: 0,
            settled: u64::MAX,
            cap: u64::MAX,
            then: Then::Nothing,
            invalid: None,
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn chain(&self) -> &Chain {
        &self.chain
    }

    pub(crate) const fn invalid(&self) -> Option<Invalid> {
        self.invalid
    }

    /// The delays of a list.
    pub(crate) const fn entries(&self) -> &[u64] {
        match self.kind {
            Kind::List { length } => self.delays.split_at(length).0,
            _ => &[],
        }
    }

    /// No delay and no word, ever: the loop need not ask.
    pub(crate) const fn is_instant(&self) -> bool {
        matches!((self.kind, self.then), (Kind::Constant(0), Then::Nothing))
    }

    /// The cap that a decorrelated source draws under.
    pub(crate) const fn source_cap(&self) -> u64 {
        match self.chain.first_max() {
            Some(max) => max,
            None => self.unwritten_cap,
        }
    }

    pub(crate) const fn set_kind(&mut self, kind: Kind) {
        self.kind = kind;
        self.forget();
    }

    pub(crate) const fn set_unwritten_cap(&mut self, cap: u64) {
        self.unwritten_cap = cap;
    }

    pub(crate) const fn push(&mut self, modifier: Modifier) {
        if let Some((min, max)) = self.chain.contradicts(modifier) {
            return self.refuse(Mistake::MinAboveMax(min, max));
        }
        if self.chain.is_full() {
            return self.refuse(Mistake::ChainTooLong);
        }
        self.chain.push(modifier);
        match (self.then, modifier) {
            (Then::Nothing, Modifier::Max(max)) if max < self.cap => self.cap = max,
            (Then::Nothing, Modifier::Max(_)) => {}
            (Then::Nothing, Modifier::Full) => self.then = Then::FullJitter,
            _ => self.then = Then::More,
        }
        if matches!(modifier, Modifier::Max(_)) {
            self.unwritten_cap = u64::MAX;
        }
        self.forget();
    }

    /// Remembers the first mistake of the chain.
    pub(crate) const fn refuse(&mut self, mistake: Mistake) {
        if self.invalid.is_none() {
            self.invalid = Some(Invalid(mistake));
        }
    }

    /// What was worked out holds no longer.
    const fn forget(&mut self) {
        (self.known, self.settled) = (0, u64::MAX);
    }

    /// Works out what so many retries will look up.
    pub(crate) const fn ready(&mut self, retries: u64) -> Ready {
        self.forget();
        if self.kind.has_formula() {
            self.look_ahead(retries);
        }
        let known = if self.known < retries { self.known } else { retries };
        let (jittered, jittered_from) = match self.then {
            Then::FullJitter => (known, self.settled),
            Then::Nothing | Then::More => (0, u64::MAX),
        };
        let instant = if self.is_instant() { retries } else { 0 };
        Ready { instant, jittered, jittered_from }
    }

    const fn look_ahead(&mut self, retries: u64) {
        let wanted = if retries < LAST { retries } else { LAST };
        let mut series = Series::new(self.kind);
        let mut n = 0;
        while n < wanted {
            let delay = series.next();
            if delay >= self.cap || !self.kind.grows() {
                return self.settle(n, delay);
            }
            self.delays[n as usize] = delay;
            n += 1;
        }
        self.known = wanted;
        if wanted < retries {
            self.delays[LAST as usize] = self.cap;
            self.settled = settled_after(self.kind, self.cap, LAST);
        }
    }

    /// Delay `n` and all that follow are this one, or the cap.
    const fn settle(&mut self, n: u64, delay: u64) {
        let delay = if delay < self.cap { delay } else { self.cap };
        let mut n = n as usize;
        while n < READY {
            self.delays[n] = delay;
            n += 1;
        }
        self.known = u64::MAX;
    }

    /// A delay that can be looked up.
    #[inline]
    pub(crate) const fn looked_up(&self, n: u64) -> u64 {
        self.delays[if n < LAST { n } else { LAST } as usize]
    }

    /// Delay `n` of a source that draws no word, perhaps cut to the `max`es that the chain begins
    /// with; the least value of a source that draws one.
    pub(crate) const fn at(&self, n: u64) -> u64 {
        match self.kind {
            Kind::List { length } if n < length as u64 => self.delays[n as usize],
            Kind::List { length } => match (self.chain.first_max(), length) {
                (Some(max), _) => max,
                (None, 0) => 0,
                (None, length) => self.delays[length - 1],
            },
            Kind::Decorrelated { base } => {
                let cap = self.source_cap();
                if base < cap { base } else { cap }
            }
            _ if n < self.known || n >= self.settled => self.looked_up(n),
            kind => kind.formula(n),
        }
    }
}

/// The first delay after `n` that is at least `cap`; none of them is where the last one is not.
const fn settled_after(kind: Kind, cap: u64, n: u64) -> u64 {
    let (mut below, mut step) = (n, 32);
    while kind.formula(below + step) < cap {
        below += step;
        step *= 2;
        if below > u32::MAX as u64 {
            return u64::MAX;
        }
    }
    let mut above = below + step;
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if kind.formula(middle) < cap {
            below = middle;
        } else {
            above = middle;
        }
    }
    above
}

/// What was worked out does not tell two shapes apart.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.chain == other.chain
            && self.unwritten_cap == other.unwritten_cap
            && self.entries() == other.entries()
            && self.invalid == other.invalid
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.chain, self.unwritten_cap, self.entries(), self.invalid).hash(state);
    }
}
