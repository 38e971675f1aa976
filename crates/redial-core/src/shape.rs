//! All of a backoff but a schedule of one's own: the formula, the modifiers, and the delays that
//! are worked out when the policy is made, so that the loop looks them up.

use core::hash::{Hash, Hasher};

use crate::invalid::{Invalid, Mistake};
use crate::modifier::{Chain, Modifier};
use crate::power::Steps;
use crate::source::{Kind, LIST_MAX, Series};

/// How many delays can be looked up.
const READY: usize = LIST_MAX;

/// The last entry is what the delays settle at.
const LAST: u64 = READY as u64 - 1;

#[derive(Clone, Copy)]
pub(crate) struct Shape {
    kind: Kind,
    chain: Chain,
    /// How many delays of a formula can be looked up, from the first one on.
    known: u8,
    /// From which one on every delay of a formula is the last entry.
    settled: u32,
    /// The entries of a list. For a formula, once [`ready`](Self::ready): its first delays behind
    /// the `max`es that the chain begins with, then perhaps [`Steps`], and what they settle at.
    delays: [u64; READY],
}

/// All delays of a formula can be looked up.
const ALL: u8 = u8::MAX;

/// Some can, and the entries after those are [`Steps`].
const STEPPED: u8 = ALL - 1;

/// How many that is.
const BEFORE_STEPS: usize = LAST as usize - Steps::WORDS;

/// They settle never, or later than anybody lives to see.
const NEVER: u32 = u32::MAX;

/// What follows the `max`es that the chain begins with. Full jitter is what nearly everybody writes.
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
        Self { kind, chain: Chain::EMPTY, known: 0, settled: NEVER, delays }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The first mistake of the chain.
    #[inline]
    pub(crate) const fn invalid(&self) -> Option<Invalid> {
        match self.kind {
            Kind::Mistaken(mistake) => Some(Invalid(mistake)),
            _ => None,
        }
    }

    /// The delays of a list.
    pub(crate) const fn entries(&self) -> &[u64] {
        match self.kind {
            Kind::List { length } => self.delays.split_at(length).0,
            _ => &[],
        }
    }

    /// No delay and no word, ever: the loop need not ask.
    #[inline]
    pub(crate) const fn is_instant(&self) -> bool {
        matches!(self.kind, Kind::Constant(0)) && matches!(self.then(), Then::Nothing)
    }

    #[inline]
    const fn then(&self) -> Then {
        let (_, maxes) = self.chain.leading_cap();
        if maxes == self.chain.len() {
            Then::Nothing
        } else if maxes + 1 == self.chain.len() && matches!(self.chain.get(maxes), Modifier::Full) {
            Then::FullJitter
        } else {
            Then::More
        }
    }

    /// The cap that a decorrelated source draws under.
    pub(crate) const fn source_cap(&self) -> u64 {
        match (self.chain.first_max(), self.kind) {
            (Some(max), _) => max,
            (None, Kind::Decorrelated { unwritten_cap, .. }) => unwritten_cap,
            (None, _) => u64::MAX,
        }
    }

    #[inline]
    pub(crate) const fn set_kind(&mut self, kind: Kind) {
        self.kind = kind;
        self.forget();
    }

    #[inline(always)]
    pub(crate) const fn push(&mut self, modifier: Modifier) {
        if let Some((min, max)) = self.chain.contradicts(modifier) {
            return self.refuse(Mistake::MinAboveMax(min, max));
        }
        if self.chain.is_full() {
            return self.refuse(Mistake::ChainTooLong);
        }
        self.chain.push(modifier);
        if let (Modifier::Max(_), Kind::Decorrelated { base, .. }) = (modifier, self.kind) {
            self.kind = Kind::Decorrelated { base, unwritten_cap: u64::MAX };
        }
        self.forget();
    }

    /// Remembers the first mistake of the chain, in place of a source that will never be asked.
    #[cold]
    pub(crate) const fn refuse(&mut self, mistake: Mistake) {
        if self.invalid().is_none() {
            self.kind = Kind::Mistaken(mistake);
        }
    }

    /// What was worked out holds no longer.
    #[inline]
    const fn forget(&mut self) {
        (self.known, self.settled) = (0, NEVER);
    }

    /// Works out what so many retries will look up.
    #[inline]
    pub(crate) const fn ready(&mut self, retries: u64) -> Ready {
        self.forget();
        if self.kind.has_formula() {
            self.look_ahead(retries);
        }
        let then = self.then();
        let known = self.known();
        let known = if known < retries { known } else { retries };
        let (jittered, jittered_from) = match then {
            Then::FullJitter => (known, self.settles_at()),
            Then::Nothing | Then::More => (0, u64::MAX),
        };
        let instant = matches!((self.kind, then), (Kind::Constant(0), Then::Nothing));
        Ready { instant: if instant { retries } else { 0 }, jittered, jittered_from }
    }

    #[inline]
    const fn known(&self) -> u64 {
        match self.known {
            ALL => u64::MAX,
            STEPPED => BEFORE_STEPS as u64,
            known => known as u64,
        }
    }

    const fn settles_at(&self) -> u64 {
        if self.settled == NEVER { u64::MAX } else { self.settled as u64 }
    }

    /// Fills in the first delays, until they settle.
    #[inline]
    const fn look_ahead(&mut self, retries: u64) {
        let (cap, _) = self.chain.leading_cap();
        let wanted = if retries < LAST { retries } else { LAST };
        let grows = self.kind.grows();
        let Some((mut delay, factor, increment)) = self.kind.steps() else {
            return self.look_ahead_in_series(cap, wanted, retries);
        };
        let mut n = 0;
        while n < wanted {
            if delay >= cap || !grows {
                return self.settle(n, if delay < cap { delay } else { cap });
            }
            self.delays[n as usize] = delay;
            delay = delay.saturating_mul(factor).saturating_add(increment);
            n += 1;
        }
        self.stay_open(cap, wanted, retries);
    }

    /// The same where a delay takes more than the one before.
    #[cold]
    #[inline(never)]
    const fn look_ahead_in_series(&mut self, cap: u64, wanted: u64, retries: u64) {
        let grows = self.kind.grows();
        let mut series = Series::new(self.kind);
        let mut n = 0;
        while n < wanted {
            let delay = series.next();
            if delay >= cap || !grows {
                return self.settle(n, if delay < cap { delay } else { cap });
            }
            self.delays[n as usize] = delay;
            n += 1;
        }
        self.stay_open(cap, wanted, retries);
        // Powers of a fraction are dear: rather half as many looked up, and twice as many within reach.
        if let (Kind::Exponential { factor, .. }, true) = (self.kind, wanted < retries) {
            Steps::write(&mut self.delays, BEFORE_STEPS, factor, BEFORE_STEPS as u32);
            self.known = STEPPED;
        }
    }

    /// So many were worked out, and they have not settled.
    #[inline]
    const fn stay_open(&mut self, cap: u64, wanted: u64, retries: u64) {
        self.known = wanted as u8;
        if wanted < retries {
            self.delays[LAST as usize] = cap;
            self.settled = settled_after(self.kind, cap, LAST);
        }
    }

    /// Delay `n` and all that follow are this one.
    #[inline(never)]
    const fn settle(&mut self, n: u64, delay: u64) {
        let mut n = n as usize;
        while n < READY {
            self.delays[n] = delay;
            n += 1;
        }
        self.known = ALL;
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
            Kind::Decorrelated { base, .. } => {
                let cap = self.source_cap();
                if base < cap { base } else { cap }
            }
            _ if n < self.known() || n >= self.settles_at() => self.looked_up(n),
            _ => self.worked_out(n),
        }
    }

    /// Delay `n` of a formula, where it cannot be looked up.
    #[inline]
    pub(crate) const fn worked_out(&self, n: u64) -> u64 {
        let past = n.wrapping_sub(BEFORE_STEPS as u64);
        if let (Kind::Exponential { initial, .. }, true) =
            (self.kind, self.known == STEPPED && past < Steps::REACH)
        {
            if let Some(delay) = Steps::scaled(&self.delays, BEFORE_STEPS, past, initial) {
                return delay;
            }
        }
        self.kind.formula(n)
    }
}

/// The first delay after `n` that is at least `cap`; none of them is where the last one is not.
#[cold]
#[inline(never)]
const fn settled_after(kind: Kind, cap: u64, n: u64) -> u32 {
    let (mut below, mut step) = (n, 32);
    while kind.formula(below + step) < cap {
        below += step;
        step *= 2;
        if below > NEVER as u64 {
            return NEVER;
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
    if above < NEVER as u64 { above as u32 } else { NEVER }
}

/// What was worked out does not tell two shapes apart.
impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.chain == other.chain && self.entries() == other.entries()
    }
}

impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.chain, self.entries()).hash(state);
    }
}
